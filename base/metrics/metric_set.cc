// SPDX-License-Identifier: Apache-2.0
#include "base/metrics/metric_set.h"

#include <dirent.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"

namespace concur {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// From the second number of /proc/self/statm: resident pages.
double ResidentBytes() {
  constexpr int64_t kStatmBytesMax = 4096;
  const absl::StatusOr<std::string> statm = ReadFile("/proc/self/statm", kStatmBytesMax);
  if (!statm.ok()) {
    return 0;
  }
  const std::vector<std::string> fields = absl::StrSplit(*statm, ' ');
  int64_t pages = 0;
  return fields.size() > 1 && absl::SimpleAtoi(fields[1], &pages)
             ? static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE))
             : 0;
}

double OpenFiles() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) {
    return 0;
  }
  double count = -3;  // ".", ".." and the directory's own
  // The directory stream is local to this function.
  while (readdir(directory) != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    ++count;
  }
  closedir(directory);
  return count;
}

}  // namespace

std::vector<double> ShortSpans() {
  return {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10};
}

std::vector<double> LongSpans() {
  return {0.1, 0.3, 1, 3, 10, 30, 60, 300, 900, 3600, 4 * 3600.0, 86400, 7 * 86400.0};
}

std::vector<double> RpcSpans() {
  return {0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004,
          0.005,   0.006,   0.008,  0.01,   0.013,  0.016,  0.02,  0.025, 0.03,  0.04,
          0.05,    0.065,   0.08,   0.1,    0.13,   0.16,   0.2,   0.25,  0.3,   0.4,
          0.5,     0.65,    0.8,    1,      2,      5,      10,    20,    50,    100};
}

struct MetricSet::Process {
  prometheus::Counter& cpu;
  prometheus::Gauge& memory;
  prometheus::Gauge& files;
};

MetricSet::MetricSet() : registry_(std::make_unique<prometheus::Registry>()) {}

MetricSet::~MetricSet() = default;

prometheus::Counter& MetricSet::Counter(const std::string& name, const std::string& help,
                                        const Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_).Add(labels);
}

prometheus::Gauge& MetricSet::Gauge(const std::string& name, const std::string& help,
                                    const Labels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry_).Add(labels);
}

prometheus::Histogram& MetricSet::Histogram(const std::string& name, const std::string& help,
                                            const std::vector<double>& bounds,
                                            const Labels& labels) {
  return prometheus::BuildHistogram()
      .Name(name)
      .Help(help)
      .Register(*registry_)
      .Add(labels, bounds);
}

void MetricSet::AddProcess(const std::string& program, const std::string& version) {
  Gauge("concur_build_info", "1, with the program and its version",
        {{"program", program}, {"version", version}})
      .Set(1);
  Gauge("concur_process_start_time_seconds", "When the process started, since the epoch")
      .Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  MutexLock lock(mutex_);
  process_ = std::make_unique<Process>(
      Process{Counter("concur_process_cpu_seconds_total", "CPU time of the process itself"),
              Gauge("concur_process_resident_memory_bytes", "Memory of the process itself"),
              Gauge("concur_process_open_fds", "Open files and connections of the process")});
}

std::string MetricSet::Text() {
  {
    MutexLock lock(mutex_);
    if (process_ != nullptr) {
      const double more = CpuSeconds() - process_->cpu.Value();
      process_->cpu.Increment(more > 0 ? more : 0);
      process_->memory.Set(ResidentBytes());
      process_->files.Set(OpenFiles());
    }
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, registry_->Collect());
  return std::move(text).str();
}

}  // namespace concur
