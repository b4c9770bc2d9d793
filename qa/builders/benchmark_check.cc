// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/benchmark_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/normalize.h"

namespace concur::qa {
namespace {

constexpr size_t kGramsMax = 100'000'000;

// Calls `on_gram` with a hash of each run of kSharedWords words, or of all words when they are
// fewer, until it returns false.
void ForEachGram(absl::string_view text, const std::function<bool(size_t)>& on_gram) {
  const std::string normalized = NormalizeAnswer(text);
  const std::vector<absl::string_view> words = NormalizedWords(normalized);
  const size_t length = std::min(words.size(), kSharedWords);
  for (size_t i = 0; length > 0 && i + length <= words.size(); ++i) {
    if (!on_gram(absl::HashOf(absl::MakeConstSpan(words).subspan(i, length)))) {
      return;
    }
  }
}

// As words, so that "art" does not stand in "party".
bool StandsIn(absl::string_view passage, const std::vector<std::string>& answers) {
  const std::string padded = absl::StrCat(" ", passage, " ");
  return std::any_of(answers.begin(), answers.end(), [&](const std::string& answer) {
    const std::string normalized = NormalizeAnswer(answer);
    return !normalized.empty() && absl::StrContains(padded, absl::StrCat(" ", normalized, " "));
  });
}

}  // namespace

absl::StatusOr<QuestionCounts> CountQuestions(const std::string& path) {
  QuestionCounts counts;
  absl::flat_hash_set<size_t> seen;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](const Passage& passage) {
    ++counts.passages;
    const std::string context = NormalizeAnswer(passage.context);
    for (const Question& question : passage.questions) {
      ++counts.questions;
      counts.answerable += StandsIn(context, question.answers) ? 1 : 0;
      counts.repeated +=
          seen.insert(absl::HashOf(context, NormalizeAnswer(question.text))).second ? 0 : 1;
    }
    return absl::OkStatus();
  }));
  return counts;
}

absl::StatusOr<SharedPassages> CountSharedPassages(const std::string& path,
                                                   const std::string& other) {
  absl::flat_hash_set<size_t> grams;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](const Passage& passage) -> absl::Status {
    ForEachGram(passage.context, [&](size_t gram) {
      grams.insert(gram);
      return true;
    });
    return grams.size() <= kGramsMax
               ? absl::OkStatus()
               : absl::ResourceExhaustedError(
                     absl::StrCat(path, ": expected at most ", kGramsMax,
                                  " words to compare; take a part (concur data downsample)"));
  }));
  absl::flat_hash_set<size_t> in_both;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(other, [&](const Passage& passage) {
    ForEachGram(passage.context, [&](size_t gram) {
      if (grams.contains(gram)) {
        in_both.insert(gram);
      }
      return true;
    });
    return absl::OkStatus();
  }));
  SharedPassages counts;
  CONCUR_RETURN_IF_ERROR(ForEachPassage(path, [&](const Passage& passage) {
    ++counts.passages;
    bool shared = false;
    ForEachGram(passage.context, [&](size_t gram) {
      shared = in_both.contains(gram);
      return !shared;
    });
    counts.shared += shared ? 1 : 0;
    return absl::OkStatus();
  }));
  return counts;
}

}  // namespace concur::qa
