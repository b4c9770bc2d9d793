// SPDX-License-Identifier: Apache-2.0
// Plain text as documents, sentences and words, for the cloze builders.
//
// Values; thread-compatible.
#ifndef CONCUR_QA_BUILDERS_TEXT_H_
#define CONCUR_QA_BUILDERS_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "qa/builders/sources.h"

namespace concur::qa {

// A run of letters, with apostrophes and hyphens inside it, as bytes of its sentence.
struct Word {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool capitalised = false;
  bool after_break = false;  // first of the sentence, or punctuation stands before it
};

struct Sentence {
  std::string text;  // one line, single spaces
  std::vector<Word> words;

  absl::string_view operator[](size_t word) const {
    return absl::string_view(text).substr(words[word].begin, words[word].end - words[word].begin);
  }
};

struct Document {
  std::string title;
  std::vector<Sentence> sentences;  // at least one word each
};

// Splits plain UTF-8 text. A blank line ends a sentence; so do . ? and ! before white space and a
// character that is no lower-case letter, unless an abbreviation or an initial stands before it.
// InvalidArgument with `path` and line for invalid UTF-8 or NUL bytes.
absl::StatusOr<Document> SplitText(absl::string_view contents, const std::string& path);

// The King James Bible from lines "BOOKchapter:verse text": one document per book. DataLoss with
// the line when a line has another form.
absl::StatusOr<std::vector<Document>> SplitBible(absl::string_view verses);

// The text at `path`, or the King James Bible when `path` is empty.
absl::StatusOr<std::vector<Document>> LoadText(const std::string& path, SourceLog& sources);

// The beginning of the last sentence of `text`: after the last . ? ! or … with its closing quotes,
// brackets and white space, or after the last blank line. In running text a full stop of an
// abbreviation, or before a lower-case letter, does not end a sentence; a full stop between spaces,
// as in tokenized text, does. An end of sentence at the end of the text is ignored. 0 when there is
// one sentence.
// REQUIRES: valid UTF-8.
size_t LastSentenceBegin(absl::string_view text);

// Lower case of ASCII letters; other bytes as they are.
std::string LowerAscii(absl::string_view text);

// True if a lower-case word is a function word of English, today's or the King James Bible's.
bool IsFunctionWord(absl::string_view lower);

// Sentences [begin, end) of a document.
struct Region {
  uint32_t document = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct RegionSplit {
  std::vector<Region> train;
  std::vector<Region> test;
};

// Cuts every document into regions of `sentences` sentences and assigns them at random to train and
// test, in the ratio of the two shares: no sentence is in both.
RegionSplit SplitRegions(const std::vector<Document>& documents, uint32_t sentences,
                         int64_t train_share, int64_t test_share, Random& random);

// A passage made from consecutive sentences: [begin, last) is its context, sentence `last` its
// question, word `word` of that sentence the answer.
struct TextWindow {
  uint32_t document = 0;
  uint32_t begin = 0;
  uint32_t last = 0;
  uint32_t word = 0;
};

// Scans the regions for windows that `choose` accepts. `choose` gets a document and the index of
// the first sentence and the end of the region; it fills `window` and returns whether there is one.
// After an accepted window the scan goes on `step` sentences behind its begin, or behind its last
// sentence when `step` is 0 (windows share no sentence).
std::vector<TextWindow> FindWindows(
    const std::vector<Document>& documents, const std::vector<Region>& regions, uint32_t step,
    const std::function<bool(const Document&, uint32_t, uint32_t, TextWindow&)>& choose);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_TEXT_H_
