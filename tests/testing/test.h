// SPDX-License-Identifier: Apache-2.0
// Included by every test: GoogleTest, matchers, and the names that most tests use.
#ifndef CONCUR_TESTS_TESTING_TEST_H_
#define CONCUR_TESTS_TESTING_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur {

using ::concur::testing::IsOk;
using ::concur::testing::StatusIs;
using ::concur::testing::TempDir;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

}  // namespace concur

#endif  // CONCUR_TESTS_TESTING_TEST_H_
