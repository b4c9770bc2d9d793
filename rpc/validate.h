// Checks on what comes in over the wire: every value is hostile until one of these has seen it.
//
// A failed check is InvalidArgument, "FIELD.PATH: what was expected, what was found"; the path is
// that of the message, e.g. `spec.approaches[3].version`.
//
// Stateless; thread-safe.
#ifndef CONCUR_RPC_VALIDATE_H_
#define CONCUR_RPC_VALIDATE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace concur::rpc {

// Limits beside those of core/: on what one message may carry.
inline constexpr size_t kTagsMax = 100;              // tags, labels of one thing
inline constexpr size_t kParamsMax = 1'000;          // hyperparameters of one approach
inline constexpr size_t kChoicesMax = 100'000;       // values of one choice
inline constexpr size_t kArgvMax = 4'096;            // arguments of one command
inline constexpr size_t kArgumentBytesMax = 65'536;  // one argument, one environment value
inline constexpr size_t kEnvironmentMax = 1'000;     // environment variables of one command
inline constexpr size_t kDescriptionBytesMax = 65'536;
inline constexpr size_t kPathBytesMax = 4'096;
inline constexpr size_t kSuffixBytesMax = 32;
inline constexpr size_t kTrainSetsMax = 100'000;
inline constexpr size_t kExcludeRulesMax = 1'000'000;
inline constexpr int64_t kCpuMillisMax = 1'000'000'000;           // a million CPUs
inline constexpr int64_t kMemoryBytesMax = int64_t{1} << 50;      // a pebibyte
inline constexpr int64_t kArtifactBytesMax = int64_t{1} << 50;    // a pebibyte
inline constexpr int64_t kSpanSecondsMax = int64_t{315'576'000};  // ten years: no span is longer

// Where in a message a value stands. Cheap: text is made only for an error. A path borrows its
// parent and its names, which must outlive it.
class FieldPath {
 public:
  explicit FieldPath(absl::string_view name) : name_(name) {}

  // `parent.name`
  FieldPath Field(absl::string_view name) const { return FieldPath(this, name); }
  // `parent.name[index]`
  FieldPath Field(absl::string_view name, size_t index) const {
    FieldPath path(this, name);
    path.index_ = static_cast<int64_t>(index);
    return path;
  }
  // `parent.name["key"]`
  FieldPath Entry(absl::string_view name, absl::string_view key) const {
    FieldPath path(this, name);
    path.key_ = key;
    path.has_key_ = true;
    return path;
  }

  std::string ToString() const;

 private:
  FieldPath(const FieldPath* parent, absl::string_view name) : parent_(parent), name_(name) {}

  const FieldPath* parent_ = nullptr;
  absl::string_view name_;
  absl::string_view key_;
  bool has_key_ = false;
  int64_t index_ = -1;
};

// InvalidArgument "PATH: MESSAGE".
absl::Status FieldError(const FieldPath& path, absl::string_view message);

// A name: 1 to kNameBytesMax bytes of UTF-8 without control characters.
absl::Status CheckName(const FieldPath& path, absl::string_view text);
// As CheckName, but may be empty.
absl::Status CheckOptionalName(const FieldPath& path, absl::string_view text);
// Any UTF-8 without NUL, at most `bytes_max` bytes.
absl::Status CheckText(const FieldPath& path, absl::string_view text, size_t bytes_max);
// "", or "." and letters, digits, ".", "_", "-": safe as the end of a file name.
absl::Status CheckSuffix(const FieldPath& path, absl::string_view suffix);
// A name that an environment variable can have: [A-Za-z_][A-Za-z0-9_]*.
absl::Status CheckEnvironmentName(const FieldPath& path, absl::string_view name);

absl::Status CheckCount(const FieldPath& path, size_t count, size_t count_max);
// low <= value <= high.
absl::Status CheckRange(const FieldPath& path, int64_t value, int64_t low, int64_t high);
absl::Status CheckIndex(const FieldPath& path, uint64_t index, size_t size, absl::string_view of);
absl::Status CheckFinite(const FieldPath& path, double value);

// `text` with every byte that is not UTF-8 replaced by U+FFFD: protobuf strings must be UTF-8, and
// what jobs print need not be.
std::string CleanUtf8(absl::string_view text);
bool IsUtf8(absl::string_view text);

}  // namespace concur::rpc

#endif  // CONCUR_RPC_VALIDATE_H_
