// SPDX-License-Identifier: Apache-2.0
// Stored files that were once read wrongly, each in a folder of its own. They are not part of the
// source: tests are skipped without them, and each kind has tests of its own.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/metric_meaning.h"
#include "qa/results/imported.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::imports {
namespace {

class SharedCasesTest : public ImportFixture {
 protected:
  // Skips the test and returns nothing when the case is not there.
  ImportedResults Read(const std::string& format, const std::string& name) {
    const std::string path = concur::testing::SharedData("../cases/" + name);
    if (path.empty()) {
      return {};
    }
    auto results = ImportAs(format, {path});
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? *std::move(results) : ImportedResults();
  }
  static std::vector<std::string> Scores(const ImportedResults& results) {
    std::vector<std::string> scores;
    for (const ImportedCell& cell : results.cells) {
      scores.push_back(absl::StrCat(results.models[cell.model].name, " ",
                                    results.tasks[cell.task].name, " ",
                                    results.runs[cell.run].run.metrics[0].value));
    }
    return scores;
  }
};

#define CONCUR_READ_CASE_OR_SKIP(results, format, name)             \
  const ImportedResults results = Read(format, name);               \
  if (results.cells.empty()) {                                      \
    ASSERT_FALSE(HasFailure());                                     \
    GTEST_SKIP() << name << " is not here (see CONCUR_SHARED_DIR)"; \
  }

TEST_F(SharedCasesTest, ColumnSilentlyTag) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "column-silently-tag/in.csv");
  EXPECT_THAT(Names(results.tasks), ElementsAre("A", "B", "C"));
  EXPECT_EQ(Score(results, "m3", "C"), 66.2);
  EXPECT_EQ(SkippedOf(results, "no score: a failure, as OOM"), 2);
}

TEST_F(SharedCasesTest, CountsAndErrorsAsBenchmarks) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "counts-and-errors-as-benchmarks/in.csv");
  EXPECT_THAT(Names(results.tasks), ElementsAre("win_rate"));
}

TEST_F(SharedCasesTest, HeaderNewline) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "header-newline/in.csv");
  EXPECT_THAT(Names(results.tasks), ElementsAre("A (5-shot)", "B"));
}

TEST_F(SharedCasesTest, InspectSchema3) {
  CONCUR_READ_CASE_OR_SKIP(results, "inspect", "inspect-schema-3/log.json");
  EXPECT_EQ(results.runs[0].run.metrics[0].value, 0.5);
}

TEST_F(SharedCasesTest, LmEvalLocalFamily) {
  CONCUR_READ_CASE_OR_SKIP(results, "lm-eval", "lm-eval-local-family");
  EXPECT_EQ(results.models.size(), 8U);
  for (const ImportedAxis& model : results.models) {
    EXPECT_EQ(model.tags.count("family"), 0U) << model.name;
  }
}

TEST_F(SharedCasesTest, LmEvalOldGroups) {
  CONCUR_READ_CASE_OR_SKIP(results, "lm-eval", "lm-eval-old-groups");
  EXPECT_THAT(Names(results.tasks), ElementsAre("g_a", "g_b"));
}

TEST_F(SharedCasesTest, LongUnknownColumn) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "long-unknown-column/in.csv");
  EXPECT_THAT(Scores(results), UnorderedElementsAre("a mmlu (0-shot) 40", "a mmlu (5-shot) 60",
                                                    "b mmlu (0-shot) 50", "b mmlu (5-shot) 52"));
}

TEST_F(SharedCasesTest, MinimizedWithUnit) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "minimized-with-unit/in.csv");
  EXPECT_EQ(results.tasks.size(), 3U);
  for (const ImportedAxis& task : results.tasks) {
    EXPECT_EQ(task.meaning.goal, Goal::kMinimize) << task.name;
  }
}

TEST_F(SharedCasesTest, MtebOldLanguages) {
  request_.options.languages = {"eng"};
  CONCUR_READ_CASE_OR_SKIP(results, "mteb", "mteb-old-languages/results");
  EXPECT_THAT(Scores(results), ElementsAre("org__a C 0.6"));
}

TEST_F(SharedCasesTest, MtebSplits) {
  CONCUR_READ_CASE_OR_SKIP(results, "mteb", "mteb-splits/results");
  EXPECT_THAT(Scores(results), ElementsAre("org__a R 0.3", "org__b R 0.4", "org__c R 0.5"));
}

TEST_F(SharedCasesTest, PercentMixed) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "percent-mixed/in.csv");
  EXPECT_EQ(Score(results, "a", "A"), 0.85);
  EXPECT_EQ(Score(results, "b", "A"), 0.9);
  EXPECT_EQ(Score(results, "c", "A"), 0.8);
}

TEST_F(SharedCasesTest, RunsChatTemplate) {
  CONCUR_READ_CASE_OR_SKIP(results, "lm-eval", "runs-chat-template");
  EXPECT_EQ(results.seeds, 1U);
  EXPECT_THAT(
      Scores(results),
      UnorderedElementsAre("a/one t 0.3", "a/one (chat_template {{m}}) t 0.7", "a/two t 0.6"));
}

TEST_F(SharedCasesTest, RunsLimit) {
  CONCUR_READ_CASE_OR_SKIP(results, "lm-eval", "runs-limit");
  EXPECT_EQ(Score(results, "a/one", "t"), 0.5);
  EXPECT_EQ(Score(results, "a/one", "t (limit 10)"), 0.9);
  EXPECT_EQ(results.seeds, 1U);
}

TEST_F(SharedCasesTest, TablePreambles) {
  for (const char* file : {"comment.csv", "markdown.csv", "parens.csv", "sep.csv"}) {
    CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", absl::StrCat("table-preambles/", file));
    EXPECT_THAT(Names(results.models), ElementsAre("m1", "m2")) << file;
    EXPECT_THAT(Names(results.tasks), ElementsAre("A", "B")) << file;
    EXPECT_EQ(results.cells.size(), 4U) << file;
  }
}

TEST_F(SharedCasesTest, TagNamesDropScores) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "tag-names-drop-scores/in.csv");
  EXPECT_THAT(Names(results.tasks), ElementsAre("Math", "Code", "Context", "Type"));
}

TEST_F(SharedCasesTest, Transposed) {
  CONCUR_READ_CASE_OR_SKIP(results, "leaderboard", "transposed/in.csv");
  EXPECT_THAT(Names(results.models), ElementsAre("m-small", "m-large"));
  EXPECT_THAT(Names(results.tasks), ElementsAre("gsm8k", "math", "bbh"));
  EXPECT_EQ(Score(results, "m-large", "gsm8k"), 60);
  EXPECT_EQ(Score(results, "m-small", "bbh"), 35);
}

}  // namespace
}  // namespace concur::imports
