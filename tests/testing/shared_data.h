// SPDX-License-Identifier: Apache-2.0
// Real data in a directory beside the source tree. Tests that need it are skipped without it.
#ifndef CONCUR_TESTS_TESTING_SHARED_DATA_H_
#define CONCUR_TESTS_TESTING_SHARED_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace concur::testing {

// The path of data/NAME under CONCUR_SHARED_DIR, or beside the source tree; "" if it does
// not exist.
inline std::string SharedData(const std::string& name) {
  std::string root = "../shared";
  if (const char* shared = std::getenv("CONCUR_SHARED_DIR")) {  // NOLINT(concurrency-mt-unsafe)
    root = shared;
  } else if (const char* source =
                 std::getenv("CONCUR_SOURCE_DIR")) {  // NOLINT(concurrency-mt-unsafe)
    root = std::string(source) + "/../shared";
  }
  const std::string path = root + "/data/" + name;
  return std::filesystem::exists(path) ? path : "";
}

// The path of a folder or file of fixtures (CONCUR_FIXTURES, or beside the source tree); "" if it
// does not exist.
inline std::string SharedFixture(const std::string& name) {
  std::string root = "../shared/fixtures";
  if (const char* fixtures = std::getenv("CONCUR_FIXTURES")) {  // NOLINT(concurrency-mt-unsafe)
    root = fixtures;
  } else if (const char* source =
                 std::getenv("CONCUR_SOURCE_DIR")) {  // NOLINT(concurrency-mt-unsafe)
    root = std::string(source) + "/../shared/fixtures";
  }
  const std::string path = root + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace concur::testing

#define CONCUR_FIXTURE_OR_SKIP(variable, name)                               \
  const std::string variable = ::concur::testing::SharedFixture(name);       \
  if (variable.empty()) {                                                    \
    GTEST_SKIP() << name << " is not on this machine (see CONCUR_FIXTURES)"; \
  }

// Sets `variable` to the path or skips the test.
#define CONCUR_SHARED_DATA_OR_SKIP(variable, name)                             \
  const std::string variable = ::concur::testing::SharedData(name);            \
  if (variable.empty()) {                                                      \
    GTEST_SKIP() << name << " is not on this machine (see CONCUR_SHARED_DIR)"; \
  }

#endif  // CONCUR_TESTS_TESTING_SHARED_DATA_H_
