// SPDX-License-Identifier: Apache-2.0
// Imports through the engine: acknowledged ones survive, whatever commit fails.

#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "coordinator/engine/engine.h"
#include "core/sweep/imported_results.h"
#include "store/memory_store.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/faulty_store.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::concur::testing::FaultyStore;
using ::concur::testing::ImportedScores;
using ::concur::testing::ImportedSweep;
using ::concur::testing::SimulatedClock;

absl::StatusOr<SweepSpec> DecodeImported(absl::string_view /*bytes*/) { return ImportedSweep(); }

// Sends the request, and returns the sweep when it is acknowledged.
std::optional<SweepId> ImportOnce(Engine& engine, const bool& dead) {
  std::optional<SweepId> acknowledged;
  engine.Call<SweepId>(
      [](Scheduler& scheduler) {
        return scheduler.Import(
            {"owner", "r", "spec",
             std::make_shared<const Expansion>(*Expansion::Make(ImportedSweep()))},
            std::make_shared<std::vector<ImportedResult>>(ImportedScores({0, 1, 5})));
      },
      [&](absl::StatusOr<SweepId> id) {
        if (id.ok() && !dead) {
          acknowledged = *id;
        }
      });
  engine.RunUntilIdle();
  return acknowledged;
}

// A store whose rows of deleted sweeps go with the next commits.
class DeletingStore : public MemoryStore {
 public:
  bool IsDeleting() const override { return left_ > 0; }
  absl::Status Commit(const Batch& batch) override {
    --left_;
    return MemoryStore::Commit(batch);
  }
  int left() const { return left_; }

 private:
  int left_ = 3;
};

TEST(EngineImportTest, TheRowsOfDeletedSweepsGoThoughNobodyAsksForAnything) {
  SimulatedClock clock;
  DeletingStore store;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine,
                       Engine::Create(clock, store, DecodeImported, {}));
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_LE(engine->NextDeadline(), clock.Now());
    engine->RunTurn();
  }
  EXPECT_EQ(store.left(), 0);
  EXPECT_GT(engine->NextDeadline(), clock.Now());
}

TEST(EngineImportTest, AnImportIsAllThereOrNotAtAllAndIsRepeatedSafely) {
  for (const FaultyStore::When when : {FaultyStore::When::kBefore, FaultyStore::When::kAfter}) {
    SimulatedClock clock;
    MemoryStore disk;
    {
      FaultyStore store(disk);
      store.FailCommit(1, when);
      bool dead = false;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine,
                           Engine::Create(clock, store, DecodeImported, {}));
      engine->SetFatalForTest([&](const absl::Status&) { dead = true; });
      EXPECT_FALSE(ImportOnce(*engine, dead).has_value());
      EXPECT_TRUE(dead);
      engine->SetFatalForTest([](const absl::Status&) {});
    }
    ASSERT_OK_AND_ASSIGN(const Snapshot saved, disk.Load());
    const bool durable = when == FaultyStore::When::kAfter;
    EXPECT_EQ(saved.sweeps.size(), durable ? 1u : 0u);
    EXPECT_EQ(saved.results.size(), durable ? 3u : 0u);
    EXPECT_EQ(saved.jobs.size(), durable ? 6u : 0u);
    for (int repeat = 0; repeat < 2; ++repeat) {  // each after a restart
      const bool dead = false;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine,
                           Engine::Create(clock, disk, DecodeImported, {}));
      EXPECT_EQ(ImportOnce(*engine, dead).value_or(SweepId{}), SweepId{1});
      const Scheduler& scheduler = engine->scheduler_for_test();
      scheduler.CheckInvariants();
      EXPECT_EQ(scheduler.views().sweep_count(), 1u);
      EXPECT_EQ(scheduler.views().FindSweep({1})->state, SweepState::kSucceeded);
      EXPECT_EQ(scheduler.views().ViewJob({{1}, 5}).result->metrics[0].value, 0.55);
    }
  }
}

}  // namespace
}  // namespace concur
