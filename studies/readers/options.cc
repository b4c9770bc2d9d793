// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/options.h"

#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/suggest.h"

namespace concur::readers {
namespace {

constexpr const char* kTypeNames[] = {"true or false", "an integer", "a number", "a word"};

}  // namespace

std::string OptionText(const Options::Value& value) {
  struct Printer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(int64_t number) const { return absl::StrCat(number); }
    std::string operator()(double number) const { return absl::StrCat(number); }
    std::string operator()(const std::string& text) const { return text; }
  };
  return std::visit(Printer(), value);
}

const Options::Value& Options::At(absl::string_view name) const {
  const auto found = values_.find(name);
  CONCUR_CHECK(found != values_.end());
  return found->second;
}

bool Options::Flag(absl::string_view name) const { return std::get<bool>(At(name)); }
int64_t Options::Int(absl::string_view name) const { return std::get<int64_t>(At(name)); }
double Options::Real(absl::string_view name) const { return std::get<double>(At(name)); }
const std::string& Options::Text(absl::string_view name) const {
  return std::get<std::string>(At(name));
}

absl::Status Options::Assign(absl::string_view name, const Value& value) {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, ignored] : values_) {
      names.push_back(known);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no such option", DidYouMean(name, names)));
  }
  Value& target = found->second;
  if (std::holds_alternative<double>(target) && std::holds_alternative<int64_t>(value)) {
    target = static_cast<double>(std::get<int64_t>(value));
    return absl::OkStatus();
  }
  if (target.index() != value.index()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": expected ", kTypeNames[target.index()],
                                                   ", got \"", OptionText(value), "\""));
  }
  target = value;
  return absl::OkStatus();
}

absl::Status Options::Parse(absl::string_view name, absl::string_view text) {
  int64_t integer = 0;
  double real = 0;
  const auto found = values_.find(name);
  const bool is_text = found != values_.end() && std::holds_alternative<std::string>(found->second);
  if (!is_text && (text == "true" || text == "false")) {
    return Assign(name, text == "true");
  }
  if (!is_text && absl::SimpleAtoi(text, &integer)) {
    return Assign(name, integer);
  }
  if (!is_text && absl::SimpleAtod(text, &real)) {
    return Assign(name, real);
  }
  return Assign(name, std::string(text));
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseAssignments(
    const std::vector<std::string>& assignments) {
  std::vector<std::pair<std::string, std::string>> parsed;
  std::set<absl::string_view> seen;
  for (const absl::string_view assignment : assignments) {
    const size_t equals = assignment.find('=');
    if (equals == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--setting: expected name=value, got \"", assignment, "\""));
    }
    const absl::string_view name = assignment.substr(0, equals);
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("--setting ", name, ": given twice"));
    }
    parsed.emplace_back(name, assignment.substr(equals + 1));
  }
  return parsed;
}

}  // namespace concur::readers
