// SPDX-License-Identifier: Apache-2.0
// Two benchmarks made from running text: `cloze` in the manner of the Children's Book Test (Hill et
// al., 2016) and `lastword` in the manner of LAMBADA (Paperno et al., 2016), both in the extractive
// form of Liu et al. (2023): the answer is a word of the context.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "qa/builders/builder.h"
#include "qa/builders/sampling.h"
#include "qa/builders/text.h"
#include "qa/builders/wordnet.h"

namespace concur::qa {
namespace {

// Sentences of a piece of text that goes to one split as a whole, in windows.
constexpr uint32_t kWindowsPerRegion = 10;

// The sentence with word `word` replaced by the mask.
std::string Masked(const Sentence& sentence, uint32_t word) {
  const Word& at = sentence.words[word];
  const absl::string_view text = sentence.text;
  return absl::StrCat(text.substr(0, at.begin), kMask, text.substr(at.end));
}

// The first occurrence of `word` in sentences [begin, end) as a span of their join with spaces;
// an empty span when there is none.
Span FirstOccurrence(const Document& document, uint32_t begin, uint32_t end,
                     absl::string_view word) {
  int64_t offset = 0;
  for (uint32_t s = begin; s < end; ++s) {
    const Sentence& sentence = document.sentences[s];
    for (size_t w = 0; w < sentence.words.size(); ++w) {
      if (sentence[w] == word) {
        return Span{offset + sentence.words[w].begin, offset + sentence.words[w].end};
      }
    }
    offset += static_cast<int64_t>(sentence.text.size()) + 1;
  }
  return Span{};
}

std::string Join(const Document& document, uint32_t begin, uint32_t end) {
  std::string context;
  for (uint32_t s = begin; s < end; ++s) {
    absl::StrAppend(&context, s == begin ? "" : " ", document.sentences[s].text);
  }
  return context;
}

// The generator of both builders: windows are found beforehand; each gives one question.
class WindowGenerator : public Generator {
 public:
  struct Found {
    std::vector<TextWindow> windows;
    int64_t questions = 0;
  };

  // The form of a question on a window's last sentence.
  struct Form {
    bool with_final_sentence = false;  // the context goes on to the word before the masked one
    bool cut = false;                  // the question ends before the word, without a mask
  };

  WindowGenerator(std::string name, std::vector<Document> documents, Found train, Found test,
                  Form form, uint64_t seed)
      : name_(std::move(name)),
        documents_(std::move(documents)),
        train_(std::move(train)),
        test_(std::move(test)),
        form_(form),
        seed_(seed) {}

  absl::Status Generate(Split split, const PassageSink& sink) override;

 private:
  Passage MakePassage(const TextWindow& window) const;

  std::string name_;
  std::vector<Document> documents_;
  Found train_;
  Found test_;
  Form form_;
  uint64_t seed_;
  absl::flat_hash_set<Digest> contexts_;
};

Passage WindowGenerator::MakePassage(const TextWindow& window) const {
  const Document& document = documents_[window.document];
  const Sentence& last = document.sentences[window.last];
  Passage passage;
  passage.title = document.title;
  passage.context = Join(document, window.begin, window.last);
  Question question;
  const absl::string_view before = absl::StripTrailingAsciiWhitespace(
      absl::string_view(last.text).substr(0, last.words[window.word].begin));
  question.text = form_.cut ? std::string(before) : Masked(last, window.word);
  question.answers.emplace_back(last[window.word]);
  question.spans.push_back(
      FirstOccurrence(document, window.begin, window.last, question.answers[0]));
  if (form_.with_final_sentence) {
    absl::StrAppend(&passage.context, " ", before);
  }
  passage.questions.push_back(std::move(question));
  return passage;
}

absl::Status WindowGenerator::Generate(Split split, const PassageSink& sink) {
  const Found& found = split == Split::kTrain ? train_ : test_;
  Random random(seed_, absl::StrCat(name_, "/", SplitName(split)));
  int64_t made = 0;
  // Texts repeat passages: a context that was used before is skipped.
  for (const uint32_t index : SampleInOrder(found.windows.size(), found.windows.size(), random)) {
    if (made == found.questions) {
      break;
    }
    Passage passage = MakePassage(found.windows[index]);
    if (!contexts_.insert(Sha256Of(passage.context)).second) {
      continue;
    }
    passage.questions[0].id = absl::StrCat(name_, "-", SplitName(split), "-", made);
    ++made;
    CONCUR_RETURN_IF_ERROR(sink(std::move(passage)));
  }
  if (made < found.questions) {
    return absl::InvalidArgumentError(absl::StrCat(
        name_, ": the text yields ", made, " ", SplitName(split), " questions, ", found.questions,
        " were asked for; ask for fewer, give a longer --text, or set --step 1 so that passages "
        "may overlap within a split"));
  }
  return absl::OkStatus();
}

using Choose = std::function<bool(const Document&, uint32_t, uint32_t, TextWindow&)>;

std::unique_ptr<Generator> MakeGenerator(const BuilderInput& input, const std::string& name,
                                         std::vector<Document> documents, uint32_t window_sentences,
                                         WindowGenerator::Form form, const Choose& choose) {
  const Parameters& p = input.parameters;
  WindowGenerator::Found train{{}, p.Count("train-questions")};
  WindowGenerator::Found test{{}, p.Count("test-questions")};
  Random random(input.seed, name + "/regions");
  const RegionSplit regions = SplitRegions(documents, window_sentences * kWindowsPerRegion,
                                           train.questions, test.questions, random);
  const auto step = static_cast<uint32_t>(p.Count("step"));
  train.windows = FindWindows(documents, regions.train, step, choose);
  test.windows = FindWindows(documents, regions.test, step, choose);
  input.header["split_by"] =
      absl::StrCat("disjoint regions of the text: pieces of ", window_sentences * kWindowsPerRegion,
                   " sentences, dealt out at random");
  return std::make_unique<WindowGenerator>(name, std::move(documents), std::move(train),
                                           std::move(test), form, input.seed);
}

std::vector<ParameterInfo> SharedParameters(int64_t train_questions, int64_t test_questions) {
  return {
      CountParameter("train-questions", train_questions, 1, 10'000'000,
                     "questions of the train set"),
      CountParameter("test-questions", test_questions, 1, 10'000'000, "questions of the test set"),
      FileParameter("text", "", "plain UTF-8 text to use instead of the King James Bible"),
      CountParameter("step", 0, 0, 1'000'000,
                     "sentences from one passage's begin to the next one's; 0: no overlap"),
  };
}

// --- cloze ---

enum class ClozeKind { kCommonNoun, kNamedEntity };

// Words that the text writes with a capital inside sentences, more often than without.
absl::flat_hash_set<std::string> FindNames(const std::vector<Document>& documents) {
  absl::flat_hash_map<std::string, int64_t> balance;
  for (const Document& document : documents) {
    for (const Sentence& sentence : document.sentences) {
      for (size_t w = 0; w < sentence.words.size(); ++w) {
        if (!sentence.words[w].capitalised) {
          --balance[LowerAscii(sentence[w])];
        } else if (!sentence.words[w].after_break) {
          ++balance[LowerAscii(sentence[w])];
        }
      }
    }
  }
  absl::flat_hash_set<std::string> names;
  for (const auto& [word, count] : balance) {
    if (count > 0 && word.size() > 1 && !IsFunctionWord(word)) {
      names.insert(word);
    }
  }
  return names;
}

class ClozeChooser {
 public:
  ClozeChooser(ClozeKind kind, uint32_t sentences, const WordClasses& classes,
               const std::vector<Document>& documents, uint64_t seed)
      : kind_(kind), sentences_(sentences), random_(seed, "cloze/answers") {
    if (kind == ClozeKind::kNamedEntity) {
      accepted_ = FindNames(documents);
      return;
    }
    for (const Document& document : documents) {
      for (const Sentence& sentence : document.sentences) {
        for (size_t w = 0; w < sentence.words.size(); ++w) {
          const absl::string_view word = sentence[w];
          if (!sentence.words[w].capitalised && word.size() > 1 && !IsFunctionWord(word) &&
              seen_.insert(std::string(word)).second && classes.IsCommonNoun(word)) {
            accepted_.insert(std::string(word));
          }
        }
      }
    }
  }

  bool operator()(const Document& document, uint32_t begin, uint32_t end, TextWindow& window) {
    if (end - begin <= sentences_) {
      return false;
    }
    window.last = begin + sentences_;
    const Sentence& question = document.sentences[window.last];
    std::vector<uint32_t> candidates;
    for (uint32_t w = 0; w < question.words.size(); ++w) {
      if (IsAnswer(question, w) &&
          FirstOccurrence(document, begin, window.last, question[w]).end > 0) {
        candidates.push_back(w);
      }
    }
    if (candidates.empty()) {
      return false;
    }
    window.word = candidates[random_.Below(candidates.size())];
    return true;
  }

 private:
  bool IsAnswer(const Sentence& sentence, uint32_t w) const {
    const Word& word = sentence.words[w];
    if (kind_ == ClozeKind::kCommonNoun) {
      return !word.capitalised && accepted_.contains(std::string(sentence[w]));
    }
    return word.capitalised && !word.after_break && accepted_.contains(LowerAscii(sentence[w]));
  }

  ClozeKind kind_;
  uint32_t sentences_;
  Random random_;
  absl::flat_hash_set<std::string> seen_;
  absl::flat_hash_set<std::string> accepted_;
};

absl::StatusOr<std::unique_ptr<Generator>> MakeCloze(const BuilderInput& input) {
  const Parameters& p = input.parameters;
  const ClozeKind kind =
      p.Text("kind") == "named-entity" ? ClozeKind::kNamedEntity : ClozeKind::kCommonNoun;
  CONCUR_ASSIGN_OR_RETURN(std::vector<Document> documents, LoadText(p.Text("text"), input.sources));
  WordClasses classes;
  if (kind == ClozeKind::kCommonNoun) {
    CONCUR_ASSIGN_OR_RETURN(classes, WordClasses::Load(input.sources));
  }
  const auto sentences = static_cast<uint32_t>(p.Count("context-sentences"));
  const auto chooser =
      std::make_shared<ClozeChooser>(kind, sentences, classes, documents, input.seed);
  return MakeGenerator(
      input, "cloze", std::move(documents), sentences + 1, {},
      [chooser](const Document& document, uint32_t begin, uint32_t end, TextWindow& window) {
        return (*chooser)(document, begin, end, window);
      });
}

// --- lastword ---

struct LastWordOptions {
  uint32_t context_sentences_min = 0;
  int64_t context_words_min = 0;
};

bool ChooseLastWord(const LastWordOptions& options, const Document& document, uint32_t begin,
                    uint32_t end, TextWindow& window) {
  int64_t words = 0;
  uint32_t last = begin;
  while (last < end &&
         (last - begin < options.context_sentences_min || words < options.context_words_min)) {
    words += static_cast<int64_t>(document.sentences[last++].words.size());
  }
  if (last >= end) {
    return false;
  }
  const Sentence& question = document.sentences[last];
  window.last = last;
  window.word = static_cast<uint32_t>(question.words.size() - 1);
  const absl::string_view answer = question[window.word];
  return question.words.size() > 1 && answer.size() > 1 && !IsFunctionWord(LowerAscii(answer)) &&
         FirstOccurrence(document, begin, last, answer).end > 0;
}

absl::StatusOr<std::unique_ptr<Generator>> MakeLastWord(const BuilderInput& input) {
  const Parameters& p = input.parameters;
  CONCUR_ASSIGN_OR_RETURN(std::vector<Document> documents, LoadText(p.Text("text"), input.sources));
  LastWordOptions options;
  options.context_sentences_min = static_cast<uint32_t>(p.Count("context-sentences"));
  options.context_words_min = p.Count("context-words");
  return MakeGenerator(
      input, "lastword", std::move(documents), options.context_sentences_min + 1,
      {p.Text("context") == "with-final-sentence", p.Text("question") == "cut"},
      [options](const Document& document, uint32_t begin, uint32_t end, TextWindow& window) {
        return ChooseLastWord(options, document, begin, end, window);
      });
}

}  // namespace

BuilderInfo ClozeBuilder() {
  BuilderInfo info;
  info.name = "cloze";
  info.version = "1";
  info.summary = "a sentence with a word removed after 20 sentences of real text (CBT)";
  info.parameters = SharedParameters(800, 300);
  info.parameters.push_back(
      ChoiceParameter("kind", {"common-noun", "named-entity"}, "the class of the removed words"));
  info.parameters.push_back(
      CountParameter("context-sentences", 20, 1, 1000, "sentences before the question"));
  info.make = MakeCloze;
  return info;
}

BuilderInfo LastWordBuilder() {
  BuilderInfo info;
  info.name = "lastword";
  info.version = "1";
  info.summary = "the last word of a short passage of real text, which holds it before (LAMBADA)";
  info.parameters = SharedParameters(600, 300);
  info.parameters.push_back(
      CountParameter("context-sentences", 4, 1, 1000, "sentences before the last, at least"));
  info.parameters.push_back(
      CountParameter("context-words", 50, 0, 100'000, "words before the last sentence, at least"));
  info.parameters.push_back(
      ChoiceParameter("context", {"before-final-sentence", "with-final-sentence"},
                      "whether the context goes on to the word before the removed one"));
  info.parameters.push_back(RecordedWhereGiven(
      ChoiceParameter("question", {"masked", "cut"},
                      "the last sentence with XXXXX for the word, or as far as the word")));
  info.make = MakeLastWord;
  return info;
}

}  // namespace concur::qa
