// SPDX-License-Identifier: Apache-2.0
// SQLite, owned: connections and statements that close themselves, and errors that say what was
// being done.
//
// Thread-compatible: one connection is used by one thread at a time.
#ifndef CONCUR_STORE_SQLITE_H_
#define CONCUR_STORE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "store/sql.h"

struct sqlite3;
struct sqlite3_stmt;

namespace concur {

class SqliteDatabase;

class SqliteStatement final : public SqlStatement {
 public:
  ~SqliteStatement() override;
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  using SqlStatement::Run;
  void BindInt(int parameter, int64_t value) override;
  void BindReal(int parameter, double value) override;
  void BindText(int parameter, absl::string_view value) override;
  void BindBlob(int parameter, absl::string_view value) override;
  void BindNull(int parameter) override;
  absl::StatusOr<bool> Step() override;
  absl::Status Run(int64_t* changed) override;
  void Reset() override;
  bool IsNull(int column) const override;
  bool IsInt(int column) const override;
  bool IsReal(int column) const override;
  bool IsText(int column) const override;
  bool IsBlob(int column) const override;
  int64_t Int(int column) const override;
  double Real(int column) const override;
  absl::string_view Bytes(int column) const override;

 private:
  friend class SqliteDatabase;
  SqliteStatement(const SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  void NoteBind(int code);

  const SqliteDatabase& database_;
  sqlite3_stmt* const statement_;
  int bind_error_ = 0;
};

class SqliteDatabase final : public SqlDatabase {
 public:
  enum class Mode {
    kCreate,     // reads and writes; makes the file when there is none
    kReadWrite,  // the file must exist
    kReadOnly,   // never writes to the database file
    kImmutable,  // nobody writes to it, and it has no log
  };
  // NotFound when the file is missing (but for kCreate). Waits up to ten seconds for locks.
  // `vfs` names SQLite's way to files; "" is its usual one.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, Mode mode,
                                                              const std::string& vfs = "");
  ~SqliteDatabase() override;
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const override { return path_; }
  absl::Status Execute(const std::string& sql) override;
  absl::StatusOr<SqlStatement*> Prepare(absl::string_view sql) override;
  // Takes the write lock.
  absl::Status Begin() override;
  absl::Status Commit() override;
  void Rollback() override;

  // The status of the latest error: "PATH: CONTEXT: reason (SQLITE_IOERR_WRITE 778: No space left
  // on device)". DataLoss for a malformed file, ResourceExhausted for a full disk, Unavailable for
  // locks held too long, PermissionDenied, or Unknown.
  absl::Status Error(int code, absl::string_view context) const;

 private:
  // The system's error behind a failed read or write of the database or its log; 0 when unknown.
  int SystemError() const;

  SqliteDatabase(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  const std::string path_;
  sqlite3* const handle_;
  absl::flat_hash_map<std::string, std::unique_ptr<SqliteStatement>> statements_;
};

}  // namespace concur

#endif  // CONCUR_STORE_SQLITE_H_
