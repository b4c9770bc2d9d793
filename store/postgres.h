// SPDX-License-Identifier: Apache-2.0
// A connection to PostgreSQL by libpq. Statements of a transaction are only sent (libpq's pipeline
// mode): those that need no count of rows take one round trip together with their COMMIT. Rows that
// one statement puts one after the other are sent as one statement of many rows, since starting a
// statement costs the server more than a row.
//
// Text is kept as BYTEA, since jobs may send bytes that PostgreSQL's TEXT refuses, and sorts by
// bytes.
//
// Thread-compatible: one connection is used by one thread at a time.
#ifndef CONCUR_STORE_POSTGRES_H_
#define CONCUR_STORE_POSTGRES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "store/sql.h"

struct pg_conn;
struct pg_result;

namespace concur {

class PostgresDatabase;

struct PostgresResultDeleter {
  void operator()(pg_result* result) const;
};
using PostgresResult = std::unique_ptr<pg_result, PostgresResultDeleter>;

class PostgresStatement final : public SqlStatement {
 public:
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
  friend class PostgresDatabase;
  // In PostgreSQL's binary format; numbers are kept here, the rest is the caller's.
  struct Parameter {
    std::array<char, 8> number = {};
    absl::string_view bytes;
    bool is_number = false;
    bool is_null = true;

    absl::string_view Value() const {
      return is_number ? absl::string_view(number.data(), number.size()) : bytes;
    }
  };

  // Values of one parameter in the rows that are gathered, as a binary array.
  struct Column {
    std::string array;
    bool has_values = false;  // else all are NULL
  };

  PostgresStatement(PostgresDatabase& database, std::string sql, std::string name);

  Parameter& At(int parameter);
  absl::Status Send();
  // Keeps the row that is bound, to be sent with the next ones.
  absl::Status Gather();
  absl::Status SendGathered();
  absl::Status EnsureManyPrepared();

  PostgresDatabase& database_;
  const std::string sql_;
  const std::string name_;
  const bool gathers_;      // puts a row by its first column
  int64_t connection_ = 0;  // the one that it is prepared in
  std::vector<Parameter> parameters_;
  bool reading_ = false;  // rows may follow
  PostgresResult row_;

  // The same statement for arrays of rows, if this one puts a row. Null before its first use.
  std::unique_ptr<PostgresStatement> many_;
  std::vector<uint32_t> types_;
  std::vector<Column> columns_;
  absl::flat_hash_set<std::string> keys_;  // those of the rows that are gathered
  size_t gathered_bytes_ = 0;
};

class PostgresDatabase final : public SqlDatabase {
 public:
  // InvalidArgument when `uri` is no connection URI or string; no message repeats it, since it may
  // hold a password. Unavailable when no server that takes writes answers. A call that waits longer
  // than `answer_max` for the server fails and breaks the connection.
  static absl::StatusOr<std::unique_ptr<PostgresDatabase>> Open(
      const std::string& uri, absl::Duration answer_max = absl::InfiniteDuration());
  ~PostgresDatabase() override;
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  const std::string& path() const override { return path_; }
  absl::Status Execute(const std::string& sql) override;
  absl::StatusOr<SqlStatement*> Prepare(absl::string_view sql) override;
  absl::Status Begin() override;
  absl::Status Flush() override;
  // After an error on a connection that is not broken, nothing is saved; on a broken one the
  // outcome is unknown.
  absl::Status Commit() override;
  void Rollback() override;

  bool broken() const { return broken_; }
  // Connects anew, without the open transaction. Statements are prepared again when they are used;
  // outside a transaction, a statement on a broken connection connects by itself.
  absl::Status Connect();

  // PostgreSQL's five characters for the latest error; "" when it gave none.
  const std::string& sqlstate() const { return sqlstate_; }

 private:
  friend class PostgresStatement;
  struct Sent {
    absl::string_view sql;
    int64_t* changed = nullptr;
  };

  PostgresDatabase(std::string uri, absl::Duration answer_max)
      : uri_(std::move(uri)), answer_max_(answer_max) {}

  // The next result; null after the last one of a statement. Unavailable, and broken, when the
  // connection is lost.
  absl::StatusOr<PostgresResult> NextResult();
  absl::Status WaitForServer(bool may_write);
  // Hands what is buffered to the kernel, so that a large transaction does not pile up here.
  absl::Status PushOut();
  // Reads all results of one statement; the first error among them.
  absl::Status FinishOne(const Sent& sent);
  absl::Status LeavePipeline();
  absl::Status SendGathered();
  absl::Status EnsurePrepared(PostgresStatement& statement);
  // OK unless it is an error; "PATH: CONTEXT: reason (SQLSTATE 53100)".
  absl::Status StatusOf(const pg_result* result, absl::string_view context);
  absl::Status ConnectionLost(absl::string_view context);

  const std::string uri_;
  const absl::Duration answer_max_;
  std::string path_;
  pg_conn* connection_ = nullptr;
  int64_t connections_ = 0;
  bool broken_ = true;
  bool in_transaction_ = false;
  std::vector<Sent> sent_;
  PostgresStatement* gathering_ = nullptr;  // has rows that are not sent
  std::string sqlstate_;
  absl::flat_hash_map<std::string, std::unique_ptr<PostgresStatement>> statements_;
};

}  // namespace concur

#endif  // CONCUR_STORE_POSTGRES_H_
