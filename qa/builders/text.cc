// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/text.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/builders/sources.h"

namespace concur::qa {
namespace {

struct CodePoint {
  UChar32 value = 0;
  size_t bytes = 0;
};

// REQUIRES: position < text.size(). The value is negative for an invalid sequence.
CodePoint At(absl::string_view text, size_t position) {
  const auto* const data = reinterpret_cast<const uint8_t*>(text.data());
  auto next = static_cast<int64_t>(position);
  UChar32 value = 0;
  U8_NEXT(data, next, static_cast<int64_t>(text.size()), value);
  return {value, static_cast<size_t>(next) - position};
}

bool IsApostrophe(UChar32 c) { return c == '\'' || c == 0x2019; }

bool IsWordPart(UChar32 c) {
  const int8_t category = u_charType(c);
  return u_isalpha(c) || category == U_NON_SPACING_MARK || category == U_COMBINING_SPACING_MARK;
}

absl::Status CheckWords(absl::string_view contents, const std::string& path) {
  int64_t line = 1;
  for (size_t i = 0; i < contents.size();) {
    const CodePoint c = At(contents, i);
    if (c.value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line, ": expected UTF-8, got an invalid byte sequence"));
    }
    if (c.value == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line, ": expected text, got a NUL byte"));
    }
    line += c.value == '\n' ? 1 : 0;
    i += c.bytes;
  }
  return absl::OkStatus();
}

std::vector<Word> FindWords(absl::string_view text) {
  std::vector<Word> words;
  bool after_break = true;
  for (size_t i = 0; i < text.size();) {
    const CodePoint first = At(text, i);
    if (!u_isalpha(first.value)) {
      after_break = after_break || first.value != ' ';
      i += first.bytes;
      continue;
    }
    size_t end = i;
    while (end < text.size()) {
      const CodePoint c = At(text, end);
      if (IsWordPart(c.value)) {
        end += c.bytes;
        continue;
      }
      // An apostrophe or a hyphen belongs to a word only between two letters.
      const size_t behind = end + c.bytes;
      if ((IsApostrophe(c.value) || c.value == '-') && behind < text.size() &&
          u_isalpha(At(text, behind).value)) {
        end = behind;
        continue;
      }
      break;
    }
    words.push_back(Word{static_cast<uint32_t>(i), static_cast<uint32_t>(end),
                         u_isupper(first.value) != 0 || u_istitle(first.value) != 0, after_break});
    after_break = false;
    i = end;
  }
  return words;
}

const absl::flat_hash_set<absl::string_view>& Abbreviations() {
  static const auto* const set = new absl::flat_hash_set<absl::string_view>{
      "mr",   "mrs",   "ms",  "dr",  "st",  "prof", "rev", "gen", "col",
      "capt", "lieut", "jr",  "sr",  "vol", "no",   "vs",  "etc", "messrs",
      "mme",  "mlle",  "hon", "esq", "fig", "co",   "inc", "ltd"};
  return *set;
}

// True if the full stop at `stop` ends an abbreviation or an initial.
bool IsAbbreviation(absl::string_view text, size_t stop) {
  size_t begin = stop;
  while (begin > 0 && absl::ascii_isalpha(static_cast<unsigned char>(text[begin - 1]))) {
    --begin;
  }
  const absl::string_view word = text.substr(begin, stop - begin);
  if (word.size() == 1) {
    return absl::ascii_isupper(static_cast<unsigned char>(word[0])) && word != "I" && word != "O";
  }
  return Abbreviations().contains(LowerAscii(word));
}

// The end of the closing quotes and brackets at `position`.
size_t SkipClosers(absl::string_view text, size_t position) {
  while (position < text.size()) {
    const CodePoint c = At(text, position);
    if (c.value != '"' && c.value != ')' && c.value != ']' && c.value != 0x201D &&
        !IsApostrophe(c.value)) {
      break;
    }
    position += c.bytes;
  }
  return position;
}

void AppendSentence(absl::string_view text, Document& document) {
  Sentence sentence;
  sentence.text = std::string(absl::StripAsciiWhitespace(text));
  sentence.words = FindWords(sentence.text);
  if (!sentence.words.empty()) {
    document.sentences.push_back(std::move(sentence));
  }
}

// Where the next sentence begins if one ends with the mark in [begin, behind) and the quotes and
// brackets that close after it; npos if none ends there. In tokenized text, where a space stands
// before the mark, spaces stand around closing quotes, too, and sentences begin in lower case.
size_t NextSentence(absl::string_view text, size_t begin, size_t behind) {
  const bool token = begin > 0 && text[begin - 1] == ' ';
  size_t end = SkipClosers(text, behind);
  while (token && end + 1 < text.size() && text[end] == ' ' &&
         SkipClosers(text, end + 1) > end + 1) {
    end = SkipClosers(text, end + 1);
  }
  const size_t next = text.find_first_not_of(" \t\r\n", end);
  const bool ends = next != text.npos && next > end &&
                    (token || (!u_islower(At(text, next).value) &&
                               !(text[begin] == '.' && IsAbbreviation(text, begin))));
  return ends ? next : text.npos;
}

// `paragraph` is one line with single spaces.
void AppendParagraph(absl::string_view paragraph, Document& document) {
  size_t begin = 0;
  for (size_t i = 0; i < paragraph.size(); ++i) {
    const char c = paragraph[i];
    if (c != '.' && c != '?' && c != '!') {
      continue;
    }
    const size_t next = NextSentence(paragraph, i, i + 1);
    if (next != paragraph.npos) {
      AppendSentence(paragraph.substr(begin, next - begin), document);
      begin = next;
    }
  }
  AppendSentence(paragraph.substr(begin), document);
}

// Appends the line's words to `paragraph`, with single spaces.
void AppendLine(absl::string_view line, std::string& paragraph) {
  for (absl::string_view piece :
       absl::StrSplit(line, absl::ByAnyChar(" \t\r\f\v"), absl::SkipEmpty())) {
    if (!paragraph.empty()) {
      paragraph.push_back(' ');
    }
    paragraph.append(piece.data(), piece.size());
  }
}

// The verse reference's book: "1Ki" of "1Ki1:12". Empty when it is no reference.
absl::string_view BookOf(absl::string_view reference) {
  const size_t colon = reference.rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == reference.size()) {
    return "";
  }
  for (const char c : reference.substr(colon + 1)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      return "";
    }
  }
  size_t end = colon;
  while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(reference[end - 1]))) {
    --end;
  }
  return end == colon ? "" : reference.substr(0, end);
}

}  // namespace

absl::StatusOr<Document> SplitText(absl::string_view contents, const std::string& path) {
  CONCUR_RETURN_IF_ERROR(CheckWords(contents, path));
  if (absl::StartsWith(contents, "\xEF\xBB\xBF")) {
    contents.remove_prefix(3);
  }
  Document document;
  document.title = path.substr(path.find_last_of('/') + 1);
  std::string paragraph;
  for (absl::string_view line : absl::StrSplit(contents, '\n')) {
    if (absl::StripAsciiWhitespace(line).empty()) {
      AppendParagraph(paragraph, document);
      paragraph.clear();
    } else {
      AppendLine(line, paragraph);
    }
  }
  AppendParagraph(paragraph, document);
  return document;
}

size_t LastSentenceBegin(absl::string_view text) {
  constexpr char kSpace[] = " \t\r\n";
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = At(text, i);
    const size_t behind = i + c.bytes;
    if (c.value == '\n') {
      const size_t next = text.find_first_not_of(kSpace, i);
      if (next != text.npos && std::count(text.begin() + i, text.begin() + next, '\n') > 1) {
        begin = next;
      }
    }
    if (c.value == '.' || c.value == '?' || c.value == '!' || c.value == 0x2026) {
      const size_t next = NextSentence(text, i, behind);
      begin = next == text.npos ? begin : next;
    }
    i = behind;
  }
  return begin;
}

absl::StatusOr<std::vector<Document>> SplitBible(absl::string_view verses) {
  CONCUR_RETURN_IF_ERROR(CheckWords(verses, "bible"));
  std::vector<Document> documents;
  std::string paragraph;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(verses, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) {
      continue;
    }
    const size_t space = line.find(' ');
    const absl::string_view book =
        space == absl::string_view::npos ? "" : BookOf(line.substr(0, space));
    if (book.empty()) {
      return absl::DataLossError(absl::StrCat("bible:", number,
                                              ": expected BOOKchapter:verse and text, got \"",
                                              line.substr(0, 40), "\""));
    }
    if (documents.empty() || documents.back().title != book) {
      if (!documents.empty()) {
        AppendParagraph(paragraph, documents.back());
        paragraph.clear();
      }
      documents.emplace_back();
      documents.back().title = std::string(book);
    }
    AppendLine(line.substr(space + 1), paragraph);
  }
  if (documents.empty()) {
    return absl::DataLossError("bible: expected verses, got no line");
  }
  AppendParagraph(paragraph, documents.back());
  return documents;
}

absl::StatusOr<std::vector<Document>> LoadText(const std::string& path, SourceLog& sources) {
  if (path.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::string verses, sources.ReadBible());
    return SplitBible(verses);
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string contents, sources.ReadOwn(path));
  CONCUR_ASSIGN_OR_RETURN(Document document, SplitText(contents, path));
  std::vector<Document> documents;
  documents.push_back(std::move(document));
  return documents;
}

std::string LowerAscii(absl::string_view text) { return absl::AsciiStrToLower(text); }

bool IsFunctionWord(absl::string_view lower) {
  static const auto* const words = new absl::flat_hash_set<absl::string_view>{
      "a",          "about",   "above",   "after",    "again",     "against",   "all",     "also",
      "am",         "an",      "and",     "any",      "are",       "art",       "as",      "at",
      "be",         "because", "been",    "before",   "being",     "below",     "between", "both",
      "but",        "by",      "can",     "cannot",   "could",     "did",       "didst",   "do",
      "does",       "doest",   "doeth",   "done",     "dost",      "doth",      "down",    "each",
      "either",     "even",    "ever",    "every",    "few",       "for",       "forth",   "from",
      "further",    "had",     "hadst",   "has",      "hast",      "hath",      "have",    "having",
      "he",         "hence",   "her",     "here",     "hereof",    "hers",      "herself", "him",
      "himself",    "his",     "how",     "i",        "if",        "in",        "into",    "is",
      "it",         "its",     "itself",  "let",      "lest",      "many",      "may",     "mayest",
      "me",         "might",   "mine",    "more",     "most",      "much",      "must",    "my",
      "myself",     "nay",     "neither", "no",       "nor",       "not",       "now",     "o",
      "of",         "off",     "oh",      "on",       "once",      "one",       "only",    "or",
      "other",      "others",  "ought",   "our",      "ours",      "ourselves", "out",     "over",
      "own",        "same",    "shall",   "shalt",    "she",       "should",    "so",      "some",
      "such",       "than",    "that",    "the",      "thee",      "their",     "theirs",  "them",
      "themselves", "then",    "thence",  "there",    "therefore", "therein",   "thereof", "these",
      "they",       "thine",   "this",    "those",    "thou",      "though",    "through", "thus",
      "thy",        "thyself", "to",      "too",      "two",       "under",     "unto",    "until",
      "up",         "upon",    "us",      "very",     "was",       "wast",      "we",      "were",
      "wert",       "what",    "when",    "whence",   "where",     "wherefore", "wherein", "which",
      "while",      "who",     "whom",    "whose",    "why",       "will",      "wilt",    "with",
      "within",     "without", "would",   "wouldest", "ye",        "yea",       "yes",     "yet",
      "you",        "your",    "yours",   "yourself", "yourselves"};
  return words->contains(lower);
}

RegionSplit SplitRegions(const std::vector<Document>& documents, uint32_t sentences,
                         int64_t train_share, int64_t test_share, Random& random) {
  std::vector<Region> regions;
  for (size_t d = 0; d < documents.size(); ++d) {
    const auto size = static_cast<uint32_t>(documents[d].sentences.size());
    for (uint32_t begin = 0; begin < size; begin += sentences) {
      regions.push_back(Region{static_cast<uint32_t>(d), begin, std::min(begin + sentences, size)});
    }
  }
  random.Shuffle(regions);
  int64_t all = 0;
  for (const Region& region : regions) {
    all += region.end - region.begin;
  }
  const double train_target = static_cast<double>(all) * static_cast<double>(train_share) /
                              static_cast<double>(std::max<int64_t>(train_share + test_share, 1));
  RegionSplit split;
  int64_t taken = 0;
  for (const Region& region : regions) {
    const bool to_train = static_cast<double>(taken) < train_target;
    (to_train ? split.train : split.test).push_back(region);
    taken += to_train ? region.end - region.begin : 0;
  }
  return split;
}

std::vector<TextWindow> FindWindows(
    const std::vector<Document>& documents, const std::vector<Region>& regions, uint32_t step,
    const std::function<bool(const Document&, uint32_t, uint32_t, TextWindow&)>& choose) {
  std::vector<TextWindow> windows;
  for (const Region& region : regions) {
    const Document& document = documents[region.document];
    for (uint32_t begin = region.begin; begin < region.end;) {
      TextWindow window;
      window.document = region.document;
      window.begin = begin;
      if (!choose(document, begin, region.end, window)) {
        ++begin;
        continue;
      }
      windows.push_back(window);
      begin = step == 0 ? window.last + 1 : begin + step;
    }
  }
  return windows;
}

}  // namespace concur::qa
