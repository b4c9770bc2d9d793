// SPDX-License-Identifier: Apache-2.0
#include "analysis/references.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/score_table.h"
#include "base/csv.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

struct NewReference {
  std::string name;
  std::map<size_t, double> scores;  // by benchmark
};

absl::StatusOr<double> ScoreOf(absl::string_view text, absl::string_view place) {
  double score = 0;
  if (!absl::SimpleAtod(text, &score) || !std::isfinite(score)) {
    return absl::InvalidArgumentError(
        absl::StrCat("reference: ", place, ": expected a finite score, got \"", text, "\""));
  }
  return score;
}

// Scores that the benchmarks state in the tag; nothing where none has it.
absl::StatusOr<std::map<size_t, double>> ScoresInTag(const ScoreTable& table,
                                                     const std::string& tag) {
  std::map<size_t, double> scores;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const AxisEntry& benchmark = table.benchmarks()[b];
    if (const auto said = benchmark.tags.find(tag); said != benchmark.tags.end()) {
      CONCUR_ASSIGN_OR_RETURN(
          scores[b], ScoreOf(said->second, absl::StrCat("tag ", tag, " of ", benchmark.name)));
    }
  }
  return scores;
}

// SCORE, or BENCHMARK:SCORE[,…].
absl::StatusOr<std::map<size_t, double>> StatedScores(const ScoreTable& table,
                                                      const std::string& name,
                                                      const std::string& text) {
  std::map<size_t, double> scores;
  double everywhere = 0;
  if (absl::SimpleAtod(text, &everywhere)) {
    CONCUR_ASSIGN_OR_RETURN(everywhere, ScoreOf(text, name));
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      scores[b] = everywhere;
    }
    return scores;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text, "reference"));
  for (const CsvRecord& record : records) {
    for (const std::string& field : record.fields) {
      const size_t colon = field.rfind(':');
      if (colon == std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat(
            "reference: ", name, ": expected SCORE or BENCHMARK:SCORE, got \"", field, "\""));
      }
      const std::string column = field.substr(0, colon);
      CONCUR_ASSIGN_OR_RETURN(
          const size_t benchmark,
          FindEntry(table.benchmarks(), column, "reference: unknown column", "benchmarks"));
      CONCUR_ASSIGN_OR_RETURN(scores[benchmark], ScoreOf(field.substr(colon + 1), column));
    }
  }
  return scores;
}

// The table with rows below its own.
absl::StatusOr<ScoreTable> WithRows(const ScoreTable& table,
                                    const std::vector<NewReference>& references) {
  std::vector<AxisEntry> approaches = table.approaches();
  for (const NewReference& reference : references) {
    AxisEntry& entry = approaches.emplace_back();
    entry.name = reference.name;
    entry.is_reference = true;
  }
  CONCUR_ASSIGN_OR_RETURN(ScoreTable made,
                          ScoreTable::Create(std::move(approaches), table.benchmarks()));
  const size_t before = table.approaches().size();
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    for (size_t row = 0; row < before; ++row) {
      made.cell(row, b) = table.cell(row, b);
    }
    for (size_t i = 0; i < references.size(); ++i) {
      if (const auto score = references[i].scores.find(b); score != references[i].scores.end()) {
        made.cell(before + i, b).state = CellState::kValue;
        made.cell(before + i, b).value = score->second;
      }
    }
  }
  return made;
}

}  // namespace

absl::Status AddReferences(absl::Span<const std::string> texts, ScoreTable& table) {
  if (texts.empty()) {
    return absl::OkStatus();
  }
  std::vector<size_t> rows;
  std::vector<NewReference> added;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    NewReference reference{text.substr(0, equals), {}};
    if (equals != std::string::npos) {
      CONCUR_ASSIGN_OR_RETURN(reference.scores,
                              StatedScores(table, reference.name, text.substr(equals + 1)));
    } else {
      const size_t known = rows.size();
      for (size_t row = 0; row < table.approaches().size(); ++row) {
        if (MatchesPattern(text, table.approaches()[row].name)) {
          rows.push_back(row);
        }
      }
      CONCUR_ASSIGN_OR_RETURN(reference.scores, ScoresInTag(table, text));
      if (rows.size() > known && !reference.scores.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("reference: \"", text,
                         "\" is both an approach and a tag of benchmarks: ", "rename one of them"));
      }
      if (rows.size() > known) {
        continue;
      }
      if (reference.scores.empty()) {
        return FindEntry(table.approaches(), text,
                         "reference: neither an approach nor a tag of benchmarks", "approaches")
            .status();
      }
    }
    added.push_back(std::move(reference));
  }
  CONCUR_ASSIGN_OR_RETURN(ScoreTable made, WithRows(table, added));
  for (const size_t row : rows) {
    made.SetReference(row);
  }
  table = std::move(made);
  return absl::OkStatus();
}

}  // namespace concur::analysis
