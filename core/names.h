// SPDX-License-Identifier: Apache-2.0
// A table of an enumeration's names, read in both directions.
//
// Stateless. For enumerations whose values are 0, 1, 2, … in the order of the names.
#ifndef CONCUR_CORE_NAMES_H_
#define CONCUR_CORE_NAMES_H_

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/escape.h"

namespace concur {

// The name of `value`, or "invalid" when it is none of the enumeration's.
template <typename Enum, size_t kSize>
absl::string_view NameIn(const std::array<absl::string_view, kSize>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < kSize ? names[index] : "invalid";
}

// The value called `name`. InvalidArgument: `expected a KIND ("a", "b"), got "c"`.
template <typename Enum, size_t kSize>
absl::StatusOr<Enum> FromNameIn(const std::array<absl::string_view, kSize>& names,
                                absl::string_view kind, absl::string_view name) {
  for (size_t i = 0; i < kSize; ++i) {
    if (names[i] == name) {
      return static_cast<Enum>(i);
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected a ", kind, " (", absl::StrJoin(names, ", "), "), got ", Quoted(name)));
}

}  // namespace concur

#endif  // CONCUR_CORE_NAMES_H_
