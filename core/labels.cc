// SPDX-License-Identifier: Apache-2.0
#include "core/labels.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace concur {
namespace {

bool IsYes(const Labels& labels, const char* name) {
  const auto it = labels.find(name);
  return it != labels.end() && it->second == kEnvironmentLabelValue;
}

// True if jobs of this image find it there; "": jobs of none.
bool ImageMatches(absl::string_view image, const Labels& has) {
  static const auto* const label = new std::string(kImageLabel);  // is asked for every lane of jobs
  const auto it = has.find(*label);
  if (it == has.end()) {
    return image.empty() || has.contains(kAnyEnvironmentLabel) ||
           (IsYes(has, kRootLabel) && IsYes(has, kRegistryLabel));
  }
  return it->second == kAnyImage ||
         (image.empty() ? it->second == kNoImage : it->second == image && image != kNoImage);
}

}  // namespace

bool LabelsMatch(const Labels& wants, const Labels& has) {
  absl::string_view image;
  for (const auto& [name, value] : wants) {
    if (name == kImageLabel) {
      image = value;
      continue;
    }
    const auto it = has.find(name);
    const bool matches = it != has.end() ? it->second == value
                                         : absl::StartsWith(name, kEnvironmentLabelPrefix) &&
                                               has.contains(kAnyEnvironmentLabel);
    if (!matches) {
      return false;
    }
  }
  return ImageMatches(image, has);
}

int32_t GpusMin(const Labels& has) {
  const auto it = has.find(kGpusMinLabel);
  int32_t gpus = 0;
  return it != has.end() && absl::SimpleAtoi(it->second, &gpus) ? gpus : 0;
}

bool TakesRequest(const Labels& has, const Resources& resources, const Labels& wants) {
  return resources.GpuCount() >= GpusMin(has) && LabelsMatch(wants, has);
}

std::string LabelsText(const Labels& labels) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : labels) {
    if (name != kAnyEnvironmentLabel) {
      texts.push_back(absl::StrCat(name, "=", value));
    }
  }
  return absl::StrJoin(texts, " ");
}

std::string RequestText(const Resources& resources, const Labels& labels) {
  return labels.empty()
             ? ResourcesText(resources)
             : absl::StrCat(ResourcesText(resources), labels.size() == 1 ? ", label " : ", labels ",
                            LabelsText(labels));
}

}  // namespace concur
