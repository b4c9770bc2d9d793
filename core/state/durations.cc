// SPDX-License-Identifier: Apache-2.0
#include "core/state/durations.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"

namespace concur {
namespace {

// The longest time that is counted for a job.
constexpr int64_t kMicrosMax = int64_t{10'000} * 24 * 3600 * 1'000'000;

}  // namespace

int64_t Durations::MicrosOf(absl::Duration run_time) {
  return std::clamp(absl::ToInt64Microseconds(run_time), int64_t{0}, kMicrosMax);
}

Durations::Group Durations::GroupOf(absl::string_view approach, absl::string_view benchmark,
                                    bool is_train) {
  const auto [family, new_family] = family_index_.try_emplace(
      {std::string(approach), is_train}, static_cast<uint32_t>(families_.size()));
  if (new_family) {
    families_.push_back(
        {.name = std::string(approach), .is_train = is_train, .total = {}, .groups = {}});
  }
  const auto [group, new_group] = group_index_.try_emplace({family->second, std::string(benchmark)},
                                                           static_cast<Group>(groups_.size()));
  if (new_group) {
    groups_.push_back({.family = family->second,
                       .benchmark = std::string(benchmark),
                       .total = {},
                       .prior = std::nullopt,
                       .rank = families_[family->second].rank});
    families_[family->second].groups.push_back(group->second);
  }
  return group->second;
}

std::optional<Durations::Group> Durations::FindGroup(absl::string_view approach,
                                                     absl::string_view benchmark,
                                                     bool is_train) const {
  const auto family = family_index_.find({std::string(approach), is_train});
  if (family == family_index_.end()) {
    return std::nullopt;
  }
  const auto group = group_index_.find({family->second, std::string(benchmark)});
  return group == group_index_.end() ? std::nullopt : std::optional<Group>(group->second);
}

Durations::Rank Durations::RankOf(absl::Duration expected) {
  // The position of the highest bit, then the next two bits: in whole numbers, the same everywhere.
  const auto value = static_cast<uint64_t>(MicrosOf(expected)) * 4 + 4;
  const int high = static_cast<int>(std::bit_width(value)) - 1;
  return high * 4 + static_cast<Rank>((value >> (high - 2)) & 3);
}

Durations::Rank Durations::RankOf(const Total& total) {
  return total.count == 0
             ? kUnknownRank
             : RankOf(absl::Microseconds(total.micros / static_cast<int64_t>(total.count)));
}

void Durations::UpdateRank(Group group, OnRank on_rank) {
  GroupInfo& info = groups_[group];
  const Rank rank = info.total.count > 0 ? RankOf(info.total)
                    : info.prior         ? RankOf(*info.prior)
                                         : families_[info.family].rank;
  if (rank != info.rank) {
    info.rank = rank;
    on_rank(group, rank);
  }
}

void Durations::Change(Group group, int64_t micros, int64_t count, OnRank on_rank) {
  CONCUR_CHECK(group < groups_.size());
  Family& family = families_[groups_[group].family];
  for (Total* total : {&groups_[group].total, &family.total}) {
    CONCUR_CHECK(count > 0 || (total->count > 0 && total->micros + micros >= 0));
    total->micros += micros;
    total->count += static_cast<uint64_t>(count);
  }
  const Rank rank = RankOf(family.total);
  if (rank != family.rank) {
    family.rank = rank;
    for (const Group other : family.groups) {
      UpdateRank(other, on_rank);
    }
  } else {
    UpdateRank(group, on_rank);
  }
}

void Durations::Add(Group group, absl::Duration run_time, OnRank on_rank) {
  Change(group, MicrosOf(run_time), 1, on_rank);
}

void Durations::Remove(Group group, absl::Duration run_time, OnRank on_rank) {
  Change(group, -MicrosOf(run_time), -1, on_rank);
}

void Durations::SetPrior(Group group, absl::Duration expected, OnRank on_rank) {
  CONCUR_CHECK(group < groups_.size());
  groups_[group].prior = expected;
  UpdateRank(group, on_rank);
}

std::optional<Durations::Mean> Durations::Expected(Group group) const {
  CONCUR_CHECK(group < groups_.size());
  const Total& own = groups_[group].total;
  const Total& all = families_[groups_[group].family].total;
  if (own.count == 0 && groups_[group].prior) {
    return Mean{*groups_[group].prior, 0};
  }
  const Total& total = own.count > 0 ? own : all;
  if (total.count == 0) {
    return std::nullopt;
  }
  return Mean{absl::Microseconds(total.micros / static_cast<int64_t>(total.count)), own.count};
}

std::pair<int64_t, uint64_t> Durations::TotalOf(Group group) const {
  return {groups_[group].total.micros, groups_[group].total.count};
}

}  // namespace concur
