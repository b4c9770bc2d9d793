// SPDX-License-Identifier: Apache-2.0
// Published score tables that stand outside the repository, for tests that check against them.
#ifndef CONCUR_TESTS_ANALYSIS_REFERENCE_SCORES_H_
#define CONCUR_TESTS_ANALYSIS_REFERENCE_SCORES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/score_table.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::analysis {

// The path of a reference file, or "" where the machine does not have it. CONCUR_SHARED_DIR names
// the folder with reference/ in it; else it lies beside the source tree.
inline std::string ReferencePath(const std::string& name) {
  std::string path;
  if (const char* shared = std::getenv("CONCUR_SHARED_DIR")) {  // NOLINT(concurrency-mt-unsafe)
    path = std::string(shared) + "/reference/" + name;
  } else if (const char* source =
                 std::getenv("CONCUR_SOURCE_DIR")) {  // NOLINT(concurrency-mt-unsafe)
    path = std::string(source) + "/../shared/reference/" + name;
  }
  return !path.empty() && std::filesystem::exists(path) ? path : "";
}

inline absl::StatusOr<ScoreTable> LoadScores(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  CONCUR_ASSIGN_OR_RETURN(ParsedScores parsed, ParseScoresCsv(text, path));
  return std::move(parsed.table);
}

}  // namespace concur::analysis

// Declares `table`, or skips the test where the file is not there.
#define CONCUR_LOAD_REFERENCE(table, name)                                     \
  const std::string reference_path = ::concur::analysis::ReferencePath(name);  \
  if (reference_path.empty()) {                                                \
    GTEST_SKIP() << name << " is not on this machine (see CONCUR_SHARED_DIR)"; \
  }                                                                            \
  ASSERT_OK_AND_ASSIGN(const ScoreTable table, ::concur::analysis::LoadScores(reference_path))

#endif  // CONCUR_TESTS_ANALYSIS_REFERENCE_SCORES_H_
