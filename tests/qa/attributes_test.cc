// SPDX-License-Identifier: Apache-2.0
#include "qa/attributes.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "qa/example.h"
#include "tests/testing/test.h"

namespace concur::qa {
namespace {

std::string StratumOfAnswers(Attribute attribute, const std::vector<std::string>& answers) {
  Question question;
  question.text = "Who?";
  question.answers = answers;
  return StratumOf(attribute, Passage(), question);
}

TEST(AttributesTest, AnswerTypesByTheFirstRuleThatFits) {
  const struct {
    const char* answer;
    const char* type;
  } cases[] = {{"1066", "date"},
               {"May 4", "date"},
               {"in early 1999", "date"},
               {"may be so", "phrase"},
               {"1,250 men", "number"},
               {"1,2004", "number"},
               {"2,500", "number"},
               {"21500", "number"},
               {"3rd", "number"},
               {"Denver Broncos", "name"},
               {"University of Chicago", "name"},
               {"the Normans", "phrase"},
               {"to get to the other side", "long phrase"},
               {"", "phrase"}};
  for (const auto& test : cases) {
    EXPECT_EQ(StratumOfAnswers(Attribute::kAnswerType, {test.answer}), test.type) << test.answer;
  }
}

TEST(AttributesTest, AnswerFormsByTheFirstRuleThatFits) {
  const struct {
    const char* answer;
    const char* form;
  } cases[] = {{"$5 million", "money"},
               {"\xC2\xA3"
                "40",
                "money"},
               {"20 pounds", "money"},
               {"a few dollars", "phrase"},
               {"55%", "percentage"},
               {"0.5 percent", "percentage"},
               {"July 1916", "date"},
               {"3rd", "ordinal"},
               {"Third", "ordinal"},
               {"5th", "ordinal"},
               {"5x", "number"},
               {"24", "number"},
               {"seven", "number"},
               {"24 hours", "quantity"},
               {"NASA", "abbreviation"},
               {"I", "name of one word"},
               {"Denver", "name of one word"},
               {"Denver Broncos", "name of several words"},
               {"gold", "word"},
               {"a golden ball", "phrase"},
               {"to get to the other side", "long phrase"},
               {"", "word"}};
  for (const auto& test : cases) {
    EXPECT_EQ(StratumOfAnswers(Attribute::kAnswerForm, {test.answer}), test.form) << test.answer;
  }
}

TEST(AttributesTest, TheFirstQuestionWordCounts) {
  const struct {
    const char* question;
    const char* word;
  } cases[] = {{"How many men were there?", "how many"},
               {"How, then, did it end?", "how"},
               {"In which city did he live, and when?", "which"},
               {"To whom was it given?", "who"},
               {"\"Why\" is what?", "why"},
               {"Name the river.", "other"},
               {"", "other"}};
  for (const auto& test : cases) {
    Question question;
    question.text = test.question;
    question.answers = {"x"};
    EXPECT_EQ(StratumOf(Attribute::kQuestionWord, Passage(), question), test.word) << test.question;
  }
}

TEST(AttributesTest, TheOverlapIsTheLongestRunOfWordsThatBothHave) {
  const std::string passage = "The river Rhine rises in the Alps, and it flows north.";
  EXPECT_EQ(LongestOverlap("Where does the RIVER Rhine rise?", passage), 3u);
  EXPECT_EQ(LongestOverlap("in the Alps: and what?", passage), 4u) << "punctuation is left out";
  EXPECT_EQ(LongestOverlap("rises river", passage), 1u) << "in another order";
  EXPECT_EQ(LongestOverlap("why", passage), 0u);
  EXPECT_EQ(LongestOverlap("", ""), 0u);
  std::string many;
  for (int i = 0; i < 1500; ++i) {
    many += "a ";
  }
  EXPECT_EQ(LongestOverlap(many, many), 1000u);
  Question question;
  question.text = "Where does the river Rhine rise?";
  question.answers = {"x"};
  Passage of_rhine;
  of_rhine.context = passage;
  EXPECT_EQ(StratumOf(Attribute::kOverlap, of_rhine, question), "003 words");
}

TEST(AttributesTest, EveryAttributeIsKnownByItsName) {
  for (const Attribute attribute : AllAttributes()) {
    ASSERT_OK_AND_ASSIGN(const Attribute parsed, ParseAttribute(AttributeName(attribute)));
    EXPECT_EQ(parsed, attribute);
  }
}

TEST(AttributesTest, AgreementAfterNormalization) {
  EXPECT_EQ(StratumOfAnswers(Attribute::kAgreement, {"a"}), "one answer");
  EXPECT_EQ(StratumOfAnswers(Attribute::kAgreement, {"The cat", "cat", "cat."}), "all agree");
  EXPECT_EQ(StratumOfAnswers(Attribute::kAgreement, {"cat", "cat", "dog"}), "most agree");
  EXPECT_EQ(StratumOfAnswers(Attribute::kAgreement, {"cat", "dog"}), "split");
}

TEST(AttributesTest, LengthsFallIntoBins) {
  Passage passage;
  Question question;
  question.answers = {"x"};
  const auto words = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += " w\t\n";
    }
    return text;
  };
  const struct {
    int count;
    const char* bin;
  } cases[] = {{0, "000 to 007 words"},
               {7, "000 to 007 words"},
               {8, "008 to 010 words"},
               {19, "014 to 019 words"},
               {20, "020 words or more"}};
  for (const auto& test : cases) {
    question.text = words(test.count);
    EXPECT_EQ(StratumOf(Attribute::kQuestionLength, passage, question), test.bin) << test.count;
  }
  passage.context = words(110);
  EXPECT_EQ(StratumOf(Attribute::kPassageLength, passage, question), "110 to 139 words");
}

TEST(AttributesTest, NamesAreReadBack) {
  for (const char* name : {"question-length", "passage-length", "answer-type", "agreement"}) {
    ASSERT_OK_AND_ASSIGN(const Attribute attribute, ParseAttribute(name));
    EXPECT_EQ(AttributeName(attribute), name);
  }
  EXPECT_THAT(ParseAttribute("length"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("question-length")));
}

}  // namespace
}  // namespace concur::qa
