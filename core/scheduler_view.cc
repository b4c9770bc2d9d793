// What people see of the scheduler's state, and the proof that its parts agree.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/clock.h"
#include "core/scheduler.h"

namespace concur {

std::optional<SweepView> Scheduler::FindSweep(SweepId id) const {
  const auto it = sweeps_.find(id);
  if (it == sweeps_.end()) {
    return std::nullopt;
  }
  const SweepRecord& sweep = *it->second;
  return SweepView{&sweep.row,   sweep.expansion.get(), StateOf(sweep),
                   sweep.counts, sweep.reused,          UseOf(sweep.row.owner)};
}

std::shared_ptr<const Expansion> Scheduler::SharedExpansion(SweepId id) const {
  return sweeps_.at(id)->expansion;
}

std::optional<SweepId> Scheduler::FindSweepByName(const std::string& name) const {
  for (auto it = sweeps_.rbegin(); it != sweeps_.rend(); ++it) {
    if (it->second->row.name == name) {
      return it->first;
    }
  }
  return std::nullopt;
}

std::vector<SweepId> Scheduler::ListSweeps() const {
  std::vector<SweepId> ids;
  for (const auto& [id, sweep] : sweeps_) {
    ids.push_back(id);
  }
  return ids;
}

bool Scheduler::HasJob(JobId id) const {
  const auto it = sweeps_.find(id.sweep);
  return it != sweeps_.end() && id.index < it->second->slots.size();
}

JobView Scheduler::ViewJob(JobId id) const {
  const JobRow row = RowOf(id);
  JobView view;
  view.id = id;
  view.state = row.state;
  view.attempt = row.attempt;
  view.failures = row.failures;
  view.lost = row.lost;
  view.failure = row.failure;
  view.not_before = row.not_before;
  view.worker = row.worker;
  view.reused_from = row.reused_from;
  view.system_collected = row.system_collected;
  view.result = ResultOf(SweepOf(id), id.index);
  return view;
}

std::vector<WorkerView> Scheduler::ListWorkers() const {
  std::vector<WorkerView> views;
  for (const auto& [name, worker] : workers_) {
    WorkerView view;
    view.info = worker->info;
    view.draining = worker->drain_asked || worker->drain_self;
    view.lost = worker->lost;
    view.quarantine_reason = worker->quarantine_reason;
    view.quarantine_end = worker->quarantine_end;
    view.quarantine_span = worker->quarantine_span;
    view.used = worker->used;
    view.running = static_cast<uint32_t>(worker->held.size() - worker->ahead.size());
    view.queued = static_cast<uint32_t>(worker->ahead.size());
    view.succeeded = worker->succeeded;
    view.failed = worker->failed;
    view.last_seen = worker->last_seen;
    view.lease_expire = worker->lease_expire;
    view.end_time = worker->end_time;
    views.push_back(std::move(view));
  }
  return views;
}

Digest Scheduler::ContentKeyOf(JobId id) const { return SweepOf(id).keys->KeyOf(id.index); }

// --- explaining
// -----------------------------------------------------------------------------------

// REQUIRES: some worker takes jobs, and none of these carries all that is wanted.
std::string Scheduler::ExplainLabels(const Labels& wants) const {
  Labels missing;             // that nobody carries
  std::set<std::string> has;  // the values of the first of them
  for (const auto& [name, value] : wants) {
    std::set<std::string> values;
    for (const auto& [worker_name, worker] : workers_) {
      const auto it = worker->info.labels.find(name);
      if (TakesJobs(*worker) && it != worker->info.labels.end()) {
        values.insert(it->second);
      }
    }
    if (!values.contains(value)) {
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

std::string Scheduler::ExplainReady(const SweepRecord& sweep, uint32_t job) const {
  if (sweep.row.paused) {
    return absl::StrCat("waits: sweep ", sweep.row.id.ToString(),
                        " is paused; `concur sweep resume ", sweep.row.id.ToString(),
                        "` lets it go on");
  }
  if (std::string quota = ExplainQuota(sweep.owner); !quota.empty()) {
    return quota;
  }
  const ReadyQueue::Lane lane = LaneOf(sweep, job);
  const Resources need = lane.resources;
  const Labels& labels = label_sets_[lane.labels];
  uint32_t live = 0;
  uint32_t labeled = 0;
  uint32_t draining = 0;
  uint32_t quarantined = 0;
  uint32_t fits_free = 0;
  uint32_t fits_empty = 0;
  uint32_t has_time = 0;
  for (const auto& [name, worker] : workers_) {
    if (worker->lost) {
      continue;
    }
    if (worker->drain_asked || worker->drain_self) {
      ++draining;
      continue;
    }
    if (worker->quarantine_end > now_) {
      ++quarantined;
      continue;
    }
    ++live;
    if (!HasLabelsFor(*worker, lane.labels)) {
      continue;
    }
    ++labeled;
    fits_empty += need.FitsIn(worker->info.capacity) ? 1 : 0;
    if (need.FitsIn(FreeOf(*worker))) {
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
                        "; it needs ", needs, aside);
  }
  if (labeled == 0) {
    return absl::StrCat(ExplainLabels(labels), aside);
  }
  const std::string kind =
      labels.empty() ? " live workers" : absl::StrCat(" live workers labeled ", LabelsText(labels));
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

// The earlier job that is most like this one, and the fields in which they differ.
std::string Scheduler::ExplainNoReuse(JobId id) const {
  constexpr size_t kLookedAtMax = 2'000;  // looked at, the newest sweeps first: this is for people
  const SweepRecord& sweep = SweepOf(id);
  const JobCoordinates at = sweep.expansion->Locate(id.index);
  const Block& own = sweep.expansion->blocks()[at.block];
  const std::string& approach = sweep.expansion->spec().approaches[own.approach].name;
  const auto fields = sweep.keys->FieldsOf(id.index);
  std::vector<std::string> best;
  JobId best_job;
  size_t seen = 0;
  const auto compare = [&](const SweepRecord& other, uint32_t job) {
    std::vector<std::string> differing;
    const auto others = other.keys->FieldsOf(job);
    for (const auto& [name, value] : fields) {
      const auto match = std::find_if(others.begin(), others.end(),
                                      [&, n = name](const auto& f) { return f.first == n; });
      if (match == others.end() || match->second != value) {
        differing.push_back(absl::StrCat(name, " (",
                                         match == others.end() ? "absent" : match->second,
                                         " there, ", value, " here)"));
      }
    }
    if (!differing.empty() && (best.empty() || differing.size() < best.size())) {
      best = std::move(differing);
      best_job = {other.row.id, job};
    }
  };
  for (auto it = sweeps_.rbegin(); it != sweeps_.rend() && seen < kLookedAtMax; ++it) {
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
      for (uint32_t job = block.first_job; job < end && seen < kLookedAtMax; ++job) {
        const bool is_train = block.has_train && (job - block.first_job) % block.JobsPerCell() == 0;
        if (is_train == at.is_train && other.slots[job].state == JobState::kSucceeded) {
          ++seen;
          compare(other, job);
        }
      }
    }
  }
  if (best.empty()) {
    return "";
  }
  return absl::StrCat("; not reused: the nearest earlier job, ", best_job.ToString(),
                      ", differs in ", absl::StrJoin(best, ", "));
}

std::string Scheduler::Explain(JobId id) const {
  const SweepRecord& sweep = SweepOf(id);
  const Slot& slot = sweep.slots[id.index];
  const JobView view = ViewJob(id);
  const RetryPolicy& retry = sweep.expansion->spec().retry;
  const auto tally = [&] {
    return absl::StrCat(slot.failures, " of ", retry.failures_max, " failures, ", slot.lost, " of ",
                        retry.lost_max, " losses");
  };
  switch (slot.state) {
    case JobState::kBlocked: {
      if (const auto it = leader_.find(id); it != leader_.end()) {
        return absl::StrCat("waits for ", it->second.ToString(),
                            ", which does the same work, to share its result");
      }
      const auto train = sweep.expansion->TrainJobOf(id.index);
      return absl::StrCat("waits for its train job ",
                          JobId{id.sweep, train.value_or(0)}.ToString());
    }
    case JobState::kReady:
      return absl::StrCat(ExplainReady(sweep, id.index), ExplainNoReuse(id));
    case JobState::kBackoff:
      return absl::StrCat("attempt ", slot.attempt, " ended as ", FailureClassName(slot.failure),
                          "; tried again at ", FormatIsoTime(view.not_before), " (", tally(), ")");
    case JobState::kRunning: {
      const WorkerRecord& worker = *workers_.at(view.worker);
      const bool ahead = worker.ahead.contains(AttemptId{id, {slot.attempt}});
      return absl::StrCat("attempt ", slot.attempt,
                          ahead ? " waits for something to end on worker " : " runs on worker ",
                          view.worker, ExplainNoReuse(id));
    }
    case JobState::kSucceeded:
      if (view.reused_from) {
        return absl::StrCat("took the result of ", view.reused_from->ToString(),
                            ": their content keys are equal");
      }
      return absl::StrCat("succeeded in attempt ", slot.attempt, " on worker ", view.worker);
    case JobState::kFailed:
      return absl::StrCat("given up after attempt ", slot.attempt, ", which ended as ",
                          FailureClassName(slot.failure), " (", tally(),
                          "): ", view.result == nullptr ? "" : view.result->message,
                          "; what it printed: `concur job logs ", id.ToString(), "`");
    case JobState::kCanceled:
      return "canceled with its sweep";
    case JobState::kSkipped: {
      const auto train = sweep.expansion->TrainJobOf(id.index);
      if (train && sweep.slots[*train].state == JobState::kFailed) {
        return absl::StrCat("skipped: its train job ", JobId{id.sweep, *train}.ToString(),
                            " failed; `concur sweep retry` tries both again");
      }
      const std::string why = ExplainGivenUp(sweep, id.index);
      if (why.empty() && train && sweep.slots[*train].state == JobState::kSucceeded) {
        return absl::StrCat("skipped when its train job ", JobId{id.sweep, *train}.ToString(),
                            " had failed; `concur sweep retry` tries it again");
      }
      return absl::StrCat(
          "skipped: ", why.empty() ? "enough like it had failed by then, and none succeeded" : why,
          "; `concur sweep retry` tries it again");
    }
  }
  return "";
}

Totals Scheduler::CountAll() const {
  Totals totals;
  totals.refused_results = refused_results_;
  for (const auto& [id, sweep] : sweeps_) {
    ++totals.sweeps[static_cast<size_t>(StateOf(*sweep))];
    for (size_t state = 0; state < sweep->counts.size(); ++state) {
      totals.jobs[state] += sweep->counts[state];
    }
  }
  for (const auto& [name, worker] : workers_) {
    if (worker->lost) {
      ++totals.workers_lost;
      continue;
    }
    ++(worker->drain_asked || worker->drain_self ? totals.workers_draining : totals.workers_live);
    const auto add = [](const Resources& more, Resources* sum) {
      sum->cpu_millis += more.cpu_millis;
      sum->memory_bytes += more.memory_bytes;
      sum->gpus += more.gpus;
    };
    add(worker->info.capacity, &totals.capacity);
    add(worker->used, &totals.used);
  }
  return totals;
}

// --- invariants
// -----------------------------------------------------------------------------------

void Scheduler::CheckInvariants() const {
  StateCounts totals{};
  for (const auto& [sweep_id, owned] : sweeps_) {
    CONCUR_CHECK(owned->row.id == sweep_id && sweep_id.number < next_sweep_number_);
    CheckSweep(*owned);
    for (size_t state = 0; state < totals.size(); ++state) {
      totals[state] += owned->counts[state];
    }
  }
  const size_t backoff = totals[static_cast<size_t>(JobState::kBackoff)];
  CONCUR_CHECK(totals[static_cast<size_t>(JobState::kReady)] == ready_.size());
  CONCUR_CHECK(backoff == backoffs_.size() && backoff == not_before_.size());
  for (const auto& [time, id] : backoffs_) {
    CONCUR_CHECK(not_before_.at(id) == time);
  }
  CONCUR_CHECK(totals[static_cast<size_t>(JobState::kRunning)] == running_.size());
  for (const auto& [request, id] : requests_) {
    const SweepRow& row = sweeps_.at(id)->row;
    CONCUR_CHECK(row.owner == request.first && row.request_id == request.second);
  }
  CheckWorkers();
  CheckSharing();
  CheckDispatch();
  CheckQuotas();
  CheckBlame();
}

void Scheduler::CheckSweep(const SweepRecord& sweep) const {
  CONCUR_CHECK(sweep.slots.size() == sweep.expansion->job_count());
  StateCounts counts{};
  uint32_t reused = 0;
  size_t results = 0;
  for (uint32_t job = 0; job < sweep.slots.size(); ++job) {
    CheckJob(sweep, job);
    const Slot& slot = sweep.slots[job];
    ++counts[static_cast<size_t>(slot.state)];
    reused += (slot.flags & kReused) != 0 ? 1 : 0;
    results += slot.result != kNone ? 1 : 0;
  }
  CONCUR_CHECK(counts == sweep.counts);
  CONCUR_CHECK(reused == sweep.reused);
  CONCUR_CHECK(CountTallies(sweep) == sweep.tallies);
  CONCUR_CHECK(results + sweep.free_results.size() == sweep.results.size());
  CONCUR_CHECK(sweep.row.end_time.has_value() == IsTerminal(StateOf(sweep)));
  CONCUR_CHECK(sweep.stopping == 0 || sweep.row.canceled);
}

void Scheduler::CheckWorkers() const {
  size_t held_running = 0;
  std::map<SweepId, uint32_t> stopping;
  for (const auto& [name, worker] : workers_) {
    CONCUR_CHECK(worker->info.name == name);
    Resources used{.cpu_millis = 0};
    uint64_t gpus_used = 0;
    for (const auto& [id, held] : worker->held) {
      if (!held.ahead) {
        used.cpu_millis += held.resources.cpu_millis;
        used.memory_bytes += held.resources.memory_bytes;
        used.gpus += held.resources.gpus;
      }
      CONCUR_CHECK((gpus_used & held.gpu_mask) == 0);  // no GPU is given to two attempts
      gpus_used |= held.gpu_mask;
      if (held.counted) {
        CONCUR_CHECK(held.stopping);
        ++stopping[id.job.sweep];
      }
      if (held.stopping) {
        continue;
      }
      ++held_running;
      const auto it = running_.find(id.job);
      CONCUR_CHECK(it != running_.end());
      CONCUR_CHECK(SlotOf(id.job).attempt == id.attempt.number);
      CONCUR_CHECK(holders_[it->second.holder].worker == name);
      CONCUR_CHECK(it->second.gpu_mask == held.gpu_mask);
    }
    CONCUR_CHECK(used == worker->used);
    CONCUR_CHECK(gpus_used == worker->gpus_used);
    // No state without a deadline: whoever holds work has a lease.
    const bool has_deadline = worker_deadlines_.contains({worker->lease_expire, name});
    CONCUR_CHECK(has_deadline || (worker->lost && worker->drain_asked));
    CONCUR_CHECK(!worker->lost || worker->held.empty());
  }
  CONCUR_CHECK(held_running == running_.size());
  for (const auto& [time, name] : worker_deadlines_) {
    CONCUR_CHECK(workers_.at(name)->lease_expire == time);
  }
  for (const auto& [sweep_id, owned] : sweeps_) {
    CONCUR_CHECK(owned->stopping == stopping[sweep_id]);
    stopping.erase(sweep_id);
  }
  CONCUR_CHECK(stopping.empty());
}

void Scheduler::CheckSharing() const {
  for (const auto& [follower, leader] : leader_) {
    CONCUR_CHECK(SlotOf(follower).state == JobState::kBlocked);
    CONCUR_CHECK(running_.contains(leader));
    CONCUR_CHECK(followers_.at(leader).contains(follower));
    CONCUR_CHECK(ContentKeyOf(follower) == ContentKeyOf(leader));
  }
  size_t followers = 0;
  for (const auto& [leader, set] : followers_) {
    CONCUR_CHECK(!set.empty());
    followers += set.size();
  }
  CONCUR_CHECK(followers == leader_.size());
  for (const auto& [key, id] : in_flight_) {
    CONCUR_CHECK(running_.at(id).key == key && ContentKeyOf(id) == key);
  }
  std::map<Digest, uint32_t> blocks;
  for (const auto& [key, id] : finished_) {
    const SweepRecord& sweep = SweepOf(id);
    CONCUR_CHECK(sweep.slots[id.index].state == JobState::kSucceeded);
    CONCUR_CHECK(ContentKeyOf(id) == key);
    ++blocks[sweep.keys->BlockKey(sweep.expansion->Locate(id.index).block)];
  }
  size_t indexed = finished_.size();
  for (const auto& [key, others] : finished_others_) {
    const JobId source = finished_.at(key);
    CONCUR_CHECK(!others.empty());
    indexed += others.size();
    for (const JobId& id : others) {
      CONCUR_CHECK(id != source && ContentKeyOf(id) == key);
      CONCUR_CHECK(SlotOf(id).state == JobState::kSucceeded);
      CONCUR_CHECK(!SystemIsThere(id) || SystemIsThere(source));
    }
  }
  size_t succeeded = 0;
  for (const auto& [id, sweep] : sweeps_) {
    succeeded += sweep->counts[static_cast<size_t>(JobState::kSucceeded)];
  }
  CONCUR_CHECK(indexed == succeeded);
  CONCUR_CHECK(blocks.size() == finished_blocks_.size());
  for (const auto& [key, count] : blocks) {
    CONCUR_CHECK(finished_blocks_.at(key) == count);
  }
  for (const auto& [id, last] : last_holder_) {
    CONCUR_CHECK(HasJob(id));
    const Slot& slot = SlotOf(id);
    CONCUR_CHECK(slot.state == JobState::kReady || slot.state == JobState::kBlocked);
    CONCUR_CHECK(slot.attempt > 0 && (slot.flags & kSettled) == 0);
  }
}

void Scheduler::CheckJob(const SweepRecord& sweep, uint32_t job) const {
  const Slot& slot = sweep.slots[job];
  const JobId id{sweep.row.id, job};
  const auto train = sweep.expansion->TrainJobOf(job);
  const bool has_result = slot.result != kNone;
  CONCUR_CHECK(has_result ==
               (slot.state == JobState::kSucceeded || slot.state == JobState::kFailed));
  CONCUR_CHECK((slot.state == JobState::kRunning) == running_.contains(id));
  CONCUR_CHECK((slot.state == JobState::kBackoff) == not_before_.contains(id));
  switch (slot.state) {
    case JobState::kReady:
      CONCUR_CHECK(ready_.Contains(LaneOf(sweep, job), job));
      CONCUR_CHECK(!train || sweep.slots[*train].state == JobState::kSucceeded);
      break;
    case JobState::kBlocked:
      CONCUR_CHECK(train.has_value() || leader_.contains(id));
      CONCUR_CHECK(leader_.contains(id) || !IsTerminal(sweep.slots[*train].state));
      break;
    case JobState::kRunning:
      CONCUR_CHECK(slot.attempt > 0 && (slot.flags & kSettled) == 0);
      break;
    case JobState::kSucceeded:
      CONCUR_CHECK((slot.flags & kSettled) != 0);
      CONCUR_CHECK(sweep.results[slot.result].result.succeeded);
      break;
    case JobState::kFailed:
      CONCUR_CHECK(!sweep.results[slot.result].result.succeeded);
      break;
    default:
      break;
  }
}

}  // namespace concur
