// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr int kBusyMilliseconds = 10'000;

absl::StatusCode CodeOf(int extended, int system_error) {
  if (extended == SQLITE_IOERR_SHORT_READ || extended == SQLITE_IOERR_CORRUPTFS ||
      extended == SQLITE_IOERR_DATA) {
    return absl::StatusCode::kDataLoss;
  }
  switch (extended & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_IOERR:
      switch (system_error) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
          return absl::StatusCode::kResourceExhausted;
        default:
          return absl::StatusCode::kUnknown;
      }
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_CANTOPEN:
      return system_error == ENOENT ? absl::StatusCode::kNotFound
                                    : absl::StatusCode::kPermissionDenied;
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnknown;
  }
}

// The symbolic name of the codes that people meet; sqlite3_errstr gives the words.
absl::string_view NameOf(int extended) {
  switch (extended & 0xff) {
    case SQLITE_BUSY:
      return "SQLITE_BUSY";
    case SQLITE_CANTOPEN:
      return "SQLITE_CANTOPEN";
    case SQLITE_CONSTRAINT:
      return "SQLITE_CONSTRAINT";
    case SQLITE_CORRUPT:
      return "SQLITE_CORRUPT";
    case SQLITE_FULL:
      return "SQLITE_FULL";
    case SQLITE_IOERR:
      return "SQLITE_IOERR";
    case SQLITE_LOCKED:
      return "SQLITE_LOCKED";
    case SQLITE_NOTADB:
      return "SQLITE_NOTADB";
    case SQLITE_READONLY:
      return "SQLITE_READONLY";
    default:
      return "SQLite code";
  }
}

}  // namespace

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

void SqliteStatement::NoteBind(int code) {
  if (bind_error_ == SQLITE_OK) {
    bind_error_ = code;
  }
}

void SqliteStatement::BindInt(int parameter, int64_t value) {
  NoteBind(sqlite3_bind_int64(statement_, parameter, value));
}
void SqliteStatement::BindReal(int parameter, double value) {
  NoteBind(sqlite3_bind_double(statement_, parameter, value));
}
void SqliteStatement::BindText(int parameter, absl::string_view value) {
  NoteBind(sqlite3_bind_text64(statement_, parameter, value.empty() ? "" : value.data(),
                               value.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void SqliteStatement::BindBlob(int parameter, absl::string_view value) {
  // An empty view may have no address, which SQLite would take for NULL.
  NoteBind(value.empty() ? sqlite3_bind_zeroblob(statement_, parameter, 0)
                         : sqlite3_bind_blob64(statement_, parameter, value.data(), value.size(),
                                               SQLITE_STATIC));
}
void SqliteStatement::BindNull(int parameter) {
  NoteBind(sqlite3_bind_null(statement_, parameter));
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (bind_error_ != 0) {
    absl::Status status = database_.Error(bind_error_, sqlite3_sql(statement_));
    Reset();
    return status;
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    Reset();
    return false;
  }
  absl::Status status = database_.Error(code, sqlite3_sql(statement_));
  Reset();
  return status;
}

absl::Status SqliteStatement::Run(int64_t* changed) {
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) {
      break;
    }
  }
  if (changed != nullptr) {
    *changed += sqlite3_changes64(sqlite3_db_handle(statement_));
  }
  return absl::OkStatus();
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_);
  bind_error_ = 0;
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
bool SqliteStatement::IsInt(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}
bool SqliteStatement::IsReal(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_FLOAT;
}
bool SqliteStatement::IsText(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_TEXT;
}
bool SqliteStatement::IsBlob(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_BLOB;
}
double SqliteStatement::Real(int column) const { return sqlite3_column_double(statement_, column); }

int64_t SqliteStatement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

absl::string_view SqliteStatement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int bytes = sqlite3_column_bytes(statement_, column);
  return data == nullptr
             ? absl::string_view()
             : absl::string_view(static_cast<const char*>(data), static_cast<size_t>(bytes));
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                                     Mode mode,
                                                                     const std::string& vfs) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string file = path;
  switch (mode) {
    case Mode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Mode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Mode::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Mode::kImmutable:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      file = absl::StrCat(
          "file:", absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}),
          "?immutable=1");
      break;
  }
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(file.c_str(), &handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  // On failure, too, there is a handle: it tells the reason and must be closed.
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path, handle));
  if (code != SQLITE_OK) {
    return database->Error(code, "open");
  }
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  // The file may be damaged or made by an enemy: believe nothing in it but rows.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  CONCUR_RETURN_IF_ERROR(database->Execute("PRAGMA cell_size_check = ON"));
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  statements_.clear();
  sqlite3_close_v2(handle_);
}

int SqliteDatabase::SystemError() const {
  if (const int error = sqlite3_system_errno(handle_); error != 0) {
    return error;
  }
  // Errors within a statement reach only the file. The log is the likelier one: commits write it.
  sqlite3_file* log = nullptr;
  int error = 0;
  if (sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
      log != nullptr && log->pMethods != nullptr &&
      log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK &&
      error != 0) {
    return error;
  }
  return sqlite3_file_control(handle_, "main", SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK ? error
                                                                                             : 0;
}

absl::Status SqliteDatabase::Error(int code, absl::string_view context) const {
  if (handle_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(path_, ": ", context, ": out of memory"));
  }
  const bool system_matters = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  const int system_error = system_matters ? SystemError() : 0;
  std::string reason = sqlite3_errstr(code);
  const std::string detail = sqlite3_errmsg(handle_);
  if (!absl::StrContains(detail, reason) && detail != "not an error") {
    absl::StrAppend(&reason, ": ", detail);
  }
  absl::StrAppend(&reason, " (", NameOf(code), " ", code);
  if (system_error != 0) {
    absl::StrAppend(&reason, ": ", std::generic_category().message(system_error));
  }
  absl::StrAppend(&reason, ")");
  return absl::Status(CodeOf(code, system_error), absl::StrCat(path_, ": ", context, ": ", reason));
}

absl::Status SqliteDatabase::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    return Error(code, absl::string_view(sql).substr(0, 100));
  }
  return absl::OkStatus();
}

absl::StatusOr<SqlStatement*> SqliteDatabase::Prepare(absl::string_view sql) {
  auto it = statements_.find(sql);
  if (it == statements_.end()) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
    if (code != SQLITE_OK) {
      return Error(code, sql.substr(0, 100));
    }
    std::unique_ptr<SqliteStatement> statement(new SqliteStatement(*this, raw));
    it = statements_.emplace(std::string(sql), std::move(statement)).first;
  }
  it->second->Reset();
  return it->second.get();
}

void SqliteDatabase::Rollback() {
  if (sqlite3_get_autocommit(handle_) == 0) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

absl::Status SqliteDatabase::Begin() {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * begin, Prepare("BEGIN IMMEDIATE"));
  return begin->Run();
}

absl::Status SqliteDatabase::Commit() {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * commit, Prepare("COMMIT"));
  return commit->Run();
}

}  // namespace concur
