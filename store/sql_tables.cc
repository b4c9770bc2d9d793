// SPDX-License-Identifier: Apache-2.0
#include "store/sql_tables.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace concur {

SqlTable::SqlTable(absl::string_view name, int keys, absl::string_view columns) {
  std::vector<std::string> names = absl::StrSplit(columns, ", ");
  names.emplace_back("checksum");
  const std::string listed = absl::StrJoin(names, ", ");
  std::string parameters;
  for (size_t i = 1; i <= names.size(); ++i) {
    absl::StrAppend(&parameters, i == 1 ? "$" : ", $", i);
  }
  const auto key_end = names.begin() + keys;
  insert = absl::StrCat("INSERT INTO ", name, " (", listed, ") VALUES (", parameters, ")");
  add = absl::StrCat(insert, " ON CONFLICT (",
                     absl::StrJoin(std::vector<std::string>(names.begin(), key_end), ", "),
                     ") DO NOTHING");
  upsert = absl::StrCat(
      add.substr(0, add.size() - std::string("NOTHING").size()), "UPDATE SET ",
      absl::StrJoin(key_end, names.end(), ", ", [](std::string* out, const std::string& column) {
        absl::StrAppend(out, column, " = excluded.", column);
      }));
  select = absl::StrCat("SELECT ", listed, " FROM ", name);
}

const SqlTables& Tables() {
  static const SqlTables& tables = *new SqlTables;
  return tables;
}

}  // namespace concur
