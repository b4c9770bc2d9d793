// SPDX-License-Identifier: Apache-2.0
#include "cli/data/input_option.h"

#include <string>
#include <vector>

#include "base/command/command.h"

namespace concur::cli {

void AddInput(Command& command, std::string& file, const std::string& about) {
  command.AddOption("file,--in", file, about)->TypeName("FILE")->Required();
}

void AddInput(Command& command, std::vector<std::string>& files, const std::string& about) {
  command.AddOption("file,--in", files, about)->TypeName("FILE")->Required();
}

}  // namespace concur::cli
