// SPDX-License-Identifier: Apache-2.0
// `concur sweep steps`: what the jobs of a sweep reported while they ran.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

struct StepsFlags {
  std::string sweep;
  std::string metric;
};

void AddSteps(const v1::Job& job, const StepsFlags& flags, Listing& listing) {
  const std::string& benchmark =
      job.kind() == v1::Job::KIND_TRAIN ? job.train_set() : job.test_benchmark();
  const Json seconds =
      job.has_result() ? Json(absl::ToDoubleSeconds(SpanOf(job.result().run_time()))) : Json();
  for (const v1::StepRecord& step : job.steps()) {
    if (!flags.metric.empty() && step.name() != flags.metric) {
      continue;
    }
    listing.Add({job.id(), job.approach(), benchmark, absl::StrCat(job.setting_index()),
                 absl::StrCat(job.seed()), absl::StrCat(step.step()), step.name(),
                 absl::StrFormat("%.4f", step.value())},
                {{"job", job.id()},
                 {"approach", job.approach()},
                 {"benchmark", benchmark},
                 {"setting", job.setting_index()},
                 {"seed", job.seed()},
                 {"step", step.step()},
                 {"name", step.name()},
                 {"value", step.value()},
                 {"seconds", seconds}});
  }
}

absl::Status Steps(CommandContext& context, const StepsFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
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
  std::vector<std::string> jobs;
  uint32_t silent = 0;  // train jobs
  CONCUR_RETURN_IF_ERROR(client->ListJobs(std::move(request), 0, [&](const v1::Job& job) {
    // Eval jobs of what was trained report nothing about training.
    if (job.step_count() > 0 && (job.kind() == v1::Job::KIND_TRAIN || job.train_set().empty())) {
      jobs.push_back(job.id());
    } else if (job.kind() == v1::Job::KIND_TRAIN) {
      ++silent;
    }
    return true;
  }));
  uint32_t deleted = 0;
  for (const std::string& id : jobs) {
    const absl::StatusOr<v1::Job> job = client->GetJob(id, /*include_steps=*/true);
    if (absl::IsNotFound(job.status())) {
      ++deleted;
      continue;
    }
    CONCUR_RETURN_IF_ERROR(job.status());
    AddSteps(*job, flags, listing);
  }
  listing.Print();
  if (deleted > 0) {
    PrintNote(context, absl::StrCat("jobs deleted meanwhile, which are missing: ", deleted));
  }
  if (silent > 0 && !jobs.empty()) {
    PrintNote(context, absl::StrCat("train jobs without reports: ", silent));
  }
  return absl::OkStatus();
}

}  // namespace

void AddSweepStepsCommand(Command& sweep, CommandContext& context) {
  Command* const command =
      sweep.AddSubcommand("steps", "Values that jobs reported step by step: learning curves");
  const auto flags = std::make_shared<StepsFlags>();
  command->AddOption("sweep", flags->sweep, "A sweep, by id or name")
      ->TypeName("SWEEP")
      ->Required();
  command->AddOption("--metric", flags->metric, "Only values of this name")->TypeName("NAME");
  command->Footer(
      "Values of train jobs, and of jobs that need no training, also while they run, from\n"
      "lines such as concur-metric {\"step\": 3, \"name\": \"f1\", \"value\": 71.5}.\n"
      "Examples:\n"
      "  concur sweep steps s12 --metric f1\n"
      "  concur sweep steps study -o csv > curves.csv");
  OnRun(command, context, [flags, &context] { return Steps(context, *flags); });
}

}  // namespace concur::cli
