// SPDX-License-Identifier: Apache-2.0
// Zip archives written byte by byte, so that they can be wrong in every way.
//
// Thread-compatible.
#ifndef CONCUR_TESTS_TESTING_ZIP_BUILDER_H_
#define CONCUR_TESTS_TESTING_ZIP_BUILDER_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"

namespace concur::testing {

class ZipBuilder {
 public:
  static constexpr int kStored = 0;
  static constexpr int kDeflated = 8;
  static constexpr int kZstd = 93;

  ZipBuilder& Add(absl::string_view name, absl::string_view contents, int method = kDeflated) {
    return AddPacked(name, Packed(contents, method), method, contents.size(),
                     static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(contents.data()),
                                                 static_cast<uInt>(contents.size()))));
  }

  // `packed` as it is, with what the archive says of it.
  ZipBuilder& AddPacked(absl::string_view name, absl::string_view packed, int method, size_t bytes,
                        uint32_t crc, int flags = kUtf8Names) {
    std::string about = Number(20, 2) + Number(flags, 2) + Number(method, 2) + Number(0, 4) +
                        Number(crc, 4) + Number(packed.size(), 4) + Number(bytes, 4) +
                        Number(name.size(), 2) + Number(0, 2);
    directory_ += "PK\1\2" + Number(20, 2) + about + Number(0, 2) + Number(0, 2) + Number(0, 2) +
                  Number(0, 4) + Number(files_.size(), 4) + std::string(name);
    files_ += "PK\3\4" + about + std::string(name) + std::string(packed);
    ++entries_;
    return *this;
  }

  std::string Build() const {
    return files_ + directory_ + "PK\5\6" + Number(0, 4) + Number(entries_, 2) +
           Number(entries_, 2) + Number(directory_.size(), 4) + Number(files_.size(), 4) +
           Number(0, 2);
  }

 private:
  static constexpr int kUtf8Names = 1 << 11;

  static std::string Number(uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) {
      text += static_cast<char>(value >> (8 * i) & 0xff);
    }
    return text;
  }

  static std::string Packed(absl::string_view contents, int method) {
    if (method == kDeflated) {
      uLongf size = compressBound(contents.size());
      std::string packed(size, '\0');
      CONCUR_CHECK(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                            reinterpret_cast<const Bytef*>(contents.data()),
                            contents.size()) == Z_OK);
      return packed.substr(2, size - 6);  // without zlib's own header and checksum
    }
    if (method == kZstd) {
      // A frame (RFC 8878) whose one block is not compressed.
      CONCUR_CHECK(contents.size() >= 256 && contents.size() < 65536 + 256);
      return "\x28\xb5\x2f\xfd\x60" + Number(contents.size() - 256, 2) +
             Number(contents.size() << 3 | 1, 3) + std::string(contents);
    }
    return std::string(contents);
  }

  std::string files_;
  std::string directory_;
  uint64_t entries_ = 0;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_ZIP_BUILDER_H_
