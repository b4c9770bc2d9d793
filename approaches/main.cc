// concur-qa: the native approaches as commands, in the form that approach files call.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "approaches/commands.h"
#include "base/usage.h"

namespace concur::approaches {
namespace {

constexpr int kExitConfiguration = 78;

int Run(int argc, char** argv) {
  CLI::App app("Native question-answering approaches: train a model, predict answers.",
               "concur-qa");
  app.require_subcommand(1);

  TrainOptions train;
  CLI::App* train_command = app.add_subcommand("train", "Train an approach, write a model file");
  train_command->add_option("--approach", train.approach, "Name; see `concur-qa list`")->required();
  train_command->add_option("--train", train.train, "Data set: SQuAD v1.1 JSON or MRQA lines")
      ->required();
  train_command->add_option("--model", train.model, "Model file to write")->required();
  train_command->add_option("--seed", train.seed, "Fixes the model bit for bit")
      ->default_val(uint64_t{0});
  train_command->add_option("--set", train.assignments, "A hyperparameter: name=value")
      ->allow_extra_args(false);

  PredictOptions predict;
  CLI::App* predict_command = app.add_subcommand("predict", "Answer the questions of a data set");
  predict_command->add_option("--model", predict.model, "Model file")->required();
  predict_command->add_option("--data", predict.data, "Data set")->required();
  predict_command->add_option("--predictions", predict.predictions, "Answers to write")->required();

  CLI::App* list_command = app.add_subcommand("list", "Show approaches and hyperparameters");

  NameUsageErrors(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitConfiguration;
  }
  if (list_command->parsed()) {
    std::fputs(ListApproaches().c_str(), stdout);
    return 0;
  }
  const absl::Status status = train_command->parsed() ? Train(train) : Predict(predict);
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
