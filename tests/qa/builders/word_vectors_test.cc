// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/random.h"
#include "qa/builders/cooccurrence.h"
#include "qa/builders/neighbour_table.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

TEST(VectorsFileTest, GloveAndWord2vecFormsReadAlike) {
  const std::string glove = "one 1 0\ntwo 0.5 -2e-3\n";
  for (const std::string& text :
       {glove, "2 2\n" + glove, std::string("2 2\r\none 1 0 \r\ntwo\t0.5 -2e-3")}) {
    const auto file = ParseVectors(text, "v", 100);
    ASSERT_OK(file.status());
    EXPECT_THAT(file->vectors.words(), ElementsAre("one", "two"));
    EXPECT_EQ(file->vectors.row(0)[0], 16384);
    EXPECT_EQ(file->dropped, 0);
  }
}

TEST(VectorsFileTest, UnusableRowsAreDroppedAndCounted) {
  const auto file = ParseVectors(
      "one 1 0\n, 1 1\nzero 0 0\none 2 2\nthe 1 2\n. . . 0.1 0.2\ntwo 0 1\nthree 1 1\n", "v", 100);
  ASSERT_OK(file.status());
  EXPECT_THAT(file->vectors.words(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(file->dropped, 5);
}

TEST(VectorsFileTest, OnlyTheFirstWordsAreRead) {
  const auto file = ParseVectors("a1 1 0\nb 1 1\nc 0 1\nbroken", "v", 3);
  ASSERT_OK(file.status());
  EXPECT_EQ(file->vectors.size(), 3U);
}

TEST(VectorsFileTest, MalformedFilesAreRefusedWithTheLine) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"one 1 0\ntwo 1\n", "v:2: expected a word and 2 numbers, got 1 numbers"},
      {"one 1 0\ntwo 1 0 3\n", "v:2: expected a word and 2 numbers, got 3 numbers"},
      {"one 1 0\ntwo 1 x\n", "v:2: number 2: expected a finite number, got \"x\""},
      {"one 1 nan\ntwo 1 1\n", "v:1: number 2: expected a finite number"},
      {"one 1 inf\ntwo 1 1\n", "v:1: number 2: expected a finite number"},
      {"one 1 1e39\ntwo 1 1\n", "v:1: number 2: expected a finite number"},
      {"one\n", "v:1: expected a word and 1 to 4096 numbers"},
      {"one 1 0\n\xFF 1 0\n", "v:2: expected a word in UTF-8"},
      {"", "v: expected at least two words with vectors, got 0"},
      {"2 300\n", "v: expected at least two words with vectors, got 0"},
      {"one 1 0\n", "v: expected at least two words with vectors, got 1"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ParseVectors(c.text, "v", 100),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(NeighbourTest, FoundNeighboursAreThoseOfAFullSort) {
  constexpr size_t kWords = 3000;
  constexpr size_t kDimensions = 19;
  std::vector<std::string> words;
  std::vector<float> values;
  Random random(1, "test");
  for (size_t w = 0; w < kWords; ++w) {
    words.push_back(absl::StrCat("w", w));
    for (size_t d = 0; d < kDimensions; ++d) {
      // Some words share their vectors, so that ties occur.
      values.push_back(w % 10 == 9 ? values[values.size() - kDimensions]
                                   : static_cast<float>(random.Normal()));
    }
  }
  const WordVectors vectors(words, values, kDimensions);
  NeighbourTable table(vectors, 100);
  const std::vector<uint32_t> queries = {5, 2999, 0, 8, 9, 17, 5};
  table.Fill(queries);
  table.Fill({1});
  for (const uint32_t query : {5U, 2999U, 0U, 8U, 9U, 17U, 1U}) {
    std::vector<std::pair<int64_t, uint32_t>> all;
    for (uint32_t w = 0; w < kWords; ++w) {
      int64_t product = 0;
      for (size_t d = 0; d < vectors.stride(); ++d) {
        product += int64_t{vectors.row(w)[d]} * vectors.row(query)[d];
      }
      if (w != query) {
        all.emplace_back(-product, w);
      }
    }
    std::sort(all.begin(), all.end());
    const auto found = table.Of(query);
    ASSERT_EQ(found.size(), 100U);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], all[i].second) << "query " << query << ", rank " << i;
    }
  }
}

TEST(NeighbourTest, SmallVocabulariesGiveAllOtherWords) {
  const WordVectors vectors({"a1", "b", "c"}, {1, 0, 0.9F, 0.1F, -1, 0}, 2);
  NeighbourTable table(vectors, 100);
  table.Fill({0});
  EXPECT_THAT(table.Of(0), ElementsAre(1, 2));
}

// The share of exact neighbours that an approximate search finds, for every `step`-th word.
double RecallOf(const WordVectors& vectors, size_t neighbours, uint32_t step) {
  NeighbourTable exact(vectors, neighbours);
  NeighbourTable approximate(vectors, neighbours, NeighbourSearch::kApproximate);
  std::vector<uint32_t> queries;
  for (uint32_t word = 0; word < vectors.size(); word += step) {
    queries.push_back(word);
  }
  exact.Fill(queries);
  approximate.Fill(queries);
  size_t found = 0;
  for (const uint32_t query : queries) {
    const std::set<uint32_t> wanted(exact.Of(query).begin(), exact.Of(query).end());
    const std::set<uint32_t> got(approximate.Of(query).begin(), approximate.Of(query).end());
    EXPECT_EQ(got.size(), neighbours) << "each once";
    EXPECT_EQ(got.count(query), 0u);
    for (const uint32_t word : got) {
      found += wanted.count(word);
    }
  }
  return static_cast<double>(found) / static_cast<double>(neighbours * queries.size());
}

TEST(NeighbourTest, AnApproximateSearchFindsMostNeighbours) {
  // 20,000 words around 400 centres, in 50 dimensions.
  constexpr size_t kWords = 20'000;
  constexpr size_t kDimensions = 50;
  std::vector<std::string> words;
  std::vector<float> values;
  std::vector<double> centres(400 * kDimensions);
  Random random(2, "test");
  for (double& value : centres) {
    value = random.Normal();
  }
  for (size_t w = 0; w < kWords; ++w) {
    words.push_back(absl::StrCat("w", w));
    for (size_t d = 0; d < kDimensions; ++d) {
      values.push_back(
          static_cast<float>(centres[w % 400 * kDimensions + d] + 0.8 * random.Normal()));
    }
  }
  const WordVectors vectors(words, values, kDimensions);
  const double recall = RecallOf(vectors, 10, 97);
  RecordProperty("recall", absl::StrCat(recall));
  EXPECT_GT(recall, 0.9);
  EXPECT_LT(recall, 1) << "is it exact?";
}

TEST(NeighbourTest, AnApproximateSearchOfRealVectorsFindsMostNeighbours) {
  CONCUR_SHARED_DATA_OR_SKIP(data, "glove");
  ASSERT_OK_AND_ASSIGN(const std::string contents,
                       ReadFile(data + "/glove.twitter.27B.25d.subset.txt"));
  ASSERT_OK_AND_ASSIGN(const VectorsFile file, ParseVectors(contents, "glove", 20'000));
  for (const size_t neighbours : {10, 100}) {  // compares 2,000 and 4,000 of 11,925 words
    const double recall = RecallOf(file.vectors, neighbours, 61);
    RecordProperty(absl::StrCat("recall_of_", neighbours), absl::StrCat(recall));
    EXPECT_GT(recall, 0.9) << neighbours;
  }
}

TEST(NeighbourTest, AnApproximateSearchOfFewOrEqualWordsGivesAsManyAsAnExactOne) {
  const WordVectors few({"a1", "b", "c"}, {1, 0, 0.9F, 0.1F, -1, 0}, 2);
  NeighbourTable table(few, 100, NeighbourSearch::kApproximate);
  table.Fill({0});
  EXPECT_THAT(table.Of(0), ElementsAre(1, 2));
  // No two words differ, so that no plane divides them.
  std::vector<std::string> words;
  std::vector<float> values;
  for (size_t w = 0; w < 1000; ++w) {
    words.push_back(absl::StrCat("w", w));
    values.insert(values.end(), {1, 2});
  }
  const WordVectors equal(words, values, 2);
  NeighbourTable of_equal(equal, 100, NeighbourSearch::kApproximate);
  of_equal.Fill({7});
  EXPECT_EQ(of_equal.Of(7).size(), 100u);
}

TEST(CooccurrenceTest, LogarithmAgreesWithTheLibrarys) {
  for (const double x : {1.0, 2.0, 3.0, 0.7, 1e-300, 1e300, 12345.678, 1e-310}) {
    EXPECT_NEAR(PortableLog2(x), std::log2(x), 1e-12 * std::max(1.0, std::fabs(std::log2(x))));
  }
}

TEST(CooccurrenceTest, WordsOfTheSameCompanyAreNear) {
  // Words 0–9 stand with words 20–29, words 10–19 with 30–39; no two of 0–19 ever meet.
  WordStream stream;
  Random random(1, "test");
  for (int s = 0; s < 4000; ++s) {
    const uint32_t group = s % 2 == 0 ? 0 : 10;
    stream.words.push_back(static_cast<uint32_t>(random.Below(10)) + group);
    stream.words.push_back(static_cast<uint32_t>(random.Below(10)) + group + 20);
    stream.ends.push_back(static_cast<uint32_t>(stream.words.size()));
  }
  CooccurrenceOptions options;
  options.dimensions = 8;
  std::vector<std::string> words;
  for (int w = 0; w < 40; ++w) {
    words.push_back(absl::StrCat("w", w));
  }
  const WordVectors vectors(words, CooccurrenceVectors(stream, 40, options), 8);
  NeighbourTable table(vectors, 9);
  std::vector<uint32_t> queries;
  for (uint32_t w = 0; w < 20; ++w) {
    queries.push_back(w);
  }
  table.Fill(queries);
  int same = 0;
  for (const uint32_t w : queries) {
    for (const uint32_t near : table.Of(w)) {
      same += near / 10 == w / 10 ? 1 : 0;
    }
  }
  EXPECT_GE(same, 170) << "of 180";
}

TEST(CooccurrenceTest, WordsWithoutCompanyGetVectorsToo) {
  WordStream stream;
  stream.words = {0};
  stream.ends = {1};
  const auto values = CooccurrenceVectors(stream, 3, CooccurrenceOptions{});
  ASSERT_EQ(values.size(), 9U);
  for (const float value : values) {
    EXPECT_NE(value, 0);
  }
}

}  // namespace
}  // namespace concur::qa
