// SPDX-License-Identifier: Apache-2.0
// The comparison with originals: with their fixtures where there are any, and with fixtures made
// here, which it must find equal, and not equal once a value is changed.
#include "tests/studies/readers/check/check.h"

#include <sys/wait.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/machine.h"
#include "studies/readers/tensors.h"
#include "tests/studies/readers/networks.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

using State = std::map<std::string, torch::Tensor>;

std::string SourceDirectory() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return source == nullptr ? "." : source;
}

Comparisons Only(const CheckResult& result) { return {{result}, {}, {}}; }

TEST(OriginalsTest, EveryFixtureIsEqual) {
  const char* given = std::getenv("CONCUR_FIXTURES");  // NOLINT(concurrency-mt-unsafe)
  const std::string directory =
      given != nullptr ? given : SourceDirectory() + "/../shared/fixtures";
  if (!std::filesystem::exists(directory)) {
    GTEST_SKIP() << "no fixtures of the originals: " << directory
                 << " does not exist; CONCUR_FIXTURES names another folder";
  }
  SetThreads(1);
  const auto all = CheckDirectories({directory});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(all->ok()) << CheckText(*all);
  EXPECT_FALSE(all->networks.empty());
}

// The values of a state, as a safetensors file.
std::string FileOf(const State& state) {
  SafeTensors::Tensors stored;
  State kept;
  for (const auto& [name, tensor] : state) {
    const torch::Tensor copy = tensor.detach().contiguous();
    kept[name] = copy;
    stored[name] = {copy.scalar_type() == torch::kInt64  ? Type::kInt64
                    : copy.scalar_type() == torch::kBool ? Type::kBool
                                                         : Type::kFloat32,
                    copy.sizes().vec(),
                    absl::string_view(static_cast<const char*>(copy.data_ptr()), copy.nbytes())};
  }
  return WriteSafeTensors(stored, {});
}

void Write(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

// A fixture of DrQA whose original is the network here.
class OwnFixtureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Approach& approach = **FindApproach("drqa");
    const Options options = SmallOptions(approach);
    const std::shared_ptr<Reader> network = MakeNetwork(approach, options);
    network->to(torch::kFloat32);
    Batch batch = RandomBatch(options, {6, 4}, {4, 3});
    batch.passage_features = batch.passage_features.to(torch::kFloat32);
    network->eval();
    const Scores scores = network->Forward(batch);
    const Span best = network->Decode(scores, batch, {2, 1})[0][0];
    const Span other = network->Decode(scores, batch, {2, 1})[1][0];
    network->train();
    const Scores trained = network->Forward(batch);
    const torch::Tensor loss = network->Loss(trained, batch);
    loss.backward();
    for (const auto& [name, value] : StateOf(*network)) {
      weights_[name] = value.detach().clone();
      gradients_[name] = value.grad().clone();
    }
    io_ = {{"x1", batch.passage},
           {"x2", batch.question},
           {"x1_f", batch.passage_features},
           {"x1_mask", batch.passage_mask.logical_not()},
           {"x2_mask", batch.question_mask.logical_not()},
           {"target_start", batch.starts},
           {"target_end", batch.ends},
           {"eval.start_prob", torch::softmax(scores.starts, 1)},
           {"decode.top1.maxlen2.start", torch::tensor({{best.first}, {other.first}})},
           {"decode.top1.maxlen2.end", torch::tensor({{best.last}, {other.last}})},
           {"train.start_logprob", torch::log_softmax(trained.starts, 1)},
           {"train.loss", loss}};
    for (const auto& [name, value] : options.values()) {
      std::visit([&, key = name](const auto& plain) { config_[key] = plain; }, value);
    }
  }

  void WriteFixture(const std::string& folder) const {
    std::filesystem::create_directories(folder);
    Write(folder + "/config.json", config_.dump());
    Write(folder + "/weights.safetensors", FileOf(weights_));
    Write(folder + "/io.safetensors", FileOf(io_));
    Write(folder + "/grads.safetensors", FileOf(gradients_));
  }
  // A folder with a text, its vocabulary and its pieces, of which the program makes `id`.
  std::string WriteTexts(int id) const {
    const std::string folder = directory_.File("texts");
    std::filesystem::create_directories(folder);
    Write(folder + "/bert-cased-vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncats\n");
    Write(folder + "/bert-cased.jsonl",
          nlohmann::json({{"text", "cats"}, {"ids", {id}}}).dump() + "\n");
    return folder;
  }
  absl::StatusOr<CheckResult> Check() {
    WriteFixture(directory_.path());
    return CheckFixture(directory_.path());
  }
  std::string Error() { return std::string(Check().status().message()); }

  TempDir directory_;
  nlohmann::json config_;
  State weights_, io_, gradients_;
};

TEST_F(OwnFixtureTest, TheSameNetworkIsEqual) {
  const auto result = Check();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->approach, "drqa");
  EXPECT_TRUE(result->ok() && result->training_compared) << CheckText(Only(*result));
  const nlohmann::json json = nlohmann::json::parse(CheckJson(Only(*result)));
  EXPECT_EQ(json["fixtures"][0]["ok"], true);
  EXPECT_EQ(json["fixtures"][0]["spans_equal"], true);
  EXPECT_TRUE(json["fixtures"][0]["forward"].is_number());
}

TEST_F(OwnFixtureTest, AnyChangedValueIsFound) {
  io_["eval.start_prob"] = io_["eval.start_prob"] + 2e-5;
  EXPECT_GT(Check()->forward, kScoreTolerance);
  SetUp();
  io_["train.loss"] = io_["train.loss"] + 1e-4;
  EXPECT_GT(Check()->loss, kScoreTolerance);
  SetUp();
  gradients_["start_attn.linear.weight"] = gradients_["start_attn.linear.weight"] * 1.001;
  EXPECT_GT(Check()->gradients, kGradientTolerance);
  EXPECT_FALSE(Check()->ok());
  SetUp();
  io_["decode.top1.maxlen2.end"] = io_["decode.top1.maxlen2.end"] + 1;
  EXPECT_FALSE(Check()->spans_equal);
  SetUp();
  weights_["end_attn.linear.bias"] = weights_["end_attn.linear.bias"] + 0.1;
  weights_["self_attn.linear.weight"] = weights_["self_attn.linear.weight"] + 0.1;
  EXPECT_FALSE(Check()->ok());
}

TEST_F(OwnFixtureTest, OptionsCountAsTheConfigurationHasThem) {
  config_["rnn_padding"] = true;  // training leaves padding out, too
  EXPECT_GT(Check()->forward, kScoreTolerance);
}

// The fixture of DrQA was made with dropout on in its training pass, against what it says.
TEST_F(OwnFixtureTest, ATrainingPassWithDropoutIsNotComparedAndSaidSo) {
  io_["train.start_logprob"] = io_["train.start_logprob"] - 0.2;
  const auto result = Check();
  EXPECT_FALSE(result->training_compared);
  EXPECT_THAT(CheckText(Only(*result)), HasSubstr("loss and gradients are not compared"));
  EXPECT_TRUE(nlohmann::json::parse(CheckJson(Only(*result)))["fixtures"][0]["loss"].is_null());
}

TEST_F(OwnFixtureTest, DamagedFixturesAreRefusedWithThePlace) {
  config_["rnn_type"] = "sru";
  EXPECT_THAT(Error(), HasSubstr("config.json: expected lstm, gru or rnn, got \"sru\""));
  SetUp();
  config_["hidden_size"] = "wide";
  EXPECT_THAT(Error(), HasSubstr("hidden_size: expected an integer, got \"wide\""));
  SetUp();
  config_["hidden_size"] = 5;
  EXPECT_THAT(Error(), HasSubstr("has shape [12] instead of [20]"));
  SetUp();
  weights_.erase("self_attn.linear.bias");
  EXPECT_THAT(Error(), HasSubstr("self_attn.linear.bias is missing"));
  SetUp();
  io_["x1"] = io_["x1"] + 1000;
  EXPECT_THAT(Error(), HasSubstr("io.safetensors: index out of range"));
  SetUp();
  io_.erase("target_end");
  EXPECT_THAT(Error(), HasSubstr("expected passages, questions, masks and targets"));
  SetUp();
  weights_ = {{"unknown", torch::zeros({1})}};
  EXPECT_TRUE(absl::IsNotFound(Check().status()));
}

// Networks were dropped without a word when a folder of texts was named beside them.
TEST_F(OwnFixtureTest, NetworksAreComparedAlsoBesideAFolderOfTexts) {
  const std::string network = directory_.File("network");
  WriteFixture(network);
  const std::string texts = WriteTexts(5);
  for (const std::vector<std::string>& directories :
       {std::vector{network, texts}, std::vector{texts, network}, std::vector{directory_.path()}}) {
    const auto all = CheckDirectories(directories);
    ASSERT_TRUE(all.ok()) << all.status();
    ASSERT_EQ(all->networks.size(), 1u);
    ASSERT_EQ(all->texts.size(), 1u);
    EXPECT_TRUE(all->ok()) << CheckText(*all);
    EXPECT_THAT(CheckText(*all), AllOf(HasSubstr("network "), HasSubstr("texts/bert-cased.jsonl")));
  }
  WriteTexts(1);
  EXPECT_FALSE(CheckDirectories({network, texts})->ok());
  EXPECT_THAT(CheckDirectories({texts, directory_.File("none")}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none: No such file")));
}

TEST_F(OwnFixtureTest, AFixtureOfNoApproachIsLeftOutAndNamed) {
  WriteFixture(directory_.File("a"));
  std::filesystem::remove(directory_.File("a/grads.safetensors"));
  EXPECT_THAT(CheckDirectories({directory_.path()}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no fixture of an approach here")));
  WriteFixture(directory_.File("c"));
  weights_ = {{"unknown", torch::zeros({1})}};
  WriteFixture(directory_.File("b"));
  const auto all = CheckDirectories({directory_.path()});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->networks.size(), 1u);
  EXPECT_THAT(all->left_out, ElementsAre(HasSubstr("a/grads.safetensors"),
                                         HasSubstr("b: these are the weights of no approach")));
}

// The exit status and the standard output of a program.
std::pair<int, std::string> RunProgram(const std::string& command_line) {
  const char* bin = std::getenv("CONCUR_BIN_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string command = std::string(bin == nullptr ? "." : bin) + "/" + command_line;
  FILE* pipe = popen(command.c_str(), "r");
  CONCUR_CHECK(pipe != nullptr);
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    out.push_back(static_cast<char>(c));
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
}

TEST_F(OwnFixtureTest, TheProgramPrintsJsonAndItsExitCodeSaysWhetherAllIsEqual) {
  WriteFixture(directory_.File("network"));
  const std::string command =
      "concur-reader-check -o json " + directory_.File("network") + " " + WriteTexts(5);
  const auto [equal, out] = RunProgram(command);
  EXPECT_EQ(equal, 0);
  const nlohmann::json json = nlohmann::json::parse(out);
  EXPECT_EQ(json["fixtures"][0]["name"], "network");
  EXPECT_EQ(json["texts"][0]["compared"], 1);
  WriteTexts(1);
  EXPECT_EQ(RunProgram(command).first, 1);
  EXPECT_EQ(RunProgram("concur-reader-check " + directory_.File("none")).first, 78);
  EXPECT_EQ(RunProgram("concur-reader-check").first, 78);
}

TEST(RemovedCommandsTest, TheErrorNamesWhatTookTheirPlace) {
  EXPECT_THAT(RunProgram("concur-reader check DIR 2>&1"),
              Pair(78, HasSubstr("check was removed; concur-reader-check")));
  EXPECT_THAT(RunProgram("concur-reader pretrain --family bert 2>&1"),
              Pair(78, HasSubstr("pretrain was removed; `train --checkpoint`")));
}

TEST(StateTest, AStateIsTheSameAfterItWasSavedAndLoaded) {
  const Approach& approach = **FindApproach("rasor");  // has a buffer, too
  const std::shared_ptr<Reader> network = MakeNetwork(approach, SmallOptions(approach));
  const std::string file = SaveState(*network, {{"approach", "rasor"}});
  const std::shared_ptr<Reader> other = *approach.make(SmallOptions(approach));
  other->to(torch::kFloat64);
  const auto read = SafeTensors::Parse(file, "model");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->metadata().at("approach"), "rasor");
  ASSERT_TRUE(LoadState(*other, read->tensors(), "model").ok());
  EXPECT_EQ(SaveState(*other, {{"approach", "rasor"}}), file);
}

TEST(ApproachTest, NamesAreFoundAndNearOnesSuggested) {
  EXPECT_EQ((*FindApproach("qanet"))->name, "qanet");
  EXPECT_THAT(std::string(FindApproach("qanett").status().message()),
              HasSubstr("did you mean \"qanet\"?"));
}

}  // namespace
}  // namespace concur::readers
