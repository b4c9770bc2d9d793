// SPDX-License-Identifier: Apache-2.0
// Reads the values of settings within their ranges, and keeps the first error.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_READERS_SETTING_READER_H_
#define CONCUR_STUDIES_READERS_SETTING_READER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "studies/readers/options.h"

namespace concur::readers {

inline constexpr double kSettingCountMax = 1e9;
inline constexpr char kFullPrecision[] = "full";

class SettingReader {
 public:
  explicit SettingReader(const Options& options) : options_(options) {}

  // Each returns the option's value, whether or not it is within the range.
  double Real(const char* name, double low, double high) {
    return Within(name, options_.Real(name), low, high);
  }
  int64_t Int(const char* name, double low, double high) {
    const int64_t value = options_.Int(name);
    Within(name, static_cast<double>(value), low, high);
    return value;
  }
  // The place of the option's value among `names`; 0 for another value.
  size_t Choice(const char* name, const std::vector<std::string>& names) {
    const auto found = std::find(names.begin(), names.end(), options_.Text(name));
    if (found == names.end()) {
      Fail(absl::StrCat(name, ": expected ", absl::StrJoin(names, " or "), ", got \"",
                        options_.Text(name), "\""));
      return 0;
    }
    return static_cast<size_t>(found - names.begin());
  }
  bool Flag(const char* name) const { return options_.Flag(name); }
  // True if `precision` is half.
  bool HalfPrecision() { return Choice("precision", {kFullPrecision, "half"}) == 1; }

  void Fail(const std::string& message) {
    status_.Update(absl::InvalidArgumentError(absl::StrCat("--setting ", message)));
  }
  // InvalidArgument with the first error, or OK.
  const absl::Status& status() const { return status_; }

 private:
  double Within(const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high)) {
      Fail(absl::StrCat(name, ": expected a number from ", low, " to ", high, ", got ", value));
    }
    return value;
  }

  const Options& options_;
  absl::Status status_;
};

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_SETTING_READER_H_
