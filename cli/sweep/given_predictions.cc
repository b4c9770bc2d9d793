// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/given_predictions.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "cli/sweep/check_data.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/json_text.h"
#include "qa/predictions.h"
#include "qa/raw_stream.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/code_files.h"
#include "yaml/errors.h"
#include "yaml/sweep_yaml.h"

namespace concur::cli {
namespace {

// Copies the file that bears the digest of the test set as its name.
constexpr char kHandOver[] = "exec cp \"$1/$(sha256sum < \"$2\" | cut -c -64).json\" \"$3\"";
constexpr absl::Duration kHandOverTimeout = absl::Minutes(30);
constexpr size_t kEntriesMax = 20'000;  // in a folder

std::string BaseName(absl::string_view path) {
  absl::ConsumeSuffix(&path, "/");
  return std::filesystem::path(std::string(path)).filename().string();
}

// "squad" of "a/squad.json", packed or not.
std::optional<std::string> StemOf(const std::string& path) {
  const std::string name = BaseName(path);
  absl::string_view stem = name;
  for (const absl::string_view suffix : qa::kPackedSuffixes) {
    if (absl::ConsumeSuffix(&stem, suffix)) {
      break;
    }
  }
  return absl::ConsumeSuffix(&stem, ".json") && !stem.empty()
             ? std::make_optional(std::string(stem))
             : std::nullopt;
}

// Finds the files of all systems, and collects what is wrong with their names.
class Finder {
 public:
  explicit Finder(const std::vector<BenchmarkSpec>& benchmarks) {
    for (uint32_t b = 0; b < benchmarks.size(); ++b) {
      if (benchmarks[b].test && IsQa(benchmarks[b].format) && !benchmarks[b].validation_of) {
        by_name_.emplace(benchmarks[b].name, b);
        names_.push_back(benchmarks[b].name);
      }
    }
  }

  void AddFile(const std::string& system, const std::string& path) {
    if (by_name_.size() != 1) {
      Error(path, absl::StrCat("expected a folder with a file for each of ", by_name_.size(),
                               " benchmarks, BENCHMARK.json, got a file"));
      return;
    }
    Add(system, path, by_name_.begin()->second, path);
  }

  // BENCHMARK.json.
  void AddSystemFolder(const std::string& system, const std::string& folder) {
    for (const std::string& path : EntriesOf(folder)) {
      const std::optional<std::string> stem = StemOf(path);
      if (!stem) {
        Error(path, "expected the predictions on a benchmark, BENCHMARK.json or BENCHMARK.json.gz");
        continue;
      }
      const auto benchmark = by_name_.find(*stem);
      if (benchmark == by_name_.end()) {
        Error(path,
              absl::StrCat("expected the name of a benchmark of questions, ", FirstNames(names_),
                           ", got \"", *stem, "\"", DidYouMean(*stem, names_)));
        continue;
      }
      Add(system, folder, benchmark->second, path);
    }
  }

  // SYSTEM.json and SYSTEM/.
  void AddSystems(const std::string& folder) {
    for (const std::string& path : EntriesOf(folder)) {
      std::error_code ignored;
      if (std::filesystem::is_directory(path, ignored)) {
        AddSystemFolder(BaseName(path), path);
      } else if (const std::optional<std::string> stem = StemOf(path)) {
        AddFile(*stem, path);
      } else {
        Error(path, "expected a system's predictions, SYSTEM.json or a folder SYSTEM");
      }
    }
  }

  absl::StatusOr<std::vector<GivenSystem>> Take(const std::string& path) {
    if (by_name_.empty()) {
      return absl::InvalidArgumentError(
          "expected a benchmark of questions, which predictions answer, got none");
    }
    if (systems_.empty() && errors_.empty()) {
      Error(path, "expected predictions, NAME.json, got an empty folder");
    }
    if (!errors_.empty()) {
      return errors_.ToStatus();
    }
    std::vector<GivenSystem> systems;
    for (auto& [name, system] : systems_) {
      systems.push_back(std::move(system));
    }
    return systems;
  }

 private:
  void Error(const std::string& path, const std::string& message) {
    errors_.Add(path, {}, "", message);
  }

  std::vector<std::string> EntriesOf(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().filename().string()[0] == '.') {
        continue;
      }
      if (paths.size() == kEntriesMax) {
        Error(folder, absl::StrCat("expected at most ", kEntriesMax, " entries, got more"));
        break;
      }
      paths.push_back(it->path().string());
    }
    if (error) {
      Error(folder, absl::StrCat("expected a readable folder, got ", error.message()));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  void Add(const std::string& name, const std::string& source, uint32_t benchmark,
           const std::string& path) {
    const absl::Status valid = ValidateName(name);
    if (!valid.ok()) {
      Error(path, absl::StrCat("expected a system's name: ", valid.message()));
      return;
    }
    GivenSystem& system = systems_[name];
    system.name = name;
    system.source = BaseName(source);
    const auto [file, is_new] = system.files.emplace(benchmark, path);
    if (!is_new) {
      Error(path, absl::StrCat("expected one file of a system for a benchmark, got ", file->second,
                               " as well"));
    }
  }

  std::map<std::string, uint32_t> by_name_;
  std::vector<std::string> names_;
  std::map<std::string, GivenSystem> systems_;
  spec::ErrorList errors_;
};

// The questions of a test set.
struct Questions {
  std::vector<std::string> ids;
  absl::flat_hash_set<absl::string_view> known;  // views of `ids`
};

absl::StatusOr<Questions> QuestionsOf(const std::string& path) {
  Questions questions;
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(path, [&](const qa::Passage& passage) {
    for (const qa::Question& question : passage.questions) {
      questions.ids.push_back(question.id);
    }
    return absl::OkStatus();
  }));
  questions.known.insert(questions.ids.begin(), questions.ids.end());
  return questions;
}

absl::Status CheckAnswers(const std::string& path, const std::string& benchmark,
                          const Questions& questions, const GivenRules& rules) {
  CONCUR_ASSIGN_OR_RETURN(const qa::Predictions predictions, qa::ReadPredictions(path));
  std::optional<absl::string_view> missing;
  size_t missing_count = 0;
  for (const std::string& id : questions.ids) {
    if (!predictions.Find(id)) {
      ++missing_count;
      missing = missing ? missing : std::make_optional<absl::string_view>(id);
    }
  }
  if (missing_count == questions.ids.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected answers to the ", questions.ids.size(), " questions of ",
                     benchmark, ", such as ", qa::Shown(*missing), ", got none of them; are these ",
                     "the predictions on another test set?"));
  }
  if (missing_count > 0 && !rules.allow_missing) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", missing_count, " of ", questions.ids.size(), " questions of ", benchmark,
        " have no answer, such as ", qa::Shown(*missing), "; with --allow-missing they count 0"));
  }
  const size_t unknown_count = predictions.size() - (questions.ids.size() - missing_count);
  if (unknown_count > 0 && !rules.allow_unknown) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", unknown_count, unknown_count == 1 ? " answer is" : " answers are",
                     " to no question of ", benchmark, ", such as ",
                     qa::Shown(predictions.FirstIdNotIn(questions.known).value_or("")),
                     "; with --allow-unknown such are left out of account"));
  }
  return absl::OkStatus();
}

absl::Status CheckAllAnswers(const std::vector<GivenSystem>& systems, const GivenRules& rules,
                             const spec::LoadedSweep& sweep) {
  spec::ErrorList errors;
  for (uint32_t b = 0; b < sweep.spec.benchmarks.size(); ++b) {  // one test set in memory at a time
    std::optional<Questions> questions;
    for (const GivenSystem& system : systems) {
      const auto file = system.files.find(b);
      if (file == system.files.end()) {
        continue;
      }
      if (!questions) {
        CONCUR_ASSIGN_OR_RETURN(questions, QuestionsOf(sweep.spec.benchmarks[b].test->path));
      }
      const absl::Status status =
          CheckAnswers(file->second, sweep.spec.benchmarks[b].name, *questions, rules);
      if (!status.ok()) {
        errors.Add("", {}, "", status.message());
      }
    }
  }
  return errors.empty() ? absl::OkStatus() : errors.ToStatus();
}

// Links to the system's files under the names that its code has them by.
absl::Status LinkFiles(const GivenSystem& system, const std::vector<BenchmarkSpec>& benchmarks,
                       const std::string& folder, std::vector<std::string>* names) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(folder));
  std::map<std::string, std::string> linked;
  for (const auto& [benchmark, path] : system.files) {
    const std::string name = absl::StrCat(benchmarks[benchmark].test->digest.ToHex(), ".json");
    const auto [other, is_new] = linked.emplace(name, path);
    if (!is_new) {
      CONCUR_ASSIGN_OR_RETURN(const FileDigest here, DigestFile(path));
      CONCUR_ASSIGN_OR_RETURN(const FileDigest there, DigestFile(other->second));
      if (here.digest != there.digest) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": expected the same predictions as in ", other->second,
                         ": the test sets are the same, byte for byte"));
      }
      continue;
    }
    std::error_code error;
    std::filesystem::create_symlink(std::filesystem::absolute(path, error),
                                    absl::StrCat(folder, "/", name), error);
    if (error) {
      return absl::InternalError(absl::StrCat(folder, "/", name, ": link: ", error.message()));
    }
  }
  for (const auto& [name, path] : linked) {
    names->push_back(name);
  }
  return absl::OkStatus();
}

// Before any is read.
absl::Status CheckSizes(const std::vector<GivenSystem>& systems) {
  spec::ErrorList errors;
  for (const GivenSystem& system : systems) {
    uintmax_t bytes = 0;
    for (const auto& [benchmark, path] : system.files) {
      std::error_code error;
      const uintmax_t size = std::filesystem::file_size(path, error);
      bytes += error ? 0 : size;  // reading it will tell
      if (bytes > kCodeBytesMax) {
        errors.Add(path, {}, "",
                   absl::StrCat("expected at most ", kCodeBytesMax >> 20,
                                " MiB of predictions of one system, got more; gzip them"));
        break;
      }
    }
  }
  return errors.empty() ? absl::OkStatus() : errors.ToStatus();
}

ApproachSpec ApproachOf(const GivenSystem& system, const GivenRules& rules) {
  ApproachSpec approach;
  approach.name = system.name;
  approach.tags = rules.tags;
  approach.tags.emplace("submitted", "yes");
  approach.tags.emplace("source", CleanUtf8(system.source, kNameBytesMax));
  approach.predict_command = {"sh",     "-c",     kHandOver,      "hand-over",
                              "{code}", "{test}", "{predictions}"};
  approach.predict_timeout = kHandOverTimeout;
  return approach;
}

}  // namespace

absl::StatusOr<std::vector<GivenSystem>> FindGivenSystems(
    const std::string& path, const std::string& system,
    const std::vector<BenchmarkSpec>& benchmarks) {
  Finder finder(benchmarks);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    if (system.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": expected --system NAME beside a file, or a folder of systems"));
    }
    finder.AddFile(system, path);
  } else if (system.empty()) {
    finder.AddSystems(path);
  } else {
    finder.AddSystemFolder(system, path);
  }
  return finder.Take(path);
}

absl::StatusOr<spec::LoadedSweep> LoadGivenBenchmarks(
    const std::vector<std::string>& files, const std::map<std::string, std::string>& variables) {
  spec::LoadedSweep sweep;
  for (const std::string& file : files) {
    CONCUR_ASSIGN_OR_RETURN(spec::ParsedBenchmark benchmark, spec::LoadBenchmark(file, variables));
    if (!benchmark.test || !IsQa(benchmark.spec.format)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": expected a benchmark with a test set of questions, which predictions answer, ",
          "got one ",
          benchmark.test ? "of format file: its commands write {metrics}" : "without a test set"));
    }
    for (const BenchmarkSpec& other : sweep.spec.benchmarks) {
      if (other.name == benchmark.spec.name) {
        return absl::InvalidArgumentError(absl::StrCat(
            file, ": expected benchmarks of different names, got two named ", other.name));
      }
    }
    benchmark.spec.train.reset();
    const auto index = static_cast<uint32_t>(sweep.spec.benchmarks.size());
    sweep.files.push_back({index, /*is_train=*/false, *std::move(benchmark.test)});
    for (auto& [path, place] : benchmark.places) {
      sweep.places[absl::StrCat("benchmarks[", index, "]", path)] = std::move(place);
    }
    sweep.spec.benchmarks.push_back(std::move(benchmark.spec));
  }
  CONCUR_RETURN_IF_ERROR(spec::ResolveDataFiles(&sweep));
  CONCUR_RETURN_IF_ERROR(CheckDataSets(sweep));
  return sweep;
}

absl::StatusOr<TemporaryDirectory> AddGivenSystems(const std::vector<GivenSystem>& systems,
                                                   const GivenRules& rules,
                                                   spec::LoadedSweep* sweep) {
  CONCUR_RETURN_IF_ERROR(CheckSizes(systems));
  CONCUR_RETURN_IF_ERROR(CheckAllAnswers(systems, rules, *sweep));
  CONCUR_ASSIGN_OR_RETURN(TemporaryDirectory links, TemporaryDirectory::Make("given"));
  for (const GivenSystem& system : systems) {
    const auto index = static_cast<uint32_t>(sweep->spec.approaches.size());
    spec::LoadedSweep::CodeOf code;
    code.approach = index;
    code.use.root = absl::StrCat(links.path(), "/", index);
    CONCUR_RETURN_IF_ERROR(LinkFiles(system, sweep->spec.benchmarks, code.use.root, &code.files));
    ApproachSpec approach = ApproachOf(system, rules);
    CONCUR_ASSIGN_OR_RETURN(approach.code, spec::PackCode(code.use.root, code.files, nullptr));
    for (uint32_t b = 0; b < sweep->spec.benchmarks.size(); ++b) {
      const BenchmarkSpec& benchmark = sweep->spec.benchmarks[b];
      if (benchmark.test && !benchmark.validation_of && !system.files.contains(b)) {
        sweep->spec.exclude.push_back({index, std::nullopt, b});
      }
    }
    sweep->codes.push_back(std::move(code));
    sweep->spec.approaches.push_back(std::move(approach));
  }
  return links;
}

absl::Status CheckAllAreScored(const std::vector<GivenSystem>& systems,
                               const Expansion& expansion) {
  const size_t first = expansion.spec().approaches.size() - systems.size();
  std::set<std::pair<size_t, uint32_t>> scored;
  for (const Block& block : expansion.blocks()) {
    for (const uint32_t test : block.tests) {
      scored.emplace(block.approach, test);
    }
  }
  spec::ErrorList errors;
  for (size_t i = 0; i < systems.size(); ++i) {
    for (const auto& [benchmark, path] : systems[i].files) {
      if (!scored.contains({first + i, benchmark})) {
        errors.Add(path, {}, "",
                   absl::StrCat("expected a benchmark that the sweep evaluates on, got ",
                                expansion.spec().benchmarks[benchmark].name,
                                ", which its evaluate_on or exclude leaves out"));
      }
    }
  }
  return errors.empty() ? absl::OkStatus() : errors.ToStatus();
}

}  // namespace concur::cli
