// SPDX-License-Identifier: Apache-2.0
#include "store/postgres.h"

#include <endian.h>
#include <libpq-fe.h>
#include <poll.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur {
namespace {

constexpr int kBinary = 1;
constexpr size_t kSentBetweenPushes = 64;
constexpr size_t kGatheredRowsMax = 64;
constexpr size_t kGatheredBytesMax = 1 << 20;  // and one row more
constexpr size_t kArrayHeaderBytes = 20;
// Object identifiers of PostgreSQL's types (pg_type.h).
constexpr Oid kByteaType = 17;
constexpr Oid kInt8Type = 20;
constexpr Oid kTextType = 25;
constexpr Oid kFloat8Type = 701;

// A failed connection is noticed by what it is asked within six seconds. A leader that is stopped
// within a commit holds its row no longer than its lease. synchronous_commit is never weaker than
// `on`, and stays stronger where the server says so.
constexpr char kSession[] =
    "SET client_min_messages = warning; SET search_path = concur; "
    "SET default_transaction_isolation = 'read committed'; "
    "SET idle_in_transaction_session_timeout = '6s'; SET statement_timeout = 0; "
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')";

absl::StatusCode CodeOf(absl::string_view sqlstate) {
  const absl::string_view family = sqlstate.substr(0, 2);
  if (sqlstate == "53100" || sqlstate == "53200" || sqlstate == "54000") {  // disk full, no memory
    return absl::StatusCode::kResourceExhausted;
  }
  if (family == "XX" && sqlstate != "XX000") {  // data or index corrupted
    return absl::StatusCode::kDataLoss;
  }
  if (family == "08" || family == "53" || absl::StartsWith(sqlstate, "57P")) {
    return absl::StatusCode::kUnavailable;
  }
  if (sqlstate == "42501" || family == "28") {
    return absl::StatusCode::kPermissionDenied;
  }
  if (sqlstate == "3D000") {
    return absl::StatusCode::kNotFound;
  }
  if (sqlstate == "25006") {  // a replica, which takes no writes
    return absl::StatusCode::kFailedPrecondition;
  }
  return absl::StatusCode::kUnknown;
}

// One line of a message that may have several.
std::string OneLine(absl::string_view text) {
  text = absl::StripSuffix(text, "\n");
  std::string line(text);
  for (char& c : line) {
    c = c == '\n' || c == '\t' ? ' ' : c;
  }
  return line;
}

absl::string_view Field(const PGresult* result, int field) {
  const char* value = PQresultErrorField(result, field);
  return value == nullptr ? "" : value;
}

// True of the SqlTable::upsert of a table whose key is its first column.
bool PutsRowByFirstColumn(absl::string_view sql) {
  const size_t key = sql.find(") ON CONFLICT (");
  return key != sql.npos && absl::StrContains(sql, "VALUES (") &&
         absl::StrContains(sql.substr(key), ") DO UPDATE SET ") &&
         !absl::StrContains(sql.substr(key, sql.find(')', key + 1) - key), ',');
}

// The statement that puts all rows of arrays of these types.
std::string PutsMany(absl::string_view sql, const std::vector<Oid>& types) {
  const size_t values = sql.find("VALUES (");
  std::string arrays;
  for (size_t i = 0; i < types.size(); ++i) {
    const absl::string_view type = types[i] == kInt8Type     ? "bigint"
                                   : types[i] == kFloat8Type ? "double precision"
                                                             : "bytea";
    absl::StrAppend(&arrays, i == 0 ? "$" : ", $", i + 1, "::", type, "[]");
  }
  return absl::StrCat(sql.substr(0, values), "SELECT * FROM unnest(", arrays,
                      sql.substr(sql.find(')', values)));
}

void PutInt32(char* at, size_t value) {
  const uint32_t big_endian = htobe32(static_cast<uint32_t>(value));
  std::memcpy(at, &big_endian, sizeof(big_endian));
}

void AppendElement(std::string* array, absl::string_view bytes) {
  char length[4];
  PutInt32(length, bytes.size());
  array->append(length, sizeof(length));
  array->append(bytes.data(), bytes.size());
}

bool IsError(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE ||
         status == PGRES_PIPELINE_ABORTED;
}

}  // namespace

void PostgresResultDeleter::operator()(pg_result* result) const { PQclear(result); }

PostgresStatement::PostgresStatement(PostgresDatabase& database, std::string sql, std::string name)
    : database_(database),
      sql_(std::move(sql)),
      name_(std::move(name)),
      gathers_(PutsRowByFirstColumn(sql_)) {}

PostgresStatement::Parameter& PostgresStatement::At(int parameter) {
  if (parameters_.size() < static_cast<size_t>(parameter)) {
    parameters_.resize(static_cast<size_t>(parameter));
  }
  return parameters_[static_cast<size_t>(parameter) - 1];
}

void PostgresStatement::BindInt(int parameter, int64_t value) {
  Parameter& out = At(parameter);
  out.is_number = true;
  out.is_null = false;
  const uint64_t big_endian = htobe64(static_cast<uint64_t>(value));
  std::memcpy(out.number.data(), &big_endian, sizeof(big_endian));
}

void PostgresStatement::BindReal(int parameter, double value) {
  BindInt(parameter, std::bit_cast<int64_t>(value));
}

void PostgresStatement::BindBlob(int parameter, absl::string_view value) {
  Parameter& out = At(parameter);
  out.is_number = false;
  out.is_null = false;
  // libpq takes a null address for NULL.
  out.bytes = value.data() == nullptr ? absl::string_view("", 0) : value;
}

void PostgresStatement::BindText(int parameter, absl::string_view value) {
  BindBlob(parameter, value);
}

void PostgresStatement::BindNull(int parameter) { At(parameter).is_null = true; }

absl::Status PostgresStatement::Send() {
  CONCUR_RETURN_IF_ERROR(database_.EnsurePrepared(*this));
  const size_t count = parameters_.size();
  std::vector<const char*> values(count);
  std::vector<int> lengths(count);
  const std::vector<int> formats(count, kBinary);
  for (size_t i = 0; i < count; ++i) {
    const Parameter& parameter = parameters_[i];
    if (!parameter.is_null) {
      values[i] = parameter.Value().data();
      lengths[i] = static_cast<int>(parameter.Value().size());
    }
  }
  if (PQsendQueryPrepared(database_.connection_, name_.c_str(), static_cast<int>(count),
                          values.data(), lengths.data(), formats.data(), kBinary) == 0) {
    return database_.ConnectionLost(sql_);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PostgresStatement::Step() {
  if (!reading_) {
    CONCUR_RETURN_IF_ERROR(database_.Flush());
    CONCUR_RETURN_IF_ERROR(Send());
    CONCUR_CHECK(PQsetSingleRowMode(database_.connection_) == 1);
    reading_ = true;
  }
  row_.reset();
  absl::StatusOr<PostgresResult> next = database_.NextResult();
  if (!next.ok()) {
    reading_ = false;  // a new connection has nothing of it
    return next.status();
  }
  row_ = *std::move(next);
  if (row_ != nullptr && PQresultStatus(row_.get()) == PGRES_SINGLE_TUPLE) {
    return true;
  }
  absl::Status status = database_.StatusOf(row_.get(), sql_);
  Reset();
  CONCUR_RETURN_IF_ERROR(status);
  return false;
}

absl::Status PostgresStatement::Run(int64_t* changed) {
  if (!database_.in_transaction_) {
    CONCUR_RETURN_IF_ERROR(Send());
    return database_.FinishOne({sql_, changed});
  }
  if (changed == nullptr && gathers_) {
    return Gather();
  }
  CONCUR_RETURN_IF_ERROR(database_.SendGathered());
  CONCUR_RETURN_IF_ERROR(database_.EnsurePrepared(*this));
  if (PQpipelineStatus(database_.connection_) == PQ_PIPELINE_OFF) {
    if (PQenterPipelineMode(database_.connection_) == 0) {
      return database_.ConnectionLost(sql_);
    }
  }
  CONCUR_RETURN_IF_ERROR(Send());
  database_.sent_.push_back({sql_, changed});
  return database_.sent_.size() % kSentBetweenPushes == 0 ? database_.PushOut() : absl::OkStatus();
}

absl::Status PostgresStatement::EnsureManyPrepared() {
  CONCUR_RETURN_IF_ERROR(database_.EnsurePrepared(*this));
  if (many_ == nullptr) {
    CONCUR_RETURN_IF_ERROR(database_.Flush());
    if (PQsendDescribePrepared(database_.connection_, name_.c_str()) == 0) {
      return database_.ConnectionLost(sql_);
    }
    CONCUR_ASSIGN_OR_RETURN(const PostgresResult about, database_.NextResult());
    CONCUR_RETURN_IF_ERROR(database_.FinishOne({sql_, nullptr}));
    CONCUR_RETURN_IF_ERROR(database_.StatusOf(about.get(), sql_));
    for (int i = 0; i < PQnparams(about.get()); ++i) {
      types_.push_back(PQparamtype(about.get(), i));
    }
    many_.reset(
        new PostgresStatement(database_, PutsMany(sql_, types_), absl::StrCat(name_, "_many")));
  }
  return database_.EnsurePrepared(*many_);
}

absl::Status PostgresStatement::Gather() {
  std::string key(At(1).Value());
  const bool is_full = keys_.size() == kGatheredRowsMax || gathered_bytes_ > kGatheredBytesMax;
  // One statement cannot put a row twice.
  if (database_.gathering_ != this || is_full || keys_.contains(key)) {
    CONCUR_RETURN_IF_ERROR(database_.SendGathered());
    if (is_full) {
      CONCUR_RETURN_IF_ERROR(database_.PushOut());
    }
    CONCUR_RETURN_IF_ERROR(EnsureManyPrepared());
    columns_.assign(parameters_.size(), {std::string(kArrayHeaderBytes, '\0')});
    keys_.clear();
    gathered_bytes_ = 0;
    database_.gathering_ = this;
  }
  keys_.insert(std::move(key));
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    Column& column = columns_[i];
    if (parameter.is_null) {
      column.array.append(4, '\xff');  // NULL
      continue;
    }
    column.has_values = true;
    AppendElement(&column.array, parameter.Value());
    gathered_bytes_ += parameter.Value().size();
  }
  return absl::OkStatus();
}

absl::Status PostgresStatement::SendGathered() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (!column.has_values) {
      many_->BindNull(static_cast<int>(i) + 1);  // unnest fills it up
      continue;
    }
    char* const header = column.array.data();
    PutInt32(header, 1);      // dimensions
    PutInt32(header + 4, 1);  // some may be NULL
    PutInt32(header + 8, types_[i]);
    PutInt32(header + 12, keys_.size());
    PutInt32(header + 16, 1);  // index of the first one
    many_->BindBlob(static_cast<int>(i) + 1, column.array);
  }
  absl::Status status = many_->Run();
  if (gathered_bytes_ > kGatheredBytesMax) {
    columns_.clear();
  }
  return status;
}

void PostgresStatement::Reset() {
  row_.reset();
  while (std::exchange(reading_, false) && !database_.broken_) {
    const absl::StatusOr<PostgresResult> rest = database_.NextResult();
    reading_ = rest.ok() && *rest != nullptr;
  }
}

bool PostgresStatement::IsNull(int column) const { return PQgetisnull(row_.get(), 0, column) == 1; }
bool PostgresStatement::IsInt(int column) const {
  return !IsNull(column) && PQftype(row_.get(), column) == kInt8Type;
}
bool PostgresStatement::IsReal(int column) const {
  return !IsNull(column) && PQftype(row_.get(), column) == kFloat8Type;
}
bool PostgresStatement::IsText(int column) const { return IsBlob(column); }
bool PostgresStatement::IsBlob(int column) const {
  const Oid type = PQftype(row_.get(), column);
  return !IsNull(column) && (type == kByteaType || type == kTextType);
}

int64_t PostgresStatement::Int(int column) const {
  const absl::string_view bytes = Bytes(column);
  uint64_t big_endian = 0;
  if (bytes.size() == sizeof(big_endian)) {
    std::memcpy(&big_endian, bytes.data(), sizeof(big_endian));
  }
  return static_cast<int64_t>(be64toh(big_endian));
}

double PostgresStatement::Real(int column) const { return std::bit_cast<double>(Int(column)); }

absl::string_view PostgresStatement::Bytes(int column) const {
  return absl::string_view(PQgetvalue(row_.get(), 0, column),
                           static_cast<size_t>(PQgetlength(row_.get(), 0, column)));
}

absl::StatusOr<std::unique_ptr<PostgresDatabase>> PostgresDatabase::Open(
    const std::string& uri, absl::Duration answer_max) {
  std::unique_ptr<PostgresDatabase> database(new PostgresDatabase(uri, answer_max));
  PQconninfoOption* const parsed = PQconninfoParse(uri.c_str(), nullptr);
  if (parsed == nullptr) {
    return absl::InvalidArgumentError(
        "database: expected a connection URI such as postgresql://concur@db.example.org/concur "
        "(what was given is not repeated, since it may hold a password)");
  }
  PQconninfoFree(parsed);
  CONCUR_RETURN_IF_ERROR(database->Connect());
  return database;
}

PostgresDatabase::~PostgresDatabase() {
  statements_.clear();
  PQfinish(connection_);
}

absl::Status PostgresDatabase::Connect() {
  PQfinish(connection_);
  sent_.clear();
  gathering_ = nullptr;
  in_transaction_ = false;
  broken_ = true;
  ++connections_;
  // The URI comes last and overrides the rest.
  const char* const names[] = {"connect_timeout",  "application_name",
                               "keepalives_idle",  "keepalives_interval",
                               "keepalives_count", "tcp_user_timeout",
                               "client_encoding",  "target_session_attrs",
                               "dbname",           nullptr};
  const char* const values[] = {"3",    "concur-coordinator", "3",          "1",    "3", "6000",
                                "UTF8", "read-write",         uri_.c_str(), nullptr};
  connection_ = PQconnectdbParams(names, values, /*expand_dbname=*/1);
  if (connection_ == nullptr) {
    return absl::ResourceExhaustedError("database: out of memory");
  }
  const auto text = [](const char* value) { return value == nullptr ? "" : value; };
  path_ = absl::StrCat("PostgreSQL database ", text(PQdb(connection_)), " at ",
                       text(PQhost(connection_)), ":", text(PQport(connection_)));
  if (PQstatus(connection_) != CONNECTION_OK) {
    return absl::UnavailableError(
        absl::StrCat(path_, ": cannot connect: ", OneLine(PQerrorMessage(connection_))));
  }
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  CONCUR_CHECK(PQsetnonblocking(connection_, 1) == 0);
  broken_ = false;
  return Execute(kSession);
}

absl::Status PostgresDatabase::ConnectionLost(absl::string_view context) {
  broken_ = true;
  sqlstate_.clear();
  return absl::UnavailableError(
      absl::StrCat(path_, ": ", context.substr(0, 100),
                   ": the connection was lost: ", OneLine(PQerrorMessage(connection_))));
}

absl::Status PostgresDatabase::StatusOf(const pg_result* result, absl::string_view context) {
  if (result == nullptr || !IsError(result)) {
    return absl::OkStatus();
  }
  if (PQresultStatus(result) == PGRES_PIPELINE_ABORTED) {
    return absl::AbortedError("skipped");  // after an error that was reported
  }
  sqlstate_ = std::string(Field(result, PG_DIAG_SQLSTATE));
  const absl::string_view severity = Field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (PQstatus(connection_) != CONNECTION_OK || severity == "FATAL" || severity == "PANIC") {
    const std::string reason = OneLine(PQresultErrorMessage(result));
    broken_ = true;
    return absl::UnavailableError(
        absl::StrCat(path_, ": ", context.substr(0, 100), ": the connection was lost: ", reason));
  }
  return absl::Status(
      CodeOf(sqlstate_),
      absl::StrCat(path_, ": ", context.substr(0, 100), ": ",
                   OneLine(Field(result, PG_DIAG_MESSAGE_PRIMARY)), " (SQLSTATE ", sqlstate_, ")"));
}

absl::Status PostgresDatabase::WaitForServer(bool may_write) {
  pollfd wanted = {PQsocket(connection_), static_cast<int16_t>(POLLIN | (may_write ? POLLOUT : 0)),
                   0};
  const int milliseconds = answer_max_ == absl::InfiniteDuration()
                               ? -1
                               : static_cast<int>(absl::ToInt64Milliseconds(answer_max_));
  int ready = 0;
  do {
    ready = poll(&wanted, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    broken_ = true;
    return absl::UnavailableError(
        absl::StrCat(path_, ": no answer within ", absl::FormatDuration(answer_max_)));
  }
  return PQconsumeInput(connection_) == 1 ? absl::OkStatus() : ConnectionLost("read");
}

absl::StatusOr<PostgresResult> PostgresDatabase::NextResult() {
  for (int unsent = PQflush(connection_); unsent != 0 || PQisBusy(connection_) == 1;
       unsent = PQflush(connection_)) {
    // A failed write is reported with the answer, which may say why.
    CONCUR_RETURN_IF_ERROR(WaitForServer(unsent > 0));
  }
  return PostgresResult(PQgetResult(connection_));
}

absl::Status PostgresDatabase::PushOut() {
  for (;;) {
    const int unsent = PQflush(connection_);
    if (unsent < 0) {
      return ConnectionLost("write");
    }
    if (unsent == 0) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(WaitForServer(/*may_write=*/true));
  }
}

absl::Status PostgresDatabase::FinishOne(const Sent& sent) {
  absl::Status first;
  for (;;) {
    CONCUR_ASSIGN_OR_RETURN(const PostgresResult result, NextResult());
    if (result == nullptr) {
      return first;
    }
    first.Update(StatusOf(result.get(), sent.sql));
    if (broken_) {
      return first;
    }
    int64_t rows = 0;
    if (sent.changed != nullptr && absl::SimpleAtoi(PQcmdTuples(result.get()), &rows)) {
      *sent.changed += rows;
    }
  }
}

absl::Status PostgresDatabase::SendGathered() {
  PostgresStatement* const statement = std::exchange(gathering_, nullptr);
  return statement == nullptr ? absl::OkStatus() : statement->SendGathered();
}

absl::Status PostgresDatabase::Flush() {
  CONCUR_RETURN_IF_ERROR(SendGathered());
  if (sent_.empty()) {
    return absl::OkStatus();
  }
  const std::vector<Sent> sent = std::exchange(sent_, {});
  if (PQpipelineSync(connection_) == 0) {
    return ConnectionLost("flush");
  }
  absl::Status first;
  for (const Sent& one : sent) {
    // After the first error the server skips the rest, which tells nothing.
    const absl::Status status = FinishOne(one);
    first.Update(status);
    if (broken_) {
      return first;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const PostgresResult end, NextResult());
  if (end == nullptr || PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC) {
    return ConnectionLost("flush");
  }
  first.Update(LeavePipeline());
  return first;
}

absl::Status PostgresDatabase::LeavePipeline() {
  return PQexitPipelineMode(connection_) == 1 ? absl::OkStatus() : ConnectionLost("flush");
}

absl::Status PostgresDatabase::EnsurePrepared(PostgresStatement& statement) {
  if (broken_ && !in_transaction_) {
    CONCUR_RETURN_IF_ERROR(Connect());
  }
  if (statement.connection_ == connections_) {
    return absl::OkStatus();
  }
  CONCUR_RETURN_IF_ERROR(Flush());
  if (PQsendPrepare(connection_, statement.name_.c_str(), statement.sql_.c_str(), 0, nullptr) ==
      0) {
    return ConnectionLost(statement.sql_);
  }
  CONCUR_RETURN_IF_ERROR(FinishOne({statement.sql_, nullptr}));
  statement.connection_ = connections_;
  return absl::OkStatus();
}

absl::StatusOr<SqlStatement*> PostgresDatabase::Prepare(absl::string_view sql) {
  auto it = statements_.find(sql);
  if (it == statements_.end()) {
    std::unique_ptr<PostgresStatement> statement(new PostgresStatement(
        *this, std::string(sql), absl::StrCat("concur_", statements_.size())));
    it = statements_.emplace(std::string(sql), std::move(statement)).first;
  }
  it->second->Reset();
  return it->second.get();
}

absl::Status PostgresDatabase::Execute(const std::string& sql) {
  CONCUR_RETURN_IF_ERROR(Flush());
  if (PQsendQuery(connection_, sql.c_str()) == 0) {
    return ConnectionLost(sql);
  }
  return FinishOne({sql, nullptr});
}

absl::Status PostgresDatabase::Begin() {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * begin, Prepare("BEGIN"));
  auto& statement = static_cast<PostgresStatement&>(*begin);
  CONCUR_RETURN_IF_ERROR(EnsurePrepared(statement));
  in_transaction_ = true;
  return statement.Run();
}

absl::Status PostgresDatabase::Commit() {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * commit, Prepare("COMMIT"));
  CONCUR_RETURN_IF_ERROR(commit->Run());
  CONCUR_RETURN_IF_ERROR(Flush());
  in_transaction_ = false;
  return absl::OkStatus();
}

void PostgresDatabase::Rollback() {
  if (!in_transaction_) {
    return;
  }
  gathering_ = nullptr;
  if (!broken_) {
    Flush().IgnoreError();
  }
  if (!broken_) {
    std::string why = sqlstate_;
    if (!Execute("ROLLBACK").ok()) {
      broken_ = true;
    }
    sqlstate_ = std::move(why);
  }
  in_transaction_ = false;
}

}  // namespace concur
