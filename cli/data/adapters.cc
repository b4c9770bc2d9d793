// SPDX-License-Identifier: Apache-2.0
#include "cli/data/adapters.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "core/result.h"
#include "core/sweep/sweep.h"
#include "qa/example_scores.h"
#include "qa/json_text.h"
#include "qa/results/harness_samples.h"
#include "qa/results/results.h"

namespace concur::cli {
namespace {

using PlainJson = nlohmann::json;

// A part of a document, with its place for error messages: "FILE: results/squad".
struct Node {
  const PlainJson* value;
  std::string place;
  bool is_root = true;

  Node Child(absl::string_view name, const PlainJson& child) const {
    return {&child, absl::StrCat(place, is_root ? ": " : "/", name), false};
  }
};

std::string Kind(const PlainJson& value) {
  if (value.is_structured()) {
    return absl::StrCat(value.empty()      ? "an empty "
                        : value.is_array() ? "a "
                                           : "an ",
                        value.is_array() ? "list" : "object");
  }
  return value.is_string() ? qa::Shown(value.get_ref<const std::string&>()) : value.dump();
}

absl::Status Wrong(const Node& node, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(node.place, ": expected ", expected, ", got ", Kind(*node.value)));
}

// Parses `text`; an object in which a name stands twice is an error.
absl::StatusOr<PlainJson> Parse(absl::string_view place, absl::string_view text) {
  std::vector<std::set<std::string>> open;
  std::string repeated;
  const auto watch = [&](int /*depth*/, PlainJson::parse_event_t event, PlainJson& parsed) {
    if (event == PlainJson::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == PlainJson::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == PlainJson::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      repeated = open.back().insert(name).second ? repeated : name;
    }
    return true;
  };
  PlainJson json = PlainJson::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": expected JSON (which has no NaN and no infinity): ", qa::ExplainJsonError(text)));
  }
  if (!repeated.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": expected each name once, got ",
                                                   qa::Shown(repeated), " twice in one object"));
  }
  return json;
}

absl::StatusOr<std::string> TextOf(const Node& node, absl::string_view expected) {
  return node.value->is_string() ? absl::StatusOr<std::string>(node.value->get<std::string>())
                                 : Wrong(node, expected);
}

absl::StatusOr<std::string> IdOf(const Node& node) {
  return node.value->is_number_integer() ? node.value->dump() : TextOf(node, "an id");
}

absl::StatusOr<double> NodeNumber(const Node& node) {
  if (!node.value->is_number()) {
    return Wrong(node, "a number");
  }
  const auto number = node.value->get<double>();
  if (!(std::abs(number) <= kMetricAbsMax)) {
    return Wrong(node, absl::StrCat("a number of at most ", kMetricAbsMax));
  }
  return number;
}

absl::StatusOr<std::vector<std::pair<std::string, Node>>> FieldsOf(const Node& node,
                                                                   absl::string_view expected) {
  if (!node.value->is_object()) {
    return Wrong(node, expected);
  }
  std::vector<std::pair<std::string, Node>> result;
  for (const auto& [name, value] : node.value->items()) {
    result.emplace_back(name, node.Child(name, value));
  }
  if (result.empty()) {
    return Wrong(node, absl::StrCat(expected, ", not empty"));
  }
  return result;
}

// One of `fields`, or null.
const Node* Find(const std::vector<std::pair<std::string, Node>>& fields, absl::string_view name) {
  for (const auto& [field, node] : fields) {
    if (field == name) {
      return &node;
    }
  }
  return nullptr;
}

std::vector<std::string> NamesOf(const std::vector<std::pair<std::string, Node>>& fields) {
  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const auto& [name, node] : fields) {
    names.push_back(name);
  }
  return names;
}

absl::StatusOr<Node> Require(const Node& node, const std::string& name) {
  CONCUR_ASSIGN_OR_RETURN(auto fields, FieldsOf(node, "an object"));
  const Node* found = Find(fields, name);
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.place, ": expected the field ", qa::Shown(name), ", got ",
                     absl::StrJoin(NamesOf(fields), ", "), DidYouMean(name, NamesOf(fields))));
  }
  return *found;
}

// One entry of an n-best list.
struct ScoredAnswer {
  std::string text;
  double score = 0;
};

absl::StatusOr<ScoredAnswer> ReadScored(const Node& node) {
  if (node.value->is_array()) {
    const PlainJson& pair = *node.value;
    if (pair.size() != 2) {
      return Wrong(node, "[answer, score]");
    }
    ScoredAnswer answer;
    CONCUR_ASSIGN_OR_RETURN(answer.text, TextOf(node.Child("0", pair[0]), "an answer"));
    CONCUR_ASSIGN_OR_RETURN(answer.score, NodeNumber(node.Child("1", pair[1])));
    return answer;
  }
  CONCUR_ASSIGN_OR_RETURN(const auto fields,
                          FieldsOf(node, "an object with text and a score, or [answer, score]"));
  ScoredAnswer answer;
  const Node* text = Find(fields, "text");
  if (text == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        node.place, ": expected the field \"text\", got ", absl::StrJoin(NamesOf(fields), ", ")));
  }
  CONCUR_ASSIGN_OR_RETURN(answer.text, TextOf(*text, "an answer"));
  for (const char* name : {"probability", "score"}) {
    if (const Node* score = Find(fields, name)) {
      CONCUR_ASSIGN_OR_RETURN(answer.score, NodeNumber(*score));
      return answer;
    }
  }
  const Node* start = Find(fields, "start_logit");
  const Node* end = Find(fields, "end_logit");
  if (start == nullptr || end == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.place,
                     ": expected the field \"probability\" or \"score\", or \"start_logit\" and "
                     "\"end_logit\", got ",
                     absl::StrJoin(NamesOf(fields), ", ")));
  }
  CONCUR_ASSIGN_OR_RETURN(const double start_logit, NodeNumber(*start));
  CONCUR_ASSIGN_OR_RETURN(const double end_logit, NodeNumber(*end));
  answer.score = start_logit + end_logit;
  return answer;
}

// Adds {"id": …, "prediction_text": …}.
absl::Status AddAnswer(const Node& node, AnswersById& answers) {
  CONCUR_ASSIGN_OR_RETURN(const Node id, Require(node, "id"));
  CONCUR_ASSIGN_OR_RETURN(const Node text, Require(node, "prediction_text"));
  CONCUR_ASSIGN_OR_RETURN(std::string answer, TextOf(text, "an answer"));
  CONCUR_ASSIGN_OR_RETURN(const std::string name, IdOf(id));
  if (!answers.emplace(name, std::move(answer)).second) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.place, ": expected each id once, got ", qa::Shown(name), " again"));
  }
  return absl::OkStatus();
}

absl::StatusOr<AnswersById> AnswersOfList(const Node& root) {
  AnswersById answers;
  size_t index = 0;
  for (const PlainJson& entry : *root.value) {
    CONCUR_RETURN_IF_ERROR(AddAnswer(root.Child(absl::StrCat(index++), entry), answers));
  }
  return answers;
}

bool IsAnswer(const PlainJson& json) {
  return json.is_object() && json.contains("prediction_text");
}

// True if the first line that is not empty is an answer.
bool BeginsWithAnswer(absl::string_view text) {
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(text);
  const absl::StatusOr<PlainJson> first = Parse("", rest.substr(0, rest.find('\n')));
  return first.ok() && IsAnswer(*first);
}

// Answers one a line.
absl::StatusOr<AnswersById> AnswersOfLines(const AdapterInput& input) {
  AnswersById answers;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(input.text, '\n')) {
    const std::string place = absl::StrCat(input.path, ":", ++number);
    if (absl::StripAsciiWhitespace(line).empty()) {
      continue;
    }
    CONCUR_ASSIGN_OR_RETURN(const PlainJson json, Parse(place, line));
    CONCUR_RETURN_IF_ERROR(AddAnswer({&json, place}, answers));
  }
  return answers;
}

absl::Status AddMetric(const Node& node, absl::string_view name, MetricsByName* metrics) {
  const absl::Status valid = ValidateName(name);
  if (!valid.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(node.place, ": ", valid.message()));
  }
  CONCUR_ASSIGN_OR_RETURN(const double number, NodeNumber(node));
  if (!metrics->emplace(std::string(name), number).second) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.place, ": expected each metric once, got ", qa::Shown(name), " again"));
  }
  if (metrics->size() > kMetricsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(node.place, ": expected at most ", kMetricsMax, " metrics"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AnswersById> AdaptPredictions(const AdapterInput& input) {
  const std::string place = input.path;
  const absl::StatusOr<PlainJson> parsed = Parse(place, input.text);
  if (parsed.ok() ? IsAnswer(*parsed) : BeginsWithAnswer(input.text)) {
    return AnswersOfLines(input);
  }
  CONCUR_RETURN_IF_ERROR(parsed.status());
  const PlainJson& json = *parsed;
  const Node root{&json, place};
  if (json.is_array() && !json.empty()) {
    return AnswersOfList(root);
  }
  if (json.is_object() && json.contains("predictions") && json["predictions"].is_array()) {
    return AnswersOfList(root.Child("predictions", json["predictions"]));
  }
  CONCUR_ASSIGN_OR_RETURN(
      const auto fields,
      FieldsOf(root,
               "an object {\"id\": \"answer\"}, or {\"id\", \"prediction_text\"} in a list, in "
               "{\"predictions\": […]} or one a line"));
  AnswersById answers;
  for (const auto& [id, node] : fields) {
    CONCUR_ASSIGN_OR_RETURN(
        answers[id],
        TextOf(node, node.value->is_array() ? "an answer (a list of answers is for the form nbest)"
                                            : "an answer"));
  }
  return answers;
}

absl::StatusOr<AnswersById> AdaptNbest(const AdapterInput& input) {
  const std::string place = input.path;
  CONCUR_ASSIGN_OR_RETURN(const PlainJson json, Parse(place, input.text));
  const Node root{&json, place};
  CONCUR_ASSIGN_OR_RETURN(const auto fields, FieldsOf(root, "an object {\"id\": [answers]}"));
  AnswersById answers;
  for (const auto& [id, node] : fields) {
    if (!node.value->is_array() || node.value->empty()) {
      return Wrong(node, "a list of at least one answer");
    }
    std::optional<ScoredAnswer> best;
    size_t index = 0;
    for (const PlainJson& entry : *node.value) {
      CONCUR_ASSIGN_OR_RETURN(ScoredAnswer answer,
                              ReadScored(node.Child(absl::StrCat(index++), entry)));
      if (!best || answer.score > best->score) {
        best = std::move(answer);
      }
    }
    answers[id] = std::move(best->text);
  }
  return answers;
}

absl::StatusOr<AnswersById> AdaptLines(const AdapterInput& input,
                                       const std::vector<std::string>& ids,
                                       const std::string& id_field,
                                       const std::string& answer_field) {
  AnswersById answers;
  size_t number = 0;
  size_t lines = 0;
  std::optional<bool> has_ids;
  for (const absl::string_view line : absl::StrSplit(input.text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) {
      continue;
    }
    const std::string place = absl::StrCat(input.path, ":", number);
    CONCUR_ASSIGN_OR_RETURN(const PlainJson json, Parse(place, line));
    const Node root{&json, place};
    CONCUR_ASSIGN_OR_RETURN(const Node answer, Require(root, answer_field));
    CONCUR_ASSIGN_OR_RETURN(std::string text, TextOf(answer, "an answer"));
    CONCUR_ASSIGN_OR_RETURN(const auto fields, FieldsOf(root, "an object"));
    const Node* id_node = Find(fields, id_field);
    if (has_ids.value_or(id_node != nullptr) != (id_node != nullptr)) {
      return absl::InvalidArgumentError(absl::StrCat(root.place, ": expected ", qa::Shown(id_field),
                                                     " in every line or in none"));
    }
    has_ids = id_node != nullptr;
    std::string id;
    if (id_node != nullptr) {
      CONCUR_ASSIGN_OR_RETURN(id, IdOf(*id_node));
    } else if (lines < ids.size()) {
      id = ids[lines];
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(root.place, ": expected ", ids.size(),
                       " lines, one for each question of --data, got more; lines have no field ",
                       qa::Shown(id_field)));
    }
    ++lines;
    if (!answers.emplace(id, std::move(text)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(root.place, ": expected each question once, got ", qa::Shown(id), " again"));
    }
  }
  if (lines == 0) {
    return absl::InvalidArgumentError(absl::StrCat(input.path, ": expected at least one line"));
  }
  if (!*has_ids && lines != ids.size()) {
    return absl::InvalidArgumentError(absl::StrCat(input.path, ": expected ", ids.size(),
                                                   " lines, one for each question of --data, got ",
                                                   lines));
  }
  return answers;
}

absl::StatusOr<MetricsByName> AdaptMetrics(const AdapterInput& input,
                                           const MetricsSelection& selection) {
  const std::string place = input.path;
  CONCUR_ASSIGN_OR_RETURN(const PlainJson json, Parse(place, input.text));
  Node node{&json, place};
  if (!selection.at.empty()) {
    for (const absl::string_view part : absl::StrSplit(selection.at, '/')) {
      CONCUR_ASSIGN_OR_RETURN(node, Require(node, std::string(part)));
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const auto fields, FieldsOf(node, "an object of numbers"));
  MetricsByName metrics;
  const auto add = [&](absl::string_view name, const Node& value) {
    const bool stripped = !selection.strip.empty() && absl::StartsWith(name, selection.strip) &&
                          name.size() > selection.strip.size();
    return AddMetric(value, stripped ? name.substr(selection.strip.size()) : name, &metrics);
  };
  if (!selection.only.empty()) {
    for (const std::string& name : selection.only) {
      CONCUR_ASSIGN_OR_RETURN(const Node value, Require(node, name));
      CONCUR_RETURN_IF_ERROR(add(name, value));
    }
    return metrics;
  }
  for (const auto& [name, value] : fields) {
    if (!value.value->is_number()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Wrong(value, "a number").message(), "; --only NAME says which to take"));
    }
    CONCUR_RETURN_IF_ERROR(add(name, value));
  }
  return metrics;
}

namespace {

// The metrics of one task. Returns their filter, "" in older versions.
absl::StatusOr<std::string> AddHarnessTask(const Node& task, const std::string& filter,
                                           MetricsByName* metrics) {
  CONCUR_ASSIGN_OR_RETURN(const auto fields, FieldsOf(task, "an object of metrics"));
  const size_t before = metrics->size();
  std::set<std::string> filters;
  for (const auto& [key, value] : fields) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(key, absl::MaxSplits(',', 1));
    const auto& [name, of_filter] = parts;
    if (value.value->is_string()) {
      continue;  // aliases, and "N/A" for a standard error
    }
    filters.insert(of_filter);
    if (!filter.empty() && of_filter != filter) {
      continue;
    }
    if (filters.size() > 1 && filter.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(task.place, ": expected one filter, got ",
                                                     absl::StrJoin(filters, " and "),
                                                     "; --filter NAME says which to take"));
    }
    CONCUR_RETURN_IF_ERROR(AddMetric(value, name, metrics));
  }
  if (metrics->size() == before) {
    return absl::InvalidArgumentError(absl::StrCat(
        task.place, ": expected a metric", filter.empty() ? "" : " of the filter ", filter,
        ", got none", filters.empty() ? "" : "; there is ", absl::StrJoin(filters, ", ")));
  }
  return filter.empty() ? *filters.begin() : filter;
}

// The task that is asked for, with its name.
absl::StatusOr<std::pair<std::string, Node>> ChosenTask(const Node& results,
                                                        const std::string& name) {
  CONCUR_ASSIGN_OR_RETURN(const auto tasks, FieldsOf(results, "an object of tasks"));
  if (name.empty() && tasks.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        results.place, ": expected one task, got ", absl::StrJoin(NamesOf(tasks), ", "),
        "; --task NAME says which to take, `concur adapt results` takes all as parts"));
  }
  const std::string& chosen = name.empty() ? tasks.front().first : name;
  CONCUR_ASSIGN_OR_RETURN(const Node task, Require(results, chosen));
  return std::pair(chosen, task);
}

// The metric that is asked for among those of `task`: its name and value.
absl::StatusOr<std::pair<std::string, double>> ChosenMetric(const Node& task,
                                                            const std::string& name,
                                                            MetricsByName metrics) {
  std::erase_if(metrics,
                [](const auto& metric) { return absl::EndsWith(metric.first, "_stderr"); });
  std::vector<std::string> names;
  for (const auto& [metric, value] : metrics) {
    names.push_back(metric);
  }
  const auto found = name.empty() && names.size() == 1 ? metrics.begin() : metrics.find(name);
  if (found == metrics.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(task.place, ": expected ", name.empty() ? "one metric" : "the metric ", name,
                     ", got ", absl::StrJoin(names, ", "),
                     name.empty() ? "; --metric NAME says whose per-example scores to take"
                                  : DidYouMean(name, names)));
  }
  return std::pair(found->first, found->second);
}

}  // namespace

absl::StatusOr<MetricsByName> AdaptHarness(const AdapterInput& input,
                                           const HarnessSelection& selection) {
  const std::string place = input.path;
  CONCUR_ASSIGN_OR_RETURN(const PlainJson json, Parse(place, input.text));
  const Node root{&json, place};
  CONCUR_ASSIGN_OR_RETURN(const Node results, Require(root, "results"));
  MetricsByName metrics;
  CONCUR_ASSIGN_OR_RETURN(const auto chosen, ChosenTask(results, selection.task));
  CONCUR_RETURN_IF_ERROR(AddHarnessTask(chosen.second, selection.filter, &metrics).status());
  return metrics;
}

absl::StatusOr<std::string> AdaptHarnessSamples(const AdapterInput& input,
                                                const HarnessSelection& selection,
                                                const std::string& samples) {
  const std::string place = input.path;
  CONCUR_ASSIGN_OR_RETURN(const PlainJson json, Parse(place, input.text));
  const Node root{&json, place};
  CONCUR_ASSIGN_OR_RETURN(const Node results, Require(root, "results"));
  CONCUR_ASSIGN_OR_RETURN(const auto task, ChosenTask(results, selection.task));
  MetricsByName metrics;
  CONCUR_ASSIGN_OR_RETURN(const std::string filter,
                          AddHarnessTask(task.second, selection.filter, &metrics));
  CONCUR_ASSIGN_OR_RETURN(const auto metric,
                          ChosenMetric(task.second, selection.metric, std::move(metrics)));
  const std::string path =
      samples.empty() ? imports::FindHarnessSamples(input.path, task.first) : samples;
  if (path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        input.path, ": expected samples_", task.first,
        "_TIME.jsonl beside results_TIME.json, as lm_eval --log_samples writes them, found none; "
        "--samples FILE says where they are"));
  }
  imports::Run run;
  run.metrics.emplace_back();
  run.metrics[0].name =
      filter.empty() || filter == "none" ? metric.first : absl::StrCat(metric.first, ",", filter);
  run.metrics[0].value = metric.second;
  std::vector<imports::Skipped> skipped;
  CONCUR_RETURN_IF_ERROR(imports::ReadHarnessSamples(path, run, skipped));
  if (!skipped.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected per-example scores whose mean is ", run.metrics[0].name,
                     " (", metric.second, "), got ", skipped[0].reason));
  }
  return qa::ValueJsonLines(run.examples,
                            UsuallyMinimized(metric.first) ? Goal::kMinimize : Goal::kMaximize);
}

}  // namespace concur::cli
