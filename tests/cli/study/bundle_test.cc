// SPDX-License-Identifier: Apache-2.0
// `concur bundle write`, `concur bundle verify`, `concur diff` and `concur report`.
#include "cli/study/bundle.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "cli/study/bundle_files.h"
#include "tests/cli/study_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using PlainJson = nlohmann::ordered_json;

class BundleTest : public StudyFixture {
 protected:
  std::string Export(const std::string& name = "bundle") {
    const std::string directory = dir_.File(name);
    const Output output = Concur({"bundle", "write", "demo", "--out", directory});
    EXPECT_EQ(output.code, 0) << output.err;
    return directory;
  }

  // Changes a file of the bundle; with `sign`, also its digest, as a forger would.
  static void Change(const std::string& directory, const std::string& path, const std::string& from,
                     const std::string& to, bool sign) {
    const std::string file = directory + "/" + path;
    const std::string before = *ReadFile(file);
    ASSERT_TRUE(absl::StrContains(before, from)) << path << " has no " << from;
    std::string after = before;
    after.replace(after.find(from), from.size(), to);
    CONCUR_CHECK_OK(WriteFileAtomically(file, after));
    if (sign) {
      const std::string index = *ReadFile(directory + "/bundle.json");
      CONCUR_CHECK_OK(WriteFileAtomically(
          directory + "/bundle.json",
          absl::StrReplaceAll(index, {{Sha256Of(before).ToHex(), Sha256Of(after).ToHex()},
                                      {absl::StrCat("\"bytes\": ", before.size(), ","),
                                       absl::StrCat("\"bytes\": ", after.size(), ",")}})));
    }
  }

  TempDir dir_;
};

TEST_F(BundleTest, MatricesHaveNoPValuesButThoseOfOlderBundlesVerify) {
  const std::string directory = Export();
  EXPECT_THAT(*ReadFile(directory + "/matrix-kendall.json"), Not(HasSubstr("p_value")));
  ASSERT_OK_AND_ASSIGN(const Study study, LoadBundle(directory));
  const std::string older = dir_.File("older");
  ASSERT_OK(WriteBundle(study, older, {.p_values = true}));
  EXPECT_THAT(*ReadFile(older + "/matrix-kendall.json"), HasSubstr("p_value"));
  // Nothing in their index says it.
  const std::string index = *ReadFile(older + "/bundle.json");
  ASSERT_OK(WriteFileAtomically(older + "/bundle.json",
                                absl::StrReplaceAll(index, {{",\n  \"p_values\": true", ""}})));
  EXPECT_THAT(*ReadFile(older + "/bundle.json"), Not(HasSubstr("p_values")));
  EXPECT_EQ(Concur({"bundle", "verify", older}).code, 0);
}

TEST_F(BundleTest, ExportsAndVerifiesOffline) {
  const std::string directory = Export();
  for (const char* path : {"bundle.json", "sweep.json", "jobs.jsonl", "cells.csv", "scores.csv",
                           "table.csv", "table.json", "matrix-kendall.json", "matrix-pearson.json",
                           "matrix-spearman.json", "comparisons.json", "README.txt", "examples"}) {
    EXPECT_TRUE(std::filesystem::exists(directory + "/" + path)) << path;
  }
  const Output output = RunConcur({"--server", "127.0.0.1:1", "bundle", "verify", directory});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("every number is the same"));
  EXPECT_THAT(*ReadFile(directory + "/table.csv"), HasSubstr("lr,yes,75,75\n"));
  EXPECT_THAT(*ReadFile(directory + "/cells.csv"), HasSubstr("eval,lr,news,news,1,1,"));
  const PlainJson index = PlainJson::parse(*ReadFile(directory + "/bundle.json"));
  EXPECT_EQ(index["scorer"], "squad-1");
  EXPECT_EQ(index["seeds"], PlainJson({1}));
}

TEST_F(BundleTest, SaysThatSettingsWereChosenOnTheTestSet) {
  const std::string directory = Export();
  EXPECT_THAT(*ReadFile(directory + "/README.txt"), HasSubstr("Settings were chosen on the test"));
  EXPECT_THAT(*ReadFile(directory + "/table.csv"), HasSubstr("\n#chosen,,test,test\n"));
  EXPECT_THAT(*ReadFile(directory + "/table.json"), HasSubstr("Settings were chosen on the test"));
  const Output figure = RunConcur({"scatter", directory, "--x", "news", "--y", "wiki", "--notes"});
  EXPECT_THAT(figure.out, HasSubstr("Settings were chosen on the test"));
  const Output from_file = RunConcur(
      {"matrix", "--scores", directory + "/table.csv", "--interval", "0", "--format", "svg"});
  EXPECT_THAT(from_file.out, HasSubstr("Settings were chosen on the test")) << from_file.err;
}

// The rows "#goal" and so on made every column of a DataFrame text.
TEST_F(BundleTest, ACsvOfScoresHasOnlyScoresUnlessAskedForMore) {
  const std::string directory = Export();
  const std::string plain = RunConcur({"scores", directory, "-o", "csv"}).out;
  EXPECT_THAT(plain, Not(HasSubstr("#")));
  EXPECT_EQ(RunConcur({"scores", directory, "-o", "csv", "--minimize", "news"}).err,
            "concur: Less is better on news; --meta writes that into the CSV\n");
  const Output whole =
      RunConcur({"scores", directory, "-o", "csv", "--minimize", "news", "--meta"});
  EXPECT_EQ(whole.err, "");
  EXPECT_THAT(whole.out, AllOf(HasSubstr("\n#goal,"), HasSubstr("\n#chosen,")));
  const std::string scores = directory + "-scores.csv";
  CONCUR_CHECK_OK(WriteFileAtomically(scores, whole.out));
  EXPECT_THAT(RunConcur({"matrix", "--scores", scores}).out, HasSubstr("Less is better on news"));
}

TEST_F(BundleTest, SameSweepSameBytes) {
  const std::string a = Export("a");
  const std::string b = Export("b");
  EXPECT_EQ(*ReadFile(a + "/bundle.json"), *ReadFile(b + "/bundle.json"))
      << "which holds the digest of every other file";
}

TEST_F(BundleTest, EveryChangedNumberIsFoundAndNamed) {
  struct Case {
    const char* path;
    const char* from;
    const char* to;
    const char* found;
  };
  for (const Case& c : std::vector<Case>{
           {"table.csv", "75,75", "75,76", "table.csv:3: column"},
           {"scores.csv", ",87.5,", ",87.6,", "scores.csv:"},
           {"matrix-kendall.json", "\"n\":3", "\"n\":4", "matrix-kendall.json:1: column"},
           {"comparisons.json", "\"n\":40", "\"n\":41", "comparisons.json:1: column"},
           {"cells.csv", "eval,lr", "eval,rl", "cells.csv:"},
           {"jobs.jsonl", "\"value\":87.5", "\"value\":87.25",
            "exact_match: expected 87.5 from examples/"},
           {"jobs.jsonl", "\"setting_index\":1", "\"setting_index\":2",
            "setting_index: expected \"1\""},
           {"jobs.jsonl", "\"seed\":\"1\"", "\"seed\":\"2\"", "seed: expected \"1\""},
           {"sweep.json", "\"settings_seed\":\"42\"", "\"settings_seed\":\"43\"",
            "setting: expected"},
           {"README.txt", "Concur", "Canker", "README.txt:1"}}) {
    for (const bool sign : {false, true}) {
      const std::string directory = Export();
      Change(directory, c.path, c.from, c.to, sign);
      const Output output = RunConcur({"bundle", "verify", directory});
      EXPECT_EQ(output.code, 1) << c.path;
      EXPECT_THAT(output.err, HasSubstr(c.found)) << c.path << (sign ? ", signed" : "");
      std::filesystem::remove_all(directory);
    }
  }
}

// Concur 0.2.0 named its own commands in the README.
TEST_F(BundleTest, TheReadmeOf020IsVerified) {
  const std::string directory = Export();
  Change(directory, "README.txt", "concur bundle verify", "concur verify", /*sign=*/true);
  const Output output = RunConcur({"bundle", "verify", directory});
  EXPECT_EQ(output.code, 0) << output.err;
  Change(directory, "README.txt", "concur verify", "concur believe", /*sign=*/true);
  EXPECT_THAT(RunConcur({"bundle", "verify", directory}).err, HasSubstr("README.txt:1"));
}

TEST_F(BundleTest, ChangedExamplesAreFound) {
  const std::string directory = Export();
  const std::string path = ExamplesPath(ExamplesDigest("guess", "news"));
  Change(directory, path, "\"exact_match\": 1", "\"exact_match\": 0", /*sign=*/false);
  const Output output = RunConcur({"bundle", "verify", directory});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("another SHA-256 than the name"));
}

TEST_F(BundleTest, MissingAndExtraFilesAreFound) {
  const std::string directory = Export();
  CONCUR_CHECK_OK(WriteFileAtomically(directory + "/notes.txt", "x"));
  EXPECT_THAT(RunConcur({"bundle", "verify", directory}).err,
              HasSubstr("notes.txt: is not listed"));
  std::filesystem::remove(directory + "/notes.txt");
  std::filesystem::remove(directory + "/table.csv");
  EXPECT_THAT(RunConcur({"bundle", "verify", directory}).err, HasSubstr("table.csv: is listed"));
}

TEST_F(BundleTest, BrokenIndexesAreRefused) {
  const std::string directory = Export();
  const std::string index = *ReadFile(directory + "/bundle.json");
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "expected a JSON object"},
           {"{", "expected a JSON object"},
           {"{\"format\": 9}", "format: expected 1, got 9"},
           {absl::StrReplaceAll(index, {{"\"table.csv\"", "\"../table.csv\""}}),
            "expected a path within the bundle"},
           {absl::StrReplaceAll(index, {{"\"bytes\"", "\"size\""}}), "files: expected {"}}) {
    CONCUR_CHECK_OK(WriteFileAtomically(directory + "/bundle.json", text));
    const Output output = RunConcur({"bundle", "verify", directory});
    EXPECT_EQ(output.code, 2) << text;
    EXPECT_THAT(output.err, HasSubstr(part));
  }
  EXPECT_EQ(RunConcur({"bundle", "verify", dir_.File("nowhere")}).code, 3);
}

// Messages of the libraries had several lines and no place.
TEST_F(BundleTest, AFileBrokenByHandIsNamedWithItsPlace) {
  const std::string directory = Export();
  for (const auto& [file, from, to, part] : std::vector<std::array<std::string, 4>>{
           {"bundle.json", "{", "{,", "bundle.json: expected a JSON object: line 1, column 2: "},
           {"sweep.json", "{", "[", "sweep.json: expected JSON: line 1, column "},
           {"sweep.json", "\"name\"", "\"nam\"",
            "sweep.json:1: expected what concur bundle write makes: nam: no such field\n"},
           {"jobs.jsonl", "}\n{", "}\n{,", "jobs.jsonl: expected JSON: line 2, column 2: "}}) {
    const std::string path = absl::StrCat(directory, "/", file);
    const std::string whole = *ReadFile(path);
    std::string broken = whole;
    broken.replace(broken.find(from), from.size(), to);
    CONCUR_CHECK_OK(WriteFileAtomically(path, broken));
    const Output output = RunConcur({"bundle", "verify", directory});
    EXPECT_EQ(output.code, 2) << file;
    EXPECT_THAT(output.err, HasSubstr(part));
    EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << output.err;
    CONCUR_CHECK_OK(WriteFileAtomically(path, whole));
  }
}

TEST_F(BundleTest, NothingIsLeftBehindWhenExportFails) {
  fake_.artifacts[ExamplesDigest("guess", "news")] += " ";
  const Output output = Concur({"bundle", "write", "demo", "--out", dir_.File("bundle")});
  EXPECT_EQ(output.code, 1);
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(BundleTest, ExportNeverReplaces) {
  const std::string directory = Export();
  const Output output = Concur({"bundle", "write", "demo", "--out", directory});
  EXPECT_NE(output.code, 0);
  EXPECT_THAT(output.err, HasSubstr("is there already; remove it, or name another directory"));
}

TEST_F(BundleTest, ExamplesThatAreGoneAreListed) {
  fake_.artifacts.erase(ExamplesDigest("guess", "news"));
  const std::string directory = dir_.File("bundle");
  Output output = Concur({"bundle", "write", "demo", "--out", directory});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("1 jobs have no per-example scores any more"));
  output = RunConcur({"bundle", "verify", directory});
  EXPECT_EQ(output.code, 0) << output.err;
}

TEST_F(BundleTest, BundlesStandWhereSweepsDo) {
  const std::string directory = Export();
  EXPECT_EQ(RunConcur({"significance", directory, "--replicates", "200"}).code, 0);
  EXPECT_EQ(RunConcur({"rank", directory}).code, 0);
  EXPECT_EQ(RunConcur({"transfer", directory}).code, 0);
  EXPECT_EQ(RunConcur({"report", directory, "--out", dir_.File("r.html")}).code, 0);
}

TEST_F(BundleTest, DiffNamesFlipsBetweenSweepsBundlesAndFiles) {
  const std::string directory = Export();
  // "lr" falls behind "bert" on wiki.
  for (v1::Job& job : fake_.jobs) {
    if (job.approach() == "lr" && job.test_benchmark() == "wiki" &&
        !job.result().metrics().empty()) {
      job.mutable_result()->mutable_metrics(0)->set_value(60);
    }
  }
  Output output = Concur({"diff", directory, "demo", "-o", "json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const PlainJson json = PlainJson::parse(output.out);
  ASSERT_THAT(json["rows"], SizeIs(1));
  EXPECT_EQ(json["rows"][0]["benchmark"], "wiki");
  EXPECT_EQ(json["rows"][0]["first"], "lr");
  EXPECT_EQ(json["rows"][0]["cause"], "lr");
  output = RunConcur({"diff", directory + "/table.csv", directory});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("0 of 6 pairs"));
}

TEST_F(BundleTest, ReportIsOneFileWithComparisons) {
  const Output output = Concur({"report", "demo", "--out", dir_.File("r.html")});
  ASSERT_EQ(output.code, 0) << output.err;
  const std::string html = *ReadFile(dir_.File("r.html"));
  EXPECT_THAT(html, HasSubstr("<title>s1 demo</title>"));
  EXPECT_THAT(html, HasSubstr("Comparisons of approaches"));
  EXPECT_THAT(html, HasSubstr("Left out on all benchmarks: broken: no score"));
  EXPECT_THAT(html, HasSubstr(">failed</td>"));
  EXPECT_THAT(html, HasSubstr("<dt>specification</dt><dd>sha256 "));
}

TEST_F(BundleTest, ReportOfFilesRefusesWhatItCannotRead) {
  const std::string file = dir_.File("s.csv");
  CONCUR_CHECK_OK(WriteFileAtomically(file, "a,x\nm\xE9,1\n"));
  Output output = RunConcur({"report", "--scores", file, "--out", dir_.File("r.html")});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("s.csv:2: expected UTF-8"));
  CONCUR_CHECK_OK(WriteFileAtomically(file, "a,x\nm,1\nm,2\n"));
  output = RunConcur({"report", "--scores", file, "--out", dir_.File("r.html")});
  EXPECT_THAT(output.err, HasSubstr("approach \"m\" is already on line 2"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("r.html")));
  EXPECT_THAT(RunConcur({"report", "--scores", file}).err, HasSubstr("--out"));
  EXPECT_THAT(RunConcur({"report", "--out", "x"}).err,
              HasSubstr("expected either SWEEP or --scores"));
}

TEST(FirstDifferenceTest, NamesLineAndColumn) {
  EXPECT_OK(FirstDifference("f", "a\nb\n", "a\nb\n"));
  EXPECT_THAT(FirstDifference("f", "a,1\nb,22\nc\n", "a,1\nb,23\nc\n"),
              StatusIs(absl::StatusCode::kDataLoss, "f:2: column 4: expected b,22, got b,23"));
  EXPECT_THAT(
      FirstDifference("f", "a\nb\n", "a\n"),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f:2: column 1: expected b, got nothing")));
  EXPECT_THAT(FirstDifference("f", "", "x"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f:1: column 1: expected nothing")));
}

}  // namespace
}  // namespace concur::cli
