// SPDX-License-Identifier: Apache-2.0
// Pretraining tiny encoders on a tiny text, and what is fine-tuned from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "readers/commands.h"
#include "readers/fine_tuning/commands.h"
#include "readers/pretraining/commands.h"
#include "readers/pretraining/network.h"
#include "readers/pretraining/pretrainer.h"
#include "readers/pretraining/settings.h"
#include "readers/text/pretraining_rows.h"
#include "tests/readers/networks.h"
#include "tests/readers_training/small_data.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur::readers {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr const char* kFamilyNames[] = {"albert", "bert", "electra", "roberta", "spanbert"};

std::vector<std::string> TinySettings() {
  return {"vocabulary=40", "layers=1", "width=16",           "heads=2",    "intermediate=32",
          "length=16",     "batch=8",  "learning_rate=0.01", "updates=20", "dropout=0"};
}

std::vector<std::string> TinySettingsOf(const std::string& family,
                                        const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings = TinySettings();
  if (family == "electra") {
    settings.insert(settings.end(), {"generator_width=8", "embedding=12"});
  }
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

PretrainSettings SettingsFor(const std::string& family) {
  const auto found = FindFamily(family);
  CONCUR_CHECK_OK(found.status());
  auto settings = MakePretrainSettings(**found, TinySettingsOf(family));
  CONCUR_CHECK_OK(settings.status());
  return *std::move(settings);
}

// Rows of random words from a vocabulary of 40, and a network for them.
struct TinyPretraining {
  explicit TinyPretraining(const PretrainSettings& settings) {
    std::vector<std::string> vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."};
    while (vocabulary.size() < 40) {
      vocabulary.push_back(absl::StrCat("w", vocabulary.size()));
    }
    Random random(4, "rows");
    std::vector<int32_t> pieces;
    for (int i = 0; i < 300; ++i) {
      pieces.push_back(static_cast<int32_t>(random.Between(5, 39)));
    }
    for (int i = 0; i < 6; ++i) {
      rows.push_back(MakeRow(pieces, settings.rows, EntriesOf(vocabulary), random));
    }
    torch::manual_seed(3);
    network = std::make_shared<PretrainingNetwork>(settings);
  }

  std::vector<PretrainingRow> rows;
  std::shared_ptr<PretrainingNetwork> network;
};

TEST(PretrainingNetworkTest, BatchesSayWhatIsPredictedAndWhatStandsAroundIt) {
  PretrainingRow first;
  first.original = {2, 7, 8, 9, 3, 10, 3};
  first.ids = {2, 4, 4, 9, 3, 11, 3};
  first.spans = {{1, 3}, {5, 6}};
  first.second_at = 5;
  first.swapped = true;
  PretrainingRow second = first;
  second.spans = {{2, 3}};
  second.second_at = 7;
  second.swapped = false;
  const PretrainingBatch batch = BatchOfRows({first, second});
  const auto equal = [](const torch::Tensor& tensor, std::vector<int64_t> values) {
    return torch::equal(tensor, torch::tensor(values, torch::kInt64));
  };
  EXPECT_TRUE(equal(batch.masked, {1, 2, 5, 9}));
  EXPECT_TRUE(equal(batch.before, {0, 0, 4, 8}));
  EXPECT_TRUE(equal(batch.after, {3, 3, 6, 10}));
  EXPECT_TRUE(equal(batch.within, {0, 1, 0, 0}));
  EXPECT_TRUE(equal(batch.ids[0], {2, 4, 4, 9, 3, 11, 3}));
  EXPECT_TRUE(equal(batch.original[0], {2, 7, 8, 9, 3, 10, 3}));
  EXPECT_TRUE(equal(batch.segments[0], {0, 0, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(equal(batch.segments[1], {0, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(torch::equal(batch.swapped, torch::tensor({1.0F, 0.0F})));
}

TEST(PretrainingNetworkTest, DerivativesOfTheBoundaryObjectiveAreThoseOfFiniteDifferences) {
  torch::manual_seed(2);
  SpanBoundary boundary(4, 3, 1e-12);
  boundary.to(torch::kFloat64);
  std::vector<torch::Tensor> inputs;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(torch::randn({5, 4}, torch::kFloat64).requires_grad_());
  }
  for (const torch::Tensor& parameter : boundary.parameters()) {
    inputs.push_back(parameter);
  }
  const torch::Tensor within = torch::tensor({0, 1, 2, 3, 7}, torch::kInt64);
  const torch::Tensor weights = torch::randn({5, 4}, torch::kFloat64);
  ExpectDerivatives(
      [&] { return (boundary.Forward(inputs[0], inputs[1], within) * weights).sum(); }, inputs,
      "boundary");
  const torch::Tensor same = torch::ones({2, 4}, torch::kFloat64);
  const torch::Tensor states = boundary.Forward(same, same, torch::tensor({2, 9}, torch::kInt64));
  EXPECT_TRUE(torch::equal(states[0], states[1])) << "places beyond the last count as the last";
  EXPECT_FALSE(
      torch::allclose(boundary.Forward(same, 2 * same, within.narrow(0, 0, 2))[0], states[0]));
}

// Of each family: every parameter of each head, of ELECTRA's generator too, by a few values.
TEST(PretrainingNetworkTest, DerivativesOfEveryLossAreThoseOfFiniteDifferences) {
  for (const char* family : kFamilyNames) {
    PretrainSettings settings = SettingsFor(family);
    settings.discriminator_weight = 2;  // a large loss would hide its differences
    const TinyPretraining tiny(settings);
    PretrainingNetwork& network = *tiny.network;
    network.to(torch::kFloat64);
    const PretrainingBatch batch = BatchOfRows(tiny.rows);
    std::vector<torch::Tensor> parameters;
    {
      const torch::NoGradGuard no_gradients;
      for (const Trained& trained : network.Parameters(0)) {
        torch::Tensor(trained.tensor).normal_(0, 0.5);
        if (!absl::StartsWith(trained.name, "encoder.") ||
            absl::StrContains(trained.name, "word_embeddings")) {
          parameters.push_back(trained.tensor);
        }
      }
    }
    PretrainingCounts counts;
    const auto loss = [&] {
      torch::manual_seed(6);  // of the generator's samples
      return network.Loss(batch, counts);
    };
    ExpectDerivatives(loss, parameters, family, 4);
  }
}

TEST(PretrainingNetworkTest, EachTokenIsReplacedOrNotAndTheSampleHasNoGradient) {
  PretrainSettings settings = SettingsFor("electra");
  std::map<double, torch::Tensor> gradients;
  for (const double weight : {0.0, 50.0}) {
    settings.discriminator_weight = weight;
    const TinyPretraining tiny(settings);
    PretrainingNetwork& network = *tiny.network;
    auto parameters = network.named_parameters();
    const torch::NoGradGuard no_gradients;
    // The generator says entry 7 everywhere, and the discriminator that nothing was replaced.
    parameters["words.bias"][7] = 1000;
    parameters["replaced.bias"].fill_(-100);
    int64_t others = 0;
    int64_t masked = 0;
    for (const PretrainingRow& row : tiny.rows) {
      for (const TokenSpan& span : row.spans) {
        ++masked;
        others += row.original[span.begin] != 7 ? 1 : 0;
      }
    }
    ASSERT_GT(others, 0);
    PretrainingCounts counts;
    torch::Tensor loss;
    {
      const torch::AutoGradMode with_gradients(true);
      loss = network.Loss(BatchOfRows(tiny.rows), counts);
      loss.backward();
    }
    EXPECT_EQ(counts.tokens, 6 * 16);
    EXPECT_EQ(counts.tokens_right, counts.tokens - static_cast<double>(others));
    EXPECT_EQ(counts.masked, static_cast<double>(masked));
    EXPECT_EQ(counts.masked_right, static_cast<double>(masked - others));
    gradients[weight] =
        parameters["generator.electra.encoder.layer.0.output.dense.weight"].grad().clone();
  }
  EXPECT_GT(gradients[0.0].abs().sum().item<double>(), 0);
  EXPECT_TRUE(torch::equal(gradients[0.0], gradients[50.0]));
}

TEST(PretrainingNetworkTest, EmbeddingsAreSharedAndTheHeadForAnswersIsNotTrained) {
  for (const char* family : kFamilyNames) {
    const PretrainSettings settings = SettingsFor(family);
    const TinyPretraining tiny(settings);
    PretrainingCounts counts;
    tiny.network->Loss(BatchOfRows(tiny.rows), counts).backward();
    std::set<std::string> with_gradient;
    for (const auto& parameter : tiny.network->named_parameters()) {
      if (parameter->grad().defined()) {
        with_gradient.insert(parameter.key());
      }
    }
    std::set<std::string> trained;
    for (const Trained& parameter : tiny.network->Parameters(0.5)) {
      trained.insert(parameter.name);
      EXPECT_EQ(parameter.weight_decay, parameter.tensor.dim() > 1 ? 0.5 : 0) << parameter.name;
      EXPECT_FALSE(absl::StrContains(parameter.name, "qa_outputs"));
    }
    EXPECT_EQ(trained, with_gradient) << family;
  }
}

class PretrainingTest : public ::testing::Test {
 protected:
  PretrainingTest() {
    WriteText(data_ = directory_.File("train.jsonl"), SmallData(12));
    std::string text;
    for (int i = 0; i < 40; ++i) {
      constexpr const char* kWho[] = {"Ann", "Bob", "Cat", "Dan"};
      constexpr const char* kWhere[] = {"park", "hall", "cellar"};
      absl::StrAppend(&text, kWho[i % 4], " went to the ", kWhere[i % 3], " .\n",
                      i % 7 ? "" : "\n");
    }
    options_.family = "bert";
    WriteText(directory_.File("text.txt"), text);
    options_.sources.texts = {directory_.File("text.txt")};
    options_.out = directory_.File("checkpoint");
    options_.seed = 3;
    options_.assignments = TinySettings();
    options_.machine.device = "cpu";
  }

  std::string Written(const char* name) const {
    return *ReadFile(absl::StrCat(options_.out, "/", name));
  }
  // The reports' values of one name.
  std::vector<double> Reported(const char* name) const {
    std::vector<double> values;
    for (const absl::string_view line :
         absl::StrSplit(Written("pretraining.jsonl"), '\n', absl::SkipEmpty())) {
      values.push_back(nlohmann::json::parse(line).at(name).get<double>());
    }
    return values;
  }

  testing::TempDir directory_;
  std::string data_;
  PretrainOptions options_;
};

TEST_F(PretrainingTest, EveryFamilyLearnsATinyTextAndIsFineTuned) {
  for (const std::string family : kFamilyNames) {
    options_.family = family;
    options_.out = directory_.File(family);
    options_.assignments = TinySettingsOf(family);
    options_.assignments[9] = "dropout=0.1";
    options_.assignments[8] = "updates=300";
    options_.sources.passages = {data_};
    ASSERT_OK(PretrainReader(options_)) << family;
    const std::vector<double> losses = Reported("loss");
    EXPECT_EQ(losses.size(), 3u);
    EXPECT_LT(losses.back(), 0.92 * losses.front()) << family;
    EXPECT_GT(Reported("masked_accuracy").back(), Reported("masked_accuracy").front()) << family;
    EXPECT_EQ(nlohmann::json::parse(Written("tokenizer_config.json"))["do_lower_case"],
              family != "spanbert");
    EXPECT_EQ(absl::StrContains(Written("vocab.txt"), "\nA\n"), family == "spanbert");
    EXPECT_FALSE(absl::StrContains(Written("model.safetensors").substr(0, 5000), "qa_outputs"));
    TrainOptions train;
    train.approach = family;
    train.train = data_;
    train.model = directory_.File(family + "-model");
    train.checkpoint = options_.out;
    train.assignments = {"length=16", "stride=2",           "question_tokens_max=6", "epochs=1",
                         "batch=8",   "learning_rate=0.01", "layer_decay=1"};
    train.machine.device = "cpu";
    ASSERT_OK(FineTuneReader(train)) << family;
    PredictOptions predict;
    predict.model = train.model;
    predict.test = data_;
    predict.predictions = directory_.File("predictions.json");
    predict.machine.device = "cpu";
    ASSERT_OK(PredictWithPretrained(predict)) << family;
    EXPECT_EQ(nlohmann::json::parse(*ReadFile(predict.predictions)).size(), 12u);
  }
  EXPECT_GT(
      nlohmann::json::parse(*ReadFile(directory_.File("albert/config.json"))).at("embedding_size"),
      0);
}

TEST_F(PretrainingTest, EachObjectiveReportsItsAccuracies) {
  const std::map<std::string, std::string> names = {{"albert", "order_accuracy"},
                                                    {"electra", "replaced_accuracy"}};
  for (const auto& [family, name] : names) {
    options_.family = family;
    options_.assignments = TinySettingsOf(family);
    ASSERT_OK(PretrainReader(options_));
    const double accuracy = Reported(name.c_str()).at(0);
    EXPECT_TRUE(accuracy > 0 && accuracy <= 100) << name << " " << accuracy;
  }
}

TEST_F(PretrainingTest, TheSameSeedGivesTheSameBytesAndAnotherOthers) {
  options_.family = "electra";  // which samples
  options_.assignments = TinySettingsOf("electra");
  options_.assignments[9] = "dropout=0.1";
  ASSERT_OK(PretrainReader(options_));
  const std::string weights = Written("model.safetensors");
  const std::string reports = Written("pretraining.jsonl");
  ASSERT_OK(PretrainReader(options_));
  EXPECT_EQ(Written("model.safetensors"), weights);
  EXPECT_EQ(Written("pretraining.jsonl"), reports);
  EXPECT_FALSE(ReadFile(options_.out + "/checkpoint.safetensors").ok());
  options_.seed = 4;
  ASSERT_OK(PretrainReader(options_));
  EXPECT_NE(Written("model.safetensors"), weights);
}

TEST_F(PretrainingTest, InterruptedPretrainingGoesOnToTheSameBytes) {
  options_.family = "electra";
  options_.assignments = TinySettingsOf("electra");
  options_.assignments[8] = "updates=110";
  ASSERT_OK(PretrainReader(options_));
  const std::string weights = Written("model.safetensors");
  const std::string reports = Written("pretraining.jsonl");
  options_.out = directory_.File("interrupted");
  for (const int64_t stop : {1, 60, 104}) {
    EXPECT_THAT(PretrainReader(options_, [&](int64_t update) { return update == stop; }),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  }
  EXPECT_OK(ReadFile(options_.out + "/checkpoint.safetensors").status());
  ASSERT_OK(PretrainReader(options_));
  EXPECT_EQ(Written("model.safetensors"), weights);
  EXPECT_EQ(Written("pretraining.jsonl"), reports);
}

// As a job of Concur that is preempted, and begins again in another directory.
TEST_F(PretrainingTest, SigtermSavesIntoTheJobsCheckpoint) {
  ASSERT_OK(PretrainReader(options_));
  const std::string weights = Written("model.safetensors");
  const testing::TempDir kept;
  setenv("CONCUR_CHECKPOINT", kept.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  int64_t last = 0;
  for (const int64_t stop : {int64_t{7}, int64_t{20}}) {
    options_.out = directory_.File(absl::StrCat("attempt-", stop));
    const auto terminated = [&](int64_t update) {
      EXPECT_GT(update, last);
      last = update;
      std::raise(update == stop ? SIGTERM : 0);
      return false;
    };
    EXPECT_THAT(PretrainReader(options_, terminated),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
    EXPECT_EQ(last, stop);
    EXPECT_FALSE(std::filesystem::is_empty(kept.path()));
    EXPECT_TRUE(std::filesystem::is_empty(options_.out));
  }
  options_.out = directory_.File("last");
  EXPECT_OK(PretrainReader(options_, [](int64_t) { return true; }));  // it was at its end
  unsetenv("CONCUR_CHECKPOINT");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(Written("model.safetensors"), weights);
  EXPECT_TRUE(std::filesystem::is_empty(kept.path()));
}

TEST_F(PretrainingTest, ACheckpointOfOtherSettingsOrADamagedOneIsRefused) {
  EXPECT_THAT(PretrainReader(options_, [](int64_t update) { return update == 2; }),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  options_.seed = 9;
  EXPECT_THAT(PretrainReader(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other data, settings")));
  WriteText(options_.out + "/checkpoint.safetensors", "broken");
  EXPECT_THAT(PretrainReader(options_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("to train from the start")));
}

TEST_F(PretrainingTest, WithoutUpdatesTheWeightsAreThoseThatTheSeedDraws) {
  options_.assignments[8] = "updates=0";
  ASSERT_OK(PretrainReader(options_));
  const std::string weights = Written("model.safetensors");
  EXPECT_EQ(Written("pretraining.jsonl"), "");
  options_.assignments[8] = "updates=1";
  options_.assignments[7] = "learning_rate=0";
  ASSERT_OK(PretrainReader(options_));
  EXPECT_EQ(Written("model.safetensors"), weights) << "pretraining starts from these";
  options_.assignments[7] = "learning_rate=0.01";
  ASSERT_OK(PretrainReader(options_));
  EXPECT_NE(Written("model.safetensors"), weights);
}

TEST_F(PretrainingTest, TheTimeBudgetEndsTraining) {
  constexpr int64_t kUpdates = 20000;  // take a minute, not for ever
  options_.assignments[8] = absl::StrCat("updates=", kUpdates);
  options_.time_budget = "100ms";
  ASSERT_OK(PretrainReader(options_));
  EXPECT_GT(Reported("update").back(), 0);
  EXPECT_LT(Reported("update").back(), kUpdates);
  options_.time_budget = "soon";
  EXPECT_THAT(PretrainReader(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--time-budget")));
}

TEST_F(PretrainingTest, WhatCannotWorkIsRefusedWithTheField) {
  const auto error = [&](const std::string& family, const std::string& assignment) {
    PretrainOptions options = options_;
    options.family = family;
    options.assignments = {"vocabulary=40", assignment};
    return PretrainReader(options);
  };
  const auto refused = [](const char* message) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message));
  };
  EXPECT_THAT(error("bart", "layers=1"), refused("--family: expected albert, bert, electra"));
  EXPECT_THAT(error("bert", "layer=1"), refused("layers"));
  EXPECT_THAT(error("bert", "objective=span"), refused("tokens or words or spans or replaced"));
  EXPECT_THAT(error("bert", "objective=replaced"), refused("electra"));
  EXPECT_THAT(error("electra", "objective=words"), refused("electra"));
  EXPECT_THAT(error("electra", "sentence_order=true"), refused("sentence_order"));
  EXPECT_THAT(error("electra", "generator_width=63"), refused("generator_width"));
  EXPECT_THAT(error("roberta", "sentence_order=true"), refused("sentence_order"));
  EXPECT_THAT(error("bert", "heads=3"), refused("hidden_size: 128 is no multiple"));
  EXPECT_THAT(error("bert", "share=0"), refused("share: expected a number from 0.01"));
  EXPECT_THAT(error("bert", "precision=half"), refused("half needs a CUDA device"));
  EXPECT_THAT(error("bert", "length=400"), refused("fewer than the 398 of a sequence"));
  EXPECT_THAT(error("bert", "vocabulary=400"), refused("given twice"));
  options_.assignments[0] = "vocabulary=400";
  EXPECT_THAT(PretrainReader(options_), refused("--setting vocabulary: 400 entries are more than"));
  options_.assignments[0] = "vocabulary=12";
  EXPECT_THAT(PretrainReader(options_), refused("are fewer than special tokens"));
  WriteText(options_.sources.texts[0], "a\xff");
  EXPECT_THAT(PretrainReader(options_), refused("text.txt:1: not UTF-8"));
  WriteText(options_.sources.texts[0], " \n");
  EXPECT_THAT(PretrainReader(options_), refused("no text to learn from"));
}

TEST(PretrainingNetworkTest, ALossThatIsNoNumberAndATextOfUnknownWordsEndPretraining) {
  for (const char* family : kFamilyNames) {
    const PretrainSettings settings = SettingsFor(family);
    const TinyPretraining tiny(settings);
    PretrainRun run;
    run.progress = [](absl::string_view) {};
    run.reported = [](const PretrainingReport&) {};
    std::vector<std::string> vocabulary(40, "w");
    const std::vector<int32_t> unknown(50, 1);
    const absl::Status nothing =
        Pretrain(*tiny.network, unknown, EntriesOf(vocabulary), settings, 1, run);
    EXPECT_THAT(nothing,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nothing to predict")));
    EXPECT_EQ(ExitCodeOf(nothing), 78);
    {
      const torch::NoGradGuard no_gradients;
      tiny.network->named_parameters()["words.bias"].fill_(std::nan(""));
    }
    const std::vector<int32_t> pieces(50, 7);
    const absl::Status diverged =
        Pretrain(*tiny.network, pieces, EntriesOf(vocabulary), settings, 1, run);
    EXPECT_THAT(diverged,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("smaller learning_rate")))
        << family;
    EXPECT_EQ(ExitCodeOf(diverged), 78);
  }
}

TEST(PretrainSettingsTest, TheRateRisesThenFallsToZero) {
  PretrainSettings settings;
  settings.warmup = 0.2;
  const std::map<double, double> expected = {{0, 0},     {0.1, 0.5}, {0.2, 1},
                                             {0.6, 0.5}, {1, 0},     {1.1, 0}};
  for (const auto& [done, factor] : expected) {
    EXPECT_NEAR(RateFactor(settings, done), factor, 1e-12) << done;
  }
  settings.warmup = 0;
  EXPECT_EQ(RateFactor(settings, 0), 1);
}

TEST(PretrainSettingsTest, TheListShowsEveryFamily) {
  for (const char* family : kFamilyNames) {
    EXPECT_THAT(ListApproaches(), HasSubstr(absl::StrCat("pretrain --family ", family, ": ")));
  }
}

}  // namespace
}  // namespace concur::readers
