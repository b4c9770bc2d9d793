// SPDX-License-Identifier: Apache-2.0
// Training in half precision. On a processor the type of 16 bits is bfloat16, whose range is that
// of 32 bits, so that an overflow is made by a hook; float16 itself needs CUDA.
#include <torch/torch.h>

#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/fine_tuning/fine_tuner.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/machine.h"
#include "studies/readers/pretrained/encoder.h"
#include "studies/readers/tensors.h"
#include "studies/readers/training/loss_scale.h"
#include "studies/readers/training/training_state.h"
#include "tests/studies/readers/networks.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

TEST(LossScaleTest, ItIsHalvedByOverflowsAndDoubledAfterManyUpdatesWithout) {
  LossScale scale;
  EXPECT_EQ(scale.value(), 65536);
  for (int i = 0; i < 1999; ++i) {
    scale.NoteFinite();
  }
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_TRUE(scale.Lower());
  EXPECT_EQ(scale.value(), 32768);
  for (int i = 0; i < 1999; ++i) {
    scale.NoteFinite();
  }
  EXPECT_EQ(scale.value(), 32768) << "an overflow begins the count anew";
  scale.NoteFinite();
  EXPECT_EQ(scale.value(), 65536);
  EXPECT_EQ(scale.good_updates(), 0);
}

TEST(LossScaleTest, ItStaysWithinItsLimits) {
  LossScale scale;
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(scale.Lower());
  }
  EXPECT_EQ(scale.value(), 1);
  EXPECT_FALSE(scale.Lower());
  EXPECT_EQ(scale.value(), 1);
  for (int i = 0; i < 60000; ++i) {
    scale.NoteFinite();
  }
  EXPECT_EQ(scale.value(), LossScale::kMost);
}

TEST(LossScaleTest, OnlyWhatASavedOneCanBeIsRead) {
  const auto saved = LossScale::From(4096, 17);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->value(), 4096);
  EXPECT_EQ(saved->good_updates(), 17);
  EXPECT_TRUE(LossScale::From(1, 0).has_value());
  EXPECT_TRUE(LossScale::From(LossScale::kMost, 1999).has_value());
  for (const double value :
       {0.0, 0.5, 3.0, -2.0, 2 * LossScale::kMost, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(LossScale::From(value, 0).has_value()) << value;
  }
  EXPECT_FALSE(LossScale::From(4096, -1).has_value());
  EXPECT_FALSE(LossScale::From(4096, 2000).has_value());
}

// A training of one number by plain gradient descent, whose loss is scaled.
TrainingState ScaledStateOf(const torch::Tensor& number, const std::string& path) {
  UpdateRule rule;
  rule.kind = UpdateRule::Kind::kSgd;
  return {rule, {{"number", number}}, {path, "print", absl::Hours(1)}, true};
}

TEST(ScaledTrainingTest, AnOverflowChangesTheScaleAloneAndTheScaleIsSaved) {
  const TempDir directory;
  const torch::Tensor number = torch::full({1}, 3.0).requires_grad_();
  TrainingState state = ScaledStateOf(number, directory.File("checkpoint"));
  // In 16 bits the gradient is 8 times the scale, of which 65504 is the most.
  const auto update = [&] {
    state.ZeroGradients();
    state.Backward((number.to(torch::kFloat16).to(torch::kFloat32) * 8).sum());
    return state.Update(0, 0.125);
  };
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK_AND_ASSIGN(const bool updated, update());
    EXPECT_FALSE(updated) << i;
    EXPECT_EQ(number.item<double>(), 3);
    EXPECT_EQ(state.steps(), 0);
  }
  ASSERT_OK_AND_ASSIGN(const bool updated, update());
  EXPECT_TRUE(updated);
  EXPECT_EQ(number.item<double>(), 2);
  EXPECT_EQ(state.steps(), 1);

  const auto no_more = [] { return TrainingState::Tensors(); };
  nlohmann::json saved;
  ASSERT_OK(state.Save(true, no_more, [](nlohmann::json&) {}));
  const torch::Tensor other = torch::zeros({1}).requires_grad_();
  TrainingState later = ScaledStateOf(other, directory.File("checkpoint"));
  ASSERT_OK_AND_ASSIGN(const bool found, later.Resume({}, [&](const nlohmann::json& json) {
    saved = json;
    return true;
  }));
  EXPECT_TRUE(found);
  EXPECT_EQ(saved.at("loss_scale"), nlohmann::json({4096.0, 1}));
  later.Backward((other.to(torch::kFloat16).to(torch::kFloat32) * 8).sum());
  ASSERT_OK_AND_ASSIGN(const bool at_once, later.Update(0, 0.125));
  EXPECT_TRUE(at_once) << "the scale is that of the checkpoint";

  ASSERT_OK(state.Save(true, no_more, [](nlohmann::json& json) { json["loss_scale"][0] = 3; }));
  EXPECT_THAT(later.Resume({}, [](const nlohmann::json&) { return true; }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("loss_scale")));
}

TEST(ScaledTrainingTest, GradientsThatNoScaleKeepsFiniteEndTraining) {
  const torch::Tensor number = torch::full({1}, 3.0).requires_grad_();
  TrainingState state = ScaledStateOf(number, "");
  absl::StatusOr<bool> updated = false;
  int tries = 0;
  while (updated.ok() && !*updated) {
    state.ZeroGradients();
    state.Backward((number * std::numeric_limits<float>::infinity()).sum());
    updated = state.Update(0, 1);
    ++tries;
  }
  EXPECT_EQ(tries, 17);
  EXPECT_THAT(updated, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("precision=full")));
  EXPECT_EQ(number.item<double>(), 3);
}

TEST(ProductTypeTest, HalfPrecisionNeedsCuda) {
  const auto type = [](torch::Device device, bool half) { return ProductTypeOn(device, half); };
  ASSERT_OK_AND_ASSIGN(const auto full, type(torch::kCPU, false));
  EXPECT_FALSE(full.has_value());
  EXPECT_THAT(type(torch::kCPU, true),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("choose precision=full")));
  ASSERT_OK_AND_ASSIGN(const auto half, type(torch::Device(torch::kCUDA, 0), true));
  EXPECT_EQ(half, torch::kFloat16);
}

constexpr char kEncoder[] = R"({"model_type": "electra", "vocab_size": 24, "embedding_size": 8,
  "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
  "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
  "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "layer_norm_eps": 1e-12})";

std::shared_ptr<Encoder> DrawnEncoder() {
  const auto config = ParseEncoderConfig(kEncoder, "config.json");
  CONCUR_CHECK_OK(config.status());
  auto encoder = std::make_shared<Encoder>(*config);
  torch::manual_seed(5);
  DrawWeights(*encoder, config->initial_deviation);
  return encoder;
}

std::vector<TrainWindow> SomeWindows() {
  std::vector<TrainWindow> windows;
  for (int32_t i = 0; i < 10; ++i) {
    TrainWindow window;
    window.window.ids = {2, 5 + i, 3, 10, 11, 5 + i, 12, 3};
    window.window.passage_at = 3;
    window.window.pieces = 4;
    window.label = {5, 5 + i % 2, false};
    windows.push_back(std::move(window));
  }
  return windows;
}

// Makes the gradients of a parameter infinite the `at`-th time that they are computed, or,
// with 0, each time.
void SpoilGradients(torch::nn::Module& network, const std::string& parameter, int at) {
  network.named_parameters()[parameter].register_hook([at, count = std::make_shared<int>(0)](
                                                          torch::Tensor gradient) {
    return at == 0 || ++*count == at ? gradient * std::numeric_limits<float>::infinity() : gradient;
  });
}

class HalfPrecisionTest : public ::testing::Test {
 protected:
  HalfPrecisionTest() {
    fine_tuning_.progress = [](absl::string_view) {};
    fine_tuning_.product_type = torch::kBFloat16;
    fine_tuning_.fingerprint = "print";
  }

  absl::Status Tune(Encoder& encoder) {
    const auto settings = MakeFineTuneSettings(
        *FindPretrained("electra"), {"batch=4", "step_batch=2", "epochs=3", "learning_rate=0.01",
                                     "length=8", "stride=1", "layer_decay=1"});
    CONCUR_CHECK_OK(settings.status());
    return FineTune(encoder, SomeWindows(), *settings, 3, fine_tuning_).status();
  }

  FineTuneRun fine_tuning_;
};

TEST_F(HalfPrecisionTest, ProductsAreInItsTypeAndWeightsAndStatesIn32Bits) {
  const auto encoder = DrawnEncoder();
  encoder->eval();
  const TokenBatch batch = {torch::tensor({{2, 5, 3, 7}}), torch::Tensor(), torch::Tensor()};
  const torch::Tensor full = encoder->Encode(batch);
  encoder->SetProductType(torch::kBFloat16);
  EncoderTrace trace;
  const torch::Tensor half = encoder->Encode(batch, &trace);
  EXPECT_FALSE(half.equal(full));
  EXPECT_TRUE(torch::allclose(half, full, 0.05, 0.05));
  for (const torch::Tensor& state : trace.states) {
    EXPECT_EQ(state.scalar_type(), torch::kFloat32);
  }
  half.pow(3).sum().backward();
  for (const auto& parameter : encoder->named_parameters()) {
    EXPECT_EQ(parameter->scalar_type(), torch::kFloat32) << parameter.key();
    if (parameter->grad().defined()) {
      EXPECT_EQ(parameter->grad().scalar_type(), torch::kFloat32) << parameter.key();
    }
  }
  encoder->SetProductType(std::nullopt);
  EXPECT_TRUE(encoder->Encode(batch).equal(full));
}

TEST_F(HalfPrecisionTest, AnOverflowInFineTuningIsComputedAgainWithTheSameResult) {
  const auto smooth = DrawnEncoder();
  ASSERT_OK(Tune(*smooth));
  const auto disturbed = DrawnEncoder();
  SpoilGradients(*disturbed, "qa_outputs.weight", 4);
  ASSERT_OK(Tune(*disturbed));
  EXPECT_EQ(SaveState(*disturbed, {}), SaveState(*smooth, {}))
      << "a scale is a power of two, which rounds nothing";
  const auto full = DrawnEncoder();
  fine_tuning_.product_type = std::nullopt;
  ASSERT_OK(Tune(*full));
  EXPECT_NE(SaveState(*full, {}), SaveState(*smooth, {}));
}

TEST_F(HalfPrecisionTest, FineTuningGoesOnToTheSameBytes) {
  const TempDir directory;
  const auto whole = DrawnEncoder();
  SpoilGradients(*whole, "qa_outputs.weight", 1);
  ASSERT_OK(Tune(*whole));
  fine_tuning_.checkpoint = directory.File("checkpoint");
  fine_tuning_.interrupted = [](int64_t update) { return update == 4; };
  const auto begun = DrawnEncoder();
  SpoilGradients(*begun, "qa_outputs.weight", 1);
  EXPECT_THAT(Tune(*begun), StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
  fine_tuning_.interrupted = {};
  const auto continued = DrawnEncoder();
  ASSERT_OK(Tune(*continued));
  EXPECT_EQ(SaveState(*continued, {}), SaveState(*whole, {}));
}

TEST_F(HalfPrecisionTest, GradientsThatAreNeverFiniteEndTraining) {
  const auto encoder = DrawnEncoder();
  SpoilGradients(*encoder, "qa_outputs.weight", 0);
  EXPECT_THAT(Tune(*encoder),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("precision=full")));
}

}  // namespace
}  // namespace concur::readers
