// SPDX-License-Identifier: Apache-2.0
// The numbering of a sweep's jobs, without listing them.
//
// A *block* is (approach, train set): it has settings × seeds cells, and every cell has one train
// job (unless the approach needs no training) followed by one eval job for each test benchmark of
// the block. Blocks are ordered by approach, then train set; cells by setting, then seed. A job's
// index follows from that order alone, so that a million-job sweep takes the memory of its axes.
// Blocks without any job are left out.
//
// The train jobs of an approach with train_from start from the system of another block's train job,
// their *source*. A block that is there only as a source has no eval jobs and the default setting
// alone.
//
// A *kind* is the jobs that stand at one place in every cell of a block: its train jobs, or its
// eval jobs on one benchmark. Kinds are numbered through the sweep, in the order of the jobs of a
// cell.
//
// Immutable; thread-safe. Same spec, same numbers, on every machine.
#ifndef CONCUR_CORE_SWEEP_EXPANSION_H_
#define CONCUR_CORE_SWEEP_EXPANSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/sweep/sweep.h"

namespace concur {

// Stands in Block::train_set for approaches that need no training.
inline constexpr uint32_t kNoTrainSet = UINT32_MAX;

struct Block {
  uint32_t approach = 0;
  uint32_t train_set = kNoTrainSet;
  bool has_train = true;
  std::vector<uint32_t> tests;  // benchmark indices, ascending; may be empty (train only)
  uint32_t first_job = 0;
  uint32_t first_kind = 0;
  uint32_t settings = 1;           // 1 when the approach's space is empty, or as a source only
  uint32_t cells = 0;              // settings × seeds
  std::optional<uint32_t> source;  // the block from whose systems its train jobs start
  uint32_t stage = 0;              // trainings before its own: one more than its source

  uint32_t JobsPerCell() const { return (has_train ? 1 : 0) + static_cast<uint32_t>(tests.size()); }
  uint32_t JobCount() const { return cells * JobsPerCell(); }
  // REQUIRES: cell < cells; the kind is one of this block's.
  uint32_t JobOf(uint32_t cell, uint32_t kind) const {
    return first_job + cell * JobsPerCell() + (kind - first_kind);
  }
  // The kind of the eval jobs on a benchmark; nullopt when the block is not tested on it.
  std::optional<uint32_t> KindOfTest(uint32_t benchmark) const;
};

// Where a job stands in its sweep.
struct JobCoordinates {
  uint32_t block = 0;
  uint32_t kind = 0;
  uint32_t setting = 0;
  uint32_t seed_index = 0;
  bool is_train = false;
  uint32_t test_benchmark = 0;  // into SweepSpec::benchmarks, for an eval job
  uint32_t first_job_of_cell = 0;
};

class Expansion {
 public:
  // InvalidArgument when the spec breaks a limit, an index is out of range, a hyperparameter space
  // is invalid, some job asks for two values of one label or for a {validation} that its train set
  // lacks, a source is excluded, a search has nothing to search or to compare, or the product is
  // empty. The message names the field.
  static absl::StatusOr<Expansion> Make(SweepSpec spec);
  // The same with more proposals. REQUIRES: they are of settings that are not proposed.
  Expansion WithProposals(const std::vector<Proposal>& proposals) const;

  const SweepSpec& spec() const { return spec_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  uint32_t job_count() const { return job_count_; }
  uint32_t cell_count() const { return cell_count_; }
  uint32_t kind_count() const { return kind_count_; }
  // Calls visit(block, test_benchmark) for every kind in order; no benchmark for train jobs.
  template <typename Visit>
  void ForEachKind(Visit visit) const {
    for (const Block& block : blocks_) {
      if (block.has_train) {
        visit(block, std::optional<uint32_t>());
      }
      for (const uint32_t test : block.tests) {
        visit(block, std::optional<uint32_t>(test));
      }
    }
  }

  // REQUIRES: job < job_count().
  JobCoordinates Locate(uint32_t job) const;
  // The train job whose system a job reads, for which it waits: of an eval job its cell's, of a
  // train job its source; nullopt when it reads none.
  std::optional<uint32_t> SourceOf(uint32_t job) const;
  // Calls visit(other) for every job whose source this one is; for none when it is an eval job.
  void ForEachDependent(uint32_t job, absl::FunctionRef<void(uint32_t)> visit) const;
  // Trainings before the job's own: 0 unless its block has a source.
  uint32_t StageOf(uint32_t job) const { return blocks_[Locate(job).block].stage; }
  // True if train jobs of other blocks start from the block's.
  bool IsSource(uint32_t block) const { return !stages_[block].empty(); }
  // Index one past the last job of the cell of `job`.
  uint32_t EndOfCell(uint32_t job) const;

  // The validation sets (benchmark indices, ascending) of a train set's benchmarks.
  // REQUIRES: train_set < spec().train_sets.size().
  const std::vector<uint32_t>& ValidationSetsOf(uint32_t train_set) const {
    return validation_sets_[train_set];
  }
  // The part of them that the train command of the block's approach reads as {validation}: none
  // when it does not.
  absl::Span<const uint32_t> ValidationInputsOf(const Block& block) const;

  // All settings of an approach, sampled once; of a search the default alone.
  // REQUIRES: approach < spec().approaches.size().
  const std::vector<Setting>& Settings(uint32_t approach) const { return settings_[approach]; }
  // True where a search chooses the block's settings.
  bool IsSearched(uint32_t block) const { return spec_.search && blocks_[block].settings > 1; }
  // A setting of a block; empty while a search has not chosen it.
  // REQUIRES: block < blocks().size(), setting < blocks()[block].settings.
  const Setting& SettingOf(uint32_t block, uint32_t setting) const {
    return setting > 0 && IsSearched(block) ? proposed_[block][setting] : Sampled(block, setting);
  }
  bool HasSetting(uint32_t block, uint32_t setting) const {
    return setting == 0 || !IsSearched(block) || !proposed_[block][setting].empty();
  }
  // The benchmarks by whose scores the block's search compares trials: the validation sets of what
  // it was trained on; or the test sets of that, or else its first one.
  std::vector<uint32_t> ComparedOn(const Block& block) const;

  // Labels that a job of the block asks of its worker: its approach's, those of the benchmarks
  // whose data it reads, and those of services that it needs. `test_benchmark` is absent for train
  // jobs.
  Labels LabelsOf(const Block& block, std::optional<uint32_t> test_benchmark) const;
  // Named resources that such a job holds: its approach's and those of the benchmark that it is
  // evaluated on, added up.
  Uses UsesOf(const Block& block, std::optional<uint32_t> test_benchmark) const;
  // True if any job uses any.
  bool has_uses() const { return has_uses_; }
  // True if any job asks for labels at all.
  bool has_labels() const { return has_labels_; }

  // "logistic-regression on squad, setting 2, seed 1" and, for eval jobs, ", evaluated on newsqa".
  std::string Describe(uint32_t job) const;

 private:
  Expansion() = default;

  absl::Status AddBlocks();
  absl::Status NumberJobs();
  void LinkSources();
  absl::Status CheckBenchmarkParameters() const;
  void SampleSettings();
  absl::Status CheckSearched(const Block& block) const;
  absl::Status CheckSearches() const;
  absl::Status PutProposals();
  const Setting& Sampled(uint32_t block, uint32_t setting) const {
    return settings_[blocks_[block].approach][setting];
  }

  SweepSpec spec_;
  std::vector<Block> blocks_;
  std::vector<std::vector<uint32_t>> stages_;           // [block]: those that start from it
  std::vector<std::vector<Setting>> settings_;          // [approach][setting]
  std::vector<std::vector<Setting>> proposed_;          // [block][setting], of those searched
  std::vector<std::vector<uint32_t>> validation_sets_;  // [train set]
  std::vector<bool> reads_validation_;                  // [approach]: its train command
  uint32_t job_count_ = 0;
  uint32_t cell_count_ = 0;
  uint32_t kind_count_ = 0;
  bool has_labels_ = false;
  bool has_uses_ = false;
};

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_EXPANSION_H_
