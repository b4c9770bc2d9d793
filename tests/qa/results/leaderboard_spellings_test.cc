// SPDX-License-Identifier: Apache-2.0
// Spellings of leaderboards: rows of one model, settings, uncertainties, counts, goals.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "base/metric_meaning.h"
#include "qa/results/column_names.h"
#include "qa/results/imported.h"
#include "qa/results/results.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::imports {
namespace {

class SpellingsTest : public ImportFixture {
 protected:
  ImportedResults Read(absl::string_view text) {
    auto results = ImportAs("leaderboard", {Write("board.csv", text)});
    EXPECT_TRUE(results.ok()) << results.status() << "\n" << text;
    return results.ok() ? *std::move(results) : ImportedResults();
  }
  std::vector<std::string> Models(absl::string_view text) { return Names(Read(text).models); }
  std::vector<std::string> Tasks(absl::string_view text) { return Names(Read(text).tasks); }
  // "KIND: WHY" of the last note on a column.
  static std::string NoteOf(const ImportedResults& results, absl::string_view column) {
    std::string note;
    for (const ColumnNote& of : results.columns) {
      note = of.name == column ? absl::StrCat(of.kind, ": ", of.why) : note;
    }
    return note;
  }
};

TEST_F(SpellingsTest, EqualRowsCountUnlessTheyAreCertainToBeCopies) {
  // 57.5 instead of 55: the second 50 was dropped as a copy.
  for (const char* text : {"model,task,score\na,T,50\na,T,50\na,T,65\nb,T,50\n",
                           "Model,T\na,50\na,50\na,65\nb,50\n"}) {
    const ImportedResults results = Read(text);
    EXPECT_EQ(results.seeds, 3U) << text;
    EXPECT_EQ(Score(results, "a", "T", 1), 50) << text;
    EXPECT_THAT(NoteOf(results, "several scores"),
                HasSubstr("a guess: repetitions, as no setting differs; \"a\" on \"T\""));
  }
  for (const char* text :
       {"model,task,seed,score\na,T,1,50\na,T,1,50\na,T,2,65\n",
        "Model,Seed,T\na,1,50\na,1,50\na,2,65\n", "model,task,score\na,T,50\na,T,50\nb,T,1\n",
        "Model,T\na,50\na,50\nb,1\n"}) {
    EXPECT_EQ(SkippedOf(Read(text), "a row that came before, field by field"), 1) << text;
  }
}

TEST_F(SpellingsTest, EqualRowsOfAStoredTableCount) {
  CONCUR_SHARED_DATA_OR_SKIP(path, "../cases/statistics/import-drops-equal-runs/long.csv");
  const auto results = ImportAs("leaderboard", {path});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "m1", "T", 1), 50);
  EXPECT_EQ(Score(*results, "m1", "T", 2), 65);
}

TEST_F(SpellingsTest, EveryColumnThatDiffersTellsRowsOfAModelApart) {
  // Llama of 7, 13 and 70 billion parameters was one model of 48.33 ± 10.41.
  EXPECT_THAT(Models("Model,Params,A\nL,7,40\nL,13,45\nL,70,60\nQ,7,50\n"),
              ElementsAre("L (Params 7)", "L (Params 13)", "L (Params 70)", "Q"));
  EXPECT_THAT(Models("Model,Prompt,Shots,A\nm,cot,0,40\nm,cot,5,45\nm,direct,0,30\nm,direct,5,35\n"
                     "n,cot,0,41\n"),
              ElementsAre("m (cot, Shots 0)", "m (cot, Shots 5)", "m (direct, Shots 0)",
                          "m (direct, Shots 5)", "n"));
  EXPECT_THAT(Models("Model,Prompt template,A\nm,1,40\nm,2,45\nn,1,30\n"),
              ElementsAre("m (Prompt template 1)", "m (Prompt template 2)", "n"));
  const ImportedResults seeds =
      Read("Model,Setting,A\nm,cot,40\nm,cot,42\nm,direct,20\nn,cot,41\n");
  EXPECT_THAT(Names(seeds.models), ElementsAre("m (cot)", "m (direct)", "n"));
  EXPECT_EQ(seeds.seeds, 2U);
  EXPECT_THAT(NoteOf(seeds, "several scores"), HasSubstr("line 2 and"));
  EXPECT_THAT(Models("Model,Eval time (s),Inference cost,A\nm,1.5,1,40\nm,1.7,2,42\nn,2,3,41\n"),
              ElementsAre("m", "n"));
  const ImportedResults numbered = Read("Model,Seed,A\nm,1,40\nm,2,42\nn,1,41\n");
  EXPECT_EQ(numbered.seeds, 2U);
  EXPECT_EQ(NoteOf(numbered, "several scores"), "");
}

TEST_F(SpellingsTest, RowsThatOnlyADateOrANoteTellsApartAreVersions) {
  // Two submissions of a model were 50 ± 14.14 "over seeds".
  for (const char* column : {"Date", "submission_date", "Last updated", "Evaluated at", "Timestamp",
                             "Note", "Comments"}) {
    for (const char* table : {"Model,$0,A\nm,x y,60\nm,z,40\nn,x y,50\n",
                              "model,$0,task,score\nm,x y,A,60\nm,z,A,40\nn,v,A,50\n"}) {
      const std::string text = absl::Substitute(table, column);
      const ImportedResults results = Read(text);
      EXPECT_THAT(Names(results.models), ElementsAre("m (x y)", "m (z)", "n")) << text;
      EXPECT_EQ(results.seeds, 1U) << text;
      EXPECT_THAT(NoteOf(results, column), HasSubstr("setting: a guess: rows of a model")) << text;
    }
  }
  const std::string dated = "Model,Date,A\nm,2024-01,60\nm,2024-06,40\nn,2024-01,50\n";
  request_.options.leave_out = {"Date"};
  EXPECT_EQ(Read(dated).seeds, 2U) << "as asked";
  request_.options.leave_out.clear();
  request_.variants = Variants::kFirst;
  const ImportedResults first = Read(dated);
  EXPECT_EQ(Score(first, "m", "A"), 60);
  EXPECT_EQ(SkippedOf(first, "a run with other settings than the run that counts"), 1);
  EXPECT_THAT(Models("Model,Prompt,A\nm,cot,60\nm,none,40\n"), ElementsAre("m"));
  request_.variants = Variants::kRefuse;
  EXPECT_THAT(ImportAs("leaderboard", {Write("board.csv", dated)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 3: row: expected \"2024-01\" as in ")));
}

// "P" was taken for a p-value.
TEST_F(SpellingsTest, PrecisionIsAScore) {
  EXPECT_THAT(Tasks("Model,P,R,F1\na,80,70,75\nb,60,65,62\n"), ElementsAre("P", "R", "F1"));
  EXPECT_THAT(Tasks("Model,F1,p-value\na,80,0.01\nb,60,0.2\n"), ElementsAre("F1"));
}

// One task that was repeated made four models of one score each.
TEST_F(SpellingsTest, ATimeOfItsOwnForEachScoreMakesNoVersions) {
  const std::string rows =
      "model,task,timestamp,score\n"
      "m,T1,2026-01-01 10:00,60\nm,T2,2026-01-01 10:05,50\n"
      "m,T3,2026-01-01 10:10,40\nm,T1,2026-01-02 12:00,62\n";
  const ImportedResults results = Read(rows);
  EXPECT_THAT(Names(results.models), ElementsAre("m"));
  EXPECT_THAT(Names(results.tasks), ElementsAre("T1", "T2", "T3"));
  EXPECT_EQ(results.seeds, 2U);
  EXPECT_EQ(Score(results, "m", "T1", 1), 62);
  EXPECT_EQ(NoteOf(results, "timestamp"),
            "left out: is neither a score nor tells versions of a model apart");
  // Another model, whose every task ran at each of two dates, has versions.
  EXPECT_THAT(Models(rows + "n,T1,x,1\nn,T2,x,2\nn,T1,y,3\nn,T2,y,4\n"),
              ElementsAre("m", "n (x)", "n (y)"));
}

TEST_F(SpellingsTest, DatesOfNumberedRepetitionsTellNothingApart) {
  for (const char* text : {"Model,Seed,Date,A\nm,1,x,60\nm,2,y,40\nn,1,z,50\n",
                           "model,seed,date,task,score\nm,1,x,A,60\nm,2,y,A,40\nn,1,z,A,50\n"}) {
    EXPECT_THAT(Names(Read(text).models), ElementsAre("m", "n")) << text;
    EXPECT_EQ(Read(text).seeds, 2U) << text;
  }
  // Where a number comes twice, they do, but of that model alone.
  for (const char* text :
       {"Model,Seed,Date,A\nm,1,x,60\nm,2,x,61\nm,1,y,40\nm,2,y,41\nn,1,z,50\nn,2,v,51\n",
        "model,seed,date,task,score\nm,1,x,A,60\nm,2,x,A,61\nm,1,y,A,40\nm,2,y,A,41\n"
        "n,1,z,A,50\nn,2,v,A,51\n"}) {
    const ImportedResults results = Read(text);
    EXPECT_THAT(Names(results.models), ElementsAre("m (x)", "m (y)", "n")) << text;
    EXPECT_EQ(Score(results, "m (y)", "A", 1), 41) << text;
    EXPECT_EQ(Score(results, "n", "A", 1), 51) << text;
  }
  EXPECT_THAT(Models("Model,Prompt,Date,A\nm,cot,x,60\nm,direct,y,40\nn,cot,z,50\n"),
              ElementsAre("m (cot)", "m (direct)", "n"))
      << "a setting does";
}

TEST_F(SpellingsTest, RepetitionsAndFoldsAreKnownByOtherNames) {
  // Attempts of one model were models.
  for (const char* column : {"attempt", "replica", "rng_seed", "random_state", "run_id"}) {
    const ImportedResults results =
        Read(absl::StrCat("model,task,", column, ",score\na,T,1,40\na,T,2,60\nb,T,1,50\n"));
    EXPECT_EQ(results.seeds, 2U) << column;
    EXPECT_THAT(Names(results.models), ElementsAre("a", "b")) << column;
  }
  EXPECT_THAT(Tasks("model,task,fold,score\na,T,1,40\na,T,2,60\nb,T,1,50\n"),
              ElementsAre("T (fold 1)", "T (fold 2)"));
}

TEST_F(SpellingsTest, ModelsAreNamesAndNotRanks) {
  // The models were "1" and "2".
  EXPECT_THAT(Models("Rank,Team,Acc\n1,T1,90\n2,T2,80\n"), ElementsAre("T1", "T2"));
  EXPECT_THAT(Models("Date,Who,Acc\n2024-01-01,T1,90\n2024-01-02,T2,80\n"),
              ElementsAre("T1", "T2"));
  EXPECT_THAT(Models("Size,Acc\n7,90\n13,80\n"), ElementsAre("7", "13"));
  EXPECT_THAT(Models(",Model A,Model B\nTask 1,50,60\nTask 2,40,30\n"),
              ElementsAre("Model A", "Model B"));
}

TEST_F(SpellingsTest, MarkdownAndLatexBoardsInFoldersAreReadOrCounted) {
  // Nothing said that they were skipped.
  Write("f/a.csv", "Model,A\nm,60\nn,50\n");
  Write("f/b.md", "# Results\n\nText, of all.\n\n| Model | B |\n|---|---|\n| m | 6 |\n| n | 5 |\n");
  Write("f/c.tex", "\\begin{tabular}{lc}\nModel & C \\\\\nm & 7 \\\\\n\\end{tabular}\n");
  Write("f/paper.tex", "See a.csv, which has 2 models, and b.md.\n");
  Write("f/README.md", "# Results\n\nSee a.csv, which has 2 models, and b.md.\n");
  const auto results = ImportAs("leaderboard", {dir_.File("f")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("m", "n"));
  EXPECT_THAT(Names(results->tasks), ElementsAre("A", "B", "C"));
  EXPECT_EQ(SkippedOf(*results, "a file that cannot be read as leaderboard"), 2);
}

TEST_F(SpellingsTest, BoardsOfTwoDatesAreNotAveraged) {
  // A model that stands on both was 50 ± 14.14.
  Write("v/2024-01.csv", "Model,A,B\nm,60,1\nn,50,2\n");
  Write("v/2024-02.csv", "Model,A\nm,40\no,55\n");
  const auto boards = ImportAs("leaderboard", {dir_.File("v")});
  ASSERT_TRUE(boards.ok()) << boards.status();
  EXPECT_EQ(boards->seeds, 1U);
  EXPECT_THAT(Names(boards->models),
              ElementsAre("m (board 2024-01)", "n", "m (board 2024-02)", "o"));
  EXPECT_EQ(Score(*boards, "m (board 2024-02)", "A"), 40);
  request_.variants = Variants::kFirst;
  const auto first = ImportAs("leaderboard", {dir_.File("v")});
  EXPECT_EQ(Score(*first, "m", "A"), 60);
  EXPECT_EQ(SkippedOf(*first, "a run with other settings than the run that counts"), 1);
  request_.variants = Variants::kRefuse;
  EXPECT_THAT(ImportAs("leaderboard", {dir_.File("v")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("board: expected \"2024-01\" as in ")));
}

TEST_F(SpellingsTest, TablesOfOneBoardAndItsRepetitionsBelongTogether) {
  Write("parts/a.csv", "Model,A\nm,60\nn,50\n");
  Write("parts/b.csv", "Model,B\nm,6\nn,5\n");
  const auto parts = ImportAs("leaderboard", {dir_.File("parts")});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(Names(parts->models), ElementsAre("m", "n"));
  EXPECT_EQ(Score(*parts, "m", "B"), 6);
  Write("seeds/seed-1.csv", "Model,A\nm,60\nn,50\n");
  Write("seeds/seed-2.csv", "Model,A\nm,62\nn,50\n");
  const auto seeds = ImportAs("leaderboard", {dir_.File("seeds")});
  ASSERT_TRUE(seeds.ok()) << seeds.status();
  EXPECT_THAT(Names(seeds->models), ElementsAre("m", "n"));
  EXPECT_EQ(Score(*seeds, "m", "A", 1), 62);
  EXPECT_EQ(NoteOf(*seeds, "several scores"), "");
}

TEST_F(SpellingsTest, AGuessedGoalIsCalledAGuess) {
  const ImportedResults results =
      Read("Model,Toxicity,Refusal rate,Refusal rate on harmful ↑,A\na,1,2,3,4\nb,2,3,4,5\n");
  EXPECT_EQ(results.tasks[0].meaning.goal, Goal::kMinimize);
  EXPECT_EQ(NoteOf(results, "Toxicity"), "benchmark: a guess by its name");
  EXPECT_EQ(results.tasks[1].meaning.goal, Goal::kMaximize);
  EXPECT_EQ(NoteOf(results, "Refusal rate"), "benchmark: a guess by its name");
  EXPECT_EQ(NoteOf(results, "Refusal rate on harmful"), "benchmark: ");
  EXPECT_EQ(NoteOf(results, "A"), "benchmark: ");
}

TEST_F(SpellingsTest, RowsThatContradictEachOthersGoalAreSaid) {
  // The first one's was taken.
  const ImportedResults results = Read(
      "model,task,score,direction\na,T,1,lower is better\nb,T,2,higher is better\n"
      "c,T,3,higher is better\n");
  EXPECT_EQ(results.tasks[0].meaning.goal, Goal::kMaximize);
  EXPECT_THAT(NoteOf(results, "T"), HasSubstr("a guess: 2 scores state maximize, 1 minimize"));
}

TEST_F(SpellingsTest, UnitsThatDifferBetweenTablesAreSaid) {
  Write("u/1.csv", "Model,A\na,.6\nb,.7\n");
  Write("u/2.csv", "Model,A\nc,65\nd,75\n");
  const auto results = ImportAs("leaderboard", {dir_.File("u")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(NoteOf(*results, "A"), HasSubstr("2 of 4 numbers are at most 1"));
}

TEST_F(SpellingsTest, AnyColumnByWhichRowsOfLongTablesDifferIsASetting) {
  // The column was left out, as one that "tells no runs apart", and the rows were averaged.
  for (const char* column :
       {"threshold,0.5,0.9", "repetition_penalty,1.0,1.2", "release,1.0,1.1", "max_new_tokens,1,2",
        "prompt_id,1,2", "template index,A,B", "context_tokens,4,8", "min_p,0,1", "author,Meta,HF",
        "error_type,verb,noun", "epoch,1,2", "run,zero-shot,cot", "date,May,June", "params,7,13",
        "time_limit,10s,60s", "n,10,1000", "num_samples,1,100"}) {
    const std::vector<std::string> parts = absl::StrSplit(column, ',');
    std::string text = absl::StrCat("model,task,", parts[0], ",score\n");
    for (const char* model : {"a", "b"}) {
      absl::StrAppend(&text, model, ",T,", parts[1], ",40\n", model, ",T,", parts[2], ",60\n");
    }
    const ImportedResults results = Read(text);
    EXPECT_EQ(results.seeds, 1U) << text;
    EXPECT_THAT(results.cells, SizeIs(4)) << text;
    EXPECT_THAT(NoteOf(results, parts[0]), HasSubstr("setting: ")) << text;
  }
  const ImportedResults measured =
      Read("model,task,cost,f1,score\na,T,1.5,.31,40\na,T,1.7,.32,60\nb,T,2.9,.33,50\n");
  EXPECT_EQ(measured.seeds, 2U);
  EXPECT_THAT(NoteOf(measured, "cost"), HasSubstr("rows of one model and task differ in it"));
  EXPECT_THAT(NoteOf(measured, "f1"), HasSubstr("a guess: a measure by its values"));
  EXPECT_EQ(NoteOf(Read("model,task,seed,score\na,T,1,4\na,T,2,5\n"), "seed"), "repeat: ");
}

TEST_F(SpellingsTest, ColumnsOfDataMakeBenchmarks) {
  // "a (dataset xsum)" and "a (dataset cnn)" were models.
  for (const char* column : {"dataset", "subject", "config", "category", "test set", "scenario",
                             "benchmark", "subset_name"}) {
    const ImportedResults results =
        Read(absl::StrCat("model,task,", column, ",score\na,T,x,40\na,T,y,60\nb,T,x,50\n"));
    EXPECT_THAT(Names(results.models), ElementsAre("a", "b")) << column;
    EXPECT_THAT(results.tasks, SizeIs(2)) << column;
  }
  EXPECT_THAT(Tasks("model,task,category,score\na,T,open,40\nb,T,closed,60\n"), ElementsAre("T"))
      << "a category of models";
  EXPECT_THAT(Tasks("model,task,n-shot,score\na,T,0,40\nb,T,5,60\n"),
              ElementsAre("T (0-shot)", "T (5-shot)"));
}

TEST_F(SpellingsTest, CountsErrorsAndTimesAreNotTheFirstMetric) {
  // Tasks were compared by "count": 100 and 100.
  for (const char* text :
       {"model,task,count,f1\na,T,100,.6\na,U,100,.5\nb,T,100,.3\nb,U,100,.4\n",
        "model,task,metric,value\na,T,count,100\na,T,f1,.6\nb,T,count,120\nb,T,f1,.3\n",
        "model,task,metric,value\na,T,f1_stderr,.01\na,T,f1,.6\nb,T,f1_stderr,.02\nb,T,f1,.3\n",
        "model,task,latency_s,f1\na,T,9,.6\na,U,9,.5\nb,T,8,.3\nb,U,8,.4\n"}) {
    const ImportedResults results = Read(text);
    EXPECT_EQ(results.tasks[0].metric, "f1") << text;
    EXPECT_EQ(Score(results, "a", "T"), .6) << text;
  }
  EXPECT_THAT(NoteOf(Read("model,task,metric,value\na,T,count,1\nb,T,count,2\n"), "T"),
              HasSubstr("a guess: compared by \"count\""));
  EXPECT_THAT(Tasks("Model,A (acc),A (n),B (5-shot),B (Num Samples),C (#)\na,5,9,4,9,9\n"),
              ElementsAre("A (acc)", "B (5-shot)"));
}

TEST_F(SpellingsTest, UncertaintiesAreNeitherBenchmarksNorModels) {
  const ImportedResults results = Read(
      "model,A,A_stderr,B,B std,C,C (std),±,95% CI,D,D upper,E (± std)\n"
      "a,1,.1,2,.2,3,.3,.4,.5,6,7,6 ± .1\n");
  EXPECT_THAT(Names(results.tasks), ElementsAre("A", "B", "C", "D", "E (± std)"));
  EXPECT_EQ(NoteOf(results, "B std"),
            "tag: a guess: an uncertainty by its name; --keep makes it a benchmark");
  EXPECT_THAT(Tasks("Model,Acc,Acc 95% CI low,Acc 95% CI high,High\na,5,4,6,1\nb,6,5,7,2\n"),
              ElementsAre("Acc", "High"));
  EXPECT_THAT(Tasks("Model,Score,Δ to a,p-value\na,5,0,1\nb,6,1,.5\n"), ElementsAre("Score"));
  EXPECT_THAT(Tasks("Model,Win,Loss,Tie,Win rate\na,5,4,1,.5\nb,6,3,1,.6\n"),
              ElementsAre("Win rate"));
  EXPECT_THAT(Tasks("Model,Loss\na,5\nb,6\n"), ElementsAre("Loss"));
  EXPECT_THAT(Models("Task,alpha,alpha_stderr\nx,20,1\ny,30,1\n"), ElementsAre("alpha"));
  for (const char* name : {"CLUSTERING", "acc", "STS-B", "MRPC (F1)", "se", "std"}) {
    EXPECT_EQ(NamesUncertainty(name), std::string(name) == "se" || std::string(name) == "std")
        << name;
  }
}

TEST_F(SpellingsTest, AHeaderThatStatesAMarginIsABenchmark) {
  // The column was an uncertainty by its name.
  EXPECT_THAT(Tasks("Model,GSM8K ± 0.3,MMLU (+/- .5),± 0.2\na,5,4,.1\nb,6,5,.2\n"),
              ElementsAre("GSM8K ± 0.3", "MMLU (+/- .5)"));
}

TEST_F(SpellingsTest, AScoreBesideCountsOfErrorsIsNoMean) {
  // The counts were benchmarks, and the score was left out as their mean.
  const ImportedResults results =
      Read("model,errors,error_rate,failures,refusals,score\na,3,.3,1,0,70\nb,4,.4,2,1,60\n");
  EXPECT_THAT(Names(results.tasks), ElementsAre("error_rate", "score"));
  EXPECT_THAT(Tasks("model,WER,CER,Average\na,3,2,2.5\nb,4,2,3\n"), ElementsAre("WER", "CER"));
}

TEST_F(SpellingsTest, HeadersOfTwoLinesNameEveryColumn) {
  // Columns below a group's second field were left out, and equal names were an error.
  const ImportedResults results =
      Read(",Reading,,Math,\nModel,SQuAD,DROP,GSM8K,GSM8K stderr\na,40,60,10,1\nb,50,52,12,1\n");
  EXPECT_THAT(Names(results.tasks), ElementsAre("Reading SQuAD", "Reading DROP", "Math GSM8K"));
  EXPECT_EQ(Score(results, "b", "Reading DROP"), 52);
  EXPECT_EQ(SkippedOf(results, "a line of the header, joined to its first, a guess"), 1);
  EXPECT_THAT(Tasks("Model,MMLU,MMLU\n,0,5\na,40,60\nb,50,52\n"), ElementsAre("MMLU 0", "MMLU 5"));
  const ImportedResults units = Read("Model,A (↑),B\n,(%),↓\na,40,60\nb,50,52\n");
  EXPECT_THAT(Names(units.tasks), ElementsAre("A (%)", "B"));
  EXPECT_EQ(units.tasks[0].meaning.scale.kind, Scale::Kind::kPercent);
  EXPECT_EQ(units.tasks[1].meaning.goal, Goal::kMinimize);
}

TEST_F(SpellingsTest, NamesMadeOfPropertyWordsAreNoBenchmarks) {
  for (const char* name : {"Params (M)",
                           "Model Size (B)",
                           "Size (GB)",
                           "Released",
                           "Layers",
                           "#Params",
                           "Param count",
                           "Training tokens (T)",
                           "wins",
                           "losses",
                           "count",
                           "samples",
                           "support",
                           "#examples",
                           "total questions",
                           "Position",
                           "Pos.",
                           "No.",
                           "Place",
                           "Cost ($)",
                           "Time (s)",
                           "Inference time (ms)",
                           "Memory (GB)",
                           "FLOPs",
                           "Price per 1M tokens",
                           "ms/token",
                           "avg_len",
                           "Mean response length (chars)",
                           "Month",
                           "timestamp",
                           "GPU hours"}) {
    EXPECT_TRUE(NamesTag(name)) << name;
    EXPECT_FALSE(NamesAggregate(name)) << name;
  }
  for (const char* name : {"Sum", "Avg. acc", "Mean accuracy", "AVG (2)", "Total score", "Ave.",
                           "Overall Acc", "macro_avg", "All", "AvgScore", "Avg (5 runs)"}) {
    EXPECT_TRUE(NamesAggregate(name)) << name;
  }
  for (const char* name :
       {"Clevr-Count", "Object Counting", "MMLU (5-shot)", "Mean IoU", "mean reciprocal rank",
        "HFV2_MATH_Lvl_5", "reasoning_average", "NaturalQuestions", "Elo", "Date Understanding",
        "Latency (ms)", "correct (%)", "Temporal Sequences", "Date Understanding", "win_rate",
        "Length-controlled WR"}) {
    EXPECT_FALSE(NamesTag(name) || NamesAggregate(name)) << name;
  }
  const ImportedResults turned =
      Read("Benchmark,gpt-4,llama-3-8b\nmmlu,20,60\n# Params (B),1000,8\nAverage,20,60\n");
  EXPECT_THAT(Names(turned.tasks), ElementsAre("mmlu"));
  EXPECT_THAT(NoteOf(turned, "# Params (B)"), HasSubstr("left out: a row that is a property"));
}

TEST_F(SpellingsTest, RowsOfMeansAreNoModelsOrTasks) {
  const ImportedResults wide = Read("Model,A\na,40\nb,50\nAverage,45\n");
  EXPECT_THAT(Names(wide.models), ElementsAre("a", "b"));
  EXPECT_EQ(SkippedOf(wide, "a row that is called a mean or an overall score"), 1);
  EXPECT_THAT(Tasks("model,task,score\na,x,40\na,All,50\nb,x,50\nb,macro_avg,50\n"),
              ElementsAre("x"));
}

TEST_F(SpellingsTest, AColumnThatStatesTheGoalIsObeyed) {
  // Perplexity and speed were maximized though a column said "lower is better".
  for (const char* text :
       {"benchmark,direction,gpt-4,llama-3-8b\nwiki,lower is better,1,2\nqa,higher is better,3,4\n",
        "model,task,score,lower_is_better\na,wiki,1,true\na,qa,2,false\nb,wiki,3,true\n",
        "model,task,,score\na,wiki,↓,1\na,qa,↑,2\nb,wiki,↓,3\n",
        "model,task,score,greater_is_better\na,wiki,1,0\na,qa,2,1\nb,wiki,3,0\n"}) {
    const ImportedResults results = Read(text);
    ASSERT_THAT(Names(results.tasks), ElementsAre("wiki", "qa")) << text;
    EXPECT_EQ(results.tasks[0].meaning.goal, Goal::kMinimize) << text;
    EXPECT_EQ(results.tasks[1].meaning.goal, Goal::kMaximize) << text;
  }
  EXPECT_EQ(StatedGoal("difficulty", "low"), std::nullopt);
  EXPECT_EQ(StatedGoal("min_p", "1"), std::nullopt);
}

TEST_F(SpellingsTest, CountsPowersAndFractionsAreReadAndSaid) {
  const ImportedResults results = Read(
      "Model,A,B,C,D,E\na,12/20,12 (60%),10^3,0.85,inf\nb,15/20,18 (45%),20,90,1\n"
      "c,18/30,9 (75%),5,80,2\n");
  EXPECT_EQ(Score(results, "c", "A"), .6);
  EXPECT_THAT(NoteOf(results, "A"), HasSubstr("a guess: \"12/20\" is 0.6"));
  EXPECT_EQ(Score(results, "b", "B"), 45);
  EXPECT_EQ(Score(results, "a", "C"), 1000);
  EXPECT_THAT(NoteOf(results, "D"), HasSubstr("1 of 3 numbers are at most 1"));
  EXPECT_EQ(SkippedOf(results, "no score: not a finite number, as inf"), 1);
  const ImportedResults low = Read("Model,A,B\na,0.8,1\nb,2,2\nc,30,3\n");
  EXPECT_THAT(NoteOf(low, "A"), Not(HasSubstr("at most 1"))) << "percents that lie near each other";
  const ImportedResults pairs = Read("Model,A,B\na,94.2/92.3,1\nb,90/88,2\n");
  EXPECT_EQ(Score(pairs, "b", "A"), 89);
  EXPECT_THAT(NoteOf(pairs, "A"), HasSubstr("2 pairs are read as their means"));
  EXPECT_THAT(NoteOf(Read("Model;X;Acc\na;1.234;2,5\nb;987;1,5\n"), "X"),
              HasSubstr("a guess: \"1.234\" is 1.234"));
}

}  // namespace
}  // namespace concur::imports
