// SPDX-License-Identifier: Apache-2.0
// The readers of data sets. What was read must be the same after it was written and read again.
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "qa/passage_reader.h"
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

// Reads raw MRQA lines with contexts that are cut: spans stay inside of them.
void ReadCut(const std::string& path) {
  concur::qa::ReadPolicy policy;
  policy.bad_records = concur::qa::ReadPolicy::BadRecords::kPassOn;
  policy.note = [](absl::string_view, absl::string_view) {};
  policy.context_tokens_max = 2;
  const absl::Status status = concur::qa::ReadMrqa(
      path, policy, [](const concur::qa::Passage& passage, const std::string&) {
        for (const concur::qa::Question& question : passage.questions) {
          for (const concur::qa::Span& span : question.spans) {
            CONCUR_CHECK(0 <= span.begin && span.begin < span.end &&
                         static_cast<size_t>(span.end) <= passage.context.size());
          }
        }
        return absl::OkStatus();
      });
  CONCUR_CHECK(status.ok() || !status.message().empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const concur::testing::TempDir directory;
  const std::string& path = concur::testing::FileWith(concur::testing::Text(data, size));
  ReadCut(path);
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
