// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/passages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "base/utf8.h"
#include "qa/builders/builder.h"

namespace concur::qa {
namespace {

class Uniform : public PassageSource {
 public:
  Uniform(uint32_t vocabulary, size_t length) : vocabulary_(vocabulary), length_(length) {}

  absl::Status Next(Split, Random& random, std::vector<uint32_t>& tokens) override {
    tokens.clear();
    for (size_t i = 0; i < length_; ++i) {
      tokens.push_back(static_cast<uint32_t>(random.Below(vocabulary_)));
    }
    return absl::OkStatus();
  }

 private:
  uint32_t vocabulary_;
  size_t length_;
};

// Draws a uniform occurrence of the two tokens and takes the token after it, which samples
// successors in proportion to their counts without storing counts.
class Trigram : public PassageSource {
 public:
  Trigram(std::vector<uint32_t> text, size_t length) : text_(std::move(text)), length_(length) {
    for (uint32_t i = 0; i + 2 < text_.size(); ++i) {
      places_.push_back(i);
    }
    std::sort(places_.begin(), places_.end(), [this](uint32_t a, uint32_t b) {
      return KeyAt(a) != KeyAt(b) ? KeyAt(a) < KeyAt(b) : a < b;
    });
    for (uint32_t i = 0; i < places_.size(); ++i) {
      const auto [it, inserted] = runs_.emplace(KeyAt(places_[i]), Run{i, i});
      it->second.end = i + 1;
    }
  }

  absl::Status Next(Split, Random& random, std::vector<uint32_t>& tokens) override {
    tokens.clear();
    while (tokens.size() < length_) {
      const size_t size = tokens.size();
      if (size >= 2) {
        const auto run = runs_.find(Key(tokens[size - 2], tokens[size - 1]));
        if (run != runs_.end()) {
          const uint64_t count = run->second.end - run->second.begin;
          tokens.push_back(text_[places_[run->second.begin + random.Below(count)] + 2]);
          continue;
        }
      }
      const uint64_t place = random.Below(places_.size());
      tokens.push_back(text_[place]);
      tokens.push_back(text_[place + 1]);
    }
    tokens.resize(length_);
    return absl::OkStatus();
  }

 private:
  struct Run {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  static uint64_t Key(uint32_t a, uint32_t b) { return uint64_t{a} << 32 | b; }
  uint64_t KeyAt(uint32_t place) const { return Key(text_[place], text_[place + 1]); }

  std::vector<uint32_t> text_;
  size_t length_;
  std::vector<uint32_t> places_;
  absl::flat_hash_map<uint64_t, Run> runs_;
};

struct Item {
  bool terminal = false;
  uint32_t number = 0;  // the token's or the symbol's
};

struct Production {
  std::vector<Item> items;
  double probability = 0;
};

struct Symbol {
  std::string name;
  std::vector<Production> productions;
  int64_t line = 0;  // first one that mentions it
};

class Grammar : public PassageSource {
 public:
  Grammar(std::vector<Symbol> symbols, size_t length)
      : symbols_(std::move(symbols)), length_(length) {}

  absl::Status Next(Split, Random& random, std::vector<uint32_t>& tokens) override {
    tokens.clear();
    std::vector<Item> stack;
    int64_t steps = 0;
    while (tokens.size() < length_) {
      if (stack.empty()) {
        stack.push_back(Item{false, 0});
      }
      if (++steps > kStepsMax) {
        return absl::InvalidArgumentError(absl::StrCat("the grammar made fewer than ", length_,
                                                       " tokens in ", kStepsMax,
                                                       " derivation steps"));
      }
      const Item item = stack.back();
      stack.pop_back();
      if (item.terminal) {
        tokens.push_back(item.number);
        continue;
      }
      const Production& production = Choose(symbols_[item.number], random);
      stack.insert(stack.end(), production.items.rbegin(), production.items.rend());
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kStepsMax = 1'000'000;

  static const Production& Choose(const Symbol& symbol, Random& random) {
    double left = random.Uniform();
    for (const Production& production : symbol.productions) {
      left -= production.probability;
      if (left < 0) {
        return production;
      }
    }
    return symbol.productions.back();
  }

  std::vector<Symbol> symbols_;
  size_t length_;
};

class GrammarParser {
 public:
  GrammarParser(const std::string& path, TokenTable& table) : path_(path), table_(table) {}

  absl::StatusOr<std::vector<Symbol>> Parse(absl::string_view grammar) && {
    for (absl::string_view line : absl::StrSplit(grammar, '\n')) {
      ++line_;
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty() && line[0] != '#') {
        absl::Status status = TakeRule(line);
        if (!status.ok()) {
          return status;
        }
      }
    }
    absl::Status status = CheckSymbols();
    if (!status.ok()) {
      return status;
    }
    return std::move(symbols_);
  }

 private:
  absl::Status Wrong(int64_t line, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", line, ": ", what));
  }

  uint32_t SymbolOf(absl::string_view name) {
    const auto [it, inserted] =
        numbers_.emplace(std::string(name), static_cast<uint32_t>(symbols_.size()));
    if (inserted) {
      symbols_.push_back(Symbol{std::string(name), {}, line_});
    }
    return it->second;
  }

  absl::Status TakeRule(absl::string_view line) {
    const size_t arrow = line.find("->");
    const absl::string_view name =
        absl::StripAsciiWhitespace(line.substr(0, std::min(arrow, line.size())));
    if (arrow == absl::string_view::npos || name.empty() ||
        name.find_first_of(" \t'\"[]|") != absl::string_view::npos) {
      return Wrong(line_, "expected SYMBOL -> items [probability]");
    }
    const uint32_t symbol = SymbolOf(name);
    absl::string_view rest = line.substr(arrow + 2);
    Production production;
    bool open = true;  // the current alternative has no probability yet
    for (rest = absl::StripLeadingAsciiWhitespace(rest); !rest.empty();
         rest = absl::StripLeadingAsciiWhitespace(rest)) {
      if (!open) {
        if (rest[0] != '|') {
          return Wrong(line_, "expected | or the end of the line after a probability");
        }
        rest.remove_prefix(1);
        production = Production{};
        open = true;
        continue;
      }
      absl::Status status = TakeItem(rest, production, open);
      if (!status.ok()) {
        return status;
      }
      if (!open) {
        symbols_[symbol].productions.push_back(production);
      }
    }
    return open ? Wrong(line_, "expected [probability] at the end of each alternative")
                : absl::OkStatus();
  }

  // Parses the next item of `rest`: a terminal, a symbol or the probability that ends an
  // alternative.
  absl::Status TakeItem(absl::string_view& rest, Production& production, bool& open) {
    const char first = rest[0];
    if (first == '[' || first == '\'' || first == '"') {
      const size_t end = rest.find(first == '[' ? ']' : first, 1);
      if (end == absl::string_view::npos) {
        return Wrong(line_, absl::StrCat("expected a closing ", first == '[' ? "]" : "quote"));
      }
      const absl::string_view inside = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
      if (first == '[') {
        open = false;
        if (!absl::SimpleAtod(inside, &production.probability) ||
            !(production.probability >= 0 && production.probability <= 1)) {
          return Wrong(line_,
                       absl::StrCat("expected a probability from 0 to 1, got [", inside, "]"));
        }
        return absl::OkStatus();
      }
      for (absl::string_view token : absl::StrSplit(inside, ' ', absl::SkipEmpty())) {
        production.items.push_back(Item{true, table_.Intern(token)});
      }
      return absl::OkStatus();
    }
    const size_t end = std::min(rest.find_first_of(" \t'\"[]|"), rest.size());
    if (end == 0) {
      return Wrong(line_, absl::StrCat("expected a symbol, a quoted token or [probability], got \"",
                                       rest.substr(0, 10), "\""));
    }
    production.items.push_back(Item{false, SymbolOf(rest.substr(0, end))});
    rest.remove_prefix(end);
    return absl::OkStatus();
  }

  absl::Status CheckSymbols() const {
    if (symbols_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": expected rules, got none"));
    }
    for (const Symbol& symbol : symbols_) {
      if (symbol.productions.empty()) {
        return Wrong(symbol.line, absl::StrCat("the symbol ", symbol.name, " has no rule"));
      }
      double sum = 0;
      for (const Production& production : symbol.productions) {
        sum += production.probability;
      }
      if (sum < 0.999 || sum > 1.001) {
        return Wrong(symbol.line, absl::StrCat("the probabilities of ", symbol.name, " sum to ",
                                               sum, ", expected 1"));
      }
    }
    return CheckEnding();
  }

  // A symbol terminates if one of its productions has only terminals and symbols that terminate.
  absl::Status CheckEnding() const {
    std::vector<bool> ends(symbols_.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t s = 0; s < symbols_.size(); ++s) {
        const auto& all = symbols_[s].productions;
        const bool now = std::any_of(all.begin(), all.end(), [&](const Production& production) {
          return production.probability > 0 &&
                 std::all_of(production.items.begin(), production.items.end(),
                             [&](const Item& item) { return item.terminal || ends[item.number]; });
        });
        changed = changed || now != ends[s];
        ends[s] = now;
      }
    }
    for (size_t s = 0; s < symbols_.size(); ++s) {
      if (!ends[s]) {
        return Wrong(symbols_[s].line,
                     absl::StrCat("no derivation of ", symbols_[s].name, " ever ends"));
      }
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  TokenTable& table_;
  int64_t line_ = 0;
  std::vector<Symbol> symbols_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

class Ready : public PassageSource {
 public:
  Ready(std::vector<std::vector<uint32_t>> passages, size_t train)
      : passages_(std::move(passages)), next_train_(0), next_test_(train), train_(train) {}

  absl::Status Next(Split split, Random&, std::vector<uint32_t>& tokens) override {
    const bool train = split == Split::kTrain;
    size_t& next = train ? next_train_ : next_test_;
    const size_t end = train ? train_ : passages_.size();
    if (next == end) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the passage file has ", train ? train_ : passages_.size() - train_, " ",
                       SplitName(split), " passages, all used"));
    }
    tokens = passages_[next++];
    return absl::OkStatus();
  }

 private:
  std::vector<std::vector<uint32_t>> passages_;
  size_t next_train_;
  size_t next_test_;
  size_t train_;
};

bool IsEdge(char c) { return absl::ascii_ispunct(static_cast<unsigned char>(c)); }

// Splits punctuation off both ends of a word: `("so,` is `(`, `"`, `so`, `,`.
void AppendTokens(absl::string_view word, TokenTable& table, std::vector<uint32_t>& tokens) {
  size_t begin = 0;
  size_t end = word.size();
  while (begin < end && IsEdge(word[begin])) {
    tokens.push_back(table.Intern(word.substr(begin++, 1)));
  }
  while (end > begin && IsEdge(word[end - 1])) {
    --end;
  }
  if (end > begin) {
    tokens.push_back(table.Intern(word.substr(begin, end - begin)));
  }
  for (; end < word.size() && end > begin; ++end) {
    tokens.push_back(table.Intern(word.substr(end, 1)));
  }
}

}  // namespace

uint32_t TokenTable::Intern(absl::string_view token) {
  const auto [it, inserted] =
      numbers_.emplace(std::string(token), static_cast<uint32_t>(tokens_.size()));
  if (inserted) {
    tokens_.emplace_back(token);
  }
  return it->second;
}

std::unique_ptr<PassageSource> UniformPassages(uint32_t vocabulary, size_t length) {
  return std::make_unique<Uniform>(vocabulary, length);
}

absl::StatusOr<std::unique_ptr<PassageSource>> TrigramPassages(
    const std::vector<std::string>& words, size_t length, TokenTable& table) {
  if (words.size() < 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the text of the 3-gram model: expected at least 4 words, got ", words.size()));
  }
  std::vector<uint32_t> text;
  text.reserve(words.size());
  for (const std::string& word : words) {
    text.push_back(table.Intern(word));
  }
  return std::make_unique<Trigram>(std::move(text), length);
}

absl::StatusOr<std::unique_ptr<PassageSource>> GrammarPassages(absl::string_view grammar,
                                                               const std::string& path,
                                                               size_t length, TokenTable& table) {
  absl::StatusOr<std::vector<Symbol>> symbols = GrammarParser(path, table).Parse(grammar);
  if (!symbols.ok()) {
    return symbols.status();
  }
  return std::make_unique<Grammar>(*std::move(symbols), length);
}

absl::StatusOr<std::unique_ptr<PassageSource>> FilePassages(absl::string_view contents,
                                                            const std::string& path, size_t length,
                                                            int64_t train_share, int64_t test_share,
                                                            uint64_t seed, TokenTable& table) {
  std::vector<std::vector<uint32_t>> passages;
  absl::flat_hash_set<std::string> seen;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(contents, '\n')) {
    ++number;
    if (FindInvalidUtf8(line) != absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": expected UTF-8"));
    }
    std::vector<uint32_t> tokens;
    for (absl::string_view word :
         absl::StrSplit(line, absl::ByAnyChar(" \t\r\f\v"), absl::SkipEmpty())) {
      AppendTokens(word, table, tokens);
    }
    tokens.resize(std::min(tokens.size(), length));
    if (tokens.size() >= 2) {
      passages.push_back(std::move(tokens));
    }
  }
  // Equal lines must go to the same split.
  std::sort(passages.begin(), passages.end());
  passages.erase(std::unique(passages.begin(), passages.end()), passages.end());
  Random random(seed, "fuzzy/passage-file");
  random.Shuffle(passages);
  const auto train =
      static_cast<size_t>(static_cast<double>(passages.size()) * static_cast<double>(train_share) /
                          static_cast<double>(std::max<int64_t>(train_share + test_share, 1)));
  return std::make_unique<Ready>(std::move(passages), train);
}

}  // namespace concur::qa
