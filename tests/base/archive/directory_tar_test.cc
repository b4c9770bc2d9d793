// SPDX-License-Identifier: Apache-2.0
#include "base/archive/directory_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

struct Entry {
  std::string name;
  mode_t type = AE_IFREG;
  std::string contents = {};
  std::string link = {};
};

// A tar as an attacker would make it.
void WriteTar(const std::string& path, const std::vector<Entry>& entries) {
  archive* a = archive_write_new();
  archive_write_set_format_gnutar(a);
  ASSERT_EQ(archive_write_open_filename(a, path.c_str()), ARCHIVE_OK);
  for (const Entry& entry : entries) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, entry.name.c_str());
    archive_entry_set_filetype(e, entry.type);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, static_cast<la_int64_t>(entry.contents.size()));
    if (entry.type == AE_IFLNK) {
      archive_entry_set_symlink(e, entry.link.c_str());
    } else if (!entry.link.empty()) {
      archive_entry_set_hardlink(e, entry.link.c_str());
    }
    ASSERT_EQ(archive_write_header(a, e), ARCHIVE_OK);
    archive_write_data(a, entry.contents.data(), entry.contents.size());
    archive_entry_free(e);
  }
  archive_write_close(a);
  archive_write_free(a);
}

TEST(DirectoryTarTest, HostileEntriesAreRefusedAndTouchNothingOutside) {
  struct Case {
    std::string name;
    std::vector<Entry> entries;
  };
  const std::string root = "concur-directory/";
  for (const Case& c : std::vector<Case>{
           {"parent", {{root, AE_IFDIR}, {root + "../escaped", AE_IFREG, "x"}}},
           {"inner parent", {{root, AE_IFDIR}, {root + "a/../../escaped", AE_IFREG, "x"}}},
           {"absolute", {{root, AE_IFDIR}, {"/tmp/escaped", AE_IFREG, "x"}}},
           {"other root", {{root, AE_IFDIR}, {"other/file", AE_IFREG, "x"}}},
           {"symbolic link", {{root, AE_IFDIR}, {root + "l", AE_IFLNK, "", "/tmp"}}},
           {"through a link",
            {{root, AE_IFDIR}, {root + "l", AE_IFLNK, "", "../.."}, {root + "l/x", AE_IFREG, "x"}}},
           {"link up", {{root, AE_IFDIR}, {root + "l", AE_IFLNK, "", ".."}}},
           {"link up behind a name",
            {{root, AE_IFDIR},
             {root + "d/", AE_IFDIR},
             {root + "d/l", AE_IFLNK, "", ".."},
             {root + "l", AE_IFLNK, "", "d/l/../x"}}},
           {"empty link", {{root, AE_IFDIR}, {root + "l", AE_IFLNK, "", "a//b"}}},
           {"root as a link", {{root + "/", AE_IFLNK, "", "a"}}},
           {"hard link", {{root, AE_IFDIR}, {root + "h", AE_IFREG, "", "/etc/passwd"}}},
           {"device", {{root, AE_IFDIR}, {root + "d", AE_IFCHR}}},
           {"fifo", {{root, AE_IFDIR}, {root + "f", AE_IFIFO}}},
       }) {
    SCOPED_TRACE(c.name);
    TempDir temp;
    WriteTar(temp.File("evil.tar"), c.entries);
    EXPECT_THAT(ExtractDirectoryTar(temp.File("evil.tar"), temp.File("out")),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("evil.tar")));
    EXPECT_FALSE(std::filesystem::exists(temp.File("escaped")));
    EXPECT_FALSE(std::filesystem::exists("/tmp/escaped"));
  }
}

// A finished training was thrown away for a link to its own last checkpoint.
TEST(DirectoryTarTest, LinksThatStayInsideAreKept) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("d/blobs")));
  ASSERT_OK(MakeDirectories(temp.File("d/snapshots/main")));
  ASSERT_OK(WriteFileAtomically(temp.File("d/blobs/ab12"), "weights"));
  const auto link = [&](const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, temp.File("d/" + name));
  };
  link("../../blobs/ab12", "snapshots/main/model.bin");
  link(temp.File("d/blobs/ab12"), "absolute");
  link("snapshots/main/model.bin", "chain");
  link("snapshots", "folder");
  link("folder/main/model.bin", "through");
  link("checkpoint-500", "rotated");  // away
  link(".", "self");
  std::string tar;
  ASSERT_OK(WriteDirectoryTar(temp.File("d"), [&](absl::string_view data) {
    tar.append(data.data(), data.size());
    return absl::OkStatus();
  }));
  ASSERT_OK(WriteFileAtomically(temp.File("t"), tar));
  std::filesystem::rename(temp.File("d"), temp.File("gone"));
  ASSERT_OK(ExtractDirectoryTar(temp.File("t"), temp.File("out")));
  for (const char* name : {"snapshots/main/model.bin", "absolute", "chain", "through"}) {
    EXPECT_TRUE(std::filesystem::is_symlink(temp.File("out") + "/" + name)) << name;
    ASSERT_OK_AND_ASSIGN(const std::string back, ReadFile(temp.File("out") + "/" + name));
    EXPECT_EQ(back, "weights") << name;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(temp.File("out/rotated")));
  EXPECT_TRUE(std::filesystem::exists(temp.File("out/self/blobs")));
}

TEST(DirectoryTarTest, LinksThatLeadOutAreNamedWithTheirTargets) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("d/sub")));
  ASSERT_OK(WriteFileAtomically(temp.File("outside"), "secret"));
  ASSERT_OK(WriteFileAtomically(temp.File("d/kept"), "kept"));
  const auto link = [&](const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, temp.File("d/" + name));
  };
  link("../outside", "a");
  link("/etc/passwd", "b");
  link("sub/up/../outside", "c");  // inside by its text
  link("..", "sub/up");
  link("loop", "loop");
  link("../d-other", "z");
  std::string tar;
  const auto sink = [&](absl::string_view data) {
    tar.append(data.data(), data.size());
    return absl::OkStatus();
  };
  EXPECT_THAT(WriteDirectoryTar(temp.File("d"), sink),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a, a symbolic link to ../outside; write a copy")));
  std::vector<std::string> left_out;
  tar.clear();
  ASSERT_OK(WriteDirectoryTar(temp.File("d"), sink, &left_out));
  EXPECT_EQ(left_out, (std::vector<std::string>{
                          "a, a symbolic link to ../outside", "b, a symbolic link to /etc/passwd",
                          "c, a symbolic link to sub/up/../outside",
                          "loop, a symbolic link to loop", "z, a symbolic link to ../d-other"}));
  ASSERT_OK(WriteFileAtomically(temp.File("t"), tar));
  ASSERT_OK(ExtractDirectoryTar(temp.File("t"), temp.File("out")));
  EXPECT_TRUE(std::filesystem::exists(temp.File("out/kept")));
}

TEST(DirectoryTarTest, ALinkThatLeadsOutIsFoundWithoutATar) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("d/sub")));
  std::filesystem::create_symlink("sub", temp.File("d/inside"));
  std::filesystem::create_symlink("not-yet", temp.File("d/sub/dangling"));
  std::filesystem::create_symlink("..", temp.File("d/sub/up"));
  EXPECT_EQ(FindLinkOut(temp.File("d")), "");
  EXPECT_EQ(FindLinkOut(temp.File("none")), "");
  std::filesystem::create_symlink("/scratch/w9", temp.File("d/sub/w"));
  EXPECT_EQ(FindLinkOut(temp.File("d")), "sub/w, a symbolic link to /scratch/w9");
  std::filesystem::create_directory_symlink(temp.File("d"), temp.File("elsewhere"));
  EXPECT_EQ(FindLinkOut(temp.File("elsewhere")), "") << "it may lead to all of a file system";
}

TEST(DirectoryTarTest, AFolderTooDeepIsNotFollowedToItsEnd) {
  TempDir temp;
  std::string path = temp.File("d");
  for (int i = 0; i < 60; ++i) {
    path += "/d";
  }
  std::filesystem::create_directories(path);
  std::filesystem::create_symlink("/", path + "/deep");
  EXPECT_EQ(FindLinkOut(temp.File("d")), "");
  std::filesystem::create_symlink("/", temp.File("d/d/d/out"));
  EXPECT_EQ(FindLinkOut(temp.File("d")), "d/d/out, a symbolic link to /");
}

TEST(DirectoryTarTest, ATwiceNamedFileIsRefused) {
  TempDir temp;
  WriteTar(temp.File("t"), {{"concur-directory/", AE_IFDIR},
                            {"concur-directory/a", AE_IFREG, "1"},
                            {"concur-directory/a", AE_IFREG, "2"}});
  EXPECT_FALSE(ExtractDirectoryTar(temp.File("t"), temp.File("out")).ok());
}

TEST(DirectoryTarTest, ACutTarIsDataLoss) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("d/sub")));
  ASSERT_OK(WriteFileAtomically(temp.File("d/sub/file"), std::string(5000, 'x')));
  std::string tar;
  ASSERT_OK(WriteDirectoryTar(temp.File("d"), [&](absl::string_view data) {
    tar.append(data.data(), data.size());
    return absl::OkStatus();
  }));
  ASSERT_OK(WriteFileAtomically(temp.File("whole"), tar));
  ASSERT_OK_AND_ASSIGN(const bool is_directory, IsDirectoryTar(temp.File("whole")));
  EXPECT_TRUE(is_directory);
  ASSERT_OK(ExtractDirectoryTar(temp.File("whole"), temp.File("out")));
  ASSERT_OK_AND_ASSIGN(const std::string back, ReadFile(temp.File("out/sub/file")));
  EXPECT_EQ(back, std::string(5000, 'x'));
  ASSERT_OK(WriteFileAtomically(temp.File("cut"), tar.substr(0, 3000)));
  EXPECT_THAT(ExtractDirectoryTar(temp.File("cut"), temp.File("out2")),
              StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
}

TEST(DirectoryTarTest, WhatIsBeyondALimitIsNotUnpacked) {
  TempDir temp;
  WriteTar(temp.File("t"), {{"concur-directory/", AE_IFDIR},
                            {"concur-directory/a", AE_IFREG, "12345"},
                            {"concur-directory/b", AE_IFREG, "67890"}});
  EXPECT_OK(
      ExtractDirectoryTar(temp.File("t"), temp.File("all"), {.entries_max = 2, .bytes_max = 10}));
  EXPECT_THAT(ExtractDirectoryTar(temp.File("t"), temp.File("few"), {.entries_max = 1}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than 1 files")));
  EXPECT_THAT(
      ExtractDirectoryTar(temp.File("t"), temp.File("small"), {.entries_max = 2, .bytes_max = 9}),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than 9 bytes")));
}

// A sparse entry of some bytes stands for a file of any size.
TEST(DirectoryTarTest, AHoleInASparseFileCounts) {
  TempDir temp;
  archive* a = archive_write_new();
  archive_write_set_format_pax(a);
  ASSERT_EQ(archive_write_open_filename(a, temp.File("t").c_str()), ARCHIVE_OK);
  archive_entry* e = archive_entry_new();
  archive_entry_set_pathname(e, "concur-directory/huge");
  archive_entry_set_filetype(e, AE_IFREG);
  archive_entry_set_perm(e, 0644);
  archive_entry_set_size(e, int64_t{1} << 40);
  archive_entry_sparse_add_entry(e, (int64_t{1} << 40) - 1, 1);
  ASSERT_EQ(archive_write_header(a, e), ARCHIVE_OK);
  archive_write_data(a, "x", 1);
  archive_entry_free(e);
  archive_write_close(a);
  archive_write_free(a);
  EXPECT_THAT(ExtractDirectoryTar(temp.File("t"), temp.File("out"), {.bytes_max = 1'000'000}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than 1000000 bytes")));
}

TEST(DirectoryTarTest, AFileIsNotTakenForADirectory) {
  TempDir temp;
  for (const std::string& contents : {std::string(), std::string("concur-directory/"),
                                      std::string("concur-directory/x"), std::string(600, '\0')}) {
    ASSERT_OK(WriteFileAtomically(temp.File("f"), contents));
    ASSERT_OK_AND_ASSIGN(const bool is_directory, IsDirectoryTar(temp.File("f")));
    EXPECT_FALSE(is_directory);
  }
}

TEST(DirectoryTarTest, TheFirstErrorOfTheSinkComesBack) {
  TempDir temp;
  ASSERT_OK(MakeDirectories(temp.File("d")));
  EXPECT_THAT(WriteDirectoryTar(
                  temp.File("d"),
                  [](absl::string_view) { return absl::ResourceExhaustedError("disk full"); }),
              StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
}

}  // namespace
}  // namespace concur
