// SPDX-License-Identifier: Apache-2.0
// Runs that are repetitions of each other, and those that are not; the data that a column is on.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "qa/results/import.h"
#include "tests/qa/results/import_fixture.h"
#include "tests/testing/test.h"

namespace concur::imports {
namespace {

using Json = ::nlohmann::json;

constexpr char kOtherSettings[] = "a run with other settings than the run that counts";
constexpr char kOtherSplit[] =
    "a score on another split than the one on which its task is compared";
constexpr char kLacksSubsets[] = "a run that lacks subsets over which its task is compared";

Json HarnessRun(double score) {
  return {{"results", {{"t", {{"acc,none", score}}}}},
          {"n-shot", {{"t", 0}}},
          {"configs", {{"t", {{"dataset_path", "d"}, {"output_type", "multiple_choice"}}}}},
          {"config", {{"model", "hf"}, {"model_args", "pretrained=a/one"}, {"limit", nullptr}}},
          {"model_name", "a/one"},
          {"chat_template", nullptr}};
}

Json InspectRun(double score) {
  return {{"version", 2},
          {"status", "success"},
          {"eval",
           {{"task", "t"},
            {"model", "org/m"},
            {"config", {{"epochs", 1}, {"limit", nullptr}}},
            {"task_args", Json::object()},
            {"dataset", {{"name", "d"}, {"samples", 100}}},
            {"model_generate_config", Json::object()}}},
          {"plan", {{"steps", {{{"solver", "generate"}, {"params", Json::object()}}}}}},
          {"results",
           {{"scores", {{{"name", "s"}, {"metrics", {{"accuracy", {{"value", score}}}}}}}}}}};
}

Json Evaluation(double score) {
  return {{"schema_version", "0.3.0"},
          {"model_info", {{"id", "org/m"}, {"additional_details", {{"precision", "bfloat16"}}}}},
          {"evaluation_results",
           {{{"evaluation_name", "t"},
             {"source_data", {{"dataset_name", "d"}}},
             {"metric_config", {{"metric_id", "acc"}}},
             {"generation_config", {{"generation_args", {{"temperature", 0}}}}},
             {"score_details", {{"score", score}}}}}}};
}

class IdentityTest : public ImportFixture {
 protected:
  // A file of the format, called by its number; HELM's are of a suite of that name.
  void WriteRun(const std::string& format, size_t number, const Json& run) {
    if (format == "helm") {
      const std::string folder = absl::StrCat(folder_, "/suite-", number, "/q:model=m/");
      Write(folder + "run_spec.json", run["spec"].dump());
      Write(folder + "stats.json", run["stats"].dump());
    } else if (format == "mteb") {
      Write(absl::StrCat(folder_, "/part-", number, "/org__m/1/T.json"), run.dump());
    } else {
      Write(absl::StrCat(folder_, "/results_", number, ".json"), run.dump());
    }
  }

  absl::StatusOr<ImportedResults> ImportRuns(const std::string& format,
                                             const std::vector<Json>& runs) {
    folder_ = absl::StrCat("r", ++imports_);
    for (size_t i = 0; i < runs.size(); ++i) {
      WriteRun(format, i, runs[i]);
    }
    return ImportAs(format, {dir_.File(folder_)});
  }

  void WriteMteb(const std::string& model, const Json& scores) {
    Write(absl::StrCat("m/org__", model, "/r/T.json"),
          Json{{"task_name", "T"}, {"scores", scores}}.dump());
  }

 private:
  int imports_ = 0;
  std::string folder_;  // holds the runs of the newest import
};

Json Subsets(const std::vector<std::pair<std::string, double>>& scores) {
  Json list = Json::array();
  for (const auto& [name, score] : scores) {
    list.push_back({{"hf_subset", name}, {"main_score", score}});
  }
  return list;
}

Json HelmRun(double score) {
  Json run;
  run["spec"] = {
      {"name", "q:model=m"},
      {"adapter_spec", {{"model", "m"}, {"max_train_instances", 5}, {"temperature", 0.0}}}};
  run["stats"] = {{{"name", {{"name", "exact_match"}, {"split", "test"}}}, {"mean", score}}};
  return run;
}

TEST_F(IdentityTest, ARunOnTheFirstExamplesIsNoFullRun) {
  // A run of 10 examples at .9 and a full one at .5 became .70 ± .28 over two seeds.
  std::vector<Json> runs = {HarnessRun(0.9), HarnessRun(0.5)};
  runs[0]["config"]["limit"] = 10.0;
  const auto results = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "a/one", "t"), 0.5);
  EXPECT_EQ(Score(*results, "a/one", "t (limit 10)"), 0.9);
  EXPECT_EQ(results->seeds, 1);
  EXPECT_THAT(results->skipped, IsEmpty());

  const auto alone = ImportRuns("lm-eval", {runs[0]});
  EXPECT_THAT(Names(alone->tasks), ElementsAre("t (limit 10)"));

  // The harness counts examples: a limit beyond them changes nothing, and fewer need no limit.
  for (Json& run : runs) {
    run["n-samples"]["t"] = {{"original", 8}, {"effective", 8}};
  }
  EXPECT_EQ(ImportRuns("lm-eval", runs)->seeds, 2);
  runs[1]["n-samples"]["t"]["effective"] = 3;
  EXPECT_THAT(Names(ImportRuns("lm-eval", runs)->tasks), ElementsAre("t", "t (limit 3)"));

  std::vector<Json> logs = {InspectRun(0.9), InspectRun(0.5)};
  logs[0]["eval"]["config"]["limit"] = 10;
  EXPECT_THAT(Names(ImportRuns("inspect", logs)->tasks), ElementsAre("t", "t (limit 10)"));
  logs[0]["eval"]["config"]["limit"] = 100;
  EXPECT_EQ(ImportRuns("inspect", logs)->seeds, 2);
}

TEST_F(IdentityTest, VariantsAreNamedOrOneCountsOrTheyAreRefused) {
  // A run with and a run without a chat template became two seeds of one model.
  std::vector<Json> runs = {HarnessRun(0.3), HarnessRun(0.7)};
  runs[1]["chat_template"] = std::string(1000, 'x');
  runs[1]["config"]["model_args"] = "pretrained=a/one,dtype=float16";
  runs[1]["chat_template_sha"] = std::string(64, 'a');
  const auto named = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_THAT(Names(named->models), ElementsAre("a/one", "a/one (dtype float16)"));
  EXPECT_EQ(Score(*named, "a/one", "t"), 0.3);
  runs[1]["config"]["model_args"] = "pretrained=a/one";
  EXPECT_THAT(Names(ImportRuns("lm-eval", runs)->models),
              ElementsAre("a/one", "a/one (chat_template)"));

  request_.variants = Variants::kFirst;
  const auto first = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Names(first->models), ElementsAre("a/one"));
  EXPECT_EQ(Score(*first, "a/one", "t"), 0.3);
  EXPECT_THAT(first->skipped.at(kOtherSettings).first_place,
              HasSubstr("results_1.json: t: chat_template"));

  request_.variants = Variants::kRefuse;
  EXPECT_THAT(ImportRuns("lm-eval", runs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("results_1.json: results.t: chat_template: expected none"),
                             HasSubstr("results_0.json"), HasSubstr("--variants name"))));
}

TEST_F(IdentityTest, ModelsWithTemplatesOfTheirOwnShareAColumn) {
  std::vector<Json> runs = {HarnessRun(0.3), HarnessRun(0.7)};
  runs[1]["model_name"] = "b/two";
  runs[1]["config"]["model_args"] = "pretrained=b/two,dtype=float16";
  runs[1]["chat_template"] = "x";
  runs[1]["configs"]["t"]["description"] = "Answer.";
  const auto results = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("a/one", "b/two"));
  EXPECT_THAT(Names(results->tasks), ElementsAre("t"));
}

TEST_F(IdentityTest, TheFullRunCountsFirstOfEquallyMany) {
  std::vector<Json> runs = {HarnessRun(0.9), HarnessRun(0.5)};
  runs[0]["config"]["limit"] = 10;
  runs[0]["n-shot"]["t"] = 25;
  request_.variants = Variants::kFirst;
  const auto results = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "a/one", "t"), 0.5);
  EXPECT_EQ(SkippedOf(*results, kOtherSettings), 1);
}

// A setting that a format records, at a place in its files.
struct Place {
  std::string format;
  std::function<Json(double)> run;
  std::string pointer;
};

const std::vector<Place>& Places() {
  static const auto& places = *new std::vector<Place>([] {
    std::vector<Place> made;
    const auto add = [&](const char* format, const std::function<Json(double)>& run,
                         const std::vector<std::string>& pointers) {
      for (const std::string& pointer : pointers) {
        made.push_back({format, run, pointer});
      }
    };
    add("lm-eval", HarnessRun,
        {"/config/limit", "/chat_template", "/system_instruction", "/fewshot_as_multiturn",
         "/config/gen_kwargs", "/config/model", "/configs/t/generation_kwargs/temperature",
         "/configs/t/doc_to_text", "/versions/t", "/max_length", "/configs/t/repeats"});
    add("inspect", InspectRun,
        {"/eval/config/limit", "/eval/config/epochs", "/eval/config/message_limit",
         "/eval/task_args/level", "/eval/model_args/quantization", "/eval/solver",
         "/eval/model_generate_config/reasoning_effort", "/plan/config/temperature",
         "/plan/steps/0/params/template", "/eval/task_version"});
    add("helm", HelmRun,
        {"/spec/adapter_spec/max_eval_instances", "/spec/adapter_spec/temperature",
         "/spec/adapter_spec/instructions", "/spec/adapter_spec/max_train_instances",
         "/spec/adapter_spec/model_deployment", "/spec/scenario_spec/args/level"});
    add("every-eval-ever", Evaluation,
        {"/model_info/additional_details/precision", "/model_info/inference_platform",
         "/evaluation_results/0/generation_config/generation_args/temperature",
         "/evaluation_results/0/generation_config/generation_args/reasoning",
         "/evaluation_results/0/generation_config/additional_details/limit",
         "/evaluation_results/0/metric_config/metric_parameters/k",
         "/evaluation_results/0/metric_config/llm_scoring/input_prompt",
         "/evaluation_results/0/source_data/dataset_name"});
    return made;
  }());
  return places;
}

TEST_F(IdentityTest, RunsThatDifferInOneSettingAreNeverAveraged) {
  constexpr unsigned kSeed = 20261128;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  const std::vector<std::pair<Json, Json>> values = {
      {1, 2}, {"low", "high"}, {nullptr, 7}, {"x", std::string(5000, 'x')}};
  for (const Place& place : Places()) {
    for (int round = 0; round < 3; ++round) {
      auto [a, b] = values[random() % values.size()];
      if (random() % 2 == 0) {
        std::swap(a, b);
      }
      if (place.pointer.ends_with("_instances")) {
        a = 1;
        b = 2;
      }
      // Two of the one kind, which are repetitions, and one of the other.
      std::vector<Json> runs = {place.run(0.25), place.run(0.5), place.run(0.75)};
      for (size_t i = 0; i < runs.size(); ++i) {
        runs[i][Json::json_pointer(place.pointer)] = i == 1 ? b : a;
      }
      const auto results = ImportRuns(place.format, runs);
      ASSERT_TRUE(results.ok()) << place.pointer << ": " << results.status();
      EXPECT_EQ(results->seeds, 2) << place.pointer << " " << a << " " << b;
      ASSERT_THAT(results->cells, SizeIs(3));
      for (const ImportedCell& cell : results->cells) {
        if (results->runs[cell.run].run.metrics[0].value == 0.5) {
          for (const ImportedCell& other : results->cells) {
            EXPECT_FALSE(other.run != cell.run && other.model == cell.model &&
                         other.task == cell.task)
                << place.format << place.pointer << " " << a << " " << b;
          }
        }
      }
    }
  }
}

// A file with every field that a format's program writes; scores are at `score`.
struct WholeFile {
  std::string format;
  Json file;
  std::vector<std::string> scores;
  // Beginnings of pointers to what is no setting: scores, times, seeds, descriptions of names.
  std::vector<std::string> no_settings;
  // Settings that change no score: runs that differ in one are seeds, and counted.
  std::vector<std::string> not_compared;
};

std::vector<WholeFile> WholeFiles() {
  std::vector<WholeFile> files;
  files.push_back(
      {"lm-eval",
       Json::parse(R"({"results": {"t": {"alias": "t", "acc,none": 0, "acc_stderr,none": 0.1}},
  "group_subtasks": {"t": []}, "versions": {"t": 1.0}, "n-shot": {"t": 0},
  "higher_is_better": {"t": {"acc": true}}, "n-samples": {"t": {"original": 9, "effective": 9}},
  "configs": {"t": {"task": "t", "dataset_path": "d", "dataset_name": "en",
    "dataset_kwargs": {"data_files": "f"}, "test_split": "test", "fewshot_split": "dev",
    "doc_to_text": "Q", "doc_to_target": "A", "doc_to_choice": "C", "description": "x",
    "target_delimiter": " ", "fewshot_delimiter": "\n", "fewshot_config": {"sampler": "first_n"},
    "num_fewshot": 0, "output_type": "generate_until", "repeats": 1, "process_docs": "def f",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": true}],
    "generation_kwargs": {"until": ["\n"], "do_sample": false, "temperature": 0.0},
    "filter_list": [{"name": "none"}], "unsafe_code": false, "should_decontaminate": false,
    "metadata": {"version": 1.0, "max_seq_lengths": [4096]}}},
  "config": {"model": "hf", "model_args": "pretrained=a/one,dtype=float16", "limit": null,
    "model_num_parameters": 10, "model_dtype": "float16", "model_revision": "main",
    "model_sha": "abc", "peft_sha": "", "batch_size": "8", "batch_sizes": [8], "device": "cuda:0",
    "use_cache": null, "bootstrap_iters": 100, "gen_kwargs": {"top_p": 0.5}, "random_seed": 0,
    "numpy_seed": 1, "torch_seed": 1, "fewshot_seed": 1},
  "git_hash": "a", "upper_git_hash": null, "date": 1.5, "pretty_env_info": "x",
  "transformers_version": "4", "lm_eval_version": "0.4.9", "tokenizer_pad_token": ["a", "1"],
  "tokenizer_eos_token": ["b", "2"], "tokenizer_bos_token": ["c", "3"], "eot_token_id": 2,
  "max_length": 2048, "task_hashes": {"t": "h"}, "model_source": "hf", "model_name": "a/one",
  "model_name_sanitized": "a__one", "system_instruction": "s", "system_instruction_sha": "1",
  "fewshot_as_multiturn": false, "chat_template": "c", "chat_template_sha": "2",
  "start_time": 1.0, "end_time": 2.0, "total_evaluation_time_seconds": "1.0"})"),
       {"/results/t/acc,none"},
       {"/results", "/group_subtasks", "/higher_is_better", "/date", "/start_time", "/end_time",
        "/total_evaluation", "/model_name_sanitized", "/config/model_revision", "/config/limit",
        "/n-samples/t/effective", "/config/random_seed", "/config/numpy_seed", "/config/torch_seed",
        "/config/fewshot_seed", "/configs/t/task", "/configs/t/metadata/version",
        "/configs/t/should_decontaminate", "/configs/t/num_fewshot"},
       {"/config/batch_size", "/config/device", "/config/use_cache", "/config/bootstrap_iters",
        "/git_hash", "/upper_git_hash", "/pretty_env_info", "/task_hashes"}});
  files.push_back(
      {"inspect",
       Json::parse(R"({"version": 2, "status": "success", "invalidated": false,
  "eval": {"eval_id": "e", "run_id": "r", "created": "2026", "task": "t", "task_id": "i",
    "task_version": 0, "task_file": "t.py", "task_display_name": "T", "task_registry_name": "r/t",
    "task_attribs": {"a": 1}, "task_args": {"cot": false}, "task_args_passed": {"cot": false},
    "solver": "react", "solver_args": {"attempts": 1, "timeout": 9},
    "solver_args_passed": {"attempts": 1},
    "tags": ["base"], "metadata": {"prompt": "A"}, "model": "org/m", "model_base_url": "http://a",
    "model_args": {"quantization": "none"}, "model_generate_config": {"temperature": 0, "seed": 1},
    "model_roles": {"grader": {"model": "org/g"}}, "sandbox": {"type": "docker", "config": "f"},
    "dataset": {"name": "d", "location": "/data/v1/d.csv", "samples": 10, "shuffled": false},
    "config": {"epochs": 1, "epochs_reducer": ["mean"], "message_limit": 5, "max_samples": 4,
      "max_tasks": 2, "max_subprocesses": 3, "fail_on_error": true, "log_samples": true,
      "sandbox_cleanup": true},
    "packages": {"inspect_ai": "0.3.9", "inspect_evals": "1"},
    "revision": {"type": "git", "origin": "o", "commit": "c"},
    "scorers": [{"name": "match", "options": {}}]},
  "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {"x": 1}}],
    "finish": {"solver": "stop"}, "config": {"top_p": 0.5, "max_connections": 8}},
  "results": {"total_samples": 10, "completed_samples": 10, "scores": [{"name": "match",
    "scorer": "match", "reducer": "mean", "scored_samples": 10, "unscored_samples": 0,
    "params": {"model": "org/g", "template": null}, "metrics": {"accuracy": {"name": "accuracy",
      "value": 0, "params": {"k": 1}}}}]},
  "stats": {"started_at": "2026"}})"),
       {"/results/scores/0/metrics/accuracy/value"},
       {"/version", "/stats", "/eval/eval_id", "/eval/run_id", "/eval/created", "/eval/task_id",
        "/eval/task_display_name", "/eval/task_registry_name", "/eval/task_args_passed",
        "/eval/model_generate_config/seed", "/eval/revision", "/eval/scorers",
        "/results/total_samples", "/results/completed_samples", "/results/scores/0/scorer",
        "/results/scores/0/scored_samples", "/results/scores/0/metrics/accuracy/name",
        "/results/scores/0/metrics/accuracy/value"},
       {"/eval/config/max_samples", "/eval/config/max_tasks", "/eval/config/max_subprocesses",
        "/eval/config/fail_on_error", "/eval/config/log_samples", "/eval/config/sandbox_cleanup",
        "/plan/config/max_connections"}});
  Json helm = HelmRun(0);
  helm["spec"] = Json::parse(R"({"name": "q:model=m",
  "scenario_spec": {"class_name": "S", "args": {"subject": "a"}},
  "adapter_spec": {"method": "m", "global_prefix": "", "instructions": "I", "input_prefix": "Q",
    "substitutions": [], "max_train_instances": 5, "max_eval_instances": 5, "num_outputs": 1,
    "num_train_trials": 1, "sample_train": true, "model_deployment": "x/m", "model": "m",
    "temperature": 0.0, "max_tokens": 1, "stop_sequences": ["\n"], "random": "1",
    "multi_label": false, "eval_splits": ["test"]},
  "metric_specs": [{"class_name": "M", "args": {"names": ["exact_match"]}}],
  "data_augmenter_spec": {"seeds_per_instance": 1, "should_augment_train_instances": false},
  "groups": ["g"], "annotators": [{"class_name": "A"}]})");
  helm["stats"].push_back({{"name", {{"name", "num_instances"}, {"split", "test"}}}, {"mean", 10}});
  files.push_back({"helm",
                   helm,
                   {"/stats/0/mean"},
                   {"/stats/0/mean", "/stats/1/name", "/spec/name", "/spec/adapter_spec/random",
                    "/spec/adapter_spec/eval_splits"},
                   {}});
  files.push_back(
      {"every-eval-ever",
       Json::parse(R"({"schema_version": "0.3.0", "evaluation_id": "e",
  "evaluation_timestamp": "1", "retrieved_timestamp": "1",
  "source_metadata": {"source_name": "s", "source_type": "evaluation_run",
    "source_organization_name": "o", "source_organization_url": "u",
    "evaluator_relationship": "third_party", "additional_details": {"role": "a"}},
  "eval_library": {"name": "l", "version": "1", "additional_details": {"fork": "f"}},
  "model_info": {"name": "m", "id": "org/m", "developer": "org", "inference_platform": "p",
    "inference_engine": {"name": "v", "version": "1"},
    "additional_details": {"precision": "p", "revision": "r"}},
  "evaluation_results": [{"evaluation_result_id": "x", "evaluation_name": "t",
    "evaluation_timestamp": "1",
    "source_data": {"dataset_name": "d", "source_type": "hf_dataset", "hf_repo": "o/d",
      "hf_split": "test", "samples_number": 10, "sample_ids": ["a"],
      "additional_details": {"config": "en"}},
    "metric_config": {"evaluation_description": "x", "metric_id": "acc", "metric_name": "A",
      "metric_kind": "accuracy", "metric_unit": "proportion", "metric_parameters": {"k": 1},
      "lower_is_better": false, "score_type": "continuous", "min_score": 0, "max_score": 1,
      "llm_scoring": {"input_prompt": "p", "judges": ["j"]}},
    "score_details": {"score": 0, "details": {"seconds": "1"}},
    "generation_config": {"generation_args": {"temperature": 0, "max_tokens": 5,
        "sandbox": {"type": "docker"}, "batch_size": 8, "seed": 3},
      "additional_details": {"limit": "5", "n_shot": "2", "prompt": "P"}}}]})"),
       {"/evaluation_results/0/score_details/score"},
       {"/schema_version", "/evaluation_id", "/evaluation_timestamp", "/retrieved_timestamp",
        "/source_metadata/source_organization_url", "/model_info/name", "/model_info/developer",
        "/evaluation_results/0/evaluation_result_id", "/evaluation_results/0/evaluation_timestamp",
        "/evaluation_results/0/score_details",
        "/evaluation_results/0/metric_config/evaluation_description",
        "/evaluation_results/0/metric_config/metric_name",
        "/evaluation_results/0/metric_config/metric_kind",
        "/evaluation_results/0/generation_config/generation_args/seed"},
       {"/evaluation_results/0/generation_config/generation_args/batch_size"}});
  files.push_back({"mteb",
                   Json::parse(R"({"task_name": "T", "mteb_version": "1.20.0",
  "dataset_revision": "d", "evaluation_time": 1.5, "kg_co2_emissions": 0.1,
  "scores": {"test": [{"hf_subset": "default", "languages": ["eng-Latn"], "main_score": 0}]}})"),
                   {"/scores/test/0/main_score"},
                   {"/evaluation_time", "/kg_co2_emissions", "/scores/test/0/languages",
                    "/scores/test/0/main_score"},
                   {}});
  return files;
}

Json Changed(const Json& value, std::mt19937& random) {
  const auto by = static_cast<int>(1 + random() % 5);
  if (value.is_boolean()) {
    return !value.get<bool>();
  }
  if (value.is_number_integer()) {
    return value.get<int>() + by;
  }
  if (value.is_number()) {
    return value.get<double>() + by;
  }
  return value.is_string() ? Json(value.get<std::string>() + std::string(by, 'x')) : Json("x");
}

TEST_F(IdentityTest, RunsThatDifferInAnyRecordedFieldAreNeverAveragedInSilence) {
  // Scorers, versions of harnesses, sandboxes, addresses of servers and more were averaged.
  constexpr unsigned kSeed = 20261129;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  for (const WholeFile& whole : WholeFiles()) {
    const auto starts_one_of = [](const std::string& pointer,
                                  const std::vector<std::string>& beginnings) {
      return std::any_of(beginnings.begin(), beginnings.end(), [&](const std::string& beginning) {
        return pointer.starts_with(beginning);
      });
    };
    const Json flat = whole.file.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      if (starts_one_of(pointer, whole.no_settings)) {
        continue;
      }
      SCOPED_TRACE(whole.format + pointer);
      std::vector<Json> runs(3, whole.file);
      for (size_t i = 0; i < runs.size(); ++i) {
        for (const std::string& score : whole.scores) {
          runs[i][Json::json_pointer(score)] = 0.25 * static_cast<double>(i + 1);
        }
        if (whole.format == "inspect") {
          runs[i]["eval"]["eval_id"] = absl::StrCat("e", i);
        }
      }
      runs[1][Json::json_pointer(pointer)] = value.is_null() ? Json("x") : Changed(value, random);
      const auto results = ImportRuns(whole.format, runs);
      ASSERT_TRUE(results.ok()) << results.status();
      const bool is_not_compared = starts_one_of(pointer, whole.not_compared);
      EXPECT_EQ(results->not_compared.count > 0, is_not_compared);
      if (is_not_compared) {
        EXPECT_EQ(results->seeds, 3);
        continue;
      }
      int alike = 0;  // the two equal runs'
      for (const ImportedCell& cell : results->cells) {
        const imports::Run& run = results->runs[cell.run].run;
        const bool counts = run.metrics[0].name == results->tasks[cell.task].metric;
        if (run.metrics[0].value != 0.5) {
          alike += counts ? 1 : 0;
          continue;
        }
        for (const ImportedCell& other : results->cells) {
          EXPECT_FALSE(counts && other.run != cell.run && other.model == cell.model &&
                       other.task == cell.task);
        }
      }
      EXPECT_EQ(alike, 2);
    }
  }
}

TEST_F(IdentityTest, AColumnIsOfOneDataSet) {
  // English scores of two models and a French one of a third made one column.
  std::vector<Json> runs = {HarnessRun(0.4), HarnessRun(0.8), HarnessRun(0.6)};
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i]["model_name"] = absl::StrCat("a/", i);
    runs[i]["configs"]["t"]["dataset_name"] = i == 1 ? "fr" : "en";
  }
  const auto harness = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(harness.ok()) << harness.status();
  EXPECT_THAT(Names(harness->tasks), ElementsAre("t (dataset_name en)", "t (dataset_name fr)"));
  request_.variants = Variants::kFirst;
  const auto first = ImportRuns("lm-eval", runs);
  EXPECT_THAT(Names(first->models), ElementsAre("a/0", "a/2"));
  EXPECT_EQ(SkippedOf(*first, kOtherSettings), 1);
  request_.variants = Variants::kName;

  std::vector<Json> logs = {InspectRun(0.4), InspectRun(0.8)};
  logs[1]["eval"]["model"] = "org/n";
  logs[0]["eval"]["dataset"]["location"] = "/home/a/d.csv";
  logs[1]["eval"]["dataset"]["location"] = "/mnt/b/d.csv";
  EXPECT_THAT(Names(ImportRuns("inspect", logs)->tasks), ElementsAre("t")) << "on two machines";
  logs[1]["eval"]["dataset"]["samples"] = 50;
  EXPECT_THAT(Names(ImportRuns("inspect", logs)->tasks),
              ElementsAre("t (samples 100)", "t (samples 50)"));

  std::vector<Json> folders = {HelmRun(0.4), HelmRun(0.8)};
  for (size_t i = 0; i < folders.size(); ++i) {
    folders[i]["spec"]["adapter_spec"]["model"] = absl::StrCat("m", i);
    folders[i]["spec"]["scenario_spec"]["args"]["subject"] = i == 0 ? "a" : "b";
  }
  EXPECT_THAT(Names(ImportRuns("helm", folders)->tasks),
              ElementsAre("q (subject a)", "q (subject b)"));
}

TEST_F(IdentityTest, AScorerIsPartOfTheMetric) {
  // .4 by match and .8 by a judge became .6 ± .28, and one column between models.
  std::vector<Json> logs = {InspectRun(0.4), InspectRun(0.8), InspectRun(0.6)};
  logs[1]["results"]["scores"][0]["name"] = "judge";
  logs[1]["results"]["scores"][0]["params"] = {{"model", "org/g"}, {"template", nullptr}};
  logs[2]["eval"]["model"] = "org/n";
  const auto results = ImportRuns("inspect", logs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->tasks[0].metric, "s/accuracy");
  EXPECT_EQ(Score(*results, "org/n", "t"), 0.6);
  EXPECT_THAT(
      results->skipped.at("a run without the metric by which its task is compared").first_place,
      HasSubstr("results_1.json"));
  request_.metrics = {"judge(model=org/g)/accuracy"};
  EXPECT_EQ(ImportRuns("inspect", logs)->tasks[0].metric, request_.metrics[0]);
}

TEST_F(IdentityTest, ALogWhoseSamplesAreNotAllScoredIsNoFullRun) {
  std::vector<Json> logs = {InspectRun(0.4), InspectRun(0.9)};
  logs[1]["eval"]["model"] = "org/n";
  logs[1]["results"]["total_samples"] = 100;
  logs[1]["results"]["completed_samples"] = 5;
  EXPECT_THAT(Names(ImportRuns("inspect", logs)->tasks), ElementsAre("t", "t (limit 5)"));
  logs[1]["results"]["completed_samples"] = 100;
  EXPECT_THAT(Names(ImportRuns("inspect", logs)->tasks), ElementsAre("t"));
  logs[1]["results"]["scores"][0]["scored_samples"] = 90;
  logs[1]["results"]["scores"][0]["unscored_samples"] = 10;
  EXPECT_THAT(Names(ImportRuns("inspect", logs)->tasks), ElementsAre("t", "t (limit 90)"));
  logs[1]["invalidated"] = true;
  EXPECT_EQ(SkippedOf(*ImportRuns("inspect", logs), "an evaluation that its log calls invalidated"),
            1);
}

TEST_F(IdentityTest, SeedsAndSpeedMakeRepetitions) {
  const std::vector<std::pair<Place, Json>> same = {
      {{"lm-eval", HarnessRun, "/config/random_seed"}, 7},
      {{"lm-eval", HarnessRun, "/config/fewshot_seed"}, 7},
      {{"lm-eval", HarnessRun, "/config/batch_size"}, 7},
      {{"lm-eval", HarnessRun, "/config/model_args"}, "pretrained=a/one,device=cuda:1"},
      {{"lm-eval", HarnessRun, "/configs/t/metadata"}, {{"pretrained", "other"}}},
      {{"inspect", InspectRun, "/eval/model_generate_config/seed"}, 7},
      {{"inspect", InspectRun, "/plan/config/max_connections"}, 7},
      {{"inspect", InspectRun, "/eval/config/max_tasks"}, 7},
      {{"helm", HelmRun, "/spec/adapter_spec/random"}, 7},
      {{"every-eval-ever", Evaluation,
        "/evaluation_results/0/generation_config/generation_args/seed"},
       7}};
  for (const auto& [place, value] : same) {
    std::vector<Json> runs = {place.run(0.25), place.run(0.5)};
    runs[1][Json::json_pointer(place.pointer)] = value;
    const auto results = ImportRuns(place.format, runs);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_EQ(results->seeds, 2) << place.pointer;
  }
  // Python writes a function with its address, each time another.
  std::vector<Json> runs = {HarnessRun(0.25), HarnessRun(0.5)};
  runs[0]["configs"]["t"]["doc_to_text"] = "<function f at 0x7f01>";
  runs[1]["configs"]["t"]["doc_to_text"] = "<function f at 0x7f02>";
  EXPECT_EQ(ImportRuns("lm-eval", runs)->seeds, 2);
}

TEST_F(IdentityTest, AVariantWithTheNameOfAnotherModelIsNotAveragedWithIt) {
  std::vector<Json> runs = {HarnessRun(0.1), HarnessRun(0.2), HarnessRun(0.3)};
  runs[1]["config"]["model_args"] = "pretrained=a/one,dtype=x";
  runs[2]["model_name"] = "a/one (dtype x)";
  const auto results = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->seeds, 1);
  EXPECT_EQ(SkippedOf(*results, "a run with other settings than another of the same name"), 1);
}

TEST_F(IdentityTest, ManyAndLongSettingsStayBoundedAndTellApart) {
  std::vector<Json> runs = {HarnessRun(0.1), HarnessRun(0.2)};
  for (int i = 0; i < 1000; ++i) {
    for (Json& run : runs) {
      run["config"][absl::StrCat("option-", i, std::string(200, 'y'))] = std::string(500, 'x');
    }
  }
  EXPECT_EQ(ImportRuns("lm-eval", runs)->seeds, 2);
  runs[1]["config"]["zz"] = 1;
  const auto results = ImportRuns("lm-eval", runs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->seeds, 1);
  for (const std::string& name : Names(results->models)) {
    EXPECT_LE(name.size(), kNameBytesMax);
  }
}

TEST_F(IdentityTest, ColumnsOfLongTablesThatTellRowsApartAreSettings) {
  // 40 and 60 of 0 and 5 shots became 50 ± 14 over two seeds.
  const auto shots = ImportAs("leaderboard", {Write("a.csv",
                                                    "model,task,shots,score\n"
                                                    "a,mmlu,0,40\na,mmlu,5,60\n"
                                                    "b,mmlu,0,50\nb,mmlu,5,52\n")});
  ASSERT_TRUE(shots.ok()) << shots.status();
  EXPECT_THAT(Names(shots->tasks), ElementsAre("mmlu (0-shot)", "mmlu (5-shot)"));
  const auto prompts = ImportAs("leaderboard", {Write("b.csv",
                                                      "model,task,prompt,seed,date,seconds,score\n"
                                                      "a,t,short,1,2025-01-01,1.5,40\n"
                                                      "a,t,short,2,2025-01-02,2.5,42\n"
                                                      "a,t,long,1,2025-01-03,3.5,60\n")});
  ASSERT_TRUE(prompts.ok()) << prompts.status();
  EXPECT_THAT(Names(prompts->models), ElementsAre("a (prompt short)", "a (prompt long)"));
  EXPECT_EQ(prompts->seeds, 2) << "dates of numbered repetitions, and seconds, are no settings";
  const auto languages = ImportAs("leaderboard", {Write("c.csv",
                                                        "model,task,language,split,score\n"
                                                        "a,t,de,test,40\na,t,de,dev,41\n"
                                                        "b,t,fr,test,50\n")});
  ASSERT_TRUE(languages.ok()) << languages.status();
  EXPECT_THAT(Names(languages->tasks), ElementsAre("t (language de)", "t (language fr)"));
  EXPECT_EQ(SkippedOf(*languages, kOtherSplit), 1);
}

TEST_F(IdentityTest, AColumnIsOnTheSplitThatMostModelsHave) {
  // One model's test score stood beside the dev scores of the others.
  WriteMteb("a", {{"test", Subsets({{"default", 0.7}})}, {"dev", Subsets({{"default", 0.3}})}});
  WriteMteb("b", {{"dev", Subsets({{"default", 0.4}})}});
  const auto results = ImportAs("mteb", {dir_.File("m")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "org__a", "T"), 0.3);
  EXPECT_EQ(Score(*results, "org__b", "T"), 0.4);
  EXPECT_EQ(SkippedOf(*results, kOtherSplit), 1);
  request_.splits = {"test"};
  const auto test = ImportAs("mteb", {dir_.File("m")});
  EXPECT_THAT(Names(test->models), ElementsAre("org__a"));
  EXPECT_EQ(Score(*test, "org__a", "T"), 0.7);
  EXPECT_EQ(SkippedOf(*test, kOtherSplit), 2);
  request_.splits = {"tst"};
  EXPECT_THAT(ImportAs("mteb", {dir_.File("m")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--split: no score has the split \"tst\""),
                             HasSubstr("there are dev, test"))));
}

TEST_F(IdentityTest, HelmDoesNotMixTestWithValidation) {
  std::vector<Json> runs = {HelmRun(0.1), HelmRun(0.2), HelmRun(0.3)};
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i]["spec"]["adapter_spec"]["model"] = absl::StrCat("m", i);
    runs[i]["stats"].push_back(
        {{"name", {{"name", "exact_match"}, {"split", "valid"}}}, {"mean", 0.5 + 0.1 * i}});
  }
  runs[1]["stats"].erase(0);
  runs[2]["stats"].erase(0);
  const auto results = ImportRuns("helm", runs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(Score(*results, "m0", "q"), 0.5);
  EXPECT_EQ(Score(*results, "m1", "q"), 0.6);
  EXPECT_EQ(SkippedOf(*results, kOtherSplit), 1);
}

TEST_F(IdentityTest, AColumnIsTheMeanOverOneSetOfSubsets) {
  WriteMteb("a", {{"test", Subsets({{"en", 0.8}, {"da", 0.2}, {"sv", 0.2}})}});
  WriteMteb("b", {{"test", Subsets({{"en", 0.6}, {"da", 0.4}})}});
  WriteMteb("c", {{"test", Subsets({{"en", 0.4}, {"da", 0.2}})}});
  WriteMteb("d", {{"test", Subsets({{"en", 0.9}})}});
  const auto results = ImportAs("mteb", {dir_.File("m")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("org__a", "org__b", "org__c"));
  EXPECT_DOUBLE_EQ(*Score(*results, "org__a", "T"), 0.5);
  EXPECT_DOUBLE_EQ(*Score(*results, "org__b", "T"), 0.5);
  EXPECT_EQ(SkippedOf(*results, kLacksSubsets), 1);
  EXPECT_EQ(SkippedOf(*results, "subsets beyond those over which a task is compared, of a run"), 1);
  request_.subsets = {"en"};
  const auto english = ImportAs("mteb", {dir_.File("m")});
  EXPECT_EQ(Score(*english, "org__d", "T"), 0.9);
  EXPECT_EQ(Score(*english, "org__a", "T"), 0.8);
}

TEST_F(IdentityTest, OldFilesTellTheLanguageInTheSubsetsName) {
  // --language eng took Danish and Swedish, as the file has no field for them.
  const auto write = [this](const std::string& model, const std::vector<std::string>& subsets) {
    Json test;
    for (const std::string& subset : subsets) {
      test[subset]["main_score"] = subset.size() / 10.0;
    }
    Write(absl::StrCat("m/", model, "/1/T.json"),
          Json{{"mteb_dataset_name", "T"}, {"test", test}}.dump());
  };
  write("a", {"en", "da"});
  write("b", {"da", "sv"});
  write("c", {"zh-CN", "it-en", "eng_Latn-deu_Latn", "fao_Latn"});
  request_.options.languages = {"eng-Latn"};
  const auto results = ImportAs("mteb", {dir_.File("m")});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->models), ElementsAre("a"));
  EXPECT_EQ(Score(*results, "a", "T"), 0.2);
  EXPECT_EQ(SkippedOf(*results, "no subset in the languages asked for"), 2);
  write("a", {"default"});
  EXPECT_EQ(Score(*ImportAs("mteb", {dir_.File("m/a")}), "a", "T"), 0.7) << "of no language";
  request_.options.languages = {"cmn"};
  write("a", {"zh-CN", "de"});
  EXPECT_EQ(Score(*ImportAs("mteb", {dir_.File("m/a")}), "a", "T"), 0.5);
}

TEST_F(IdentityTest, GroupsOfOldHarnessesAreNoTasks) {
  // The harness 0.4.0 and 0.4.1 name the groups, and not their members.
  Json run = HarnessRun(0.5);
  run["results"] = {
      {"g", {{"acc,none", 0.45}}}, {"g_a", {{"acc,none", 0.4}}}, {"g_b", {{"acc,none", 0.5}}}};
  run["groups"] = {{"g", {{"acc,none", 0.45}}}};
  const auto results = ImportRuns("lm-eval", {run});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("g_a", "g_b"));
  EXPECT_EQ(SkippedOf(*results, "a group whose tasks are there themselves"), 1);
  run["results"].erase("g_a");
  run["results"].erase("g_b");
  EXPECT_THAT(Names(ImportRuns("lm-eval", {run})->tasks), ElementsAre("g"));
}

TEST_F(IdentityTest, TasksThatAreCalledMeansAreLeftOutWhereThereAreOthers) {
  Json run = HarnessRun(0.5);
  run["results"] = {{"harness|arc|25", {{"acc", 0.4}}},
                    {"all", {{"acc", 0.45}}},
                    {"leaderboard|mmlu:_average|5", {{"acc", 0.5}}},
                    {"Average", {{"acc", 0.5}}}};
  const auto results = ImportRuns("lm-eval", {run});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Names(results->tasks), ElementsAre("harness|arc|25"));
  EXPECT_EQ(SkippedOf(*results, "a task that is called a mean of others"), 3);
  request_.options.keep = {"all"};
  EXPECT_THAT(Names(ImportRuns("lm-eval", {run})->tasks), ElementsAre("all", "harness|arc|25"));
}

TEST_F(IdentityTest, APathIsNoFamily) {
  // Eight unrelated models at ./runs/N/final were of the family ".".
  for (const auto& [name, family] :
       std::vector<std::pair<std::string, std::string>>{{"org/m", "org"},
                                                        {"org__m", "org"},
                                                        {"01-ai/Yi-6B", "01-ai"},
                                                        {"./runs/1/final", ""},
                                                        {"../m", ""},
                                                        {"/data/models/m", ""},
                                                        {"~/m", ""},
                                                        {"C:/models/m", ""},
                                                        {"runs/1/final", ""},
                                                        {"checkpoints/step-5", ""},
                                                        {"s3://bucket/m", ""},
                                                        {".__runs__1", ""},
                                                        {"Llama 2 (70B)", "Llama 2"}}) {
    EXPECT_EQ(FamilyInName(name), family) << name;
  }
  for (const auto& [model, family] : std::vector<std::pair<std::string, std::string>>{
           {"openai/gpt-4", "openai"},
           {"together/meta-llama/Llama-3", "meta-llama"},
           {"openai/azure/gpt-4o", "openai"}}) {
    Json run = InspectRun(0.5);
    run["eval"]["model"] = model;
    EXPECT_EQ(ImportRuns("inspect", {run})->models[0].tags.at("family"), family) << model;
  }
}

TEST_F(IdentityTest, InspectOfMarch2026WroteVersion3) {
  Json run = InspectRun(0.5);
  run["version"] = 3;
  EXPECT_EQ(Score(*ImportRuns("inspect", {run}), "org/m", "t"), 0.5);
}

}  // namespace
}  // namespace concur::imports
