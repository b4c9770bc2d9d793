// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/parameters.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::qa {
namespace {

std::vector<std::string> NamesOf(const std::vector<ParameterInfo>& declared) {
  std::vector<std::string> names;
  names.reserve(declared.size());
  for (const ParameterInfo& info : declared) {
    names.push_back(info.name);
  }
  return names;
}

// The number that `text` stands for; 0 for kinds without one.
absl::StatusOr<double> Check(absl::string_view owner, const ParameterInfo& info,
                             const std::string& text) {
  const auto wrong = [&](absl::string_view expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(owner, ": --", info.name, ": expected ", expected, ", got \"", text, "\""));
  };
  switch (info.kind) {
    case ParameterKind::kCount: {
      int64_t value = 0;
      if (!absl::SimpleAtoi(text, &value) || static_cast<double>(value) < info.low ||
          static_cast<double>(value) > info.high) {
        return wrong(absl::StrCat("a whole number from ", static_cast<int64_t>(info.low), " to ",
                                  static_cast<int64_t>(info.high)));
      }
      return static_cast<double>(value);
    }
    case ParameterKind::kRate: {
      double value = 0;
      // The comparison is written so that NaN fails it.
      if (!absl::SimpleAtod(text, &value) || !(value >= info.low && value <= info.high)) {
        return wrong(absl::StrCat("a number from ", info.low, " to ", info.high));
      }
      return value;
    }
    case ParameterKind::kChoice:
      if (std::find(info.choices.begin(), info.choices.end(), text) == info.choices.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            owner, ": --", info.name, ": expected one of ", absl::StrJoin(info.choices, ", "),
            ", got \"", text, "\"", DidYouMean(text, info.choices)));
      }
      return 0.0;
    case ParameterKind::kFile:
    case ParameterKind::kFiles:
      return 0.0;
  }
  return wrong("a value");
}

}  // namespace

ParameterInfo CountParameter(std::string name, int64_t default_value, int64_t low, int64_t high,
                             std::string help) {
  ParameterInfo info;
  info.name = std::move(name);
  info.kind = ParameterKind::kCount;
  info.default_value = absl::StrCat(default_value);
  info.help = std::move(help);
  info.low = static_cast<double>(low);
  info.high = static_cast<double>(high);
  return info;
}

ParameterInfo RateParameter(std::string name, std::string default_value, std::string help) {
  ParameterInfo info;
  info.name = std::move(name);
  info.kind = ParameterKind::kRate;
  info.default_value = std::move(default_value);
  info.help = std::move(help);
  info.low = 0;
  info.high = 1;
  return info;
}

ParameterInfo ChoiceParameter(std::string name, std::vector<std::string> choices,
                              std::string help) {
  ParameterInfo info;
  info.name = std::move(name);
  info.kind = ParameterKind::kChoice;
  info.default_value = choices.at(0);
  info.choices = std::move(choices);
  info.help = std::move(help);
  return info;
}

ParameterInfo FileParameter(std::string name, std::string default_value, std::string help) {
  ParameterInfo info;
  info.name = std::move(name);
  info.kind = ParameterKind::kFile;
  info.default_value = std::move(default_value);
  info.help = std::move(help);
  return info;
}

ParameterInfo FilesParameter(std::string name, absl::string_view help) {
  ParameterInfo info;
  info.name = std::move(name);
  info.kind = ParameterKind::kFiles;
  info.help = absl::StrCat(help, " (FILE[,FILE…])");
  return info;
}

ParameterInfo RecordedWhereGiven(ParameterInfo info) {
  info.recorded_by_default = false;
  return info;
}

absl::StatusOr<Parameters> Parameters::Create(absl::string_view owner,
                                              const std::vector<ParameterInfo>& declared,
                                              const std::map<std::string, std::string>& given) {
  const std::vector<std::string> names = NamesOf(declared);
  for (const auto& [name, text] : given) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat(owner, ": unknown parameter --", name,
                                                     DidYouMean(name, names), "; it has --",
                                                     absl::StrJoin(names, ", --")));
    }
  }
  Parameters parameters;
  for (const ParameterInfo& info : declared) {
    const auto it = given.find(info.name);
    Value value;
    value.kind = info.kind;
    value.text = it == given.end() ? info.default_value : it->second;
    value.given = it != given.end() && it->second != info.default_value;
    value.recorded = value.given || info.recorded_by_default;
    CONCUR_ASSIGN_OR_RETURN(value.number, Check(owner, info, value.text));
    parameters.values_.emplace(info.name, std::move(value));
  }
  return parameters;
}

const Parameters::Value& Parameters::Find(absl::string_view name) const {
  const auto it = values_.find(std::string(name));
  CONCUR_CHECK(it != values_.end());
  return it->second;
}

int64_t Parameters::Count(absl::string_view name) const {
  const Value& value = Find(name);
  CONCUR_CHECK(value.kind == ParameterKind::kCount);
  return static_cast<int64_t>(value.number);
}

double Parameters::Rate(absl::string_view name) const {
  const Value& value = Find(name);
  CONCUR_CHECK(value.kind == ParameterKind::kRate);
  return value.number;
}

const std::string& Parameters::Text(absl::string_view name) const { return Find(name).text; }

bool Parameters::IsGiven(absl::string_view name) const { return Find(name).given; }

std::map<std::string, std::string> Parameters::Recorded() const {
  std::map<std::string, std::string> recorded;
  for (const auto& [name, value] : values_) {
    if (!value.recorded) {
      continue;
    }
    std::string text = value.text;
    if (value.kind == ParameterKind::kFile) {
      text = text.substr(text.find_last_of('/') + 1);
    } else if (value.kind == ParameterKind::kFiles) {
      std::vector<std::string> names;
      for (const absl::string_view path : absl::StrSplit(value.text, ',')) {
        names.emplace_back(path.substr(path.find_last_of('/') + 1));
      }
      text = absl::StrJoin(names, ",");
    }
    recorded.emplace(name, std::move(text));
  }
  return recorded;
}

}  // namespace concur::qa
