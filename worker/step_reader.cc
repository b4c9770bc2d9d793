// SPDX-License-Identifier: Apache-2.0
#include "worker/step_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace concur::worker {
namespace {

std::optional<ReportedStep> StepOfLine(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, kStepMark)) {
    return std::nullopt;
  }
  const nlohmann::json json = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                                    /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer() ||
      !json.contains("value") || !json["value"].is_number()) {
    return std::nullopt;
  }
  ReportedStep step;
  step.step = json["step"].get<int64_t>();
  step.value = json["value"].get<double>();
  step.name = "value";
  if (json.contains("name")) {
    if (!json["name"].is_string()) {
      return std::nullopt;
    }
    step.name = json["name"].get<std::string>();
  }
  return CheckReportedStep(FieldPath("report"), step).ok() ? std::make_optional(std::move(step))
                                                           : std::nullopt;
}

}  // namespace

void StepReader::Emit(absl::string_view line, const Sink& sink) {
  const std::optional<ReportedStep> step = StepOfLine(line);
  if (!step) {
    return;
  }
  if (counts_.Count(*step)) {
    sink(*step);
  } else if (refused_name_.empty() &&
             std::none_of(counts_.series().begin(), counts_.series().end(),
                          [&](const auto& series) { return series.name == step->name; })) {
    refused_name_ = step->name;
  }
}

void StepReader::Add(absl::string_view data, const Sink& sink) {
  while (!data.empty()) {
    const size_t end = data.find('\n');
    const absl::string_view part = data.substr(0, end);
    too_long_ = too_long_ || line_.size() + part.size() > kStepLineBytesMax;
    if (!too_long_) {
      line_.append(part.data(), part.size());
    }
    if (end == absl::string_view::npos) {
      return;
    }
    Finish(sink);
    data.remove_prefix(end + 1);
  }
}

void StepReader::Finish(const Sink& sink) {
  if (!too_long_) {
    Emit(line_, sink);
  }
  line_.clear();
  too_long_ = false;
}

}  // namespace concur::worker
