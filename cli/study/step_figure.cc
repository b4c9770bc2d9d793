// SPDX-License-Identifier: Apache-2.0
#include "cli/study/step_figure.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "concur/v1/coordinator.pb.h"

namespace concur::cli {
namespace {

using analysis::StepCurve;
using analysis::StepFigure;
using analysis::StepPanel;

// The train jobs of an approach and a train set that have reported something.
struct Reporters {
  std::string approach;
  std::string train_set;
  std::optional<int64_t> selected;
  bool is_shown = true;
  std::vector<const v1::Job*> jobs;  // the study's, or those that ReadReports has read
};

// By train set, then by approach, each in the order of the sweep.
std::vector<Reporters> ReportersOf(const OpenedStudy& opened, const StepFigureOptions& options,
                                   std::vector<std::string>& notes) {
  const Study& study = opened.study;
  std::map<std::string, size_t> approaches;
  std::map<std::string, size_t> train_sets;
  for (const ApproachSpec& approach : study.spec.approaches) {
    approaches.emplace(approach.name, approaches.size());
  }
  for (const TrainSet& train_set : study.spec.train_sets) {
    train_sets.emplace(train_set.name, train_sets.size());
  }
  std::map<std::pair<size_t, size_t>, Reporters> found;
  size_t not_in_bundle = 0;
  for (const v1::Job& job : study.jobs) {
    if (!HasReported(job)) {
      continue;
    }
    const auto [it, is_first] =
        found.try_emplace({train_sets[job.train_set()], approaches[job.approach()]});
    Reporters& reporters = it->second;
    if (is_first) {
      reporters.approach = job.approach();
      reporters.train_set = job.train_set();
      reporters.is_shown =
          !options.is_shown || options.is_shown(reporters.approach, reporters.train_set);
    }
    if (!reporters.is_shown) {
      continue;
    }
    if (opened.client == nullptr && job.steps().empty()) {
      ++not_in_bundle;
      continue;
    }
    reporters.jobs.push_back(&job);
  }
  if (not_in_bundle > 0) {
    notes.push_back(
        absl::StrCat("Trainings whose reports are not in the bundle: ", not_in_bundle, "."));
  }
  std::vector<Reporters> result;
  for (auto& [place, reporters] : found) {
    if (reporters.jobs.empty()) {
      continue;
    }
    const auto selected = options.selected.find({reporters.approach, reporters.train_set});
    if (selected != options.selected.end()) {
      reporters.selected = selected->second;
    }
    result.push_back(std::move(reporters));
  }
  return result;
}

// Leaves what a page can hold: of each panel the selected setting, then the first ones.
void Cut(std::vector<Reporters>& panels, std::vector<std::string>& notes) {
  if (panels.size() > analysis::kStepPanelsMax) {
    notes.push_back(absl::StrCat("This page shows the learning curves of the first ",
                                 analysis::kStepPanelsMax, " of ", panels.size(),
                                 " pairs of approach and train set. Choose others with --columns "
                                 "or --where; concur sweep steps -o csv has them all."));
    panels.resize(analysis::kStepPanelsMax);
  }
  size_t cut = 0;
  for (Reporters& panel : panels) {
    const auto key = [&](const v1::Job& job) {
      return std::make_tuple(panel.selected != job.setting_index(), job.setting_index(),
                             job.seed());
    };
    std::sort(panel.jobs.begin(), panel.jobs.end(),
              [&](const v1::Job* a, const v1::Job* b) { return key(*a) < key(*b); });
    if (panel.jobs.size() > analysis::kStepCurvesMax) {
      panel.jobs.resize(analysis::kStepCurvesMax);
      ++cut;
    }
  }
  if (cut > 0) {
    notes.push_back(absl::StrCat("In ", cut, cut == 1 ? " panel" : " panels",
                                 " the selected "
                                 "setting and the first others are drawn, ",
                                 analysis::kStepCurvesMax,
                                 " curves; concur sweep steps -o csv has them all."));
  }
}

// `read` owns what panels have of a coordinator.
absl::Status ReadReports(const OpenedStudy& opened, std::vector<Reporters>& panels,
                         std::deque<v1::Job>& read) {
  if (opened.client == nullptr) {
    return absl::OkStatus();  // a bundle holds them
  }
  for (Reporters& panel : panels) {
    for (const v1::Job*& job : panel.jobs) {
      CONCUR_RETURN_IF_ERROR(ReadSteps(*opened.client, read.emplace_back(*job)));
      job = &read.back();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MetricOf(const Study& study, const std::string& asked,
                                     const std::vector<Reporters>& panels) {
  std::map<std::string, size_t> curves;  // by name
  for (const Reporters& panel : panels) {
    for (const v1::Job* job : panel.jobs) {
      std::map<std::string, size_t> names;
      for (const v1::StepRecord& step : job->steps()) {
        names[step.name()] = 1;
      }
      for (const auto& [name, one] : names) {
        curves[name] += one;
      }
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : curves) {
    names.push_back(name);
  }
  if (!asked.empty() && !curves.contains(asked)) {
    return absl::InvalidArgumentError(absl::StrCat("--curves: ", ExpectedOneOf(names, asked)));
  }
  if (!asked.empty()) {
    return asked;
  }
  if (study.spec.early_stop && curves.contains(study.spec.early_stop->metric)) {
    return study.spec.early_stop->metric;
  }
  const auto rank = [&](const std::string& name) {
    return std::make_tuple(curves[name], absl::StartsWith(name, "validation_"));
  };
  return *std::max_element(
      names.begin(), names.end(),
      [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
}

StepCurve::End EndOf(const v1::Job& job) {
  switch (job.state()) {
    case v1::Job::STATE_SUCCEEDED:
      return StepCurve::End::kDone;
    case v1::Job::STATE_STOPPED:
      return StepCurve::End::kStopped;
    default:
      return StepCurve::End::kOpen;
  }
}

}  // namespace

absl::StatusOr<std::optional<StepFigure>> StepFigureOf(const OpenedStudy& opened,
                                                       const StepFigureOptions& options) {
  StepFigure figure;
  std::vector<Reporters> panels = ReportersOf(opened, options, figure.notes);
  Cut(panels, figure.notes);
  std::deque<v1::Job> read;
  CONCUR_RETURN_IF_ERROR(ReadReports(opened, panels, read));
  if (std::none_of(panels.begin(), panels.end(), [](const Reporters& panel) {
        return std::any_of(panel.jobs.begin(), panel.jobs.end(),
                           [](const v1::Job* job) { return job->steps_size() > 0; });
      })) {
    return figure.notes.empty() ? std::nullopt : std::optional<StepFigure>(std::move(figure));
  }
  CONCUR_ASSIGN_OR_RETURN(figure.metric, MetricOf(opened.study, options.metric, panels));
  size_t silent = 0;
  for (const Reporters& reporters : panels) {
    StepPanel panel{reporters.approach, reporters.train_set, {}};
    for (const v1::Job* job : reporters.jobs) {
      StepCurve curve;
      curve.setting = job->setting_index();
      curve.seed = job->seed();
      curve.selected = reporters.selected == curve.setting;
      curve.end = EndOf(*job);
      for (const v1::StepRecord& step : job->steps()) {
        if (step.name() == figure.metric) {
          curve.points.emplace_back(step.step(), step.value());
        }
      }
      if (!curve.points.empty()) {
        panel.curves.push_back(std::move(curve));
      } else if (!job->steps().empty()) {
        ++silent;
      }
    }
    if (!panel.curves.empty()) {
      figure.panels.push_back(std::move(panel));
    }
  }
  if (silent > 0) {
    figure.notes.push_back(absl::StrCat("Trainings that reported other values, but no ",
                                        figure.metric, ": ", silent, "."));
  }
  return std::optional<StepFigure>(std::move(figure));
}

}  // namespace concur::cli
