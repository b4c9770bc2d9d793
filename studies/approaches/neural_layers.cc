// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/neural_layers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "studies/approaches/math.h"

namespace concur::approaches {
namespace {

constexpr float kBeta1 = 0.9F;
constexpr float kBeta2 = 0.999F;
constexpr float kEpsilon = 1e-8F;

// 1 - beta^step.
float Correction(float beta, int64_t step) {
  return static_cast<float>(1 - Exp(Log(beta) * static_cast<double>(step)));
}

struct AdamStep {
  AdamStep(float rate, float factor, int64_t step)
      : scale(factor),
        rate_now(rate / Correction(kBeta1, step)),
        square_factor(1 / Correction(kBeta2, step)) {}

  void Apply(float& value, float& gradient, float& mean, float& square) const {
    const float g = gradient * scale;
    gradient = 0;
    mean = kBeta1 * mean + (1 - kBeta1) * g;
    square = kBeta2 * square + (1 - kBeta2) * g * g;
    value -= rate_now * mean / (std::sqrt(square * square_factor) + kEpsilon);
  }

  float scale;
  float rate_now;
  float square_factor;
};

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

}  // namespace

void AdamValues::StartTraining() {
  gradients_.assign(values_.size(), 0);
  means_.assign(values_.size(), 0);
  squares_.assign(values_.size(), 0);
}

void AdamValues::EndTraining() {
  gradients_ = {};
  means_ = {};
  squares_ = {};
}

void AdamValues::Load(ModelReader& reader) {
  const auto values = reader.Numbers<float>();
  reader.Require(values.size() == values_.size() && AllFinite(values));
  if (values.size() == values_.size()) {
    values_ = values;
  }
}

Tensor Weights::Add(int64_t rows, int64_t cols) {
  const Tensor tensor{static_cast<int64_t>(values_.size()), rows, cols};
  values_.resize(values_.size() + static_cast<size_t>(rows * cols));
  return tensor;
}

void Weights::Randomize(const Tensor& tensor, Random& random) {
  const double bound = std::sqrt(6.0 / static_cast<double>(tensor.rows + tensor.cols));
  for (int64_t i = 0; i < tensor.rows * tensor.cols; ++i) {
    values_[static_cast<size_t>(tensor.offset + i)] =
        static_cast<float>((2 * random.Uniform() - 1) * bound);
  }
}

double Weights::GradientSquare() const {
  double sum = 0;
  for (const float g : gradients_) {
    sum += static_cast<double>(g) * g;
  }
  return sum;
}

void Weights::Step(float rate, float scale, int64_t step) {
  const AdamStep adam(rate, scale, step);
  for (size_t i = 0; i < values_.size(); ++i) {
    adam.Apply(values_[i], gradients_[i], means_[i], squares_[i]);
  }
}

Embeddings::Embeddings(int64_t size, int32_t bits)
    : AdamValues((size_t{1} << static_cast<uint32_t>(bits)) * static_cast<size_t>(size)),
      size_(size),
      mask_((size_t{1} << static_cast<uint32_t>(bits)) - 1),
      touched_(mask_ + 1) {}

void Embeddings::Randomize(Random& random) {
  for (float& value : values_) {
    value = static_cast<float>((2 * random.Uniform() - 1) * 0.2);
  }
}

void Embeddings::AddRow(size_t row, float* out) const {
  const float* values = values_.data() + row * static_cast<size_t>(size_);
  for (int64_t i = 0; i < size_; ++i) {
    out[i] += values[i];
  }
}

void Embeddings::AddGradient(size_t row, const float* gradient) {
  if (!touched_[row]) {
    touched_[row] = true;
    rows_.push_back(row);
  }
  float* sum = gradients_.data() + row * static_cast<size_t>(size_);
  for (int64_t i = 0; i < size_; ++i) {
    sum[i] += gradient[i];
  }
}

double Embeddings::GradientSquare() const {
  double sum = 0;
  for (const size_t row : rows_) {
    for (int64_t i = 0; i < size_; ++i) {
      const float g = gradients_[row * static_cast<size_t>(size_) + static_cast<size_t>(i)];
      sum += static_cast<double>(g) * g;
    }
  }
  return sum;
}

void Embeddings::Step(float rate, float scale, int64_t step) {
  const AdamStep adam(rate, scale, step);
  for (const size_t row : rows_) {
    touched_[row] = false;
    for (int64_t i = 0; i < size_; ++i) {
      const size_t k = row * static_cast<size_t>(size_) + static_cast<size_t>(i);
      adam.Apply(values_[k], gradients_[k], means_[k], squares_[k]);
    }
  }
  rows_.clear();
}

Matrix Pad(const Matrix& input, int64_t width) {
  Matrix padded = Matrix::Zero(input.rows(), input.cols() + width - 1);
  padded.middleCols((width - 1) / 2, input.cols()) = input;
  return padded;
}

namespace {

// Column i stacks the columns i .. i + width - 1 of `padded`, which are contiguous in memory.
auto Windows(const Matrix& padded, int64_t width) {
  return Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(padded.data(), padded.rows() * width,
                                                           padded.cols() - width + 1,
                                                           Eigen::OuterStride<>(padded.rows()));
}

}  // namespace

Matrix Convolve(const Matrix& padded, int64_t width, const ConstMatrixMap& weights,
                const ConstMatrixMap& bias) {
  Matrix output = weights * Windows(padded, width);
  output.colwise() += bias.col(0);
  return output.cwiseMax(0.0F);
}

Matrix ConvolveBack(const Matrix& padded, int64_t width, const ConstMatrixMap& weights,
                    const Matrix& output, const Matrix& gradient, MatrixMap weights_gradient,
                    MatrixMap bias_gradient) {
  const Matrix inner = (output.array() > 0.0F).select(gradient, 0.0F);
  weights_gradient.noalias() += inner * Windows(padded, width).transpose();
  bias_gradient += inner.rowwise().sum();
  const Matrix windows = weights.transpose() * inner;
  Matrix padded_gradient = Matrix::Zero(padded.rows(), padded.cols());
  for (int64_t i = 0; i < windows.cols(); ++i) {
    for (int64_t k = 0; k < width; ++k) {
      padded_gradient.col(i + k) += windows.col(i).segment(k * padded.rows(), padded.rows());
    }
  }
  return padded_gradient.middleCols((width - 1) / 2, output.cols());
}

void SoftmaxColumns(Matrix& scores) {
  for (int64_t i = 0; i < scores.cols(); ++i) {
    const float top = scores.col(i).maxCoeff();
    float sum = 0;
    for (int64_t j = 0; j < scores.rows(); ++j) {
      scores(j, i) = ExpNegative(scores(j, i) - top);
      sum += scores(j, i);
    }
    scores.col(i) /= sum;
  }
}

Matrix SoftmaxColumnsBack(const Matrix& softmax, const Matrix& gradient) {
  const Matrix weighted = softmax.cwiseProduct(gradient);
  Matrix result = weighted;
  const Eigen::RowVectorXf sums = weighted.colwise().sum();
  result -= softmax * sums.asDiagonal();
  return result;
}

}  // namespace concur::approaches
