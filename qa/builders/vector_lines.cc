// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/vector_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"
#include "qa/json_text.h"

namespace concur::qa {
namespace {

// The line's fields at spaces or tabs.
void SplitFields(absl::string_view line, std::vector<absl::string_view>& fields) {
  fields.clear();
  size_t i = 0;
  while (i < line.size()) {
    const size_t begin = line.find_first_not_of(" \t\r", i);
    if (begin == absl::string_view::npos) {
      return;
    }
    const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    i = end;
  }
}

bool ParseNumber(absl::string_view text, float& value) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  // Numbers too small for a float count as zero.
  if (result.ec == std::errc::result_out_of_range) {
    double wide = 0;
    const auto again = std::from_chars(text.data(), end, wide);
    value = 0;
    return again.ec == std::errc() && again.ptr == end && std::fabs(wide) < 1;
  }
  return result.ec == std::errc() && result.ptr == end && std::isfinite(value);
}

bool IsHeader(const std::vector<absl::string_view>& fields) {
  const auto digits = [](absl::string_view field) {
    return std::all_of(field.begin(), field.end(),
                       [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  };
  return fields.size() == 2 && digits(fields[0]) && digits(fields[1]);
}

}  // namespace

absl::Status VectorLines::Wrong(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ":", number_, ": ", what));
}

absl::StatusOr<bool> VectorLines::Take(absl::string_view line, int64_t number) {
  number_ = number;
  SplitFields(line, fields_);
  if (fields_.empty() || (number == 1 && IsHeader(fields_))) {
    return false;
  }
  if (dimensions_ == 0) {
    dimensions_ = fields_.size() - 1;
    if (dimensions_ == 0 || dimensions_ > kDimensionsMax) {
      return Wrong(absl::StrCat("expected a word and 1 to ", kDimensionsMax, " numbers, got ",
                                dimensions_, " numbers"));
    }
  }
  float ignored = 0;
  if (fields_.size() > dimensions_ + 1 && !ParseNumber(fields_[1], ignored)) {
    ++skipped_;
    return false;
  }
  if (fields_.size() != dimensions_ + 1) {
    return Wrong(absl::StrCat("expected a word and ", dimensions_, " numbers, got ",
                              fields_.size() - 1, " numbers"));
  }
  if (!IsUtf8(fields_[0])) {
    return Wrong("expected a word in UTF-8");
  }
  return true;
}

absl::Status VectorLines::Parse(std::vector<float>& row) const {
  row.resize(dimensions_);
  for (size_t i = 0; i < dimensions_; ++i) {
    if (!ParseNumber(fields_[i + 1], row[i])) {
      return Wrong(absl::StrCat("number ", i + 1, ": expected a finite number, got ",
                                Shown(fields_[i + 1])));
    }
  }
  return absl::OkStatus();
}

}  // namespace concur::qa
