// SPDX-License-Identifier: Apache-2.0
// Speed at which the SQLite store takes completions, their size on disk, and the time that a
// restart takes to read them.
//
//   store_bench [DIRECTORY [JOBS [BATCH [WORKERS]]]]     (default: . 1000000 500 16)
//
// Each batch is what one engine turn commits under load: BATCH jobs start, the BATCH jobs of the
// turn before succeed, each with two metrics and three artifacts. The rivals of the disk figure are
// written in the same run: the floor is a plain file to which the same number of bytes is appended
// and synced once a batch.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/random.h"
#include "store/row_codec.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Setup {
  std::string directory = ".";
  uint32_t jobs = 1'000'000;
  uint32_t batch = 500;
  uint32_t workers = 16;
};

JobRow RunningJob(const Setup& setup, uint32_t index) {
  JobRow row;
  row.id = JobId{SweepId{1}, index};
  row.state = JobState::kRunning;
  row.attempt.number = 1;
  row.worker = absl::StrCat("node-", index / 4 % setup.workers, ".cluster");
  row.incarnation = absl::StrCat("0f1e2d3c4b5a6978-", index / 4 % setup.workers);
  row.update_time = absl::FromUnixNanos(1'700'000'000'123'456'789 + int64_t{index} * 50'000);
  return row;
}

ResultRow Result(Random& random, uint32_t index) {
  ResultRow row;
  row.id = JobId{SweepId{1}, index};
  JobResult& result = row.result;
  result.succeeded = true;
  result.start_time = absl::FromUnixNanos(1'700'000'000'123'456'789 + int64_t{index} * 50'000);
  result.run_time = absl::Nanoseconds(random.Between(1'000'000, 4'000'000'000));
  result.memory_bytes_peak = random.Between(10 << 20, 1 << 30);
  result.metrics = {{"exact_match", random.Uniform() * 100, 10'570},
                    {"f1", random.Uniform() * 100, 10'570}};
  for (const ArtifactKind kind :
       {ArtifactKind::kPredictions, ArtifactKind::kExamples, ArtifactKind::kLog}) {
    ArtifactRef& artifact = result.artifacts.emplace_back();
    artifact.kind = kind;
    artifact.bytes = random.Between(1'000, 1'000'000);
    for (uint8_t& byte : artifact.digest.bytes) {
      byte = static_cast<uint8_t>(random.Next());
    }
  }
  return row;
}

void Report(const char* what, uint32_t rows, double wall, double cpu) {
  std::printf("%-28s %9u in %6.2f s  %9.0f/s  %6.2f us wall  %6.2f us CPU each\n", what, rows, wall,
              rows / wall, wall * 1e6 / rows, cpu * 1e6 / rows);
}

void BenchCommits(const Setup& setup, const std::string& path) {
  auto store = SqliteStore::Open(path);
  CONCUR_CHECK_OK(store.status());
  Batch submit;
  submit.next_sweep_number = 2;
  submit.put_sweeps.emplace_back().id.number = 1;
  CONCUR_CHECK_OK((*store)->Commit(submit));
  Random random(1, "store bench");
  double wall = 0;
  double cpu = 0;
  double wall_at_half = 0;
  for (uint32_t first = 0; first < setup.jobs + setup.batch; first += setup.batch) {
    Batch batch;
    for (uint32_t i = first; i < first + setup.batch; ++i) {
      if (i < setup.jobs) {
        batch.put_jobs.push_back(RunningJob(setup, i));
      }
      if (i >= setup.batch && i - setup.batch < setup.jobs) {
        JobRow done = RunningJob(setup, i - setup.batch);
        done.state = JobState::kSucceeded;
        done.update_time += absl::Seconds(1);
        batch.put_jobs.push_back(done);
        batch.put_results.push_back(Result(random, i - setup.batch));
      }
    }
    const double wall_before = WallSeconds();
    const double cpu_before = CpuSeconds();
    CONCUR_CHECK_OK((*store)->Commit(batch));
    cpu += CpuSeconds() - cpu_before;
    wall += WallSeconds() - wall_before;
    if (first < setup.jobs / 2) {
      wall_at_half = wall;
    }
  }
  Report("durable completions", setup.jobs, wall, cpu);
  std::printf("%-28s %.2f of the rate in the first half\n", "rate in the second half",
              wall_at_half / (wall - wall_at_half));
}

void BenchFloor(const Setup& setup, int64_t bytes) {
  const std::string path = setup.directory + "/store_bench.floor";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  CONCUR_CHECK(fd >= 0);
  const uint32_t batches = setup.jobs / setup.batch + 1;
  const std::string block(static_cast<size_t>(bytes / batches), 'x');
  const double wall = WallSeconds();
  const double cpu = CpuSeconds();
  for (uint32_t i = 0; i < batches; ++i) {
    CONCUR_CHECK(write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()));
    CONCUR_CHECK(fdatasync(fd) == 0);
  }
  Report("floor: append + fdatasync", setup.jobs, WallSeconds() - wall, CpuSeconds() - cpu);
  close(fd);
  unlink(path.c_str());
}

void BenchLoad(const Setup& setup, const std::string& path, bool with_results) {
  const double wall = WallSeconds();
  const double cpu = CpuSeconds();
  auto store = SqliteStore::Open(path);
  CONCUR_CHECK_OK(store.status());
  const double opened = WallSeconds();
  const auto snapshot = (*store)->Load();
  CONCUR_CHECK_OK(snapshot.status());
  CONCUR_CHECK(snapshot->jobs.size() == setup.jobs &&
               snapshot->results.size() == (with_results ? setup.jobs : 0));
  Report(with_results ? "load: jobs with results" : "load: jobs without results", setup.jobs,
         WallSeconds() - wall, CpuSeconds() - cpu);
  std::printf("%-28s %.1f ms\n", "open", (opened - wall) * 1e3);
}

// Jobs that run, and no result yet.
void FillWithJobs(const Setup& setup, const std::string& path) {
  auto store = SqliteStore::Open(path);
  CONCUR_CHECK_OK(store.status());
  Batch batch;
  for (uint32_t i = 0; i < setup.jobs; ++i) {
    batch.put_jobs.push_back(RunningJob(setup, i));
  }
  CONCUR_CHECK_OK((*store)->Commit(batch));
}

// Bytes of the scores themselves: what the target of bytes per job leaves out.
int64_t ScoreBytes(const std::string& path) {
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;
  CONCUR_CHECK(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  CONCUR_CHECK(sqlite3_prepare_v2(database, "SELECT sum(length(metrics)) FROM result", -1,
                                  &statement, nullptr) == SQLITE_OK);
  CONCUR_CHECK(sqlite3_step(statement) == SQLITE_ROW);
  const int64_t bytes = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return bytes;
}

void Run(const Setup& setup) {
  const std::string path = setup.directory + "/store_bench.db";
  const auto clean = [&path] {
    for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark"}) {
      unlink((path + suffix).c_str());
    }
  };
  clean();
  std::printf("%u jobs, batches of %u, %u workers, on %s\n", setup.jobs, setup.batch, setup.workers,
              setup.directory.c_str());
  BenchCommits(setup, path);
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const int64_t scores = ScoreBytes(path);
  std::printf("%-28s %.1f bytes, of which %.1f are scores: %.1f beyond them\n",
              "disk per finished job", static_cast<double>(bytes) / setup.jobs,
              static_cast<double>(scores) / setup.jobs,
              static_cast<double>(bytes - scores) / setup.jobs);
  BenchLoad(setup, path, /*with_results=*/true);
  BenchFloor(setup, bytes);
  const double wall = WallSeconds();
  const auto findings = CheckDatabase(path);
  CONCUR_CHECK_OK(findings.status());
  CONCUR_CHECK(findings->empty());
  std::printf("%-28s %.2f s\n", "check", WallSeconds() - wall);
  clean();
  FillWithJobs(setup, path);
  BenchLoad(setup, path, /*with_results=*/false);
  clean();
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) {
  concur::Setup setup;
  if (argc > 1) {
    setup.directory = argv[1];
  }
  for (const auto& [i, field] :
       {std::pair(2, &setup.jobs), std::pair(3, &setup.batch), std::pair(4, &setup.workers)}) {
    if (argc > i && (!absl::SimpleAtoi(argv[i], field) || *field == 0)) {
      std::fprintf(stderr, "usage: store_bench [DIRECTORY [JOBS [BATCH [WORKERS]]]]\n");
      return 2;
    }
  }
  concur::Run(setup);
  return 0;
}
