// SPDX-License-Identifier: Apache-2.0
// Disks that fail while a program has files open.
#ifndef CONCUR_TESTS_TESTING_BREAK_FILES_H_
#define CONCUR_TESTS_TESTING_BREAK_FILES_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace concur::testing {

// Puts /dev/null in the place of every descriptor of this process that is open on `path`: writes
// go nowhere, and syncs and truncations fail. Fails the test if there is none.
inline void BreakFilesOf(const std::string& path) {
  std::vector<int> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == path && !error) {
      descriptors.push_back(std::atoi(entry.path().filename().c_str()));
    }
  }
  ASSERT_FALSE(descriptors.empty()) << path;
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_GE(null, 0);
  for (const int fd : descriptors) {
    ASSERT_EQ(dup3(null, fd, O_CLOEXEC), fd);
  }
  close(null);
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_BREAK_FILES_H_
