// SPDX-License-Identifier: Apache-2.0
// {metrics} and {examples} of programs that score several parts of a test set at once.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/result.h"
#include "tests/testing/test.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/execution/scorer.h"

namespace concur::worker {
namespace {

class PartsTest : public ExecutorFixture {
 protected:
  // The result of a program that writes these files.
  JobResult Write(const std::string& metrics, const std::string& examples = "") {
    std::string script = absl::StrCat("printf %s '", metrics, "' > $3");
    if (!examples.empty()) {
      absl::StrAppend(&script, "; printf '", examples, "' > $5");
    }
    JobOrder eval = Eval(script);
    eval.format = DataFormat::kFile;
    return Run(eval);
  }
};

Metric OfPart(const std::string& part, const std::string& name, double value, int64_t examples) {
  return {name, value, examples, std::nullopt, part};
}

TEST_F(PartsTest, OneJobGivesAScoreForEachPartAndTheirMean) {
  const JobResult result = Write(
      R"({"parts": {"law": {"acc": 0.75, "n": 8, "loss": 2}, "anatomy": {"n": 4, "acc": 0.5}}})");
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(result.metrics,
              ElementsAre(Metric{"acc", 0.625, 12}, OfPart("anatomy", "acc", 0.5, 4),
                          OfPart("law", "acc", 0.75, 8), OfPart("law", "loss", 2, 8)))
      << "the unweighted mean of what every part has";
}

TEST_F(PartsTest, AMetricOfTheWholeIsTakenAsItIs) {
  const JobResult result = Write(R"({"acc": 0.6, "parts": {"a": {"acc": 0.5}, "b": {"acc": 1}}})");
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_THAT(result.metrics, ElementsAre(Metric{"acc", 0.6, 0}, OfPart("a", "acc", 0.5, 0),
                                          OfPart("b", "acc", 1, 0)));
  const JobResult number = Write(R"({"parts": 3})");
  ASSERT_TRUE(number.succeeded) << number.message;
  EXPECT_THAT(number.metrics, ElementsAre(Metric{"parts", 3, 0})) << "as it was before";
}

TEST_F(PartsTest, MalformedPartsAreInvalidOutput) {
  std::string many;
  for (size_t i = 0; i <= kPartsMax; ++i) {
    absl::StrAppend(&many, i == 0 ? "" : ",", "\"p", i, "\":{\"a\":1}");
  }
  std::string wide;
  for (size_t i = 0; i <= kPartMetricsMax; ++i) {
    absl::StrAppend(&wide, i == 0 ? "" : ",", "\"m", i, "\":1");
  }
  struct Case {
    std::string metrics;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"a": 1, "parts": {}})", "got no part in \"parts\""},
           {R"({"parts": [1]})", "got a list for \"parts\""},
           {R"({"parts": {"x": 1}})", "got something else for the part \"x\""},
           {R"({"parts": {"x": {}}})", "got no metric for the part \"x\""},
           {R"({"parts": {"x": {"n": 3}}})", "got no metric for the part \"x\""},
           {R"({"parts": {"x": {"a": "1"}}})", "got a string for \"a\" of the part \"x\""},
           {R"({"parts": {"x": {"a": NaN}}})", "got nan for \"a\""},
           {R"({"parts": {"x": {"a": 1e16}}})",
            "{metrics}: parts.part[\"x\"].metric[\"a\"].value: expected a finite number"},
           {R"({"parts": {"x": {"a": 1, "n": 2.5}}})", "a count of examples for \"n\" of the part"},
           {R"({"parts": {"x": {"a": 1, "n": 0}}})", "a count of examples for \"n\" of the part"},
           {R"({"parts": {"x": {"a": 1, "n": 1, "n": 2}}})", "\"n\" of the part \"x\" twice"},
           {R"({"parts": {"x": {"a": 1, "a": 2}}})", "\"a\" of the part \"x\" twice"},
           {R"({"parts": {"x": {"a": 1}, "x": {"a": 2}}})", "the part \"x\" twice"},
           {R"({"parts": {"x": {"a": 1}}, "parts": {"y": {"a": 2}}})", "\"parts\" twice"},
           {R"({"parts": {"x": {"parts": {"y": {"a": 1}}}}})",
            "parts within the part \"x\"; write all parts in one list"},
           {R"({"parts": {"": {"a": 1}}})", "{metrics}: part: expected"},
           {absl::StrCat("{\"parts\": {\"", std::string(201, 'x'), "\": {\"a\": 1}}}"),
            "at most 200 bytes"},
           {absl::StrCat("{\"parts\": {", many, "}}"), "more than 1000 parts"},
           {absl::StrCat("{\"parts\": {\"x\": {", wide, "}}}"), "{metrics}: metrics of parts: "},
       }) {
    SCOPED_TRACE(c.metrics.substr(0, 100));
    const absl::StatusOr<std::vector<Metric>> metrics = ParseMetrics(c.metrics);
    ASSERT_FALSE(metrics.ok());
    EXPECT_EQ(metrics.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(metrics.status().message(), HasSubstr(c.message));
  }
  const JobResult result = Write(R"({"parts": {"x": {}}})");
  EXPECT_EQ(FailureClassName(result.failure), "invalid-output");
  EXPECT_THAT(result.metrics, IsEmpty());
}

TEST_F(PartsTest, PerExampleScoresNameTheirPart) {
  const std::string examples =
      R"({"id": "1", "part": "a", "acc": 1}\n{"id": "2", "part": "a", "acc": 0}\n)"
      R"({"id": "1", "part": "b", "acc": 1}\n)";
  const JobResult result = Write(R"({"parts": {"a": {"acc": 0.5}, "b": {"acc": 1}}})", examples);
  ASSERT_TRUE(result.succeeded) << result.message;
  EXPECT_EQ(result.message, "");
  EXPECT_THAT(result.metrics, ElementsAre(Metric{"acc", 0.75, 0}, OfPart("a", "acc", 0.5, 2),
                                          OfPart("b", "acc", 1, 1)));
  const JobResult wrong = Write(R"({"parts": {"a": {"acc": 0.6}, "b": {"acc": 1}}})", examples);
  ASSERT_TRUE(wrong.succeeded) << wrong.message;
  EXPECT_THAT(wrong.message, HasSubstr("0.5, is not its \"acc\" of the part \"a\", 0.6"));
  const JobResult lacks = Write(R"({"parts": {"a": {"acc": 0.5}, "c": {"acc": 1}}})", examples);
  ASSERT_TRUE(lacks.succeeded) << lacks.message;
  EXPECT_THAT(lacks.message, HasSubstr("per-example scores have no \"part\": \"c\""));
  EXPECT_THAT(Write(R"({"acc": 1})", R"({"id": "1", "part": 7, "acc": 1}\n)").message,
              HasSubstr("{examples}:1: part of \"1\": expected a name of 1 to 200 bytes"));
  EXPECT_THAT(Write(R"({"acc": 1})", R"({"id": "1", "part": "a", "acc": 1}\n)"
                                     R"({"id": "1", "part": "a", "acc": 1}\n)")
                  .message,
              HasSubstr("is already on line 1"));
}

}  // namespace
}  // namespace concur::worker
