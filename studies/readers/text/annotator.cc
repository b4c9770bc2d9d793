// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/annotator.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "qa/builders/sources.h"
#include "qa/builders/wordnet.h"
#include "qa/normalize.h"

namespace concur::readers {

absl::StatusOr<Annotator> Annotator::Load(bool lemmas, bool tags, const Sources& sources) {
  Annotator annotator;
  qa::SourceLog log(sources.wordnet);
  if (lemmas) {
    CONCUR_ASSIGN_OR_RETURN(annotator.words_, qa::WordClasses::Load(log));
  }
  if (tags) {
    CONCUR_ASSIGN_OR_RETURN(annotator.tagger_, Tagger::Load(sources.tagger));
    CONCUR_ASSIGN_OR_RETURN(annotator.entities_, EntityTagger::Load(log));
  }
  return annotator;
}

int32_t Annotator::FormOf(absl::string_view form) {
  return forms_.try_emplace(form, static_cast<int32_t>(forms_.size())).first->second;
}

AnnotatedText Annotator::Annotate(std::string text) {
  AnnotatedText result;
  result.text = std::move(text);
  result.tokens = Tokenize(result.text);
  Annotations& out = result.annotations;
  std::vector<absl::string_view> words;
  for (const Token& token : result.tokens) {
    const absl::string_view word = words.emplace_back(token.In(result.text));
    auto known = known_.find(word);
    if (known == known_.end()) {
      const std::string lower = qa::LowerCase(word);
      const int32_t lemma = words_.has_value() ? FormOf(words_->Lemma(lower)) : FormOf(lower);
      known = known_.emplace(word, Known{FormOf(word), FormOf(lower), lemma}).first;
    }
    out.words.push_back(known->second.word);
    out.lower.push_back(known->second.lower);
    out.lemmas.push_back(known->second.lemma);
  }
  if (tagger_.has_value()) {
    out.pos = tagger_->Tag(words);
    out.entities = entities_->Tag(words, out.pos);
  }
  return result;
}

}  // namespace concur::readers
