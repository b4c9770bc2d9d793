// SPDX-License-Identifier: Apache-2.0
// The pretrained encoder: against loops over single numbers and finite differences, and as a
// checkpoint and a fixture of its own. tests/studies/readers/check_test.cc compares with the
// originals.
#include "studies/readers/pretrained/encoder.h"

#include <torch/torch.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/readers/tensors.h"
#include "tests/studies/readers/check/check.h"
#include "tests/studies/readers/networks.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

using EncoderState = std::map<std::string, torch::Tensor>;
using Values = std::vector<double>;
using ValueRows = std::vector<Values>;

nlohmann::json TinyConfig(const std::string& family) {
  return {{"model_type", family},
          {"vocab_size", 11},
          {"hidden_size", 6},
          {"embedding_size", 4},
          {"num_hidden_layers", 3},
          {"num_hidden_groups", 2},
          {"inner_group_num", 2},
          {"num_attention_heads", 2},
          {"intermediate_size", 5},
          {"max_position_embeddings", 9},
          {"type_vocab_size", family == "roberta" ? 1 : 2},
          {"hidden_act", family == "albert" ? "gelu_new" : "gelu"},
          {"layer_norm_eps", 1e-5}};
}

std::shared_ptr<Encoder> RandomEncoder(const nlohmann::json& json) {
  const auto config = ParseEncoderConfig(json.dump(), "config.json");
  CONCUR_CHECK_OK(config.status());
  torch::manual_seed(5);
  auto encoder = std::make_shared<Encoder>(*config);
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& parameter : encoder->parameters()) {
    parameter.normal_(0, 0.5);
  }
  encoder->to(torch::kFloat64);
  encoder->eval();
  return encoder;
}

// Two sequences, of five tokens and of three; padding is 1, RoBERTa's.
TokenBatch TwoSequences() {
  return {torch::tensor({{3, 4, 5, 6, 7}, {8, 9, 10, 1, 1}}),
          torch::tensor({{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}}).ne(0),
          torch::tensor({{0, 0, 1, 1, 1}, {0, 1, 1, 0, 0}})};
}

// The encoder a second time, for one sequence, plainly.
class PlainEncoder {
 public:
  PlainEncoder(const Encoder& encoder, const std::string& family)
      : family_(family), config_(encoder.config()), state_(StateOf(encoder)) {}

  // [T][width]
  ValueRows Encode(const Values& ids, const Values& mask, const Values& segments) const {
    ValueRows x;
    double position = 0;
    for (size_t t = 0; t < ids.size(); ++t) {
      double place = static_cast<double>(t);
      if (family_ == "roberta") {
        position += ids[t] == 1 ? 0 : 1;
        place = ids[t] == 1 ? 1 : position + 1;
      }
      const Values word = Row("embeddings.word_embeddings.weight", ids[t]);
      const Values at = Row("embeddings.position_embeddings.weight", place);
      const Values segment =
          Row("embeddings.token_type_embeddings.weight", family_ == "roberta" ? 0 : segments[t]);
      Values sum;
      for (size_t i = 0; i < word.size(); ++i) {
        sum.push_back(word[i] + at[i] + segment[i]);
      }
      x.push_back(Norm("embeddings.LayerNorm", sum));
    }
    if (family_ == "albert") {
      x = Each("encoder.embedding_hidden_mapping_in", x);
    } else if (family_ == "electra") {
      x = Each("embeddings_project", x);
    }
    if (family_ == "albert") {  // three steps in two groups of two layers
      for (const char* layer : {"0.albert_layers.0.", "0.albert_layers.1.", "0.albert_layers.0.",
                                "0.albert_layers.1.", "1.albert_layers.0.", "1.albert_layers.1."}) {
        x = Layer(std::string("encoder.albert_layer_groups.") + layer, x, mask);
      }
    } else {
      for (const char* layer : {"0.", "1.", "2."}) {
        x = Layer(std::string("encoder.layer.") + layer, x, mask);
      }
    }
    return x;
  }

 private:
  Values Row(const std::string& name, double row) const {
    const torch::Tensor values = state_.at(family_ + "." + name)[static_cast<int64_t>(row)];
    return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
  }
  Values All(const std::string& name) const {
    const torch::Tensor values = state_.at(family_ + "." + name);
    return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
  }
  Values Affine(const std::string& name, const Values& x) const {
    const Values weight = All(name + ".weight");
    Values y = All(name + ".bias");
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t j = 0; j < x.size(); ++j) {
        y[i] += weight[i * x.size() + j] * x[j];
      }
    }
    return y;
  }
  ValueRows Each(const std::string& name, const ValueRows& x) const {
    ValueRows y;
    for (const Values& row : x) {
      y.push_back(Affine(name, row));
    }
    return y;
  }
  Values Norm(const std::string& name, const Values& x) const {
    const Values weight = All(name + ".weight");
    const Values bias = All(name + ".bias");
    const auto count = static_cast<double>(x.size());
    double mean = 0;
    double variance = 0;
    for (const double value : x) {
      mean += value / count;
    }
    for (const double value : x) {
      variance += (value - mean) * (value - mean) / count;
    }
    Values y;
    for (size_t i = 0; i < x.size(); ++i) {
      y.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i]);
    }
    return y;
  }
  double Gelu(double x) const {
    return family_ == "albert"
               ? x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
               : x / 2 * (1 + std::erf(x / std::sqrt(2)));
  }
  static Values Sum(Values a, const Values& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] += b[i];
    }
    return a;
  }

  ValueRows Layer(const std::string& path, const ValueRows& x, const Values& mask) const {
    const bool shared = family_ == "albert";
    const auto name = [&](const char* plain, const char* albert) {
      return path + (shared ? albert : plain);
    };
    const ValueRows queries = Each(name("attention.self.query", "attention.query"), x);
    const ValueRows keys = Each(name("attention.self.key", "attention.key"), x);
    const ValueRows values = Each(name("attention.self.value", "attention.value"), x);
    constexpr size_t kHeadWidth = 3;
    ValueRows out;
    for (size_t t = 0; t < x.size(); ++t) {
      Values context(x[t].size(), 0);
      for (size_t head = 0; head < 2; ++head) {
        Values weights;
        double total = 0;
        for (size_t s = 0; s < x.size(); ++s) {
          double score = 0;
          for (size_t i = head * kHeadWidth; i < (head + 1) * kHeadWidth; ++i) {
            score += queries[t][i] * keys[s][i];
          }
          weights.push_back(std::exp(score / std::sqrt(3.0) + (1 - mask[s]) * -10000));
          total += weights.back();
        }
        for (size_t s = 0; s < x.size(); ++s) {
          for (size_t i = head * kHeadWidth; i < (head + 1) * kHeadWidth; ++i) {
            context[i] += weights[s] / total * values[s][i];
          }
        }
      }
      const Values attended =
          Norm(name("attention.output.LayerNorm", "attention.LayerNorm"),
               Sum(Affine(name("attention.output.dense", "attention.dense"), context), x[t]));
      Values hidden = Affine(name("intermediate.dense", "ffn"), attended);
      for (double& value : hidden) {
        value = Gelu(value);
      }
      out.push_back(Norm(name("output.LayerNorm", "full_layer_layer_norm"),
                         Sum(Affine(name("output.dense", "ffn_output"), hidden), attended)));
    }
    return out;
  }

  std::string family_;
  EncoderConfig config_;
  EncoderState state_;
};

Values ValuesOf(const torch::Tensor& row) {
  const torch::Tensor values = row.to(torch::kFloat64).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

class EncoderFamilyTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Families, EncoderFamilyTest,
                         ::testing::Values("bert", "albert", "roberta", "electra"),
                         [](const auto& family) { return family.param; });

TEST_P(EncoderFamilyTest, StatesAreThoseOfLoopsOverNumbers) {
  const auto encoder = RandomEncoder(TinyConfig(GetParam()));
  const TokenBatch batch = TwoSequences();
  EncoderTrace trace;
  const torch::Tensor states = encoder->Encode(batch, &trace);
  EXPECT_EQ(trace.states.size(), 4u);
  EXPECT_EQ(trace.attentions.size(), GetParam() == "albert" ? 6u : 3u);
  const PlainEncoder plain(*encoder, GetParam());
  for (int64_t row = 0; row < 2; ++row) {
    const ValueRows expected = plain.Encode(ValuesOf(batch.ids[row]), ValuesOf(batch.mask[row]),
                                            ValuesOf(batch.segments[row]));
    for (int64_t t = 0; t < 5; ++t) {
      const Values computed = ValuesOf(states[row][t]);
      for (size_t i = 0; i < computed.size(); ++i) {
        EXPECT_NEAR(computed[i], expected[static_cast<size_t>(t)][i], 1e-10)
            << "row " << row << ", token " << t << ", value " << i;
      }
    }
  }
}

TEST_P(EncoderFamilyTest, GradientsAreFiniteDifferences) {
  const auto encoder = RandomEncoder(TinyConfig(GetParam()));
  TokenBatch batch = TwoSequences();
  // Without padding: its embeddings get no gradient, as in the originals.
  batch.ids = torch::tensor({{3, 4, 5, 6, 7}, {8, 9, 10, 2, 3}});
  const torch::Tensor starts = torch::tensor({0, 2});
  const torch::Tensor ends = torch::tensor({4, 7});  // the second is outside
  ExpectDerivatives([&] { return Encoder::Loss(encoder->Forward(batch), starts, ends); },
                    encoder->parameters(), GetParam(), 6);
}

TEST_P(EncoderFamilyTest, PaddingChangesNoTokenAndItsEmbeddingIsNotTrained) {
  const auto encoder = RandomEncoder(TinyConfig(GetParam()));
  const auto narrow = [](const torch::Tensor& x) { return x.slice(0, 1, 2).slice(1, 0, 3); };
  const TokenBatch batch = TwoSequences();
  const TokenBatch alone = {narrow(batch.ids), torch::Tensor(), narrow(batch.segments)};
  const torch::Tensor padded = encoder->Encode(batch);
  EXPECT_TRUE(torch::allclose(narrow(padded), encoder->Encode(alone), 1e-12, 1e-12));
  padded.sum().backward();
  const torch::Tensor words =
      StateOf(*encoder).at(GetParam() + ".embeddings.word_embeddings.weight");
  EXPECT_EQ(words.grad()[encoder->config().padding_id].abs().sum().item<double>(), 0);
}

TEST_P(EncoderFamilyTest, DropoutIsOnInTrainingOnly) {
  const auto encoder = RandomEncoder(TinyConfig(GetParam()));
  const TokenBatch batch = TwoSequences();
  EXPECT_TRUE(encoder->Encode(batch).equal(encoder->Encode(batch)));
  encoder->train();
  EXPECT_FALSE(encoder->Encode(batch).equal(encoder->Encode(batch)));
}

TEST(EncoderLossTest, PositionsOutsideCountAsTheOriginalCountsThem) {
  Scores scores;
  scores.starts = torch::randn({3, 4}, torch::kFloat64);
  scores.ends = torch::randn({3, 4}, torch::kFloat64);
  const torch::Tensor starts = torch::tensor({0, 1, 9});
  const torch::Tensor ends = torch::tensor({-5, 3, 4});
  const torch::Tensor first = torch::log_softmax(scores.starts, 1);
  const torch::Tensor last = torch::log_softmax(scores.ends, 1);
  const torch::Tensor expected =
      -((first[0][0] + first[1][1]) / 2 + (last[0][0] + last[1][3]) / 2) / 2;
  EXPECT_NEAR(Encoder::Loss(scores, starts, ends).item<double>(), expected.item<double>(), 1e-12);
}

TEST(LoadForTrainingTest, AHeadThatACheckpointLacksIsDrawnBySeedAndDeviation) {
  nlohmann::json json = TinyConfig("bert");
  json["hidden_size"] = 600;
  json["initializer_range"] = 0.1;
  const TempDir directory;
  std::ofstream(directory.File("config.json")) << json.dump();
  const std::shared_ptr<Encoder> encoder = RandomEncoder(json);
  encoder->to(torch::kFloat32);
  const auto whole = SafeTensors::Parse(SaveState(*encoder, {}), "state");
  CONCUR_CHECK_OK(whole.status());
  SafeTensors::Tensors kept = whole->tensors();
  kept.erase("qa_outputs.weight");
  kept.erase("qa_outputs.bias");
  std::ofstream(directory.File("model.safetensors"), std::ios::binary)
      << WriteSafeTensors(kept, {});
  const auto head = [&](uint64_t seed) {
    bool drew_head = false;
    const auto loaded = LoadForTraining(directory.path(), seed, drew_head);
    CONCUR_CHECK_OK(loaded.status());
    EXPECT_TRUE(drew_head);
    const EncoderState state = StateOf(**loaded);
    EXPECT_TRUE(state.at("qa_outputs.bias").eq(0).all().item<bool>());
    return state.at("qa_outputs.weight").detach().clone();
  };
  EXPECT_NEAR(head(1).std().item<double>(), 0.1, 0.01);
  EXPECT_TRUE(torch::equal(head(1), head(1)));
  EXPECT_FALSE(torch::equal(head(1), head(2)));
}

// A fixture whose original is the encoder here.
class OwnEncoderFixtureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    encoder_ = RandomEncoder(config_);
    encoder_->to(torch::kFloat32);
    const TokenBatch batch = TwoSequences();
    io_ = {{"input_ids", batch.ids},
           {"attention_mask", batch.mask.to(torch::kInt64)},
           {"token_type_ids", batch.segments},
           {"start_positions", torch::tensor({0, 1})},
           {"end_positions", torch::tensor({4, 2})}};
    EncoderTrace trace;
    const Scores scores = encoder_->Forward(batch, &trace);
    for (size_t i = 0; i < trace.states.size(); ++i) {
      io_["hidden_states." + std::to_string(i)] = trace.states[i];
    }
    io_["start_logits"] = scores.starts;
    io_["end_logits"] = scores.ends;
    io_["nomask.end_logits"] = encoder_->Forward({batch.ids, {}, {}}).ends;
    io_["loss"] = Encoder::Loss(scores, io_["start_positions"], io_["end_positions"]);
    io_["loss"].backward();
    for (const auto& [name, value] : StateOf(*encoder_)) {
      gradients_[name] = value.grad().clone();
    }
  }

  static std::string FileOf(const EncoderState& state) {
    SafeTensors::Tensors stored;
    EncoderState kept;
    for (const auto& [name, tensor] : state) {
      const torch::Tensor& copy = kept[name] = tensor.detach().contiguous();
      stored[name] = {copy.scalar_type() == torch::kInt64 ? Type::kInt64 : Type::kFloat32,
                      copy.sizes().vec(),
                      absl::string_view(static_cast<const char*>(copy.data_ptr()), copy.nbytes())};
    }
    return WriteSafeTensors(stored, {});
  }
  absl::StatusOr<CheckResult> Check() {
    const auto write = [this](const std::string& name, const std::string& contents) {
      std::ofstream(directory_.File(name), std::ios::binary | std::ios::trunc) << contents;
    };
    write("config.json", config_.dump());
    write("model.safetensors", SaveState(*encoder_, {}));
    write("io.safetensors", FileOf(io_));
    write("grads.safetensors", FileOf(gradients_));
    return CheckFixture(directory_.path());
  }
  std::string Error() { return std::string(Check().status().message()); }

  TempDir directory_;
  nlohmann::json config_ = TinyConfig("electra");
  std::shared_ptr<Encoder> encoder_;
  EncoderState io_, gradients_;
};

TEST_F(OwnEncoderFixtureTest, TheSameEncoderIsEqualAndChangesAreFound) {
  const auto result = Check();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->ok()) << CheckText({{*result}, {}, {}});
  EXPECT_EQ(result->approach, "electra");
  EXPECT_TRUE(nlohmann::json::parse(CheckJson({{*result}, {}, {}}))["fixtures"][0]["spans_equal"]
                  .is_null());
  for (const char* name : {"start_logits", "nomask.end_logits", "hidden_states.1"}) {
    const torch::Tensor kept = io_[name];
    io_[name] = kept + 1e-3;
    EXPECT_GT(Check()->forward, kScoreTolerance) << name;
    io_[name] = kept;
  }
  io_["loss"] = io_["loss"] + 1e-3;
  EXPECT_GT(Check()->loss, kScoreTolerance);
  torch::Tensor& gradient = gradients_["qa_outputs.weight"];
  gradient = gradient * 1.001;
  EXPECT_GT(Check()->gradients, kGradientTolerance);
  io_["hidden_states.9"] = io_["hidden_states.1"];
  EXPECT_FALSE(Check()->ok());
}

TEST_F(OwnEncoderFixtureTest, DamagedFixturesAreRefusedWithThePlace) {
  const torch::Tensor ids = io_["input_ids"];
  io_["input_ids"] = ids + 1000;
  EXPECT_THAT(Error(), HasSubstr("io.safetensors: index out of range"));
  io_["input_ids"] = torch::ones({2, 10}, torch::kInt64);  // there are nine positions
  EXPECT_THAT(Error(), HasSubstr("io.safetensors: "));
  io_["input_ids"] = ids;
  io_.erase("end_logits");
  EXPECT_THAT(Error(), HasSubstr("io.safetensors: end_logits is missing"));
  config_["num_hidden_layers"] = 4;
  EXPECT_THAT(Error(), HasSubstr("encoder.layer.3.attention.self.key.bias is missing"));
  EXPECT_THAT(Error(), HasSubstr("model.safetensors: not the weights of this network"));
}

}  // namespace
}  // namespace concur::readers
