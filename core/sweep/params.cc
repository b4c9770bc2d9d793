// SPDX-License-Identifier: Apache-2.0
#include "core/params.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

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

// Six significant digits hide the last bits, in which math libraries differ. A draw that rounding
// would move out of [low, high) stays as it is.
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

// "" when valid.
std::string Complaint(const Distribution& distribution) {
  if (const auto* choice = std::get_if<Choice>(&distribution)) {
    if (choice->values.empty()) {
      return "expected at least one value to choose from, got none";
    }
    for (const ParamValue& value : choice->values) {
      if (!IsFinite(value)) {
        return "expected finite values to choose from";
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
        } else {
          return v;
        }
      },
      value);
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

}  // namespace concur
