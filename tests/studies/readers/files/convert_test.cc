// SPDX-License-Identifier: Apache-2.0
// Models of original programs; data/make.py made the small ones.
#include "studies/readers/files/convert.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "studies/readers/files/pickle.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/files/torch_file.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

std::string DirectoryOfSources() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return source == nullptr ? "." : source;
}

std::string DataFile(const std::string& name) {
  return DirectoryOfSources() + "/tests/studies/readers/files/data/" + name;
}

std::vector<float> FloatsOf(const StoredTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

class ConvertTest : public ::testing::Test {
 protected:
  std::string Converted(const std::string& name) {
    return ReadFile(directory_.File("out/" + name)).value_or("absent");
  }
  void ExpectTensors() {
    const auto weights = ReadSafeTensors(directory_.File("out/weights.safetensors"));
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(weights->tensors().size(), 3u);
    EXPECT_EQ(FloatsOf(*weights->Find("a.weight")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(weights->Find("a.turned")->shape, (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(FloatsOf(*weights->Find("a.turned")), (std::vector<float>{2, 5, 3, 6, 4, 7}));
    EXPECT_EQ(FloatsOf(*weights->Find("b")), (std::vector<float>{7}));
  }
  std::string Error(const std::string& path) {
    const absl::Status status = ConvertModel(path, directory_.File("out"));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_FALSE(std::filesystem::exists(directory_.File("out")));
    return std::string(status.message());
  }
  TempDir directory_;
};

TEST_F(ConvertTest, AModelOfDrQaHasWeightsOptionsAndVocabularies) {
  ASSERT_TRUE(ConvertModel(DataFile("drqa.mdl"), directory_.File("out")).ok());
  ExpectTensors();
  EXPECT_EQ(Converted("words.txt"), "<NULL>\n<UNK>\nthe\ncafé\n");
  EXPECT_EQ(Converted("features.txt"), "in_question\ntf\n");
  const nlohmann::json config = nlohmann::json::parse(Converted("config.json"));
  EXPECT_EQ(config, nlohmann::json({{"hidden_size", 128},
                                    {"dropout_emb", 0.4},
                                    {"rnn_type", "lstm"},
                                    {"use_qemb", true},
                                    {"tune", -5}}));
}

TEST_F(ConvertTest, AnArchiveOfAllenNlpKeepsItsConfigurationAndVocabularyAlone) {
  ASSERT_TRUE(ConvertModel(DataFile("allennlp.tar.gz"), directory_.File("out")).ok());
  ExpectTensors();
  EXPECT_EQ(Converted("tokens.txt"), "@@UNKNOWN@@\nthe\n");
  EXPECT_THAT(Converted("config.json"), HasSubstr("bidaf"));
  EXPECT_FALSE(std::filesystem::exists(directory_.File("outside.txt")));
}

TEST_F(ConvertTest, NothingInAPickleIsCalledAndItsNameIsSaid) {
  EXPECT_THAT(Error(DataFile("evil.pt")),
              HasSubstr("evil.pt: the pickle names posix.system, which is not data"));
}

TEST_F(ConvertTest, OtherFilesAreRefused) {
  EXPECT_THAT(Error(DataFile("make.py")), HasSubstr("make.py: not a file of torch.save"));
  const std::string whole = *ReadFile(DataFile("drqa.mdl"));
  for (const size_t length : {whole.size() - 1, whole.size() / 2, size_t{20}}) {
    const std::string cut = directory_.File("cut.mdl");
    std::ofstream(cut, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    EXPECT_THAT(Error(cut), HasSubstr("cut.mdl: "));
  }
}

// Files that torch itself wrote, where there are some.
TEST_F(ConvertTest, RealFilesOfTorchHoldTheSameTensorsInBothForms) {
  const char* given = std::getenv("CONCUR_FIXTURES");  // NOLINT(concurrency-mt-unsafe)
  const std::string bert =
      (given != nullptr ? given : DirectoryOfSources() + "/../shared/fixtures") + "/bert/";
  const auto expected = ReadSafeTensors(bert + "weights.safetensors");
  if (!expected.ok()) {
    GTEST_SKIP() << "no fixtures of the originals: " << expected.status().message();
  }
  size_t converted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(bert)) {
    if (entry.path().extension() != ".bin") {
      continue;
    }
    ++converted;
    const absl::Status status = ConvertModel(entry.path().string(), directory_.File("out"));
    ASSERT_TRUE(status.ok()) << status;
    const auto weights = ReadSafeTensors(directory_.File("out/weights.safetensors"));
    for (const auto& [name, tensor] : expected->tensors()) {
      ASSERT_TRUE(weights->Find(name).ok()) << entry.path() << ": " << name;
      EXPECT_EQ(weights->Find(name)->bytes, tensor.bytes) << entry.path() << ": " << name;
    }
  }
  EXPECT_EQ(converted, 2u);
}

std::string ErrorOfPickle(const std::string& pickle) {
  PickleReader reader;
  absl::string_view bytes = pickle;
  return std::string(reader.Read(bytes).status().message());
}

TEST(PickleTest, DamagedPicklesAreRefused) {
  EXPECT_THAT(ErrorOfPickle("."), HasSubstr("a value where there is none"));
  EXPECT_THAT(ErrorOfPickle("]"), HasSubstr("ends too early"));
  EXPECT_THAT(ErrorOfPickle(std::string("h\x05.", 3)), HasSubstr("a value that is not there"));
  EXPECT_THAT(ErrorOfPickle("cos\nsystem\n."), HasSubstr("names os.system"));
  EXPECT_THAT(ErrorOfPickle("cbuiltins\neval\n."), HasSubstr("names builtins.eval"));
  EXPECT_THAT(ErrorOfPickle("NN\x85R."), HasSubstr("calls what is no function"));
  EXPECT_THAT(ErrorOfPickle(std::string("B\xff\xff\xff\x7f.", 6)), HasSubstr("ends too early"));
  EXPECT_THAT(ErrorOfPickle("}N(Nst."), HasSubstr("a mark is too high"));
  EXPECT_THAT(ErrorOfPickle("ctorch._utils\n_rebuild_tensor_v2\n)R."),
              HasSubstr("unexpected arguments of a tensor"));
}

TEST(PickleTest, AValueInItselfAndDeepNestingAreHarmless) {
  PickleReader reader;
  const std::string cycle(
      "]q\x00h\x00"
      "a.",
      7);
  absl::string_view bytes = cycle;
  const auto value = reader.Read(bytes);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ((*value)->items[0], *value);
  const std::string deep = "]" + std::string(200000, '\x85') + ".";
  bytes = deep;
  EXPECT_TRUE(reader.Read(bytes).ok());
}

// A pickle of a few kilobytes that would take gigabytes.
TEST(PickleTest, CopiesAreBounded) {
  std::string bomb =
      "ccollections\nOrderedDict\nq\x01"
      "0(";
  for (int i = 0; i < 1000; ++i) {
    bomb += "N\x4e\x86";
  }
  bomb +=
      "l\x85q\x02"
      "0";
  for (int i = 0; i < 1000; ++i) {
    bomb += "h\x01h\x02R";
  }
  bomb += ".";
  EXPECT_THAT(ErrorOfPickle(bomb), HasSubstr("copies more than it holds"));
}

}  // namespace
}  // namespace concur::readers
