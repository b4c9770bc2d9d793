// SPDX-License-Identifier: Apache-2.0
// Files of evaluation programs: MTEB, the lm-evaluation-harness, HELM, Inspect, Every Eval Ever.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/metric_meaning.h"
#include "qa/results/import.h"
#include "qa/results/imported.h"
#include "qa/results/results.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/gzip.h"
#include "tests/testing/shared_data.h"
#include "tests/testing/test.h"

namespace concur::imports {
namespace {

class FormatsTest : public ImportFixture {};

std::string MtebText(const std::string& task, const std::string& split, double english,
                     double pair) {
  return absl::StrCat(R"({"task_name": ")", task,
                      R"(", "mteb_version": "1.2", "evaluation_time": 2.5, "scores": {")", split,
                      R"(": [{"hf_subset": "en", "languages": ["eng-Latn"], "main_score": )",
                      english,
                      R"(}, {"hf_subset": "it-en", "languages": ["ita-Latn", "eng-Latn"],)",
                      R"( "main_score": )", pair, "}]}}");
}

TEST_F(FormatsTest, MtebTakesTheMeanOverSubsetsOfTheLanguagesAskedFor) {
  Write("r/org__m/a/STS.json", MtebText("STS", "test", 0.8, 0.6));
  Write("r/org__m/a/model_meta.json", "{}");
  const auto all = ImportAs("mteb", {dir_.File("r")});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_DOUBLE_EQ(Score(*all, "org__m", "STS").value(), 0.7);
  EXPECT_EQ(all->models[0].tags.at("family"), "org");
  EXPECT_EQ(RunOf(*all, "org__m", "STS")->seconds, 2.5);
  request_.options.languages = {"eng"};
  EXPECT_DOUBLE_EQ(Score(*ImportAs("mteb", {dir_.File("r")}), "org__m", "STS").value(), 0.8);
}

TEST_F(FormatsTest, PackedFilesAreReadWhereTheyAreFoundAndWhereTheyAreNamed) {
  Write("r/m/1/T.json.gz", concur::testing::Gzip(MtebText("T", "test", 0.8, 0.6)));
  const auto found = ImportAs("mteb", {dir_.File("r")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_DOUBLE_EQ(Score(*found, "m", "T").value(), 0.7);
  const std::string board =
      Write("board.csv.gz", concur::testing::Gzip("model,x,y\na,1,2\nb,3,4\n"));
  const auto named = ImportAs("leaderboard", {board});
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(Score(*named, "b", "y").value(), 4);
}

TEST_F(FormatsTest, MtebCountsTheFirstRevisionWithATestScore) {
  Write("r/m/1/T.json", MtebText("T", "validation", 0.1, 0.1));
  Write("r/m/2/T.json", MtebText("T", "test", 0.2, 0.2));
  Write("r/m/3/T.json", MtebText("T", "test", 0.3, 0.3));
  const auto first = ImportAs("mteb", {dir_.File("r")});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_DOUBLE_EQ(Score(*first, "m", "T").value(), 0.2);
  EXPECT_EQ(SkippedOf(*first, "another revision of a model, which has the score already"), 2);
  request_.each_revision = true;
  const auto each = ImportAs("mteb", {dir_.File("r")});
  EXPECT_THAT(Names(each->models), ElementsAre("m@2", "m@3"));
  EXPECT_EQ(SkippedOf(*each, "a score on another split than the one on which its task is compared"),
            1);
}

constexpr char kMtebTask[] =
    R"({"task_name": "T", "scores": {"test": [{"hf_subset": "default", "main_score": %s}]}})";

std::string MtebScore(absl::string_view score) {
  return absl::StrReplaceAll(kMtebTask, {{"%s", score}});
}

TEST_F(FormatsTest, MtebOfBeforeRevisionsIsReadByModel) {
  // results/MODEL/TASK.json: three models became one, "results".
  Write("out/org__a/T.json", MtebScore("0.1"));
  Write("out/org__b/T.json", MtebScore("0.2"));
  Write("results/plain/T.json", MtebScore("0.3"));
  Write("out/org__c/no_revision_available/T.json", MtebScore("0.4"));
  Write("out/d/2024-05-01/T.json", MtebScore("0.5"));
  const auto results = ImportAs("mteb", {dir_.path()});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("d", "org__a", "org__b", "org__c", "plain"));
  EXPECT_EQ(results->seeds, 1);
  EXPECT_EQ(Score(*results, "org__b", "T"), 0.2);
}

TEST_F(FormatsTest, MtebTellsModelFromRevisionOrRefuses) {
  // Two models in a folder of another name became revisions of "out", of which one counts.
  Write("out/one/T.json", MtebScore("0.1"));
  Write("out/two/T.json", MtebScore("0.2"));
  EXPECT_THAT(ImportAs("mteb", {dir_.File("out")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the names \"out\" and \"one\" do not tell model"),
                             HasSubstr("ORG__MODEL"), HasSubstr("model_meta.json"))));
  Write("out/one/model_meta.json", R"({"name": "org/one", "revision": "r"})");
  Write("out/two/model_meta.json", R"({"name": "two"})");
  const auto results = ImportAs("mteb", {dir_.File("out")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("org__one", "two"));
  EXPECT_EQ(RunOf(*results, "org__one", "T")->revision, "r");
  Write("out/two/model_meta.json", "{");
  EXPECT_THAT(ImportAs("mteb", {dir_.File("out/two/T.json")}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two/model_meta.json")));
}

TEST_F(FormatsTest, MtebExperimentsAreNoRunsOfTheModel) {
  // A model's score and that of its first 64 dimensions became .175 ± .035 of "experiments".
  Write("r/org__a/2/T.json", MtebScore("0.2"));
  Write("r/org__a/1/experiments/dim_64/T.json", MtebScore("0.1"));
  Write("r/org__b/experiments/dim_64/T.json", MtebScore("0.3"));
  const auto results = ImportAs("mteb", {dir_.File("r")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models),
              ElementsAre("org__a", "org__a (experiment dim_64)", "org__b (experiment dim_64)"));
  EXPECT_EQ(Score(*results, "org__a", "T"), 0.2);
  EXPECT_THAT(results->skipped, IsEmpty());
}

TEST_F(FormatsTest, OtherRevisionsOfADataSetAreCounted) {
  const auto text = [](absl::string_view revision) {
    return absl::StrCat(
        R"({"task_name": "T", "dataset_revision": )", revision,
        R"(, "scores": {"test": [{"hf_subset": "default", "languages": ["eng-Latn"],)",
        R"( "main_score": 0.5}]}})");
  };
  Write("r/a/1/T.json", text(R"("new")"));
  Write("r/b/1/T.json", text(R"("old")"));
  Write("r/c/1/T.json", text(R"("new")"));
  Write("r/d/1/T.json", text("null"));
  Write("r/e/1/T.json", text(R"("None")"));
  const auto found = ImportAs("mteb", {dir_.File("r")});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->models, SizeIs(5)) << "all stay";
  EXPECT_EQ(found->other_data.count, 1);
  EXPECT_THAT(found->other_data.first_place, AllOf(HasSubstr("r/b/1/T.json"), HasSubstr("old")));
}

TEST_F(FormatsTest, MtebOfBeforeVersion1_11IsRead) {
  Write("r/m/1/T.json",
        R"({"mteb_dataset_name": "T", "test": {"en": {"cos_sim": {"spearman": 0.5}}}})");
  EXPECT_DOUBLE_EQ(Score(*ImportAs("mteb", {dir_.File("r")}), "m", "T").value(), 0.5);
}

TEST_F(FormatsTest, RealMtebFilesGiveThePublishedTable) {
  CONCUR_SHARED_DATA_OR_SKIP(raw, "leaderboards/mteb-raw");
  CONCUR_SHARED_DATA_OR_SKIP(table, "leaderboards/mteb-eng-v2/scores.csv");
  request_.options.languages = {"eng"};
  const auto results = ImportAs("mteb", {raw});
  ASSERT_TRUE(results.ok()) << results.status();
  const auto rows = ParseCsv(*ReadFile(table), table);
  ASSERT_TRUE(rows.ok());
  int compared = 0;
  for (const CsvRecord& row : *rows) {
    for (size_t c = 1; c < row.fields.size(); ++c) {
      if (const auto score = Score(*results, row.fields[0], (*rows)[0].fields[c])) {
        EXPECT_NEAR(*score * 100, std::stod(row.fields[c]), 6e-5)
            << row.fields[0] << " " << (*rows)[0].fields[c];
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 122);
}

constexpr char kHarness[] = R"({
 "results": {
  "arc": {"alias": " - arc", "acc,none": 0.5, "acc_stderr,none": 0.1, "acc_norm,none": 0.6,
          "acc_norm_stderr,none": "N/A"},
  "gsm": {"exact_match,strict-match": 0.25, "exact_match,flexible-extract": 0.75},
  "wiki": {"word_perplexity,none": 12.5, "bits,none": NaN},
  "both": {"acc,none": 0.4}},
 "group_subtasks": {"both": ["arc", "gsm"]},
 "higher_is_better": {"wiki": {"word_perplexity": false}},
 "n-shot": {"arc": 25}, "versions": {"arc": 1.0},
 "n-samples": {"arc": {"original": 4, "effective": 4}},
 "config": {"model": "hf", "model_args": "pretrained=org/m,dtype=float16", "model_sha": "abc"},
 "date": 1700000000.5, "lm_eval_version": "0.4.9"})";

TEST_F(FormatsTest, TheHarnessKeepsMetricsFiltersErrorsAndDirections) {
  const auto results = ImportAs("lm-eval", {Write("results_1.json", kHarness)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("org/m"));
  EXPECT_THAT(Names(results->tasks), ElementsAre("arc", "gsm", "wiki"));
  const imports::Run* const arc = RunOf(*results, "org/m", "arc");
  ASSERT_THAT(arc->metrics, SizeIs(2));
  EXPECT_EQ(arc->metrics[0].name, "acc");
  EXPECT_EQ(arc->metrics[0].standard_error, 0.1);
  EXPECT_EQ(arc->metrics[0].examples, 4);
  EXPECT_EQ(arc->metrics[1].standard_error, std::nullopt);
  EXPECT_EQ(arc->shots, 25);
  EXPECT_EQ(arc->revision, "abc");
  EXPECT_EQ(RunOf(*results, "org/m", "gsm")->metrics[0].name, "exact_match,strict-match");
  EXPECT_EQ(results->tasks[2].meaning.goal, Goal::kMinimize);
  EXPECT_EQ(SkippedOf(*results, "a group whose tasks are there themselves"), 1);
  EXPECT_EQ(SkippedOf(*results, "a metric whose value is no number"), 1);
  request_.metrics = {"acc_norm"};
  EXPECT_EQ(Score(*ImportAs("lm-eval", {dir_.File("results_1.json")}), "org/m", "arc"), 0.6);
  request_.metrics = {"acc_norm", "acc_nrm"};
  EXPECT_THAT(ImportAs("lm-eval", {dir_.File("results_1.json")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--metric: no score has the metric \"acc_nrm\""),
                             HasSubstr("did you mean \"acc_norm\""),
                             HasSubstr("there are acc, acc_norm"))));
}

std::string OneTask(const char* extra, double score) {
  return absl::StrCat(R"({"results": {"t": {"acc": )", score, R"(, "acc_stderr": 0.01}}, )", extra,
                      R"("config": {"model_args": "pretrained=m"}})");
}

TEST_F(FormatsTest, LightevalsLayoutIsRead) {
  // Its files had no model.
  const auto write = [this](int number, const std::string& samples, const std::string& dtype,
                            double score) {
    Write(absl::StrCat("l/", number, ".json"),
          absl::StrCat(R"({"config_general": {"lighteval_sha": "x", "max_samples": )", samples,
                       R"(, "start_time": )", number, R"(, "override_batch_size": )", number,
                       R"(, "model_name": "a/one", "model_sha": "s", "model_dtype": ")", dtype,
                       R"("}, "results": {"harness|arc|25": {"acc": )", score,
                       R"(, "acc_stderr": 0.1}, "all": {"acc": 1}},
                       "versions": {"harness|arc|25": 0}, "config_tasks": {"harness|arc": {
                       "hf_repo": "ai2_arc", "evaluation_splits": ["test"],
                       "original_num_docs": 100, "effective_num_docs": )",
                       samples == "null" ? "100" : samples,
                       R"(}}, "summary_tasks": {"harness|arc|25": {"truncated": )", number, "}}}"));
  };
  write(1, "null", "float16", 0.5);
  write(2, "10", "float16", 0.9);
  write(3, "null", "float16", 0.52);
  write(4, "null", "4bit", 0.25);
  const auto results = ImportAs("lm-eval", {dir_.File("l")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "a/one (model_dtype float16)", "harness|arc|25", 1), 0.52);
  EXPECT_EQ(Score(*results, "a/one (model_dtype 4bit)", "harness|arc|25"), 0.25);
  EXPECT_EQ(Score(*results, "a/one (model_dtype float16)", "harness|arc|25 (limit 10)"), 0.9);
  EXPECT_THAT(results->cells, SizeIs(4));
}

TEST_F(FormatsTest, ARunWithoutTheMetricOfItsTaskDoesNotChangeIt) {
  // The first model alone had a score, by its own metric, and --metric acc changed nothing.
  const auto write = [&](const std::string& model, const std::string& metrics) {
    Write(absl::StrCat("r/results_", model, ".json"),
          absl::StrCat(R"({"results": {"t": {)", metrics,
                       R"(}}, "higher_is_better": {"t": {"perplexity": false}},)",
                       R"("n-samples": {"t": {"effective": 2}},)",
                       R"("config": {"model_args": "pretrained=)", model, R"("}})"));
  };
  write("a", R"("perplexity": 0.5)");
  Write("r/samples_t_a.jsonl",
        "{\"doc_id\": 0, \"perplexity\": 1.0}\n{\"doc_id\": 1, \"perplexity\": 0.0}\n");
  write("b", R"("perplexity": 7, "acc": 0.5)");
  write("c", R"("acc": 0.6)");
  write("d", R"("acc": 0.7)");
  write("e", R"("acc": 0.8)");
  for (const std::vector<std::string>& metrics : {std::vector<std::string>{"acc"}, {}}) {
    request_.metrics = metrics;
    const auto results = ImportAs("lm-eval", {dir_.File("r")});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(results->tasks[0].metric, "acc");
    EXPECT_EQ(results->tasks[0].meaning.goal, Goal::kMaximize);
    EXPECT_EQ(RunOf(*results, "a", "t")->metrics[0].name, "perplexity") << "kept, and no score";
    EXPECT_THAT(RunOf(*results, "a", "t")->examples, IsEmpty()) << "they are not of acc";
    EXPECT_EQ(Score(*results, "b", "t"), 0.5);
    const SkippedCount& without =
        results->skipped.at("a run without the metric by which its task is compared");
    EXPECT_EQ(without.count, 1);
    EXPECT_THAT(without.first_place, EndsWith("results_a.json: t: acc"));
  }
}

TEST_F(FormatsTest, RunsOfOneCellAreSeedsInTheirOrderOfTimeAndCopiesAreLeftOut) {
  Write("r/results_a.json", OneTask(R"("date": 2000, )", 0.2));
  Write("r/results_b.json", OneTask(R"("date": 1000, )", 0.1));
  Write("r/results_c.json", OneTask(R"("date": 1000, )", 0.1));
  const auto results = ImportAs("lm-eval", {dir_.File("r")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->seeds, 2U);
  EXPECT_EQ(Score(*results, "m", "t", 0), 0.1);
  EXPECT_EQ(Score(*results, "m", "t", 1), 0.2);
  EXPECT_EQ(SkippedOf(*results, "a file with the same bytes as another"), 1);
}

TEST_F(FormatsTest, AByteOrderMarkIsNoPartOfADocument) {
  Write("r/results_1.json", "\xEF\xBB\xBF" + OneTask("", 0.2));
  const auto results = ImportAs("lm-eval", {dir_.File("r")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "m", "t", 0), 0.2);
}

TEST_F(FormatsTest, OtherShotsAreOtherTasks) {
  Write("r/results_a.json", OneTask(R"("n-shot": {"t": 0}, )", 0.2));
  Write("r/results_b.json", OneTask(R"("n-shot": {"t": 5}, )", 0.3));
  EXPECT_THAT(Names(ImportAs("lm-eval", {dir_.File("r")})->tasks),
              ElementsAre("t (0-shot)", "t (5-shot)"));
}

TEST_F(FormatsTest, SamplesBecomeExamplesWhenTheyExplainTheScore) {
  Write("results_1.json", OneTask("", 0.5));
  Write("samples_t_1.jsonl",
        "{\"doc_id\": 0, \"filter\": \"none\", \"acc\": 1.0}\n{\"doc_id\": 1, \"acc\": 0.0}\n");
  const auto good = ImportAs("lm-eval", {dir_.File("results_1.json")});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_THAT(RunOf(*good, "m", "t")->examples, SizeIs(2));
  Write("samples_t_1.jsonl", "{\"doc_id\": 0, \"acc\": 1.0}\n");
  const auto bad = ImportAs("lm-eval", {dir_.File("results_1.json")});
  EXPECT_THAT(RunOf(*bad, "m", "t")->examples, IsEmpty());
  EXPECT_EQ(SkippedOf(*bad, "per-example scores whose mean is not the score"), 1);
}

TEST_F(FormatsTest, SamplesMayHaveAnyRange) {
  // Samples of a loss were left out: "not all within 0..1".
  Write("results_1.json", OneTask("", 3.25));
  Write("samples_t_1.jsonl", "{\"doc_id\": 0, \"acc\": 7}\n{\"doc_id\": 1, \"acc\": -0.5}\n");
  const auto results = ImportAs("lm-eval", {dir_.File("results_1.json")});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(RunOf(*results, "m", "t")->examples, SizeIs(2));
  EXPECT_EQ(RunOf(*results, "m", "t")->examples[1].value, -0.5);
}

TEST_F(FormatsTest, InspectReadsScorersAndLettersAndRefusesUnknownVersions) {
  const std::string log = R"({"version": 2, "status": "success",
    "eval": {"task": "arc", "model": "org/m", "created": "2025"},
    "results": {"completed_samples": 2, "scores": [{"name": "choice", "metrics":
       {"stderr": {"value": 0.2}, "accuracy": {"value": 0.75}}}]},
    "stats": {"started_at": "2025-01-01T00:00:00+00:00", "completed_at": "2025-01-01T00:01:00+00:00"},
    "samples": [{"id": 1, "scores": {"choice": {"value": "C"}}},
                {"id": "x", "scores": {"choice": {"value": "P"}}}]})";
  const auto results = ImportAs("inspect", {Write("log.json", log)});
  ASSERT_TRUE(results.ok()) << results.status();
  const imports::Run* const run = RunOf(*results, "org/m", "arc");
  EXPECT_EQ(run->metrics[0].value, 0.75);
  EXPECT_EQ(run->metrics[0].standard_error, 0.2);
  EXPECT_EQ(run->seconds, 60);
  EXPECT_THAT(run->examples, SizeIs(2));
  EXPECT_THAT(
      ImportAs("inspect", {Write("v9.json", R"({"version": 9, "eval": {}})")}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("v9.json: version: expected 1, 2 or 3"), HasSubstr("got 9"))));
}

TEST_F(FormatsTest, HelmTakesTheMetricOfItsScenario) {
  Write("runs/s/q:model=a_b/run_spec.json",
        R"({"name": "narrative_qa:model=a_b", "adapter_spec": {"model": "a/b",
            "max_train_instances": 5}, "groups": ["narrative_qa"]})");
  Write("runs/s/q:model=a_b/stats.json",
        R"([{"name": {"name": "exact_match", "split": "test"}, "mean": 0.1},
            {"name": {"name": "f1_score", "split": "test", "perturbation": {"name": "x"}}, "mean": 0.9},
            {"name": {"name": "f1_score", "split": "test"}, "mean": 0.4},
            {"name": {"name": "num_instances", "split": "test"}, "mean": 5},
            {"name": {"name": "f1_score", "split": "valid"}, "mean": 0.8}])");
  const auto results = ImportAs("helm", {dir_.File("runs")});
  ASSERT_TRUE(results.ok()) << results.status();
  const imports::Run* const run = RunOf(*results, "a/b", "narrative_qa");
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->metrics[0].name, "f1_score");
  EXPECT_EQ(run->metrics[0].value, 0.4);
  EXPECT_EQ(run->metrics[0].examples, 5);
  EXPECT_THAT(run->metrics, SizeIs(2));
  EXPECT_EQ(run->shots, 5);
}

TEST_F(FormatsTest, EveryEvalEverNamesTheSchemasThatAreKnown) {
  const std::string text = R"({"schema_version": "0.2.0", "retrieved_timestamp": "1",
    "model_info": {"id": "org/m", "developer": "Org"}, "evaluation_results": [
     {"evaluation_name": "E", "metric_config": {"lower_is_better": true, "min_score": 0,
      "max_score": 5}, "score_details": {"score": 2.5, "uncertainty":
      {"standard_error": {"value": 0.1}, "num_samples": 7}}}]})";
  const auto results = ImportAs("every-eval-ever", {Write("e.json", text)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->tasks[0].meaning.goal, Goal::kMinimize);
  EXPECT_EQ(results->tasks[0].meaning.scale.high, 5);
  EXPECT_EQ(results->models[0].tags.at("family"), "Org");
  EXPECT_EQ(RunOf(*results, "org/m", "E")->metrics[0].standard_error, 0.1);
  EXPECT_EQ(RunOf(*results, "org/m", "E")->metrics[0].examples, 7);
  EXPECT_THAT(ImportAs("every-eval-ever", {Write("f.json", R"({"schema_version": "7"})")}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("f.json: schema_version"), HasSubstr("0.2.2, 0.3.0"),
                             HasSubstr("got \"7\""))));
}

TEST_F(FormatsTest, AColumnHasOneUnitAndOneGoal) {
  // Fractions stood beside percents, and the first run's goal counted.
  for (int i = 0; i < 4; ++i) {
    const int most = i < 2 ? 100 : 1;
    Write(absl::StrCat("e/", i, ".json"),
          absl::StrCat(R"({"schema_version": "0.3.0", "model_info": {"id": "org/m)", i,
                       R"("}, "evaluation_results": [{"evaluation_name": "t", "metric_config":
                       {"min_score": 0, "max_score": )",
                       most, R"(, "lower_is_better": )", i == 0 ? "true" : "false",
                       R"(}, "score_details": {"score": )", most * (0.5 + 0.125 * i), "}}]}"));
  }
  const auto results = ImportAs("every-eval-ever", {dir_.File("e")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "org/m0", "t"), 0.5);
  EXPECT_EQ(Score(*results, "org/m1", "t"), 0.625);
  EXPECT_EQ(Score(*results, "org/m2", "t"), 0.75);
  EXPECT_EQ(results->tasks[0].meaning, (MetricMeaning{Goal::kMaximize, {Scale::Kind::kFraction}}));
  std::vector<std::string> notes;
  for (const ColumnNote& note : results->columns) {
    notes.push_back(note.why);
  }
  EXPECT_THAT(notes, ElementsAre("a guess: 3 scores state maximize, 1 minimize",
                                 "2 scores in percent are divided by 100"));
}

TEST_F(FormatsTest, AnUnknownDeveloperIsNoFamily) {
  const auto evaluation = [](const char* id) {
    return absl::StrCat(
        R"({"schema_version": "0.2.0", "retrieved_timestamp": "1", "model_info": {"id": ")", id,
        R"(", "developer": "unknown"}, "evaluation_results": [
                        {"evaluation_name": "E", "score_details": {"score": 1}}]})");
  };
  const auto results = ImportAs("every-eval-ever", {Write("a.json", evaluation("plain")),
                                                    Write("b.json", evaluation("org/m"))});
  ASSERT_TRUE(results.ok()) << results.status();
  std::map<std::string, std::string> families;
  for (const auto& model : results->models) {
    const auto family = model.tags.find("family");
    families[model.name] = family == model.tags.end() ? "" : family->second;
  }
  EXPECT_EQ(families["plain"], "");
  EXPECT_EQ(families["org/m"], "org");
}

TEST_F(FormatsTest, CostsAreKeptAsFarAsTheFormatStatesThem) {
  const auto log = [](const char* usage) {
    return absl::StrCat(R"({"version": 2, "status": "success", "stats": {"model_usage": )", usage,
                        R"(}, "eval": {"task": "t", "model": "m"}, "results": {"scores": [
                           {"name": "s", "metrics": {"accuracy": {"value": 1}}}]}})");
  };
  const auto inspect =
      ImportAs("inspect", {Write("paid.json", log(R"({"m": {"total_tokens": 7, "total_cost": 0.25},
                                             "judge": {"total_tokens": 1, "total_cost": 0.5}})"))});
  ASSERT_TRUE(inspect.ok()) << inspect.status();
  EXPECT_EQ(RunOf(*inspect, "m", "t")->cost_usd, 0.75);
  EXPECT_EQ(RunOf(*inspect, "m", "t")->tokens, 8);
  const auto part =
      ImportAs("inspect", {Write("part.json", log(R"({"m": {"total_tokens": 7, "total_cost": 0.25},
                                             "judge": {"total_tokens": 1}})"))});
  EXPECT_EQ(RunOf(*part, "m", "t")->cost_usd, std::nullopt) << "that of one model of two";

  Write("runs/s/q:model=m/run_spec.json",
        R"({"name": "q:model=m", "adapter_spec": {"model": "m"}})");
  Write("runs/s/q:model=m/stats.json",
        R"([{"name": {"name": "exact_match", "split": "test"}, "mean": 0.5},
            {"name": {"name": "num_instances", "split": "test"}, "mean": 4},
            {"name": {"name": "inference_runtime", "split": "test"}, "mean": 1.5},
            {"name": {"name": "num_prompt_tokens", "split": "test"}, "mean": 10},
            {"name": {"name": "num_output_tokens", "split": "test"}, "mean": 2}])");
  const auto helm = ImportAs("helm", {dir_.File("runs")});
  ASSERT_TRUE(helm.ok()) << helm.status();
  EXPECT_EQ(RunOf(*helm, "m", "q")->seconds, 6);
  EXPECT_EQ(RunOf(*helm, "m", "q")->tokens, 48);

  const auto evaluation = [](const char* details, const char* more) {
    return absl::StrCat(R"({"schema_version": "0.3.0", "model_info": {"id": "m"},
      "evaluation_results": [{"evaluation_name": "t", "score_details": {"score": 0.5, "details": )",
                        details, "}}]", more, "}");
  };
  const auto exported =
      ImportAs("every-eval-ever", {Write("e.json", evaluation(R"({"seconds": "60", "tokens": "8",
                          "co2_kg": "0.1", "cost_usd": "0.75"})",
                                                              ""))});
  ASSERT_TRUE(exported.ok()) << exported.status();
  const imports::Run* const run = RunOf(*exported, "m", "t");
  EXPECT_EQ(run->seconds, 60);
  EXPECT_EQ(run->tokens, 8);
  EXPECT_EQ(run->co2_kg, 0.1);
  EXPECT_EQ(run->cost_usd, 0.75);

  const char* const with_samples = R"(, "detailed_evaluation_results": {"file_path": "s.jsonl"})";
  const auto sample = [](int id, const char* end) {
    return absl::StrCat(R"({"sample_id": ")", id, R"(", "evaluation_name": "t", "evaluation": )",
                        R"({"score": )", id, "}", end, "}\n");
  };
  const auto tokens = [&](const char* end) {
    Write("s.jsonl", sample(0, R"(, "token_usage": {"total_tokens": 30})") + sample(1, end));
    const auto results =
        ImportAs("every-eval-ever", {Write("f.json", evaluation("{}", with_samples))});
    CONCUR_CHECK_OK(results.status());
    return RunOf(*results, "m", "t")->tokens;
  };
  EXPECT_EQ(tokens(R"(, "token_usage": {"total_tokens": 12})"), 42);
  EXPECT_EQ(tokens(""), std::nullopt) << "a sample that does not say";
}

TEST_F(FormatsTest, WhatHasAnotherLayoutIsRefusedWithThoseThatAreKnown) {
  struct Case {
    const char* format;
    const char* file;
    const char* text;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"mteb", "m/1/a.json", R"({"mteb_version": "9", "task": {"name": "t"}})",
            "task_name: expected the name of a task (mteb 1.11 and later; \"mteb_dataset_name\" "
            "before)"},
           {"mteb", "m/1/b.json", R"({"mteb_version": "9", "task_name": "t", "scores": [1]})",
            "scores: expected an object of splits (mteb 1.11 and later; absent before)"},
           {"mteb", "m/1/c.json", R"({"mteb_version": "9", "task_name": "t", "values": 3})",
            "no split with scores in a known layout (mteb 1.11 and later, and before)"},
           {"lm-eval", "results_a.json", R"({"lm_eval_version": "9", "tasks": {}})",
            "as the lm-evaluation-harness 0.3 and 0.4 write it"},
           {"lm-eval", "results_b.json",
            R"({"results": {"t": [{"metric": "acc"}]}, "model_name": "m"})",
            "results.t: expected an object of metrics METRIC or METRIC,FILTER"},
           {"helm", "run/run_spec.json", R"({"run": "x"})", "as HELM 0.2 to 0.5 write it"},
           {"inspect", "log.json", R"({"version": 4, "eval": {}})",
            "expected 1, 2 or 3, the versions"},
           {"every-eval-ever", "e.json", R"({"schema_version": "0.9.0"})",
            "expected one of 0.1.0, 0.2.0, 0.2.1, 0.2.2, 0.3.0, got \"0.9.0\""}}) {
    const auto results = ImportAs(c.format, {Write(c.file, c.text)});
    EXPECT_THAT(results.status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.text;
  }
  Write("other/run_spec.json", R"({"name": "q:model=m", "adapter_spec": {"model": "m"}})");
  Write("other/stats.json", R"({"stats": []})");
  EXPECT_THAT(ImportAs("helm", {dir_.File("other/run_spec.json")}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a list of statistics {name: {name, split}, mean}, as HELM 0.2")));
}

TEST_F(FormatsTest, BrokenFilesAreNamedAndInFoldersCounted) {
  const std::map<std::string, std::string> broken = {
      {"cut", std::string(kHarness).substr(0, 300)},
      {"list", "[1, 2]"},
      {"empty", ""},
      {"deep", std::string(100'000, '[')},
      {"types", R"({"results": {"t": 5}, "config": {"model": "m"}})"},
      {"no-model", R"({"results": {"t": {"acc": 1}}})"},
      {"other", R"({"results": []})"}};
  Write("r/results_good.json", OneTask("", 0.5));
  for (const auto& [name, text] : broken) {
    const std::string path = Write(absl::StrCat("r/", name, ".json"), text);
    EXPECT_THAT(ImportAs("lm-eval", {path}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name + ".json")));
  }
  const auto results = ImportAs("lm-eval", {dir_.File("r")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(SkippedOf(*results, "a file that cannot be read as lm-eval"),
            static_cast<int64_t>(broken.size()));
  request_.strict = true;
  EXPECT_THAT(ImportAs("lm-eval", {dir_.File("r")}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(".json")));
}

TEST_F(FormatsTest, NamesThatNoTableCanHoldAreSkipped) {
  Write("r/results_a.json", OneTask("", 0.5));
  Write("r/results_b.json",
        R"({"results": {"t": {"acc": 1}, "bad\u0007": {"acc": 1}}, "model_name": "x"})");
  const auto results = ImportAs("lm-eval", {dir_.File("r")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(SkippedOf(*results, "a name with a control character"), 1);
  EXPECT_THAT(Names(results->models), ElementsAre("m", "x"));
}

}  // namespace
}  // namespace concur::imports
