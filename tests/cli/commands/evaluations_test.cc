// SPDX-License-Identifier: Apache-2.0
// `concur bundle write --format every-eval-ever`, and back.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/cli/run_concur.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

using EvaluationJson = nlohmann::json;

// The files below a folder, by path from it.
std::vector<std::string> FilesBelow(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files.insert(entry.path().lexically_relative(folder).string());
    }
  }
  return {files.begin(), files.end()};
}

class EvaluationsTest : public ::testing::Test {
 protected:
  void Import(const std::string& format, const std::string& path, const std::string& bundle) {
    const Output made = RunConcur({"bundle", "convert", format, path, "--out", bundle});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  EvaluationJson Export(const std::string& bundle, const std::string& out) {
    const Output done = RunConcur({"-o", "json", "bundle", "write", bundle, "--format",
                                   "every-eval-ever", "--out", out, "--retrieved", "1700000000"});
    EXPECT_EQ(done.code, 0) << done.err;
    return EvaluationJson::parse(done.out, nullptr, false);
  }
  EvaluationJson Read(const std::string& path) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    CONCUR_CHECK_OK(text.status());
    return EvaluationJson::parse(*text);
  }

  const TempDir dir_;
};

constexpr char kEvaluation[] = R"({
 "schema_version": "0.3.0", "evaluation_id": "board/org_m/1", "retrieved_timestamp": "1",
 "source_metadata": {"source_type": "documentation", "source_organization_name": "o",
                     "evaluator_relationship": "third_party"},
 "eval_library": {"name": "tool", "version": "2"},
 "model_info": {"name": "m", "id": "org/m", "developer": "org",
                "additional_details": {"deployment_type": "unknown",
                                       "model_availability": "unknown"}},
 "evaluation_results": [{"evaluation_name": "arc", "evaluation_result_id": "r1",
   "source_data": {"dataset_name": "arc", "source_type": "other"},
   "metric_config": {"metric_id": "acc", "lower_is_better": false, "min_score": 0, "max_score": 1,
                     "llm_scoring": {"judges": [], "input_prompt": "rate it"}},
   "score_details": {"score": 0.5, "uncertainty": {"confidence_interval":
                     {"lower": 0.4, "upper": 0.6}}}}],
 "detailed_evaluation_results": {"format": "jsonl", "file_path":
   "data/board/org/m/f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40_samples.jsonl"}})";

TEST_F(EvaluationsTest, WhatWasImportedInThisFormComesBackByteForByte) {
  const std::string place = dir_.File("in/data/board/org/m/f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40");
  CONCUR_CHECK_OK(MakeDirectories(dir_.File("in/data/board/org/m")));
  CONCUR_CHECK_OK(WriteFileAtomically(place + ".json", kEvaluation));
  std::string samples;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&samples, "{\"sample_id\": \"q", i, "\", \"evaluation_result_id\": \"r1\", ",
                    "\"input\": {\"raw\": \"why?\"}, \"evaluation\": {\"score\": ", i % 2,
                    ", \"is_correct\": ", i % 2 == 1 ? "true" : "false", "}}\n");
  }
  CONCUR_CHECK_OK(WriteFileAtomically(place + "_samples.jsonl", samples));
  Import("every-eval-ever", dir_.File("in"), dir_.File("bundle"));
  const EvaluationJson told = Export(dir_.File("bundle"), dir_.File("out"));
  EXPECT_EQ(told["originals"], 1);
  EXPECT_EQ(FilesBelow(dir_.File("out")), FilesBelow(dir_.File("in")));
  for (const std::string& file : FilesBelow(dir_.File("in"))) {
    EXPECT_EQ(*ReadFile(dir_.File("out/" + file)), *ReadFile(dir_.File("in/" + file))) << file;
  }
  EXPECT_EQ(RunConcur({"bundle", "verify", dir_.File("bundle")}).code, 0);

  const std::string original =
      dir_.File(absl::StrCat("bundle/originals/", Sha256Of(kEvaluation).ToHex(), ".json"));
  CONCUR_CHECK_OK(WriteFileAtomically(original, "{}"));
  const Output changed = RunConcur({"bundle", "write", dir_.File("bundle"), "--format",
                                    "every-eval-ever", "--out", dir_.File("again")});
  EXPECT_NE(changed.code, 0);
  EXPECT_THAT(changed.err, HasSubstr("another SHA-256"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("again")));
}

TEST_F(EvaluationsTest, OtherResultsAreWrittenInItsTermsAndReadBackTheSame) {
  CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("results_1.json"), R"({
    "results": {"arc": {"acc,none": 0.5, "acc_stderr,none": 0.1, "acc_norm,none": 0.25},
                "ppl": {"word_perplexity,none": 12.5}},
    "higher_is_better": {"ppl": {"word_perplexity": false}},
    "configs": {"arc": {"num_fewshot": 5}}, "model_name": "org/m"})"));
  Import("lm-eval", dir_.File("results_1.json"), dir_.File("bundle"));
  const EvaluationJson told = Export(dir_.File("bundle"), dir_.File("out"));
  EXPECT_EQ(told["originals"], 0);
  EXPECT_EQ(told["scores"], 3);
  const std::vector<std::string> files = FilesBelow(dir_.File("out"));
  ASSERT_THAT(files, SizeIs(1));
  const EvaluationJson root = Read(dir_.File("out/" + files[0]));
  EXPECT_EQ(root["schema_version"], "0.3.0");
  EXPECT_EQ(root["retrieved_timestamp"], "1700000000");
  EXPECT_EQ(root["model_info"]["id"], "org/m");
  EXPECT_EQ(root["model_info"]["developer"], "org");
  const EvaluationJson& arc = root["evaluation_results"][0];
  EXPECT_EQ(arc["evaluation_name"], "arc");
  EXPECT_EQ(arc["score_details"]["score"], 0.5);
  EXPECT_EQ(arc["score_details"]["uncertainty"]["standard_error"]["value"], 0.1);
  EXPECT_EQ(arc["generation_config"]["additional_details"]["num_fewshot"], "5");
  EXPECT_EQ(root["evaluation_results"][2]["metric_config"]["lower_is_better"], true);

  Import("every-eval-ever", dir_.File("out"), dir_.File("back"));
  EXPECT_EQ(RunConcur({"-o", "csv", "scores", dir_.File("back")}).out,
            RunConcur({"-o", "csv", "scores", dir_.File("bundle")}).out);
  // The same again is the same.
  Export(dir_.File("bundle"), dir_.File("out2"));
  EXPECT_EQ(Read(dir_.File("out2/" + files[0])), root);
}

TEST_F(EvaluationsTest, AnUnknownFormIsRefused) {
  const Output run =
      RunConcur({"bundle", "write", "x", "--format", "csv", "--out", dir_.File("o")});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--format: expected bundle or every-eval-ever, got \"csv\""));
}

}  // namespace
}  // namespace concur::cli
