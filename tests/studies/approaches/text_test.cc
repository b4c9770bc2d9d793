// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/text.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "studies/approaches/candidates.h"
#include "studies/approaches/matching.h"
#include "studies/approaches/math.h"
#include "studies/approaches/neural_layers.h"
#include "tests/testing/test.h"

namespace concur::approaches {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (const Token& token : Tokenize(text)) {
    words.push_back(text.substr(static_cast<size_t>(token.begin),
                                static_cast<size_t>(token.end - token.begin)));
  }
  return words;
}

TEST(TokenizeTest, SplitsAroundPunctuationButNotInsideNumbersAndAbbreviations) {
  EXPECT_THAT(Words("The U.S. paid $3.5 million, i.e. 1,000-fold."),
              ElementsAre("The", "U.S.", "paid", "$", "3.5", "million", ",", "i", ".", "e", ".",
                          "1,000", "-", "fold", "."));
  EXPECT_THAT(Words("Anna's dog"), ElementsAre("Anna", "'s", "dog"));
  EXPECT_THAT(Words("Zoë—“naïve”\u00a0Łódź…"),
              ElementsAre("Zoë", "—", "“", "naïve", "”", "Łódź", "…"));
  EXPECT_THAT(Words(""), ElementsAre());
}

TEST(TokenizeTest, FormsOfOneWordShareAStem) {
  const auto stem = [](const char* word) { return Tokenize(word)[0].stem; };
  EXPECT_EQ(stem("lives"), stem("live"));
  EXPECT_EQ(stem("arrived"), stem("arrive"));
  EXPECT_EQ(stem("cities"), stem("city"));
  EXPECT_EQ(stem("stopping"), stem("stop"));
  EXPECT_NE(stem("bus"), stem("bu"));
}

TEST(PassageTextTest, SentencesEndAtFullStopsButNotAfterInitials) {
  const PassageText passage("Dr. A. Smith came. He left! Then 3.5 more. lower case goes on");
  EXPECT_EQ(passage.sentence_starts.size() - 1, 3);
  const PassageText triples("cat is a kind of animal . dog is a kind of animal");
  EXPECT_EQ(triples.sentence_starts.size() - 1, 2);
}

TEST(QuestionTextTest, KindFocusAndBlankAreFound) {
  EXPECT_EQ(QuestionText("How many people live there?").kind, QuestionKind::kHowMany);
  EXPECT_EQ(QuestionText("In what year did it end?").kind, QuestionKind::kWhat);
  EXPECT_EQ(QuestionText("In what year did it end?").focus, Tokenize("year")[0].stem);
  const QuestionText cloze("the cat XXXXX on the mat");
  EXPECT_EQ(cloze.kind, QuestionKind::kCloze);
  EXPECT_EQ(cloze.blank, 2);
  EXPECT_EQ(QuestionText("plain words").kind, QuestionKind::kOther);
}

std::vector<std::string> CandidateTexts(const std::string& context, int32_t tokens_max) {
  const PassageText passage(context);
  std::vector<std::string> texts;
  for (const TokenSpan& span : Candidates(passage, tokens_max)) {
    texts.emplace_back(passage.Text(span.first, span.last));
  }
  return texts;
}

TEST(CandidatesTest, SpansStayWithinSentencesAndStartAndEndWithContent) {
  const std::vector<std::string> texts =
      CandidateTexts("The king of Spain paid $5 (about 10%). Nobody knew.", 4);
  EXPECT_THAT(texts, Contains("king of Spain"));
  EXPECT_THAT(texts, Contains("$5"));
  EXPECT_THAT(texts, Contains("10%"));
  EXPECT_THAT(texts, Contains("The"));
  EXPECT_THAT(texts, Not(Contains("The king")));
  EXPECT_THAT(texts, Not(Contains("king of")));
  EXPECT_THAT(texts, Not(Contains("$5 (about")));
  EXPECT_THAT(texts, Not(Contains("10%). Nobody")));
}

TEST(CandidatesTest, GoldIsTheAnswerWithoutItsArticleOrTheNearestSpan) {
  const PassageText passage("It was the old king of Spain who paid.");
  const std::vector<TokenSpan> candidates = Candidates(passage, 4);
  const auto text = [&](const std::vector<int32_t>& gold) {
    std::vector<std::string> texts;
    for (const int32_t i : gold) {
      const TokenSpan& span = candidates[static_cast<size_t>(i)];
      texts.emplace_back(passage.Text(span.first, span.last));
    }
    return texts;
  };
  qa::Question question{"q", "Who?", {"the old king"}, {{7, 19}}};
  EXPECT_THAT(text(GoldCandidates(passage, question, candidates)), ElementsAre("old king"));
  question.spans.clear();  // found by its text
  EXPECT_THAT(text(GoldCandidates(passage, question, candidates)), ElementsAre("old king"));
  question.answers = {"king of Spain who"};
  EXPECT_THAT(text(GoldCandidates(passage, question, candidates)), ElementsAre("king of Spain"));
  question.answers = {"queen"};
  EXPECT_THAT(text(GoldCandidates(passage, question, candidates)), ElementsAre());
}

TEST(MatchingTest, ProximityFallsWithDistance) {
  const PassageText passage("alpha b c d e f g h i omega");
  DocumentFrequency frequency;
  frequency.Add(passage);
  const QuestionText question("alpha ?");
  const Matching matching(passage, question, frequency);
  EXPECT_GT(matching.Proximity({1, 1}, 2), matching.Proximity({3, 3}, 2));
  EXPECT_EQ(matching.Proximity({1, 1}, 2), 1);
  EXPECT_EQ(matching.left[4], 0);
  EXPECT_EQ(matching.right[4], passage.size());
}

TEST(MathTest, ExpAndLogAgreeWithTheLibrary) {
  for (double x = -600; x < 600; x += 0.37) {
    EXPECT_NEAR(Exp(x) / std::exp(x), 1, 1e-12) << x;
  }
  for (double x = 1e-200; x < 1e200; x *= 3.7) {
    EXPECT_NEAR(Log(x), std::log(x), 1e-12 * std::max(1.0, std::abs(std::log(x)))) << x;
  }
  for (float x = -79; x <= 0; x += 0.013F) {
    EXPECT_NEAR(ExpNegative(x) / std::exp(x), 1, 2e-5) << x;
  }
  EXPECT_EQ(Exp(-1e9), 0);
  EXPECT_EQ(ExpNegative(-1e9F), 0);
}

// Gradients against differences of a linear loss, sum(c * output).
TEST(NeuralLayersTest, ConvolutionGradientsEqualDifferences) {
  Random random(3, "test");
  const auto fill = [&](Matrix m) {
    for (int64_t i = 0; i < m.size(); ++i) {
      m.data()[i] = static_cast<float>(random.Normal());
    }
    return m;
  };
  constexpr int64_t kWidth = 3;
  Matrix input = fill(Matrix(4, 6));
  Matrix weights = fill(Matrix(5, kWidth * 4));
  Matrix bias = fill(Matrix(5, 1));
  const Matrix c = fill(Matrix(5, 6));
  const auto map = [](const Matrix& m) { return ConstMatrixMap(m.data(), m.rows(), m.cols()); };
  const auto loss = [&] {
    const Matrix output = Convolve(Pad(input, kWidth), kWidth, map(weights), map(bias));
    return static_cast<double>(output.cwiseProduct(c).sum());
  };
  const Matrix padded = Pad(input, kWidth);
  const Matrix output = Convolve(padded, kWidth, map(weights), map(bias));
  Matrix by_weights = Matrix::Zero(5, kWidth * 4);
  Matrix by_bias = Matrix::Zero(5, 1);
  const Matrix by_input =
      ConvolveBack(padded, kWidth, map(weights), output, c,
                   MatrixMap(by_weights.data(), by_weights.rows(), by_weights.cols()),
                   MatrixMap(by_bias.data(), by_bias.rows(), by_bias.cols()));
  const auto check = [&](Matrix& values, const Matrix& gradient) {
    for (int64_t i = 0; i < values.size(); ++i) {
      constexpr float kStep = 1e-3F;
      const float kept = values.data()[i];
      values.data()[i] = kept + kStep;
      const double up = loss();
      values.data()[i] = kept - kStep;
      const double down = loss();
      values.data()[i] = kept;
      EXPECT_NEAR((up - down) / (2 * kStep), gradient.data()[i], 0.05) << i;
    }
  };
  check(input, by_input);
  check(weights, by_weights);
  check(bias, by_bias);
}

TEST(NeuralLayersTest, SoftmaxGradientEqualsDifferences) {
  Matrix scores(3, 2);
  scores << 0.1F, -2, 0.7F, 0.3F, -0.4F, 1;
  Matrix c(3, 2);
  c << 1, 2, -1, 0.5F, 3, -2;
  Matrix softmax = scores;
  SoftmaxColumns(softmax);
  EXPECT_NEAR(softmax.col(0).sum(), 1, 1e-6);
  const Matrix gradient = SoftmaxColumnsBack(softmax, c);
  for (int64_t i = 0; i < scores.size(); ++i) {
    constexpr float kStep = 1e-2F;
    Matrix up = scores;
    up.data()[i] += kStep;
    SoftmaxColumns(up);
    Matrix down = scores;
    down.data()[i] -= kStep;
    SoftmaxColumns(down);
    EXPECT_NEAR((up - down).cwiseProduct(c).sum() / (2 * kStep), gradient.data()[i], 1e-3);
  }
}

}  // namespace
}  // namespace concur::approaches
