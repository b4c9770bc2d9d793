// SPDX-License-Identifier: Apache-2.0
// Random events against the scheduler: messages lost, repeated, delayed and reordered; workers and
// the coordinator killed; leases that run out; users who cancel, retry and delete. After every step
// the state must be sound, be what a restart would give, and keep the promises that can be checked
// from outside.
//
// CONCUR_RANDOM_SEED=n runs one seed, CONCUR_RANDOM_SEEDS=n the first n; CONCUR_RANDOM_TRACE=1
// prints what happens. A failure names its seed and step, also when a check ends the process.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "tests/core/scheduler/scheduler_random_world.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr int kSteps = 1'200;

// For the handler alone: a failed check must say where.
volatile std::sig_atomic_t running_seed = 0;
volatile std::sig_atomic_t running_step = 0;

void WriteNumber(int number) {
  char digits[12];
  int at = sizeof(digits);
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  (void)!::write(STDERR_FILENO, digits + at, sizeof(digits) - static_cast<size_t>(at));
}

void NameSeed(int signal) {
  constexpr char kSeed[] = "scheduler_random_test: CONCUR_RANDOM_SEED=";
  constexpr char kStep[] = " step ";
  (void)!::write(STDERR_FILENO, kSeed, sizeof(kSeed) - 1);
  WriteNumber(running_seed);
  (void)!::write(STDERR_FILENO, kStep, sizeof(kStep) - 1);
  WriteNumber(running_step);
  (void)!::write(STDERR_FILENO, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int NumberFrom(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  int number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

TEST(SchedulerRandomTest, PromisesHoldWhateverHappensAndEveryJobEnds) {
  const auto previous = std::signal(SIGABRT, NameSeed);
  const int only = NumberFrom("CONCUR_RANDOM_SEED", 0);
  const int seeds = NumberFrom("CONCUR_RANDOM_SEEDS", 12);
  uint64_t starts = 0;
  uint64_t refused = 0;
  uint64_t reused = 0;
  for (int seed = only != 0 ? only : 1; seed <= (only != 0 ? only : seeds); ++seed) {
    running_seed = seed;
    running_step = 0;
    RandomWorld world(static_cast<uint64_t>(seed));
    for (int step = 1; step <= kSteps && !HasFailure(); ++step) {
      running_step = step;
      world.Step();
    }
    if (!HasFailure()) {
      world.Settle();
    }
    ASSERT_FALSE(HasFailure()) << "CONCUR_RANDOM_SEED=" << seed << " step " << running_step;
    starts += world.starts();
    refused += world.refused();
    reused += world.reused();
  }
  // The events do reach what they are meant to try.
  if (only == 0) {
    EXPECT_GT(starts, 50u * static_cast<unsigned>(seeds));
    EXPECT_GT(refused, static_cast<unsigned>(seeds));
    EXPECT_GT(reused, static_cast<unsigned>(seeds));
  }
  RecordProperty("starts", static_cast<int>(starts));
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("reused", static_cast<int>(reused));
  std::signal(SIGABRT, previous);
}

}  // namespace
}  // namespace concur::testing
