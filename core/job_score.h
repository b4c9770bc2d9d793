// SPDX-License-Identifier: Apache-2.0
// The score of one eval job, with its approach, benchmark, setting and seed.
//
// A value.
#ifndef CONCUR_CORE_JOB_SCORE_H_
#define CONCUR_CORE_JOB_SCORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/ids.h"
#include "core/job.h"
#include "core/result.h"

namespace concur {

struct JobScore {
  JobId job;
  JobState state = JobState::kReady;
  std::string approach;
  std::string train_set;  // "" when the approach needs no training
  std::string test_benchmark;
  uint32_t setting = 0;
  int64_t seed = 0;
  std::string metric;
  std::optional<double> value;             // unset unless the job succeeded and reported the metric
  int64_t examples = 0;                    // that the value is the mean of; 0 when unknown
  std::optional<MetricInterval> interval;  // the value's, at 95 % confidence
  std::vector<Metric> parts = {};          // the metric on each part of the test set that has it
  // The worker that ran the job, and how long its command took; "" and 0 until it has ended with a
  // result.
  std::string worker;
  absl::Duration run_time;

  // The train set that the scored system counts under: an approach that needs no training counts
  // as trained on what it is tested on.
  const std::string& TrainedOn() const { return train_set.empty() ? test_benchmark : train_set; }

  friend bool operator==(const JobScore&, const JobScore&) = default;
};

}  // namespace concur

#endif  // CONCUR_CORE_JOB_SCORE_H_
