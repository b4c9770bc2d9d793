// SPDX-License-Identifier: Apache-2.0
// Parts of speech and entities of English tokens.
//
// Immutable after loading; thread-safe.
#ifndef CONCUR_STUDIES_READERS_TEXT_TAGGER_H_
#define CONCUR_STUDIES_READERS_TEXT_TAGGER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "qa/builders/sources.h"

namespace concur::readers {

// Where Debian's liblingua-en-tagger-perl keeps its statistics of words and tags.
inline constexpr char kTaggerDirectory[] = "/usr/share/perl5/Lingua/EN/Tagger";

// The Penn Treebank's tags as that package names them; punctuation has tags of its own.
inline constexpr std::array<absl::string_view, 44> kPosTags = {
    "cc",  "cd",  "det", "ex",   "fw",  "in",  "jj",  "jjr", "jjs", "lrb", "ls",
    "md",  "nn",  "nnp", "nnps", "nns", "pdt", "pos", "pp",  "ppc", "ppd", "ppl",
    "ppr", "pps", "prp", "prps", "rb",  "rbr", "rbs", "rp",  "rrb", "sym", "to",
    "uh",  "vb",  "vbd", "vbg",  "vbn", "vbp", "vbz", "wdt", "wp",  "wps", "wrb"};

// A bigram hidden Markov model: how often a word had each tag, and which tag followed which.
class Tagger {
 public:
  // Reads words.yml, tags.yml and unknown.yml. NotFound names the package; DataLoss as "PATH:LINE:
  // …" when a line has another form.
  static absl::StatusOr<Tagger> Load(const std::string& directory);

  // The most probable tags (Viterbi), as indices into kPosTags.
  std::vector<int32_t> Tag(const std::vector<absl::string_view>& words) const;

 private:
  struct Emission {
    int32_t tag = 0;
    float log_probability = 0;  // log P(word | tag)
  };
  using Emissions = std::vector<Emission>;

  static absl::StatusOr<absl::flat_hash_map<std::string, Emissions>> ReadCounts(
      const std::string& path);
  absl::Status ReadTransitions(const std::string& path);
  const Emissions& EmissionsOf(absl::string_view word, bool starts_sentence) const;

  absl::flat_hash_map<std::string, Emissions> words_;
  absl::flat_hash_map<std::string, Emissions> unknown_;  // by the class of the word's form
  std::array<std::array<float, kPosTags.size()>, kPosTags.size()> transitions_{};
};

inline constexpr std::array<absl::string_view, 11> kEntityTags = {
    "O",    "PERSON", "LOCATION", "ORGANIZATION", "MISC",   "NUMBER",
    "DATE", "TIME",   "MONEY",    "PERCENT",      "ORDINAL"};

// Entities by rules: numbers by their neighbours, names by WordNet's instances (persons, places,
// groups) and by cues around them ("Mr.", "University", "in").
class EntityTagger {
 public:
  static absl::StatusOr<EntityTagger> Load(qa::SourceLog& sources);

  // Indices into kEntityTags. `pos` are the words' parts of speech.
  std::vector<int32_t> Tag(const std::vector<absl::string_view>& words,
                           const std::vector<int32_t>& pos) const;

 private:
  int32_t TagOfName(absl::Span<const absl::string_view> name, absl::string_view before) const;

  absl::flat_hash_map<std::string, int32_t> names_;  // "Abraham_Lincoln": an index of kEntityTags
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_TAGGER_H_
