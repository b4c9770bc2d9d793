// SPDX-License-Identifier: Apache-2.0
#include "qa/builders/cooccurrence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace concur::qa {
namespace {

constexpr int kPowerRounds = 2;

// Symmetric sparse matrix in compressed rows.
struct Sparse {
  std::vector<uint64_t> begins;  // one more than there are rows
  std::vector<uint32_t> columns;
  std::vector<float> values;
};

// Calls `use(a, b)` for each ordered pair of words within the window.
template <typename Use>
void ForEachPair(const WordStream& stream, size_t window, Use use) {
  size_t begin = 0;
  for (const uint32_t end : stream.ends) {
    for (size_t i = begin; i < end; ++i) {
      const size_t last = std::min<size_t>(end, i + window + 1);
      for (size_t j = i + 1; j < last; ++j) {
        use(stream.words[i], stream.words[j]);
        use(stream.words[j], stream.words[i]);
      }
    }
    begin = end;
  }
}

// Columns of each row with repetitions, in any order.
void CollectPairs(const WordStream& stream, size_t vocabulary, size_t window,
                  std::vector<uint64_t>& begins, std::vector<uint32_t>& columns) {
  begins.assign(vocabulary + 1, 0);
  ForEachPair(stream, window, [&](uint32_t a, uint32_t) { ++begins[a + 1]; });
  for (size_t i = 0; i < vocabulary; ++i) {
    begins[i + 1] += begins[i];
  }
  columns.resize(begins[vocabulary]);
  std::vector<uint64_t> next(begins.begin(), begins.end() - 1);
  ForEachPair(stream, window, [&](uint32_t a, uint32_t b) { columns[next[a]++] = b; });
}

Sparse PositiveMutualInformation(const WordStream& stream, size_t vocabulary, size_t window) {
  std::vector<uint64_t> begins;
  std::vector<uint32_t> pairs;
  CollectPairs(stream, vocabulary, window, begins, pairs);
  const auto total = static_cast<double>(pairs.size());
  std::vector<double> logs(vocabulary, 0);  // logarithms of the row sums
  for (size_t i = 0; i < vocabulary; ++i) {
    const uint64_t sum = begins[i + 1] - begins[i];
    logs[i] = sum == 0 ? 0 : PortableLog2(static_cast<double>(sum));
  }
  const double log_total = total == 0 ? 0 : PortableLog2(total);
  std::vector<double> log_of_count = {0};  // few counts occur, each often
  Sparse matrix;
  matrix.begins.push_back(0);
  for (size_t i = 0; i < vocabulary; ++i) {
    const auto first = pairs.begin() + static_cast<int64_t>(begins[i]);
    const auto last = pairs.begin() + static_cast<int64_t>(begins[i + 1]);
    std::sort(first, last);
    for (auto it = first; it != last;) {
      const auto run = std::upper_bound(it, last, *it);
      const auto count = static_cast<size_t>(run - it);
      while (log_of_count.size() <= count) {
        log_of_count.push_back(PortableLog2(static_cast<double>(log_of_count.size())));
      }
      const double information = log_of_count[count] + log_total - logs[i] - logs[*it];
      if (information > 0) {
        matrix.columns.push_back(*it);
        matrix.values.push_back(static_cast<float>(information));
      }
      it = run;
    }
    matrix.begins.push_back(matrix.columns.size());
  }
  return matrix;
}

// out = matrix · in, both row-major with `dimensions` columns.
void Multiply(const Sparse& matrix, const std::vector<float>& in, size_t dimensions,
              std::vector<float>& out) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (size_t i = 0; i + 1 < matrix.begins.size(); ++i) {
    float* const row = out.data() + i * dimensions;
    for (uint64_t e = matrix.begins[i]; e < matrix.begins[i + 1]; ++e) {
      const float value = matrix.values[e];
      const float* const other = in.data() + size_t{matrix.columns[e]} * dimensions;
      for (size_t d = 0; d < dimensions; ++d) {
        row[d] += value * other[d];
      }
    }
  }
}

// Makes the columns orthonormal (Gram–Schmidt, each column against the earlier ones at once); a
// column that depends on them becomes zero.
void Orthonormalise(size_t rows, size_t dimensions, std::vector<float>& matrix) {
  std::vector<double> products(dimensions);
  for (size_t c = 0; c < dimensions; ++c) {
    // Twice is enough (Giraud et al., 2005).
    for (int pass = 0; pass < 2; ++pass) {
      std::fill(products.begin(), products.end(), 0.0);
      for (size_t i = 0; i < rows; ++i) {
        const float* const row = matrix.data() + i * dimensions;
        for (size_t d = 0; d < c; ++d) {
          products[d] += double{row[d]} * double{row[c]};
        }
      }
      for (size_t i = 0; i < rows; ++i) {
        float* const row = matrix.data() + i * dimensions;
        double value = row[c];
        for (size_t d = 0; d < c; ++d) {
          value -= products[d] * double{row[d]};
        }
        row[c] = static_cast<float>(value);
      }
    }
    double squares = 0;
    for (size_t i = 0; i < rows; ++i) {
      squares += double{matrix[i * dimensions + c]} * double{matrix[i * dimensions + c]};
    }
    const double factor = squares > 1e-12 ? 1 / std::sqrt(squares) : 0;
    for (size_t i = 0; i < rows; ++i) {
      matrix[i * dimensions + c] = static_cast<float>(matrix[i * dimensions + c] * factor);
    }
  }
}

}  // namespace

double PortableLog2(double x) {
  CONCUR_CHECK(x > 0 && std::isfinite(x));
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh(z), z = (m - 1) / (m + 1), |z| < 0.1716: fifteen terms reach 1e-13.
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double sum = 0;
  for (int k = 14; k >= 0; --k) {
    sum = sum * square + 1.0 / (2 * k + 1);
  }
  constexpr double kTwoOverLn2 = 2.8853900817779268;
  return exponent + kTwoOverLn2 * z * sum;
}

std::vector<float> CooccurrenceVectors(const WordStream& stream, size_t vocabulary,
                                       const CooccurrenceOptions& options) {
  CONCUR_CHECK(vocabulary > 0 && options.dimensions > 0);
  const Sparse matrix = PositiveMutualInformation(stream, vocabulary, options.window);
  const size_t dimensions = std::min(options.dimensions, vocabulary);
  std::vector<float> vectors(vocabulary * dimensions);
  std::vector<float> next(vectors.size());
  // The seed is fixed: vectors depend on the text only, not on a benchmark's seed.
  Random random(0, "cooccurrence/start");
  for (float& value : vectors) {
    value = (random.Next() >> 63) != 0 ? 1.0F : -1.0F;
  }
  for (int round = 0; round < kPowerRounds; ++round) {
    Multiply(matrix, vectors, dimensions, next);
    vectors.swap(next);
    Orthonormalise(vocabulary, dimensions, vectors);
  }
  Multiply(matrix, vectors, dimensions, next);
  for (size_t i = 0; i < vocabulary; ++i) {
    float* const row = next.data() + i * dimensions;
    if (std::all_of(row, row + dimensions, [](float value) { return value == 0; })) {
      for (size_t d = 0; d < dimensions; ++d) {
        row[d] = (random.Next() >> 63) != 0 ? 1.0F : -1.0F;
      }
    }
  }
  return next;
}

}  // namespace concur::qa
