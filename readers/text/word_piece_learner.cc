// SPDX-License-Identifier: Apache-2.0
#include "readers/text/word_piece_learner.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/utf8.h"

namespace concur::readers {
namespace {

constexpr absl::string_view kContinues = "##";
constexpr size_t kLearnedWordBytesMax = 100;  // no word that WordPiece cuts has more characters
constexpr const char* kLearnedSpecialNames[kLearnedSpecials] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                                "[MASK]"};

using Pair = std::pair<int32_t, int32_t>;

struct LearnedWord {
  std::vector<int32_t> symbols;
  int64_t count = 0;
};

// The characters of a word as entries: the first plain, the others with "##".
std::vector<std::string> FirstSymbolsOf(absl::string_view word) {
  std::vector<std::string> characters;
  while (!word.empty()) {
    const size_t bytes = std::max<size_t>(1, Utf8CharacterBytes(word));
    characters.push_back(absl::StrCat(characters.empty() ? "" : kContinues, word.substr(0, bytes)));
    word.remove_prefix(bytes);
  }
  return characters;
}

// Merges pairs of symbols in the words that have them.
class Merging {
 public:
  Merging(const std::map<std::string, int64_t>& words, const std::vector<std::string>& characters) {
    for (const std::string& character : characters) {
      IdOf(character);
    }
    for (const auto& [text, count] : words) {
      LearnedWord word{{}, count};
      for (const std::string& character : FirstSymbolsOf(text)) {
        const auto known = ids_.find(character);
        if (known == ids_.end()) {
          word.symbols.clear();
          break;
        }
        word.symbols.push_back(known->second);
      }
      words_.push_back(std::move(word));
      Count(words_.size() - 1, 1);
    }
    for (const auto& [pair, count] : counts_) {
      candidates_.push({count, symbols_[Index(pair.first)], symbols_[Index(pair.second)], pair});
    }
    changed_.clear();
  }

  // Merges the most frequent pair; false when no pair is left.
  bool Merge() {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const auto count = counts_.find(best.pair);
      if (count == counts_.end() || count->second != best.count) {
        continue;  // it has another place in the queue by now, or none
      }
      const int32_t merged =
          IdOf(absl::StrCat(best.left, absl::StripPrefix(best.right, kContinues)));
      std::vector<size_t> places = std::move(places_[best.pair]);
      places_.erase(best.pair);
      std::sort(places.begin(), places.end());
      places.erase(std::unique(places.begin(), places.end()), places.end());
      for (const size_t place : places) {
        Replace(place, best.pair, merged);
      }
      Requeue();
      return true;
    }
    return false;
  }

  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  struct Candidate {
    int64_t count;
    std::string left, right;
    Pair pair;

    // Whether the other comes first.
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count
                                  : std::tie(left, right) > std::tie(other.left, other.right);
    }
  };

  static size_t Index(int32_t id) { return static_cast<size_t>(id); }

  // Two ways of merging may give the same text, which is one entry.
  int32_t IdOf(const std::string& text) {
    const auto [at, added] = ids_.emplace(text, static_cast<int32_t>(symbols_.size()));
    if (added) {
      symbols_.push_back(text);
    }
    return at->second;
  }

  // Adds the pairs of a word to the counts, or takes them off.
  void Count(size_t place, int64_t sign) {
    const LearnedWord& word = words_[place];
    for (size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      const Pair pair = {word.symbols[i], word.symbols[i + 1]};
      counts_[pair] += sign * word.count;
      changed_.push_back(pair);
      if (sign > 0) {
        std::vector<size_t>& places = places_[pair];
        if (places.empty() || places.back() != place) {
          places.push_back(place);
        }
      }
    }
  }

  // The word may have lost the pair since it was listed.
  void Replace(size_t place, const Pair& pair, int32_t merged) {
    std::vector<int32_t>& symbols = words_[place].symbols;
    const std::array<int32_t, 2> both = {pair.first, pair.second};
    if (std::search(symbols.begin(), symbols.end(), both.begin(), both.end()) == symbols.end()) {
      return;
    }
    Count(place, -1);
    size_t kept = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool here =
          i + 1 < symbols.size() && symbols[i] == pair.first && symbols[i + 1] == pair.second;
      symbols[kept++] = here ? merged : symbols[i];
      i += here ? 1 : 0;
    }
    symbols.resize(kept);
    Count(place, 1);
  }

  // Pairs whose count changed come into the queue anew.
  void Requeue() {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const Pair& pair : changed_) {
      const auto count = counts_.find(pair);
      if (count->second == 0) {
        counts_.erase(count);
        places_.erase(pair);
      } else {
        candidates_.push(
            {count->second, symbols_[Index(pair.first)], symbols_[Index(pair.second)], pair});
      }
    }
    changed_.clear();
  }

  std::vector<std::string> symbols_;
  absl::flat_hash_map<std::string, int32_t> ids_;
  std::vector<LearnedWord> words_;
  absl::flat_hash_map<Pair, int64_t> counts_;
  absl::flat_hash_map<Pair, std::vector<size_t>> places_;
  std::vector<Pair> changed_;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace

void WordPieceLearner::Add(absl::string_view text) {
  for (std::string& word : BertWords(text, options_)) {
    if (word.size() > kLearnedWordBytesMax) {
      continue;
    }
    if (words_.size() < words_max_) {
      ++words_[std::move(word)];
    } else if (const auto known = words_.find(word); known != words_.end()) {
      ++known->second;
    } else {
      words_left_out_ = true;
    }
  }
}

absl::StatusOr<std::vector<std::string>> WordPieceLearner::Learn(size_t size) const {
  if (words_left_out_) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocabulary: the text has more than ", words_max_,
                     " different words: give less text, or text without numbers and codes"));
  }
  std::map<std::string, int64_t> count_of;
  for (const auto& [word, count] : words_) {
    for (const std::string& character : FirstSymbolsOf(word)) {
      count_of[character] += count;
    }
  }
  std::vector<std::pair<int64_t, std::string>> ordered;  // most frequent first, then by their bytes
  ordered.reserve(count_of.size());
  for (const auto& [character, count] : count_of) {
    ordered.emplace_back(-count, character);
  }
  std::sort(ordered.begin(), ordered.end());
  ordered.resize(std::min(ordered.size(), kLearnedCharactersMax));
  const size_t least = kLearnedSpecials + ordered.size();
  if (size < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocabulary: ", size, " entries are fewer than special tokens and the text's ",
                     "characters, ", least));
  }
  std::vector<std::string> characters;
  characters.reserve(ordered.size());
  for (auto& [count, character] : ordered) {
    characters.push_back(std::move(character));
  }
  Merging merging(words_, characters);
  while (kLearnedSpecials + merging.symbols().size() < size) {
    if (!merging.Merge()) {
      return absl::InvalidArgumentError(absl::StrCat("vocabulary: ", size,
                                                     " entries are more than the text gives, ",
                                                     kLearnedSpecials + merging.symbols().size()));
    }
  }
  std::vector<std::string> entries(std::begin(kLearnedSpecialNames),
                                   std::end(kLearnedSpecialNames));
  entries.insert(entries.end(), merging.symbols().begin(), merging.symbols().end());
  return entries;
}

}  // namespace concur::readers
