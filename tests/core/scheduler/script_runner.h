// SPDX-License-Identifier: Apache-2.0
// Carries out the events of a script (scheduler_script_test.cc has the language) on a scheduler of
// its own. What cannot be understood is a test failure.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_CORE_SCHEDULER_SCRIPT_RUNNER_H_
#define CONCUR_TESTS_CORE_SCHEDULER_SCRIPT_RUNNER_H_

#include <memory>
#include <string>

namespace concur::testing {

class ScriptRunner {
 public:
  ScriptRunner();
  ~ScriptRunner();
  // The effects of one event, parted by "; ", or "nothing".
  std::string Run(const std::string& event);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_SCHEDULER_SCRIPT_RUNNER_H_
