// SPDX-License-Identifier: Apache-2.0
// Command-line options for the parameters of builders and importers, which are declared in qa/.
#ifndef CONCUR_CLI_DATA_PARAMETER_OPTIONS_H_
#define CONCUR_CLI_DATA_PARAMETER_OPTIONS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "qa/builders/parameters.h"

namespace concur {
class Command;
}

namespace concur::cli {

// Values by parameter name.
using GivenParameters = std::map<std::string, std::string>;

// Gives `command` an option for every parameter; `owners` has the builders or importers that take
// it. Unknown options are accepted, for TakeExtraParameters.
void AddParameterOptions(Command& command,
                         const std::map<std::string, std::vector<std::string>>& owners,
                         const std::shared_ptr<GivenParameters>& given);

// The same for all parameters of `infos`, whose elements have a name and parameters.
template <typename Info>
void AddParameterOptions(Command& command, const std::vector<Info>& infos,
                         const std::shared_ptr<GivenParameters>& given) {
  std::map<std::string, std::vector<std::string>> owners;
  for (const Info& info : infos) {
    for (const qa::ParameterInfo& parameter : info.parameters) {
      owners[parameter.name].push_back(info.name);
    }
  }
  AddParameterOptions(command, owners, given);
}

// Adds the unknown options to `given`, so that the builder or importer reports them.
// InvalidArgument for an argument that is no option.
absl::Status TakeExtraParameters(absl::string_view name, const std::vector<std::string>& extras,
                                 GivenParameters& given);

}  // namespace concur::cli

#endif  // CONCUR_CLI_DATA_PARAMETER_OPTIONS_H_
