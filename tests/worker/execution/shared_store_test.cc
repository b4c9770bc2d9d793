// SPDX-License-Identifier: Apache-2.0
// Results of a worker that shares the coordinator's disk, the small ones in packs.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "store/artifacts/directory_store.h"
#include "tests/testing/break_files.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"

namespace concur::worker {
namespace {

class SharedStoreTest : public ExecutorFixture {};

TEST_F(SharedStoreTest, OnASharedDiskArtifactsGoStraightToTheCoordinator) {
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("coordinator")));
  executor_->SetCoordinatorStore({store->directory(), store->store_id()});
  JobOrder order = Train("cp $1 $2");
  ASSERT_OK_AND_ASSIGN(order.train[0].digest, store->Put("shared data"));
  executor_->Start(order);
  const ExecutorReport report = Next();
  ASSERT_TRUE(report.finished.result.succeeded) << report.finished.result.message;
  EXPECT_TRUE(report.published);
  EXPECT_TRUE(store->Has(report.finished.result.artifacts[0].digest));
  EXPECT_EQ(transfer_.downloads(), 0);
}

TEST_F(SharedStoreTest, AStoreWithAnotherIdIsNotTheCoordinators) {
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("another")));
  executor_->SetCoordinatorStore({store->directory(), "0123456789abcdef0123456789abcdef"});
  executor_->Start(Train("cp $1 $2"));
  EXPECT_FALSE(Next().published);
  executor_->SetCoordinatorStore({temp_.File("nowhere"), "x"});
  EXPECT_NE(access(temp_.File("nowhere").c_str(), F_OK), 0) << "looking must not make a store";
}

TEST_F(SharedStoreTest, SmallResultsThatShareAPackAreDurableWhenTheyAreReported) {
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("coordinator"), Packing::kMake));
  executor_->SetCoordinatorStore({store->directory(), store->store_id()});
  const auto run = [&](int job) {
    JobOrder order = Train(absl::StrCat("echo log of ", job, "; cp $1 $2"));
    order.train[0].digest = *store->Put("shared data");
    executor_->Start(order);
    return Next().finished.result;
  };
  const auto packs = [&] {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(temp_.File("coordinator/packs"))) {
      paths.push_back(entry.path());
    }
    return paths;
  };
  for (const int job : {1, 2}) {
    const JobResult result = run(job);
    ASSERT_TRUE(result.succeeded) << result.message;
    ASSERT_EQ(result.artifacts.size(), 2);
    for (const ArtifactRef& artifact : result.artifacts) {
      EXPECT_OK(store->Verify(artifact.digest));
      // Jobs read systems by path.
      EXPECT_EQ(store->PathOf(artifact.digest).ok(), artifact.kind == ArtifactKind::kSystem);
    }
  }
  ASSERT_EQ(packs().size(), 1);
  // A disk that fails at the sync: a training is worth more than its log.
  ASSERT_NO_FATAL_FAILURE(concur::testing::BreakFilesOf(packs()[0]));
  const JobResult trained = run(3);
  ASSERT_TRUE(trained.succeeded) << trained.message;
  ASSERT_EQ(trained.artifacts.size(), 1);
  EXPECT_EQ(trained.artifacts[0].kind, ArtifactKind::kSystem);
  EXPECT_OK(store->Verify(trained.artifacts[0].digest));
}

TEST_F(SharedStoreTest, AResultWhosePackCannotBeSyncedIsNotHandedOn) {
  ASSERT_OK_AND_ASSIGN(auto store, DirectoryStore::Open(temp_.File("coordinator"), Packing::kMake));
  executor_->SetCoordinatorStore({store->directory(), store->store_id()});
  const auto run = [&](int bleu) {
    JobOrder order = Eval(absl::StrCat("echo '{\"bleu\": ", bleu, "}' > $3"));
    order.format = DataFormat::kFile;
    return Run(order);
  };
  const JobResult before = run(1);
  ASSERT_TRUE(before.succeeded) << before.message;
  const std::filesystem::directory_iterator packs(temp_.File("coordinator/packs"));
  ASSERT_NE(packs, std::filesystem::directory_iterator());
  ASSERT_NO_FATAL_FAILURE(concur::testing::BreakFilesOf(packs->path()));
  const JobResult failed = run(2);
  EXPECT_EQ(failed.failure, FailureClass::kWorker);
  EXPECT_THAT(failed.message, HasSubstr("could not be made durable"));
  EXPECT_TRUE(failed.artifacts.empty());
  const JobResult after = run(3);
  ASSERT_TRUE(after.succeeded) << after.message;
  for (const ArtifactRef& artifact : after.artifacts) {
    EXPECT_OK(store->Verify(artifact.digest));
  }
}

TEST_F(SharedStoreTest, AResultIsSyncedInTheStoreThatItWasPutInto) {
  ASSERT_OK_AND_ASSIGN(auto first, DirectoryStore::Open(temp_.File("first"), Packing::kMake));
  ASSERT_OK_AND_ASSIGN(auto second, DirectoryStore::Open(temp_.File("second"), Packing::kMake));
  executor_->SetCoordinatorStore({first->directory(), first->store_id()});
  JobOrder order = Eval("echo '{\"bleu\": 1}' > $3");
  order.format = DataFormat::kFile;
  executor_->Start(order);
  waker_.Wait(kDeadline);  // for the report, which is not polled yet
  const std::filesystem::directory_iterator packs(temp_.File("first/packs"));
  ASSERT_NE(packs, std::filesystem::directory_iterator());
  ASSERT_NO_FATAL_FAILURE(concur::testing::BreakFilesOf(packs->path()));
  executor_->SetCoordinatorStore({second->directory(), second->store_id()});
  EXPECT_EQ(Next().finished.result.failure, FailureClass::kWorker);
}

}  // namespace
}  // namespace concur::worker
