// SPDX-License-Identifier: Apache-2.0
// Durations of jobs, learned from those that succeeded: a mean per (approach, benchmark, train or
// eval). Means follow a sweep's axes, not its jobs: the memory does not grow with jobs.
//
// Sums are in whole microseconds, so that they do not depend on the order of additions and
// removals: a history rebuilt from stored results equals the one that was lost.
//
// Thread-compatible.
#ifndef CONCUR_CORE_STATE_DURATIONS_H_
#define CONCUR_CORE_STATE_DURATIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace concur {

class Durations {
 public:
  using Group = uint32_t;
  // Orders groups by expected duration, coarsely (four steps for every doubling), so that a queue
  // that is ordered by it seldom has to move anything. What is not known at all comes before the
  // longest: it should be learned early.
  using Rank = int32_t;
  static constexpr Rank kUnknownRank = INT32_MAX;
  using OnRank = absl::FunctionRef<void(Group, Rank)>;

  struct Mean {
    absl::Duration mean;
    uint64_t count = 0;  // jobs that it is the mean of
  };

  // `benchmark` is the train set of a train job, the test benchmark of an eval job.
  Group GroupOf(absl::string_view approach, absl::string_view benchmark, bool is_train);

  // The same group without making one; nullopt when there is none.
  std::optional<Group> FindGroup(absl::string_view approach, absl::string_view benchmark,
                                 bool is_train) const;

  // One more succeeded job, or one that no longer counts. Calls on_rank for each group whose rank
  // has changed. REQUIRES, for Remove: it was added.
  void Add(Group group, absl::Duration run_time, OnRank on_rank);
  void Remove(Group group, absl::Duration run_time, OnRank on_rank);

  // Sets the time that a group without any job of its own is expected to take, as a user says.
  void SetPrior(Group group, absl::Duration expected, OnRank on_rank);

  // The mean of the group; else its prior; else of the approach's jobs of this kind on other
  // benchmarks (with count 0); nullopt when there is none of these.
  std::optional<Mean> Expected(Group group) const;
  Rank RankOf(Group group) const { return groups_[group].rank; }
  // Microseconds that a job's run time counts: nothing below zero, and no more than years.
  static int64_t MicrosOf(absl::Duration run_time);
  // The rank of an expected duration.
  static Rank RankOf(absl::Duration expected);

  size_t size() const { return groups_.size(); }
  const std::string& approach(Group group) const { return families_[groups_[group].family].name; }
  const std::string& benchmark(Group group) const { return groups_[group].benchmark; }
  bool is_train(Group group) const { return families_[groups_[group].family].is_train; }

  // Microseconds of all jobs of a group, and their number: for checks.
  std::pair<int64_t, uint64_t> TotalOf(Group group) const;

 private:
  struct Total {
    int64_t micros = 0;
    uint64_t count = 0;
  };
  // The jobs of one approach and kind.
  struct Family {
    std::string name;
    bool is_train = false;
    Total total;
    Rank rank = kUnknownRank;
    std::vector<Group> groups;
  };
  struct GroupInfo {
    uint32_t family = 0;
    std::string benchmark;
    Total total;
    std::optional<absl::Duration> prior;
    Rank rank = kUnknownRank;
  };

  static Rank RankOf(const Total& total);
  void Change(Group group, int64_t micros, int64_t count, OnRank on_rank);
  void UpdateRank(Group group, OnRank on_rank);

  std::map<std::pair<std::string, bool>, uint32_t> family_index_;
  std::map<std::pair<uint32_t, std::string>, Group> group_index_;
  std::vector<Family> families_;
  std::vector<GroupInfo> groups_;
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_DURATIONS_H_
