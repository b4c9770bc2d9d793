// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/archive/directory_tar.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "cli/app/interrupt.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "proto/rpc/convert_value.h"
#include "report/json_text.h"

namespace concur::cli {
namespace {

struct JobFlags {
  std::string job;
  bool follow = false;
  int64_t offset = 0;
  std::string out;
};

using Lines = std::vector<std::pair<std::string, std::string>>;

// A message without what `why` says already.
std::string MessageBeside(const std::string& why, const v1::JobResult& result) {
  const std::string message = HeadLine(result.message());
  return absl::StrContains(why, message) ? "" : message;
}

void AddResult(const v1::JobResult& result, const std::string& why, Lines* lines) {
  lines->push_back(
      {"started", result.has_start_time() ? FormatIsoTime(TimeOf(result.start_time())) : ""});
  lines->push_back({"took", SpanText(SpanOf(result.run_time()))});
  lines->push_back(
      {"memory", result.memory_bytes_peak() == 0 ? "" : BytesText(result.memory_bytes_peak())});
  lines->push_back(
      {"resumed from", result.resumed_from() == 0
                           ? ""
                           : absl::StrCat("the checkpoint of attempt ", result.resumed_from())});
  lines->push_back({"exit code", result.succeeded() ? "" : absl::StrCat(result.exit_code())});
  lines->push_back({"message", MessageBeside(why, result)});
  const auto text = [](const v1::Metric& metric) {
    std::string value = absl::StrFormat("%.4f", metric.value());
    if (metric.examples() > 0) {
      absl::StrAppend(&value, " over ", CountText(metric.examples()), " examples");
    }
    return value;
  };
  for (const v1::Metric& metric : result.metrics()) {
    lines->push_back({metric.name(), text(metric)});
  }
  constexpr int kPartsShown = 20;
  for (int i = 0; i < std::min(result.parts_size(), kPartsShown); ++i) {
    const v1::Part& part = result.parts(i);
    lines->push_back(
        {absl::StrCat("part ", part.name()),
         absl::StrJoin(part.metrics(), "; ", [&](std::string* out, const v1::Metric& metric) {
           absl::StrAppend(out, metric.name(), " ", text(metric));
         })});
  }
  if (result.parts_size() > kPartsShown) {
    lines->push_back(
        {"more parts", absl::StrCat(result.parts_size() - kPartsShown, " (-o json lists them)")});
  }
  for (const v1::Artifact& artifact : result.artifacts()) {
    const auto kind = rpc::FromProto(artifact.kind(), FieldPath("kind"));
    const auto digest = Digest::FromBytes(artifact.digest());
    if (kind.ok() && digest.ok()) {
      lines->push_back(
          {std::string(ArtifactKindName(*kind)),
           absl::StrCat(digest->ToHex(), " (", BytesText(artifact.size_bytes()), ")")});
    }
  }
}

// The latest report of each name.
void AddSteps(const v1::Job& job, Lines* lines) {
  std::map<std::string, const v1::StepRecord*> latest;
  for (const v1::StepRecord& step : job.steps()) {
    latest[step.name()] = &step;
  }
  for (const auto& [name, step] : latest) {
    lines->push_back({absl::StrCat("reported ", name),
                      absl::StrFormat("%.4f at step %d", step->value(), step->step())});
  }
}

absl::Status GetJob(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job, /*include_steps=*/true));
  const std::string why = HeadLine(job.explanation());
  Lines lines = {{"id", job.id()},
                 {"kind", KindText(job.kind())},
                 {"state", StateText(job.state())},
                 {"progress", JobProgressText(job)},
                 {"approach", job.approach()},
                 {"trained on", job.train_set()},
                 {"tested on", job.test_benchmark()},
                 {"setting", absl::StrCat(job.setting_index(), "  ", SettingText(job.setting()))},
                 {"seed", absl::StrCat(job.seed())},
                 {"attempt", job.attempt() == 0 ? "" : absl::StrCat(job.attempt())},
                 {"worker", job.worker()},
                 {"reused from", job.reused_from()},
                 {"failure", job.state() == v1::Job::STATE_SUCCEEDED
                                 ? ""  // that of an earlier attempt, which is listed below
                                 : FailureText(job.failure())},
                 {"why", why}};
  if (job.has_checkpoint()) {
    lines.push_back({"checkpoint", absl::StrCat("of attempt ", job.checkpoint().attempt(), ", ",
                                                BytesText(job.checkpoint().size_bytes()))});
  }
  if (job.has_result()) {
    AddResult(job.result(), why, &lines);
  }
  for (const v1::AttemptSpent& spent : job.spent()) {
    lines.push_back({absl::StrCat("spent by attempt ", spent.attempt()), SpentText(spent.spent())});
  }
  AddSteps(job, &lines);
  for (const v1::AttemptRecord& attempt : job.attempts()) {
    const std::string message = MessageBeside(why, attempt.result());
    lines.push_back({absl::StrCat("attempt ", attempt.attempt()),
                     absl::StrCat(FailureText(attempt.result().failure()), " on ", attempt.worker(),
                                  " at ", FormatIsoTime(TimeOf(attempt.end_time())),
                                  message.empty() ? "" : ": ", message)});
  }
  PrintDetails(context, lines, JobJson(job));
  return absl::OkStatus();
}

absl::Status ExplainJob(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job, /*include_steps=*/false));
  if (context.output != OutputMode::kTable) {
    Json record = Json::object();
    record["id"] = job.id();
    record["state"] = StateText(job.state());
    record["explanation"] = job.explanation();
    PrintDetails(context, {}, record);
    return absl::OkStatus();
  }
  context.out << LineText(job.id()) << ": " << StateText(job.state()) << "\n"
              << LogText(job.explanation()) << "\n";
  return absl::OkStatus();
}

absl::Status CancelJob(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::CancelJobRequest request;
  request.set_job(flags.job);
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->Call<v1::Job>(request));
  Json record = Json::object();
  record["id"] = job.id();
  record["state"] = StateText(job.state());
  PrintDetails(context, {{"id", job.id()}, {"state", StateText(job.state())}}, record);
  if (job.state() != v1::Job::STATE_CANCELED) {
    PrintNote(context, "it had already ended: nothing was canceled");
  }
  return absl::OkStatus();
}

absl::Status Logs(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job, /*include_steps=*/false));
  const std::string source = job.reused_from().empty() ? job.id() : job.reused_from();
  if (source != job.id()) {
    PrintNote(context,
              absl::StrCat(job.id(), " reuses the result of ", source, ", whose log this is"));
  }
  const InterruptScope interrupt([&client] { client->CancelStreams(); });
  uint32_t attempt = 0;
  std::string all;  // only kept for one JSON value
  const absl::Status status =
      client->ReadLog(source, flags.offset, flags.follow, [&](const v1::ReadLogResponse& piece) {
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
          record["data"] = CleanUtf8(piece.data());
          context.out << analysis::JsonLine(record);
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
    record["log"] = CleanUtf8(all);
    PrintDetails(context, {}, record);
  }
  return absl::OkStatus();
}

absl::Status Outputs(CommandContext& context, const JobFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job, /*include_steps=*/false));
  const auto& artifacts = job.result().artifacts();
  const auto found = std::find_if(artifacts.begin(), artifacts.end(), [](const auto& artifact) {
    return artifact.kind() == v1::Artifact::KIND_OUTPUTS;
  });
  if (found == artifacts.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        job.id(), " has no outputs",
        job.reused_from().empty() ? "" : " in the result it took from ", job.reused_from(),
        ": expected a job that succeeded, wrote to {output}, and ran in a sweep ",
        "with keep: [outputs]"));
  }
  if (std::filesystem::exists(flags.out)) {
    return absl::AlreadyExistsError(
        absl::StrCat("--out: ", flags.out, " exists; expected the name of a new directory"));
  }
  CONCUR_ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(found->digest()));
  const std::string tar = absl::StrCat(absl::StripSuffix(flags.out, "/"), ".tar.part");
  absl::Status status;
  {
    FileDescriptor fd(open(tar.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) {
      return ErrnoStatus(errno, tar, "create");
    }
    status = client->StreamArtifact(
        digest, [&](absl::string_view piece) { return WriteAll(fd.get(), piece, tar); });
  }
  if (status.ok()) {
    status = ExtractDirectoryTar(tar, flags.out);
  }
  unlink(tar.c_str());
  CONCUR_RETURN_IF_ERROR(status);
  Json record = Json::object();
  record["job"] = job.id();
  record["directory"] = flags.out;
  PrintDetails(context, {{"written", flags.out}}, record);
  return absl::OkStatus();
}

Command* AddJob(Command* group, CommandContext& context, const std::string& name,
                const std::string& about, const std::shared_ptr<JobFlags>& flags,
                absl::Status (*work)(CommandContext&, const JobFlags&)) {
  Command* command = group->AddSubcommand(name, about);
  command->AddOption("job", flags->job, "A job, e.g. s12/345 or NAME/345")
      ->TypeName("JOB")
      ->Required();
  command->Footer(
      absl::StrCat("Examples:\n  concur job ", name, " s12/345\n  concur job ", name, " study/7"));
  OnRun(command, context, [flags, &context, work] { return work(context, *flags); });
  return command;
}

}  // namespace

void AddJobCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("job", "Look into the jobs of a sweep");
  group->RequireSubcommand();

  AddJobListCommand(*group, context);
  AddJob(group, context, "get", "One job: its result, files and attempts",
         std::make_shared<JobFlags>(), GetJob);
  AddJob(group, context, "explain", "Why a job waits, failed, or ran although it was done before",
         std::make_shared<JobFlags>(), ExplainJob);
  AddJob(group, context, "cancel", "End one job, and what waits for it; the sweep goes on",
         std::make_shared<JobFlags>(), CancelJob)
      ->Footer(
          "With a train job, the eval jobs that wait for it end, too. To run it after all: concur "
          "sweep retry.\nExamples:\n  concur job cancel s12/345\n  concur job cancel study/7");
  const auto output_flags = std::make_shared<JobFlags>();
  Command* outputs =
      AddJob(group, context, "outputs", "Files that a job left in {output}", output_flags, Outputs);
  outputs->AddOption("--out", output_flags->out, "A new directory to write them to")
      ->TypeName("DIR")
      ->Required();
  outputs->Footer("Examples:\n  concur job outputs s12/345 --out answers");
  const auto log_flags = std::make_shared<JobFlags>();
  Command* logs =
      AddJob(group, context, "logs", "What a job's latest attempt wrote", log_flags, Logs);
  logs->AddFlag("-f,--follow", log_flags->follow, "Go on until the attempt ends");
  logs->AddOption("--offset", log_flags->offset, "From this byte on")
      ->TypeName("BYTES")
      ->NotNegative();
  logs->Footer("Examples:\n  concur job logs -f s12/345\n  concur job logs study/7 > log.txt");
}

}  // namespace concur::cli
