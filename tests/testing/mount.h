// SPDX-License-Identifier: Apache-2.0
// A mount: what nobody can remove, not even root. Needs root. Unmounted when dropped.
#ifndef CONCUR_TESTS_TESTING_MOUNT_H_
#define CONCUR_TESTS_TESTING_MOUNT_H_

#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace concur::testing {

class Mount {
 public:
  explicit Mount(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = mount("none", path.c_str(), "tmpfs", 0, "size=64k") == 0;
  }
  ~Mount() { Unmount(); }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  bool mounted() const { return mounted_; }
  // A directory above it was renamed.
  void MovedTo(const std::string& path) { path_ = path; }
  void Unmount() {
    if (mounted_) {
      umount2(path_.c_str(), MNT_DETACH);
      mounted_ = false;
    }
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_MOUNT_H_
