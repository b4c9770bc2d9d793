// SPDX-License-Identifier: Apache-2.0
// Inner products of rows of WordVectors.
//
// Thread-safe (stateless).
#ifndef CONCUR_QA_BUILDERS_VECTOR_PRODUCTS_H_
#define CONCUR_QA_BUILDERS_VECTOR_PRODUCTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace concur::qa {

// Inner products of one row with some queries. `stride` is a multiple of 16.
template <size_t kQueries>
void Dots(const int16_t* row, const std::array<const int16_t*, kQueries>& queries, size_t stride,
          std::array<int32_t, kQueries>& out) {
#if defined(__SSE2__)
  __m128i sums[kQueries];
  for (auto& sum : sums) {
    sum = _mm_setzero_si128();
  }
  for (size_t i = 0; i < stride; i += 8) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
    for (size_t q = 0; q < kQueries; ++q) {
      const __m128i query = _mm_loadu_si128(reinterpret_cast<const __m128i*>(queries[q] + i));
      sums[q] = _mm_add_epi32(sums[q], _mm_madd_epi16(values, query));
    }
  }
  for (size_t q = 0; q < kQueries; ++q) {
    __m128i sum = sums[q];
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(1, 0, 3, 2)));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, _MM_SHUFFLE(2, 3, 0, 1)));
    out[q] = _mm_cvtsi128_si32(sum);
  }
#else
  for (size_t q = 0; q < kQueries; ++q) {
    int32_t sum = 0;
    for (size_t i = 0; i < stride; ++i) {
      sum += int32_t{row[i]} * int32_t{queries[q][i]};
    }
    out[q] = sum;
  }
#endif
}

}  // namespace concur::qa

#endif  // CONCUR_QA_BUILDERS_VECTOR_PRODUCTS_H_
