// What of a sweep is given up early: where all that has ended failed, nothing more is tried.
//
// A scope is a set of jobs that may share a cause: one approach on one train set, the same on one
// test, an approach, a train set, a test benchmark. It is given up once `failures_max_per_block` of
// its jobs failed for good and none succeeded, of every approach in every setting (or of as many of
// these as that number), not all on one worker while there are others, and, for the last three, on
// at least two of the other axis.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/scheduler.h"

namespace concur {
namespace {

// A scope that has failed so many times its limit is looked at more seldom: that costs time by the
// number of its jobs.
constexpr uint32_t kLimitsLookedAtMax = 4;

// Where the jobs of one kind stand in each cell of a block: its train job, or one of its tests.
uint32_t KindOf(const Block& block, const JobCoordinates& at) {
  return at.is_train ? 0 : (block.has_train ? 1 : 0) + at.test_ordinal;
}

}  // namespace

struct Scheduler::Scope {
  enum class What { kBlock, kBlockTest, kApproach, kTrainSet, kBenchmark };
  What what = What::kBlock;
  std::vector<uint32_t> blocks;
  std::optional<uint32_t> test;  // only the eval jobs on this benchmark

  // Calls visit(block, kind) for every kind of jobs in it.
  template <typename Visit>
  void ForEachKind(const Expansion& expansion, Visit visit) const {
    for (const uint32_t index : blocks) {
      const Block& block = expansion.blocks()[index];
      if (!test) {
        for (uint32_t kind = 0; kind < block.JobsPerCell(); ++kind) {
          visit(index, kind);
        }
        continue;
      }
      const auto it = std::lower_bound(block.tests.begin(), block.tests.end(), *test);
      if (it != block.tests.end() && *it == *test) {
        visit(index, (block.has_train ? 1 : 0) + static_cast<uint32_t>(it - block.tests.begin()));
      }
    }
  }
};

Scheduler::Tally& Scheduler::TallyOf(SweepRecord& sweep, uint32_t job) {
  const JobCoordinates at = sweep.expansion->Locate(job);
  return sweep.tallies[at.block][KindOf(sweep.expansion->blocks()[at.block], at)];
}

// Those that the job is in and in which nothing near it has succeeded, the narrowest first.
std::vector<Scheduler::Scope> Scheduler::ScopesOf(const SweepRecord& sweep, uint32_t job) {
  const std::vector<Block>& blocks = sweep.expansion->blocks();
  const JobCoordinates at = sweep.expansion->Locate(job);
  const Block& own = blocks[at.block];
  const auto& tallies = sweep.tallies[at.block];
  const bool block_failed = std::all_of(tallies.begin(), tallies.end(),
                                        [](const Tally& tally) { return tally.succeeded == 0; });
  const bool test_failed = !at.is_train && tallies[KindOf(own, at)].succeeded == 0;
  const auto blocks_where = [&](auto is_like) {
    std::vector<uint32_t> like;
    for (uint32_t index = 0; index < blocks.size(); ++index) {
      if (is_like(blocks[index])) {
        like.push_back(index);
      }
    }
    return like;
  };
  std::vector<Scope> scopes;
  if (block_failed) {
    scopes.push_back({Scope::What::kBlock, {at.block}, std::nullopt});
  }
  if (test_failed) {
    scopes.push_back({Scope::What::kBlockTest, {at.block}, at.test_benchmark});
  }
  if (block_failed) {
    scopes.push_back({Scope::What::kApproach, blocks_where([&](const Block& block) {
                        return block.approach == own.approach;
                      }),
                      std::nullopt});
  }
  if (block_failed && own.has_train) {
    scopes.push_back({Scope::What::kTrainSet, blocks_where([&](const Block& block) {
                        return block.has_train && block.train_set == own.train_set;
                      }),
                      std::nullopt});
  }
  if (test_failed) {
    scopes.push_back({Scope::What::kBenchmark, blocks_where([&](const Block& block) {
                        return std::binary_search(block.tests.begin(), block.tests.end(),
                                                  at.test_benchmark);
                      }),
                      at.test_benchmark});
  }
  return scopes;
}

// Whether so much of the scope failed that it may be given up, and none of it succeeded.
bool Scheduler::FailedAltogether(const SweepRecord& sweep, const Scope& scope, uint32_t* failed) {
  const Expansion& expansion = *sweep.expansion;
  const uint32_t limit = expansion.spec().failures_max_per_block;
  *failed = 0;
  bool succeeded = false;
  std::set<uint32_t> others;  // of the other axis, that failed
  scope.ForEachKind(expansion, [&](uint32_t index, uint32_t kind) {
    const Tally& tally = sweep.tallies[index][kind];
    *failed += tally.failed;
    succeeded = succeeded || tally.succeeded > 0;
    if (tally.failed > 0) {
      const Block& block = expansion.blocks()[index];
      others.insert(scope.what == Scope::What::kApproach ? block.train_set : block.approach);
    }
  });
  const bool is_wide = scope.what != Scope::What::kBlock && scope.what != Scope::What::kBlockTest;
  return limit > 0 && *failed >= limit && !succeeded && (!is_wide || others.size() >= 2);
}

// REQUIRES: FailedAltogether.
bool Scheduler::IsHopeless(const SweepRecord& sweep, const Scope& scope, uint32_t failed) const {
  const Expansion& expansion = *sweep.expansion;
  const uint32_t limit = expansion.spec().failures_max_per_block;
  if (failed / limit >= kLimitsLookedAtMax && failed % limit != 0) {
    return false;
  }
  const auto seeds = static_cast<uint32_t>(expansion.spec().seeds.size());
  std::set<std::string> workers;                      // that failed
  std::set<std::pair<uint32_t, uint32_t>> settings;   // in which jobs failed, by approach
  std::map<uint32_t, uint32_t> settings_of_approach;  // in the scope
  scope.ForEachKind(expansion, [&](uint32_t index, uint32_t kind) {
    const Block& block = expansion.blocks()[index];
    settings_of_approach[block.approach] = block.settings;
    for (uint32_t cell = 0; sweep.tallies[index][kind].failed > 0 && cell < block.cells; ++cell) {
      const Slot& slot = sweep.slots[block.first_job + cell * block.JobsPerCell() + kind];
      if (slot.state == JobState::kFailed) {
        const uint32_t holder = sweep.results[slot.result].holder;
        workers.insert(holder == kNone ? "" : holders_[holder].worker);
        settings.insert({block.approach, cell / seeds});
      }
    }
  });
  size_t settings_of_all = 0;
  for (const auto& [approach, count] : settings_of_approach) {
    settings_of_all += count;
  }
  if (settings.size() < std::min<size_t>(limit, settings_of_all)) {
    return false;  // another setting may do
  }
  // Blame before action: one worker's failures say nothing while there are others to try.
  return workers.size() > 1 ||
         std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
           return !entry.second->lost && !workers.contains(entry.first);
         });
}

std::string Scheduler::TextOf(const SweepRecord& sweep, const Scope& scope, uint32_t failed) {
  const SweepSpec& spec = sweep.expansion->spec();
  const Block& first = sweep.expansion->blocks()[scope.blocks.front()];
  const std::string approach = absl::StrCat("approach ", spec.approaches[first.approach].name);
  const std::string train_set =
      first.has_train ? absl::StrCat("train set ", spec.train_sets[first.train_set].name) : "";
  const std::string benchmark =
      scope.test ? absl::StrCat("benchmark ", spec.benchmarks[*scope.test].name) : "";
  const std::string on_train_set = first.has_train ? absl::StrCat(" on ", train_set) : "";
  std::string text;
  switch (scope.what) {
    case Scope::What::kBlock:
      text = absl::StrCat(approach, " fails", on_train_set);
      break;
    case Scope::What::kBlockTest:
      text = absl::StrCat(approach, on_train_set, " fails on ", benchmark);
      break;
    case Scope::What::kApproach:
      text = absl::StrCat(approach, " fails everywhere");
      break;
    case Scope::What::kTrainSet:
      text = absl::StrCat(train_set, " fails with every approach");
      break;
    case Scope::What::kBenchmark:
      text = absl::StrCat(benchmark, " fails with every approach");
      break;
  }
  return absl::StrCat(text, ": ", failed, failed == 1 ? " job" : " jobs",
                      " failed and none succeeded (failures_max_per_block ",
                      spec.failures_max_per_block, ")");
}

void Scheduler::Skip(SweepRecord& sweep, const Scope& scope, const std::string& reason) {
  scope.ForEachKind(*sweep.expansion, [&](uint32_t index, uint32_t kind) {
    const Block& block = sweep.expansion->blocks()[index];
    for (uint32_t cell = 0; cell < block.cells; ++cell) {
      const uint32_t job = block.first_job + cell * block.JobsPerCell() + kind;
      const JobState state = sweep.slots[job].state;
      if (state == JobState::kReady || state == JobState::kBlocked || state == JobState::kBackoff) {
        SetState(sweep, job, JobState::kSkipped);
        Announce(sweep, job, reason);
      }
    }
  });
}

// After the job failed for good.
void Scheduler::GiveUpEarly(SweepRecord& sweep, uint32_t job) {
  if (sweep.expansion->spec().failures_max_per_block == 0) {
    return;
  }
  for (const Scope& scope : ScopesOf(sweep, job)) {
    uint32_t failed = 0;
    if (FailedAltogether(sweep, scope, &failed) && IsHopeless(sweep, scope, failed)) {
      Skip(sweep, scope, TextOf(sweep, scope, failed));
    }
  }
}

// Why a skipped job was given up, as far as that can still be seen; "" when it cannot.
std::string Scheduler::ExplainGivenUp(const SweepRecord& sweep, uint32_t job) {
  for (const Scope& scope : ScopesOf(sweep, job)) {
    uint32_t failed = 0;
    if (FailedAltogether(sweep, scope, &failed)) {
      return TextOf(sweep, scope, failed);
    }
  }
  return "";
}

// The tallies, counted anew: for checks.
std::vector<absl::InlinedVector<Scheduler::Tally, 2>> Scheduler::CountTallies(
    const SweepRecord& sweep) {
  std::vector<absl::InlinedVector<Tally, 2>> tallies;
  for (const Block& block : sweep.expansion->blocks()) {
    auto& of_block = tallies.emplace_back(block.JobsPerCell());
    for (uint32_t job = 0; job < block.JobCount(); ++job) {
      const JobState state = sweep.slots[block.first_job + job].state;
      Tally& tally = of_block[job % block.JobsPerCell()];
      tally.failed += state == JobState::kFailed ? 1 : 0;
      tally.succeeded += state == JobState::kSucceeded ? 1 : 0;
    }
  }
  return tallies;
}

}  // namespace concur
