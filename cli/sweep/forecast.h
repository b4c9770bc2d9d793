// SPDX-License-Identifier: Apache-2.0
// Forecasts how long a sweep takes on given workers (core/scheduler/forecast.h), with durations
// from a file or from a coordinator's history.
//
// Thread-compatible.
#ifndef CONCUR_CLI_SWEEP_FORECAST_H_
#define CONCUR_CLI_SWEEP_FORECAST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/app/context.h"
#include "cli/output/print.h"
#include "core/scheduler/forecast.h"
#include "core/sweep/sweep.h"

namespace concur::cli {

struct ForecastFlags {
  int64_t workers = 0;  // 0: the coordinator's live ones
  int64_t slots = 0;    // jobs at a time of each, whatever they ask for; 0: by resources
  std::string cpus;     // resources of each worker
  std::string memory;
  int64_t gpus = 0;
  std::string durations;               // a CSV file; "": the coordinator's history
  std::vector<std::string> resources;  // NAME=N[/PER_MINUTE], beside the coordinator's
  double spread = 0;                   // for durations, where the file has none
  double turnaround_ms = 5;
  double price = 0;  // price of a worker for an hour
  uint64_t seed = 1;
};

// --workers, --slots, --cpus, --memory, --gpus, --resource, --durations, --spread, --turnaround,
// --price and
// --seed. `flags` outlives the parsing.
void AddForecastOptions(Command* command, ForecastFlags& flags);

// Expected durations by approach, benchmark and kind, and loads of services by approach.
class DurationTable {
 public:
  // Columns approach, benchmark, kind ("train", "eval", or "service" for loading one) and seconds;
  // optionally spread, a fraction of the mean. "*" stands for every approach or every benchmark,
  // and is the benchmark of services; what is named most exactly counts, the approach before the
  // benchmark. InvalidArgument, as `FILE:LINE: …`.
  static absl::StatusOr<DurationTable> Parse(absl::string_view text, const std::string& file,
                                             double spread);
  // InvalidArgument when this kind of jobs stands there already.
  absl::Status Add(const std::string& approach, const std::string& benchmark, bool is_train,
                   const ExpectedDuration& expected);
  ExpectedDuration Find(absl::string_view approach, absl::string_view benchmark,
                        bool is_train) const;
  // InvalidArgument as Add.
  absl::Status AddLoad(const std::string& approach, absl::Duration load);
  std::optional<absl::Duration> FindLoad(const std::string& approach) const;
  size_t size() const { return expected_.size(); }

 private:
  struct Key {
    std::string approach;
    std::string benchmark;
    bool is_train = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, ExpectedDuration> expected_;
  std::map<std::string, absl::Duration> loads_;
};

// Asks the coordinator for what the flags do not say. InvalidArgument when a duration is not known
// or a job fits nowhere.
absl::StatusOr<Forecast> MakeForecast(CommandContext& context, const ForecastFlags& flags,
                                      SweepSpec spec);

// For people and for programs.
std::vector<std::pair<std::string, std::string>> ForecastLines(const Forecast& forecast,
                                                               double price);
Json ForecastJson(const Forecast& forecast, double price);

}  // namespace concur::cli

#endif  // CONCUR_CLI_SWEEP_FORECAST_H_
