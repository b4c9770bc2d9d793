// SPDX-License-Identifier: Apache-2.0
// Greatest rates of this machine's disk and SQLite: the floors under a durable result.
//
//   bench_floors DIRECTORY [SECONDS]     prints one JSON object of rates a second
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

double Elapsed(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// Appends of 4 KiB, each synced.
double Fdatasyncs(const std::string& directory, double seconds) {
  const std::string path = directory + "/floor";
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  const std::string block(4096, 'x');
  int count = 0;
  const auto start = std::chrono::steady_clock::now();
  while (Elapsed(start) < seconds) {
    if (write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size()) ||
        fdatasync(fd) != 0) {
      std::perror(path.c_str());
      std::exit(1);
    }
    ++count;
  }
  const double rate = count / Elapsed(start);
  close(fd);
  unlink(path.c_str());
  return rate;
}

// One row a commit, write-ahead log, synchronous=FULL.
double SqliteCommits(const std::string& directory, double seconds) {
  const std::string path = directory + "/floor.db";
  sqlite3* db = nullptr;
  const auto run = [&db](const char* sql) {
    char* error = nullptr;
    if (sqlite3_exec(db, sql, nullptr, nullptr, &error) != SQLITE_OK) {
      std::fprintf(stderr, "%s: %s\n", sql, error);
      std::exit(1);
    }
  };
  sqlite3_open(path.c_str(), &db);
  run("pragma journal_mode=wal");
  run("pragma synchronous=full");
  run("create table t (a integer primary key, b blob)");
  int count = 0;
  const auto start = std::chrono::steady_clock::now();
  while (Elapsed(start) < seconds) {
    run("insert into t (b) values (randomblob(200))");
    ++count;
  }
  const double rate = count / Elapsed(start);
  sqlite3_close(db);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    unlink((path + suffix).c_str());
  }
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_floors DIRECTORY [SECONDS]\n");
    return 2;
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 2;
  const double syncs = Fdatasyncs(argv[1], seconds);
  std::printf("{\"fdatasync\": %.1f, \"sqlite_commit\": %.1f}\n", syncs,
              SqliteCommits(argv[1], seconds));
}
