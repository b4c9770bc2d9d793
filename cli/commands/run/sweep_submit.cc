// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/run/sweep_submit_until.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/table_output.h"
#include "cli/sweep/follow_sweep.h"
#include "cli/sweep/submit.h"
#include "concur/v1/coordinator.pb.h"
#include "report/table.h"

namespace concur::cli {
namespace {

struct SubmitCommandFlags {
  SubmitFlags submit;
  bool watch = false;
  bool wait = false;
  UntilFlags until;
};

// The fate of each job, then the sweep.
void PrintPlanned(CommandContext& context, const v1::CreateSweepResponse& response,
                  const std::vector<std::string>& warnings) {
  if (IsJson(context)) {
    Json record = SweepJson(response.sweep());
    record["warnings"] = warnings;
    record["jobs"] = Json::array();
    for (const v1::PlannedJob& job : response.jobs()) {
      record["jobs"].push_back({{"job", job.job()},
                                {"runs", job.runs()},
                                {"equal", job.equal().empty() ? Json(nullptr) : Json(job.equal())},
                                {"why", job.why()}});
    }
    PrintJson(context, record);
    return;
  }
  analysis::Table table;
  table.columns = {{"job", "JOB"}, {"does", "PLAN"}, {"why", "WHY"}};
  table.key_columns = table.columns.size();  // a job is one line, or is wrapped
  for (analysis::TableColumn& column : table.columns) {
    column.width_max = 0;
    column.wraps = column.key != "does";
  }
  uint64_t runs = 0;
  uint64_t reused = 0;
  uint64_t open = 0;
  for (const v1::PlannedJob& job : response.jobs()) {
    const bool is_open = !job.runs() && job.equal().empty();
    (is_open ? open : job.runs() ? runs : reused) += 1;
    table.rows.push_back(TextCells({job.job(),
                                    job.runs() ? "runs"
                                    : is_open  ? "is open"
                                               : "is reused",
                                    job.why()}));
  }
  if (!table.rows.empty()) {
    PrintRows(table, context);
  }
  if (context.output == OutputMode::kTable) {
    context.out << "\n";
    PrintSweep(context, response.sweep(), warnings);
    if (!table.rows.empty()) {
      PrintNote(context, absl::StrCat("of these jobs ", CountText(runs), " would run, ",
                                      CountText(reused), " would be reused",
                                      open == 0 ? "" : ", " + CountText(open) + " are open"));
    }
  }
}

absl::Status Submit(CommandContext& context, const SubmitCommandFlags& flags) {
  WatchOptions options;
  options.quiet = !flags.watch;
  options.print_events = flags.watch && context.output == OutputMode::kJsonLines;
  if (!flags.until.until.empty()) {
    return SubmitUntil(context, flags.submit, flags.until, options);
  }
  if (flags.submit.once && !flags.submit.request_id.empty()) {
    return absl::InvalidArgumentError("--once: expected no --request-id beside it");
  }
  if (!flags.until.costs.empty()) {
    return absl::InvalidArgumentError("--costs: expected --until beside it");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::CreateSweepResponse response,
                          SubmitSweep(context, *client, flags.submit));
  const std::vector<std::string> warnings(response.warnings().begin(), response.warnings().end());
  if (flags.submit.dry_run) {
    PrintPlanned(context, response, warnings);
    return absl::OkStatus();
  }
  if (!flags.watch && !flags.wait) {
    PrintSweep(context, response.sweep(), warnings);
    PrintNote(context, absl::StrCat("watch it: concur sweep watch ", response.sweep().id()));
    return absl::OkStatus();
  }
  PrintNote(context, SubmittedText(response.sweep()));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, *client, response.sweep().id(), options));
  if (!options.print_events) {
    PrintSweep(context, sweep, warnings, !options.quiet);
  }
  ReportEnd(context, sweep);
  return absl::OkStatus();
}

}  // namespace

void AddSubmitCommand(Command& sweep, CommandContext& context) {
  Command* command = sweep.AddSubcommand("submit", "Submit a sweep file");
  const auto flags = std::make_shared<SubmitCommandFlags>();
  command->AddOption("file", flags->submit.file, "A sweep file (kind: Sweep)")
      ->TypeName("FILE")
      ->Required();
  command->AddOption("--var", flags->submit.variables, "Sets a variable of the file")
      ->TypeName("NAME=VALUE")
      ->OneValueEach();
  command->AddFlag("-w,--watch", flags->watch, "Live progress until it has ended; then as --wait");
  command->AddFlag("--wait", flags->wait, "Wait for the end; exit 5 unless all jobs succeeded");
  command
      ->AddOption("--request-id", flags->submit.request_id,
                  "The same id submits once, however often it is sent (default: random)")
      ->TypeName("ID");
  command->AddFlag("--once", flags->submit.once,
                   "Submit nothing where the same sweep was submitted before, with the same "
                   "contents of its files");
  command->AddFlag("--no-check", flags->submit.no_check,
                   "Do not read the data sets; for huge ones that were checked before");
  command
      ->AddFlag(
          "--rerun", flags->submit.rerun,
          "Run what is finished, too: all of it, or with --rerun=NAME,tag:TAG,… these "
          "approaches. Earlier results stay with their sweeps; later sweeps take the new ones")
      ->TypeName("[=SELECTOR]");
  command->AddFlag(
      "--dry-run", flags->submit.dry_run,
      "Let the server check it, and say of each job whether it would run, and why; submit "
      "nothing");
  command
      ->AddOption("--until", flags->until.until,
                  "Run cells in batches, in the order of `concur next`, until every tau-b between "
                  "benchmarks is known to ± W: \"tau ±0.1\"; \"r ±0.1\" is Pearson's, \"rho ±0.1\" "
                  "Spearman's")
      ->TypeName("'tau ±W'");
  command
      ->AddOption("--costs", flags->until.costs,
                  "Costs of cells for that order, a CSV of approaches × benchmarks (default: all "
                  "alike)")
      ->TypeName("FILE");
  command->AddOption("--order-seed", flags->until.seed, "Seed of that order")->ShowDefault();
  command->AddOption("--interval", flags->until.level, "Level of the intervals of --until")
      ->ShowDefault();
  command->Footer(
      "Examples:\n"
      "  concur sweep submit configs/sweeps/demo.yaml --watch\n"
      "  concur sweep submit study.yaml --var data=/data --wait && concur scores study\n"
      "  concur sweep submit study.yaml --rerun=bert,tag:neural\n"
      "  concur sweep submit study.yaml --until 'tau ±0.1'   # the same again: goes on");
  OnRun(command, context, [flags, &context] { return Submit(context, *flags); });
}

}  // namespace concur::cli
