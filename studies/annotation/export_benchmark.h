// SPDX-License-Identifier: Apache-2.0
// Exports what annotators made, as a benchmark: train.jsonl, validation.jsonl and test.jsonl in the
// internal form, benchmark.yaml for sweeps, and every attempt in attempts.jsonl.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_ANNOTATION_EXPORT_BENCHMARK_H_
#define CONCUR_STUDIES_ANNOTATION_EXPORT_BENCHMARK_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "studies/annotation/room.h"

namespace concur::annotation {

struct ExportOptions {
  std::string directory;           // made; files of an earlier export are replaced
  std::string name = "annotated";  // the benchmark's
  uint64_t seed = 1;               // orders the passages
  double validation_share = 0.1;   // fraction of the passages
  double test_share = 0.2;
  // Authors of whose validated questions a smaller share was kept are left out; 0: nobody.
  double answerable_min = 0;
};

struct ExportedSplit {
  std::string name;  // "train", "validation", "test"
  std::string path;
  int64_t passages = 0;
  int64_t questions = 0;
  // A random validator's answer to each question that others answered, against its author's:
  // percent.
  int64_t validated = 0;
  double human_exact_match = 0;
  double human_f1 = 0;
};

struct ExportResult {
  std::array<ExportedSplit, 3> splits;
  std::string attempts_path;
  int64_t dropped = 0;       // too little agreement
  int64_t unanswerable = 0;  // kept, of authors who are left out
  int64_t rejected = 0;      // by reviewers, with their author or alone
  int64_t waiting = 0;       // too few validations yet: left out
  int64_t system_won = 0;    // in attempts.jsonl only
};

// The passages that train, validate and test, each in the order of the room's. Those with a kept
// question are ordered by the SHA-256 of seed and id; the first ones are tested, the next ones
// validate, the rest trains, at least one each. In a room where only some passages are held out,
// these alone are tested or validate, in the ratio of the shares, and the others train.
// FailedPrecondition for fewer than three such passages, or too few held out; InvalidArgument for
// shares that do not leave some to each.
absl::StatusOr<std::array<std::vector<size_t>, 3>> DealPassages(const Room& room,
                                                                const ExportOptions& options);

// Writes what was dealt. A question's answers are its author's and then those of the validators
// that agree. benchmark.yaml has the tags human and human-f1 where all test questions were
// validated. The same room and options give the same bytes. Files appear once all are complete.
// The errors of DealPassages, and of files.
absl::StatusOr<ExportResult> ExportBenchmark(const Room& room, const ExportOptions& options);

struct ExportedPerson {
  std::string name;
  int64_t answers = 0;
  double exact_match = 0;  // percent
  double f1 = 0;
};
// Writes the answers to existing questions: answers.jsonl, and human-em.csv and human-f1.csv with
// the scores of those who answered all, as references to compare approaches with. The people, in
// the order of their names. FailedPrecondition when nobody has answered all.
absl::StatusOr<std::vector<ExportedPerson>> ExportAnswers(const Room& room,
                                                          const ExportOptions& options);

// Every attempt as JSON lines: who, when, the best answer of a system, of several each
// one's, state, review, validations.
std::string AttemptsJsonLines(const Room& room);

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_EXPORT_BENCHMARK_H_
