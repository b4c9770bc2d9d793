// SPDX-License-Identifier: Apache-2.0
// Everything a worker needs to carry out one attempt: pure data, made from a sweep's expansion.
//
// Values.
#ifndef CONCUR_CORE_SYNC_JOB_ORDER_H_
#define CONCUR_CORE_SYNC_JOB_ORDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/digest.h"
#include "core/ids.h"
#include "core/resources.h"
#include "core/result.h"
#include "core/sweep/expansion.h"
#include "core/sweep/params.h"
#include "core/sweep/sweep.h"

namespace concur {

struct JobOrder {
  // One data file that the job reads. The worker has it locally or downloads it by digest.
  struct Input {
    std::string name;  // the benchmark's
    Digest digest;
    int64_t bytes = 0;
    std::string suffix;
    int64_t examples_max = 0;  // limit for a mixture's part; 0: all
  };

  // The code of the approach, as {code}.
  struct CodeInput {
    Digest digest;  // the artifact's
    int64_t bytes = 0;
    Digest key;  // KeyOfCode of its files
  };

  // A secret of the owner, for one environment variable. `value` is set as the order is sent, and
  // empty where the owner has no such secret.
  struct Secret {
    std::string name;
    std::string value;
  };

  AttemptId id;
  bool is_train = false;
  std::string owner;
  std::string sweep_name;
  std::string approach;
  std::string benchmark;  // the train set of a train job, the test benchmark of an eval job
  std::vector<std::string> command;  // argv with placeholders
  // The script that the command's first word was on the submitting machine, where it lies in no
  // code. Another one there is an error: the result's key has this one.
  std::optional<Digest> program;
  std::map<std::string, std::string> env;
  std::map<std::string, Secret> secrets;  // by variable; values are never logged or kept
  std::optional<CodeInput> code;
  std::optional<Environment> environment;
  Setting setting;
  uint32_t setting_index = 0;
  int64_t seed = 0;
  Resources resources;
  // It holds units of a named resource, which another attempt may get once this worker's lease has
  // ended: the worker stops it before.
  bool holds_units = false;
  uint64_t gpu_mask = 0;
  absl::Duration timeout = absl::InfiniteDuration();

  // Train jobs: one input, or several to be mixed (qa/builders/mixture.h) with `mixture_seed`.
  std::vector<Input> train;
  bool is_mixture = false;
  uint64_t mixture_seed = 0;
  // Files that the command reads as {validation}: none, one, or several to be mixed likewise.
  std::vector<Input> validation;
  std::optional<Checkpoint> checkpoint;  // that it goes on from

  // System of its source (core/sweep/expansion.h): what an eval job evaluates, what a train job
  // starts from. Zero without one.
  Digest system;
  int64_t system_bytes = 0;

  // Eval jobs that ask services: the instances, which run on the same worker, by the names of their
  // approaches; "": the job's own.
  std::map<std::string, AttemptId> services;
  // When a service itself (id.job.IsService()) is ready.
  std::string ready_http;
  absl::Duration ready_within = absl::InfiniteDuration();

  // Eval jobs: the test data.
  Input test;
  DataFormat format = DataFormat::kQa;

  KeepPolicy keep;
};

// InvalidArgument, naming the field within `path`, when a value is beyond what a valid sweep
// implies.
absl::Status ValidateJobOrder(const JobOrder& order, const FieldPath& path);

// The order for one attempt, without a checkpoint. `system` and `system_bytes` come from the result
// of its source.
// REQUIRES: id.job.index < expansion.job_count().
JobOrder MakeJobOrder(const Expansion& expansion, AttemptId id, const std::string& owner,
                      uint64_t gpu_mask, const Digest& system, int64_t system_bytes);

}  // namespace concur

#endif  // CONCUR_CORE_SYNC_JOB_ORDER_H_
