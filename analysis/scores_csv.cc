// The scores CSV of score_table.h.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/csv.h"
#include "analysis/score_table.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::analysis {
namespace {

enum class ValueKind { kEmpty, kNumber, kNotFinite, kText };

bool IsDecimal(absl::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at]))) {
      ++at;
    }
    return at - begin;
  };
  const auto skip = [&](absl::string_view any_of) {
    const bool there = at < text.size() && absl::StrContains(any_of, text[at]);
    at += there ? 1 : 0;
    return there;
  };
  skip("+-");
  size_t mantissa = digits();
  if (skip(".")) {
    mantissa += digits();
  }
  if (mantissa == 0) {
    return false;
  }
  if (skip("eE")) {
    skip("+-");
    if (digits() == 0) {
      return false;
    }
  }
  return at == text.size();
}

// Kind of a stripped field; `value` is set for numbers.
ValueKind Classify(absl::string_view text, double& value) {
  if (text.empty()) {
    return ValueKind::kEmpty;
  }
  if (IsDecimal(text)) {
    return absl::SimpleAtod(text, &value) && std::isfinite(value) ? ValueKind::kNumber
                                                                  : ValueKind::kNotFinite;
  }
  std::string name = absl::AsciiStrToLower(text);
  if (name[0] == '+' || name[0] == '-') {
    name.erase(0, 1);
  }
  return name == "nan" || name == "inf" || name == "infinity" ? ValueKind::kNotFinite
                                                              : ValueKind::kText;
}

struct Column {
  std::string name;
  bool is_tag = false;
  std::vector<ValueKind> kinds;
  std::vector<double> values;
};

class Reader {
 public:
  Reader(absl::string_view file, std::vector<CsvRecord> records)
      : file_(file), records_(std::move(records)) {}

  absl::StatusOr<ParsedScores> Read(absl::Span<const std::string> tag_columns) {
    CONCUR_RETURN_IF_ERROR(ReadHeader());
    CONCUR_RETURN_IF_ERROR(ReadNames());
    CONCUR_RETURN_IF_ERROR(ForceTags(tag_columns));
    for (size_t i = 1; i < columns_.size(); ++i) {
      CONCUR_RETURN_IF_ERROR(ReadColumn(i));
    }
    return Build();
  }

 private:
  absl::Status At(int64_t line, absl::string_view column, absl::string_view what) const {
    return absl::InvalidArgumentError(Where(line, column, what));
  }
  std::string Where(int64_t line, absl::string_view column, absl::string_view what) const {
    return absl::StrCat(file_, ":", line, ": column \"", column, "\": ", what);
  }

  absl::Status ReadHeader() {
    if (records_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file_, ":1: expected a header line (approach, then tags and benchmarks), got nothing"));
    }
    absl::flat_hash_map<std::string, size_t> seen;
    const CsvRecord& header = records_[0];
    for (size_t i = 0; i < header.fields.size(); ++i) {
      Column column;
      column.name = std::string(absl::StripAsciiWhitespace(header.fields[i]));
      if (column.name.empty() && i > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(file_, ":", header.line, ": column ", i + 1, " has no name"));
      }
      if (!seen.emplace(column.name, i).second) {
        return At(header.line, column.name, "the name comes twice in the header");
      }
      columns_.push_back(std::move(column));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNames() {
    absl::flat_hash_map<std::string, int64_t> seen;
    for (size_t r = 1; r < records_.size(); ++r) {
      const CsvRecord& record = records_[r];
      if (record.fields.size() != columns_.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(file_, ":", record.line, ": expected ", columns_.size(),
                         " fields as in the header, got ", record.fields.size()));
      }
      const std::string name(absl::StripAsciiWhitespace(record.fields[0]));
      if (name.empty()) {
        return At(record.line, columns_[0].name, "expected the name of an approach, got nothing");
      }
      const auto [first, inserted] = seen.emplace(name, record.line);
      if (!inserted) {
        return At(record.line, columns_[0].name,
                  absl::StrCat("approach \"", name, "\" is already on line ", first->second));
      }
      approaches_.push_back({name, {}});
    }
    return absl::OkStatus();
  }

  absl::Status ForceTags(absl::Span<const std::string> tag_columns) {
    for (const std::string& name : tag_columns) {
      const auto found = std::find_if(columns_.begin() + 1, columns_.end(),
                                      [&](const Column& column) { return column.name == name; });
      if (found == columns_.end()) {
        std::vector<std::string> known;
        for (size_t i = 1; i < columns_.size(); ++i) {
          known.push_back(columns_[i].name);
        }
        return At(
            records_[0].line, name,
            absl::StrCat("asked for as a tag, but not in the header", DidYouMean(name, known)));
      }
      found->is_tag = true;
    }
    return absl::OkStatus();
  }

  absl::string_view Field(size_t record, size_t column) const {
    return absl::StripAsciiWhitespace(records_[record].fields[column]);
  }

  // Decides whether the column is a tag or a benchmark, and reads it.
  absl::Status ReadColumn(size_t index) {
    Column& column = columns_[index];
    size_t text_at = 0;
    size_t not_finite_at = 0;
    size_t numbers = 0;
    for (size_t r = 1; r < records_.size(); ++r) {
      double value = 0;
      const ValueKind kind = Classify(Field(r, index), value);
      column.kinds.push_back(kind);
      column.values.push_back(value);
      numbers += kind == ValueKind::kNumber ? 1 : 0;
      if (kind == ValueKind::kText && text_at == 0) {
        text_at = r;
      }
      if (kind == ValueKind::kNotFinite && not_finite_at == 0) {
        not_finite_at = r;
      }
    }
    if (column.is_tag) {
      return absl::OkStatus();
    }
    if (text_at != 0) {
      column.is_tag = true;
      if (numbers > 0) {
        warnings_.push_back(Where(
            records_[text_at].line, column.name,
            absl::StrCat("read as a tag, not as a benchmark, because of \"", Field(text_at, index),
                         "\"; ", numbers, " of its values are numbers")));
      }
      return absl::OkStatus();
    }
    if (not_finite_at != 0) {
      return At(records_[not_finite_at].line, column.name,
                absl::StrCat("expected a finite number, or nothing for a missing score, got \"",
                             Field(not_finite_at, index), "\""));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ParsedScores> Build() {
    std::vector<AxisEntry> benchmarks;
    for (size_t i = 1; i < columns_.size(); ++i) {
      if (!columns_[i].is_tag) {
        benchmarks.push_back({columns_[i].name, {}});
        continue;
      }
      for (size_t r = 1; r < records_.size(); ++r) {
        approaches_[r - 1].tags[columns_[i].name] = std::string(Field(r, i));
      }
    }
    ParsedScores parsed;
    CONCUR_ASSIGN_OR_RETURN(parsed.table,
                            ScoreTable::Create(std::move(approaches_), std::move(benchmarks)));
    size_t benchmark = 0;
    for (size_t i = 1; i < columns_.size(); ++i) {
      if (columns_[i].is_tag) {
        continue;
      }
      for (size_t row = 0; row < columns_[i].kinds.size(); ++row) {
        if (columns_[i].kinds[row] == ValueKind::kNumber) {
          ScoreCell& cell = parsed.table.cell(row, benchmark);
          cell.state = CellState::kValue;
          cell.value = columns_[i].values[row];
        }
      }
      ++benchmark;
    }
    parsed.warnings = std::move(warnings_);
    return parsed;
  }

  absl::string_view file_;
  std::vector<CsvRecord> records_;
  std::vector<Column> columns_;
  std::vector<AxisEntry> approaches_;
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<ParsedScores> ParseScoresCsv(absl::string_view text, absl::string_view file,
                                            absl::Span<const std::string> tag_columns) {
  CONCUR_ASSIGN_OR_RETURN(std::vector<CsvRecord> records, ParseCsv(text, file));
  return Reader(file, std::move(records)).Read(tag_columns);
}

}  // namespace concur::analysis
