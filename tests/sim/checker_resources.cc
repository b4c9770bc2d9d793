// SPDX-License-Identifier: Apache-2.0
// Named resources: no more is in use at any time than there is. An attempt holds its units from
// when it is saved as running until its process has ended, its worker's process is dead, or its
// worker's lease is over.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/checker.h"

namespace concur::sim {
namespace {

// By which attempts are saved later than they were given out, at most.
constexpr absl::Duration kCommitMax = absl::Seconds(10);

}  // namespace

Uses Checker::UsesOf(JobId id) const {
  const auto planned = planned_.find(id.sweep);
  if (planned == planned_.end()) {
    return {};
  }
  const Expansion& expansion = *workload_.sweeps[planned->second].expansion;
  const JobCoordinates at = expansion.Locate(id.index);
  return expansion.UsesOf(expansion.blocks()[at.block],
                          at.is_train ? std::nullopt : std::optional(at.test_benchmark));
}

void Checker::Give(const JobRow& row) {
  if (Uses uses = UsesOf(row.id); !uses.empty()) {
    given_[{row.id, row.attempt}] = {row.incarnation, std::move(uses), amounts_};
  }
}

// By its row, or by its worker.
bool Checker::Holds(const AttemptId& id, const Given& given) const {
  const auto row = rows_.find(id.job);
  return !given.is_excused &&
         (given.at_worker ||
          (row != rows_.end() && row->second.state == JobState::kRunning &&
           row->second.attempt == id.attempt && row->second.incarnation == given.incarnation));
}

// No more attempts are given out in a minute than the rate says, and those of a second or one at
// once. Coordinators in between make no difference.
void Checker::CheckRate(const std::string& name, absl::Time now) {
  const auto rate = workload_.rates.find(name);
  if (rate == workload_.rates.end()) {
    return;
  }
  std::vector<absl::Time>& starts = starts_[name];
  std::erase_if(starts, [&](absl::Time start) {
    return start > now || start <= now - absl::Minutes(1) + kCommitMax;
  });
  starts.push_back(now);
  if (static_cast<int64_t>(starts.size()) > rate->second + 1) {
    world_.Fail(absl::StrCat(starts.size(), " attempts that use ", name,
                             " were given out in a minute, which has ", rate->second));
  }
}

// The attempts that a turn has given out fit in what there is beside all others.
void Checker::CheckGiven(const std::vector<const JobRow*>& new_attempts, absl::Time now) {
  ForgetEnded(now);
  std::vector<AttemptId> fresh;
  for (const JobRow* row : new_attempts) {
    if (row->state == JobState::kRunning) {
      Give(*row);
      fresh.push_back({row->id, row->attempt});
    }
  }
  for (const AttemptId& id : fresh) {
    const auto given = given_.find(id);
    for (const auto& [name, units] : given == given_.end() ? Uses() : given->second.uses) {
      int64_t in_use = 0;
      for (const auto& [other, holder] : given_) {
        const auto use = holder.uses.find(name);
        in_use += use != holder.uses.end() && Holds(other, holder) ? use->second : 0;
      }
      CheckRate(name, now);
      used_up_ += in_use == amounts_[name] ? 1 : 0;
      if (in_use > amounts_[name]) {
        world_.Fail(absl::StrCat(id.ToString(), " was given out, and now ", in_use, " of ", name,
                                 " are in use, of which there are ", amounts_[name]));
      }
    }
  }
}

// Its process begins: those that run at workers had room beside each other when the last of them
// was given out.
void Checker::CheckUnitsAtStart(const AttemptId& id) {
  const auto given = given_.find(id);
  if (given == given_.end()) {
    return;
  }
  given->second.at_worker = true;
  for (const auto& [name, units] : given->second.uses) {
    int64_t in_use = 0;
    int64_t amount = 0;
    for (auto& [other, holder] : given_) {
      const auto use = holder.uses.find(name);
      if (use != holder.uses.end() && holder.at_worker && !holder.is_excused) {
        in_use += use->second;
        amount = std::max(amount, holder.amounts[name]);
      }
    }
    if (in_use > amount) {
      world_.Fail(absl::StrCat(id.ToString(), " was started, and now workers use ", in_use, " of ",
                               name, ", of which there were ", amount));
    }
  }
}

void Checker::ForgetEnded(absl::Time now) {
  for (auto& [id, given] : given_) {
    given.is_excused = given.is_excused || LeaseEndOf(given.incarnation) <= now;
  }
  std::erase_if(given_, [&](const auto& entry) {
    return !entry.second.at_worker && !Holds(entry.first, entry.second) &&
           !alive_.contains(entry.second.incarnation);
  });
}

void Checker::NoteAmounts(const Batch& batch) {
  for (const ResourceRow& row : batch.put_resources) {
    saved_amounts_[row.name] = row.amount;
  }
}

void Checker::LoadResources(const Snapshot& snapshot) {
  std::map<std::string, int64_t> loaded;
  for (const ResourceRow& row : snapshot.resources) {
    loaded[row.name] = row.amount;
  }
  std::map<std::string, int64_t> in_doubt = saved_amounts_;
  for (const ResourceRow& row : in_doubt_ ? in_doubt_->put_resources : std::vector<ResourceRow>()) {
    in_doubt[row.name] = row.amount;
  }
  if (loaded != saved_amounts_ && loaded != in_doubt) {
    world_.Fail("a restart changed how much of a named resource there is");
  }
  saved_amounts_ = loaded;
  for (const auto& [name, amount] : amounts_) {
    loaded.try_emplace(name, 0);
  }
  amounts_ = loaded;
}

}  // namespace concur::sim
