// SPDX-License-Identifier: Apache-2.0
// The readers of result files, one for each format.
//
// A reader is a pure function of one file, and the files beside it that belong to it.
#ifndef CONCUR_QA_RESULTS_READER_H_
#define CONCUR_QA_RESULTS_READER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/results/results.h"

namespace concur::imports {

class JsonDocument;

struct ReadOptions {
  // MTEB: only subsets in these languages and no others ("eng"; "eng-Latn"); empty: all.
  std::vector<std::string> languages;
  // Leaderboards: the column of models, "" to find it; columns that are no benchmarks though they
  // look like it, and that are though they do not.
  std::string model_column;
  std::string rows;  // "models" or "tasks"; "" to find it
  std::vector<std::string> leave_out;
  std::vector<std::string> keep;
};

struct Format {
  const char* name;
  const char* about;
  // True if a file of that name, met in a folder, is to be read; others are not even counted.
  bool (*wants)(absl::string_view file_name);
  // InvalidArgument, naming file and field, for what cannot be read at all.
  absl::StatusOr<FileResults> (*read)(const std::string& path, const ReadOptions& options,
                                      JsonDocument& document);
};

const std::vector<Format>& Formats();
std::vector<std::string> FormatNames();
// InvalidArgument with the names that there are.
absl::StatusOr<Format> FindFormat(absl::string_view name);

Format EveryEvalEverFormat();
Format HelmFormat();
Format InspectFormat();
Format LeaderboardFormat();
Format LmEvalFormat();
Format MtebFormat();

// For readers: the family that a model's name tells: the organisation of "org/model" or
// "org__model", or what stands before a size in parentheses ("Llama 2 (70B)"); "" without either,
// and for the path of a folder.
std::string FamilyInName(absl::string_view model);
// Adds the tag unless the value is empty.
void AddTag(Tags& tags, const std::string& name, absl::string_view value);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_READER_H_
