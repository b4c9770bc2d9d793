#include "core/ids.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace concur {
namespace {

// Decimal digits without sign, blanks or leading zeros, so that every id has one spelling.
template <typename Number>
bool ParseNumber(absl::string_view text, Number* number) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) {
    return false;
  }
  for (char c : text) {
    if (c < '0' || c > '9') {
      return false;
    }
  }
  return absl::SimpleAtoi(text, number);
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kShownBytesMax = 80;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kShownBytesMax)), "\"");
}

}  // namespace

std::string SweepId::ToString() const { return absl::StrCat("s", number); }

absl::StatusOr<SweepId> SweepId::Parse(absl::string_view text) {
  SweepId id;
  absl::string_view digits = text;
  if (!absl::ConsumePrefix(&digits, "s") || !ParseNumber(digits, &id.number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a sweep id such as \"s12\", got ", Quoted(text)));
  }
  return id;
}

std::string JobId::ToString() const { return absl::StrCat(sweep.ToString(), "/", index); }

absl::StatusOr<JobId> JobId::Parse(absl::string_view text) {
  JobId id;
  const size_t slash = text.find('/');
  if (slash != absl::string_view::npos) {
    const absl::StatusOr<SweepId> sweep = SweepId::Parse(text.substr(0, slash));
    if (sweep.ok() && ParseNumber(text.substr(slash + 1), &id.index)) {
      id.sweep = *sweep;
      return id;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected a job id such as \"s12/345\", got ", Quoted(text)));
}

std::string AttemptId::ToString() const {
  return absl::StrCat(job.ToString(), " attempt ", attempt.number);
}

}  // namespace concur
