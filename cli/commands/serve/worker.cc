// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"
#include "core/labels.h"

namespace concur::cli {
namespace {

struct WorkerFlags {
  std::string worker;
  bool undo = false;
};

std::string CpusText(int64_t millis) {
  return millis % 1000 == 0 ? absl::StrCat(millis / 1000)
                            : absl::StrFormat("%.1f", static_cast<double>(millis) / 1000);
}

// "2/4"; "" when the worker has none of the resource.
std::string WorkerUse(const std::string& used, const std::string& capacity) {
  return absl::StrCat(used, "/", capacity);
}

std::string SeenText(const v1::Worker& worker) {
  return worker.has_last_seen_time() ? FormatIsoTime(absl::FromUnixSeconds(
                                           absl::ToUnixSeconds(TimeOf(worker.last_seen_time()))))
                                     : "";
}

// The labels that its options or its pool set, without those of its environments.
std::string LabelsText(const v1::Worker& worker) {
  std::map<std::string, std::string> labels(worker.labels().begin(), worker.labels().end());
  std::erase_if(labels, [](const auto& label) {
    return absl::StartsWith(label.first, kEnvironmentLabelPrefix);
  });
  return absl::StrJoin(labels, " ", absl::PairFormatter("="));
}

// Kinds of environments that it can make and run, a sandbox standing for roots and images:
// "bubblewrap registry python3.9 python3.11". `is_short`: of several versions of Python the first
// and the last.
std::string EnvironmentsText(const v1::Worker& worker, bool is_short) {
  std::vector<std::string> names;
  std::set<int> versions;  // 3.N; 0 stands for python3
  for (const auto& [label, value] :
       std::map<std::string, std::string>(worker.labels().begin(), worker.labels().end())) {
    absl::string_view name = label;
    int version = 0;
    if (!absl::ConsumePrefix(&name, kEnvironmentLabelPrefix) || name == "root") {
      continue;
    }
    if (label == kSandboxLabel) {
      names.insert(names.begin(), value);
    } else if (!absl::ConsumePrefix(&name, "python3")) {
      names.emplace_back(name);
    } else if (name.empty() || absl::SimpleAtoi(name.substr(1), &version)) {
      versions.insert(version);
    }
  }
  if (versions.size() > 1) {
    versions.erase(0);  // one of the others
  }
  const auto text = [](int version) {
    return version == 0 ? std::string("python3") : absl::StrCat("python3.", version);
  };
  if (is_short && versions.size() > 2) {
    names.push_back(absl::StrCat(text(*versions.begin()), "–3.", *versions.rbegin()));
  } else {
    for (const int version : versions) {
      names.push_back(text(version));
    }
  }
  return absl::StrJoin(names, " ");
}

absl::Status ListWorkers(CommandContext& context, const WorkerFlags&) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Worker> workers, client->ListWorkers());
  Listing listing(context,
                  {{.name = "NAME", .width_max = 24},
                   {.name = "STATE", .is_state = true},
                   {.name = "HOST", .drop = 2, .width_max = 30},
                   {"CPUS", true},
                   {.name = "MEMORY", .is_number = true, .drop = 1},
                   {"GPUS", true},
                   {"RUNNING", true},
                   {"DONE", true},
                   {"FAILED", true},
                   {.name = "CONTAINMENT", .drop = 4},
                   {.name = "ENVIRONMENTS", .drop = 5, .width_max = 40},
                   {.name = "LAST SEEN", .drop = 3}},
                  WorkerJson(v1::Worker()),
                  "No workers. Start one: concur-worker --coordinator ADDRESS");
  for (const v1::Worker& worker : workers) {
    const v1::Resources& used = worker.used();
    const v1::Resources& capacity = worker.capacity();
    listing.Add({worker.name(), StateText(worker.state()), worker.host(),
                 WorkerUse(CpusText(used.cpu_millis()), CpusText(capacity.cpu_millis())),
                 capacity.memory_bytes() == 0 ? ""
                                              : WorkerUse(BytesText(used.memory_bytes()),
                                                          BytesText(capacity.memory_bytes())),
                 capacity.gpus() == 0
                     ? ""
                     : WorkerUse(absl::StrCat(GpusOf(used)), absl::StrCat(capacity.gpus())),
                 RunningText(worker), CountText(worker.succeeded()), CountText(worker.failed()),
                 worker.containment().empty() ? "" : worker.containment(0),
                 EnvironmentsText(worker, /*is_short=*/true), SeenText(worker)},
                WorkerJson(worker));
  }
  listing.Print();
  for (const v1::Worker& worker : workers) {
    if (const std::string text = QuarantineText(worker); !text.empty()) {
      PrintNote(context, text);
    }
    for (const std::string& notice : worker.notices()) {
      PrintNote(context, absl::StrCat(worker.name(), ": ", notice));
    }
    for (const v1::Worker::Instance& service : worker.services()) {
      PrintNote(context, absl::StrCat("service ", ServiceText(worker, service)));
    }
  }
  return absl::OkStatus();
}

void PrintWorker(CommandContext& context, const v1::Worker& worker) {
  PrintDetails(context,
               {{"name", worker.name()},
                {"state", StateText(worker.state())},
                {"host", worker.host()},
                {"version", worker.version()},
                {"capacity", ResourcesText(worker.capacity())},
                {"used", ResourcesText(worker.used())},
                {"labels", LabelsText(worker)},
                {"running", RunningText(worker)},
                {"succeeded", CountText(worker.succeeded())},
                {"failed", CountText(worker.failed())},
                {"quarantine", worker.quarantine_reason()},
                {"containment", absl::StrJoin(worker.containment(), " ")},
                {"environments", EnvironmentsText(worker, /*is_short=*/false)},
                {"notices", absl::StrJoin(worker.notices(), "; ")},
                {"last seen", SeenText(worker)},
                {"incarnation", worker.incarnation()}},
               WorkerJson(worker));
}

absl::Status GetWorker(CommandContext& context, const WorkerFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Worker> workers, client->ListWorkers());
  std::vector<std::string> names;
  for (const v1::Worker& worker : workers) {
    if (worker.name() == flags.worker) {
      PrintWorker(context, worker);
      return absl::OkStatus();
    }
    names.push_back(worker.name());
  }
  return absl::NotFoundError(
      absl::StrCat("no worker \"", flags.worker, "\"", DidYouMean(flags.worker, names)));
}

absl::Status Drain(CommandContext& context, const WorkerFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  v1::DrainWorkerRequest request;
  request.set_worker(flags.worker);
  request.set_undo(flags.undo);
  CONCUR_ASSIGN_OR_RETURN(const v1::Worker worker, client->Call<v1::Worker>(request));
  PrintWorker(context, worker);
  return absl::OkStatus();
}

Command* AddWorker(Command* group, CommandContext& context, const std::string& name,
                   const std::string& about, const std::shared_ptr<WorkerFlags>& flags,
                   absl::Status (*work)(CommandContext&, const WorkerFlags&)) {
  Command* command = group->AddSubcommand(name, about);
  command->AddOption("worker", flags->worker, "A worker's name")->TypeName("WORKER")->Required();
  command->Footer(absl::StrCat("Examples:\n  concur worker ", name, " local-1"));
  OnRun(command, context, [flags, &context, work] { return work(context, *flags); });
  return command;
}

}  // namespace

void AddWorkerCommands(Command& app, CommandContext& context) {
  Command* group = app.AddSubcommand("worker", "Look at workers, and drain them");
  group->RequireSubcommand();
  Command* list = group->AddSubcommand("list", "Workers, by name");
  list->Footer("Examples:\n  concur worker list\n  concur worker list -o json");
  OnRun(list, context, [&context] { return ListWorkers(context, WorkerFlags()); });
  AddWorker(group, context, "get", "One worker", std::make_shared<WorkerFlags>(), GetWorker);
  const auto flags = std::make_shared<WorkerFlags>();
  Command* drain = AddWorker(
      group, context, "drain",
      "Let a worker finish its jobs and take no new ones, also after a restart", flags, Drain);
  drain->Footer("Examples:\n  concur worker drain node-7\n  concur worker drain node-7 --undo");
  drain->AddFlag("--undo", flags->undo, "Take work again; also ends a quarantine");
}

}  // namespace concur::cli
