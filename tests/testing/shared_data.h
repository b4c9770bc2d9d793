// Real data that developers have beside the source tree. Tests that use it skip without it.
#ifndef CONCUR_TESTS_TESTING_SHARED_DATA_H_
#define CONCUR_TESTS_TESTING_SHARED_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace concur::testing {

// The path of data/NAME under CONCUR_SHARED_DIR, or beside the source tree; "" where the machine
// does not have it.
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

}  // namespace concur::testing

// Sets `variable` to the path, or skips the test.
#define CONCUR_SHARED_DATA_OR_SKIP(variable, name)                             \
  const std::string variable = ::concur::testing::SharedData(name);            \
  if (variable.empty()) {                                                      \
    GTEST_SKIP() << name << " is not on this machine (see CONCUR_SHARED_DIR)"; \
  }

#endif  // CONCUR_TESTS_TESTING_SHARED_DATA_H_
