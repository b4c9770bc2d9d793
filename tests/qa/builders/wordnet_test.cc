// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/wordnet.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/qa/builders/small_sources.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

TEST(WordNetTest, SynsetsKeepWordsPointersAndGlosses) {
  SmallSources sources;
  SourceLog log(sources.paths());
  const auto wordnet = WordNet::Load(log);
  ASSERT_OK(wordnet.status());
  ASSERT_EQ(wordnet->synsets().size(), SmallSources::kNouns + 3U);
  const Synset& noun = wordnet->synsets()[7];
  EXPECT_EQ(noun.words[0], MadeUpWord(7));
  EXPECT_EQ(noun.words[1], MadeUpWord(7) + "_two");
  ASSERT_EQ(noun.pointers.size(), 2U);
  EXPECT_EQ(noun.pointers[0].symbol, "@");
  EXPECT_EQ(noun.pointers[0].target, 2U);
  EXPECT_EQ(noun.pointers[1].target, 6U);
  EXPECT_THAT(std::string(noun.gloss), HasSubstr("kind of animal"));
  const Synset& adjective = wordnet->synsets()[SmallSources::kNouns + 1];
  EXPECT_EQ(adjective.word_class, WordClass::kAdjective);
  EXPECT_THAT(adjective.words, ElementsAre("big"));  // without its marker
}

TEST(WordNetTest, MalformedLinesAreRefusedWithFileAndLine) {
  struct Case {
    std::string line;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"x 03 n 01 a 0 000 | g", "synset offset"},
      {"00000001 03 q 01 a 0 000 | g", "synset type"},
      {"00000001 03 n 00 000 | g", "number of words"},
      {"00000001 03 n 02 a 0", "expected a word"},
      {"00000001 03 n 01 a 0 abc | g", "number of pointers"},
      {"00000001 03 n 01 a 0 002 @ 00000001 n 0000 | g", "a pointer"},
      {"00000001 03 n 01 a 0 001 @ 00000009 n 0000 | g", "leads to no synset"},
      {"00000001 03 n 01 a 0 000 | g\n00000001 03 n 01 b 0 000 | g", "occurs twice"},
      {"", "expected synsets, got none"},
  };
  for (const Case& c : cases) {
    SmallSources sources;
    sources.WriteWordNetFile("data.noun", "  1 licence\n" + c.line + "\n");
    SourceLog log(sources.paths());
    EXPECT_THAT(WordNet::Load(log), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(c.message)))
        << c.line;
  }
  SmallSources sources;
  sources.WriteWordNetFile("data.verb", "  1 licence\nnonsense\n");
  SourceLog log(sources.paths());
  EXPECT_THAT(WordNet::Load(log),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data.verb:2: ")));
}

TEST(WordNetTest, MissingFileNamesThePackage) {
  SmallSources sources;
  std::filesystem::remove(sources.paths().wordnet + "/data.adv");
  SourceLog log(sources.paths());
  EXPECT_THAT(WordNet::Load(log),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("data.adv"), HasSubstr("wordnet-base"))));
}

TEST(WordClassesTest, NounsAreFoundByCountsFormsAndExceptions) {
  SmallSources sources;
  sources.WriteWordNetFile("index.noun",
                           "work n 1\nman n 1\ncity n 1\ngo n 1\nox n 1\ngreen n 1\n");
  sources.WriteWordNetFile("index.verb", "work v 1\ngo v 1\n");
  sources.WriteWordNetFile("index.adj", "green a 1\n");
  sources.WriteWordNetFile("noun.exc", "oxen ox\n");
  sources.WriteWordNetFile("cntlist.rev",
                           "city%1:15:00:: 1 10\nwork%1:04:00:: 1 70\nwork%2:41:00:: 1 30\n"
                           "go%1:00:00:: 1 5\ngo%2:38:00:: 1 90\ngreen%1:07:00:: 1 9\n"
                           "green%5:00:00:x:00 1 8\n");
  SourceLog log(sources.paths());
  const auto classes = WordClasses::Load(log);
  ASSERT_OK(classes.status());
  EXPECT_TRUE(classes->IsCommonNoun("city"));
  EXPECT_TRUE(classes->IsCommonNoun("cities"));
  EXPECT_TRUE(classes->IsCommonNoun("work"));    // 70 of 100
  EXPECT_FALSE(classes->IsCommonNoun("go"));     // 5 of 95
  EXPECT_FALSE(classes->IsCommonNoun("green"));  // 9 of 17, satellites counted
  EXPECT_TRUE(classes->IsCommonNoun("oxen"));
  EXPECT_TRUE(classes->IsCommonNoun("men"));
  EXPECT_FALSE(classes->IsCommonNoun("unknown"));
  EXPECT_EQ(classes->Lemma("oxen"), "ox");
  EXPECT_EQ(classes->Lemma("cities"), "city");
  EXPECT_EQ(classes->Lemma("goes"), "go");
  EXPECT_EQ(classes->Lemma("greenest"), "green");
  EXPECT_EQ(classes->Lemma("unknowns"), "unknowns");
}

TEST(WordClassesTest, MalformedCountsAreRefused) {
  SmallSources sources;
  sources.WriteWordNetFile("cntlist.rev", "city 1 10\n");
  SourceLog log(sources.paths());
  EXPECT_THAT(WordClasses::Load(log),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cntlist.rev:1: expected a sense")));
}

}  // namespace
}  // namespace concur::qa
