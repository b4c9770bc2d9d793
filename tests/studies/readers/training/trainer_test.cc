// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/trainer.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "studies/readers/tensors.h"
#include "studies/readers/training/commands.h"
#include "tests/studies/readers/training/small_data.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

// An untrained model of a data set, and the data.
struct Setting {
  Examples train, validation;
  Model model;
};

Setting MakeSetting(const std::string& path, const std::string& approach_name,
                    const std::vector<std::string>& assignments) {
  const Approach* approach = *FindApproach(approach_name);
  Inputs inputs = approach->inputs;
  Annotator annotator = *Annotator::Load(false, false, {});
  Split split = HoldOut(*ReadExamples(path, annotator), 4, 1);
  Counts words;
  Counts characters;
  for (const AnnotatedText& passage : split.train.passages) {
    for (const Token& token : passage.tokens) {
      words.Add(token.In(passage.text));
      characters.Add(token.In(passage.text).substr(0, 1));
    }
  }
  Model model{approach,
              *MakePlan(*approach, assignments),
              7,
              5,
              BatchMaker(inputs, *Vocabulary::FromEntries(words.Ranked()),
                         *Vocabulary::FromEntries(characters.Ranked())),
              nullptr};
  model.plan.settings.tuned_words = -1;
  EXPECT_OK(model.MakeNetwork());
  model.SetWordVectors(nullptr, 0);
  return {std::move(split.train), std::move(split.held_out), std::move(model)};
}

TrainingRun QuietRun() {
  TrainingRun run;
  run.progress = [](absl::string_view) {};
  return run;
}

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() { WriteText(data_, SmallData(40)); }

  TempDir directory_;
  std::string data_ = directory_.File("train.jsonl");
};

struct ResumeCase {
  const char* approach;
  std::vector<std::string> assignments;
};

// Between them: plain weights, a moving average, a learning rate that depends on scores, dropout.
std::vector<ResumeCase> ResumeCases() {
  return {{"drqa", SmallSettings(4)},
          {"drqa",
           {"hidden_size=6", "doc_layers=1", "question_layers=1", "batch=8", "epochs=4",
            "optimizer=sgd", "momentum=0.9", "learning_rate=0.1", "schedule=on_plateau",
            "schedule_factor=0.5", "schedule_period=0", "average_decay=0.9"}}};
}

TEST_F(TrainerTest, InterruptedTrainingEndsWithTheSameBytes) {
  for (const ResumeCase& c : ResumeCases()) {
    Setting whole = MakeSetting(data_, c.approach, c.assignments);
    const auto epochs = TrainModel(whole.model, whole.train, whole.validation, QuietRun());
    ASSERT_OK(epochs.status());

    TrainingRun run = QuietRun();
    run.checkpoint = directory_.File("checkpoint");
    run.checkpoint_period = absl::ZeroDuration();
    run.fingerprint = "one";
    run.epoch_ended = [](const Epoch& epoch) {
      if (epoch.number == 3) {
        throw std::runtime_error("killed");
      }
    };
    Setting first = MakeSetting(data_, c.approach, c.assignments);
    EXPECT_THROW((void)TrainModel(first.model, first.train, first.validation, run),
                 std::runtime_error);
    Setting second = MakeSetting(data_, c.approach, c.assignments);
    std::vector<int64_t> seen;
    run.epoch_ended = [&](const Epoch& epoch) { seen.push_back(epoch.number); };
    const auto resumed = TrainModel(second.model, second.train, second.validation, run);
    ASSERT_OK(resumed.status());
    EXPECT_THAT(seen, ElementsAre(3, 4));
    EXPECT_EQ(SaveState(*second.model.network, {}), SaveState(*whole.model.network, {}));
    for (size_t i = 0; i < epochs->size(); ++i) {
      EXPECT_EQ((*resumed)[i].loss, (*epochs)[i].loss);
      EXPECT_EQ((*resumed)[i].best, (*epochs)[i].best);
    }

    run.fingerprint = "two";
    EXPECT_THAT(TrainModel(second.model, second.train, second.validation, run),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other data, settings")));
    std::string bytes = *ReadFile(run.checkpoint);
    WriteText(run.checkpoint, bytes.substr(0, bytes.size() / 2));
    EXPECT_THAT(TrainModel(second.model, second.train, second.validation, run),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("to train from the start")));
    std::filesystem::remove(run.checkpoint);
  }
}

// Dropout draws other numbers in each batch.
TEST_F(TrainerTest, AnEpochGoesOnFromItsBatch) {
  for (const ResumeCase& c : ResumeCases()) {
    Setting whole = MakeSetting(data_, c.approach, c.assignments);
    const auto epochs = TrainModel(whole.model, whole.train, whole.validation, QuietRun());
    ASSERT_OK(epochs.status());
    TrainingRun run = QuietRun();
    run.checkpoint = directory_.File("checkpoint");
    run.fingerprint = "one";
    Setting second = MakeSetting(data_, c.approach, c.assignments);
    std::vector<int64_t> seen;
    run.epoch_ended = [&](const Epoch& epoch) { seen.push_back(epoch.number); };
    int64_t last = 0;
    for (const int64_t stop : {2, 3, 8}) {
      run.interrupted = [&](int64_t update) {
        EXPECT_EQ(update, ++last);
        return update == stop;
      };
      second = MakeSetting(data_, c.approach, c.assignments);
      EXPECT_THAT(TrainModel(second.model, second.train, second.validation, run),
                  StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
    }
    run.interrupted = {};
    second = MakeSetting(data_, c.approach, c.assignments);
    const auto resumed = TrainModel(second.model, second.train, second.validation, run);
    ASSERT_OK(resumed.status());
    EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(SaveState(*second.model.network, {}), SaveState(*whole.model.network, {}));
    for (size_t i = 0; i < epochs->size(); ++i) {
      EXPECT_EQ((*resumed)[i].loss, (*epochs)[i].loss);
      EXPECT_EQ((*resumed)[i].validation.f1, (*epochs)[i].validation.f1);
    }
    std::filesystem::remove(run.checkpoint);
  }
}

TEST_F(TrainerTest, ALossThatIsNoNumberEndsTraining) {
  Setting setting = MakeSetting(data_, "drqa", SmallSettings(2));
  {
    const torch::NoGradGuard no_gradients;
    setting.model.network->WordVectors().fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const absl::Status status =
      TrainModel(setting.model, setting.train, setting.validation, QuietRun()).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("epoch 1, update 1"), HasSubstr("learning_rate"))));
  EXPECT_EQ(ExitCodeOf(status), 78);
}

TEST_F(TrainerTest, AnswersThatAreNotInThePassageAreLeftOut) {
  WriteText(data_, SmallData(12) + QuestionLine("absent", "Ann left .", "Who is it ?", "Zoe", -1));
  Setting setting = MakeSetting(data_, "drqa", SmallSettings(1));
  setting.train.questions.back().answers.clear();
  std::string said;
  TrainingRun run = QuietRun();
  run.progress = [&](absl::string_view line) { absl::StrAppend(&said, line, "\n"); };
  EXPECT_OK(TrainModel(setting.model, setting.train, setting.validation, run).status());
  EXPECT_THAT(said, HasSubstr("leaves out 1 questions whose answers are not in the passage"));

  for (ExampleQuestion& question : setting.train.questions) {
    question.answers.clear();
  }
  EXPECT_THAT(TrainModel(setting.model, setting.train, setting.validation, run),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no question to learn from")));
}

// With a network that knows no more of a text than its tokens.
TEST_F(TrainerTest, TrainingReadsTextsUpToTheSettingsLimits) {
  constexpr int64_t kTokens = 6;
  constexpr int64_t kQuestionTokens = 2;
  const std::vector<std::string> assignments = {
      "hidden_dim=6",
      "ff_dims=6",
      "batch=8",
      "epochs=2",
      absl::StrCat("passage_tokens_max=", kTokens),
      absl::StrCat("question_tokens_max=", kQuestionTokens)};
  Setting setting = MakeSetting(data_, "rasor", assignments);
  Setting other_ends = MakeSetting(data_, "rasor", assignments);
  for (AnnotatedText& passage : other_ends.train.passages) {
    std::fill(passage.tokens.begin() + kTokens, passage.tokens.end(), passage.tokens[0]);
  }
  for (ExampleQuestion& question : other_ends.train.questions) {
    ASSERT_GT(question.text.size(), kQuestionTokens);
    std::fill(question.text.tokens.begin() + kQuestionTokens, question.text.tokens.end(),
              question.text.tokens[0]);
  }
  const auto behind = std::count_if(
      setting.train.questions.begin(), setting.train.questions.end(),
      [](const ExampleQuestion& question) { return question.answers[0].last >= kTokens; });
  ASSERT_GT(behind, 0);
  std::string said;
  TrainingRun run = QuietRun();
  run.progress = [&](absl::string_view line) { absl::StrAppend(&said, line, "\n"); };
  ASSERT_OK(TrainModel(setting.model, setting.train, setting.validation, run).status());
  EXPECT_THAT(said, HasSubstr(absl::StrCat("and ", behind, " that are beyond the lengths")));
  ASSERT_OK(TrainModel(other_ends.model, other_ends.train, setting.validation, run).status());
  EXPECT_TRUE(SaveState(*setting.model.network, {}) == SaveState(*other_ends.model.network, {}));
}

TEST_F(TrainerTest, TextsAreCutAtTheGivenLengths) {
  Setting setting = MakeSetting(data_, "drqa", SmallSettings(1));
  const Batch batch = setting.model.batches.Make(setting.train, {0, 1}, {4, 2});
  EXPECT_EQ(batch.passage.size(1), 4);
  EXPECT_EQ(batch.question.size(1), 2);
  EXPECT_TRUE(batch.starts.eq(-1).all().item<bool>()) << "answers are behind the cut";
}

TEST_F(TrainerTest, AnswersDependOnNoOtherQuestion) {
  Setting setting = MakeSetting(data_, "drqa", SmallSettings(2));
  ASSERT_OK(TrainModel(setting.model, setting.train, setting.validation, QuietRun()).status());
  const std::vector<std::string> together =
      AnswerQuestions(setting.model, setting.train, torch::kCPU);
  for (size_t i = 0; i < setting.train.questions.size(); ++i) {
    Examples alone;
    alone.passages = setting.train.passages;
    alone.questions = {setting.train.questions[i]};
    EXPECT_THAT(AnswerQuestions(setting.model, alone, torch::kCPU), ElementsAre(together[i]));
  }
}

TEST_F(TrainerTest, WordsAreAddedWithTheirVectors) {
  Setting setting = MakeSetting(data_, "drqa", SmallSettings(1));
  const std::string vectors = directory_.File("vectors.txt");
  WriteText(vectors, "attic 1 2 3 4 5\npark 9 9 9 9 9\nroof 5 4 3 2 1\n");
  Model& model = setting.model;
  const int64_t before = model.batches.words().size();
  const torch::Tensor park = model.network->WordVectors()[model.batches.words().Id("park")].clone();
  const absl::flat_hash_set<std::string> forms = {"Attic", "park", "cellar"};
  ASSERT_OK(model.AddWords(vectors, forms));
  EXPECT_EQ(model.batches.words().size(), before + 1);
  EXPECT_EQ(model.batches.words().Id("Attic"), before);
  EXPECT_TRUE(model.network->WordVectors()[before].equal(torch::tensor({1.F, 2.F, 3.F, 4.F, 5.F})));
  EXPECT_TRUE(model.network->WordVectors()[model.batches.words().Id("park")].equal(park));
  WriteText(vectors, "attic 1 2 3\n");
  EXPECT_THAT(model.AddWords(vectors, forms),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 numbers, expected 5")));
}

TEST_F(TrainerTest, UnknownWordsGetVectorsAsTheApproachWants) {
  Setting setting = MakeSetting(data_, "rasor", {});
  Model& model = setting.model;
  const std::string path = directory_.File("vectors.txt");
  std::string lines;
  for (int i = 0; i < 4; ++i) {  // all on one line through (10, 0, 0, 0, 0)
    absl::StrAppend(&lines, std::vector<std::string>{"Ann", "park", "went", "."}[i], " 10 ", i, " ",
                    2 * i, " 0 0\n");
  }
  WriteText(path, lines);
  const auto rows =
      WordVectorRows::Read(path, 5, {"Ann", "park", "went", "."}, VectorsCase::kExact);
  ASSERT_OK(rows.status());
  model.SetWordVectors(&*rows, 0);
  const torch::Tensor hall = model.network->WordVectors()[model.batches.words().Id("hall")];
  // A Gaussian of their mean and covariance stays on that line.
  EXPECT_NEAR(hall[0].item<double>(), 10, 1e-4);
  EXPECT_NEAR(hall[2].item<double>(), 2 * hall[1].item<double>(), 1e-4);
  EXPECT_NE(hall[1].item<double>(), 0);
  EXPECT_EQ(model.network->WordVectors()[0].abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace concur::readers
