// SPDX-License-Identifier: Apache-2.0
#include "readers/text/pretraining_rows.h"

#include "absl/strings/match.h"
#include "base/check.h"
#include "readers/text/word_piece_learner.h"

namespace concur::readers {
namespace {

std::vector<TokenSpan> ChooseFor(Objective objective, absl::Span<const TokenSpan> words,
                                 double share, Random& random) {
  switch (objective) {
    case Objective::kWords:
      return ChooseWords(words, share, random);
    case Objective::kSpans:
      return ChooseSpans(words, share, random);
    case Objective::kTokens:
    case Objective::kReplaced:
      break;
  }
  return ChooseTokens(words, share, random);
}

}  // namespace

RowEntries EntriesOf(absl::Span<const std::string> vocabulary) {
  RowEntries entries;
  entries.kinds.specials = kLearnedSpecials;
  entries.kinds.mask = kLearnedMask;
  for (const std::string& entry : vocabulary) {
    entries.kinds.continues.push_back(entry.size() > 2 && absl::StartsWith(entry, "##"));
    entries.ends_sentence.push_back(entry == "." || entry == "!" || entry == "?");
  }
  return entries;
}

PretrainingRow MakeRow(absl::Span<const int32_t> pieces, const RowOptions& options,
                       const RowEntries& entries, Random& random) {
  CONCUR_CHECK(pieces.size() + options.specials() >= options.length);
  const size_t count = options.length - options.specials();
  size_t start = static_cast<size_t>(random.Below(pieces.size() - count + 1));
  while (start > 0 && entries.kinds.continues[static_cast<size_t>(pieces[start])]) {
    --start;
  }
  const absl::Span<const int32_t> text = pieces.subspan(start, count);
  PretrainingRow row;
  const auto add = [&row](absl::Span<const int32_t> segment) {
    row.original.insert(row.original.end(), segment.begin(), segment.end());
    row.original.push_back(kLearnedSeparator);
  };
  row.original.push_back(kLearnedFirst);
  if (options.sentence_order) {
    const size_t cut = SegmentCut(text, entries.kinds, entries.ends_sentence);
    row.swapped = random.Chance(0.5);
    add(row.swapped ? text.subspan(cut) : text.first(cut));
    row.second_at = row.original.size();
    add(row.swapped ? text.first(cut) : text.subspan(cut));
  } else {
    add(text);
    row.second_at = row.original.size();
  }
  row.spans =
      ChooseFor(options.objective, WordsOf(row.original, entries.kinds), options.share, random);
  row.ids = row.original;
  ReplaceTokens(row.spans,
                options.objective == Objective::kReplaced ? kElectraReplacement : kBertReplacement,
                options.objective == Objective::kSpans, entries.kinds, random, row.ids);
  return row;
}

}  // namespace concur::readers
