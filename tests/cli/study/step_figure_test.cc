// SPDX-License-Identifier: Apache-2.0
// Learning curves of a sweep in `concur report`, from a coordinator and from a bundle.
#include "cli/study/step_figure.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "cli/client/client.h"
#include "cli/study/bundle_files.h"
#include "cli/study/open_study.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/credentials.h"
#include "tests/cli/study_fixture.h"
#include "tests/testing/test.h"
#include "tests/testing/text.h"

namespace concur::cli {
namespace {

using ::concur::testing::Count;

class StepFigureOfTest : public StudyFixture {
 protected:
  // Every train job of lr reports two epochs, under two names.
  StepFigureOfTest() {
    for (v1::Job& job : fake_.jobs) {
      if (job.kind() == v1::Job::KIND_TRAIN && job.approach() == "lr") {
        for (int epoch = 1; epoch <= 2; ++epoch) {
          Report(job, epoch, "loss", 1.0 / epoch);
          Report(job, epoch, "validation_f1", 10.0 * (epoch + job.setting_index()));
        }
      }
    }
  }

  static void Report(v1::Job& job, int step, const std::string& name, double value) {
    v1::StepRecord* record = job.add_steps();
    record->set_step(step);
    record->set_name(name);
    record->set_value(value);
    record->set_attempt(1);
    job.set_step_count(static_cast<uint32_t>(job.steps_size()));
  }

  std::string Page(std::vector<std::string> args) {
    const std::string page = dir_.File(absl::StrCat("r", ++pages_, ".html"));
    args.insert(args.begin(), "report");
    args.insert(args.end(), {"--out", page, "--no-comparisons"});
    const Output output = Concur(args);
    EXPECT_EQ(output.code, 0) << output.err;
    const std::string html = *ReadFile(page);
    const size_t from = html.find("<section id=\"curves\">");
    return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
  }

  int pages_ = 0;
  TempDir dir_;
};

TEST_F(StepFigureOfTest, AReportHasAPanelForEachApproachAndTrainSet) {
  const std::string curves = Page({"demo"});
  EXPECT_EQ(Count(curves, "<figure"), 2u) << "lr on both; others have reported nothing";
  EXPECT_THAT(curves, HasSubstr("<strong>lr</strong> on news"));
  EXPECT_THAT(curves, HasSubstr("validation_f1 by step")) << "as many curves as of loss";
  EXPECT_EQ(Count(curves, "setting 1 (selected), seed 1: trained to its end; step 2: 30"), 2u);
  EXPECT_EQ(Count(curves, "setting 0, seed 1: trained to its end; step 2: 20"), 2u);
}

TEST_F(StepFigureOfTest, WhatIsLeftOutOfTheTableHasNoCurves) {
  EXPECT_EQ(Count(Page({"demo", "--columns", "wiki"}), "<figure"), 1u);
  EXPECT_EQ(Page({"demo", "--where", "trained=no"}), "");
  EXPECT_EQ(Count(Page({"demo", "--select", "each"}), "<figure"), 2u);
}

TEST_F(StepFigureOfTest, TheMetricOfEarlyStopCountsUnlessAnotherIsAskedFor) {
  v1::EarlyStop* rule = fake_.sweeps[0].mutable_spec()->mutable_early_stop();
  rule->set_method(v1::EarlyStop::METHOD_ASHA);
  rule->set_metric("loss");
  rule->set_minimize(true);
  rule->set_min(1);
  rule->set_max(2);
  rule->set_eta(2);
  EXPECT_THAT(Page({"demo"}), HasSubstr("loss by step"));
  EXPECT_THAT(Page({"demo", "--curves", "validation_f1"}), HasSubstr("validation_f1 by step"));
  const Output output = Concur({"report", "demo", "--out", dir_.File("x"), "--curves", "losss"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("--curves: expected loss or validation_f1, got \"losss\""));
}

TEST_F(StepFigureOfTest, ABundleGivesTheSameCurves) {
  const std::string live = Page({"demo"});
  const std::string bundle = dir_.File("bundle");
  ASSERT_EQ(Concur({"bundle", "write", "demo", "--out", bundle}).code, 0);
  EXPECT_EQ(RunConcur({"bundle", "verify", bundle}).code, 0)
      << RunConcur({"bundle", "verify", bundle}).err;
  EXPECT_EQ(Page({bundle}), live);
}

TEST_F(StepFigureOfTest, VerifyFindsReportsThatAreNotWhole) {
  const std::string bundle = dir_.File("bundle");
  ASSERT_EQ(Concur({"bundle", "write", "demo", "--out", bundle}).code, 0);
  const std::string before = *ReadFile(bundle + "/jobs.jsonl");
  const auto verify_changed = [&](const std::string& from, const std::string& to) {
    std::string after = before;
    after.replace(after.find(from), from.size(), to);
    CONCUR_CHECK_OK(WriteFileAtomically(bundle + "/jobs.jsonl", after));
    return RunConcur({"bundle", "verify", bundle}).err;
  };
  const std::string step = R"({"attempt":1,"name":"loss","step":"1","value":1},)";
  EXPECT_THAT(verify_changed(step, ""), HasSubstr("steps: expected 4 by step_count, got 3"));
  EXPECT_THAT(
      verify_changed(R"("name":"loss","step":"1")", R"("name":"loss","step":"2")"),
      HasSubstr("expected steps of loss that grow, with finite values, got step 2 after 2"));
}

TEST_F(StepFigureOfTest, AReportOfABundleRefusesReportsThatAreNotFinite) {
  const std::string bundle = dir_.File("bundle");
  ASSERT_EQ(Concur({"bundle", "write", "demo", "--out", bundle}).code, 0);
  std::string jobs = *ReadFile(bundle + "/jobs.jsonl");
  const std::string value = R"("name":"loss","step":"1","value":1})";
  ASSERT_THAT(jobs, HasSubstr(value));
  jobs.replace(jobs.find(value), value.size(), R"("name":"loss","step":"1","value":"NaN"})");
  CONCUR_CHECK_OK(WriteFileAtomically(bundle + "/jobs.jsonl", jobs));
  const Output output = RunConcur({"report", bundle, "--out", dir_.File("x")});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("jobs.jsonl: s1/"));
  EXPECT_THAT(output.err, HasSubstr("expected steps of loss that grow, with finite values"));
}

TEST_F(StepFigureOfTest, ScoreFilesHaveNoCurves) {
  CONCUR_CHECK_OK(WriteFileAtomically(dir_.File("s.csv"), "a,x\nm,1\n"));
  const Output output = RunConcur(
      {"report", "--scores", dir_.File("s.csv"), "--out", dir_.File("x"), "--curves", "loss"});
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.err, HasSubstr("--curves: a file of scores has no learning curves"));
}

TEST_F(StepFigureOfTest, ABundleSaysWhereReportsAre) {
  ASSERT_EQ(Concur({"bundle", "write", "demo", "--out", dir_.File("with")}).code, 0);
  EXPECT_THAT(*ReadFile(dir_.File("with") + "/README.txt"),
              HasSubstr("result, and what it reported step by step\n"));
  for (v1::Job& job : fake_.jobs) {
    job.clear_steps();
    job.clear_step_count();
  }
  ASSERT_EQ(Concur({"bundle", "write", "demo", "--out", dir_.File("without")}).code, 0);
  EXPECT_THAT(*ReadFile(dir_.File("without") + "/README.txt"), HasSubstr("state, result\n"))
      << "as of Concur 0.2.0";
}

TEST_F(StepFigureOfTest, ReportsOfABundleKeepToItsBytes) {
  ASSERT_OK_AND_ASSIGN(const auto client, Client::Connect(fake_.address(), rpc::CredentialFiles()));
  const auto read = [&](int64_t bytes_max) {
    absl::StatusOr<Study> study = FetchStudy(*client, fake_.sweeps[0]);
    CONCUR_CHECK_OK(study.status());
    for (v1::Job& job : study->jobs) {
      job.clear_steps();  // which no coordinator lists
    }
    const absl::StatusOr<StepsRead> found = ReadAllSteps(*client, *study, bytes_max);
    CONCUR_CHECK_OK(found.status());
    return std::make_pair(*found, *std::move(study));
  };
  const auto bytes_of = [](const Study& study) {
    return static_cast<int64_t>(PrimaryFiles(study)["jobs.jsonl"].size());
  };
  const auto [all, whole] = read(1'000'000);
  EXPECT_EQ(all.steps, 16) << "of four jobs";
  EXPECT_EQ(all.jobs_left_out, 0);
  const int64_t bytes = bytes_of(whole);
  EXPECT_EQ(read(bytes).first.jobs_left_out, 0);
  const auto [some, cut] = read(bytes - 1);
  EXPECT_EQ(some.steps, 12);
  EXPECT_EQ(some.jobs_left_out, 1);
  EXPECT_LT(bytes_of(cut), bytes);
  for (v1::Job& job : fake_.jobs) {
    for (v1::StepRecord& step : *job.mutable_steps()) {
      step.set_name(std::string(64, step.name() == "loss" ? '"' : '\\'));  // two bytes in JSON
    }
  }
  const auto [few, long_names] = read(bytes);
  EXPECT_EQ(few.jobs_left_out, 3) << "as many steps, of more bytes";
  EXPECT_LE(bytes_of(long_names), bytes);
  EXPECT_EQ(std::count_if(
                long_names.jobs.begin(), long_names.jobs.end(),
                [](const v1::Job& job) { return job.step_count() == 4 && job.steps().empty(); }),
            3)
      << "they have reported, which a page can say";
}

TEST_F(StepFigureOfTest, WhatABundleHadNoRoomForIsCounted) {
  OpenedStudy opened;
  ASSERT_OK_AND_ASSIGN(opened.study.spec, rpc::FromProto(fake_.sweeps[0].spec()));
  opened.study.jobs = fake_.jobs;
  ASSERT_EQ(opened.study.jobs[0].step_count(), 4u);
  opened.study.jobs[0].clear_steps();
  ASSERT_OK_AND_ASSIGN(const auto figure, StepFigureOf(opened, {}));
  ASSERT_TRUE(figure.has_value());
  EXPECT_THAT(figure->notes, ElementsAre("Trainings whose reports are not in the bundle: 1."));
  size_t curves = 0;
  for (const analysis::StepPanel& panel : figure->panels) {
    curves += panel.curves.size();
  }
  EXPECT_EQ(curves, 3u);
  for (v1::Job& job : opened.study.jobs) {
    job.clear_steps();
  }
  ASSERT_OK_AND_ASSIGN(const auto empty, StepFigureOf(opened, {}));
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(analysis::StepFigureHtml(*empty),
            "<p class=\"left-out\">Trainings whose reports are not in the bundle: 4.</p>\n");
}

// 100 train sets of 50 settings, each of which has reported 150 times.
TEST_F(StepFigureOfTest, ALargeSweepMakesNoLargePageAndFewCalls) {
  v1::Job model = fake_.jobs[0];
  ASSERT_EQ(model.approach(), "lr");
  model.clear_steps();
  for (int step = 1; step <= 150; ++step) {
    Report(model, step, "loss", 1.0 / step);
  }
  OpenedStudy opened;
  ASSERT_OK_AND_ASSIGN(opened.client, Client::Connect(fake_.address(), rpc::CredentialFiles()));
  Study& study = opened.study;
  study.spec.approaches.emplace_back().name = "lr";
  fake_.jobs.clear();
  for (int t = 0; t < 100; ++t) {
    study.spec.train_sets.emplace_back().name = absl::StrCat("t", t);
    for (uint32_t setting = 0; setting < 50; ++setting) {
      v1::Job& job = fake_.jobs.emplace_back(model);
      job.set_id(absl::StrCat("s1/", fake_.jobs.size() - 1));
      job.set_train_set(study.spec.train_sets.back().name);
      job.set_setting_index(setting);
      study.jobs.push_back(job);
      study.jobs.back().clear_steps();
    }
  }
  StepFigureOptions options;
  options.selected[{"lr", "t0"}] = 49;
  int asked = 0;
  options.is_shown = [&](const std::string&, const std::string& train_set) {
    ++asked;
    return train_set != "t1";
  };
  ASSERT_OK_AND_ASSIGN(const auto figure, StepFigureOf(opened, options));
  ASSERT_TRUE(figure.has_value());
  EXPECT_EQ(asked, 100) << "once for each approach and train set";
  EXPECT_EQ(fake_.job_requests.size(), analysis::kStepPanelsMax * analysis::kStepCurvesMax);
  EXPECT_LT(analysis::StepFigureHtml(*figure).size(), 3'000'000u);
  ASSERT_EQ(figure->panels.size(), analysis::kStepPanelsMax);
  ASSERT_EQ(figure->panels[0].curves.size(), analysis::kStepCurvesMax);
  EXPECT_EQ(figure->panels[0].curves[0].setting, 49) << "the selected one is among them";
  EXPECT_EQ(figure->panels[0].curves[1].setting, 0);
  EXPECT_EQ(figure->panels[1].benchmark, "t2");
  EXPECT_THAT(figure->notes[0], HasSubstr("the first 48 of 99 pairs of approach and train set"));
  EXPECT_THAT(figure->notes[1],
              HasSubstr("In 48 panels the selected setting and the first others"));
}

}  // namespace
}  // namespace concur::cli
