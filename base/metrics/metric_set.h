// SPDX-License-Identifier: Apache-2.0
// Metrics for Prometheus: a thin wrapper around prometheus-cpp's registry.
//
// Names begin with concur_, end in _seconds, _bytes or _total where that is their unit, and have
// labels with few values only: never a sweep, a job or anything else without a bound.
//
// Thread-safe: counters and gauges are atomics, and a histogram locks itself while it adds a
// number. A scrape holds no lock while it writes its text.
#ifndef CONCUR_BASE_METRICS_METRIC_SET_H_
#define CONCUR_BASE_METRICS_METRIC_SET_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace prometheus {  // NOLINT(readability-identifier-naming): the library's
class Registry;
}

namespace concur {

// Bucket bounds of histograms, in seconds.
std::vector<double> ShortSpans();  // 10 µs to 10 s: work inside a process
std::vector<double> LongSpans();   // 100 ms to a week: jobs
// 10 µs to 100 s: those of gRPC's proposal A66 for latencies of calls.
std::vector<double> RpcSpans();

class MetricSet {
 public:
  using Labels = std::map<std::string, std::string>;

  MetricSet();
  ~MetricSet();
  MetricSet(const MetricSet&) = delete;
  MetricSet& operator=(const MetricSet&) = delete;

  // The same name and labels give the same object again, which lives as long as the set.
  // REQUIRES: a name has one kind and one help text.
  prometheus::Counter& Counter(const std::string& name, const std::string& help,
                               const Labels& labels = {});
  prometheus::Gauge& Gauge(const std::string& name, const std::string& help,
                           const Labels& labels = {});
  prometheus::Histogram& Histogram(const std::string& name, const std::string& help,
                                   const std::vector<double>& bounds, const Labels& labels = {});

  // Adds the CPU time, memory, open files and start time of this process, and the program's
  // version. Measured for each Text. REQUIRES: called once.
  void AddProcess(const std::string& program, const std::string& version);

  // All metrics in Prometheus' text format.
  std::string Text();

 private:
  struct Process;
  const std::unique_ptr<prometheus::Registry> registry_;
  Mutex mutex_;  // one scrape at a time reads the process
  std::unique_ptr<Process> process_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur

#endif  // CONCUR_BASE_METRICS_METRIC_SET_H_
