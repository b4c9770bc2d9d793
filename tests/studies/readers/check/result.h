// SPDX-License-Identifier: Apache-2.0
// Result of comparing a network with its original.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_STUDIES_READERS_CHECK_RESULT_H_
#define CONCUR_TESTS_STUDIES_READERS_CHECK_RESULT_H_

#include <string>

namespace concur::readers {

// The largest differences that are still equal.
constexpr double kScoreTolerance = 1e-5;     // scores and the loss
constexpr double kGradientTolerance = 1e-4;  // relative

struct CheckResult {
  std::string name;      // the folder's
  std::string approach;  // that it was recognised as
  // The largest difference of a score, relative to the largest score where that exceeds 1; the
  // same of the loss.
  double forward = 0;
  double loss = 0;
  // The largest difference of a gradient, relative to the largest of its tensor, or, where that is
  // rounding noise, to a hundredth of the largest of all.
  double gradients = 0;
  bool spans_equal = true;
  bool spans_compared = true;  // false when the fixture has none
  // False when the fixture's training pass cannot be compared, since it had dropout on: it scores a
  // question without padding otherwise than its evaluation. Loss and gradients count as equal then.
  bool training_compared = true;
  // Where the largest differences are, and which spans differ.
  std::string forward_at, gradients_at, spans_at;

  bool ok() const {
    return forward <= kScoreTolerance && loss <= kScoreTolerance &&
           gradients <= kGradientTolerance && spans_equal;
  }
};

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_CHECK_RESULT_H_
