// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/batches.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "qa/normalize.h"
#include "studies/readers/text/features.h"
#include "studies/readers/text/tagger.h"

namespace concur::readers {
namespace {

constexpr int64_t kFixedCharacters = 13;
constexpr int64_t kLeastCharacters = 5;
constexpr int64_t kWordBegins = 259;  // ids of kBytes
constexpr int64_t kWordEnds = 260;
constexpr int64_t kByteIds = 262;

int64_t CutLength(const AnnotatedText& text, int64_t tokens_max) {
  return std::max<int64_t>(1, std::min(text.size(), tokens_max));
}

int64_t LongestOf(const std::vector<const AnnotatedText*>& texts, int64_t tokens_max) {
  int64_t longest = 1;
  for (const AnnotatedText* text : texts) {
    longest = std::max(longest, CutLength(*text, tokens_max));
  }
  return longest;
}

torch::Tensor MaskOf(const std::vector<const AnnotatedText*>& texts, int64_t length) {
  torch::Tensor mask = torch::zeros({static_cast<int64_t>(texts.size()), length}, torch::kBool);
  for (size_t row = 0; row < texts.size(); ++row) {
    mask[static_cast<int64_t>(row)].narrow(0, 0, CutLength(*texts[row], length)).fill_(true);
  }
  return mask;
}

// Tags as ids from 1; 0 is padding.
torch::Tensor TagIds(const std::vector<const AnnotatedText*>& texts, int64_t length,
                     std::vector<int32_t> Annotations::*tags) {
  torch::Tensor ids = torch::zeros({static_cast<int64_t>(texts.size()), length}, torch::kInt64);
  auto out = ids.accessor<int64_t, 2>();
  for (size_t row = 0; row < texts.size(); ++row) {
    const std::vector<int32_t>& of_text = texts[row]->annotations.*tags;
    for (int64_t i = 0; i < std::min(length, static_cast<int64_t>(of_text.size())); ++i) {
      out[static_cast<int64_t>(row)][i] = of_text[static_cast<size_t>(i)] + 1;
    }
  }
  return ids;
}

}  // namespace

BatchMaker::BatchMaker(const Inputs& inputs, Vocabulary words, Vocabulary characters)
    : inputs_(inputs), words_(std::move(words)), characters_(std::move(characters)) {}

std::string BatchMaker::WordForm(absl::string_view word) const {
  return inputs_.lower_case_words ? qa::LowerCase(word) : std::string(word);
}

InputSizes BatchMaker::Sizes() const {
  InputSizes sizes;
  sizes.words = words_.size();
  switch (inputs_.characters) {
    case Characters::kNone:
      break;
    case Characters::kBytes:
      sizes.characters = kByteIds;
      break;
    case Characters::kVocabulary:
    case Characters::kFixed:
      sizes.characters = characters_.size();
      break;
  }
  const bool columns = inputs_.tags == Inputs::Tags::kColumns;
  if (inputs_.match_features) {
    sizes.features = static_cast<int64_t>(
        FeatureColumns(columns ? kPosTags.size() : 0, columns ? kEntityTags.size() : 0).size());
  }
  if (inputs_.tags == Inputs::Tags::kIds) {
    sizes.pos_tags = static_cast<int64_t>(kPosTags.size()) + 1;
    sizes.entity_tags = static_cast<int64_t>(kEntityTags.size()) + 1;
  }
  return sizes;
}

torch::Tensor BatchMaker::WordIds(const Texts& texts, int64_t length) const {
  torch::Tensor ids = torch::zeros({static_cast<int64_t>(texts.size()), length}, torch::kInt64);
  auto out = ids.accessor<int64_t, 2>();
  for (size_t row = 0; row < texts.size(); ++row) {
    auto line = out[static_cast<int64_t>(row)];
    line[0] = Vocabulary::kUnknown;  // stays in a text without tokens
    for (int64_t i = 0; i < std::min(length, texts[row]->size()); ++i) {
      const absl::string_view word = texts[row]->Word(static_cast<size_t>(i));
      line[i] = inputs_.lower_case_words ? words_.Id(qa::LowerCase(word)) : words_.Id(word);
    }
  }
  return ids;
}

std::vector<int64_t> BatchMaker::CharactersOfWord(absl::string_view word) const {
  std::vector<int64_t> ids;
  if (inputs_.characters == Characters::kBytes) {
    ids.push_back(kWordBegins);
    for (const char c : word.substr(0, kWordCharactersMax)) {
      ids.push_back(static_cast<unsigned char>(c) + 1);
    }
    ids.push_back(kWordEnds);
    return ids;
  }
  const int64_t limit =
      inputs_.characters == Characters::kFixed ? kFixedCharacters : kWordCharactersMax;
  for (const absl::string_view character : CharactersOf(word)) {
    if (static_cast<int64_t>(ids.size()) == limit) {
      break;
    }
    ids.push_back(characters_.Id(character));
  }
  return ids;
}

torch::Tensor BatchMaker::CharacterIds(const Texts& texts, int64_t length) const {
  std::vector<std::vector<std::vector<int64_t>>> rows(texts.size());
  int64_t longest = inputs_.characters == Characters::kFixed ? kFixedCharacters : kLeastCharacters;
  for (size_t row = 0; row < texts.size(); ++row) {
    for (int64_t i = 0; i < std::min(length, texts[row]->size()); ++i) {
      rows[row].push_back(CharactersOfWord(texts[row]->Word(static_cast<size_t>(i))));
      longest = std::max(longest, static_cast<int64_t>(rows[row].back().size()));
    }
  }
  torch::Tensor ids =
      torch::zeros({static_cast<int64_t>(texts.size()), length, longest}, torch::kInt64);
  auto* out = ids.data_ptr<int64_t>();
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows[row].size(); ++i) {
      std::copy(rows[row][i].begin(), rows[row][i].end(),
                out + (static_cast<int64_t>(row) * length + static_cast<int64_t>(i)) * longest);
    }
  }
  return ids;
}

torch::Tensor BatchMaker::FeatureRows(const Texts& texts, const Texts& others,
                                      int64_t length) const {
  const bool tags = inputs_.tags == Inputs::Tags::kColumns;
  const FeatureColumns columns(tags ? kPosTags.size() : 0, tags ? kEntityTags.size() : 0);
  const auto width = static_cast<int64_t>(columns.size());
  torch::Tensor features = torch::zeros({static_cast<int64_t>(texts.size()), length, width});
  std::vector<float> values;
  for (size_t row = 0; row < texts.size(); ++row) {
    values.resize(texts[row]->annotations.size() * columns.size());
    WriteFeatures(texts[row]->annotations, others[row]->annotations, columns, values.data());
    const int64_t kept = std::min(length, texts[row]->size()) * width;
    std::copy(values.begin(), values.begin() + kept,
              features.data_ptr<float>() + static_cast<int64_t>(row) * length * width);
  }
  return features;
}

Batch BatchMaker::Make(const Examples& examples, const std::vector<size_t>& rows,
                       const TokensMax& tokens_max) const {
  Texts passages;
  Texts questions;
  for (const size_t row : rows) {
    passages.push_back(&examples.passages[examples.questions[row].passage]);
    questions.push_back(&examples.questions[row].text);
  }
  const int64_t passage_length = LongestOf(passages, tokens_max.passage);
  const int64_t question_length = LongestOf(questions, tokens_max.question);
  Batch batch;
  batch.passage = WordIds(passages, passage_length);
  batch.question = WordIds(questions, question_length);
  batch.passage_mask = MaskOf(passages, passage_length);
  batch.question_mask = MaskOf(questions, question_length);
  if (inputs_.characters != Characters::kNone) {
    batch.passage_characters = CharacterIds(passages, passage_length);
    batch.question_characters = CharacterIds(questions, question_length);
  }
  if (inputs_.match_features) {
    batch.passage_features = FeatureRows(passages, questions, passage_length);
  }
  if (inputs_.question_features) {
    batch.question_features = FeatureRows(questions, passages, question_length);
  }
  if (inputs_.tags == Inputs::Tags::kIds) {
    batch.passage_pos = TagIds(passages, passage_length, &Annotations::pos);
    batch.passage_entities = TagIds(passages, passage_length, &Annotations::entities);
  }
  batch.starts = torch::full({static_cast<int64_t>(rows.size())}, -1, torch::kInt64);
  batch.ends = batch.starts.clone();
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<TokenRange>& answers = examples.questions[rows[i]].answers;
    if (!answers.empty() && answers[0].last < passage_length) {
      batch.starts[static_cast<int64_t>(i)] = answers[0].first;
      batch.ends[static_cast<int64_t>(i)] = answers[0].last;
    }
  }
  return batch;
}

std::vector<std::vector<size_t>> Batches(const Examples& examples, std::vector<size_t> rows,
                                         int64_t size, Random& random) {
  random.Shuffle(rows);
  const auto length_of = [&](size_t row) {
    const ExampleQuestion& question = examples.questions[row];
    return std::make_pair(examples.passages[question.passage].size(), question.text.size());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return length_of(a) < length_of(b); });
  std::vector<std::vector<size_t>> batches;
  for (size_t begin = 0; begin < rows.size(); begin += static_cast<size_t>(size)) {
    const size_t end = std::min(rows.size(), begin + static_cast<size_t>(size));
    batches.emplace_back(rows.begin() + static_cast<int64_t>(begin),
                         rows.begin() + static_cast<int64_t>(end));
  }
  random.Shuffle(batches);
  return batches;
}

}  // namespace concur::readers
