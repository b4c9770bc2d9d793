// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/capacity.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace concur {
namespace {

struct Request {
  std::string field;
  Resources resources;
  Labels labels;
  bool only_labels = false;  // the needs of its jobs are not said here

  bool IsTakenBy(const Labels& has) const {
    return only_labels ? LabelsMatch(labels, has) : TakesRequest(has, resources, labels);
  }
};

// The requests of jobs that the sweep will have: of the steps of approaches, and the labels that
// benchmarks add, by themselves.
std::vector<Request> RequestsOf(const SweepSpec& spec) {
  std::vector<Request> requests;
  for (size_t i = 0; i < spec.approaches.size(); ++i) {
    const ApproachSpec& approach = spec.approaches[i];
    const auto add = [&](absl::string_view step, const Resources& resources, Labels labels) {
      if (approach.environment) {
        labels.merge(LabelsOfEnvironment(*approach.environment));
      }
      requests.push_back(
          {absl::StrCat("approaches[", i, "].", step, ".resources"), resources, std::move(labels)});
    };
    if (!approach.train_command.empty()) {
      add("train", approach.train_resources, approach.train_labels);
    }
    if (approach.service && approach.predict_command.empty()) {
      continue;  // it has no jobs of its own
    }
    if (approach.service) {
      add("service", Together(approach.predict_resources, approach.service->resources),
          approach.predict_labels);
    } else {
      add("predict", approach.predict_resources, approach.predict_labels);
    }
    if (!approach.needs.empty()) {
      Resources all = approach.predict_resources;
      for (const uint32_t need : approach.needs) {
        all = Together(all, spec.approaches[need].service->resources);
      }
      add("predict", approach.service ? Together(all, approach.service->resources) : all,
          approach.predict_labels);
    }
  }
  for (size_t i = 0; i < spec.benchmarks.size(); ++i) {
    if (!spec.benchmarks[i].labels.empty()) {
      requests.push_back({absl::StrCat("benchmarks[", i, "].resources"), Resources{.cpu_millis = 0},
                          spec.benchmarks[i].labels, /*only_labels=*/true});
    }
  }
  return requests;
}

}  // namespace

absl::Status CheckFitsInPools(const SweepSpec& spec, const std::vector<PoolLimit>& pools) {
  if (pools.empty()) {
    return absl::OkStatus();
  }
  for (const Request& request : RequestsOf(spec)) {
    bool large_enough = false;
    bool labeled = false;
    bool fits = false;
    for (const PoolLimit& pool : pools) {
      const bool holds = request.resources.FitsIn(pool.max);
      large_enough = large_enough || holds;
      labeled = labeled || (holds && (!pool.labels || LabelsMatch(request.labels, *pool.labels)));
      fits = fits || (holds && (!pool.labels || request.IsTakenBy(*pool.labels)));
    }
    if (!large_enough) {
      return absl::InvalidArgumentError(absl::StrCat(
          request.field, ": expected a request that fits in a pool (",
          absl::StrJoin(pools, "; ",
                        [](std::string* out, const PoolLimit& pool) {
                          absl::StrAppend(out, pool.name, ": ", ResourcesText(pool.max));
                        }),
          "), got ", ResourcesText(request.resources), "; ask for less or extend a pool"));
    }
    if (!fits && labeled) {
      return absl::InvalidArgumentError(absl::StrCat(request.field,
                                                     ": expected a request that a pool takes, got ",
                                                     RequestText(request.resources, request.labels),
                                                     "; those that are large enough take only jobs "
                                                     "that ask for GPUs: ask for one, add a pool, "
                                                     "or set `accept: {gpus_min: 0}` in a pool"));
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat(request.field, ".labels: expected labels of a pool that is large enough (",
                       absl::StrJoin(pools, "; ",
                                     [](std::string* out, const PoolLimit& pool) {
                                       absl::StrAppend(out, pool.name, ": ",
                                                       pool.labels ? LabelsText(*pool.labels)
                                                                   : std::string("any"));
                                     }),
                       "), got ", LabelsText(request.labels), "; correct them or add a pool"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> CapacityWarnings(const SweepSpec& spec,
                                          const std::vector<KnownWorker>& workers) {
  std::vector<std::string> warnings;
  if (workers.empty()) {
    return warnings;
  }
  for (const Request& request : RequestsOf(spec)) {
    bool fits = false;
    for (const KnownWorker& worker : workers) {
      fits =
          fits || (request.resources.FitsIn(worker.capacity) && request.IsTakenBy(worker.labels));
    }
    if (!fits) {
      warnings.push_back(absl::StrCat(request.field, ": no worker known now has ",
                                      RequestText(request.resources, request.labels),
                                      "; the jobs wait until one comes"));
    }
  }
  return warnings;
}

}  // namespace concur
