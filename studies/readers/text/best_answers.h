// SPDX-License-Identifier: Apache-2.0
// The best answers to a question, from the scores of all its windows, by the rules of the original
// library's two programs (see studies/readers/text/windows.h).
//
// Thread-safe (stateless).
#ifndef CONCUR_STUDIES_READERS_TEXT_BEST_ANSWERS_H_
#define CONCUR_STUDIES_READERS_TEXT_BEST_ANSWERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "studies/readers/text/checkpoint_tokenizer.h"
#include "studies/readers/text/windows.h"

namespace concur::readers {

struct BestAnswersOptions {
  Generation generation = Generation::kRunQa;
  int64_t best = 20;        // number of starts and ends considered in a window; and of answers
  int64_t tokens_max = 30;  // tokens in an answer
  bool lower_case = true;   // run_squad: whether its text is compared without case
};

// Scores of each position, also of padding, which competes as in the originals.
struct WindowScores {
  absl::Span<const float> starts, ends;
};

struct BestAnswer {
  std::string text;
  double probability = 0;  // among these answers
  double start_score = 0, end_score = 0;
};

// At least one, the best first; the text "empty" where the windows allow none, as in the originals.
// REQUIRES: as many scores as windows, each with at least as many values as the window has ids.
std::vector<BestAnswer> BestAnswers(const CheckpointTokenizer& tokenizer,
                                    const BestAnswersOptions& options,
                                    const TokenizedPassage& passage,
                                    const std::vector<Window>& windows,
                                    absl::Span<const WindowScores> scores);

// The part of `original` that `tokens`, a text that was put together from pieces, stands for; all
// of it where that cannot be found, as in run_squad.
std::string FinalText(absl::string_view tokens, absl::string_view original, bool lower_case);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_TEXT_BEST_ANSWERS_H_
