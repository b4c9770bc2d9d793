// Command-line options for the parameters of builders and importers, which are declared in qa/.
#ifndef CONCUR_CLI_PARAMETER_OPTIONS_H_
#define CONCUR_CLI_PARAMETER_OPTIONS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "qa/builders/parameters.h"

namespace concur::cli {

class Command;

// Values by parameter name.
using GivenParameters = std::map<std::string, std::string>;

// Gives `command` an option for every parameter, from the names of those that have it, and lets
// other options through for TakeExtraParameters.
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

// Adds the options that `command` did not know, so that the builder or importer names what is
// wrong with them. InvalidArgument for an argument that is no option.
absl::Status TakeExtraParameters(absl::string_view name, const std::vector<std::string>& extras,
                                 GivenParameters& given);

}  // namespace concur::cli

#endif  // CONCUR_CLI_PARAMETER_OPTIONS_H_
