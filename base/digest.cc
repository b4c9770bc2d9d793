// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/escape.h"

namespace concur {

std::string Digest::ToBytes() const {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string Digest::ToHex() const {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

absl::StatusOr<Digest> Digest::FromBytes(absl::string_view bytes) {
  Digest digest;
  if (bytes.size() != digest.bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a SHA-256 digest has 32 bytes, these are ", bytes.size()));
  }
  std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
  return digest;
}

absl::StatusOr<Digest> Digest::FromHex(absl::string_view hex) {
  bool valid = hex.size() == 64;
  for (char c : hex) {
    valid = valid && absl::ascii_isxdigit(static_cast<unsigned char>(c));
  }
  if (!valid) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a SHA-256 digest of 64 hexadecimal digits, got ", Quoted(hex)));
  }
  return FromBytes(absl::HexStringToBytes(hex));
}

namespace {

// Fetched once and never freed: with EVP_sha256(), OpenSSL 3 looks the algorithm up at every
// initialization, which takes longer than hashing the fields of a content key.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CONCUR_CHECK(algorithm != nullptr);
  return algorithm;
}

}  // namespace

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  bool is_new = true;  // not initialized yet
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(absl::string_view data) {
  if (std::exchange(context_->is_new, false)) {
    CONCUR_CHECK(EVP_DigestInit_ex(context_->evp, Algorithm(), nullptr) == 1);
  }
  CONCUR_CHECK(EVP_DigestUpdate(context_->evp, data.data(), data.size()) == 1);
}

void Sha256::UpdateField(absl::string_view data) {
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) {
    length[i] = static_cast<uint8_t>(static_cast<uint64_t>(data.size()) >> (8 * i));
  }
  Update(absl::string_view(reinterpret_cast<const char*>(length), 8));
  Update(data);
}

Digest Sha256::Finish() {
  Update("");  // initializes the context if nothing was added
  Digest digest;
  CONCUR_CHECK(EVP_DigestFinal_ex(context_->evp, digest.bytes.data(), nullptr) == 1);
  context_->is_new = true;
  return digest;
}

Digest Sha256Of(absl::string_view data) {
  Sha256 hasher;
  hasher.Update(data);
  return hasher.Finish();
}

}  // namespace concur
