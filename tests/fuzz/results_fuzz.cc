// SPDX-License-Identifier: Apache-2.0
// The readers of result files. The first byte chooses the format, of which Inspect has two, told
// apart by "PK"; a file that is refused must be named, and one that is read must have finite
// scores.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "base/check.h"
#include "base/file.h"
#include "qa/results/import.h"
#include "qa/results/imported.h"
#include "qa/results/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/temp_dir.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using concur::imports::Formats;
  if (size == 0) {
    return 0;
  }
  static const auto& dir = *new concur::testing::TempDir();
  const auto& format = Formats()[data[0] % Formats().size()];
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool is_table = absl::string_view(format.name) == "leaderboard";
  const bool is_helm = absl::string_view(format.name) == "helm";
  const bool is_zip = absl::string_view(format.name) == "inspect" && absl::StartsWith(text, "PK");
  const std::string path = dir.File(is_table  ? "input.csv"
                                    : is_helm ? "run_spec.json"
                                    : is_zip  ? "input.eval"
                                              : "input.json");
  CONCUR_CHECK_OK(concur::WriteFileAtomically(path, text));
  if (is_helm) {
    CONCUR_CHECK_OK(concur::WriteFileAtomically(dir.File("stats.json"), text));
  }
  concur::imports::ImportRequest request;
  request.format = format.name;
  request.paths = {path};
  request.threads = 1;
  const auto results = concur::imports::Import(request);
  if (!results.ok()) {
    CONCUR_CHECK(absl::StrContains(results.status().message(), dir.path()));
    return 0;
  }
  for (const concur::imports::ImportedRun& run : results->runs) {
    CONCUR_CHECK(!run.run.metrics.empty() && std::isfinite(run.run.metrics[0].value));
  }
  return 0;
}
