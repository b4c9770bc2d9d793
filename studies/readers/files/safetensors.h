// SPDX-License-Identifier: Apache-2.0
// Safetensors files: named tensors as eight bytes of header length, a JSON header, and raw
// little-endian values. https://huggingface.co/docs/safetensors
//
// Files are hostile input: what a header promises is checked before it is used, and tensors take no
// memory beyond the file's. Immutable once read.
#ifndef CONCUR_STUDIES_READERS_FILES_SAFETENSORS_H_
#define CONCUR_STUDIES_READERS_FILES_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur::readers {

enum class Type {
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64
};

int64_t BytesOf(Type type);
const char* NameOf(Type type);  // "F32"

// A tensor's values lie in row-major order, not aligned.
struct StoredTensor {
  Type type = Type::kFloat32;
  std::vector<int64_t> shape;
  absl::string_view bytes;

  int64_t values() const;
};

class SafeTensors {
 public:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;

  // InvalidArgument, with `place` and the tensor's name, unless every tensor's type is known, its
  // size agrees with its shape, and tensors follow each other without a gap to the file's end.
  static absl::StatusOr<SafeTensors> Parse(std::string file, absl::string_view place);

  const Tensors& tensors() const { return tensors_; }
  // The strings under "__metadata__".
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // NotFound names the place and near names.
  absl::StatusOr<StoredTensor> Find(absl::string_view name) const;

 private:
  std::string place_;
  std::unique_ptr<std::string> file_;  // on the heap: views into it outlive a move
  Tensors tensors_;
  std::map<std::string, std::string> metadata_;
};

// The shapes of tensors that are expected, by name.
using TensorShapes = std::map<std::string, std::vector<int64_t>>;

// InvalidArgument, with `place` and the names, when one of `tensors` is missing, unknown, of
// another shape, or of no floating-point type.
absl::Status CompareTensors(const TensorShapes& expected, const SafeTensors::Tensors& tensors,
                            absl::string_view place);

absl::StatusOr<SafeTensors> ReadSafeTensors(const std::string& path);

// The file with these tensors, in the order of their names.
std::string WriteSafeTensors(const SafeTensors::Tensors& tensors,
                             const std::map<std::string, std::string>& metadata);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FILES_SAFETENSORS_H_
