// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/checkpoint_files.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

constexpr char kSmall[] = R"({"model_type": "roberta", "vocab_size": 5, "hidden_size": 4,
  "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 4,
  "max_position_embeddings": 6, "type_vocab_size": 1})";

// A checkpoint whose tensors lie in two shards, as its index says.
class ShardedCheckpointTest : public ::testing::Test {
 protected:
  ShardedCheckpointTest() {
    Write("config.json", kSmall);
    const auto config = ParseEncoderConfig(kSmall, "config.json");
    CONCUR_CHECK_OK(config.status());
    int count = 0;
    for (const auto& [name, shape] : config->Tensors()) {
      shapes_[name] = shape;
      file_of_[name] = absl::StrCat("part-", count++ % 2, ".safetensors");
    }
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.File(name), std::ios::binary) << text;
  }

  // Writes the shards of `file_of`, and an index that lists `listed`.
  void WriteShards(const std::map<std::string, std::string>& file_of,
                   const std::map<std::string, std::string>& listed) const {
    const std::string zeros(1 << 10, '\0');
    for (const char* file : {"part-0.safetensors", "part-1.safetensors"}) {
      SafeTensors::Tensors tensors;
      for (const auto& [name, in] : file_of) {
        if (in == file) {
          StoredTensor tensor = {Type::kFloat32, shapes_.at(name), ""};
          size_t bytes = sizeof(float);
          for (const int64_t size : tensor.shape) {
            bytes *= static_cast<size_t>(size);
          }
          tensor.bytes = absl::string_view(zeros).substr(0, bytes);
          tensors[name] = tensor;
        }
      }
      Write(file, WriteSafeTensors(tensors, {}));
    }
    Write("model.safetensors.index.json", nlohmann::json({{"weight_map", listed}}).dump());
  }

  absl::StatusOr<CheckpointFiles> Read(Head head = Head::kNeeded) const {
    return ReadCheckpointFiles(directory_.path(), head);
  }

  TempDir directory_;
  TensorShapes shapes_;
  std::map<std::string, std::string> file_of_;
};

TEST_F(ShardedCheckpointTest, ShardsTogetherHaveEveryTensor) {
  WriteShards(file_of_, file_of_);
  const auto files = Read();
  ASSERT_OK(files.status());
  EXPECT_EQ(files->tensors.size(), shapes_.size());
  EXPECT_TRUE(files->has_head);
}

TEST_F(ShardedCheckpointTest, TheHeadMayBeAbsentOnlyWhereItIsOptional) {
  std::map<std::string, std::string> bare = file_of_;
  for (const char* part : {"qa_outputs.weight", "qa_outputs.bias"}) {
    ASSERT_EQ(bare.erase(part), 1u);
  }
  WriteShards(bare, bare);
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("qa_outputs")));
  const auto files = Read(Head::kOptional);
  ASSERT_OK(files.status());
  EXPECT_FALSE(files->has_head);
  // Half a head is damage.
  bare["qa_outputs.bias"] = "part-0.safetensors";
  WriteShards(bare, bare);
  EXPECT_THAT(Read(Head::kOptional),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("qa_outputs.weight")));
}

TEST_F(ShardedCheckpointTest, AnIndexThatIsNotThatOfItsShardsIsRefusedWithTheTensor) {
  std::map<std::string, std::string> listed = file_of_;
  listed["more"] = "part-1.safetensors";
  WriteShards(file_of_, listed);
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more")));
  listed = file_of_;
  listed["qa_outputs.bias"] = listed["qa_outputs.bias"] == "part-0.safetensors"
                                  ? "part-1.safetensors"
                                  : "part-0.safetensors";
  WriteShards(file_of_, listed);
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("qa_outputs.bias")));
  listed = file_of_;
  listed["more"] = "part-2.safetensors";
  WriteShards(file_of_, listed);
  EXPECT_THAT(Read(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("part-2")));
}

TEST(ShardIndexTest, FilesOutsideTheFolderAreRefused) {
  const auto error = [](const std::string& json) {
    return std::string(ParseShardIndex(json, "i.json").status().message());
  };
  EXPECT_THAT(error("{"), HasSubstr("i.json: weight_map"));
  EXPECT_THAT(error(R"({"weight_map": {}})"), HasSubstr("weight_map"));
  for (const char* file : {"../a.safetensors", "/etc/a.bin", "b\\\\a.bin", "a.txt", ""}) {
    EXPECT_THAT(error(absl::StrCat(R"({"weight_map": {"a.b": ")", file, R"("}})")),
                AllOf(HasSubstr("a.b"), HasSubstr("of this folder")))
        << file;
  }
  EXPECT_THAT(error(R"({"weight_map": {"a": 3}})"), HasSubstr("of this folder"));
}

}  // namespace
}  // namespace concur::readers
