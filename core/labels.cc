// SPDX-License-Identifier: Apache-2.0
#include "core/labels.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace concur {

bool LabelsMatch(const Labels& wants, const Labels& has) {
  for (const auto& [name, value] : wants) {
    const auto it = has.find(name);
    if (it == has.end() || it->second != value) {
      return false;
    }
  }
  return true;
}

std::string LabelsText(const Labels& labels) {
  return absl::StrJoin(labels, " ", absl::PairFormatter("="));
}

std::string RequestText(const Resources& resources, const Labels& labels) {
  return labels.empty()
             ? ResourcesText(resources)
             : absl::StrCat(ResourcesText(resources), labels.size() == 1 ? ", label " : ", labels ",
                            LabelsText(labels));
}

}  // namespace concur
