// SPDX-License-Identifier: Apache-2.0
#include "cli/study/bundle.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "analysis/score_table.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/study/bundle_files.h"
#include "qa/json_text.h"
#include "qa/score.h"
#include "report/notes.h"

namespace concur::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr int64_t kFileBytesMax = int64_t{1} << 31;
constexpr char kIndex[] = "bundle.json";
constexpr char kReadme[] =
    "A sweep exported by Concur. \"concur bundle verify DIRECTORY\" computes every number again, "
    "offline.\n"
    "\n"
    "bundle.json       versions, options, and the SHA-256 of every file\n"
    "sweep.json        the sweep as it was submitted (digests of data files in Base64)\n"
    "jobs.jsonl        every job: setting, seed, state, result\n"
    "examples/         per-example scores, named by their SHA-256\n"
    "cells.csv         the jobs that the sweep implies, with the sampled settings\n"
    "scores.csv        every score by itself, with the file of its per-example scores\n"
    "table.*           the scores of the selected settings, means over seeds\n"
    "matrix-*.json     concurrence with intervals\n"
    "comparisons.json  paired comparisons of approaches\n";

constexpr char kImportedReadme[] =
    "Results that Concur imported. \"concur bundle verify DIRECTORY\" computes every number again, "
    "offline.\n"
    "\n"
    "bundle.json       versions, options, and the SHA-256 of every file\n"
    "sweep.json        the models (as approaches) and tasks (as benchmarks)\n"
    "jobs.jsonl        every score; a run of a model on a task is a seed\n"
    "sources.jsonl     where each score came from: file, digest, and what the file says of it\n"
    "examples/         per-example scores, named by their SHA-256\n"
    "originals/        files of Every Eval Ever as they were, for concur bundle write\n"
    "scores.csv        every score by itself, with the file of its per-example scores\n"
    "table.*           the scores, means over runs\n"
    "matrix-*.json     concurrence; of at most 200 tasks\n"
    "comparisons.json  paired comparisons of models with per-example scores\n";

// Where no job reported anything and no setting was chosen it is as Concur 0.2.0 wrote it, whose
// bundles are verified, too.
absl::StatusOr<std::string> ReadmeOf(const Study& study) {
  if (study.imported()) {
    return kImportedReadme;
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, ScoreTableOf(study, ""));
  std::string choices;
  for (const std::string& sentence : analysis::ChoiceNotes(table.benchmarks())) {
    absl::StrAppend(&choices, "\n", sentence, "\n");
  }
  const bool has_steps = std::any_of(study.jobs.begin(), study.jobs.end(),
                                     [](const v1::Job& job) { return job.steps_size() > 0; });
  const std::string files =
      has_steps ? absl::StrReplaceAll(
                      kReadme,
                      {{"state, result\n", "state, result, and what it reported step by step\n"}})
                : kReadme;
  return files + choices;
}

// The README as Concur 0.2.0 wrote it, whose commands had other names.
std::string WithNamesOf020(absl::string_view readme) {
  return absl::StrReplaceAll(readme, {{"concur bundle verify", "concur verify"},
                                      {"concur bundle write", "concur export"}});
}

// A temporary directory beside the final one; removed unless it is published.
class StagedDirectory {
 public:
  static absl::StatusOr<StagedDirectory> Create(const std::string& target) {
    const std::string parent = std::filesystem::path(target).parent_path().string();
    if (!parent.empty()) {
      CONCUR_RETURN_IF_ERROR(MakeDirectories(parent));
    }
    std::string path = target + ".partial-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      return ErrnoStatus(errno, target, "make a temporary directory");
    }
    return StagedDirectory(target, std::move(path));
  }
  ~StagedDirectory() {
    if (!path_.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    }
  }
  StagedDirectory(StagedDirectory&& other) noexcept
      : target_(std::move(other.target_)), path_(std::exchange(other.path_, "")) {}
  StagedDirectory& operator=(StagedDirectory&&) = delete;

  const std::string& path() const { return path_; }

  absl::Status Publish() {
    std::error_code error;
    std::filesystem::permissions(path_, std::filesystem::perms(0755), error);
    CONCUR_RETURN_IF_ERROR(SyncDirectory(path_));
    // Fails when the name now belongs to anything but an empty directory.
    std::filesystem::rename(path_, target_, error);
    if (error) {
      return ErrnoStatus(error.value(), target_, "rename");
    }
    path_.clear();
    const std::string parent = std::filesystem::path(target_).parent_path().string();
    return SyncDirectory(parent.empty() ? "." : parent);
  }

 private:
  StagedDirectory(std::string target, std::string path)
      : target_(std::move(target)), path_(std::move(path)) {}

  std::string target_;
  std::string path_;
};

struct Index {
  BundleOptions options;
  std::map<std::string, std::pair<int64_t, std::string>> files;  // bytes and digest by path
  std::vector<std::string> without_examples;
};

std::string IndexJson(const Study& study, const BundleOptions& options, const BundleFiles& files,
                      const std::vector<std::string>& without_examples) {
  Json json;
  json["format"] = kFormat;
  json["concur"] = std::string(kVersion);
  json["scorer"] = qa::kScorerVersion;
  json["sweep"] = study.sweep.id();
  json["name"] = study.sweep.name();
  json["owner"] = study.sweep.owner();
  json["intervals"] = {{"level", options.level},
                       {"method", "bca"},
                       {"replicates", options.replicates},
                       {"seed", options.seed},
                       {"p_values", options.p_values}};
  json["settings_seed"] = study.spec.settings_seed;
  json["seeds"] = Json::array();
  for (const int64_t seed : study.spec.seeds) {
    json["seeds"].push_back(seed);
  }
  json["without_examples"] = without_examples;
  json["files"] = Json::array();
  for (const auto& [path, bytes] : files) {
    json["files"].push_back(
        {{"path", path}, {"bytes", bytes.size()}, {"sha256", Sha256Of(bytes).ToHex()}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Index> ParseIndex(const std::string& text) {
  const auto wrong = [](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(kIndex, ": ", what));
  };
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    const std::string not_json = qa::ExplainJsonError(text);
    return wrong(absl::StrCat("expected a JSON object", not_json.empty() ? "" : ": ", not_json));
  }
  if (!json.contains("format") || json["format"] != kFormat) {
    return wrong(absl::StrCat("format: expected ", kFormat, ", got ",
                              json.contains("format") ? json["format"].dump() : "nothing",
                              "; use the version of Concur that made the bundle"));
  }
  Index index;
  const Json intervals = json.value("intervals", Json::object());
  const auto is_number = [&](const char* name) {
    return intervals.is_object() && intervals.contains(name) && intervals[name].is_number();
  };
  if (!is_number("level") || !is_number("replicates") || !is_number("seed")) {
    return wrong("intervals: expected level, replicates and seed");
  }
  index.options.level = intervals["level"];
  index.options.replicates = intervals["replicates"];
  index.options.seed = intervals["seed"];
  const auto p_values = intervals.find("p_values");
  index.options.p_values = p_values == intervals.end() || *p_values == true;
  if (!json.contains("files") || !json["files"].is_array()) {
    return wrong("files: expected a list");
  }
  for (const Json& file : json["files"]) {
    const bool good = file.is_object() && file.contains("path") && file["path"].is_string() &&
                      file.contains("bytes") && file["bytes"].is_number_integer() &&
                      file.contains("sha256") && file["sha256"].is_string();
    if (!good) {
      return wrong("files: expected {\"path\", \"bytes\", \"sha256\"}");
    }
    const std::string path = file["path"];
    if (absl::StartsWith(path, "/") || absl::StrContains(path, "..")) {
      return wrong(absl::StrCat("files: ", path, ": expected a path within the bundle"));
    }
    index.files[path] = {file["bytes"].get<int64_t>(), file["sha256"].get<std::string>()};
  }
  for (const Json& job : json.value("without_examples", Json::array())) {
    if (job.is_string()) {
      index.without_examples.push_back(job);
    }
  }
  return index;
}

absl::StatusOr<std::string> ReadPart(const std::string& directory, const std::string& path) {
  return ReadFile(absl::StrCat(directory, "/", path), kFileBytesMax);
}

// The files of the directory, except the index.
absl::StatusOr<std::set<std::string>> ListFiles(const std::string& directory) {
  std::set<std::string> found;
  std::error_code error;
  for (auto it = std::filesystem::recursive_directory_iterator(directory, error);
       !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_directory()) {
      found.insert(it->path().lexically_relative(directory).generic_string());
    }
  }
  if (error) {
    return ErrnoStatus(error.value(), directory, "list");
  }
  found.erase(kIndex);
  return found;
}

// Intervals of large tables take long; the commands have the same rule.
bool TakesLong(const Study& study) {
  constexpr size_t kWorkMax = 1'000'000;
  const auto benchmarks = study.spec.benchmarks.size();
  const auto approaches = study.spec.approaches.size();
  return benchmarks * benchmarks * approaches > kWorkMax;
}

}  // namespace

bool IsBundlePath(const std::string& name) { return absl::StrContains(name, "/"); }

bool IsBundle(const std::string& directory) {
  std::error_code error;
  return std::filesystem::is_regular_file(std::filesystem::path(directory) / "sweep.json", error);
}

absl::StatusOr<Study> LoadBundle(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::is_directory(directory, error) && !IsBundle(directory)) {
    return absl::NotFoundError(
        absl::StrCat(directory,
                     ": expected a bundle, got a directory without sweep.json; concur "
                     "bundle write makes one of a sweep, concur bundle convert of results"));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string sweep, ReadPart(directory, "sweep.json"));
  CONCUR_ASSIGN_OR_RETURN(const std::string jobs, ReadPart(directory, "jobs.jsonl"));
  absl::StatusOr<std::string> sources = ReadPart(directory, kSourcesFile);
  if (absl::IsNotFound(sources.status())) {
    sources = "";
  }
  CONCUR_RETURN_IF_ERROR(sources.status());
  absl::StatusOr<Study> study = ParsePrimaryFiles(sweep, jobs, *std::move(sources));
  if (!study.ok()) {
    return absl::Status(study.status().code(),
                        absl::StrCat(directory, "/", study.status().message()));
  }
  study->read_artifact = [directory](const Digest& digest) -> absl::StatusOr<std::string> {
    CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadPart(directory, ExamplesPath(digest)));
    if (Sha256Of(bytes) != digest) {
      return absl::DataLossError(absl::StrCat(directory, "/", ExamplesPath(digest),
                                              ": the bytes have another SHA-256 than the name"));
    }
    return bytes;
  };
  return study;
}

absl::Status CheckBundleTarget(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::exists(std::string(absl::StripSuffix(directory, "/")), error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(directory, ": is there already; remove it, or name another directory"));
  }
  return absl::OkStatus();
}

absl::StatusOr<BundleSummary> WriteBundle(Study study, const std::string& target,
                                          const BundleOptions& asked) {
  const std::string directory(absl::StripSuffix(target, "/"));
  CONCUR_RETURN_IF_ERROR(CheckBundleTarget(directory));
  BundleOptions options = asked;
  options.level = TakesLong(study) ? 0 : asked.level;
  BundleFiles files = PrimaryFiles(study);
  if (study.imported()) {
    std::string("\n").swap(study.sources);  // it is large, and in the files
  }
  BundleSummary summary;
  for (const v1::Job& job : study.jobs) {
    const std::optional<Digest> digest = ExamplesOf(job);
    if (!digest.has_value()) {
      continue;
    }
    absl::StatusOr<std::string> bytes = study.read_artifact(*digest);
    if (absl::IsNotFound(bytes.status())) {
      summary.without_examples.push_back(job.id());
      continue;
    }
    CONCUR_RETURN_IF_ERROR(bytes.status());
    files[ExamplesPath(*digest)] = *std::move(bytes);
  }
  CONCUR_ASSIGN_OR_RETURN(BundleFiles derived, DerivedFiles(study, options));
  files.merge(derived);
  CONCUR_ASSIGN_OR_RETURN(files["README.txt"], ReadmeOf(study));
  files.insert(study.originals.begin(), study.originals.end());
  files[kIndex] = IndexJson(study, options, files, summary.without_examples);
  CONCUR_RETURN_IF_ERROR(PublishFiles(directory, files, {"examples"}));
  summary.files = files.size();
  for (const auto& [path, bytes] : files) {
    summary.bytes += static_cast<int64_t>(bytes.size());
  }
  return summary;
}

absl::Status PublishFiles(const std::string& target, const BundleFiles& files,
                          const std::vector<std::string>& folders) {
  const std::string directory(absl::StripSuffix(target, "/"));
  CONCUR_RETURN_IF_ERROR(CheckBundleTarget(directory));
  CONCUR_ASSIGN_OR_RETURN(StagedDirectory staged, StagedDirectory::Create(directory));
  std::set<std::string> made(folders.begin(), folders.end());
  for (const auto& [path, bytes] : files) {
    made.insert(std::filesystem::path(path).parent_path().string());
  }
  made.erase("");
  for (const std::string& folder : made) {
    CONCUR_RETURN_IF_ERROR(MakeDirectories(absl::StrCat(staged.path(), "/", folder)));
  }
  for (const auto& [path, bytes] : files) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(staged.path(), "/", path), bytes));
  }
  return staged.Publish();
}

absl::StatusOr<BundleSummary> VerifyBundle(const std::string& directory) {
  CONCUR_ASSIGN_OR_RETURN(const std::string index_text, ReadPart(directory, kIndex));
  CONCUR_ASSIGN_OR_RETURN(const Index index, ParseIndex(index_text));
  CONCUR_ASSIGN_OR_RETURN(const std::set<std::string> found, ListFiles(directory));
  for (const auto& [path, about] : index.files) {
    if (found.count(path) == 0) {
      return absl::DataLossError(absl::StrCat(path, ": is listed in ", kIndex, " and not there"));
    }
  }
  for (const std::string& path : found) {
    if (index.files.count(path) == 0) {
      return absl::DataLossError(absl::StrCat(path, ": is not listed in ", kIndex));
    }
  }
  // Numbers are checked before digests, so that an error names the number that differs.
  CONCUR_ASSIGN_OR_RETURN(const Study study, LoadBundle(directory));
  CONCUR_RETURN_IF_ERROR(CheckJobs(study));
  CONCUR_ASSIGN_OR_RETURN(BundleFiles expected, DerivedFiles(study, index.options));
  BundleFiles primary = PrimaryFiles(study);
  expected.merge(primary);
  CONCUR_ASSIGN_OR_RETURN(std::string readme, ReadmeOf(study));
  std::string older = WithNamesOf020(readme);
  const bool is_older = ReadPart(directory, "README.txt").value_or("") == older;
  expected["README.txt"] = std::move(is_older ? older : readme);
  BundleSummary summary;
  summary.without_examples = index.without_examples;
  for (const auto& [path, about] : index.files) {
    CONCUR_ASSIGN_OR_RETURN(const std::string bytes, ReadPart(directory, path));
    const auto known = expected.find(path);
    if (known != expected.end()) {
      CONCUR_RETURN_IF_ERROR(FirstDifference(path, known->second, bytes));
    }
    if (Sha256Of(bytes).ToHex() != about.second ||
        static_cast<int64_t>(bytes.size()) != about.first) {
      return absl::DataLossError(absl::StrCat(path, ": expected SHA-256 ", about.second, " (",
                                              kIndex, "), got ", Sha256Of(bytes).ToHex()));
    }
    ++summary.files;
    summary.bytes += about.first;
  }
  for (const auto& [path, bytes] : expected) {
    if (index.files.count(path) == 0) {
      return absl::DataLossError(absl::StrCat(path, ": is missing from the bundle"));
    }
  }
  return summary;
}

}  // namespace concur::cli
