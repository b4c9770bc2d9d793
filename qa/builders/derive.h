// SPDX-License-Identifier: Apache-2.0
// Data sets made from one data set: smaller ones, and train/test pairs.
//
// Thread-safe (stateless). Deterministic in the seed and the input's bytes. On failure no file
// appears or changes.
#ifndef CONCUR_QA_BUILDERS_DERIVE_H_
#define CONCUR_QA_BUILDERS_DERIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace concur::qa {

struct DerivedFile {
  std::string path;
  int64_t passages = 0;
  int64_t questions = 0;
};

// Writes a uniform random subset of `questions` questions of `in`, in their order there, as MRQA
// JSON lines; passages without a drawn question are left out. With the same seed a larger subset
// holds every smaller one (1K ⊂ 10K ⊂ …). With `passages_of`, data sets, only questions of passages
// count whose context one of them has. InvalidArgument when there are fewer questions.
absl::StatusOr<DerivedFile> Downsample(const std::string& in, int64_t questions, uint64_t seed,
                                       const std::string& out,
                                       const std::vector<std::string>& passages_of = {});

// Writes the data set with one gold answer for each question, as MRQA JSON lines: the one that most
// of its answers equal after SQuAD's normalization, as it was given first; of equally many the
// first. The spans of that answer stay.
absl::StatusOr<DerivedFile> KeepMajorityAnswers(const std::string& in, const std::string& out);

enum class SplitBy { kTitle, kContext };

struct SplitResult {
  DerivedFile train;
  DerivedFile test;
};

// Assigns whole documents (passages of equal title) or whole contexts (with their stories:
// qa/passage_groups.h) to DIRECTORY/train.jsonl or test.jsonl, so that no context is in both: at
// random, until the test set has at least `test_share` of the questions. Order within each is the
// input's. InvalidArgument when a passage has no title (by title), when `test_share` is not inside
// (0, 1), or when one of the two would be empty.
absl::StatusOr<SplitResult> SplitDataset(const std::string& in, SplitBy by, double test_share,
                                         uint64_t seed, const std::string& directory);

// The same by context, into DIRECTORY/train.jsonl and DIRECTORY/validation.jsonl, whose bytes
// depend on `share`, `seed` and the bytes of `in` alone, not on its name. `share` is that of the
// validation set, `test` of the result.
absl::StatusOr<SplitResult> HoldOutValidation(const std::string& in, double share, uint64_t seed,
                                              const std::string& directory);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_DERIVE_H_
