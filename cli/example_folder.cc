#include "cli/example_folder.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/example_scores.h"

namespace concur::cli {
namespace {

// Names of the folders in a folder, or of its files that end in ".jsonl", sorted.
absl::StatusOr<std::vector<std::string>> Entries(const std::string& path, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(path, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    const bool fits = folders ? entries->is_directory(ignored)
                              : entries->is_regular_file(ignored) && absl::EndsWith(name, ".jsonl");
    if (fits && name[0] != '.') {
      names.push_back(name);
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot list the folder: ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<NamedExamples> ReadRuns(const std::string& approach, const std::string& folder) {
  constexpr int64_t kExamplesBytesMax = int64_t{1} << 30;
  NamedExamples cell;
  cell.approach = approach;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    return cell;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> files, Entries(folder, false));
  for (const std::string& file : files) {
    const std::string path = absl::StrCat(folder, "/", file);
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kExamplesBytesMax));
    CONCUR_ASSIGN_OR_RETURN(std::vector<qa::ExampleScore> run, qa::ParseExampleScores(text, path));
    cell.runs.push_back(std::move(run));
  }
  return cell;
}

}  // namespace

absl::StatusOr<std::vector<FolderBenchmark>> ReadExampleFolder(const std::string& path,
                                                               std::vector<std::string> columns) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> approaches, Entries(path, true));
  std::set<std::string> found;
  for (const std::string& approach : approaches) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            Entries(absl::StrCat(path, "/", approach), true));
    found.insert(names.begin(), names.end());
  }
  if (columns.empty()) {
    columns.assign(found.begin(), found.end());
  }
  std::vector<FolderBenchmark> benchmarks;
  for (const std::string& name : columns) {
    if (found.count(name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": no approach has a folder for the benchmark \"", name, "\""));
    }
    FolderBenchmark& benchmark = benchmarks.emplace_back();
    benchmark.name = name;
    for (const std::string& approach : approaches) {
      CONCUR_ASSIGN_OR_RETURN(NamedExamples cell,
                              ReadRuns(approach, absl::StrCat(path, "/", approach, "/", name)));
      benchmark.approaches.push_back(std::move(cell));
    }
  }
  return benchmarks;
}

}  // namespace concur::cli
