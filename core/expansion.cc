// SPDX-License-Identifier: Apache-2.0
#include "core/expansion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "core/command_template.h"

namespace concur {
namespace {

// What the exclude rules say about one scope (a pair, an approach, a train set, everything).
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

  // Of an approach that needs no training when `train_set` is kNoTrainSet.
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

// The error for an approach whose train command reads {validation} and a train set without one.
absl::Status LacksValidation(const SweepSpec& spec, uint32_t approach, uint32_t train_set) {
  const TrainSet& train = spec.train_sets[train_set];
  const BenchmarkSpec& benchmark = spec.benchmarks[train.parts.front().benchmark];
  return absl::InvalidArgumentError(
      absl::StrCat("approaches[", approach, "].train.command: expected a validation set of \"",
                   train.name, "\" for {validation}, got none; give the benchmark \"",
                   benchmark.name, "\" the field validation, or exclude one for the other"));
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

// One worker has one value of a label: InvalidArgument when `labels`, of `whose`, and those of a
// benchmark ask for two.
absl::Status AddLabels(const SweepSpec& spec, uint32_t benchmark, const std::string& whose,
                       Labels* labels) {
  for (const auto& [name, value] : spec.benchmarks[benchmark].labels) {
    const auto [it, is_new] = labels->emplace(name, value);
    if (!is_new && it->second != value) {
      return absl::InvalidArgumentError(absl::StrCat(
          "benchmarks[", benchmark, "].resources.labels: expected labels that a worker can have ",
          "together with those of ", whose, ", which asks for ", name, "=", it->second, ", got ",
          name, "=", value, "; exclude one for the other"));
    }
  }
  return absl::OkStatus();
}

// Whether every job of the block can have a worker.
absl::Status CheckLabelsAgree(const SweepSpec& spec, const Block& block) {
  const ApproachSpec& approach = spec.approaches[block.approach];
  const std::string whose = absl::StrCat("the approach \"", approach.name, "\"");
  if (block.has_train) {
    Labels labels = approach.train_labels;
    const TrainSet& train_set = spec.train_sets[block.train_set];
    for (const TrainSet::Part& part : train_set.parts) {
      CONCUR_RETURN_IF_ERROR(AddLabels(
          spec, part.benchmark,
          train_set.IsMixture() ? absl::StrCat(whose, " and the mixture \"", train_set.name, "\"")
                                : whose,
          &labels));
    }
  }
  for (const uint32_t test : block.tests) {
    Labels labels = approach.predict_labels;
    CONCUR_RETURN_IF_ERROR(AddLabels(spec, test, whose, &labels));
  }
  return absl::OkStatus();
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
  Expansion expansion;
  const auto seed_count = static_cast<uint64_t>(spec.seeds.size());
  const ExcludeIndex excluded(spec);
  const TestSets test_sets(spec);
  const std::vector<std::optional<uint32_t>> validation = ValidationOfEach(spec);
  for (const TrainSet& train_set : spec.train_sets) {
    expansion.validation_sets_.push_back(ValidationOfAll(validation, BenchmarksOf(train_set)));
  }
  const auto train_set_count = static_cast<uint32_t>(spec.train_sets.size());
  uint64_t jobs = 0;
  uint64_t cells = 0;
  uint64_t settings_total = 0;
  for (uint32_t a = 0; a < spec.approaches.size(); ++a) {
    const ApproachSpec& approach = spec.approaches[a];
    const bool trained = !approach.train_command.empty();
    const uint32_t settings = approach.hyperparameters.space.empty() ? 1 : 1 + spec.random_settings;
    expansion.reads_validation_.push_back(UsesPlaceholder(approach.train_command, "validation"));
    bool has_blocks = false;
    for (uint32_t t = trained ? 0 : train_set_count; t < train_set_count + (trained ? 0 : 1); ++t) {
      Block block;
      block.approach = a;
      block.train_set = trained ? t : kNoTrainSet;
      block.has_train = trained;
      block.tests = test_sets.Of(block.train_set);
      block.settings = settings;
      if (!excluded.Apply(a, block.train_set, block.tests) || block.JobsPerCell() == 0) {
        continue;
      }
      // What was not excluded is evaluated on its validation sets too.
      const std::vector<uint32_t> more =
          trained ? expansion.validation_sets_[t] : ValidationOfAll(validation, block.tests);
      if (more.empty() && expansion.reads_validation_.back()) {
        return LacksValidation(spec, a, t);
      }
      block.tests.insert(block.tests.end(), more.begin(), more.end());
      block.tests = SortedUnique(std::move(block.tests));
      const uint64_t block_cells = settings * seed_count;
      cells += block_cells;
      block.first_job = static_cast<uint32_t>(jobs);
      block.first_kind = expansion.kind_count_;
      expansion.kind_count_ += block.JobsPerCell();
      jobs += block_cells * block.JobsPerCell();
      if (jobs > kJobsMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("the sweep has more than ", kJobsMax,
                         " jobs (approaches × train sets × settings × seeds × test sets); split it "
                         "into several"));
      }
      block.cells = static_cast<uint32_t>(block_cells);
      expansion.blocks_.push_back(std::move(block));
      has_blocks = true;
    }
    settings_total += has_blocks ? settings : 0;
    if (settings_total > kSettingsTotalMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("settings.random: expected at most ", kSettingsTotalMax,
                       " settings over all approaches, got more; sample fewer or split the sweep"));
    }
    // An approach that is excluded everywhere has its default alone.
    expansion.settings_.emplace_back();
    for (uint32_t s = 0; s < (has_blocks ? settings : 1); ++s) {
      expansion.settings_.back().push_back(
          SampleSetting(approach.hyperparameters, spec.settings_seed, approach.name, s));
    }
  }
  if (jobs == 0) {
    return absl::InvalidArgumentError(
        "the sweep has no job: no approach meets a train set or a test set that is not excluded; "
        "look at train_on, evaluate_on and exclude");
  }
  expansion.has_labels_ = AnyLabels(spec);
  if (expansion.has_labels_) {
    for (const Block& block : expansion.blocks_) {
      CONCUR_RETURN_IF_ERROR(CheckLabelsAgree(spec, block));
    }
  }
  expansion.spec_ = std::move(spec);
  expansion.job_count_ = static_cast<uint32_t>(jobs);
  expansion.cell_count_ = static_cast<uint32_t>(cells);
  return expansion;
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

std::optional<uint32_t> Expansion::TrainJobOf(uint32_t job) const {
  const JobCoordinates at = Locate(job);
  if (at.is_train || !blocks_[at.block].has_train) {
    return std::nullopt;
  }
  return at.first_job_of_cell;
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
  } else {
    for (const TrainSet::Part& part : spec_.train_sets[block.train_set].parts) {
      add(part.benchmark);
    }
  }
  return labels;
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
