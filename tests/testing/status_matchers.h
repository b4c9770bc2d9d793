// SPDX-License-Identifier: Apache-2.0
// Matchers for absl::Status and absl::StatusOr, like those of newer Abseil releases.
#ifndef CONCUR_TESTS_TESTING_STATUS_MATCHERS_H_
#define CONCUR_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace concur::testing {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status) {
  return status.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// StatusIs(code, matcher of the message).
MATCHER_P2(StatusIs, code, message, "") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(StatusOf(arg).message()),
                                       result_listener);
}

}  // namespace concur::testing

#define EXPECT_OK(expression) EXPECT_THAT(expression, ::concur::testing::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT(expression, ::concur::testing::IsOk())

// ASSERT_OK_AND_ASSIGN(auto value, Function());
#define ASSERT_OK_AND_ASSIGN_CONCAT_INNER(a, b) a##b
#define ASSERT_OK_AND_ASSIGN_CONCAT(a, b) ASSERT_OK_AND_ASSIGN_CONCAT_INNER(a, b)
#define ASSERT_OK_AND_ASSIGN(lhs, expression) \
  ASSERT_OK_AND_ASSIGN_IMPL(ASSERT_OK_AND_ASSIGN_CONCAT(status_or_, __LINE__), lhs, expression)
#define ASSERT_OK_AND_ASSIGN_IMPL(status_or, lhs, expression) \
  auto status_or = (expression);                              \
  ASSERT_TRUE(status_or.ok()) << status_or.status();          \
  lhs = *std::move(status_or)

#endif  // CONCUR_TESTS_TESTING_STATUS_MATCHERS_H_
