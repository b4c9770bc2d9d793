// SPDX-License-Identifier: Apache-2.0
// The program against a fake coordinator that has three sweeps and the jobs of one.
#ifndef CONCUR_TESTS_CLI_COMMANDS_FIXTURE_H_
#define CONCUR_TESTS_CLI_COMMANDS_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "concur/v1/coordinator.pb.h"
#include "tests/cli/fake_coordinator.h"
#include "tests/cli/run_concur.h"

namespace concur::cli {

// A sweep of 1,232 finished jobs; an active one has three more that run.
v1::Sweep TheSweep(const std::string& id, const std::string& name, v1::Sweep::State state);
// A job of s12: train jobs have even numbers.
v1::Job TheJob(uint32_t index, v1::Job::State state);
// Response that a watcher of s12 gets while it is active.
v1::WatchSweepResponse WatchOf(uint32_t succeeded, uint32_t running, const std::string& cursor);

class CommandsFixture : public ::testing::Test {
 protected:
  CommandsFixture();

  Output Concur(std::vector<std::string> args, const char* typed = nullptr);

  testing::FakeCoordinator fake_;
};

}  // namespace concur::cli

#endif  // CONCUR_TESTS_CLI_COMMANDS_FIXTURE_H_
