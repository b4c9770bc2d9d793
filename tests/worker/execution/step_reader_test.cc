// SPDX-License-Identifier: Apache-2.0
#include "worker/execution/step_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"

namespace concur::worker {
namespace {

std::vector<std::string> StepsOf(const std::vector<std::string>& pieces) {
  std::vector<std::string> found;
  const auto add = [&](const ReportedStep& step) {
    found.push_back(absl::StrCat(step.step, " ", step.name, " ", step.value));
  };
  StepReader reader;
  for (const std::string& piece : pieces) {
    reader.Add(piece, StepReader::kOutput, add);
  }
  reader.Finish(add);
  return found;
}

TEST(StepReaderTest, ReportsAreFoundAmongOtherLinesHoweverTheLogIsCut) {
  const std::string log =
      "epoch 1\nconcur-metric {\"step\": 1, \"name\": \"f1\", \"value\": 0.5}\n"
      "done concur metric {\"step\": 2, \"value\": 1}\nconcur-metric {\"step\": 2, \"value\": 3}";
  EXPECT_THAT(StepsOf({log}), ElementsAre("1 f1 0.5", "2 value 3"));
  std::vector<std::string> bytes;
  for (const char c : log) {
    bytes.emplace_back(1, c);
  }
  EXPECT_EQ(StepsOf(bytes), StepsOf({log}));
}

TEST(StepReaderTest, WhatIsNoReportIsPassedOver) {
  for (const std::string json :
       {"", "{", "[1]", R"({"step": 1})", R"({"step": 1.5, "value": 1})",
        R"({"step": null, "value": 1})", R"({"step": -1, "value": 1})",
        R"({"step": 1, "value": NaN})", R"({"step": 1, "value": 1e999})",
        R"({"step": 1, "value": "1"})", R"({"step": 1, "value": 1, "name": 2})",
        R"({"step": 18446744073709551615, "value": 1})"}) {
    EXPECT_THAT(StepsOf({absl::StrCat("concur-metric ", json, "\n")}), IsEmpty()) << json;
  }
  const std::string good = "concur-metric {\"step\": 1, \"value\": 2}\n";
  EXPECT_THAT(StepsOf({std::string(1 << 20, 'x'), std::string(1 << 20, 'y'), "\n", good}),
              ElementsAre("1 value 2"));
}

TEST(StepReaderTest, ProgressIsToldOnceForEachPercent) {
  std::vector<std::string> found;
  const auto add = [&](const ReportedStep& step) {
    const bool is_progress = step.name == kProgressName;
    found.push_back(absl::StrCat(
        step.step, is_progress ? " of " : absl::StrCat(" ", step.name, " "), step.value));
  };
  const auto read = [&](const std::string& json) {
    StepReader reader;
    found.clear();
    reader.Add(absl::StrCat(json, "\n"), StepReader::kFile, add);
    return found;
  };
  EXPECT_THAT(read(R"({"step": 0, "of": 400}
{"step": 3, "of": 400}
{"step": 4, "of": 400, "name": "f1", "value": 2}
{"step": 400, "of": 400}
{"step": 1, "of": 50})"),
              ElementsAre("0 of 400", "4 of 400", "4 f1 2", "400 of 400", "1 of 50"));
  // A value counts though its `of` is wrong.
  for (const std::string of :
       {"1", "0", "-3", "1e300", "2.5", "\"2\"", "9007199254740993", "null"}) {
    EXPECT_THAT(read(absl::StrCat(R"({"step": 2, "of": )", of, "}")), IsEmpty()) << of;
    EXPECT_THAT(read(absl::StrCat(R"({"step": 2, "value": 3, "of": )", of, "}")),
                ElementsAre("2 value 3"));
  }
  std::string flips;
  for (int i = 0; i < 3 * kPercentsMax; ++i) {
    absl::StrAppend(&flips, R"({"step": )", i % 2, R"(, "of": 2})", "\n");
  }
  EXPECT_EQ(read(flips).size(), static_cast<size_t>(kPercentsMax));
}

TEST(StepReaderTest, AmountsAreRunningTotalsBesideTheNamesOfSteps) {
  std::string log;
  for (const char* name : {"a", "b", "c", "d"}) {
    log += absl::StrCat("concur-metric {\"step\": 1, \"name\": \"", name, "\", \"value\": 1}\n");
  }
  for (const double usd : {0.5, 0.25, 0.5, 0.75}) {
    log += absl::StrCat("concur-metric {\"step\": 7, \"name\": \"usd\", \"value\": ", usd, "}\n");
  }
  EXPECT_THAT(StepsOf({log}),
              ElementsAre("1 a 1", "1 b 1", "1 c 1", "1 d 1", "7 usd 0.5", "7 usd 0.75"));
}

// A job may report after every call: the last total is never lost.
TEST(StepReaderTest, ManyAmountsAreThinnedToTheirLast) {
  std::string log;
  for (int i = 1; i <= 100'000; ++i) {
    log +=
        absl::StrCat("concur-metric {\"step\": 0, \"name\": \"tokens_in\", \"value\": ", i, "}\n");
  }
  const std::vector<std::string> found = StepsOf({log});
  EXPECT_LT(found.size(), 1000u);
  EXPECT_EQ(found.back(), "0 tokens_in 100000");
}

TEST(StepReaderTest, AmountsThatCannotBeAreWarnedOf) {
  for (const auto& [value, shown] : std::vector<std::pair<std::string, std::string>>{
           {"-0.5", "-0.5"}, {"1e300", "1e+300"}, {"1000001", "1000001"}}) {
    StepReader reader;
    std::vector<ReportedStep> found;
    const StepReader::Sink add = [&](const ReportedStep& step) { found.push_back(step); };
    reader.Add(
        absl::StrCat("concur-metric {\"step\": 0, \"name\": \"usd\", \"value\": ", value, "}\n"),
        StepReader::kOutput, add);
    EXPECT_EQ(reader.Finish(add),
              "concur: warning: not counted: usd: expected what the attempt has spent so far, 0 to "
              "1e+06, got " +
                  shown);
    EXPECT_TRUE(found.empty());
  }
}

// A line that came in one piece had no limit, and each mark in it was read to its end.
TEST(StepReaderTest, AReportHasALimitHoweverItsLineIsCut) {
  for (const auto& [padding, count] :
       std::vector<std::pair<size_t, size_t>>{{4000, 1}, {4100, 0}}) {
    const std::string line =
        absl::StrCat("concur-metric {\"step\": 1,", std::string(padding, ' '), "\"value\": 2}\n");
    std::vector<std::string> bytes;
    for (const char c : line) {
      bytes.emplace_back(1, c);
    }
    EXPECT_EQ(StepsOf({line}).size(), count) << padding;
    EXPECT_EQ(StepsOf(bytes).size(), count) << padding;
  }
  std::string marks;
  for (int i = 0; i < 100'000; ++i) {
    marks += "concur-metric [";
  }
  EXPECT_THAT(StepsOf({marks, "\n"}), IsEmpty());
}

// With a progress bar on standard error, early stopping saw no report.
TEST(StepReaderTest, AProgressBarHidesNoReport) {
  const std::string report = "concur-metric {\"step\": 1, \"value\": 2}";
  for (const std::string& output : {
           "\r1/3 it/s" + report + "\n\r2/3 it/s",
           "\r 33%|###  | 1/3\r" + report + "\r 66%|#### | 2/3",
           report + "\r1/3\n",
           report + "\x1b[K\n",
           "\x1b[2K" + report + "\n",
           "...\b\b" + report + "\r\n",
           std::string(100'000, '.') + report + "\n",
           "concur-metric concur-metric {" + report,
           "concur-metric {" + std::string(10'000, 'x') + report,
       }) {
    EXPECT_THAT(StepsOf({output}), ElementsAre("1 value 2")) << output.substr(0, 100);
    std::vector<std::string> bytes;
    for (const char c : output.substr(output.size() - std::min<size_t>(output.size(), 9'000))) {
      bytes.emplace_back(1, c);
    }
    EXPECT_THAT(StepsOf(bytes), ElementsAre("1 value 2")) << output.substr(0, 100);
  }
  // The trace of a shell is no report.
  EXPECT_THAT(StepsOf({"+ echo '" + report + "'\n"}), IsEmpty());
}

// The bar on standard error cut a report that was printed in pieces, and nothing counted it.
TEST(StepReaderTest, AReportGoesOnAfterPiecesOfOtherSources) {
  const std::string report = "concur-metric {\"step\": 1, \"value\": 2}\n";
  const std::string bar = "\r 33%|concur-metric {|1/3\n";
  for (const auto& [one, other] : {std::pair(StepReader::kOutput, StepReader::kError),
                                   std::pair(StepReader::kError, StepReader::kOutput),
                                   std::pair(StepReader::kFile, StepReader::kError)}) {
    std::vector<ReportedStep> found;
    const StepReader::Sink add = [&](const ReportedStep& step) { found.push_back(step); };
    StepReader reader;
    for (const char& c : report) {
      reader.Add(absl::string_view(&c, 1), one, add);
      reader.Add(bar, other, add);
    }
    EXPECT_THAT(found, ElementsAre(ReportedStep{1, "value", 2}));
  }
}

TEST(StepReaderTest, LinesOfTheFileNeedNoMark) {
  std::vector<std::string> found;
  const auto add = [&](const ReportedStep& step) {
    found.push_back(absl::StrCat(step.step, " ", step.name, " ", step.value));
  };
  StepReader reader;
  reader.Add("{\"step\": 1, \"va", StepReader::kFile, add);
  reader.Add("concur-metric {\"step\": 2, \"value\": 2}\n", StepReader::kOutput, add);
  reader.Add("lue\": 1}\nconcur-metric {\"step\": 3, \"value\": 3}\nnoise\n", StepReader::kFile,
             add);
  reader.Add("{\"step\": 3, \"value\": 9}\n" + std::string(100'000, '{') + "\n", StepReader::kFile,
             add);
  reader.Add("{\"step\": 4, \"name\": \"f1\", \"value\": 4}", StepReader::kFile, add);
  reader.Finish(add);
  EXPECT_THAT(found, ElementsAre("2 value 2", "3 value 3", "4 f1 4"));
}

TEST(StepReaderTest, OneJobCannotReportMoreThanASyncCarries) {
  StepReader reader;
  size_t found = 0;
  for (int name = 0; name < 100; ++name) {
    for (int64_t step = 0; step < 2'000; ++step) {
      reader.Add(absl::StrCat("concur-metric {\"step\": ", step, ", \"value\": 1, \"name\": \"n",
                              name, "\"}\n"),
                 StepReader::kOutput, [&](const ReportedStep&) { ++found; });
    }
  }
  EXPECT_GT(found, kStepsDense);
  EXPECT_LE(found, kStepsOfJobMax);
  EXPECT_THAT(reader.Finish([](const ReportedStep&) {}),
              HasSubstr("reports of \"n4\" do not count: a job has at most 4 names"));
}

// {"step": 1, "loss": 2} was passed over, and nothing said so.
TEST(StepReaderTest, TheFirstMalformedReportIsWarnedOf) {
  const auto none = [](const ReportedStep&) {};
  StepReader good;
  good.Add("reports are concur-metric lines\nconcur-metric {\"step\": 1, \"value\": 2}\n",
           StepReader::kOutput, none);
  EXPECT_EQ(good.Finish(none), "");
  StepReader bad;
  bad.Add("50%|# concur-metric {\"step\": 1, \"loss\": 2}\nconcur-metric {oh}\n",
          StepReader::kOutput, none);
  EXPECT_THAT(bad.Finish(none), HasSubstr("no report: {\"step\": 1, \"loss\": 2}; expected {"));
}

}  // namespace
}  // namespace concur::worker
