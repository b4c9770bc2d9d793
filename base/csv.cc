// SPDX-License-Identifier: Apache-2.0
#include "analysis/csv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur::analysis {
namespace {

absl::Status At(absl::string_view file, int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

absl::Status CheckText(absl::string_view text, absl::string_view file) {
  int64_t line = 1;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8CharacterBytes(text.substr(i));
    if (length == 0) {
      return At(file, line,
                absl::StrCat("expected UTF-8, got the byte 0x",
                             absl::Hex(static_cast<unsigned char>(text[i]), absl::kZeroPad2)));
    }
    if (text[i] == '\0') {
      return At(file, line, "expected text, got a NUL byte");
    }
    line += text[i] == '\n' ? 1 : 0;
    i += length;
  }
  return absl::OkStatus();
}

class Parser {
 public:
  Parser(absl::string_view text, absl::string_view file, char separator)
      : text_(text), file_(file), separator_(separator) {}

  absl::StatusOr<std::vector<CsvRecord>> Parse() {
    std::vector<CsvRecord> records;
    while (at_ < text_.size()) {
      CsvRecord record;
      record.line = line_;
      bool more = true;
      bool quoted = false;
      while (more) {
        CONCUR_ASSIGN_OR_RETURN(std::string field, ParseField(quoted));
        record.fields.push_back(std::move(field));
        CONCUR_ASSIGN_OR_RETURN(more, ParseSeparator(quoted));
      }
      const bool empty_line = record.fields.size() == 1 && record.fields[0].empty() && !quoted;
      if (!empty_line) {
        records.push_back(std::move(record));
      }
    }
    return records;
  }

 private:
  absl::StatusOr<std::string> ParseField(bool& quoted) {
    quoted = at_ < text_.size() && text_[at_] == '"';
    return quoted ? ParseQuoted() : ParseBare();
  }

  absl::StatusOr<std::string> ParseBare() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' &&
           text_[at_] != '\r') {
      if (text_[at_] == '"') {
        return At(file_, line_,
                  "a quote inside an unquoted field; quote the whole field and double the quote");
      }
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  absl::StatusOr<std::string> ParseQuoted() {
    const int64_t opened = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
          ++at_;
        } else {
          ++at_;
          return field;
        }
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      field.push_back(text_[at_]);
    }
    return At(file_, opened, "the quote opened here is never closed");
  }

  // Skips the separator after a field; true when the record has another field.
  absl::StatusOr<bool> ParseSeparator(bool quoted) {
    if (at_ == text_.size()) {
      return false;
    }
    if (text_[at_] == separator_) {
      ++at_;
      return true;
    }
    if (absl::StartsWith(text_.substr(at_), "\r\n")) {
      ++at_;
    }
    if (text_[at_] == '\n') {
      ++at_;
      ++line_;
      return false;
    }
    if (quoted) {
      return At(file_, line_,
                absl::StrCat("expected \"", absl::string_view(&separator_, 1),
                             "\" or the end of the line after a closing quote"));
    }
    return At(file_, line_, "a carriage return without a line feed");
  }

  absl::string_view text_;
  absl::string_view file_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

absl::StatusOr<std::vector<CsvRecord>> ParseCsv(absl::string_view text, absl::string_view file,
                                                char separator) {
  CONCUR_RETURN_IF_ERROR(CheckText(text, file));
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (absl::StartsWith(text, kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return Parser(text, file, separator).Parse();
}

std::string CsvField(absl::string_view field) {
  const bool blank_ends = !field.empty() && (field.front() == ' ' || field.front() == '\t' ||
                                             field.back() == ' ' || field.back() == '\t');
  // Not find_first_of, which makes a table of 256 characters each time.
  const bool has_marks = std::any_of(field.begin(), field.end(), [](char c) {
    return c == ',' || c == '"' || c == '\r' || c == '\n';
  });
  if (!has_marks && !blank_ends) {
    return std::string(field);
  }
  std::string quoted = "\"";
  for (const char c : field) {
    quoted.push_back(c);
    if (c == '"') {
      quoted.push_back(c);
    }
  }
  quoted.push_back('"');
  return quoted;
}

std::string CsvText(absl::string_view text) {
  double number = 0;
  const bool formula =
      !text.empty() && absl::StrContains("=+-@", text[0]) && !absl::SimpleAtod(text, &number);
  return CsvField(formula ? absl::StrCat("'", text) : std::string(text));
}

absl::string_view WithoutApostrophe(absl::string_view field) {
  const bool formula = field.size() > 1 && field[0] == '\'' && absl::StrContains("=+-@", field[1]);
  return formula ? field.substr(1) : field;
}

}  // namespace concur::analysis
