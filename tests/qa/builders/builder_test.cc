// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "tests/qa/builders/small_sources.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

using Given = std::map<std::string, std::string>;

struct BuilderCase {
  std::string name;
  std::string builder;
  Given parameters;
};

class BuilderTest : public ::testing::TestWithParam<BuilderCase> {
 protected:
  BuilderTest() { sources_.SetBible(MadeUpVerses(3000)); }

  BuildRequest Request(const std::string& directory, uint64_t seed = 1) const {
    BuildRequest request = sources_.Request(GetParam().builder, dir_.File(directory));
    request.seed = seed;
    request.parameters = GetParam().parameters;
    request.parameters["train-questions"] = "43";
    request.parameters["test-questions"] = "22";
    return request;
  }
  std::string Bytes(const std::string& file) const {
    const auto contents = ReadFile(dir_.File(file));
    EXPECT_OK(contents.status());
    return contents.value_or("");
  }
  Dataset Read(const std::string& file) const {
    auto data = ReadDataset(dir_.File(file));
    EXPECT_OK(data.status());
    return data.ok() ? *std::move(data) : Dataset{};
  }

  SmallSources sources_;
  TempDir dir_;
};

TEST_P(BuilderTest, EverySpanHoldsItsAnswerAndCountsAreAsAsked) {
  ASSERT_OK_AND_ASSIGN(const BuildResult result, Build(Request("a")));
  EXPECT_EQ(result.train.questions, 43);
  EXPECT_EQ(result.test.questions, 22);
  for (const auto& [file, count] :
       {std::pair("a/train.jsonl", 43), std::pair("a/test.jsonl", 22)}) {
    const Dataset data = Read(file);
    EXPECT_EQ(data.QuestionCount(), count);
    for (const Passage& passage : data.passages) {
      for (const Question& question : passage.questions) {
        EXPECT_NE(absl::StrContains(question.text, kMask),
                  GetParam().parameters.count("question") > 0);
        ASSERT_EQ(question.answers.size(), 1U);
        ASSERT_EQ(question.spans.size(), 1U);
        const Span span = question.spans[0];
        EXPECT_EQ(passage.context.substr(static_cast<size_t>(span.begin),
                                         static_cast<size_t>(span.end - span.begin)),
                  question.answers[0]);
      }
    }
  }
}

TEST_P(BuilderTest, SameSeedGivesSameBytesAndAnotherSeedOthers) {
  ASSERT_OK(Build(Request("a")).status());
  ASSERT_OK(Build(Request("b")).status());
  ASSERT_OK(Build(Request("c", 2)).status());
  EXPECT_EQ(Bytes("a/train.jsonl"), Bytes("b/train.jsonl"));
  EXPECT_EQ(Bytes("a/test.jsonl"), Bytes("b/test.jsonl"));
  EXPECT_NE(Read("a/train.jsonl").passages, Read("c/train.jsonl").passages);
}

TEST_P(BuilderTest, TrainAndTestShareNoPassageAndNoId) {
  ASSERT_OK(Build(Request("a")).status());
  std::set<std::string> contexts;
  std::set<std::string> ids;
  size_t passages = 0;
  for (const char* file : {"a/train.jsonl", "a/test.jsonl"}) {
    for (const Passage& passage : Read(file).passages) {
      contexts.insert(passage.context);
      ++passages;
      for (const Question& question : passage.questions) {
        ids.insert(question.id);
      }
    }
  }
  EXPECT_EQ(contexts.size(), passages);
  EXPECT_EQ(ids.size(), 65U);
}

TEST_P(BuilderTest, HeaderRecordsGeneratorSeedParametersAndSources) {
  ASSERT_OK(Build(Request("a", 7)).status());
  const Header header = Read("a/test.jsonl").header;
  EXPECT_EQ(header.at("generator"), "concur data build " + GetParam().builder);
  EXPECT_EQ(header.at("generator_version"), "1");
  EXPECT_EQ(header.at("seed"), "7");
  EXPECT_EQ(header.at("split"), "test");
  EXPECT_EQ(header.at("parameter.train-questions"), "43");
  EXPECT_THAT(header, Contains(::testing::Key(StartsWith("sha256."))));
  EXPECT_THAT(header, Contains(::testing::Key(StartsWith("source."))));
  EXPECT_TRUE(header.contains("split_by"));
}

TEST_P(BuilderTest, GzippedFilesHoldTheSamePassages) {
  ASSERT_OK(Build(Request("a")).status());
  BuildRequest request = Request("z");
  request.gzip = true;
  ASSERT_OK(Build(request).status());
  EXPECT_EQ(Read("z/train.jsonl.gz").passages, Read("a/train.jsonl").passages);
}

TEST_P(BuilderTest, ProgressEndsAtTheNumberOfQuestions) {
  BuildRequest request = Request("a");
  int64_t last = 0;
  request.progress = [&](int64_t done, int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 65);
    last = done;
  };
  ASSERT_OK(Build(request).status());
  EXPECT_EQ(last, 65);
}

TEST_P(BuilderTest, MissingSourceNamesThePackageAndLeavesNothing) {
  BuildRequest request = Request("a");
  const std::string absent = dir_.File("absent");
  request.sources.dictionary = absent;
  request.sources.wordnet = absent;
  request.sources.bible_program = absent;
  const auto result = Build(request);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kNotFound,
                               AllOf(HasSubstr(absent), HasSubstr("apt-get install"))));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("a/train.jsonl")));
}

TEST_P(BuilderTest, FailureMidwayLeavesTheFilesThatWereThere) {
  ASSERT_OK(Build(Request("a")).status());
  const std::string before = Bytes("a/train.jsonl");
  BuildRequest request = Request("a", 2);
  request.parameters["test-questions"] = "9000000";
  request.parameters["train-questions"] = "5";
  // A passage file or a small text runs out; the others are stopped by a full output directory.
  if (GetParam().builder == "fuzzy" || GetParam().builder == "wordnet") {
    request.parameters["test-questions"] = "5";
    std::filesystem::create_directory(dir_.File("a/test.jsonl.gz"));
    std::filesystem::create_directory(dir_.File("a/train.jsonl.gz"));
    request.gzip = true;
  }
  EXPECT_FALSE(Build(request).ok());
  EXPECT_EQ(Bytes("a/train.jsonl"), before);
  for (const auto& entry : std::filesystem::directory_iterator(dir_.File("a"))) {
    EXPECT_THAT(entry.path().filename().string(), Not(StartsWith(".build"))) << entry;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BuilderTest,
    ::testing::Values(
        BuilderCase{"Fuzzy", "fuzzy", {{"passage-tokens", "40"}, {"neighbours", "5"}}},
        BuilderCase{"FuzzyTrigram", "fuzzy", {{"passages", "trigram"}, {"passage-tokens", "30"}}},
        BuilderCase{"WordNet", "wordnet", {{"triples", "8"}, {"test-questions-per-passage", "3"}}},
        BuilderCase{"ClozeNouns", "cloze", {{"context-sentences", "6"}}},
        BuilderCase{"ClozeNames", "cloze", {{"context-sentences", "6"}, {"kind", "named-entity"}}},
        BuilderCase{"LastWord", "lastword", {{"context-sentences", "6"}}},
        BuilderCase{"LastWordWhole",
                    "lastword",
                    {{"context-sentences", "6"}, {"context", "with-final-sentence"}}},
        BuilderCase{"LastWordCut", "lastword", {{"context-sentences", "6"}, {"question", "cut"}}}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(BuildersTest, UnknownBuilderIsRefusedWithTheNearestName) {
  BuildRequest request;
  request.builder = "wordnit";
  EXPECT_THAT(Build(request),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"wordnet\"")));
}

TEST(BuildersTest, DefaultsAreThePublishedSettings) {
  // Liu et al., 2023. The rate at which words are replaced is not stated.
  const std::map<std::string, Given> published = {{"fuzzy",
                                                   {{"train-questions", "10000"},
                                                    {"test-questions", "10000"},
                                                    {"questions-per-passage", "5"},
                                                    {"passage-tokens", "150"},
                                                    {"context-tokens", "10"},
                                                    {"neighbours", "100"},
                                                    {"permutation-distance", "3"},
                                                    {"dropout", "0.2"}}},
                                                  {"wikidata",
                                                   {{"train-questions", "10000"},
                                                    {"test-questions", "9835"},
                                                    {"test-questions-per-passage", "5"},
                                                    {"triples", "50"},
                                                    {"seed-entities", "10000"}}}};
  for (const auto& [name, settings] : published) {
    ASSERT_OK_AND_ASSIGN(const BuilderInfo* const builder, FindBuilder(name));
    Given stated;
    for (const ParameterInfo& parameter : builder->parameters) {
      if (settings.count(parameter.name) > 0) {
        stated[parameter.name] = parameter.default_value;
      }
    }
    EXPECT_EQ(stated, settings) << name;
  }
}

TEST(BuildersTest, WrongParametersAreRefusedWithTheReason) {
  TempDir dir;
  const std::vector<std::pair<Given, std::string>> cases = {
      {{{"train-question", "5"}}, "did you mean \"train-questions\""},
      {{{"train-questions", "0"}}, "--train-questions: expected a whole number from 1"},
      {{{"train-questions", "many"}}, "got \"many\""},
      {{{"dropout", "1.5"}}, "--dropout: expected a number from 0 to 1"},
      {{{"dropout", "nan"}}, "--dropout: expected a number from 0 to 1"},
      {{{"passages", "unifrom"}}, "did you mean \"uniform\""},
      {{{"passages", "pcfg"}, {"vocabulary", "50"}}, "needs --passage-file"},
  };
  SmallSources sources;
  for (const auto& [given, message] : cases) {
    BuildRequest request = sources.Request("fuzzy", dir.File("out"));
    request.parameters = given;
    EXPECT_THAT(Build(request), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_FALSE(std::filesystem::exists(dir.File("out/train.jsonl")));
  }
}

TEST(BuildersTest, TooManyQuestionsForTheTextSayHowManyThereAre) {
  TempDir dir;
  SmallSources sources;
  sources.SetBible(MadeUpVerses(300));
  BuildRequest request = sources.Request("cloze", dir.File("out"));
  EXPECT_THAT(Build(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                       AllOf(HasSubstr("the text yields"), HasSubstr("--step"))));
}

TEST(BuildersTest, BadSpansAreFound) {
  Passage passage;
  passage.context = "one two";
  Question question;
  question.id = "q";
  EXPECT_OK(CheckPassage(passage));
  question.answers = {"two"};
  question.spans = {Span{4, 7}};
  passage.questions = {question};
  EXPECT_OK(CheckPassage(passage));
  passage.questions[0].spans = {Span{3, 7}};
  EXPECT_THAT(CheckPassage(passage), StatusIs(absl::StatusCode::kInternal, HasSubstr("\" two\"")));
  passage.questions[0].spans = {Span{4, 8}};
  EXPECT_THAT(CheckPassage(passage), StatusIs(absl::StatusCode::kInternal, HasSubstr("outside")));
  passage.questions[0].spans = {};
  EXPECT_THAT(CheckPassage(passage), StatusIs(absl::StatusCode::kInternal, HasSubstr("no span")));
  passage.questions[0].answers = {};
  EXPECT_THAT(CheckPassage(passage), StatusIs(absl::StatusCode::kInternal, HasSubstr("no answer")));
}

// The sources that Debian ships, where they are installed.
TEST(BuildersTest, DebiansSourcesGiveTheDemosSets) {
  const SourcePaths paths;
  if (!std::filesystem::exists(paths.wordnet + "/data.noun") ||
      !std::filesystem::exists(paths.bible_program) || !std::filesystem::exists(paths.dictionary)) {
    GTEST_SKIP() << "needs the Debian packages bible-kjv, wamerican and wordnet-base";
  }
  TempDir dir;
  for (const char* builder : {"fuzzy", "wordnet", "cloze", "lastword"}) {
    BuildRequest request;
    request.builder = builder;
    request.directory = dir.File(builder);
    request.parameters = {{"train-questions", "600"}, {"test-questions", "300"}};
    ASSERT_OK_AND_ASSIGN(const BuildResult result, Build(request));
    EXPECT_EQ(result.train.questions + result.test.questions, 900) << builder;
  }
}

// --- fuzzy: the noise has the published rates ---

struct NoiseCounts {
  double kept = 0;      // context tokens that are in the question as they were
  double present = 0;   // tokens of the question beside the mask
  double possible = 0;  // context tokens around the answers
};

NoiseCounts CountNoise(const Given& parameters) {
  TempDir dir;
  SmallSources sources;
  BuildRequest request = sources.Request("fuzzy", dir.path());
  request.parameters = {{"train-questions", "2000"},
                        {"test-questions", "1"},
                        {"neighbours", "10"},
                        {"passage-tokens", "30"}};
  for (const auto& [name, value] : parameters) {
    request.parameters[name] = value;
  }
  EXPECT_OK(Build(request).status());
  NoiseCounts counts;
  const auto data = ReadDataset(dir.File("train.jsonl"));
  EXPECT_OK(data.status());
  for (const Passage& passage : data->passages) {
    const std::vector<std::string> tokens = absl::StrSplit(passage.context, ' ');
    EXPECT_EQ(tokens.size(), 30U);
    for (const Question& question : passage.questions) {
      const std::string before =
          passage.context.substr(0, static_cast<size_t>(question.spans[0].begin));
      const int64_t answer = std::count(before.begin(), before.end(), ' ');
      std::multiset<std::string> around;
      for (int64_t i = std::max<int64_t>(0, answer - 5); i < std::min<int64_t>(30, answer + 6);
           ++i) {
        if (i != answer) {
          around.insert(tokens[static_cast<size_t>(i)]);
        }
      }
      counts.possible += static_cast<double>(around.size());
      int masks = 0;
      for (const absl::string_view word : absl::StrSplit(question.text, ' ')) {
        if (word == kMask) {
          ++masks;
          continue;
        }
        counts.present += 1;
        const auto it = around.find(std::string(word));
        if (it != around.end()) {
          counts.kept += 1;
          around.erase(it);
        }
      }
      EXPECT_EQ(masks, 1);
    }
  }
  return counts;
}

TEST(FuzzyTest, WithoutNoiseTheQuestionIsTheContext) {
  const NoiseCounts counts =
      CountNoise({{"replacement-rate", "0"}, {"dropout", "0"}, {"permutation-distance", "0"}});
  EXPECT_EQ(counts.present, counts.possible);
  EXPECT_EQ(counts.kept, counts.possible);
}

TEST(FuzzyTest, DropoutLeavesOutOneTokenInFive) {
  const NoiseCounts counts = CountNoise({{"replacement-rate", "0"}});
  // About 18,000 tokens: the standard deviation of the share is 0.003.
  EXPECT_NEAR(1 - counts.present / counts.possible, 0.2, 0.015);
  EXPECT_EQ(counts.kept, counts.present);
}

TEST(FuzzyTest, ReplacementChangesTheAskedShareOfTokens) {
  const NoiseCounts counts = CountNoise({{"replacement-rate", "0.3"}, {"dropout", "0"}});
  // A neighbour may happen to stand in the context too, so that a little less seems replaced.
  EXPECT_NEAR(1 - counts.kept / counts.present, 0.3, 0.1);
}

TEST(FuzzyTest, NoTokenMovesFurtherThanThePermutationDistance) {
  TempDir dir;
  SmallSources sources;
  BuildRequest request = sources.Request("fuzzy", dir.path());
  // A passage without repeated words shows where each word came from.
  std::string lines;
  for (int p = 0; p < 200; ++p) {
    for (int w = 0; w < 40; ++w) {
      absl::StrAppend(&lines, "w", p, "x", w, " ");
    }
    lines += "\n";
  }
  sources.Write(dir.File("passages"), lines);
  request.parameters = {{"train-questions", "500"},
                        {"test-questions", "100"},
                        {"dropout", "0"},
                        {"passages", "file"},
                        {"passage-file", dir.File("passages")}};
  ASSERT_OK(Build(request).status());
  const auto data = ReadDataset(dir.File("train.jsonl"));
  ASSERT_OK(data.status());
  bool moved = false;
  for (const Passage& passage : data->passages) {
    const std::vector<std::string> tokens = absl::StrSplit(passage.context, ' ');
    for (const Question& question : passage.questions) {
      std::vector<int64_t> places;
      for (const absl::string_view word : absl::StrSplit(question.text, ' ')) {
        const std::string own = word == kMask ? question.answers[0] : std::string(word);
        places.push_back(std::find(tokens.begin(), tokens.end(), own) - tokens.begin());
      }
      const int64_t first = *std::min_element(places.begin(), places.end());
      for (size_t i = 0; i < places.size(); ++i) {
        const int64_t shift = places[i] - first - static_cast<int64_t>(i);
        EXPECT_LE(std::abs(shift), 3);
        moved = moved || shift != 0;
      }
    }
  }
  EXPECT_TRUE(moved);
}

TEST(FuzzyTest, PassageFileThatRunsOutSaysSo) {
  TempDir dir;
  SmallSources sources;
  sources.Write(dir.File("passages"), "one two three four\nfive six seven eight\n");
  BuildRequest request = sources.Request("fuzzy", dir.File("out"));
  request.parameters = {{"passages", "file"}, {"passage-file", dir.File("passages")}};
  EXPECT_THAT(Build(request),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("all used")));
}

TEST(FuzzyTest, VectorsFileGivesTheVocabulary) {
  TempDir dir;
  SmallSources sources;
  std::string vectors;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&vectors, MadeUpWord(i), " ", i + 1, " ", 20 - i, " 0.5\n");
  }
  sources.Write(dir.File("v.txt"), vectors);
  BuildRequest request = sources.Request("fuzzy", dir.File("out"));
  request.sources.dictionary = "/nonexistent";
  request.parameters = {{"vectors", dir.File("v.txt")}, {"passage-tokens", "40"}};
  ASSERT_OK(Build(request).status());
  const auto data = ReadDataset(dir.File("out/test.jsonl"));
  ASSERT_OK(data.status());
  EXPECT_EQ(data->header.at("vectors.words"), "20");
  EXPECT_EQ(data->header.at("parameter.vectors"), "v.txt");
  EXPECT_TRUE(data->header.contains("sha256.v.txt"));
}

TEST(FuzzyTest, UniformPassagesMayBeDrawnFromTheWordsOfAText) {
  // Liu et al., 2023: the passages of FuzzySyntheticQA are drawn from the 68,429 types of
  // WikiText-2, whether or not they have vectors.
  TempDir dir;
  SmallSources sources;
  sources.Write(dir.File("text"), " = Zoë \n the Zoë @-@ 12\tthe\r\n the\u00a0end");
  BuildRequest request = sources.Request("fuzzy", dir.File("out"));
  request.parameters = {{"words", dir.File("text")},
                        {"train-questions", "50"},
                        {"test-questions", "50"},
                        {"search", "approximate"}};
  ASSERT_OK(Build(request).status());
  ASSERT_OK_AND_ASSIGN(const Dataset data, ReadDataset(dir.File("out/train.jsonl")));
  EXPECT_EQ(data.header.at("words.types"), "6");
  EXPECT_EQ(data.header.at("parameter.words"), "text");
  EXPECT_EQ(data.header.at("parameter.search"), "approximate");
  const std::set<std::string> types = {"=", "Zoë", "the", "@-@", "12", "the\u00a0end"};
  std::set<std::string> drawn;
  for (const Passage& passage : data.passages) {
    for (const absl::string_view token : absl::StrSplit(passage.context, ' ')) {
      drawn.emplace(token);
    }
  }
  EXPECT_EQ(drawn, types);
  // Data sets that were built before there were these parameters keep their bytes.
  request.parameters.erase("words");
  request.parameters.erase("search");
  ASSERT_OK(Build(request).status());
  ASSERT_OK_AND_ASSIGN(const Dataset plain, ReadDataset(dir.File("out/train.jsonl")));
  EXPECT_EQ(plain.header.count("parameter.words") + plain.header.count("parameter.search"), 0u);

  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"= , .", "to ask for, got 3"},
           {"", "to ask for, got 0"},
           {"a\na\xff", "text:2: expected a text in UTF-8"}}) {
    sources.Write(dir.File("text"), text);
    request.parameters["words"] = dir.File("text");
    EXPECT_THAT(Build(request), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
  request.parameters["passages"] = "trigram";
  EXPECT_THAT(Build(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("--words: expected --passages uniform")));
}

// --- wordnet ---

TEST(WordNetBuilderTest, QuestionsNameTheTripleOfTheirSpan) {
  TempDir dir;
  SmallSources sources;
  BuildRequest request = sources.Request("wordnet", dir.path());
  request.parameters = {{"train-questions", "300"},
                        {"test-questions", "100"},
                        {"triples", "10"},
                        {"invert-rate", "0"},
                        {"hypernym-rate", "0"}};
  ASSERT_OK(Build(request).status());
  const auto data = ReadDataset(dir.File("train.jsonl"));
  ASSERT_OK(data.status());
  for (const Passage& passage : data->passages) {
    const std::vector<std::string> triples = absl::StrSplit(passage.context, " . ");
    EXPECT_LE(triples.size(), 10U);
    for (const Question& question : passage.questions) {
      const bool entity = question.answers[0].find(' ') == std::string::npos ||
                          question.answers[0].find(" two") != std::string::npos;
      const bool about_kind = question.text.find("kind") != std::string::npos ||
                              question.text.find("type") != std::string::npos ||
                              question.text.find("form") != std::string::npos ||
                              question.text.find("class") != std::string::npos;
      const bool about_part = question.text.find("part") != std::string::npos ||
                              question.text.find("component") != std::string::npos ||
                              question.text.find("located") != std::string::npos;
      EXPECT_EQ(about_kind || about_part, entity) << question.text << " → " << question.answers[0];
    }
  }
}

TEST(WordNetBuilderTest, RatesOfOneInvertEveryEntityQuestion) {
  TempDir dir;
  SmallSources sources;
  BuildRequest request = sources.Request("wordnet", dir.path());
  request.parameters = {{"train-questions", "200"}, {"test-questions", "50"}, {"invert-rate", "1"}};
  ASSERT_OK(Build(request).status());
  const auto data = ReadDataset(dir.File("train.jsonl"));
  ASSERT_OK(data.status());
  for (const Passage& passage : data->passages) {
    for (const Question& question : passage.questions) {
      EXPECT_EQ(question.text.find(" is a kind of "), std::string::npos) << question.text;
      EXPECT_EQ(question.text.find(" is a part of "), std::string::npos) << question.text;
    }
  }
}

}  // namespace
}  // namespace concur::qa
