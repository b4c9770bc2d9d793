// SPDX-License-Identifier: Apache-2.0
// WordNet 3.0 as Debian's wordnet-base ships it: the synsets with their pointers, and the word
// classes that its index and its counts of a sense-tagged corpus give.
//
// Immutable after loading; thread-safe.
#ifndef CONCUR_QA_BUILDERS_WORDNET_H_
#define CONCUR_QA_BUILDERS_WORDNET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/builders/sources.h"

namespace concur::qa {

enum class WordClass : uint8_t { kNoun, kVerb, kAdjective, kAdverb };
inline constexpr size_t kWordClasses = 4;

struct SynsetPointer {
  absl::string_view symbol;  // "@", "#p", … as in wninput(5WN)
  uint32_t target = 0;       // index of a synset
};

struct Synset {
  WordClass word_class = WordClass::kNoun;
  std::vector<absl::string_view> words;  // "domestic_dog"; adjectives without their marker
  std::vector<SynsetPointer> pointers;
  absl::string_view gloss;
};

class WordNet {
 public:
  // Reads data.noun, data.verb, data.adj and data.adv. DataLoss as "PATH:LINE: …" when a line has
  // another form or a pointer has no target; NotFound names the package.
  static absl::StatusOr<WordNet> Load(SourceLog& sources);

  const std::vector<Synset>& synsets() const { return synsets_; }

 private:
  // `synsets_` refers to these texts, which are on the heap so that references survive a move.
  std::vector<std::unique_ptr<std::string>> files_;
  std::vector<Synset> synsets_;
};

class WordClasses {
 public:
  // Reads the index files, the exception lists and cntlist.rev. Errors as WordNet::Load.
  static absl::StatusOr<WordClasses> Load(SourceLog& sources);

  // True if a lower-case word, as it stands or inflected, is most often a noun: more than 60 % of
  // its tagged occurrences, or, without any, only nouns have it.
  bool IsCommonNoun(absl::string_view lower) const;

  // The base form of a lower-case word: of its lemmas in all classes the one with the most tagged
  // occurrences, of equals the earlier class's; the word itself when it has none.
  std::string Lemma(absl::string_view lower) const;

 private:
  // Calls `use` with each lemma of `lower` in a class and its tagged occurrences.
  template <typename Use>
  void ForEachLemma(absl::string_view lower, WordClass word_class, Use use) const;
  // The sum of tagged occurrences of the lemmas of `lower` in a class; -1 when there is no lemma.
  int64_t Occurrences(absl::string_view lower, WordClass word_class) const;

  std::array<absl::flat_hash_map<std::string, int64_t>, kWordClasses> lemmas_;
  std::array<absl::flat_hash_map<std::string, std::string>, kWordClasses> exceptions_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_WORDNET_H_
