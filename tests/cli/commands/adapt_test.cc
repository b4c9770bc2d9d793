// SPDX-License-Identifier: Apache-2.0
// `concur adapt` and `concur data export`: other programs' forms, strictly.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "cli/app/context.h"
#include "cli/data/adapters.h"
#include "qa/dataset_io.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

std::string Write(const TempDir& dir, const std::string& name, const std::string& text) {
  std::ofstream(dir.File(name)) << text;
  return dir.File(name);
}

// Two questions on one passage, one on another; "q3" has an answer that its passage lacks.
constexpr char kData[] =
    R"({"header": {"dataset": "small"}}
{"context": "Müller wrote Faust. Müller slept.", "qas": [{"qid": "q1", "question": "Who wrote?", "answers": ["Müller"], "detected_answers": [{"text": "Müller", "char_spans": [[0, 5], [20, 25]]}]}, {"qid": "q2", "question": "What \"did\" he?", "answers": ["slept", "Faust"]}]}
{"context": "Nothing here.", "qas": [{"qid": "q3", "question": "Who?", "answers": ["Nobody"]}]}
)";

// --- answers ---

TEST(AdaptTest, PredictionsAreCheckedAgainstTheTestSet) {
  const TempDir dir;
  const std::string data = Write(dir, "data.jsonl", kData);
  const std::string in = Write(dir, "in.json", R"({"q2": "slept", "q1": "Müller", "q3": ""})");
  const Output run = RunConcur(
      {"adapt", "predictions", "--in", in, "--data", data, "--out", dir.File("out.json")});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  ASSERT_OK_AND_ASSIGN(const std::string out, ReadFile(dir.File("out.json")));
  EXPECT_EQ(out, "{\n\"q1\": \"Müller\",\n\"q2\": \"slept\",\n\"q3\": \"\"\n}\n");
}

TEST(AdaptTest, AMissingAnswerIsAnErrorUnlessAllowed) {
  const TempDir dir;
  const std::string data = Write(dir, "data.jsonl", kData);
  const std::string in = Write(dir, "in.json", R"({"q1": "a"})");
  std::vector<std::string> arguments = {"adapt",  "predictions", "--in",  in,
                                        "--data", data,          "--out", dir.File("out.json")};
  const Output refused = RunConcur(arguments);
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_THAT(refused.err, HasSubstr("2 of 3 questions"));
  EXPECT_THAT(refused.err, HasSubstr("\"q2\"; with --allow-missing they count 0"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("out.json")));
  arguments.emplace_back("--allow-missing");
  const Output allowed = RunConcur(arguments);
  EXPECT_EQ(allowed.code, kExitOk);
  EXPECT_THAT(allowed.err, HasSubstr("2 of 3 questions"));
  EXPECT_TRUE(std::filesystem::exists(dir.File("out.json")));
}

TEST(AdaptTest, AnAnswerToAnUnknownQuestionIsAnErrorUnlessDropped) {
  const TempDir dir;
  const std::string data = Write(dir, "data.jsonl", kData);
  const std::string in =
      Write(dir, "in.json", R"({"q1": "a", "q2": "b", "q3": "c", "elsewhere": "d"})");
  std::vector<std::string> arguments = {"adapt",  "predictions", "--in",  in,
                                        "--data", data,          "--out", dir.File("out.json")};
  EXPECT_THAT(RunConcur(arguments).err, HasSubstr("got one to \"elsewhere\"; --drop-unknown"));
  arguments.emplace_back("--drop-unknown");
  EXPECT_EQ(RunConcur(arguments).code, kExitOk);
  ASSERT_OK_AND_ASSIGN(const std::string out, ReadFile(dir.File("out.json")));
  EXPECT_EQ(out.find("elsewhere"), std::string::npos);
}

TEST(AdaptTest, OfManyAnswersTheOneOfTheHighestScoreIsTaken) {
  const absl::StatusOr<AnswersById> answers = AdaptNbest({"f", R"({
      "hf": [{"text": "low", "probability": 0.2}, {"text": "high", "probability": 0.7}],
      "logits": [{"text": "a", "start_logit": 1, "end_logit": 2},
                 {"text": "b", "start_logit": -1, "end_logit": 5}],
      "score": [{"text": "x", "score": -3.5}],
      "ties": [["first", 1], ["second", 1.0]],
      "drqa": [["worse", 0.1], ["better", 0.9], ["worst", 0.0]]})"});
  ASSERT_OK(answers);
  EXPECT_THAT(*answers, ElementsAre(Pair("drqa", "better"), Pair("hf", "high"), Pair("logits", "b"),
                                    Pair("score", "x"), Pair("ties", "first")));
}

TEST(AdaptTest, LinesAnswerByIdOrInTheOrderOfTheTestSet) {
  const std::vector<std::string> ids = {"q1", "q2"};
  const absl::StatusOr<AnswersById> ordered =
      AdaptLines({"f", "{\"answer\": \"a\"}\r\n\n{\"answer\": \"b\"}\n"}, ids, "id", "answer");
  ASSERT_OK(ordered);
  EXPECT_THAT(*ordered, ElementsAre(Pair("q1", "a"), Pair("q2", "b")));
  const absl::StatusOr<AnswersById> named =
      AdaptLines({"f", "{\"id\": \"q2\", \"answer\": \"b\"}\n{\"id\": \"q1\", \"answer\": \"a\"}"},
                 ids, "id", "answer");
  ASSERT_OK(named);
  EXPECT_EQ(*named, *ordered);
}

struct BadInput {
  std::string form;  // predictions, nbest, lines, metrics, lm-eval
  std::string text;
  std::string error;
};

absl::Status Adapt(const BadInput& bad) {
  const AdapterInput input{"FILE", bad.text};
  if (bad.form == "predictions") {
    return AdaptPredictions(input).status();
  }
  if (bad.form == "nbest") {
    return AdaptNbest(input).status();
  }
  if (bad.form == "lines") {
    return AdaptLines(input, {"q1", "q2"}, "id", "answer").status();
  }
  return bad.form == "metrics" ? AdaptMetrics(input, {}).status()
                               : AdaptHarness(input, {}).status();
}

TEST(AdaptTest, PredictionsMayBeAListWithIds) {
  const absl::StatusOr<AnswersById> answers = AdaptPredictions(
      {"FILE", R"([{"id": "1", "prediction_text": "Ada", "no_answer_probability": 0.0},
                   {"id": 262, "prediction_text": ""}])"});
  ASSERT_OK(answers.status());
  EXPECT_EQ(*answers, (AnswersById{{"1", "Ada"}, {"262", ""}}));
}

TEST(AdaptTest, PredictionsMayBeLinesOrWrapped) {
  // One line was read as two answers, to the questions "id" and "prediction_text".
  for (const char* text :
       {R"({"id": "1", "prediction_text": "Ada"})",
        "{\"id\": 1, \"prediction_text\": \"Ada\"}\r\n\n",
        R"({"predictions": [{"id": "1", "prediction_text": "Ada"}], "references": []})"}) {
    const absl::StatusOr<AnswersById> answers = AdaptPredictions({"FILE", text});
    ASSERT_OK(answers.status());
    EXPECT_EQ(*answers, (AnswersById{{"1", "Ada"}})) << text;
  }
  const char* const two =
      "{\"id\": \"1\", \"prediction_text\": \"a\"}\n{\"id\": \"2\", \"prediction_text\": \"b\"}\n";
  const absl::StatusOr<AnswersById> lines = AdaptPredictions({"FILE", two});
  ASSERT_OK(lines.status());
  EXPECT_EQ(*lines, (AnswersById{{"1", "a"}, {"2", "b"}}));
}

TEST(AdaptTest, BadInputIsRefusedWithItsPlace) {
  const std::vector<BadInput> cases = {
      {"predictions", "", "FILE: expected JSON"},
      {"predictions", "{\"a\": \"b\"", "FILE: expected JSON"},
      {"predictions", "{\"a\": \"\xff\"}", "FILE: expected JSON"},
      {"predictions", "[]", "or one a line, got an empty list"},
      {"predictions", "{\"id\": \"1\", \"prediction_text\": \"a\"}\n{\"id\": \"1\"}",
       "FILE:2: expected the field \"prediction_text\""},
      {"predictions", "{}", "not empty, got an empty object"},
      {"predictions", R"({"a": 3})", "FILE: a: expected an answer, got 3"},
      {"predictions", R"({"a": ["b"]})", "FILE: a: expected an answer (a list of answers is for"},
      {"predictions", R"({"a": "b", "a": "c"})", "expected each name once, got \"a\" twice"},
      {"nbest", R"({"a": []})", "FILE: a: expected a list of at least one answer, got an empty"},
      {"nbest", R"({"a": "b"})", "FILE: a: expected a list of at least one answer, got \"b\""},
      {"nbest", R"({"a": [["b"]]})", "FILE: a/0: expected [answer, score], got a list"},
      {"nbest", R"({"a": [["b", "1"]]})", "FILE: a/0/1: expected a number, got \"1\""},
      {"nbest", R"({"a": [["b", 1e99]]})", "FILE: a/0/1: expected a number of at most"},
      {"nbest", R"({"a": [{"probability": 1}]})", "expected the field \"text\", got probability"},
      {"nbest", R"({"a": [{"text": "b", "start_logit": 1}]})", "or \"start_logit\" and"},
      {"lines", "\n \n", "FILE: expected at least one line"},
      {"lines", "{\"answer\": \"a\"}", "FILE: expected 2 lines, one for each question"},
      {"lines", "{\"answer\": \"a\"}\n{\"answer\": \"a\"}\n{\"answer\": \"a\"}",
       "FILE:3: expected 2 lines"},
      {"lines", "{\"answer\": \"a\"}\nnonsense", "FILE:2: expected JSON"},
      {"lines", "{\"anwser\": \"a\"}",
       "FILE:1: expected the field \"answer\", got anwser (did you"},
      {"lines", "{\"answer\": \"a\"}\n{\"id\": \"q1\", \"answer\": \"a\"}",
       "FILE:2: expected \"id\" in every line or in none"},
      {"lines", "{\"id\": \"q1\", \"answer\": \"a\"}\n{\"id\": \"q1\", \"answer\": \"a\"}",
       "FILE:2: expected each question once, got \"q1\" again"},
      {"metrics", R"({"f1": NaN})", "which has no NaN"},
      {"metrics", R"({"f1": "high"})", "FILE: f1: expected a number, got \"high\"; --only NAME"},
      {"metrics", R"({"f1": true})", "FILE: f1: expected a number, got true"},
      {"metrics", R"({"f 1": 3})", "FILE: f 1: "},
      {"metrics", R"({"f1": 1e300})", "expected a number of at most"},
      {"lm-eval", R"({"result": {}})", "FILE: expected the field \"results\", got result (did"},
      {"lm-eval", R"({"results": {"a": {"acc": 1}, "b": {"acc": 1}}})",
       "FILE: results: expected one task, got a, b; --task NAME"},
      {"lm-eval", R"({"results": {"a": {"alias": "a"}}})", "FILE: results/a: expected a metric"},
      {"lm-eval", R"({"results": {"a": {"acc,none": 1, "acc,strict": 2}}})",
       "FILE: results/a: expected one filter, got none and strict; --filter NAME"},
      {"lm-eval", R"({"results": {"a": {"acc,none": null}}})",
       "FILE: results/a/acc,none: expected a number, got null"},
  };
  for (const BadInput& bad : cases) {
    EXPECT_THAT(Adapt(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.error)))
        << bad.form << ": " << bad.text;
  }
}

// `concur adapt` in a job said: --output: expected table, json, jsonl or csv, got "/…/output".
TEST(AdaptTest, InAJobTheOutputDirectoryIsNotTheOutputMode) {
  const TempDir dir;
  const std::string in = Write(dir, "in.json", R"({"q1": "a"})");
  const std::vector<std::string> arguments = {"adapt", "predictions", "--in",
                                              in,      "--out",       dir.File("out.json")};
  setenv("CONCUR_OUTPUT", dir.File("output").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(RunConcur(arguments).code, kExitUsage);
  setenv("CONCUR_JOB", "s1/1", 1);  // NOLINT(concurrency-mt-unsafe)
  const Output in_job = RunConcur(arguments);
  const Output bad_in_job = RunConcur({"adapt", "predictions"});
  unsetenv("CONCUR_JOB");     // NOLINT(concurrency-mt-unsafe)
  unsetenv("CONCUR_OUTPUT");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(in_job.code, kExitOk) << in_job.err;
  EXPECT_EQ(bad_in_job.code, kExitUsage);
  EXPECT_THAT(bad_in_job.err, HasSubstr("--in is required"));
}

// --- metrics ---

TEST(AdaptTest, MetricsAreTakenFromWhereTheyStand) {
  const AdapterInput input{
      "f", R"({"model": "m", "scores": {"dev": {"eval_f1": 81.5, "eval_exact": 70, "n": 9}}})"};
  const absl::StatusOr<MetricsByName> all =
      AdaptMetrics(input, {.at = "scores/dev", .strip = "eval_"});
  ASSERT_OK(all);
  EXPECT_THAT(*all, ElementsAre(Pair("exact", 70), Pair("f1", 81.5), Pair("n", 9)));
  const absl::StatusOr<MetricsByName> one =
      AdaptMetrics(input, {.at = "scores/dev", .only = {"eval_f1"}});
  ASSERT_OK(one);
  EXPECT_THAT(*one, ElementsAre(Pair("eval_f1", 81.5)));
  EXPECT_THAT(AdaptMetrics(input, {.at = "scores/test"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: scores: expected the field \"test\", got dev")));
}

TEST(AdaptTest, ResultsOfTheHarnessLoseTheirFilterAndKeepStandardErrors) {
  const AdapterInput input{"f", R"({"results": {"squad": {"alias": "squad", "f1,none": 0.5,
      "f1_stderr,none": "N/A", "exact,none": 0.25, "exact_stderr,none": 0.01},
      "gsm8k": {"exact_match,strict-match": 0.84, "exact_match,flexible-extract": 0.89}}})"};
  const absl::StatusOr<MetricsByName> squad = AdaptHarness(input, {"squad"});
  ASSERT_OK(squad);
  EXPECT_THAT(*squad,
              ElementsAre(Pair("exact", 0.25), Pair("exact_stderr", 0.01), Pair("f1", 0.5)));
  const absl::StatusOr<MetricsByName> strict = AdaptHarness(input, {"gsm8k", "strict-match"});
  ASSERT_OK(strict);
  EXPECT_THAT(*strict, ElementsAre(Pair("exact_match", 0.84)));
  EXPECT_THAT(AdaptHarness(input, {"squid"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"squad\"")));
  EXPECT_THAT(AdaptHarness(input, {"squad", "strict"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("there is none")));
}

TEST(AdaptTest, OldResultsOfTheHarnessHaveNoFilter) {
  const absl::StatusOr<MetricsByName> metrics = AdaptHarness(
      {"f", R"({"results": {"drop": {"em": 0.08, "em_stderr": 0.003, "f1": 0.19}}})"}, {});
  ASSERT_OK(metrics);
  EXPECT_THAT(*metrics, ElementsAre(Pair("em", 0.08), Pair("em_stderr", 0.003), Pair("f1", 0.19)));
}

// Name and value of each metric of each part.
nlohmann::json PartsIn(const std::string& path) {
  return nlohmann::json::parse(*ReadFile(path)).at("parts");
}

TEST(AdaptTest, EveryTaskOfARunBecomesAPart) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("out"));
  Write(dir, "out/results_1.json", R"({"model_name": "org/m", "results": {
      "arc": {"acc,none": 0.5, "acc_norm,none": 0.75}, "squad": {"f1,none": 81.5},
      "lambada": {"perplexity,none": 7}},
      "n-samples": {"arc": {"original": 2, "effective": 2}},
      "higher_is_better": {"arc": {"acc": true, "acc_norm": true}, "squad": {"f1": true},
                           "lambada": {"perplexity": false}}})");
  const std::string out = dir.File("metrics.json");
  const Output run = RunConcur({"adapt", "results", "lm-eval", dir.File("out"), "--out", out});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(PartsIn(out), nlohmann::json::parse(R"({
      "arc": {"acc": 0.5, "score": 0.5, "n": 2}, "lambada": {"perplexity": 7.0},
      "squad": {"f1": 81.5, "score": 81.5}})"));
  EXPECT_EQ(nlohmann::json::parse(*ReadFile(out)).at("score"), (0.5 + 81.5) / 2)
      << "the worker wants it of the whole, since a part lacks it";
  const Output norm = RunConcur(
      {"adapt", "results", "lm-eval", dir.File("out"), "--metric", "acc_norm", "--out", out});
  ASSERT_EQ(norm.code, kExitOk) << norm.err;
  EXPECT_EQ(PartsIn(out).at("arc").at("score"), 0.75);
}

TEST(AdaptTest, ARunsExamplesNameTheirPart) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("out"));
  Write(dir, "out/results_1.json", R"({"model_name": "org/m", "results": {
      "arc": {"acc,none": 0.5}}, "n-samples": {"arc": {"original": 2, "effective": 2}}})");
  Write(dir, "out/samples_arc_1.jsonl",
        "{\"doc_id\": 0, \"acc\": 1.0}\n{\"doc_id\": 1, \"acc\": 0.0}\n");
  const auto adapt = [&] {
    std::filesystem::remove(dir.File("examples.jsonl"));
    return RunConcur({"adapt", "results", "lm-eval", dir.File("out"), "--out", dir.File("m.json"),
                      "--examples", dir.File("examples.jsonl")});
  };
  const Output run = adapt();
  ASSERT_EQ(run.code, kExitOk) << run.err;
  EXPECT_EQ(*ReadFile(dir.File("examples.jsonl")),
            "{\"id\":\"0\",\"part\":\"arc\",\"score\":1.0}\n"
            "{\"id\":\"1\",\"part\":\"arc\",\"score\":0.0}\n");
  Write(dir, "out/samples_arc_1.jsonl",
        "{\"doc_id\": 0, \"acc\": 1.0}\n{\"doc_id\": 1, \"acc\": 1.0}\n");
  const Output differ = adapt();
  EXPECT_EQ(differ.code, kExitOk) << differ.err;
  EXPECT_THAT(differ.err, HasSubstr("no per-example scores: arc"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("examples.jsonl")));
}

TEST(AdaptTest, ResultsOfSeveralRunsAreRefused) {
  const TempDir dir;
  std::filesystem::create_directory(dir.File("out"));
  const auto write = [&](const std::string& name, const std::string& model, double acc) {
    Write(dir, name,
          absl::StrCat(R"({"model_name": ")", model, R"(", "results": {"arc": )",
                       R"({"acc,none": )", acc, "}}}"));
  };
  const auto error = [&] {
    const Output run =
        RunConcur({"adapt", "results", "lm-eval", dir.File("out"), "--out", dir.File("m.json")});
    EXPECT_EQ(run.code, kExitUsage);
    EXPECT_FALSE(std::filesystem::exists(dir.File("m.json")));
    return run.err;
  };
  EXPECT_THAT(error(), HasSubstr(dir.File("out")));
  write("out/results_1.json", "a", 0.5);
  write("out/results_2.json", "a", 0.25);
  EXPECT_THAT(error(), HasSubstr("expected one run, got up to 2 of a; name the files of one run"));
  write("out/results_2.json", "b", 0.5);
  EXPECT_THAT(error(), HasSubstr("expected results of one model, got 2, such as a and b"));
  Write(dir, "out/results_2.json", "{");
  EXPECT_THAT(error(), HasSubstr("results_2.json"));
}

constexpr char kHarnessResults[] = R"({"results": {"arc": {"acc,none": 0.5, "acc_norm,none": 0.75,
    "acc_stderr,none": 0.1}, "gsm": {"exact_match,strict": 0.5, "exact_match,loose": 1},
    "lambada": {"perplexity,none": 7}}})";

TEST(AdaptTest, SamplesOfTheHarnessBecomePerExampleScores) {
  const TempDir dir;
  const std::string in = Write(dir, "results_1.json", kHarnessResults);
  Write(dir, "samples_arc_1.jsonl",
        "{\"doc_id\": 0, \"acc\": 1.0, \"acc_norm\": 1.0}\n"
        "{\"doc_id\": 1, \"acc\": 0.0, \"acc_norm\": 0.5}\n");
  Write(dir, "elsewhere.jsonl",
        "{\"doc_id\": 0, \"filter\": \"strict\", \"exact_match\": 0}\n"
        "{\"doc_id\": 0, \"filter\": \"loose\", \"exact_match\": 1}\n"
        "{\"doc_id\": 1, \"filter\": \"strict\", \"exact_match\": 1}\n"
        "{\"doc_id\": 1, \"filter\": \"loose\", \"exact_match\": 1}\n");
  const std::string examples = dir.File("examples.jsonl");
  const auto adapt = [&](std::vector<std::string> more) {
    std::vector<std::string> args = {"adapt", "lm-eval", in, "--out", dir.File("out.json")};
    args.insert(args.end(), more.begin(), more.end());
    return RunConcur(args);
  };
  const Output arc = adapt({"--task", "arc", "--metric", "acc_norm", "--examples", examples});
  ASSERT_EQ(arc.code, kExitOk) << arc.err;
  EXPECT_EQ(*ReadFile(examples),
            "{\"id\": \"0\", \"exact_match\": 1, \"f1\": 1}\n"
            "{\"id\": \"1\", \"exact_match\": 0, \"f1\": 0.5}\n");
  EXPECT_THAT(*ReadFile(dir.File("out.json")), HasSubstr("\"acc_stderr\": 0.1"));
  const Output gsm = adapt({"--task", "gsm", "--filter", "strict", "--samples",
                            dir.File("elsewhere.jsonl"), "--examples", examples});
  ASSERT_EQ(gsm.code, kExitOk) << gsm.err;
  EXPECT_EQ(*ReadFile(examples),
            "{\"id\": \"0\", \"exact_match\": 0, \"f1\": 0}\n"
            "{\"id\": \"1\", \"exact_match\": 1, \"f1\": 1}\n");
  // Losses are no shares of right answers, whatever their range.
  Write(dir, "samples_lambada_1.jsonl",
        "{\"doc_id\": 0, \"perplexity\": 13}\n{\"doc_id\": 1, \"perplexity\": 1}\n");
  const Output loss = adapt({"--task", "lambada", "--examples", examples});
  ASSERT_EQ(loss.code, kExitOk) << loss.err;
  EXPECT_EQ(*ReadFile(examples), "{\"id\": \"0\", \"score\": 13}\n{\"id\": \"1\", \"score\": 1}\n");
}

TEST(AdaptTest, SamplesThatDoNotFitAreErrorsThatSayWhatToDo) {
  const TempDir dir;
  const std::string in = Write(dir, "results_1.json", kHarnessResults);
  Write(dir, "samples_arc_1.jsonl", "{\"doc_id\": 0, \"acc\": 1.0, \"acc_norm\": 0.75}\n");
  const std::string lines = Write(dir, "lines.jsonl", "{\"id\": 0}\n");
  const std::string examples = dir.File("examples.jsonl");
  struct Case {
    std::vector<std::string> args;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {{"--task", "arc", "--examples", examples},
            "results/arc: expected one metric, got acc, acc_norm; --metric NAME says whose"},
           {{"--task", "arc", "--metric", "accc", "--examples", examples},
            "(did you mean \"acc\"?)"},
           {{"--task", "arc", "--metric", "acc", "--examples", examples},
            "samples_arc_1.jsonl: expected per-example scores whose mean is acc (0.5), got "
            "per-example scores whose mean is not the score"},
           {{"--task", "lambada", "--examples", examples},
            "expected samples_lambada_TIME.jsonl beside results_TIME.json"},
           {{"--task", "lambada", "--examples", examples, "--samples", lines},
            "lines.jsonl:1: doc_id: expected a number"},
           {{"--task", "arc", "--metric", "acc"},
            "--metric: expected --examples FILE beside it"}}) {
    std::vector<std::string> args = {"adapt", "lm-eval", in, "--out", dir.File("out.json")};
    args.insert(args.end(), c.args.begin(), c.args.end());
    const Output run = RunConcur(args);
    EXPECT_EQ(run.code, 2) << c.message;
    EXPECT_THAT(run.err, HasSubstr(c.message));
  }
  EXPECT_FALSE(std::filesystem::exists(examples));
  EXPECT_FALSE(std::filesystem::exists(dir.File("out.json")));
}

TEST(AdaptTest, MetricsAreWrittenAsAJobLeavesThem) {
  const TempDir dir;
  const std::string in = Write(dir, "in.json", R"({"results": {"a": {"acc,none": 0.1}}})");
  const Output run = RunConcur({"adapt", "lm-eval", "--in", in, "--out", dir.File("out.json")});
  EXPECT_EQ(run.code, kExitOk) << run.err;
  ASSERT_OK_AND_ASSIGN(const std::string out, ReadFile(dir.File("out.json")));
  EXPECT_EQ(out, "{\n  \"acc\": 0.1\n}\n");
}

// --- export ---

TEST(ExportTest, SquadsFormHasPlacesInCodePointsAndCanBeReadBack) {
  const TempDir dir;
  const std::string data = Write(dir, "data.jsonl", kData);
  const Output run =
      RunConcur({"data", "export", "squad", "--in", data, "--out", dir.File("out.json")});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(dir.File("out.json")));
  const auto json = nlohmann::json::parse(text);
  const auto& paragraphs = json["data"][0]["paragraphs"];
  ASSERT_EQ(paragraphs.size(), 2u);
  const auto& first = paragraphs[0]["qas"][0]["answers"];
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1]["answer_start"], 20);  // 21 bytes
  const auto& second = paragraphs[0]["qas"][1]["answers"];
  EXPECT_EQ(second[0]["text"], "slept");
  EXPECT_EQ(second[0]["answer_start"], 27);
  ASSERT_OK_AND_ASSIGN(const qa::Dataset back, qa::ReadDataset(dir.File("out.json")));
  EXPECT_EQ(back.QuestionCount(), 3);
  EXPECT_EQ(back.passages[0].questions[1].text, "What \"did\" he?");
}

TEST(ExportTest, TransformersFormIsOneRecordAQuestionAndDropsWhatCannotBeLearned) {
  const TempDir dir;
  const std::string data = Write(dir, "data.jsonl", kData);
  const Output run = RunConcur({"data", "export", "transformers", "--in", data, "--out",
                                dir.File("out.json"), "--drop-unlocated", "-o", "csv"});
  ASSERT_EQ(run.code, kExitOk) << run.err;
  EXPECT_THAT(run.out, HasSubstr(",2,1\n"));
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(dir.File("out.json")));
  const auto records = nlohmann::json::parse(text)["data"];
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["id"], "q2");
  EXPECT_EQ(records[1]["context"], "Müller wrote Faust. Müller slept.");
  EXPECT_EQ(records[1]["answers"]["text"], nlohmann::json({"slept", "Faust"}));
  EXPECT_EQ(records[1]["answers"]["answer_start"], nlohmann::json({27, 13}));
}

TEST(ExportTest, AnUnknownFormAndNothingToWriteAreErrors) {
  const TempDir dir;
  const std::string data =
      Write(dir, "data.jsonl",
            R"({"context": "c", "qas": [{"qid": "q", "question": "?", "answers": ["other"]}]})");
  EXPECT_THAT(RunConcur({"data", "export", "squat", "--in", data, "--out", dir.File("o")}).err,
              HasSubstr("expected squad or transformers, got \"squat\""));
  const Output run = RunConcur(
      {"data", "export", "squad", "--in", data, "--out", dir.File("o"), "--drop-unlocated"});
  EXPECT_EQ(run.code, kExitUsage);
  EXPECT_THAT(run.err, HasSubstr("expected a question whose answer stands in its passage"));
  EXPECT_FALSE(std::filesystem::exists(dir.File("o")));
}

}  // namespace
}  // namespace concur::cli
