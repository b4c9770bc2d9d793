// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/app/context.h"
#include "cli/commands/commands.h"
#include "cli/data/input_option.h"
#include "cli/output/print.h"
#include "cli/output/table_output.h"
#include "qa/builders/derive.h"
#include "qa/builders/inspect.h"
#include "qa/builders/mixture.h"
#include "report/table.h"

namespace concur::cli {
namespace {

using analysis::IntegerCell;
using analysis::NumberCell;
using analysis::TextCell;

// --- concur data mixture ---

struct MixtureOptions {
  std::vector<std::string> parts;
  std::string out;
  uint64_t seed = 1;
};

// NAME=PATH or NAME=PATH:MAX.
absl::StatusOr<qa::MixturePart> ParsePart(const std::string& text) {
  qa::MixturePart part;
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--part: expected NAME=PATH or NAME=PATH:MAX, got \"", text, "\""));
  }
  part.name = text.substr(0, equals);
  part.path = text.substr(equals + 1);
  const size_t colon = part.path.rfind(':');
  if (colon != std::string::npos &&
      absl::SimpleAtoi(part.path.substr(colon + 1), &part.examples_max)) {
    part.path.resize(colon);
  }
  return part;
}

void AddMixture(Command& data, CommandContext& context) {
  Command* const command =
      data.AddSubcommand("mixture", "one data set from several, each with a cap on questions");
  const auto options = std::make_shared<MixtureOptions>();
  command->AddOption("--part", options->parts, "NAME=PATH or NAME=PATH:MAX; repeat it")->Required();
  command->AddOption("--out", options->out, "file to write; gzipped when it ends in .gz")
      ->Required();
  command->AddOption("--seed", options->seed, "fixes samples and order")->ShowDefault();
  command->Footer(
      "Examples:\n  concur data mixture --part a=a.jsonl:1000 --part b=b.jsonl --out mixed.jsonl");
  OnRun(command, context, [options]() -> absl::Status {
    std::vector<qa::MixturePart> parts;
    for (const std::string& text : options->parts) {
      CONCUR_ASSIGN_OR_RETURN(qa::MixturePart part, ParsePart(text));
      parts.push_back(std::move(part));
    }
    return qa::BuildMixture(parts, options->seed, options->out);
  });
}

// --- concur data downsample, split ---

analysis::Table FileTable(const std::vector<qa::DerivedFile>& files) {
  analysis::Table table = ListTable({{"path"}, {"passages", true}, {"questions", true}});
  for (const qa::DerivedFile& file : files) {
    table.rows.push_back(
        {TextCell(file.path), IntegerCell(file.passages), IntegerCell(file.questions)});
  }
  return table;
}

struct DeriveOptions {
  std::string in;
  std::string out;
  int64_t questions = 0;
  std::string by = "title";
  double test_share = 0.1;
  uint64_t seed = 1;
  std::vector<std::string> passages_of;
};

void AddDownsample(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "downsample", "a random subset of questions; larger ones hold smaller ones of the same seed");
  const auto options = std::make_shared<DeriveOptions>();
  AddInput(*command, options->in);
  command->AddOption("--questions", options->questions, "how many to keep")->Required();
  command->AddOption("--out", options->out, "file to write; gzipped when it ends in .gz")
      ->Required();
  command->AddOption("--seed", options->seed, "fixes the subset")->ShowDefault();
  command
      ->AddOption("--passages-of", options->passages_of,
                  "only questions of passages that this data set has, too; may be repeated")
      ->TypeName("FILE")
      ->OneValueEach();
  command->Footer(
      "Examples:\n  concur data downsample train.jsonl --questions 1000 --out small.jsonl\n  "
      "concur data downsample train.json --questions 1000 --seed 2 --out small.json");
  OnRun(command, context, [options, &context]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const qa::DerivedFile file,
                            qa::Downsample(options->in, options->questions, options->seed,
                                           options->out, options->passages_of));
    PrintRows(FileTable({file}), context);
    return absl::OkStatus();
  });
}

void AddMajority(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "majority", "one gold answer for each question: the one that most of its answers equal");
  const auto options = std::make_shared<DeriveOptions>();
  AddInput(*command, options->in);
  command->AddOption("--out", options->out, "file to write; gzipped when it ends in .gz")
      ->Required();
  command->Footer("Examples:\n  concur data majority dev.json --out dev-one-answer.jsonl");
  OnRun(command, context, [options, &context]() -> absl::Status {
    CONCUR_ASSIGN_OR_RETURN(const qa::DerivedFile file,
                            qa::KeepMajorityAnswers(options->in, options->out));
    PrintRows(FileTable({file}), context);
    return absl::OkStatus();
  });
}

void AddSplit(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "split", "DIR/train.jsonl and DIR/test.jsonl that share no document or no context");
  const auto options = std::make_shared<DeriveOptions>();
  AddInput(*command, options->in);
  command->AddOption("--out", options->out, "directory to write to")->Required();
  command->AddOption("--by", options->by, "what stays whole: title (a document) or context")
      ->ShowDefault();
  command->AddOption("--test-share", options->test_share, "share of questions in the test set")
      ->ShowDefault();
  command->AddOption("--seed", options->seed, "fixes the split")->ShowDefault();
  command->Footer(
      "Examples:\n  concur data split all.jsonl --by context --test-share 0.2 --out parts");
  OnRun(command, context, [options, &context]() -> absl::Status {
    if (options->by != "title" && options->by != "context") {
      return absl::InvalidArgumentError(
          absl::StrCat("--by: ", ExpectedOneOf({"title", "context"}, options->by)));
    }
    CONCUR_ASSIGN_OR_RETURN(
        const qa::SplitResult result,
        qa::SplitDataset(options->in,
                         options->by == "title" ? qa::SplitBy::kTitle : qa::SplitBy::kContext,
                         options->test_share, options->seed, options->out));
    PrintRows(FileTable({result.train, result.test}), context);
    return absl::OkStatus();
  });
}

// --- concur data stats, validate ---

void AddStats(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "stats",
      "counts, mean lengths in tokens, and how many words in a row question and passage "
      "share (means over questions)");
  const auto files = std::make_shared<std::vector<std::string>>();
  AddInput(*command, *files);
  command->Footer("Examples:\n  concur data stats data/*/train.jsonl");
  OnRun(command, context, [files, &context]() -> absl::Status {
    analysis::Table table = ListTable({{"file"},
                                       {"passages", true},
                                       {"questions", true},
                                       {"answers", true},
                                       {"with_spans", true},
                                       {"question_tokens", true, 1},
                                       {"context_tokens", true, 1},
                                       {"answer_tokens", true, 1},
                                       {"overlap", true, 1}});
    for (const std::string& file : *files) {
      CONCUR_ASSIGN_OR_RETURN(const qa::DatasetStats stats, qa::ComputeStats(file));
      table.rows.push_back(
          {TextCell(file), IntegerCell(stats.passages), IntegerCell(stats.questions),
           IntegerCell(stats.answers), IntegerCell(stats.questions_with_spans),
           NumberCell(stats.question_tokens_mean), NumberCell(stats.context_tokens_mean),
           NumberCell(stats.answer_tokens_mean), NumberCell(stats.overlap_mean)});
    }
    PrintRows(table, context);
    return absl::OkStatus();
  });
}

struct ValidateOptions {
  std::vector<std::string> files;
  int64_t problems_max = 100;
};

absl::Status RunValidate(const ValidateOptions& options, CommandContext& context) {
  analysis::Table table = ListTable({{"file"}, {"place"}, {"id"}, {"problem"}});
  std::vector<std::string> counts;
  for (const std::string& file : options.files) {
    CONCUR_ASSIGN_OR_RETURN(const qa::Validation found,
                            qa::ValidateDataset(file, options.problems_max));
    for (const qa::Problem& problem : found.problems) {
      table.rows.push_back(TextCells({file, problem.place, problem.id, problem.what}));
    }
    if (found.problem_count > 0) {
      counts.push_back(absl::StrCat(file, ": ", found.problem_count,
                                    found.problem_count == 1 ? " problem in " : " problems in ",
                                    found.questions,
                                    found.questions == 1 ? " question" : " questions"));
    } else if (context.output == OutputMode::kTable) {
      context.err << file << ": no problem in " << found.passages << " passages, "
                  << found.questions << " questions\n";
    }
  }
  if (!table.rows.empty() || context.output != OutputMode::kTable) {
    PrintRows(table, context);
  }
  return counts.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(absl::StrJoin(counts, "; "));
}

void AddValidate(Command& data, CommandContext& context) {
  Command* const command = data.AddSubcommand(
      "validate", "misaligned spans, repeated ids, empty answers and more, with their places");
  const auto options = std::make_shared<ValidateOptions>();
  AddInput(*command, options->files);
  command->AddOption("--problems-max", options->problems_max, "problems to list for each file")
      ->NotNegative()
      ->ShowDefault();
  command->Footer("Examples:\n  concur data validate dev.json train.jsonl.gz");
  OnRun(command, context, [options, &context] { return RunValidate(*options, context); });
}

}  // namespace

void AddDataSetCommands(Command& data, CommandContext& context) {
  AddMixture(data, context);
  AddDownsample(data, context);
  AddSplit(data, context);
  AddMajority(data, context);
  AddStats(data, context);
  AddValidate(data, context);
  AddExportCommand(data, context);
}

}  // namespace concur::cli
