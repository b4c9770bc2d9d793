// SPDX-License-Identifier: Apache-2.0
// The programs that concur runs in its place: `concur data fetch` and its files.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/http_server.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

class FetchTest : public ::testing::Test {
 protected:
  void SetUp() override { Describe(Sha256Of(kBody).ToHex()); }
  void Describe(const std::string& digest) const {
    ASSERT_OK(MakeDirectories(dir_.File("catalogue")));
    ASSERT_OK(WriteFileAtomically(
        dir_.File("catalogue/cities.yaml"),
        absl::StrCat("apiVersion: concur/v1\n"
                     "kind: DataSource\n"
                     "metadata: {name: cities, description: \"cities, by size\"}\n"
                     "spec:\n"
                     "  licence: CC0\n"
                     "  homepage: https://example.org\n"
                     "  files:\n"
                     "    - name: cities.json\n"
                     "      url: ",
                     server_.Url("/cities.json"),
                     "\n"
                     "      sha256: ",
                     digest,
                     "\n"
                     "  import: [\"concur data import squad\"]\n")));
  }
  // An entry `name` with one file, m.bin; `more` stands before its files, `pin` behind its address.
  void DescribeFile(const std::string& name, const std::string& more, const std::string& url,
                    const std::string& pin = "") const {
    ASSERT_OK(WriteFileAtomically(
        dir_.File("catalogue/" + name + ".yaml"),
        absl::StrCat("apiVersion: concur/v1\nkind: DataSource\nmetadata: {name: ", name,
                     ", description: d}\nspec:\n  licence: none\n  homepage: https://example.org\n",
                     more, "  files: [{name: m.bin, url: \"", url, "\"", pin, "}]\n")));
  }
  Output Fetch(const std::vector<std::string>& more) const {
    std::vector<std::string> argv = {
        Cluster::Binary("concur"), "data",  "fetch",         "--catalogue",
        dir_.File("catalogue"),    "--out", dir_.File("out")};
    argv.insert(argv.end(), more.begin(), more.end());
    return Cluster::Run(argv, dir_.File("run"), {{"no_proxy", "127.0.0.1"}});
  }

  static constexpr char kBody[] = "{\"data\": []}\n";
  TempDir dir_;
  FakeHttpServer server_;
};

TEST_F(FetchTest, WithoutANameItListsTheCatalogue) {
  const Output output = Fetch({"-o", "csv"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_EQ(output.out, "name,files,licence,what\ncities,1,CC0,\"cities, by size\"\n");
}

TEST_F(FetchTest, AFileComesUnderItsName) {
  server_.Script({{.body = kBody}});
  const Output output = Fetch({"cities"});
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, AllOf(HasSubstr("fetched"), HasSubstr(Sha256Of(kBody).ToHex())));
  EXPECT_THAT(output.err,
              AllOf(HasSubstr("licence: CC0"), HasSubstr("next: concur data import squad")));
  ASSERT_OK_AND_ASSIGN(const std::string contents, ReadFile(dir_.File("out/cities.json")));
  EXPECT_EQ(contents, kBody);
  EXPECT_THAT(Fetch({"cities"}).out, HasSubstr("was here"));
  EXPECT_EQ(server_.requests().size(), 1);
}

TEST_F(FetchTest, WrongBytesAreNoFile) {
  Describe(Sha256Of("other").ToHex());
  server_.Script({{.body = kBody}, {.body = kBody}});
  const Output output = Fetch({"cities"});
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_THAT(output.err, AllOf(HasSubstr("concur: error: "), HasSubstr("cities.json")));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("out/cities.json")));
}

TEST_F(FetchTest, WithoutADigestTheFirstFetchCounts) {
  DescribeFile("model", "  revision: main\n", server_.Url("/{revision}/m.bin"));
  server_.Script({{.body = kBody}, {.body = "other"}, {.body = "other"}, {.body = "other"}});
  const Output first = Fetch({"model"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("first seen: recorded"));
  ASSERT_OK_AND_ASSIGN(const std::string record, ReadFile(dir_.File("out/FETCHED")));
  EXPECT_EQ(record,
            absl::StrCat(Sha256Of(kBody).ToHex(), " ", server_.Url("/main/m.bin"), " m.bin\n"));
  EXPECT_THAT(Fetch({"model"}).out, AllOf(HasSubstr("was here"), HasSubstr("as recorded")));

  const Output moved = Fetch({"model", "--revision", "v2"});
  EXPECT_EQ(moved.exit_code, 4);
  EXPECT_THAT(moved.err, HasSubstr("m.bin is from " + server_.Url("/main/m.bin") + ", and "));
  ASSERT_OK(WriteFileAtomically(dir_.File("out/m.bin"), "edited"));
  const Output edited = Fetch({"model"});
  EXPECT_EQ(edited.exit_code, 1);
  EXPECT_THAT(edited.err, HasSubstr("out/m.bin has changed since it was fetched"));
  EXPECT_EQ(server_.requests().size(), 1);

  std::filesystem::remove(dir_.File("out/m.bin"));
  const Output replaced = Fetch({"model"});
  EXPECT_EQ(replaced.exit_code, 1);
  EXPECT_THAT(replaced.err, HasSubstr("out/FETCHED has the digest with which it first came"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("out/m.bin")));
  std::filesystem::remove(dir_.File("out/FETCHED"));
  const Output taken = Fetch({"model", "--revision", "v2"});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;

  ASSERT_OK(WriteFileAtomically(dir_.File("out/FETCHED"), "abc http://x m.bin\n"));
  const Output damaged = Fetch({"model"});
  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.err, HasSubstr("out/FETCHED:1: expected a SHA-256 digest"));
}

TEST_F(FetchTest, WhatIsHalfFetchedIsOfOneAddress) {
  ASSERT_OK(MakeDirectories(dir_.File("out")));
  ASSERT_OK(WriteFileAtomically(dir_.File("out/m.bin.part"), "half"));
  ASSERT_OK(WriteFileAtomically(dir_.File("out/FETCHED"), "- http://elsewhere/m.bin m.bin\n"));
  DescribeFile("model", "", server_.Url("/m.bin"));
  const Output output = Fetch({"model"});
  EXPECT_EQ(output.exit_code, 4);
  EXPECT_THAT(output.err, HasSubstr("m.bin is from http://elsewhere/m.bin, and "));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(FetchTest, ARevisionIsOneThatTheEntryCanHave) {
  EXPECT_THAT(Fetch({"cities", "--revision", "v2"}).err, HasSubstr("cities has no revisions"));
  EXPECT_THAT(Fetch({"--revision", "v2"}).err, HasSubstr("--revision: of which entry?"));
  DescribeFile("pinned", "  revision: main\n", server_.Url("/{revision}/m.bin"),
               absl::StrCat(", sha256: ", Sha256Of(kBody).ToHex()));
  EXPECT_THAT(Fetch({"pinned", "--revision", "../x"}).err,
              HasSubstr("--revision: expected a commit, tag or branch"));
  const Output other = Fetch({"pinned", "--revision", "v2"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("has digests of pinned for revision main alone"));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(FetchTest, WhatIsNotPublicIsAskedForAndThenRecognized) {
  ASSERT_OK(WriteFileAtomically(dir_.File("catalogue/hidden.yaml"),
                                "apiVersion: concur/v1\n"
                                "kind: DataSource\n"
                                "metadata: {name: hidden, description: d}\n"
                                "spec:\n"
                                "  licence: none\n"
                                "  homepage: https://example.org\n"
                                "  files: [{name: h.json, ask: the organizers}]\n"
                                "  import: [concur data import squad]\n"));
  const Output absent = Fetch({"hidden"});
  EXPECT_EQ(absent.exit_code, 4);
  EXPECT_THAT(absent.err, HasSubstr("out/h.json is not public; ask the organizers; put the file "
                                    "there, then run: concur data import squad"));
  ASSERT_OK(MakeDirectories(dir_.File("out")));
  ASSERT_OK(WriteFileAtomically(dir_.File("out/h.json"), kBody));
  const Output present = Fetch({"hidden"});
  EXPECT_EQ(present.exit_code, 0) << present.err;
  EXPECT_THAT(present.out, AllOf(HasSubstr("was here"), HasSubstr(Sha256Of(kBody).ToHex())));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(FetchTest, AnUnknownNameIsNotFound) {
  const Output output = Fetch({"citys"});
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err, HasSubstr("no data source \"citys\""));
  EXPECT_THAT(output.err, HasSubstr("cities"));
}

TEST_F(FetchTest, AnUnknownOptionIsAnErrorOfTheCommandLine) {
  const Output output = Fetch({"--stall", "5"});
  EXPECT_EQ(output.exit_code, 2);
  EXPECT_THAT(output.err, HasSubstr("unknown option --stall"));
}

// --- programs that concur runs -------------------------------------------------------------------

TEST(CompanionTest, AProgramThatIsNotInstalledIsNamed) {
  const TempDir dir;
  std::filesystem::copy_file(Cluster::Binary("concur"), dir.File("concur"));
  const Output output =
      Cluster::Run({dir.File("concur"), "data", "fetch", "cities"}, dir.File("run"));
  EXPECT_EQ(output.exit_code, 4);
  EXPECT_THAT(output.err, HasSubstr(dir.File("concur-fetch") + ": expected this program beside"));
}

// A copy of the programs looked for configs/ in the current directory, and said so of no other.
TEST(CompanionTest, ProgramsWithoutTheirFilesSayWhereTheyLooked) {
  const TempDir dir;
  std::filesystem::create_directories(dir.File("bin"));
  std::filesystem::copy_file(Cluster::Binary("concur"), dir.File("bin/concur"));
  const Output output = Cluster::Run(
      {"/bin/sh", "-c", absl::StrCat("cd ", dir.File("bin"), " && exec ./concur init new")},
      dir.File("run"));
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_THAT(output.err,
              AllOf(HasSubstr("neither in " + dir.File("share/concur/configs") + " nor in "),
                    HasSubstr("copy share/concur beside the programs' folder")));
}

}  // namespace
}  // namespace concur::testing
