// SPDX-License-Identifier: Apache-2.0
// Tokenizes texts and annotates their tokens with numbers: word forms, lemmas (WordNet's
// morphology), parts of speech and entities.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_TEXT_ANNOTATOR_H_
#define CONCUR_STUDIES_READERS_TEXT_ANNOTATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/builders/sources.h"
#include "qa/builders/wordnet.h"
#include "studies/readers/text/features.h"
#include "studies/readers/text/tagger.h"
#include "studies/readers/text/tokenizer.h"

namespace concur::readers {

struct AnnotatedText {
  std::string text;
  std::vector<Token> tokens;
  Annotations annotations;

  absl::string_view Word(size_t token) const { return tokens[token].In(text); }
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
};

class Annotator {
 public:
  struct Sources {
    qa::SourcePaths wordnet = {};
    std::string tagger = kTaggerDirectory;
  };

  // Loads what lemmas and tags need. NotFound names the Debian package that has it.
  static absl::StatusOr<Annotator> Load(bool lemmas, bool tags, const Sources& sources);

  AnnotatedText Annotate(std::string text);

 private:
  int32_t FormOf(absl::string_view form);

  std::optional<qa::WordClasses> words_;
  std::optional<Tagger> tagger_;
  std::optional<EntityTagger> entities_;
  absl::flat_hash_map<std::string, int32_t> forms_;
  struct Known {
    int32_t word = 0, lower = 0, lemma = 0;
  };
  absl::flat_hash_map<std::string, Known> known_;  // by word
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_ANNOTATOR_H_
