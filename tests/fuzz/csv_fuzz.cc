// SPDX-License-Identifier: Apache-2.0
// The reader of scores. A table that was read must be the same after it was written and read again.
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/score_table.h"
#include "base/check.h"
#include "report/writers.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<concur::analysis::ParsedScores> read =
      concur::analysis::ParseScoresCsv(concur::testing::Text(data, size), "input.csv");
  if (!read.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(read.status()) && !read.status().message().empty());
    return 0;
  }
  const std::string written =
      concur::analysis::WriteScores(read->table, concur::analysis::TableFormat::kCsv);
  concur::analysis::ScoresCsvOptions options;
  for (const concur::analysis::AxisEntry& approach : read->table.approaches()) {
    for (const auto& [tag, value] : approach.tags) {
      options.tag_columns.push_back(tag);
    }
    break;
  }
  const absl::StatusOr<concur::analysis::ParsedScores> again =
      concur::analysis::ParseScoresCsv(written, "written.csv", options);
  if (!read->table.approaches().empty()) {
    CONCUR_CHECK_OK(again.status());
    CONCUR_CHECK(concur::analysis::WriteScores(again->table, concur::analysis::TableFormat::kCsv) ==
                 written);
  }
  CONCUR_CHECK(
      !concur::analysis::WriteScores(read->table, concur::analysis::TableFormat::kText).empty());
  CONCUR_CHECK(
      !concur::analysis::WriteScores(read->table, concur::analysis::TableFormat::kJson).empty());
  return 0;
}
