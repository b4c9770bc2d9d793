// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/commands.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/argv.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/studies/readers/training/small_data.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

// RaSoR reads words alone, so that no dictionary is needed.
class ReaderCommandsTest : public ::testing::Test {
 protected:
  ReaderCommandsTest() {
    WriteText(options_.train = directory_.File("train.jsonl"), SmallData(24));
    options_.approach = "rasor";
    options_.model = directory_.File("model");
    options_.word_dim = 6;
    options_.seed = 3;
    options_.assignments = {"hidden_dim=6", "ff_dims=6", "epochs=2", "batch=8"};
    options_.machine.device = "cpu";
  }

  PredictOptions Prediction() const {
    PredictOptions predict;
    predict.model = options_.model;
    predict.test = options_.train;
    predict.predictions = directory_.File("predictions.json");
    predict.machine.device = "cpu";
    return predict;
  }

  std::string Weights() const { return *ReadFile(options_.model + "/weights.safetensors"); }

  TempDir directory_;
  TrainOptions options_;
};

TEST_F(ReaderCommandsTest, TheSameSeedGivesTheSameBytes) {
  ASSERT_OK(TrainReader(options_));
  const std::string weights = Weights();
  const std::string metrics = *ReadFile(options_.model + "/training.jsonl");
  ASSERT_OK(TrainReader(options_));
  EXPECT_EQ(Weights(), weights);
  EXPECT_EQ(*ReadFile(options_.model + "/training.jsonl"), metrics);
  EXPECT_THAT(metrics, HasSubstr("validation_exact_match"));
  EXPECT_FALSE(ReadFile(options_.model + "/checkpoint.safetensors").ok());
  options_.seed = 4;
  ASSERT_OK(TrainReader(options_));
  EXPECT_NE(Weights(), weights);
}

// Learning curves are made of these lines; a terminal does not see them.
TEST_F(ReaderCommandsTest, AJobReportsEachEpoch) {
  ::testing::internal::CaptureStdout();
  ASSERT_OK(TrainReader(options_));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  setenv("CONCUR_JOB", "s1/0", 1);
  ::testing::internal::CaptureStdout();
  ASSERT_OK(TrainReader(options_));
  unsetenv("CONCUR_JOB");
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(out, HasSubstr("concur-metric {\"name\":\"loss\",\"step\":1,\"value\":"));
  EXPECT_THAT(out, HasSubstr("concur-metric {\"name\":\"validation_f1\",\"step\":2,\"value\":"));
}

// A reader of lower-case vectors gave most answers' words one id, and nobody was told.
TEST_F(ReaderCommandsTest, VectorsWithoutTheAnswersWordsAreRefused) {
  options_.vectors = directory_.File("vectors.txt");
  WriteText(options_.vectors, "went 1 2 3 4 5 6\n. 6 5 4 3 2 1\n");
  EXPECT_THAT(TrainReader(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("0.0 % of the answers' words have a vector, expected at "
                                       "least 60"),
                             HasSubstr("answer_vectors_min=0"))));
  options_.assignments.emplace_back("answer_vectors_min=0");
  EXPECT_OK(TrainReader(options_));
}

TEST_F(ReaderCommandsTest, EveryQuestionGetsAPieceOfItsPassage) {
  ASSERT_OK(TrainReader(options_));
  PredictOptions predict = Prediction();
  predict.test = directory_.File("test.jsonl");
  WriteText(predict.test,
            QuestionLine("known", "Ann went to the park .", "Where is Ann ?", "x", -1) +
                QuestionLine("empty", " ", "Where ?", "x", -1) +
                QuestionLine("mute", "Ann left .", " ", "x", -1) +
                QuestionLine("strange", "\u4e2d\u6587 \U0001F600 \u00e9", "\u00bf?", "x", -1));
  ASSERT_OK(PredictAnswers(predict));
  const auto answers = nlohmann::json::parse(*ReadFile(predict.predictions));
  EXPECT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers["empty"], "");
  EXPECT_THAT("Ann went to the park .", HasSubstr(answers["known"].get<std::string>()));
  EXPECT_THAT("Ann left .", HasSubstr(answers["mute"].get<std::string>()));
  EXPECT_NE(answers["strange"], "");
}

TEST_F(ReaderCommandsTest, ServingAnswersAsPredictingDoes) {
  ASSERT_OK(TrainReader(options_));
  ASSERT_OK(PredictAnswers(Prediction()));
  ServeOptions serve;
  serve.model = options_.model;
  serve.machine.device = "cpu";
  std::istringstream in(QuestionsToServe(24) + "x\n");
  std::ostringstream out;
  const auto loop = [&](qa::Answerer answer) { return qa::ServeAnswers(in, out, answer); };
  EXPECT_THAT(ServeReader(serve, loop),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("standard input:25: ")));
  const auto predicted = nlohmann::json::parse(*ReadFile(Prediction().predictions));
  EXPECT_EQ(nlohmann::json(AnswersServed(out.str())), predicted);
  serve.model = directory_.File("none");
  EXPECT_THAT(ServeReader(serve, loop),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("model.json")));
}

TEST_F(ReaderCommandsTest, WithoutVectorsRareWordsAreUnknownButMarkersAreNot) {
  WriteText(options_.train,
            SmallData(8) + QuestionLine("rare", "@entity7 saw Zoe .", "Who ?", "Zoe", 13));
  options_.assignments[2] = "epochs=1";
  ASSERT_OK(TrainReader(options_));
  const auto model = nlohmann::json::parse(*ReadFile(options_.model + "/model.json"));
  const auto words = model["words"].get<std::vector<std::string>>();
  EXPECT_THAT(words, AllOf(Contains("park"), Contains("@entity7"), Not(Contains("Zoe"))));
}

TEST_F(ReaderCommandsTest, DamagedModelsAreRefused) {
  ASSERT_OK(TrainReader(options_));
  const std::string weights_path = options_.model + "/weights.safetensors";
  const std::string json_path = options_.model + "/model.json";
  const std::string json = *ReadFile(json_path);
  std::string weights = Weights();
  weights[weights.size() / 2] ^= 1;
  WriteText(weights_path, weights);
  const absl::Status damaged = PredictAnswers(Prediction());
  EXPECT_THAT(damaged, StatusIs(absl::StatusCode::kDataLoss,
                                AllOf(HasSubstr(weights_path), HasSubstr("damaged"))));
  EXPECT_EQ(ExitCodeOf(damaged), 78);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {json.substr(0, json.size() / 2), "damaged"},
      {"[]", "damaged"},
      {"{}", "damaged"},
      {R"({"format": 9})", "format: expected 1"},
      {R"({"format": 1, "approach": "rasur"})", "unknown approach \"rasur\""},
  };
  for (const auto& [text, message] : cases) {
    WriteText(json_path, text);
    EXPECT_THAT(PredictAnswers(Prediction()).message(), AllOf(HasSubstr(message))) << text;
    EXPECT_EQ(ExitCodeOf(PredictAnswers(Prediction())), 78);
  }
}

TEST_F(ReaderCommandsTest, OptionsThatCannotWorkAreRefusedBeforeTheDataIsRead) {
  options_.train = directory_.File("absent");
  const auto expect = [&](const TrainOptions& options, const std::string& message) {
    const absl::Status status = TrainReader(options);
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_EQ(ExitCodeOf(status), 78) << message;
  };
  const auto with = [&](const std::string& assignment) {
    TrainOptions options = options_;
    options.assignments = {assignment};
    return options;
  };
  expect(options_, "absent");
  expect(with("batch=0"), "batch: expected a number from 1");
  expect(with("bach=1"), "did you mean \"batch\"");
  expect(with("optimizer=adamx"), "expected adam or adamax");
  expect(with("epochs=x"), "expected an integer");
  expect(with("epochs"), "expected name=value");
  TrainOptions options = options_;
  options.approach = "razor";
  expect(options, "did you mean \"rasor\"");
  options = options_;
  options.machine.threads = 0;
  expect(options, "--threads: expected 1");
  options = options_;
  options.machine.device = "gpu";
  expect(options, "--device: expected auto, cpu or cuda:N");
  options = options_;
  options.time_budget = "soon";
  expect(options, "--time-budget: expected a duration");
}

TEST_F(ReaderCommandsTest, OneThreadIsOneThread) {
  ASSERT_OK(TrainReader(options_));
  EXPECT_EQ(at::get_num_threads(), 1);
  using Getter = int (*)();
  const auto blas_threads =
      reinterpret_cast<Getter>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  if (blas_threads != nullptr) {
    EXPECT_EQ(blas_threads(), 1);
  }
}

// The command line of a training.
std::vector<std::string> TrainCommand(const TrainOptions& options, int threads) {
  const char* bin = std::getenv("CONCUR_BIN_DIR");  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> arguments = {absl::StrCat(bin == nullptr ? "." : bin, "/concur-reader"),
                                        "train",
                                        "--approach=" + options.approach,
                                        "--train=" + options.train,
                                        "--model=" + options.model,
                                        "--word-dim=6",
                                        absl::StrCat("--threads=", threads)};
  for (const std::string& assignment : options.assignments) {
    arguments.push_back("--setting=" + assignment);
  }
  return arguments;
}

// Processor seconds of a training with so many threads.
double ProcessorSeconds(const TrainOptions& options, int threads) {
  std::vector<std::string> arguments = TrainCommand(options, threads);
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("OMP_WAIT_POLICY");  // NOLINT(concurrency-mt-unsafe)
    execv(arguments[0].c_str(), ArgvOf(arguments).data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  CONCUR_CHECK(wait4(child, &status, 0, &usage) == child);
  EXPECT_EQ(status, 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Runs a training inside a job, and sends SIGTERM when it has printed `until`; its wait status.
int RunInJob(const TrainOptions& options, const std::string& checkpoint, const char* until) {
  std::vector<std::string> arguments = TrainCommand(options, 1);
  int ends[2];
  CONCUR_CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("CONCUR_CHECKPOINT", checkpoint.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    execv(arguments[0].c_str(), ArgvOf(arguments).data());
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  bool sent = false;
  char buffer[512];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<size_t>(size));
    if (until != nullptr && !sent && said.find(until) != std::string::npos) {
      sent = true;
      kill(child, SIGTERM);
    }
  }
  close(ends[0]);
  int status = 0;
  CONCUR_CHECK(waitpid(child, &status, 0) == child);
  return status;
}

TEST_F(ReaderCommandsTest, ATerminatedTrainingGoesOnInItsNextAttempt) {
  options_.assignments[2] = "epochs=60";
  const TempDir kept;
  ASSERT_EQ(RunInJob(options_, kept.path(), nullptr), 0);
  const std::string weights = Weights();
  EXPECT_TRUE(std::filesystem::is_empty(kept.path()));
  options_.model = directory_.File("terminated");
  const int ended = RunInJob(options_, kept.path(), "epoch 2/60");
  EXPECT_TRUE(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGTERM) << ended;
  EXPECT_TRUE(std::filesystem::is_empty(options_.model));
  EXPECT_FALSE(std::filesystem::is_empty(kept.path()));
  options_.model = directory_.File("again");
  ASSERT_EQ(RunInJob(options_, kept.path(), nullptr), 0);
  EXPECT_EQ(Weights(), weights);
  EXPECT_TRUE(std::filesystem::is_empty(kept.path()));
}

TEST_F(ReaderCommandsTest, ThreadsThatWaitTakeNoProcessor) {
  options_.assignments[2] = "epochs=6";
  const double one = ProcessorSeconds(options_, 1);
  EXPECT_LT(ProcessorSeconds(options_, 8), 3 * one + 1);
}

}  // namespace
}  // namespace concur::readers
