// SPDX-License-Identifier: Apache-2.0
// Hyperparameters: typed values, settings, and the spaces that settings are drawn from.
//
// Values; pure.
#ifndef CONCUR_CORE_SWEEP_PARAMS_H_
#define CONCUR_CORE_SWEEP_PARAMS_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace concur {

// A number in a notation other than ParamText's: 3.10, 1e-3, +3.
struct WrittenNumber {
  std::string text;
  bool operator==(const WrittenNumber&) const = default;
};

// A value as the user wrote it. 3 and 3.0 are different values: one prints "3", the other "3.0".
using ParamValue = std::variant<bool, int64_t, double, std::string, WrittenNumber>;

// One assignment of an approach's hyperparameters, by name.
using Setting = std::map<std::string, ParamValue>;

// Text of a value in a command line, a table and a content key: "true", "3", the shortest decimal
// that reads back as the same double (always with "." or an exponent), or the text as it was
// written.
std::string ParamText(const ParamValue& value);

// `number`, which was written as `text`, so that ParamText gives the text back.
ParamValue NumberWrittenAs(ParamValue number, const std::string& text);

// A variable of the environment named by the text: upper case, "_" for what is no letter or digit.
std::string VariableName(absl::string_view text);
// CONCUR_HP_LR of "lr": the variable in which a command finds the hyperparameter.
std::string HyperparameterVariable(absl::string_view name);
// InvalidArgument, naming both, when two names have the same variable. Sweeps that are stored
// already may have such names.
absl::Status CheckHyperparameterVariables(const Setting& setting);

// {a=1, b=0.5}: names in order, values as ParamText.
std::string SettingText(const Setting& setting);

struct Choice {
  std::vector<ParamValue> values;
  // Each value with each combination of the other grids, instead of draws.
  bool is_grid = false;
};
// Uniform over [low, high).
struct UniformRange {
  double low = 0;
  double high = 0;
};
// log(x) uniform over [log low, log high). low > 0.
struct LogUniformRange {
  double low = 0;
  double high = 0;
};
// Uniform over low, low + step, …, at most high (included). step >= 1.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 0;
  int64_t step = 1;
};
using Distribution = std::variant<Choice, UniformRange, LogUniformRange, IntegerRange>;

struct Hyperparameters {
  Setting defaults;                           // setting 0
  std::map<std::string, Distribution> space;  // names are a subset of the defaults'
};

// `drawn` with six significant digits, which hides the last bits, in which math libraries differ.
// A number that rounding would move out of [low, high) stays as it is.
double RoundedWithin(double drawn, double low, double high);

// InvalidArgument when a range is empty or not finite, a choice has no value, or a name of the
// space has no default. The message names the parameter.
absl::Status ValidateHyperparameters(const Hyperparameters& hyperparameters);

// Setting `index` of an approach: 0 is the default; others draw each parameter of the space from a
// stream named by (seed, approach name, index, parameter name), so that adding an approach, a
// parameter or a setting changes no other value. Real draws are rounded to 6 significant digits.
// REQUIRES: ValidateHyperparameters(hyperparameters) is OK.
Setting SampleSetting(const Hyperparameters& hyperparameters, uint64_t seed,
                      absl::string_view approach_name, uint32_t index);

// An approach's settings: the default, then for each combination of its grids `random` draws of the
// rest of its space, or the rest's defaults when nothing is drawn. Without draws no setting comes
// twice.
std::vector<Setting> AllSettings(const Hyperparameters& hyperparameters, uint64_t seed,
                                 absl::string_view approach_name, uint32_t random);
// Their number; UINT32_MAX or more counts as UINT32_MAX.
uint32_t CountSettings(const Hyperparameters& hyperparameters, uint32_t random);
// True when the space has a parameter that is drawn.
bool IsDrawn(const Hyperparameters& hyperparameters);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_PARAMS_H_
