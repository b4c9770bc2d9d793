// SPDX-License-Identifier: Apache-2.0
// Fine-tuning a tiny encoder, from a checkpoint written here.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/file.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/fine_tuning/commands.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/pretrained/encoder.h"
#include "studies/readers/tensors.h"
#include "tests/studies/readers/networks.h"
#include "tests/studies/readers/training/small_data.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

constexpr char kTinyConfig[] = R"({"model_type": "electra", "vocab_size": 24, "embedding_size": 12,
  "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
  "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
  "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1})";
constexpr char kTinyVocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nann\nbob\ncat\ndan\nwent\nto\nthe\npark\nhall\ncellar\n"
    ".\nwhere\nis\n?\n";

class FineTuningTest : public ::testing::Test {
 protected:
  FineTuningTest() {
    options_.checkpoint = directory_.File("checkpoint");
    CONCUR_CHECK_OK(MakeDirectories(options_.checkpoint));
    WriteText(options_.checkpoint + "/vocab.txt", kTinyVocabulary);
    WriteCheckpoint(kTinyConfig, 0.02);
    WriteText(options_.train = directory_.File("train.jsonl"), SmallData(12));
    options_.approach = "electra";
    options_.model = directory_.File("model");
    options_.seed = 3;
    options_.assignments = {"length=32",          "stride=8", "batch=4",
                            "learning_rate=0.01", "epochs=2", "layer_decay=0.9"};
    options_.machine.device = "cpu";
  }

  void WriteCheckpoint(const std::string& config_json, double deviation) const {
    WriteText(options_.checkpoint + "/config.json", config_json);
    const auto config = ParseEncoderConfig(config_json, "config.json");
    CONCUR_CHECK_OK(config.status());
    Encoder encoder(*config);
    torch::manual_seed(5);
    DrawWeights(encoder, deviation);
    WriteWeights(encoder);
  }

  // Without the head, as a checkpoint of pretraining, in two shards.
  void WriteWeights(const Encoder& encoder) const {
    const auto whole = SafeTensors::Parse(SaveState(encoder, {}), "state");
    CONCUR_CHECK_OK(whole.status());
    SafeTensors::Tensors shards[2];
    nlohmann::json map;
    int count = 0;
    for (const auto& [name, tensor] : whole->tensors()) {
      if (name.rfind("qa_outputs.", 0) != 0) {
        const int shard = count++ % 2;
        shards[shard][name] = tensor;
        map[name] = absl::StrCat("shard-", shard, ".safetensors");
      }
    }
    for (int shard = 0; shard < 2; ++shard) {
      WriteText(absl::StrCat(options_.checkpoint, "/shard-", shard, ".safetensors"),
                WriteSafeTensors(shards[shard], {}));
    }
    WriteText(options_.checkpoint + "/model.safetensors.index.json",
              nlohmann::json({{"weight_map", map}}).dump());
  }

  std::string Weights() const { return *ReadFile(options_.model + "/model.safetensors"); }

  PredictOptions Prediction() const {
    PredictOptions predict;
    predict.model = options_.model;
    predict.test = options_.train;
    predict.predictions = directory_.File("predictions.json");
    predict.best = directory_.File("best.json");
    predict.machine.device = "cpu";
    return predict;
  }

  TempDir directory_;
  TrainOptions options_;
};

TEST_F(FineTuningTest, TheSameSeedGivesTheSameBytesAndAnotherOthers) {
  ASSERT_OK(FineTuneReader(options_));
  const std::string weights = Weights();
  ASSERT_OK(FineTuneReader(options_));
  EXPECT_EQ(Weights(), weights);
  EXPECT_FALSE(ReadFile(options_.model + "/checkpoint.safetensors").ok());
  options_.seed = 4;
  ASSERT_OK(FineTuneReader(options_));
  EXPECT_NE(Weights(), weights);
}

TEST_F(FineTuningTest, InterruptedTrainingGoesOnToTheSameBytes) {
  ASSERT_OK(FineTuneReader(options_));
  const std::string weights = Weights();
  const std::string losses = *ReadFile(options_.model + "/training.jsonl");
  options_.model = directory_.File("interrupted");
  for (const int64_t stop : {1, 4}) {
    EXPECT_THAT(FineTuneReader(options_, [&](int64_t update) { return update == stop; }),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  }
  ASSERT_OK(FineTuneReader(options_));
  EXPECT_EQ(Weights(), weights);
  EXPECT_EQ(*ReadFile(options_.model + "/training.jsonl"), losses);
}

TEST_F(FineTuningTest, SigtermSavesIntoTheJobsCheckpoint) {
  ASSERT_OK(FineTuneReader(options_));
  const std::string weights = Weights();
  const TempDir kept;
  setenv("CONCUR_CHECKPOINT", kept.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  options_.model = directory_.File("terminated");
  const auto terminated = [](int64_t update) {
    std::raise(update == 4 ? SIGTERM : 0);
    return false;
  };
  EXPECT_THAT(FineTuneReader(options_, terminated),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  EXPECT_TRUE(std::filesystem::is_empty(options_.model));
  options_.model = directory_.File("again");
  EXPECT_OK(FineTuneReader(options_, [](int64_t update) {
    EXPECT_GT(update, 4);
    return false;
  }));
  unsetenv("CONCUR_CHECKPOINT");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(Weights(), weights);
  EXPECT_TRUE(std::filesystem::is_empty(kept.path()));
}

TEST_F(FineTuningTest, AJobReportsEachEpoch) {
  options_.dev = options_.train;
  ::testing::internal::CaptureStdout();
  ASSERT_OK(FineTuneReader(options_));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  setenv("CONCUR_JOB", "s1/0", 1);  // NOLINT(concurrency-mt-unsafe)
  ::testing::internal::CaptureStdout();
  ASSERT_OK(FineTuneReader(options_));
  unsetenv("CONCUR_JOB");  // NOLINT(concurrency-mt-unsafe)
  const std::string out = ::testing::internal::GetCapturedStdout();
  for (const char* value : {R"({"name":"loss","step":1,)", R"({"name":"loss","step":2,)",
                            R"({"name":"validation_f1","step":2,)"}) {
    EXPECT_THAT(out, HasSubstr(absl::StrCat("concur-metric ", value)));
  }
}

TEST_F(FineTuningTest, AccumulatedStepsAreOneUpdate) {
  WriteText(options_.checkpoint + "/config.json",
            absl::StrReplaceAll(kTinyConfig, {{"_prob\": 0.1", "_prob\": 0.0"}}));
  // An epsilon that is not small beside gradients: rounding does not turn steps round. Padding has
  // scores, so that windows must be padded alike.
  options_.assignments.insert(options_.assignments.end(),
                              {"optimizer=adamw", "epsilon=0.1", "padded=true"});
  ASSERT_OK(FineTuneReader(options_));
  const auto whole = SafeTensors::Parse(Weights(), "whole");
  options_.assignments.push_back("step_batch=1");
  ASSERT_OK(FineTuneReader(options_));
  const auto pieces = SafeTensors::Parse(Weights(), "pieces");
  for (const auto& [name, tensor] : whole->tensors()) {
    EXPECT_TRUE(torch::allclose(ToTensor(tensor), ToTensor(pieces->tensors().at(name)), 1e-3, 1e-4))
        << name;
  }
}

TEST_F(FineTuningTest, ATrainedModelIsACheckpointAgainAndAnswersFromThePassage) {
  options_.dev = options_.train;
  ASSERT_OK(FineTuneReader(options_));
  EXPECT_THAT(*ReadFile(options_.model + "/training.jsonl"), HasSubstr("validation_f1"));
  const auto config = nlohmann::json::parse(*ReadFile(options_.model + "/config.json"));
  EXPECT_EQ(config["architectures"], nlohmann::json::array({"ElectraForQuestionAnswering"}));
  EXPECT_TRUE(IsPretrainedModel(options_.model));
  ASSERT_OK(PredictWithPretrained(Prediction()));
  const auto answers = nlohmann::json::parse(*ReadFile(Prediction().predictions));
  EXPECT_EQ(answers.size(), 12u);
  const auto best = nlohmann::json::parse(*ReadFile(Prediction().best));
  EXPECT_EQ(best["q0"][0]["text"], answers["q0"]);
  ServeOptions serve;
  serve.model = options_.model;
  serve.machine.device = "cpu";
  std::istringstream in(QuestionsToServe(12));
  std::ostringstream out;
  ASSERT_OK(ServeWithPretrained(
      serve, [&](qa::Answerer answer) { return qa::ServeAnswers(in, out, answer); }));
  EXPECT_EQ(nlohmann::json(AnswersServed(out.str())), answers) << "one by one as all together";
  options_.checkpoint = options_.model;
  options_.model = directory_.File("again");
  ASSERT_OK(FineTuneReader(options_));
}

TEST_F(FineTuningTest, EveryFamilyIsFineTunedAndAnswers) {
  for (const std::string family : {"albert", "bert", "roberta", "spanbert"}) {
    SCOPED_TRACE(family);
    const std::string type = family == "spanbert" ? "bert" : family;
    WriteCheckpoint(
        absl::StrReplaceAll(kTinyConfig, {{"electra", type}, {"{", R"({"pad_token_id": 0, )"}}),
        0.02);
    options_.approach = family;
    options_.assignments.back() = "layer_decay=1";  // ALBERT's layers are shared
    ASSERT_OK(FineTuneReader(options_));
    ASSERT_OK(PredictWithPretrained(Prediction()));
    EXPECT_EQ(nlohmann::json::parse(*ReadFile(Prediction().predictions)).size(), 12u);
    std::filesystem::remove_all(options_.model);
  }
}

TEST_F(FineTuningTest, ALossThatIsNotANumberEndsTraining) {
  WriteCheckpoint(kTinyConfig, std::numeric_limits<double>::infinity());
  const absl::Status diverged = FineTuneReader(options_);
  EXPECT_THAT(diverged,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("smaller learning_rate")));
  EXPECT_EQ(ExitCodeOf(diverged), 78);
}

TEST_F(FineTuningTest, BothGenerationsLearnWhatIsToBeLearned) {
  for (const char* windows : {"windows=run_qa", "windows=run_squad"}) {
    options_.assignments = {"length=40", "stride=8", "batch=4",       "learning_rate=0.01",
                            "epochs=12", "warmup=0", "layer_decay=1", windows};
    ASSERT_OK(FineTuneReader(options_));
    const std::string lines = *ReadFile(options_.model + "/training.jsonl");
    const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
    const size_t last_at = lines.rfind('\n', lines.size() - 2) + 1;
    const auto last = nlohmann::json::parse(lines.substr(last_at));
    EXPECT_LT(last["loss"].get<double>(), 0.6 * first["loss"].get<double>()) << windows;
  }
}

TEST_F(FineTuningTest, WindowsWithoutTheAnswerTrainUnlessTheSettingSaysOtherwise) {
  std::string passage = "Bob went to the park .";
  for (int i = 0; i < 6; ++i) {
    passage += " Ann went to the hall .";
  }
  WriteText(options_.train, QuestionLine("q", passage, "Where is Bob ?", "park", 16));
  const auto said = [&](const std::string& assignment) {
    options_.assignments = {"length=20", "stride=4", "epochs=1", "layer_decay=1", assignment};
    ::testing::internal::CaptureStderr();
    const absl::Status status = FineTuneReader(options_);
    EXPECT_OK(status);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said("answerless_windows=false"), HasSubstr("1 questions, 1 windows"));
  EXPECT_THAT(said("answerless_windows=true"), Not(HasSubstr("1 questions, 1 windows")));
}

TEST_F(FineTuningTest, WhatCannotWorkIsRefusedWithTheField) {
  const auto error = [&](const std::string& assignment) {
    TrainOptions options = options_;
    options.assignments = {assignment};
    return FineTuneReader(options);
  };
  EXPECT_THAT(error("lenght=32"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("length")));
  EXPECT_THAT(error("length=64"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("40 positions")));
  EXPECT_THAT(error("windows=run"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("run_squad")));
  EXPECT_THAT(error("learning_rate=nan"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("learning_rate")));
  EXPECT_THAT(error("precision=half"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("half needs a CUDA device")));
  EXPECT_THAT(error("precision=double"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected full or half")));
  options_.approach = "bert";
  EXPECT_THAT(FineTuneReader(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a checkpoint of electra")));
  options_.approach = "electra";
  WriteText(options_.train, QuestionLine("q", "Ann left .", "Who ?", "Zoe", -1));
  EXPECT_THAT(FineTuneReader(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no question to learn from")));
  std::filesystem::remove(options_.checkpoint + "/vocab.txt");
  EXPECT_THAT(FineTuneReader(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no tokenizer")));
}

// The multipliers of torch's and of BertAdam's schedules, by hand.
TEST(FineTuneSettingsTest, TheLearningRateRisesThenFallsToZero) {
  const PretrainedApproach& bert = *FindPretrained("bert");
  const auto adamw = MakeFineTuneSettings(bert, {"warmup=0.28"});
  ASSERT_OK(adamw.status());
  const std::vector<double> expected = {0, 0.5, 1, 0.8, 0.6, 0.4, 0.2, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(ScheduleFactor(*adamw, static_cast<int64_t>(i), 7), expected[i], 1e-12) << i;
  }
  const auto bert_adam = MakeFineTuneSettings(bert, {"optimizer=bert_adam", "warmup=0.3"});
  ASSERT_OK(bert_adam.status());
  EXPECT_NEAR(ScheduleFactor(*bert_adam, 1, 7), 1 / 2.1, 1e-12);
  EXPECT_NEAR(ScheduleFactor(*bert_adam, 3, 7), 4 / 4.9, 1e-12);
  EXPECT_NEAR(ScheduleFactor(*bert_adam, 6, 7), 1 / 4.9, 1e-12);
}

}  // namespace
}  // namespace concur::readers
