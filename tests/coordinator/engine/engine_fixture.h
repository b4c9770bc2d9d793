// SPDX-License-Identifier: Apache-2.0
// An engine without a thread, on a simulated clock and a store in memory.
#ifndef CONCUR_TESTS_COORDINATOR_ENGINE_ENGINE_FIXTURE_H_
#define CONCUR_TESTS_COORDINATOR_ENGINE_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/engine/engine.h"
#include "store/memory_store.h"
#include "tests/core/sweep/sweep_builder.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/status_matchers.h"

namespace concur {

using ::concur::testing::SimulatedClock;

// One approach, one benchmark: jobs 0 (train) and 1 (eval), times `seeds`.
inline SweepSpec SmallSpec(int seeds = 1) {
  SweepSpec spec;
  spec.name = "small";
  spec.approaches = {testing::TrainedApproach("a")};
  spec.benchmarks = {testing::Benchmark("x")};
  spec.train_sets = {testing::PlainTrainSet(spec, 0)};
  spec.seeds.clear();
  for (int seed = 1; seed <= seeds; ++seed) {
    spec.seeds.push_back(seed);
  }
  return spec;
}

// In these tests a spec's bytes are the number of its seeds.
inline absl::StatusOr<SweepSpec> Decode(absl::string_view bytes) {
  return SmallSpec(std::stoi(std::string(bytes)));
}

inline Scheduler::Submission SubmissionOf(int seeds, const std::string& request_id = "r") {
  return {"owner", request_id, absl::StrCat(seeds),
          std::make_shared<const Expansion>(*Expansion::Make(SmallSpec(seeds)))};
}

inline SyncRequest SyncOf(const std::string& worker, uint64_t sequence) {
  SyncRequest request;
  request.worker.name = worker;
  request.worker.incarnation = worker + "-1";
  request.worker.capacity = Resources{.cpu_millis = 2000, .memory_bytes = 0, .gpus = 0};
  request.sequence = sequence;
  request.wait = absl::Seconds(10);
  return request;
}

inline FinishedAttempt Finished(AttemptId id, bool is_train) {
  FinishedAttempt finished{id, {}};
  finished.result.succeeded = true;
  finished.result.start_time = absl::FromUnixSeconds(1'700'000'000);
  if (is_train) {
    finished.result.artifacts = {{ArtifactKind::kSystem, Sha256Of("system"), 6}};
  } else {
    finished.result.metrics = {{"exact_match", 50.0, 10}, {"f1", 60.0, 10}};
  }
  return finished;
}

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { Restart(); }

  void Restart() {
    engine_.reset();
    absl::StatusOr<std::unique_ptr<Engine>> made = Engine::Create(clock_, store_, Decode, options_);
    ASSERT_OK(made);
    engine_ = *std::move(made);
  }

  absl::StatusOr<SweepId> Submit(int seeds, const std::string& request_id = "r") {
    absl::StatusOr<SweepId> result = absl::UnknownError("no answer");
    engine_->Call<SweepId>(
        [&](Scheduler& scheduler) { return scheduler.Submit(SubmissionOf(seeds, request_id)); },
        [&](absl::StatusOr<SweepId> id) { result = id; });
    engine_->RunUntilIdle();
    return result;
  }

  // Starts a Sync; its answer appears in the returned place when there is one.
  using Answer = std::shared_ptr<std::optional<absl::StatusOr<SyncResponse>>>;
  Answer Sync(SyncRequest request) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<SyncResponse>>>();
    engine_->Sync(std::move(request), [answer](absl::StatusOr<SyncResponse> response) {
      ASSERT_FALSE(answer->has_value()) << "answered twice";
      *answer = std::move(response);
    });
    engine_->RunUntilIdle();
    return answer;
  }

  EngineOptions options_;
  SimulatedClock clock_;
  MemoryStore store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace concur

#endif  // CONCUR_TESTS_COORDINATOR_ENGINE_ENGINE_FIXTURE_H_
