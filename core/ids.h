// SPDX-License-Identifier: Apache-2.0
// The names of things that the coordinator counts. Values; ordered; hashable.
//
// A sweep is "s12"; a job is "s12/345": the 345th job of sweep 12, counted from 0 in the order of
// core/sweep/expansion.h. An attempt counts the executions of one job from 1; 0 means "never
// started".
#ifndef CONCUR_CORE_IDS_H_
#define CONCUR_CORE_IDS_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/fields.h"

namespace concur {

// Sweeps are numbered up to this: a number fits into 31 bits of the store's keys.
inline constexpr uint64_t kSweepNumberMax = 0x7fff'fffe;
inline constexpr uint32_t kJobsMax = 100'000'000;  // jobs of one sweep

struct SweepId {
  uint64_t number = 0;

  friend auto operator<=>(const SweepId&, const SweepId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SweepId& id) {
    return H::combine(std::move(h), id.number);
  }
  std::string ToString() const;
  // Accepts "s12". InvalidArgument otherwise.
  static absl::StatusOr<SweepId> Parse(absl::string_view text);
};

// A service is named by the job that it was started for, with this bit set, and above the job by
// its place among the services that the job asks: "s12/345 service", "s12/345 service 1".
inline constexpr uint32_t kServiceBit = 0x8000'0000;
inline constexpr int kServicePlaceShift = 27;
inline constexpr uint32_t kServicePlacesMax = 16;
static_assert(kJobsMax < 1U << kServicePlaceShift);

struct JobId {
  SweepId sweep;
  uint32_t index = 0;

  friend auto operator<=>(const JobId&, const JobId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const JobId& id) {
    return H::combine(std::move(h), id.sweep, id.index);
  }
  bool IsService() const { return (index & kServiceBit) != 0; }
  // A service that is started for this job: at place 0 its approach's own, at the others those of
  // NeedsOf (core/sweep/needs.h). And the job that a service was started for, with its place.
  JobId Service(uint32_t place = 0) const {
    return {sweep, index | kServiceBit | place << kServicePlaceShift};
  }
  JobId ServedJob() const {
    return {sweep, IsService() ? index & ((1U << kServicePlaceShift) - 1) : index};
  }
  uint32_t ServicePlace() const {
    return IsService() ? (index & ~kServiceBit) >> kServicePlaceShift : 0;
  }
  std::string ToString() const;
  // Accepts "s12/345". InvalidArgument otherwise.
  static absl::StatusOr<JobId> Parse(absl::string_view text);
};

struct Attempt {
  uint32_t number = 0;

  friend auto operator<=>(const Attempt&, const Attempt&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Attempt& attempt) {
    return H::combine(std::move(h), attempt.number);
  }
  Attempt Next() const { return Attempt{number + 1}; }
};

// One execution of one job: what a lease is for.
struct AttemptId {
  JobId job;
  Attempt attempt;

  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const AttemptId& id) {
    return H::combine(std::move(h), id.job, id.attempt);
  }
  // "s12/345 attempt 2".
  std::string ToString() const;
};

// InvalidArgument unless a sweep can have such a job, and the job such an attempt.
absl::Status CheckAttemptId(const FieldPath& path, const AttemptId& id);

}  // namespace concur

#endif  // CONCUR_CORE_IDS_H_
