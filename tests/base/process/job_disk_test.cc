// SPDX-License-Identifier: Apache-2.0
#include "base/process/job_disk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur::process {
namespace {

FileDescriptor OpenPath(const std::string& path) {
  return FileDescriptor(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// A worker short of descriptors killed its jobs for folders that "cannot be counted".
TEST(JobDiskTest, AMachineShortOfDescriptorsIsNotTheJobsDoing) {
  const TempDir temp;
  const FileDescriptor directory = OpenPath(temp.path());
  const int next = dup(directory.get());
  close(next);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::StatusOr<int64_t> bytes = DiskUseOfOpen(directory.get());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(bytes, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("run directory")));
  EXPECT_TRUE(DiskUseOfOpen(directory.get()).ok());
}

TEST(JobDiskTest, FoldersThatNestTooDeepAreTheJobsDoing) {
  const TempDir temp;
  const FileDescriptor directory = OpenPath(temp.path());
  std::string path = temp.path();
  for (int i = 1; i < kJobFolderDepthMax; ++i) {
    absl::StrAppend(&path, "/d");
  }
  std::filesystem::create_directories(path);
  EXPECT_TRUE(DiskUseOfOpen(directory.get()).ok());
  std::filesystem::create_directories(path + "/d");
  EXPECT_THAT(DiskUseOfOpen(directory.get()),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("run directory")));
}

// The mode of whatever a job's link points to was changed.
TEST(JobDiskTest, ALinkInAFoldersPlaceIsNotFollowed) {
  const TempDir temp;
  std::filesystem::create_directories(temp.File("target"));
  std::filesystem::create_directory_symlink(temp.File("target"), temp.File("link"));
  ASSERT_EQ(chmod(temp.File("target").c_str(), 0), 0);
  const FileDescriptor directory = OpenPath(temp.path());
  int error = 0;
  EXPECT_EQ(OpenFolderAt(directory.get(), "link", error), nullptr);
  EXPECT_TRUE(error == ENOTDIR || error == ELOOP) << error;
  struct stat info {};
  ASSERT_EQ(stat(temp.File("target").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0u);
  EXPECT_NE(OpenFolderAt(directory.get(), "target", error), nullptr) << error;
}

// 240 MB of 50 MB: a file that was mapped, closed and removed counted nowhere.
TEST(JobDiskTest, RemovedFilesThatAreMappedCountOnceAsThoseThatAreOpen) {
  // A file system that has one device number, as overlays have not.
  const FileDescriptor directory = OpenPath("/dev/shm");
  const std::string path = absl::StrCat("/dev/shm/concur-job-disk-test-", getpid());
  constexpr int64_t kBytes = int64_t{1} << 20;
  const auto bytes = [&] { return UnnamedBytesOf({getpid(), getpid()}, directory.get()); };
  const int64_t before = bytes();
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_EQ(posix_fallocate(file.get(), 0, kBytes), 0);
  void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(bytes(), before);
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(bytes(), before + kBytes) << "open";
  file = FileDescriptor();
  EXPECT_EQ(bytes(), before + kBytes) << "closed";
  munmap(mapped, kBytes);
  EXPECT_EQ(bytes(), before);
}

}  // namespace
}  // namespace concur::process
