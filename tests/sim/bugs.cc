// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/bugs.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace concur::sim {
namespace {

constexpr std::array<absl::string_view, kBugs + 1> kNames = {
    "none",
    "commit-not-synced",
    "commit-not-atomic",
    "cancel-not-saved",
    "job-cancel-not-saved",
    "import-not-whole",
    "half-import-kept",
    "attempt-not-saved",
    "request-id-not-saved",
    "running-not-requeued",
    "counted-again",
    "quarantine-forgotten",
    "blame-forgotten",
    "deaths-forgotten",
    "step-not-saved",
    "steps-forgotten",
    "rung-not-saved",
    "stop-not-saved",
    "scores-forgotten",
    "checkpoint-not-saved",
    "choice-not-saved",
    "brackets-forgotten",
    "retry-half-done",
    "amount-not-saved",
    "spent-not-saved",
    "budget-forgotten",
    "left-out-deleted",
    "delete-half-done",
    "commit-without-epoch",
    "expiry-by-own-clock",
    "both-lead",
    "outcome-guessed",
    "empty-turn-answered",
    "former-answers",
    "answer-before-commit",
    "answered-half-imported",
    "stale-attempt-accepted",
    "lease-never-ends",
    "pause-not-counted",
    "overdue-kept",
    "submitted-twice",
    "name-taken-over",
    "hosts-forgotten",
    "key-forgets-data",
    "given-up-at-once",
    "checkpoint-mixed-up",
    "started-from-nothing",
    "key-forgets-source",
    "gpu-overfilled",
    "amount-not-applied",
    "units-at-stop",
    "spent-twice",
    "units-forgotten",
    "rate-not-kept",
    "service-kept",
    "service-gpu-taken",
    "service-charged-twice",
    "service-not-charged",
    "need-not-awaited",
    "need-stopped",
    "stale-read",
    "read-before-commit",
    "event-skipped",
    "event-repeated",
    "collector-takes-live",
    "checkpoint-collected",
    "left-out-collected",
    "publish-skipped",
    "old-answer-taken",
    "forgotten-unasked",
    "spool-not-read",
    "spool-not-synced",
    "terminated-blamed",
    "steps-not-sent-again",
    "service-ready-early",
    "service-not-listed",
};
static_assert(!kNames.back().empty() && static_cast<size_t>(Bug::kServiceNotListed) == kBugs);

}  // namespace

absl::string_view BugName(Bug bug) { return kNames[static_cast<size_t>(bug)]; }

absl::StatusOr<Bug> BugFromName(absl::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return static_cast<Bug>(i);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected one of ", absl::StrJoin(kNames, ", "), ", got \"", name, "\""));
}

bool IsOfTwoCoordinators(Bug bug) {
  return Bug::kCommitWithoutEpoch <= bug && bug <= Bug::kFormerAnswers;
}

std::array<Bug, kBugs> AllBugs() {
  std::array<Bug, kBugs> bugs{};
  for (size_t i = 0; i < kBugs; ++i) {
    bugs[i] = static_cast<Bug>(i + 1);
  }
  return bugs;
}

}  // namespace concur::sim
