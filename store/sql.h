// SPDX-License-Identifier: Apache-2.0
// A SQL database as the store and its reader use it: SQLite's (store/sqlite.h) or PostgreSQL's
// (store/postgres.h). Statements are in the dialect that both share; parameters are $1, $2, … in
// the order in which they first appear.
//
// Thread-compatible: one connection is used by one thread at a time.
#ifndef CONCUR_STORE_SQL_H_
#define CONCUR_STORE_SQL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace concur {

// A prepared statement. Parameters count from 1, columns from 0. Bound text and blobs must live
// until the statement is reset. A failed Bind is reported by the next Step.
class SqlStatement {
 public:
  virtual ~SqlStatement() = default;

  virtual void BindInt(int parameter, int64_t value) = 0;
  virtual void BindReal(int parameter, double value) = 0;
  virtual void BindText(int parameter, absl::string_view value) = 0;
  virtual void BindBlob(int parameter, absl::string_view value) = 0;
  virtual void BindNull(int parameter) = 0;

  // True when there is a row to read; false when the statement is done, which also resets it.
  virtual absl::StatusOr<bool> Step() = 0;
  // Steps to the end, ignoring rows, and adds the number of rows that an INSERT, UPDATE or DELETE
  // changed to `changed`, unless it is null. Within a transaction it may be only sent: then
  // `changed` must live until Flush or Commit, which also report its error.
  virtual absl::Status Run(int64_t* changed) = 0;
  absl::Status Run() { return Run(nullptr); }
  // Makes the statement ready for another round; Step does so itself at the end and on errors.
  virtual void Reset() = 0;

  virtual bool IsNull(int column) const = 0;
  virtual bool IsInt(int column) const = 0;
  virtual bool IsReal(int column) const = 0;
  virtual bool IsText(int column) const = 0;
  virtual bool IsBlob(int column) const = 0;
  virtual int64_t Int(int column) const = 0;
  virtual double Real(int column) const = 0;
  // The bytes of a text or blob; valid until the next Step or Reset.
  virtual absl::string_view Bytes(int column) const = 0;
};

class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  // The database in messages: a file's path, or a server's address without a password.
  virtual const std::string& path() const = 0;

  // Runs one or more statements that need no parameters and give no rows.
  virtual absl::Status Execute(const std::string& sql) = 0;
  // Prepares a statement, once for each text: the second call gives the same one, reset.
  virtual absl::StatusOr<SqlStatement*> Prepare(absl::string_view sql) = 0;

  // Opens a transaction that writes.
  virtual absl::Status Begin() = 0;
  // Waits for the statements that were only sent.
  virtual absl::Status Flush() { return absl::OkStatus(); }
  // Returns after the transaction is on disk.
  virtual absl::Status Commit() = 0;
  // Undoes the open transaction, if there is one.
  virtual void Rollback() = 0;

  // The first column of the first row of a query, as an integer or as bytes. NotFound when there is
  // no row.
  absl::StatusOr<int64_t> QueryInt(absl::string_view sql);
  absl::StatusOr<std::string> QueryText(absl::string_view sql);
};

// A transaction that is rolled back unless committed.
class SqlTransaction {
 public:
  explicit SqlTransaction(SqlDatabase& database) : database_(database) {}
  ~SqlTransaction();
  SqlTransaction(const SqlTransaction&) = delete;
  SqlTransaction& operator=(const SqlTransaction&) = delete;

  absl::Status Begin();
  absl::Status Commit();

 private:
  SqlDatabase& database_;
  bool open_ = false;
};

}  // namespace concur

#endif  // CONCUR_STORE_SQL_H_
