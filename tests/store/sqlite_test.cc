// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite.h"

#include <memory>
#include <string>

#include "tests/testing/test.h"

namespace concur::testing {
namespace {

TEST(SqliteTest, ErrorsSayWhereWhatAndWhy) {
  const TempDir dir;
  const std::string path = dir.File("x.db");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SqliteDatabase> database,
                       SqliteDatabase::Open(path, SqliteDatabase::Mode::kCreate));
  EXPECT_THAT(database->Execute("SELEC"),
              StatusIs(absl::StatusCode::kUnknown,
                       AllOf(HasSubstr(path), HasSubstr("SELEC"), HasSubstr("syntax error"))));
  EXPECT_THAT(database->Prepare("SELECT * FROM nowhere"),
              StatusIs(absl::StatusCode::kUnknown, HasSubstr("no such table: nowhere")));
  ASSERT_OK(database->Execute("CREATE TABLE t (x INTEGER PRIMARY KEY) STRICT"));
  ASSERT_OK_AND_ASSIGN(SqlStatement * insert, database->Prepare("INSERT INTO t VALUES (?1)"));
  insert->BindInt(2, 1);
  EXPECT_THAT(insert->Run(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("INSERT")));
  insert->BindText(1, "one");
  EXPECT_THAT(insert->Run(), StatusIs(absl::StatusCode::kUnknown, HasSubstr("datatype mismatch")));
  insert->BindInt(1, 1);
  EXPECT_OK(insert->Run());
  EXPECT_THAT(database->QueryInt("SELECT x FROM t WHERE x > 1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no row")));
  EXPECT_THAT(SqliteDatabase::Open(dir.File("none.db"), SqliteDatabase::Mode::kReadOnly),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.db")));
}

}  // namespace
}  // namespace concur::testing
