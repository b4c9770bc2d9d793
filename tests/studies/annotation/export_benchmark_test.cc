// SPDX-License-Identifier: Apache-2.0
// The benchmark that annotators made: its splits, its answers, and what is left out.
#include "studies/annotation/export_benchmark.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "tests/studies/annotation/scene.h"
#include "tests/testing/test.h"

namespace concur::annotation {
namespace {

Settings OneValidator() {
  Settings settings;
  settings.validators = 1;
  settings.share_passages = true;
  return settings;
}

// Writes a question of ada's to the passage, which bob answers.
void AskAndValidate(Scene& scene, const std::string& passage, const std::string& answer,
                    const std::string& validation) {
  ASSERT_OK(scene.Take("ada", passage));
  ASSERT_OK(scene.Ask("ada", passage, answer, "nothing of it"));
  ASSERT_OK(scene.Take("bob", passage));
  ASSERT_OK(scene.Validate("bob", static_cast<int64_t>(scene.room.attempts().size()), validation));
}

class ExportBenchmarkTest : public ::testing::Test {
 protected:
  ExportBenchmarkTest() : scene_(OneValidator()) {
    AskAndValidate(scene_, "rhine", "North Sea", "the North Sea");
    AskAndValidate(scene_, "danube", "Vienna", "Vienna and Budapest");
    AskAndValidate(scene_, "zürich", "Zürich", "Zürich");
    AskAndValidate(scene_, "rhine", "Alps", "Rhine");  // dropped
    EXPECT_OK(scene_.Ask("ada", "rhine", "Alps", "Alps"));
    EXPECT_OK(scene_.Ask("bob", "rhine", "Alps", ""));  // waits
    options_.directory = directory_.File("out");
  }
  std::string TextOfExport() {
    std::string text;
    for (const char* name :
         {"train.jsonl", "validation.jsonl", "test.jsonl", "attempts.jsonl", "benchmark.yaml"}) {
      text += ReadFile(options_.directory + "/" + name).value();
    }
    return text;
  }

  TempDir directory_;
  Scene scene_;
  ExportOptions options_;
};

TEST_F(ExportBenchmarkTest, KeptQuestionsAreDividedByPassage) {
  ASSERT_OK_AND_ASSIGN(const ExportResult result, ExportBenchmark(scene_.room, options_));
  std::set<std::string> contexts;
  std::set<std::string> ids;
  for (const ExportedSplit& split : result.splits) {
    ASSERT_OK_AND_ASSIGN(const qa::Dataset data, qa::ReadDataset(split.path));
    EXPECT_EQ(split.passages, 1);
    EXPECT_EQ(split.questions, 1);
    for (const qa::Passage& passage : data.passages) {
      EXPECT_TRUE(contexts.insert(passage.context).second);
      for (const qa::Question& question : passage.questions) {
        ids.insert(question.id);
        for (const qa::Span& span : question.spans) {
          EXPECT_THAT(question.answers, Contains(std::string(qa::TextOf(passage.context, span))));
        }
        if (question.id == "q2") {
          EXPECT_THAT(question.answers, ElementsAre("Vienna", "Vienna and Budapest"));
        }
      }
    }
  }
  EXPECT_THAT(ids, ElementsAre("q1", "q2", "q3"));
  EXPECT_EQ(result.dropped, 1);
  EXPECT_EQ(result.system_won, 1);
  EXPECT_EQ(result.waiting, 1);
}

TEST_F(ExportBenchmarkTest, TheSameSeedGivesTheSameBytesAndAnotherOtherSplits) {
  ASSERT_OK(ExportBenchmark(scene_.room, options_));
  const std::string first = TextOfExport();
  ASSERT_OK(ExportBenchmark(scene_.room, options_));
  EXPECT_EQ(TextOfExport(), first);
  std::set<std::string> tested;
  for (options_.seed = 1; options_.seed < 20; ++options_.seed) {
    ASSERT_OK_AND_ASSIGN(const ExportResult result, ExportBenchmark(scene_.room, options_));
    tested.insert(qa::ReadDataset(result.splits[2].path).value().passages.front().context);
  }
  EXPECT_EQ(tested.size(), 3u) << "each passage is the tested one for some seed";
}

TEST_F(ExportBenchmarkTest, AnExportThatFailsLeavesNothing) {
  ASSERT_OK(MakeDirectories(options_.directory + "/benchmark.yaml"));
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is a directory")));
  EXPECT_THAT(ReadFile(options_.directory + "/train.jsonl"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("train.jsonl")));
}

TEST_F(ExportBenchmarkTest, AValidatorsAnswersAreTheReferenceOfPeople) {
  ASSERT_OK_AND_ASSIGN(const ExportResult result, ExportBenchmark(scene_.room, options_));
  double f1 = 0;
  double exact_match = 0;
  for (const ExportedSplit& split : result.splits) {
    EXPECT_EQ(split.validated, 1);
    f1 += split.human_f1;
    exact_match += split.human_exact_match;
  }
  EXPECT_NEAR(exact_match, 200, 1e-9) << "the North Sea, Zürich";
  EXPECT_NEAR(f1, 250, 1e-9) << "Vienna and Budapest, of which one word is right: 2 / 4";
  EXPECT_THAT(
      ReadFile(options_.directory + "/benchmark.yaml").value(),
      HasSubstr(absl::StrFormat("{name: annotated, tags: {human: %.1f, human-f1: %.1f}}",
                                result.splits[2].human_exact_match, result.splits[2].human_f1)));
}

TEST_F(ExportBenchmarkTest, AuthorsWithTooFewAnswerableQuestionsAreLeftOut) {
  options_.answerable_min = 0.75;
  EXPECT_OK(ExportBenchmark(scene_.room, options_)) << "three of four of hers are";
  AskAndValidate(scene_, "rhine", "Alps", "Rhine");
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("found 0")));
  options_.answerable_min = 1.5;
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--answerable")));
}

TEST_F(ExportBenchmarkTest, QuestionsOfWhoeverIsRevokedAreOnRecordOnly) {
  ASSERT_OK(scene_.Invite("rita", /*is_reviewer=*/true));
  ASSERT_OK(scene_.Review("rita", 1, "reject"));
  ASSERT_OK(scene_.Review("rita", 2, "revoke"));
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("found 0")));
  const std::vector<std::string> lines =
      absl::StrSplit(AttemptsJsonLines(scene_.room), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["state"], "rejected");
  EXPECT_EQ(nlohmann::json::parse(lines[0])["review"]["verdict"], "reject");
  EXPECT_EQ(nlohmann::json::parse(lines[1])["state"], "revoked");
  EXPECT_EQ(nlohmann::json::parse(lines[5])["state"], "waiting") << "bob's";
}

TEST_F(ExportBenchmarkTest, WhatIsNotHeldOutTrains) {
  Settings settings = OneValidator();
  settings.held_out = 0.67;
  Scene scene(settings);
  for (size_t i = 0; i < 3; ++i) {
    const SourcePassage& passage = scene.room.passages()[i];
    const std::string answer = passage.text.substr(0, passage.text.find(' ', 4));
    ASSERT_OK(scene.Take("ada", passage.id));
    ASSERT_OK(scene.Ask("ada", passage.id, answer, ""));
    if (i < 2 && scene.room.IsHeldOut(i)) {
      ASSERT_OK(scene.Take("bob", passage.id));
      ASSERT_OK(scene.Validate("bob", static_cast<int64_t>(i) + 1, answer));
    }
  }
  if (scene.room.IsHeldOut(2)) {
    EXPECT_THAT(DealPassages(scene.room, options_),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("2 of them held out")));
    ASSERT_OK(scene.Take("bob", scene.room.passages()[2].id));
    ASSERT_OK(scene.Validate("bob", 3, "Zürich lies"));
  }
  ASSERT_OK_AND_ASSIGN(const auto dealt, DealPassages(scene.room, options_));
  ASSERT_EQ(dealt[0].size(), 1u);
  EXPECT_FALSE(scene.room.IsHeldOut(dealt[0][0]));
}

TEST_F(ExportBenchmarkTest, EveryAttemptIsThereWithWhoAndWhatBecameOfIt) {
  const std::string text = AttemptsJsonLines(scene_.room);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 6u);
  const auto first = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(first["annotator"], "ada");
  EXPECT_EQ(first["time"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(first["system"], SystemDigest());
  EXPECT_EQ(first["system_answer"], "nothing of it");
  EXPECT_EQ(first["answer"]["text"], "North Sea");
  EXPECT_EQ(first["validations"][0]["annotator"], "bob");
  EXPECT_EQ(first["state"], "kept");
  EXPECT_EQ(nlohmann::json::parse(lines[3])["state"], "dropped");
  EXPECT_EQ(nlohmann::json::parse(lines[4])["state"], "system won");
  EXPECT_EQ(nlohmann::json::parse(lines[5])["state"], "waiting");
}

TEST_F(ExportBenchmarkTest, AnswersToExistingQuestionsAreScoresOfPeople) {
  Settings settings;
  settings.answering = true;
  Room room = Room::Create(ThreePassages(), {}, settings, {Known(), Known()}).value();
  const auto answer = [&](const std::string& name, int64_t number, const std::string& part) {
    Event event;
    event.annotator = name;
    event.kind = EventKind::kAnnotator;
    event.code_digest = Sha256Of(name).ToHex();
    room.Apply(event);
    event.kind = EventKind::kAnswer;
    event.number = number;
    if (!part.empty()) {
      event.answer = SpanOf(Known().passage.text, part);
    }
    ASSERT_OK(room.Check(event));
    room.Apply(event);
  };
  answer("bob", 0, "Bern");
  EXPECT_THAT(ExportAnswers(room, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("all questions")));
  answer("ada", 0, "Bern is");
  answer("ada", 1, "");
  options_.name = "old";
  ASSERT_OK_AND_ASSIGN(const std::vector<ExportedPerson> people, ExportAnswers(room, options_));
  ASSERT_EQ(people.size(), 2u);
  EXPECT_EQ(people[1].exact_match, 100);
  const auto text = [&](const char* file) {
    return ReadFile(options_.directory + "/" + file).value();
  };
  EXPECT_EQ(text("human-em.csv"), "system,old\nhuman-ada,0.00\n") << "bob is not ready";
  EXPECT_EQ(text("human-f1.csv"), "system,old\nhuman-ada,33.33\n");
  EXPECT_THAT(text("answers.jsonl"), HasSubstr("\"annotator\":\"bob\",\"number\":0"));
}

TEST_F(ExportBenchmarkTest, BadOptionsAndTooFewPassagesAreRefused) {
  options_.test_share = 0;
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shares")));
  options_.test_share = 0.95;
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("shares")));
  options_.test_share = 0.2;
  options_.name = "a}\nspec: {";
  EXPECT_THAT(ExportBenchmark(scene_.room, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
  options_.name = "mine";
  Scene two(OneValidator());
  AskAndValidate(two, "rhine", "Alps", "Alps");
  AskAndValidate(two, "danube", "Vienna", "Vienna");
  EXPECT_THAT(ExportBenchmark(two.room, options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("found 2")));
}

}  // namespace
}  // namespace concur::annotation
