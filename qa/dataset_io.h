// SPDX-License-Identifier: Apache-2.0
// Reading and writing data sets: SQuAD v1.1 JSON and MRQA JSON lines, plain or gzipped. The format
// is detected from the contents, not from the file name.
//
// Thread-safe (stateless). Every error is "PATH:LINE: FIELD: what was expected, what was found";
// SQuAD files, which often have one line, name the article, paragraph and question as well.
#ifndef CONCUR_QA_DATASET_IO_H_
#define CONCUR_QA_DATASET_IO_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/example.h"

namespace concur::qa {

// Calls `on_passage` for each passage in file order, holding one passage (MRQA) or one article
// (SQuAD) at a time and the ids; stops at its first error. A header line goes to `on_header` first.
absl::Status ForEachPassage(const std::string& path,
                            const std::function<absl::Status(Passage)>& on_passage,
                            const std::function<absl::Status(Header)>& on_header = {});

// Memory that a data set that is held whole may take: a small file must not fill a machine's.
inline constexpr int64_t kDatasetMemoryMax = int64_t{2} << 30;
// Adds to `held` what `passage` takes in memory, nearly. InvalidArgument, with `path`, beyond
// `max`.
absl::Status CountMemory(const Passage& passage, absl::string_view path, int64_t max,
                         int64_t& held);

// The whole data set. InvalidArgument on malformed input, duplicate question ids, no question, or
// more than `memory_max`.
absl::StatusOr<Dataset> ReadDataset(const std::string& path,
                                    int64_t memory_max = kDatasetMemoryMax);

// Fails as ReadDataset does, holding one passage or article at a time and the ids.
absl::Status CheckDataset(const std::string& path);

// Writes what the name of the file says: SQuAD v1.1 JSON when it ends in ".json", else MRQA JSON
// lines; gzipped with ".gz" after that. SQuAD JSON has no header, and an answer that does not stand
// in the passage is placed at 0. The file appears under its name only
// when it is complete and synced; a writer destroyed before Finish leaves no file. The same
// passages give the same bytes (the gzip header has no time).
class DatasetWriter {
 public:
  static absl::StatusOr<std::unique_ptr<DatasetWriter>> Create(const std::string& path,
                                                               const Header& header);
  virtual ~DatasetWriter() = default;
  virtual absl::Status Write(const Passage& passage) = 0;
  virtual absl::Status Finish() = 0;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_DATASET_IO_H_
