// SPDX-License-Identifier: Apache-2.0
#include "cli/study/study.h"

#include <memory>
#include <string>
#include <vector>

#include "analysis/score_table.h"
#include "cli/client/client.h"
#include "cli/study/bundle.h"
#include "cli/study/open_study.h"
#include "proto/rpc/convert_score.h"
#include "tests/cli/study_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class StudyTest : public StudyFixture {
 protected:
  // The scores that a coordinator would list of the study's jobs.
  void ListScoresOf(const std::vector<EvalJob>& jobs) {
    for (const EvalJob& job : jobs) {
      fake_.scores.push_back(rpc::ToProto(job.score));
    }
  }
  static std::string Csv(const analysis::ScoreTable& table) {
    std::string text;
    for (size_t a = 0; a < table.approaches().size(); ++a) {
      text += table.approaches()[a].name;
      for (size_t b = 0; b < table.benchmarks().size(); ++b) {
        const analysis::ScoreCell& cell = table.cell(a, b);
        text += " " + table.benchmarks()[b].name + "=" + std::to_string(cell.value) + "/" +
                std::to_string(cell.setting) + "/" + std::to_string(cell.failed);
      }
      text += "\n";
    }
    return text;
  }
};

TEST_F(StudyTest, ListedScoresJobsAndBundlesMakeTheSameTable) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Client> client,
                       Client::Connect(fake_.address(), rpc::CredentialFiles()));
  ASSERT_OK_AND_ASSIGN(const Study study, FetchStudy(*client, fake_.sweeps[0]));
  const TempDir directory;
  ASSERT_OK(WriteBundle(study, directory.File("bundle"), {.level = 0}));
  ASSERT_OK_AND_ASSIGN(const Study bundled, LoadBundle(directory.File("bundle")));
  for (const std::string metric : {"", "f1"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<EvalJob> jobs, EvalJobsOf(study, metric));
    ASSERT_THAT(jobs, SizeIs(10)) << "two benchmarks; one of four approaches has two settings";
    fake_.scores.clear();
    ListScoresOf(jobs);
    for (const std::string select : {"", "best", "default", "mean", "each"}) {
      ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table,
                           ScoreTableOf(study, metric, {.select = select}));
      ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable listed,
                           FetchScoreTable(*client, fake_.sweeps[0], metric, {.select = select}));
      ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable of_bundle,
                           ScoreTableOf(bundled, metric, {.select = select}));
      EXPECT_EQ(Csv(listed), Csv(table)) << metric << " " << select;
      EXPECT_EQ(Csv(of_bundle), Csv(table)) << metric << " " << select;
    }
  }
  EXPECT_FALSE(ScoreTableOf(study, "unknown").ok());
  EXPECT_FALSE(ScoreTableOf(bundled, "unknown").ok());
  ASSERT_OK_AND_ASSIGN(const analysis::ScoreTable table, ScoreTableOf(study, ""));
  EXPECT_EQ(table.cell(0, 0).value, 75) << "the better setting of lr on news";
  EXPECT_EQ(table.cell(3, 0).state, analysis::CellState::kFailed);
}

}  // namespace
}  // namespace concur::cli
