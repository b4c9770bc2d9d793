// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

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

namespace concur {
namespace {

absl::Status At(absl::string_view file, int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

// True when a line ends behind the byte at `at`.
bool EndsLine(absl::string_view text, size_t at) {
  return text[at] == '\n' || (text[at] == '\r' && text.substr(at + 1, 1) != "\n");
}

class Parser {
 public:
  Parser(absl::string_view text, absl::string_view file, char separator, CsvQuotes quotes)
      : text_(text), file_(file), separator_(separator), quotes_(quotes) {}

  absl::StatusOr<std::vector<CsvRecord>> Parse() {
    std::vector<CsvRecord> records;
    while (at_ < text_.size()) {
      CsvRecord record;
      record.line = line_;
      literal_ = quotes_ == CsvQuotes::kLenient && text_[at_] == '#';
      bool more = true;
      bool quoted = false;
      while (more) {
        CONCUR_ASSIGN_OR_RETURN(std::string field, ParseField(quoted));
        record.fields.push_back(std::move(field));
        CONCUR_ASSIGN_OR_RETURN(more, ParseSeparator());
      }
      const bool empty_line = record.fields.size() == 1 && record.fields[0].empty() && !quoted;
      if (!empty_line) {
        records.push_back(std::move(record));
      }
    }
    return records;
  }

 private:
  bool MayHoldQuotes() const {
    return literal_ || (quotes_ == CsvQuotes::kLenient && separator_ == '\t');
  }

  void SkipBlanks(absl::string_view before) {
    const size_t end = text_.find_first_not_of(' ', at_);
    if (quotes_ == CsvQuotes::kLenient && end != text_.npos && !literal_ &&
        absl::StrContains(before, text_[end])) {
      at_ = end;
    }
  }

  absl::StatusOr<std::string> ParseField(bool& quoted) {
    SkipBlanks("\"");
    quoted = at_ < text_.size() && text_[at_] == '"' && !literal_;
    if (!quoted || !MayHoldQuotes()) {
      return quoted ? ParseQuoted() : ParseBare();
    }
    const size_t begin = at_;
    const int64_t line = line_;
    absl::StatusOr<std::string> field = ParseQuoted();
    if (field.ok() && (at_ == text_.size() || absl::StrContains("\t\r\n", text_[at_]))) {
      return field;
    }
    at_ = begin;
    line_ = line;
    quoted = false;
    return ParseBare();
  }

  absl::StatusOr<std::string> ParseBare() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n' &&
           text_[at_] != '\r') {
      if (text_[at_] == '"' && !MayHoldQuotes()) {
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
      line_ += EndsLine(text_, at_) ? 1 : 0;
      field.push_back(text_[at_]);
    }
    return At(file_, opened, "the quote opened here is never closed");
  }

  // Skips the separator after a field; true when the record has another field.
  absl::StatusOr<bool> ParseSeparator() {
    SkipBlanks(absl::StrCat("\r\n", absl::string_view(&separator_, 1)));
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
    if (EndsLine(text_, at_)) {
      ++at_;
      ++line_;
      return false;
    }
    return At(file_, line_,
              absl::StrCat("expected \"", absl::string_view(&separator_, 1),
                           "\" or the end of the line after a closing quote"));
  }

  absl::string_view text_;
  absl::string_view file_;
  char separator_;
  CsvQuotes quotes_;
  bool literal_ = false;  // quotes of this line stand for themselves
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

absl::Status CheckText(absl::string_view text, absl::string_view file) {
  int64_t line = 1;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8CharacterBytes(text.substr(i));
    if (length == 0) {
      return At(file, line,
                absl::StrCat("expected UTF-8, got the byte 0x",
                             absl::Hex(static_cast<unsigned char>(text[i]), absl::kZeroPad2),
                             "; save the file as UTF-8"));
    }
    if (text[i] == '\0') {
      return At(file, line, "expected text, got a NUL byte");
    }
    line += EndsLine(text, i) ? 1 : 0;
    i += length;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CsvRecord>> ParseCsv(absl::string_view text, absl::string_view file,
                                                char separator, CsvQuotes quotes) {
  CONCUR_RETURN_IF_ERROR(CheckText(text, file));
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (absl::StartsWith(text, kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return Parser(text, file, separator, quotes).Parse();
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

}  // namespace concur
