#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/online_commands.h"
#include "cli/output.h"
#include "cli/render.h"
#include "core/job.h"
#include "rpc/convert_value.h"

namespace concur::cli {
namespace {

constexpr size_t kNoteWidth = 60;

struct JobFlags {
  std::string job;
  std::string sweep;
  std::vector<std::string> states;
  std::string approach;
  std::string benchmark;
  size_t limit = 100;
  bool follow = false;
  int64_t offset = 0;
};

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// The figure or the reason that a person looks for in a list.
std::string NoteOf(const v1::Job& job) {
  if (!job.reused_from().empty()) {
    return absl::StrCat("reused from ", job.reused_from());
  }
  if (job.state() == v1::Job::STATE_FAILED || job.state() == v1::Job::STATE_BACKOFF) {
    const std::string message = FirstLine(job.result().message());
    return LineText(absl::StrCat(FailureText(job.failure()), message.empty() ? "" : ": ", message),
                    kNoteWidth);
  }
  return LineText(FirstLine(job.explanation()), kNoteWidth);
}

// A record with every key, also those of a result.
Json JobPrototype() {
  v1::Job job;
  job.mutable_result();
  return JobJson(job);
}

std::string MetricsText(const v1::JobResult& result) {
  std::vector<std::string> parts;
  for (const v1::Metric& metric : result.metrics()) {
    parts.push_back(absl::StrFormat("%s %.2f", metric.name(), metric.value()));
  }
  return absl::StrJoin(parts, ", ");
}

absl::Status AddStates(const std::vector<std::string>& names, v1::ListJobsRequest* request) {
  std::vector<std::string> known;
  known.reserve(kJobStates);
  for (int i = 0; i < kJobStates; ++i) {
    known.emplace_back(JobStateName(static_cast<JobState>(i)));
  }
  for (const std::string& name : names) {
    const auto it = std::find(known.begin(), known.end(), name);
    if (it == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--state: expected one of ",
                                                     absl::StrJoin(known, ", "), ", got \"", name,
                                                     "\"", DidYouMean(name, known)));
    }
    request->add_states(rpc::ToProto(static_cast<JobState>(it - known.begin())));
  }
  return absl::OkStatus();
}

absl::Status List(CommandContext& context, const JobFlags& flags) {
  v1::ListJobsRequest request;
  request.set_sweep(flags.sweep);
  request.set_approach(flags.approach);
  request.set_benchmark(flags.benchmark);
  CONCUR_RETURN_IF_ERROR(AddStates(flags.states, &request));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(std::vector<v1::Job> jobs,
                          client->ListJobs(request, flags.limit == 0 ? 0 : flags.limit + 1));
  const bool more = flags.limit != 0 && jobs.size() > flags.limit;
  if (more) {
    jobs.resize(flags.limit);
  }
  Listing listing({{"ID"},
                   {"KIND"},
                   {"STATE"},
                   {"APPROACH"},
                   {"TRAIN"},
                   {"TEST"},
                   {"SETTING", true},
                   {"SEED", true},
                   {"TRY", true},
                   {"WORKER"},
                   {"TIME", true},
                   {"NOTE"}},
                  JobPrototype(), "No such jobs.");
  for (const v1::Job& job : jobs) {
    const std::string metrics = MetricsText(job.result());
    std::string note = NoteOf(job);
    if (!metrics.empty()) {
      note = note.empty() ? metrics : absl::StrCat(metrics, "; ", note);
    }
    listing.Add(
        {job.id(), KindText(job.kind()), StateText(job.state()), LineText(job.approach(), 30),
         LineText(job.train_set(), 30), LineText(job.test_benchmark(), 30),
         absl::StrCat(job.setting_index()), absl::StrCat(job.seed()),
         job.attempt() == 0 ? "" : absl::StrCat(job.attempt()), LineText(job.worker(), 24),
         job.has_result() ? SpanText(SpanOf(job.result().run_time())) : "", note},
        JobJson(job));
  }
  listing.Print(context);
  if (more) {
    PrintNote(context,
              absl::StrCat("only the first ", flags.limit, " are shown; --limit 0 shows all"));
  }
  return absl::OkStatus();
}

using Lines = std::vector<std::pair<std::string, std::string>>;

void AddResult(const v1::JobResult& result, Lines* lines) {
  lines->push_back(
      {"started", result.has_start_time() ? FormatIsoTime(TimeOf(result.start_time())) : ""});
  lines->push_back({"took", SpanText(SpanOf(result.run_time()))});
  lines->push_back(
      {"memory", result.memory_bytes_peak() == 0 ? "" : BytesText(result.memory_bytes_peak())});
  lines->push_back({"exit code", result.succeeded() ? "" : absl::StrCat(result.exit_code())});
  lines->push_back({"message", FirstLine(result.message())});
  for (const v1::Metric& metric : result.metrics()) {
    lines->push_back({metric.name(), absl::StrFormat("%.4f over %s examples", metric.value(),
                                                     CountText(metric.examples()))});
  }
  for (const v1::Artifact& artifact : result.artifacts()) {
    const auto kind = rpc::FromProto(artifact.kind(), rpc::FieldPath("kind"));
    const auto digest = Digest::FromBytes(artifact.digest());
    if (kind.ok() && digest.ok()) {
      lines->push_back(
          {std::string(ArtifactKindName(*kind)),
           absl::StrCat(digest->ToHex(), " (", BytesText(artifact.size_bytes()), ")")});
    }
  }
}

absl::Status Get(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job));
  Lines lines = {{"id", job.id()},
                 {"kind", KindText(job.kind())},
                 {"state", StateText(job.state())},
                 {"approach", job.approach()},
                 {"trained on", job.train_set()},
                 {"tested on", job.test_benchmark()},
                 {"setting", absl::StrCat(job.setting_index(), "  ", SettingText(job.setting()))},
                 {"seed", absl::StrCat(job.seed())},
                 {"attempt", job.attempt() == 0 ? "" : absl::StrCat(job.attempt())},
                 {"worker", job.worker()},
                 {"reused from", job.reused_from()},
                 {"failure", FailureText(job.failure())},
                 {"why", FirstLine(job.explanation())}};
  if (job.has_result()) {
    AddResult(job.result(), &lines);
  }
  for (const v1::AttemptRecord& attempt : job.attempts()) {
    lines.push_back({absl::StrCat("attempt ", attempt.attempt()),
                     absl::StrCat(FailureText(attempt.result().failure()), " on ", attempt.worker(),
                                  " at ", FormatIsoTime(TimeOf(attempt.end_time())), ": ",
                                  FirstLine(attempt.result().message()))});
  }
  PrintDetails(context, lines, JobJson(job));
  return absl::OkStatus();
}

absl::Status Explain(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job));
  if (context.output != OutputMode::kTable) {
    Json record = Json::object();
    record["id"] = job.id();
    record["state"] = StateText(job.state());
    record["explanation"] = job.explanation();
    PrintDetails(context, {}, record);
    return absl::OkStatus();
  }
  context.out << LineText(job.id()) << " is " << StateText(job.state()) << "\n"
              << LogText(job.explanation()) << "\n";
  return absl::OkStatus();
}

absl::Status Logs(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  const InterruptScope interrupt([&client] { client->CancelStreams(); });
  uint32_t attempt = 0;
  std::string all;  // only kept for one JSON value
  const absl::Status status =
      client->ReadLog(flags.job, flags.offset, flags.follow, [&](const v1::ReadLogResponse& piece) {
        if (piece.attempt() != 0 && piece.attempt() != attempt) {
          if (attempt != 0) {
            PrintNote(context, absl::StrCat("attempt ", piece.attempt()));
          }
          attempt = piece.attempt();
        }
        if (context.output == OutputMode::kJson) {
          all += piece.data();
        } else if (context.output == OutputMode::kJsonLines) {
          Json record = Json::object();
          record["job"] = flags.job;
          record["attempt"] = piece.attempt();
          record["offset"] = piece.offset();
          record["data"] = rpc::CleanUtf8(piece.data());
          context.out << CompactJson(record) << "\n";
        } else {
          // A pipe gets the bytes as they are.
          context.out << (context.out_is_terminal ? LogText(piece.data()) : piece.data());
        }
        context.out << std::flush;
      });
  if (absl::IsCancelled(status) && flags.follow) {
    return absl::CancelledError("interrupted");
  }
  CONCUR_RETURN_IF_ERROR(status);
  if (context.output == OutputMode::kJson) {
    Json record = Json::object();
    record["job"] = flags.job;
    record["attempt"] = attempt;
    record["log"] = rpc::CleanUtf8(all);
    PrintDetails(context, {}, record);
  }
  return absl::OkStatus();
}

Command* AddOne(Command* group, CommandContext& context, const std::string& name,
                const std::string& about, const std::shared_ptr<JobFlags>& flags,
                absl::Status (*work)(CommandContext&, const JobFlags&)) {
  Command* command = group->AddSubcommand(name, about);
  command->AddOption("job", flags->job, "A job, e.g. s12/345 or NAME/345")
      ->TypeName("JOB")
      ->Required();
  OnRun(command, context, [flags, &context, work] { return work(context, *flags); });
  return command;
}

}  // namespace

void AddJobCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("job", "Look into the jobs of a sweep");
  group->RequireSubcommand();

  const auto flags = std::make_shared<JobFlags>();
  Command* list = group->AddSubcommand("list", "Jobs of a sweep, in their order");
  list->AddOption("sweep", flags->sweep, "A sweep, by id or name")->TypeName("SWEEP")->Required();
  list->AddOption("--state", flags->states,
                  "Only jobs in these states: blocked, ready, backoff, running, succeeded, "
                  "failed, canceled, skipped")
      ->TypeName("STATE[,…]")
      ->Delimiter(',')
      ->OneValueEach();
  list->AddOption("--approach", flags->approach, "Only this approach's")->TypeName("NAME");
  list->AddOption("--benchmark", flags->benchmark, "Only trained or tested on this benchmark")
      ->TypeName("NAME");
  list->AddOption("--limit", flags->limit, "At most so many; 0: all")->ShowDefault()->TypeName("N");
  list->Footer("Example:\n  concur job list s12 --state failed,skipped");
  OnRun(list, context, [flags, &context] { return List(context, *flags); });

  AddOne(group, context, "get", "One job: its result, files and attempts",
         std::make_shared<JobFlags>(), Get);
  AddOne(group, context, "explain", "Why a job waits, failed, or ran although it was done before",
         std::make_shared<JobFlags>(), Explain);
  const auto log_flags = std::make_shared<JobFlags>();
  Command* logs =
      AddOne(group, context, "logs", "What a job's latest attempt wrote", log_flags, Logs);
  logs->AddFlag("-f,--follow", log_flags->follow, "Go on until the attempt ends");
  logs->AddOption("--offset", log_flags->offset, "From this byte on")
      ->TypeName("BYTES")
      ->NotNegative();
}

}  // namespace concur::cli
