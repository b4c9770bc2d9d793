// SPDX-License-Identifier: Apache-2.0
// `concur bundle convert`, and what other commands make of its bundle.

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class BundleConvertTest : public ::testing::Test {
 protected:
  BundleConvertTest() {
    // Twenty models, of which most have no score on the third task.
    std::string board = "Model\tOrg\tArithmetic\tLogic\tPoetry\n";
    for (int m = 0; m < 20; ++m) {
      absl::StrAppend(&board, "model-", m, "\torg-", m / 4, "\t", 10 + 3 * m, ".5\t", 90 - 2 * m,
                      ".25\t", m < 12 ? "N/A" : absl::StrCat(m, ".75"), "\n");
    }
    CONCUR_CHECK_OK(WriteFileAtomically(board_, board));
  }

  Output Import() {
    return RunConcur({"bundle", "convert", "leaderboard", board_, "--out", bundle_});
  }

  const TempDir dir_;
  const std::string board_ = dir_.File("board.tsv");
  const std::string bundle_ = dir_.File("bundle");
};

TEST_F(BundleConvertTest, ABundleIsReadByTheOtherCommands) {
  const Output import = Import();
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_THAT(import.out, HasSubstr("models            20"));
  EXPECT_THAT(import.out, HasSubstr("no score: a gap"));

  const Output matrix = RunConcur({"matrix", bundle_, "--notes"});
  ASSERT_EQ(matrix.code, 0) << matrix.err;
  EXPECT_THAT(matrix.out, HasSubstr("over 20 approaches, 3 benchmarks"));
  EXPECT_THAT(matrix.out, HasSubstr("12 of 20: model-0; model-1; model-2; model-3; model-4; "
                                    "model-5 and 6 more"));

  const Output scores = RunConcur({"scores", bundle_, "-o", "csv"});
  ASSERT_EQ(scores.code, 0) << scores.err;
  EXPECT_THAT(scores.out, HasSubstr("model-19"));
  EXPECT_THAT(scores.out, HasSubstr("67.5"));
}

// Three models on two tasks, with what each of four samples scored.
TEST_F(BundleConvertTest, ABundleWithExamplesIsReadByEveryCommandAndNamesItsSources) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> letters = {
      {"org/a", {"CCCI", "CCII"}}, {"org/b", {"CIII", "CCCI"}}, {"lab/c", {"CCCC", "CIII"}}};
  for (const auto& [model, tasks] : letters) {
    for (size_t t = 0; t < tasks.size(); ++t) {
      nlohmann::json log = {{"version", 2}, {"status", "success"}};
      log["eval"] = {{"model", model},
                     {"task", absl::StrCat("task-", t)},
                     {"packages", {{"inspect_ai", "0.3.9"}}}};
      log["stats"]["model_usage"][model]["total_tokens"] = 7;
      log["results"]["completed_samples"] = 4;
      int right = 0;
      for (const char letter : tasks[t]) {
        right += letter == 'C' ? 1 : 0;
        log["samples"].push_back({{"id", log["samples"].size()},
                                  {"scores", {{"s", {{"value", std::string(1, letter)}}}}}});
      }
      log["results"]["scores"][0] = {
          {"name", "s"},
          {"metrics", {{"accuracy", {{"value", right / 4.0}}}, {"stderr", {{"value", 0.25}}}}}};
      CONCUR_CHECK_OK(WriteFileAtomically(dir_.File(absl::StrCat(model.substr(4), "-", t, ".json")),
                                          log.dump()));
    }
  }
  const Output import = RunConcur({"bundle", "convert", "inspect", dir_.path(), "--out", bundle_});
  ASSERT_EQ(import.code, 0) << import.err;
  EXPECT_THAT(import.out, HasSubstr("with examples      6"));

  const std::string file = dir_.File("a-1.json");
  EXPECT_THAT(
      *ReadFile(bundle_ + "/sources.jsonl"),
      HasSubstr(absl::StrCat(
          R"("model":"org/a","task":"task-1","tool":"inspect 0.3.9","tokens":7.0,)",
          R"("metrics":[{"name":"s/accuracy","goal":"maximize","standard_error":0.25}],)",
          R"("file":")", file, R"(","sha256":")", DigestFile(file)->digest.ToHex(), "\"}\n")));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"matrix", bundle_},
           {"rank", bundle_},
           {"significance", bundle_},
           {"transfer", bundle_},
           {"scores", bundle_},
           {"uncertainty", bundle_},
           {"curve", bundle_},
           {"report", bundle_, "--out", dir_.File("page.html")}}) {
    const Output output = RunConcur(command);
    EXPECT_EQ(output.code, 0) << command[0] << ": " << output.err;
    const std::string text =
        command[0] == "report" ? *ReadFile(dir_.File("page.html")) : output.out;
    EXPECT_THAT(text, HasSubstr(command[0] == "rank" ? "lab/c     0.6250" : "task-1"))
        << command[0];
  }
}

TEST_F(BundleConvertTest, CommandsThatAskACoordinatorSayThatABundleIsNone) {
  // "no coordinator answers …; start one": which would not have helped.
  ASSERT_EQ(Import().code, 0);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"scores", bundle_, "--by-job"},
                                             {"scores", bundle_, "--by-job", "-o", "json"},
                                             {"scores", bundle_, "--columns"},
                                             {"job", "list", bundle_},
                                             {"usage", bundle_},
                                             {"sweep", "failures", bundle_},
                                             {"sweep", "get", bundle_},
                                             {"sweep", "steps", bundle_},
                                             {"sweep", "wait", bundle_},
                                             {"sweep", "watch", bundle_},
                                             {"sweep", "pause", bundle_},
                                             {"sweep", "retry", bundle_},
                                             {"sweep", "delete", bundle_, "--yes"}}) {
    std::vector<std::string> args = command;
    args.insert(args.end(), {"--server", "127.0.0.1:1"});
    const Output output = RunConcur(args);
    const std::string line = absl::StrJoin(command, " ");
    EXPECT_EQ(output.code, 2) << line << ": " << output.err;
    EXPECT_THAT(output.err, HasSubstr("is a path; expected a sweep of a coordinator")) << line;
    EXPECT_THAT(output.err, HasSubstr(absl::StrCat("concur bundle load ", bundle_))) << line;
  }
}

TEST_F(BundleConvertTest, AReportHasNoTableOfTrainSetsAndShortNotes) {
  ASSERT_EQ(Import().code, 0);
  const std::string page = dir_.File("page.html");
  const Output report = RunConcur({"report", bundle_, "--out", page, "--interval", "0"});
  ASSERT_EQ(report.code, 0) << report.err;
  const std::string html = *ReadFile(page);
  EXPECT_THAT(html, Not(HasSubstr("Train sets and test sets")));
  EXPECT_THAT(html, HasSubstr("imported without per-example scores"));
}

TEST_F(BundleConvertTest, EveryColumnIsNamedWithWhatItBecame) {
  // Columns that were taken for tags went without a word: "skipped 0".
  CONCUR_CHECK_OK(WriteFileAtomically(
      board_,
      "Model,Average,Code,Latency (ms),Note,Old\na,1,40.5,100,x,\nb,2,50,OOM,y,\nc,3,9,120,1,\n"));
  const Output import = Import();
  ASSERT_EQ(import.code, 0) << import.err;
  const Output dry = RunConcur({"bundle", "convert", "leaderboard", board_, "--dry-run"});
  ASSERT_EQ(dry.code, 0) << dry.err;
  for (const char* row :
       {"benchmark      3  Code: maximize; a guess: it may be a property; --leave-out",
        "benchmark      2  Latency (ms): minimize; a guess by its name",
        "mean           3  Average: a column that is called a mean",
        "tag            3  Note: 2 words; its 1 numbers are left out but for --keep",
        "left out       0  Old: no values"}) {
    EXPECT_THAT(dry.out, HasSubstr(row));
  }
  EXPECT_THAT(import.out, HasSubstr("Note: 2 words"));
  EXPECT_THAT(import.out, HasSubstr("no score: a failure, as OOM"));
  EXPECT_EQ(RunConcur({"bundle", "convert", "leaderboard", board_}).code, 2);
  const Output rows =
      RunConcur({"bundle", "convert", "leaderboard", board_, "--dry-run", "--rows", "cells"});
  EXPECT_THAT(rows.err, HasSubstr("--rows: expected models or tasks, got \"cells\""));
}

TEST_F(BundleConvertTest, NothingIsLeftWhereTheInputIsRefused) {
  CONCUR_CHECK_OK(WriteFileAtomically(board_, "Model\tArithmetic\nm\tten\n"));
  const Output import = Import();
  EXPECT_NE(import.code, 0);
  EXPECT_THAT(import.err, HasSubstr("board.tsv"));
  EXPECT_FALSE(std::filesystem::exists(bundle_));
}

TEST_F(BundleConvertTest, ADirectoryThatIsThereIsKept) {
  ASSERT_EQ(Import().code, 0);
  const Output again = Import();
  EXPECT_NE(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr(bundle_));
  EXPECT_EQ(RunConcur({"matrix", bundle_}).code, 0);
}

TEST_F(BundleConvertTest, AnUnknownFormatNamesTheKnownOnes) {
  const Output import = RunConcur({"bundle", "convert", "leaderbord", board_, "--out", bundle_});
  EXPECT_EQ(import.code, 2);
  EXPECT_THAT(import.err, HasSubstr("did you mean \"leaderboard\"?"));
}

}  // namespace
}  // namespace concur::cli
