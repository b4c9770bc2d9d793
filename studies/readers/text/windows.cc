// SPDX-License-Identifier: Apache-2.0
// Code: transformers 4.9, data/processors/squad.py (squad_convert_example_to_features) and
// examples/pytorch/question-answering/run_qa.py (prepare_train_features).
#include "studies/readers/text/windows.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "qa/normalize.h"

namespace concur::readers {
namespace {

// True for characters at which run_squad splits a passage.
bool IsSquadSpace(int32_t c) {
  constexpr int32_t kNarrowNoBreakSpace = 0x202F;
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == kNarrowNoBreakSpace;
}

// The words between the characters that `is_space` takes, as ranges of bytes.
template <typename IsSpace>
std::vector<std::pair<uint32_t, uint32_t>> WordsOfText(absl::string_view text, IsSpace is_space) {
  std::vector<std::pair<uint32_t, uint32_t>> words;
  bool inside = false;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    const auto begin = static_cast<uint32_t>(at);
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (is_space(c)) {
      inside = false;
      continue;
    }
    if (!inside) {
      words.emplace_back(begin, begin);
    }
    inside = true;
    words.back().second = static_cast<uint32_t>(at);
  }
  return words;
}

// The words with one space between them.
std::string JoinedWords(absl::string_view text,
                        const std::vector<std::pair<uint32_t, uint32_t>>& words, size_t first,
                        size_t last) {
  std::string joined;
  for (size_t i = first; i <= last && i < words.size(); ++i) {
    absl::StrAppend(&joined, i == first ? "" : " ",
                    text.substr(words[i].first, words[i].second - words[i].first));
  }
  return joined;
}

// For each window and piece whether it has the most context of all windows' there.
void MarkMostContext(std::vector<Window>& windows) {
  constexpr double kLengthWeight = 0.01;
  size_t from = 0;  // windows before it end before the piece at hand
  for (Window& window : windows) {
    window.most_context.assign(static_cast<size_t>(window.pieces), false);
  }
  const int64_t count = windows.empty() ? 0 : windows.back().first_piece + windows.back().pieces;
  for (int64_t piece = 0; piece < count; ++piece) {
    while (from < windows.size() && windows[from].first_piece + windows[from].pieces <= piece) {
      ++from;
    }
    Window* best = nullptr;
    double best_score = 0;
    for (size_t i = from; i < windows.size() && windows[i].first_piece <= piece; ++i) {
      const int64_t left = piece - windows[i].first_piece;
      const int64_t right = windows[i].pieces - 1 - left;
      if (right < 0) {
        continue;
      }
      const double score = static_cast<double>(std::min(left, right)) +
                           kLengthWeight * static_cast<double>(windows[i].pieces);
      if (best == nullptr || score > best_score) {
        best = &windows[i];
        best_score = score;
      }
    }
    if (best != nullptr) {
      best->most_context[static_cast<size_t>(piece - best->first_piece)] = true;
    }
  }
}

Window WindowOf(const CheckpointTokenizer& tokenizer, const std::vector<Piece>& question,
                const std::vector<Piece>& pieces, int64_t first, int64_t count) {
  Window window;
  window.ids.push_back(tokenizer.first_id());
  for (const Piece& piece : question) {
    window.ids.push_back(piece.id);
  }
  window.ids.insert(window.ids.end(), static_cast<size_t>(tokenizer.separators()),
                    tokenizer.separator_id());
  window.passage_at = static_cast<int64_t>(window.ids.size());
  window.first_piece = first;
  window.pieces = count;
  for (int64_t i = 0; i < count; ++i) {
    window.ids.push_back(pieces[static_cast<size_t>(first + i)].id);
  }
  window.ids.push_back(tokenizer.separator_id());
  window.two_segments = tokenizer.kind() != CheckpointTokenizer::Kind::kBytePair;
  return window;
}

// The pieces [first, last] of the answer, by the words that it stands in. False when those do not
// have its text.
bool FindSquadAnswer(const CheckpointTokenizer& tokenizer, const TokenizedPassage& passage,
                     const AnswerPlace& answer, int64_t& first, int64_t& last) {
  const auto word_at = [&](uint32_t byte) {
    const auto after = std::partition_point(passage.words.begin(), passage.words.end(),
                                            [&](const auto& word) { return word.first <= byte; });
    return static_cast<size_t>(std::max<int64_t>(0, after - passage.words.begin() - 1));
  };
  const size_t first_word = word_at(answer.begin);
  const size_t last_word = word_at(answer.end - 1);
  const absl::string_view text =
      absl::string_view(passage.text).substr(answer.begin, answer.end - answer.begin);
  const auto answer_words = WordsOfText(text, qa::IsSpaceCodePoint);
  const std::string cleaned =
      answer_words.empty() ? "" : JoinedWords(text, answer_words, 0, answer_words.size() - 1);
  if (!absl::StrContains(JoinedWords(passage.text, passage.words, first_word, last_word),
                         cleaned)) {
    return false;
  }
  const auto piece_of_word = [&](size_t word) {
    return std::lower_bound(passage.word_of.begin(), passage.word_of.end(), word) -
           passage.word_of.begin();
  };
  first = piece_of_word(first_word);
  last = last_word + 1 < passage.words.size() ? piece_of_word(last_word + 1) - 1
                                              : static_cast<int64_t>(passage.pieces.size()) - 1;
  // A shorter range with just the answer's pieces, as run_squad compares them: as one text.
  const auto entry = [&](const Piece& piece) { return tokenizer.Entry(piece.id); };
  const std::vector<Piece> wanted = tokenizer.Tokenize(text);
  const std::vector<std::string> wanted_texts = tokenizer.Shown(text, wanted);
  const std::string wanted_text = absl::StrJoin(wanted_texts, " ");
  constexpr int64_t kSearchedMax = 2000;  // longer answers are whole sentences already
  for (int64_t a = first; a <= last && last - first < kSearchedMax; ++a) {
    std::string joined;
    std::vector<size_t> sizes;
    for (int64_t b = a; b <= last && joined.size() <= wanted_text.size(); ++b) {
      absl::StrAppend(&joined, b == a ? "" : " ", entry(passage.pieces[static_cast<size_t>(b)]));
      sizes.push_back(joined.size());
    }
    for (size_t i = sizes.size(); i > 0; --i) {
      if (absl::string_view(joined).substr(0, sizes[i - 1]) == wanted_text) {
        last = a + static_cast<int64_t>(i) - 1;
        first = a;
        return true;
      }
    }
  }
  return true;
}

std::vector<Label> LabelSquadWindows(const CheckpointTokenizer& tokenizer,
                                     const TokenizedPassage& passage,
                                     const std::vector<Window>& windows,
                                     const AnswerPlace& answer) {
  std::vector<Label> labels;
  int64_t first = 0;
  int64_t last = 0;
  if (!FindSquadAnswer(tokenizer, passage, answer, first, last)) {
    return labels;
  }
  for (const Window& window : windows) {
    Label& label = labels.emplace_back();
    if (first >= window.first_piece && last < window.first_piece + window.pieces) {
      const int64_t shift = window.passage_at - window.first_piece;
      label = {first + shift, last + shift, false};
    }
  }
  return labels;
}

Label LabelQaWindow(const WindowOptions& options, const TokenizedPassage& passage,
                    const Window& window, const AnswerPlace& answer) {
  Label label;
  if (window.pieces == 0) {
    return label;
  }
  const auto piece = [&](int64_t i) -> const Piece& {
    return passage.pieces[static_cast<size_t>(window.first_piece + i)];
  };
  if (piece(0).begin > answer.begin || piece(window.pieces - 1).end < answer.end) {
    return label;
  }
  int64_t first = 0;
  while (first < window.pieces && piece(first).begin <= answer.begin) {
    ++first;
  }
  int64_t last = window.pieces - 1;
  while (last >= 0 && piece(last).end >= answer.end) {
    --last;
  }
  label = {window.passage_at + first - 1, window.passage_at + last + 1, false};
  if (first == window.pieces) {
    // The original goes on over what follows the passage, which it places at 0, to the end.
    label.first = (options.padded ? options.length : static_cast<int64_t>(window.ids.size())) - 1;
  }
  return label;
}

}  // namespace

TokenizedPassage TokenizePassage(const CheckpointTokenizer& tokenizer, Generation generation,
                                 std::string text) {
  TokenizedPassage passage;
  passage.text = std::move(text);
  if (generation == Generation::kRunQa) {
    passage.pieces = tokenizer.Tokenize(passage.text);
    return passage;
  }
  passage.words = WordsOfText(passage.text, IsSquadSpace);
  for (size_t i = 0; i < passage.words.size(); ++i) {
    const auto [begin, end] = passage.words[i];
    for (Piece piece :
         tokenizer.Tokenize(absl::string_view(passage.text).substr(begin, end - begin), true)) {
      passage.pieces.push_back({piece.id, piece.begin + begin, piece.end + begin});
      passage.word_of.push_back(static_cast<uint32_t>(i));
    }
  }
  return passage;
}

absl::StatusOr<std::vector<Window>> MakeWindows(const CheckpointTokenizer& tokenizer,
                                                const WindowOptions& options,
                                                const TokenizedPassage& passage,
                                                absl::string_view question) {
  const bool by_step = options.generation == Generation::kRunSquad;
  const int64_t added = tokenizer.separators() + 2;
  // Room that a question must leave.
  const int64_t least = by_step ? 1 : options.stride + 1;
  if (options.length - added < least || options.stride < (by_step ? 1 : 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows of ", options.length, " tokens with a stride of ", options.stride,
                     ": expected a positive stride, and more room beside it"));
  }
  std::vector<Piece> asked = tokenizer.Tokenize(question);
  int64_t asked_max = options.length - added - least;
  if (options.question_max > 0) {
    asked_max = std::min(asked_max, options.question_max);
  }
  asked.resize(std::min(asked.size(), static_cast<size_t>(asked_max)));
  const int64_t room = options.length - added - static_cast<int64_t>(asked.size());
  const int64_t step = by_step ? options.stride : room - options.stride;
  const auto count = static_cast<int64_t>(passage.pieces.size());
  std::vector<Window> windows;
  for (int64_t first = 0; first < count || (first == 0 && !by_step); first += step) {
    const int64_t pieces = std::min(room, count - first);
    windows.push_back(WindowOf(tokenizer, asked, passage.pieces, first, pieces));
    if (first + pieces >= count) {
      break;
    }
  }
  if (by_step) {
    MarkMostContext(windows);
  }
  return windows;
}

std::vector<Label> LabelWindows(const CheckpointTokenizer& tokenizer, const WindowOptions& options,
                                const TokenizedPassage& passage, const std::vector<Window>& windows,
                                const AnswerPlace& answer) {
  if (options.generation == Generation::kRunSquad) {
    return LabelSquadWindows(tokenizer, passage, windows, answer);
  }
  std::vector<Label> labels;
  for (const Window& window : windows) {
    labels.push_back(LabelQaWindow(options, passage, window, answer));
  }
  return labels;
}

}  // namespace concur::readers
