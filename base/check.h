// SPDX-License-Identifier: Apache-2.0
// CONCUR_CHECK ends the process if its condition is false, in every build. Use it for conditions
// that only a bug can break; errors that input or the system can cause are an absl::Status.
#ifndef CONCUR_BASE_CHECK_H_
#define CONCUR_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"

namespace concur::internal {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition,
                                     const std::string& detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, condition,
               detail.empty() ? "" : ": ", detail.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace concur::internal

#define CONCUR_CHECK(condition)                                            \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      ::concur::internal::CheckFailed(__FILE__, __LINE__, #condition, ""); \
    }                                                                      \
  } while (false)

#define CONCUR_CHECK_OK(expression)                                    \
  do {                                                                 \
    const ::absl::Status concur_check_status = (expression);           \
    if (!concur_check_status.ok()) [[unlikely]] {                      \
      ::concur::internal::CheckFailed(__FILE__, __LINE__, #expression, \
                                      concur_check_status.ToString()); \
    }                                                                  \
  } while (false)

#endif  // CONCUR_BASE_CHECK_H_
