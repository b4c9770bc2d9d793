// SPDX-License-Identifier: Apache-2.0
// Services of the executor: they have a port or a socket, are asked until they answer, and take the
// jobs that ask them along when they end.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/process/process_tree.h"
#include "base/status_macros.h"
#include "worker/execution/service_probe.h"
#include "worker/execution/subprocess_entry.h"
#include "worker/execution/subprocess_executor.h"

namespace concur::worker {
namespace {

constexpr absl::Duration kProbeInterval = absl::Milliseconds(100);
constexpr absl::Duration kProbeIntervalMax = absl::Seconds(1);

}  // namespace

absl::Status SubprocessExecutor::PrepareService(Entry& entry) {
  const std::string& socket = entry.paths.socket;
  if (socket.size() > kSocketBytesMax) {
    return absl::FailedPreconditionError(
        absl::StrCat("the path of a unix socket has at most ", kSocketBytesMax, " bytes, and ",
                     socket, " has ", socket.size(), ": give the worker a shorter --run-dir"));
  }
  if (!socket.empty()) {
    return MakeDirectories(socket.substr(0, socket.rfind('/')), 0700);
  }
  if (entry.order.id.job.IsService()) {
    CONCUR_ASSIGN_OR_RETURN(entry.port, FindFreePort());
    entry.paths.port = absl::StrCat(entry.port);
    return absl::OkStatus();
  }
  MutexLock lock(mu_);
  entry.services.clear();  // as they are when the job is prepared anew
  for (const auto& [name, id] : entry.order.services) {
    const auto it = entries_.find(id);
    const bool is_ready = it != entries_.end() && it->second->is_ready;
    entry.services.push_back(is_ready ? it->second : nullptr);
    entry.paths.services[name] =
        is_ready && !it->second->paths.socket.empty()
            ? it->second->paths.socket
            : absl::StrCat("http://127.0.0.1:", is_ready ? it->second->port : 0);
  }
  return absl::OkStatus();
}

bool SubprocessExecutor::HasServices(const Entry& entry, bool asks) const {
  {
    MutexLock lock(mu_);
    for (const EntryPtr& service : entry.services) {
      if (service == nullptr || !service->is_ready || service->stage != Entry::Stage::kRunning ||
          service->stopped.has_value()) {
        return false;
      }
    }
  }
  return !asks ||
         std::all_of(entry.services.begin(), entry.services.end(), [](const EntryPtr& service) {
           return ServiceAnswers(service->port, service->paths.socket, /*http_path=*/"");
         });
}

void SubprocessExecutor::ProbeService(const EntryPtr& entry, int tries) {
  {
    MutexLock lock(mu_);
    if (closing_ || entry->stage != Entry::Stage::kRunning || entry->stopped.has_value()) {
      return;
    }
  }
  // A port is free again until the service listens on it: another one may have got it meanwhile.
  if (ServiceAnswers(entry->port, entry->paths.socket, entry->order.ready_http) &&
      !process::AnotherAttemptListens(entry->port, entry->paths.directory)) {
    bool counts = false;
    {
      MutexLock lock(mu_);
      counts = entry->stage == Entry::Stage::kRunning && !entry->stopped.has_value();
      if (counts) {
        entry->is_ready = true;
        ready_.push_back(entry->order.id);
      }
    }
    if (counts) {
      on_report_();
    }
    return;
  }
  if (absl::Now() - entry->start_time >= entry->order.ready_within) {
    Stop(entry->order.id, StopCause::kNotReady, /*at_once=*/false);
    return;
  }
  pool_.SubmitAfter(std::min(kProbeInterval * (1 << std::min(tries, 4)), kProbeIntervalMax),
                    [this, entry, tries] { ProbeService(entry, tries + 1); });
}

void SubprocessExecutor::StopUsersOf(const AttemptId& service) {
  std::vector<AttemptId> users;
  {
    MutexLock lock(mu_);
    for (const auto& [id, entry] : entries_) {
      const auto& asked = entry->order.services;
      if (entry->stage != Entry::Stage::kEnded &&
          std::any_of(asked.begin(), asked.end(),
                      [&](const auto& one) { return one.second == service; })) {
        users.push_back(id);
      }
    }
  }
  for (const AttemptId& id : users) {
    Stop(id, StopCause::kService, /*at_once=*/false);
  }
}

std::vector<AttemptId> SubprocessExecutor::PollReady() {
  MutexLock lock(mu_);
  return std::exchange(ready_, {});
}

}  // namespace concur::worker
