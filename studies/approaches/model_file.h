// SPDX-License-Identifier: Apache-2.0
// Model files: self-describing, checked, little-endian.
//
//   "CONCURQA" | format u32 | body size u64 | SHA-256 of the body | body
//   body: approach name, approach version u32, then what the approach saves
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_APPROACHES_MODEL_FILE_H_
#define CONCUR_STUDIES_APPROACHES_MODEL_FILE_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::approaches {

class ModelWriter {
 public:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    body_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Text(absl::string_view text) {
    Number<uint64_t>(text.size());
    body_.append(text.data(), text.size());
  }
  template <typename T>
  void Numbers(const std::vector<T>& values) {
    static_assert(std::is_arithmetic_v<T>);
    Number<uint64_t>(values.size());
    body_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

// Reads the output of a ModelWriter. After a failure all reads return zero or empty values; callers
// check status() once at the end.
class ModelReader {
 public:
  explicit ModelReader(std::string body) : body_(std::move(body)) {}

  template <typename T>
  T Number() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    Take(&value, sizeof(value));
    return value;
  }
  std::string Text();
  template <typename T>
  std::vector<T> Numbers() {
    static_assert(std::is_arithmetic_v<T>);
    const auto size = Number<uint64_t>();
    if (size > (body_.size() - used_) / sizeof(T)) {
      Fail();
      return {};
    }
    std::vector<T> values(size);
    Take(values.data(), size * sizeof(T));
    return values;
  }
  // Fails unless `ok`, a condition that valid models meet.
  void Require(bool ok) {
    if (!ok) {
      Fail();
    }
  }
  // OK if every read succeeded and no bytes are left; DataLoss otherwise.
  absl::Status Finish() const;

 private:
  void Fail() { failed_ = true; }
  void Take(void* out, size_t size);

  std::string body_;
  size_t used_ = 0;
  bool failed_ = false;
};

// Replaces the file at `path` atomically.
absl::Status WriteModelFile(const std::string& path, const ModelWriter& writer);

// A reader at the start of the body. InvalidArgument when the file is not a model; DataLoss when
// it is truncated or damaged. Messages name `path`.
absl::StatusOr<ModelReader> ReadModelFile(const std::string& path);

}  // namespace concur::approaches

#endif  // CONCUR_STUDIES_APPROACHES_MODEL_FILE_H_
