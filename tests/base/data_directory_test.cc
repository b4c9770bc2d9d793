// SPDX-License-Identifier: Apache-2.0
#include "base/data_directory.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "tests/testing/test.h"

namespace concur {
namespace {

// Sets or unsets a variable until its end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (before != nullptr) {
      before_ = before;
    }
    Set(value);
  }
  ~Variable() { Set(before_ ? before_->c_str() : nullptr); }

 private:
  void Set(const char* value) {
    value == nullptr ? unsetenv(name_)           // NOLINT(concurrency-mt-unsafe)
                     : setenv(name_, value, 1);  // NOLINT(concurrency-mt-unsafe)
  }

  const char* name_;
  std::optional<std::string> before_;
};

// The coordinator read an empty HOME as "/", and its clients as ".".
TEST(DataDirectoryTest, FollowsXdgThenHomeThenTheCurrentDirectory) {
  const struct {
    const char* xdg;
    const char* home;
    const char* directory;
  } cases[] = {
      {"/data", "/home/me", "/data/concur"},
      {"data", "/home/me", "/home/me/.local/share/concur"},
      {"", "/home/me", "/home/me/.local/share/concur"},
      {nullptr, "/home/me", "/home/me/.local/share/concur"},
      {nullptr, "", "./.local/share/concur"},
      {nullptr, nullptr, "./.local/share/concur"},
  };
  for (const auto& [xdg, home, directory] : cases) {
    const Variable xdg_variable("XDG_DATA_HOME", xdg);
    const Variable home_variable("HOME", home);
    EXPECT_EQ(DefaultDataDirectory(), directory);
  }
}

}  // namespace
}  // namespace concur
