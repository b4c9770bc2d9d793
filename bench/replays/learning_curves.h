// SPDX-License-Identifier: Apache-2.0
// The learning curves made of what jobs report step by step.
//
// Values.
#ifndef CONCUR_BENCH_REPLAYS_LEARNING_CURVES_H_
#define CONCUR_BENCH_REPLAYS_LEARNING_CURVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/replays/early_stop_replay.h"

namespace concur::cli {

// The learning curves of one cell: an approach on a benchmark with a seed.
struct CellCurves {
  std::string approach;
  std::string benchmark;
  std::string seed;
  std::vector<int64_t> settings;  // their numbers, growing
  std::vector<LearningCurve> curves;
};

// Reads what `concur sweep steps -o csv` writes: the columns setting, step and value, and where
// they are there approach, benchmark, seed, name and seconds (of the whole training; else a step
// costs 1). Of several names only `metric` counts, which must then be stated. Steps from 0 on are
// counted from 1. In the order of the names. InvalidArgument, naming file and line.
absl::StatusOr<std::vector<CellCurves>> ParseCurves(absl::string_view text, const std::string& file,
                                                    const std::string& metric);

}  // namespace concur::cli

#endif  // CONCUR_BENCH_REPLAYS_LEARNING_CURVES_H_
