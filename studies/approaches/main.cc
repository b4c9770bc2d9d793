// SPDX-License-Identifier: Apache-2.0
// concur-qa: the native approaches as commands, for the command lines of approach files.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/command/command.h"
#include "qa/http/question_server.h"
#include "studies/approaches/commands.h"

namespace concur::approaches {
namespace {

constexpr int kExitConfiguration = 78;

int Run(int argc, char** argv) {
  Command app("Native question-answering approaches: train a model, predict answers.", "concur-qa");
  app.AddVersion();
  app.RequireSubcommand();

  TrainOptions train;
  Command* train_command = app.AddSubcommand("train", "Train an approach, write a model file");
  train_command->AddOption("--approach", train.approach, "Name; see `concur-qa list`")->Required();
  train_command->AddOption("--train", train.train, "Data set: SQuAD v1.1 JSON or MRQA lines")
      ->Required();
  train_command->AddOption("--model", train.model, "Model file to write")->Required();
  train_command->AddOption("--seed", train.seed, "Fixes the model bit for bit")->ShowDefault();
  train_command->AddOption("--set", train.assignments, "A hyperparameter: name=value")
      ->OneValueEach();

  PredictOptions predict;
  Command* predict_command = app.AddSubcommand("predict", "Answer the questions of a data set");
  predict_command->AddOption("--model", predict.model, "Model file");
  predict_command
      ->AddOption("--url", predict.url, "Instead of a model: a reader that `serve --http` runs")
      ->TypeName("URL");
  predict_command->AddOption("--data", predict.data, "Data set")->Required();
  predict_command->AddOption("--predictions", predict.predictions, "Answers to write")->Required();

  std::string serve_model;
  Command* serve_command = app.AddSubcommand(
      "serve", "Answer questions one by one: JSON lines on standard input and output");
  serve_command->AddOption("--model", serve_model, "Model file")->Required();
  std::optional<int64_t> port;
  serve_command->AddOption("--http", port, "Over HTTP on this port of 127.0.0.1 instead")
      ->TypeName("PORT");

  Command* list_command = app.AddSubcommand("list", "Show approaches and hyperparameters");

  if (const std::optional<int> exit_status = app.Parse(argc, argv, kExitConfiguration)) {
    return *exit_status;
  }
  if (list_command->Parsed()) {
    std::fputs(ListApproaches().c_str(), stdout);
    return 0;
  }
  const auto loop = [&](qa::Answerer answer) {
    return port ? qa::ServeOverHttp(*port, answer) : qa::ServeAnswers(std::cin, std::cout, answer);
  };
  const absl::Status status = train_command->Parsed()   ? Train(train)
                              : serve_command->Parsed() ? Serve(serve_model, loop)
                                                        : Predict(predict);
  if (!status.ok()) {
    std::fprintf(stderr, "concur-qa: %s\n", std::string(status.message()).c_str());
  }
  return ExitCodeOf(status);
}

}  // namespace
}  // namespace concur::approaches

int main(int argc, char** argv) {
  try {
    return concur::approaches::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("concur-qa: out of memory\n", stderr);
    return 75;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "concur-qa: %s\n", error.what());
    return 1;
  }
}
