// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/estimate.h"
#include "cli/output/failures.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/table_output.h"
#include "cli/sweep/follow_sweep.h"
#include "cli/sweep/packed_code.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/sweep_name.h"
#include "proto/rpc/progress.h"

namespace concur::cli {
namespace {

constexpr size_t kListDefault = 100;

struct SweepFlags {
  std::string sweep;
  std::string owner;
  size_t limit = kListDefault;
  double timeout_seconds = 0;
  std::vector<std::string> jobs;
  bool rerun = false;
  bool yes = false;
  bool quiet = false;
  std::string after;
  std::optional<int64_t> priority;
  std::optional<double> budget_usd;
};

std::string TimeText(bool has, const google::protobuf::Timestamp& time) {
  return has ? FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(TimeOf(time)))) : "";
}

std::string AgeText(const v1::Sweep& sweep) {
  return sweep.has_end_time() && sweep.has_create_time()
             ? SpanText(TimeOf(sweep.end_time()) - TimeOf(sweep.create_time()))
             : "";
}

absl::Status ListSweeps(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  // One more than is shown tells whether there are more.
  CONCUR_ASSIGN_OR_RETURN(std::vector<v1::Sweep> sweeps,
                          client->ListSweeps(flags.owner, flags.limit == 0 ? 0 : flags.limit + 1));
  const bool more = flags.limit != 0 && sweeps.size() > flags.limit;
  if (more) {
    sweeps.resize(flags.limit);
  }
  Listing listing(context,
                  {{"ID"},
                   {.name = "NAME", .width_max = 30},
                   {.name = "STATE", .is_state = true},
                   {"DONE", true},
                   {"JOBS", true},
                   {"FAILED", true},
                   {.name = "SKIPPED", .is_number = true, .drop = 3},
                   {.name = "REUSED", .is_number = true, .drop = 1},
                   {.name = "RATE", .is_number = true, .drop = 4},
                   {"ETA", true},
                   {.name = "OWNER", .drop = 5, .width_max = 20},
                   {.name = "CREATED", .drop = 6},
                   {.name = "TOOK", .is_number = true, .drop = 2}},
                  SweepJson(v1::Sweep()), "No sweeps yet. Submit one: concur sweep submit FILE");
  for (const v1::Sweep& sweep : sweeps) {
    const v1::StateCounts& counts = sweep.counts();
    const v1::Progress progress = rpc::ProgressOf(sweep);
    const Estimate estimate = EstimateOf(sweep);
    listing.Add(
        {sweep.id(), sweep.name(), StateText(sweep.state()), CountText(progress.done()),
         CountText(progress.jobs()), CountText(counts.failed()), CountText(counts.skipped()),
         CountText(sweep.reused()), RateText(estimate.jobs_per_second), EtaText(estimate),
         sweep.owner(), TimeText(sweep.has_create_time(), sweep.create_time()), AgeText(sweep)},
        SweepJson(sweep));
  }
  listing.Print();
  if (more) {
    PrintNote(context,
              absl::StrCat("only the newest ", flags.limit, " are shown; --limit 0 shows all"));
  }
  NoteNotLoaded(context, sweeps);
  return absl::OkStatus();
}

// The services that workers run of the sweep's approaches, by the names of these; "" without any.
absl::StatusOr<std::string> ServicesText(Client& client, const v1::Sweep& sweep) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Worker> workers, client.ListWorkers());
  if (std::all_of(workers.begin(), workers.end(),
                  [](const v1::Worker& worker) { return worker.services().empty(); })) {
    return "";
  }
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep whole,
                          client.GetSweep(sweep.id(), Client::Include::kSpec));
  std::set<std::string> served;
  for (const v1::Approach& approach : whole.spec().approaches()) {
    if (approach.has_service()) {
      served.insert(approach.name());
    }
  }
  std::vector<std::string> texts;
  for (const v1::Worker& worker : workers) {
    for (const v1::Worker::Instance& service : worker.services()) {
      if (served.contains(service.approach())) {
        texts.push_back(ServiceText(worker, service));
      }
    }
  }
  return absl::StrJoin(texts, "; ");
}

template <typename Request>
absl::Status Change(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  Request request;
  request.set_sweep(flags.sweep);
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, client->Call<v1::Sweep>(request));
  PrintSweep(context, sweep);
  return absl::OkStatus();
}

absl::Status Watch(CommandContext& context, const SweepFlags& flags, bool is_wait) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  WatchOptions options;
  options.quiet = is_wait && (flags.quiet || !context.err_is_terminal);
  options.print_events = !is_wait && context.output == OutputMode::kJsonLines;
  options.after = flags.after;
  if (flags.timeout_seconds > 0) {
    options.timeout = absl::Seconds(flags.timeout_seconds);
  }
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, *client, flags.sweep, options));
  if (!options.print_events) {
    PrintSweep(context, sweep, {}, !options.quiet);
  }
  ReportEnd(context, sweep);
  return absl::OkStatus();
}

constexpr size_t kFailuresExample = 5;  // the column of FailureGroups::ToTable

absl::Status ListFailures(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::ListJobsRequest request;
  request.set_sweep(flags.sweep);
  request.add_states(v1::Job::STATE_FAILED);
  FailureGroups failures;
  CONCUR_RETURN_IF_ERROR(client->ListJobs(request, 0, [&failures](const v1::Job& job) {
    failures.Add(job);
    return true;
  }));
  const analysis::Table table = failures.ToTable(context.output == OutputMode::kTable);
  if (!table.rows.empty() || context.output != OutputMode::kTable) {
    PrintRows(table, context);
  }
  if (failures.others() > 0) {
    PrintNote(context,
              absl::StrCat("and ", CountText(failures.others()), " more failures of other kinds"));
  }
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          client->GetSweep(flags.sweep, Client::Include::kCounts));
  const v1::StateCounts& counts = sweep.counts();
  const std::string& id = sweep.id();
  if (table.rows.empty()) {
    PrintNote(context, absl::StrCat("no job of ", id, " has failed"));
  } else {
    const std::string example = table.rows[0][kFailuresExample].text;
    PrintNote(context, absl::StrCat("all that ", example, " printed: concur job logs ", example,
                                    "\n  ", RetryHint(id)));
  }
  if (counts.skipped() > 0) {
    v1::ListJobsRequest first;
    first.set_sweep(flags.sweep);
    first.add_states(v1::Job::STATE_SKIPPED);
    std::string skipped;
    CONCUR_RETURN_IF_ERROR(client->ListJobs(first, 1, [&skipped](const v1::Job& job) {
      skipped = job.id();
      return true;
    }));
    PrintNote(context, absl::StrCat(CountText(counts.skipped()),
                                    counts.skipped() == 1 ? " job was" : " jobs were",
                                    " skipped, because needed jobs failed or too many like "
                                    "them did: concur job explain ",
                                    skipped));
  }
  if (counts.backoff() > 0) {
    PrintNote(context, absl::StrCat(CountText(counts.backoff()), " jobs are to be retried"));
  }
  return absl::OkStatus();
}

// "17" or "s12/17", of that sweep.
absl::StatusOr<uint32_t> JobIndex(const std::string& text, const v1::Sweep& sweep) {
  const size_t slash = text.rfind('/');
  uint32_t index = 0;
  if (!absl::SimpleAtoi(slash == std::string::npos ? text : text.substr(slash + 1), &index)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--job: expected a job such as s12/17, or 17, got \"", text, "\""));
  }
  if (slash != std::string::npos && text.substr(0, slash) != sweep.id()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--job: expected a job of ", sweep.id(), ", got \"", text, "\""));
  }
  return index;
}

absl::Status Retry(CommandContext& context, const SweepFlags& flags) {
  v1::RetryJobsRequest request;
  request.set_rerun_succeeded(flags.rerun);
  if (flags.rerun && flags.jobs.empty()) {
    return absl::InvalidArgumentError("--rerun: expected --job, the jobs to run again");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          client->GetSweep(flags.sweep, Client::Include::kSpec));
  for (const std::string& job : flags.jobs) {
    CONCUR_ASSIGN_OR_RETURN(const uint32_t index, JobIndex(job, sweep));
    request.add_jobs(index);
  }
  request.set_sweep(sweep.id());  // not a newer one of that name
  CONCUR_ASSIGN_OR_RETURN(const uint32_t retried, client->RetryJobs(request));
  Json record = Json::object();
  record["sweep"] = sweep.id();
  record["retried"] = retried;
  PrintDetails(context,
               {{"sweep", sweep.id()}, {"name", sweep.name()}, {"retried", CountText(retried)}},
               record);
  if (retried == 0) {
    PrintNote(context, flags.jobs.empty()
                           ? "no job had failed, was skipped or canceled"
                           : "none of these jobs had failed, was skipped, canceled or stopped; "
                             "--rerun runs again what succeeded");
    return absl::OkStatus();
  }
  if (const std::vector<std::string> changed = ChangedCode(sweep.spec()); !changed.empty()) {
    const std::string& path = sweep.spec().path();
    PrintNote(
        context,
        absl::StrCat("changed since ", sweep.id(), " was submitted: ", FirstNames(changed, ", ", 3),
                     "; the retry runs what was submitted, a new submission what is there now",
                     path.empty() ? "" : ": `concur sweep submit ", path, path.empty() ? "" : "`"));
  }
  return absl::OkStatus();
}

// The newest sweep of that name that is not loaded; the coordinator tells of it in lists alone.
absl::StatusOr<v1::Sweep> FindNotLoaded(Client& client, const std::string& text) {
  const SweepName name = ParseSweepName(text);
  CONCUR_ASSIGN_OR_RETURN(std::vector<v1::Sweep> sweeps, client.ListSweeps(name.owner, 0));
  std::erase_if(sweeps, [&](const v1::Sweep& sweep) {
    return sweep.state() != v1::Sweep::STATE_UNSPECIFIED ||
           (sweep.id() != text && sweep.name() != name.name);
  });
  for (const v1::Sweep& sweep : sweeps) {
    if (sweep.owner() != sweeps.front().owner()) {
      return absl::InvalidArgumentError(
          absl::StrCat("several sweeps called \"", name.name,
                       "\" are not loaded: give the id that `concur sweep list` shows"));
    }
  }
  return sweeps.empty() ? absl::NotFoundError(absl::StrCat("no sweep ", text))
                        : absl::StatusOr<v1::Sweep>(sweeps.front());
}

absl::Status Delete(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  absl::StatusOr<v1::Sweep> found = client->GetSweep(flags.sweep, Client::Include::kCounts);
  const bool is_loaded = !absl::IsFailedPrecondition(found.status());
  if (!is_loaded) {
    found = FindNotLoaded(*client, flags.sweep);
  }
  CONCUR_RETURN_IF_ERROR(found.status());
  const v1::Sweep& sweep = *found;
  const std::string label =
      absl::StrCat(sweep.id(), " ", sweep.name(), is_loaded ? "" : " (not loaded)");
  if (!flags.yes) {
    if (context.in == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected --yes where no terminal can ask: delete removes ", label, " and its results"));
    }
    const std::string count =
        is_loaded ? absl::StrCat(CountText(sweep.counts().succeeded()), " ") : "";
    context.err << absl::StrCat("delete ", label, " and its ", count, "results? [y/N] ")
                << std::flush;
    std::string answer;
    std::getline(*context.in, answer);
    if (answer != "y" && answer != "yes") {
      PrintNote(context, "nothing was deleted");
      return absl::OkStatus();
    }
  }
  // By id: a newer sweep may take the name meanwhile.
  v1::DeleteSweepRequest request;
  request.set_sweep(sweep.id());
  CONCUR_RETURN_IF_ERROR(client->CallOnce<v1::DeleteSweepResponse>(request).status());
  Json record = Json::object();
  record["sweep"] = sweep.id();
  record["deleted"] = true;
  PrintDetails(context, {{"deleted", sweep.id()}, {"name", sweep.name()}}, record);
  return absl::OkStatus();
}

using Work = std::function<absl::Status(CommandContext&, const SweepFlags&)>;

// A command that is about one sweep.
Command* AddSweep(Command* group, CommandContext& context, const std::string& name,
                  const std::string& about, const std::shared_ptr<SweepFlags>& flags, Work work) {
  Command* command = group->AddSubcommand(name, about);
  command
      ->AddOption("sweep", flags->sweep,
                  "A sweep: its id (s12), the name of your newest, or OWNER/NAME")
      ->TypeName("SWEEP")
      ->Required();
  command->Footer(
      absl::StrCat("Examples:\n  concur sweep ", name, " study\n  concur sweep ", name, " s12"));
  OnRun(command, context,
        [flags, &context, work = std::move(work)] { return work(context, *flags); });
  return command;
}

absl::Status Cancel(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, client->CancelSweep(flags.sweep));
  PrintSweep(context, sweep);
  if (sweep.state() == v1::Sweep::STATE_SUCCEEDED || sweep.state() == v1::Sweep::STATE_FAILED) {
    PrintNote(context, "it had already ended: nothing was canceled");
  }
  return absl::OkStatus();
}

absl::Status Set(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  if (!flags.priority && !flags.budget_usd) {
    return absl::InvalidArgumentError("expected --priority or --budget-usd, got neither");
  }
  v1::Sweep sweep;
  if (flags.priority) {
    v1::SetPriorityRequest request;
    request.set_sweep(flags.sweep);
    request.set_priority(
        static_cast<int32_t>(std::clamp<int64_t>(*flags.priority, INT32_MIN, INT32_MAX)));
    CONCUR_ASSIGN_OR_RETURN(sweep, client->Call<v1::Sweep>(request));
  }
  if (flags.budget_usd) {
    v1::SetBudgetRequest request;
    request.set_sweep(flags.sweep);
    request.set_usd(*flags.budget_usd);
    CONCUR_ASSIGN_OR_RETURN(sweep, client->Call<v1::Sweep>(request));
  }
  PrintSweep(context, sweep);
  return absl::OkStatus();
}

void AddFollowing(Command* group, CommandContext& context) {
  const auto watch_flags = std::make_shared<SweepFlags>();
  Command* watch = AddSweep(
      group, context, "watch", "Live progress until it has ended; exit 5 unless all succeeded",
      watch_flags, [](CommandContext& c, const SweepFlags& f) { return Watch(c, f, false); });
  watch->AddOption("--timeout", watch_flags->timeout_seconds, "Stop after so many seconds")
      ->TypeName("SECONDS")
      ->Positive();
  watch
      ->AddOption("--after", watch_flags->after,
                  "Only changes after this cursor: the last line's of an earlier -o jsonl")
      ->TypeName("CURSOR");
  watch->Footer(
      "Jobs that early_stop has stopped count as well as those that succeeded.\n"
      "Ctrl-C detaches; the sweep goes on. With -o jsonl every change of a job is a line.\n"
      "Examples:\n  concur sweep watch study\n  concur sweep watch s12 -o jsonl --timeout 3600");
  const auto wait_flags = std::make_shared<SweepFlags>();
  Command* wait =
      AddSweep(group, context, "wait", "Wait for the end; exit 5 unless all succeeded", wait_flags,
               [](CommandContext& c, const SweepFlags& f) { return Watch(c, f, true); });
  wait->AddOption("--timeout", wait_flags->timeout_seconds,
                  "Exit 124 when it has not ended after so many seconds")
      ->TypeName("SECONDS")
      ->Positive();
  wait->AddFlag("-q,--quiet", wait_flags->quiet, "No progress");
  wait->Footer("Examples:\n  concur sweep wait s12 --timeout 3600 && concur scores s12");
}

}  // namespace

namespace {

std::string UseText(const v1::OwnerUse& use) {
  return absl::StrCat(
      CountText(use.running_jobs()),
      use.running_jobs_max() == 0 ? "" : absl::StrCat(" of ", CountText(use.running_jobs_max())),
      " jobs on workers, ", BytesText(use.stored_bytes()),
      use.stored_bytes_max() == 0 ? "" : absl::StrCat(" of ", BytesText(use.stored_bytes_max())),
      " stored");
}

// "1m 40s when it was submitted, 2.3 % too long", or "3 times too long" where it was far off.
std::string ForecastText(const v1::Sweep& sweep) {
  const SweepForecast forecast = ForecastOf(sweep);
  if (!forecast.expected) {
    return "";
  }
  std::string text = absl::StrCat(SpanText(*forecast.expected), " when it was submitted");
  if (forecast.error && std::max(*forecast.expected, *forecast.took) >= absl::Seconds(1)) {
    absl::StrAppend(&text, ", ", ForecastErrorText(*forecast.error));
  }
  return text;
}

absl::Status GetSweep(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          client->GetSweep(flags.sweep, Client::Include::kCounts));
  std::string services;
  if (context.output == OutputMode::kTable) {
    CONCUR_ASSIGN_OR_RETURN(services, ServicesText(*client, sweep));
  }
  PrintSweep(context, sweep, {}, /*was_watched=*/false, services);
  return absl::OkStatus();
}

}  // namespace

void PrintSweep(CommandContext& context, const v1::Sweep& sweep,
                const std::vector<std::string>& warnings, bool was_watched,
                const std::string& services) {
  Json record = SweepJson(sweep);
  if (!warnings.empty()) {
    record["warnings"] = warnings;
  }
  const uint64_t jobs = rpc::ProgressOf(sweep).jobs();
  const bool dry = sweep.state() == v1::Sweep::STATE_UNSPECIFIED;  // not submitted
  const Estimate estimate = EstimateOf(sweep);
  std::vector<std::pair<std::string, std::string>> lines = {
      {"id", sweep.id()},
      {"name", sweep.name()},
      {"owner", sweep.owner()},
      {"owner uses", sweep.has_owner_use() ? UseText(sweep.owner_use()) : ""},
      {"state", dry ? "" : StateText(sweep.state())},
      {"priority", sweep.priority() == 0 ? "" : absl::StrCat(sweep.priority())},
      {"jobs", absl::StrCat(CountText(jobs), " in ", CountText(sweep.cell_count()),
                            sweep.cell_count() == 1 ? " cell" : " cells")},
      {"search", sweep.trials() == 0
                     ? ""
                     : absl::StrCat(CountText(sweep.trials_chosen()), " of ",
                                    CountText(sweep.trials()), " trials have settings")},
      {"counts", dry ? "" : CountsText(sweep.counts())},
      {"rate", RateText(estimate.jobs_per_second)},
      {"ETA", EtaText(estimate)},
      {"reused",
       sweep.reused() == 0 ? "" : absl::StrCat(CountText(sweep.reused()), " of ", CountText(jobs))},
      {"spent", SpentText(sweep.spent())},
      {"budget", BudgetText(sweep)},
      {"services", services},
      {"created", TimeText(sweep.has_create_time(), sweep.create_time())},
      {"ended", TimeText(sweep.has_end_time(), sweep.end_time())},
      {"took", AgeText(sweep)},
      {"forecast", ForecastText(sweep)}};
  if (was_watched) {
    std::erase_if(lines, [](const auto& line) {
      return line.first != "counts" && line.first != "reused" && line.first != "forecast";
    });
  }
  PrintDetails(context, lines, record);
}

void AddSweepCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("sweep", "Submit, watch and steer sweeps");
  group->RequireSubcommand();
  AddSubmitCommand(*group, context);
  AddSubmitPredictionsCommand(*group, context);

  const auto list_flags = std::make_shared<SweepFlags>();
  Command* list = group->AddSubcommand("list", "Sweeps, newest first");
  list->AddOption("--owner", list_flags->owner, "Only this owner's")->TypeName("NAME");
  list->AddOption("--limit", list_flags->limit, "List at most this many; 0: all")
      ->ShowDefault()
      ->TypeName("N");
  list->Footer("Examples:\n  concur sweep list --owner ada\n  concur sweep list --limit 0 -o csv");
  OnRun(list, context, [list_flags, &context] { return ListSweeps(context, *list_flags); });

  AddSweep(group, context, "get", "One sweep, and how far it is", std::make_shared<SweepFlags>(),
           GetSweep);
  AddFollowing(group, context);
  AddSweep(group, context, "failures", "What failed: equal failures are one line, with an example",
           std::make_shared<SweepFlags>(), ListFailures)
      ->Footer(
          "Grouped by approach, benchmark and message; two numbers in a message count as equal.\n"
          "Examples:\n  concur sweep failures s12");
  AddSweepStepsCommand(*group, context);
  AddSweep(group, context, "pause", "Start no more jobs; what runs goes on",
           std::make_shared<SweepFlags>(), Change<v1::PauseSweepRequest>);
  AddSweep(group, context, "resume", "Start jobs again", std::make_shared<SweepFlags>(),
           Change<v1::ResumeSweepRequest>);
  AddSweep(group, context, "cancel", "End every unfinished job; finished results stay",
           std::make_shared<SweepFlags>(), Cancel);

  const auto set_flags = std::make_shared<SweepFlags>();
  Command* set =
      AddSweep(group, context, "set", "Change a sweep's priority or budget", set_flags, Set);
  set->AddOption("--priority", set_flags->priority,
                 "Jobs of sweeps with a higher one start first; what runs goes on")
      ->TypeName("N");
  set->AddOption(
         "--budget-usd", set_flags->budget_usd,
         "Its jobs may spend so many dollars in all; a sweep that its budget pauses goes on")
      ->TypeName("USD");
  set->Footer(
      "Examples:\n  concur sweep set s12 --priority 10\n  concur sweep set s12 --budget-usd 300");

  const auto retry_flags = std::make_shared<SweepFlags>();
  Command* retry =
      AddSweep(group, context, "retry", "Return failed, skipped and canceled jobs to the queue",
               retry_flags, Retry);
  retry->AddOption("--job", retry_flags->jobs, "Only this job; may be repeated")
      ->TypeName("JOB")
      ->OneValueEach();
  retry->AddFlag("--rerun", retry_flags->rerun,
                 "Run the jobs of --job again even if they succeeded");
  retry->Footer(
      "A job that early_stop has stopped is trained to its end when --job names it.\n"
      "Examples:\n  concur sweep retry s12\n  concur sweep retry s12 --job s12/17 --rerun");

  const auto delete_flags = std::make_shared<SweepFlags>();
  AddSweep(group, context, "delete", "Remove an ended sweep and its results", delete_flags, Delete)
      ->AddFlag("-y,--yes", delete_flags->yes, "Do not ask");
  AddSweepFileCommands(*group, context);
  AddSimulateCommand(*group, context);
  AddSchemaCommand(*group, context);
}

}  // namespace concur::cli
