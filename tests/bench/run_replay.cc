// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/run_replay.h"

#include <sstream>
#include <string>
#include <vector>

#include "bench/replays/commands.h"
#include "cli/app/context.h"

namespace concur::cli {

Replayed RunReplay(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{out, err};
  const int code = RunReplays(args, context);
  return {code, out.str(), err.str()};
}

}  // namespace concur::cli
