// SPDX-License-Identifier: Apache-2.0
#include "base/http/session.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace concur::http {
namespace {

constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;
constexpr size_t kTimeBytes = 8;
constexpr size_t kCookieBytesMax = 1024;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

Cipher NewCipher() {
  Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  CONCUR_CHECK(cipher != nullptr);
  return cipher;
}

// As OpenSSL takes bytes.
const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());  // NOLINT
}
unsigned char* Bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());  // NOLINT
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  CONCUR_CHECK(RAND_bytes(Bytes(bytes), static_cast<int>(count)) == 1);
  return bytes;
}

std::string TimeText(absl::Time time) {
  const auto seconds = static_cast<uint64_t>(absl::ToUnixSeconds(time));
  std::string text;
  for (size_t i = 0; i < kTimeBytes; ++i) {
    text.push_back(static_cast<char>(seconds >> (8 * i) & 0xff));
  }
  return text;
}

absl::Time TimeIn(absl::string_view text) {
  uint64_t seconds = 0;
  for (size_t i = 0; i < kTimeBytes; ++i) {
    seconds |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  return absl::FromUnixSeconds(static_cast<int64_t>(seconds));
}

absl::Status NoSession() { return absl::UnauthenticatedError("not logged in"); }

}  // namespace

absl::StatusOr<std::string> EnsurePageKey(const std::string& path) {
  absl::StatusOr<std::string> key = ReadFile(path, 4096);
  if (absl::IsNotFound(key.status())) {
    key = RandomBytes(kPageKeyBytes);
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(path, *key, 0600));
  }
  CONCUR_RETURN_IF_ERROR(key.status());
  if (key->size() != kPageKeyBytes) {
    return absl::DataLossError(
        absl::StrCat(path, ": expected ", kPageKeyBytes,
                     " bytes, the key of the page's sessions; remove it, and "
                     "everybody logs in again"));
  }
  return key;
}

std::string RandomText(size_t bytes) { return absl::WebSafeBase64Escape(RandomBytes(bytes)); }

bool SameSecret(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

SessionSealer::SessionSealer(std::string key) : key_(std::move(key)) {
  CONCUR_CHECK(key_.size() == kPageKeyBytes);
}

std::string SessionSealer::Seal(absl::string_view token, absl::Time expire_time) const {
  const std::string nonce = RandomBytes(kNonceBytes);
  const std::string plain = absl::StrCat(TimeText(expire_time), token);
  std::string sealed(plain.size(), '\0');
  std::string tag(kTagBytes, '\0');
  const Cipher cipher = NewCipher();
  int size = 0;
  CONCUR_CHECK(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Bytes(key_),
                                  Bytes(nonce)) == 1 &&
               EVP_EncryptUpdate(cipher.get(), Bytes(sealed), &size, Bytes(plain),
                                 static_cast<int>(plain.size())) == 1 &&
               EVP_EncryptFinal_ex(cipher.get(), Bytes(sealed) + size, &size) == 1 &&
               EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1);
  return absl::WebSafeBase64Escape(absl::StrCat(nonce, tag, sealed));
}

absl::StatusOr<std::string> SessionSealer::Open(absl::string_view cookie, absl::Time now) const {
  std::string bytes;
  if (cookie.size() > kCookieBytesMax || !absl::WebSafeBase64Unescape(cookie, &bytes) ||
      bytes.size() < kNonceBytes + kTagBytes + kTimeBytes) {
    return NoSession();
  }
  std::string tag = bytes.substr(kNonceBytes, kTagBytes);
  const absl::string_view sealed = absl::string_view(bytes).substr(kNonceBytes + kTagBytes);
  std::string plain(sealed.size(), '\0');
  const Cipher cipher = NewCipher();
  int size = 0;
  if (EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, Bytes(key_), Bytes(bytes)) !=
          1 ||
      EVP_DecryptUpdate(cipher.get(), Bytes(plain), &size, Bytes(sealed),
                        static_cast<int>(sealed.size())) != 1 ||
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) != 1 ||
      EVP_DecryptFinal_ex(cipher.get(), Bytes(plain) + size, &size) != 1) {
    return NoSession();
  }
  if (TimeIn(plain) <= now) {
    return absl::UnauthenticatedError("the session has expired; log in again");
  }
  return plain.substr(kTimeBytes);
}

std::string SessionSealer::CsrfOf(absl::string_view cookie) const {
  std::string mac(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  // A key of its own: the same bytes must not serve two algorithms.
  const std::string key = absl::StrCat("csrf:", key_);
  CONCUR_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(cookie),
                    cookie.size(), Bytes(mac), &size) != nullptr);
  mac.resize(size);
  return absl::WebSafeBase64Escape(mac);
}

}  // namespace concur::http
