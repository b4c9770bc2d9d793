// The whole cluster at a glance: what `concur top` shows of one look at the coordinator.
//
// Pure: figures and times in, text out. Thread-compatible.
#ifndef CONCUR_CLI_TOP_H_
#define CONCUR_CLI_TOP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {

// One look.
struct TopLook {
  absl::Time time;
  std::string server;
  std::vector<v1::Sweep> sweeps;  // newest first
  bool more_sweeps = false;       // there are older ones, which are not counted
  std::vector<v1::Worker> workers;
};

// How fast work gets done, from look to look, over the last minute; reused jobs left out.
class TopRates {
 public:
  void Add(const TopLook& look);
  double JobsPerSecond() const { return all_.PerSecond(); }
  // 0 for one that is not known.
  double OfSweep(const std::string& id) const;
  double OfWorker(const std::string& name) const;

 private:
  struct Meter {
    RateMeter rate;
    uint64_t done = 0;
    bool seen = false;  // in the latest look
  };
  static void Update(std::map<std::string, Meter>* meters, const std::string& name, absl::Time now,
                     uint64_t done, uint64_t* gained);
  static void Forget(std::map<std::string, Meter>* meters);

  RateMeter all_;
  uint64_t done_ = 0;  // of all sweeps that were ever seen: deleting one takes nothing away
  std::map<std::string, Meter> sweeps_;   // by id
  std::map<std::string, Meter> workers_;  // by name
};

// What all sweeps and workers of a look come to.
struct TopTotals {
  v1::StateCounts jobs;
  uint32_t sweeps_active = 0;
  uint32_t live = 0;
  uint32_t draining = 0;
  uint32_t lost = 0;
  v1::Resources used;  // of live and draining workers
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
std::string TopLine(const TopLook& look, const TopRates& rates);
// {"time", "server", "jobs", "cpus", …, "sweeps": […], "workers": […]}.
Json TopJson(const TopLook& look, const TopRates& rates);

}  // namespace concur::cli

#endif  // CONCUR_CLI_TOP_H_
