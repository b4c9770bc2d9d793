// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/features.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "nlohmann/json.hpp"
#include "qa/normalize.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

using Json = nlohmann::json;

// Numbers for texts, equal where the texts are.
struct Forms {
  std::map<std::string, int32_t> ids = {};

  std::vector<int32_t> Of(const std::vector<std::string>& texts) {
    std::vector<int32_t> result;
    for (const std::string& text : texts) {
      result.push_back(ids.try_emplace(text, static_cast<int32_t>(ids.size())).first->second);
    }
    return result;
  }
};

// The columns "PREFIX…" of a fixture's dictionary, in the order of their columns.
std::vector<std::string> TagsOf(const Json& dictionary, const std::string& prefix) {
  std::map<size_t, std::string> tags;
  for (const auto& [name, column] : dictionary.items()) {
    if (name.starts_with(prefix)) {
      tags[column.get<size_t>()] = name.substr(prefix.size());
    }
  }
  std::vector<std::string> list;
  for (const auto& [column, tag] : tags) {
    list.push_back(tag);
  }
  return list;
}

std::vector<int32_t> Indices(const std::vector<std::string>& tags, const Json& texts) {
  std::vector<int32_t> result;
  for (const Json& text : texts) {
    const auto found = std::find(tags.begin(), tags.end(), text.get<std::string>());
    result.push_back(found == tags.end() ? -1 : static_cast<int32_t>(found - tags.begin()));
  }
  return result;
}

std::vector<std::string> Lower(std::vector<std::string> words) {
  for (std::string& word : words) {
    word = qa::LowerCase(word);
  }
  return words;
}

// Compares the features of each example of a fixture whose passage has `pos`, `ner`, `lemma`.
void ExpectEqual(const Json& fixture, const std::string& features, const std::string& text,
                 const std::string& prefix, const std::string& other,
                 const std::string& other_prefix) {
  const std::vector<std::string> pos = TagsOf(fixture["feature_dict"], "pos=");
  const std::vector<std::string> entities = TagsOf(fixture["feature_dict"], "ner=");
  const FeatureColumns columns(pos.size(), entities.size());
  ASSERT_EQ(columns.size(), fixture["feature_dict"].size());
  for (const Json& example : fixture["examples"]) {
    Forms forms;
    const auto annotate = [&](const std::string& name, const std::string& tag_prefix, bool tags) {
      const auto words = example[name].get<std::vector<std::string>>();
      return Annotations{
          forms.Of(words), forms.Of(Lower(words)), forms.Of(example[tag_prefix + "lemma"]),
          tags ? Indices(pos, example[tag_prefix + "pos"]) : std::vector<int32_t>(),
          tags ? Indices(entities, example[tag_prefix + "ner"]) : std::vector<int32_t>()};
    };
    const Annotations own = annotate(text, prefix, true);
    std::vector<float> computed(own.size() * columns.size(), -1);
    WriteFeatures(own, annotate(other, other_prefix, false), columns, computed.data());
    std::vector<float> expected;
    for (const Json& row : example[features]) {
      for (const Json& value : row) {
        expected.push_back(value.get<float>());
      }
    }
    EXPECT_EQ(computed, expected) << features << " of example " << example["id"];
  }
}

Json ReadJson(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  CONCUR_CHECK_OK(text.status());
  return Json::parse(*text);
}

TEST(FeaturesTest, EqualThoseOfDrQa) {
  CONCUR_FIXTURE_OR_SKIP(path, "drqa-features/features.json");
  const Json fixture = ReadJson(path);
  ExpectEqual(fixture, "features", "document", "", "question", "q");
}

TEST(FeaturesTest, EqualThoseOfMnemonicReaderInBothDirections) {
  CONCUR_FIXTURE_OR_SKIP(path, "mnemonic-features/features.json");
  const Json fixture = ReadJson(path);
  ExpectEqual(fixture, "c_features", "document", "c", "question", "q");
  ExpectEqual(fixture, "q_features", "question", "q", "document", "c");
}

TEST(FeaturesTest, MatchesAndFrequenciesAreThoseOfTheForms) {
  Forms forms;
  const std::vector<std::string> passage = {"Dogs", "saw", "dogs"};
  const Annotations text = {
      forms.Of(passage), forms.Of(Lower(passage)), forms.Of({"dog", "see", "dog"}), {}, {}};
  const Annotations question = {forms.Of({"dogs"}), forms.Of({"dogs"}), forms.Of({"dog"}), {}, {}};
  std::vector<float> features(12);
  WriteFeatures(text, question, FeatureColumns(0, 0), features.data());
  EXPECT_THAT(features, ElementsAre(0, 1, 1, 2.0F / 3, 0, 0, 0, 1.0F / 3, 1, 1, 1, 2.0F / 3));
}

}  // namespace
}  // namespace concur::readers
