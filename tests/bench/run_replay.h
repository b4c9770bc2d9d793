// SPDX-License-Identifier: Apache-2.0
// Runs the replays of `scripts/bench` in this process and keeps what they print.
//
// Stateless.
#ifndef CONCUR_TESTS_BENCH_RUN_REPLAY_H_
#define CONCUR_TESTS_BENCH_RUN_REPLAY_H_

#include <string>
#include <vector>

namespace concur::cli {

struct Replayed {
  int code = 0;
  std::string out;
  std::string err;
};
// `args` begin with the name of the replay.
Replayed RunReplay(const std::vector<std::string>& args);

}  // namespace concur::cli

#endif  // CONCUR_TESTS_BENCH_RUN_REPLAY_H_
