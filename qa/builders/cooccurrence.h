// SPDX-License-Identifier: Apache-2.0
// Word vectors computed from a text, for machines without vector files: truncated singular vectors
// of the positive pointwise mutual information of words that stand near each other (Levy and
// Goldberg, 2014), found by randomised subspace iteration (Halko, Martinsson and Tropp, 2011).
//
// Thread-safe (stateless). Only additions, multiplications, divisions and square roots in a fixed
// order: the same bits on every machine.
#ifndef CONCUR_QA_BUILDERS_COOCCURRENCE_H_
#define CONCUR_QA_BUILDERS_COOCCURRENCE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace concur::qa {

// The sentences of a text, as word numbers one after another.
struct WordStream {
  std::vector<uint32_t> words;
  std::vector<uint32_t> ends;  // where each sentence ends in `words`
};

struct CooccurrenceOptions {
  size_t dimensions = 64;
  size_t window = 5;  // words to each side
};

// Row-major vectors of words 0 … vocabulary-1. A word without any informative neighbour gets
// pseudorandom components of 1 and -1 instead of zeros. REQUIRES: every word of the stream is below
// `vocabulary`; vocabulary > 0.
std::vector<float> CooccurrenceVectors(const WordStream& stream, size_t vocabulary,
                                       const CooccurrenceOptions& options);

// log2 of a positive finite number, within 1e-12 relative to max(1, |log2 x|).
double PortableLog2(double x);

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_COOCCURRENCE_H_
