// SPDX-License-Identifier: Apache-2.0
// Results of MTEB: results/MODEL/REVISION/TASK.json, results/MODEL/TASK.json as releases before
// 1.12 wrote, and experiments/NAME/TASK.json in either folder. Model and revision are the names of
// the folders, or those in model_meta.json. Known are the layouts with "scores" (mteb 1.11 and
// later: split → list of subsets) and without (before: split → values, or split → subset →
// values).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/table/words.h"
#include "qa/results/json.h"
#include "qa/results/languages.h"
#include "qa/results/reader.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/variants.h"

namespace concur::imports {
namespace {

bool IsLanguage(const std::string& name, const ReadOptions& options) {
  return std::any_of(options.languages.begin(), options.languages.end(),
                     [&](const std::string& wanted) {
                       return name == wanted || absl::StartsWith(name, wanted + "-");
                     });
}

// True if a language without its script is asked for: "eng" by "eng-Latn", too.
bool AsksFor(const std::string& code, const ReadOptions& options) {
  return std::any_of(
      options.languages.begin(), options.languages.end(),
      [&](const std::string& wanted) { return wanted.substr(0, wanted.find('-')) == code; });
}

// True if a subset counts: any where no language is asked for; else one all of whose languages are,
// or start so ("eng" of "eng-Latn"), as in MTEB's own English benchmark: a pair of languages is no
// English subset. Layouts without the field name the languages in the subset's name; a subset
// without any counts.
bool WantedSubset(const std::string& name, const MaybeJson& subset, const ReadOptions& options) {
  if (options.languages.empty()) {
    return true;
  }
  if (const auto languages = List(Field(subset, "languages"))) {
    return std::all_of(languages->begin(), languages->end(), [&](const JsonValue& language) {
      return IsLanguage(Text(language), options);
    });
  }
  const auto languages = LanguagesInName(name);
  return std::all_of(languages.begin(), languages.end(), [&](const auto& codes) {
    return std::any_of(codes.begin(), codes.end(),
                       [&](const std::string& code) { return AsksFor(code, options); });
  });
}

// The main score of the values of one subset. Before "main_score" there were the metrics of each
// type of task, of which this is the leaderboard's order.
std::optional<double> MainScore(const MaybeJson& values) {
  if (const auto main = Field(values, "main_score")) {
    return Number(main);
  }
  for (const char* name : {"ndcg_at_10", "v_measure", "map", "accuracy", "f1"}) {
    if (const std::optional<double> number = Number(Field(values, name))) {
      return number;
    }
  }
  if (const auto number = Number(Field(Field(values, "cos_sim"), "spearman"))) {
    return number;
  }
  return Number(Field(Field(values, "cos_sim"), "ap"));
}

constexpr size_t kSplitsMax = 100;
constexpr size_t kSubsetsMax = 10'000;
constexpr char kOnlySubset[] = "default";  // MTEB's name for data that has no subsets

// The scores of one split, by subset.
struct SplitScores {
  std::map<std::string, double> subsets;
  int64_t other_languages = 0;
  int64_t without_score = 0;

  void Take(const std::string& name, const MaybeJson& subset, const ReadOptions& options) {
    if (!WantedSubset(name, subset, options)) {
      ++other_languages;
    } else if (const auto score = MainScore(subset); score && std::isfinite(*score)) {
      subsets.emplace(name, *score);
    } else {
      ++without_score;
    }
  }
};

SplitScores ScoresOf(const JsonValue& split, const ReadOptions& options) {
  SplitScores scores;
  if (const auto list = List(split)) {
    for (const JsonValue subset : *list) {
      const std::string name = Text(Field(subset, "hf_subset"));
      scores.Take(name.empty() ? kOnlySubset : name, subset, options);
    }
  } else if (MainScore(split).has_value()) {
    scores.Take(kOnlySubset, split, options);
  } else if (const auto subsets = Object(split)) {
    for (const auto field : *subsets) {
      if (field.value.is_object()) {
        scores.Take(std::string(field.key), field.value, options);
      }
    }
  }
  return scores;
}

// True if a field is a split: by its name, or because it looks like scores, as some data sets have
// splits of their own.
bool IsSplit(absl::string_view name, const JsonValue& value) {
  if (HasWord("|test|validation|dev|devtest|dev2|val|standard|train|", name)) {
    return value.is_array() || value.is_object();
  }
  return value.is_array() || MainScore(value).has_value();
}

// Adds a run for each split.
absl::Status TakeSplits(const simdjson::dom::object& splits, const Run& common,
                        const ReadOptions& options, FileResults& results) {
  size_t found = 0;
  for (const auto field : splits) {
    const std::string name(field.key);
    if (!IsSplit(name, field.value)) {
      continue;
    }
    SplitScores scores = ScoresOf(field.value, options);
    const std::string place = absl::StrCat(results.path, ": ", name);
    if (++found > kSplitsMax || scores.subsets.size() > kSubsetsMax) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": expected at most ", kSplitsMax,
                                                     " splits of ", kSubsetsMax, " subsets"));
    }
    if (scores.without_score > 0) {
      results.skipped.push_back({"no main score that is a number", place});
    }
    if (scores.other_languages > 0) {
      results.skipped.push_back({scores.subsets.empty()
                                     ? "no subset in the languages asked for"
                                     : "subsets in other languages than those asked for",
                                 place});
    }
    if (scores.subsets.empty()) {
      continue;
    }
    Run run = common;
    run.split = name;
    run.place = name;
    double sum = 0;
    for (const auto& [subset, score] : scores.subsets) {
      sum += score;
    }
    Metric metric;
    metric.name = "main_score";
    metric.value = sum / static_cast<double>(scores.subsets.size());
    run.metrics.push_back(std::move(metric));
    run.subsets = std::move(scores.subsets);
    results.runs.push_back(std::move(run));
  }
  if (found == 0) {
    results.skipped.push_back(
        {"no split with scores in a known layout (mteb 1.11 and later, and before)", results.path});
  }
  return absl::OkStatus();
}

// The model of a file.
struct Evaluated {
  std::string model;
  std::string revision;    // "": unknown
  std::string experiment;  // "": none
};

// True if a folder can be a revision by its name: a hash, a number, or a word for one.
bool IsRevision(absl::string_view name) {
  constexpr size_t kHashMin = 7;
  const auto all_of = [](absl::string_view text, absl::string_view more) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c)) || absl::StrContains(more, c);
    });
  };
  const absl::string_view number = absl::StripPrefix(name, "v");
  return HasWord("|external|latest|main|master|", name) || absl::StartsWith(name, "no_revision") ||
         (name.size() >= kHashMin && all_of(name, "abcdef")) ||
         (!number.empty() && all_of(number, "._-"));
}

// A model of an organisation, as MTEB writes it: ORG__MODEL.
bool IsModel(absl::string_view name) { return absl::StrContains(name, "__"); }

// By the names of the folders, else by model_meta.json; nothing when neither tells a model from a
// revision. Sets no experiment.
absl::StatusOr<std::optional<Evaluated>> EvaluatedIn(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  const std::string above = folder.parent_path().filename().string();
  if (!above.empty() && !IsModel(name) && (IsModel(above) || IsRevision(name))) {
    return Evaluated{above, name, ""};
  }
  if (IsModel(name) ? !IsModel(above) : above == "results") {
    return Evaluated{name, "", ""};
  }
  std::error_code ignored;
  const std::filesystem::path meta = folder / "model_meta.json";
  if (std::filesystem::is_regular_file(meta, ignored)) {
    JsonDocument document;
    CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(meta.string()));
    if (const std::string model = Text(Field(root, "name")); !model.empty()) {
      return Evaluated{absl::StrReplaceAll(model, {{"/", "__"}}), Text(Field(root, "revision")),
                       ""};
    }
  }
  return std::nullopt;
}

absl::StatusOr<Evaluated> EvaluatedOf(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::absolute(path, ignored).lexically_normal().parent_path();
  if (folder.parent_path().filename() == "experiments") {
    CONCUR_ASSIGN_OR_RETURN(std::optional<Evaluated> found,
                            EvaluatedIn(folder.parent_path().parent_path()));
    if (found.has_value()) {
      found->experiment = folder.filename().string();
      return *std::move(found);
    }
  }
  CONCUR_ASSIGN_OR_RETURN(std::optional<Evaluated> found, EvaluatedIn(folder));
  if (found.has_value()) {
    return *std::move(found);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": expected results/MODEL/REVISION/TASK.json or results/MODEL/TASK.json; the names \"",
      folder.parent_path().filename().string(), "\" and \"", folder.filename().string(),
      "\" do not tell model from revision: call the model's folder ORG__MODEL, or put a "
      "model_meta.json with \"name\" and \"revision\" beside the file"));
}

absl::StatusOr<FileResults> ReadMteb(const std::string& path, const ReadOptions& options,
                                     JsonDocument& document) {
  FileResults results;
  results.path = path;
  CONCUR_ASSIGN_OR_RETURN(const JsonValue root, document.Read(path));
  results.digest = document.digest();
  Run run;
  run.task = Text(Field(root, "task_name"));
  if (run.task.empty()) {
    run.task = Text(Field(root, "mteb_dataset_name"));
  }
  if (run.task.empty()) {
    return WrongField(path, "task_name",
                      "the name of a task (mteb 1.11 and later; "
                      "\"mteb_dataset_name\" before)",
                      Field(root, "task_name"));
  }
  const MaybeJson scores = Field(root, "scores");
  if (scores.has_value() && !scores->is_object()) {
    return WrongField(path, "scores", "an object of splits (mteb 1.11 and later; absent before)",
                      scores);
  }
  CONCUR_ASSIGN_OR_RETURN(const Evaluated evaluated, EvaluatedOf(path));
  run.model = evaluated.model;
  run.revision = evaluated.revision;
  AddSetting(run.model_settings, "", kExperimentSetting, evaluated.experiment);
  AddTag(run.model_tags, "family", FamilyInName(run.model));
  run.data_revision = Text(Field(root, "dataset_revision"));
  if (run.data_revision == "None") {
    run.data_revision.clear();  // scores that models' authors published
  }
  AddSetting(run.task_settings, "", "dataset_revision", run.data_revision);
  AddSetting(run.task_settings, "", "mteb_version", Text(Field(root, "mteb_version")));
  run.tool = absl::StrCat("mteb ", Text(Field(root, "mteb_version")));
  run.seconds = Number(Field(root, "evaluation_time"));
  run.co2_kg = Number(Field(root, "kg_co2_emissions"));
  CONCUR_RETURN_IF_ERROR(
      TakeSplits(*Object(scores.has_value() ? scores : root), run, options, results));
  return results;
}

}  // namespace

Format MtebFormat() {
  return {"mteb", "results/MODEL/REVISION/TASK.json or results/MODEL/TASK.json of MTEB",
          [](absl::string_view name) {
            return absl::EndsWith(name, ".json") && name != "model_meta.json";
          },
          ReadMteb};
}

}  // namespace concur::imports
