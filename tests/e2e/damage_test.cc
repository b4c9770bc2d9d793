// SPDX-License-Identifier: Apache-2.0
// Damaged blocks, with real programs: what is wrong is named, and never served as good data. And
// the copies that help then: `concur-coordinator check`, `backup`, `restore`.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Four jobs, each with a log of its own: those of train jobs are too large for a pack.
constexpr char kDamageSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: small}
spec:
  approaches:
    - metadata: {name: shell}
      spec:
        version: "1"
        train: {command: [/bin/sh, -c, "echo training {seed}; seq 20000; head -c 9000 /dev/urandom > {model}; : {train}"]}
        predict: {command: [/bin/sh, -c, "echo predicting {seed}; printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  seeds: [1, 2]
  retry: {failures_max: 1, lost_max: 1, backoff_min: 10ms, backoff_max: 20ms}
)";

struct Damage {
  const char* name;
  void (*apply)(std::string& bytes, size_t at);  // around byte `at`
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

const Damage kDamages[] = {
    {"FlippedBit", [](std::string& bytes, size_t at) { bytes[at] ^= 4; }},
    {"ZeroedBlock",
     [](std::string& bytes, size_t at) {
       const size_t block = at / 4096 * 4096;
       std::fill(bytes.begin() + static_cast<int64_t>(block),
                 bytes.begin() + static_cast<int64_t>(std::min(block + 4096, bytes.size())), '\0');
     }},
    {"TornOff", [](std::string& bytes, size_t at) { bytes.resize(at / 512 * 512); }},
};

class DamageTest : public ::testing::TestWithParam<Damage> {
 protected:
  void SetUp() override {
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("sweep.yaml", kDamageSweep);
  }
  void RunSweep(const std::vector<std::string>& more = {}) {
    cluster_.StartCoordinator(more);
    cluster_.StartWorker("w1");
    const Output run = cluster_.RunSweep("sweep.yaml");
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  }
  Output Admin(const std::vector<std::string>& arguments, const std::string& data = "data") {
    std::vector<std::string> argv = {Cluster::Binary("concur-coordinator"), "--data-dir",
                                     cluster_.File(data)};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("admin"));
  }
  // Output of a coordinator that does not start.
  Output Start() { return Admin({"--listen", cluster_.server()}); }
  std::string Scores() { return cluster_.Concur({"-o", "csv", "scores", "s1"}).out; }
  // The digest of a job's artifact.
  std::string ArtifactOf(const std::string& job, const std::string& kind) {
    const auto answer =
        nlohmann::json::parse(cluster_.Concur({"-o", "json", "job", "get", job}).out);
    for (const auto& artifact : answer.at("result").at("artifacts")) {
      if (artifact.at("kind") == kind) {
        return artifact.at("digest");
      }
    }
    return "";
  }
  std::string ArtifactFile(const std::string& digest) {
    return cluster_.File(absl::StrCat("data/artifacts/sha256/", digest.substr(0, 2), "/", digest));
  }
  // Applies the test's damage where `text` stands for the last time; in the middle if it is "".
  void DamageFile(const std::string& path, const std::string& text) {
    ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(path));
    const size_t at = text.empty() ? bytes.size() / 2 : bytes.rfind(text);
    ASSERT_NE(at, std::string::npos) << path;
    GetParam().apply(bytes, at);
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  Cluster cluster_;
};

INSTANTIATE_TEST_SUITE_P(All, DamageTest, ::testing::ValuesIn(kDamages),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(DamageTest, ADamagedDatabaseIsNamedAndNotServed) {
  ASSERT_NO_FATAL_FAILURE(RunSweep());
  cluster_.KillCoordinator(SIGTERM);
  ASSERT_NO_FATAL_FAILURE(DamageFile(cluster_.File("data/concur.db"), "accuracy"));
  const Output start = Start();
  EXPECT_EQ(start.exit_code, 1);
  EXPECT_THAT(start.err, AllOf(HasSubstr("cannot start"), HasSubstr("concur.db"),
                               AnyOf(HasSubstr("result of job s1/"), HasSubstr("malformed"),
                                     HasSubstr("page"))));
  EXPECT_THAT(start.err, Not(HasSubstr("listening")));
  const Output check = Admin({"check"});
  EXPECT_EQ(check.exit_code, 1) << check.out << check.err;
  EXPECT_THAT(check.out, HasSubstr("concur.db"));
  // Nor does a copy carry it on.
  EXPECT_EQ(Admin({"backup", cluster_.File("copy")}).exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(cluster_.File("copy")));
}

TEST_P(DamageTest, ADamagedLogOfTheDatabaseIsNamedAndNotServed) {
  ASSERT_NO_FATAL_FAILURE(RunSweep());
  cluster_.KillCoordinator(SIGKILL);  // everything is in the log still
  ASSERT_NO_FATAL_FAILURE(DamageFile(cluster_.File("data/concur.db-wal"), ""));
  const Output check = Admin({"check"});
  EXPECT_EQ(check.exit_code, 1) << check.out << check.err;
  EXPECT_THAT(check.out, HasSubstr("acknowledged commits are missing"));
  const Output start = Start();
  EXPECT_EQ(start.exit_code, 1);
  EXPECT_THAT(start.err,
              AllOf(HasSubstr("cannot start"), HasSubstr("acknowledged commits are missing"),
                    HasSubstr("restore a backup")));
}

TEST_P(DamageTest, DamagedArtifactsAreNamedNotServedAndCanBeMadeAgain) {
  ASSERT_NO_FATAL_FAILURE(RunSweep());
  const std::string log = ArtifactOf("s1/0", "log");
  const std::string system = ArtifactOf("s1/0", "system");
  ASSERT_NO_FATAL_FAILURE(DamageFile(ArtifactFile(log), ""));
  ASSERT_NO_FATAL_FAILURE(DamageFile(ArtifactFile(system), ""));
  // To a reader.
  const Output logs = cluster_.Concur({"job", "logs", "s1/0"});
  EXPECT_NE(logs.exit_code, 0);
  EXPECT_THAT(logs.err, AllOf(HasSubstr(log), HasSubstr("damaged")));
  EXPECT_FALSE(std::filesystem::exists(ArtifactFile(log)));
  EXPECT_TRUE(
      std::filesystem::exists(cluster_.File(absl::StrCat("data/artifacts/damaged/", log, ".0"))));
  // To a job. A new worker trusts nothing that an earlier one looked at.
  cluster_.KillWorker("w1", SIGTERM);
  cluster_.StartWorker("w2");
  EXPECT_EQ(cluster_.Concur({"sweep", "retry", "s1", "--job", "1", "--rerun"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 5);
  EXPECT_THAT(cluster_.Concur({"-o", "json", "job", "get", "s1/1"}).out,
              AllOf(HasSubstr(absl::StrCat("artifact ", system, ": damaged")),
                    HasSubstr(absl::StrCat("artifact ", system, " is not stored here"))));
  // To whoever looks for it, with what helps.
  const Output check = Admin({"check"});
  EXPECT_EQ(check.exit_code, 1) << check.out;
  EXPECT_THAT(check.out,
              AllOf(HasSubstr(absl::StrCat(log, " is missing; it is the log of job s1/0")),
                    HasSubstr(absl::StrCat(system, " is missing; it is the system of job s1/0")),
                    HasSubstr("concur sweep retry s1 --job 0 --rerun")));
  EXPECT_EQ(cluster_.Concur({"sweep", "retry", "s1", "--job", "1"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 5);
  EXPECT_EQ(cluster_.Concur({"sweep", "retry", "s1", "--job", "0", "--rerun"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  const Output sound = Admin({"check"});
  EXPECT_EQ(sound.exit_code, 0) << sound.out << sound.err;
}

TEST_P(DamageTest, WhatADamagedPackHeldIsNamedNotServedAndCanBeMadeAgain) {
  cluster_.Write("options.yaml",
                 "apiVersion: concur/v1\nkind: CoordinatorOptions\n"
                 "spec: {pack_small_artifacts: true}\n");
  ASSERT_NO_FATAL_FAILURE(RunSweep({"--options", cluster_.File("options.yaml")}));
  const std::string log = ArtifactOf("s1/1", "log");
  const std::filesystem::directory_iterator packs(cluster_.File("data/artifacts/packs"));
  ASSERT_NE(packs, std::filesystem::directory_iterator());
  ASSERT_NO_FATAL_FAILURE(DamageFile(packs->path(), "predicting 1"));
  const Output logs = cluster_.Concur({"job", "logs", "s1/1"});
  EXPECT_NE(logs.exit_code, 0);
  EXPECT_THAT(logs.out, Not(HasSubstr("predicting")));
  EXPECT_THAT(logs.err,
              AllOf(HasSubstr(log), AnyOf(HasSubstr("damaged"), HasSubstr("is not stored here"))));
  const Output check = Admin({"check"});
  EXPECT_EQ(check.exit_code, 1) << check.out;
  EXPECT_THAT(check.out, HasSubstr(absl::StrCat(log, " is missing; it is the log of job s1/1")));
  // Its neighbours may have been in the same block.
  for (const char* job : {"1", "3"}) {
    EXPECT_EQ(cluster_.Concur({"sweep", "retry", "s1", "--job", job, "--rerun"}).exit_code, 0);
    EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  }
  const Output sound = Admin({"check"});
  EXPECT_EQ(sound.exit_code, 0) << sound.out << sound.err;
  EXPECT_THAT(cluster_.Concur({"job", "logs", "s1/1"}).out, HasSubstr("predicting 1"));
}

class CopyTest : public DamageTest {};
INSTANTIATE_TEST_SUITE_P(All, CopyTest, ::testing::Values(kDamages[0]),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(CopyTest, ACopyOfARunningCoordinatorRestoresEverything) {
  ASSERT_NO_FATAL_FAILURE(RunSweep());
  const std::string scores = Scores();
  const Output check = Admin({"check"});
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  EXPECT_THAT(check.out, IsEmpty());
  EXPECT_THAT(check.err, HasSubstr("1 sweep, 4 results, "));
  const std::string copy = cluster_.File("copy");
  const Output backup = Admin({"backup", copy});
  EXPECT_EQ(backup.exit_code, 0) << backup.out << backup.err;
  EXPECT_THAT(Admin({"backup", copy}).err, HasSubstr("exists"));
  // Not over what is there, running or not.
  EXPECT_THAT(Admin({"restore", copy}).err, HasSubstr("holds a database already"));
  cluster_.KillWorker("w1", SIGTERM);
  cluster_.KillCoordinator(SIGKILL);
  EXPECT_THAT(Admin({"restore", copy}).err, HasSubstr("holds a database already"));
  std::filesystem::rename(cluster_.File("data"), cluster_.File("broken"));
  const Output restore = Admin({"restore", copy});
  EXPECT_EQ(restore.exit_code, 0) << restore.out << restore.err;
  cluster_.StartCoordinator();
  EXPECT_EQ(Scores(), scores);
  EXPECT_THAT(cluster_.Concur({"job", "logs", "s1/0"}).out, HasSubstr("training 1"));
  const Output again = Admin({"check"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
}

// A snapshot, or a disk that the system made read-only after an error.
TEST_P(CopyTest, AReadOnlyDirectoryIsCheckedAndCopied) {
  const std::string read_only =
      "d=$1; shift; mount --bind $d $d && mount -o remount,ro,bind $d && exec \"$@\"";
  if (access("/usr/bin/unshare", X_OK) != 0 ||
      Cluster::Run({"/usr/bin/unshare", "-rm", "true"}, cluster_.File("unshare")).exit_code != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  ASSERT_NO_FATAL_FAILURE(RunSweep());
  const auto admin = [&](std::vector<std::string> arguments) {
    std::vector<std::string> argv = {"/usr/bin/unshare",
                                     "-rm",
                                     "sh",
                                     "-c",
                                     read_only,
                                     "sh",
                                     cluster_.File("data"),
                                     Cluster::Binary("concur-coordinator"),
                                     "--data-dir",
                                     cluster_.File("data")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("admin"));
  };
  const std::string digest = ArtifactOf("s1/2", "log");
  cluster_.KillWorker("w1", SIGTERM);
  for (const int signal : {SIGKILL, SIGTERM}) {  // with a log of commits, and without one
    cluster_.KillCoordinator(signal);
    const Output check = admin({"check"});
    EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
    EXPECT_THAT(check.err, HasSubstr("1 sweep, 4 results, "));
    const std::string copy = cluster_.File(absl::StrCat("copy", signal));
    const Output backup = admin({"backup", copy});
    EXPECT_EQ(backup.exit_code, 0) << backup.out << backup.err;
    EXPECT_EQ(Admin({"check"}, absl::StrCat("copy", signal)).exit_code, 0);
    if (signal == SIGKILL) {
      std::filesystem::remove(cluster_.File("data/concur.db-shm"));
      EXPECT_THAT(admin({"check"}).err, HasSubstr("copy the directory"));
      cluster_.StartCoordinator();
    }
  }
  ASSERT_NO_FATAL_FAILURE(DamageFile(ArtifactFile(digest), ""));
  const Output damaged = admin({"check"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.out, AllOf(HasSubstr(digest), HasSubstr("damaged")));
}

// A backup read the database, then a sweep was deleted and what it had was collected: the backup
// called it missing.
TEST_P(CopyTest, WhatIsDeletedDuringABackupIsCollectedAfterIt) {
  cluster_.Write("options.yaml",
                 "{apiVersion: concur/v1, kind: CoordinatorOptions, "
                 "spec: {gc: {interval: 1s, grace: 0s}}}\n");
  ASSERT_NO_FATAL_FAILURE(RunSweep({"--options", cluster_.File("options.yaml")}));
  const std::string log = ArtifactFile(ArtifactOf("s1/2", "log"));
  ASSERT_TRUE(std::filesystem::exists(log));
  {
    const FileDescriptor backup(open(cluster_.File("data/collect.lock").c_str(), O_RDWR));
    ASSERT_EQ(flock(backup.get(), LOCK_SH), 0) << "as a backup does";
    ASSERT_EQ(cluster_.Concur({"sweep", "delete", "s1", "--yes"}).exit_code, 0);
    ASSERT_TRUE(Eventually([&] {
      return absl::StrContains(ReadFile(cluster_.File("logs/coordinator.err")).value_or(""),
                               "collected later");
    }));
    EXPECT_TRUE(std::filesystem::exists(log));
  }
  EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(log); }));
}

TEST_P(CopyTest, ACopyLacksWhatIsDamagedAndSaysSo) {
  ASSERT_NO_FATAL_FAILURE(RunSweep());
  const std::string digest = ArtifactOf("s1/2", "log");
  ASSERT_NO_FATAL_FAILURE(DamageFile(ArtifactFile(digest), ""));
  const Output backup = Admin({"backup", cluster_.File("copy")});
  EXPECT_EQ(backup.exit_code, 1);
  EXPECT_THAT(backup.out, AllOf(HasSubstr(digest), HasSubstr("log of job s1/2")));
  const Output check = Admin({"check"}, "copy");
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out, AllOf(HasSubstr(digest), HasSubstr("missing")));
}

TEST_P(CopyTest, WhatIsNoDataDirectoryIsNotMadeOne) {
  const Output check = Admin({"check"}, "nothing");
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.err, AllOf(HasSubstr("nothing"), HasSubstr("holds no concur.db")));
  EXPECT_FALSE(std::filesystem::exists(cluster_.File("nothing")));
  EXPECT_THAT(Admin({"restore", cluster_.File("nothing")}, "data").err,
              HasSubstr("holds no concur.db"));
}

TEST(DeletedDatabaseTest, AnIdleCoordinatorEndsAndSaysWhatBecameOfIt) {
  Cluster cluster;
  cluster.StartCoordinator();
  ASSERT_TRUE(std::filesystem::remove(cluster.File("data/concur.db")));
  cluster.KillCoordinator(0);  // waits for its end
  EXPECT_THAT(ReadFile(cluster.File("logs/coordinator.err")).value_or(""),
              AllOf(HasSubstr("was removed while"), HasSubstr("saved in")));
  EXPECT_TRUE(std::filesystem::exists(cluster.File("data/concur.db.rescued")));
}

}  // namespace
}  // namespace concur::testing
