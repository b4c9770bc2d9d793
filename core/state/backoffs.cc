// SPDX-License-Identifier: Apache-2.0
#include "core/state/backoffs.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"

namespace concur {
namespace {

// A wait is so many times what it would be without jitter.
constexpr double kJitterMin = 0.75;
constexpr double kJitterMax = 1.25;

}  // namespace

absl::Duration Backoffs::WaitAfter(const RetryPolicy& retry, int failures, AttemptId attempt,
                                   uint64_t seed) {
  absl::Duration wait = retry.backoff_min;
  for (int i = 1; i < failures && wait < retry.backoff_max; ++i) {
    wait *= 2;
  }
  Random jitter(seed,
                absl::StrCat("backoff ", attempt.job.ToString(), " ", attempt.attempt.number));
  return std::min(wait, retry.backoff_max) *
         (kJitterMin + (kJitterMax - kJitterMin) * jitter.Uniform());
}

absl::Duration Backoffs::LongestWait(const RetryPolicy& retry) {
  return retry.backoff_max * kJitterMax;
}

void Backoffs::Add(JobId job, absl::Time end) {
  CONCUR_CHECK(end_of_.emplace(job, end).second);
  by_end_.insert({end, job});
}

void Backoffs::Remove(JobId job) {
  const auto it = end_of_.find(job);
  CONCUR_CHECK(it != end_of_.end());
  by_end_.erase({it->second, job});
  end_of_.erase(it);
}

std::optional<absl::Time> Backoffs::EndOf(JobId job) const {
  const auto it = end_of_.find(job);
  return it == end_of_.end() ? std::nullopt : std::optional<absl::Time>(it->second);
}

absl::Time Backoffs::NextEnd() const {
  return by_end_.empty() ? absl::InfiniteFuture() : by_end_.begin()->first;
}

std::optional<JobId> Backoffs::FirstEnded(absl::Time now) const {
  if (by_end_.empty() || by_end_.begin()->first > now) {
    return std::nullopt;
  }
  return by_end_.begin()->second;
}

void Backoffs::CheckInvariants() const {
  CONCUR_CHECK(by_end_.size() == end_of_.size());
  for (const auto& [end, job] : by_end_) {
    CONCUR_CHECK(end_of_.at(job) == end);
  }
}

}  // namespace concur
