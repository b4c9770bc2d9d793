// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/encoder_config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/check.h"
#include "studies/readers/files/checkpoint_files.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

using Config = nlohmann::json;

Config SmallConfig(const std::string& family) {
  return {{"model_type", family},   {"vocab_size", 9},
          {"hidden_size", 4},       {"embedding_size", 2},
          {"num_hidden_layers", 2}, {"num_attention_heads", 2},
          {"intermediate_size", 6}, {"max_position_embeddings", 7},
          {"type_vocab_size", 1}};
}

absl::StatusOr<EncoderConfig> Parse(const Config& config) {
  return ParseEncoderConfig(config.dump(), "a/config.json");
}

EncoderConfig Parsed(const Config& config) {
  const auto parsed = Parse(config);
  CONCUR_CHECK_OK(parsed.status());
  return *parsed;
}

// The error of a small configuration with one field changed.
std::string ErrorWith(const std::string& field, const Config& value,
                      const std::string& family = "bert") {
  Config config = SmallConfig(family);
  config[field] = value;
  const auto parsed = Parse(config);
  EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << field << ": " << value;
  return std::string(parsed.status().message());
}

TEST(EncoderConfigTest, FamiliesHaveTheTensorsOfTheirOriginals) {
  const TensorShapes bert = Parsed(SmallConfig("bert")).Tensors();
  EXPECT_EQ(bert.size(), 5u + 2 * 16 + 2);
  EXPECT_EQ(bert.at("bert.embeddings.word_embeddings.weight"), (std::vector<int64_t>{9, 4}));
  EXPECT_EQ(bert.at("bert.encoder.layer.1.intermediate.dense.weight"),
            (std::vector<int64_t>{6, 4}));
  EXPECT_EQ(bert.at("qa_outputs.weight"), (std::vector<int64_t>{2, 4}));
  const TensorShapes albert = Parsed(SmallConfig("albert")).Tensors();
  EXPECT_EQ(albert.size(), 5u + 2 + 16 + 2);  // one layer, applied twice
  EXPECT_EQ(albert.at("albert.encoder.embedding_hidden_mapping_in.weight"),
            (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(albert.count("albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output.bias"),
            1u);
}

TEST(EncoderConfigTest, ElectraProjectsOnlyWhereSizesDifferAndAlbertAlways) {
  Config config = SmallConfig("electra");
  EXPECT_EQ(Parsed(config).Tensors().count("electra.embeddings_project.weight"), 1u);
  config["embedding_size"] = 4;
  EXPECT_EQ(Parsed(config).Tensors().count("electra.embeddings_project.weight"), 0u);
  config["model_type"] = "albert";
  EXPECT_TRUE(Parsed(config).projects());
}

TEST(EncoderConfigTest, SharedLayersAreAppliedInGroups) {
  Config config = SmallConfig("albert");
  config["num_hidden_layers"] = 5;
  config["num_hidden_groups"] = 2;
  config["inner_group_num"] = 2;
  const EncoderConfig parsed = Parsed(config);
  EXPECT_EQ(parsed.LayerPaths().size(), 4u);
  const std::vector<size_t> first = {0, 1};
  const std::vector<size_t> second = {2, 3};
  EXPECT_EQ(parsed.Steps(),
            (std::vector<std::vector<size_t>>{first, first, first, second, second}));
  EXPECT_EQ(Parsed(SmallConfig("bert")).Steps(), (std::vector<std::vector<size_t>>{{0}, {1}}));
}

// The first checkpoints, SpanBERT's among them, say neither family nor what has a usual value.
TEST(EncoderConfigTest, WhatIsNotSaidIsAsInTheOriginal) {
  Config config = SmallConfig("bert");
  config.erase("model_type");
  const EncoderConfig bert = Parsed(config);
  EXPECT_EQ(std::string(bert.family->name), "bert");
  EXPECT_EQ(bert.activation, Activation::kGelu);
  EXPECT_EQ(bert.norm_epsilon, 1e-12);
  EXPECT_EQ(bert.padding_id, 0);
  EXPECT_EQ(Parsed(SmallConfig("roberta")).padding_id, 1);
}

TEST(EncoderConfigTest, HostileConfigurationsAreRefusedWithTheField) {
  EXPECT_THAT(std::string(ParseEncoderConfig("[", "a/config.json").status().message()),
              HasSubstr("a/config.json: expected a JSON object"));
  EXPECT_THAT(ErrorWith("hidden_size", "wide"),
              HasSubstr("a/config.json: hidden_size: expected an integer from 1 to 131072, "
                        "got \"wide\""));
  EXPECT_THAT(ErrorWith("hidden_size", 4.5), HasSubstr("hidden_size: expected an integer"));
  EXPECT_THAT(ErrorWith("hidden_size", nullptr), HasSubstr("got null"));
  EXPECT_THAT(ErrorWith("hidden_size", Config::array({4})), HasSubstr("got array"));
  EXPECT_THAT(ErrorWith("hidden_size", 0), HasSubstr("got 0"));
  EXPECT_THAT(ErrorWith("vocab_size", uint64_t{1} << 63), HasSubstr("vocab_size: expected"));
  EXPECT_THAT(ErrorWith("num_hidden_layers", 1'000'000), HasSubstr("num_hidden_layers: expected"));
  EXPECT_THAT(ErrorWith("num_hidden_layers", -1), HasSubstr("num_hidden_layers: expected"));
  EXPECT_THAT(ErrorWith("num_attention_heads", 3),
              HasSubstr("hidden_size: 4 is no multiple of num_attention_heads, 3"));
  EXPECT_THAT(ErrorWith("pad_token_id", 9), HasSubstr("pad_token_id: 9 is not below"));
  EXPECT_THAT(ErrorWith("max_position_embeddings", 2, "roberta"),
              HasSubstr("max_position_embeddings: expected more than pad_token_id + 1"));
  EXPECT_THAT(ErrorWith("hidden_act", "gelu_ne"), HasSubstr("hidden_act: expected gelu, gelu_new"));
  EXPECT_THAT(ErrorWith("hidden_act", std::string(100000, 'x')).size(), ::testing::Lt(400u));
  EXPECT_THAT(ErrorWith("layer_norm_eps", "small"), HasSubstr("layer_norm_eps: expected a number"));
  EXPECT_THAT(ErrorWith("hidden_dropout_prob", 1), HasSubstr("hidden_dropout_prob: expected"));
  EXPECT_THAT(ErrorWith("position_embedding_type", "relative_key"),
              HasSubstr("position_embedding_type: expected absolute"));
  EXPECT_THAT(ErrorWith("is_decoder", true), HasSubstr("is_decoder: expected false"));
  EXPECT_THAT(ErrorWith("model_type", "xlnet"), HasSubstr("model_type: expected bert, albert"));
  Config config = SmallConfig("bert");
  config.erase("intermediate_size");
  EXPECT_THAT(std::string(Parse(config).status().message()),
              HasSubstr("intermediate_size is missing"));
  config = SmallConfig("bert");
  config["vocab_size"] = 1 << 24;
  config["hidden_size"] = 1 << 17;
  EXPECT_THAT(std::string(Parse(config).status().message()), HasSubstr("its sizes give "));
  config = SmallConfig("albert");
  config["num_hidden_groups"] = 512;
  config["inner_group_num"] = 512;
  EXPECT_THAT(std::string(Parse(config).status().message()), HasSubstr("num_hidden_groups: 512"));
}

TEST(EncoderTensorNameTest, NamesOfAllCheckpointsBecomeOne) {
  const Family& bert = *Parsed(SmallConfig("bert")).family;
  const std::map<std::string, std::string> names = {
      {"bert.encoder.layer.0.output.LayerNorm.gamma",
       "bert.encoder.layer.0.output.LayerNorm.weight"},
      {"embeddings.LayerNorm.beta", "bert.embeddings.LayerNorm.bias"},
      {"encoder.layer.0.output.dense.bias", "bert.encoder.layer.0.output.dense.bias"},
      {"qa_outputs.weight", "qa_outputs.weight"},
      {"bert.embeddings.position_ids", ""},
      {"bert.pooler.dense.weight", ""},
      {"pooler.dense.weight", ""},
      {"cls.predictions.bias", ""},
      {"bert.cls.bias", "bert.cls.bias"},
      {"gamma", "gamma"}};
  for (const auto& [stored, name] : names) {
    EXPECT_EQ(EncoderTensorName(bert, stored), name) << stored;
  }
  const Family& electra = *Parsed(SmallConfig("electra")).family;
  EXPECT_EQ(EncoderTensorName(electra, "discriminator_predictions.dense.bias"), "");
  EXPECT_EQ(EncoderTensorName(electra, "embeddings_project.bias"),
            "electra.embeddings_project.bias");
}

// A checkpoint of zeros in a folder.
class CheckpointFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& [name, shape] : Parsed(config_).Tensors()) {
      Add(name, shape);
    }
  }
  void Add(const std::string& name, const std::vector<int64_t>& shape, Type type = Type::kFloat32) {
    int64_t values = 1;
    for (const int64_t size : shape) {
      values *= size;
    }
    const auto bytes = static_cast<size_t>(values * BytesOf(type));
    tensors_[name] = {type, shape, absl::string_view(zeros_).substr(0, bytes)};
  }
  absl::StatusOr<CheckpointFiles> Read() {
    std::ofstream(directory_.File("config.json")) << config_.dump();
    std::ofstream(directory_.File("model.safetensors"), std::ios::binary)
        << WriteSafeTensors(tensors_, {});
    return ReadCheckpointFiles(directory_.path());
  }
  std::string Error() { return std::string(Read().status().message()); }

  const std::string zeros_ = std::string(4096, '\0');
  TempDir directory_;
  Config config_ = SmallConfig("bert");
  SafeTensors::Tensors tensors_;
};

TEST_F(CheckpointFilesTest, WhatQuestionAnsweringDoesNotReadIsLeftOut) {
  Add("bert.embeddings.position_ids", {1, 7}, Type::kInt64);
  Add("cls.predictions.decoder.weight", {9, 4});
  tensors_["bert.embeddings.LayerNorm.gamma"] = tensors_["bert.embeddings.LayerNorm.weight"];
  tensors_.erase("bert.embeddings.LayerNorm.weight");
  const auto files = Read();
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->tensors.size(), files->config.Tensors().size());
  EXPECT_EQ(FamilyOfCheckpoint(directory_.path()), files->config.family);
}

TEST_F(CheckpointFilesTest, AllThatDoesNotFitIsListedInOneError) {
  tensors_.erase("qa_outputs.bias");
  Add("bert.embeddings.word_embeddings.weight", {9, 5});
  Add("bert.encoder.layer.2.output.dense.bias", {4});
  Add("bert.encoder.layer.0.output.dense.bias", {4}, Type::kInt64);
  const std::string error = Error();
  EXPECT_THAT(error, HasSubstr("model.safetensors: not the weights of this network: "));
  EXPECT_THAT(error, HasSubstr("qa_outputs.bias is missing"));
  EXPECT_THAT(error, HasSubstr("word_embeddings.weight has shape [9, 5] instead of [9, 4]"));
  EXPECT_THAT(error, HasSubstr("bert.encoder.layer.2.output.dense.bias is unknown"));
  EXPECT_THAT(error, HasSubstr("layer.0.output.dense.bias has type I64, which is no floating"));
}

// Its network would take 17 GB.
TEST_F(CheckpointFilesTest, SizesBeyondTheFileAreRefusedBeforeAnyMemoryIsTaken) {
  config_["vocab_size"] = 1 << 24;
  config_["hidden_size"] = 256;
  EXPECT_THAT(Error(), HasSubstr("has shape [4] instead of [256]"));
  EXPECT_THAT(Error(), HasSubstr("; and "));
}

TEST_F(CheckpointFilesTest, AmbiguousOrAbsentWeightsAreRefused) {
  tensors_["bert.embeddings.LayerNorm.beta"] = tensors_["bert.embeddings.LayerNorm.bias"];
  EXPECT_THAT(Error(), HasSubstr("bert.embeddings.LayerNorm.bias stands twice, also as "));
  const TempDir empty;
  std::ofstream(empty.File("config.json")) << config_.dump();
  EXPECT_TRUE(absl::IsNotFound(ReadCheckpointFiles(empty.path()).status()));
  std::ofstream(empty.File("pytorch_model.bin")) << "cos\nsystem\n.";
  EXPECT_THAT(std::string(ReadCheckpointFiles(empty.path()).status().message()),
              HasSubstr("pytorch_model.bin"));
}

// Files that torch itself wrote, where there are some.
TEST_F(CheckpointFilesTest, FilesOfTorchHoldTheSameWeights) {
  const char* given = std::getenv("CONCUR_FIXTURES");     // NOLINT(concurrency-mt-unsafe)
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string bert =
      (given != nullptr ? given
                        : std::string(source == nullptr ? "." : source) + "/../shared/fixtures") +
      "/bert/";
  const auto expected = ReadCheckpointFiles(bert);
  if (!expected.ok()) {
    GTEST_SKIP() << "no fixtures of the originals: " << expected.status().message();
  }
  for (const char* name : {"pytorch_model.bin", "pytorch_model_legacy.bin"}) {
    const TempDir copy;
    std::filesystem::copy_file(bert + "config.json", copy.File("config.json"));
    std::filesystem::copy_file(bert + name, copy.File("pytorch_model.bin"));
    const auto files = ReadCheckpointFiles(copy.path());
    ASSERT_TRUE(files.ok()) << name << ": " << files.status();
    for (const auto& [tensor, values] : expected->tensors) {
      EXPECT_EQ(files->tensors.at(tensor).bytes, values.bytes) << name << ": " << tensor;
    }
  }
}

TEST_F(CheckpointFilesTest, OtherFoldersAreNoCheckpoints) {
  EXPECT_EQ(FamilyOfCheckpoint(directory_.path()), nullptr);
  for (const char* config : {"{", "[]", R"({"model_type":3})", R"({"model_type":"gpt2"})"}) {
    std::ofstream(directory_.File("config.json"), std::ios::trunc) << config;
    EXPECT_EQ(FamilyOfCheckpoint(directory_.path()), nullptr) << config;
  }
}

}  // namespace
}  // namespace concur::readers
