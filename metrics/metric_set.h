// Numbers for Prometheus: a thin face over prometheus-cpp's registry, with one prefix for all
// names.
//
// Names are concur_…, end in _seconds, _bytes or _total where that is what they count, and have
// labels of few values only: never a sweep, a job or whatever else grows without limit.
//
// Thread-safe: counters and gauges are atomics, a histogram takes a lock of its own for as long as
// adding one number takes. A scrape holds none of them while it writes its text.
#ifndef CONCUR_METRICS_METRIC_SET_H_
#define CONCUR_METRICS_METRIC_SET_H_

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

// Bounds of histograms, in seconds.
std::vector<double> ShortSpans();  // 10 µs to 10 s: work inside a process
std::vector<double> LongSpans();   // 100 ms to a week: jobs
// Those that gRPC's proposal A66 asks of its clients' and servers' latencies: 10 µs to 100 s.
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

  // Once. Adds what this process uses: CPU time, memory, open files, its start; and the program's
  // version. Read anew for each Text.
  void AddProcess(const std::string& program, const std::string& version);

  // All of it in Prometheus' text format.
  std::string Text();

 private:
  struct Process;
  const std::unique_ptr<prometheus::Registry> registry_;
  Mutex mutex_;  // one scrape at a time reads the process
  std::unique_ptr<Process> process_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur

#endif  // CONCUR_METRICS_METRIC_SET_H_
