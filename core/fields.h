// SPDX-License-Identifier: Apache-2.0
// The field that a value stands in, and the checks that many fields share. Every value that enters
// Concur, from YAML or over the wire, is judged by checks of core/: this file's and those that use
// it (core/sweep/sweep.h, core/pools/pool.h, core/sync/sync.h, core/result.h). Limits stand beside
// the types.
//
// A failed check is InvalidArgument, "FIELD.PATH: what was expected, what was found", e.g. for
// `approaches[3].version`. yaml/ puts file, line and column in front of it, proto/rpc/ the message.
//
// Values and pure functions.
#ifndef CONCUR_CORE_FIELDS_H_
#define CONCUR_CORE_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace concur {

inline constexpr size_t kNameBytesMax = 200;
// No finite span is longer: ten years.
inline constexpr absl::Duration kSpanMax = absl::Seconds(315'576'000);

// Cheap: text is made only for an error. A path borrows its parent and its names, which must
// outlive it.
class FieldPath {
 public:
  // An empty name: the fields within it have no prefix.
  explicit FieldPath(absl::string_view name = "") : name_(name) {}

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
// `status` with "PATH: " in front of its message; OK stays OK.
absl::Status AtField(const FieldPath& path, const absl::Status& status);

// UTF-8 without NUL, at most `bytes_max` bytes.
absl::Status CheckText(const FieldPath& path, absl::string_view text, size_t bytes_max);
// As CheckText, without control characters.
absl::Status CheckLine(const FieldPath& path, absl::string_view text,
                       size_t bytes_max = kNameBytesMax);
// A line that is not empty: names of users, workers and whatever else people choose freely.
absl::Status CheckName(const FieldPath& path, absl::string_view text);

absl::Status CheckCount(const FieldPath& path, size_t count, size_t count_max);
// low <= value <= high.
absl::Status CheckRange(const FieldPath& path, int64_t value, int64_t low,
                        int64_t high = std::numeric_limits<int64_t>::max());
absl::Status CheckFinite(const FieldPath& path, double value);
// low <= span <= high. An infinite span is within an infinite `high` only.
absl::Status CheckSpan(const FieldPath& path, absl::Duration span, absl::Duration low,
                       absl::Duration high = kSpanMax);
// As CheckSpan, but may be infinite: without limit.
absl::Status CheckTimeLimit(const FieldPath& path, absl::Duration span, absl::Duration low);
// index < size.
absl::Status CheckIndex(const FieldPath& path, uint64_t index, size_t size);

}  // namespace concur

#endif  // CONCUR_CORE_FIELDS_H_
