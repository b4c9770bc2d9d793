// SPDX-License-Identifier: Apache-2.0
// concur-reader: neural readers that train and predict.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/command/command.h"
#include "qa/http/question_server.h"
#include "studies/readers/commands.h"
#include "studies/readers/files/convert.h"
#include "studies/readers/fine_tuning/commands.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/machine.h"
#include "studies/readers/training/checkpoint.h"
#include "studies/readers/training/commands.h"

namespace concur::readers {
namespace {

constexpr int kExitConfiguration = 78;
constexpr char kDeviceHelp[] = "auto, cpu or cuda:N";

// The exit code of a command that ended with `status`, whose message is printed.
int Ended(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "concur-reader: %s\n", std::string(status.message()).c_str());
  }
  if (absl::IsCancelled(status)) {
    EndBySigterm();  // by which trainings are cancelled
  }
  return ExitCodeOf(status);
}

// OpenMP's threads, when there are several, wait for work without a processor. OpenMP reads that
// from the environment while the program is loaded, so that it is loaded again.
void WaitPassively(int64_t threads, char** argv) {
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread yet.
  if (threads > 1 && std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
  }
  // NOLINTEND(concurrency-mt-unsafe)
}

void AddMachine(Command* command, Machine& machine) {
  command->AddOption("--device", machine.device, kDeviceHelp)->ShowDefault();
  command->AddOption("--threads", machine.threads, "One is fastest for recurrent networks")
      ->ShowDefault();
}

void AddTrain(Command* command, TrainOptions& train) {
  command->AddOption("--approach", train.approach, "Name; see `concur-reader list`")->Required();
  command->AddOption("--train", train.train, "Data set: SQuAD v1.1 JSON or MRQA lines")
      ->TypeName("FILE")
      ->Required();
  command->AddOption("--dev", train.dev, "Data that choose the epoch, not a tenth of train")
      ->TypeName("FILE")
      ->ShowDefault();
  command->AddOption("--model", train.model, "Model to write")->TypeName("DIR")->Required();
  command->AddOption("--checkpoint", train.checkpoint, "Pretrained encoder to start from")
      ->TypeName("DIR");
  command->AddOption("--tokenizer", train.tokenizer, "Its tokenizer, where it lies elsewhere")
      ->TypeName("DIR");
  command->AddOption("--vectors", train.vectors, "Word vectors in the text form of GloVe, word2vec")
      ->TypeName("FILE")
      ->ShowDefault();
  command->AddOption("--word-dim", train.word_dim, "Width of random word vectors")
      ->DefaultText("the authors'");
  command->AddOption("--seed", train.seed, "Fixes the model bit for bit")->ShowDefault();
  command->AddOption("--setting", train.assignments, "name=value; see `concur-reader list`")
      ->OneValueEach();
  command->AddOption("--time-budget", train.time_budget, "Processor time of training: 90s, 30m")
      ->ShowDefault();
  AddMachine(command, train.machine);
}

void AddPredict(Command* command, PredictOptions& predict) {
  command->AddOption("--model", predict.model, "Model")->TypeName("DIR")->Required();
  command->AddOption("--test", predict.test, "Data set")->TypeName("FILE")->Required();
  command->AddOption("--predictions", predict.predictions, "Answers to write")
      ->TypeName("FILE")
      ->Required();
  command->AddOption("--best", predict.best, "The best answers of a pretrained reader, to write")
      ->TypeName("FILE");
  command
      ->AddOption("--vectors", predict.vectors, "Those of training, for words that it has not seen")
      ->TypeName("FILE")
      ->ShowDefault();
  AddMachine(command, predict.machine);
}

// Arguments of `tokenize`.
struct TokenizeArguments {
  TokenizeOptions options;
  std::string file;
  std::string implementation = "python";
  std::string input = "text";
};

void AddTokenize(Command* command, TokenizeArguments& tokenize) {
  command->AddOption("--checkpoint", tokenize.options.checkpoint, "Folder with the tokenizer")
      ->TypeName("DIR")
      ->Required();
  command->AddOption("FILE", tokenize.file, "Lines; standard input without");
  command
      ->AddOption("--implementation", tokenize.implementation,
                  "Whose of the original library: python, rust")
      ->OneOf({"python", "rust"})
      ->ShowDefault();
  command->AddOption("--input", tokenize.input, "What a line is: text, or its JSON string")
      ->OneOf({"text", "json"})
      ->ShowDefault();
  command->AddFlag("--word", tokenize.options.word, "Each line is a word that follows a space");
  command
      ->AddOption("--setting", tokenize.options.assignments,
                  "name=true or false, as in tokenizer_config.json: do_lower_case, …")
      ->OneValueEach();
}

int Tokenize(TokenizeArguments arguments) {
  arguments.options.implementation =
      arguments.implementation == "rust" ? Implementation::kRust : Implementation::kPython;
  arguments.options.json = arguments.input == "json";
  std::ios::sync_with_stdio(false);
  if (arguments.file.empty()) {
    return Ended(TokenizeLines(arguments.options, std::cin, std::cout));
  }
  std::ifstream in(arguments.file, std::ios::binary);
  return Ended(in ? TokenizeLines(arguments.options, in, std::cout)
                  : absl::NotFoundError(arguments.file + ": cannot be read"));
}

// Commands of earlier releases, with what became of them; nullptr for others.
const char* Removed(absl::string_view command) {
  return command == "check"      ? "concur-reader-check, which is built with the tests, compares"
         : command == "pretrain" ? "`train --checkpoint` starts from a published checkpoint"
                                 : nullptr;
}

int Run(int argc, char** argv) {
  if (const char* instead = argc > 1 ? Removed(argv[1]) : nullptr) {
    std::fprintf(stderr, "concur-reader: %s was removed; %s\n", argv[1], instead);
    return kExitConfiguration;
  }
  Command app("Neural readers: train one, predict answers.", "concur-reader");
  app.AddVersion();
  app.RequireSubcommand();
  Command* list = app.AddSubcommand("list", "Show approaches, their options and what they read");
  TrainOptions train;
  Command* train_command = app.AddSubcommand("train", "Train an approach, write a model");
  AddTrain(train_command, train);
  PredictOptions predict;
  AddPredict(app.AddSubcommand("predict", "Answer the questions of a data set"), predict);
  ServeOptions serve;
  Command* serve_command = app.AddSubcommand(
      "serve", "Answer questions one by one: JSON lines on standard input and output");
  serve_command->AddOption("--model", serve.model, "Model")->TypeName("DIR")->Required();
  std::optional<int64_t> port;
  serve_command->AddOption("--http", port, "Over HTTP on this port of 127.0.0.1 instead")
      ->TypeName("PORT");
  AddMachine(serve_command, serve.machine);
  TokenizeArguments tokenize;
  Command* tokenize_command = app.AddSubcommand(
      "tokenize", "Cut lines of text into the pieces that a pretrained encoder reads");
  AddTokenize(tokenize_command, tokenize);
  std::string inspected;
  Command* inspect = app.AddSubcommand("inspect", "Show the tensors of a model or weights file");
  inspect->AddOption("PATH", inspected, "A safetensors file, or a folder with weights.safetensors")
      ->Required();
  std::string original;
  std::string converted;
  Command* convert = app.AddSubcommand(
      "convert", "Convert a model of DrQA (.mdl), AllenNLP (.tar.gz) or torch (.pt, .th)");
  convert->AddOption("FILE", original, "The model; nothing in it is executed")->Required();
  convert->AddOption("--out", converted, "Folder to write: weights.safetensors, config.json, words")
      ->TypeName("DIR")
      ->Required();

  if (const std::optional<int> exit_status = app.Parse(argc, argv, kExitConfiguration)) {
    return *exit_status;
  }
  if (list->Parsed()) {
    std::fputs(ListApproaches().c_str(), stdout);
    return 0;
  }
  if (tokenize_command->Parsed()) {
    return Tokenize(tokenize);
  }
  if (inspect->Parsed()) {
    const absl::StatusOr<std::string> text = InspectWeights(inspected);
    std::fputs(text.ok() ? text->c_str() : "", stdout);
    return Ended(text.status());
  }
  if (convert->Parsed()) {
    return Ended(ConvertModel(original, converted));
  }
  const bool trains = train_command->Parsed();
  const bool serves = serve_command->Parsed();
  WaitPassively((trains ? train.machine : serves ? serve.machine : predict.machine).threads, argv);
  if (trains) {
    return Ended(FindPretrained(train.approach) != nullptr ? FineTuneReader(train)
                                                           : TrainReader(train));
  }
  if (serves) {
    const auto loop = [&](qa::Answerer answer) {
      return port ? qa::ServeOverHttp(*port, answer)
                  : qa::ServeAnswers(std::cin, std::cout, answer);
    };
    return Ended(IsPretrainedModel(serve.model) ? ServeWithPretrained(serve, loop)
                                                : ServeReader(serve, loop));
  }
  return Ended(IsPretrainedModel(predict.model) ? PredictWithPretrained(predict)
                                                : PredictAnswers(predict));
}

}  // namespace
}  // namespace concur::readers

int main(int argc, char** argv) {
  try {
    return concur::readers::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("concur-reader: out of memory\n", stderr);
    return 75;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "concur-reader: %s\n", error.what());
    return 1;
  }
}
