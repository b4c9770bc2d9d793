// SPDX-License-Identifier: Apache-2.0
#include "store/postgres_store.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "store/sqlite_schema.h"
#include "tests/store/postgres_databases.h"
#include "tests/store/store_rows.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr char kExpire[] = "UPDATE leader SET expiry = clock_timestamp() - interval '1 second'";

Batch Submission(uint64_t sweep) {
  Batch batch;
  batch.next_sweep_number = sweep + 1;
  batch.put_sweeps = {FullSweep(sweep)};
  batch.put_jobs = {FullJob(MakeJobId(sweep, 0))};
  batch.put_attempts = {FullAttempt(MakeJobId(sweep, 0), 1)};
  return batch;
}

std::vector<SweepRow> SweepsOf(const std::string& uri) {
  const absl::StatusOr<DatabaseContents> contents = ReadPostgres(uri);
  EXPECT_OK(contents.status());
  return contents.ok() ? contents->snapshot.sweeps : std::vector<SweepRow>();
}

class PostgresStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::Shared() == nullptr) {
      GTEST_SKIP() << kNoPostgres;
    }
    uri_ = NewDatabase();
  }

  std::string uri_;
};

TEST_F(PostgresStoreTest, ASecondCoordinatorIsRefusedAndToldWhoLeadsAndUntilWhen) {
  LeadershipOptions options;
  options.address = "login1:7447";
  std::unique_ptr<PostgresStore> first = MustOpenPostgres(uri_, options);
  EXPECT_THAT(
      PostgresStore::Open(uri_, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("another coordinator leads: "), HasSubstr(absl::StrCat(getpid())),
                     HasSubstr("on login1:7447, since 20"), HasSubstr("start again after 20"))));
  first.reset();
  EXPECT_OK(PostgresStore::Open(uri_, {})) << "a coordinator that ends hands over at once";
}

TEST_F(PostgresStoreTest, ALateCommitOfAnEarlierLeaderChangesNothing) {
  const std::unique_ptr<PostgresStore> late = MustOpenPostgres(uri_);
  ASSERT_OK(late->Commit(Submission(1)));
  TamperPostgres(uri_, kExpire);
  const std::unique_ptr<PostgresStore> leader = MustOpenPostgres(uri_);
  EXPECT_THAT(late->Commit(Submission(2)), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                    HasSubstr("another coordinator leads: ")));
  EXPECT_THAT(late->Commit(Submission(2)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("")));
  ASSERT_OK(leader->Commit(Submission(3)));
  EXPECT_THAT(SweepsOf(uri_), ElementsAre(FullSweep(1), FullSweep(3)));
  EXPECT_THAT(*CheckPostgres(uri_), IsEmpty());
}

// A new leader waited for rows that its paused predecessor had locked.
// The row is compared also when nothing is to be saved.
TEST_F(PostgresStoreTest, AnAnswerComparesTheRowAndSurvivesALostConnection) {
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_);
  ASSERT_OK(store->Commit(Submission(1)));
  EXPECT_OK(store->CheckLeads());
  TamperPostgres(uri_,
                 "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                 "pid <> pg_backend_pid() AND datname = current_database()");
  EXPECT_OK(store->CheckLeads());
  ASSERT_OK(store->Commit(Submission(2)));
  TamperPostgres(uri_, "UPDATE leader SET epoch = epoch + 1");
  EXPECT_THAT(store->CheckLeads(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                            HasSubstr("another coordinator leads")));
  EXPECT_THAT(store->Commit(Submission(3)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("open the store anew")))
      << "after that the store is of no use";
}

TEST_F(PostgresStoreTest, ANewLeaderEndsTransactionsOfTheFormerOne) {
  MustOpenPostgres(uri_)->Commit(Submission(1)).IgnoreError();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PostgresDatabase> paused,
                       PostgresDatabase::Open(uri_));
  ASSERT_OK(paused->Execute("SET idle_in_transaction_session_timeout = 0"));
  ASSERT_OK(paused->Begin());
  ASSERT_OK(paused->Execute("UPDATE job SET lost = lost"));
  const std::unique_ptr<PostgresStore> leader = MustOpenPostgres(uri_);
  EXPECT_OK(leader->Commit(Submission(1)));
  EXPECT_THAT(paused->Commit(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("lost")));
}

TEST_F(PostgresStoreTest, ALeaderWhoseRowWasTakenIsToldAndEnds) {
  std::promise<absl::Status> lost;
  LeadershipOptions options;
  options.renew_interval = absl::Milliseconds(20);
  options.on_lost = [&](const absl::Status& why) { lost.set_value(why); };
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_, options);
  TamperPostgres(uri_, "UPDATE leader SET holder = 'x', address = 'login2'");
  EXPECT_THAT(lost.get_future().get(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                HasSubstr("another coordinator leads: login2")));
  EXPECT_THAT(store->CheckPlace(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("")));
}

// Otherwise one of a leader that has ended is carried out when the lock is free, and its successor
// waits for that time too.
TEST_F(PostgresStoreTest, ARenewalThatWaitsForALockIsGivenUpByTheServer) {
  absl::Notification lost;
  LeadershipOptions options;
  options.lease = absl::Milliseconds(1500);
  options.renew_interval = absl::Milliseconds(100);
  options.on_lost = [&](const absl::Status&) { lost.Notify(); };
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_, options);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PostgresDatabase> other, PostgresDatabase::Open(uri_));
  ASSERT_OK(other->Execute("BEGIN"));
  ASSERT_OK(other->Execute("UPDATE leader SET turn = turn"));
  lost.WaitForNotification();
  EXPECT_EQ(*other->QueryInt("SELECT count(*) FROM pg_stat_activity "
                             "WHERE datname = current_database() AND wait_event_type = 'Lock' "
                             "AND clock_timestamp() - query_start > interval '0.4 second'"),
            0);
}

TEST(PostgresLeadershipTest, ALeaderThatCannotRenewEndsBeforeItsTime) {
  if (PostgresServer::Programs().empty()) {
    GTEST_SKIP() << kNoPostgres;
  }
  PostgresServer server;
  absl::Notification lost;
  LeadershipOptions options;
  options.lease = absl::Milliseconds(900);
  options.renew_interval = absl::Milliseconds(300);
  options.margin = absl::Milliseconds(100);
  options.on_lost = [&](const absl::Status&) { lost.Notify(); };
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(server.Uri("postgres"), options);
  server.Stop(SIGQUIT);
  lost.WaitForNotification();
  EXPECT_THAT(store->Commit(Submission(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("renewed in time")));
}

TEST(PostgresLeadershipTest, ARestartOfTheServerIsSurvived) {
  if (PostgresServer::Programs().empty()) {
    GTEST_SKIP() << kNoPostgres;
  }
  PostgresServer server;
  LeadershipOptions options;
  options.lease = absl::Minutes(10);
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(server.Uri("postgres"), options);
  ASSERT_OK(store->Commit(Submission(1)));
  server.Stop(SIGQUIT);
  // The server ends with the thread that starts it.
  std::thread commit([&] { EXPECT_OK(store->Commit(Submission(2))); });
  server.Start();
  commit.join();
  EXPECT_OK(store->Commit(Submission(3)));
  EXPECT_EQ(SweepsOf(server.Uri("postgres")).size(), 3u);
  EXPECT_THAT(*CheckPostgres(server.Uri("postgres")), IsEmpty());
}

// A commit that waits for a replica has been carried out when its connection is cut.
TEST_F(PostgresStoreTest, ACommitWhoseAnswerIsLostIsLookedUpAndNotRepeated) {
  LeadershipOptions options;
  options.lease = absl::Minutes(10);
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_, options);
  ASSERT_OK(store->Commit(Submission(1)));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PostgresDatabase> other,
                       PostgresDatabase::Open(PostgresServer::Shared()->Uri("postgres")));
  ASSERT_OK(other->Execute("SET synchronous_commit = local"));
  ASSERT_OK(other->Execute("ALTER SYSTEM SET synchronous_standby_names = 'none'"));
  ASSERT_OK(other->Execute("SELECT pg_reload_conf()"));
  std::atomic<bool> done = false;
  std::thread cut([&] {
    for (int64_t cuts = 0; cuts == 0;) {
      const absl::StatusOr<int64_t> now = other->QueryInt(
          "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity "
          "WHERE wait_event = 'SyncRep' AND query = 'COMMIT'");
      CONCUR_CHECK_OK(now.status());
      cuts = *now;
    }
    CONCUR_CHECK_OK(other->Execute("ALTER SYSTEM RESET synchronous_standby_names"));
    CONCUR_CHECK_OK(other->Execute("SELECT pg_reload_conf()"));
    done = true;
  });
  // The server takes a while to read its settings.
  uint64_t commits = 1;
  while (!done) {
    ASSERT_OK(store->Commit(Submission(++commits)));
  }
  cut.join();
  ASSERT_OK(store->Commit(Submission(++commits)));
  EXPECT_EQ(SweepsOf(uri_).size(), commits);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PostgresDatabase> reader,
                       PostgresDatabase::Open(uri_));
  EXPECT_EQ(*reader->QueryInt("SELECT turn FROM leader"), static_cast<int64_t>(commits));
  EXPECT_EQ(*reader->QueryInt("SELECT epoch FROM leader"), 2) << "the old epoch could still write";
  EXPECT_THAT(*CheckPostgres(uri_), IsEmpty());
}

TEST_F(PostgresStoreTest, ACommitThatWasCutOffBeforeItsEndIsSavedOnce) {
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_);
  ASSERT_OK(store->Commit(Submission(1)));
  // Ends the connection once, within the commit of sweep 2.
  TamperPostgres(
      uri_,
      "CREATE SEQUENCE cuts;"
      "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF nextval('concur.cuts') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); "
      "END IF; RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON sweep DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION cut()");
  EXPECT_OK(store->Commit(Submission(2)));
  EXPECT_OK(store->Commit(Submission(3)));
  EXPECT_THAT(SweepsOf(uri_), ElementsAre(FullSweep(1), FullSweep(2), FullSweep(3)));
  EXPECT_THAT(*CheckPostgres(uri_), IsEmpty());
}

TEST_F(PostgresStoreTest, AFullDiskRefusesTheCommitAndKeepsTheRest) {
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_);
  ASSERT_OK(store->Commit(Submission(1)));
  TamperPostgres(uri_,
                 "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                 "RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'no space'; END $$;"
                 "CREATE TRIGGER fill BEFORE INSERT ON attempt EXECUTE FUNCTION fill()");
  EXPECT_THAT(store->Commit(Submission(2)), StatusIs(absl::StatusCode::kResourceExhausted,
                                                     HasSubstr("no space (SQLSTATE 53100)")));
  EXPECT_THAT(SweepsOf(uri_), ElementsAre(FullSweep(1)));
  TamperPostgres(uri_, "DROP TRIGGER fill ON attempt");
  ASSERT_OK(store->Commit(Submission(2)));
  EXPECT_THAT(SweepsOf(uri_), ElementsAre(FullSweep(1), FullSweep(2)));
  EXPECT_THAT(*CheckPostgres(uri_), IsEmpty());
}

TEST_F(PostgresStoreTest, AStatementThatTheServerRefusesEndsTheStore) {
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_);
  TamperPostgres(uri_, "ALTER TABLE attempt ADD CHECK (attempt <> 1)");
  EXPECT_THAT(store->Commit(Submission(1)),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("(SQLSTATE 23514)")));
  EXPECT_THAT(store->Commit(Submission(1)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("")));
  EXPECT_THAT(SweepsOf(uri_), IsEmpty());
}

TEST_F(PostgresStoreTest, DamagedAndMissingRowsAreNamed) {
  MustOpenPostgres(uri_)->Commit(Submission(1)).IgnoreError();
  TamperPostgres(uri_, "UPDATE job SET lost = lost + 1");
  EXPECT_THAT(*CheckPostgres(uri_),
              ElementsAre(HasSubstr("job s1/0: the checksum does not match")));
  TamperPostgres(uri_, "DELETE FROM job");
  EXPECT_THAT(*CheckPostgres(uri_), ElementsAre(HasSubstr("jobs s1: expected 1 rows, found 0")));
}

TEST_F(PostgresStoreTest, ADatabaseThatHasLostACommitIsRefused) {
  const std::unique_ptr<PostgresStore> store = MustOpenPostgres(uri_);
  ASSERT_OK(store->Commit(Submission(1)));
  ASSERT_OK(store->Commit(Submission(2)));
  TamperPostgres(uri_, "UPDATE leader SET turn = 1");
  EXPECT_THAT(*CheckPostgres(uri_), ElementsAre(HasSubstr("1 commits were acknowledged")));
  TamperPostgres(uri_, "UPDATE leader SET turn = 0");
  EXPECT_THAT(store->Commit(Submission(3)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("2 commits were acknowledged, and it "
                                                              "has 0")));
}

TEST_F(PostgresStoreTest, ANewerSchemaIsRefusedAndAnEmptyDatabaseIsNotChecked) {
  EXPECT_THAT(CheckPostgres(uri_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no database")));
  MustOpenPostgres(uri_).reset();
  TamperPostgres(uri_, absl::StrCat("UPDATE leader SET schema_version = ", kSchemaVersion + 1));
  EXPECT_THAT(PostgresStore::Open(uri_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("newer Concur")));
}

TEST_F(PostgresStoreTest, BytesThatAreNoTextComeBack) {
  const std::string odd("a\0b\xff\\", 5);
  Batch batch;
  batch.put_workers = {FullWorker(odd)};
  MustOpenPostgres(uri_)->Commit(batch).IgnoreError();
  EXPECT_THAT(ReadPostgres(uri_)->snapshot.workers, ElementsAre(FullWorker(odd)));
}

TEST(PostgresTest, APasswordIsInNoMessage) {
  for (const char* uri : {"postgresql://user:secret@/x?port=a&host=/nonexistent",
                          "postgresql://user:secret@[x", "postgres:secret"}) {
    const absl::Status status = PostgresDatabase::Open(uri).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << uri;
  }
}

}  // namespace
}  // namespace concur::testing
