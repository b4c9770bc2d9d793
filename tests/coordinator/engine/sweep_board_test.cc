// SPDX-License-Identifier: Apache-2.0
#include "coordinator/engine/sweep_board.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "tests/coordinator/engine/board_reader.h"
#include "tests/coordinator/engine/engine_fixture.h"
#include "tests/testing/faulty_store.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::FaultyStore;

class SweepBoardTest : public EngineTest {
 protected:
  void SetUp() override {
    options_.board.message_spacing = absl::ZeroDuration();
    EngineTest::SetUp();
  }
  SweepBoard& board() { return engine_->board(); }
  // Everybody who is due now, and due after the interval.
  void Tell() {
    clock_.Advance(options_.board.watch_interval);
    while (board().RunOnce(TextEncoder()) <= clock_.Now()) {
    }
  }
  // One more turn of the worker: what it was told to start has succeeded.
  void Work() {
    SyncRequest request = SyncOf("w", ++sequence_);
    request.finished = std::exchange(finished_, {});
    Answer answer = Sync(std::move(request));
    if (answer->has_value() && (*answer)->ok()) {
      for (const JobOrder& order : (**answer)->start) {
        finished_.push_back(Finished(order.id, order.is_train));
      }
    }
  }

  uint64_t sequence_ = 0;
  std::vector<FinishedAttempt> finished_;
};

TEST_F(SweepBoardTest, SnapshotThenChangesThenEnd) {
  ASSERT_OK(Submit(1));
  Reader reader(board());
  ASSERT_OK(reader.Watch({1}));
  Tell();
  ASSERT_THAT(reader.seen, SizeIs(1));
  EXPECT_TRUE(reader.seen[0].reset);
  EXPECT_EQ(reader.seen[0].earliest, "");
  Tell();
  EXPECT_THAT(reader.seen, SizeIs(1));
  const std::string started = absl::StrCat(absl::ToUnixMillis(clock_.Now()));
  Work();
  Tell();
  ASSERT_THAT(reader.seen, SizeIs(2));
  EXPECT_FALSE(reader.seen[1].reset);
  EXPECT_THAT(reader.seen[1].events, ElementsAre("0 running"));
  EXPECT_EQ(reader.seen[1].earliest, started);
  Work();
  Work();
  Tell();
  EXPECT_THAT(reader.seen.back().events, ElementsAre("0 succeeded", "1 running", "1 succeeded"));
  EXPECT_TRUE(reader.ended);
  EXPECT_EQ(board().watchers(), 0u);
}

// `watch` and `top` made different rates of the same jobs: the board measures them once for all.
TEST_F(SweepBoardTest, ReadersAndWatchersGetTheSameRecentWork) {
  ASSERT_OK(Submit(5));
  WatchEncoder encoder = TextEncoder();
  RecentWork told;
  encoder.head = [&told, head = encoder.head](const WatchHead& watch) {
    told = watch.recent;
    return head(watch);
  };
  Reader reader(board());
  ASSERT_OK(reader.Watch({1}));
  board().RunOnce(encoder);
  EXPECT_EQ(board().Find("s1", "owner")->recent.jobs, 0u);
  Work();  // two start
  clock_.Advance(absl::Seconds(10));
  Work();  // and have succeeded
  board().RunOnce(encoder);
  EXPECT_EQ(told, (RecentWork{2, absl::Seconds(10)}));
  EXPECT_EQ(board().Find("s1", "owner")->recent, told);
  EXPECT_EQ(board().List(0, "", 10)[0].recent, told);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(board().Find("s1", "owner")->recent, (RecentWork{2, absl::Seconds(20)}));
}

TEST_F(SweepBoardTest, WatchersOfAnEndedSweepGetOneMessageAndTheEnd) {
  ASSERT_OK(Submit(1));
  for (int i = 0; i < 3; ++i) {
    Work();
  }
  Reader reader(board());
  ASSERT_OK(reader.Watch({1}));
  Tell();
  EXPECT_TRUE(reader.ended);
  ASSERT_THAT(reader.seen, SizeIs(1));
  EXPECT_EQ(reader.seen[0].succeeded, 2);
}

TEST_F(SweepBoardTest, WhatIsNotDurableIsNeitherToldNorRead) {
  FaultyStore faulty(store_);
  ASSERT_OK_AND_ASSIGN(engine_, Engine::Create(clock_, faulty, Decode, options_));
  ASSERT_OK(Submit(1));
  Reader reader(board());
  ASSERT_OK(reader.Watch({1}));
  Tell();
  faulty.FailCommit(faulty.commits() + 1, FaultyStore::When::kBefore,
                    absl::ResourceExhaustedError("concur.db: no space left on device"));
  Work();
  Tell();
  EXPECT_THAT(reader.Events(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const SweepFacts facts, board().Find("s1", "owner"));
  EXPECT_EQ(facts.counts[static_cast<size_t>(JobState::kRunning)], 0u);
  clock_.Advance(absl::Hours(1));
  engine_->RunUntilIdle();  // there is space again
  Tell();
  EXPECT_THAT(reader.Events(), ElementsAre("0 running"));
  Reader canceled(board());
  ASSERT_OK(canceled.Watch({1}));
  EXPECT_TRUE(board().Cancel(canceled));
  EXPECT_EQ(board().watchers(), 1u);
}

TEST_F(SweepBoardTest, ASlowReaderHasOneMessageUnderWayAndMissesNothingThatIsKept) {
  ASSERT_OK(Submit(20));
  Reader slow(board(), true);
  Reader fast(board());
  ASSERT_OK(slow.Watch({1}));
  ASSERT_OK(fast.Watch({1}));
  for (int i = 0; i < 45; ++i) {
    Work();
    Tell();
    EXPECT_TRUE(slow.has_message());
  }
  EXPECT_TRUE(fast.ended);
  EXPECT_THAT(slow.seen, IsEmpty());
  slow.Take();  // the snapshot
  Tell();
  slow.Take();  // everything since
  EXPECT_THAT(slow.seen, SizeIs(2));
  EXPECT_TRUE(slow.ended);
  EXPECT_EQ(slow.Events(), fast.Events());
  EXPECT_EQ(slow.seen.back().succeeded, 40);
}

TEST_F(SweepBoardTest, ASlowReaderWhoseChangesAreNoLongerKeptStartsOverFromTheNewestState) {
  options_.board.events_max = 10;
  Restart();
  ASSERT_OK(Submit(20));
  Reader slow(board(), true);
  ASSERT_OK(slow.Watch({1}));
  Tell();
  slow.Take();
  for (int i = 0; i < 5; ++i) {
    Work();
    Tell();
  }
  slow.Take();
  const size_t heard = slow.Events().size();
  for (int i = 0; i < 10; ++i) {
    Work();
  }
  Tell();
  slow.Take();
  EXPECT_TRUE(slow.seen.back().reset);
  EXPECT_EQ(slow.Events().size(), heard);
  ASSERT_OK_AND_ASSIGN(const SweepFacts facts, board().Find("s1", "owner"));
  EXPECT_EQ(slow.seen.back().succeeded,
            static_cast<int>(facts.counts[static_cast<size_t>(JobState::kSucceeded)]));
}

TEST_F(SweepBoardTest, MessagesHaveALimitAndTheRestFollows) {
  options_.board.events_per_message_max = 3;
  Restart();
  ASSERT_OK(Submit(10));
  Reader all(board());
  ASSERT_OK(all.Watch({1}));
  Tell();
  Reader limited(board());
  ASSERT_OK(limited.Watch({1}, all.seen[0].cursor));
  for (int i = 0; i < 25; ++i) {
    Work();
  }
  for (int i = 0; i < 20; ++i) {
    Tell();
  }
  EXPECT_TRUE(limited.ended);
  EXPECT_EQ(limited.Events().size(), 40u);  // 20 jobs, each started and succeeded
  EXPECT_EQ(limited.Events(), all.Events());
  for (const Seen& one : limited.seen) {
    EXPECT_LE(one.events.size(), 3u);
  }
}

TEST_F(SweepBoardTest, ResumedWatchersHearExactlyWhatTheyHaveNotHeard) {
  Random random(1, "resume");
  options_.board.events_per_message_max = 4;
  Restart();
  ASSERT_OK(Submit(30));
  Reader always(board());
  ASSERT_OK(always.Watch({1}));
  Tell();
  std::string cursor = always.seen[0].cursor;
  std::vector<std::string> heard;
  for (int round = 0; round < 200; ++round) {
    Reader visitor(board(), true);
    ASSERT_OK(visitor.Watch({1}, cursor));
    for (uint64_t i = random.Below(4); i > 0; --i) {
      Work();
      Tell();
      visitor.Take();
    }
    for (const Seen& one : visitor.seen) {
      EXPECT_FALSE(one.reset);
      cursor = one.cursor;
    }
    const std::vector<std::string> events = visitor.Events();
    heard.insert(heard.end(), events.begin(), events.end());
  }
  EXPECT_TRUE(always.ended);
  EXPECT_EQ(heard.size(), 120u);
  EXPECT_EQ(heard, always.Events());
}

TEST_F(SweepBoardTest, CursorFromBeforeARestartGivesAFreshSnapshot) {
  ASSERT_OK(Submit(1));
  std::string cursor;
  {
    Reader reader(board());
    ASSERT_OK(reader.Watch({1}));
    Tell();
    cursor = reader.seen[0].cursor;
  }
  clock_.Advance(absl::Seconds(1));
  Restart();
  Reader again(board());
  ASSERT_OK(again.Watch({1}, cursor));
  Tell();
  ASSERT_THAT(again.seen, SizeIs(1));
  EXPECT_TRUE(again.seen[0].reset);
}

TEST_F(SweepBoardTest, ACursorThatNobodyGaveGivesAFreshSnapshot) {
  ASSERT_OK(Submit(1));
  Reader first(board());
  ASSERT_OK(first.Watch({1}));
  Tell();
  const std::string epoch = first.seen[0].cursor.substr(0, first.seen[0].cursor.find('-'));
  for (const std::string& cursor : {absl::StrCat(epoch, "-999999"), absl::StrCat(epoch, "-"),
                                    absl::StrCat(epoch, "-x"), std::string("-1"), epoch}) {
    SCOPED_TRACE(cursor);
    Reader reader(board());
    ASSERT_OK(reader.Watch({1}, cursor));
    Tell();
    ASSERT_THAT(reader.seen, SizeIs(1));
    EXPECT_TRUE(reader.seen[0].reset);
  }
}

TEST_F(SweepBoardTest, WatchersOfASweepThatIsDeletedAreTold) {
  ASSERT_OK(Submit(1));
  Reader fast(board());
  Reader slow(board(), true);
  ASSERT_OK(fast.Watch({1}));
  ASSERT_OK(slow.Watch({1}));
  Tell();
  engine_->Call<bool>(
      [](Scheduler& scheduler) -> absl::StatusOr<bool> {
        CONCUR_CHECK_OK(scheduler.CancelSweep({1}));
        CONCUR_CHECK_OK(scheduler.DeleteSweep({1}));
        return true;
      },
      [](const absl::StatusOr<bool>&) {});
  engine_->RunUntilIdle();
  Tell();
  EXPECT_THAT(fast.end, StatusIs(absl::StatusCode::kNotFound, HasSubstr("s1")));
  EXPECT_FALSE(slow.ended);  // its message is still under way
  slow.Take();
  Tell();
  EXPECT_THAT(slow.end, StatusIs(absl::StatusCode::kNotFound, HasSubstr("s1")));
  Reader late(board());
  EXPECT_THAT(late.Watch({1}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("s1")));
  EXPECT_THAT(board().Find("s1", "owner").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("s1")));
  EXPECT_THAT(board().List(0, "", 10), IsEmpty());
}

TEST_F(SweepBoardTest, WhoLeavesIsForgottenWhateverIsUnderWay) {
  ASSERT_OK(Submit(1));
  Reader slow(board(), true);
  ASSERT_OK(slow.Watch({1}));
  Tell();
  EXPECT_FALSE(board().Cancel(slow));  // Written tells
  slow.Take();
  EXPECT_THAT(slow.written, StatusIs(absl::StatusCode::kCancelled, HasSubstr("went away")));
  Reader idle(board());
  ASSERT_OK(idle.Watch({1}));
  Tell();
  Tell();
  EXPECT_TRUE(board().Cancel(idle));
  EXPECT_FALSE(board().Cancel(idle));
  EXPECT_EQ(board().watchers(), 0u);
  Work();
  Tell();
  EXPECT_THAT(idle.seen, SizeIs(1));
}

TEST_F(SweepBoardTest, ThousandsOfWatchersShareWhatIsEncodedOnce) {
  options_.board.slice_max = 1'000;
  Restart();
  ASSERT_OK(Submit(5));
  constexpr size_t kWatchers = 5'000;
  std::deque<Reader> readers;
  for (size_t i = 0; i < kWatchers; ++i) {
    ASSERT_OK(readers.emplace_back(board()).Watch({1}));
  }
  size_t heads = 0;
  size_t events = 0;
  WatchEncoder counting = TextEncoder();
  counting.head = [&, head = counting.head](const WatchHead& of) {
    ++heads;
    return head(of);
  };
  counting.events = [&, encode = counting.events](const Expansion& expansion,
                                                  absl::Span<const JobEvent> of, absl::Time time) {
    events += of.size();
    return encode(expansion, of, time);
  };
  const auto tell = [&] {
    clock_.Advance(options_.board.watch_interval);
    while (board().RunOnce(counting) <= clock_.Now()) {
    }
  };
  tell();
  for (int i = 0; i < 12; ++i) {
    Work();
    tell();
  }
  for (const Reader& reader : readers) {
    ASSERT_EQ(reader.seen.size(), readers[0].seen.size());
    ASSERT_TRUE(reader.ended);
    ASSERT_EQ(reader.Events(), readers[0].Events());
  }
  // One message for each slice of a thousand, not one for each watcher; each event once.
  EXPECT_EQ(heads, readers[0].seen.size() * kWatchers / 1'000);
  EXPECT_EQ(events, readers[0].Events().size());
}

TEST_F(SweepBoardTest, MessagesToAllTogetherKeepTheirSpacing) {
  options_.board.message_spacing = absl::Milliseconds(1);
  options_.board.slice_max = 10;
  Restart();
  ASSERT_OK(Submit(1));
  std::deque<Reader> readers;
  for (int i = 0; i < 25; ++i) {
    ASSERT_OK(readers.emplace_back(board()).Watch({1}));
  }
  const auto told = [&] {
    return std::count_if(readers.begin(), readers.end(),
                         [](const Reader& reader) { return !reader.seen.empty(); });
  };
  const absl::Time start = clock_.Now();
  // Nothing was written for long: one slice is caught up with.
  EXPECT_EQ(board().RunOnce(TextEncoder()), start);
  EXPECT_EQ(told(), 10);
  EXPECT_EQ(board().RunOnce(TextEncoder()), start + absl::Milliseconds(10));
  EXPECT_EQ(told(), 20);
  EXPECT_EQ(board().RunOnce(TextEncoder()), start + absl::Milliseconds(10));  // too early
  EXPECT_EQ(told(), 20);
  clock_.Advance(absl::Milliseconds(10));
  board().RunOnce(TextEncoder());
  EXPECT_EQ(told(), 25);
}

TEST_F(SweepBoardTest, SlowReadersTogetherHoldSoManyBytesAndThenGetSnapshots) {
  options_.board.bytes_under_way_max = 200;
  Restart();
  ASSERT_OK(Submit(30));
  std::deque<Reader> slow;
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(slow.emplace_back(board(), true).Watch({1}));
    Tell();
    slow.back().Take();
    Work();
    Tell();  // each holds another message with other events
  }
  Reader late(board(), true);
  ASSERT_OK(late.Watch({1}, slow[0].seen[0].cursor));
  Tell();
  late.Take();
  ASSERT_THAT(late.seen, SizeIs(1));
  EXPECT_TRUE(late.seen[0].reset);
  EXPECT_THAT(late.seen[0].events, IsEmpty());
  for (Reader& reader : slow) {
    reader.Take();
  }
  Work();
  Tell();
  late.Take();
  EXPECT_FALSE(late.seen.back().reset);
  EXPECT_FALSE(late.seen.back().events.empty());
}

TEST_F(SweepBoardTest, WatchersHearOnlyOfTheEventsThatTheyWant) {
  ASSERT_OK(Submit(1));
  Reader all(board());
  Reader failures(board());
  Reader none(board());
  ASSERT_OK(all.Watch({1}));
  ASSERT_OK(failures.Watch({1}, "", WatchDetail::kFailures));
  ASSERT_OK(none.Watch({1}, "", WatchDetail::kNone));
  Tell();
  Work();
  ASSERT_THAT(finished_, SizeIs(1));
  finished_[0].result = JobResult();
  finished_[0].result.failure = FailureClass::kFailed;
  finished_[0].result.exit_code = 1;
  Work();
  Tell();
  EXPECT_THAT(all.Events(), ElementsAre("0 running", "0 backoff"));
  EXPECT_THAT(failures.Events(), ElementsAre("0 backoff"));
  EXPECT_THAT(none.Events(), IsEmpty());
  EXPECT_EQ(none.seen.back().cursor, all.seen.back().cursor);
  EXPECT_EQ(none.seen.back().earliest, all.seen.back().earliest);
}

TEST_F(SweepBoardTest, TooManyWatchersAreRefused) {
  options_.board.watchers_max = 1;
  Restart();
  ASSERT_OK(Submit(1));
  Reader first(board());
  Reader second(board());
  ASSERT_OK(first.Watch({1}));
  EXPECT_THAT(second.Watch({1}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1 watch already")));
}

TEST_F(SweepBoardTest, SweepsAreFoundByIdAndNewestNameAndListedNewestFirst) {
  for (int i = 1; i <= 3; ++i) {
    ASSERT_OK(Submit(i, absl::StrCat("r", i)));
  }
  EXPECT_EQ(board().Find("s2", "owner")->row.id, SweepId{2});
  EXPECT_EQ(board().Find("small", "owner")->row.id, SweepId{3});
  EXPECT_EQ(board().Find("owner/small", "other")->row.id, SweepId{3});
  EXPECT_THAT(board().Find("other/small", "owner").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no sweep \"other/small\"")));
  EXPECT_THAT(board().Find("smal", "owner").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"small\"")));
  EXPECT_THAT(board().List(0, "", 2), SizeIs(2));
  EXPECT_EQ(board().List(0, "", 2)[0].row.id, SweepId{3});
  EXPECT_EQ(board().List(3, "owner", 5)[0].row.id, SweepId{2});
  EXPECT_THAT(board().List(0, "nobody", 5), IsEmpty());
  Restart();
  EXPECT_EQ(board().Find("small", "owner")->row.id, SweepId{3});
  EXPECT_EQ(board().Find("s1", "owner")->expansion->job_count(), 2u);
}

TEST_F(SweepBoardTest, WhatAnOwnerUsesIsUpToDateInAllOfTheOwnersSweeps) {
  ASSERT_OK(Submit(1, "first"));
  ASSERT_OK(Submit(2, "second"));
  Work();
  ASSERT_THAT(finished_, Not(IsEmpty()));
  for (const char* sweep : {"s1", "s2"}) {
    EXPECT_EQ(board().Find(sweep, "owner")->owner_use.running_jobs,
              static_cast<int64_t>(finished_.size()));
  }
}

TEST_F(EngineTest, AReadSeesWhatTheLastTurnSavedAndNothingOfThisOne) {
  uint32_t seen = 99;
  engine_->Call<SweepId>([](Scheduler& scheduler) { return scheduler.Submit(SubmissionOf(1)); },
                         [](const absl::StatusOr<SweepId>&) {});
  const auto count = [&] {
    engine_->Read<uint32_t>(
        [](const Scheduler& scheduler) {
          return static_cast<uint32_t>(scheduler.views().sweep_count());
        },
        [&](absl::StatusOr<uint32_t> sweeps) { seen = *sweeps; });
  };
  count();
  engine_->RunTurn();
  EXPECT_EQ(seen, 0u);
  count();
  engine_->RunTurn();
  EXPECT_EQ(seen, 1u);
}

TEST_F(EngineTest, ReadsAreRefusedAfterTheEnd) {
  absl::Status refused;
  const auto read = [&] {
    engine_->Read<bool>([](const Scheduler&) { return true; },
                        [&](const absl::StatusOr<bool>& done) { refused = done.status(); });
  };
  read();
  engine_->Stop();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
  refused = absl::OkStatus();
  read();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
}

}  // namespace
}  // namespace concur
