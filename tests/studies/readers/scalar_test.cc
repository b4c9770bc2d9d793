// SPDX-License-Identifier: Apache-2.0
// Attentions and RaSoR's spans computed a second time, plainly: loops over single numbers.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "studies/readers/approaches/approach.h"
#include "studies/readers/layers/attention.h"
#include "studies/readers/layers/convolution_encoder.h"
#include "studies/readers/layers/coupled_lstm.h"
#include "studies/readers/layers/full_attention.h"
#include "studies/readers/layers/span_scorer.h"
#include "studies/readers/layers/span_search.h"
#include "studies/readers/layers/trilinear.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

torch::Tensor RandomValues(torch::IntArrayRef shape) {
  return torch::randn(shape, torch::kFloat64);
}

Matrix MatrixOf(const torch::Tensor& tensor) {
  Matrix rows;
  for (int64_t i = 0; i < tensor.size(0); ++i) {
    rows.emplace_back();
    for (int64_t j = 0; j < tensor.size(1); ++j) {
      rows.back().push_back(tensor[i][j].item<double>());
    }
  }
  return rows;
}

Row RowOf(const torch::Tensor& tensor) { return MatrixOf(tensor.view({1, -1}))[0]; }

double Dot(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// W x + b; `weights` has a row for each output.
Row Affine(const Matrix& weights, const Row& bias, const Row& x) {
  Row y;
  for (size_t i = 0; i < weights.size(); ++i) {
    y.push_back(Dot(weights[i], x) + (bias.empty() ? 0 : bias[i]));
  }
  return y;
}

Row Relu(Row x) {
  for (double& value : x) {
    value = std::max(value, 0.0);
  }
  return x;
}

Row Softmax(const Row& scores) {
  Row weights;
  double sum = 0;
  for (const double score : scores) {
    weights.push_back(std::exp(score));
    sum += weights.back();
  }
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

Row Mean(const Matrix& values, const Row& weights) {
  Row mean(values[0].size(), 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    for (size_t k = 0; k < mean.size(); ++k) {
      mean[k] += weights[i] * values[i][k];
    }
  }
  return mean;
}

void ExpectEqual(const torch::Tensor& computed, const Matrix& expected) {
  const Matrix rows = MatrixOf(computed);
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), expected[i].size());
    for (size_t j = 0; j < rows[i].size(); ++j) {
      EXPECT_NEAR(rows[i][j], expected[i][j], 1e-12) << i << ", " << j;
    }
  }
}

constexpr int64_t kTokens = 5;
constexpr size_t kReal = 3;  // the rest of those tokens is padding

class ScalarTest : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(11); }
  // Attention of each token of x to the first kReal of y.
  static Matrix Attend(const Matrix& x, const Matrix& y, const Matrix& values,
                       const std::function<double(size_t, size_t)>& score) {
    Matrix attended;
    for (size_t i = 0; i < x.size(); ++i) {
      Row scores;
      for (size_t j = 0; j < kReal && j < y.size(); ++j) {
        scores.push_back(score(i, j));
      }
      attended.push_back(Mean(values, Softmax(scores)));
    }
    return attended;
  }

  const torch::Tensor mask_ = torch::arange(kTokens).lt(static_cast<int64_t>(kReal)).unsqueeze(0);
};

TEST_F(ScalarTest, AlignedAttention) {
  AlignedAttention layer(4, true);
  layer->to(torch::kFloat64);
  const torch::Tensor x = RandomValues({1, 6, 4});
  const torch::Tensor y = RandomValues({1, kTokens, 4});
  const Matrix weights = MatrixOf(layer->named_parameters()["linear.weight"]);
  const Row bias = RowOf(layer->named_parameters()["linear.bias"]);
  const Matrix xs = MatrixOf(x[0]);
  const Matrix ys = MatrixOf(y[0]);
  ExpectEqual(layer->Forward(x, y, mask_)[0], Attend(xs, ys, ys, [&](size_t i, size_t j) {
                return Dot(Relu(Affine(weights, bias, xs[i])), Relu(Affine(weights, bias, ys[j])));
              }));
}

TEST_F(ScalarTest, SelfAlignment) {
  const torch::Tensor x = RandomValues({1, kTokens, 4});
  const Matrix xs = MatrixOf(x[0]);
  ExpectEqual(SelfAlignment(x, mask_)[0], Attend(xs, xs, xs, [&](size_t i, size_t j) {
                return i == j ? 0 : Dot(xs[i], xs[j]);
              }));
}

TEST_F(ScalarTest, FullyAwareAttentionOfThreeLevels) {
  constexpr size_t kLevels = 3;
  constexpr size_t kWidth = 2;  // a level's
  FullAttention layer(4, kLevels * kWidth, kLevels, DropoutKind());
  layer->to(torch::kFloat64);
  torch::NoGradGuard no_gradients;
  layer->named_parameters()["linear_final"].normal_();
  const torch::Tensor x = RandomValues({1, 6, 4});
  const torch::Tensor y = RandomValues({1, kTokens, 4});
  const torch::Tensor values = RandomValues({1, kTokens, kLevels * kWidth});
  const Matrix xs = MatrixOf(x[0]);
  const Matrix ys = MatrixOf(y[0]);
  const Matrix u = MatrixOf(layer->named_parameters()["linear.weight"]);
  const Row d = RowOf(layer->named_parameters()["linear_final"]);
  Matrix expected(xs.size());
  for (size_t level = 0; level < kLevels; ++level) {
    Matrix level_values;
    for (const Row& row : MatrixOf(values[0])) {
      level_values.emplace_back(row.begin() + static_cast<int64_t>(level * kWidth),
                                row.begin() + static_cast<int64_t>((level + 1) * kWidth));
    }
    const Matrix part = Attend(xs, ys, level_values, [&](size_t i, size_t j) {
      double score = 0;
      for (size_t k = level * kWidth; k < (level + 1) * kWidth; ++k) {
        score += std::max(0.0, Dot(u[k], xs[i])) * d[k] * std::max(0.0, Dot(u[k], ys[j]));
      }
      return score;
    });
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i].insert(expected[i].end(), part[i].begin(), part[i].end());
    }
  }
  ExpectEqual(layer->Forward(x, y, values, mask_)[0], expected);
}

TEST_F(ScalarTest, TrilinearSimilarityIsOfTheConcatenation) {
  Trilinear layer(3);
  layer->to(torch::kFloat64);
  torch::NoGradGuard no_gradients;
  layer->named_parameters()["_bias"].fill_(0.3);
  const Row w = RowOf(layer->named_parameters()["_weight_vector"]);
  const torch::Tensor x = RandomValues({1, 6, 3});
  const torch::Tensor y = RandomValues({1, kTokens, 3});
  Matrix expected;
  for (const Row& a : MatrixOf(x[0])) {
    expected.emplace_back();
    for (const Row& b : MatrixOf(y[0])) {
      Row all = a;
      all.insert(all.end(), b.begin(), b.end());
      for (size_t k = 0; k < a.size(); ++k) {
        all.push_back(a[k] * b[k]);
      }
      expected.back().push_back(Dot(w, all) + 0.3);
    }
  }
  ExpectEqual(layer->Forward(x, y)[0], expected);
}

// The mean over kept tokens of a softmax in which dropped scores count as zeros.
TEST_F(ScalarTest, RenormalisedSoftmaxIsThatOfKeptScores) {
  const torch::Tensor scores = RandomValues({1, kTokens});
  const Row all = RowOf(scores);
  Row expected = Softmax(Row(all.begin(), all.begin() + kReal));
  expected.resize(kTokens, 0);
  const torch::Tensor computed = RenormalisedSoftmax(scores, mask_);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(computed[0][static_cast<int64_t>(i)].item<double>(), expected[i], 1e-11);
  }
  EXPECT_EQ(RenormalisedSoftmax(scores, torch::zeros_like(mask_)).sum().item<double>(), 0);
  EXPECT_NEAR(LowestSoftmax(scores, mask_)[0][1].item<double>(), expected[1], 1e-12);
}

TEST_F(ScalarTest, AttentionWithSeveralHeads) {
  ConvolutionEncoderOptions options;
  options.width = 6;
  options.attention_width = 4;
  options.heads = 2;
  MultiHeadAttention layer(options);
  layer->to(torch::kFloat64);
  const auto parameters = layer->named_parameters();
  const Matrix combined = MatrixOf(parameters["_combined_projection.weight"]);
  const Row bias = RowOf(parameters["_combined_projection.bias"]);
  const torch::Tensor x = RandomValues({1, kTokens, 6});
  Matrix projected;  // queries 0–3, keys 4–7, values 8–11
  for (const Row& row : MatrixOf(x[0])) {
    projected.push_back(Affine(combined, bias, row));
  }
  Matrix both(projected.size());
  for (size_t head = 0; head < 2; ++head) {
    Matrix values;
    for (const Row& row : projected) {
      values.push_back({row[8 + 2 * head], row[9 + 2 * head]});
    }
    const Matrix part = Attend(projected, projected, values, [&](size_t i, size_t j) {
      double score = 0;
      for (size_t k = 2 * head; k < 2 * head + 2; ++k) {
        score += projected[i][k] * projected[j][4 + k];
      }
      return score / std::sqrt(6.0 / 2);  // the root of width / heads, not of the keys' width
    });
    for (size_t i = 0; i < both.size(); ++i) {
      both[i].insert(both[i].end(), part[i].begin(), part[i].end());
    }
  }
  Matrix expected;
  for (const Row& row : both) {
    expected.push_back(Affine(MatrixOf(parameters["_output_projection.weight"]),
                              RowOf(parameters["_output_projection.bias"]), row));
  }
  ExpectEqual(layer->Forward(x, mask_)[0], expected);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(ScalarTest, CoupledLstmSkipsPaddingInBothDirections) {
  torch::nn::Module parent;
  CoupledLstmOptions options;
  options.input = 3;
  options.hidden = 2;
  const CoupledLstm lstm(parent, "x", options);
  parent.to(torch::kFloat64);
  for (torch::Tensor& parameter : parent.parameters()) {
    torch::nn::init::uniform_(parameter, -1, 1);
  }
  const torch::Tensor x = RandomValues({1, kTokens, 3});
  const Matrix xs = MatrixOf(x[0]);
  Matrix expected(kTokens, Row(4, 0));
  for (const bool backward : {false, true}) {
    const std::string prefix = backward ? "x_l1_bck_" : "x_l1_fwd_";
    const Matrix w = MatrixOf(parent.named_parameters()[prefix + "W"]);
    const Matrix u = MatrixOf(parent.named_parameters()[prefix + "U"]);
    const Row b = RowOf(parent.named_parameters()[prefix + "b"]);
    Row h(2, 0);
    Row c(2, 0);
    for (size_t step = 0; step < kReal; ++step) {
      const size_t t = backward ? kReal - 1 - step : step;
      Row linear = b;
      for (size_t column = 0; column < linear.size(); ++column) {
        for (size_t k = 0; k < xs[t].size(); ++k) {
          linear[column] += xs[t][k] * w[k][column];
        }
        for (size_t k = 0; k < h.size(); ++k) {
          linear[column] += h[k] * u[k][column];
        }
      }
      for (size_t k = 0; k < h.size(); ++k) {
        const double forget = Sigmoid(linear[k]);
        c[k] = forget * c[k] + (1 - forget) * std::tanh(linear[4 + k]);
        h[k] = Sigmoid(linear[2 + k]) * std::tanh(c[k]);
        expected[t][(backward ? 2 : 0) + k] = h[k];
      }
    }
  }
  ExpectEqual(lstm.Forward(x, mask_, false)[0], expected);
}

TEST_F(ScalarTest, SpanScoresLossAndBestSpansOfRasor) {
  constexpr int64_t kSpan = 2;  // tokens
  const torch::Tensor starts = RandomValues({1, kTokens, 4});
  const torch::Tensor ends = RandomValues({1, kTokens, 4});
  const torch::Tensor weights = RandomValues({4});
  const Matrix s = MatrixOf(starts[0]);
  const Matrix e = MatrixOf(ends[0]);
  const Row w = RowOf(weights);
  Scores scores;
  scores.spans = ScoreSpans(starts, ends, weights, kSpan);
  scores.spans_mask = SpansInPassage(mask_, kSpan);
  Row valid;
  std::vector<Span> spans;
  for (size_t first = 0; first < kReal; ++first) {
    for (size_t last = first; last < kReal && last < first + kSpan; ++last) {
      double score = 0;
      for (size_t k = 0; k < w.size(); ++k) {
        score += w[k] * std::max(0.0, s[first][k] + e[last][k]);
      }
      const auto row = static_cast<int64_t>(first);
      const auto step = static_cast<int64_t>(last - first);
      EXPECT_NEAR(scores.spans[0][row][step].item<double>(), score, 1e-12);
      EXPECT_TRUE(scores.spans_mask[0][row][step].item<bool>());
      valid.push_back(score);
      spans.push_back({row, static_cast<int64_t>(last), score});
    }
  }
  EXPECT_EQ(scores.spans_mask.sum().item<int64_t>(), static_cast<int64_t>(valid.size()));

  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.score > b.score; });
  const std::vector<Span> best = BestScoredSpans(scores, {0, 3})[0];
  ASSERT_EQ(best.size(), 3u);
  for (size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(best[i].first, spans[i].first);
    EXPECT_EQ(best[i].last, spans[i].last);
  }
  // The answer (1, 2) is one class of all valid spans.
  const torch::Tensor classes =
      SpanClasses(torch::tensor({1, 0, 3}), torch::tensor({2, 2, 3}), kSpan);
  EXPECT_EQ(classes[0].item<int64_t>(), 1 * kSpan + 1);
  EXPECT_EQ(classes[1].item<int64_t>(), -1) << "an answer of three tokens has no class";
  EXPECT_EQ(classes[2].item<int64_t>(), 3 * kSpan);
}

TEST_F(ScalarTest, BestSpansAreThoseOfAllPairsAndTheFirstOfEquals) {
  Scores scores;
  scores.starts = torch::tensor({{0.1, 2.0, 2.0, 0.3}}, torch::kFloat64);
  scores.ends = torch::tensor({{1.0, 0.2, 1.0, 1.0}}, torch::kFloat64);
  const std::vector<Span> best = BestSumsOfLogits(scores, {2, 3})[0];
  ASSERT_EQ(best.size(), 3u);
  EXPECT_EQ(best[0], (Span{1, 2, 3.0})) << "(1, 3) has three tokens; (2, 2) is later";
  EXPECT_EQ(best[1], (Span{2, 2, 3.0}));
  EXPECT_EQ(best[2], (Span{2, 3, 3.0}));
}

}  // namespace
}  // namespace concur::readers
