// SPDX-License-Identifier: Apache-2.0
// External features of a text's tokens, as DrQA and MnemonicReader compute them: whether the token
// occurs in the other text, its part of speech and entity, its frequency.
//
// Pure functions over values.
#ifndef CONCUR_STUDIES_READERS_TEXT_FEATURES_H_
#define CONCUR_STUDIES_READERS_TEXT_FEATURES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace concur::readers {

// Annotations of each token, as numbers that are equal where the texts are. All lists have the
// length of `words`; `lemmas` and those of tags may be empty.
struct Annotations {
  std::vector<int32_t> words;
  std::vector<int32_t> lower;  // the lower-cased form
  std::vector<int32_t> lemmas;
  std::vector<int32_t> pos, entities;  // from 0, in the order of the tagger's list

  size_t size() const { return words.size(); }
};

// Which column holds which feature. A tag without a column gives nothing.
struct FeatureColumns {
  // Exact match of the word, its lower-cased form and its lemma; then one-hot parts of speech and
  // entities; last the share of the text's tokens that have the lower-cased form.
  FeatureColumns(size_t pos_tags, size_t entity_tags) : pos(pos_tags), entities(entity_tags) {}

  size_t size() const { return 4 + pos + entities; }

  size_t pos, entities;  // numbers of tags that have a column
};

// Writes [text.size(), columns.size()] numbers, row by row.
void WriteFeatures(const Annotations& text, const Annotations& other, const FeatureColumns& columns,
                   float* out);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_FEATURES_H_
