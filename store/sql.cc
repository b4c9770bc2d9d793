// SPDX-License-Identifier: Apache-2.0
#include "store/sql.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace concur {
namespace {

absl::StatusOr<SqlStatement*> FirstRow(SqlDatabase& database, absl::string_view sql) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database.Prepare(sql));
  CONCUR_ASSIGN_OR_RETURN(const bool row, statement->Step());
  if (!row) {
    return absl::NotFoundError(absl::StrCat(database.path(), ": ", sql, ": no row"));
  }
  return statement;
}

}  // namespace

absl::StatusOr<int64_t> SqlDatabase::QueryInt(absl::string_view sql) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, FirstRow(*this, sql));
  const int64_t value = statement->Int(0);
  statement->Reset();
  return value;
}

absl::StatusOr<std::string> SqlDatabase::QueryText(absl::string_view sql) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, FirstRow(*this, sql));
  std::string value(statement->Bytes(0));
  statement->Reset();
  return value;
}

SqlTransaction::~SqlTransaction() {
  if (open_) {
    database_.Rollback();
  }
}

absl::Status SqlTransaction::Begin() {
  CONCUR_RETURN_IF_ERROR(database_.Begin());
  open_ = true;
  return absl::OkStatus();
}

absl::Status SqlTransaction::Commit() {
  CONCUR_RETURN_IF_ERROR(database_.Commit());
  open_ = false;
  return absl::OkStatus();
}

}  // namespace concur
