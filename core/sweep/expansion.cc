// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/expansion.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/sweep/command_template.h"
#include "core/sweep/needs.h"
#include "core/sweep/train_from.h"

namespace concur {
namespace {

// Effect of the exclude rules on one scope (a pair, an approach, a train set, everything).
struct Excluded {
  bool cell = false;
  std::vector<uint32_t> tests;
};

// The rules of a sweep by the fields that they set, so that a block meets only its own.
class ExcludeIndex {
 public:
  explicit ExcludeIndex(const SweepSpec& spec) {
    for (const ExcludeRule& rule : spec.exclude) {
      Excluded& excluded = scopes_[{rule.approach.value_or(kAny), rule.train_set.value_or(kAny)}];
      if (rule.test_benchmark) {
        excluded.tests.push_back(*rule.test_benchmark);
      } else {
        excluded.cell = true;
      }
    }
    for (auto& [scope, excluded] : scopes_) {
      std::sort(excluded.tests.begin(), excluded.tests.end());
    }
  }

  // Removes from `tests` what is excluded; false when the whole cell is.
  bool Apply(uint32_t approach, uint32_t train_set, std::vector<uint32_t>& tests) const {
    if (scopes_.empty()) {
      return true;
    }
    const bool had_tests = !tests.empty();
    // kNoTrainSet equals kAny: an untrained approach meets only rules without a train set.
    for (const Scope& scope : {Scope{approach, train_set}, Scope{approach, kAny},
                               Scope{kAny, train_set}, Scope{kAny, kAny}}) {
      const auto found = scopes_.find(scope);
      if (found == scopes_.end()) {
        continue;
      }
      if (found->second.cell) {
        return false;
      }
      const std::vector<uint32_t>& excluded = found->second.tests;
      std::erase_if(tests, [&](uint32_t test) {
        return std::binary_search(excluded.begin(), excluded.end(), test);
      });
    }
    return !had_tests || !tests.empty();
  }

  // True if a rule excludes the whole cell.
  bool HasCell(uint32_t approach, uint32_t train_set) const {
    const Scope scopes[] = {{approach, train_set}, {approach, kAny}, {kAny, train_set}};
    return std::any_of(std::begin(scopes), std::end(scopes), [this](const Scope& scope) {
      const auto found = scopes_.find(scope);
      return found != scopes_.end() && found->second.cell;
    });
  }

 private:
  using Scope = std::pair<uint32_t, uint32_t>;  // approach, train set
  static constexpr uint32_t kAny = kNoTrainSet;
  std::map<Scope, Excluded> scopes_;
};

std::vector<uint32_t> SortedUnique(std::vector<uint32_t> indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

std::vector<uint32_t> AllTests(const SweepSpec& spec) {
  std::vector<uint32_t> tests;
  for (uint32_t i = 0; i < spec.benchmarks.size(); ++i) {
    const BenchmarkSpec& benchmark = spec.benchmarks[i];
    if ((benchmark.test && !benchmark.validation_of) || spec.imported) {
      tests.push_back(i);
    }
  }
  return tests;
}

// The test sets of each train set, before exclusion.
class TestSets {
 public:
  explicit TestSets(const SweepSpec& spec)
      : everywhere_(spec.evaluate_on == EvaluateOn::kListed ? SortedUnique(spec.evaluate_benchmarks)
                                                            : AllTests(spec)) {
    if (spec.evaluate_on != EvaluateOn::kSame) {
      return;
    }
    for (const TrainSet& train_set : spec.train_sets) {
      std::vector<uint32_t> own;
      for (const TrainSet::Part& part : train_set.parts) {
        if (spec.benchmarks[part.benchmark].test) {
          own.push_back(part.benchmark);
        }
      }
      own_.push_back(SortedUnique(std::move(own)));
    }
  }

  // Test sets of an approach that needs no training when `train_set` is kNoTrainSet.
  const std::vector<uint32_t>& Of(uint32_t train_set) const {
    return train_set < own_.size() ? own_[train_set] : everywhere_;
  }

 private:
  std::vector<uint32_t> everywhere_;
  std::vector<std::vector<uint32_t>> own_;  // [train set]; empty unless kSame
};

// The validation set of each benchmark.
std::vector<std::optional<uint32_t>> ValidationOfEach(const SweepSpec& spec) {
  std::vector<std::optional<uint32_t>> validation(spec.benchmarks.size());
  for (uint32_t i = 0; i < spec.benchmarks.size(); ++i) {
    if (spec.benchmarks[i].validation_of) {
      validation[*spec.benchmarks[i].validation_of] = i;
    }
  }
  return validation;
}

// Those of several benchmarks.
std::vector<uint32_t> ValidationOfAll(const std::vector<std::optional<uint32_t>>& validation,
                                      const std::vector<uint32_t>& benchmarks) {
  std::vector<uint32_t> found;
  for (const uint32_t benchmark : benchmarks) {
    if (validation[benchmark]) {
      found.push_back(*validation[benchmark]);
    }
  }
  return SortedUnique(std::move(found));
}

std::vector<uint32_t> BenchmarksOf(const TrainSet& train_set) {
  std::vector<uint32_t> benchmarks;
  for (const TrainSet::Part& part : train_set.parts) {
    benchmarks.push_back(part.benchmark);
  }
  return benchmarks;
}

uint32_t SettingsOf(const SweepSpec& spec, uint32_t approach) {
  const Hyperparameters& hyperparameters = spec.approaches[approach].hyperparameters;
  if (spec.search) {
    return hyperparameters.space.empty() ? 1 : 1 + spec.random_settings;
  }
  return CountSettings(hyperparameters, spec.random_settings);
}

uint64_t JobsOf(const SweepSpec& spec, const Block& block) {
  return uint64_t{block.settings} * spec.seeds.size() * block.JobsPerCell();
}

absl::Status TooManyJobs() {
  return absl::InvalidArgumentError(
      absl::StrCat("the sweep has more than ", kJobsMax,
                   " jobs (approaches × train sets × settings × seeds × test sets); split it "
                   "into several"));
}

// The blocks of the product of the sweep's axes, without numbers. They end early when they have too
// many jobs.
std::vector<Block> ProductOf(const SweepSpec& spec, const ExcludeIndex& excluded) {
  const TestSets test_sets(spec);
  const std::vector<std::optional<uint32_t>> validation = ValidationOfEach(spec);
  const auto train_set_count = static_cast<uint32_t>(spec.train_sets.size());
  std::vector<Block> blocks;
  uint64_t jobs = 0;
  for (uint32_t a = 0; a < spec.approaches.size() && jobs <= kJobsMax; ++a) {
    const bool trained = !spec.approaches[a].train_command.empty();
    if (!IsEvaluated(spec.approaches[a])) {
      continue;
    }
    for (uint32_t t = trained ? 0 : train_set_count;
         t < train_set_count + (trained ? 0 : 1) && jobs <= kJobsMax; ++t) {
      Block block;
      block.approach = a;
      block.train_set = trained ? t : kNoTrainSet;
      block.has_train = trained;
      block.tests = test_sets.Of(block.train_set);
      block.settings = SettingsOf(spec, a);
      if ((trained && spec.train_sets[t].source_only) ||
          !excluded.Apply(a, block.train_set, block.tests) || block.JobsPerCell() == 0) {
        continue;
      }
      // A block that was not excluded is evaluated on its validation sets too.
      const std::vector<uint32_t> more =
          ValidationOfAll(validation, trained ? BenchmarksOf(spec.train_sets[t]) : block.tests);
      block.tests.insert(block.tests.end(), more.begin(), more.end());
      block.tests = SortedUnique(std::move(block.tests));
      jobs += JobsOf(spec, block);
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

// An approach and a train set; blocks are ordered by it.
std::pair<uint32_t, uint32_t> PlaceOf(const Block& block) {
  return {block.approach, block.train_set};
}

// From which block the block's train jobs start; nullopt.
std::optional<std::pair<uint32_t, uint32_t>> SourceOfBlock(const SweepSpec& spec,
                                                           const Block& block) {
  const std::optional<TrainFrom>& from = spec.approaches[block.approach].train_from;
  return from ? std::optional(std::pair(from->approach, from->train_set.value_or(block.train_set)))
              : std::nullopt;
}

// Adds the blocks that others start from and that are not there, trained for that alone.
absl::Status AddSources(const SweepSpec& spec, const ExcludeIndex& excluded,
                        std::vector<Block>* blocks) {
  std::set<std::pair<uint32_t, uint32_t>> known;
  for (const Block& block : *blocks) {
    known.insert(PlaceOf(block));
  }
  for (size_t i = 0; i < blocks->size(); ++i) {  // which grows
    const auto source = SourceOfBlock(spec, (*blocks)[i]);
    if (!source || !known.insert(*source).second) {
      continue;
    }
    const auto [approach, train_set] = *source;
    if (excluded.HasCell(approach, train_set)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "exclude: expected no rule that leaves out \"", spec.approaches[approach].name,
          "\" trained on \"", spec.train_sets[train_set].name, "\", since \"",
          spec.approaches[(*blocks)[i].approach].name, "\" starts from it (train_from)"));
    }
    Block& added = blocks->emplace_back();
    added.approach = approach;
    added.train_set = train_set;
  }
  std::sort(blocks->begin(), blocks->end(),
            [](const Block& a, const Block& b) { return PlaceOf(a) < PlaceOf(b); });
  return absl::OkStatus();
}

// The error for an approach whose train command reads {validation} and a train set without one.
absl::Status LacksValidation(const SweepSpec& spec, uint32_t approach, uint32_t train_set) {
  const TrainSet& train = spec.train_sets[train_set];
  const BenchmarkSpec& benchmark = spec.benchmarks[train.parts.front().benchmark];
  return absl::InvalidArgumentError(
      absl::StrCat("approaches[", approach, "].train.command: expected a validation set of \"",
                   train.name, "\" for {validation}, got none; give the benchmark \"",
                   benchmark.name, "\" the field validation, or exclude one for the other"));
}

bool AnyUses(const SweepSpec& spec) {
  return std::any_of(spec.approaches.begin(), spec.approaches.end(),
                     [](const ApproachSpec& approach) {
                       return !approach.train_uses.empty() || !approach.predict_uses.empty();
                     }) ||
         std::any_of(spec.benchmarks.begin(), spec.benchmarks.end(),
                     [](const BenchmarkSpec& benchmark) { return !benchmark.uses.empty(); });
}

bool AnyLabels(const SweepSpec& spec) {
  return std::any_of(spec.approaches.begin(), spec.approaches.end(),
                     [](const ApproachSpec& approach) {
                       return approach.environment || !approach.train_labels.empty() ||
                              !approach.predict_labels.empty();
                     }) ||
         std::any_of(spec.benchmarks.begin(), spec.benchmarks.end(),
                     [](const BenchmarkSpec& benchmark) { return !benchmark.labels.empty(); });
}

// Labels of the workers that may run the approach's service for others.
Labels LabelsOfService(const ApproachSpec& approach) {
  Labels labels = approach.predict_labels;
  if (approach.environment) {
    labels.merge(LabelsOfEnvironment(*approach.environment));
  }
  return labels;
}

// One worker has one value of a label: InvalidArgument when `labels`, of `whose`, and those of a
// `field` ask for two.
absl::Status AddLabels(const Labels& more, absl::string_view field, const std::string& whose,
                       Labels* labels) {
  for (const auto& [name, value] : more) {
    const auto [it, is_new] = labels->emplace(name, value);
    if (!is_new && it->second != value) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": expected labels that a worker can have ",
                       "together with those of ", whose, ", which asks for ", name, "=", it->second,
                       ", got ", name, "=", value, "; exclude one for the other"));
    }
  }
  return absl::OkStatus();
}

std::string LabelsField(uint32_t benchmark) {
  return absl::StrCat("benchmarks[", benchmark, "].resources.labels");
}

// True for a space with more than one setting.
bool CanDiffer(const Hyperparameters& hyperparameters) {
  return std::any_of(
      hyperparameters.space.begin(), hyperparameters.space.end(), [](const auto& parameter) {
        const auto* choice = std::get_if<Choice>(&parameter.second);
        const auto* range = std::get_if<IntegerRange>(&parameter.second);
        // Unsigned, as high - low may not fit in an int64_t.
        return choice != nullptr ? choice->values.size() > 1
               : range != nullptr
                   ? static_cast<uint64_t>(range->high) - static_cast<uint64_t>(range->low) >=
                         static_cast<uint64_t>(range->step)
                   : true;
      });
}

// OK if every job of the block can have a worker.
absl::Status CheckLabelsAgree(const SweepSpec& spec, const Block& block) {
  const ApproachSpec& approach = spec.approaches[block.approach];
  const std::string whose = absl::StrCat("the approach \"", approach.name, "\"");
  if (block.has_train) {
    Labels labels = approach.train_labels;
    const TrainSet& train_set = spec.train_sets[block.train_set];
    for (const TrainSet::Part& part : train_set.parts) {
      CONCUR_RETURN_IF_ERROR(AddLabels(
          spec.benchmarks[part.benchmark].labels, LabelsField(part.benchmark),
          train_set.IsMixture() ? absl::StrCat(whose, " and the mixture \"", train_set.name, "\"")
                                : whose,
          &labels));
    }
  }
  for (const uint32_t test : block.tests) {
    Labels labels = approach.predict_labels;
    CONCUR_RETURN_IF_ERROR(
        AddLabels(spec.benchmarks[test].labels, LabelsField(test), whose, &labels));
    labels.merge(LabelsOfService(approach));
    for (const uint32_t need : NeedsOf(spec, block.approach, test)) {
      CONCUR_RETURN_IF_ERROR(AddLabels(
          LabelsOfService(spec.approaches[need]),
          absl::StrCat("approaches[", need, "].predict.resources.labels"), whose, &labels));
    }
  }
  return absl::OkStatus();
}

// Bytes of an approach's longest setting, about as a sweep keeps each that its search chooses.
uint64_t LongestSettingBytes(const Hyperparameters& hyperparameters) {
  constexpr size_t kFieldBytes = 16;
  uint64_t bytes = 0;
  for (const auto& [name, value] : hyperparameters.defaults) {
    size_t longest = ParamText(value).size();
    const auto drawn = hyperparameters.space.find(name);
    if (drawn != hyperparameters.space.end()) {
      if (const auto* choice = std::get_if<Choice>(&drawn->second)) {
        for (const ParamValue& other : choice->values) {
          longest = std::max(longest, ParamText(other).size());
        }
      }
    }
    bytes += name.size() + longest + kFieldBytes;
  }
  return bytes;
}

}  // namespace

std::optional<uint32_t> Block::KindOfTest(uint32_t benchmark) const {
  const auto it = std::lower_bound(tests.begin(), tests.end(), benchmark);
  if (it == tests.end() || *it != benchmark) {
    return std::nullopt;
  }
  return first_kind + (has_train ? 1 : 0) + static_cast<uint32_t>(it - tests.begin());
}

absl::StatusOr<Expansion> Expansion::Make(SweepSpec spec) {
  CONCUR_RETURN_IF_ERROR(ValidateSweepSpec(spec));
  CONCUR_RETURN_IF_ERROR(CheckTrainFrom(spec));
  CONCUR_RETURN_IF_ERROR(CheckNeeds(spec));
  Expansion expansion;
  expansion.spec_ = std::move(spec);
  CONCUR_RETURN_IF_ERROR(expansion.AddBlocks());
  CONCUR_RETURN_IF_ERROR(expansion.NumberJobs());
  CONCUR_RETURN_IF_ERROR(expansion.CheckBenchmarkParameters());
  expansion.LinkSources();
  expansion.SampleSettings();
  if (expansion.spec_.search) {
    CONCUR_RETURN_IF_ERROR(expansion.CheckSearches());
    CONCUR_RETURN_IF_ERROR(expansion.PutProposals());
  }
  expansion.has_uses_ = AnyUses(expansion.spec_);
  expansion.has_labels_ = AnyLabels(expansion.spec_);
  if (expansion.has_labels_) {
    for (const Block& block : expansion.blocks_) {
      CONCUR_RETURN_IF_ERROR(CheckLabelsAgree(expansion.spec_, block));
    }
  }
  return expansion;
}

absl::Status Expansion::AddBlocks() {
  const std::vector<std::optional<uint32_t>> validation = ValidationOfEach(spec_);
  for (const TrainSet& train_set : spec_.train_sets) {
    validation_sets_.push_back(ValidationOfAll(validation, BenchmarksOf(train_set)));
  }
  bool any_stages = false;
  for (const ApproachSpec& approach : spec_.approaches) {
    reads_validation_.push_back(UsesPlaceholder(approach.train_command, "validation"));
    any_stages = any_stages || approach.train_from.has_value();
  }
  const ExcludeIndex excluded(spec_);
  blocks_ = ProductOf(spec_, excluded);
  if (any_stages) {
    CONCUR_RETURN_IF_ERROR(AddSources(spec_, excluded, &blocks_));
  }
  for (const Block& block : blocks_) {
    if (reads_validation_[block.approach] && validation_sets_[block.train_set].empty()) {
      return LacksValidation(spec_, block.approach, block.train_set);
    }
  }
  return absl::OkStatus();
}

absl::Status Expansion::NumberJobs() {
  uint64_t jobs = 0;
  uint64_t settings_total = 0;
  std::optional<uint32_t> approach;  // the previous block's
  for (Block& block : blocks_) {
    block.first_job = static_cast<uint32_t>(jobs);
    block.first_kind = kind_count_;
    kind_count_ += block.JobsPerCell();
    jobs += JobsOf(spec_, block);
    if (jobs > kJobsMax) {
      return TooManyJobs();
    }
    block.cells = block.settings * static_cast<uint32_t>(spec_.seeds.size());
    cell_count_ += block.cells;
    settings_total += block.approach == approach ? 0 : SettingsOf(spec_, block.approach);
    approach = block.approach;
    if (settings_total > kSettingsTotalMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("settings.random: expected at most ", kSettingsTotalMax,
                       " settings over all approaches, got more; sample fewer or split the sweep"));
    }
  }
  if (jobs == 0) {
    return absl::InvalidArgumentError(
        "the sweep has no job: no approach meets a train set or a test set that is not excluded; "
        "look at train_on, evaluate_on and exclude");
  }
  job_count_ = static_cast<uint32_t>(jobs);
  return absl::OkStatus();
}

void Expansion::LinkSources() {
  stages_.resize(blocks_.size());
  for (uint32_t index = 0; index < blocks_.size(); ++index) {
    const auto source = SourceOfBlock(spec_, blocks_[index]);
    if (source) {
      const auto found = std::lower_bound(
          blocks_.begin(), blocks_.end(), *source,
          [](const Block& block, const auto& place) { return PlaceOf(block) < place; });
      CONCUR_CHECK(found != blocks_.end() && PlaceOf(*found) == *source);
      blocks_[index].source = static_cast<uint32_t>(found - blocks_.begin());
      stages_[*blocks_[index].source].push_back(index);
    }
  }
  for (Block& block : blocks_) {
    for (auto source = block.source; source; source = blocks_[*source].source) {
      ++block.stage;
    }
  }
}

// InvalidArgument where a predict command names a parameter or a service that a benchmark of its
// jobs lacks.
absl::Status Expansion::CheckBenchmarkParameters() const {
  for (const Block& block : blocks_) {
    const ApproachSpec& approach = spec_.approaches[block.approach];
    for (const uint32_t test : block.tests) {
      CONCUR_RETURN_IF_ERROR(CheckAskedServices(spec_, block.approach, test));
    }
    for (const std::string& name : BenchmarkParametersOf(approach.predict_command)) {
      for (const uint32_t test : block.tests) {
        const BenchmarkSpec& benchmark = spec_.benchmarks[test];
        if (!benchmark.parameters.contains(name)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "approaches[", block.approach, "].predict.command: expected every benchmark to have ",
              "the parameter \"", name, "\" of {benchmark.", name, "}, got none of \"",
              benchmark.name, "\"; give it parameters: {", name, ": …}, or exclude it for \"",
              approach.name, "\""));
        }
      }
    }
  }
  return absl::OkStatus();
}

// An approach that is excluded everywhere has its default alone.
void Expansion::SampleSettings() {
  std::vector<bool> has_blocks(spec_.approaches.size());
  for (const Block& block : blocks_) {
    has_blocks[block.approach] = true;
  }
  for (uint32_t a = 0; a < spec_.approaches.size(); ++a) {
    const ApproachSpec& approach = spec_.approaches[a];
    settings_.push_back(has_blocks[a] && !spec_.search
                            ? AllSettings(approach.hyperparameters, spec_.settings_seed,
                                          approach.name, spec_.random_settings)
                            : std::vector<Setting>{approach.hyperparameters.defaults});
  }
}

std::vector<uint32_t> Expansion::ComparedOn(const Block& block) const {
  const std::vector<uint32_t> trained_on =
      block.has_train ? BenchmarksOf(spec_.train_sets[block.train_set]) : block.tests;
  std::vector<uint32_t> validation;
  std::vector<uint32_t> own;
  std::vector<uint32_t> others;
  for (const uint32_t test : block.tests) {
    const bool is_own = std::find(trained_on.begin(), trained_on.end(), test) != trained_on.end();
    (spec_.benchmarks[test].validation_of ? validation : is_own ? own : others).push_back(test);
  }
  if (!spec_.search->on_test) {
    return validation;
  }
  others.resize(std::min<size_t>(others.size(), 1));
  return own.empty() ? others : own;
}

// InvalidArgument unless the block's search has several settings, and scores of one goal.
absl::Status Expansion::CheckSearched(const Block& block) const {
  const ApproachSpec& approach = spec_.approaches[block.approach];
  const std::string whose = absl::StrCat(
      "\"", approach.name, "\"",
      block.has_train ? absl::StrCat(" on \"", spec_.train_sets[block.train_set].name, "\"") : "");
  if (!CanDiffer(approach.hyperparameters)) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings.search: expected a space with more than one setting, got one of ",
                     whose, "; give it a range, or leave its space out"));
  }
  const std::vector<uint32_t> compared = ComparedOn(block);
  if (compared.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "settings.by: expected a ", spec_.search->on_test ? "test" : "validation",
        " set on which trials of ", whose, " are compared, got none; give its benchmarks ",
        spec_.search->on_test ? "a test file" : "the field validation, or write by: test"));
  }
  const auto goal_of = [&](uint32_t test) {
    const BenchmarkSpec& benchmark = spec_.benchmarks[test];
    return MeaningOf(spec_, benchmark, benchmark.metric).goal;
  };
  for (const uint32_t test : compared) {
    if (goal_of(test) != goal_of(compared[0])) {
      return absl::InvalidArgumentError(
          absl::StrCat("settings.search: expected one goal of all scores that compare trials of ",
                       whose, ", got another of \"", spec_.benchmarks[test].name, "\" than of \"",
                       spec_.benchmarks[compared[0]].name, "\"; split the sweep"));
    }
  }
  return absl::OkStatus();
}

absl::Status Expansion::CheckSearches() const {
  uint64_t proposals = 0;
  uint64_t bytes = 0;
  for (uint32_t index = 0; index < blocks_.size(); ++index) {
    if (IsSearched(index)) {
      const Block& block = blocks_[index];
      CONCUR_RETURN_IF_ERROR(CheckSearched(block));
      proposals += block.settings - 1;
      bytes += (block.settings - 1) *
               LongestSettingBytes(spec_.approaches[block.approach].hyperparameters);
    }
  }
  if (proposals == 0) {
    return absl::InvalidArgumentError(
        "settings.search: expected an approach with a space to search, got none; give one "
        "hyperparameters.space");
  }
  if (proposals > kProposalsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings.trials: expected at most ", kProposalsMax,
                     " settings to choose (approaches × train sets × trials), got ", proposals,
                     "; write fewer trials, or split the sweep"));
  }
  return bytes <= kProposalBytesMax
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "settings.trials: expected settings to choose of at most ",
                   kProposalBytesMax >> 20, " MiB together, got about ", bytes >> 20,
                   " MiB; write fewer trials, or shorter values, such as names of files"));
}

absl::Status Expansion::PutProposals() {
  for (uint32_t index = 0; index < blocks_.size(); ++index) {
    proposed_.emplace_back(IsSearched(index) ? blocks_[index].settings : 0);
  }
  for (const Proposal& proposal : spec_.search->proposals) {
    if (proposal.block >= blocks_.size() || !IsSearched(proposal.block) || proposal.setting == 0 ||
        proposal.setting >= blocks_[proposal.block].settings || proposal.values.empty() ||
        HasSetting(proposal.block, proposal.setting)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "settings.proposals: expected one setting each of blocks that are searched, got setting ",
          proposal.setting, " of block ", proposal.block));
    }
    proposed_[proposal.block][proposal.setting] = proposal.values;
  }
  return absl::OkStatus();
}

Expansion Expansion::WithProposals(const std::vector<Proposal>& proposals) const {
  Expansion more = *this;
  for (const Proposal& proposal : proposals) {
    CONCUR_CHECK(!HasSetting(proposal.block, proposal.setting));
    more.spec_.search->proposals.push_back(proposal);
    more.proposed_[proposal.block][proposal.setting] = proposal.values;
  }
  return more;
}

JobCoordinates Expansion::Locate(uint32_t job) const {
  CONCUR_CHECK(job < job_count_);
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), job,
                       [](uint32_t index, const Block& block) { return index < block.first_job; });
  const Block& block = *(after - 1);
  const uint32_t per_cell = block.JobsPerCell();
  const uint32_t cell = (job - block.first_job) / per_cell;
  const uint32_t within = (job - block.first_job) % per_cell;
  const auto seeds = static_cast<uint32_t>(spec_.seeds.size());
  JobCoordinates at;
  at.block = static_cast<uint32_t>(after - blocks_.begin()) - 1;
  at.kind = block.first_kind + within;
  at.setting = cell / seeds;
  at.seed_index = cell % seeds;
  at.is_train = block.has_train && within == 0;
  at.first_job_of_cell = block.first_job + cell * per_cell;
  if (!at.is_train) {
    at.test_benchmark = block.tests[within - (block.has_train ? 1 : 0)];
  }
  return at;
}

std::optional<uint32_t> Expansion::SourceOf(uint32_t job) const {
  const JobCoordinates at = Locate(job);
  const Block& block = blocks_[at.block];
  if (!block.has_train) {
    return std::nullopt;
  }
  if (!at.is_train) {
    return at.first_job_of_cell;
  }
  // The first cells of a block are those of the default setting, by seed.
  return block.source ? std::optional(blocks_[*block.source].JobOf(
                            at.seed_index, blocks_[*block.source].first_kind))
                      : std::nullopt;
}

void Expansion::ForEachDependent(uint32_t job, absl::FunctionRef<void(uint32_t)> visit) const {
  const JobCoordinates at = Locate(job);
  if (!at.is_train) {
    return;
  }
  const uint32_t end = job + blocks_[at.block].JobsPerCell();
  for (uint32_t eval = job + 1; eval < end; ++eval) {
    visit(eval);
  }
  if (at.setting != 0) {
    return;
  }
  const auto seeds = static_cast<uint32_t>(spec_.seeds.size());
  for (const uint32_t stage : stages_[at.block]) {
    const Block& block = blocks_[stage];
    for (uint32_t cell = at.seed_index; cell < block.cells; cell += seeds) {
      visit(block.JobOf(cell, block.first_kind));
    }
  }
}

uint32_t Expansion::EndOfCell(uint32_t job) const {
  const JobCoordinates at = Locate(job);
  return at.first_job_of_cell + blocks_[at.block].JobsPerCell();
}

absl::Span<const uint32_t> Expansion::ValidationInputsOf(const Block& block) const {
  return block.has_train && reads_validation_[block.approach]
             ? absl::Span<const uint32_t>(validation_sets_[block.train_set])
             : absl::Span<const uint32_t>();
}

Labels Expansion::LabelsOf(const Block& block, std::optional<uint32_t> test_benchmark) const {
  const ApproachSpec& approach = spec_.approaches[block.approach];
  Labels labels = test_benchmark ? approach.predict_labels : approach.train_labels;
  if (approach.environment) {
    labels.merge(LabelsOfEnvironment(*approach.environment));
  }
  const auto add = [&](uint32_t benchmark) {
    const Labels& more = spec_.benchmarks[benchmark].labels;
    labels.insert(more.begin(), more.end());
  };
  if (test_benchmark) {
    add(*test_benchmark);
    for (const uint32_t need : NeedsOf(spec_, block.approach, *test_benchmark)) {
      labels.merge(LabelsOfService(spec_.approaches[need]));
    }
  } else {
    for (const TrainSet::Part& part : spec_.train_sets[block.train_set].parts) {
      add(part.benchmark);
    }
  }
  return labels;
}

Uses Expansion::UsesOf(const Block& block, std::optional<uint32_t> test_benchmark) const {
  const ApproachSpec& approach = spec_.approaches[block.approach];
  if (!test_benchmark) {
    return approach.train_uses;
  }
  Uses uses = approach.predict_uses;
  for (const auto& [name, units] : spec_.benchmarks[*test_benchmark].uses) {
    uses[name] += units;
  }
  return uses;
}

std::string Expansion::Describe(uint32_t job) const {
  const JobCoordinates at = Locate(job);
  const Block& block = blocks_[at.block];
  std::string text = spec_.approaches[block.approach].name;
  if (block.has_train) {
    absl::StrAppend(&text, " on ", spec_.train_sets[block.train_set].name);
  }
  absl::StrAppend(&text, ", setting ", at.setting, ", seed ", spec_.seeds[at.seed_index]);
  if (!at.is_train) {
    absl::StrAppend(&text, ", evaluated on ", spec_.benchmarks[at.test_benchmark].name);
  }
  return text;
}

}  // namespace concur
