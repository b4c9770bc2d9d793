// SPDX-License-Identifier: Apache-2.0
// The files that a command reads, named in one way everywhere: as arguments, or after --in.
//
// Thread-compatible.
#ifndef CONCUR_CLI_DATA_INPUT_OPTION_H_
#define CONCUR_CLI_DATA_INPUT_OPTION_H_

#include <string>
#include <vector>

namespace concur {
class Command;
}

namespace concur::cli {

// Required. The variable outlives the parsing.
void AddInput(Command& command, std::string& file, const std::string& about = "the data set");
void AddInput(Command& command, std::vector<std::string>& files,
              const std::string& about = "the data sets");

}  // namespace concur::cli

#endif  // CONCUR_CLI_DATA_INPUT_OPTION_H_
