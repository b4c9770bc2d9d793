// SPDX-License-Identifier: Apache-2.0
#include "cli/data/parameter_options.h"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/command/command.h"

namespace concur::cli {

void AddParameterOptions(Command& command,
                         const std::map<std::string, std::vector<std::string>>& owners,
                         const std::shared_ptr<GivenParameters>& given) {
  for (const auto& [name, names] : owners) {
    command
        .AddCallback(
            "--" + name, [given, key = name](const std::string& value) { (*given)[key] = value; },
            absl::StrCat("parameter of ", absl::StrJoin(names, ", ")))
        ->Group("Parameters (defaults: concur data list NAME)");
  }
  command.AllowExtras();
}

absl::Status TakeExtraParameters(absl::string_view name, const std::vector<std::string>& extras,
                                 GivenParameters& given) {
  for (const std::string& extra : extras) {
    if (absl::StartsWith(extra, "--")) {
      const size_t equals = extra.find('=');
      given[extra.substr(2, equals == std::string::npos ? equals : equals - 2)] = "";
      return absl::OkStatus();
    }
  }
  return extras.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(
                              absl::StrCat(name, ": unexpected argument \"", extras[0], "\""));
}

}  // namespace concur::cli
