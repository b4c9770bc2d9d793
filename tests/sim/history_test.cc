// SPDX-License-Identifier: Apache-2.0
// Which histories have an order that explains them.
#include "tests/sim/history.h"

#include <optional>

#include "tests/testing/test.h"

namespace concur::sim {
namespace {

constexpr SweepId kSweep{1};

SeenSweep Seen(std::vector<SeenSweep::Job> jobs = {}) {
  return {false, false, false, true, jobs, false};
}
SeenSweep Paused() { return {false, true, false, true, {}, false}; }
SeenSweep Canceled() { return {true, false, false, false, {}, false}; }

class HistoryTest : public ::testing::Test {
 protected:
  HistoryTest() { Request(UserRequest::kSubmit); }

  void Request(UserRequest request) {
    const SweepId id = request == UserRequest::kSubmit ? SweepId() : kSweep;
    history_.End(request, kSweep, history_.Begin(request, id));
  }
  void Read(const std::optional<SeenSweep>& seen) {
    history_.EndRead(kSweep, history_.BeginRead(), seen);
  }

  History history_;
};

TEST_F(HistoryTest, ReadsThatFollowTheRequestsAreExplained) {
  Read(Seen());
  Request(UserRequest::kPause);
  Read(Paused());
  Request(UserRequest::kResume);
  Read(Seen());
  Request(UserRequest::kCancel);
  Read(Canceled());
  Request(UserRequest::kDelete);
  Read(std::nullopt);
  EXPECT_THAT(history_.Check(), IsEmpty());
}

TEST_F(HistoryTest, AReadBesideARequestMaySeeItOrNot) {
  const History::Moment before = history_.BeginRead();
  const History::Moment pause = history_.Begin(UserRequest::kPause, kSweep);
  Read(Paused());  // while the pause was not answered
  history_.End(UserRequest::kPause, kSweep, pause);
  history_.EndRead(kSweep, before, Seen());
  EXPECT_THAT(history_.Check(), IsEmpty());
}

TEST_F(HistoryTest, TwoReadsMaySeeARequestInOneOrderOnly) {
  const History::Moment pause = history_.Begin(UserRequest::kPause, kSweep);
  Read(Paused());
  Read(Seen());  // began when the one before had ended
  history_.End(UserRequest::kPause, kSweep, pause);
  EXPECT_THAT(history_.Check(), HasSubstr("does not find its pause"));
}

// Its last jobs may be canceled one by one: an attempt may still be being stopped then.
TEST_F(HistoryTest, APauseEndsWithTheLastJobThoughAnAttemptIsBeingStopped) {
  Request(UserRequest::kPause);
  Request(UserRequest::kCancelJob);
  SeenSweep canceling = Seen();
  canceling.may_pause = false;
  Read(canceling);
  EXPECT_THAT(history_.Check(), IsEmpty());
  Read(Seen());  // jobs that may be paused, and nobody resumed them
  EXPECT_THAT(history_.Check(), IsEmpty()) << "the pause was over";
}

TEST_F(HistoryTest, AReadOfARunningSweepFindsItsPause) {
  Request(UserRequest::kPause);
  Request(UserRequest::kCancelJob);
  Read(Seen());
  EXPECT_THAT(history_.Check(), HasSubstr("does not find its pause"));
}

TEST_F(HistoryTest, AStaleReadHasNoOrder) {
  Request(UserRequest::kCancel);
  Read(Seen());
  EXPECT_THAT(history_.Check(), HasSubstr("does not find its cancel"));
}

TEST_F(HistoryTest, WhatNobodyAskedForHasNoOrder) {
  Read(Paused());
  EXPECT_THAT(history_.Check(), HasSubstr("nobody paused it"));
}

TEST_F(HistoryTest, ASweepIsThereFromItsSubmissionToItsDeletion) {
  Read(std::nullopt);
  EXPECT_THAT(history_.Check(), HasSubstr("finds no sweep"));
}

TEST_F(HistoryTest, ADeletedSweepDoesNotComeBack) {
  Request(UserRequest::kDelete);
  Read(Seen());
  EXPECT_THAT(history_.Check(), HasSubstr("was deleted"));
}

TEST_F(HistoryTest, AttemptsNeverGoBackNotEvenByARetry) {
  Read(Seen({{2, false, 0}}));
  Request(UserRequest::kRetry);
  Read(Seen({{1, false, 0}}));
  EXPECT_THAT(history_.Check(), HasSubstr("job 0 at attempt 1"));
}

TEST_F(HistoryTest, ResultsStayUnlessARetryWasSent) {
  Read(Seen({{1, true, 50}}));
  Read(Seen({{2, false, 0}}));
  EXPECT_THAT(history_.Check(), HasSubstr("the result of job 0"));
}

TEST_F(HistoryTest, AScoreThatWasSeenDoesNotChange) {
  Read(Seen({{1, true, 50}}));
  Read(Seen({{1, true, 51}}));
  EXPECT_THAT(history_.Check(), HasSubstr("the result of job 0"));
}

TEST_F(HistoryTest, ARequestWithoutAnAnswerMayTakeEffectLate) {
  history_.Begin(UserRequest::kRetry, kSweep);
  Read(Seen({{1, true, 50}}));
  Read(Seen({{2, false, 0}}));
  EXPECT_THAT(history_.Check(), IsEmpty());
}

}  // namespace
}  // namespace concur::sim
