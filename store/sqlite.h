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

struct sqlite3;
struct sqlite3_stmt;

namespace concur {

class SqliteDatabase;

// A prepared statement. Parameters count from 1, columns from 0, as in SQLite's own interface.
// Bound text and blobs must live until the statement is reset. A failed Bind is reported by the
// next Step.
class SqliteStatement {
 public:
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void BindInt(int parameter, int64_t value);
  void BindReal(int parameter, double value);
  void BindText(int parameter, absl::string_view value);
  void BindBlob(int parameter, absl::string_view value);
  void BindNull(int parameter);

  // True when there is a row to read; false when the statement is done, which also resets it.
  absl::StatusOr<bool> Step();
  // Steps to the end, ignoring rows.
  absl::Status Run();
  // Makes the statement ready for another round; Step does so itself at the end and on errors.
  void Reset();

  bool IsNull(int column) const;
  bool IsInt(int column) const;
  bool IsReal(int column) const;
  bool IsText(int column) const;
  bool IsBlob(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;
  // The bytes of a text or blob; valid until the next Step or Reset.
  absl::string_view Bytes(int column) const;

 private:
  friend class SqliteDatabase;
  SqliteStatement(const SqliteDatabase& database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  void NoteBind(int code);

  const SqliteDatabase& database_;
  sqlite3_stmt* const statement_;
  int bind_error_ = 0;
};

class SqliteDatabase {
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
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }

  // Runs one or more statements that need no parameters and give no rows.
  absl::Status Execute(const std::string& sql);
  // Prepares a statement, once for each text: the second call gives the same one, reset.
  absl::StatusOr<SqliteStatement*> Prepare(absl::string_view sql);
  // The first column of the first row of a query, as an integer or as bytes. NotFound when there is
  // no row.
  absl::StatusOr<int64_t> QueryInt(absl::string_view sql);
  absl::StatusOr<std::string> QueryText(absl::string_view sql);

  // Number of rows that the latest INSERT, UPDATE or DELETE changed.
  int64_t changes() const;

  // Undoes the open transaction, if there is one.
  void Rollback();

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

// A transaction that is rolled back unless committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(database) {}
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  // Takes the write lock.
  absl::Status Begin();
  // Returns after the transaction is on disk.
  absl::Status Commit();

 private:
  SqliteDatabase& database_;
  bool open_ = false;
};

}  // namespace concur

#endif  // CONCUR_STORE_SQLITE_H_
