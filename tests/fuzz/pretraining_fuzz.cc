// SPDX-License-Identifier: Apache-2.0
// Texts that a vocabulary is learned from: its entries are different, the text is cut by them, and
// rows of it are masked at their spans alone.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "readers/text/pretraining_rows.h"
#include "readers/text/pretraining_text.h"
#include "readers/text/word_piece.h"
#include "readers/text/word_piece_learner.h"
#include "tests/fuzz/fuzz.h"

namespace concur::readers {
namespace {

void CheckRows(const std::vector<int32_t>& pieces, const RowEntries& entries) {
  Random random(1, "rows");
  for (const Objective objective : {Objective::kTokens, Objective::kWords, Objective::kSpans}) {
    const RowOptions options = {
        .objective = objective, .length = 16, .sentence_order = objective == Objective::kWords};
    if (pieces.size() + options.specials() < options.length) {
      continue;
    }
    const PretrainingRow row = MakeRow(pieces, options, entries, random);
    CONCUR_CHECK(row.original.size() == options.length);
    std::vector<bool> chosen(options.length, false);
    for (const TokenSpan& span : row.spans) {
      CONCUR_CHECK(0 < span.begin && span.begin < span.end && span.end < options.length);
      for (size_t i = span.begin; i < span.end; ++i) {
        CONCUR_CHECK(!chosen[i] && row.original[i] >= kLearnedSpecials);
        chosen[i] = true;
      }
    }
    for (size_t i = 0; i < options.length; ++i) {
      CONCUR_CHECK(chosen[i] || row.ids[i] == row.original[i]);
    }
  }
}

void TryText(absl::string_view text, bool lower_case, size_t entries_wanted) {
  const TextSources sources = {{testing::FileWith(text)}, {}};
  const BertWordOptions words = {.lower_case = lower_case};
  WordPieceLearner learner(words);
  const absl::Status status =
      ForEachText(sources, [&](absl::string_view line) { learner.Add(line); });
  if (!status.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(status));
    return;
  }
  const auto entries = learner.Learn(entries_wanted);
  if (!entries.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(entries.status()));
    return;
  }
  CONCUR_CHECK(std::set<std::string>(entries->begin(), entries->end()).size() == entries_wanted);
  CONCUR_CHECK(entries->size() == entries_wanted);
  const auto tokenizer = WordPiece::FromEntries(*entries, "learned", {.words = words});
  CONCUR_CHECK_OK(tokenizer.status());
  const auto pieces = PiecesOfTexts(sources, *tokenizer);
  CONCUR_CHECK_OK(pieces.status());
  CheckRows(*pieces, EntriesOf(*entries));
}

}  // namespace
}  // namespace concur::readers

// The first byte says the size of the vocabulary, and whether it has case.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) {
    concur::readers::TryText(concur::testing::Text(data + 1, size - 1), data[0] % 2 == 0,
                             size_t{4} * data[0]);
  }
  return 0;
}
