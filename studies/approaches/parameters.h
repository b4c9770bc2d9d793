// SPDX-License-Identifier: Apache-2.0
// Typed hyperparameters of the native approaches, as `--set name=value` gives them.
//
// Values; pure.
#ifndef CONCUR_STUDIES_APPROACHES_PARAMETERS_H_
#define CONCUR_STUDIES_APPROACHES_PARAMETERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::approaches {

// The declaration of a hyperparameter.
struct ParameterSpec {
  enum class Kind { kInteger, kReal, kChoice };

  std::string name = {};
  Kind kind = Kind::kReal;
  double default_value = 0;  // index of the choice, for kChoice
  double low = 0;            // least and greatest value allowed, both included
  double high = 0;
  std::vector<std::string> choices = {};
  std::string help = {};
};

// Values of all hyperparameters of one approach, by name.
class Parameters {
 public:
  // Applies "name=value" texts to the defaults. InvalidArgument on an unknown name (with a
  // suggestion), a repeated name, a value of another type or out of range.
  static absl::StatusOr<Parameters> Parse(const std::vector<ParameterSpec>& specs,
                                          const std::vector<std::string>& assignments);

  // REQUIRES: the approach declares `name`.
  double Real(absl::string_view name) const;
  int64_t Integer(absl::string_view name) const { return static_cast<int64_t>(Real(name)); }
  // Index among the declared choices.
  size_t Choice(absl::string_view name) const { return static_cast<size_t>(Real(name)); }

 private:
  std::map<std::string, double> values_;
};

// Hyperparameters that several approaches have: passes over the training data, and the longest
// candidate in tokens.
inline constexpr int32_t kSpanTokensMax = 30;
ParameterSpec EpochsParameter(int64_t default_value);
ParameterSpec SpanTokensParameter(int32_t default_value);

// `lr (real, 0.001..10, default 0.1): help`, for listings and messages.
std::string Describe(const ParameterSpec& spec);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_PARAMETERS_H_
