// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/views.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "core/spent.h"
#include "core/sweep/served_approach.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/progress.h"

namespace concur {
namespace {

using rpc::ToProto;

// Names of what a job is about, from its coordinates.
struct JobNames {
  std::string approach;
  std::string train;
  std::string test;
};

JobNames NamesOf(const Expansion& expansion, const JobCoordinates& at) {
  const Block& block = expansion.blocks()[at.block];
  const SweepSpec& spec = expansion.spec();
  return {spec.approaches[block.approach].name,
          block.train_set == kNoTrainSet ? "" : spec.train_sets[block.train_set].name,
          at.is_train ? "" : spec.benchmarks[at.test_benchmark].name};
}

v1::Spent SpentProto(const Spent& spent) {
  v1::Spent proto;
  proto.set_tokens_in(spent.tokens_in);
  proto.set_tokens_out(spent.tokens_out);
  proto.set_usd(spent.usd());
  return proto;
}

}  // namespace

v1::Sweep SweepProto(const SweepView& sweep) {
  v1::Sweep proto;
  proto.set_id(sweep.row->id.ToString());
  proto.set_name(sweep.row->name);
  proto.set_owner(sweep.row->owner);
  proto.set_state(ToProto(sweep.state));
  *proto.mutable_counts() = ToProto(sweep.counts);
  proto.mutable_counts()->set_queued(sweep.queued);
  proto.mutable_counts()->set_running_done(sweep.running_done);
  proto.set_reused(sweep.reused);
  *proto.mutable_create_time() = ToProto(sweep.row->create_time);
  if (sweep.row->end_time) {
    *proto.mutable_end_time() = ToProto(*sweep.row->end_time);
  }
  proto.set_cell_count(sweep.expansion->cell_count());
  proto.set_priority(sweep.row->priority.value_or(sweep.expansion->spec().priority));
  if (const std::optional<SearchSpec>& search = sweep.expansion->spec().search) {
    auto chosen = static_cast<uint32_t>(search->proposals.size());
    for (uint32_t block = 0; block < sweep.expansion->blocks().size(); ++block) {
      if (sweep.expansion->IsSearched(block)) {
        proto.set_trials(proto.trials() + sweep.expansion->blocks()[block].settings);
        ++chosen;  // the default
      }
    }
    proto.set_trials_chosen(chosen);
  }
  v1::OwnerUse& use = *proto.mutable_owner_use();
  use.set_running_jobs(static_cast<uint32_t>(sweep.owner_use.running_jobs));
  use.set_running_jobs_max(static_cast<uint32_t>(sweep.owner_use.quota.running_jobs_max));
  use.set_stored_bytes(sweep.owner_use.stored_bytes);
  use.set_stored_bytes_max(sweep.owner_use.quota.stored_bytes_max);
  if (sweep.recent.span > absl::ZeroDuration()) {
    proto.set_recent_jobs(static_cast<uint32_t>(sweep.recent.jobs));
    *proto.mutable_recent_span() = ToProto(sweep.recent.span);
  }
  *proto.mutable_progress() = rpc::MakeProgress(proto);
  if (!sweep.spent.empty()) {
    *proto.mutable_spent() = SpentProto(sweep.spent);
  }
  proto.set_budget_usd(
      UsdOf(sweep.row->budget_usd_micros.value_or(sweep.expansion->spec().budget_usd_micros)));
  proto.set_over_budget(sweep.row->over_budget);
  if (sweep.row->forecast) {
    *proto.mutable_forecast() = ToProto(*sweep.row->forecast);
  }
  return proto;
}

v1::Job JobProto(const Scheduler& scheduler, JobId id) {
  return JobProto(*scheduler.views().FindSweep(id.sweep)->expansion, scheduler.views().ViewJob(id));
}

v1::Job JobProto(const Expansion& expansion, const JobView& job) {
  const JobCoordinates at = expansion.Locate(job.id.index);
  JobNames names = NamesOf(expansion, at);
  v1::Job proto;
  proto.set_id(job.id.ToString());
  proto.set_kind(at.is_train ? v1::Job::KIND_TRAIN : v1::Job::KIND_EVAL);
  proto.set_state(ToProto(job.state));
  proto.set_attempt(job.attempt.number);
  proto.set_failures(job.failures);
  proto.set_lost(job.lost);
  proto.set_approach(std::move(names.approach));
  proto.set_train_set(std::move(names.train));
  proto.set_test_benchmark(std::move(names.test));
  proto.set_setting_index(at.setting);
  *proto.mutable_setting() = ToProto(expansion.SettingOf(at.block, at.setting));
  proto.set_seed(expansion.spec().seeds[at.seed_index]);
  proto.set_worker(job.worker);
  if (job.failure != FailureClass::kNone) {
    proto.set_failure(ToProto(job.failure));
  }
  if (job.state == JobState::kFailed) {
    proto.set_failure_group(
        rpc::FailureGroup(proto.failure(), job.result == nullptr ? "" : job.result->message));
  }
  if (job.reused_from) {
    proto.set_reused_from(job.reused_from->ToString());
  }
  if (job.state == JobState::kBackoff) {
    *proto.mutable_not_before_time() = ToProto(job.not_before);
  }
  if (job.result != nullptr) {
    *proto.mutable_result() = ToProto(*job.result);
  }
  proto.set_step_count(job.steps);
  proto.set_done(job.done);
  proto.set_of(job.of);
  if (job.checkpoint) {
    *proto.mutable_checkpoint() = ToProto(*job.checkpoint);
  }
  for (const auto& [attempt, entry] : job.spent) {
    v1::AttemptSpent& one = *proto.add_spent();
    one.set_attempt(attempt);
    *one.mutable_spent() = SpentProto(entry.spent);
    *one.mutable_update_time() = ToProto(entry.time);
  }
  return proto;
}

v1::Worker WorkerProto(const WorkerView& worker) {
  v1::Worker proto;
  proto.set_name(worker.info.name);
  proto.set_incarnation(worker.info.incarnation);
  proto.set_state(worker.lost                        ? v1::Worker::STATE_LOST
                  : worker.draining                  ? v1::Worker::STATE_DRAINING
                  : worker.quarantine_reason.empty() ? v1::Worker::STATE_LIVE
                                                     : v1::Worker::STATE_QUARANTINED);
  if (!worker.quarantine_reason.empty()) {
    proto.set_quarantine_reason(worker.quarantine_reason);
    *proto.mutable_quarantine_end_time() = ToProto(worker.quarantine_end);
  }
  proto.set_host(worker.info.host);
  proto.set_version(worker.info.version);
  *proto.mutable_capacity() = ToProto(worker.info.capacity);
  *proto.mutable_used() = ToProto(worker.used);
  for (const auto& [name, value] : worker.info.labels) {
    (*proto.mutable_labels())[name] = value;
  }
  for (const std::string& notice : worker.info.notices) {
    proto.add_notices(notice);
  }
  proto.mutable_containment()->Add(worker.info.containment.begin(), worker.info.containment.end());
  proto.set_running(worker.running);
  proto.set_slots(worker.info.slots);
  for (const WorkerView::Service& service : worker.services) {
    v1::Worker::Instance& added = *proto.add_services();
    added.set_approach(service.approach);
    added.set_state(std::string(service.state));
    added.set_jobs(static_cast<uint32_t>(service.jobs));
    *added.mutable_setting() = rpc::ToProto(service.setting);
    *added.mutable_start_time() = ToProto(service.start_time);
    added.set_failed_starts(service.failed_starts);
  }
  proto.set_succeeded(worker.succeeded);
  proto.set_failed(worker.failed);
  *proto.mutable_last_seen_time() = ToProto(worker.last_seen);
  if (!worker.lost) {
    *proto.mutable_lease_expire_time() = ToProto(worker.lease_expire);
  }
  return proto;
}

v1::ServiceRecord ServiceRecordProto(const Expansion& expansion, const AttemptRow& row) {
  v1::ServiceRecord proto;
  proto.set_job(row.id.ServedJob().ToString());
  proto.set_approach(ServedApproach(expansion, row.id).name);
  proto.set_worker(row.worker);
  *proto.mutable_end_time() = ToProto(row.end_time);
  *proto.mutable_run_time() = ToProto(row.result.run_time);
  return proto;
}

v1::NamedResource ResourceProto(const ResourceView& resource) {
  v1::NamedResource proto;
  proto.set_name(resource.name);
  if (resource.amount) {
    proto.set_amount(*resource.amount);
  }
  proto.set_in_use(resource.in_use);
  proto.set_waiting(resource.waiting);
  proto.set_per_minute(resource.per_minute);
  return proto;
}

v1::JobEvent EventProto(const Expansion& expansion, const JobEvent& event, absl::Time time) {
  v1::JobEvent proto;
  proto.set_job(event.id.ToString());
  proto.set_state(ToProto(event.state));
  proto.set_attempt(event.attempt.number);
  proto.set_worker(event.worker);
  if (event.failure != FailureClass::kNone) {
    proto.set_failure(ToProto(event.failure));
    proto.set_failure_group(rpc::FailureGroup(proto.failure(), event.message));
  }
  proto.set_message(event.message);
  proto.set_description(expansion.Describe(event.id.index));
  proto.set_reused(event.reused);
  *proto.mutable_time() = ToProto(time);
  return proto;
}

WatchEncoder MakeWatchEncoder() {
  WatchEncoder encoder;
  encoder.head = [](const WatchHead& head) {
    v1::WatchSweepResponse response;
    SweepView sweep = head.sweep->View();
    sweep.recent = head.recent;
    *response.mutable_sweep() = SweepProto(sweep);
    response.set_cursor(head.cursor);
    response.set_reset(head.reset);
    if (head.earliest_change != absl::InfiniteFuture()) {
      *response.mutable_earliest_change_time() = ToProto(head.earliest_change);
    }
    return response.SerializeAsString();
  };
  // Messages that are joined are merged: repeated fields follow one another.
  encoder.events = [](const Expansion& expansion, absl::Span<const JobEvent> events,
                      absl::Time time) {
    v1::WatchSweepResponse response;
    for (const JobEvent& event : events) {
      *response.add_events() = EventProto(expansion, event, time);
    }
    return response.SerializeAsString();
  };
  return encoder;
}

absl::StatusOr<SweepId> ResolveKnownSweep(const Scheduler& scheduler, const std::string& text,
                                          const std::string& user) {
  if (const absl::StatusOr<SweepId> id = SweepId::Parse(text);
      id.ok() && scheduler.views().Knows(*id)) {
    return *id;
  }
  const SweepName name = ParseSweepName(text);
  absl::StatusOr<SweepId> chosen =
      ChooseSweep(name, user, scheduler.views().SweepsNamed(name.name));
  if (!absl::IsNotFound(chosen.status())) {
    return chosen;
  }
  std::vector<std::string> names;
  for (const SweepId& id : scheduler.views().ListSweeps()) {
    names.push_back(scheduler.views().FindSweep(id)->row->name);
  }
  return absl::NotFoundError(absl::StrCat("no sweep \"", text, "\"", DidYouMean(text, names)));
}

absl::StatusOr<SweepId> ResolveSweep(const Scheduler& scheduler, const std::string& text,
                                     const std::string& user) {
  CONCUR_ASSIGN_OR_RETURN(const SweepId id, ResolveKnownSweep(scheduler, text, user));
  CONCUR_RETURN_IF_ERROR(scheduler.views().CheckLoaded(id));
  return id;
}

absl::StatusOr<JobId> ResolveJob(const Scheduler& scheduler, const std::string& text,
                                 const std::string& user) {
  const size_t slash = text.rfind('/');
  uint32_t index = 0;
  if (slash == std::string::npos || !absl::SimpleAtoi(text.substr(slash + 1), &index)) {
    return absl::InvalidArgumentError(
        absl::StrCat("job: expected SWEEP/INDEX, e.g. \"s1/0\", got \"", text, "\""));
  }
  CONCUR_ASSIGN_OR_RETURN(SweepId sweep, ResolveSweep(scheduler, text.substr(0, slash), user));
  const JobId id{sweep, index};
  if (!scheduler.views().HasJob(id)) {
    return absl::NotFoundError(
        absl::StrCat("no job ", id.ToString(), ": sweep ", sweep.ToString(), " has jobs 0 to ",
                     scheduler.views().FindSweep(sweep)->expansion->job_count() - 1));
  }
  return id;
}

std::vector<JobScore> PageOfScores(const Scheduler& scheduler, SweepId id, uint32_t first,
                                   uint32_t count, const std::string& metric, uint32_t* next) {
  const SweepView sweep = *scheduler.views().FindSweep(id);
  const Expansion& expansion = *sweep.expansion;
  std::vector<JobScore> scores;
  scores.reserve(std::min(count, expansion.job_count() - first));
  uint32_t index = first;
  size_t rows = 0;  // a part is one, too
  for (; index < expansion.job_count() && rows < count; ++index) {
    const JobCoordinates at = expansion.Locate(index);
    if (at.is_train) {
      continue;
    }
    const JobView job = scheduler.views().ViewJob({id, index});
    JobNames names = NamesOf(expansion, at);
    JobScore& score = scores.emplace_back();
    score.job = job.id;
    score.state = job.state;
    score.approach = std::move(names.approach);
    score.train_set = std::move(names.train);
    score.test_benchmark = std::move(names.test);
    score.setting = at.setting;
    score.seed = expansion.spec().seeds[at.seed_index];
    score.metric = metric.empty() ? expansion.spec().benchmarks[at.test_benchmark].metric : metric;
    if (const Metric* found =
            job.state == JobState::kSucceeded ? FindMetric(job.result, score.metric) : nullptr) {
      score.value = found->value;
      score.examples = found->examples;
      score.interval = found->interval;
    }
    if (job.state == JobState::kSucceeded && job.result != nullptr) {
      std::copy_if(
          job.result->metrics.begin(), job.result->metrics.end(), std::back_inserter(score.parts),
          [&](const Metric& one) { return !one.part.empty() && one.name == score.metric; });
    }
    rows += 1 + score.parts.size();
    if (job.result != nullptr) {
      score.worker = job.worker;
      score.run_time = job.result->run_time;
    }
  }
  *next = index;
  return scores;
}

}  // namespace concur
