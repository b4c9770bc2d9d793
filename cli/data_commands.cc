#include "cli/data_commands.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/data_set_commands.h"
#include "cli/records.h"
#include "qa/builders/builder.h"
#include "qa/builders/parameters.h"

namespace concur::cli {
namespace {

// --- concur data build, list ---

struct BuildOptions {
  qa::BuildRequest request;
  std::map<std::string, std::string> given;
};

// Adds what the declared options did not take, so that the builder names what is wrong with it.
absl::Status TakeExtras(const std::vector<std::string>& extras, BuildOptions& options) {
  for (const std::string& extra : extras) {
    if (absl::StartsWith(extra, "--")) {
      const size_t equals = extra.find('=');
      options.given[extra.substr(2, equals == std::string::npos ? equals : equals - 2)] = "";
      return absl::OkStatus();
    }
  }
  return extras.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(
                              absl::StrCat("data build: unexpected argument \"", extras[0], "\""));
}

absl::Status RunBuild(BuildOptions& options, CommandContext& context) {
  qa::BuildRequest& request = options.request;
  request.parameters = options.given;
  int64_t shown = -1;
  if (context.err_is_terminal) {
    request.progress = [&](int64_t done, int64_t total) {
      const int64_t percent = total == 0 ? 100 : done * 100 / total;
      if (percent != shown) {
        shown = percent;
        context.err << "\rbuilding " << request.builder << ": " << percent << " % (" << done
                    << " of " << total << " questions)" << std::flush;
      }
    };
  }
  absl::StatusOr<qa::BuildResult> built = qa::Build(request);
  if (shown >= 0) {
    context.err << "\r\033[K" << std::flush;
  }
  CONCUR_RETURN_IF_ERROR(built.status());
  Records records{{{"split"},
                   {"path"},
                   {"passages", true},
                   {"questions", true},
                   {"builder"},
                   {"version"},
                   {"seed", true},
                   {"sha256"}},
                  {}};
  for (const auto& [name, file] :
       {std::make_pair("train", built->train), std::make_pair("test", built->test)}) {
    records.rows.push_back({name, file.path, absl::StrCat(file.passages),
                            absl::StrCat(file.questions), request.builder, built->version,
                            absl::StrCat(request.seed), file.sha256});
  }
  Print(records, context);
  return absl::OkStatus();
}

// The parameters of all builders, each with the builders that have it.
std::map<std::string, std::vector<std::string>> BuildersByParameter() {
  std::map<std::string, std::vector<std::string>> result;
  for (const qa::BuilderInfo& builder : qa::Builders()) {
    for (const qa::ParameterInfo& parameter : builder.parameters) {
      result[parameter.name].push_back(builder.name);
    }
  }
  return result;
}

void AddBuild(CLI::App& data, CommandContext& context) {
  CLI::App* const command = data.add_subcommand(
      "build", "write DIR/train.jsonl and DIR/test.jsonl of a benchmark, from a seed");
  const auto options = std::make_shared<BuildOptions>();
  command->add_option("name", options->request.builder, "the builder; see concur data list")
      ->required();
  command->add_option("--out", options->request.directory, "directory to write to")->required();
  command->add_option("--seed", options->request.seed, "fixes every random choice")
      ->capture_default_str();
  command->add_flag("--gzip", options->request.gzip, "write .jsonl.gz");
  for (const auto& [name, builders] : BuildersByParameter()) {
    command
        ->add_option_function<std::string>(
            "--" + name,
            [options, key = name](const std::string& value) { options->given[key] = value; },
            absl::StrCat("parameter of ", absl::StrJoin(builders, ", ")))
        ->group("Parameters (defaults: concur data list NAME)");
  }
  command->allow_extras();
  OnRun(command, context, [options, command, &context] {
    CONCUR_RETURN_IF_ERROR(TakeExtras(command->remaining(), *options));
    return RunBuild(*options, context);
  });
}

absl::Status RunList(const std::string& name, CommandContext& context) {
  if (name.empty()) {
    Records records{{{"builder"}, {"version"}, {"makes"}}, {}};
    for (const qa::BuilderInfo& builder : qa::Builders()) {
      records.rows.push_back({builder.name, builder.version, builder.summary});
    }
    Print(records, context);
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const qa::BuilderInfo* const builder, qa::FindBuilder(name));
  Records records{{{"parameter"}, {"default"}, {"meaning"}}, {}};
  for (const qa::ParameterInfo& parameter : builder->parameters) {
    std::string meaning = parameter.help;
    if (!parameter.choices.empty()) {
      absl::StrAppend(&meaning, " (", absl::StrJoin(parameter.choices, ", "), ")");
    }
    records.rows.push_back({"--" + parameter.name, parameter.default_value, meaning});
  }
  Print(records, context);
  return absl::OkStatus();
}

void AddList(CLI::App& data, CommandContext& context) {
  CLI::App* const command =
      data.add_subcommand("list", "the builders, or the parameters of one of them");
  const auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "a builder");
  OnRun(command, context, [name, &context] { return RunList(*name, context); });
}

}  // namespace

void AddDataCommands(CLI::App& app, CommandContext& context) {
  CLI::App* const data = app.add_subcommand("data", "build, derive and check data sets");
  data->require_subcommand(1);
  AddBuild(*data, context);
  AddList(*data, context);
  AddDataSetCommands(*data, context);
}

}  // namespace concur::cli
