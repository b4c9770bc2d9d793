// SPDX-License-Identifier: Apache-2.0
// Damaged rows, pages and logs are named, or change nothing.

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "store/sqlite_store.h"
#include "tests/store/sqlite_files.h"
#include "tests/store/store_rows.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

struct Damage {
  std::string sql;
  std::string row;  // row that the error must name

  friend std::ostream& operator<<(std::ostream& out, const Damage& damage) {
    return out << damage.sql;
  }
};

class DamagedRowTest : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedRowTest, IsDataLossThatNamesTheRow) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  Tamper(path, GetParam().sql);
  const std::string text = OpenAndDescribe(path);
  EXPECT_THAT(text,
              AllOf(StartsWith("ERROR: DATA_LOSS: "), HasSubstr(path), HasSubstr(GetParam().row)));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> findings, CheckDatabase(path));
  EXPECT_THAT(findings, Contains(HasSubstr(GetParam().row)));
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedRowTest,
    ::testing::Values(
        Damage{"UPDATE job SET state = 5 WHERE key = 1 << 32", "job s1/0: the checksum"},
        Damage{"UPDATE job SET state = 'x' WHERE key = 1 << 32", "job s1/0: the checksum"},
        Damage{"UPDATE job SET process = NULL WHERE key = 1 << 32", "job s1/0: the checksum"},
        Damage{"UPDATE job SET update_time = update_time + 1 WHERE key = 4 << 32", "job s4/0"},
        Damage{"UPDATE job SET key = key + 1 WHERE key = 1 << 32", "job s1/1: the checksum"},
        Damage{"DELETE FROM job WHERE key = 4 << 32", "jobs s4: expected 1 rows, found 0"},
        Damage{"DELETE FROM result WHERE key = 1 << 32", "results s1: expected 1 rows, found 0"},
        Damage{"UPDATE result SET metrics = replace(metrics, '33', '34') WHERE key = 1 << 32",
               "result of job s1/0: the checksum"},
        Damage{"UPDATE result SET log = zeroblob(32) WHERE key = 4 << 32", "result of job s4/0"},
        Damage{"UPDATE result SET message = NULL WHERE key = 4 << 32", "result of job s4/0"},
        Damage{"UPDATE attempt SET worker = 'node-3' WHERE key = 1 << 32 AND attempt = 2",
               "attempt 2 of job s1/0"},
        Damage{"UPDATE sweep SET owner = 'eve' WHERE number = 3", "sweep s3"},
        Damage{"UPDATE sweep_spec SET spec = x'00' WHERE number = 3", "spec of sweep s3"},
        Damage{"DELETE FROM sweep_spec WHERE number = 3", "spec of sweep s3"},
        Damage{"DELETE FROM sweep WHERE number = 4", "sweep s4: is missing"},
        Damage{"UPDATE process SET worker = 'w9' WHERE worker = 'w0'", "process "},
        Damage{"DELETE FROM process", "is missing"},
        Damage{"UPDATE worker SET draining = 0 WHERE name = 'w2'", "worker w2"},
        Damage{"DELETE FROM worker WHERE name = 'w2'", "workers: expected 2 rows, found 1"},
        Damage{"UPDATE worker SET quarantine_span = 1 WHERE name = 'w2'", "worker w2"},
        Damage{"INSERT INTO blame VALUES ('w2', zeroblob(32), 1, 'bert', 'squad', 1, 2, NULL, 0)",
               "blame of worker w2, approach bert, benchmark squad: the checksum"},
        Damage{"INSERT INTO step VALUES (1 << 32, 7, 1, 'f1', 2, 0.5, 0)",
               "report 7 of job s1/0: the checksum"},
        Damage{"INSERT INTO counter SELECT 'steps s1', value, checksum FROM counter "
               "WHERE name = 'results s1'",
               "counter steps s1: the checksum"},
        Damage{"DELETE FROM attempt WHERE key = 1 << 32 AND attempt = 2",
               "attempts s1: expected 2 rows, found 1"},
        Damage{"DELETE FROM meta", "meta id: is missing"},
        Damage{"UPDATE meta SET value = 'x'", "meta id: the checksum"},
        Damage{"UPDATE counter SET value = 1 WHERE name = 'next_sweep'", "counter next_sweep"},
        Damage{"DELETE FROM counter WHERE name = 'next_sweep'", "next_sweep: is missing"}));

TEST(SqliteDamageTest, DamagedAndMissingReportsAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"UPDATE step SET value = value + 1 WHERE arrival = 2", "report 2 of job s1/0: the checksum"},
      {"UPDATE step SET attempt = 1 WHERE arrival = 1", "report 1 of job s1/0: the checksum"},
      {"DELETE FROM step WHERE arrival = 2", "steps s1: expected 2 rows, found 1"}};
  for (const auto& [sql, row] : cases) {
    const TempDir dir;
    const std::string path = dir.File("concur.db");
    MakeDatabase(path);
    Batch batch;
    batch.put_steps = {FullStep(MakeJobId(1, 0), 1), FullStep(MakeJobId(1, 0), 2)};
    std::unique_ptr<SqliteStore> store = MustOpen(path);
    ASSERT_OK(store->Commit(batch));
    ASSERT_OK(store->Commit(batch));  // repeated, it adds nothing
    store.reset();
    EXPECT_THAT(OpenAndDescribe(path), Not(StartsWith("ERROR: ")));
    Tamper(path, sql);
    EXPECT_THAT(OpenAndDescribe(path), AllOf(StartsWith("ERROR: DATA_LOSS: "), HasSubstr(row)));
  }
}

TEST(SqliteDamageTest, AFlippedBitIsReportedOrHarmless) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  const std::string good = Bytes(path);
  const std::string expected = ScriptText();
  Random random(1, "flipped bits");
  int reported = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    const size_t at = random.Below(bad.size());
    bad[at] = static_cast<char>(bad[at] ^ (1 << random.Below(8)));
    const std::string copy = dir.File("copy.db");
    Write(copy, bad);
    const std::string text = OpenAndDescribe(copy);
    if (text.starts_with("ERROR: ")) {
      ++reported;
    } else {
      ASSERT_EQ(text, expected) << "bit flipped in byte " << at;
    }
    for (const char* suffix : kSuffixes) {
      std::filesystem::remove(copy + suffix);
    }
  }
  // Most pages of this small file are nearly empty, and unused bytes do not matter.
  EXPECT_GT(reported, 20);
}

TEST(SqliteDamageTest, AZeroedOrTornPageIsReportedOrHarmless) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  MakeDatabase(path);
  const std::string good = Bytes(path);
  const std::string expected = ScriptText();
  constexpr size_t kPage = 4096;
  for (size_t page = 0; page < good.size() / kPage; ++page) {
    // Whole, second half, first half, last sector.
    for (const auto& [from, to] : {std::pair(0, 4096), {2048, 4096}, {0, 2048}, {3584, 4096}}) {
      std::string bad = good;
      std::fill(bad.begin() + static_cast<int64_t>(page * kPage) + from,
                bad.begin() + static_cast<int64_t>(page * kPage) + to, '\0');
      const std::string copy = dir.File("copy.db");
      Write(copy, bad);
      const std::string text = OpenAndDescribe(copy);
      if (!text.starts_with("ERROR: ")) {
        ASSERT_EQ(text, expected) << "page " << page << " zeroed from " << from << " to " << to;
      }
      for (const char* suffix : kSuffixes) {
        std::filesystem::remove(copy + suffix);
      }
    }
  }
}

TEST(SqliteDamageTest, ADamagedLogIsReportedOrHarmless) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string copy = dir.File("copy.db");
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
  }
  const std::string expected = ScriptText();
  const std::string log = Bytes(path + "-wal");
  ASSERT_GT(log.size(), 50'000);
  Random random(1, "damaged log");
  int reported = 0;
  for (int round = 0; round < 100; ++round) {
    CopyFiles(path, copy);
    std::filesystem::remove(copy + "-shm");
    std::string bad = log;
    const size_t at = random.Below(bad.size());
    if (random.Chance(0.5)) {
      bad[at] = static_cast<char>(bad[at] ^ (1 << random.Below(8)));
    } else {
      bad.resize(at);
    }
    Write(copy + "-wal", bad);
    const absl::StatusOr<std::vector<std::string>> findings = CheckDatabase(copy);
    const std::string text = OpenAndDescribe(copy);
    if (text.starts_with("ERROR: ")) {
      EXPECT_THAT(text, HasSubstr("acknowledged commits are missing"));
      ASSERT_OK(findings);
      EXPECT_THAT(*findings, Contains(HasSubstr("acknowledged commits are missing")))
          << "log damaged at byte " << at;
      ++reported;
    } else {
      ASSERT_EQ(text, expected) << "log damaged at byte " << at;
    }
  }
  EXPECT_GT(reported, 50);
}

TEST(SqliteDamageTest, AMissingLogOrDatabaseIsReported) {
  const TempDir dir;
  const std::string path = dir.File("concur.db");
  const std::string copy = dir.File("copy.db");
  const std::unique_ptr<SqliteStore> store = MustOpen(path);
  for (const Batch& batch : ScriptOfBatches()) {
    ASSERT_OK(store->Commit(batch));
  }
  CopyFiles(path, copy);
  std::filesystem::remove(copy + "-wal");
  EXPECT_THAT(OpenAndDescribe(copy),
              AllOf(StartsWith("ERROR: DATA_LOSS"), HasSubstr("commits are missing")));
  CopyFiles(path, copy);
  std::filesystem::remove(copy + "-wal");
  std::filesystem::remove(copy);
  EXPECT_THAT(OpenAndDescribe(copy),
              AllOf(StartsWith("ERROR: DATA_LOSS"), HasSubstr("remove"), HasSubstr(".mark")));
  // The remedy that the message names.
  std::filesystem::remove(copy + ".mark");
  EXPECT_THAT(OpenAndDescribe(copy), StartsWith("next 1"));
}

}  // namespace
}  // namespace concur::testing
