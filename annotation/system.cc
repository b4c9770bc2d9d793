// SPDX-License-Identifier: Apache-2.0
#include "annotation/system.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "worker/process.h"
#include "worker/process_tree.h"
#include "worker/served_system.h"

namespace concur::annotation {
namespace {

absl::StatusOr<worker::Process> StartSystem(const SystemOptions& options,
                                            const worker::Streams& streams) {
  worker::Command command;
  std::map<std::string, std::string> variables = worker::BaseEnvironment();
  CONCUR_ASSIGN_OR_RETURN(
      command.program,
      worker::FindProgram(options.command[0], variables["PATH"], options.directory));
  for (const auto& [name, value] : options.env) {
    variables[name] = value;
  }
  variables[worker::kRunDirectoryVariable] = options.directory;
  command.argv = options.command;
  for (const auto& [name, value] : variables) {
    command.env.push_back(absl::StrCat(name, "=", value));
  }
  command.directory = options.directory;
  worker::JobGroupPtr group;
  if (options.confinement != nullptr && options.confinement->has_sandbox()) {
    CONCUR_ASSIGN_OR_RETURN(command, options.confinement->Wrap(command));
  }
  if (options.confinement != nullptr && options.confinement->cgroups() != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(
        group, options.confinement->cgroups()->Take({.memory_bytes_max = options.memory_bytes_max,
                                                     .processes_max = options.processes_max}));
    command.group = group.get();
  }
  command.file_bytes_max = options.file_bytes_max;
  command.streams = streams;
  CONCUR_ASSIGN_OR_RETURN(worker::Process process, worker::StartProcess(command));
  process.group = std::move(group);
  return process;
}

class LocalSystem final : public System {
 public:
  LocalSystem(Clock& clock, const SystemOptions& options)
      : system_(clock, processes_, ServedOptions(options)) {
    CONCUR_CHECK(!options.command.empty());
  }

  absl::StatusOr<std::string> Answer(const std::string& passage,
                                     const std::string& question) override {
    return system_.Answer(passage, question);
  }
  void Cancel() override { canceled_ = true; }

 private:
  worker::ServedSystemOptions ServedOptions(const SystemOptions& options) {
    worker::ServedSystemOptions served;
    served.start = [options](const worker::Streams& streams) {
      return StartSystem(options, streams);
    };
    served.directory = options.directory;
    served.log = options.log;
    served.memory_bytes_max = options.memory_bytes_max;
    served.start_max = options.start_max;
    served.answer_max = options.answer_max;
    served.is_canceled = [this] { return canceled_.load(); };
    served.hint = [log = options.log] { return absl::StrCat(" (its log: ", log, ")"); };
    return served;
  }

  std::atomic<bool> canceled_ = false;
  worker::ProcessTable processes_;
  worker::ServedSystem system_;
};

}  // namespace

std::unique_ptr<System> MakeLocalSystem(Clock& clock, const SystemOptions& options) {
  return std::make_unique<LocalSystem>(clock, options);
}

}  // namespace concur::annotation
