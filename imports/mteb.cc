// SPDX-License-Identifier: Apache-2.0
// Results of MTEB: results/MODEL/REVISION/TASK.json. Model and revision are the names of the
// folders. Known are the layouts with "scores" (mteb 1.11 and later: split → list of subsets) and
// without (before: split → values, or split → subset → values).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "imports/json.h"
#include "imports/reader.h"
#include "imports/results.h"

namespace concur::imports {
namespace {

bool IsLanguage(const std::string& name, const ReadOptions& options) {
  for (const std::string& wanted : options.languages) {
    if (name == wanted || absl::StartsWith(name, wanted + "-")) {
      return true;
    }
  }
  return false;
}

// Whether a subset counts: any where no language is asked for; else one all of whose languages are,
// or start so ("eng" of "eng-Latn"), as in MTEB's own English benchmark: a pair of languages is no
// English subset. A subset without languages counts.
bool WantedSubset(const MaybeJson& subset, const ReadOptions& options) {
  const auto languages = List(Field(subset, "languages"));
  if (options.languages.empty() || !languages.has_value()) {
    return true;
  }
  for (const JsonValue language : *languages) {
    if (!IsLanguage(Text(language), options)) {
      return false;
    }
  }
  return true;
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

struct SplitScore {
  double sum = 0;
  int64_t subsets = 0;
  int64_t other_languages = 0;
  int64_t without_score = 0;

  void Take(const MaybeJson& subset, const ReadOptions& options) {
    if (!WantedSubset(subset, options)) {
      ++other_languages;
    } else if (const auto score = MainScore(subset); score && std::isfinite(*score)) {
      sum += *score;
      ++subsets;
    } else {
      ++without_score;
    }
  }
};

SplitScore ScoreOfSplit(const MaybeJson& split, const ReadOptions& options) {
  SplitScore score;
  if (const auto list = List(split)) {
    for (const JsonValue subset : *list) {
      score.Take(subset, options);
    }
  } else if (MainScore(split).has_value()) {
    score.Take(split, options);
  } else if (const auto subsets = Object(split)) {
    for (const auto field : *subsets) {
      if (field.value.is_object()) {
        score.Take(field.value, options);
      }
    }
  }
  return score;
}

// The splits of either layout, with the one to use.
struct ChosenSplit {
  std::string name;
  MaybeJson value;
};

std::optional<ChosenSplit> ChooseSplit(const MaybeJson& splits) {
  for (const char* name :
       {"test", "validation", "dev", "devtest", "dev2", "val", "standard", "train"}) {
    if (const MaybeJson found = Field(splits, name);
        found.has_value() && (found->is_array() || found->is_object())) {
      return ChosenSplit{name, found};
    }
  }
  // Some data sets have splits of their own: the first one that looks like scores.
  if (const auto object = Object(splits)) {
    for (const auto field : *object) {
      if (field.value.is_array() || MainScore(field.value).has_value()) {
        return ChosenSplit{std::string(field.key), field.value};
      }
    }
  }
  return std::nullopt;
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
  const std::optional<ChosenSplit> split = ChooseSplit(scores.has_value() ? scores : root);
  if (!split.has_value()) {
    results.skipped.push_back(
        {"no split with scores in a known layout (mteb 1.11 and later, and before)", path});
    return results;
  }
  const SplitScore score = ScoreOfSplit(split->value, options);
  if (score.subsets == 0) {
    results.skipped.push_back({score.other_languages > 0 ? "no subset in the languages asked for"
                                                         : "no main score that is a number",
                               path});
    return results;
  }
  const std::filesystem::path file(path);
  run.revision = file.parent_path().filename().string();
  run.model = file.parent_path().parent_path().filename().string();
  if (run.model.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected results/MODEL/REVISION/TASK.json, got a path without these folders"));
  }
  AddTag(run.model_tags, "family", FamilyInName(run.model));
  run.split = split->name;
  run.data_revision = Text(Field(root, "dataset_revision"));
  run.tool = absl::StrCat("mteb ", Text(Field(root, "mteb_version")));
  run.seconds = Number(Field(root, "evaluation_time"));
  run.co2_kg = Number(Field(root, "kg_co2_emissions"));
  Metric metric;
  metric.name = "main_score";
  metric.value = score.sum / static_cast<double>(score.subsets);
  run.metrics.push_back(std::move(metric));
  results.runs.push_back(std::move(run));
  return results;
}

}  // namespace

Format MtebFormat() {
  return {"mteb", "results/MODEL/REVISION/TASK.json of MTEB",
          [](absl::string_view name) {
            return absl::EndsWith(name, ".json") && name != "model_meta.json";
          },
          ReadMteb};
}

}  // namespace concur::imports
