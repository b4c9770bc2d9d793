// SPDX-License-Identifier: Apache-2.0
// Parameters of a benchmark builder: declared once with their kinds, defaults and limits, given as
// text, and checked before anything is built.
//
// Values; immutable once created.
#ifndef CONCUR_QA_BUILDERS_PARAMETERS_H_
#define CONCUR_QA_BUILDERS_PARAMETERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::qa {

enum class ParameterKind {
  kCount,   // a whole number in [low, high]
  kRate,    // a number in [low, high]
  kChoice,  // one of `choices`
  kFile,    // the path of a file; "" means none
  kFiles,   // paths between commas; "" means none
};

struct ParameterInfo {
  std::string name;  // as on the command line, without the dashes
  ParameterKind kind = ParameterKind::kCount;
  std::string default_value;
  std::string help;
  double low = 0;
  double high = 0;
  std::vector<std::string> choices;
  // True if headers of data sets name it where it has its default. Not for a parameter that is
  // younger than its builder or importer: earlier data sets would get other bytes.
  bool recorded_by_default = true;
};

ParameterInfo CountParameter(std::string name, int64_t default_value, int64_t low, int64_t high,
                             std::string help);
ParameterInfo RateParameter(std::string name, std::string default_value, std::string help);
ParameterInfo ChoiceParameter(std::string name, std::vector<std::string> choices,
                              std::string help);  // the first choice is the default
ParameterInfo FileParameter(std::string name, std::string default_value, std::string help);
ParameterInfo FilesParameter(std::string name, absl::string_view help);  // none by default
// The parameter, not recorded where it has its default.
ParameterInfo RecordedWhereGiven(ParameterInfo info);

class Parameters {
 public:
  // InvalidArgument for a name that is not declared (with the nearest declared one) and for a
  // value outside its kind or limits.
  static absl::StatusOr<Parameters> Create(absl::string_view owner,
                                           const std::vector<ParameterInfo>& declared,
                                           const std::map<std::string, std::string>& given);

  // REQUIRES of all getters: the parameter is declared, with that kind.
  int64_t Count(absl::string_view name) const;
  double Rate(absl::string_view name) const;
  const std::string& Text(absl::string_view name) const;
  // True if a value other than the default's text was given.
  bool IsGiven(absl::string_view name) const;

  // Name → value as recorded in a data set's header: files by their base name only, so that the
  // same inputs give the same bytes wherever they lie.
  std::map<std::string, std::string> Recorded() const;

 private:
  struct Value {
    ParameterKind kind;
    std::string text;
    double number = 0;
    bool given = false;
    bool recorded = true;
  };
  const Value& Find(absl::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_PARAMETERS_H_
