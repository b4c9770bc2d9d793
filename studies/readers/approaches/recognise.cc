// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/approaches/recognise.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"

namespace concur::readers {

const Approach* RecogniseApproach(const nlohmann::json& config, const SafeTensors& weights) {
  const auto has = [&](const std::string& sign) {
    const auto next = weights.tensors().lower_bound(sign);
    return config.contains(sign) ||
           (next != weights.tensors().end() && absl::StartsWith(next->first, sign));
  };
  const Approach* best = nullptr;
  for (const Approach& approach : AllApproaches()) {
    const auto& signs = approach.signs;
    if (!signs.empty() && std::all_of(signs.begin(), signs.end(), has) &&
        (best == nullptr || signs.size() > best->signs.size())) {
      best = &approach;
    }
  }
  return best;
}

}  // namespace concur::readers
