// SPDX-License-Identifier: Apache-2.0
// Content keys: what makes two jobs the same work (docs/design/002-content-keys.md).
//
//   train = H("train", block, setting, seed)
//   eval  = H("eval", train key or approach, predict template, its code and program, test digest
//   and
//             suffix, metric, scorer version)
//   block = H(approach version, train template, env, code, program, environment, train-set digests
//             with suffixes, caps and seed, digests of validation sets where the train template
//             reads {validation}, with train_from the source's block and default setting)
//
// Imported results have block = H("imported", their digest, approach), and the test is its name.
//
// H is SHA-256 over length-prefixed fields. Names, owners, priorities, resources and time-outs are
// not part of a key, but for the names of what is mixed, which name its random streams. An
// untrained approach has the block of its version, env and settings alone.
//
// ContentKeys is immutable after construction; thread-safe.
#ifndef CONCUR_CORE_SWEEP_CONTENT_KEY_H_
#define CONCUR_CORE_SWEEP_CONTENT_KEY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "core/sweep/expansion.h"

namespace concur {

// Changes whenever the worker's scoring could give another figure for the same predictions.
inline constexpr char kScorerVersion[] = "squad-1";

class ContentKeys {
 public:
  // `expansion` outlives this.
  explicit ContentKeys(const Expansion& expansion);

  // The key of a job; about a microsecond. While a search has not chosen the job's setting, it is
  // that of no job that has run. REQUIRES: job < expansion.job_count().
  Digest KeyOf(uint32_t job) const;
  // Key of what is common to jobs that differ in setting and seed alone: of train jobs their
  // block's key, of eval jobs also the predict command and the test.
  Digest KindKeyOf(uint32_t job) const;
  // Key of the service of an eval job's approach; jobs with equal keys may share one. REQUIRES: it
  // has one, and the job's setting is chosen.
  Digest ServiceKeyOf(uint32_t job) const;
  // The same of an approach that others need.
  Digest NeededServiceKeyOf(uint32_t approach) const;
  // The key of a block's training, before setting and seed: cells of blocks with different keys
  // never share a result, so that a search may skip whole blocks.
  const Digest& BlockKey(uint32_t block) const { return block_keys_[block]; }

  // The fields that a job's key is made of, by name, for explaining a miss:
  // {"approach version", "2"}, {"seed", "1"}, {"setting lr", "0.1"}, …
  std::vector<std::pair<std::string, std::string>> FieldsOf(uint32_t job) const;

 private:
  const Digest& KeyOfSettingOf(const JobCoordinates& at) const;
  Digest TrainKeyOf(const JobCoordinates& at, Sha256& hasher) const;

  const Expansion* expansion_;
  std::vector<Digest> block_keys_;                  // [block]
  std::vector<std::vector<Digest>> setting_keys_;   // [approach][setting]
  std::vector<std::vector<Digest>> searched_keys_;  // [block][setting], of those searched
  std::vector<Digest> predict_keys_;                // [approach]
  std::vector<Digest> test_keys_;                   // [benchmark]
};

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_CONTENT_KEY_H_
