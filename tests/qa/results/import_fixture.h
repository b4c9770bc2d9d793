// SPDX-License-Identifier: Apache-2.0
// Files in a temporary folder, imported.
#ifndef CONCUR_TESTS_QA_RESULTS_IMPORT_FIXTURE_H_
#define CONCUR_TESTS_QA_RESULTS_IMPORT_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/file.h"
#include "qa/results/import.h"
#include "qa/results/imported.h"
#include "tests/testing/temp_dir.h"

namespace concur::imports {

class ImportFixture : public ::testing::Test {
 protected:
  // The path of the new file; `name` may have folders.
  std::string Write(const std::string& name, absl::string_view text) {
    const std::string path = dir_.File(name);
    CONCUR_CHECK_OK(MakeDirectories(path.substr(0, path.rfind('/'))));
    CONCUR_CHECK_OK(WriteFileAtomically(path, text));
    return path;
  }

  absl::StatusOr<ImportedResults> ImportAs(const std::string& format,
                                           std::vector<std::string> paths) {
    request_.format = format;
    request_.paths = std::move(paths);
    return Import(request_);
  }

  static std::vector<std::string> Names(const std::vector<ImportedAxis>& axes) {
    std::vector<std::string> names;
    for (const ImportedAxis& axis : axes) {
      names.push_back(axis.name);
    }
    return names;
  }

  // The run of a cell, if there is one.
  static const imports::Run* RunOf(const ImportedResults& results, const std::string& model,
                                   const std::string& task, uint32_t seed = 0) {
    for (const ImportedCell& cell : results.cells) {
      if (results.models[cell.model].name == model && results.tasks[cell.task].name == task &&
          cell.seed == seed) {
        return &results.runs[cell.run].run;
      }
    }
    return nullptr;
  }
  static std::optional<double> Score(const ImportedResults& results, const std::string& model,
                                     const std::string& task, uint32_t seed = 0) {
    const imports::Run* const run = RunOf(results, model, task, seed);
    return run == nullptr ? std::nullopt : std::optional(run->metrics[0].value);
  }

  static int64_t SkippedOf(const ImportedResults& results, const std::string& reason) {
    const auto found = results.skipped.find(reason);
    return found == results.skipped.end() ? 0 : found->second.count;
  }

  concur::testing::TempDir dir_;
  ImportRequest request_;
};

}  // namespace concur::imports

#endif  // CONCUR_TESTS_QA_RESULTS_IMPORT_FIXTURE_H_
