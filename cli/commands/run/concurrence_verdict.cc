// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run/concurrence_verdict.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "analysis/statistics/intervals.h"
#include "base/decimal.h"
#include "cli/output/print.h"
#include "report/text.h"

namespace concur::cli {
namespace {

using analysis::Claim;
using analysis::Fixed;

std::string CountOf(int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(CountText(static_cast<uint64_t>(count)), " ", count == 1 ? one : many);
}

std::string ClaimText(const ConcurrenceResult& result) {
  return absl::StrFormat("High concurrence (tau > %g) is %s.", result.asked.above,
                         analysis::ClaimName(result.verdict.claim));
}

std::string MoreText(const analysis::Verdict& verdict) {
  if (verdict.claim != Claim::kOpen) {
    return "";
  }
  return verdict.more.has_value()
             ? absl::StrCat("about ", CountOf(*verdict.more, "more approach", "more approaches"),
                            " like these would settle it, if tau stays as it is")
             : "it is not known how many more approaches would settle it";
}

std::string CheckText(const BenchmarkCheck& check) {
  return absl::StrCat(CountOf(check.train.questions, "train question", "train questions"), ", ",
                      CountOf(check.test.questions, "test question", "test questions"), " (",
                      check.test.answerable, " with an answer in the passage, ",
                      check.test.repeated, " repeated)");
}

Json QuestionCountsJson(const qa::QuestionCounts& counts) {
  return {{"passages", counts.passages},
          {"questions", counts.questions},
          {"repeated", counts.repeated},
          {"answerable", counts.answerable}};
}

Json CheckJson(const BenchmarkCheck& check) {
  Json json = {{"train", QuestionCountsJson(check.train)},
               {"test", QuestionCountsJson(check.test)}};
  json["shared"] = Json::array();
  for (const SharedText& shared : check.shared) {
    json["shared"].push_back({{"set", shared.set},
                              {"with", shared.with},
                              {"passages", shared.counts.passages},
                              {"shared", shared.counts.shared}});
  }
  json["warnings"] = check.warnings;
  return json;
}

}  // namespace

std::string CoefficientText(std::optional<double> value,
                            const std::optional<analysis::Interval>& interval) {
  return absl::StrCat(analysis::FixedOrUndef(value, 2), " ",
                      interval.has_value() ? absl::StrCat("[", Fixed(interval->low, 2), ", ",
                                                          Fixed(interval->high, 2), "]")
                                           : "(no interval)");
}

Json IntervalJson(const std::optional<analysis::Interval>& interval) {
  return interval.has_value() ? Json({interval->low, interval->high}) : Json(nullptr);
}

Json NumberJson(std::optional<double> value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

std::string DescriptionOf(const AskedConcurrence& asked, size_t look) {
  return absl::StrCat("tau > ", ShortestDecimal(asked.above), ", level ",
                      ShortestDecimal(asked.level), ", look ", look, " of ", asked.looks,
                      asked.families.empty() ? "" : ", families by ", asked.families);
}

std::optional<DescribedLook> ParseDescription(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits(", ", 3));
  DescribedLook described;
  AskedConcurrence& asked = described.asked;
  if (parts.size() < 3) {
    return std::nullopt;
  }
  absl::string_view above = parts[0];
  absl::string_view level = parts[1];
  absl::string_view families = parts.size() > 3 ? parts[3] : "families by ";
  const std::vector<absl::string_view> look = absl::StrSplit(parts[2], ' ');
  if (!absl::ConsumePrefix(&above, "tau > ") || !absl::SimpleAtod(above, &asked.above) ||
      !absl::ConsumePrefix(&level, "level ") || !absl::SimpleAtod(level, &asked.level) ||
      !absl::ConsumePrefix(&families, "families by ") || look.size() != 4 ||
      !absl::SimpleAtoi(look[1], &described.look) || !absl::SimpleAtoi(look[3], &asked.looks)) {
    return std::nullopt;
  }
  asked.families = std::string(families);
  return DescriptionOf(asked, described.look) == text ? std::optional(described) : std::nullopt;
}

std::string VerdictSentence(const ConcurrenceResult& result) {
  const analysis::Verdict& verdict = result.verdict;
  std::string families;
  if (verdict.families < static_cast<double>(verdict.approaches)) {
    families = absl::StrCat(" that count as ", Fixed(verdict.families, 1), " families");
  }
  return absl::StrCat(
      result.added, " × ", result.reference, ": tau-b ",
      CoefficientText(verdict.tau, verdict.tau_interval), ", r ",
      CoefficientText(verdict.r, verdict.r_interval), " over ",
      CountOf(verdict.approaches, "approach", "approaches"), families,
      absl::StrFormat(" (level %g over %d looks). ", result.asked.level, result.asked.looks),
      ClaimText(result));
}

std::string OutlierText(const Outlier& outlier) {
  return absl::StrCat(outlier.approach, ": rank ", outlier.new_rank, " on the new benchmark, ",
                      outlier.reference_rank, " on the reference; tau without it ",
                      Fixed(outlier.without, 2));
}

int64_t RankOf(const analysis::ScoreTable& complete, size_t approach, size_t benchmark) {
  int64_t rank = 1;
  for (size_t i = 0; i < complete.approaches().size(); ++i) {
    rank += complete.cell(i, benchmark).value > complete.cell(approach, benchmark).value ? 1 : 0;
  }
  return rank;
}

std::vector<std::pair<std::string, std::string>> VerdictLines(const ConcurrenceResult& result) {
  const analysis::Verdict& verdict = result.verdict;
  std::vector<std::pair<std::string, std::string>> lines;
  if (verdict.noise_free.tau.has_value()) {
    lines.emplace_back("without noise",
                       CoefficientText(verdict.noise_free.tau, verdict.noise_free.interval));
  }
  lines.emplace_back("no scores", absl::StrJoin(result.missing, ", "));
  lines.emplace_back("stopped", result.why);
  lines.emplace_back("to settle it", MoreText(verdict));
  lines.emplace_back("warning", verdict.warning);
  lines.emplace_back("cost", absl::StrCat(CountOf(result.jobs, "job", "jobs"), ", ",
                                          SpanText(result.computing), " of computing"));
  lines.emplace_back("sweep", result.sweep);
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

std::string VerdictText(const ConcurrenceResult& result) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (result.check.has_value() && result.check->test.questions > 0) {
    lines.emplace_back("data", CheckText(*result.check));
  }
  for (const Outlier& outlier : result.outliers) {
    lines.emplace_back("outlier",
                       absl::StrCat(OutlierText(outlier), outlier.examples.empty() ? "" : "\n    ",
                                    absl::StrJoin(outlier.examples, "\n    ")));
  }
  for (auto& line : VerdictLines(result)) {
    lines.push_back(std::move(line));
  }
  std::string text = absl::StrCat(VerdictSentence(result), "\n\n");
  for (const auto& [name, value] : lines) {
    absl::StrAppend(&text, absl::StrFormat("%-14s %s\n", name, value));
  }
  return text;
}

Json VerdictJson(const ConcurrenceResult& result) {
  const analysis::Verdict& verdict = result.verdict;
  Json json;
  json["new"] = result.added;
  json["reference"] = result.reference;
  json["verdict"] = analysis::ClaimName(verdict.claim);
  json["above"] = result.asked.above;
  json["level"] = result.asked.level;
  json["level_of_looks"] = verdict.level;
  json["approaches"] = verdict.approaches;
  json["families"] = verdict.families;
  json["tau"] = NumberJson(verdict.tau);
  json["tau_interval"] = IntervalJson(verdict.tau_interval);
  json["r"] = NumberJson(verdict.r);
  json["r_interval"] = IntervalJson(verdict.r_interval);
  json["tau_noise_free"] = NumberJson(verdict.noise_free.tau);
  json["tau_noise_free_interval"] = IntervalJson(verdict.noise_free.interval);
  json["precise"] = verdict.precise;
  json["more_approaches"] = verdict.more.has_value() ? Json(*verdict.more) : Json(nullptr);
  json["warning"] = verdict.warning;
  json["sentence"] = VerdictSentence(result);
  json["stopped"] = result.why;
  json["outliers"] = Json::array();
  for (const Outlier& outlier : result.outliers) {
    json["outliers"].push_back({{"approach", outlier.approach},
                                {"tau_without", outlier.without},
                                {"new_rank", outlier.new_rank},
                                {"reference_rank", outlier.reference_rank},
                                {"examples", outlier.examples}});
  }
  json["no_scores"] = result.missing;
  json["looks"] = Json::array();
  for (const LookTaken& look : result.looks) {
    json["looks"].push_back({{"sweep", look.sweep},
                             {"approaches", look.approaches},
                             {"tau", NumberJson(look.tau)},
                             {"tau_interval", IntervalJson(look.interval)}});
  }
  json["data"] = result.check.has_value() ? CheckJson(*result.check) : Json(nullptr);
  json["jobs"] = result.jobs;
  json["computing_seconds"] = absl::ToDoubleSeconds(result.computing);
  json["sweep"] = result.sweep;
  return json;
}

}  // namespace concur::cli
