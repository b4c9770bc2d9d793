// SPDX-License-Identifier: Apache-2.0
// Layers of the neural reader: weights with their gradients and Adam, convolution over tokens,
// softmax. Matrices have one column per token.
//
// Thread-compatible, single-threaded, deterministic.
#ifndef CONCUR_STUDIES_APPROACHES_NEURAL_LAYERS_H_
#define CONCUR_STUDIES_APPROACHES_NEURAL_LAYERS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "studies/approaches/model_file.h"

namespace concur::approaches {

using Matrix = Eigen::MatrixXf;
using Vector = Eigen::VectorXf;
using MatrixMap = Eigen::Map<Matrix>;
using ConstMatrixMap = Eigen::Map<const Matrix>;

// A weight matrix inside Weights.
struct Tensor {
  int64_t offset = 0;
  int64_t rows = 0;
  int64_t cols = 0;
};

// Numbers that training fits by Adam (Kingma and Ba, 2015).
class AdamValues {
 public:
  explicit AdamValues(size_t size = 0) : values_(size) {}

  void StartTraining();
  void EndTraining();
  void Save(ModelWriter& writer) const { writer.Numbers(values_); }
  // The reader fails unless the file has as many numbers, all finite.
  void Load(ModelReader& reader);

 protected:
  std::vector<float> values_;
  std::vector<float> gradients_;  // these three are empty except during training
  std::vector<float> means_;
  std::vector<float> squares_;
};

// All dense weights of a network in one block.
class Weights : public AdamValues {
 public:
  // A matrix of zeros.
  Tensor Add(int64_t rows, int64_t cols);
  // Uniform in ±sqrt(6 / (rows + cols)) (Glorot and Bengio, 2010).
  void Randomize(const Tensor& tensor, Random& random);

  ConstMatrixMap operator()(const Tensor& tensor) const {
    return {values_.data() + tensor.offset, tensor.rows, tensor.cols};
  }
  MatrixMap Gradient(const Tensor& tensor) {
    return {gradients_.data() + tensor.offset, tensor.rows, tensor.cols};
  }

  double GradientSquare() const;
  // One step of Adam with gradients times `scale`, which it then clears.
  void Step(float rate, float scale, int64_t step);
};

// Embeddings of hashed words: a token is the sum of the row of its word and that of its suffix.
// Only rows with a gradient in the batch are updated.
class Embeddings : public AdamValues {
 public:
  Embeddings(int64_t size, int32_t bits);

  int64_t size() const { return size_; }
  void Randomize(Random& random);
  size_t RowOf(uint64_t hash) const { return static_cast<size_t>(hash >> 7U) & mask_; }
  // Adds row `row` to `out`, of size() numbers.
  void AddRow(size_t row, float* out) const;

  // REQUIRES, as for Step: StartTraining was called.
  void AddGradient(size_t row, const float* gradient);
  double GradientSquare() const;
  void Step(float rate, float scale, int64_t step);

 private:
  const int64_t size_;
  const size_t mask_;
  std::vector<bool> touched_;
  std::vector<size_t> rows_;  // touched ones, in order of their first gradient
};

// Convolution over `width` (odd) neighbouring columns with zeros beyond the ends, then max(0, x).
// `padded` has (width - 1) / 2 columns of zeros on both sides.
Matrix Pad(const Matrix& input, int64_t width);
Matrix Convolve(const Matrix& padded, int64_t width, const ConstMatrixMap& weights,
                const ConstMatrixMap& bias);
// The backward pass. `output` is Convolve's, `gradient` that of the loss with respect to it. Adds
// to the weights' gradients; returns the gradient with respect to the unpadded input.
Matrix ConvolveBack(const Matrix& padded, int64_t width, const ConstMatrixMap& weights,
                    const Matrix& output, const Matrix& gradient, MatrixMap weights_gradient,
                    MatrixMap bias_gradient);

// Softmax of each column, in place.
void SoftmaxColumns(Matrix& scores);
// Gradient with respect to the scores, given the softmax and the gradient with respect to it.
Matrix SoftmaxColumnsBack(const Matrix& softmax, const Matrix& gradient);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_NEURAL_LAYERS_H_
