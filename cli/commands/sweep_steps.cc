// SPDX-License-Identifier: Apache-2.0
// `concur sweep steps`: what the jobs of a sweep reported while they ran.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/app/interrupt.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/study/learning_curves.h"
#include "command/command.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

struct StepsFlags {
  std::string sweep;
  std::string metric;
};

// Eval jobs of what was trained report nothing about training.
bool Reports(const v1::Job& job) {
  return (job.kind() == v1::Job::KIND_TRAIN || job.train_set().empty()) &&
         (job.attempt() > 0 || !job.reused_from().empty());
}

absl::Status AddSteps(Client& client, const v1::Job& job, const StepsFlags& flags,
                      Listing& listing) {
  const std::string& benchmark =
      job.kind() == v1::Job::KIND_TRAIN ? job.train_set() : job.test_benchmark();
  const double seconds = absl::ToDoubleSeconds(SpanOf(job.result().run_time()));
  const bool has_ended = job.has_result();
  const StepReader::Sink add = [&](const ReportedStep& step) {
    if (!flags.metric.empty() && step.name != flags.metric) {
      return;
    }
    listing.Add({job.id(), job.approach(), benchmark, absl::StrCat(job.setting_index()),
                 absl::StrCat(job.seed()), absl::StrCat(step.step), step.name,
                 absl::StrFormat("%.4f", step.value)},
                {{"job", job.id()},
                 {"approach", job.approach()},
                 {"benchmark", benchmark},
                 {"setting", job.setting_index()},
                 {"seed", job.seed()},
                 {"step", step.step},
                 {"name", step.name},
                 {"value", step.value},
                 {"seconds", has_ended ? Json(seconds) : Json()}});
  };
  StepReader reader;
  CONCUR_RETURN_IF_ERROR(
      client.ReadLog(job.id(), 0, /*follow=*/false,
                     [&](const v1::ReadLogResponse& piece) { reader.Add(piece.data(), add); }));
  reader.Finish(add);
  return absl::OkStatus();
}

absl::Status Steps(CommandContext& context, const StepsFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  const InterruptScope interrupt([&client] { client->CancelStreams(); });
  Listing listing(context,
                  {{"JOB"},
                   {.name = "APPROACH", .width_max = 30},
                   {.name = "BENCHMARK", .width_max = 30},
                   {.name = "SETTING", .is_number = true},
                   {.name = "SEED", .is_number = true},
                   {.name = "STEP", .is_number = true},
                   {"NAME"},
                   {.name = "VALUE", .is_number = true}},
                  {{"job", ""},
                   {"approach", ""},
                   {"benchmark", ""},
                   {"setting", 0},
                   {"seed", 0},
                   {"step", 0},
                   {"name", ""},
                   {"value", 0},
                   {"seconds", nullptr}},
                  "No job has reported anything.");
  v1::ListJobsRequest request;
  request.set_sweep(flags.sweep);
  std::vector<v1::Job> jobs;
  CONCUR_RETURN_IF_ERROR(client->ListJobs(std::move(request), 0, [&](v1::Job job) {
    if (Reports(job)) {
      jobs.push_back(std::move(job));
    }
    return true;
  }));
  size_t gone = 0;
  size_t running = 0;
  for (const v1::Job& job : jobs) {
    if (job.state() == v1::Job::STATE_RUNNING) {  // its log has no end yet
      ++running;
      continue;
    }
    const absl::Status status = AddSteps(*client, job, flags, listing);
    if (absl::IsNotFound(status)) {
      ++gone;
      continue;
    }
    CONCUR_RETURN_IF_ERROR(status);
  }
  listing.Print();
  if (gone > 0) {
    PrintNote(context, absl::StrCat(gone, " of ", jobs.size(),
                                    " logs are not kept (any more): their jobs are left out"));
  }
  if (running > 0) {
    PrintNote(context,
              absl::StrCat(running, running == 1 ? " job that runs is" : " jobs that run are",
                           " left out; concur job logs JOB --follow shows what one reports"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddSweepStepsCommand(Command& sweep, CommandContext& context) {
  Command* const command =
      sweep.AddSubcommand("steps", "What its jobs reported step by step: learning curves");
  const auto flags = std::make_shared<StepsFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by id or name")
      ->TypeName("SWEEP")
      ->Required();
  command->AddOption("--metric", flags->metric, "Only values of this name")->TypeName("NAME");
  command->Footer(
      "From the logs of train jobs that have ended, and of jobs that need no training: lines such\n"
      "as concur-metric {\"step\": 3, \"name\": \"f1\", \"value\": 71.5}.\n"
      "Examples:\n"
      "  concur sweep steps s12 --metric f1\n"
      "  concur sweep steps study -o csv > curves.csv && concur early-stop curves.csv");
  OnRun(command, context, [flags, &context] { return Steps(context, *flags); });
}

}  // namespace concur::cli
