// SPDX-License-Identifier: Apache-2.0
// The readers of data sets. What was read must be the same after it was written and read again.
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "tests/fuzz/fuzz.h"

namespace {

// Writes a data set; returns the file's bytes.
std::string Written(const concur::qa::Dataset& dataset, const std::string& path) {
  absl::StatusOr<std::unique_ptr<concur::qa::DatasetWriter>> writer =
      concur::qa::DatasetWriter::Create(path, dataset.header);
  CONCUR_CHECK_OK(writer.status());
  for (const concur::qa::Passage& passage : dataset.passages) {
    CONCUR_CHECK_OK((*writer)->Write(passage));
  }
  CONCUR_CHECK_OK((*writer)->Finish());
  absl::StatusOr<std::string> bytes = concur::ReadFile(path);
  CONCUR_CHECK_OK(bytes.status());
  return *std::move(bytes);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const concur::testing::TempDir directory;
  const std::string& path = concur::testing::FileWith(concur::testing::Text(data, size));
  const absl::StatusOr<concur::qa::Dataset> read = concur::qa::ReadDataset(path);
  if (!read.ok()) {
    CONCUR_CHECK(!read.status().message().empty());
    return 0;
  }
  CONCUR_CHECK(read->QuestionCount() > 0);
  const std::string copy = directory.File("copy.jsonl");
  const std::string first = Written(*read, copy);
  const absl::StatusOr<concur::qa::Dataset> again = concur::qa::ReadDataset(copy);
  CONCUR_CHECK_OK(again.status());
  CONCUR_CHECK(again->QuestionCount() == read->QuestionCount());
  CONCUR_CHECK(Written(*again, copy) == first);
  return 0;
}
