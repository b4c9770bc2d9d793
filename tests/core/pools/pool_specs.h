// SPDX-License-Identifier: Apache-2.0
// Pools in tests.
#ifndef CONCUR_TESTS_CORE_POOLS_POOL_SPECS_H_
#define CONCUR_TESTS_CORE_POOLS_POOL_SPECS_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/pools/pools.h"
#include "core/scheduler/reason_text.h"

namespace concur::testing {

inline PoolSpec MakeSpec(const std::string& name = "cpu", int min = 0, int max = 10) {
  PoolSpec spec;
  spec.name = name;
  spec.provider = ProviderKind::kSlurm;
  spec.workers_min = min;
  spec.workers_max = max;
  spec.resources = {4000, 0, 0};
  return spec;
}

inline std::string ImageOf(const std::string& name) {
  return absl::StrCat("registry/", name,
                      "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// Its pods are of the images that jobs ask for.
inline PoolSpec MakePods(int max) {
  PoolSpec spec = MakeSpec("pods", 0, max);
  spec.provider = ProviderKind::kKubernetes;
  spec.kubernetes.image = "registry/concur:1";
  spec.kubernetes.job_images = true;
  return spec;
}

inline std::string ExplanationOf(const Pools& pools, const std::string& name = "cpu") {
  const auto reasons = pools.ReasonsOf(name);
  return reasons.ok() ? absl::StrJoin(*reasons, "\n",
                                      [](std::string* out, const PoolReason& reason) {
                                        out->append(ReasonText(reason));
                                      })
                      : std::string(reasons.status().message());
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_CORE_POOLS_POOL_SPECS_H_
