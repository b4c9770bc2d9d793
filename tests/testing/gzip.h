// SPDX-License-Identifier: Apache-2.0
// Gzipped bytes for tests; programs that use it link zlib.
#ifndef CONCUR_TESTS_TESTING_GZIP_H_
#define CONCUR_TESTS_TESTING_GZIP_H_

#include <zlib.h>

#include <cstddef>
#include <string>

#include "base/check.h"

namespace concur::testing {

class Deflater {
 public:
  explicit Deflater(int level) {
    CONCUR_CHECK(deflateInit2(&stream_, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void Add(const std::string& text, bool last) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    std::string block(size_t{1} << 16, '\0');
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(block.data());
      stream_.avail_out = static_cast<uInt>(block.size());
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      packed_.append(block.data(), block.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }
  const std::string& packed() const { return packed_; }

 private:
  z_stream stream_{};
  std::string packed_;
};

inline std::string Gzip(const std::string& text) {
  Deflater deflater(9);
  deflater.Add(text, true);
  return deflater.packed();
}

// `prefix` followed by `count` times `c`, gzipped, in little memory.
inline std::string GzipRepeated(const std::string& prefix, char c, size_t count) {
  Deflater deflater(1);
  deflater.Add(prefix, false);
  const std::string block(size_t{1} << 20, c);
  for (; count > block.size(); count -= block.size()) {
    deflater.Add(block, false);
  }
  deflater.Add(std::string(count, c), true);
  return deflater.packed();
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_GZIP_H_
