// SPDX-License-Identifier: Apache-2.0
// A subprocess executor in a directory of its own, with real processes and an artifact store that
// the test holds.
#ifndef CONCUR_TESTS_WORKER_EXECUTION_EXECUTOR_FIXTURE_H_
#define CONCUR_TESTS_WORKER_EXECUTION_EXECUTOR_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/process/process_tree.h"
#include "base/process/waker.h"
#include "store/artifacts/directory_store.h"
#include "tests/testing/read_artifact.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/worker/execution/fake_transfer.h"
#include "worker/execution/subprocess_executor.h"

namespace concur::worker {

inline constexpr absl::Duration kDeadline = absl::Minutes(2);

inline constexpr char kTestData[] =
    R"({"header": {"dataset": "toy"}}
{"context": "Paris is in France.", "qas": [{"qid": "q1", "question": "Where is Paris?", "answers": ["France"], "detected_answers": [{"text": "France", "char_spans": [[12, 17]]}]}, {"qid": "q2", "question": "What is in France?", "answers": ["Paris"], "detected_answers": [{"text": "Paris", "char_spans": [[0, 4]]}]}]}
)";

class ExecutorFixture : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }

  void Reopen() {
    executor_.reset();
    options_.work_directory = temp_.File("work");
    options_.environment = process::BaseEnvironment();
    ASSERT_OK_AND_ASSIGN(
        executor_, SubprocessExecutor::Open(options_, transfer_, {}, [this] { waker_.Wake(); }));
  }

  static std::string Escaped(const std::string& script) {
    return absl::StrReplaceAll(script, {{"{", "{{"}, {"}", "}}"}});
  }

  JobOrder Train(const std::string& script) {
    JobOrder order;
    order.id = AttemptId{{{1}, next_job_++}, {1}};
    order.is_train = true;
    order.sweep_name = "test";
    order.approach = "toy";
    order.benchmark = "bench";
    order.command = {"sh", "-c", Escaped(script), "sh", "{train}", "{model}", "{output}"};
    order.resources.memory_bytes = 0;
    JobOrder::Input input;
    input.name = "bench";
    input.digest = transfer_.Add(kTestData);
    input.suffix = ".jsonl";
    order.train = {input};
    return order;
  }

  JobOrder Eval(const std::string& script) {
    JobOrder order = Train(script);
    order.is_train = false;
    order.test = order.train[0];
    order.train.clear();
    order.command = {"sh",        "-c",      Escaped(script), "sh", "{test}", "{predictions}",
                     "{metrics}", "{model}", "{examples}"};
    return order;
  }

  // The next report of the executor that `accept` takes.
  ExecutorReport Next() {
    const absl::Time deadline = absl::Now() + kDeadline;
    for (;;) {
      if (!pending_.empty()) {
        ExecutorReport report = pending_.front();
        pending_.erase(pending_.begin());
        return report;
      }
      for (ExecutorReport& report : executor_->Poll()) {
        pending_.push_back(std::move(report));
      }
      if (pending_.empty()) {
        const absl::Duration left = deadline - absl::Now();
        CONCUR_CHECK(left > absl::ZeroDuration());
        waker_.Wait(left);
      }
    }
  }

  JobResult Run(const JobOrder& order) {
    executor_->Start(order);
    return Next().finished.result;
  }

  // Waits until the attempt's log starts with `text`: an event of a process without sleeping.
  void WaitForLog(const AttemptId& id, const std::string& text) {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!absl::StartsWith(executor_->ReadLog(id, 0, 4096), text)) {
      CONCUR_CHECK(absl::Now() < deadline);
      waker_.Wait(absl::Milliseconds(2));
    }
  }

  static bool IsGone(pid_t pid) {
    for (const process::ProcessInfo& process : process::ListProcesses()) {
      if (process.pid == pid && process.state != 'Z') {
        return false;
      }
    }
    return true;
  }

  void WaitUntilGone(pid_t pid) {
    const absl::Time deadline = absl::Now() + kDeadline;
    while (!IsGone(pid)) {
      ASSERT_LT(absl::Now(), deadline) << "process " << pid << " lives on";
      waker_.Wait(absl::Milliseconds(2));
    }
  }

  std::string ReadArtifact(const JobResult& result, ArtifactKind kind) {
    for (const ArtifactRef& artifact : result.artifacts) {
      if (artifact.kind == kind) {
        auto store = DirectoryStore::Open(temp_.File("work/cache"));
        CONCUR_CHECK_OK(store.status());
        auto data = testing::ReadArtifact(**store, artifact.digest);
        CONCUR_CHECK_OK(data.status());
        return *data;
      }
    }
    return "no such artifact";
  }

  testing::TempDir temp_;
  FakeTransfer transfer_;
  process::Waker waker_;
  SubprocessOptions options_;
  std::vector<ExecutorReport> pending_;
  std::unique_ptr<SubprocessExecutor> executor_;
  uint32_t next_job_ = 0;
};

}  // namespace concur::worker

#endif  // CONCUR_TESTS_WORKER_EXECUTION_EXECUTOR_FIXTURE_H_
