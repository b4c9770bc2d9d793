// SPDX-License-Identifier: Apache-2.0
#include "core/state/failure_tallies.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur {

void FailureTallies::Add(uint32_t kind, JobState state) {
  if (state == JobState::kFailed) {
    ++tallies_[kind].failed;
  } else if (state == JobState::kSucceeded) {
    ++tallies_[kind].succeeded;
  }
}

void FailureTallies::Remove(uint32_t kind, JobState state) {
  if (state == JobState::kFailed) {
    CONCUR_CHECK(tallies_[kind].failed > 0);
    --tallies_[kind].failed;
  } else if (state == JobState::kSucceeded) {
    CONCUR_CHECK(tallies_[kind].succeeded > 0);
    --tallies_[kind].succeeded;
  }
}

std::vector<FailureTallies::Scope> FailureTallies::ScopesOf(uint32_t job) const {
  const std::vector<Block>& blocks = expansion_.blocks();
  const JobCoordinates at = expansion_.Locate(job);
  const Block& own = blocks[at.block];
  const auto first = tallies_.begin() + own.first_kind;
  const bool block_failed = std::all_of(first, first + own.JobsPerCell(),
                                        [](const Tally& tally) { return tally.succeeded == 0; });
  const bool test_failed = !at.is_train && tallies_[at.kind].succeeded == 0;
  std::vector<Scope> scopes;
  const auto add = [&](Scope::What what, std::optional<uint32_t> test, auto is_in) {
    Scope& scope = scopes.emplace_back();
    scope.what = what;
    scope.test = test;
    for (uint32_t index = 0; index < blocks.size(); ++index) {
      if (is_in(index)) {
        scope.blocks.push_back(index);
      }
    }
  };
  const auto is_own = [&](uint32_t index) { return index == at.block; };
  if (block_failed) {
    add(Scope::What::kBlock, std::nullopt, is_own);
  }
  if (test_failed) {
    add(Scope::What::kBlockTest, at.test_benchmark, is_own);
  }
  if (block_failed) {
    add(Scope::What::kApproach, std::nullopt,
        [&](uint32_t index) { return blocks[index].approach == own.approach; });
  }
  if (block_failed && own.has_train) {
    add(Scope::What::kTrainSet, std::nullopt, [&](uint32_t index) {
      return blocks[index].has_train && blocks[index].train_set == own.train_set;
    });
  }
  if (test_failed) {
    add(Scope::What::kBenchmark, at.test_benchmark,
        [&](uint32_t index) { return blocks[index].KindOfTest(at.test_benchmark).has_value(); });
  }
  return scopes;
}

bool FailureTallies::HasFailed(Scope& scope) const {
  scope.failed = 0;
  bool succeeded = false;
  std::set<uint32_t> others;  // approaches that failed; of an approach, train sets
  ForEachKind(scope, [&](const Block& block, uint32_t kind) {
    const Tally& tally = tallies_[kind];
    scope.failed += tally.failed;
    succeeded = succeeded || tally.succeeded > 0;
    if (tally.failed > 0) {
      others.insert(scope.what == Scope::What::kApproach ? block.train_set : block.approach);
    }
  });
  const bool is_wide = scope.what != Scope::What::kBlock && scope.what != Scope::What::kBlockTest;
  return scope.failed >= expansion_.spec().failures_max_per_block && !succeeded &&
         (!is_wide || others.size() >= 2);
}

std::vector<FailureTallies::Scope> FailureTallies::FailedScopesOf(uint32_t job) const {
  std::vector<Scope> failed;
  if (expansion_.spec().failures_max_per_block > 0) {
    for (Scope& scope : ScopesOf(job)) {
      if (HasFailed(scope)) {
        failed.push_back(std::move(scope));
      }
    }
  }
  return failed;
}

std::string FailureTallies::Describe(const Scope& scope) const {
  const SweepSpec& spec = expansion_.spec();
  const Block& first = expansion_.blocks()[scope.blocks.front()];
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
  return absl::StrCat(text, ": ", scope.failed, scope.failed == 1 ? " job" : " jobs",
                      " failed and none succeeded (failures_max_per_block ",
                      spec.failures_max_per_block, ")");
}

}  // namespace concur
