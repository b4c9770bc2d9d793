// SPDX-License-Identifier: Apache-2.0
// Behaviour of the jobs of a world when their programs start, and which results they may have.
//
// Thread-safe: programs start on the executor's threads.
#ifndef CONCUR_TESTS_WORKER_MACHINE_JOBS_H_
#define CONCUR_TESTS_WORKER_MACHINE_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/sync/job_order.h"
#include "tests/worker/execution/fake_transfer.h"
#include "tests/worker_machine/machine.h"

namespace concur::testing {

struct JobPlan {
  enum class Kind : uint8_t {
    kSucceed,
    kFail,          // with `exit_code`
    kCrash,         // by a signal of its own
    kNoOutput,      // exit code 0, without what it was to write
    kHang,          // beyond its time-out
    kUntilStopped,  // without a time-out
    kHog,           // takes more memory than it asked for
    kKernelOom,     // killed by the kernel
  };
  Kind kind = Kind::kSucceed;
  bool is_train = true;
  int exit_code = 0;
  int daemons = 0;          // processes that outlive it
  bool has_litter = false;  // directories that nobody may enter
  bool undeletable = false;
  size_t input = 0;
  size_t model_bytes = 0;
};

class Jobs {
 public:
  using Broken = std::function<void(const std::string&)>;

  // `slots`: jobs at a time. `broken` is told of promises that are not kept. Both outlive this.
  Jobs(uint64_t seed, size_t count, int slots, worker::FakeTransfer& transfer, Broken broken);

  size_t count() const { return plans_.size(); }
  const JobPlan& plan(size_t job) const { return plans_[job]; }
  JobOrder Order(const AttemptId& id) const;
  // As Machine::Programs.
  Behaviour Start(Machine& machine, const Execution& execution);
  // The coordinator has this result: its attempt does not start any more.
  void Reported(const AttemptId& id);
  // Describes what is wrong with a result, or "".
  std::string Problem(const AttemptId& id, const JobResult& result);
  // True if a job has ended for good with this result.
  bool IsFinal(size_t job, const JobResult& result) const;
  int starts() const;

 private:
  void CheckDirectory(const std::string& run, const std::string& directory);
  void CheckInput(const std::string& run, const JobPlan& plan, const std::string& path);
  std::string ModelOf(size_t job) const;
  std::string OutputOf(const std::string& run) const;
  void MakeLitter(Machine& machine, const JobPlan& plan, const std::string& output);

  const int slots_;
  worker::FakeTransfer& transfer_;
  const Broken broken_;
  std::vector<JobPlan> plans_;
  std::vector<std::string> inputs_;

  mutable std::mutex mutex_;
  std::set<std::string> started_;  // names of run directories
  std::set<std::string> reported_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_WORKER_MACHINE_JOBS_H_
