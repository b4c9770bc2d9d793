// SPDX-License-Identifier: Apache-2.0
// The sequences that an encoder is pretrained on, cut anywhere from one long text as RoBERTa does
// (FULL-SENTENCES: beyond the ends of documents), and masked anew each time.
//
// Pure functions of their arguments and the random numbers that they draw.
#ifndef CONCUR_READERS_TEXT_PRETRAINING_ROWS_H_
#define CONCUR_READERS_TEXT_PRETRAINING_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "readers/text/masking.h"

namespace concur::readers {

enum class Objective { kTokens, kWords, kSpans, kReplaced };

struct RowOptions {
  Objective objective = Objective::kTokens;
  size_t length = 128;  // tokens, special ones among them
  double share = 0.15;  // of the tokens, which are predicted
  // Two segments, exchanged in half of the rows (ALBERT's sentence order).
  bool sentence_order = false;

  size_t specials() const { return sentence_order ? 3 : 2; }
};

// Of a learned vocabulary.
struct RowEntries {
  EntryKinds kinds;
  std::vector<bool> ends_sentence;
};
RowEntries EntriesOf(absl::Span<const std::string> vocabulary);

struct PretrainingRow {
  std::vector<int32_t> original;  // [CLS] text [SEP], or [CLS] segment [SEP] segment [SEP]
  std::vector<int32_t> ids;       // what is read in its place
  std::vector<TokenSpan> spans;   // what is predicted
  size_t second_at = 0;           // where the second segment begins; the length when there is none
  bool swapped = false;           // the segment that comes second in the text stands first
};

// A row from a random place in `pieces`, at the start of a word. REQUIRES: `pieces` has as many
// tokens as fit into a row.
PretrainingRow MakeRow(absl::Span<const int32_t> pieces, const RowOptions& options,
                       const RowEntries& entries, Random& random);

}  // namespace concur::readers

#endif  // CONCUR_READERS_TEXT_PRETRAINING_ROWS_H_
