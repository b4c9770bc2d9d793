// SPDX-License-Identifier: Apache-2.0
// JSON as results are written: keys in the order given, bytes that are not UTF-8 as U+FFFD.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_JSON_TEXT_H_
#define CONCUR_REPORT_JSON_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace concur::analysis {

struct Table;

using Json = nlohmann::ordered_json;

// One line, with its line feed.
std::string JsonLine(const Json& json);
// Indented by two blanks, with a line feed at its end.
std::string IndentedJson(const Json& json);
// As an element of an indented list: two blanks further in, without a line feed at its end.
std::string IndentedElement(const Json& json);
// The rows of a table as a list of objects.
Json RowsJson(const Table& table);
// Null where there is no value.
Json NumberOrNull(std::optional<double> value);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_JSON_TEXT_H_
