// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/import_request.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "coordinator/services/submission_checks.h"
#include "core/fields.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_value.h"

namespace concur {

absl::StatusOr<RequestedImport> ReadImport(const v1::ImportSweepRequest& request,
                                           const ServiceLimits& limits) {
  if (!request.spec().imported().empty()) {
    return FieldError(FieldPath("spec.imported"), "expected none: the coordinator computes it");
  }
  auto results = std::make_shared<std::vector<ImportedResult>>();
  results->reserve(static_cast<size_t>(request.results_size()));
  std::map<Digest, SweepFile> examples;
  for (int i = 0; i < request.results_size(); ++i) {
    const v1::ImportedResult& imported = request.results(i);
    const FieldPath root;
    const FieldPath here = root.Field("results", static_cast<size_t>(i));
    CONCUR_ASSIGN_OR_RETURN(JobResult result,
                            rpc::FromProto(imported.result(), here.Field("result")));
    for (const ArtifactRef& artifact : result.artifacts) {
      examples.try_emplace(
          artifact.digest,
          SweepFile{artifact.digest, artifact.bytes,
                    absl::StrCat("per-example scores of job ", imported.job()), false});
    }
    results->push_back({imported.job(), std::move(result)});
  }
  v1::SweepSpec proto = request.spec();
  proto.set_imported(DigestOfResults(*results).ToBytes());
  RequestedImport asked;
  CONCUR_ASSIGN_OR_RETURN(asked.expansion,
                          ExpandRequested(request.request_id(), rpc::FromProto(proto), limits));
  CONCUR_RETURN_IF_ERROR(ValidateImportedResults(*asked.expansion, *results, FieldPath()));
  asked.results = std::move(results);
  for (auto& [digest, file] : examples) {
    asked.examples.push_back(std::move(file));
  }
  return asked;
}

}  // namespace concur
