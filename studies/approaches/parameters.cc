// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/parameters.h"

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::approaches {
namespace {

std::string Expected(const ParameterSpec& spec) {
  switch (spec.kind) {
    case ParameterSpec::Kind::kInteger:
      return absl::StrCat("an integer from ", spec.low, " to ", spec.high);
    case ParameterSpec::Kind::kReal:
      return absl::StrCat("a number from ", spec.low, " to ", spec.high);
    case ParameterSpec::Kind::kChoice:
      return absl::StrCat("one of ", absl::StrJoin(spec.choices, ", "));
  }
  return "";
}

absl::StatusOr<double> ParseValue(const ParameterSpec& spec, absl::string_view text) {
  const auto wrong = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", spec.name, ": expected ", Expected(spec), ", got \"", text, "\""));
  };
  if (spec.kind == ParameterSpec::Kind::kChoice) {
    for (size_t i = 0; i < spec.choices.size(); ++i) {
      if (spec.choices[i] == text) {
        return static_cast<double>(i);
      }
    }
    return wrong();
  }
  double value = 0;
  int64_t whole = 0;
  const bool parsed = spec.kind == ParameterSpec::Kind::kInteger ? absl::SimpleAtoi(text, &whole)
                                                                 : absl::SimpleAtod(text, &value);
  if (spec.kind == ParameterSpec::Kind::kInteger) {
    value = static_cast<double>(whole);
  }
  if (!parsed || !std::isfinite(value) || value < spec.low || value > spec.high) {
    return wrong();
  }
  return value;
}

}  // namespace

absl::StatusOr<Parameters> Parameters::Parse(const std::vector<ParameterSpec>& specs,
                                             const std::vector<std::string>& assignments) {
  Parameters parameters;
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) {
    parameters.values_[spec.name] = spec.default_value;
    names.push_back(spec.name);
  }
  std::set<std::string> seen;
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set: expected name=value, got \"", assignment, "\""));
    }
    const std::string name = assignment.substr(0, equals);
    const ParameterSpec* spec = nullptr;
    for (const ParameterSpec& candidate : specs) {
      spec = candidate.name == name ? &candidate : spec;
    }
    if (spec == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--set ", name, ": unknown hyperparameter", DidYouMean(name, names),
          names.empty() ? "; this approach has none"
                        : absl::StrCat("; expected one of ", absl::StrJoin(names, ", "))));
    }
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("--set ", name, ": given twice"));
    }
    CONCUR_ASSIGN_OR_RETURN(parameters.values_[name],
                            ParseValue(*spec, absl::string_view(assignment).substr(equals + 1)));
  }
  return parameters;
}

double Parameters::Real(absl::string_view name) const {
  const auto found = values_.find(std::string(name));
  CONCUR_CHECK(found != values_.end());
  return found->second;
}

ParameterSpec EpochsParameter(int64_t default_value) {
  return {.name = "epochs",
          .kind = ParameterSpec::Kind::kInteger,
          .default_value = static_cast<double>(default_value),
          .low = 1,
          .high = 100,
          .help = "passes over the training data"};
}

ParameterSpec SpanTokensParameter(int32_t default_value) {
  return {.name = "max_span_tokens",
          .kind = ParameterSpec::Kind::kInteger,
          .default_value = static_cast<double>(default_value),
          .low = 1,
          .high = kSpanTokensMax,
          .help = "longest candidate, in tokens"};
}

std::string Describe(const ParameterSpec& spec) {
  const std::string standard = spec.kind == ParameterSpec::Kind::kChoice
                                   ? spec.choices[static_cast<size_t>(spec.default_value)]
                                   : absl::StrCat(spec.default_value);
  return absl::StrCat(spec.name, " (", Expected(spec), "; default ", standard, "): ", spec.help);
}

}  // namespace concur::approaches
