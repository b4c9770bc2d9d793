// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/sweep_book.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/state/sweep_record.h"
#include "core/sweep/needs.h"

namespace concur {

SweepBook::SweepBook(const SchedulerPolicy& policy, Turn& turn, JobPlaces& places)
    : policy_(policy), turn_(turn), places_(places), owners_(policy.quotas) {}

SweepBook::~SweepBook() = default;

absl::StatusOr<SweepRecord*> SweepBook::Get(SweepId id) {
  const auto it = sweeps_.find(id);
  if (it == sweeps_.end()) {
    CONCUR_RETURN_IF_ERROR(CheckLoaded(id));
    return absl::NotFoundError(absl::StrCat("no sweep ", id.ToString()));
  }
  return it->second.get();
}

absl::Status SweepBook::CheckLoaded(SweepId id) const {
  const auto it = left_out_.find(id);
  if (it == left_out_.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "sweep ", id.ToString(), " is on disk and was not loaded: it has ",
      it->second.expansion->job_count(), " jobs, and this coordinator has memory for ",
      policy_.job_memory_max / kJobMemoryBytes, " (limits.job_memory_max of ",
      policy_.job_memory_max, " bytes, ", kJobMemoryBytes,
      " a job); delete sweeps that have ended, or give it more memory and a larger limit, and ",
      "start it again"));
}

const Resources* SweepBook::ResourcesOfLeftOut(JobId id) const {
  const auto it = left_out_.find(id.sweep);
  if (it == left_out_.end() || id.index >= it->second.expansion->job_count()) {
    return nullptr;
  }
  const Expansion& expansion = *it->second.expansion;
  const JobCoordinates at = expansion.Locate(id.index);
  const ApproachSpec& approach = expansion.spec().approaches[expansion.blocks()[at.block].approach];
  return at.is_train ? &approach.train_resources : &approach.predict_resources;
}

absl::btree_set<SweepId> SweepBook::ChooseLeftOut(
    int64_t job_memory_max, const std::vector<SweepRow>& rows,
    const std::vector<std::shared_ptr<const Expansion>>& expansions) {
  absl::btree_set<SweepId> left_out;
  int64_t left = job_memory_max == 0 ? INT64_MAX : job_memory_max / kJobMemoryBytes;
  for (const bool has_ended : {false, true}) {
    for (size_t i = rows.size(); i-- > 0;) {
      if (rows[i].end_time.has_value() != has_ended) {
        continue;
      }
      const int64_t jobs = expansions[i]->job_count();
      if (jobs <= left) {
        left -= jobs;
      } else {
        left_out.insert(rows[i].id);
      }
    }
  }
  return left_out;
}

SweepRecord& SweepBook::SweepOf(JobId id) {
  const auto it = sweeps_.find(id.sweep);
  return it != sweeps_.end() ? *it->second : *erased_.at(id.sweep);
}

const SweepRecord& SweepBook::SweepOf(JobId id) const {
  const auto it = sweeps_.find(id.sweep);
  return it != sweeps_.end() ? *it->second : *erased_.at(id.sweep);
}

const JobTable::Job& SweepBook::JobOf(JobId id) const { return SweepOf(id).jobs[id.index]; }

bool SweepBook::HasJob(JobId id) const {
  const auto it = sweeps_.find(id.sweep);
  return it != sweeps_.end() && id.index < it->second->jobs.size();
}

absl::StatusOr<std::optional<SweepId>> SweepBook::FindRequest(const Submission& submission) const {
  if (submission.request_id.empty()) {
    return std::nullopt;
  }
  const auto it = requests_.find(std::pair(submission.owner, submission.request_id));
  if (it == requests_.end()) {
    return std::nullopt;
  }
  CONCUR_RETURN_IF_ERROR(CheckLoaded(it->second));
  const SweepRecord& earlier = *sweeps_.at(it->second);
  std::string spec = earlier.row.spec;
  if (earlier.expansion->spec().search && policy_.encode_spec) {
    SweepSpec submitted = earlier.expansion->spec();
    submitted.search->proposals.clear();
    spec = policy_.encode_spec(submitted);
  }
  if (spec != submission.spec) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: \"", submission.request_id,
                                                   "\" was used for sweep ", it->second.ToString(),
                                                   " with another spec"));
  }
  return it->second;
}

absl::Status SweepBook::CheckMemory(const std::string& owner, uint32_t jobs) const {
  CONCUR_RETURN_IF_ERROR(owners_.CheckJobs(owner, jobs));
  if (policy_.job_memory_max == 0 || (jobs_ + jobs) * kJobMemoryBytes <= policy_.job_memory_max) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "this coordinator has memory for ", policy_.job_memory_max / kJobMemoryBytes,
      " jobs (limits.job_memory_max of ", policy_.job_memory_max, " bytes, ", kJobMemoryBytes,
      " a job), its sweeps have ", jobs_, ", and this one has ", jobs,
      ": delete sweeps that have ended, submit fewer jobs, or give it more memory and a larger ",
      "limit"));
}

absl::Status CheckUsesAreSet(const NamedResources& resources, const Expansion& expansion) {
  absl::Status status;
  if (!expansion.has_uses()) {
    return status;
  }
  const SweepSpec& spec = expansion.spec();
  expansion.ForEachKind([&](const Block& block, std::optional<uint32_t> test) {
    for (const auto& [name, units] : expansion.UsesOf(block, test)) {
      if (status.ok() && !resources.AmountOf(name)) {
        status = absl::FailedPreconditionError(absl::StrCat(
            test ? "predict" : "train", " jobs of ", spec.approaches[block.approach].name,
            test ? absl::StrCat(" on ", spec.benchmarks[*test].name) : std::string(),
            " use the resource \"", name, "\", which is not set: `concur resource set ", name,
            " N` says how many units there are"));
      }
    }
  });
  return status;
}

absl::StatusOr<SweepRecord*> SweepBook::AddNew(Submission submission) {
  CONCUR_RETURN_IF_ERROR(CheckUsesAreSet(resources_, *submission.expansion));
  CONCUR_RETURN_IF_ERROR(CheckMemory(submission.owner, submission.expansion->job_count()));
  CONCUR_RETURN_IF_ERROR(owners_.CheckQuota(submission.owner, submission.expansion->spec(),
                                            submission.unclaimed_bytes));
  const SweepId id{next_number_++};
  turn_.batch().next_sweep_number = next_number_;
  SweepRow row;
  row.id = id;
  row.owner = submission.owner;
  row.name = submission.expansion->spec().name;
  row.request_id = submission.request_id;
  row.create_time = turn_.now();
  row.spec = std::move(submission.spec);
  turn_.TouchSweep(id);
  turn_.AnnounceSweep(id);
  return Add(std::move(row), std::move(submission.expansion));
}

absl::StatusOr<SweepRecord*> SweepBook::Add(SweepRow row,
                                            std::shared_ptr<const Expansion> expansion) {
  const SweepId id = row.id;
  auto owned = std::make_unique<SweepRecord>(std::move(row), std::move(expansion));
  SweepRecord& sweep = *owned;
  sweep.owner = owners_.Add(sweep.row.owner);
  const SweepSpec& spec = sweep.expansion->spec();
  owners_.AddData(sweep.owner, spec);
  owners_.AddJobs(sweep.owner, sweep.jobs.size());
  sweep.expansion->ForEachKind([&](const Block& block, std::optional<uint32_t> test) {
    if (spec.imported) {  // each job is a kind; none waits, or teaches a duration
      sweep.groups.push_back(0);
      return;
    }
    const std::string& approach = spec.approaches[block.approach].name;
    const std::string& benchmark =
        test ? spec.benchmarks[*test].name : spec.train_sets[block.train_set].name;
    const Durations::Group group = places_.durations.GroupOf(approach, benchmark, !test);
    sweep.groups.push_back(group);
    places_.ready.SetRank(group, places_.durations.RankOf(group));
    if (sweep.expansion->has_labels()) {
      sweep.label_sets.push_back(label_sets_.Add(sweep.expansion->LabelsOf(block, test)));
    }
    if (sweep.expansion->has_uses()) {
      sweep.use_sets.push_back(resources_.Add(sweep.expansion->UsesOf(block, test)));
    }
  });
  NumberServices(services_, sweep);
  if (!sweep.row.request_id.empty()) {
    requests_[{sweep.row.owner, sweep.row.request_id}] = id;
  }
  NoteSearches(sweep);
  if (sweep.BudgetUsdMicros() > 0) {
    budgets_.insert(id);
  }
  if (!sweeps_.emplace(id, std::move(owned)).second) {
    return absl::DataLossError(absl::StrCat("sweep ", id.ToString(), " stands twice"));
  }
  jobs_ += sweep.jobs.size();
  return &sweep;
}

namespace {

// Owners share no service.
uint32_t NumberOf(Services& services, const SweepRecord& sweep, const Digest& key,
                  const ApproachSpec& approach, const Setting& setting) {
  Sha256 hasher;
  hasher.UpdateField(sweep.row.owner);
  hasher.UpdateField(key.ToBytes());
  const uint32_t number = services.Add(hasher.Finish(), sweep.owner, approach, setting);
  services.Forgive(number);
  return number;
}

// The sets that jobs of each kind need.
void NumberNeeds(Services& services, SweepRecord& sweep) {
  const SweepSpec& spec = sweep.expansion->spec();
  sweep.needed.resize(spec.approaches.size());
  sweep.expansion->ForEachKind([&](const Block& block, std::optional<uint32_t> test) {
    std::vector<uint32_t> set;
    for (const uint32_t need :
         test ? NeedsOf(spec, block.approach, *test) : std::vector<uint32_t>()) {
      if (sweep.needed[need] == 0) {
        sweep.needed[need] =
            NumberOf(services, sweep, sweep.keys.NeededServiceKeyOf(need), spec.approaches[need],
                     spec.approaches[need].hyperparameters.defaults);
      }
      set.push_back(sweep.needed[need]);
    }
    sweep.need_sets.push_back(services.AddSet(std::move(set)));
  });
}

}  // namespace

void NumberServices(Services& services, SweepRecord& sweep) {
  const Expansion& expansion = *sweep.expansion;
  const SweepSpec& spec = expansion.spec();
  const auto has_needs = [](const auto& one) { return !one.needs.empty(); };
  if (sweep.need_sets.empty() &&
      (std::any_of(spec.approaches.begin(), spec.approaches.end(), has_needs) ||
       std::any_of(spec.benchmarks.begin(), spec.benchmarks.end(), has_needs))) {
    NumberNeeds(services, sweep);
  }
  const auto ask = [&](const Block& block, uint32_t own) {
    for (const uint32_t test : block.tests) {
      const uint32_t needs = sweep.need_sets.empty() ? 0 : sweep.need_sets[*block.KindOfTest(test)];
      if (own != 0 || needs != 0) {
        std::vector<uint32_t> set = services.SetOf(needs);
        set.push_back(own);
        sweep.asked[{own, needs}] = services.AddSet(std::move(set));
      }
    }
  };
  for (const Block& block : expansion.blocks()) {
    ask(block, 0);
    const ApproachSpec& approach = spec.approaches[block.approach];
    const uint32_t stride = block.JobsPerCell();
    for (uint32_t cell = 0; approach.service && !block.tests.empty() && cell < block.cells;
         ++cell) {
      const uint32_t first = block.first_job + cell * stride;
      if (!sweep.services.contains(first) && !sweep.AwaitsSetting(first)) {
        const JobCoordinates at = expansion.Locate(first);
        const uint32_t number =
            NumberOf(services, sweep, sweep.keys.ServiceKeyOf(first + stride - 1), approach,
                     expansion.SettingOf(at.block, at.setting));
        sweep.services.emplace(first, number);
        ask(block, number);
      }
    }
  }
}

absl::Status SweepBook::Restore(SweepRow row, std::shared_ptr<const Expansion> expansion) {
  if (row.id.number >= next_number_) {
    return absl::DataLossError(absl::StrCat(
        "sweep ", row.id.ToString(), " is newer than the counter of sweeps, ", next_number_));
  }
  return Add(std::move(row), std::move(expansion)).status();
}

void SweepBook::RestoreLeftOut(LeftOuts left_out) {
  left_out_ = std::move(left_out);
  for (const auto& [id, left] : left_out_) {
    const uint32_t owner = owners_.Add(left.row.owner);
    owners_.AddData(owner, left.expansion->spec());
    owners_.AddJobs(owner, left.expansion->job_count());
    if (!left.row.request_id.empty()) {
      requests_.emplace(std::pair(left.row.owner, left.row.request_id), id);
    }
    if (left.MayHoldUnits()) {
      resources_.Take(NamedResources::kUnknown, std::nullopt);
    }
  }
}

void SweepBook::Erase(SweepId id) {
  const auto left = left_out_.find(id);
  const bool is_loaded = left == left_out_.end();
  CONCUR_CHECK(is_loaded || left->second.row.end_time);
  const SweepRow& row = is_loaded ? sweeps_.at(id)->row : left->second.row;
  const Expansion& expansion = is_loaded ? *sweeps_.at(id)->expansion : *left->second.expansion;
  const uint32_t owner = owners_.Add(row.owner);
  owners_.RemoveData(owner, expansion.spec());
  owners_.AddJobs(owner, -static_cast<int64_t>(expansion.job_count()));
  requests_.erase({row.owner, row.request_id});
  places_.ready.EraseSweep(id);
  places_.searches.erase(places_.searches.lower_bound({id, 0}),
                         places_.searches.lower_bound({SweepId{id.number + 1}, 0}));
  jobs_ -= is_loaded ? expansion.job_count() : 0;
  budgets_.erase(id);
  erased_.insert(sweeps_.extract(id));
  left_out_.erase(id);
  turn_.batch().delete_sweeps.push_back(id);
  turn_.AnnounceSweep(id);
}

void SweepBook::SetPaused(SweepRecord& sweep, bool paused) {
  sweep.row.paused = paused;
  UpdateHold(sweep);
  turn_.TouchSweep(sweep.row.id);
}

void SweepBook::UpdateHold(const SweepRecord& sweep) {
  if (sweep.IsHeld()) {
    places_.ready.Pause(sweep.row.id);
  } else {
    places_.ready.Resume(sweep.row.id);
    NoteSearches(sweep);
  }
}

void SweepBook::SetPriority(SweepRecord& sweep, int32_t priority) {
  sweep.row.priority = priority;
  places_.ready.SetPriority(sweep.row.id, priority);
  turn_.TouchSweep(sweep.row.id);
}

void SweepBook::SetBudget(SweepRecord& sweep, int64_t usd_micros) {
  sweep.row.budget_usd_micros = usd_micros;
  budgets_.insert(sweep.row.id);
  turn_.TouchSweep(sweep.row.id);
  SetOverBudget(sweep, false);
}

void SweepBook::SetOverBudget(SweepRecord& sweep, bool over_budget) {
  if (sweep.row.over_budget != over_budget) {
    sweep.row.over_budget = over_budget;
    UpdateHold(sweep);
    turn_.TouchSweep(sweep.row.id);
    turn_.AnnounceSweep(sweep.row.id);
  }
}

void SweepBook::NoteSearches(const SweepRecord& sweep) {
  if (!sweep.expansion->spec().search) {
    return;
  }
  for (uint32_t block = 0; block < sweep.expansion->blocks().size(); ++block) {
    if (sweep.expansion->IsSearched(block)) {
      places_.searches.emplace(sweep.row.id, block);
    }
  }
}

void SweepBook::UpdateEnd(SweepRecord& sweep) {
  if (sweep.row.paused && sweep.IsOver()) {  // a retry goes on, as after any end
    SetPaused(sweep, false);
  }
  if (sweep.IsOver()) {
    SetOverBudget(sweep, false);
  }
  const bool ended = IsTerminal(sweep.State());
  if (ended && !sweep.row.end_time) {
    sweep.row.end_time = turn_.now();
    turn_.TouchSweep(sweep.row.id);
  } else if (!ended && sweep.row.end_time) {
    sweep.row.end_time.reset();
    turn_.TouchSweep(sweep.row.id);
  }
}

void SweepBook::CheckInvariants() const {
  for (const auto& [id, sweep] : sweeps_) {
    CONCUR_CHECK(sweep->row.id == id && id.number < next_number_);
    CONCUR_CHECK(sweep->IsHeld() == places_.ready.IsPaused(id));
    CONCUR_CHECK(budgets_.contains(id) == (sweep->BudgetUsdMicros() > 0));
    sweep->CheckInvariants();
    CONCUR_CHECK(owners_.name(sweep->owner) == sweep->row.owner);
    CONCUR_CHECK(!left_out_.contains(id));
  }
  int64_t jobs = 0;
  for (const auto& [id, sweep] : sweeps_) {
    jobs += sweep->jobs.size();
  }
  CONCUR_CHECK(jobs == jobs_);
  for (const auto& [request, id] : requests_) {
    const auto left = left_out_.find(id);
    const SweepRow& row = left == left_out_.end() ? sweeps_.at(id)->row : left->second.row;
    CONCUR_CHECK(row.owner == request.first && row.request_id == request.second);
  }
  label_sets_.CheckInvariants();
}

}  // namespace concur
