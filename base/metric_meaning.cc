// SPDX-License-Identifier: Apache-2.0
#include "base/metric_meaning.h"

#include <algorithm>
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
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
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

namespace {

using Words = std::vector<std::string>;

// "ErrorRate" and "error_rate" have the same words.
Words WordsOfMetric(absl::string_view name) {
  std::string words;
  for (const char c : name) {
    if (absl::ascii_isupper(static_cast<unsigned char>(c)) && !words.empty() &&
        absl::ascii_islower(static_cast<unsigned char>(words.back()))) {
      words += ' ';
    }
    words += c;
  }
  return absl::StrSplit(absl::AsciiStrToLower(words), absl::ByAnyChar(" _-.:/()[]{},%@"),
                        absl::SkipEmpty());
}

bool HasAny(const Words& parts, absl::string_view list) {
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return absl::StrContains(list, absl::StrCat(" ", part, " "));
  });
}

// `ends` stand between "|".
bool EndsWithAny(const Words& parts, absl::string_view ends) {
  const std::string words = absl::StrCat(" ", absl::StrJoin(parts, " "));
  const std::vector<absl::string_view> list = absl::StrSplit(ends, '|');
  return std::any_of(list.begin(), list.end(), [&](absl::string_view end) {
    return absl::EndsWith(words, absl::StrCat(" ", end));
  });
}

// A word that names a loss wherever it stands.
bool IsLoss(absl::string_view word) {
  constexpr absl::string_view kWords =
      " perplexity ppl loss logloss nll brier wer cer ter eer fpr fpr95 fnr bpb bpc ece fid kid "
      "lpips mpjpe mase rmsle msle xent crps wql dcf epe fvd niqe brisque mcd rtf ";
  return absl::StrContains(kWords, absl::StrCat(" ", word, " ")) || absl::EndsWith(word, "mse") ||
         absl::EndsWith(word, "mae") || absl::EndsWith(word, "mape");
}

// A loss with its sign or sense turned round: "neg_log_loss", "-loss", "1 - WER", "1/perplexity",
// "WER reduction".
bool IsReversed(absl::string_view name, const Words& parts) {
  constexpr absl::string_view kReversing =
      " neg negative negated minus inverse inverted reciprocal reduction reductions improvement "
      "improvements decrease gain ";
  if (HasAny(parts, kReversing)) {
    return true;
  }
  const std::string text = absl::StrReplaceAll(name, {{"−", "-"}, {"–", "-"}});
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  if (const size_t open = rest.rfind('('); open != rest.npos && open + 1 < rest.size() &&
                                           (rest[open + 1] == '1' || rest[open + 1] == '-')) {
    rest.remove_prefix(open + 1);
  }
  const bool has_one = absl::ConsumePrefix(&rest, "100") || absl::ConsumePrefix(&rest, "1");
  absl::ConsumePrefix(&rest, "%");
  const bool has_blank = absl::ConsumePrefix(&rest, " ");
  if (!absl::ConsumePrefix(&rest, "-") && !(has_one && absl::ConsumePrefix(&rest, "/"))) {
    return false;
  }
  // "1-step loss" is none.
  const Words after = WordsOfMetric(rest);
  return !after.empty() && (!has_one || has_blank || after.size() == 1 || IsLoss(after[0]));
}

}  // namespace

bool UsuallyMinimized(absl::string_view name) {
  // Only at the end: a benchmark of error detection is none of errors.
  constexpr absl::string_view kEnds =
      "error|errors|error rate|err|err rate|abs rel|cross entropy|latency|bits per byte|bits byte|"
      "bits per character|bits character|bits per char|bits char|runtime|distance|divergence|"
      "mistakes|mistake rate|invalid|invalid rate|invalid output rate|invalid outputs|"
      "hallucination rate|hallucinations|failure rate|failures|violation rate|violations|miss rate|"
      "der|false positive rate|toxicity|toxicity probability|toxicity rate|toxicity score|"
      "toxic fraction|toxic frac";
  // Though they have a word that turns others round.
  constexpr absl::string_view kNegative =
      "negative log likelihood|false negative rate|neg log likelihood";
  // Units and statistics that may follow that end.
  constexpr absl::string_view kUnits =
      " percent pct ms msec millisecond milliseconds s sec secs second seconds us µs ns min mins "
      "minute minutes h hour hours m cm mm km px deg degrees avg average mean median p50 p90 p95 "
      "p99 in of per token tokens sample example char chars character characters word words pixel "
      "pixels bin bins year years nats bits ";
  Words parts = WordsOfMetric(name);
  if (EndsWithAny(parts, kNegative)) {
    return true;
  }
  if (IsReversed(name, parts)) {
    return false;
  }
  if (std::any_of(parts.begin(), parts.end(), IsLoss)) {
    return true;
  }
  const auto is_number = [](const std::string& part) {
    return part.find_first_not_of("0123456789") == part.npos;
  };
  while (!EndsWithAny(parts, kEnds) && parts.size() > 1 &&
         (is_number(parts.back()) ||
          absl::StrContains(kUnits, absl::StrCat(" ", parts.back(), " ")))) {
    parts.pop_back();
  }
  return EndsWithAny(parts, kEnds) ||
         (parts.size() == 1 && (parts[0] == "per" || parts[0] == "ce"));
}

bool HasUnclearGoal(absl::string_view name) {
  constexpr absl::string_view kUnclear =
      " refusal refusals rejection rejections abstention abstentions compliance bias biases "
      "stereotype stereotypes stereotyping attack asr jailbreak jailbreaks sycophancy harm harmful "
      "harmfulness unsafe hallucination deception toxicity toxic toxi toxigen verbosity "
      "memorization leakage contamination degradation regret gap ";
  constexpr absl::string_view kClear =
      " accuracy acc f1 auc auroc em match classification detection precision recall ";
  const Words parts = WordsOfMetric(name);
  return HasAny(parts, kUnclear) && !HasAny(parts, kClear) && !UsuallyMinimized(name);
}

}  // namespace concur
