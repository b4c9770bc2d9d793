// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/run_concur.h"

#include <sstream>
#include <string>
#include <vector>

#include "cli/app/context.h"
#include "cli/programs/concur_commands.h"

namespace concur::cli {

Output RunConcur(const std::vector<std::string>& args, bool out_is_terminal, const char* typed) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{out, err};
  context.out_is_terminal = out_is_terminal;
  std::istringstream in(typed == nullptr ? "" : typed);
  context.in = typed == nullptr ? nullptr : &in;
  context.out_width = out_is_terminal ? 80 : 0;
  Output output;
  output.code = RunProgram(args, context);
  output.out = out.str();
  output.err = err.str();
  return output;
}

}  // namespace concur::cli
