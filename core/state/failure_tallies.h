// SPDX-License-Identifier: Apache-2.0
// Numbers of jobs of each kind of a sweep that have failed for good and that have succeeded, and
// from that: which parts of the sweep have failed so far without any success.
//
// A *scope* is a set of jobs whose failures may share a cause: an approach on one train set, the
// same on one test benchmark, an approach, a train set, a test benchmark. It has failed once
// `failures_max_per_block` of its jobs failed and none succeeded; the last three, only when jobs of
// two approaches (of an approach: on two train sets) failed.
//
// Thread-compatible; pure, deterministic.
#ifndef CONCUR_CORE_STATE_FAILURE_TALLIES_H_
#define CONCUR_CORE_STATE_FAILURE_TALLIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/job.h"
#include "core/sweep/expansion.h"

namespace concur {

class FailureTallies {
 public:
  struct Scope {
    enum class What { kBlock, kBlockTest, kApproach, kTrainSet, kBenchmark };
    What what = What::kBlock;
    std::vector<uint32_t> blocks;
    std::optional<uint32_t> test;  // only the eval jobs on this benchmark
    uint32_t failed = 0;           // jobs in it
  };

  // `expansion` outlives this.
  explicit FailureTallies(const Expansion& expansion)
      : expansion_(expansion), tallies_(expansion.kind_count()) {}

  // A job of the kind enters this state, or leaves it; states other than FAILED and SUCCEEDED count
  // nothing.
  void Add(uint32_t kind, JobState state);
  void Remove(uint32_t kind, JobState state);
  uint32_t failed(uint32_t kind) const { return tallies_[kind].failed; }

  // The scopes of the job that have failed, the narrowest first. None when the sweep sets no limit.
  std::vector<Scope> FailedScopesOf(uint32_t job) const;
  // "approach a fails on train set x: 3 jobs failed and none succeeded (failures_max_per_block 3)".
  std::string Describe(const Scope& scope) const;
  // Calls visit(block, kind) for every kind in the scope.
  template <typename Visit>
  void ForEachKind(const Scope& scope, Visit visit) const {
    for (const uint32_t index : scope.blocks) {
      const Block& block = expansion_.blocks()[index];
      if (!scope.test) {
        for (uint32_t i = 0; i < block.JobsPerCell(); ++i) {
          visit(block, block.first_kind + i);
        }
      } else if (const auto kind = block.KindOfTest(*scope.test)) {
        visit(block, *kind);
      }
    }
  }

  friend bool operator==(const FailureTallies& a, const FailureTallies& b) {
    return a.tallies_ == b.tallies_;
  }

 private:
  struct Tally {
    uint32_t failed = 0;
    uint32_t succeeded = 0;

    friend bool operator==(const Tally&, const Tally&) = default;
  };

  // The scopes of the job in which nothing near it has succeeded, the narrowest first.
  std::vector<Scope> ScopesOf(uint32_t job) const;
  // Counts the scope's failed jobs. Returns true if they are enough, and nothing succeeded.
  bool HasFailed(Scope& scope) const;

  const Expansion& expansion_;
  std::vector<Tally> tallies_;  // by kind
};

}  // namespace concur

#endif  // CONCUR_CORE_STATE_FAILURE_TALLIES_H_
