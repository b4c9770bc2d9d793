// SPDX-License-Identifier: Apache-2.0
// SHA-256 digests, which name artifacts and identify cells.
//
// Digest is a value; Sha256 is thread-compatible.
#ifndef CONCUR_BASE_DIGEST_H_
#define CONCUR_BASE_DIGEST_H_

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

struct Digest {
  std::array<uint8_t, 32> bytes{};

  friend auto operator<=>(const Digest&, const Digest&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Digest& d) {
    return H::combine(std::move(h), d.bytes);
  }

  bool IsZero() const { return *this == Digest(); }
  // 64 lower-case hexadecimal digits.
  std::string ToHex() const;
  // The 32 raw bytes.
  std::string ToBytes() const;
  // InvalidArgument unless `hex` is 64 hexadecimal digits.
  static absl::StatusOr<Digest> FromHex(absl::string_view hex);
  // InvalidArgument unless `bytes` has 32 bytes.
  static absl::StatusOr<Digest> FromBytes(absl::string_view bytes);
};

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(absl::string_view data);
  // Adds `data` preceded by its length, so that ("ab","c") and ("a","bc") differ.
  void UpdateField(absl::string_view data);
  // Returns the digest of everything added and resets the hash.
  Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest Sha256Of(absl::string_view data);

}  // namespace concur

#endif  // CONCUR_BASE_DIGEST_H_
