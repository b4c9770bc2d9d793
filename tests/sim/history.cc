// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/history.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace concur::sim {
namespace {

// Far more than any history takes whose calls overlap as those of a world do.
constexpr size_t kConfigurationsMax = 200'000;

constexpr absl::string_view kRequestNames[kUserRequests] = {
    "submit", "pause", "resume", "cancel", "cancel a job", "retry", "delete"};

// State of a sweep after the calls so far.
struct SweepModel {
  bool exists = false;
  bool canceled = false;
  bool paused = false;
  std::vector<SeenSweep::Job> jobs;  // as seen last

  std::string Key() const {
    std::string key = absl::StrCat(exists, canceled, paused);
    for (const SeenSweep::Job& job : jobs) {
      absl::StrAppend(&key, " ", job.attempt, job.succeeded ? "s" : "");
    }
    return key;
  }
};

}  // namespace

SeenSweep SeenOf(const SweepView& sweep) {
  const bool may_pause = sweep.state == SweepState::kActive || sweep.state == SweepState::kPaused;
  return {sweep.row->canceled, sweep.row->paused, IsTerminal(sweep.state), may_pause, {}, false};
}

std::optional<SeenSweep> SeenIn(const Scheduler& scheduler, SweepId id) {
  const std::optional<SweepView> sweep = scheduler.views().FindSweep(id);
  if (!sweep) {
    return std::nullopt;
  }
  SeenSweep seen = SeenOf(*sweep);
  for (uint32_t job = 0; job < sweep->expansion->job_count(); ++job) {
    const JobView view = scheduler.views().ViewJob({id, job});
    const bool succeeded = view.state == JobState::kSucceeded;
    const bool scored = succeeded && view.result != nullptr && !view.result->metrics.empty();
    seen.jobs.push_back(
        {view.attempt.number, succeeded, scored ? view.result->metrics[0].value : 0});
  }
  return seen;
}

// --- recording -----------------------------------------------------------------------------------

History::Moment History::Begin(UserRequest request, SweepId sweep) {
  ++now_;
  if (sweep != SweepId()) {
    Moment& first = sweeps_[sweep].first[static_cast<size_t>(request)];
    first = first == 0 ? now_ : first;
  }
  return now_;
}

void History::BeginAll(UserRequest request) {
  Moment& first = first_of_all_[static_cast<size_t>(request)];
  ++now_;
  first = first == 0 ? now_ : first;
}

void History::End(UserRequest request, SweepId sweep, Moment begun) {
  sweeps_[sweep].calls.push_back({begun, ++now_, request, std::nullopt});
  if (request == UserRequest::kSubmit) {
    submitted_.push_back(sweep);
  }
}

void History::EndRead(SweepId sweep, Moment begun, std::optional<SeenSweep> seen) {
  sweeps_[sweep].calls.push_back({begun, ++now_, std::nullopt, std::move(seen)});
  ++reads_;
}

// --- the search for an order ---------------------------------------------------------------------

bool History::MayComeBefore(const OfSweep& sweep, UserRequest request, Moment end) const {
  const size_t at = static_cast<size_t>(request);
  return (sweep.first[at] != 0 && sweep.first[at] < end) ||
         (first_of_all_[at] != 0 && first_of_all_[at] < end);
}

class History::Search {
 public:
  Search(const History& history, const OfSweep& sweep)
      : history_(history), sweep_(sweep), done_(sweep.calls.size(), '0') {}

  // "" when there is an order.
  std::string Run() {
    // A late repeat of a submission whose sweep was deleted makes another one, and answers nobody.
    SweepModel start;
    start.exists = std::none_of(sweep_.calls.begin(), sweep_.calls.end(), [](const Call& call) {
      return call.request == UserRequest::kSubmit;
    });
    if (Continue(start)) {
      return "";
    }
    return visited_.size() >= kConfigurationsMax ? "too many orders to try them all" : reason_;
  }

 private:
  // True if the calls that are left can follow `model`.
  bool Continue(const SweepModel& model) {
    if (std::find(done_.begin(), done_.end(), '0') == done_.end()) {
      return true;
    }
    if (visited_.size() >= kConfigurationsMax ||
        !visited_.insert(absl::StrCat(done_, " ", model.Key())).second) {
      return false;
    }
    // The next call is one that began before any that is left has ended.
    Moment first_end = std::numeric_limits<Moment>::max();
    for (size_t i = 0; i < done_.size(); ++i) {
      if (done_[i] == '0') {
        first_end = std::min(first_end, sweep_.calls[i].ended);
      }
    }
    for (size_t i = 0; i < done_.size(); ++i) {
      if (done_[i] != '0' || sweep_.calls[i].begun > first_end) {
        continue;
      }
      SweepModel next = model;
      const std::string problem = Apply(sweep_.calls[i], next);
      if (!problem.empty()) {
        Note(problem);
        continue;
      }
      done_[i] = '1';
      if (Continue(next)) {
        return true;
      }
      done_[i] = '0';
    }
    return false;
  }

  // Keeps the reason why the longest order goes no further.
  void Note(const std::string& problem) {
    const auto length = static_cast<size_t>(std::count(done_.begin(), done_.end(), '1'));
    if (reason_.empty() || length > longest_) {
      longest_ = length;
      reason_ = problem;
    }
  }

  std::string Apply(const Call& call, SweepModel& model) const {
    if (!call.request) {
      return ApplyRead(call, model);
    }
    const bool exists = model.exists || *call.request == UserRequest::kSubmit;
    if (!exists && !MayCome(UserRequest::kDelete, call)) {
      return absl::StrCat(kRequestNames[static_cast<size_t>(*call.request)],
                          " succeeds, and there is no such sweep");
    }
    switch (*call.request) {
      case UserRequest::kSubmit:
        model.exists = true;
        break;
      case UserRequest::kPause:
        model.paused = true;
        break;
      case UserRequest::kResume:
        model.paused = false;
        break;
      case UserRequest::kCancel:
        model.canceled = true;
        model.paused = false;
        break;
      case UserRequest::kCancelJob:
      case UserRequest::kRetry:
        break;  // its effect depends on the jobs: reads show it
      case UserRequest::kDelete:
        model.exists = false;
        break;
    }
    return "";
  }

  std::string ApplyRead(const Call& call, SweepModel& model) const {
    const std::optional<SeenSweep>& seen = call.seen;
    if (seen.has_value() != model.exists) {
      if (seen || !MayCome(UserRequest::kDelete, call)) {
        return seen ? "a read finds a sweep that was deleted" : "a read finds no sweep";
      }
      model.exists = false;
    }
    if (!seen) {
      return "";
    }
    if (seen->only_jobs) {
      return ApplyJobs(call, model);
    }
    if (seen->canceled && !model.canceled && !MayCome(UserRequest::kCancel, call)) {
      return "a read finds it canceled, and nobody canceled it";
    }
    // A cancel of a sweep that has ended changes nothing.
    if (!seen->canceled && model.canceled && !seen->ended && !MayCome(UserRequest::kRetry, call)) {
      return "a read does not find its cancel";
    }
    if (seen->paused && !model.paused && !MayCome(UserRequest::kPause, call)) {
      return "a read finds it paused, and nobody paused it";
    }
    // The end of the last job ends a pause, also while attempts of canceled jobs are still being
    // stopped; the sweep may have been retried since.
    if (!seen->paused && model.paused && seen->may_pause && !MayCome(UserRequest::kResume, call) &&
        !MayCome(UserRequest::kCancel, call) && !MayCome(UserRequest::kRetry, call)) {
      return "a read does not find its pause";
    }
    model.canceled = seen->canceled;
    model.paused = seen->paused;
    return seen->jobs.empty() ? "" : ApplyJobs(call, model);
  }

  std::string ApplyJobs(const Call& call, SweepModel& model) const {
    const std::vector<SeenSweep::Job>& jobs = call.seen->jobs;
    for (size_t i = 0; i < model.jobs.size(); ++i) {
      const SeenSweep::Job& before = model.jobs[i];
      if (jobs[i].attempt < before.attempt) {
        return absl::StrCat("a read finds job ", i, " at attempt ", jobs[i].attempt,
                            ", and one before found attempt ", before.attempt);
      }
      if (before.succeeded && jobs[i] != before && !MayCome(UserRequest::kRetry, call)) {
        return absl::StrCat("a read does not find the result of job ", i,
                            ", which one before found");
      }
    }
    model.jobs = jobs;
    return "";
  }

  bool MayCome(UserRequest request, const Call& call) const {
    return history_.MayComeBefore(sweep_, request, call.ended);
  }

  const History& history_;
  const OfSweep& sweep_;
  std::string done_;  // '1' for calls that are in the order so far
  std::set<std::string> visited_;
  size_t longest_ = 0;
  std::string reason_;
};

std::string History::Check() const {
  for (const auto& [id, sweep] : sweeps_) {
    const std::string problem = Search(*this, sweep).Run();
    if (!problem.empty()) {
      return absl::StrCat("no order of the ", sweep.calls.size(), " calls about sweep ",
                          id.ToString(), " explains what clients saw: ", problem);
    }
  }
  return "";
}

// --- events --------------------------------------------------------------------------------------

void History::OnTurn(const Turn& /*turn*/, const Effects& effects) {
  for (const JobEvent& event : effects.events) {
    published_[event.id.sweep].push_back(TextOf(event));
  }
}

size_t History::published(SweepId sweep) const {
  const auto it = published_.find(sweep);
  return it == published_.end() ? 0 : it->second.size();
}

std::string History::Published(SweepId sweep, size_t at) const {
  const auto it = published_.find(sweep);
  return it == published_.end() || at >= it->second.size() ? "" : it->second[at];
}

std::string History::TextOf(const JobEvent& event) {
  return absl::StrCat(event.id.ToString(), " ", JobStateName(event.state), " attempt ",
                      event.attempt.number);
}

}  // namespace concur::sim
