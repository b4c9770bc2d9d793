// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/provider.h"

#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"

namespace concur::provision {

std::vector<std::string> WorkerArguments(const PoolSpec& pool, const PilotSetup& setup) {
  std::vector<std::string> arguments = {
      "--coordinator", pool.coordinator.empty() ? setup.coordinator : pool.coordinator, "--cpus",
      absl::StrFormat("%.3f", static_cast<double>(pool.resources.cpu_millis) / 1000)};
  const auto add = [&arguments](const char* flag, std::string value) {
    arguments.push_back(flag);
    arguments.push_back(std::move(value));
  };
  if (pool.resources.memory_bytes > 0) {
    add("--memory", absl::StrCat(pool.resources.memory_bytes, "B"));
  }
  if (pool.resources.gpus > 0) {
    add("--gpus", absl::StrCat(pool.resources.gpus));
  }
  for (const auto& [name, value] : WorkerLabels(pool)) {
    if (name == kImageLabel && value != kAnyImage) {
      add("--image", value);
    } else if (name != kAnyEnvironmentLabel && name != kImageLabel) {  // the worker finds out
      add("--label", absl::StrCat(name, "=", value));
    }
  }
  for (const std::string& pattern : pool.env_pass) {
    add("--env-pass", pattern);
  }
  if (pool.time_limit != absl::InfiniteDuration()) {
    add("--time-limit", absl::StrCat(absl::ToInt64Seconds(pool.time_limit), "s"));
    add("--drain-margin", absl::StrCat(absl::ToInt64Seconds(pool.drain_margin), "s"));
  }
  // Nobody else ends a worker whose coordinator is gone for good.
  add("--orphan-timeout", "12h");
  return arguments;
}

std::string WorkerProgram(const PoolSpec& pool, const PilotSetup& setup) {
  return pool.worker_program.empty() ? setup.worker_program : pool.worker_program;
}

std::string OfferedWorkerPage(const OfferedWorker& worker) {
  return absl::StrCat("/worker/", worker.digest);
}

bool IsOpen(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsAborted(status);
}

std::vector<PilotReport> OnePerPilot(std::vector<PilotReport> reports) {
  const auto rank = [](PilotReport::State state) {
    return state == PilotReport::State::kRunning   ? 2
           : state == PilotReport::State::kPending ? 1
                                                   : 0;
  };
  std::map<std::string, PilotReport> best;
  for (PilotReport& report : reports) {
    const auto [it, inserted] = best.try_emplace(report.name, report);
    if (!inserted && rank(report.state) > rank(it->second.state)) {
      it->second = std::move(report);
    }
  }
  std::vector<PilotReport> kept;
  kept.reserve(best.size());
  for (auto& [name, report] : best) {
    kept.push_back(std::move(report));
  }
  return kept;
}

int64_t PilotNumber(const std::string& pilot) {
  int64_t number = 0;
  CONCUR_CHECK(absl::SimpleAtoi(pilot.substr(pilot.rfind('-') + 1), &number));
  return number;
}

}  // namespace concur::provision
