// What the neural reader is made of: weights with their gradients and Adam, convolution over
// tokens, softmax. Matrices have one column a token.
//
// Thread-compatible, single-threaded, deterministic.
#ifndef CONCUR_APPROACHES_NEURAL_LAYERS_H_
#define CONCUR_APPROACHES_NEURAL_LAYERS_H_

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "approaches/model_file.h"
#include "base/random.h"

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

// All dense weights of a network in one block.
class Weights {
 public:
  // Zeros; Randomize fills those that need it.
  Tensor Add(int64_t rows, int64_t cols);
  // Uniform in ±sqrt(6 / (rows + cols)) (Glorot and Bengio, 2010).
  void Randomize(const Tensor& tensor, Random& random);

  ConstMatrixMap operator()(const Tensor& tensor) const {
    return {values_.data() + tensor.offset, tensor.rows, tensor.cols};
  }
  MatrixMap Gradient(const Tensor& tensor) {
    return {gradients_.data() + tensor.offset, tensor.rows, tensor.cols};
  }

  void StartTraining();
  double GradientSquare() const;
  // One step of Adam (Kingma and Ba, 2015) with gradients times `scale`, which it then clears.
  void Step(float rate, float scale, int64_t step);
  void EndTraining();

  void Save(ModelWriter& writer) const { writer.Numbers(values_); }
  void Load(ModelReader& reader);

 private:
  std::vector<float> values_;
  std::vector<float> gradients_;  // these three are empty outside of training
  std::vector<float> means_;
  std::vector<float> squares_;
};

// Embeddings of hashed words: a token is the sum of the row of its word and that of its suffix.
// Only rows that a batch touches are updated.
class Embeddings {
 public:
  Embeddings(int64_t size, int32_t bits);

  int64_t size() const { return size_; }
  void Randomize(Random& random);
  size_t RowOf(uint64_t hash) const { return static_cast<size_t>(hash >> 7U) & mask_; }
  // Adds row `row` to `out`, of size() numbers.
  void AddRow(size_t row, float* out) const;

  void StartTraining();
  void AddGradient(size_t row, const float* gradient);
  double GradientSquare() const;
  void Step(float rate, float scale, int64_t step);
  void EndTraining();

  void Save(ModelWriter& writer) const { writer.Numbers(values_); }
  void Load(ModelReader& reader);

 private:
  const int64_t size_;
  const size_t mask_;
  std::vector<float> values_;
  std::vector<float> gradients_;
  std::vector<float> means_;
  std::vector<float> squares_;
  std::vector<bool> touched_;
  std::vector<size_t> rows_;  // touched ones, in order of first touch
};

// Convolution over `width` (odd) neighbouring columns with zeros beyond the ends, then max(0, x).
// `padded` has (width - 1) / 2 columns of zeros on both sides.
Matrix Pad(const Matrix& input, int64_t width);
Matrix Convolve(const Matrix& padded, int64_t width, const ConstMatrixMap& weights,
                const ConstMatrixMap& bias);
// `output` is what Convolve gave, `gradient` that of the loss by it. Adds to the weights'
// gradients and returns the gradient by the unpadded input.
Matrix ConvolveBack(const Matrix& padded, int64_t width, const ConstMatrixMap& weights,
                    const Matrix& output, const Matrix& gradient, MatrixMap weights_gradient,
                    MatrixMap bias_gradient);

// Softmax of each column, in place.
void SoftmaxColumns(Matrix& scores);
// Gradient by the scores, given the softmax and the gradient by it.
Matrix SoftmaxColumnsBack(const Matrix& softmax, const Matrix& gradient);

}  // namespace concur::approaches

#endif  // CONCUR_APPROACHES_NEURAL_LAYERS_H_
