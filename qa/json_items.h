// SPDX-License-Identifier: Apache-2.0
// Reads a JSON document of any size item by item, in bounded memory. This code only splits the
// document into items; simdjson parses each item and, at the end, the text around them.
//
// Thread-safe (stateless). For .cc files only (it includes simdjson).
#ifndef CONCUR_QA_JSON_ITEMS_H_
#define CONCUR_QA_JSON_ITEMS_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qa/json_fields.h"
#include "qa/raw_stream.h"

namespace concur::qa {

// Size limit of an item's text: an article of SQuAD, a passage of DROP, a line.
inline constexpr size_t kJsonItemBytesMax = size_t{32} << 20;

// Gets an item and its place, "FILE:LINE: data[3]"; its first error ends the reading.
using OnJsonItem =
    std::function<absl::Status(const JsonFields::Element& item, const std::string& place)>;

// The elements of the list that is the document's field `list`. InvalidArgument with file and line
// when the document is no JSON, has no such list, or an item is too long; DataLoss as RawStream.
absl::Status ForEachListItem(const std::string& path, absl::string_view list,
                             const OnJsonItem& on_item);

// The members of the document, which must be an object; each is passed as an object with that
// member only.
absl::Status ForEachMember(const std::string& path, const OnJsonItem& on_item);

// The lines of a JSON-lines file but blank ones. Places are "FILE:LINE".
absl::Status ForEachJsonLine(const std::string& path, const OnJsonItem& on_item,
                             size_t line_bytes_max = LineReader::kLineBytesMax);

// True if the document begins with an object that has the member `key`; reads no further. What
// follows need not be JSON. DataLoss as RawStream.
absl::StatusOr<bool> FirstObjectHas(const std::string& path, absl::string_view key);

}  // namespace concur::qa

#endif  // CONCUR_QA_JSON_ITEMS_H_
