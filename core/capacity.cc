#include "core/capacity.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace concur {
namespace {

struct Request {
  std::string field;
  const Resources& resources;
};

// The requests of jobs that the sweep will have.
std::vector<Request> RequestsOf(const SweepSpec& spec) {
  std::vector<Request> requests;
  for (size_t i = 0; i < spec.approaches.size(); ++i) {
    const ApproachSpec& approach = spec.approaches[i];
    if (!approach.train_command.empty()) {
      requests.push_back(
          {absl::StrCat("approaches[", i, "].train.resources"), approach.train_resources});
    }
    requests.push_back(
        {absl::StrCat("approaches[", i, "].predict.resources"), approach.predict_resources});
  }
  return requests;
}

}  // namespace

absl::Status CheckFitsInPools(const SweepSpec& spec, const std::vector<PoolLimit>& pools) {
  if (pools.empty()) {
    return absl::OkStatus();
  }
  for (const Request& request : RequestsOf(spec)) {
    bool fits = false;
    for (const PoolLimit& pool : pools) {
      fits = fits || request.resources.FitsIn(pool.max);
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          request.field, ": expected a request that fits in a pool (",
          absl::StrJoin(pools, "; ",
                        [](std::string* out, const PoolLimit& pool) {
                          absl::StrAppend(out, pool.name, ": ", ResourcesText(pool.max));
                        }),
          "), got ", ResourcesText(request.resources), "; ask for less or extend a pool"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> CapacityWarnings(const SweepSpec& spec,
                                          const std::vector<Resources>& workers) {
  std::vector<std::string> warnings;
  if (workers.empty()) {
    return warnings;
  }
  for (const Request& request : RequestsOf(spec)) {
    bool fits = false;
    for (const Resources& worker : workers) {
      fits = fits || request.resources.FitsIn(worker);
    }
    if (!fits) {
      warnings.push_back(absl::StrCat(request.field, ": no worker known now has ",
                                      ResourcesText(request.resources),
                                      "; the jobs wait until one comes"));
    }
  }
  return warnings;
}

}  // namespace concur
