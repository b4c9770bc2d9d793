// SPDX-License-Identifier: Apache-2.0
// One suite for every Store: what a commit saves comes back, all of it or nothing.
#include "store/store.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "tests/store/postgres_databases.h"
#include "tests/store/store_rows.h"
#include "tests/testing/faulty_store.h"
#include "tests/testing/full_result.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

PilotRow BarePilot(const std::string& name) {
  PilotRow row;
  row.name = name;
  return row;
}

// A kind of store, and how its process is killed and started again.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual Store& store() = 0;
  virtual void Reopen() = 0;
};

class MemorySubject : public Subject {
 public:
  Store& store() override { return store_; }
  void Reopen() override {}

 private:
  MemoryStore store_;
};

class SqliteSubject : public Subject {
 public:
  SqliteSubject() { Reopen(); }
  Store& store() override { return *store_; }
  void Reopen() override {
    store_.reset();
    absl::StatusOr<std::unique_ptr<SqliteStore>> opened = SqliteStore::Open(dir_.File("concur.db"));
    CONCUR_CHECK_OK(opened.status());
    store_ = *std::move(opened);
  }

 private:
  TempDir dir_;
  std::unique_ptr<SqliteStore> store_;
};

class PostgresSubject : public Subject {
 public:
  PostgresSubject() {
    if (PostgresServer::Shared() != nullptr) {
      uri_ = NewDatabase();
      Reopen();
    }
  }
  Store& store() override { return *store_; }
  void Reopen() override {
    store_.reset();
    store_ = MustOpenPostgres(uri_);
  }

 private:
  std::string uri_;
  std::unique_ptr<PostgresStore> store_;
};

template <typename T>
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::is_same_v<T, PostgresSubject> && PostgresServer::Shared() == nullptr) {
      GTEST_SKIP() << kNoPostgres;
    }
  }
  T subject_;
};

class SubjectNames {
 public:
  template <typename T>
  static std::string GetName(int) {
    return std::is_same_v<T, MemorySubject>   ? "Memory"
           : std::is_same_v<T, SqliteSubject> ? "Sqlite"
                                              : "Postgres";
  }
};
using Subjects = ::testing::Types<MemorySubject, SqliteSubject, PostgresSubject>;
TYPED_TEST_SUITE(StoreTest, Subjects, SubjectNames);

TYPED_TEST(StoreTest, NewStoreIsEmpty) {
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_EQ(snapshot.next_sweep_number, 1);
  EXPECT_THAT(snapshot.sweeps, IsEmpty());
  EXPECT_THAT(snapshot.jobs, IsEmpty());
  EXPECT_THAT(snapshot.results, IsEmpty());
  EXPECT_THAT(snapshot.workers, IsEmpty());
}

TYPED_TEST(StoreTest, EveryFieldComesBackAsItWas) {
  const JobId id = MakeJobId(0x7fff'fffe, 99'999'999);
  Batch batch;
  batch.next_sweep_number = 0x7fff'ffff;
  batch.put_sweeps = {FullSweep(0x7fff'fffe)};
  batch.put_jobs = {FullJob(id)};
  batch.put_results = {FullResultRow(id)};
  batch.put_attempts = {FullAttempt(id, 1), FullAttempt(id, 2)};
  batch.put_workers = {FullWorker("w1"), FullWorker("")};
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_EQ(snapshot.next_sweep_number, 0x7fff'ffff);
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(0x7fff'fffe)));
  EXPECT_THAT(snapshot.jobs, ElementsAre(FullJob(id)));
  EXPECT_THAT(snapshot.results, ElementsAre(FullResultRow(id)));
  EXPECT_THAT(snapshot.workers, ElementsAre(FullWorker(""), FullWorker("w1")));
  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts,
                       this->subject_.store().ListAttempts(id));
  EXPECT_THAT(attempts, ElementsAre(FullAttempt(id, 1), FullAttempt(id, 2)));
}

TYPED_TEST(StoreTest, ManyRowsOfOneTurnComeBackAsTheyWerePut) {
  Batch batch;
  batch.put_sweeps = {FullSweep(1)};
  for (uint32_t i = 0; i < 200; ++i) {
    const JobId id = MakeJobId(1, i);
    JobRow bare;
    bare.id = id;
    bare.update_time = absl::FromUnixSeconds(1'700'000'000);
    batch.put_jobs.push_back(i % 3 == 0 ? FullJob(id) : bare);
    batch.put_results.push_back(FullResultRow(id));
    batch.put_results.back().result.message =
        i % 40 == 0 ? std::string(600'000, '\0') : absl::StrCat(i);
  }
  batch.put_jobs.push_back(FullJob(MakeJobId(1, 199)));  // once more: the last one stays
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  batch.put_jobs.erase(batch.put_jobs.end() - 2);
  EXPECT_TRUE(snapshot.jobs == batch.put_jobs);
  EXPECT_TRUE(snapshot.results == batch.put_results);
}

TYPED_TEST(StoreTest, ASweepThatIsLeftOutStaysOnDiskAsItIs) {
  Batch batch;
  for (const uint64_t sweep : {1, 2, 3}) {
    const JobId id = MakeJobId(sweep, 7);
    batch.put_sweeps.push_back(FullSweep(sweep));
    batch.put_jobs.push_back(FullJob(id));
    batch.put_jobs.back().incarnation = absl::StrCat("of sweep ", sweep);
    batch.put_results.push_back(FullResultRow(id));
    batch.put_attempts.push_back(FullAttempt(id, 1));
    batch.put_steps.push_back(FullStep(id, 1));
  }
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  const auto choose = [](const std::vector<SweepRow>& sweeps) {
    EXPECT_EQ(sweeps.size(), 3u);
    return absl::btree_set<SweepId>{SweepId{2}};
  };
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, this->subject_.store().LoadPart(choose));
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(1), FullSweep(3)));
  EXPECT_THAT(snapshot.jobs, ElementsAre(batch.put_jobs[0], batch.put_jobs[2]));
  EXPECT_THAT(snapshot.results, ElementsAre(batch.put_results[0], batch.put_results[2]));
  EXPECT_EQ(snapshot.steps.size(), 2u);
  Batch more;
  more.next_sweep_number = 5;
  more.put_sweeps = {FullSweep(4)};
  more.put_jobs = {FullJob(MakeJobId(1, 8))};
  more.delete_sweeps = {SweepId{3}};
  ASSERT_OK(this->subject_.store().Commit(more));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(1), FullSweep(2), FullSweep(4)));
  EXPECT_THAT(snapshot.jobs, ElementsAre(batch.put_jobs[0], more.put_jobs[0], batch.put_jobs[1]));
  EXPECT_THAT(snapshot.results, ElementsAre(batch.put_results[0], batch.put_results[1]));
  EXPECT_THAT(*this->subject_.store().ListSweepAttempts(SweepId{2}),
              ElementsAre(batch.put_attempts[1]));
}

TYPED_TEST(StoreTest, ASweepThatIsLeftOutIsDeletedWithAllOfItsRows) {
  Batch batch;
  for (const uint64_t sweep : {1, 2}) {
    const JobId id = MakeJobId(sweep, 7);
    batch.put_sweeps.push_back(FullSweep(sweep));
    batch.put_jobs.push_back(FullJob(id));
    batch.put_results.push_back(FullResultRow(id));
    batch.put_attempts.push_back(FullAttempt(id, 1));
    batch.put_steps.push_back(FullStep(id, 1));
  }
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  const auto choose = [](const std::vector<SweepRow>&) {
    return absl::btree_set<SweepId>{SweepId{1}};
  };
  ASSERT_OK(this->subject_.store().LoadPart(choose).status());
  Batch remove;
  remove.delete_sweeps = {SweepId{1}};
  ASSERT_OK(this->subject_.store().Commit(remove));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(2)));
  EXPECT_THAT(snapshot.jobs, ElementsAre(batch.put_jobs[1]));
  EXPECT_THAT(snapshot.results, ElementsAre(batch.put_results[1]));
}

// Nothing shows the rows that are left, in this process or the next, and none stays.
TYPED_TEST(StoreTest, ALargeSweepIsDeletedInSlicesAcrossRestarts) {
  Batch batch;
  for (const uint64_t sweep : {1, 2, 3}) {
    batch.put_sweeps.push_back(FullSweep(sweep));
    for (uint32_t job = 0; job < 5; ++job) {
      const JobId id = MakeJobId(sweep, job);
      batch.put_jobs.push_back(FullJob(id));
      batch.put_results.push_back(FullResultRow(id));
      for (uint32_t attempt = 1; attempt < 4; ++attempt) {
        batch.put_attempts.push_back(FullAttempt(id, attempt));
        batch.put_steps.push_back(FullStep(id, attempt));
      }
    }
  }
  ASSERT_OK(this->subject_.store().Commit(batch));
  Batch remove;
  remove.delete_sweeps = {SweepId{1}, SweepId{3}};
  int commits = 0;
  do {
    if (auto* sql = dynamic_cast<SqlStore*>(&this->subject_.store())) {
      sql->set_delete_rows(4);
    }
    ASSERT_OK(this->subject_.store().Commit(std::exchange(remove, {})));
    this->subject_.Reopen();
    ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
    EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(2)));
    EXPECT_EQ(snapshot.jobs.size(), 5u);
    EXPECT_EQ(snapshot.results.size(), 5u);
    EXPECT_EQ(snapshot.steps.size(), 5u);
  } while (this->subject_.store().IsDeleting() && ++commits < 100);
  EXPECT_TRUE((std::is_same_v<TypeParam, MemorySubject>) || commits > 10) << commits;
  EXPECT_LT(commits, 100);
  EXPECT_THAT(*this->subject_.store().ListSweepAttempts(SweepId{1}), IsEmpty());
  EXPECT_THAT(*this->subject_.store().ListSteps(MakeJobId(3, 4)), IsEmpty());
  EXPECT_EQ(this->subject_.store().ListSweepAttempts(SweepId{2})->size(), 15u);
}

TYPED_TEST(StoreTest, AForecastComesBackAndGoesWithAnUpdateThatHasNone) {
  SweepRow row = FullSweep(1);
  row.forecast = absl::Seconds(90) + absl::Nanoseconds(1);
  Batch batch;
  batch.put_sweeps = {row};
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(row));
  row.forecast.reset();
  batch.put_sweeps = {row};
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(row));
}

TYPED_TEST(StoreTest, PoolsAndPilotsComeBackAsTheyWere) {
  Store& store = this->subject_.store();
  Batch batch;
  batch.next_pilot_number = 9;
  batch.put_pools = {{"b", "", true, "held", false},
                     {"a", std::string("\0\xff", 2), false, "", true}};
  batch.put_pilots = {FullPilot("a-2"), BarePilot("a-1"), FullPilot("a-3")};
  batch.delete_pilots = {"a-3", "none"};
  ASSERT_OK(store.Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_EQ(snapshot.next_pilot_number, 9u);
  EXPECT_THAT(snapshot.pools, ElementsAre(batch.put_pools[1], batch.put_pools[0]));
  EXPECT_THAT(snapshot.pilots, ElementsAre(batch.put_pilots[1], batch.put_pilots[0]));
}

TYPED_TEST(StoreTest, NamedResourcesComeBackAsTheyWere) {
  Store& store = this->subject_.store();
  Batch batch;
  batch.put_resources = {{"openai", 16, 3000}, {"licence", 0, 60}, {"gone", 1}};
  ASSERT_OK(store.Commit(batch));
  batch.put_resources = {{"openai", 4}};
  batch.delete_resources = {"gone", "none"};
  ASSERT_OK(store.Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.resources,
              ElementsAre(ResourceRow{"licence", 0, 60}, ResourceRow{"openai", 4}));
}

TYPED_TEST(StoreTest, QuarantinesAndBlamesComeBackAndEmptyOnesGo) {
  Store& store = this->subject_.store();
  BlameRow failed = FullBlame("w1");
  failed.kind = Digest();
  failed.is_train = false;
  failed.success_time.reset();
  BlameRow other = FullBlame("w0");
  Batch first;
  first.put_workers = {QuarantinedWorker("w1"), QuarantinedWorker("w2")};
  first.put_blames = {FullBlame("w1"), failed, other};
  ASSERT_OK(store.Commit(first));
  Batch second;
  WorkerRow pardoned = FullWorker("w2");
  pardoned.quarantine_span = absl::Minutes(20);  // remembered for the next one
  second.put_workers = {pardoned};
  other.failures = 0;
  other.success_time.reset();
  BlameRow unknown = other;
  unknown.worker = "nobody";
  failed.failures = 7;
  second.put_blames = {other, unknown, failed};
  ASSERT_OK(store.Commit(second));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.workers, ElementsAre(QuarantinedWorker("w1"), pardoned));
  EXPECT_THAT(snapshot.blames, ElementsAre(failed, FullBlame("w1")));
}

TYPED_TEST(StoreTest, APilotOfAPhaseThatIsNoneIsRefused) {
  Batch batch;
  batch.put_pilots = {BarePilot("a-1")};
  batch.put_pilots[0].phase = static_cast<PilotPhase>(99);
  EXPECT_THAT(this->subject_.store().Commit(batch),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("pilot a-1")));
}

TYPED_TEST(StoreTest, DefaultFieldsComeBackAsTheyWere) {
  Batch batch;
  batch.put_sweeps = {SweepRow()};
  batch.put_jobs = {JobRow()};
  batch.put_results = {ResultRow()};
  batch.put_workers = {WorkerRow()};
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(SweepRow()));
  EXPECT_THAT(snapshot.jobs, ElementsAre(JobRow()));
  EXPECT_THAT(snapshot.results, ElementsAre(ResultRow()));
  EXPECT_THAT(snapshot.workers, ElementsAre(WorkerRow()));
}

TYPED_TEST(StoreTest, RowsComeBackOrdered) {
  Batch batch;
  for (const auto& [sweep, index] : {std::pair(9u, 1u), {1u, 70u}, {10u, 0u}, {1u, 8u}}) {
    batch.put_sweeps.push_back(FullSweep(sweep));
    batch.put_jobs.push_back(FullJob(MakeJobId(sweep, index)));
    batch.put_results.push_back(FullResultRow(MakeJobId(sweep, index)));
    batch.put_workers.push_back(FullWorker(absl::StrCat("w", sweep)));
  }
  ASSERT_OK(this->subject_.store().Commit(batch));
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  std::vector<std::string> order;
  for (size_t i = 0; i < snapshot.jobs.size(); ++i) {
    EXPECT_EQ(snapshot.jobs[i].id, snapshot.results[i].id);
    order.push_back(absl::StrCat(snapshot.jobs[i].id.sweep.number, "/", snapshot.jobs[i].id.index));
  }
  EXPECT_THAT(order, ElementsAre("1/8", "1/70", "9/1", "10/0"));
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(1), FullSweep(9), FullSweep(10)));
  EXPECT_THAT(snapshot.workers, ElementsAre(FullWorker("w1"), FullWorker("w10"), FullWorker("w9")));
}

TYPED_TEST(StoreTest, ASecondPutReplacesTheRow) {
  const JobId id = MakeJobId(1, 2);
  Batch first;
  first.put_sweeps = {FullSweep(1)};
  first.put_jobs = {FullJob(id)};
  first.put_results = {FullResultRow(id)};
  first.put_attempts = {FullAttempt(id, 1)};
  first.put_workers = {FullWorker("w1")};
  ASSERT_OK(this->subject_.store().Commit(first));
  Batch second;
  second.put_sweeps = {SweepRow()};
  second.put_sweeps[0].id.number = 1;
  second.put_jobs = {JobRow()};
  second.put_jobs[0].id = id;
  second.put_results = {ResultRow{id, JobResult()}};
  second.put_attempts = {AttemptRow{id, Attempt{1}, "w9", absl::UnixEpoch(), JobResult()}};
  second.put_workers = {WorkerRow{.name = "w1", .incarnation = "new"}};
  ASSERT_OK(this->subject_.store().Commit(second));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(second.put_sweeps[0]));
  EXPECT_THAT(snapshot.jobs, ElementsAre(second.put_jobs[0]));
  EXPECT_THAT(snapshot.results, ElementsAre(second.put_results[0]));
  EXPECT_THAT(snapshot.workers, ElementsAre(second.put_workers[0]));
  ASSERT_OK_AND_ASSIGN(const std::vector<AttemptRow> attempts,
                       this->subject_.store().ListAttempts(id));
  EXPECT_THAT(attempts, ElementsAre(second.put_attempts[0]));
}

TYPED_TEST(StoreTest, ADeletedSweepTakesItsJobsResultsAndAttemptsAlong) {
  Batch batch;
  for (const uint64_t sweep : {1u, 2u, 3u}) {
    batch.put_sweeps.push_back(FullSweep(sweep));
    for (const uint32_t index : {0u, 99'999'999u}) {
      batch.put_jobs.push_back(FullJob(MakeJobId(sweep, index)));
      batch.put_results.push_back(FullResultRow(MakeJobId(sweep, index)));
      batch.put_attempts.push_back(FullAttempt(MakeJobId(sweep, index), 1));
    }
  }
  ASSERT_OK(this->subject_.store().Commit(batch));
  Batch remove;
  remove.delete_sweeps = {SweepId{2}};
  ASSERT_OK(this->subject_.store().Commit(remove));
  this->subject_.Reopen();
  Store& store = this->subject_.store();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, store.Load());
  EXPECT_THAT(snapshot.sweeps, ElementsAre(FullSweep(1), FullSweep(3)));
  EXPECT_EQ(snapshot.jobs.size(), 4);
  EXPECT_EQ(snapshot.results.size(), 4);
  ASSERT_OK_AND_ASSIGN(std::vector<AttemptRow> attempts, store.ListAttempts(MakeJobId(2, 0)));
  EXPECT_THAT(attempts, IsEmpty());
  ASSERT_OK_AND_ASSIGN(attempts, store.ListAttempts(MakeJobId(3, 0)));
  EXPECT_EQ(attempts.size(), 1);
}

TYPED_TEST(StoreTest, AttemptsOfASweepAreThoseOfAllItsJobs) {
  Batch batch;
  batch.put_attempts = {FullAttempt(MakeJobId(2, 9), 1), FullAttempt(MakeJobId(2, 3), 2),
                        FullAttempt(MakeJobId(2, 3), 1), FullAttempt(MakeJobId(1, 99'999'999), 1),
                        FullAttempt(MakeJobId(3, 0), 1)};
  ASSERT_OK(this->subject_.store().Commit(batch));
  Store& store = this->subject_.store();
  ASSERT_OK_AND_ASSIGN(std::vector<AttemptRow> attempts, store.ListSweepAttempts(SweepId{2}));
  EXPECT_THAT(attempts,
              ElementsAre(FullAttempt(MakeJobId(2, 3), 1), FullAttempt(MakeJobId(2, 3), 2),
                          FullAttempt(MakeJobId(2, 9), 1)));
  Batch services;  // also of the last job of the last sweep
  const JobId last = MakeJobId(0x7fff'fffe, 99'999'999);
  services.put_attempts = {FullAttempt(MakeJobId(2, 3).Service(), 1),
                           FullAttempt(last.Service(), 7)};
  ASSERT_OK(store.Commit(services));
  ASSERT_OK_AND_ASSIGN(attempts, store.ListAttempts(MakeJobId(2, 3)));
  EXPECT_EQ(attempts.size(), 2u);
  ASSERT_OK_AND_ASSIGN(attempts, store.ListSweepAttempts(SweepId{2}));
  EXPECT_EQ(attempts.size(), 3u) << "services are not among them";
  ASSERT_OK_AND_ASSIGN(attempts, store.ListServiceUse(SweepId{2}));
  EXPECT_THAT(attempts, ElementsAre(FullAttempt(MakeJobId(2, 3).Service(), 1)));
  ASSERT_OK_AND_ASSIGN(attempts, store.ListServiceUse(last.sweep));
  EXPECT_THAT(attempts, ElementsAre(FullAttempt(last.Service(), 7)));
  ASSERT_OK_AND_ASSIGN(attempts, store.ListSweepAttempts(SweepId{4}));
  EXPECT_THAT(attempts, IsEmpty());
  ASSERT_OK_AND_ASSIGN(attempts, store.ListServiceUse(SweepId{UINT64_MAX}));
  EXPECT_THAT(attempts, IsEmpty());
  ASSERT_OK_AND_ASSIGN(attempts, store.ListSweepAttempts(SweepId{UINT64_MAX}));
  EXPECT_THAT(attempts, IsEmpty());
}

TYPED_TEST(StoreTest, ReportsComeBackAsTheyArrivedAndGoWithTheirSweep) {
  const JobId id = MakeJobId(2, 99'999'999);
  StepRow second = FullStep(id, 2);
  second.step = {1, "loss", -1e300};
  StepRow third = FullStep(id, 5);
  third.step = {2, "loss", 4};
  Batch batch;
  batch.put_sweeps = {FullSweep(1), FullSweep(2)};
  batch.put_steps = {third, FullStep(id, 1), FullStep(MakeJobId(1, 0), 1), second};
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(std::vector<StepRow> steps, this->subject_.store().ListSteps(id));
  EXPECT_THAT(steps, ElementsAre(FullStep(id, 1), second, third));
  ASSERT_OK_AND_ASSIGN(Snapshot snapshot, this->subject_.store().Load());
  const std::string name = FullStep(id, 1).step.name;
  EXPECT_THAT(snapshot.steps, ElementsAre(StepSeriesRow{MakeJobId(1, 0), {name, 1, kStepMax}, 1},
                                          StepSeriesRow{id, {name, 1, kStepMax}, 1},
                                          StepSeriesRow{id, {"loss", 2, 2}, 5}));
  Batch remove;
  remove.delete_sweeps = {SweepId{2}};
  ASSERT_OK(this->subject_.store().Commit(remove));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(steps, this->subject_.store().ListSteps(id));
  EXPECT_THAT(steps, IsEmpty());
  ASSERT_OK_AND_ASSIGN(snapshot, this->subject_.store().Load());
  EXPECT_EQ(snapshot.steps.size(), 1);
}

TYPED_TEST(StoreTest, ReportsOfAnEarlierRunAreDeletedAndThoseOfTheSameTurnStay) {
  const JobId id = MakeJobId(1, 3);
  Batch batch;
  batch.put_sweeps = {FullSweep(1)};
  batch.put_steps = {FullStep(id, 1), FullStep(id, 2), FullStep(MakeJobId(1, 4), 1)};
  ASSERT_OK(this->subject_.store().Commit(batch));
  Batch again;
  again.put_steps = {FullStep(id, 3)};
  again.delete_steps = {{id, 3}, {MakeJobId(1, 777), 3}};
  ASSERT_OK(this->subject_.store().Commit(again));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const std::vector<StepRow> steps, this->subject_.store().ListSteps(id));
  EXPECT_THAT(steps, ElementsAre(FullStep(id, 3)));
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_EQ(snapshot.steps.size(), 2);
}

TYPED_TEST(StoreTest, AReportThatCannotBeIsRefused) {
  Batch batch;
  batch.put_steps = {FullStep(MakeJobId(1, 3), 1)};
  batch.put_steps[0].step.step = -1;
  EXPECT_THAT(this->subject_.store().Commit(batch),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("report of job s1/3.step")));
}

TYPED_TEST(StoreTest, DeletesComeAfterPuts) {
  const JobId id = MakeJobId(1, 0);
  Batch batch;
  batch.put_results = {FullResultRow(id)};
  batch.delete_results = {id};
  batch.put_workers = {FullWorker("w1")};
  batch.delete_workers = {"w1"};
  batch.put_sweeps = {FullSweep(1)};
  batch.put_jobs = {FullJob(id)};
  batch.delete_sweeps = {SweepId{1}};
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.sweeps, IsEmpty());
  EXPECT_THAT(snapshot.jobs, IsEmpty());
  EXPECT_THAT(snapshot.results, IsEmpty());
  EXPECT_THAT(snapshot.workers, IsEmpty());
}

TYPED_TEST(StoreTest, ResultsComeBackInCanonicalForm) {
  ResultRow row{MakeJobId(1, 0), JobResult()};
  row.result.metrics = {{"f1", 2, 0}, {"exact_match", 1, 0}};
  row.result.artifacts = {{ArtifactKind::kLog, Sha256Of("a"), 1},
                          {ArtifactKind::kSystem, Sha256Of("b"), 2},
                          {ArtifactKind::kLog, Sha256Of("c"), 3}};
  row.result.run_time = absl::Nanoseconds(5) / 2;
  Batch batch;
  batch.put_results = {row};
  ASSERT_OK(this->subject_.store().Commit(batch));
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  ASSERT_EQ(snapshot.results.size(), 1);
  const JobResult& result = snapshot.results[0].result;
  EXPECT_THAT(result.metrics, ElementsAre(Metric{"exact_match", 1, 0}, Metric{"f1", 2, 0}));
  EXPECT_THAT(result.artifacts, ElementsAre(ArtifactRef{ArtifactKind::kSystem, Sha256Of("b"), 2},
                                            ArtifactRef{ArtifactKind::kLog, Sha256Of("c"), 3}));
  EXPECT_EQ(result.run_time, absl::Nanoseconds(2));
}

TYPED_TEST(StoreTest, EveryFieldOfAResultComesBackAsItWas) {
  const std::vector<JobResult> full = FullResults();
  Batch batch;
  for (uint32_t i = 0; i < full.size(); ++i) {
    batch.put_results.push_back({MakeJobId(1, i), full[i]});
  }
  ASSERT_OK(this->subject_.store().Commit(batch));
  this->subject_.Reopen();
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  ASSERT_EQ(snapshot.results.size(), full.size());
  for (size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(snapshot.results[i].result, full[i]);
  }
}

TYPED_TEST(StoreTest, WhatLoadWouldRefuseIsNeverWritten) {
  std::vector<Batch> bad(6);
  bad[0].put_jobs = {FullJob(MakeJobId(1, 0)), FullJob(MakeJobId(1, 100'000'000))};
  bad[1].put_jobs = {FullJob(MakeJobId(1, 0))};
  bad[1].put_jobs[0].state = static_cast<JobState>(kJobStates);
  bad[2].put_sweeps = {FullSweep(0x7fff'ffff)};
  bad[3].put_results = {FullResultRow(MakeJobId(1, 0))};
  bad[3].put_results[0].result.failure = static_cast<FailureClass>(kFailureClasses);
  bad[4].put_attempts = {FullAttempt(MakeJobId(1, 0), 1)};
  bad[4].put_attempts[0].result.artifacts[0].kind = static_cast<ArtifactKind>(6);
  bad[5].next_sweep_number = uint64_t{1} << 40;
  const std::vector<std::string> problems = {
      "job s1/100000000: expected",        "job s1/0: no state has the number 9",
      "sweep s2147483647: expected",       "result of job s1/0: no failure class has the number 13",
      "no artifact kind has the number 6", "next sweep number 1099511627776: expected at most"};
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THAT(this->subject_.store().Commit(bad[i]),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(problems[i])));
  }
  ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, this->subject_.store().Load());
  EXPECT_THAT(snapshot.jobs, IsEmpty());
}

TYPED_TEST(StoreTest, AStoreReopenedAfterEveryCommitHoldsTheSame) {
  MemoryStore model;
  int step = 0;
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(model.Commit(batch));
    ASSERT_OK(this->subject_.store().Commit(batch));
    this->subject_.Reopen();
    EXPECT_EQ(Describe(this->subject_.store()), Describe(model)) << "after commit " << ++step;
  }
}

TYPED_TEST(StoreTest, ACommitThatFailedIsThereWhollyOrNotAtAll) {
  const std::vector<Batch> script = ScriptOfBatches();
  ASSERT_GE(script.size(), 18);
  for (int fail = 1; fail <= static_cast<int>(script.size()); ++fail) {
    for (const auto when : {FaultyStore::When::kBefore, FaultyStore::When::kAfter}) {
      TypeParam subject;
      FaultyStore faulty(subject.store());
      faulty.FailCommit(fail, when);
      MemoryStore model;
      int step = 0;
      for (const Batch& batch : script) {
        ++step;
        const absl::Status status = faulty.Commit(batch);
        ASSERT_EQ(status.ok(), step != fail) << status;
        if (status.ok() || when == FaultyStore::When::kAfter) {
          ASSERT_OK(model.Commit(batch));
        }
        if (!status.ok()) {
          break;
        }
      }
      EXPECT_EQ(faulty.commits(), fail);
      EXPECT_EQ(faulty.calls_after_failure(), 0);
      subject.Reopen();
      EXPECT_EQ(Describe(subject.store()), Describe(model)) << "failed commit " << fail;
    }
  }
}

TYPED_TEST(StoreTest, RandomBatchesLeaveWhatTheModelHolds) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed, "store batches");
    TypeParam subject;
    MemoryStore model;
    for (int step = 0; step < 40; ++step) {
      const Batch batch = RandomBatch(random);
      ASSERT_OK(model.Commit(batch));
      ASSERT_OK(subject.store().Commit(batch));
      if (random.Chance(0.1)) {
        subject.Reopen();
      }
    }
    ASSERT_EQ(Describe(subject.store()), Describe(model));
    subject.Reopen();
    ASSERT_EQ(Describe(subject.store()), Describe(model));
  }
}

TEST(FaultyStoreTest, ACallerThatGoesOnAfterAFailureIsCounted) {
  MemoryStore memory;
  FaultyStore faulty(memory);
  faulty.FailCommit(1, FaultyStore::When::kBefore, absl::DataLossError("disk on fire"));
  Batch batch;
  batch.next_sweep_number = 2;
  EXPECT_THAT(faulty.Commit(batch),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("disk on fire")));
  EXPECT_THAT(faulty.Commit(batch),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("after a failed commit")));
  EXPECT_EQ(faulty.calls_after_failure(), 1);
}

TEST(FaultyStoreTest, ACommitThatFoundTheDiskFullMayBeTriedAgain) {
  MemoryStore memory;
  FaultyStore faulty(memory);
  faulty.FailCommit(1, FaultyStore::When::kBefore, absl::ResourceExhaustedError("disk full"));
  Batch batch;
  batch.next_sweep_number = 2;
  EXPECT_THAT(faulty.Commit(batch),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("disk full")));
  EXPECT_OK(faulty.Commit(batch));
  EXPECT_EQ(faulty.calls_after_failure(), 0);
}

}  // namespace
}  // namespace concur::testing
