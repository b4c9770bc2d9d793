// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_sync.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "tests/proto/rpc/edges.h"
#include "tests/proto/rpc/random_values.h"
#include "tests/testing/test.h"

namespace concur::rpc {
namespace {

using ::concur::testing::Dump;

constexpr int kRandomSyncs = 300;

TEST(ConvertSyncTest, RandomSyncsComeBackAsTheyWere) {
  for (int seed = 0; seed < kRandomSyncs; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, "sync");
    const SyncRequest request = testing::RandomSyncRequest(random);
    ASSERT_OK_AND_ASSIGN(const SyncRequest request_again, FromProto(ToProto(request)));
    ASSERT_EQ(Dump(request_again), Dump(request));
    const SyncResponse response = testing::RandomSyncResponse(random);
    ASSERT_OK_AND_ASSIGN(const SyncResponse response_again, FromProto(ToProto(response)));
    ASSERT_EQ(Dump(response_again), Dump(response));
  }
}

v1::SyncRequest ValidRequest() {
  SyncRequest request;
  request.worker.name = "w1";
  request.worker.incarnation = "i1";
  const AttemptId running{JobId{SweepId{1}, 2}, Attempt{1}};
  const AttemptId done{JobId{SweepId{1}, 3}, Attempt{1}};
  request.running = {running};
  JobResult result;
  result.succeeded = true;
  result.metrics = {{"f1", 50, 10}};
  result.artifacts = {{ArtifactKind::kLog, Sha256Of("log"), 3}};
  request.finished = {{done, result}};
  return ToProto(request);
}

TEST(ConvertSyncTest, SyncsThatBreakARuleAreRefusedWithTheFieldsPath) {
  struct Case {
    std::string name;
    std::function<void(v1::SyncRequest&)> break_it;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"no name", [](auto& r) { r.clear_worker(); }, "request.worker: expected a name"},
      {"no incarnation", [](auto& r) { r.clear_incarnation(); }, "request.incarnation: expected"},
      {"its own predecessor", [](auto& r) { r.set_previous_incarnation("i1"); },
       "request.previous_incarnation: expected another"},
      {"no capacity", [](auto& r) { r.clear_capacity(); }, "request.capacity: expected"},
      {"a part of a GPU", [](auto& r) { r.mutable_capacity()->set_gpu_share(1); },
       "request.capacity.gpu_share: expected 0 to 0"},
      {"negative capacity", [](auto& r) { r.mutable_capacity()->set_cpu_millis(-1); },
       "request.capacity.cpus: expected 0 to"},
      {"waits for ever", [](auto& r) { r.mutable_wait()->set_seconds(61); },
       "request.wait: expected at most 1m, got 1m1s"},
      {"attempt 0", [](auto& r) { r.mutable_running(0)->set_attempt(0); },
       "request.running[0].attempt: expected 1 or more, got 0"},
      {"sweep 0", [](auto& r) { r.mutable_running(0)->set_sweep(0); },
       "request.running[0].sweep: expected 1 to"},
      {"job beyond the limit", [](auto& r) { r.mutable_running(0)->set_job(kJobsMax); },
       "request.running[0].job: expected 0 to"},
      {"running twice", [](auto& r) { *r.add_running() = r.running(0); },
       "request.running[1]: expected each attempt once"},
      {"running and finished", [](auto& r) { *r.add_running() = r.finished(0).id(); },
       "request.finished[0].id: expected each attempt once"},
      {"both succeeded and failed",
       [](auto& r) { r.mutable_finished(0)->mutable_result()->set_failure(v1::FAILURE_CLASS_OOM); },
       "request.finished[0].result.failure: expected none"},
      {"neither succeeded nor failed",
       [](auto& r) { r.mutable_finished(0)->mutable_result()->set_succeeded(false); },
       "request.finished[0].result.failure: expected why"},
      {"unknown class",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->set_failure(static_cast<v1::FailureClass>(99));
       },
       "request.finished[0].result.failure: expected a known value, got number 99"},
      {"NaN metric",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->mutable_metrics(0)->set_value(
             std::numeric_limits<double>::quiet_NaN());
       },
       "request.finished[0].result.metrics[0].value: expected a finite number"},
      {"absurd metric",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->mutable_metrics(0)->set_value(-2e15);
       },
       "request.finished[0].result.metrics[0].value: expected a finite number of at most 1e+15"},
      {"metric twice",
       [](auto& r) {
         auto* result = r.mutable_finished(0)->mutable_result();
         *result->add_metrics() = result->metrics(0);
       },
       "request.finished[0].result.metrics[1]: expected each once and in order, got f1 after f1"},
      {"kind twice",
       [](auto& r) {
         auto* result = r.mutable_finished(0)->mutable_result();
         *result->add_artifacts() = result->artifacts(0);
       },
       "request.finished[0].result.artifacts[1]: expected each once and in order"},
      {"time before Christ",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->mutable_start_time()->set_seconds(
             std::numeric_limits<int64_t>::min());
       },
       "request.finished[0].result.start_time.seconds: expected -62135596800 to"},
      {"huge message",
       [](auto& r) {
         r.mutable_finished(0)->mutable_result()->set_message(std::string(5000, 'x'));
       },
       "request.finished[0].result.message: expected at most 4096 bytes, got 5000"},
      {"huge log chunk",
       [](auto& r) {
         auto* chunk = r.add_log_chunks();
         *chunk->mutable_id() = r.running(0);
         chunk->set_data(std::string(kLogChunkBytesMax + 1, 'x'));
       },
       "request.log_chunks[0].data: expected at most 65536, got 65537"},
      {"report without a name", [](auto& r) { *r.add_steps()->mutable_id() = r.running(0); },
       "request.steps[0].name: expected a name, got \"\""},
      {"report of no attempt", [](auto& r) { r.add_steps()->set_name("f1"); },
       "request.steps[0].id"},
  };
  ASSERT_OK(FromProto(ValidRequest()));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::SyncRequest request = ValidRequest();
    c.break_it(request);
    EXPECT_THAT(FromProto(request),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(c.message)));
  }
}

TEST(ConvertSyncTest, AnAnswerWithoutALeaseIsRefused) {
  EXPECT_THAT(FromProto(v1::SyncResponse()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("response.lease")));
}

std::vector<Edge<SyncRequest>> RequestEdges() {
  const auto text = [](size_t bytes, int beyond) { return std::string(bytes + beyond, 'x'); };
  const auto ids = [](uint32_t job, size_t count) {
    std::vector<AttemptId> list;
    for (size_t i = 0; i < count; ++i) {
      list.push_back({{{1}, job + static_cast<uint32_t>(i)}, {1}});
    }
    return list;
  };
  return {
      {"worker", [=](auto& r, int n) { r.worker.name = text(kNameBytesMax, n); }},
      {"memory", [](auto& r, int n) { r.worker.capacity.memory_bytes = kMemoryBytesMax + n; }},
      {"queue", [](auto& r, int n) { r.worker.queue_max = kSyncAttemptsMax + n; }},
      {"running", [=](auto& r, int n) { r.running = ids(9, kSyncAttemptsMax + n); }},
      {"finished",
       [=](auto& r, int n) {
         const JobResult result = r.finished[0].result;
         r.finished.clear();
         for (const AttemptId& id : ids(9, kSyncFinishedMax + n)) {
           r.finished.push_back({id, result});
         }
       }},
      {"job", [](auto& r, int n) { r.running[0].job.index = kJobsMax - 1 + n; }},
      {"sweep", [](auto& r, int n) { r.running[0].job.sweep.number = kSweepNumberMax + n; }},
      {"chunks",
       [](auto& r, int n) {
         r.log_chunks.assign(kSyncLogsMax + n, {r.running[0], 0, "x"});
       }},
      {"chunk",
       [=](auto& r, int n) {
         r.log_chunks = {{r.running[0], 0, text(kLogChunkBytesMax, n)}};
       }},
      {"steps",
       [](auto& r, int n) {
         r.steps.assign(kSyncStepsMax + n, {r.running[0], {1, "f1", 1}});
       }},
      {"step",
       [](auto& r, int n) {
         r.steps = {{r.running[0], {kStepMax + n, "f1", 1}}};
       }},
      {"wait", [](auto& r, int n) { r.wait = kSyncWaitMax + absl::Seconds(n); }},
      {"time left", [](auto& r, int n) { r.time_left = kSpanMax + absl::Seconds(n); }},
      {"exit code", [](auto& r, int n) { r.finished[0].result.exit_code = kExitCodeMax + n; }},
      {"metric",
       [](auto& r, int n) { r.finished[0].result.metrics[0].value = kMetricAbsMax * (1 + n); }},
      {"metrics",
       [](auto& r, int n) {
         r.finished[0].result.metrics.clear();
         for (size_t i = 100; i < 100 + kMetricsMax + n; ++i) {
           r.finished[0].result.metrics.push_back({absl::StrCat("m", i), 1, 1});
         }
       }},
      {"artifact",
       [](auto& r, int n) { r.finished[0].result.artifacts[0].bytes = kArtifactBytesMax + n; }},
  };
}

TEST(ConvertSyncTest, EveryLimitIsTheOneOfCore) {
  ExpectEdges(*FromProto(ValidRequest()), RequestEdges(),
              [](const SyncRequest& request) { return ValidateSyncRequest(request, FieldPath()); });
}

}  // namespace
}  // namespace concur::rpc
