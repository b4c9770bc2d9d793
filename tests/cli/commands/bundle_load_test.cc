// SPDX-License-Identifier: Apache-2.0
// `concur bundle load`: the request that a bundle becomes.

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "core/result.h"
#include "tests/cli/commands_fixture.h"
#include "tests/testing/test.h"

namespace concur::cli {
namespace {

class BundleLoadTest : public CommandsFixture {
 protected:
  // A bundle of what the harness's result file says.
  void Bundle(const std::string& results) {
    CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("results_1.json"), results));
    const Output made =
        RunConcur({"bundle", "convert", "lm-eval", dir_.File("results_1.json"), "--out", bundle_});
    ASSERT_EQ(made.code, 0) << made.err;
  }

  const TempDir dir_;
  const std::string bundle_ = dir_.File("bundle");
};

TEST_F(BundleLoadTest, ScoresAndTheirSourcesAreSentOnceUnderOneId) {
  Bundle(R"({"results": {"arc": {"acc,none": 0.5, "acc_stderr,none": 0.1}},
             "configs": {"arc": {"num_fewshot": 5}}, "model_name": "org/m",
             "total_evaluation_time_seconds": "12.5"})");
  const Output first = Concur({"bundle", "load", bundle_});
  ASSERT_EQ(first.code, 0) << first.err;
  ASSERT_EQ(Concur({"bundle", "load", bundle_ + "/"}).code, 0);
  ASSERT_EQ(Concur({"bundle", "load", bundle_, "--name", "other"}).code, 0);
  ASSERT_THAT(fake_.imported, SizeIs(3));
  const v1::ImportSweepRequest& request = fake_.imported[0];
  EXPECT_EQ(request.spec().name(), "bundle");
  EXPECT_EQ(request.spec().approaches(0).name(), "org/m");
  ASSERT_THAT(request.results(), SizeIs(1));
  EXPECT_EQ(request.results(0).result().metrics(0).value(), 0.5);
  const auto source = nlohmann::json::parse(request.results(0).result().message());
  EXPECT_EQ(source["shots"], 5);
  EXPECT_EQ(source["metrics"][0]["standard_error"], 0.1);
  EXPECT_EQ(source["model"], "org/m");
  EXPECT_FALSE(source.contains("job"));
  EXPECT_EQ(fake_.imported[1].request_id(), request.request_id());
  EXPECT_NE(fake_.imported[2].request_id(), request.request_id());
  EXPECT_EQ(fake_.imported[2].spec().name(), "other");
}

// Ninety metrics say more of themselves than a source may.
TEST_F(BundleLoadTest, ALongSourceLosesItsLastMetricsAndSaysHowMany) {
  std::string metrics;
  for (int i = 0; i < 90; ++i) {
    absl::StrAppend(&metrics, i == 0 ? "" : ", ", "\"m", i,
                    ",a filter with a long name\": 0.5, \"m", i,
                    "_stderr,a filter with a long name\": 0.125");
  }
  Bundle(absl::StrCat("{\"results\": {\"arc\": {", metrics,
                      "}}, \"configs\": {\"arc\": {}}, \"model_name\": \"m\"}"));
  ASSERT_EQ(Concur({"bundle", "load", bundle_}).code, 0);
  ASSERT_THAT(fake_.imported, SizeIs(1));
  const v1::JobResult& result = fake_.imported[0].results(0).result();
  EXPECT_EQ(result.metrics_size(), 90);
  EXPECT_LE(result.message().size(), kMessageBytesMax);
  const auto source = nlohmann::json::parse(result.message());
  EXPECT_EQ(source["metrics"].size() + source["metrics_left_out"].get<size_t>(), 90u);
  EXPECT_GT(source["metrics"].size(), 10u);
  EXPECT_TRUE(source.contains("sha256"));
}

TEST_F(BundleLoadTest, WhatIsNoBundleOfImportedResultsIsRefused) {
  const Output missing = Concur({"bundle", "load", dir_.File("nothing")});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("nothing/sweep.json"));
  Bundle(R"({"results": {"arc": {"acc,none": 0.5}}, "configs": {}, "model_name": "m"})");
  CONCUR_CHECK_OK(WriteFileAtomically(bundle_ + "/sources.jsonl", "{\"job\": \"s1/7\"}\n"));
  const Output changed = Concur({"bundle", "load", bundle_});
  EXPECT_NE(changed.code, 0);
  EXPECT_THAT(changed.err, HasSubstr("sources.jsonl:1: job: expected s1/0"));
  EXPECT_THAT(fake_.imported, SizeIs(0));
}

}  // namespace
}  // namespace concur::cli
