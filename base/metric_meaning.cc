// SPDX-License-Identifier: Apache-2.0
#include "base/metric_meaning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/decimal.h"
#include "base/status_macros.h"

namespace concur {

absl::string_view GoalName(Goal goal) { return goal == Goal::kMinimize ? "minimize" : "maximize"; }

absl::StatusOr<Goal> GoalFromName(absl::string_view name) {
  for (const Goal goal : {Goal::kMaximize, Goal::kMinimize}) {
    if (GoalName(goal) == name) {
      return goal;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected maximize or minimize, got \"", name, "\""));
}

std::string ScaleText(const Scale& scale) {
  switch (scale.kind) {
    case Scale::Kind::kUnstated:
      return "";
    case Scale::Kind::kPercent:
      return "percent";
    case Scale::Kind::kFraction:
      return "fraction";
    case Scale::Kind::kRange:
      return absl::StrCat(ShortestDecimal(scale.low), "..", ShortestDecimal(scale.high));
    case Scale::Kind::kNone:
      return "none";
  }
  return "";
}

absl::StatusOr<Scale> ScaleFromText(absl::string_view text) {
  for (const Scale::Kind kind :
       {Scale::Kind::kPercent, Scale::Kind::kFraction, Scale::Kind::kNone}) {
    if (const Scale scale{kind, 0, 0}; ScaleText(scale) == text) {
      return scale;
    }
  }
  const size_t dots = text.find("..");
  Scale range{Scale::Kind::kRange, 0, 0};
  if (dots == absl::string_view::npos || !absl::SimpleAtod(text.substr(0, dots), &range.low) ||
      !absl::SimpleAtod(text.substr(dots + 2), &range.high)) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected percent, fraction, none or LOW..HIGH, got \"", text, "\""));
  }
  CONCUR_RETURN_IF_ERROR(CheckScale(range));
  return range;
}

absl::Status CheckScale(const Scale& scale) {
  const bool is_ordered =
      std::isfinite(scale.low) && std::isfinite(scale.high) && scale.low < scale.high;
  return scale.kind != Scale::Kind::kRange || is_ordered
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("expected finite ends, the lower one first, got ", scale.low,
                                " and ", scale.high));
}

bool UsuallyMinimized(absl::string_view name) {
  constexpr std::array<absl::string_view, 17> kWords = {
      "perplexity", "ppl",  "loss", "logloss", "nll", "brier", "wer", "cer", "ter",
      "mse",        "rmse", "mae",  "mape",    "bpb", "bpc",   "ece", "fid"};
  // Only at the end: a benchmark of error detection is none of errors.
  constexpr std::array<absl::string_view, 9> kEnds = {
      "error",    "errors",        "error rate", "cross entropy",     "latency",
      "distance", "bits per byte", "runtime",    "hallucination rate"};
  // Units and statistics that may follow that end.
  constexpr absl::string_view kUnits =
      " percent pct ms msec millisecond milliseconds s sec secs second seconds us µs ns min mins "
      "minute minutes h hour hours m cm mm km px deg degrees avg average mean median p50 p90 p95 "
      "p99 in of per token sample example ";
  std::vector<std::string> parts = absl::StrSplit(
      absl::AsciiStrToLower(name), absl::ByAnyChar(" _-.:/()[]{},%@"), absl::SkipEmpty());
  const auto words = [&parts] { return absl::StrCat(" ", absl::StrJoin(parts, " ")); };
  const auto ends = [&] {
    return std::any_of(kEnds.begin(), kEnds.end(), [&](absl::string_view end) {
      return absl::EndsWith(words(), absl::StrCat(" ", end));
    });
  };
  if (std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return std::find(kWords.begin(), kWords.end(), part) != kWords.end();
      })) {
    return true;
  }
  while (!ends() && parts.size() > 1 &&
         absl::StrContains(kUnits, absl::StrCat(" ", parts.back(), " "))) {
    parts.pop_back();
  }
  return ends();
}

}  // namespace concur
