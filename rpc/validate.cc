#include "rpc/validate.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/sweep.h"

namespace concur::rpc {
namespace {

constexpr size_t kQuotedBytesMax = 60;

// `text` as it stands in an error message: escaped, and cut when it is long.
std::string Quoted(absl::string_view text) {
  const bool cut = text.size() > kQuotedBytesMax;
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(CleanUtf8(text.substr(0, kQuotedBytesMax))),
                      cut ? "\"…" : "\"");
}

// The length of the UTF-8 sequence at the start of `text`; 0 when there is none. Overlong forms,
// surrogates and what lies beyond U+10FFFF are not UTF-8.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = byte(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

std::string FieldPath::ToString() const {
  std::string text = parent_ == nullptr ? std::string(name_)
                     : name_.empty()    ? parent_->ToString()
                                        : absl::StrCat(parent_->ToString(), ".", name_);
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

absl::Status CheckName(const FieldPath& path, absl::string_view text) {
  if (text.empty()) {
    return FieldError(path, "expected a name, got an empty string");
  }
  return CheckOptionalName(path, text);
}

absl::Status CheckOptionalName(const FieldPath& path, absl::string_view text) {
  if (text.size() > kNameBytesMax) {
    return FieldError(path, absl::StrCat("expected at most ", kNameBytesMax, " bytes, got ",
                                         text.size(), ": ", Quoted(text)));
  }
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      return FieldError(path, absl::StrCat("expected no control characters, got ", Quoted(text)));
    }
  }
  if (!IsUtf8(text)) {
    return FieldError(path, absl::StrCat("expected UTF-8, got ", Quoted(text)));
  }
  return absl::OkStatus();
}

absl::Status CheckText(const FieldPath& path, absl::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return FieldError(path,
                      absl::StrCat("expected at most ", bytes_max, " bytes, got ", text.size()));
  }
  if (absl::StrContains(text, '\0')) {
    return FieldError(path, "expected no NUL character");
  }
  if (!IsUtf8(text)) {
    return FieldError(path, absl::StrCat("expected UTF-8, got ", Quoted(text)));
  }
  return absl::OkStatus();
}

absl::Status CheckSuffix(const FieldPath& path, absl::string_view suffix) {
  if (suffix.empty()) {
    return absl::OkStatus();
  }
  bool ok = suffix[0] == '.' && suffix.size() <= kSuffixBytesMax;
  for (const char c : suffix) {
    ok = ok &&
         (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-');
  }
  if (!ok || suffix == "." || suffix == "..") {
    return FieldError(path, absl::StrCat("expected a suffix such as \".jsonl\" of at most ",
                                         kSuffixBytesMax, " bytes, got ", Quoted(suffix)));
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironmentName(const FieldPath& path, absl::string_view name) {
  bool ok = !name.empty() && name.size() <= kNameBytesMax &&
            !absl::ascii_isdigit(static_cast<unsigned char>(name[0]));
  for (const char c : name) {
    ok = ok && (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_');
  }
  if (!ok) {
    return FieldError(path, absl::StrCat("expected a variable's name of letters, digits and _, "
                                         "got ",
                                         Quoted(name)));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(const FieldPath& path, size_t count, size_t count_max) {
  if (count > count_max) {
    return FieldError(path, absl::StrCat("expected at most ", count_max, ", got ", count));
  }
  return absl::OkStatus();
}

absl::Status CheckRange(const FieldPath& path, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    return FieldError(path, absl::StrCat("expected ", low, " to ", high, ", got ", value));
  }
  return absl::OkStatus();
}

absl::Status CheckIndex(const FieldPath& path, uint64_t index, size_t size, absl::string_view of) {
  if (index >= size) {
    return FieldError(path, absl::StrCat("expected an index into ", of, " (", size,
                                         size == 1 ? " entry" : " entries", "), got ", index));
  }
  return absl::OkStatus();
}

absl::Status CheckFinite(const FieldPath& path, double value) {
  if (!std::isfinite(value)) {
    return FieldError(path, absl::StrCat("expected a finite number, got ", value));
  }
  return absl::OkStatus();
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::string CleanUtf8(absl::string_view text) {
  if (IsUtf8(text)) {
    return std::string(text);
  }
  std::string clean;
  clean.reserve(text.size() + 16);
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      clean += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      clean.append(text.data(), length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

}  // namespace concur::rpc
