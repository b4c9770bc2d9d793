// SPDX-License-Identifier: Apache-2.0
// The passages that annotators read, and questions with known answers for their onboarding.
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_ANNOTATION_PASSAGES_H_
#define CONCUR_STUDIES_ANNOTATION_PASSAGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace concur::annotation {

inline constexpr size_t kPassagesMax = 100'000;
inline constexpr size_t kPassageBytesMax = size_t{64} << 10;
inline constexpr size_t kOnboardingMax = 500;
inline constexpr size_t kQuestionsMax = 10'000;

struct SourcePassage {
  std::string id;  // unique in a file
  std::string title;
  std::string text;  // unique in a file; UTF-8 without control characters but line feeds and tabs
};

struct KnownQuestion {
  SourcePassage passage;
  std::string question;
  std::vector<std::string> answers;  // at least one
};

// Reads JSON lines {"id", "title" (optional), "text"}, or a data set, whose passages are called
// "p1", "p2", … in its order, each text once. InvalidArgument, with file and line, for a passage
// that is empty, too long, has a control character, or an id or text that was there before; for a
// file without passages.
absl::StatusOr<std::vector<SourcePassage>> ReadPassages(const std::string& path);

// The questions of a data set, in its order. InvalidArgument for none, or more than `max`.
absl::StatusOr<std::vector<KnownQuestion>> ReadOnboarding(const std::string& path,
                                                          size_t max = kOnboardingMax);

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_PASSAGES_H_
