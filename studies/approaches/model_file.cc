// SPDX-License-Identifier: Apache-2.0
#include "studies/approaches/model_file.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"

static_assert(std::endian::native == std::endian::little, "model files are little-endian");

namespace concur::approaches {
namespace {

constexpr char kMagic[] = "CONCURQA";
constexpr uint32_t kFormat = 1;
constexpr size_t kMagicBytes = 8;
constexpr size_t kHeadBytes = kMagicBytes + sizeof(uint32_t) + sizeof(uint64_t) + 32;

}  // namespace

std::string ModelReader::Text() {
  const auto size = Number<uint64_t>();
  if (size > body_.size() - used_) {
    Fail();
    return "";
  }
  std::string text = body_.substr(used_, size);
  used_ += size;
  return text;
}

void ModelReader::Take(void* out, size_t size) {
  if (failed_ || size > body_.size() - used_) {
    Fail();
    if (size > 0) {
      std::memset(out, 0, size);
    }
    return;
  }
  if (size > 0) {
    std::memcpy(out, body_.data() + used_, size);
  }
  used_ += size;
}

absl::Status ModelReader::Finish() const {
  if (failed_ || used_ != body_.size()) {
    return absl::DataLossError("model: its contents do not fit the approach; train it again");
  }
  return absl::OkStatus();
}

absl::Status WriteModelFile(const std::string& path, const ModelWriter& writer) {
  ModelWriter head;
  head.Number(kFormat);
  head.Number<uint64_t>(writer.body().size());
  return WriteFileAtomically(
      path, absl::StrCat(kMagic, head.body(), Sha256Of(writer.body()).ToBytes(), writer.body()));
}

absl::StatusOr<ModelReader> ReadModelFile(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  if (!absl::StartsWith(bytes, absl::string_view(kMagic, std::min(kMagicBytes, bytes.size()))) ||
      bytes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a model file that `concur-qa train` wrote"));
  }
  if (bytes.size() < kHeadBytes) {
    return absl::DataLossError(
        absl::StrCat(path, ": the model file is cut (", bytes.size(), " bytes); train it again"));
  }
  uint32_t format = 0;
  uint64_t size = 0;
  std::memcpy(&format, bytes.data() + kMagicBytes, sizeof(format));
  std::memcpy(&size, bytes.data() + kMagicBytes + sizeof(format), sizeof(size));
  if (format != kFormat) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": model file format ", format,
                                                   ", expected ", kFormat, "; train it again"));
  }
  if (size != bytes.size() - kHeadBytes) {
    return absl::DataLossError(absl::StrCat(path, ": the model file is cut: expected ", size,
                                            " bytes of contents, found ", bytes.size() - kHeadBytes,
                                            "; train it again"));
  }
  const std::string digest = bytes.substr(kHeadBytes - 32, 32);
  bytes.erase(0, kHeadBytes);
  if (Sha256Of(bytes).ToBytes() != digest) {
    return absl::DataLossError(
        absl::StrCat(path, ": the model file is damaged (wrong checksum); train it again"));
  }
  return ModelReader(std::move(bytes));
}

}  // namespace concur::approaches
