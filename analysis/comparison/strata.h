// SPDX-License-Identifier: Apache-2.0
// How much of the change from one test set to another follows from its mixture of examples: scores
// by stratum on the old set, re-weighted by the strata of the new one (Miller et al., ICML 2020).
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_STRATA_H_
#define CONCUR_ANALYSIS_STRATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/intervals.h"
#include "analysis/table.h"

namespace concur::analysis {

// A test example: the stratum it is in, and what a system scored on it, a share from 0 to 1.
struct StratifiedExample {
  std::string stratum;
  std::optional<double> score;  // nothing where it is not known (new examples without scores)
};

struct Stratum {
  std::string name;
  int64_t n = 0;  // examples of the old set
  int64_t new_n = 0;
  std::optional<double> score;  // means, in percent
  std::optional<double> new_score;
};

struct StratifiedPrediction {
  std::string attribute;
  std::vector<Stratum> strata;  // by name
  double score = 0;             // on the old set, in percent
  // The old scores in the new mixture: sum over strata of new share * old mean. Strata of the new
  // set that the old one lacks are left out, and the shares of the others add up to 1 again;
  // `covered` is the share of new examples that count. Nothing when none does.
  std::optional<double> predicted;
  double covered = 0;
  // Normal, from the spread within strata of the old set; the new mixture counts as known. Nothing
  // when a stratum that counts has a single old example.
  std::optional<Interval> interval;
  std::optional<double> actual;  // the score on the new set, where every example of it has one
};

// InvalidArgument when a set is empty, an old example has no score, a score is not finite, or
// `level` is not in (0, 1).
absl::StatusOr<StratifiedPrediction> PredictByStrata(
    const std::string& attribute, absl::Span<const StratifiedExample> examples,
    absl::Span<const StratifiedExample> new_examples, double level);

// One row for each stratum, and one, named "(all)", with the prediction.
Table StrataTable(const std::vector<StratifiedPrediction>& predictions, double level);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_STRATA_H_
