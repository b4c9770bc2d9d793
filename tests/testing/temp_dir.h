// SPDX-License-Identifier: Apache-2.0
// A directory that is removed by the destructor.
#ifndef CONCUR_TESTS_TESTING_TEMP_DIR_H_
#define CONCUR_TESTS_TESTING_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace concur::testing {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "concur-test-XXXXXX").string();
    CONCUR_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_TEMP_DIR_H_
