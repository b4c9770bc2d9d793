// SPDX-License-Identifier: Apache-2.0
// A coordinator whose disk is full refuses what is new, keeps what it has, and goes on when there
// is space again: a small file system of its own, mounted where only this program and its children
// see it.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Jobs that wait for a file GATE before they end.
constexpr char kDiskFullSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: NAME}
spec:
  approaches:
    - metadata: {name: NAME}
      spec:
        version: NAME
        train: {command: [/bin/sh, -c, "echo x > DIR/running; while [ ! -e DIR/gate ]; do sleep 0.05; done; echo {seed} > {model}; : {train}"]}
        predict: {command: [/bin/sh, -c, "printf '{{\"accuracy\": 0.%s}}' {seed} > {metrics}; : {model} {test}"]}
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  seeds: [1, 2]
  retry: {backoff_min: 50ms, backoff_max: 100ms, lost_max: 1000}
)";

class DiskFullTest : public ::testing::Test {
 protected:
  void SetUp() override {
    data_ = cluster_.File("data");
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", data_.c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "cannot mount a small file system (" << std::strerror(errno)
                   << "): run as root to test a full disk";
    }
    mounted_ = true;
    cluster_.Write("set.txt", "x\n");
    cluster_.Write("options.yaml",
                   "apiVersion: concur/v1\nkind: CoordinatorOptions\nspec: {lease: 2s, "
                   "sync_park_max: 1s, limits: {disk_free_min: 1MiB}}\n");
  }
  void TearDown() override {
    if (mounted_) {
      umount2(data_.c_str(), MNT_DETACH);
    }
  }
  Output Submit(const std::string& name) {
    cluster_.Write(
        name + ".yaml",
        absl::StrReplaceAll(kDiskFullSweep, {{"NAME", name}, {"DIR", cluster_.dir().path()}}));
    return cluster_.Concur({"sweep", "submit", cluster_.File(name + ".yaml")});
  }
  void OpenGate(bool open) {
    if (open) {
      cluster_.Write("gate", "");
    } else {
      std::filesystem::remove(cluster_.File("gate"));
      std::filesystem::remove(cluster_.File("running"));
    }
  }
  // Leaves no byte free.
  void FillDisk() {
    const FileDescriptor filler(
        open((data_ + "/filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::vector<char> block(4096);
    while (write(filler.get(), block.data(), block.size()) > 0) {
    }
    ASSERT_EQ(errno, ENOSPC);
  }
  std::string Log() { return ReadFile(cluster_.File("logs/coordinator.err")).value_or(""); }

  Cluster cluster_;
  std::string data_;
  bool mounted_ = false;
};

TEST_F(DiskFullTest, NewWorkIsRefusedNothingIsLostAndSpaceIsEnoughToGoOn) {
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  cluster_.StartWorker("w1");
  OpenGate(true);
  ASSERT_EQ(Submit("first").exit_code, 0);
  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  const std::string scores = cluster_.Concur({"-o", "csv", "scores", "s1"}).out;
  OpenGate(false);
  ASSERT_EQ(Submit("second").exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(cluster_.File("running")); }));

  ASSERT_NO_FATAL_FAILURE(FillDisk());
  const Output refused = Submit("third");
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("disk is nearly full"), HasSubstr("bytes free"),
                                 HasSubstr("limits.disk_free_min, 1048576")));
  EXPECT_EQ(cluster_.Concur({"-o", "csv", "scores", "s1"}).out, scores);
  // A job that ends now cannot be saved: whatever is asked is refused, and nothing is forgotten.
  OpenGate(true);
  ASSERT_TRUE(Eventually([&] {
    cluster_.Concur({"sweep", "pause", "s2"});
    cluster_.Concur({"sweep", "resume", "s2"});
    return Log().find("the disk is full") != std::string::npos;
  }));
  const Output full = cluster_.Concur({"sweep", "pause", "s2"});
  EXPECT_EQ(full.exit_code, 1) << full.out;
  EXPECT_THAT(full.err, HasSubstr("the coordinator's disk is full, and nothing new is taken until "
                                  "there is space again"));

  std::filesystem::remove(data_ + "/filler");
  ASSERT_TRUE(
      Eventually([&] { return Log().find("the disk has space again") != std::string::npos; }));
  cluster_.Concur({"sweep", "resume", "s2"});
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s2"}).exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"-o", "csv", "scores", "s1"}).out, scores);
  EXPECT_EQ(Submit("third").exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s3"}).exit_code, 0);
  // The process that began is still the one.
  const std::string log = Log();
  EXPECT_NE(log.find("listening on"), log.npos);
  EXPECT_EQ(log.find("listening on"), log.rfind("listening on"));
}

TEST_F(DiskFullTest, ACoordinatorKilledOnAFullDiskHasEverythingWhenThereIsSpace) {
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  cluster_.StartWorker("w1");
  OpenGate(true);
  ASSERT_EQ(Submit("first").exit_code, 0);
  ASSERT_EQ(cluster_.Concur({"sweep", "wait", "s1"}).exit_code, 0);
  const std::string scores = cluster_.Concur({"-o", "csv", "scores", "s1"}).out;
  ASSERT_NO_FATAL_FAILURE(FillDisk());
  cluster_.KillCoordinator(SIGKILL);
  std::filesystem::remove(data_ + "/filler");
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  EXPECT_EQ(cluster_.Concur({"-o", "csv", "scores", "s1"}).out, scores);
  EXPECT_EQ(Submit("second").exit_code, 0);
  EXPECT_EQ(cluster_.Concur({"sweep", "wait", "s2"}).exit_code, 0);
}

}  // namespace
}  // namespace concur::testing
