#include "analysis/csv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace concur::analysis {
namespace {

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7), or 0.
size_t Utf8SequenceLength(absl::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(at);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return continues(at + 1, 0x80, 0xBF) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return continues(at + 1, low, high) && continues(at + 2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return continues(at + 1, low, high) && continues(at + 2, 0x80, 0xBF) &&
                   continues(at + 3, 0x80, 0xBF)
               ? 4
               : 0;
  }
  return 0;
}

absl::Status At(absl::string_view file, int64_t line, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

absl::Status CheckText(absl::string_view text, absl::string_view file) {
  int64_t line = 1;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8SequenceLength(text, i);
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
  Parser(absl::string_view text, absl::string_view file) : text_(text), file_(file) {}

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
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') {
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

  // Steps over what follows a field; true when another field of the record comes.
  absl::StatusOr<bool> ParseSeparator(bool quoted) {
    if (at_ == text_.size()) {
      return false;
    }
    if (text_[at_] == ',') {
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
      return At(file_, line_, "expected a comma or the end of the line after a closing quote");
    }
    return At(file_, line_, "a carriage return without a line feed");
  }

  absl::string_view text_;
  absl::string_view file_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

absl::StatusOr<std::vector<CsvRecord>> ParseCsv(absl::string_view text, absl::string_view file) {
  CONCUR_RETURN_IF_ERROR(CheckText(text, file));
  constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (absl::StartsWith(text, kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return Parser(text, file).Parse();
}

std::string CsvField(absl::string_view field) {
  const bool blank_ends = !field.empty() && (field.front() == ' ' || field.front() == '\t' ||
                                             field.back() == ' ' || field.back() == '\t');
  if (field.find_first_of(",\"\r\n") == absl::string_view::npos && !blank_ends) {
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

std::string ShortestDecimal(double value) {
  if (!std::isfinite(value)) {
    return "";
  }
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

}  // namespace concur::analysis
