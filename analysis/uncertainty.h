// How uncertain each coefficient of a matrix is when approaches, seeds and test examples all count
// as drawn by chance, how much of that each of them causes, and what more of which could narrow.
//
// Thread-safe (stateless). The same runs, options and seed give the same bits on any number of
// threads. Method, sources and simulations: docs/statistics.md.
#ifndef CONCUR_ANALYSIS_UNCERTAINTY_H_
#define CONCUR_ANALYSIS_UNCERTAINTY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/bootstrap.h"
#include "analysis/correlation.h"
#include "analysis/intervals.h"
#include "analysis/score_table.h"
#include "analysis/table.h"

namespace concur::analysis {

// Per-example scores of one benchmark, run by run: a run is a seed, or a setting and a seed.
struct BenchmarkRuns {
  std::string benchmark;
  // Benchmarks with the same key were scored on the same examples (in the same order), or with the
  // same trained systems: a replicate draws those for them together. "": shared with none.
  std::string test_set;
  std::string systems;
  size_t examples = 0;
  // By approach, then run: a score for each example, each a share in [0, 1]. No run: missing.
  std::vector<std::vector<std::vector<double>>> runs;
};

struct ExampleRuns {
  std::vector<std::string> approaches;
  std::vector<BenchmarkRuns> benchmarks;
  std::vector<std::string> left_out;  // cells that could not be used, with their reasons
};

struct UncertaintyOptions {
  Coefficient coefficient = Coefficient::kKendall;
  BootstrapOptions bootstrap;
};

// Variances of a coefficient; standard deviations are their roots.
struct PairUncertainty {
  size_t a = 0;
  size_t b = 0;
  int64_t n = 0;                     // approaches with both scores
  std::optional<double> value;       // nothing: undefined
  std::optional<Interval> interval;  // of the hierarchical bootstrap
  std::string warning;
  double total = 0;             // all variance
  double examples = 0;          // part of it that more test examples can remove
  std::optional<double> seeds;  // … more seeds; nothing where no approach has two runs
  double approaches = 0;        // the rest: only more approaches can narrow it
  // How far noise of seeds and examples moves the coefficient on average: mostly towards 0.
  double shift_by_noise = 0;
};

struct Uncertainty {
  UncertaintyOptions options;
  std::vector<std::string> benchmarks;
  std::vector<std::string> approaches;
  std::vector<std::string> left_out;
  std::vector<PairUncertainty> pairs;  // the upper triangle by rows
};

// Cells are means over runs of means over examples, in percent; a pair uses the approaches that
// have both. InvalidArgument for bad bootstrap options, fewer than two benchmarks, runs of a length
// other than `examples`, scores that are not finite, and more than 100 million replicates of pairs.
absl::StatusOr<Uncertainty> ComputeUncertainty(const ExampleRuns& runs,
                                               const UncertaintyOptions& options);

// What the numbers mean for the reader's next step: which of more approaches, more test examples
// and more seeds can narrow the coefficient, how far, and what remains.
std::string UncertaintyInWords(const PairUncertainty& pair);

Table UncertaintyTable(const Uncertainty& uncertainty);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_UNCERTAINTY_H_
