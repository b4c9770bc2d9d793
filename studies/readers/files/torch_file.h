// SPDX-License-Identifier: Apache-2.0
// Files of torch.save: a pickle and the values of its tensors, in a zip archive (torch 1.6 and
// newer) or one after the other (older). Archives in general, in memory.
//
// Hostile input: nothing in it is executed (see studies/readers/files/pickle.h), and what is
// unpacked has a limit. Immutable once read.
#ifndef CONCUR_STUDIES_READERS_FILES_TORCH_FILE_H_
#define CONCUR_STUDIES_READERS_FILES_TORCH_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "studies/readers/files/pickle.h"
#include "studies/readers/files/safetensors.h"

namespace concur::readers {

// Largest size of a file of weights, and of what it unpacks to.
inline constexpr int64_t kModelBytesMax = int64_t{1} << 34;

// The regular files of a zip or of a tar, compressed or not, by name. ResourceExhausted when they
// have more than `bytes_max` bytes together; InvalidArgument when it is no archive.
absl::StatusOr<std::map<std::string, std::string>> UnpackArchive(absl::string_view archive,
                                                                 absl::string_view place,
                                                                 int64_t bytes_max);

class TorchFile {
 public:
  // InvalidArgument names `place`, and what is refused.
  static absl::StatusOr<TorchFile> Parse(std::string file, absl::string_view place);

  const PickleValue& root() const { return *root_; }
  // A tensor's values in row-major order. InvalidArgument when they do not lie in its storage.
  absl::StatusOr<std::string> Values(const PickleValue& tensor) const;

 private:
  absl::Status ParseZip();
  absl::Status ParseLegacy();

  std::string file_;
  std::map<std::string, std::string> unpacked_;
  std::unique_ptr<PickleReader> pickles_ = std::make_unique<PickleReader>();
  const PickleValue* root_ = nullptr;
  std::map<std::string, absl::string_view, std::less<>> storages_;  // by key
};

// The tensors of a dictionary, with their values.
struct NamedTensors {
  SafeTensors::Tensors tensors;  // views of `values`
  std::map<std::string, std::string> values;
};
absl::StatusOr<NamedTensors> TensorsOf(const TorchFile& file, const PickleValue& state);

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_FILES_TORCH_FILE_H_
