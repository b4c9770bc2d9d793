// SPDX-License-Identifier: Apache-2.0
// For tests: whether a room's counts are those of its attempts.
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "studies/annotation/room.h"

namespace concur::annotation {

void Room::CheckInvariants() const {
  Progress counted;
  counted.passages = static_cast<int64_t>(passages_.size());
  std::vector<int64_t> open(passages_.size(), 0);
  for (size_t i = 0; i < attempts_.size(); ++i) {
    const Attempt& attempt = attempts_[i];
    CONCUR_CHECK(attempt.number == static_cast<int64_t>(i) + 1);
    ++counted.attempts;
    counted.system_won += attempt.state == QuestionState::kSystemWon ? 1 : 0;
    counted.waiting += attempt.state == QuestionState::kWaiting ? 1 : 0;
    counted.kept += attempt.state == QuestionState::kKept ? 1 : 0;
    counted.dropped += attempt.state == QuestionState::kDropped ? 1 : 0;
    open[attempt.passage] +=
        attempt.state == QuestionState::kWaiting || attempt.state == QuestionState::kKept ? 1 : 0;
    counted.rejected +=
        attempt.state == QuestionState::kRejected || attempt.state == QuestionState::kRevoked ? 1
                                                                                              : 0;
    CONCUR_CHECK(
        !annotators_.at(attempt.annotator).is_revoked ||
        (attempt.state != QuestionState::kWaiting && attempt.state != QuestionState::kKept));
    CONCUR_CHECK(waiting_.contains(attempt.number) == (attempt.state == QuestionState::kWaiting));
    std::set<std::string> people = {attempt.annotator};
    for (const Validation& one : attempt.validations) {
      CONCUR_CHECK(people.insert(one.annotator).second);
      ++counted.validations;
      counted.agreements += one.agrees ? 1 : 0;
    }
    CONCUR_CHECK(static_cast<int64_t>(attempt.validations.size()) <=
                 (IsHeldOut(attempt.passage) ? settings_.validators : 0));
  }
  for (const int64_t questions : open) {
    CONCUR_CHECK(questions <= settings_.questions_per_passage);
    counted.passages_done += questions == settings_.questions_per_passage ? 1 : 0;
  }
  CONCUR_CHECK(open == open_);
  CONCUR_CHECK(counted == progress_);
}

}  // namespace concur::annotation
