// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/params.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/decimal.h"
#include "base/random.h"

namespace concur {
namespace {

std::string DoubleText(double value) {
  if (!std::isfinite(value)) {
    return absl::StrCat(value);
  }
  std::string text = ShortestDecimal(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) {
    text += ".0";
  }
  return text;
}

ParamValue Draw(const Distribution& distribution, Random& random) {
  if (const auto* choice = std::get_if<Choice>(&distribution)) {
    return choice->values[random.Below(choice->values.size())];
  }
  if (const auto* uniform = std::get_if<UniformRange>(&distribution)) {
    const double u = random.Uniform();
    return RoundedWithin(uniform->low * (1 - u) + uniform->high * u, uniform->low, uniform->high);
  }
  if (const auto* log_uniform = std::get_if<LogUniformRange>(&distribution)) {
    const double u = random.Uniform();
    const double drawn =
        std::exp(std::log(log_uniform->low) * (1 - u) + std::log(log_uniform->high) * u);
    return RoundedWithin(drawn, log_uniform->low, log_uniform->high);
  }
  const auto& range = std::get<IntegerRange>(distribution);
  // Unsigned arithmetic: high - low may not fit in an int64_t.
  const uint64_t span = static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low);
  const uint64_t steps = span / static_cast<uint64_t>(range.step);
  const uint64_t step = steps == UINT64_MAX ? random.Next() : random.Below(steps + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(range.low) +
                              step * static_cast<uint64_t>(range.step));
}

bool IsFinite(const ParamValue& value) {
  const double* number = std::get_if<double>(&value);
  return number == nullptr || std::isfinite(*number);
}

// Null unless it is a grid.
const Choice* GridOf(const Distribution& distribution) {
  const auto* choice = std::get_if<Choice>(&distribution);
  return choice != nullptr && choice->is_grid ? choice : nullptr;
}

// 3 and "3" are the same to a command.
bool IsDefault(const Hyperparameters& hyperparameters, const Setting& setting) {
  return SettingText(setting) == SettingText(hyperparameters.defaults);
}

// "" when valid.
std::string Complaint(const Distribution& distribution) {
  if (const auto* choice = std::get_if<Choice>(&distribution)) {
    if (choice->values.empty()) {
      return "expected at least one value to choose from, got none";
    }
    std::set<std::string> seen;
    for (const ParamValue& value : choice->values) {
      if (!IsFinite(value)) {
        return "expected finite values to choose from";
      }
      if (choice->is_grid && !seen.insert(ParamText(value)).second) {
        return absl::StrCat("expected different values in a grid, got ", ParamText(value),
                            " twice");
      }
    }
    return "";
  }
  if (const auto* uniform = std::get_if<UniformRange>(&distribution)) {
    if (!std::isfinite(uniform->low) || !std::isfinite(uniform->high) ||
        !(uniform->low < uniform->high)) {
      return absl::StrCat("expected a range [low, high] of finite numbers with low < high, got [",
                          DoubleText(uniform->low), ", ", DoubleText(uniform->high), "]");
    }
    return "";
  }
  if (const auto* log_uniform = std::get_if<LogUniformRange>(&distribution)) {
    if (!std::isfinite(log_uniform->high) || !(log_uniform->low > 0) ||
        !(log_uniform->low < log_uniform->high)) {
      return absl::StrCat(
          "expected a range [low, high] of finite numbers with 0 < low < high, got [",
          DoubleText(log_uniform->low), ", ", DoubleText(log_uniform->high), "]");
    }
    return "";
  }
  const auto& range = std::get<IntegerRange>(distribution);
  if (range.low > range.high || range.step < 1) {
    return absl::StrCat("expected integers [low, high, step] with low <= high and step >= 1, got [",
                        range.low, ", ", range.high, ", ", range.step, "]");
  }
  return "";
}

}  // namespace

double RoundedWithin(double drawn, double low, double high) {
  double rounded = drawn;
  if (!absl::SimpleAtod(absl::StrFormat("%.5e", drawn), &rounded)) {
    return drawn;
  }
  if (rounded < low || rounded >= high) {
    return drawn < low || drawn >= high ? low : drawn;
  }
  return rounded;
}

std::string ParamText(const ParamValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return absl::StrCat(v);
        } else if constexpr (std::is_same_v<T, double>) {
          return DoubleText(v);
        } else if constexpr (std::is_same_v<T, WrittenNumber>) {
          return v.text;
        } else {
          return v;
        }
      },
      value);
}

ParamValue NumberWrittenAs(ParamValue number, const std::string& text) {
  return ParamText(number) == text ? std::move(number) : ParamValue(WrittenNumber{text});
}

std::string HyperparameterVariable(absl::string_view name) {
  return VariableName(absl::StrCat("CONCUR_HP_", name));
}

std::string VariableName(absl::string_view text) {
  std::string variable = absl::AsciiStrToUpper(text);
  for (char& c : variable) {
    c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return variable;
}

absl::Status CheckHyperparameterVariables(const Setting& setting) {
  std::map<std::string, std::string> names;  // by variable
  for (const auto& [name, value] : setting) {
    const auto [it, is_new] = names.emplace(HyperparameterVariable(name), name);
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected names that differ as variables, got \"", it->second, "\" and \"",
                       name, "\", which are both $", it->first, "; rename one of them"));
    }
  }
  return absl::OkStatus();
}

std::string SettingText(const Setting& setting) {
  return absl::StrCat("{",
                      absl::StrJoin(setting, ", ",
                                    [](std::string* out, const Setting::value_type& parameter) {
                                      absl::StrAppend(out, parameter.first, "=",
                                                      ParamText(parameter.second));
                                    }),
                      "}");
}

absl::Status ValidateHyperparameters(const Hyperparameters& hyperparameters) {
  for (const auto& [name, value] : hyperparameters.defaults) {
    if (!IsFinite(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("default.", name, ": expected a finite number"));
    }
  }
  for (const auto& [name, distribution] : hyperparameters.space) {
    if (hyperparameters.defaults.count(name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("space.", name, ": expected a default value beside the range, got none"));
    }
    const std::string complaint = Complaint(distribution);
    if (!complaint.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("space.", name, ": ", complaint));
    }
  }
  return absl::OkStatus();
}

Setting SampleSetting(const Hyperparameters& hyperparameters, uint64_t seed,
                      absl::string_view approach_name, uint32_t index) {
  Setting setting = hyperparameters.defaults;
  if (index == 0) {
    return setting;
  }
  for (const auto& [name, distribution] : hyperparameters.space) {
    // The length keeps ("a/1", 2) apart from ("a", …): no two streams share a name.
    Random random(seed, absl::StrCat("setting/", approach_name.size(), ":", approach_name, "/",
                                     index, "/", name));
    setting[name] = Draw(distribution, random);
  }
  return setting;
}

std::vector<Setting> AllSettings(const Hyperparameters& hyperparameters, uint64_t seed,
                                 absl::string_view approach_name, uint32_t random) {
  const bool draws = random > 0 && IsDrawn(hyperparameters);
  const uint64_t count = CountSettings(hyperparameters, random);
  std::vector<Setting> settings = {hyperparameters.defaults};
  for (uint64_t place = 0; settings.size() < count; ++place) {
    Setting setting = draws ? SampleSetting(hyperparameters, seed, approach_name,
                                            static_cast<uint32_t>(settings.size()))
                            : hyperparameters.defaults;
    uint64_t rest = place;
    for (const auto& [name, distribution] : hyperparameters.space) {
      if (const Choice* grid = GridOf(distribution)) {
        setting[name] = grid->values[rest % grid->values.size()];
        rest /= grid->values.size();
      }
    }
    if (draws || !IsDefault(hyperparameters, setting)) {
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

uint32_t CountSettings(const Hyperparameters& hyperparameters, uint32_t random) {
  uint64_t count = 1;
  bool has_grid = false;
  bool has_default = true;  // among the combinations
  for (const auto& [name, distribution] : hyperparameters.space) {
    if (const Choice* grid = GridOf(distribution)) {
      has_grid = true;
      count = std::min<uint64_t>(count * grid->values.size(), UINT32_MAX);
      const std::string text = ParamText(hyperparameters.defaults.at(name));
      has_default = has_default &&
                    std::any_of(grid->values.begin(), grid->values.end(),
                                [&](const ParamValue& value) { return ParamText(value) == text; });
    }
  }
  if (random > 0 && IsDrawn(hyperparameters)) {
    count *= random;
  } else if (!has_grid || has_default) {
    --count;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(1 + count, UINT32_MAX));
}

bool IsDrawn(const Hyperparameters& hyperparameters) {
  return std::any_of(hyperparameters.space.begin(), hyperparameters.space.end(),
                     [](const auto& entry) { return GridOf(entry.second) == nullptr; });
}

}  // namespace concur
