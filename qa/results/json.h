// SPDX-License-Identifier: Apache-2.0
// Reads fields of JSON documents that may lack any of them. For .cc files only (simdjson).
//
// JsonDocument is thread-compatible; the functions are pure.
#ifndef CONCUR_QA_RESULTS_JSON_H_
#define CONCUR_QA_RESULTS_JSON_H_

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "qa/raw_stream.h"
#include "qa/results/results.h"

namespace concur::imports {

// Larger documents are refused: a parsed one takes several times its size in memory.
inline constexpr int64_t kDocumentBytesMax = int64_t{256} << 20;

using JsonValue = simdjson::dom::element;
using MaybeJson = std::optional<JsonValue>;

class JsonDocument {
 public:
  // The root object of a file. InvalidArgument "PATH:LINE: …" for what is not JSON, or no object;
  // NaN and infinities, which Python writes, count as null. Valid until the next call.
  absl::StatusOr<JsonValue> Read(const std::string& path);
  // The same for any kind of value.
  absl::StatusOr<JsonValue> ReadAny(const std::string& path);
  // The same for text, called `place` in errors.
  absl::StatusOr<JsonValue> Parse(absl::string_view text, absl::string_view place);
  // Digest of the bytes that Read read.
  const Digest& digest() const { return digest_; }

 private:
  simdjson::dom::parser parser_;
  Digest digest_;
};

// The object of the next line that is not empty; nothing at the end of the file. Valid until the
// next call with the same document.
absl::StatusOr<MaybeJson> NextLine(qa::LineReader& lines, JsonDocument& document);

// A field of an object; nothing when it is absent or null, or `value` is no object.
MaybeJson Field(const MaybeJson& value, absl::string_view name);
// The values, where they are of that type.
std::optional<double> Number(const MaybeJson& value);
// A number, or text that is one ("2677.73").
std::optional<double> LooseNumber(const MaybeJson& value);
std::optional<int64_t> Integer(const MaybeJson& value);
std::optional<bool> Boolean(const MaybeJson& value);
// Text; numbers as text, too. "" for anything else.
std::string Text(const MaybeJson& value);
std::optional<simdjson::dom::object> Object(const MaybeJson& value);
std::optional<simdjson::dom::array> List(const MaybeJson& value);

// Adds the fields of an object, those of objects in it, too; `except`: names that are no settings.
// Another value is one setting, called `group`.
void AddSettings(Settings& settings, absl::string_view group, const MaybeJson& value,
                 std::initializer_list<absl::string_view> except = {});

// The same for what names a data set: of the path of a file on the evaluating machine the last
// name, as one data set lies elsewhere on each.
void AddDataSettings(Settings& settings, absl::string_view group, const MaybeJson& value);

// InvalidArgument "PLACE: FIELD: expected EXPECTED, got …".
absl::Status WrongField(absl::string_view place, absl::string_view field,
                        absl::string_view expected, const MaybeJson& found);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_JSON_H_
