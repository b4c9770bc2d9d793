// SPDX-License-Identifier: Apache-2.0
#include "qa/results/column_names.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "base/table/words.h"

namespace concur::imports {
namespace {

// Vocabularies: words or whole names, each between "|".
constexpr absl::string_view kAggregates =
    "|average|avg|ave|mean|overall|total|sum|aggregate|aggregated|composite|borda|median|";
constexpr absl::string_view kAggregateWords =
    "|score|scores|acc|accuracy|em|f1|rank|ranking|macro|micro|weighted|unweighted|geometric|"
    "arithmetic|harmonic|global|all|final|pts|points|pct|percent|result|results|performance|win|"
    "winrate|rate|run|runs|seed|seeds|of|over|across|task|tasks|dataset|datasets|benchmark|"
    "benchmarks|column|columns|";
constexpr absl::string_view kUncertainties =
    "|stderr|std|stdev|stddev|variance|std err|std error|std dev|standard error|standard err|"
    "standard dev|standard deviation|confidence interval|error bar|error bars|margin of error|±|";
// Alone, with a level ("95% CI"), or beside the column that they belong to.
constexpr absl::string_view kShortUncertainties = "|se|sd|sem|ci|moe|var|lower|upper|lb|ub|err|";
constexpr absl::string_view kLevels = "|ci|low|lower|high|upper|bound|lb|ub|none|plus|minus|";
constexpr absl::string_view kProperties =
    "|params|param|parameters|parameter|size|sizes|layer|layers|year|released|release|vocab|"
    "vocabulary|token|tokens|flops|gflops|tflops|macs|gmacs|cost|costs|price|time|times|duration|"
    "seconds|minutes|hours|memory|vram|ram|energy|emissions|co2|co₂|ttft|tpot|count|counts|sample|"
    "samples|example|examples|item|items|question|questions|instance|instances|win|wins|loss count|"
    "losses|tie|ties|errors|mistakes|failures|refusals|support|rank|ranking|position|pos|place|"
    "placement|"
    "standing|likes|downloads|"
    "votes|dimensions|dims|length|lengths|len|characters|chars|#|";
constexpr absl::string_view kPropertyWords =
    "|number|num|no|nr|n|of|the|total|all|avg|average|mean|max|maximum|min|minimum|median|peak|"
    "response|answer|"
    "model|train|training|infer|inference|eval|evaluation|test|gpu|cpu|hub|active|activated|input|"
    "output|prompt|completion|generated|reasoning|used|usage|per|in|on|for|to|first|api|wall|clock|"
    "context|length|window|embedding|hidden|trainable|run|trained|correct|incorrect|unique|$|"
    // Units.
    "m|b|k|t|g|mb|gb|tb|kb|mib|gib|kg|ms|s|sec|secs|min|mins|h|hr|hrs|kwh|wh|j|w|usd|eur|€|";
// Names of properties that no vocabulary explains.
constexpr absl::string_view kTagNames =
    "|url|link|paper|date|architecture|weight type|revision|model sha|sha|company|organization|"
    "organisation|provider|developer|team|name|base model|available|available on the hub|flagged|"
    "merged|moe|generation|license|chat template|context length|context window|context size|"
    "embedding dimensions|number|no|nr|tags|aggragated from|aggregated from|knowledge cutoff|id|"
    "eval id|index|unnamed: 0|n|notes|comment|length|avg length|average length|quantization|dtype|"
    "checkpoint|memory usage (mb)|incorrect|seconds|submission date|upload to hub date|elapsed|"
    "elapsed time|timeouts|unanswered|no answer|p value|pvalue|p val|";
constexpr absl::string_view kIncidental =
    "|time|seconds|minutes|hours|duration|runtime|latency|cost|costs|price|token|tokens|energy|"
    "emissions|co2|url|link|count|rank|ranking|position|pos|place|votes|likes|downloads|hash|id|"
    "eval id|run id|uuid|row|index|unnamed 0|";
constexpr absl::string_view kOccasions =
    "|date|dates|month|week|quarter|datetime|timestamp|when|created|updated|submitted|evaluated|"
    "modified|added|uploaded|note|notes|comment|comments|remark|remarks|";
constexpr absl::string_view kOccasionWords =
    "|at|on|of|the|last|first|time|utc|submission|evaluation|eval|run|upload|to|hub|release|";
constexpr absl::string_view kSettings =
    "|shots|shot|n shot|n shots|num shots|num fewshot|fewshot|few shot|fewshots|k shot|temperature|"
    "top p|top k|epoch|epochs|steps|batch size|learning rate|lr|max length|prompt id|limit|"
    "max tokens|";
constexpr absl::string_view kSettingWords =
    "|prompt|template|variant|config|setting|checkpoint|step|steps|epoch|epochs|iteration|";
constexpr absl::string_view kRepeats =
    "|repeat|repeats|repetition|rep|seed|seeds|run|trial|replicate|replica|attempt|";
constexpr absl::string_view kDataWords =
    "|task|subtask|dataset|data|benchmark|subset|subject|suite|scenario|split|language|lang|limit|"
    "testset|fold|";
constexpr absl::string_view kPerhapsDataWords =
    "|category|config|configuration|domain|topic|group|level|difficulty|genre|locale|set|";

constexpr absl::string_view kLess =
    "|lower|low|less|smaller|min|minimum|minimize|minimise|minimized|minimised|down|desc|"
    "descending|";
constexpr absl::string_view kMore =
    "|higher|high|more|larger|greater|bigger|max|maximum|maximize|maximise|maximized|maximised|up|"
    "asc|ascending|";
// Without one of them in the column's name or in the value, "low" is no goal.
constexpr absl::string_view kBetter =
    "|better|best|direction|goal|objective|optimum|minimize|minimise|minimized|minimised|maximize|"
    "maximise|maximized|maximised|";

bool IsAmount(const std::string& word) {
  return absl::ascii_isdigit(static_cast<unsigned char>(word[0])) && word.size() <= 4;
}

// Every word is of either list or an amount, and one is of `needed`.
bool AllOf(const std::vector<std::string>& words, absl::string_view needed,
           absl::string_view others) {
  return std::any_of(words.begin(), words.end(),
                     [&](const auto& word) { return HasWord(needed, word); }) &&
         std::all_of(words.begin(), words.end(), [&](const auto& word) {
           return HasWord(needed, word) || HasWord(others, word) || IsAmount(word);
         });
}

std::string Joined(absl::string_view name) { return absl::StrJoin(NameWords(name), " "); }

}  // namespace

std::string PlainName(absl::string_view name) {
  std::string plain = absl::AsciiStrToLower(absl::StrReplaceAll(
      name, {{"_", " "}, {"↑", ""}, {"↓", ""}, {"⬆️", ""}, {"⬇️", ""}}));
  return std::string(absl::StripAsciiWhitespace(plain));
}

std::vector<std::string> NameWords(absl::string_view name) {
  const std::string text = absl::StrReplaceAll(
      name, {{"±", " ± "}, {"+/-", " ± "}, {"#", " # "}, {"$", " $ "}, {"↑", " "}, {"↓", " "}});
  std::vector<std::string> words;
  bool begins = true;
  char before = ' ';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_part = absl::ascii_isalnum(byte) || byte >= 0x80 || c == '#' || c == '$';
    if (is_part && (begins || (absl::ascii_isupper(byte) && absl::ascii_islower(before)))) {
      words.emplace_back();
    }
    if (is_part) {
      words.back() += absl::ascii_tolower(byte);
    }
    begins = !is_part;
    before = c;
  }
  return words;
}

bool NamesAggregate(absl::string_view name) {
  const std::string plain = PlainName(name);
  return AllOf(NameWords(name), kAggregates, kAggregateWords) || HasWord("|score|all|", plain) ||
         absl::StartsWith(plain, "mean (") || absl::StartsWith(plain, "average (") ||
         absl::StartsWith(plain, "mean win rate");
}

bool NamesUncertainty(absl::string_view name, const std::vector<std::string>& header) {
  std::vector<std::string> words = NameWords(name.substr(0, name.find(',')));
  const auto sign = std::find(words.begin(), words.end(), "±");
  if (words.empty() || (sign > words.begin() && sign + 1 < words.end() &&
                        std::all_of(sign + 1, words.end(), IsAmount))) {
    return false;  // "GSM8K ± 0.3" states the margin of its scores
  }
  const auto is_whole = [](const std::vector<std::string>& of) {
    return of.size() == 1 &&
           (HasWord(kUncertainties, of[0]) || HasWord(kShortUncertainties, of[0])) &&
           of[0] != "err";
  };
  const auto is_of_other = [&](const std::vector<std::string>& of) {
    return std::any_of(header.begin(), header.end(),
                       [&](const auto& other) { return NameWords(other) == of; });
  };
  const bool has_level = std::any_of(words.begin(), words.end(), IsAmount);
  std::vector<std::string> rest = words;
  while (rest.size() > 1 && (HasWord(kLevels, rest.back()) || IsAmount(rest.back()))) {
    rest.pop_back();
  }
  for (std::vector<std::string>* part : {&words, &rest}) {
    const std::string text = absl::StrCat(" ", absl::StrJoin(*part, " "));
    for (size_t at = 0; at < text.size(); at = std::min(text.find(' ', at + 1), text.size())) {
      if (HasWord(kUncertainties, text.substr(at + 1))) {
        return true;
      }
    }
    if (is_whole(*part)) {
      return true;
    }
    if (part == &rest && is_of_other(rest) &&
        std::find(words.begin(), words.end(), "ci") != words.end()) {
      return true;  // "Acc 95% CI low" beside "Acc"
    }
    const std::string last = part->back();
    part->pop_back();
    if (HasWord(kShortUncertainties, last) && (is_of_other(*part) || (last == "ci" && has_level))) {
      return true;
    }
  }
  const std::vector<std::string> all = NameWords(name);
  return all.size() > 1 && HasWord("|stderr|std|stdev|stddev|", all[0]);
}

bool NamesTag(absl::string_view name) {
  const std::string plain = PlainName(name);
  const size_t open = plain.rfind('(');  // "MMLU (n)"
  const std::string unit = open == plain.npos ? "" : plain.substr(open);
  return HasWord(kTagNames, plain) || HasWord(kTagNames, Joined(name)) || NamesSetting(name) ||
         HasWord("|(n)|(#)|(count)|(samples)|(num samples)|", unit) || NamesOccasion(name) ||
         (AllOf(NameWords(name), kProperties, kPropertyWords) && !absl::StrContains(name, "%")) ||
         absl::StartsWith(plain, "rank ") || absl::StartsWith(plain, "rank(") ||
         absl::StartsWith(plain, "n ") || absl::StartsWith(plain, "num ") ||
         absl::StartsWith(plain, "# ") || absl::StartsWith(plain, "Δ") ||
         absl::EndsWith(plain, " url");
}

bool NamesMeasure(absl::string_view name) {
  return NamesTag(name) || NamesUncertainty(name) ||
         AllOf(NameWords(name), "|latency|runtime|", kPropertyWords);
}

bool NamesIncidental(absl::string_view name) {
  const std::string plain = Joined(name);
  return HasWord(kIncidental, plain) || absl::EndsWith(plain, " url") ||
         absl::StartsWith(plain, "rank ") ||
         AllOf(NameWords(name), kIncidental,
               "|$|usd|eur|s|ms|sec|secs|min|mins|h|hr|hrs|total|avg|average|mean|median|in|kg|kwh|"
               "used|hub|eval|evaluation|inference|infer|test|run|wall|clock|gpu|cpu|");
}

bool NamesOccasion(absl::string_view name) {
  return AllOf(NameWords(name), kOccasions, kOccasionWords) ||
         absl::EndsWith(Joined(name), " date");
}

bool NamesSetting(absl::string_view name) {
  return HasWord(kSettings, Joined(name)) || NamesRepeat(name) || NamesShots(name) ||
         AllOf(NameWords(name), kSettingWords, "|id|no|nr|number|num|#|n|of|train|training|");
}

bool NamesShots(absl::string_view name) {
  return AllOf(NameWords(name), "|shot|shots|fewshot|fewshots|",
               "|n|k|num|nr|no|number|of|few|in|context|#|");
}

bool NamesRepeat(absl::string_view name) {
  return Joined(name) == "random state" ||
         AllOf(NameWords(name), kRepeats, "|random|rng|id|index|number|num|no|nr|#|of|");
}

bool NamesData(absl::string_view name, bool& is_sure) {
  const std::vector<std::string> words = NameWords(name);
  const auto any = [&](absl::string_view list) {
    return std::any_of(words.begin(), words.end(),
                       [list](const auto& word) { return HasWord(list, word); });
  };
  is_sure = any(kDataWords) || Joined(name) == "test set";
  return is_sure || any(kPerhapsDataWords);
}

std::optional<Goal> StatedGoal(absl::string_view column, absl::string_view value) {
  const std::vector<std::string> words =
      NameWords(absl::StrReplaceAll(value, {{"↑", " more better "},
                                            {"⬆️", " more better "},
                                            {"↓", " less better "},
                                            {"⬇️", " less better "}}));
  const std::vector<std::string> asked = NameWords(column);
  const auto states = [](const std::vector<std::string>& of, absl::string_view list) {
    return std::any_of(of.begin(), of.end(), [&](const auto& word) { return HasWord(list, word); });
  };
  const auto goal_in = [&](const std::vector<std::string>& of) -> std::optional<Goal> {
    const bool less = states(of, kLess);
    return less == states(of, kMore) ? std::nullopt
                                     : std::optional(less ? Goal::kMinimize : Goal::kMaximize);
  };
  if (const std::optional<Goal> goal = goal_in(words)) {
    return states(words, kBetter) || states(asked, kBetter) ? goal : std::nullopt;
  }
  const std::optional<Goal> goal = states(asked, kBetter) ? goal_in(asked) : std::nullopt;
  const std::string text = absl::StrJoin(words, " ");
  if (!goal.has_value() || HasWord("|true|yes|1|y|t|", text)) {
    return goal;
  }
  const Goal other = *goal == Goal::kMinimize ? Goal::kMaximize : Goal::kMinimize;
  return HasWord("|false|no|0|n|f|", text) ? std::optional(other) : std::nullopt;
}

std::string TagName(absl::string_view column) {
  std::string name;
  for (const char c : PlainName(column)) {
    const bool is_safe = absl::ascii_isalnum(c) || absl::StrContains("._+-@=", c);
    if (is_safe && (absl::ascii_isalnum(c) || !name.empty())) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') {
    name.pop_back();
  }
  return name.empty() ? "column" : name.substr(0, 100);
}

}  // namespace concur::imports
