// SPDX-License-Identifier: Apache-2.0
#include "readers/commands.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "readers/approaches/approach.h"
#include "readers/check/fixture.h"
#include "readers/files/encoder_config.h"
#include "readers/files/safetensors.h"
#include "readers/training/settings.h"

namespace concur::readers {

std::string ListApproaches() {
  std::string out;
  for (const Approach& approach : AllApproaches()) {
    absl::StrAppend(&out, approach.name, ": ", approach.summary, "\n");
    for (const Options& options : {OptionsOf(approach.settings), NetworkOptionsOf(approach)}) {
      for (const auto& [name, value] : options.values()) {
        absl::StrAppend(&out, "    ", name, "=", OptionText(value), "\n");
      }
    }
  }
  return out;
}

absl::StatusOr<std::string> InspectWeights(const std::string& path) {
  const bool is_directory = std::filesystem::is_directory(path);
  const std::string file = is_directory ? absl::StrCat(path, "/weights.safetensors") : path;
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors weights, ReadSafeTensors(file));
  std::string out;
  if (is_directory && std::filesystem::exists(absl::StrCat(path, "/config.json"))) {
    const Family* family = FamilyOfCheckpoint(path);
    const absl::StatusOr<const Approach*> approach = RecogniseApproach(path);
    absl::StrAppend(&out, "approach: ",
                    family != nullptr ? family->name
                    : approach.ok()   ? (*approach)->name
                                      : "unknown",
                    "\n");
  }
  for (const auto& [name, value] : weights.metadata()) {
    absl::StrAppend(&out, name, ": ", value, "\n");
  }
  size_t width = 0;
  int64_t values = 0;
  for (const auto& [name, tensor] : weights.tensors()) {
    width = std::max(width, name.size());
    values += tensor.values();
  }
  for (const auto& [name, tensor] : weights.tensors()) {
    absl::StrAppendFormat(&out, "%-*s  %-4s  [%s]\n", static_cast<int>(width), name,
                          NameOf(tensor.type), absl::StrJoin(tensor.shape, ", "));
  }
  absl::StrAppend(&out, weights.tensors().size(), " tensors, ", values, " values\n");
  return out;
}

}  // namespace concur::readers
