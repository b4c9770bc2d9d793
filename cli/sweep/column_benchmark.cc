// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/column_benchmark.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_sweep.h"

namespace concur::cli {
namespace {

// The benchmark of that name in the newest sweep that has one.
absl::StatusOr<BenchmarkSpec> FindColumn(Client& client, const std::string& name) {
  std::vector<std::string> names;
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Sweep> sweeps, client.ListSweeps("", 0));
  for (const v1::Sweep& listed : sweeps) {
    if (!IsLoaded(listed)) {
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                            client.GetSweep(listed.id(), Client::Include::kSpec));
    CONCUR_ASSIGN_OR_RETURN(const SweepSpec spec, rpc::FromProto(sweep.spec()));
    for (const BenchmarkSpec& benchmark : spec.benchmarks) {
      if (benchmark.name == name && !benchmark.validation_of.has_value()) {
        return benchmark;
      }
      names.push_back(benchmark.name);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("--with: expected a benchmark file, or the name of a benchmark of a sweep, got "
                   "\"",
                   name, "\"", DidYouMean(name, names),
                   "; there is no such file, and no sweep of this coordinator has such a column"));
}

}  // namespace

absl::StatusOr<std::string> FetchColumnBenchmark(Client& client, const std::string& name,
                                                 const std::string& directory) {
  constexpr int64_t kDataBytesMax = int64_t{1} << 30;
  CONCUR_ASSIGN_OR_RETURN(const BenchmarkSpec benchmark, FindColumn(client, name));
  if (!benchmark.train.has_value() || !benchmark.test.has_value() || !IsQa(benchmark.format)) {
    return absl::FailedPreconditionError(
        absl::StrCat("--with ", name,
                     ": expected a benchmark of format qa whose train and test set the "
                     "coordinator has; name its benchmark file"));
  }
  nlohmann::json spec = {{"format", DataFormatName(benchmark.format)},
                         {"metric", benchmark.metric}};
  for (const auto& [field, file] :
       {std::pair("train", &*benchmark.train), std::pair("test", &*benchmark.test)}) {
    const std::string file_name = absl::StrCat(field, file->suffix);
    CONCUR_ASSIGN_OR_RETURN(const std::string bytes,
                            DownloadArtifact(client, file->digest, kDataBytesMax));
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", file_name), bytes));
    spec[field] = file_name;
  }
  const nlohmann::json document = {{"apiVersion", "concur/v1"},
                                   {"kind", "Benchmark"},
                                   {"metadata", {{"name", benchmark.name}}},
                                   {"spec", std::move(spec)}};
  std::string path = absl::StrCat(directory, "/benchmark.yaml");
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(path, document.dump(2)));
  return path;
}

}  // namespace concur::cli
