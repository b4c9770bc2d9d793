// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/setting_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/random.h"
#include "core/state/sweep_record.h"

namespace concur {
namespace {

constexpr uint32_t kSampledMax = 10;  // settings of a search
constexpr uint32_t kSampledOneOf = 3;

// nullopt when it was canceled.
std::optional<Trial> TrialOf(const SweepRecord& sweep, uint32_t block_index, uint32_t setting,
                             const std::vector<uint32_t>& compared_on) {
  const Expansion& expansion = *sweep.expansion;
  const Block& block = expansion.blocks()[block_index];
  const auto seeds = static_cast<uint32_t>(expansion.spec().seeds.size());
  Trial trial{.setting = expansion.SettingOf(block_index, setting), .state = Trial::State::kScored};
  bool was_canceled = false;
  for (uint32_t cell = setting * seeds; cell < (setting + 1) * seeds; ++cell) {
    for (const uint32_t test : compared_on) {
      const uint32_t job = block.JobOf(cell, *block.KindOfTest(test));
      const JobState state = sweep.jobs[job].state();
      const Metric* metric =
          FindMetric(sweep.jobs.ResultOf(job), expansion.spec().benchmarks[test].metric);
      if (!IsTerminal(state)) {
        trial.state = Trial::State::kPending;
        return trial;
      }
      was_canceled = was_canceled || state == JobState::kCanceled;
      if (state == JobState::kSucceeded && metric != nullptr) {
        trial.score += metric->value / static_cast<double>(seeds * compared_on.size());
      } else if (state != JobState::kCanceled) {
        trial.state = Trial::State::kFailed;
      }
    }
  }
  return was_canceled && trial.state == Trial::State::kScored ? std::nullopt : std::optional(trial);
}

// True while a job of the setting has not ended.
bool IsOpen(const SweepRecord& sweep, const Block& block, uint32_t setting) {
  const auto per_setting =
      static_cast<uint32_t>(sweep.expansion->spec().seeds.size()) * block.JobsPerCell();
  const uint32_t first = block.first_job + setting * per_setting;
  for (uint32_t job = first; job < first + per_setting; ++job) {
    if (!IsTerminal(sweep.jobs[job].state())) {
      return true;
    }
  }
  return false;
}

// The setting depends on the sweep, the trials and its number alone.
Setting ChosenBy(const Expansion& expansion, uint32_t block_index, uint32_t setting,
                 const std::vector<Trial>& trials) {
  const SweepSpec& spec = expansion.spec();
  const Block& block = expansion.blocks()[block_index];
  const ApproachSpec& approach = spec.approaches[block.approach];
  const BenchmarkSpec& compared = spec.benchmarks[expansion.ComparedOn(block).front()];
  if (setting >= std::min(kSampledMax, (block.settings + kSampledOneOf - 1) / kSampledOneOf)) {
    const std::string train_set = block.has_train ? spec.train_sets[block.train_set].name : "";
    Random random(spec.settings_seed,
                  absl::StrCat("search/", approach.name.size(), ":", approach.name, "/",
                               train_set.size(), ":", train_set, "/", setting));
    std::optional<Setting> chosen = ChooseByTpe(
        approach.hyperparameters, MeaningOf(spec, compared, compared.metric).goal, trials, random);
    if (chosen) {
      return *std::move(chosen);
    }
  }
  return SampleSetting(approach.hyperparameters, spec.settings_seed, approach.name, setting);
}

}  // namespace

std::vector<Trial> TrialsOf(const SweepRecord& sweep, uint32_t block) {
  const Block& of = sweep.expansion->blocks()[block];
  const std::vector<uint32_t> compared_on = sweep.expansion->ComparedOn(of);
  std::vector<Trial> trials;
  for (uint32_t setting = 0; setting < of.settings; ++setting) {
    if (sweep.expansion->HasSetting(block, setting)) {
      if (std::optional<Trial> trial = TrialOf(sweep, block, setting, compared_on)) {
        trials.push_back(*std::move(trial));
      }
    }
  }
  return trials;
}

uint32_t PendingTrials(const std::vector<Trial>& trials) {
  return static_cast<uint32_t>(std::count_if(trials.begin(), trials.end(), [](const Trial& trial) {
    return trial.state == Trial::State::kPending;
  }));
}

void SettingSearch::ChooseSettings() {
  std::map<SweepId, std::vector<Proposal>> chosen;
  for (const auto& [id, block] : std::exchange(places_.searches, {})) {
    SweepRecord& sweep = *book_.all().at(id);
    if (!sweep.IsHeld()) {  // else they are due when it goes on
      ChooseIn(sweep, block, &chosen[id]);
    }
  }
  for (const auto& [id, proposals] : chosen) {
    if (proposals.empty()) {
      continue;
    }
    SweepRecord& sweep = *book_.all().at(id);
    sweep.Choose(proposals);
    NumberServices(book_.services(), sweep);
    if (policy_.encode_spec) {
      sweep.row.spec = policy_.encode_spec(sweep.expansion->spec());
    }
    turn_.TouchSweep(id);
    turn_.AnnounceSweep(id);
    for (const Proposal& proposal : proposals) {
      Begin(sweep, proposal);
      places_.searches.emplace(id, proposal.block);  // it may be without a score that is to come
    }
  }
}

void SettingSearch::ChooseIn(const SweepRecord& sweep, uint32_t index,
                             std::vector<Proposal>* chosen) const {
  const Block& block = sweep.expansion->blocks()[index];
  std::vector<Trial> trials = TrialsOf(sweep, index);
  uint32_t pending = PendingTrials(trials);
  for (uint32_t setting = 1;
       setting < block.settings && pending < sweep.expansion->spec().search->parallel; ++setting) {
    if (!sweep.expansion->HasSetting(index, setting) && IsOpen(sweep, block, setting)) {
      Setting values = ChosenBy(*sweep.expansion, index, setting, trials);
      trials.push_back({.setting = values});
      chosen->push_back({index, setting, std::move(values)});
      ++pending;
    }
  }
}

void SettingSearch::CheckInvariants() const {
  for (const auto& [id, sweep] : book_.all()) {
    for (uint32_t block = 0; block < sweep->expansion->blocks().size(); ++block) {
      if (sweep->expansion->IsSearched(block) && !sweep->IsHeld()) {
        std::vector<Proposal> chosen;
        ChooseIn(*sweep, block, &chosen);
        CONCUR_CHECK(chosen.empty());
      }
    }
  }
}

// The setting's jobs take results that are there, evaluations first, or are as those of a sampled
// setting.
void SettingSearch::Begin(SweepRecord& sweep, const Proposal& chosen) {
  const Block& block = sweep.expansion->blocks()[chosen.block];
  const auto seeds = static_cast<uint32_t>(sweep.expansion->spec().seeds.size());
  for (uint32_t cell = chosen.setting * seeds; cell < (chosen.setting + 1) * seeds; ++cell) {
    const uint32_t first = block.first_job + cell * block.JobsPerCell();
    for (uint32_t job = first + block.JobsPerCell(); job-- > first;) {
      if (IsTerminal(sweep.jobs[job].state()) ||
          jobs_.TryReuse(sweep, job, sweep.keys.KeyOf(job)) || sweep.AwaitsSource(job)) {
        continue;
      }
      jobs_.SetState(sweep, job, JobState::kReady);
      jobs_.Announce(sweep, job, absl::StrCat("search: tries ", SettingText(chosen.values)));
    }
  }
}

}  // namespace concur
