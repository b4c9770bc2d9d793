// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/imported_results.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur {
namespace {

absl::Status CheckImportedResult(const FieldPath& path, const JobResult& result) {
  CONCUR_RETURN_IF_ERROR(ValidateJobResult(result, path));
  if (!result.succeeded) {
    return FieldError(path.Field("succeeded"), "expected results of success alone");
  }
  if (result.metrics.empty()) {
    return FieldError(path.Field("metrics"), "expected at least one, got none");
  }
  if (PartMetricsOf(result) > 0) {
    return FieldError(path.Field("metrics"), "expected none of parts: import a task for each part");
  }
  if (result.message.empty()) {
    return FieldError(path.Field("message"), "expected where the score came from, got \"\"");
  }
  for (size_t i = 0; i < result.artifacts.size(); ++i) {
    if (result.artifacts[i].kind != ArtifactKind::kExamples) {
      return FieldError(path.Field("artifacts", i).Field("kind"),
                        absl::StrCat("expected per-example scores alone, got ",
                                     ArtifactKindName(result.artifacts[i].kind)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Digest DigestOfResults(const std::vector<ImportedResult>& results) {
  Sha256 hasher;
  const auto number = [&hasher](int64_t value) { hasher.UpdateField(absl::StrCat(value)); };
  for (const ImportedResult& imported : results) {
    const JobResult& result = imported.result;
    number(imported.job);
    hasher.UpdateField(result.message);
    number(absl::ToUnixMicros(result.start_time));
    number(absl::ToInt64Microseconds(result.run_time));
    number(static_cast<int64_t>(result.metrics.size()));
    for (const Metric& metric : result.metrics) {
      hasher.UpdateField(metric.name);
      number(std::bit_cast<int64_t>(metric.value));
      number(metric.examples);
    }
    number(static_cast<int64_t>(result.artifacts.size()));
    for (const ArtifactRef& artifact : result.artifacts) {
      number(static_cast<int64_t>(artifact.kind));
      hasher.UpdateField(artifact.digest.ToBytes());
    }
  }
  return hasher.Finish();
}

absl::Status ValidateImportedResults(const Expansion& expansion,
                                     const std::vector<ImportedResult>& results,
                                     const FieldPath& path) {
  CONCUR_CHECK(expansion.spec().imported.has_value());
  if (results.empty()) {
    return FieldError(path.Field("results"), "expected at least one, got none");
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const FieldPath here = path.Field("results", i);
    CONCUR_RETURN_IF_ERROR(CheckIndex(here.Field("job"), results[i].job, expansion.job_count()));
    if (i > 0 && results[i].job <= results[i - 1].job) {
      return FieldError(here.Field("job"),
                        absl::StrCat("expected each job once and in order, got ", results[i].job,
                                     " after ", results[i - 1].job));
    }
    CONCUR_RETURN_IF_ERROR(CheckImportedResult(here.Field("result"), results[i].result));
  }
  return absl::OkStatus();
}

}  // namespace concur
