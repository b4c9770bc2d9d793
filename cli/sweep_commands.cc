#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/command_line.h"
#include "cli/online_commands.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/watch.h"

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
  bool quiet = false;
};

std::string TimeText(bool has, const google::protobuf::Timestamp& time) {
  return has ? FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(TimeOf(time)))) : "";
}

std::string AgeText(const v1::Sweep& sweep) {
  return sweep.has_end_time() && sweep.has_create_time()
             ? SpanText(TimeOf(sweep.end_time()) - TimeOf(sweep.create_time()))
             : "";
}

absl::Status List(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  // One more than is shown tells whether there are more.
  CONCUR_ASSIGN_OR_RETURN(std::vector<v1::Sweep> sweeps,
                          client->ListSweeps(flags.owner, flags.limit == 0 ? 0 : flags.limit + 1));
  const bool more = flags.limit != 0 && sweeps.size() > flags.limit;
  if (more) {
    sweeps.resize(flags.limit);
  }
  Listing listing({{"ID"},
                   {"NAME"},
                   {"STATE"},
                   {"DONE", true},
                   {"JOBS", true},
                   {"FAILED", true},
                   {"REUSED", true},
                   {"OWNER"},
                   {"CREATED"},
                   {"TOOK", true}},
                  SweepJson(v1::Sweep()), "No sweeps yet. Submit one: concur sweep submit FILE");
  for (const v1::Sweep& sweep : sweeps) {
    const v1::StateCounts& counts = sweep.counts();
    listing.Add({sweep.id(), LineText(sweep.name(), 40), StateText(sweep.state()),
                 CountText(EndedCount(counts)), CountText(JobCount(counts)),
                 CountText(uint64_t{counts.failed()} + counts.skipped()), CountText(sweep.reused()),
                 LineText(sweep.owner(), 20),
                 TimeText(sweep.has_create_time(), sweep.create_time()), AgeText(sweep)},
                SweepJson(sweep));
  }
  listing.Print(context);
  if (more) {
    PrintNote(context,
              absl::StrCat("only the newest ", flags.limit, " are shown; --limit 0 shows all"));
  }
  return absl::OkStatus();
}

absl::Status Get(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, client->GetSweep(flags.sweep, false));
  PrintSweep(context, sweep);
  return absl::OkStatus();
}

using Change = absl::StatusOr<v1::Sweep> (Client::*)(const std::string&);

absl::Status Apply(CommandContext& context, const SweepFlags& flags, Change change) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, (client.get()->*change)(flags.sweep));
  PrintSweep(context, sweep);
  return absl::OkStatus();
}

absl::Status Watch(CommandContext& context, const SweepFlags& flags, bool is_wait) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  WatchOptions options;
  options.quiet = is_wait && (flags.quiet || !context.err_is_terminal);
  options.print_events = !is_wait && context.output == OutputMode::kJsonLines;
  if (flags.timeout_seconds > 0) {
    options.timeout = absl::Seconds(flags.timeout_seconds);
  }
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          FollowSweep(context, *client, flags.sweep, options));
  if (!options.print_events) {
    PrintSweep(context, sweep);
  }
  if (is_wait) {
    ReportEnd(context, sweep);
  }
  return absl::OkStatus();
}

// "17" or "s12/17".
absl::StatusOr<uint32_t> JobIndex(const std::string& text) {
  const size_t slash = text.rfind('/');
  uint32_t index = 0;
  if (!absl::SimpleAtoi(slash == std::string::npos ? text : text.substr(slash + 1), &index)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--job: expected a job such as s12/17, or 17, got \"", text, "\""));
  }
  return index;
}

absl::Status Retry(CommandContext& context, const SweepFlags& flags) {
  v1::RetryJobsRequest request;
  request.set_sweep(flags.sweep);
  request.set_rerun_succeeded(flags.rerun);
  for (const std::string& job : flags.jobs) {
    CONCUR_ASSIGN_OR_RETURN(const uint32_t index, JobIndex(job));
    request.add_jobs(index);
  }
  if (flags.rerun && flags.jobs.empty()) {
    return absl::InvalidArgumentError("--rerun: expected --job, the jobs to run again");
  }
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const uint32_t retried, client->RetryJobs(request));
  Json record = Json::object();
  record["sweep"] = flags.sweep;
  record["retried"] = retried;
  PrintDetails(context, {{"sweep", flags.sweep}, {"retried", CountText(retried)}}, record);
  if (retried == 0) {
    PrintNote(context, "no job had failed, was skipped or canceled");
  }
  return absl::OkStatus();
}

absl::Status Delete(CommandContext& context, const SweepFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_RETURN_IF_ERROR(client->DeleteSweep(flags.sweep));
  Json record = Json::object();
  record["sweep"] = flags.sweep;
  record["deleted"] = true;
  PrintDetails(context, {{"deleted", flags.sweep}}, record);
  return absl::OkStatus();
}

using Work = std::function<absl::Status(CommandContext&, const SweepFlags&)>;

// A command that is about one sweep.
Command* AddOne(Command* group, CommandContext& context, const std::string& name,
                const std::string& about, const std::shared_ptr<SweepFlags>& flags, Work work) {
  Command* command = group->AddSubcommand(name, about);
  command->AddOption("sweep", flags->sweep, "A sweep, by id (s12) or name (the newest so called)")
      ->TypeName("SWEEP")
      ->Required();
  OnRun(command, context,
        [flags, &context, work = std::move(work)] { return work(context, *flags); });
  return command;
}

void AddChange(Command* group, CommandContext& context, const std::string& name,
               const std::string& about, Change change) {
  AddOne(group, context, name, about, std::make_shared<SweepFlags>(),
         [change](CommandContext& c, const SweepFlags& f) { return Apply(c, f, change); });
}

void AddFollowing(Command* group, CommandContext& context) {
  const auto watch_flags = std::make_shared<SweepFlags>();
  Command* watch =
      AddOne(group, context, "watch", "Live progress until the sweep has ended", watch_flags,
             [](CommandContext& c, const SweepFlags& f) { return Watch(c, f, false); });
  watch->AddOption("--timeout", watch_flags->timeout_seconds, "Stop after so many seconds")
      ->TypeName("SECONDS")
      ->Positive();
  watch->Footer(
      "Ctrl-C detaches; the sweep goes on. With -o jsonl every change of a job is a line.");
  const auto wait_flags = std::make_shared<SweepFlags>();
  Command* wait =
      AddOne(group, context, "wait", "Wait for the end; exit 5 unless all succeeded", wait_flags,
             [](CommandContext& c, const SweepFlags& f) { return Watch(c, f, true); });
  wait->AddOption("--timeout", wait_flags->timeout_seconds,
                  "Exit 124 when it has not ended after so many seconds")
      ->TypeName("SECONDS")
      ->Positive();
  wait->AddFlag("-q,--quiet", wait_flags->quiet, "No progress");
  wait->Footer(
      "Example, in a script:\n  concur sweep wait s12 --timeout 3600 && concur scores s12");
}

}  // namespace

namespace {

std::string UseText(const v1::OwnerUse& use) {
  return absl::StrCat(
      CountText(use.running_jobs()),
      use.running_jobs_max() == 0 ? "" : absl::StrCat(" of ", CountText(use.running_jobs_max())),
      " running jobs, ", BytesText(use.stored_bytes()),
      use.stored_bytes_max() == 0 ? "" : absl::StrCat(" of ", BytesText(use.stored_bytes_max())),
      " stored");
}

// "1m 40s when it was submitted, +2.3 % off".
std::string ForecastText(const v1::Sweep& sweep) {
  const SweepForecast forecast = ForecastOf(sweep);
  if (!forecast.expected) {
    return "";
  }
  return absl::StrCat(
      SpanText(*forecast.expected), " when it was submitted",
      forecast.error ? absl::StrFormat(", %+.1f %% off", 100 * *forecast.error) : "");
}

}  // namespace

void PrintSweep(CommandContext& context, const v1::Sweep& sweep,
                const std::vector<std::string>& warnings) {
  Json record = SweepJson(sweep);
  if (!warnings.empty()) {
    record["warnings"] = warnings;
  }
  const uint64_t jobs = JobCount(sweep.counts());
  PrintDetails(context,
               {{"id", sweep.id()},
                {"name", sweep.name()},
                {"owner", sweep.owner()},
                {"owner uses", sweep.has_owner_use() ? UseText(sweep.owner_use()) : ""},
                {"state", StateText(sweep.state())},
                {"priority", sweep.priority() == 0 ? "" : absl::StrCat(sweep.priority())},
                {"jobs", absl::StrCat(CountText(jobs), " in ", CountText(sweep.cell_count()),
                                      sweep.cell_count() == 1 ? " cell" : " cells")},
                {"counts", CountsText(sweep.counts())},
                {"reused", sweep.reused() == 0
                               ? ""
                               : absl::StrCat(CountText(sweep.reused()), " of ", CountText(jobs))},
                {"created", TimeText(sweep.has_create_time(), sweep.create_time())},
                {"ended", TimeText(sweep.has_end_time(), sweep.end_time())},
                {"took", AgeText(sweep)},
                {"forecast", ForecastText(sweep)}},
               record);
}

Command* AddSweepCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("sweep", "Submit, watch and steer sweeps");
  group->RequireSubcommand();
  AddSubmitCommand(*group, context);

  const auto list_flags = std::make_shared<SweepFlags>();
  Command* list = group->AddSubcommand("list", "Sweeps, newest first");
  list->AddOption("--owner", list_flags->owner, "Only this owner's")->TypeName("NAME");
  list->AddOption("--limit", list_flags->limit, "At most so many; 0: all")
      ->ShowDefault()
      ->TypeName("N");
  OnRun(list, context, [list_flags, &context] { return List(context, *list_flags); });

  AddOne(group, context, "get", "One sweep, and how far it is", std::make_shared<SweepFlags>(),
         Get);
  AddFollowing(group, context);
  AddChange(group, context, "pause", "Start no more jobs; what runs goes on", &Client::PauseSweep);
  AddChange(group, context, "resume", "Start jobs again", &Client::ResumeSweep);
  AddChange(group, context, "cancel", "End every unfinished job; finished results stay",
            &Client::CancelSweep);

  const auto retry_flags = std::make_shared<SweepFlags>();
  Command* retry =
      AddOne(group, context, "retry", "Return failed, skipped and canceled jobs to the queue",
             retry_flags, Retry);
  retry->AddOption("--job", retry_flags->jobs, "Only this job; may be repeated")
      ->TypeName("JOB")
      ->OneValueEach();
  retry->AddFlag("--rerun", retry_flags->rerun,
                 "Run the jobs of --job again even if they succeeded");
  retry->Footer(
      "Examples:\n  concur sweep retry s12\n  concur sweep retry s12 --job s12/17 --rerun");

  AddOne(group, context, "delete", "Remove an ended sweep and its results",
         std::make_shared<SweepFlags>(), Delete);
  return group;
}

}  // namespace concur::cli
