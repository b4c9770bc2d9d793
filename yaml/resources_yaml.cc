// SPDX-License-Identifier: Apache-2.0
#include "yaml/resources_yaml.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/sweep/sweep.h"
#include "yaml/tags_yaml.h"

namespace concur::spec {

void ResourceRequest::FillFrom(const ResourceRequest& general) {
  cpu_millis = cpu_millis ? cpu_millis : general.cpu_millis;
  memory_bytes = memory_bytes ? memory_bytes : general.memory_bytes;
  gpu_shares = gpu_shares ? gpu_shares : general.gpu_shares;
  labels.insert(general.labels.begin(), general.labels.end());
  uses.insert(general.uses.begin(), general.uses.end());
}

Resources ResourceRequest::Resolve() const {
  Resources resources;
  resources.cpu_millis = cpu_millis.value_or(resources.cpu_millis);
  resources.memory_bytes = memory_bytes.value_or(resources.memory_bytes);
  resources.gpus = WholeGpus();
  resources.gpu_share = gpu_shares.value_or(0) % kGpuShares;
  return resources;
}

namespace {

// In hundredths.
std::optional<int32_t> ReadGpuShares(const Value& value) {
  const std::string what = absl::StrCat("a whole number from 0 to ", kGpusMax,
                                        ", or less than 1 with at most 2 decimals");
  const std::optional<double> gpus = value.Number(what);
  if (!gpus) {
    return std::nullopt;
  }
  const double shares = std::round(*gpus * kGpuShares);
  if (*gpus < 0 || *gpus > kGpusMax || std::abs(shares - *gpus * kGpuShares) > 1e-6 ||
      (*gpus > 1 && *gpus != std::floor(*gpus))) {
    value.Expected(what);
    return std::nullopt;
  }
  return static_cast<int32_t>(shares);
}

ResourceRequest ReadAmounts(Fields& fields, bool is_worker) {
  ResourceRequest request;
  if (const auto cpus = fields.Get("cpus")) {
    request.cpu_millis = cpus->Cpus();
  }
  if (const auto memory = fields.Get("memory")) {
    request.memory_bytes = memory->Bytes();
  }
  if (const auto gpus = fields.Get("gpus")) {
    if (!is_worker) {
      request.gpu_shares = ReadGpuShares(*gpus);
    } else if (const std::optional<int64_t> count = gpus->Integer(0, kGpusMax)) {
      request.gpu_shares = static_cast<int32_t>(*count) * kGpuShares;
    }
  }
  return request;
}

}  // namespace

Uses ReadUses(const Value& value) {
  Uses uses;
  const auto entries = value.Entries("named resources such as {openai: 1}");
  for (const Value::Entry& entry : entries.value_or(std::vector<Value::Entry>())) {
    const std::optional<int64_t> units = entry.value.Integer(1, kUnitsMax);
    if (!units) {
      continue;
    }
    if (const absl::Status valid = ValidateName(entry.key); !valid.ok()) {
      entry.key_value.Error(valid.message());
    } else {
      uses[entry.key] = *units;
    }
  }
  return uses;
}

ResourceRequest ReadWorkerResources(const Value& value) {
  Fields fields(value);
  ResourceRequest request = ReadAmounts(fields, /*is_worker=*/true);
  fields.Finish();
  return request;
}

ResourceRequest ReadJobResources(const Value& value) {
  Fields fields(value);
  ResourceRequest request = ReadAmounts(fields, /*is_worker=*/false);
  if (const auto labels = fields.Get("labels")) {
    request.labels = ReadTags(*labels);
  }
  if (const auto uses = fields.Get("uses")) {
    request.uses = ReadUses(*uses);
  }
  fields.Finish();
  return request;
}

}  // namespace concur::spec
