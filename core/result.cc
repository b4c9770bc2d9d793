// SPDX-License-Identifier: Apache-2.0
#include "core/result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "core/names.h"
#include "core/resources.h"

namespace concur {
namespace {

constexpr std::array<absl::string_view, kArtifactKinds> kArtifactKindNames = {
    "system", "predictions", "examples", "log", "metrics", "outputs"};

constexpr std::array<absl::string_view, kFailureClasses> kFailureClassNames = {
    "none",           "failed", "oom",       "timeout", "lost",   "preempted", "spawn",
    "invalid-output", "config", "temporary", "worker",  "poison", "service"};

std::string KeyText(int key) { return absl::StrCat(key); }
std::string KeyText(const std::pair<absl::string_view, absl::string_view>& key) {
  return absl::StrCat(key.first, key.first.empty() ? "" : ": ", key.second);
}

std::pair<absl::string_view, absl::string_view> KeyOf(const Metric& metric) {
  return {metric.part, metric.name};
}

// Checks each element, and that they stand in order, none twice.
template <typename T, typename KeyOf, typename Check>
absl::Status CheckOrdered(const FieldPath& path, absl::string_view field,
                          const std::vector<T>& list, KeyOf key_of, Check check) {
  for (size_t i = 0; i < list.size(); ++i) {
    const FieldPath here = path.Field(field, i);
    CONCUR_RETURN_IF_ERROR(check(here, list[i]));
    if (i > 0 && key_of(list[i]) <= key_of(list[i - 1])) {
      return FieldError(
          here, absl::StrCat("expected each once and in order, got ", KeyText(key_of(list[i])),
                             " after ", KeyText(key_of(list[i - 1]))));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArtifact(const FieldPath& path, const ArtifactRef& artifact) {
  if (static_cast<int>(artifact.kind) >= kArtifactKinds) {
    return FieldError(path.Field("kind"), "expected a known kind");
  }
  return CheckRange(path.Field("size_bytes"), artifact.bytes, 0, kArtifactBytesMax);
}

}  // namespace

absl::string_view ArtifactKindName(ArtifactKind kind) { return NameIn(kArtifactKindNames, kind); }

absl::string_view FailureClassName(FailureClass failure) {
  return NameIn(kFailureClassNames, failure);
}

bool ComesBefore(const Metric& a, const Metric& b) { return KeyOf(a) < KeyOf(b); }

const Metric* FindMetric(const JobResult* result, absl::string_view name) {
  if (result == nullptr) {
    return nullptr;
  }
  const auto it = std::find_if(
      result->metrics.begin(), result->metrics.end(),
      [&](const Metric& metric) { return metric.part.empty() && metric.name == name; });
  return it == result->metrics.end() ? nullptr : &*it;
}

const ArtifactRef* FindArtifact(const JobResult& result, ArtifactKind kind) {
  for (const ArtifactRef& artifact : result.artifacts) {
    if (artifact.kind == kind) {
      return &artifact;
    }
  }
  return nullptr;
}

absl::Status CheckMetric(const FieldPath& path, const Metric& metric) {
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), metric.name));
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("part"), metric.part));
  if (!(std::abs(metric.value) <= kMetricAbsMax)) {
    return FieldError(path.Field("value"),
                      absl::StrCat("expected a finite number of at most ", kMetricAbsMax,
                                   " either way, got ", metric.value));
  }
  if (const auto& interval = metric.interval) {
    const bool in_range =
        std::abs(interval->low) <= kMetricAbsMax && std::abs(interval->high) <= kMetricAbsMax;
    if (!in_range || interval->low > interval->high) {
      return FieldError(path.Field("interval"),
                        absl::StrCat("expected finite ends in order, got ", interval->low, " to ",
                                     interval->high));
    }
  }
  return CheckRange(path.Field("examples"), metric.examples, 0, kExamplesMax);
}

absl::Status CheckMetricCounts(const FieldPath& path, const std::vector<Metric>& metrics) {
  size_t plain = 0;
  size_t parts = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    plain += metrics[i].part.empty() ? 1 : 0;
    parts += !metrics[i].part.empty() && (i == 0 || metrics[i].part != metrics[i - 1].part) ? 1 : 0;
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("metrics"), plain, kMetricsMax));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("parts"), parts, kPartsMax));
  return CheckCount(path.Field("metrics of parts"), metrics.size() - plain, kPartMetricsMax);
}

size_t PartMetricsOf(const JobResult& result) {
  return static_cast<size_t>(
      std::count_if(result.metrics.begin(), result.metrics.end(),
                    [](const Metric& metric) { return !metric.part.empty(); }));
}

absl::Status ValidateJobResult(const JobResult& result, const FieldPath& path) {
  if (static_cast<int>(result.failure) >= kFailureClasses ||
      result.succeeded != (result.failure == FailureClass::kNone)) {
    return FieldError(path.Field("failure"), result.succeeded
                                                 ? "expected none, since the attempt succeeded"
                                                 : "expected why the attempt did not succeed");
  }
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("exit_code"), result.exit_code, -1, kExitCodeMax));
  CONCUR_RETURN_IF_ERROR(CheckText(path.Field("message"), result.message, kMessageBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckSpan(path.Field("run_time"), result.run_time, absl::ZeroDuration()));
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("memory_bytes_peak"), result.memory_bytes_peak, 0, kMemoryBytesMax));
  CONCUR_RETURN_IF_ERROR(CheckMetricCounts(path, result.metrics));
  CONCUR_RETURN_IF_ERROR(CheckOrdered(path, "metrics", result.metrics, KeyOf, CheckMetric));
  return CheckOrdered(
      path, "artifacts", result.artifacts,
      [](const ArtifactRef& artifact) { return static_cast<int>(artifact.kind); }, CheckArtifact);
}

absl::Status ValidateCheckpoint(const Checkpoint& checkpoint, const FieldPath& path) {
  return CheckRange(path.Field("size_bytes"), checkpoint.bytes, 0, kArtifactBytesMax);
}

}  // namespace concur
