// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/examples.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "qa/builders/sources.h"
#include "studies/readers/text/annotator.h"
#include "studies/readers/text/tagger.h"
#include "studies/readers/text/vocabulary.h"
#include "studies/readers/text/word_vectors.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Annotator PlainAnnotator() { return *Annotator::Load(false, false, {}); }

TEST(AnswersTest, AreTheTokensThatAMarkedSpanTouches) {
  Annotator annotator = PlainAnnotator();
  const AnnotatedText passage = annotator.Annotate("In 1990s the cat-fish sat, the cat slept.");
  qa::Question question;
  question.answers = {"cat"};
  question.spans = {{13, 16}, {31, 34}, {3, 7}};
  EXPECT_THAT(AnswersOf(passage, question),
              ElementsAre(TokenRange{3, 3}, TokenRange{9, 9}, TokenRange{1, 1}));
}

TEST(AnswersTest, WithoutMarkedSpansAreTheOccurrencesOfWholeTokens) {
  Annotator annotator = PlainAnnotator();
  const AnnotatedText passage = annotator.Annotate("cat cats the cat");
  qa::Question question;
  question.answers = {"cat", "dog", ""};
  EXPECT_THAT(AnswersOf(passage, question), ElementsAre(TokenRange{0, 0}, TokenRange{3, 3}));
  question.answers = {"ats"};
  EXPECT_THAT(AnswersOf(passage, question), IsEmpty());
}

TEST(ExamplesTest, AreReadHeldOutByPassageAndScored) {
  const TempDir directory;
  std::string lines = R"({"header": {"dataset": "x"}})"
                      "\n";
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&lines, R"({"context": "the cat )", i, R"(", "qas": [)");
    for (int k = 0; k < 2; ++k) {
      absl::StrAppend(&lines, k == 0 ? "" : ", ", R"({"qid": "q)", i, "-", k,
                      R"(", "question": "who", "answers": ["the cat"], "detected_answers": )",
                      R"([{"text": "cat", "char_spans": [[4, 6]]}]})");
    }
    lines += "]}\n";
  }
  Write(directory.File("data.jsonl"), lines);
  Annotator annotator = PlainAnnotator();
  const auto examples = ReadExamples(directory.File("data.jsonl"), annotator);
  ASSERT_OK(examples.status());
  ASSERT_EQ(examples->questions.size(), 40u);
  EXPECT_EQ(examples->TextOf(7, examples->questions[14].answers.at(0)), "cat");
  const Split split = HoldOut(*examples, 10, 5);
  EXPECT_EQ(split.train.questions.size(), 36u);
  EXPECT_EQ(split.held_out.questions.size(), 4u);
  std::set<size_t> passages;
  for (const ExampleQuestion& question : split.held_out.questions) {
    passages.insert(question.passage);
  }
  EXPECT_EQ(passages.size(), 2u);
  const AnswerScores scores = ScoreAnswers(split.held_out, {"cat", "the cat", "cat dog", ""});
  EXPECT_DOUBLE_EQ(scores.exact_match, 50);
  EXPECT_NEAR(scores.f1, 100 * (1 + 1 + 2.0 / 3) / 4, 1e-9);
}

// bAbI has a record for each question of a story: questions that were held out repeated those that
// were learned.
TEST(ExamplesTest, AStoryIsHeldOutWhole) {
  const TempDir directory;
  std::string lines = "{\"header\": {\"dataset\": \"x\"}}\n";
  for (int story = 0; story < 40; ++story) {
    std::string text = absl::StrCat("Person", story, "x went home.");
    for (int k = 0; k < 4; ++k) {
      absl::StrAppend(&text, k % 2 == 0 ? "" : " Then home it was.");
      absl::StrAppend(&lines, R"({"context": ")", text, R"(", "qas": [{"qid": "q)", story, "-", k,
                      R"(", "question": "where", "answers": ["home"]}]})", "\n");
    }
  }
  Write(directory.File("data.jsonl"), lines);
  Annotator annotator = PlainAnnotator();
  const auto examples = ReadExamples(directory.File("data.jsonl"), annotator);
  ASSERT_OK(examples.status());
  const Split split = HoldOut(*examples, 10, 5);
  EXPECT_EQ(split.held_out.questions.size(), 16u);
  std::set<uint32_t> stories;
  for (const ExampleQuestion& question : split.held_out.questions) {
    stories.insert(examples->groups[question.passage]);
  }
  EXPECT_EQ(stories.size(), 4u);
}

TEST(VocabularyTest, FrequentEntriesComeFirstAndUnknownIsOne) {
  Counts counts;
  for (const char* word : {"b", "a", "c", "c"}) {
    counts.Add(word);
  }
  EXPECT_THAT(counts.Ranked(), ElementsAre("c", "a", "b"));
  EXPECT_THAT(counts.Ranked(2), ElementsAre("c"));
  const auto vocabulary = Vocabulary::FromEntries(counts.Ranked());
  ASSERT_OK(vocabulary.status());
  EXPECT_EQ(vocabulary->Id("c"), 2);
  EXPECT_EQ(vocabulary->Id("b"), 4);
  EXPECT_EQ(vocabulary->Id("d"), Vocabulary::kUnknown);
  EXPECT_EQ(vocabulary->size(), 5);
  EXPECT_THAT(Vocabulary::FromEntries({"a", "a"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a\" is listed twice")));
  EXPECT_THAT(CharactersOf("a\u00e9\xff"), ElementsAre("a", "\u00e9", "\xff"));
}

TEST(WordVectorRowsTest, HoldTheWantedWords) {
  const TempDir directory;
  const std::string path = directory.File("vectors.txt");
  Write(path, "the 1 2\n. 3 4\ncat 5 6\nthe 7 8\nThe 9 9\n");
  const auto rows =
      WordVectorRows::Read(path, 2, {"the", ".", "Cat", "The", "dog"}, VectorsCase::kLower);
  ASSERT_OK(rows.status());
  EXPECT_EQ(rows->width(), 2);
  EXPECT_THAT(rows->Find("the"), ElementsAre(1, 2));
  EXPECT_THAT(rows->Find("."), ElementsAre(3, 4));
  EXPECT_THAT(rows->Find("The"), ElementsAre(9, 9)) << "its own comes first";
  EXPECT_THAT(rows->Find("Cat"), ElementsAre(5, 6)) << "that of the word in lower case";
  EXPECT_THAT(rows->Find("dog"), IsEmpty());
  const auto exact = WordVectorRows::Read(path, 2, {"Cat", "the"}, VectorsCase::kExact);
  ASSERT_OK(exact.status());
  EXPECT_THAT(exact->Find("Cat"), IsEmpty());
  EXPECT_THAT(exact->Find("the"), ElementsAre(1, 2));
  EXPECT_THAT(WordVectorRows::Read(path, 3, {"the"}, VectorsCase::kExact),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("of 2 numbers, expected 3"))));
}

TEST(WordVectorRowsTest, MayTakeTheRowOfAWordsLemma) {
  if (!std::filesystem::exists(qa::SourcePaths().wordnet + "/noun.exc")) {
    GTEST_SKIP() << "needs the Debian package wordnet-base";
  }
  const TempDir directory;
  const std::string path = directory.File("vectors.txt");
  Write(path, "mouse 1 2\nhouse 3 4\nwent 5 6\ngo 7 8\n");
  const absl::flat_hash_set<std::string> forms = {"Mice", "houses", "Went", "xyzzies"};
  const auto rows = WordVectorRows::Read(path, 2, forms, VectorsCase::kLemma);
  ASSERT_OK(rows.status());
  EXPECT_THAT(rows->Find("Mice"), ElementsAre(1, 2));
  EXPECT_THAT(rows->Find("houses"), ElementsAre(3, 4));
  EXPECT_THAT(rows->Find("Went"), ElementsAre(5, 6))
      << "that of the word in lower case comes first";
  EXPECT_THAT(rows->Find("xyzzies"), IsEmpty());
  const auto lower = WordVectorRows::Read(path, 2, forms, VectorsCase::kLower);
  ASSERT_OK(lower.status());
  EXPECT_THAT(lower->Find("houses"), IsEmpty());
}

constexpr absl::string_view kWords =
    "--- #YAML:1.0\nthe: { det: 90 }\nThe: { det: 10 }\ncan: { md: 80, nn: 20 }\n"
    "rust: { nn: 5, vb: 5 }\n\".\": { pp: 50 }\nParis: { nnp: 3 }\n";
constexpr absl::string_view kTags =
    "--- #YAML:1.0\npp: { det: 0.5, nnp: 0.3, nn: 0.1 }\ndet: { nn: 0.9, vb: 0.001, nnp: 0.05 }\n"
    "vb: { pp: 0.2 }\nnn: { md: 0.3, nn: 0.1, pp: 0.3 }\nmd: { vb: 0.8, nn: 0.01 }\nnnp: { nnp: "
    "0.3, md: 0.1 }\n";
constexpr absl::string_view kUnknownWords =
    "--- #YAML:1.0\n\"-cap-\": { nnp: 900, nn: 48 }\n\"-unknown-\": { nn: 875, vb: 10 }\n"
    "\"-ing-\": { vbg: 10 }\n";

std::vector<std::string> PosOf(const Tagger& tagger, const std::vector<absl::string_view>& words) {
  std::vector<std::string> tags;
  for (const int32_t tag : tagger.Tag(words)) {
    tags.emplace_back(kPosTags[static_cast<size_t>(tag)]);
  }
  return tags;
}

TEST(TaggerTest, FindsTheMostProbableSequence) {
  const TempDir directory;
  Write(directory.File("words.yml"), std::string(kWords));
  Write(directory.File("tags.yml"), std::string(kTags));
  Write(directory.File("unknown.yml"), std::string(kUnknownWords));
  const auto tagger = Tagger::Load(directory.path());
  ASSERT_OK(tagger.status());
  // "can" is a noun after an article, else a modal verb; "rust" follows.
  EXPECT_THAT(PosOf(*tagger, {"The", "can", "can", "rust", "."}),
              ElementsAre("det", "nn", "md", "vb", "pp"));
  EXPECT_THAT(PosOf(*tagger, {"the", "zorp", "12", "%"}), ElementsAre("det", "nn", "cd", "sym"));
  EXPECT_THAT(PosOf(*tagger, {"the", "Zorp", "running"}), ElementsAre("det", "nnp", "vbg"));
  EXPECT_THAT(PosOf(*tagger, {}), IsEmpty());

  Write(directory.File("tags.yml"), "pp: det 0.5\n");
  EXPECT_THAT(Tagger::Load(directory.path()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("tags.yml:1: expected WORD")));
  EXPECT_THAT(Tagger::Load(directory.path() + "/absent"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("liblingua-en-tagger-perl")));
}

// With the packages that Debian has them in; skipped without.
TEST(TaggerTest, TagsWithDebiansStatisticsAndWordNet) {
  const auto tagger = Tagger::Load(kTaggerDirectory);
  qa::SourceLog sources{qa::SourcePaths{}};
  const auto entities = EntityTagger::Load(sources);
  if (absl::IsNotFound(tagger.status()) || absl::IsNotFound(entities.status())) {
    GTEST_SKIP() << tagger.status() << entities.status();
  }
  ASSERT_OK(tagger.status());
  ASSERT_OK(entities.status());
  const std::vector<absl::string_view> words = {
      "Abraham", "Lincoln", "saw", "the", "old",   "bridges", "of",       "London", ",",
      "and",     "paid",    "$",   "30",  "to",    "Mr.",     "Zorbling", "in",     "May",
      "1861",    ".",       "He",  "can", "visit", "Yale",    "College",  "."};
  EXPECT_THAT(PosOf(*tagger, words),
              ElementsAre("nnp", "nnp", "vbd", "det", "jj", "nns", "in", "nnp", "ppc", "cc", "vbd",
                          "ppd", "cd", "to", "nnp", "nnp", "in", "nnp", "cd", "pp", "prp", "md",
                          "vb", "nnp", "nnp", "pp"));
  std::vector<absl::string_view> tags;
  for (const int32_t tag : entities->Tag(words, tagger->Tag(words))) {
    tags.push_back(kEntityTags[static_cast<size_t>(tag)]);
  }
  EXPECT_THAT(tags, ElementsAre("PERSON", "PERSON", "O", "O", "O", "O", "O", "LOCATION", "O", "O",
                                "O", "MONEY", "MONEY", "O", "PERSON", "PERSON", "O", "DATE", "DATE",
                                "O", "O", "O", "O", "ORGANIZATION", "ORGANIZATION", "O"));
}

}  // namespace
}  // namespace concur::readers
