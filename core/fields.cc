// SPDX-License-Identifier: Apache-2.0
#include "core/fields.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur {

std::string FieldPath::ToString() const {
  std::string text = parent_ == nullptr ? "" : parent_->ToString();
  if (!name_.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : ".", name_);
  }
  if (index_ >= 0) {
    absl::StrAppend(&text, "[", index_, "]");
  } else if (has_key_) {
    absl::StrAppend(&text, "[", Quoted(key_), "]");
  }
  return text;
}

absl::Status FieldError(const FieldPath& path, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(path.ToString(), ": ", message));
}

absl::Status AtField(const FieldPath& path, const absl::Status& status) {
  return status.ok()
             ? status
             : absl::Status(status.code(), absl::StrCat(path.ToString(), ": ", status.message()));
}

absl::Status CheckText(const FieldPath& path, absl::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return FieldError(path,
                      absl::StrCat("expected at most ", bytes_max, " bytes, got ", text.size()));
  }
  if (absl::StrContains(text, '\0')) {
    return FieldError(path, "expected text without NUL bytes");
  }
  if (!IsUtf8(text)) {
    return FieldError(path, absl::StrCat("expected UTF-8, got ", Quoted(text)));
  }
  return absl::OkStatus();
}

absl::Status CheckLine(const FieldPath& path, absl::string_view text, size_t bytes_max) {
  CONCUR_RETURN_IF_ERROR(CheckText(path, text, bytes_max));
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return FieldError(
          path, absl::StrCat("expected one line without control characters, got ", Quoted(text)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckName(const FieldPath& path, absl::string_view text) {
  return text.empty() ? FieldError(path, "expected a name, got \"\"") : CheckLine(path, text);
}

absl::Status CheckCount(const FieldPath& path, size_t count, size_t count_max) {
  return count <= count_max
             ? absl::OkStatus()
             : FieldError(path, absl::StrCat("expected at most ", count_max, ", got ", count));
}

absl::Status CheckRange(const FieldPath& path, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) {
    return absl::OkStatus();
  }
  return FieldError(path, high == std::numeric_limits<int64_t>::max()
                              ? absl::StrCat("expected ", low, " or more, got ", value)
                              : absl::StrCat("expected ", low, " to ", high, ", got ", value));
}

absl::Status CheckFinite(const FieldPath& path, double value) {
  return std::isfinite(value)
             ? absl::OkStatus()
             : FieldError(path, absl::StrCat("expected a finite number, got ", value));
}

absl::Status CheckSpan(const FieldPath& path, absl::Duration span, absl::Duration low,
                       absl::Duration high) {
  if (span < low) {
    return FieldError(path, absl::StrCat("expected at least ", absl::FormatDuration(low), ", got ",
                                         absl::FormatDuration(span)));
  }
  if (span > high) {
    return FieldError(path, absl::StrCat("expected at most ", absl::FormatDuration(high), ", got ",
                                         absl::FormatDuration(span)));
  }
  return absl::OkStatus();
}

absl::Status CheckTimeLimit(const FieldPath& path, absl::Duration span, absl::Duration low) {
  return CheckSpan(path, span, low,
                   span == absl::InfiniteDuration() ? absl::InfiniteDuration() : kSpanMax);
}

absl::Status CheckIndex(const FieldPath& path, uint64_t index, size_t size) {
  return index < size
             ? absl::OkStatus()
             : FieldError(path, absl::StrCat("expected an index below ", size, ", got ", index));
}

}  // namespace concur
