// SPDX-License-Identifier: Apache-2.0
// Reviewers: which questions they see, and what becomes of authors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "studies/annotation/room.h"

namespace concur::annotation {
namespace {

// An author of whose reviewed questions fewer are accepted is revoked.
constexpr int64_t kAcceptedPercentMin = 80;
// One rejection of fewer would be more than the share that may be rejected.
constexpr int64_t kJudgedMin = 5;

bool IsReviewable(const Attempt& attempt, const Annotator& author) {
  return (attempt.state == QuestionState::kWaiting || attempt.state == QuestionState::kKept) &&
         !attempt.review.has_value() && !author.is_reviewer;
}

}  // namespace

// The study's sample: of n questions 5 log10(n) + 1, rounded down.
int64_t ReviewsNeeded(const Annotator& author, const Settings& settings) {
  if (author.is_reviewer || author.is_revoked || author.wins == 0) {
    return 0;
  }
  return author.is_qualified
             ? static_cast<int64_t>(5 * std::log10(static_cast<double>(author.wins)) + 1 + 1e-9)
             : settings.qualification;
}

absl::Status CheckReview(const Event& event, const Room& room) {
  if (!room.annotators().at(event.annotator).is_reviewer) {
    return absl::PermissionDeniedError("annotator: only reviewers review");
  }
  if (event.verdict != "accept" && event.verdict != "reject" && event.verdict != "revoke") {
    return absl::InvalidArgumentError(R"(verdict: expected "accept", "reject" or "revoke")");
  }
  if (event.number < 1 || static_cast<uint64_t>(event.number) > room.attempts().size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const Attempt& attempt = room.attempts()[static_cast<size_t>(event.number - 1)];
  return IsReviewable(attempt, room.annotators().at(attempt.annotator))
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   "number: the question has a review, is a reviewer's, or counts no more");
}

void Room::ApplyReview(const Event& event) {
  Attempt& attempt = attempts_[static_cast<size_t>(event.number - 1)];
  attempt.review = Review{event.annotator, event.time, event.verdict};
  Annotator& author = annotators_[attempt.annotator];
  ++author.reviewed;
  author.accepted += event.verdict == "accept" ? 1 : 0;
  if (event.verdict == "reject") {
    TakeOut(attempt, QuestionState::kRejected);
  }
  if (event.verdict == "revoke") {
    Revoke(attempt.annotator);
  } else {
    Judge(attempt.annotator);
  }
}

// Once the first questions are reviewed; later, five, and the sample or all that can be.
void Room::Judge(const std::string& name) {
  Annotator& author = annotators_[name];
  const bool is_good = 100 * author.accepted >= kAcceptedPercentMin * author.reviewed;
  const bool is_enough = author.reviewed >= ReviewsNeeded(author, settings_);
  if (!author.is_qualified && is_enough && is_good) {
    author.is_qualified = true;
    return;
  }
  const auto is_reviewable = [&](const Attempt& one) {
    return one.annotator == name && IsReviewable(one, author);
  };
  if (is_good || author.is_revoked || (author.is_qualified && author.reviewed < kJudgedMin)) {
    return;
  }
  if (is_enough ||
      (author.is_qualified && std::none_of(attempts_.begin(), attempts_.end(), is_reviewable))) {
    Revoke(name);
  }
}

void Room::Revoke(const std::string& name) {
  annotators_[name].is_revoked = true;
  for (Attempt& attempt : attempts_) {
    if (attempt.annotator == name &&
        (attempt.state == QuestionState::kWaiting || attempt.state == QuestionState::kKept)) {
      TakeOut(attempt, QuestionState::kRevoked);
    }
  }
}

// The questions of each author in an order that spreads over them, whenever they were written.
std::optional<Task> ReviewingTask(const Room& room) {
  const auto rank = [](int64_t number) {
    return static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15ULL;
  };
  const Attempt* best = nullptr;
  for (const Attempt& attempt : room.attempts()) {
    const Annotator& author = room.annotators().at(attempt.annotator);
    if (author.reviewed < ReviewsNeeded(author, room.settings()) && IsReviewable(attempt, author) &&
        (best == nullptr || rank(attempt.number) < rank(best->number))) {
      best = &attempt;
    }
  }
  return best == nullptr
             ? std::nullopt
             : std::make_optional(Task{TaskKind::kReviewing, best->passage, best->number});
}

}  // namespace concur::annotation
