// SPDX-License-Identifier: Apache-2.0
// Stored inputs that commands once answered wrongly, each in a folder of its own. They are not part
// of the source: tests are skipped without them, and each kind has tests of its own.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using PlainJson = nlohmann::ordered_json;

#define CONCUR_CASE_OR_SKIP(variable, name) CONCUR_SHARED_DATA_OR_SKIP(variable, "../cases/" name)

PlainJson JsonOf(std::vector<std::string> args) {
  args.insert(args.end(), {"-o", "json"});
  const Output output = RunConcur(args);
  EXPECT_EQ(output.code, 0) << output.err;
  return PlainJson::parse(output.out, nullptr, /*allow_exceptions=*/false);
}

// Expects rank sets of all approaches together that leave out no rank.
void ExpectNothingIsResolved(const PlainJson& ranks, size_t approaches) {
  ASSERT_THAT(ranks["rows"], SizeIs(approaches));
  for (const PlainJson& row : ranks["rows"]) {
    EXPECT_EQ(row["all_ranks_low"], 1) << row;
    EXPECT_EQ(row["all_ranks_high"], approaches) << row;
  }
}

TEST(CommandCasesTest, HfSquad) {
  CONCUR_CASE_OR_SKIP(folder, "hf-squad");
  const concur::testing::TempDir dir;
  const Output read =
      RunConcur({"data", "import", "squad", folder + "/in.jsonl", "--out", dir.File("out.jsonl")});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(ReadFile(dir.File("out.jsonl")).value_or(""), HasSubstr("[16, 19]"));
  const Output adapted = RunConcur({"adapt", "predictions", folder + "/predictions.json", "--out",
                                    dir.File("predictions.json")});
  EXPECT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_THAT(ReadFile(dir.File("predictions.json")).value_or(""), HasSubstr("\"1\": \"Ada\""));
}

TEST(CommandCasesTest, IntIds) {
  CONCUR_CASE_OR_SKIP(path, "int-ids/in.json");
  const concur::testing::TempDir dir;
  const Output read = RunConcur({"data", "import", "squad", path, "--out", dir.File("out.jsonl")});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(ReadFile(dir.File("out.jsonl")).value_or(""), HasSubstr("\"qid\": \"262\""));
}

TEST(CommandCasesTest, TiesOfMeans) {
  CONCUR_CASE_OR_SKIP(path, "statistics/ties-of-means/tie.csv");
  const concur::testing::TempDir dir;
  const Output read =
      RunConcur({"bundle", "convert", "leaderboard", path, "--out", dir.File("bundle")});
  ASSERT_EQ(read.code, 0) << read.err;
  const PlainJson matrix = JsonOf({"matrix", dir.File("bundle"), "--interval", "0"});
  EXPECT_NEAR(matrix["pairs"][0]["value"].get<double>(), 0.913, 0.0005) << matrix;
}

TEST(CommandCasesTest, RankNoSpread) {
  CONCUR_CASE_OR_SKIP(path, "statistics/rank-no-spread/s.csv");
  ExpectNothingIsResolved(JsonOf({"rank", "--scores", path}), 10);
}

TEST(CommandCasesTest, RankFewDocuments) {
  CONCUR_CASE_OR_SKIP(folder, "statistics/rank-few-documents");
  ExpectNothingIsResolved(
      JsonOf({"rank", "--scores", folder + "/s.csv", "--examples", folder + "/ex"}), 6);
}

TEST(CommandCasesTest, GroupClaim) {
  CONCUR_CASE_OR_SKIP(path, "statistics/group-claim/s.csv");
  const PlainJson ranks = JsonOf({"rank", "--scores", path});
  ASSERT_THAT(ranks["rows"], SizeIs(3));
  for (size_t i = 0; i + 1 < 3; ++i) {
    const PlainJson& row = ranks["rows"][i];
    EXPECT_TRUE(row["next_p"] > 0.05 || row["group"] != ranks["rows"][i + 1]["group"]) << row;
  }
}

TEST(CommandCasesTest, FamiliesMissing) {
  CONCUR_CASE_OR_SKIP(folder, "statistics/families-missing");
  std::vector<double> widths;
  for (const char* file : {"/all.csv", "/five.csv"}) {
    const PlainJson matrix = JsonOf({"matrix", "--scores", folder + file});
    const PlainJson& pair = matrix["pairs"][0];
    widths.push_back(pair["high"].get<double>() - pair["low"].get<double>());
  }
  EXPECT_NEAR(widths[0], widths[1], 0.05) << "five families have scores in both columns";
}

TEST(CommandCasesTest, ShiftFamilies) {
  CONCUR_CASE_OR_SKIP(path, "statistics/shift-families/shf.csv");
  const auto width = [&](const char* families) {
    const PlainJson shift = JsonOf({"shift", "--scores", path, "--from", "X", "--to", "Y",
                                    "--interval", "0.95", "--families", families});
    const PlainJson& interval = shift["fits"][0]["slope_interval"];
    return interval[1].get<double>() - interval[0].get<double>();
  };
  EXPECT_GT(width("family"), 2 * width("none"));
}

TEST(CommandCasesTest, RelativesFalse) {
  CONCUR_CASE_OR_SKIP(path, "statistics/relatives-false/s.csv");
  const Output matrix = RunConcur({"matrix", "--scores", path, "--replicates", "100", "--notes"});
  EXPECT_EQ(matrix.code, 0) << matrix.err;
  EXPECT_THAT(absl::StrCat(matrix.out, matrix.err), Not(HasSubstr("deviate")));
}

}  // namespace
}  // namespace concur::cli
