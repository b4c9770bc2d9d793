// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/utf8.h"
#include "qa/normalize.h"

namespace concur::approaches {
namespace {

using WordSet = absl::flat_hash_set<Hash>;

WordSet MakeSet(absl::string_view words) {
  WordSet set;
  for (const absl::string_view word : absl::StrSplit(words, ' ')) {
    set.insert(HashOf(word));
  }
  return set;
}

const WordSet& StopWords() {
  static const WordSet& words = *new WordSet(MakeSet(
      "a an the of in on at by for to from with as and or but nor so yet is are was were be been "
      "being am do does did done has have had having will would shall should can could may might "
      "must it its this that these those he she they them his her their him i you we us our my "
      "your who whom whose which what when where why how there here not no than then such also "
      "into onto upon about over under between among through during before after against 's s t "
      "if while because until although though since both each other some any all more most "
      "own same too very just"));
  return words;
}

const WordSet& Months() {
  static const WordSet& words = *new WordSet(
      MakeSet("january february march april may june july august september october november "
              "december"));
  return words;
}

const WordSet& Numerals() {
  static const WordSet& words = *new WordSet(
      MakeSet("zero one two three four five six seven eight nine ten eleven twelve thirteen "
              "fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty "
              "sixty seventy eighty ninety hundred thousand million billion trillion dozen half"));
  return words;
}

const WordSet& Abbreviations() {
  static const WordSet& words = *new WordSet(
      MakeSet("mr mrs ms dr st jr sr vs no prof gen col lt sgt capt rev hon inc ltd co corp fig "
              "approx ca c etc dept est vol ed eds pp op cit jan feb mar apr jun jul aug sep sept "
              "oct nov dec"));
  return words;
}

bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

// The length in bytes of the character at `i` and whether it is a word character. An ill-formed
// byte counts as one character.
struct Character {
  size_t bytes = 1;
  enum { kSpace, kWord, kPunctuation } kind = kPunctuation;
};

Character CharacterAt(absl::string_view text, size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  Character c;
  if (lead < 0x80) {
    c.kind = IsAsciiLetter(text[i]) || IsDigit(text[i]) ? Character::kWord
             : lead == 0x7F || (lead <= 0x20)           ? Character::kSpace
                                                        : Character::kPunctuation;
    return c;
  }
  size_t end = i;
  const char32_t code = NextCodePoint(text, end);
  c.bytes = end - i;
  // Combining marks belong to the word that they follow, although \w excludes them.
  const bool mark = code >= 0x300 && code < 0x370;
  c.kind = qa::IsSpaceCodePoint(static_cast<int32_t>(code)) || code == 0x200B ? Character::kSpace
           : mark || qa::IsWordCodePoint(static_cast<int32_t>(code))          ? Character::kWord
                                                                     : Character::kPunctuation;
  return c;
}

Shape ShapeOf(absl::string_view text, Hash word) {
  size_t digits = 0;
  size_t upper = 0;
  size_t lower = 0;
  for (const char c : text) {
    digits += IsDigit(c) ? 1 : 0;
    upper += IsUpper(c) ? 1 : 0;
    lower += IsLower(c) || static_cast<unsigned char>(c) >= 0x80 ? 1 : 0;
  }
  if (digits > 0) {
    if (upper + lower > 0) {
      return Shape::kMixed;
    }
    return text.size() == 4 && digits == 4 && text >= "1000" && text <= "2100" ? Shape::kYear
                                                                               : Shape::kNumber;
  }
  if (upper > 0 && Months().contains(word)) {
    return Shape::kMonth;
  }
  if (Numerals().contains(word)) {
    return Shape::kNumeral;
  }
  if (upper == 0) {
    return Shape::kLower;
  }
  return lower > 0 || upper == 1 ? (IsUpper(text[0]) ? Shape::kTitle : Shape::kMixed)
                                 : Shape::kUpper;
}

// A light suffix stripper: most forms of a word get the same stem, which is enough for matching.
std::string StemOf(std::string word) {
  const auto ends = [&](absl::string_view suffix, size_t rest) {
    return word.size() >= suffix.size() + rest && absl::EndsWith(word, suffix);
  };
  if (ends("ies", 2)) {
    word.replace(word.size() - 3, 3, "y");
  } else if (ends("sses", 1)) {
    word.erase(word.size() - 2);
  } else if (ends("s", 3) && !ends("ss", 1) && !ends("us", 1) && !ends("is", 1)) {
    word.erase(word.size() - 1);
  }
  if (ends("ied", 2)) {
    word.replace(word.size() - 3, 3, "y");
  } else if (ends("ing", 3) || ends("ed", 3)) {
    word.erase(word.size() - (ends("ing", 3) ? 3 : 2));
    const size_t n = word.size();
    if (word[n - 1] == word[n - 2] && word[n - 1] != 'l' && word[n - 1] != 's' &&
        IsAsciiLetter(word[n - 1])) {
      word.erase(n - 1);
    }
  } else if (ends("ly", 3)) {
    word.erase(word.size() - 2);
  }
  if (ends("e", 3)) {
    word.erase(word.size() - 1);
  }
  return word;
}

Token MakeToken(absl::string_view text, size_t begin, size_t end) {
  const absl::string_view raw = text.substr(begin, end - begin);
  Token token;
  token.begin = static_cast<int32_t>(begin);
  token.end = static_cast<int32_t>(end);
  token.first = raw[0];
  std::string lower = qa::LowerCase(raw);
  token.word = HashOf(lower);
  token.suffix = HashOf(absl::string_view(lower).substr(lower.size() > 3 ? lower.size() - 3 : 0));
  token.article = lower == "a" || lower == "an" || lower == "the";
  token.stop = StopWords().contains(token.word);
  token.shape = CharacterAt(text, begin).kind == Character::kPunctuation ? Shape::kPunctuation
                                                                         : ShapeOf(raw, token.word);
  token.stem = token.stop ? token.word : HashOf(StemOf(std::move(lower)));
  return token;
}

// End of the word that starts at `i`: letters and digits, with "." and "," inside numbers and "."
// inside abbreviations ("3.5", "U.S.").
size_t WordEnd(absl::string_view text, size_t i) {
  size_t end = i;
  while (end < text.size()) {
    const Character c = CharacterAt(text, end);
    if (c.kind == Character::kWord) {
      end += c.bytes;
      continue;
    }
    const bool inside = end + 1 < text.size() && end > i;
    const char mark = text[end];
    if (inside && (mark == '.' || mark == ',') && IsDigit(text[end - 1]) &&
        IsDigit(text[end + 1])) {
      end += 2;
      continue;
    }
    // A single letter, a full stop, a letter: an abbreviation.
    if (inside && mark == '.' && IsUpper(text[end - 1]) && IsUpper(text[end + 1]) &&
        (end - 1 == i || text[end - 2] == '.')) {
      end += 2;
      continue;
    }
    if (mark == '.' && end >= i + 3 && IsUpper(text[end - 1]) && text[end - 2] == '.') {
      return end + 1;  // the last full stop of "U.S."
    }
    break;
  }
  return end;
}

bool EndsSentence(absl::string_view text, const std::vector<Token>& tokens, size_t i) {
  const Token& token = tokens[i];
  const bool end_mark = token.first == '.' || token.first == '!' || token.first == '?';
  const auto gap = i + 1 < tokens.size()
                       ? text.substr(static_cast<size_t>(token.end),
                                     static_cast<size_t>(tokens[i + 1].begin - token.end))
                       : absl::string_view();
  if (gap.find('\n') != gap.npos) {
    return true;
  }
  if (!end_mark || token.shape != Shape::kPunctuation || i + 1 == tokens.size() || gap.empty()) {
    return false;
  }
  if (token.first == '.' && i > 0) {
    const Token& before = tokens[i - 1];
    if (before.end < token.begin) {
      return true;  // " . " always separates
    }
    const bool initial = before.end - before.begin == 1 && before.shape == Shape::kTitle;
    if (initial || (Abbreviations().contains(before.word) && before.end == token.begin)) {
      return false;
    }
  }
  return tokens[i + 1].shape != Shape::kLower;
}

// The position of a question word, or of a blank such as "XXXXX", "@placeholder" or "____".
QuestionKind KindOf(absl::string_view text, const std::vector<Token>& tokens, int32_t* blank) {
  struct Known {
    Hash word;
    QuestionKind kind;
  };
  static const auto& known = *new std::vector<Known>{
      {HashOf("who"), QuestionKind::kWho},     {HashOf("whom"), QuestionKind::kWho},
      {HashOf("whose"), QuestionKind::kWhose}, {HashOf("what"), QuestionKind::kWhat},
      {HashOf("which"), QuestionKind::kWhich}, {HashOf("when"), QuestionKind::kWhen},
      {HashOf("where"), QuestionKind::kWhere}, {HashOf("why"), QuestionKind::kWhy},
      {HashOf("how"), QuestionKind::kHow}};
  static const Hash kMany = HashOf("many");
  static const Hash kMuch = HashOf("much");
  static const Hash kPlaceholder = HashOf("placeholder");
  for (size_t i = 0; i < tokens.size(); ++i) {
    const absl::string_view raw = text.substr(static_cast<size_t>(tokens[i].begin),
                                              static_cast<size_t>(tokens[i].end - tokens[i].begin));
    const bool filler = raw.size() >= 3 && raw.find_first_not_of(raw[0]) == raw.npos &&
                        (raw[0] == 'X' || raw[0] == 'x');
    if (filler || tokens[i].word == kPlaceholder ||
        (raw == "_" && i + 1 < tokens.size() && tokens[i + 1].first == '_')) {
      *blank = static_cast<int32_t>(i);
      return QuestionKind::kCloze;
    }
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    for (const Known& one : known) {
      if (tokens[i].word == one.word) {
        *blank = static_cast<int32_t>(i);
        if (one.kind == QuestionKind::kHow && i + 1 < tokens.size()) {
          return tokens[i + 1].word == kMany   ? QuestionKind::kHowMany
                 : tokens[i + 1].word == kMuch ? QuestionKind::kHowMuch
                                               : QuestionKind::kHow;
        }
        return one.kind;
      }
    }
  }
  *blank = static_cast<int32_t>(tokens.size());
  return QuestionKind::kOther;
}

}  // namespace

Hash HashOf(absl::string_view text) {
  Hash h = 0xCBF29CE484222325ULL;
  for (const char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return Mix(h, text.size());
}

std::vector<Token> Tokenize(absl::string_view text) {
  std::vector<Token> tokens;
  tokens.reserve(text.size() / 4);
  for (size_t i = 0; i < text.size();) {
    const Character c = CharacterAt(text, i);
    size_t end = i + c.bytes;
    if (c.kind == Character::kWord) {
      end = std::max(end, WordEnd(text, i));
    } else if (c.kind == Character::kPunctuation && text[i] == '\'' && i > 0 &&
               IsAsciiLetter(text[i - 1]) && i + 1 < text.size() && text[i + 1] == 's' &&
               (i + 2 == text.size() || CharacterAt(text, i + 2).kind != Character::kWord)) {
      end = i + 2;  // 's
    }
    if (c.kind != Character::kSpace) {
      tokens.push_back(MakeToken(text, i, end));
    }
    i = end;
  }
  return tokens;
}

PassageText::PassageText(absl::string_view passage)
    : context(passage), tokens(Tokenize(context)), sentence(tokens.size()) {
  sentence_starts.push_back(0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    sentence[i] = static_cast<int32_t>(sentence_starts.size()) - 1;
    if (i + 1 < tokens.size() && EndsSentence(context, tokens, i)) {
      sentence_starts.push_back(static_cast<int32_t>(i) + 1);
    }
  }
  sentence_starts.push_back(size());
}

QuestionText::QuestionText(absl::string_view text) : tokens(Tokenize(text)) {
  kind = KindOf(text, tokens, &blank);
  const bool asks_for_kind = kind != QuestionKind::kCloze && kind != QuestionKind::kOther;
  for (size_t i = static_cast<size_t>(blank) + 1; asks_for_kind && i < tokens.size(); ++i) {
    if (tokens[i].stop || tokens[i].shape == Shape::kPunctuation) {
      continue;
    }
    if (focus == 0) {
      focus = tokens[i].stem;
    } else {
      verb = tokens[i].stem;
      break;
    }
  }
}

std::vector<std::pair<int32_t, int32_t>> AnswerSpans(const PassageText& passage,
                                                     const qa::Question& question) {
  std::vector<std::pair<int32_t, int32_t>> spans;
  const std::vector<Token>& tokens = passage.tokens;
  for (const qa::Span& span : question.spans) {
    const auto first = std::partition_point(
        tokens.begin(), tokens.end(), [&](const Token& token) { return token.end <= span.begin; });
    const auto last = std::partition_point(
        tokens.begin(), tokens.end(), [&](const Token& token) { return token.begin < span.end; });
    if (first < last) {
      spans.emplace_back(static_cast<int32_t>(first - tokens.begin()),
                         static_cast<int32_t>(last - tokens.begin()) - 1);
    }
  }
  if (!spans.empty()) {
    return spans;
  }
  for (const std::string& answer : question.answers) {
    const std::vector<Token> words = Tokenize(answer);
    for (size_t i = 0; !words.empty() && i + words.size() <= tokens.size(); ++i) {
      const bool same =
          std::equal(words.begin(), words.end(), tokens.begin() + static_cast<int64_t>(i),
                     [](const Token& a, const Token& b) { return a.word == b.word; });
      const std::pair<int32_t, int32_t> found(static_cast<int32_t>(i),
                                              static_cast<int32_t>(i + words.size()) - 1);
      if (same && std::find(spans.begin(), spans.end(), found) == spans.end()) {
        spans.push_back(found);
      }
    }
  }
  return spans;
}

}  // namespace concur::approaches
