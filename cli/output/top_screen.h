// SPDX-License-Identifier: Apache-2.0
// The whole cluster at a glance: what `concur top` shows of one look at the coordinator.
//
// Pure: figures and times in, text out. Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_TOP_SCREEN_H_
#define CONCUR_CLI_OUTPUT_TOP_SCREEN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/print.h"
#include "concur/v1/coordinator.pb.h"
#include "core/state/work_meter.h"

namespace concur::cli {

// One look.
struct TopLook {
  absl::Time time;
  std::string server;
  std::vector<v1::Sweep> sweeps;  // newest first
  bool more_sweeps = false;       // there are older ones, which are not counted
  std::vector<v1::Worker> workers;
  std::vector<v1::NamedResource> resources;
};

// Rates at which workers get work done, from look to look, over the last minute. Rates of sweeps
// are those that the coordinator measures (cli/output/estimate.h).
class TopRates {
 public:
  void Add(const TopLook& look);
  // 0 for one that is not known.
  double OfWorker(const std::string& name) const;

 private:
  std::map<std::string, WorkMeter> workers_;  // by name
  absl::Time time_;                           // when the latest look was taken
};

// Totals of all sweeps and workers of a look.
struct TopTotals {
  v1::StateCounts jobs;
  uint32_t sweeps_active = 0;
  uint32_t live = 0;
  uint32_t quarantined = 0;
  uint32_t draining = 0;
  uint32_t lost = 0;
  v1::Resources used;  // summed over all workers but lost ones
  v1::Resources capacity;
};
TopTotals AddUp(const TopLook& look);

struct TopFrameOptions {
  size_t width = 80;
  size_t height = 24;  // lines; 0: as many as there are
  bool color = false;
  bool unicode = true;
};

// A screenful: totals, sweeps that have not ended, workers. At most `height` lines of `width`
// columns, each with its line feed; what does not fit is counted.
std::string TopFrame(const TopLook& look, const TopRates& rates, const TopFrameOptions& options);
// One line that says the most, for a log.
std::string TopLine(const TopLook& look);
// {"time", "server", "jobs", "cpus", …, "sweeps": […], "workers": […]}.
Json TopJson(const TopLook& look, const TopRates& rates);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_TOP_SCREEN_H_
