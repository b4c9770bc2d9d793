// SPDX-License-Identifier: Apache-2.0
// Early return on errors, for functions that return absl::Status or StatusOr.
#ifndef CONCUR_BASE_STATUS_MACROS_H_
#define CONCUR_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define CONCUR_STATUS_CONCAT_INNER(a, b) a##b
#define CONCUR_STATUS_CONCAT(a, b) CONCUR_STATUS_CONCAT_INNER(a, b)

// Returns the status of `expression` from the enclosing function unless OK.
#define CONCUR_RETURN_IF_ERROR(expression)       \
  do {                                           \
    ::absl::Status concur_status = (expression); \
    if (!concur_status.ok()) [[unlikely]] {      \
      return concur_status;                      \
    }                                            \
  } while (false)

// CONCUR_ASSIGN_OR_RETURN(auto value, Function()): assigns the value of a
// StatusOr, or returns its status. A type that contains a comma needs `auto`.
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are declarations.
#define CONCUR_ASSIGN_OR_RETURN(lhs, expression) \
  CONCUR_ASSIGN_OR_RETURN_IMPL(CONCUR_STATUS_CONCAT(concur_or_, __LINE__), lhs, expression)
#define CONCUR_ASSIGN_OR_RETURN_IMPL(status_or, lhs, expression) \
  auto status_or = (expression);                                 \
  if (!status_or.ok()) [[unlikely]] {                            \
    return std::move(status_or).status();                        \
  }                                                              \
  lhs = *std::move(status_or)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // CONCUR_BASE_STATUS_MACROS_H_
