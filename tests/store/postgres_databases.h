// SPDX-License-Identifier: Apache-2.0
// New databases of the tests' PostgreSQL server.
#ifndef CONCUR_TESTS_STORE_POSTGRES_DATABASES_H_
#define CONCUR_TESTS_STORE_POSTGRES_DATABASES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "store/postgres_store.h"
#include "tests/testing/postgres_server.h"

namespace concur::testing {

inline constexpr char kNoPostgres[] =
    "/usr/lib/postgresql has no server: scripts/install-packages scripts/packages/postgresql.txt "
    "installs one";

// The URI of a database that is new to this process. REQUIRES: there is a server.
inline std::string NewDatabase() {
  static int made = 0;
  const std::string name = absl::StrCat("test", ++made);
  auto database = PostgresDatabase::Open(PostgresServer::Shared()->Uri("postgres"));
  CONCUR_CHECK_OK(database.status());
  CONCUR_CHECK_OK((*database)->Execute(absl::StrCat("CREATE DATABASE ", name)));
  return PostgresServer::Shared()->Uri(name);
}

inline std::unique_ptr<PostgresStore> MustOpenPostgres(const std::string& uri,
                                                       LeadershipOptions options = {}) {
  absl::StatusOr<std::unique_ptr<PostgresStore>> store =
      PostgresStore::Open(uri, std::move(options));
  CONCUR_CHECK_OK(store.status());
  return *std::move(store);
}

// Changes a database behind Concur's back.
inline void TamperPostgres(const std::string& uri, const std::string& sql) {
  auto database = PostgresDatabase::Open(uri);
  CONCUR_CHECK_OK(database.status());
  CONCUR_CHECK_OK((*database)->Execute(sql));
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_STORE_POSTGRES_DATABASES_H_
