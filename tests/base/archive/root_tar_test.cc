// SPDX-License-Identifier: Apache-2.0
// Root file systems and images that other people packed, with whatever may be in them.
#include "base/archive/root_tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

using ::testing::_;

struct RootEntry {
  std::string name;
  mode_t type = AE_IFREG;
  std::string contents = {};
  std::string link = {};
  mode_t rights = 0644;
  size_t hole = 0;  // bytes before the contents that are in no tar
};

enum class Packing { kPlain, kGzip, kXz, kZstd };

void Pack(const std::string& path, const std::vector<RootEntry>& entries,
          Packing packing = Packing::kPlain) {
  archive* a = archive_write_new();
  archive_write_set_format_pax_restricted(a);
  packing == Packing::kGzip   ? archive_write_add_filter_gzip(a)
  : packing == Packing::kXz   ? archive_write_add_filter_xz(a)
  : packing == Packing::kZstd ? archive_write_add_filter_zstd(a)
                              : archive_write_add_filter_none(a);
  ASSERT_EQ(archive_write_open_filename(a, path.c_str()), ARCHIVE_OK);
  for (const RootEntry& entry : entries) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, entry.name.c_str());
    archive_entry_set_filetype(e, entry.type);
    archive_entry_set_perm(e, entry.rights);
    archive_entry_set_uid(e, 12345);
    const std::string data = std::string(entry.hole, '\0') + entry.contents;
    archive_entry_set_size(e, static_cast<la_int64_t>(data.size()));
    if (entry.hole > 0) {
      archive_entry_sparse_add_entry(e, static_cast<la_int64_t>(entry.hole),
                                     static_cast<la_int64_t>(entry.contents.size()));
    }
    archive_entry_set_mtime(e, 1'000'000'000, 0);
    if (entry.type == AE_IFLNK) {
      archive_entry_set_symlink(e, entry.link.c_str());
    } else if (!entry.link.empty()) {
      archive_entry_set_hardlink(e, entry.link.c_str());
    }
    ASSERT_EQ(archive_write_header(a, e), ARCHIVE_OK) << entry.name;
    archive_write_data(a, data.data(), data.size());
    archive_entry_free(e);
  }
  archive_write_close(a);
  archive_write_free(a);
}

class RootTarTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const { return temp_.File(name); }
  absl::Status Extract(const std::vector<RootEntry>& entries, const RootLimits& limits = {},
                       Packing packing = Packing::kPlain) {
    std::filesystem::remove_all(File("root"));
    Pack(File("root.tar"), entries, packing);
    return ExtractRootTar(File("root.tar"), File("root"), limits);
  }
  std::string Read(const std::string& name) const {
    return ReadFile(File(name)).value_or("(unreadable)");
  }

  TempDir temp_;
};

const std::vector<RootEntry> kSmallRoot = {
    {"./", AE_IFDIR, "", "", 0755},
    {"./usr/", AE_IFDIR, "", "", 0555},
    {"./usr/tool", AE_IFREG, "run", "", 04755},
    {"./bin", AE_IFLNK, "", "usr"},
    {"./outside", AE_IFLNK, "", "/etc/passwd"},
    {"./usr/again", AE_IFREG, "", "./usr/tool"},
    {"./dev/", AE_IFDIR, "", "", 0755},
    {"./dev/null", AE_IFCHR},
    {"./secret", AE_IFREG, "x", "", 0000},
};

TEST_F(RootTarTest, FilesFoldersAndLinksComeOutAsThisUsersOwn) {
  for (const Packing packing : {Packing::kPlain, Packing::kGzip, Packing::kXz, Packing::kZstd}) {
    ASSERT_OK(Extract(kSmallRoot, {}, packing));
    ASSERT_OK(CheckRootTar(File("root.tar")));
    EXPECT_EQ(Read("root/usr/again"), "run");
    EXPECT_EQ(Read("root/bin/tool"), "run");
    struct stat info {};
    ASSERT_EQ(lstat(File("root/usr/tool").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0755u) << "no setuid bit";
    EXPECT_EQ(info.st_uid, geteuid());
    EXPECT_EQ(info.st_mtim.tv_sec, 1'000'000'000) << "Python compares times";
    ASSERT_EQ(lstat(File("root/secret").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0400u) << "its user can read it";
    ASSERT_EQ(lstat(File("root/outside").c_str(), &info), 0);
    EXPECT_TRUE(S_ISLNK(info.st_mode)) << "it is followed within the root only";
    EXPECT_NE(lstat(File("root/dev/null").c_str(), &info), 0) << "sandboxes have their own";
  }
}

TEST_F(RootTarTest, HostileEntriesAreRefusedAndTouchNothingOutside) {
  ASSERT_OK(WriteFileAtomically(File("victim"), "untouched"));
  const std::string victim = File("victim");
  struct Case {
    std::string name;
    std::vector<RootEntry> entries;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {"parent", {{"../victim", AE_IFREG, "x"}}, "outside the root"},
           {"inner parent", {{"a/../../victim", AE_IFREG, "x"}}, "outside the root"},
           {"absolute", {{victim, AE_IFREG, "x"}}, "outside the root"},
           {"through a link",
            {{"link", AE_IFLNK, "", temp_.File("")}, {"link/victim", AE_IFREG, "x"}},
            "link"},
           {"through a relative link",
            {{"link", AE_IFLNK, "", ".."}, {"link/victim", AE_IFREG, "x"}},
            "link"},
           {"hard link to outside", {{"hard", AE_IFREG, "", "../victim"}}, "outside the root"},
           {"hard link to absolute", {{"hard", AE_IFREG, "", victim}}, "outside the root"},
           {"hard link through a link",
            {{"link", AE_IFLNK, "", temp_.File("")}, {"hard", AE_IFREG, "", "link/victim"}},
            ""},
           {"a file in the place of a folder behind a link",
            {{"link", AE_IFLNK, "", temp_.File("")}, {"link/root", AE_IFREG, "x"}},
            "link"},
           {"device", {{"etc/disk", AE_IFBLK}}, "device"},
           {"pipe", {{"pipe", AE_IFIFO}}, "pipe"},
       }) {
    EXPECT_THAT(Extract(c.entries),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.name;
    EXPECT_EQ(Read("victim"), "untouched") << c.name;
    EXPECT_TRUE(std::filesystem::is_directory(File("root"))) << c.name;
  }
}

// A link named "link/." was taken for something in a folder "link/": what came after it removed a
// directory outside the root.
TEST_F(RootTarTest, NamesWithDotsAndDoubleSlashesLeadNowhereElse) {
  const std::string outside = File("outside");
  ASSERT_OK(MakeDirectories(outside + "/evil"));
  ASSERT_OK(WriteFileAtomically(outside + "/evil/victim", "untouched"));
  const RootEntry evil = {"b/evil", AE_IFREG, "x"};
  struct Case {
    std::string name;
    std::vector<RootEntry> entries;
  };
  for (const Case& c : std::vector<Case>{
           {"dot behind", {{"b/.", AE_IFLNK, "", outside}, evil}},
           {"dots and slashes behind", {{"b/././/", AE_IFLNK, "", outside}, evil}},
           {"slash behind", {{"b/", AE_IFLNK, "", outside}, evil}},
           {"dot before", {{".//b", AE_IFLNK, "", outside}, evil}},
           {"dot within", {{"a/./b", AE_IFLNK, "", outside}, {"a/b/evil", AE_IFREG, "x"}}},
           {"slashes within", {{"a//b", AE_IFLNK, "", outside}, {"a/b/evil", AE_IFREG, "x"}}},
           {"a link in the place of a folder",
            {{"b/", AE_IFDIR, "", "", 0755},
             {"b/file", AE_IFREG, "x"},
             {"b", AE_IFLNK, "", outside},
             evil}},
           {"a link in the place of the folder of the last name checked",
            {{"a", AE_IFLNK, "", outside},
             {"b/file", AE_IFREG, "x"},
             {"b/.", AE_IFREG, "", "a"},
             evil}},
           {"a hard link to a link",
            {{"a", AE_IFLNK, "", outside}, {"b", AE_IFREG, "", "a"}, evil}},
           {"a hard link's target",
            {{"a", AE_IFLNK, "", outside}, {"b", AE_IFREG, "", "a/./evil//victim"}, evil}},
           {"folders in the place of the link",
            {{"b", AE_IFLNK, "", outside}, {"b/./evil", AE_IFDIR, "", "", 0700}, evil}},
       }) {
    EXPECT_THAT(Extract(c.entries), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("link")))
        << c.name;
    EXPECT_EQ(Read("outside/evil/victim"), "untouched") << c.name;
  }
  // Names are the same file however they are written.
  ASSERT_OK(Extract({{"./a//./b/.", AE_IFDIR, "", "", 0755},
                     {".//a/b//c", AE_IFREG, "x"},
                     {"d/./e", AE_IFREG, "", "./a/./b//c"},
                     {"dev/.//null", AE_IFCHR}}));
  EXPECT_EQ(Read("root/a/b/c"), "x");
  EXPECT_EQ(Read("root/d/e"), "x");
}

TEST_F(RootTarTest, BombsEndAtTheirLimit) {
  RootLimits few;
  few.entries_max = 3;
  EXPECT_THAT(Extract(kSmallRoot, few),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 3 entries")));
  RootLimits small;
  small.bytes_max = 10;
  EXPECT_THAT(Extract({{"big", AE_IFREG, std::string(11, 'x')}}, small),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 10 bytes")));
  // 80 MB of zeros are some 80 kB of gzip.
  EXPECT_THAT(Extract({{"zeros", AE_IFREG, std::string(80'000'000, '\0')}}, {}, Packing::kGzip),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unpacks to more than")));
  RootLimits canceled;
  canceled.is_canceled = [] { return true; };
  EXPECT_THAT(Extract(kSmallRoot, canceled), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(RootTarTest, WhatIsNoTarIsSaidSo) {
  ASSERT_OK(WriteFileAtomically(File("text"), "no tar at all\n"));
  EXPECT_THAT(CheckRootTar(File("text")), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(ExtractRootTar(File("text"), File("a")),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(CheckRootTar(File("nowhere")), StatusIs(absl::StatusCode::kInvalidArgument, _));
  Pack(File("whole.tar"), {{"big", AE_IFREG, std::string(100'000, 'x')}});
  const std::string whole = Read("whole.tar");
  ASSERT_OK(WriteFileAtomically(File("cut.tar"), whole.substr(0, 50'000)));
  EXPECT_THAT(ExtractRootTar(File("cut.tar"), File("b")),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

// An image as `podman save --format oci-archive` writes it.
class OciArchiveTest : public RootTarTest {
 protected:
  std::string AddBlob(const std::string& contents) {
    const std::string digits = Sha256Of(contents).ToHex();
    blobs_.push_back({absl::StrCat("blobs/sha256/", digits), AE_IFREG, contents});
    return absl::StrCat(R"({"digest": "sha256:)", digits, R"(", "size": )", contents.size(), "}");
  }
  std::string Layer(const std::vector<RootEntry>& entries, Packing packing = Packing::kGzip) {
    Pack(File("layer"), entries, packing);
    return AddBlob(Read("layer"));
  }
  void Write(const std::string& layers, const std::string& config = R"({"config": {"Env":
      ["PATH=/opt/bin", "TEXT=a\nb"]}})") {
    const std::string manifest =
        AddBlob(absl::StrCat(R"({"config": )", AddBlob(config), R"(, "layers": [)", layers, "]}"));
    WriteIndex(absl::StrCat(R"({"manifests": [)", manifest, "]}"));
  }
  void WriteIndex(const std::string& index, Packing packing = Packing::kPlain) {
    std::vector<RootEntry> entries = blobs_;
    entries.push_back({"index.json", AE_IFREG, index});
    Pack(File("image.tar"), entries, packing);
  }
  absl::StatusOr<std::vector<std::string>> ExtractImage() {
    std::filesystem::remove_all(File("root"));
    return ExtractOciArchive(File("image.tar"), File("scratch"), File("root"));
  }

  std::vector<RootEntry> blobs_;
};

TEST_F(OciArchiveTest, LayersLieUponEachOtherAndTakeAwayWhatTheyHide) {
  const std::string lower = Layer({{"etc/", AE_IFDIR, "", "", 0755},
                                   {"etc/kept", AE_IFREG, "1"},
                                   {"etc/hidden", AE_IFREG, "2"},
                                   {"etc/changed", AE_IFREG, "3"},
                                   {"opaque/a", AE_IFREG, "4"},
                                   {"folder/b", AE_IFREG, "5"}});
  const std::string upper = Layer({{"opaque/new", AE_IFREG, "6"},
                                   {"opaque/.wh..wh..opq"},
                                   {"etc/.wh.hidden"},
                                   {"etc/changed", AE_IFREG, "7"},
                                   {"folder", AE_IFREG, "8"}},
                                  Packing::kZstd);
  Write(absl::StrCat(lower, ", ", upper));
  ASSERT_OK(CheckOciArchive(File("image.tar")));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> env, ExtractImage());
  EXPECT_THAT(env, ElementsAre("PATH=/opt/bin", "TEXT=a\nb"));
  EXPECT_EQ(Read("root/etc/kept"), "1");
  EXPECT_FALSE(std::filesystem::exists(File("root/etc/hidden")));
  EXPECT_EQ(Read("root/etc/changed"), "7");
  EXPECT_FALSE(std::filesystem::exists(File("root/opaque/a")));
  EXPECT_EQ(Read("root/opaque/new"), "6");
  EXPECT_EQ(Read("root/folder"), "8");
  EXPECT_FALSE(std::filesystem::exists(File("scratch")));
}

TEST_F(OciArchiveTest, WhiteoutsRemoveNothingOutsideTheRoot) {
  ASSERT_OK(WriteFileAtomically(File("victim"), "untouched"));
  Write(absl::StrCat(Layer({{"link", AE_IFLNK, "", temp_.File("")}}), ", ",
                     Layer({{"link/.wh.victim"}, {"link/.wh..wh..opq"}, {".wh..."}, {".wh.."}})));
  ExtractImage().IgnoreError();
  EXPECT_EQ(Read("victim"), "untouched");
  blobs_.clear();
  Write(absl::StrCat(
      Layer({{"link/.", AE_IFLNK, "", temp_.File("")}}), ", ",
      Layer({{"link/.//.wh.victim/."}, {"link//.wh..wh..opq/"}, {"./link/./.wh.victim"}})));
  ASSERT_OK(ExtractImage());
  EXPECT_EQ(Read("victim"), "untouched");
}

// Only limits.bytes_max bounded what blobs take on the disk, however small the archive.
TEST_F(OciArchiveTest, BlobsOfBombsEndAtTheirLimit) {
  AddBlob(std::string(80'000'000, '\0'));
  WriteIndex("{}", Packing::kGzip);
  EXPECT_THAT(ExtractImage(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unpacks to more than")));
  blobs_ = {{absl::StrCat("blobs/sha256/", std::string(64, 'a')), AE_IFREG, "x"}};
  blobs_[0].hole = 80'000'000;
  WriteIndex("{}");
  ASSERT_LT(std::filesystem::file_size(File("image.tar")), 100'000u);
  EXPECT_THAT(ExtractImage(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unpacks to more than")));
  // Layers that are each within their limit.
  blobs_.clear();
  Write(absl::StrCat(Layer({{"a", AE_IFREG, std::string(50'000'000, '\0')}}), ", ",
                     Layer({{"b", AE_IFREG, std::string(50'000'000, '\0')}})));
  EXPECT_THAT(ExtractImage(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unpacks to more than")));
  // An image within the free bytes is not refused for its size.
  blobs_.clear();
  AddBlob(std::string(40'000'000, '\0'));
  WriteIndex("{}", Packing::kGzip);
  EXPECT_THAT(ExtractImage(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leads to no manifest")));
}

TEST_F(OciArchiveTest, DamagedAndStrangeImagesAreRefused) {
  const std::string layer = Layer({{"a", AE_IFREG, "1"}});
  Write(layer);
  blobs_[0].contents += "x";  // not what its name says
  WriteIndex("{}");
  EXPECT_THAT(ExtractImage(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("damaged")));
  blobs_.clear();
  for (const char* index :
       {"", "[]", "{}", R"({"manifests": 1})", R"({"manifests": [{"digest": 7}]})",
        R"({"manifests": [{"digest": "sha256:../../etc/passwd"}]})",
        R"({"manifests": [], "layers": []})", R"({"layers": [{}], "config": {}})"}) {
    WriteIndex(index);
    EXPECT_THAT(ExtractImage(), StatusIs(absl::StatusCode::kInvalidArgument, _)) << index;
    EXPECT_FALSE(std::filesystem::exists(File("scratch"))) << index;
  }
  Pack(File("plain.tar"), kSmallRoot);
  EXPECT_THAT(CheckOciArchive(File("plain.tar")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("index.json")));
}

}  // namespace
}  // namespace concur
