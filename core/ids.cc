// SPDX-License-Identifier: Apache-2.0
#include "core/ids.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/status_macros.h"

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

std::string JobId::ToString() const {
  return absl::StrCat(sweep.ToString(), "/", ServedJob().index, IsService() ? " service" : "",
                      ServicePlace() > 0 ? absl::StrCat(" ", ServicePlace()) : "");
}

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

absl::Status CheckAttemptId(const FieldPath& path, const AttemptId& id) {
  const uint64_t sweep = id.job.sweep.number;
  if (sweep == 0 || sweep > kSweepNumberMax) {
    return FieldError(path.Field("sweep"),
                      absl::StrCat("expected 1 to ", kSweepNumberMax, ", got ", sweep));
  }
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("job"), id.job.ServedJob().index, 0, int64_t{kJobsMax} - 1));
  return CheckRange(path.Field("attempt"), id.attempt.number, 1);
}

}  // namespace concur
