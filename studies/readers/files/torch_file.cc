// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/torch_file.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur::readers {
namespace {

constexpr int64_t kUnpackedBytesMax = int64_t{1} << 34;
constexpr size_t kEntriesMax = 100000;
// torch.save's first value before version 1.6: the integer 0x1950a86a20f9469cfc6c.
constexpr absl::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

struct ArchiveReadFreer {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> UnpackArchive(absl::string_view archive_bytes,
                                                                 absl::string_view place,
                                                                 int64_t bytes_max) {
  const std::unique_ptr<archive, ArchiveReadFreer> reader(archive_read_new());
  const auto invalid = [&] {
    const char* reason = archive_error_string(reader.get());
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": not an archive: ", reason == nullptr ? "unknown format" : reason));
  };
  archive_read_support_format_zip(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  if (archive_read_open_memory(reader.get(), archive_bytes.data(), archive_bytes.size()) !=
      ARCHIVE_OK) {
    return invalid();
  }
  std::map<std::string, std::string> files;
  int64_t bytes = 0;
  archive_entry* entry = nullptr;
  int result = ARCHIVE_OK;
  while ((result = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    const char* name = archive_entry_pathname(entry);
    if (archive_entry_filetype(entry) != AE_IFREG || name == nullptr) {
      continue;
    }
    std::string& contents = files[name];
    const void* block = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    while ((result = archive_read_data_block(reader.get(), &block, &size, &offset)) == ARCHIVE_OK) {
      bytes += static_cast<int64_t>(size);
      if (bytes > bytes_max || files.size() > kEntriesMax ||
          offset != static_cast<la_int64_t>(contents.size())) {
        return absl::ResourceExhaustedError(absl::StrCat(
            place, ": an archive of more than ", bytes_max, " bytes, or with holes in its files"));
      }
      contents.append(static_cast<const char*>(block), size);
    }
    if (result != ARCHIVE_EOF) {
      return invalid();
    }
  }
  return result == ARCHIVE_EOF
             ? absl::StatusOr<std::map<std::string, std::string>>(std::move(files))
             : invalid();
}

absl::StatusOr<TorchFile> TorchFile::Parse(std::string file, absl::string_view place) {
  TorchFile parsed;
  parsed.file_ = std::move(file);
  absl::Status status;
  if (absl::StartsWith(parsed.file_, "PK")) {
    CONCUR_ASSIGN_OR_RETURN(parsed.unpacked_,
                            UnpackArchive(parsed.file_, place, kUnpackedBytesMax));
    status = parsed.ParseZip();
  } else {
    status = parsed.ParseLegacy();
  }
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
  }
  return parsed;
}

absl::Status TorchFile::ParseZip() {
  for (const auto& [name, contents] : unpacked_) {
    const size_t data = name.rfind("/data/");
    if (data != std::string::npos) {
      storages_[name.substr(data + 6)] = contents;
    } else if (absl::EndsWith(name, "/data.pkl")) {
      absl::string_view bytes = contents;
      CONCUR_ASSIGN_OR_RETURN(root_, pickles_->Read(bytes));
    }
  }
  return root_ != nullptr ? absl::OkStatus()
                          : absl::InvalidArgumentError("the archive has no data.pkl");
}

// Five pickles (a magic number, the version, the machine, the value, the storages' keys), then each
// storage: its number of values, and the values.
absl::Status TorchFile::ParseLegacy() {
  absl::string_view rest = file_;
  absl::Status unknown = absl::InvalidArgumentError("not a file of torch.save");
  const absl::StatusOr<const PickleValue*> magic = pickles_->Read(rest);
  if (!magic.ok() || (*magic)->text != kLegacyMagic) {
    return unknown;
  }
  for (int i = 0; i < 2; ++i) {
    CONCUR_RETURN_IF_ERROR(pickles_->Read(rest).status());
  }
  CONCUR_ASSIGN_OR_RETURN(root_, pickles_->Read(rest));
  std::map<absl::string_view, Type> types;
  for (const PickleValue& value : pickles_->values()) {
    if (value.kind == PickleValue::Kind::kStorage) {
      types[value.text] = value.type;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const PickleValue* keys, pickles_->Read(rest));
  for (const PickleValue* key : keys->items) {
    uint64_t count = 0;
    const auto type = types.find(key->text);
    if (type == types.end() || rest.size() < sizeof(count)) {
      return absl::InvalidArgumentError(absl::StrCat("storage ", key->text, " is damaged"));
    }
    std::memcpy(&count, rest.data(), sizeof(count));
    rest.remove_prefix(sizeof(count));
    const auto width = static_cast<uint64_t>(BytesOf(type->second));
    if (count > rest.size() / width) {
      return absl::InvalidArgumentError(
          absl::StrCat("storage ", key->text, ": the file ends within its values"));
    }
    storages_[key->text] = rest.substr(0, count * width);
    rest.remove_prefix(count * width);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TorchFile::Values(const PickleValue& tensor) const {
  const PickleValue& storage = *tensor.items[0];
  const auto found = storages_.find(storage.text);
  if (found == storages_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("storage ", storage.text, " is missing"));
  }
  const int64_t width = BytesOf(tensor.type);
  const int64_t held = static_cast<int64_t>(found->second.size()) / width;
  // The last value's place, and how many there are: no more than the storage holds.
  int64_t last = tensor.integer;
  int64_t count = 1;
  bool valid = tensor.integer >= 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    int64_t span = 0;
    valid = valid && tensor.shape[i] >= 0 && tensor.strides[i] >= 0 &&
            !__builtin_mul_overflow(count, tensor.shape[i], &count) &&
            !__builtin_mul_overflow(std::max<int64_t>(tensor.shape[i] - 1, 0), tensor.strides[i],
                                    &span) &&
            !__builtin_add_overflow(last, span, &last);
  }
  if (!valid || count > held || (count > 0 && last >= held)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor does not lie in storage ", storage.text));
  }
  std::string values(static_cast<size_t>(count * width), '\0');
  std::vector<int64_t> index(tensor.shape.size(), 0);
  int64_t place = tensor.integer;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(values.data() + i * width, found->second.data() + place * width,
                static_cast<size_t>(width));
    for (size_t d = index.size(); d > 0; --d) {
      place += tensor.strides[d - 1];
      if (++index[d - 1] < tensor.shape[d - 1]) {
        break;
      }
      place -= tensor.strides[d - 1] * tensor.shape[d - 1];
      index[d - 1] = 0;
    }
  }
  return values;
}

absl::StatusOr<NamedTensors> TensorsOf(const TorchFile& file, const PickleValue& state) {
  NamedTensors named;
  for (const auto& [name, value] : state.pairs) {
    if (name->kind != PickleValue::Kind::kText || value->kind != PickleValue::Kind::kTensor) {
      return absl::InvalidArgumentError("the state holds something else than named tensors");
    }
    absl::StatusOr<std::string> values = file.Values(*value);
    if (!values.ok()) {
      return absl::Status(values.status().code(),
                          absl::StrCat(name->text, ": ", values.status().message()));
    }
    const std::string& kept = named.values[name->text] = *std::move(values);
    named.tensors[name->text] = {value->type, value->shape, kept};
  }
  if (named.tensors.empty()) {
    return absl::InvalidArgumentError("the state holds no tensors");
  }
  return named;
}

}  // namespace concur::readers
