// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/step_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "core/spent.h"
#include "worker/executor.h"

namespace concur::worker {
namespace {

constexpr size_t kMarkBytes = sizeof kStepMark - 1;
constexpr size_t kShownBytesMax = 100;  // a report or name in a warning has no more

// Progress bars end their lines with a carriage return, and colour them by escape sequences.
bool EndsLine(char c) { return c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

}  // namespace

std::optional<StepReader::Report> StepReader::ReportOfJson(absl::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                                    /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) {
    return std::nullopt;
  }
  Report report;
  report.done = json["step"].get<int64_t>();
  if (json.contains("of") && json["of"].is_number_integer()) {
    const auto of = json["of"].get<int64_t>();
    if (report.done >= 0 && of >= std::max<int64_t>(report.done, 1) && of <= kStepMax) {
      report.of = of;
    }
  }
  if (report.of && !json.contains("value")) {
    return report;
  }
  if (!json.contains("value") || !json["value"].is_number()) {
    return std::nullopt;
  }
  ReportedStep step{.step = report.done, .name = "value", .value = json["value"].get<double>()};
  if (json.contains("name")) {
    if (!json["name"].is_string()) {
      return std::nullopt;
    }
    step.name = json["name"].get<std::string>();
  }
  if (!CheckReportedStep(FieldPath("report"), step).ok()) {
    return std::nullopt;
  }
  report.step = std::move(step);
  return report;
}

void StepReader::Emit(absl::string_view line, const Sink& sink) {
  std::optional<Report> report;
  // A progress bar may have begun the line.
  const size_t begin = line.size() - std::min(line.size(), kStepLineBytesMax);
  for (size_t at = line.find(kStepMark, begin); at != line.npos && !report;
       at = line.find(kStepMark, at + 1)) {
    report = ReportOfJson(line.substr(at + kMarkBytes));
  }
  if (!report) {
    const size_t at = line.rfind(kStepMark);
    if (warning_.empty() && at != line.npos &&
        absl::StartsWith(line.substr(at + kMarkBytes), "{")) {
      warning_ = absl::StrCat(
          "concur: warning: no report: ", CleanUtf8(line.substr(at + kMarkBytes), kShownBytesMax),
          "; expected {\"step\": 3, \"name\": \"loss\", \"value\": 0.5}, or {\"step\": 3, \"of\": "
          "10}");
    }
    return;
  }
  TellProgress(*report, sink);
  const std::optional<ReportedStep>& step = report->step;
  if (!step) {
    return;
  }
  if (IsSpentName(step->name)) {
    Spend(*step, sink);
  } else if (counts_.Count(*step)) {
    sink(*step);
  } else if (warning_.empty() &&
             std::none_of(counts_.series().begin(), counts_.series().end(),
                          [&](const auto& series) { return series.name == step->name; })) {
    warning_ = absl::StrCat("concur: warning: reports of \"", CleanUtf8(step->name, kShownBytesMax),
                            "\" do not count: a job has at most ", kStepNamesMax, " names");
  }
}

void StepReader::TellProgress(const Report& report, const Sink& sink) {
  if (!report.of) {
    return;
  }
  const auto of = static_cast<double>(*report.of);
  const auto percent = static_cast<int64_t>(100 * static_cast<double>(report.done) / of);
  if (percent != percent_ && percents_ < kPercentsMax) {
    ++percents_;
    percent_ = percent;
    sink({.step = report.done, .name = kProgressName, .value = of});
  }
}

void StepReader::Spend(const ReportedStep& step, const Sink& sink) {
  const absl::StatusOr<Spent> spent = SpentOf(step.name, step.value);
  if (!spent.ok()) {
    if (warning_.empty()) {
      warning_ = absl::StrCat("concur: warning: not counted: ", spent.status().message());
    }
    return;
  }
  Amount& amount = spent_[step.name];
  const int64_t number = spent->tokens_in + spent->tokens_out + spent->usd_micros;  // one is set
  if (number <= amount.number) {
    return;
  }
  amount.number = number;
  amount.latest = step;
  if (amount.count < kStepsDense || number - amount.sent >= amount.sent / kStepGrowth) {
    ++amount.count;
    amount.sent = number;
    sink(step);
  }
}

void StepReader::Add(absl::string_view data, Source source, const Sink& sink) {
  std::string& line = lines_[source];
  while (!data.empty()) {
    const auto end = std::find_if(data.begin(), data.end(), EndsLine);
    const absl::string_view part = data.substr(0, static_cast<size_t>(end - data.begin()));
    if (source == kFile && line.empty() && absl::StartsWith(part, "{")) {
      line = kStepMark;
    }
    line.append(part.data(), part.size());
    if (end != data.end()) {
      Emit(line, sink);
      line.clear();
      data.remove_prefix(part.size() + 1);
      continue;
    }
    // Only the start of a report, or of its mark, is kept.
    size_t at = line.find(kStepMark);
    while (at != line.npos && line.size() - at > kStepLineBytesMax) {
      at = line.find(kStepMark, at + 1);
    }
    line.erase(0, at != line.npos ? at : line.size() - std::min(line.size(), kMarkBytes - 1));
    return;
  }
}

std::string StepReader::Finish(const Sink& sink) {
  for (std::string& line : lines_) {
    Emit(line, sink);
    line.clear();
  }
  for (const auto& [name, amount] : spent_) {
    if (amount.sent < amount.number) {
      sink(amount.latest);
    }
  }
  return warning_;
}

}  // namespace concur::worker
