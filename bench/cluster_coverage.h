// SPDX-License-Identifier: Apache-2.0
// The share of claims that hold where approaches come in families, questions in documents, or the
// claim was chosen among many, exceeds a threshold or is about a suite: a line of
// `interval_coverage clusters` each, with simulated studies of known truth.
//
// Thread-safe (stateless).
#ifndef CONCUR_BENCH_CLUSTER_COVERAGE_H_
#define CONCUR_BENCH_CLUSTER_COVERAGE_H_

#include <cstdint>
#include <string>

namespace concur::analysis {

// Prints the lines whose names start with `only` ("": all), each as soon as it is known.
void PrintClusters(int64_t trials, const std::string& only);

}  // namespace concur::analysis

#endif  // CONCUR_BENCH_CLUSTER_COVERAGE_H_
