// SPDX-License-Identifier: Apache-2.0
// FuzzySyntheticQA (Liu et al., ACL 2023): the question is the answer's context with the answer
// masked, some words replaced by near ones, the word order locally permuted and words left out.
#include <algorithm>
#include <array>
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
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/builders/builder.h"
#include "qa/builders/cooccurrence.h"
#include "qa/builders/neighbour_table.h"
#include "qa/builders/passages.h"
#include "qa/builders/text.h"
#include "qa/builders/word_vectors.h"
#include "qa/builders/wordnet.h"

namespace concur::qa {
namespace {

constexpr size_t kBatchPassages = 256;  // share one search for neighbours
constexpr int64_t kDrawsPerPassageMax = 100;
constexpr int64_t kOccurrencesMin = 5;  // required in the text before a word gets a vector
constexpr uint32_t kNoVector = UINT32_MAX;

struct Options {
  int64_t train_questions = 0;
  int64_t test_questions = 0;
  int64_t per_passage = 0;
  size_t context_tokens = 0;
  size_t neighbours = 0;
  NeighbourSearch search = NeighbourSearch::kExact;
  double replacement_rate = 0;
  double permutation_distance = 0;
  double dropout = 0;
};

// A question before its neighbours are known.
struct Draft {
  struct Slot {
    uint32_t token = 0;
    bool mask = false;
    bool dropped = false;
    uint32_t rank = kNoVector;  // position of the neighbour that replaces the token
  };
  uint32_t answer = 0;  // position in the passage
  std::vector<Slot> slots;
};

struct DraftPassage {
  std::vector<uint32_t> tokens;
  std::vector<Draft> questions;
};

class FuzzyGenerator : public Generator {
 public:
  FuzzyGenerator(Options options, WordVectors vectors, TokenTable table,
                 std::unique_ptr<PassageSource> source, uint64_t seed)
      : options_(options),
        vectors_(std::move(vectors)),
        neighbours_(vectors_, options.neighbours, options.search),
        table_(std::move(table)),
        source_(std::move(source)),
        seed_(seed) {
    absl::flat_hash_map<absl::string_view, uint32_t> rows;
    for (uint32_t row = 0; row < vectors_.size(); ++row) {
      rows.emplace(vectors_.words()[row], row);
    }
    for (uint32_t token = 0; token < table_.size(); ++token) {
      auto row = rows.find(table_[token]);
      if (row == rows.end()) {
        row = rows.find(absl::AsciiStrToLower(table_[token]));
      }
      row_of_token_.push_back(row == rows.end() ? kNoVector : row->second);
      answerable_.push_back(IsAnswerable(table_[token]));
    }
  }

  absl::Status Generate(Split split, const PassageSink& sink) override;

 private:
  absl::Status DraftOne(Split split, int64_t questions, Random& random, DraftPassage& draft);
  Draft DraftQuestion(const std::vector<uint32_t>& tokens, uint32_t answer, Random& random) const;
  Passage Render(const DraftPassage& draft, absl::string_view id_prefix) const;

  Options options_;
  WordVectors vectors_;
  NeighbourTable neighbours_;
  TokenTable table_;
  std::unique_ptr<PassageSource> source_;
  uint64_t seed_;
  std::vector<uint32_t> row_of_token_;
  std::vector<bool> answerable_;
  absl::flat_hash_set<Digest> contexts_;
};

Draft FuzzyGenerator::DraftQuestion(const std::vector<uint32_t>& tokens, uint32_t answer,
                                    Random& random) const {
  Draft draft;
  draft.answer = answer;
  const size_t before = options_.context_tokens / 2;
  const size_t after = options_.context_tokens - before;
  const size_t begin = answer < before ? 0 : answer - before;
  const size_t end = std::min(tokens.size(), answer + after + 1);
  std::vector<std::pair<double, Draft::Slot>> slots;
  for (size_t i = begin; i < end; ++i) {
    Draft::Slot slot;
    slot.token = tokens[i];
    slot.mask = i == answer;
    // The number of draws does not depend on the rates, so that a rate changes only its own effect.
    const bool replaced = random.Chance(options_.replacement_rate);
    const auto rank = static_cast<uint32_t>(random.Below(neighbours_.neighbours()));
    const double shift = random.Uniform() * (options_.permutation_distance + 1);
    const bool dropped = random.Chance(options_.dropout);
    if (!slot.mask) {
      slot.rank = replaced && row_of_token_[slot.token] != kNoVector ? rank : kNoVector;
      slot.dropped = dropped;
    }
    // Sorting i + U(0, k+1) moves no token further than k (Lample et al., 2018).
    slots.emplace_back(static_cast<double>(i - begin) + shift, slot);
  }
  std::stable_sort(slots.begin(), slots.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, slot] : slots) {
    draft.slots.push_back(slot);
  }
  return draft;
}

absl::Status FuzzyGenerator::DraftOne(Split split, int64_t questions, Random& random,
                                      DraftPassage& draft) {
  for (int64_t attempt = 0; attempt < kDrawsPerPassageMax; ++attempt) {
    CONCUR_RETURN_IF_ERROR(source_->Next(split, random, draft.tokens));
    std::string key;
    for (const uint32_t token : draft.tokens) {
      key.append(reinterpret_cast<const char*>(&token), sizeof(token));
    }
    std::vector<uint32_t> answers;
    for (uint32_t i = 0; i < draft.tokens.size(); ++i) {
      if (answerable_[draft.tokens[i]]) {
        answers.push_back(i);
      }
    }
    if (answers.empty() || !contexts_.insert(Sha256Of(key)).second) {
      continue;
    }
    for (int64_t q = 0; q < questions; ++q) {
      const uint32_t answer = answers[random.Below(answers.size())];
      draft.questions.push_back(DraftQuestion(draft.tokens, answer, random));
    }
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("no new passage in ", kDrawsPerPassageMax,
                                                   " draws; the passages repeat themselves"));
}

Passage FuzzyGenerator::Render(const DraftPassage& draft, absl::string_view id_prefix) const {
  Passage passage;
  std::vector<Span> spans;
  for (const uint32_t token : draft.tokens) {
    passage.context.append(spans.empty() ? "" : " ");
    const auto begin = static_cast<int64_t>(passage.context.size());
    passage.context.append(table_[token]);
    spans.push_back(Span{begin, static_cast<int64_t>(passage.context.size())});
  }
  for (const Draft& item : draft.questions) {
    Question question;
    question.id = absl::StrCat(id_prefix, "-", passage.questions.size());
    for (const Draft::Slot& slot : item.slots) {
      if (slot.dropped) {
        continue;
      }
      question.text.append(question.text.empty() ? "" : " ");
      if (slot.mask) {
        absl::StrAppend(&question.text, kMask);
      } else if (slot.rank != kNoVector) {
        const uint32_t near = neighbours_.Of(row_of_token_[slot.token])[slot.rank];
        question.text.append(vectors_.words()[near]);
      } else {
        question.text.append(table_[slot.token]);
      }
    }
    question.answers.push_back(table_[draft.tokens[item.answer]]);
    question.spans.push_back(spans[item.answer]);
    passage.questions.push_back(std::move(question));
  }
  return passage;
}

absl::Status FuzzyGenerator::Generate(Split split, const PassageSink& sink) {
  const int64_t wanted =
      split == Split::kTrain ? options_.train_questions : options_.test_questions;
  Random random(seed_, absl::StrCat("fuzzy/", SplitName(split)));
  int64_t drafted = 0;
  int64_t number = 0;
  std::vector<DraftPassage> batch;
  std::vector<uint32_t> unknown;
  while (drafted < wanted) {
    batch.clear();
    unknown.clear();
    while (batch.size() < kBatchPassages && drafted < wanted) {
      const int64_t questions = std::min(options_.per_passage, wanted - drafted);
      batch.emplace_back();
      const absl::Status status = DraftOne(split, questions, random, batch.back());
      if (!status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("fuzzy: ", SplitName(split), " after ", drafted, " of ",
                                         wanted, " questions: ", status.message()));
      }
      drafted += questions;
      for (const Draft& question : batch.back().questions) {
        for (const Draft::Slot& slot : question.slots) {
          if (slot.rank != kNoVector && !slot.dropped) {
            unknown.push_back(row_of_token_[slot.token]);
          }
        }
      }
    }
    neighbours_.Fill(unknown);
    for (const DraftPassage& draft : batch) {
      CONCUR_RETURN_IF_ERROR(
          sink(Render(draft, absl::StrCat("fuzzy-", SplitName(split), "-", number++))));
    }
  }
  return absl::OkStatus();
}

// --- the text and its vectors ---

// Sentences of lower-case words.
using TextWords = std::vector<std::vector<std::string>>;

// Runs of ASCII letters, in lower case.
std::vector<std::string> LetterRuns(absl::string_view text) {
  std::vector<std::string> words;
  size_t i = 0;
  while (i < text.size()) {
    size_t end = i;
    while (end < text.size() && absl::ascii_isalpha(static_cast<unsigned char>(text[end]))) {
      ++end;
    }
    if (end > i) {
      words.push_back(LowerAscii(text.substr(i, end - i)));
    }
    i = end + 1;
  }
  return words;
}

// The user's text, or WordNet's definitions and examples, each after the words it defines.
absl::StatusOr<TextWords> ReadWords(const std::string& path, SourceLog& sources) {
  TextWords sentences;
  if (!path.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<Document> documents, LoadText(path, sources));
    for (const Document& document : documents) {
      for (const Sentence& sentence : document.sentences) {
        sentences.push_back(LetterRuns(sentence.text));
      }
    }
    return sentences;
  }
  CONCUR_ASSIGN_OR_RETURN(const WordNet wordnet, WordNet::Load(sources));
  for (const Synset& synset : wordnet.synsets()) {
    std::vector<std::string> sentence;
    for (const absl::string_view word : synset.words) {
      for (std::string& part : LetterRuns(word)) {
        sentence.push_back(std::move(part));
      }
    }
    for (std::string& word : LetterRuns(synset.gloss)) {
      sentence.push_back(std::move(word));
    }
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// Words of the dictionary that the text uses often enough, the most frequent first.
absl::StatusOr<std::vector<std::string>> ChooseVocabulary(const TextWords& text, size_t words_max,
                                                          SourceLog& sources) {
  CONCUR_ASSIGN_OR_RETURN(const std::string dictionary,
                          sources.ReadPackaged(sources.paths().dictionary, "wamerican"));
  const absl::flat_hash_set<absl::string_view> known = absl::StrSplit(dictionary, '\n');
  absl::flat_hash_map<absl::string_view, int64_t> counts;
  for (const auto& sentence : text) {
    for (const std::string& word : sentence) {
      ++counts[word];
    }
  }
  std::vector<std::pair<int64_t, absl::string_view>> order;
  for (const auto& [word, count] : counts) {
    if (count >= kOccurrencesMin && word.size() > 1 && known.contains(word) && IsAnswerable(word)) {
      order.emplace_back(-count, word);
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> vocabulary;
  for (size_t i = 0; i < std::min(order.size(), words_max); ++i) {
    vocabulary.emplace_back(order[i].second);
  }
  if (vocabulary.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("fuzzy: the text has ", vocabulary.size(), " words that ",
                     sources.paths().dictionary, " lists and that occur ", kOccurrencesMin,
                     " times or more; expected at least 2: give a longer --text or --vectors"));
  }
  return vocabulary;
}

WordVectors DeriveVectors(const TextWords& text, std::vector<std::string> vocabulary,
                          size_t dimensions) {
  absl::flat_hash_map<absl::string_view, uint32_t> numbers;
  for (uint32_t i = 0; i < vocabulary.size(); ++i) {
    numbers.emplace(vocabulary[i], i);
  }
  WordStream stream;
  for (const auto& sentence : text) {
    for (const std::string& word : sentence) {
      const auto it = numbers.find(word);
      if (it != numbers.end()) {
        stream.words.push_back(it->second);
      }
    }
    stream.ends.push_back(static_cast<uint32_t>(stream.words.size()));
  }
  CooccurrenceOptions options;
  options.dimensions = std::min(dimensions, vocabulary.size());
  const std::vector<float> values = CooccurrenceVectors(stream, vocabulary.size(), options);
  return WordVectors(std::move(vocabulary), values, options.dimensions);
}

// The text is read at most once, on first use.
class LazyText {
 public:
  LazyText(std::string path, SourceLog& sources) : path_(std::move(path)), sources_(sources) {}
  absl::StatusOr<const TextWords*> Get() {
    if (text_ == nullptr) {
      CONCUR_ASSIGN_OR_RETURN(TextWords text, ReadWords(path_, sources_));
      text_ = std::make_unique<TextWords>(std::move(text));
    }
    return text_.get();
  }

 private:
  std::string path_;
  SourceLog& sources_;
  std::unique_ptr<TextWords> text_;
};

absl::StatusOr<WordVectors> MakeVectors(const BuilderInput& input, LazyText& text) {
  const Parameters& p = input.parameters;
  const auto words_max = static_cast<size_t>(p.Count("vocabulary"));
  if (const std::string& path = p.Text("vectors"); !path.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::string contents, input.sources.ReadOwn(path));
    CONCUR_ASSIGN_OR_RETURN(VectorsFile file, ParseVectors(contents, path, words_max));
    input.header["vectors.words"] = absl::StrCat(file.vectors.size());
    input.header["vectors.dropped"] = absl::StrCat(file.dropped);
    return std::move(file.vectors);
  }
  CONCUR_ASSIGN_OR_RETURN(const TextWords* const words, text.Get());
  CONCUR_ASSIGN_OR_RETURN(std::vector<std::string> vocabulary,
                          ChooseVocabulary(*words, words_max, input.sources));
  input.header["vectors.words"] = absl::StrCat(vocabulary.size());
  return DeriveVectors(*words, std::move(vocabulary),
                       static_cast<size_t>(p.Count("vector-dimensions")));
}

// The tokens of uniform passages: the words of --words, as between white space, or those with
// vectors.
absl::StatusOr<TokenTable> MakeTable(const BuilderInput& input, const WordVectors& vectors) {
  TokenTable table;
  const std::string& path = input.parameters.Text("words");
  if (path.empty()) {
    for (const std::string& word : vectors.words()) {
      table.Intern(word);
    }
    return table;
  }
  const std::string& kind = input.parameters.Text("passages");
  if (kind != "uniform") {
    return absl::InvalidArgumentError(
        absl::StrCat("fuzzy: --words: expected --passages uniform, got ", kind));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string contents, input.sources.ReadOwn(path));
  if (const size_t wrong = FindInvalidUtf8(contents); wrong != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":",
        1 + std::count(contents.begin(), contents.begin() + static_cast<int64_t>(wrong), '\n'),
        ": expected a text in UTF-8; convert the file"));
  }
  bool any_answerable = false;
  for (const absl::string_view word :
       absl::StrSplit(contents, absl::ByAnyChar(" \t\r\n\v\f"), absl::SkipEmpty())) {
    any_answerable = any_answerable || IsAnswerable(word);
    table.Intern(word);
  }
  if (!any_answerable) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected words, some of letters or digits to ask for, got ", table.size()));
  }
  input.header["words.types"] = absl::StrCat(table.size());
  return table;
}

absl::StatusOr<std::unique_ptr<PassageSource>> MakeSource(const BuilderInput& input, LazyText& text,
                                                          TokenTable& table) {
  const Parameters& p = input.parameters;
  const auto length = static_cast<size_t>(p.Count("passage-tokens"));
  const std::string& kind = p.Text("passages");
  if (kind == "uniform") {
    return UniformPassages(static_cast<uint32_t>(table.size()), length);
  }
  if (kind == "trigram") {
    CONCUR_ASSIGN_OR_RETURN(const TextWords* const sentences, text.Get());
    std::vector<std::string> words;
    for (const auto& sentence : *sentences) {
      words.insert(words.end(), sentence.begin(), sentence.end());
    }
    return TrigramPassages(words, length, table);
  }
  const std::string& path = p.Text("passage-file");
  if (path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fuzzy: --passages ", kind,
        " needs --passage-file FILE: ", kind == "pcfg" ? "the grammar" : "one passage a line"));
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string contents, input.sources.ReadOwn(path));
  if (kind == "pcfg") {
    return GrammarPassages(contents, path, length, table);
  }
  return FilePassages(contents, path, length, p.Count("train-questions"), p.Count("test-questions"),
                      input.seed, table);
}

absl::StatusOr<std::unique_ptr<Generator>> MakeFuzzy(const BuilderInput& input) {
  const Parameters& p = input.parameters;
  Options options;
  options.train_questions = p.Count("train-questions");
  options.test_questions = p.Count("test-questions");
  options.per_passage = p.Count("questions-per-passage");
  options.context_tokens = static_cast<size_t>(p.Count("context-tokens"));
  options.neighbours = static_cast<size_t>(p.Count("neighbours"));
  options.search =
      p.Text("search") == "approximate" ? NeighbourSearch::kApproximate : NeighbourSearch::kExact;
  options.replacement_rate = p.Rate("replacement-rate");
  options.permutation_distance = static_cast<double>(p.Count("permutation-distance"));
  options.dropout = p.Rate("dropout");
  LazyText text(p.Text("text"), input.sources);
  CONCUR_ASSIGN_OR_RETURN(WordVectors vectors, MakeVectors(input, text));
  CONCUR_ASSIGN_OR_RETURN(TokenTable table, MakeTable(input, vectors));
  CONCUR_ASSIGN_OR_RETURN(std::unique_ptr<PassageSource> source, MakeSource(input, text, table));
  input.header["split_by"] = "passage: none is in both train and test";
  return std::make_unique<FuzzyGenerator>(options, std::move(vectors), std::move(table),
                                          std::move(source), input.seed);
}

}  // namespace

BuilderInfo FuzzyBuilder() {
  BuilderInfo info;
  info.name = "fuzzy";
  info.version = "1";
  info.summary = "noisy copies of a random passage's parts with one word masked (FuzzySyntheticQA)";
  info.parameters = {
      CountParameter("train-questions", 10'000, 1, 10'000'000, "questions of the train set"),
      CountParameter("test-questions", 10'000, 1, 10'000'000, "questions of the test set"),
      CountParameter("questions-per-passage", 5, 1, 1000, "questions on a passage"),
      CountParameter("passage-tokens", 150, 2, 100'000, "tokens of a passage"),
      CountParameter("context-tokens", 10, 1, 1000, "tokens around the answer in a question"),
      CountParameter("neighbours", 100, 1, 10'000, "a word is replaced by one of so many nearest"),
      RecordedWhereGiven(ChoiceParameter("search", {"exact", "approximate"},
                                         "for neighbours; approximate: faster where there are "
                                         "many words with long vectors, and misses some")),
      RateParameter("replacement-rate", "0.5", "share of words that are replaced"),
      CountParameter("permutation-distance", 3, 0, 1000, "how far a word may move"),
      RateParameter("dropout", "0.2", "share of words that are left out"),
      ChoiceParameter("passages", {"uniform", "trigram", "pcfg", "file"}, "what makes passages"),
      FileParameter("passage-file", "", "of pcfg: the grammar; of file: one passage a line"),
      RecordedWhereGiven(FileParameter(
          "words", "", "of uniform: a text whose words are drawn, instead of those with vectors")),
      FileParameter("vectors", "", "word2vec or GloVe text file; without it, vectors are derived"),
      FileParameter("text", "", "text for vectors and 3-grams instead of WordNet's definitions"),
      CountParameter("vocabulary", 20'000, 2, 5'000'000, "words with vectors, at most"),
      CountParameter("vector-dimensions", 64, 2, 1024, "of derived vectors"),
  };
  info.make = MakeFuzzy;
  return info;
}

}  // namespace concur::qa
