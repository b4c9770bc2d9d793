// SPDX-License-Identifier: Apache-2.0
// `concur sweep submit-predictions`: systems that others ran, scored by the workers.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/sweep/follow_sweep.h"
#include "cli/sweep/given_predictions.h"
#include "cli/sweep/made_files.h"
#include "cli/sweep/submit.h"
#include "cli/sweep/temporary_directory.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/expansion.h"
#include "core/sweep/sweep.h"
#include "yaml/loaded_sweep.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

struct SubmitPredictionsFlags {
  std::string predictions;
  std::string system;
  std::vector<std::string> benchmarks;
  std::string beside;
  std::vector<std::string> variables;
  std::string name;
  std::vector<std::string> tags;
  bool allow_missing = false;
  bool allow_unknown = false;
  bool wait = false;
  bool dry_run = false;
  std::string request_id;
};

absl::StatusOr<GivenRules> RulesOf(const SubmitPredictionsFlags& flags) {
  GivenRules rules;
  rules.allow_missing = flags.allow_missing;
  rules.allow_unknown = flags.allow_unknown;
  for (const std::string& tag : flags.tags) {
    const size_t equals = tag.find('=');
    const std::string name = tag.substr(0, equals);
    const absl::Status valid = ValidateName(name);
    if (!valid.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--tag: ", valid.message()));
    }
    if (!rules.tags.emplace(name, equals == tag.npos ? "yes" : tag.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--tag: expected each tag once, got \"", name, "\" again"));
    }
  }
  return rules;
}

// The benchmarks, and with --beside the approaches, that the systems are added to.
absl::StatusOr<spec::LoadedSweep> LoadBase(CommandContext& context,
                                           const SubmitPredictionsFlags& flags, MadeFiles* made) {
  if (flags.beside.empty() == flags.benchmarks.empty()) {
    return absl::InvalidArgumentError(
        "expected --benchmark FILE, the test set that was answered, or --beside SWEEP.yaml, the "
        "sweep whose test sets were");
  }
  if (flags.beside.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const auto variables, ParseVariables(flags.variables));
    return LoadGivenBenchmarks(flags.benchmarks, variables);
  }
  SubmitFlags submit;
  submit.file = flags.beside;
  submit.variables = flags.variables;
  CONCUR_ASSIGN_OR_RETURN(spec::LoadedSweep loaded, LoadForSubmission(context, submit, made));
  for (const BenchmarkSpec& benchmark : loaded.spec.benchmarks) {
    if (benchmark.validation_of) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.beside,
                       ": expected benchmarks without validation sets, since predictions are "
                       "of test sets only, got ",
                       benchmark.name, "; submit the predictions with --benchmark"));
    }
  }
  return loaded;
}

absl::Status SubmitPredictions(CommandContext& context, const SubmitPredictionsFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const GivenRules rules, RulesOf(flags));
  MadeFiles made;
  CONCUR_ASSIGN_OR_RETURN(spec::LoadedSweep loaded, LoadBase(context, flags, &made));
  CONCUR_ASSIGN_OR_RETURN(
      const std::vector<GivenSystem> systems,
      FindGivenSystems(flags.predictions, flags.system, loaded.spec.benchmarks));
  CONCUR_ASSIGN_OR_RETURN(const TemporaryDirectory links, AddGivenSystems(systems, rules, &loaded));
  if (!flags.name.empty()) {
    loaded.spec.name = flags.name;
  } else if (loaded.spec.name.empty()) {
    loaded.spec.name = systems.size() == 1 ? systems[0].name : "predictions";
  }
  const absl::StatusOr<Expansion> expansion = Expansion::Make(loaded.spec);
  CONCUR_RETURN_IF_ERROR(spec::WithPlace(loaded, expansion.status()));
  CONCUR_RETURN_IF_ERROR(CheckAllAreScored(systems, *expansion));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::CreateSweepResponse response,
                          SubmitLoaded(context, *client, loaded, flags.request_id, flags.dry_run));
  if (flags.dry_run || !flags.wait) {
    PrintSweep(context, response.sweep(), {response.warnings().begin(), response.warnings().end()});
    return absl::OkStatus();
  }
  PrintNote(context, SubmittedText(response.sweep()));
  WatchOptions options;
  options.quiet = true;
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, *client, response.sweep().id(), options));
  PrintSweep(context, sweep);
  ReportEnd(context, sweep);
  return absl::OkStatus();
}

}  // namespace

void AddSubmitPredictionsCommand(Command& sweep, CommandContext& context) {
  Command* const command = sweep.AddSubcommand(
      "submit-predictions", "Submit predictions of systems that others ran, to be scored");
  const auto flags = std::make_shared<SubmitPredictionsFlags>();
  command
      ->AddOption("predictions", flags->predictions,
                  "{\"id\": \"answer\"} of one system, or a folder (below)")
      ->TypeName("PATH")
      ->Required();
  command->AddOption("--system", flags->system, "Name of the system, where it is one")
      ->TypeName("NAME");
  command
      ->AddOption("--benchmark", flags->benchmarks,
                  "A benchmark file (kind: Benchmark) whose test set was answered; may be repeated")
      ->TypeName("FILE")
      ->OneValueEach();
  command
      ->AddOption("--beside", flags->beside,
                  "Instead: a sweep file, whose approaches stand beside the systems; what of it is "
                  "finished does not run again")
      ->TypeName("FILE");
  command->AddOption("--var", flags->variables, "Sets a variable of these files")
      ->TypeName("NAME=VALUE")
      ->OneValueEach();
  command->AddOption(
      "--name", flags->name,
      "The sweep's name (default: the system's, that of --beside, or \"predictions\")");
  command->AddOption("--tag", flags->tags, "Tag of the systems, such as year=2019; may be repeated")
      ->TypeName("NAME[=VALUE]")
      ->OneValueEach();
  command->AddFlag("--allow-missing", flags->allow_missing,
                   "Questions without an answer count 0, instead of an error");
  command->AddFlag("--allow-unknown", flags->allow_unknown,
                   "Answers to other questions are left out of account, instead of an error");
  command->AddFlag("--wait", flags->wait, "Wait for the end; exit 5 unless all jobs succeeded");
  command
      ->AddOption("--request-id", flags->request_id,
                  "The same id submits once, however often it is sent (default: random)")
      ->TypeName("ID");
  command->AddFlag("--dry-run", flags->dry_run,
                   "Check the files, let the server check the sweep, and submit nothing");
  command->Footer(
      "A folder has SYSTEM/BENCHMARK.json for each system; for one benchmark also SYSTEM.json, "
      "and\n"
      "with --system BENCHMARK.json. Files may be gzipped (.json.gz). Benchmarks that a system "
      "has\n"
      "no file for are left out. Workers score the answers as they score a job's.\n"
      "Examples:\n"
      "  concur sweep submit-predictions --system a --benchmark squad.yaml a.json\n"
      "  concur sweep submit-predictions --benchmark a.yaml --benchmark b.yaml systems/\n"
      "  concur sweep submit-predictions --beside configs/sweeps/shift.yaml systems/");
  OnRun(command, context, [flags, &context] { return SubmitPredictions(context, *flags); });
}

}  // namespace concur::cli
