// SPDX-License-Identifier: Apache-2.0
#include "qa/score.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "qa/normalize.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

constexpr auto kScoreInvalid = absl::StatusCode::kInvalidArgument;

Predictions PredictionsOf(std::vector<std::pair<std::string, std::string>> answers) {
  const auto owner = std::make_shared<const decltype(answers)>(std::move(answers));
  Predictions predictions(owner);
  for (const auto& [id, answer] : *owner) {
    EXPECT_TRUE(predictions.Add(id, answer));
  }
  return predictions;
}

std::string SourceFile(const std::string& name) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(source == nullptr ? "." : source, "/", name);
}

// Pairs of a text and what the official script's normalization makes of it, found with Python 3.
TEST(NormalizeTest, EqualsTheOfficialScriptOnUnicodeTraps) {
  std::ifstream file(SourceFile("tests/qa/normalize_vectors.jsonl"));
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const nlohmann::json pair = nlohmann::json::parse(line);
    EXPECT_EQ(NormalizeAnswer(pair[0].get<std::string>()), pair[1].get<std::string>()) << line;
    ++count;
  }
  EXPECT_GT(count, 150);
}

TEST(NormalizeTest, IllFormedBytesAreNoWordsAndDoNotEndTheProcess) {
  EXPECT_EQ(NormalizeAnswer("A \xC3( the \xFF"), "\xC3 \xFF");
}

TEST(NormalizeTest, WordsAreThoseBetweenSpaces) {
  EXPECT_THAT(NormalizedWords("x yy z"), ElementsAre("x", "yy", "z"));
  EXPECT_TRUE(NormalizedWords("").empty());
}

TEST(ScoreTest, F1EqualsTheOfficialScript) {
  EXPECT_EQ(F1("the cat sat", "a cat sat down"), 0.8);
  EXPECT_EQ(F1("b b c", "b c c"), 0.6666666666666666);
  EXPECT_EQ(F1("x", "y"), 0);
  EXPECT_EQ(F1("Denver Broncos", "The Broncos"), 0.6666666666666666);
  EXPECT_EQ(F1("one two three four five six seven", "seven six"), 0.4444444444444445);
}

TEST(ScoreTest, TwoEmptyAnswersMatchExactlyButShareNoWord) {
  EXPECT_TRUE(ExactMatch("the", "an"));
  EXPECT_EQ(F1("the", "an"), 0);
}

Dataset SampleDataset() {
  Dataset dataset;
  dataset.passages.push_back(
      {"T", "x", {{"q1", "?", {"red", "dark red"}, {}}, {"q2", "?", {"blue"}, {}}}});
  dataset.passages.push_back({"T", "y", {{"q\"3", "?", {"cat sat"}, {}}}});
  return dataset;
}

TEST(ScoreTest, MissingPredictionsCountZeroAndExtraOnesAreCounted) {
  const ScoreReport report = Score(
      SampleDataset(), PredictionsOf({{"q1", "Dark Red!"}, {"q\"3", "the cat"}, {"other", "x"}}));
  EXPECT_EQ(report.n, 3);
  EXPECT_EQ(report.exact_matches, 1);
  EXPECT_EQ(report.missing, 1);
  EXPECT_EQ(report.extra, 1);
  EXPECT_EQ(report.exact_match, 100.0 * 1 / 3);
  EXPECT_EQ(report.f1, 100.0 * (1 + 0.6666666666666666) / 3);
  EXPECT_EQ(PerExampleJsonLines(report),
            "{\"id\": \"q1\", \"exact_match\": 1, \"f1\": 1, \"passage\": 0, \"document\": 0}\n"
            "{\"id\": \"q2\", \"exact_match\": 0, \"f1\": 0, \"passage\": 0, \"document\": 0}\n"
            "{\"id\": \"q\\\"3\", \"exact_match\": 0, \"f1\": 0.6666666666666666, \"passage\": 1, "
            "\"document\": 0}\n");
}

TEST(PredictionsTest, OnlyAnObjectOfStringsIsRead) {
  TempDir directory;
  const std::string path = directory.File("p.json");
  const auto read = [&](const std::string& contents) {
    EXPECT_OK(WriteFileAtomically(path, contents));
    return ReadPredictions(path);
  };
  ASSERT_OK_AND_ASSIGN(const Predictions predictions,
                       read("\xEF\xBB\xBF{\"a\": \"x\", \"\": \"\\u00e9\"}\r\n"));
  EXPECT_EQ(predictions.size(), 2u);
  EXPECT_EQ(predictions.Find("a"), "x");
  EXPECT_EQ(predictions.Find(""), "é");
  EXPECT_EQ(predictions.Find("b"), std::nullopt);
  ASSERT_OK_AND_ASSIGN(const Predictions none, read("{}"));
  EXPECT_EQ(none.size(), 0u);
  struct Case {
    const char* contents;
    const char* message;
  };
  for (const Case& bad : std::vector<Case>{
           {"", "the file is empty"},
           {"[]", "expected an object"},
           {"{\"a\": 1}", "\"a\": expected a string, got 1"},
           {"{\"a\": null}", "\"a\": expected a string, got null"},
           {"{\"a\": [\"x\"]}", "\"a\": expected a string, got a list"},
           {"{\"a\": {\"b\": 1}}", "\"a\": expected a string, got an object"},
           {"{\"a\": NaN}", "not valid JSON: line 1, column 7"},
           {"{\"a\": \"x\",\n \"a\": \"x\"}", "\"a\": appears twice"},
           {"{\"a\": \"x\",\n", "not valid JSON: line 2"},
           {"{\"a\": \"\xFF\"}", "expected UTF-8, found byte 0xff"},
           {"{} {}", "not valid JSON: line 1, column 4"},
       }) {
    EXPECT_THAT(read(bad.contents),
                StatusIs(kScoreInvalid, AllOf(HasSubstr("p.json: "), HasSubstr(bad.message))))
        << bad.contents;
  }
  EXPECT_THAT(ReadPredictions(directory.File("absent")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("absent")));
}

// Figures of the official script on published predictions.
TEST(SharedDataTest, RealPredictionsScoreAsPublished) {
  const char* shared = std::getenv("CONCUR_SHARED_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string data =
      (shared != nullptr ? std::string(shared) : SourceFile("../shared")) + "/data/squad/";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << data << " is absent";
  }
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, ReadDataset(data + "dev-v1.1.json"));
  struct Case {
    const char* name;
    const char* figures;
    int64_t missing;
    int64_t extra;
  };
  for (const Case& known : std::vector<Case>{{"logistic-regression", "40.1419/50.9815", 13, 28},
                                             {"match-lstm", "67.6348/76.7556", 0, 0},
                                             {"bert-ensemble", "86.2062/92.1956", 0, 0}}) {
    ASSERT_OK_AND_ASSIGN(const Predictions predictions,
                         ReadPredictions(absl::StrCat(data, "predictions/", known.name, ".json")));
    const ScoreReport report = Score(dataset, predictions);
    EXPECT_EQ(absl::StrFormat("%.4f/%.4f", report.exact_match, report.f1), known.figures)
        << known.name;
    EXPECT_EQ(report.missing, known.missing);
    EXPECT_EQ(report.extra, known.extra);
    ASSERT_OK_AND_ASSIGN(const ScoreReport streamed,
                         ScoreFile(data + "dev-v1.1.json", predictions));
    EXPECT_EQ(PerExampleJsonLines(streamed), PerExampleJsonLines(report));
    EXPECT_EQ(streamed.f1, report.f1);
    EXPECT_EQ(streamed.extra, report.extra);
  }
}

TEST(ScoreFileTest, ScoresPassageByPassageAsTheWholeSet) {
  const TempDir dir;
  const std::string path = dir.File("d.jsonl");
  ASSERT_OK(WriteFileAtomically(
      path, R"({"context": "a b", "qas": [{"qid": "1", "question": "?", "answers": ["a b c"]}]})"
            "\n"
            R"({"context": "d", "qas": [{"qid": "2", "question": "?", "answers": ["the", "e"]},)"
            R"( {"qid": "3", "question": "?", "answers": ["d", "d e"]}]})"
            "\n"));
  const Predictions predictions =
      PredictionsOf({{"1", "b"}, {"2", "an"}, {"3", "d e f"}, {"9", "x"}});
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, ReadDataset(path));
  const ScoreReport whole = Score(dataset, predictions);
  ASSERT_OK_AND_ASSIGN(const ScoreReport streamed, ScoreFile(path, predictions));
  EXPECT_EQ(PerExampleJsonLines(streamed), PerExampleJsonLines(whole));
  EXPECT_EQ(PerExampleJsonLines(streamed),
            "{\"id\": \"1\", \"exact_match\": 0, \"f1\": 0.6666666666666666, \"passage\": 0}\n"
            "{\"id\": \"2\", \"exact_match\": 1, \"f1\": 0, \"passage\": 1}\n"
            "{\"id\": \"3\", \"exact_match\": 0, \"f1\": 0.8, \"passage\": 1}\n");
  EXPECT_EQ(streamed.f1, whole.f1);
  EXPECT_EQ(streamed.extra, 1);
  ASSERT_OK(WriteFileAtomically(path, R"({"header": {"dataset": "x"}})"
                                      "\n"));
  EXPECT_THAT(ScoreFile(path, predictions),
              StatusIs(kScoreInvalid, HasSubstr("at least one question")));
}

// Expected scores are those of Jia and Liang's rule: the lowest F1 of the altered passages, and the
// exact match of that same passage.
TEST(ScoreWorstOfVariantsTest, TheAlteredPassageWithTheLowestF1Counts) {
  const auto question = [](const std::string& id, const std::string& answer) {
    return Question{id, "?", {answer}, {}};
  };
  Dataset dataset;
  dataset.passages = {
      {"", "x", {question("q1", "red cat")}},
      {"", "x", {question("q1-high-turk0", "red cat"), question("q1-high-turk1", "red cat")}},
      {"", "x", {question("q2", "dog"), question("q3-a", "hen"), question("q3", "hen")}},
      {"", "x", {question("q4", "a b c"), question("q4-0", "a b c")}}};
  const Predictions predictions = PredictionsOf({{"q1", "no"},
                                                 {"q1-high-turk0", "red cat"},
                                                 {"q1-high-turk1", "cat"},
                                                 {"q2", "dog"},
                                                 {"q3-a", "hen"},
                                                 {"q3", "no"},
                                                 {"q4", "b c"},
                                                 {"q9-x", "?"}});
  const ScoreReport report = ScoreWorstOfVariants(dataset, predictions);
  ASSERT_EQ(report.n, 4);
  std::vector<std::string> ids;
  std::vector<double> f1;
  for (const ExampleScore& example : report.examples) {
    ids.push_back(example.id);
    f1.push_back(example.f1);
  }
  EXPECT_THAT(ids, ElementsAre("q1", "q2", "q3", "q4"));
  EXPECT_THAT(f1, ElementsAre(2.0 / 3, 1.0, 1.0, 0.0));
  EXPECT_EQ(report.exact_matches, 2);
  EXPECT_EQ(report.missing, 1);
  EXPECT_EQ(report.extra, 1);
}

TEST(ScoreWorstOfVariantsTest, WithoutVariantsItIsTheOrdinaryScore) {
  Dataset dataset;
  dataset.passages = {{"", "x", {{"1", "?", {"a b c"}, {}}, {"2", "?", {"d"}, {}}}}};
  const Predictions predictions = PredictionsOf({{"1", "b"}, {"2", "d"}});
  const ScoreReport worst = ScoreWorstOfVariants(dataset, predictions);
  const ScoreReport plain = Score(dataset, predictions);
  EXPECT_EQ(worst.f1, plain.f1);
  EXPECT_EQ(worst.exact_match, plain.exact_match);
  EXPECT_LT(plain.f1, 100);
}

}  // namespace
}  // namespace concur::qa
