// SPDX-License-Identifier: Apache-2.0
// Why a job waits, failed, was reused or was refused, in words.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/suggest.h"
#include "core/scheduler.h"
#include "core/sweep_record.h"

namespace concur {
namespace {

// That a system left questions out; "" when it answered all.
std::string UnansweredText(const JobResult* result) {
  if (result != nullptr) {
    for (const Metric& metric : result->metrics) {
      if (metric.name == kUnansweredMetric) {
        return absl::StrCat("; ", metric.value, " of ", metric.examples,
                            " questions have no prediction, and count as wrong");
      }
    }
  }
  return "";
}

// That workers were drained, and how they work again; "" for none.
std::string DrainedText(const std::vector<std::string>& names) {
  if (names.empty()) {
    return "";
  }
  return absl::StrCat("; ", *std::min_element(names.begin(), names.end()),
                      names.size() == 1
                          ? " is drained"
                          : absl::StrCat(" and ", names.size() - 1, " more are drained"),
                      ", also after a restart, until `concur worker drain NAME --undo`");
}

// What to install on a worker that lacks this label of an environment.
std::string EnvironmentRemedy(absl::string_view label) {
  absl::ConsumePrefix(&label, kEnvironmentLabelPrefix);
  const absl::string_view programs = label == "root"       ? "bubblewrap, podman or apptainer"
                                     : label == "registry" ? "skopeo, or podman"
                                     : label == "image"    ? "bubblewrap and skopeo, or podman,"
                                     : label == "conda"    ? "micromamba, mamba or conda"
                                                           : label;
  return absl::StrCat("install ", programs,
                      " there and start the worker again (its log says what "
                      "it tried)");
}

// Whether some worker that takes jobs can run the image, or is in it.
bool HasImage(const Roster& workers, absl::Time now, const std::string& image) {
  return std::any_of(workers.begin(), workers.end(), [&](const auto& entry) {
    return entry.second->TakesJobs(now) &&
           LabelsMatch({{kImageLabel, image}}, entry.second->info.labels);
  });
}

// REQUIRES: some worker takes jobs, and none of these carries all that is wanted.
std::string ExplainLabels(const Roster& workers, absl::Time now, const Labels& wants) {
  Labels missing;             // that nobody carries
  std::set<std::string> has;  // the values of the first of them
  for (const auto& [name, value] : wants) {
    std::set<std::string> values;
    for (const auto& [worker_name, worker] : workers) {
      const auto it = worker->info.labels.find(name);
      if (worker->TakesJobs(now) && it != worker->info.labels.end()) {
        values.insert(it->second);
      }
    }
    if (!values.contains(value) && !(name == kImageLabel && HasImage(workers, now, value))) {
      missing.emplace(name, value);
      has = missing.size() == 1 ? std::move(values) : std::move(has);
    }
  }
  if (missing.empty()) {
    return absl::StrCat("waits for a worker with all of the labels ", LabelsText(wants),
                        ": each is on some live worker, and together they are on none");
  }
  constexpr size_t kShownMax = 5;
  const std::string& name = missing.begin()->first;
  if (absl::StartsWith(name, kEnvironmentLabelPrefix)) {
    return absl::StrCat("waits for a worker with ", LabelsText(missing),
                        ", which no live worker has: none can build and run the approach's "
                        "environment; ",
                        EnvironmentRemedy(name));
  }
  std::vector<std::string> shown;
  for (const std::string& value : has) {
    shown.push_back(shown.size() < kShownMax ? absl::StrCat(name, "=", value) : "…");
    if (shown.size() > kShownMax) {
      break;
    }
  }
  return absl::StrCat("waits for a worker with the label", missing.size() == 1 ? " " : "s ",
                      LabelsText(missing), ", which no live worker has (",
                      has.empty() ? absl::StrCat("none has a label ", name)
                                  : absl::StrCat("there are ", absl::StrJoin(shown, ", ")),
                      "); start one with `--label ", name, "=", missing.begin()->second,
                      "`, or correct resources.labels");
}

// REQUIRES: the job has a source (core/expansion.h).
std::string NameOfSource(const SweepRecord& sweep, uint32_t job) {
  return absl::StrCat(sweep.SourceText(job), " ",
                      sweep.IdOf(*sweep.expansion->SourceOf(job)).ToString());
}

constexpr char kCodeField[] = "code";

// How the code of an approach differs from an earlier one's, by file.
std::string ExplainCode(const ApproachSpec& here, const ApproachSpec& there) {
  if (!here.code || !there.code) {
    return absl::StrCat("code (none ", here.code ? "there" : "here", ")");
  }
  constexpr size_t kShownMax = 5;
  std::vector<std::string> files = CodeDifferences(here.code->files, there.code->files);
  const size_t more = files.size() > kShownMax ? files.size() - kShownMax : 0;
  files.resize(files.size() - more);
  return absl::StrCat("code: ", absl::StrJoin(files, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more files"));
}

using KeyFields = std::vector<std::pair<std::string, std::string>>;

const std::string* FindField(const KeyFields& fields, const std::string& name) {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const auto& field) { return field.first == name; });
  return it == fields.end() ? nullptr : &it->second;
}

// The fields in which two keys differ, in words; of the code only kCodeField.
std::vector<std::string> DifferingFields(const KeyFields& here, const KeyFields& there) {
  std::vector<std::string> differing;
  const auto add = [&](const std::string& name, const std::string* own, const std::string* other) {
    differing.push_back(name == kCodeField
                            ? name
                            : absl::StrCat(name, " (", other == nullptr ? "absent" : *other,
                                           " there, ", own == nullptr ? "absent" : *own, " here)"));
  };
  for (const auto& [name, value] : here) {
    const std::string* other = FindField(there, name);
    if (other == nullptr || *other != value) {
      add(name, &value, other);
    }
  }
  for (const auto& [name, value] : there) {
    if (FindField(here, name) == nullptr) {
      add(name, nullptr, &value);
    }
  }
  return differing;
}

}  // namespace

// The other jobs that did the same work themselves: results that this one could have taken, had
// nobody asked to run it again.
std::string Scheduler::ExplainOtherRuns(JobId id) const {
  constexpr size_t kShownMax = 3;
  std::vector<JobId> others = reuse_.AllOf(ContentKeyOf(id));
  std::erase_if(others, [&](JobId other) { return other == id || JobOf(other).reused(); });
  if (others.empty()) {
    return "";
  }
  std::sort(others.rbegin(), others.rend());  // the newest sweeps first
  std::vector<std::string> ids;
  ids.reserve(others.size());
  for (const JobId other : others) {
    ids.push_back(other.ToString());
  }
  const std::string names = FirstNames(ids, ", ", kShownMax);
  return SweepOf(id).MayTakeResult(id.index)
             ? absl::StrCat("; the same work was also done by ", names)
             : absl::StrCat("; asked to run although the same work was also done by ", names);
}

// The earlier job that is most like this one, and the fields in which they differ.
std::string Scheduler::ExplainNoReuse(JobId id) const {
  constexpr size_t kComparedMax = 2'000;  // the newest sweeps first: this is for people
  const SweepRecord& sweep = SweepOf(id);
  if (std::string others = ExplainOtherRuns(id); !others.empty()) {
    return others;
  }
  const JobCoordinates at = sweep.expansion->Locate(id.index);
  const Block& own = sweep.expansion->blocks()[at.block];
  const std::string& approach = sweep.expansion->spec().approaches[own.approach].name;
  const auto fields = sweep.keys.FieldsOf(id.index);
  std::vector<std::string> best;
  JobId best_job;
  size_t seen = 0;
  const auto compare = [&](const SweepRecord& other, uint32_t job) {
    std::vector<std::string> differing = DifferingFields(fields, other.keys.FieldsOf(job));
    if (!differing.empty() && (best.empty() || differing.size() < best.size())) {
      best = std::move(differing);
      best_job = {other.row.id, job};
    }
  };
  for (auto it = sweeps_.rbegin(); it != sweeps_.rend() && seen < kComparedMax; ++it) {
    const SweepRecord& other = *it->second;
    if (it->first >= id.sweep) {
      continue;
    }
    for (const Block& block : other.expansion->blocks()) {
      if (other.expansion->spec().approaches[block.approach].name != approach ||
          block.has_train != own.has_train) {
        continue;
      }
      const uint32_t end = block.first_job + block.JobCount();
      for (uint32_t job = block.first_job; job < end && seen < kComparedMax; ++job) {
        if (other.expansion->Locate(job).is_train == at.is_train &&
            other.jobs[job].state() == JobState::kSucceeded) {
          ++seen;
          compare(other, job);
        }
      }
    }
  }
  if (best.empty()) {
    return "";
  }
  for (std::string& difference : best) {
    if (difference == kCodeField) {
      difference =
          ExplainCode(sweep.ApproachOf(id.index), SweepOf(best_job).ApproachOf(best_job.index));
    }
  }
  return absl::StrCat("; not reused: the nearest earlier job, ", best_job.ToString(),
                      ", differs in ", absl::StrJoin(best, ", "));
}

std::string Scheduler::ExplainReady(const SweepRecord& sweep, uint32_t job) const {
  if (sweep.row.paused) {
    return absl::StrCat("waits: sweep ", sweep.row.id.ToString(),
                        " is paused; `concur sweep resume ", sweep.row.id.ToString(),
                        "` lets it go on");
  }
  if (std::string quota = owners_.ExplainQuota(sweep.owner); !quota.empty()) {
    return quota;
  }
  if (suspects_.IsReady(sweep.IdOf(job))) {
    return absl::StrCat(
        "runs alone next, on a worker without other jobs, since its worker died ",
        suspects_.Of(sweep.IdOf(job)).in_a_row,
        " times in a row while it ran; waits for one that is empty and holds ",
        RequestText(sweep.LaneOf(job).resources, label_sets_.Get(sweep.LaneOf(job).labels)));
  }
  const ReadyQueue::Lane lane = sweep.LaneOf(job);
  const Resources need = lane.resources;
  const Labels& labels = label_sets_.Get(lane.labels);
  uint32_t live = 0;
  uint32_t labeled = 0;
  uint32_t reserved = 0;  // for jobs with more GPUs
  uint32_t draining = 0;
  uint32_t quarantined = 0;
  std::vector<std::string> drained;  // by a user; they stay so over restarts
  uint32_t fits_free = 0;
  uint32_t fits_empty = 0;
  uint32_t has_time = 0;
  for (const auto& [name, worker] : workers_) {
    if (worker->drain_asked) {
      drained.push_back(name);
    }
    if (worker->lost) {
      continue;
    }
    if (worker->draining()) {
      ++draining;
      continue;
    }
    if (worker->in_quarantine(now_)) {
      ++quarantined;
      continue;
    }
    ++live;
    if (!label_sets_.Match(lane.labels, worker->info.labels)) {
      continue;
    }
    ++labeled;
    if (need.GpuCount() < GpusMin(worker->info.labels)) {
      ++reserved;
      continue;
    }
    fits_empty += need.FitsIn(worker->info.capacity) ? 1 : 0;
    if (need.FitsIn(worker->Free())) {
      ++fits_free;
      has_time += HasTimeFor(*worker, lane.group) ? 1 : 0;
    }
  }
  const std::string needs = RequestText(need, labels);
  const std::string aside = quarantined == 0
                                ? ""
                                : absl::StrCat("; ", quarantined, quarantined == 1 ? " is" : " are",
                                               " in quarantine (`concur worker list` says why)");
  if (live == 0) {
    return absl::StrCat("waits for a worker: none is live",
                        draining > 0 ? absl::StrCat(" (", draining, " draining)") : "",
                        "; it needs ", needs, aside, DrainedText(drained));
  }
  if (labeled == 0) {
    return absl::StrCat(ExplainLabels(workers_, now_, labels), aside);
  }
  const std::string kind =
      labels.empty() ? " live workers" : absl::StrCat(" live workers labeled ", LabelsText(labels));
  if (fits_empty == 0 && reserved > 0) {
    return absl::StrCat(
        "waits for a worker that takes it: it needs ", needs, "; ", reserved, " of ", labeled, kind,
        " take", reserved == 1 ? "s" : "", " only jobs that ask for GPUs (label ", kGpusMinLabel,
        "; `accept: {gpus_min: 0}` in the pool would let others in), and no other can hold it",
        aside);
  }
  if (fits_empty == 0) {
    return absl::StrCat("fits on none of the ", labeled, kind, ": it needs ", needs,
                        "; start a larger worker or lower the approach's resources", aside);
  }
  if (fits_free == 0) {
    return absl::StrCat("waits for room: it needs ", needs, "; ", fits_empty, " of ", labeled, kind,
                        " could hold it and are busy; ", ready_.size(), " jobs are ready in all");
  }
  if (has_time == 0) {
    const auto expected = durations_.Expected(lane.group);
    return absl::StrCat(
        "waits for time: it takes about ",
        absl::FormatDuration(
            absl::Floor(expected ? expected->mean : absl::ZeroDuration(), absl::Milliseconds(1))),
        ", and none of the ", fits_free, " workers with room is there for so long; a pool's ",
        "time_limit says how long its workers are");
  }
  return absl::StrCat("waits for its turn: ", ready_.size(), " jobs are ready, priority ",
                      sweep.expansion->spec().priority);
}

std::string Scheduler::ExplainSkipped(const SweepRecord& sweep, uint32_t job) const {
  const auto source = sweep.expansion->SourceOf(job);
  const auto source_is = [&](JobState state) {
    return source && sweep.jobs[*source].state() == state;
  };
  if (source_is(JobState::kFailed)) {
    return absl::StrCat("skipped: ", NameOfSource(sweep, job),
                        " failed; `concur sweep retry` tries both again");
  }
  // As far as it can still be seen.
  const auto scopes = sweep.tallies.FailedScopesOf(job);
  const std::string why = scopes.empty() ? "" : sweep.tallies.Describe(scopes.front());
  if (why.empty() && source_is(JobState::kSkipped)) {
    return absl::StrCat("skipped with ", NameOfSource(sweep, job), ": ",
                        ExplainSkipped(sweep, *source));
  }
  if (why.empty() && source_is(JobState::kSucceeded)) {
    return absl::StrCat("skipped when ", NameOfSource(sweep, job),
                        " had failed; `concur sweep retry` tries it again");
  }
  return absl::StrCat(
      "skipped: ", why.empty() ? "enough like it had failed by then, and none succeeded" : why,
      "; `concur sweep retry` tries it again");
}

std::string Scheduler::Explain(JobId id) const {
  const SweepRecord& sweep = SweepOf(id);
  const JobTable::Job& record = sweep.jobs[id.index];
  const JobView view = ViewJob(id);
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  const auto tally = [&] {
    return absl::StrCat(record.failures, " of ", retry.failures_max, " failures, ", record.lost,
                        " of ", retry.lost_max, " losses");
  };
  switch (record.state()) {
    case JobState::kBlocked: {
      if (const std::optional<JobId> leader = reuse_.LeaderOf(id)) {
        return absl::StrCat("waits for ", leader->ToString(),
                            ", which does the same work, to share its result");
      }
      return sweep.AwaitsSource(id.index)
                 ? absl::StrCat("waits for ", NameOfSource(sweep, id.index))
                 : ExplainPaused(sweep, id.index);
    }
    case JobState::kReady:
      return absl::StrCat(ExplainReady(sweep, id.index), ExplainNoReuse(id));
    case JobState::kBackoff:
      return absl::StrCat("attempt ", record.attempt, " ended as ",
                          FailureClassName(record.failure), "; tried again at ",
                          FormatIsoTime(view.not_before), " (", tally(), ")");
    case JobState::kRunning: {
      const AttemptId attempt{id, {record.attempt}};
      const bool ahead = workers_.Find(view.worker)->assignments.Find(attempt)->ahead;
      return absl::StrCat("attempt ", record.attempt,
                          ahead ? " waits for something to end on worker " : " runs on worker ",
                          view.worker, ExplainNoReuse(id));
    }
    case JobState::kSucceeded:
      if (view.reused_from) {
        return absl::StrCat("took the result of ", view.reused_from->ToString(),
                            ": their content keys are equal");
      }
      if (sweep.expansion->spec().imported) {
        return absl::StrCat("imported, not run here: ", view.result->message);
      }
      return absl::StrCat("succeeded in attempt ", record.attempt, " on worker ", view.worker,
                          UnansweredText(view.result), ExplainNoReuse(id));
    case JobState::kFailed:
      return absl::StrCat("given up after attempt ", record.attempt, ", which ended as ",
                          FailureClassName(record.failure), " (", tally(),
                          "): ", view.result == nullptr ? "" : view.result->message,
                          "; what it printed: `concur job logs ", id.ToString(), "`");
    case JobState::kCanceled:
      if (sweep.expansion->spec().imported) {
        return "a gap: no score was imported for it";
      }
      return sweep.row.canceled
                 ? "canceled with its sweep"
                 : absl::StrCat("canceled; `concur sweep retry ", id.sweep.ToString(), " --job ",
                                id.index, "` returns it to the queue");
    case JobState::kSkipped:
      return ExplainSkipped(sweep, id.index);
    case JobState::kStopped:
      return ExplainStopped(sweep, id.index);
  }
  return "";
}

}  // namespace concur
