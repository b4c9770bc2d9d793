// SPDX-License-Identifier: Apache-2.0
#include "qa/example_scores.h"

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
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

absl::StatusOr<ExampleScore> ParseLine(absl::string_view line, simdjson::dom::parser& parser) {
  simdjson::dom::object object;
  const simdjson::error_code code = parser.parse(line.data(), line.size()).get(object);
  if (code != simdjson::SUCCESS) {
    return Wrong(absl::StrCat("expected {\"id\": …, \"exact_match\": …, \"f1\": …}, got ",
                              Shown(line), " (", simdjson::error_message(code), ")"));
  }
  ExampleScore score;
  std::string_view id;
  if (object["id"].get(id) != simdjson::SUCCESS) {
    return Wrong("id: expected a string");
  }
  score.id = std::string(id);
  double exact_match = 0;
  if (object["exact_match"].get(exact_match) != simdjson::SUCCESS ||
      (exact_match != 0 && exact_match != 1)) {
    return Wrong(absl::StrCat("exact_match of ", Shown(score.id), ": expected 0 or 1"));
  }
  score.exact_match = exact_match == 1;
  if (object["f1"].get(score.f1) != simdjson::SUCCESS || !(score.f1 >= 0 && score.f1 <= 1)) {
    return Wrong(absl::StrCat("f1 of ", Shown(score.id), ": expected a number from 0 to 1"));
  }
  CONCUR_RETURN_IF_ERROR(ReadPlace(object, "passage", score.id, score.passage));
  CONCUR_RETURN_IF_ERROR(ReadPlace(object, "document", score.id, score.document));
  return score;
}

}  // namespace

absl::StatusOr<std::vector<ExampleScore>> ParseExampleScores(absl::string_view text,
                                                             absl::string_view file) {
  std::vector<ExampleScore> examples;
  absl::flat_hash_map<std::string, int64_t> lines;
  simdjson::dom::parser parser;
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == absl::string_view::npos) {
      continue;
    }
    absl::StatusOr<ExampleScore> example = ParseLine(line, parser);
    if (!example.ok()) {
      return Wrong(absl::StrCat(file, ":", number, ": ", example.status().message()));
    }
    const auto [first, inserted] = lines.emplace(example->id, number);
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

double ExactMatchPercent(const std::vector<ExampleScore>& examples) {
  CONCUR_CHECK(!examples.empty());
  int64_t matches = 0;
  for (const ExampleScore& example : examples) {
    matches += example.exact_match ? 1 : 0;
  }
  return 100.0 * static_cast<double>(matches) / static_cast<double>(examples.size());
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
