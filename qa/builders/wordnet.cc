// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/wordnet.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "qa/builders/sources.h"

namespace concur::qa {
namespace {

constexpr absl::string_view kPackage = "wordnet-base";
constexpr std::array<absl::string_view, kWordClasses> kExtensions = {"noun", "verb", "adj", "adv"};
constexpr int64_t kPointersMax = 999;

// Cuts fields off a line at single spaces.
class Fields {
 public:
  explicit Fields(absl::string_view line) : rest_(line) {}
  // "" at the end of the line.
  absl::string_view Next() {
    const size_t space = rest_.find(' ');
    const absl::string_view field = rest_.substr(0, space);
    rest_.remove_prefix(space == absl::string_view::npos ? rest_.size() : space + 1);
    return field;
  }
  absl::string_view rest() const { return rest_; }

 private:
  absl::string_view rest_;
};

// Calls `use` with each line and its number, without licence lines (which start with a space).
template <typename Use>
absl::Status ForEachLine(absl::string_view contents, Use use) {
  int64_t number = 0;
  while (!contents.empty()) {
    ++number;
    const size_t end = contents.find('\n');
    const absl::string_view line = contents.substr(0, end);
    contents.remove_prefix(end == absl::string_view::npos ? contents.size() : end + 1);
    if (!line.empty() && line[0] != ' ') {
      CONCUR_RETURN_IF_ERROR(use(line, number));
    }
  }
  return absl::OkStatus();
}

bool ClassOfLetter(absl::string_view letter, WordClass& word_class) {
  if (letter == "n") {
    word_class = WordClass::kNoun;
  } else if (letter == "v") {
    word_class = WordClass::kVerb;
  } else if (letter == "a" || letter == "s") {
    word_class = WordClass::kAdjective;
  } else if (letter == "r") {
    word_class = WordClass::kAdverb;
  } else {
    return false;
  }
  return true;
}

uint64_t KeyOf(WordClass word_class, uint64_t offset) {
  return static_cast<uint64_t>(word_class) << 48 | offset;
}

struct RawPointer {
  absl::string_view symbol;
  uint64_t key = 0;
};

// Fills `synset` except for its pointers, whose targets may follow in the file. Returns what is
// wrong with the line, or "".
std::string ParseSynset(absl::string_view line, uint64_t& offset, Synset& synset,
                        std::vector<RawPointer>& pointers) {
  Fields fields(line);
  if (!absl::SimpleAtoi(fields.Next(), &offset) || offset >= uint64_t{1} << 32) {
    return "expected a synset offset";
  }
  fields.Next();  // lexicographer file
  if (!ClassOfLetter(fields.Next(), synset.word_class)) {
    return "expected n, v, a, s or r as the synset type";
  }
  uint32_t words = 0;
  if (!absl::SimpleHexAtoi(fields.Next(), &words) || words == 0 || words > 255) {
    return "expected the number of words";
  }
  for (uint32_t i = 0; i < words; ++i) {
    absl::string_view word = fields.Next();
    if (absl::EndsWith(word, ")")) {
      word = word.substr(0, word.rfind('('));  // the marker of an adjective's position
    }
    fields.Next();  // lexical id
    if (word.empty()) {
      return "expected a word";
    }
    synset.words.push_back(word);
  }
  int64_t count = 0;
  if (!absl::SimpleAtoi(fields.Next(), &count) || count < 0 || count > kPointersMax) {
    return "expected the number of pointers";
  }
  for (int64_t i = 0; i < count; ++i) {
    RawPointer pointer;
    pointer.symbol = fields.Next();
    uint64_t target = 0;
    WordClass target_class = WordClass::kNoun;
    if (pointer.symbol.empty() || !absl::SimpleAtoi(fields.Next(), &target) ||
        target >= uint64_t{1} << 32 || !ClassOfLetter(fields.Next(), target_class)) {
      return "expected a pointer: symbol, offset, part of speech";
    }
    fields.Next();  // source and target words
    pointer.key = KeyOf(target_class, target);
    pointers.push_back(pointer);
  }
  const size_t bar = fields.rest().find("| ");
  synset.gloss = bar == absl::string_view::npos ? "" : fields.rest().substr(bar + 2);
  return "";
}

absl::Status Malformed(const std::string& path, int64_t line, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, ":", line, ": ", what));
}

struct Suffix {
  absl::string_view from;
  absl::string_view to;
};

// The rules of detachment of morphy(7WN).
const std::vector<Suffix>& SuffixesOf(WordClass word_class) {
  static const auto* const rules = new std::array<std::vector<Suffix>, kWordClasses>{
      std::vector<Suffix>{{"s", ""},
                          {"ses", "s"},
                          {"xes", "x"},
                          {"zes", "z"},
                          {"ches", "ch"},
                          {"shes", "sh"},
                          {"men", "man"},
                          {"ies", "y"}},
      std::vector<Suffix>{{"s", ""},
                          {"ies", "y"},
                          {"es", "e"},
                          {"es", ""},
                          {"ed", "e"},
                          {"ed", ""},
                          {"ing", "e"},
                          {"ing", ""},
                          // The endings of Early Modern English.
                          {"eth", "e"},
                          {"eth", ""},
                          {"est", "e"},
                          {"est", ""},
                          {"th", ""}},
      std::vector<Suffix>{{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}},
      std::vector<Suffix>{}};
  return (*rules)[static_cast<size_t>(word_class)];
}

}  // namespace

absl::StatusOr<WordNet> WordNet::Load(SourceLog& sources) {
  WordNet result;
  absl::flat_hash_map<uint64_t, uint32_t> index_of;
  std::vector<std::vector<RawPointer>> pointers;
  std::vector<std::string> paths;
  for (const absl::string_view extension : kExtensions) {
    const std::string path = absl::StrCat(sources.paths().wordnet, "/data.", extension);
    CONCUR_ASSIGN_OR_RETURN(std::string contents, sources.ReadPackaged(path, kPackage));
    result.files_.push_back(std::make_unique<std::string>(std::move(contents)));
    CONCUR_RETURN_IF_ERROR(
        ForEachLine(*result.files_.back(), [&](absl::string_view line, int64_t number) {
          uint64_t offset = 0;
          Synset synset;
          std::vector<RawPointer> raw;
          const std::string problem = ParseSynset(line, offset, synset, raw);
          if (!problem.empty()) {
            return Malformed(path, number, problem);
          }
          const uint64_t key = KeyOf(synset.word_class, offset);
          if (!index_of.emplace(key, static_cast<uint32_t>(result.synsets_.size())).second) {
            return Malformed(path, number, absl::StrCat("the offset ", offset, " occurs twice"));
          }
          result.synsets_.push_back(std::move(synset));
          pointers.push_back(std::move(raw));
          return absl::OkStatus();
        }));
    if (result.synsets_.empty()) {
      return absl::DataLossError(absl::StrCat(path, ": expected synsets, got none"));
    }
  }
  for (size_t i = 0; i < pointers.size(); ++i) {
    for (const RawPointer& pointer : pointers[i]) {
      const auto target = index_of.find(pointer.key);
      if (target == index_of.end()) {
        return absl::DataLossError(absl::StrCat(sources.paths().wordnet, ": synset \"",
                                                result.synsets_[i].words[0], "\": pointer ",
                                                pointer.symbol, " leads to no synset"));
      }
      result.synsets_[i].pointers.push_back(SynsetPointer{pointer.symbol, target->second});
    }
  }
  return result;
}

absl::StatusOr<WordClasses> WordClasses::Load(SourceLog& sources) {
  WordClasses result;
  const std::string& directory = sources.paths().wordnet;
  for (size_t c = 0; c < kWordClasses; ++c) {
    const std::string path = absl::StrCat(directory, "/index.", kExtensions[c]);
    CONCUR_ASSIGN_OR_RETURN(const std::string index, sources.ReadPackaged(path, kPackage));
    CONCUR_RETURN_IF_ERROR(ForEachLine(index, [&](absl::string_view line, int64_t) {
      result.lemmas_[c].emplace(std::string(Fields(line).Next()), 0);
      return absl::OkStatus();
    }));
    const std::string list_path = absl::StrCat(directory, "/", kExtensions[c], ".exc");
    CONCUR_ASSIGN_OR_RETURN(const std::string list, sources.ReadPackaged(list_path, kPackage));
    CONCUR_RETURN_IF_ERROR(ForEachLine(list, [&](absl::string_view line, int64_t) {
      Fields fields(line);
      const absl::string_view inflected = fields.Next();
      const absl::string_view lemma = fields.Next();
      result.exceptions_[c].emplace(std::string(inflected), std::string(lemma));
      return absl::OkStatus();
    }));
  }
  // Lines of cntlist.rev: "lemma%class:…:: sense count"; class 5 is an adjective satellite.
  const std::string path = absl::StrCat(directory, "/cntlist.rev");
  CONCUR_ASSIGN_OR_RETURN(const std::string counts, sources.ReadPackaged(path, kPackage));
  CONCUR_RETURN_IF_ERROR(ForEachLine(counts, [&](absl::string_view line, int64_t number) {
    Fields fields(line);
    const absl::string_view key = fields.Next();
    fields.Next();
    int64_t count = 0;
    const size_t percent = key.rfind('%');
    if (percent == absl::string_view::npos || percent + 1 >= key.size() || key[percent + 1] < '1' ||
        key[percent + 1] > '5' || !absl::SimpleAtoi(fields.Next(), &count)) {
      return Malformed(path, number, "expected a sense key, a sense number and a count");
    }
    const int digit = key[percent + 1] - '1';
    auto& lemmas = result.lemmas_[digit == 4 ? 2 : static_cast<size_t>(digit)];
    const auto lemma = lemmas.find(std::string(key.substr(0, percent)));
    if (lemma != lemmas.end()) {
      lemma->second += count;
    }
    return absl::OkStatus();
  }));
  return result;
}

template <typename Use>
void WordClasses::ForEachLemma(absl::string_view lower, WordClass word_class, Use use) const {
  const auto c = static_cast<size_t>(word_class);
  const auto offer = [&](absl::string_view lemma) {
    const auto it = lemmas_[c].find(lemma);
    if (it != lemmas_[c].end()) {
      use(it->first, it->second);
    }
  };
  offer(lower);
  const auto exception = exceptions_[c].find(lower);
  if (exception != exceptions_[c].end()) {
    offer(exception->second);
    return;
  }
  for (const Suffix& suffix : SuffixesOf(word_class)) {
    if (absl::EndsWith(lower, suffix.from) &&
        lower.size() - suffix.from.size() + suffix.to.size() >= 2) {
      offer(absl::StrCat(absl::StripSuffix(lower, suffix.from), suffix.to));
    }
  }
}

int64_t WordClasses::Occurrences(absl::string_view lower, WordClass word_class) const {
  int64_t sum = -1;
  ForEachLemma(lower, word_class, [&](const std::string&, int64_t occurrences) {
    sum = (sum < 0 ? 0 : sum) + occurrences;
  });
  return sum;
}

std::string WordClasses::Lemma(absl::string_view lower) const {
  std::string best(lower);
  int64_t most = -1;
  for (size_t c = 0; c < kWordClasses; ++c) {
    ForEachLemma(lower, static_cast<WordClass>(c),
                 [&](const std::string& lemma, int64_t occurrences) {
                   if (occurrences > most) {
                     best = lemma;
                     most = occurrences;
                   }
                 });
  }
  return best;
}

bool WordClasses::IsCommonNoun(absl::string_view lower) const {
  const int64_t noun = Occurrences(lower, WordClass::kNoun);
  if (noun < 0) {
    return false;
  }
  int64_t others = 0;
  bool only_noun = true;
  for (const WordClass other : {WordClass::kVerb, WordClass::kAdjective, WordClass::kAdverb}) {
    const int64_t occurrences = Occurrences(lower, other);
    only_noun = only_noun && occurrences < 0;
    others += occurrences < 0 ? 0 : occurrences;
  }
  return noun + others == 0 ? only_noun : noun * 10 > (noun + others) * 6;
}

}  // namespace concur::qa
