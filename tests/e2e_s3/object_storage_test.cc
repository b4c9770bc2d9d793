// SPDX-License-Identifier: Apache-2.0
// Sweeps whose artifacts are in object storage: no disk is shared.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/swift_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

// Systems of 9 MiB, so that they go in parts, different for each seed; eval jobs check all of it.
constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: far}
spec:
  approaches:
    - metadata: {name: plain}
      spec:
        version: "1"
        train:
          command: [/bin/sh, -c, "yes {seed} | head -c 9437184 > {model}; cat {train}"]
        predict:
          command:
            - /bin/sh
            - -c
            - "yes $CONCUR_SEED | head -c 9437184 | cmp - {model} && cat {test} && printf '{{\"accuracy\": 0.5}}' > {metrics}"
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: train.txt, test: test.txt, metric: accuracy}
  seeds: [1, 2, 3, 4, 5, 6]
)";

class ObjectStorageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SwiftServer::IsAvailable()) {
      GTEST_SKIP() << SwiftServer::kMissing;
    }
    swift_ = std::make_unique<SwiftServer>();
    swift_->MakeBucket("concur");
    cluster_.Write("train.txt", "data to train on\n");
    cluster_.Write("test.txt", "data to test on\n");
    cluster_.Write("sweep.yaml", kSweep);
    cluster_.Write("credentials",
                   absl::StrCat("[default]\naws_access_key_id = ", SwiftServer::kAccessKey,
                                "\naws_secret_access_key = ", SwiftServer::kSecretKey, "\n"));
    ASSERT_EQ(chmod(cluster_.File("credentials").c_str(), 0600), 0);
    WriteOptions("gc: {interval: 10m, grace: 24h}");
  }
  void WriteOptions(const std::string& more) const {
    cluster_.Write("options.yaml",
                   absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n"
                                "  artifacts:\n    s3:\n      endpoint: ",
                                swift_->endpoint(),
                                "\n      bucket: concur\n      prefix: team/one\n"
                                "      credentials_file: credentials\n  ",
                                more, "\n"));
  }
  // A command of the coordinator's program on a data directory.
  Output Admin(const std::string& data, std::vector<std::string> arguments,
               bool with_options = true) const {
    arguments.insert(arguments.begin(), Cluster::Binary("concur-coordinator"));
    arguments.insert(arguments.end(), {"--data-dir", cluster_.File(data)});
    if (with_options) {
      arguments.insert(arguments.end(), {"--options", cluster_.File("options.yaml")});
    }
    return Cluster::Run(arguments, cluster_.File("admin"));
  }
  int Succeeded() const {
    const auto json = nlohmann::json::parse(
        cluster_.Concur({"-o", "json", "sweep", "get", "s1"}).out, nullptr, false);
    return json.is_object() ? json["counts"].value("succeeded", 0) : 0;
  }

  Cluster cluster_;
  std::unique_ptr<SwiftServer> swift_;
};

TEST_F(ObjectStorageTest, ASweepOutlivesItsCoordinatorWithoutASharedDisk) {
  const std::vector<std::string> options = {"--options", cluster_.File("options.yaml")};
  cluster_.StartCoordinator(options);
  cluster_.StartWorker("w1", 1);
  cluster_.StartWorker("w2", 1);
  ASSERT_EQ(cluster_.Concur({"sweep", "submit", cluster_.File("sweep.yaml")}).exit_code, 0);
  ASSERT_TRUE(Eventually([&] { return Succeeded() >= 2; }));
  cluster_.KillCoordinator(SIGKILL);
  cluster_.StartCoordinator(options);
  const Output waited = cluster_.Concur({"sweep", "wait", "s1"});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_EQ(Succeeded(), 12);
  EXPECT_THAT(cluster_.Concur({"job", "logs", "s1/0"}).out, HasSubstr("data to train on"));
  EXPECT_FALSE(std::filesystem::exists(cluster_.File("data/artifacts")));

  // Checked, copied to a directory, and put into object storage again from there.
  const Output check = Admin("data", {"check"});
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  EXPECT_THAT(check.err, HasSubstr("12 results"));
  const Output backup = Admin("data", {"backup", cluster_.File("copy")});
  EXPECT_EQ(backup.exit_code, 0) << backup.out << backup.err;
  EXPECT_TRUE(std::filesystem::exists(cluster_.File("copy/artifacts/sha256")));
  const Output taken = Admin("again", {"restore", cluster_.File("copy")});
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_THAT(taken.err, HasSubstr("choose another artifacts.s3.prefix"));
  const Output local = Admin("local", {"restore", cluster_.File("copy")}, /*with_options=*/false);
  EXPECT_EQ(local.exit_code, 0) << local.err;
  EXPECT_EQ(Admin("local", {"check"}, /*with_options=*/false).exit_code, 0);
}

TEST_F(ObjectStorageTest, WhatNothingNeedsIsCollected) {
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  cluster_.StartWorker("w1", 2);
  ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
  ASSERT_EQ(cluster_.Concur({"sweep", "delete", "s1", "--yes"}).exit_code, 0);
  cluster_.KillCoordinator(SIGTERM);
  WriteOptions("gc: {interval: 1s, grace: 0s}");
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  EXPECT_TRUE(Eventually(
      [&] { return absl::StrContains(Admin("data", {"check"}).err, "0 artifacts of 0 bytes"); }));
}

TEST_F(ObjectStorageTest, AnotherStoreThanBeforeIsRefused) {
  cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
  cluster_.KillCoordinator(SIGTERM);
  const Output without = Admin("data", {"--listen", "127.0.0.1:0"}, /*with_options=*/false);
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err, AllOf(HasSubstr("artifacts.s3"), HasSubstr("team/one")));
  const Output another = Admin("other", {"--listen", "127.0.0.1:0"});
  EXPECT_EQ(another.exit_code, 1);
  EXPECT_THAT(another.err, HasSubstr("is another coordinator's"));
  cluster_.Write(
      "options.yaml",
      absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n"
                   "  artifacts: {s3: {endpoint: \"",
                   swift_->endpoint(), "\", bucket: nobodys, credentials_file: credentials}}\n"));
  const Output no_bucket = Admin("third", {"--listen", "127.0.0.1:0"});
  EXPECT_EQ(no_bucket.exit_code, 1);
  EXPECT_THAT(no_bucket.err, HasSubstr("make the bucket"));
  cluster_.Write("options.yaml",
                 absl::StrCat("apiVersion: concur/v1\nkind: CoordinatorOptions\nspec:\n"
                              "  artifacts: {s3: {endpoint: \"",
                              swift_->endpoint(), "\", bucket: concur}}\n"));
  const Output nobody = Admin("third", {"--listen", "127.0.0.1:0"});
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_THAT(nobody.err, HasSubstr("AWS_ACCESS_KEY_ID"));
}

TEST_F(ObjectStorageTest, ADatabaseAndItsArtifactsAreShippedAndRestored) {
  const std::map<std::string, std::string> keys = {
      {"AWS_ENDPOINT_URL", swift_->endpoint()},
      {"AWS_ACCESS_KEY_ID", SwiftServer::kAccessKey},
      {"AWS_SECRET_ACCESS_KEY", SwiftServer::kSecretKey},
      {"no_proxy", "127.0.0.1"}};
  const std::string place = "s3://concur/team/second";
  // A mistyped prefix is left as it is.
  const Output nothing = Cluster::Run({Cluster::Binary("concur-coordinator"), "--data-dir",
                                       cluster_.File("new"), "restore", place + "/typo"},
                                      cluster_.File("admin"), keys);
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("nothing was shipped here"));
  EXPECT_FALSE(swift_->Has("concur/team/second/typo/artifacts/store-id"));
  // Artifacts on the disk, and artifacts that are in object storage already.
  const std::vector<std::string> here = {"--data-dir", cluster_.File("data")};
  const std::vector<std::string> far = {"--options", cluster_.File("options.yaml")};
  for (const bool is_far : {false, true}) {
    SCOPED_TRACE(is_far);
    const std::string to = absl::StrCat(place, is_far ? "/far" : "/here");
    std::vector<std::string> program = {Cluster::Binary("concur-coordinator")};
    if (is_far) {
      std::filesystem::remove_all(cluster_.File("data"));
      program.insert(program.end(), far.begin(), far.end());
    }
    cluster_.StartCoordinator(is_far ? far : std::vector<std::string>());
    cluster_.StartWorker("w1", 2);
    std::vector<std::string> ship = program;
    ship.insert(ship.end(), {"--data-dir", cluster_.File("data"), "ship", "--to", to});
    const Process shipping(ship, cluster_.File("ship.log"), keys);
    ASSERT_EQ(cluster_.RunSweep("sweep.yaml").exit_code, 0);
    std::vector<std::string> restore = program;
    restore.insert(restore.end(), {"--data-dir", cluster_.File("new"), "restore", to});
    Output restored;
    EXPECT_TRUE(Eventually([&] {
      std::filesystem::remove_all(cluster_.File("new"));
      restored = Cluster::Run(restore, cluster_.File("admin"), keys);
      return absl::StrContains(restored.err, "1 sweep, 12 results");
    })) << restored.err
        << ReadFile(cluster_.File("ship.log")).value_or("");
    EXPECT_EQ(restored.exit_code, 0) << restored.out << restored.err;
    EXPECT_TRUE(swift_->Has(absl::StrCat(to.substr(5), "/artifacts/store-id")));
    EXPECT_EQ(Admin("new", {"check"}, is_far).exit_code, 0);
    cluster_.KillWorker("w1", SIGTERM);
    cluster_.KillCoordinator(SIGTERM);
  }
}

}  // namespace
}  // namespace concur::testing
