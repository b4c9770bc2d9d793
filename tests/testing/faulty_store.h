// SPDX-License-Identifier: Apache-2.0
// A Store in which one commit fails, with or without reaching the disk.
//
// Wraps another store and counts commits. Callers must not use a store after an error; such calls
// are counted, too.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_TESTING_FAULTY_STORE_H_
#define CONCUR_TESTS_TESTING_FAULTY_STORE_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rows.h"
#include "store/store.h"

namespace concur::testing {

class FaultyStore : public Store {
 public:
  enum class When {
    kBefore,  // the batch is lost
    kAfter,   // the batch is durable, but the caller gets an error
  };

  // `store` must outlive this.
  explicit FaultyStore(Store& store) : store_(store) {}

  // Makes commit `number`, counted from 1 since construction, fail with `status`; 0: none.
  void FailCommit(int number, When when,
                  absl::Status status = absl::UnknownError("injected failure of a commit")) {
    fail_commit_ = number;
    when_ = when;
    status_ = std::move(status);
  }

  absl::StatusOr<Snapshot> Load() override {
    if (failed_) {
      return CalledAfterFailure();
    }
    return store_.Load();
  }

  absl::Status Commit(const Batch& batch) override {
    if (failed_) {
      return CalledAfterFailure();
    }
    ++commits_;
    if (commits_ != fail_commit_) {
      return store_.Commit(batch);
    }
    failed_ = !absl::IsResourceExhausted(status_);  // callers may retry after a full disk
    if (when_ == When::kAfter) {
      const absl::Status committed = store_.Commit(batch);
      if (!committed.ok()) {
        return committed;
      }
    }
    return status_;
  }

  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override {
    if (failed_) {
      return CalledAfterFailure();
    }
    return store_.ListAttempts(job);
  }

  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override {
    if (failed_) {
      return CalledAfterFailure();
    }
    return store_.ListSweepAttempts(sweep);
  }

  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override {
    if (failed_) {
      return CalledAfterFailure();
    }
    return store_.ListServiceUse(sweep);
  }

  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override {
    if (failed_) {
      return CalledAfterFailure();
    }
    return store_.ListSteps(job);
  }

  // Commits so far, including the failed one.
  int commits() const { return commits_; }
  bool failed() const { return failed_; }
  // Calls after the failure; correct callers make none.
  int calls_after_failure() const { return calls_after_failure_; }

 private:
  absl::Status CalledAfterFailure() {
    ++calls_after_failure_;
    return absl::FailedPreconditionError("the store was used after a failed commit");
  }

  Store& store_;
  int fail_commit_ = 0;
  When when_ = When::kBefore;
  absl::Status status_;
  int commits_ = 0;
  bool failed_ = false;
  int calls_after_failure_ = 0;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_FAULTY_STORE_H_
