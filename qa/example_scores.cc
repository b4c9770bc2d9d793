// SPDX-License-Identifier: Apache-2.0
#include "qa/example_scores.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/decimal.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "qa/json_text.h"

namespace concur::qa {
namespace {

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

// Sets `place` where the line has the key.
absl::Status ReadPlace(const simdjson::dom::object& object, const char* key, const std::string& id,
                       int64_t& place) {
  constexpr int64_t kPlaceMax = int64_t{1} << 31;
  const auto field = object[key];
  if (field.error() == simdjson::NO_SUCH_FIELD) {
    return absl::OkStatus();
  }
  if (field.get(place) != simdjson::SUCCESS || place < 0 || place > kPlaceMax) {
    return Wrong(absl::StrCat(key, " of ", Shown(id), ": expected a whole number from 0 to 2^31"));
  }
  return absl::OkStatus();
}

// The unit of the last digit that a number is written with: .01 of 81.25. At most that of the
// second digit: a score of .9 is not rounded so far.
double LastDigitOf(double number) {
  const std::string text = ShortestDecimal(number);
  const size_t exponent = text.find('e');
  const size_t point = text.find('.');
  int power = 0;
  if (exponent != std::string::npos && !absl::SimpleAtoi(text.substr(exponent + 1), &power)) {
    power = 0;
  }
  if (point != std::string::npos) {
    power -= static_cast<int>(std::min(exponent, text.size()) - point) - 1;
  }
  const double second =
      number == 0 ? 0 : std::pow(10, std::floor(std::log10(std::abs(number))) - 1);
  return std::min(std::pow(10, power), second);
}

// The numbers of a line beside its places, as "exact_match, f1"; true and false are numbers too.
std::string NumbersOf(const simdjson::dom::object& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object) {
    if ((value.is_number() || value.is_bool()) && key != "passage" && key != "document") {
      names.emplace_back(key);
    }
  }
  return absl::StrJoin(names, ", ");
}

std::optional<double> NumberIn(const simdjson::dom::object& object, absl::string_view name) {
  const auto field = object[std::string_view(name.data(), name.size())];
  double number = 0;
  bool is_true = false;
  if (field.get(is_true) == simdjson::SUCCESS) {
    return is_true ? 1 : 0;
  }
  return field.get(number) == simdjson::SUCCESS && std::isfinite(number) ? std::optional(number)
                                                                         : std::nullopt;
}

// Sets `name`, if it is empty, to the first of `names` that the line has.
absl::StatusOr<ExampleScore> ParseLine(absl::string_view line, absl::Span<const std::string> names,
                                       std::string& name, simdjson::dom::parser& parser) {
  simdjson::dom::object object;
  const simdjson::error_code code = parser.parse(line.data(), line.size()).get(object);
  if (code != simdjson::SUCCESS) {
    return Wrong(absl::StrCat("expected {\"id\": …, \"METRIC\": …}, got ", Shown(line)));
  }
  ExampleScore score;
  std::string_view id;
  if (object["id"].get(id) != simdjson::SUCCESS) {
    return Wrong("id: expected a string");
  }
  score.id = std::string(id);
  const bool has_exact_match = object["exact_match"].error() != simdjson::NO_SUCH_FIELD;
  const std::optional<double> exact_match = NumberIn(object, "exact_match");
  if (has_exact_match && exact_match != 0 && exact_match != 1) {
    return Wrong(absl::StrCat("exact_match of ", Shown(score.id), ": expected 0 or 1"));
  }
  score.exact_match = exact_match == 1;
  const bool has_f1 = object["f1"].error() != simdjson::NO_SUCH_FIELD;
  score.f1 = NumberIn(object, "f1").value_or(has_f1 ? -1 : 0);
  if (!(score.f1 >= 0 && score.f1 <= 1)) {
    return Wrong(absl::StrCat("f1 of ", Shown(score.id), ": expected a number from 0 to 1"));
  }
  for (size_t i = 0; name.empty() && i < names.size(); ++i) {
    if (object[names[i]].error() != simdjson::NO_SUCH_FIELD) {
      name = names[i];
    }
  }
  const std::string numbers = NumbersOf(object);
  if (numbers.empty()) {
    return Wrong(absl::StrCat("expected a number named by the metric for ", Shown(score.id)));
  }
  if (name.empty() && !names.empty()) {
    return absl::NotFoundError(
        absl::StrCat("per-example scores have ", numbers, ", not ", names[0]));
  }
  if (!name.empty()) {
    const std::optional<double> value = NumberIn(object, name);
    if (!value.has_value()) {
      return Wrong(absl::StrCat(name, " of ", Shown(score.id), ": expected a number"));
    }
    score.value = *value;
  }
  if (const auto part = object["part"]; part.error() != simdjson::NO_SUCH_FIELD) {
    std::string_view text;
    if (part.get(text) != simdjson::SUCCESS || text.empty() || text.size() > kPartBytesMax) {
      return Wrong(absl::StrCat("part of ", Shown(score.id), ": expected a name of 1 to ",
                                kPartBytesMax, " bytes"));
    }
    score.part = std::string(text);
  }
  CONCUR_RETURN_IF_ERROR(ReadPlace(object, "passage", score.id, score.passage));
  CONCUR_RETURN_IF_ERROR(ReadPlace(object, "document", score.id, score.document));
  return score;
}

}  // namespace

absl::StatusOr<std::vector<ExampleScore>> ParseExampleScores(absl::string_view text,
                                                             absl::string_view file,
                                                             absl::Span<const std::string> names) {
  std::string name;  // the value's
  std::vector<ExampleScore> examples;
  absl::flat_hash_map<std::string, int64_t> lines;
  simdjson::dom::parser parser;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) {
      continue;
    }
    absl::StatusOr<ExampleScore> example = ParseLine(line, names, name, parser);
    if (absl::IsNotFound(example.status())) {
      return example.status();
    }
    if (!example.ok()) {
      return Wrong(absl::StrCat(file, ":", number, ": ", example.status().message()));
    }
    const auto [first, inserted] = lines.emplace(
        example->part.empty() ? example->id : absl::StrCat(example->part, "\n", example->id),
        number);
    if (!inserted) {
      return Wrong(absl::StrCat(file, ":", number, ": the example ", Shown(example->id),
                                " is already on line ", first->second));
    }
    examples.push_back(*std::move(example));
  }
  if (examples.empty()) {
    return Wrong(absl::StrCat(file, ": expected one example a line, got none"));
  }
  return examples;
}

absl::StatusOr<double> UnitOfMean(const std::vector<ExampleScore>& examples,
                                  absl::string_view metric, double reported) {
  CONCUR_CHECK(!examples.empty());
  double sum = 0;
  for (const ExampleScore& example : examples) {
    sum += example.value;
  }
  const double mean = sum / static_cast<double>(examples.size());
  const double slack = .5001 * LastDigitOf(reported) + 1e-6 * std::abs(reported);
  for (const double unit : {1.0, 100.0}) {
    if (std::abs(unit * mean - reported) <= slack) {
      return unit;
    }
  }
  return Wrong(absl::StrFormat("the mean of its per-example scores, %.9g, is not its %s, %.9g",
                               mean, metric, reported));
}

std::string ValueJsonLines(const std::vector<ExampleScore>& examples, Goal goal) {
  ScoreReport report;
  report.examples = examples;
  std::string lines;
  bool are_shares = goal == Goal::kMaximize;
  for (ExampleScore& example : report.examples) {
    example.f1 = example.value;
    example.exact_match = example.value == 1;
    are_shares = are_shares && example.value >= 0 && example.value <= 1;
    lines.append("{\"id\": ");
    AppendJsonString(example.id, lines);
    lines.append(", \"score\": ");
    AppendShortestDecimal(example.value, &lines);
    lines.append("}\n");
  }
  return are_shares ? PerExampleJsonLines(report) : lines;
}

double ExactMatchPercent(const std::vector<ExampleScore>& examples) {
  CONCUR_CHECK(!examples.empty());
  int64_t matches = 0;
  for (const ExampleScore& example : examples) {
    matches += example.exact_match ? 1 : 0;
  }
  return 100.0 * static_cast<double>(matches) / static_cast<double>(examples.size());
}

std::map<std::string, std::vector<ExampleScore>> ByPart(std::vector<ExampleScore> examples) {
  std::map<std::string, std::vector<ExampleScore>> by_part;
  for (ExampleScore& example : examples) {
    const std::string part = std::exchange(example.part, "");
    by_part[part].push_back(std::move(example));
  }
  return by_part;
}

double F1Percent(const std::vector<ExampleScore>& examples) {
  CONCUR_CHECK(!examples.empty());
  double sum = 0;
  for (const ExampleScore& example : examples) {
    sum += example.f1;
  }
  return 100.0 * sum / static_cast<double>(examples.size());
}

}  // namespace concur::qa
