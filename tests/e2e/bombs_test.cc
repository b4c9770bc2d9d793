// SPDX-License-Identifier: Apache-2.0
// Small files that unpack to far more, or hold one huge record, given to every command that reads
// data sets: each refuses them in little memory.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/e2e/cluster.h"
#include "tests/testing/gzip.h"
#include "tests/testing/sanitizers.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr size_t kUnpacked = size_t{400} << 20;
// Limit of address space, most of it libraries and stacks. Less than any of the files unpacks to.
constexpr int kMemoryKiB = 300'000;

struct Bomb {
  const char* name;
  const char* begin;
  char filling;
};

constexpr Bomb kBombs[] = {
    {"OnePassage", R"({"context": ")", 'a'},
    {"Nested", R"({"data": )", '['},
};

class BombsTest : public ::testing::TestWithParam<Bomb> {
 protected:
  void SetUp() override {
#ifdef CONCUR_SANITIZED
    GTEST_SKIP() << "a sanitizer takes more address space than there is";
#endif
    bomb_ = cluster_.File("bomb.gz");
    const std::string packed = GzipRepeated(GetParam().begin, GetParam().filling, kUnpacked);
    ASSERT_LT(packed.size(), size_t{2} << 20);
    ASSERT_TRUE(WriteFileAtomically(bomb_, packed).ok());
    cluster_.Write("good.jsonl", R"({"context": "a b", "qas": [{"qid": "1", "question": "?", )"
                                 R"("answers": ["a"]}]})"
                                 "\n");
    cluster_.Write("good.json", R"({"1": "a"})");
  }
  Output Concur(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = {"/bin/sh", "-c",
                                     absl::StrCat("ulimit -v ", kMemoryKiB, " && exec \"$@\""),
                                     "sh", Cluster::Binary("concur")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return Cluster::Run(argv, cluster_.File("run"));
  }
  void ExpectRefused(const std::vector<std::string>& arguments,
                     const std::string& because =
                         "unpacks to more than 100 times|"
                         "more than 32 MiB") {
    const Output output = Concur(arguments);
    EXPECT_EQ(output.exit_code, 2) << arguments[1] << output.out << output.err;
    EXPECT_THAT(absl::StrCat(output.out, output.err),
                ContainsRegex(absl::StrCat("bomb.gz.*(", because, ")")))
        << arguments[1];
  }

  Cluster cluster_;
  std::string bomb_;
};

INSTANTIATE_TEST_SUITE_P(All, BombsTest, ::testing::ValuesIn(kBombs),
                         [](const auto& bomb) { return bomb.param.name; });

TEST_P(BombsTest, EveryCommandOfDataSetsRefusesIt) {
  const std::string out = cluster_.File("out.jsonl");
  ExpectRefused({"data", "validate", bomb_});
  ExpectRefused({"data", "stats", bomb_});
  ExpectRefused({"data", "downsample", bomb_, "--questions", "1", "--out", out});
  ExpectRefused({"data", "majority", bomb_, "--out", out});
  ExpectRefused({"data", "split", bomb_, "--out", cluster_.File("parts")});
  ExpectRefused({"data", "mixture", "--part", "a=" + bomb_, "--out", out});
  ExpectRefused({"data", "export", "squad", bomb_, "--out", cluster_.File("out.json")});
  ExpectRefused({"data", "score", "--data", bomb_, "--predictions", cluster_.File("good.json")});
  ExpectRefused({"data", "score", "--data", cluster_.File("good.jsonl"), "--predictions", bomb_});
}

TEST_P(BombsTest, EveryImporterRefusesIt) {
  for (const char* format : {"addonesent", "addsent", "adversarialqa", "babi", "cbt", "cnn", "drop",
                             "drop-raw", "hotpotqa", "lambada", "mrqa", "naturalquestions",
                             "newsqa", "record", "squad", "squadshifts"}) {
    ExpectRefused({"data", "import", format, bomb_, "--out", cluster_.File("out")},
                  "more than|expected|missing");
  }
  ExpectRefused(
      {"data", "import", "qamr", bomb_, "--sentences", bomb_, "--out", cluster_.File("out")},
      "more than|expected|missing");
}

}  // namespace
}  // namespace concur::testing
