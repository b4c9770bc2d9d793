// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::readers {
namespace {

using Json = nlohmann::json;

// Limits of a header, so that a small file cannot ask for much memory: a value of the parsed
// header takes some 50 bytes for a byte of text at worst.
constexpr uint64_t kHeaderBytesMax = 16 << 20;
constexpr size_t kDimensionsMax = 16;
constexpr int64_t kFileBytesMax = int64_t{1} << 34;

constexpr std::pair<Type, const char*> kTypes[] = {
    {Type::kBool, "BOOL"},   {Type::kInt8, "I8"},       {Type::kUint8, "U8"},
    {Type::kInt16, "I16"},   {Type::kInt32, "I32"},     {Type::kInt64, "I64"},
    {Type::kFloat16, "F16"}, {Type::kBfloat16, "BF16"}, {Type::kFloat32, "F32"},
    {Type::kFloat64, "F64"},
};

std::optional<Type> TypeNamed(absl::string_view name) {
  for (const auto& [type, known] : kTypes) {
    if (name == known) {
      return type;
    }
  }
  return std::nullopt;
}

// Refuses a key that stands twice in an object, and depth that no header has, while parsing.
class HeaderGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    constexpr int kDepthMax = 4;
    if (depth > kDepthMax) {
      error_ = "the header is nested too deep";
      return false;
    }
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names_.insert({name, true}).second) {
        error_ = absl::StrCat("\"", name, "\" stands twice");
      }
    }
    return true;
  }
  const std::string& error() const { return error_; }

 private:
  std::map<std::string, bool> names_;
  std::string error_;
};

bool IsFloatingPoint(Type type) {
  return type == Type::kFloat16 || type == Type::kBfloat16 || type == Type::kFloat32 ||
         type == Type::kFloat64;
}

struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
  const std::string* name = nullptr;
};

// A list of numbers that are not negative; nullopt for anything else.
std::optional<std::vector<int64_t>> NaturalNumbers(const Json& object, const char* field,
                                                   size_t count_max) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_array() || found->size() > count_max) {
    return std::nullopt;
  }
  std::vector<int64_t> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned() ||
        number.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return std::nullopt;
    }
    numbers.push_back(static_cast<int64_t>(number.get<uint64_t>()));
  }
  return numbers;
}

// The tensor that `entry` describes, in `values`; "" or what is wrong.
std::string ParseTensor(const Json& entry, absl::string_view values, StoredTensor& tensor,
                        Extent& extent) {
  if (!entry.is_object()) {
    return "expected an object with dtype, shape and data_offsets";
  }
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) {
    return "dtype: expected a string";
  }
  const std::optional<Type> type = TypeNamed(dtype->get_ref<const std::string&>());
  if (!type.has_value()) {
    return absl::StrCat("dtype: unknown type \"", dtype->get_ref<const std::string&>(), "\"");
  }
  std::optional<std::vector<int64_t>> shape = NaturalNumbers(entry, "shape", kDimensionsMax);
  if (!shape.has_value()) {
    return absl::StrCat("shape: expected at most ", kDimensionsMax, " sizes");
  }
  const auto offsets = NaturalNumbers(entry, "data_offsets", 2);
  if (!offsets.has_value() || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1] ||
      static_cast<uint64_t>((*offsets)[1]) > values.size()) {
    return absl::StrCat("data_offsets: expected [begin, end] within ", values.size(), " bytes");
  }
  int64_t bytes = BytesOf(*type);
  for (const int64_t size : *shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return "shape: too large";
    }
  }
  if (bytes != (*offsets)[1] - (*offsets)[0]) {
    return absl::StrCat("data_offsets: ", (*offsets)[1] - (*offsets)[0], " bytes, but ",
                        NameOf(*type), " of shape [", absl::StrJoin(*shape, ", "), "] has ", bytes);
  }
  extent.begin = static_cast<uint64_t>((*offsets)[0]);
  extent.end = static_cast<uint64_t>((*offsets)[1]);
  tensor = {*type, *std::move(shape), values.substr(extent.begin, extent.end - extent.begin)};
  return "";
}

// "" when the extents cover `size` bytes without gap or overlap.
std::string CheckCoverage(std::vector<Extent> extents, uint64_t size) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::make_pair(a.begin, a.end) < std::make_pair(b.begin, b.end);
  });
  uint64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != end) {
      return absl::StrCat(*extent.name, ": data_offsets: begins at ", extent.begin,
                          ", but what is before it ends at ", end);
    }
    end = extent.end;
  }
  return end == size ? "" : absl::StrCat(size - end, " bytes at the end belong to no tensor");
}

}  // namespace

int64_t BytesOf(Type type) {
  switch (type) {
    case Type::kBool:
    case Type::kInt8:
    case Type::kUint8:
      return 1;
    case Type::kInt16:
    case Type::kFloat16:
    case Type::kBfloat16:
      return 2;
    case Type::kInt32:
    case Type::kFloat32:
      return 4;
    case Type::kInt64:
    case Type::kFloat64:
      break;
  }
  return 8;
}

const char* NameOf(Type type) {
  return std::find_if(std::begin(kTypes), std::end(kTypes),
                      [type](const auto& entry) { return entry.first == type; })
      ->second;
}

int64_t StoredTensor::values() const { return static_cast<int64_t>(bytes.size()) / BytesOf(type); }

absl::StatusOr<SafeTensors> SafeTensors::Parse(std::string file, absl::string_view place) {
  const auto invalid = [place](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
  };
  uint64_t header_bytes = 0;
  if (file.size() < sizeof(header_bytes)) {
    return invalid(absl::StrCat("not a safetensors file: ", file.size(), " bytes"));
  }
  std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
  if (header_bytes > kHeaderBytesMax || header_bytes > file.size() - sizeof(header_bytes)) {
    return invalid(absl::StrCat("not a safetensors file: its header has ", header_bytes,
                                " bytes, the file ", file.size()));
  }
  SafeTensors read;
  read.place_ = std::string(place);
  read.file_ = std::make_unique<std::string>(std::move(file));
  const auto text = absl::string_view(*read.file_).substr(sizeof(header_bytes), header_bytes);
  const auto values = absl::string_view(*read.file_).substr(sizeof(header_bytes) + header_bytes);
  HeaderGuard guard;
  const Json header = Json::parse(text.begin(), text.end(), std::ref(guard), false);
  if (!guard.error().empty()) {
    return invalid(guard.error());
  }
  if (!header.is_object()) {
    return invalid("the header is not a JSON object");
  }
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) {
          return invalid(absl::StrCat("__metadata__: ", key, ": expected a string"));
        }
        read.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    const auto placed = read.tensors_.emplace(name, StoredTensor()).first;
    Extent extent;
    const std::string error = ParseTensor(entry, values, placed->second, extent);
    if (!error.empty()) {
      return invalid(absl::StrCat(name, ": ", error));
    }
    extent.name = &placed->first;
    extents.push_back(extent);
  }
  const std::string gap = CheckCoverage(std::move(extents), values.size());
  if (!gap.empty()) {
    return invalid(gap);
  }
  return read;
}

absl::StatusOr<StoredTensor> SafeTensors::Find(absl::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const auto& [known, tensor] : tensors_) {
    names.push_back(known);
  }
  return absl::NotFoundError(
      absl::StrCat(place_, ": no tensor \"", name, "\"", DidYouMean(name, names)));
}

absl::Status CompareTensors(const TensorShapes& expected, const SafeTensors::Tensors& tensors,
                            absl::string_view place) {
  std::vector<std::string> problems;
  std::vector<std::string> names;
  for (const auto& [name, shape] : expected) {
    names.push_back(name);
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      problems.push_back(absl::StrCat(name, " is missing"));
    } else if (found->second.shape != shape) {
      problems.push_back(absl::StrCat(name, " has shape [",
                                      absl::StrJoin(found->second.shape, ", "), "] instead of [",
                                      absl::StrJoin(shape, ", "), "]"));
    } else if (!IsFloatingPoint(found->second.type)) {
      problems.push_back(absl::StrCat(name, " has type ", NameOf(found->second.type),
                                      ", which is no floating-point type"));
    }
  }
  constexpr size_t kShown = 20;
  for (const auto& [name, tensor] : tensors) {
    if (expected.count(name) == 0) {
      problems.push_back(absl::StrCat(name, " is unknown",
                                      problems.size() < kShown ? DidYouMean(name, names) : ""));
    }
  }
  if (problems.empty()) {
    return absl::OkStatus();
  }
  const size_t more = problems.size() - std::min(problems.size(), kShown);
  problems.resize(std::min(problems.size(), kShown));
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": not the weights of this network: ", absl::StrJoin(problems, "; "),
                   more > 0 ? absl::StrCat("; and ", more, " more") : ""));
}

absl::StatusOr<SafeTensors> ReadSafeTensors(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(std::string file, ReadFile(path, kFileBytesMax));
  return SafeTensors::Parse(std::move(file), path);
}

std::string WriteSafeTensors(const SafeTensors::Tensors& tensors,
                             const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  uint64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", NameOf(tensor.type)},
                    {"shape", tensor.shape},
                    {"data_offsets", {end, end + tensor.bytes.size()}}};
    end += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // values begin aligned
  const uint64_t bytes = text.size();
  std::string file(sizeof(bytes), '\0');
  std::memcpy(file.data(), &bytes, sizeof(bytes));
  file += text;
  file.reserve(file.size() + end);
  for (const auto& [name, tensor] : tensors) {
    file.append(tensor.bytes.data(), tensor.bytes.size());
  }
  return file;
}

}  // namespace concur::readers
