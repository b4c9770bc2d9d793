// SPDX-License-Identifier: Apache-2.0
// Databases as files, for tests that close, copy and spoil them.
#ifndef CONCUR_TESTS_STORE_SQLITE_FILES_H_
#define CONCUR_TESTS_STORE_SQLITE_FILES_H_

#include <memory>
#include <string>

#include "store/sqlite_store.h"

namespace concur::testing {

// Suffixes of the files that may lie at and beside a database's path.
inline constexpr const char* kSuffixes[] = {"", "-wal", "-shm", ".mark"};

std::unique_ptr<SqliteStore> MustOpen(const std::string& path);

// Makes a database at `path`, closed, that has seen the whole of ScriptOfBatches; what Describe
// says of it.
void MakeDatabase(const std::string& path);
std::string ScriptText();

// Changes a closed database behind Concur's back.
void Tamper(const std::string& path, const std::string& sql);

// Copies the files as they are at this moment: what a killed process leaves.
void CopyFiles(const std::string& from, const std::string& to);

std::string Bytes(const std::string& path);
// Without a sync: what is written to be damaged need not survive.
void Write(const std::string& path, const std::string& bytes);

// Opens and describes; the error's text where there is one.
std::string OpenAndDescribe(const std::string& path);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_STORE_SQLITE_FILES_H_
