// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/pretrained/attention.h"

#include <torch/torch.h>

#include <vector>

#include "tests/studies/readers/networks.h"
#include "tests/testing/test.h"

namespace concur::readers {
namespace {

constexpr int64_t kAttentionRows = 2, kAttentionHeads = 3, kAttentionTokens = 7,
                  kAttentionWidth = 4;

// The scores of three queries of each row and head: blocks of three, three and one.
constexpr int64_t kThreeQueries = kAttentionRows * kAttentionHeads * kAttentionTokens * 3;

class BlockedAttentionTest : public ::testing::Test {
 protected:
  BlockedAttentionTest() {
    torch::manual_seed(5);
    for (torch::Tensor* tensor : {&query_, &key_, &value_}) {
      *tensor = torch::randn({kAttentionRows, kAttentionHeads, kAttentionTokens, kAttentionWidth},
                             torch::kFloat64)
                    .requires_grad_();
    }
    bias_ = torch::zeros({kAttentionRows, 1, 1, kAttentionTokens}, torch::kFloat64);
    bias_[1][0][0][6] = -10000;
    factors_ = torch::randn({kAttentionRows, kAttentionHeads, kAttentionTokens, kAttentionWidth},
                            torch::kFloat64);
  }

  std::vector<torch::Tensor> Gradients(const torch::Tensor& out) const {
    return torch::autograd::grad({(out * factors_).sum()}, {query_, key_, value_});
  }

  torch::Tensor query_, key_, value_, bias_, factors_;
};

TEST_F(BlockedAttentionTest, BlocksAndTheirGradientsAreThoseOfTheWhole) {
  for (const torch::Tensor& bias : {bias_, torch::Tensor()}) {
    torch::Tensor weights;
    const torch::Tensor whole = Attention(query_, key_, value_, bias, {});
    EXPECT_TRUE(Attention(query_, key_, value_, bias, {.scores_max = 1}, &weights).equal(whole));
    EXPECT_TRUE(torch::allclose(weights.sum(-1), torch::ones({}, torch::kFloat64)));
    const std::vector<torch::Tensor> of_whole = Gradients(whole);
    for (const int64_t scores : {kThreeQueries, int64_t{1}}) {
      const torch::Tensor blocks = Attention(query_, key_, value_, bias, {.scores_max = scores});
      EXPECT_TRUE(torch::allclose(blocks, whole, 1e-12, 1e-12));
      const std::vector<torch::Tensor> of_blocks = Gradients(blocks);
      for (size_t i = 0; i < of_whole.size(); ++i) {
        EXPECT_TRUE(torch::allclose(of_blocks[i], of_whole[i], 1e-12, 1e-12)) << i;
      }
    }
  }
}

TEST_F(BlockedAttentionTest, GradientsAreOfTheDropoutThatWasDrawn) {
  const AttentionOptions options = {.dropout = 0.4, .training = true, .scores_max = kThreeQueries};
  ExpectDerivatives(
      [&] {
        torch::manual_seed(3);
        return (Attention(query_, key_, value_, bias_, options) * factors_).sum();
      },
      {query_, key_, value_}, "attention", 8);
  EXPECT_FALSE(Attention(query_, key_, value_, bias_, options)
                   .allclose(Attention(query_, key_, value_, bias_, options)));
}

TEST_F(BlockedAttentionTest, GradientsDrawNothingFromTheGenerator) {
  const AttentionOptions options = {.dropout = 0.4, .training = true, .scores_max = kThreeQueries};
  const auto next = [&](bool gradients) {
    torch::manual_seed(3);
    const torch::Tensor out = Attention(query_, key_, value_, bias_, options);
    if (gradients) {
      Gradients(out);
    }
    return torch::rand({4});
  };
  EXPECT_TRUE(next(true).equal(next(false)));
}

TEST_F(BlockedAttentionTest, HalfPrecisionHasSoftmaxIn32BitsAndValuesInItsType) {
  const auto half = [](const torch::Tensor& x) { return x.to(torch::kBFloat16); };
  const torch::Tensor whole = Attention(query_, key_, value_, bias_, {});
  torch::Tensor weights;
  Attention(half(query_), half(key_), half(value_), bias_.to(torch::kFloat32), {}, &weights);
  EXPECT_EQ(weights.scalar_type(), torch::kFloat32);
  const torch::Tensor blocks = Attention(half(query_), half(key_), half(value_),
                                         bias_.to(torch::kFloat32), {.scores_max = kThreeQueries});
  EXPECT_EQ(blocks.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(torch::allclose(blocks.to(torch::kFloat64), whole, 0.05, 0.05));
  EXPECT_FALSE(blocks.to(torch::kFloat64).equal(whole));
  const std::vector<torch::Tensor> expected = Gradients(whole);
  const std::vector<torch::Tensor> computed = Gradients(blocks);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(torch::allclose(computed[i], expected[i], 0.1, 0.1)) << i;
  }
}

TEST_F(BlockedAttentionTest, NothingIsKeptWithoutGradients) {
  const torch::InferenceMode inference;
  const torch::Tensor query = query_.detach().clone();
  EXPECT_TRUE(torch::allclose(Attention(query, key_, value_, bias_, {.scores_max = kThreeQueries}),
                              Attention(query, key_, value_, bias_, {}), 1e-12, 1e-12));
}

}  // namespace
}  // namespace concur::readers
