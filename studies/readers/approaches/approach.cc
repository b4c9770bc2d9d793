// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/approaches/approach.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/suggest.h"

namespace concur::readers {

const std::vector<Approach>& AllApproaches() {
  static const auto& all = *new std::vector<Approach>{
      RasorApproach(),
      BidafApproach(),
      DocumentReaderApproach(true),
      DocumentReaderApproach(false),
      BidafPlusPlusApproach(),
      MnemonicReaderApproach(true),
      MnemonicReaderApproach(false),
      QanetApproach(),
      FusionNetApproach(true),
      FusionNetApproach(false),
      DrqaApproach(),
      FusionBidafApproach(),
  };
  return all;
}

absl::StatusOr<const Approach*> FindApproach(absl::string_view name) {
  std::vector<std::string> names;
  for (const Approach& approach : AllApproaches()) {
    if (approach.name == name) {
      return &approach;
    }
    names.push_back(approach.name);
  }
  return absl::NotFoundError(absl::StrCat("unknown approach \"", name, "\"",
                                          DidYouMean(name, names),
                                          "; `concur-reader list` shows all"));
}

Options Approach::WithSizes(const InputSizes& input_sizes) const {
  Options sized = options;
  const auto set = [&sized](const std::string& option, int64_t value) {
    if (!option.empty()) {
      sized.Set(option, value);
    }
  };
  set(sizes.words, input_sizes.words);
  set(sizes.word_dim, input_sizes.word_dim);
  set(sizes.characters, input_sizes.characters);
  set(sizes.features, input_sizes.features);
  set(sizes.pos_tags, input_sizes.pos_tags);
  set(sizes.entity_tags, input_sizes.entity_tags);
  return sized;
}

Approach::SizeNames FusionSizes() {
  return {.words = "vocab_size",
          .word_dim = "embedding_dim",
          .characters = "",
          .features = "num_features",
          .pos_tags = "pos_size",
          .entity_tags = "ner_size"};
}

absl::Status CheckOneOf(const Options& options, absl::string_view name,
                        const std::vector<std::string>& words) {
  const std::string& value = options.Text(name);
  if (std::find(words.begin(), words.end(), value) != words.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": expected ", absl::StrJoin(words, " or "), ", got \"", value, "\""));
}

}  // namespace concur::readers
