// SPDX-License-Identifier: Apache-2.0
#include "analysis/comparison/generalization.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/comparison/selection.h"
#include "report/ranking_tables.h"
#include "tests/analysis/reference_scores.h"
#include "tests/testing/test.h"

namespace concur::analysis {
namespace {

using ::testing::IsSupersetOf;

ScoreTable ParseGeneralization(const std::string& csv) {
  auto parsed = ParseScoresCsv(csv, "test.csv");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->table;
}

const RankedApproach* Find(const ScoreTable& table, const Generalization& ranking,
                           const std::string& name) {
  for (const RankedApproach& approach : ranking.approaches) {
    if (table.approaches()[approach.approach].name == name) {
      return &approach;
    }
  }
  return nullptr;
}

// Published: Fisch et al. (MRQA 2019), Table 3.
TEST(GeneralizationTest, AgreesWithThePublishedAveragesOfSplitOne) {
  CONCUR_LOAD_REFERENCE(table, "mrqa-split1-dev.csv");
  ASSERT_OK_AND_ASSIGN(const BenchmarkGroup f1, ParseGroup(table, "F1=*_f1"));
  ASSERT_THAT(f1.benchmarks, SizeIs(6));
  ASSERT_OK_AND_ASSIGN(const Generalization ranking, RankByAverage(table, {f1}, std::nullopt));
  const RankedApproach* d_net = Find(table, ranking, "D-NET (Baidu)");
  ASSERT_NE(d_net, nullptr);
  EXPECT_EQ(absl::StrFormat("%.1f", *d_net->averages[0].value), "84.1");
  int unranked = 0;
  for (const RankedApproach& approach : ranking.approaches) {
    unranked += approach.rank == 0 ? 1 : 0;
  }
  EXPECT_EQ(unranked, 4) << "submitted nothing for this split";
}

TEST(GeneralizationTest, AgreesWithThePublishedAveragesOfSplitTwo) {
  CONCUR_LOAD_REFERENCE(table, "mrqa-split2-dev.csv");
  ASSERT_OK_AND_ASSIGN(const BenchmarkGroup f1, ParseGroup(table, "F1=*_f1"));
  ASSERT_OK_AND_ASSIGN(
      const Generalization ranking,
      RankByAverage(table, {f1}, std::string("BERT large baseline (MRQA Organizers)")));
  const RankedApproach* d_net = Find(table, ranking, "D-NET (Baidu)");
  ASSERT_NE(d_net, nullptr);
  EXPECT_EQ(absl::StrFormat("%.1f", *d_net->averages[0].value), "69.7");
  EXPECT_NEAR(*d_net->gain, 12.599, 0.0005);
  const std::string text = WriteTable(GeneralizationTable(table, ranking), TableFormat::kText);
  EXPECT_THAT(text, HasSubstr("PAL IN DOMAIN - UCI: BioASQ_f1, DROP_f1"));
  EXPECT_THAT(text, HasSubstr("(4 of 18 approaches)"));
}

TEST(GeneralizationTest, JoinedSplitsListWhatEitherLacks) {
  const std::string first = ReferencePath("mrqa-split1-dev.csv");
  const std::string second = ReferencePath("mrqa-split2-dev.csv");
  if (first.empty() || second.empty()) {
    GTEST_SKIP() << "the MRQA tables are not on this machine";
  }
  std::vector<ScoreTable> tables(2);
  ASSERT_OK_AND_ASSIGN(tables[0], LoadScores(first));
  ASSERT_OK_AND_ASSIGN(tables[1], LoadScores(second));
  ASSERT_OK_AND_ASSIGN(const ScoreTable table, JoinTables(tables));
  ASSERT_OK_AND_ASSIGN(const BenchmarkGroup f1, ParseGroup(table, "F1=*_f1"));
  EXPECT_THAT(f1.benchmarks, SizeIs(12));
  ASSERT_OK_AND_ASSIGN(const Generalization ranking, RankByAverage(table, {f1}, std::nullopt));
  const RankedApproach* pal = Find(table, ranking, "PAL IN DOMAIN - UCI");
  ASSERT_NE(pal, nullptr);
  EXPECT_EQ(pal->rank, 0);
  EXPECT_THAT(pal->averages[0].missing, SizeIs(6)) << "in domain only, as its name says";
  EXPECT_EQ(ranking.approaches[0].rank, 1);
}

TEST(GeneralizationTest, RanksShareTiesAndLeaveOutTheIncomplete) {
  const ScoreTable table =
      ParseGeneralization("a,x,y\nlow,10,20\ntwin,40,20\nhole,99,\nhigh,50,10\n");
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::string("low")));
  std::vector<std::string> order;
  for (const RankedApproach& approach : ranking.approaches) {
    order.push_back(absl::StrCat(approach.rank, table.approaches()[approach.approach].name));
  }
  EXPECT_THAT(order, ElementsAre("1twin", "1high", "3low", "0hole"));
  EXPECT_EQ(*ranking.approaches[0].gain, 15);
  EXPECT_FALSE(ranking.approaches[3].gain.has_value());
}

TEST(GeneralizationTest, SumsInAnotherOrderTie) {
  const ScoreTable table = ParseGeneralization("a,x,y,z\nm,.1,.2,.3\nn,.3,.2,.1\no,.2,.3,.1\n");
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::nullopt));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ranking.approaches[i].rank, 1);
    EXPECT_EQ(ranking.approaches[i].approach, i);
  }
}

TEST(GeneralizationTest, AnAverageThatIsTooLargeIsRefused) {
  const ScoreTable table = ParseGeneralization("a,x,y,z\nm,1e308,1e308,1\nn,1,2,3\n");
  EXPECT_THAT(RankByAverage(table, GroupsByGoal(table), std::nullopt),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("group all: the average of \"m\" is too large")));
}

TEST(GeneralizationTest, ScoresOfSeveralScalesAreAveragedInPercent) {
  // The column of 0 to 1 counted for nothing.
  ScoreTable table =
      ParseGeneralization("a,x,y,z\n#scale,percent,,0..5\nm,71,.7,4\nn,60,.5,2\no,61,.9,3\n");
  const std::vector<BenchmarkGroup> groups = GroupsByGoal(table);
  const std::vector<Conversion> converted = ToPercent(groups, table);
  ASSERT_OK_AND_ASSIGN(Generalization ranking, RankByAverage(table, groups, std::nullopt));
  ranking.converted = converted;
  EXPECT_NEAR(*ranking.approaches[0].averages[0].value, (71 + 70 + 80) / 3.0, 1e-12);
  EXPECT_EQ(table.cell(1, 1).value, 50);
  EXPECT_THAT(GeneralizationTable(table, ranking).notes,
              IsSupersetOf({HasSubstr("scores on y are multiplied by 100 to be percents."),
                            HasSubstr("scores on z are multiplied by 20 to be percents.")}));
  EXPECT_THAT(ToPercent(groups, table), IsEmpty()) << "once";
  ScoreTable same = ParseGeneralization("a,x,y\n#scale,0..100,percent\nm,71,70\nn,60,50\n");
  EXPECT_THAT(ToPercent(GroupsByGoal(same), same), IsEmpty()) << "one scale in two spellings";
  ScoreTable open = ParseGeneralization("a,x,y\n#scale,percent,none\nm,71,.7\nn,60,.5\n");
  EXPECT_THAT(ToPercent(GroupsByGoal(open), open), IsEmpty());
  ASSERT_OK_AND_ASSIGN(ranking, RankByAverage(open, GroupsByGoal(open), std::nullopt));
  EXPECT_THAT(GeneralizationTable(open, ranking).notes,
              Contains(HasSubstr("mix scores of several scales: none, percent")));
}

// Error rates and perplexities were averaged without a word.
TEST(GeneralizationTest, AnAverageThatFollowsOneBenchmarkWithoutLimitsSaysSo) {
  const auto notes = [](const std::string& csv) {
    const ScoreTable table = ParseGeneralization(csv);
    absl::StatusOr<Generalization> ranking =
        RankByAverage(table, GroupsByGoal(table), std::nullopt);
    EXPECT_OK(ranking.status());
    return GeneralizationTable(table, *ranking).notes;
  };
  const std::string goals = "#goal,minimize,minimize,minimize\n";
  EXPECT_THAT(notes("a,wer,ppl,err\n" + goals + "m,12,30,.1\nn,13,44,.2\no,15,50,.3\n"),
              Contains("The averages of all follow ppl, whose scores are about 44; on err they are "
                       "about 0.2."));
  EXPECT_THAT(notes("a,wer,ppl,err\n" + goals + "m,12,30,10\nn,13,44,20\no,15,50,30\n"),
              Not(Contains(HasSubstr("follow"))));
  EXPECT_THAT(notes("a,x,y\nm,71,2\nn,60,1.5\no,61,3\n"), Not(Contains(HasSubstr("follow"))))
      << "percents, of which one is hard";
}

TEST(GeneralizationTest, OneMissingBenchmarkLeavesApproachesRanked) {
  // Four of six had no rank, and the other two were 1 and 2.
  const ScoreTable table = ParseGeneralization(
      "a,x,y,z\nm,10,20,90\nn,30,20,80\no,40,60,\np,50,50,\nq,60,70,\nr,70,90,\ns,99,,\n");
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::string("m")));
  std::string order;
  for (const RankedApproach& approach : ranking.approaches) {
    absl::StrAppend(&order, approach.rank, table.approaches()[approach.approach].name);
  }
  EXPECT_EQ(order, "1r2q3o3p5n6m0s");
  EXPECT_THAT(ranking.groups[0].benchmarks, ElementsAre(0, 1));
  EXPECT_THAT(ranking.left_out, ElementsAre(2));
  EXPECT_THAT(GeneralizationTable(table, ranking).notes,
              Contains("Averages of all are over the 2 of 3 benchmarks that all ranked approaches "
                       "have. Left out, since some lack them: z (r, q, o, p, s)."));
}

// The two best were not ranked, since each lacked one of seven tasks.
TEST(GeneralizationTest, ApproachesThatLackOneTaskEachAreRankedOnTheOthers) {
  const ScoreTable table = ParseGeneralization(
      "a,t1,t2,t3,t4,t5,t6,t7\nA,80,81,79,82,80,,83\nB,70,,69,72,70,71,73\n"
      "C,60,61,59,62,60,61,63\nE,90,91,89,92,90,91,\n");
  ASSERT_OK_AND_ASSIGN(const Generalization ranking,
                       RankByAverage(table, GroupsByGoal(table), std::nullopt));
  std::string order;
  for (const RankedApproach& approach : ranking.approaches) {
    absl::StrAppend(&order, approach.rank, table.approaches()[approach.approach].name);
  }
  EXPECT_EQ(order, "1E2A3B4C");
  EXPECT_THAT(ranking.groups[0].benchmarks, ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(ranking.left_out, ElementsAre(1, 5, 6));
  // Three of six were not ranked: each lacks one task, and those that lack as many went at once.
  const ScoreTable holes = ParseGeneralization(
      "a,A,B,C,D\nm1,90,80,70,60\nm2,85,82,71,\nm3,70,60,75,55\nm4,65,,60,50\n"
      "m5,50,40,45,40\nm6,30,35,20,\n");
  ASSERT_OK_AND_ASSIGN(const Generalization five,
                       RankByAverage(holes, GroupsByGoal(holes), std::nullopt));
  EXPECT_THAT(five.groups[0].benchmarks, ElementsAre(0, 1, 2));
  EXPECT_EQ(std::count_if(five.approaches.begin(), five.approaches.end(),
                          [](const RankedApproach& approach) { return approach.rank > 0; }),
            5);
  // Without a benchmark in common nobody is ranked.
  const ScoreTable none = ParseGeneralization("a,x,y\nm,1,\nn,,2\n");
  ASSERT_OK_AND_ASSIGN(const Generalization unranked,
                       RankByAverage(none, GroupsByGoal(none), std::nullopt));
  EXPECT_EQ(unranked.approaches[0].rank, 0);
  EXPECT_THAT(unranked.left_out, IsEmpty());
}

TEST(GeneralizationTest, GroupsAreNamesPatternsAndTags) {
  ScoreTable table = ParseGeneralization("a,q em,q f1,\"r, s\"\nm,1,2,3\n");
  ASSERT_OK_AND_ASSIGN(const BenchmarkGroup group, ParseGroup(table, "g=*f1,\"r, s\""));
  EXPECT_THAT(group.benchmarks, ElementsAre(1, 2));
  EXPECT_THAT(ParseGroup(table, "g=*f2"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("matches no benchmark")));
  EXPECT_THAT(ParseGroup(table, "q em"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected NAME=PATTERN")));
  EXPECT_THAT(ParseGroup(table, "g="),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at least one pattern")));
  EXPECT_THAT(GroupsByTag(table, "domain"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there are no tags")));
  ASSERT_OK_AND_ASSIGN(const ScoreTable tagged,
                       ScoreTable::Create({{"m", {}}}, {{"b1", {{"domain", "wiki"}}},
                                                        {"b2", {{"domain", "news"}}},
                                                        {"b3", {{"domain", "wiki"}}},
                                                        {"b4", {}}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<BenchmarkGroup> groups, GroupsByTag(tagged, "domain"));
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].name, "domain=news");
  EXPECT_THAT(groups[1].benchmarks, ElementsAre(0, 2));
}

TEST(GeneralizationTest, BadBaselinesAreNamed) {
  const ScoreTable table = ParseGeneralization("a,x,y\nlow,10,20\nhole,99,\n");
  const std::vector<BenchmarkGroup> all = GroupsByGoal(table);
  EXPECT_THAT(RankByAverage(table, all, std::string("lo")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"low\"?")));
  EXPECT_THAT(RankByAverage(table, all, std::string("hole")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lacks 1 of 2 scores")));
}

TEST(GeneralizationTest, JoinRefusesOneBenchmarkTwiceAndTagsThatDisagree) {
  const std::vector<ScoreTable> same = {ParseGeneralization("a,x\nm,1\n"),
                                        ParseGeneralization("a,x\nm,2\n")};
  EXPECT_THAT(JoinTables(same),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"x\" comes twice")));
  const std::vector<ScoreTable> tags = {ParseGeneralization("a,t,x\nm,yes,1\n"),
                                        ParseGeneralization("a,t,y\nm,no,2\n")};
  EXPECT_THAT(JoinTables(tags), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"t\"")));
}

// Without `crosses` a system has scores on its own test set only.
ScoreTable CrossScores(bool crosses = true) {
  SelectionOptions options;
  options.approaches = {{"bidaf", {}}, {"bert", {}}};
  options.benchmarks = {{"squad", {}}, {"adversarial", {}}};
  options.layout = Layout::kTrainInRows;
  std::vector<ScoreRecord> records;
  double value = 40;
  for (const char* approach : {"bidaf", "bert"}) {
    for (const char* train : {"squad", "adversarial"}) {
      for (const char* test : {"squad", "adversarial"}) {
        for (int seed = 1; seed <= 2; ++seed) {
          ScoreRecord record;
          record.approach = approach;
          record.train = train;
          record.test = test;
          record.seed = seed;
          record.value = train == std::string(test) ? value + 20 : value;
          value += 1;
          if (crosses || train == std::string(test)) {
            records.push_back(record);
          }
        }
      }
    }
  }
  auto table = BuildScoreTable(records, options);
  EXPECT_TRUE(table.ok()) << table.status();
  return *table;
}

TEST(GeneralizationTest, CrossTableMarksTheBestTrainSetOfEachApproach) {
  ASSERT_OK_AND_ASSIGN(const Table table, CrossTable(CrossScores()));
  EXPECT_THAT(WriteTable(table, TableFormat::kText), HasSubstr("60.50 ±0.71◂"));
  ASSERT_THAT(table.rows, SizeIs(4));
  EXPECT_EQ(table.rows[0][0].text, "bidaf");
  EXPECT_EQ(table.rows[0][1].text, "squad");
  EXPECT_TRUE(table.rows[0][2].is_marked);
  EXPECT_FALSE(table.rows[0][4].is_marked);
  EXPECT_TRUE(table.rows[3][4].is_marked);
  EXPECT_THAT(WriteTable(table, TableFormat::kCsv),
              HasSubstr("approach,train,squad,squad sd,adversarial,adversarial sd\n"));
}

// Without a score on any other train set, the only one was marked as the best.
TEST(GeneralizationTest, CrossTableMarksNothingWhereOneTrainSetHasAScore) {
  ASSERT_OK_AND_ASSIGN(const Table table, CrossTable(CrossScores(/*crosses=*/false)));
  ASSERT_THAT(table.rows, SizeIs(4));
  EXPECT_FALSE(table.rows[0][2].is_marked);
  EXPECT_FALSE(table.rows[1][4].is_marked);
  EXPECT_THAT(table.notes, Not(Contains(HasSubstr("Marked"))));
}

TEST(GeneralizationTest, CrossTableNeedsTrainSets) {
  EXPECT_THAT(CrossTable(ParseGeneralization("a,x\nm,1\n")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no tag \"train\"")));
  ASSERT_OK_AND_ASSIGN(const Table empty, CrossTable(ParseGeneralization("a,x\n")));
  EXPECT_THAT(empty.rows, IsEmpty());
}

}  // namespace
}  // namespace concur::analysis
