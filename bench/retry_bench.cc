// SPDX-License-Identifier: Apache-2.0
// The turns of a coordinator, with its database on this disk, while a whole sweep is canceled,
// retried, imported or deleted: how long everybody else waits. The rival is one turn for all of it.
//
//   retry_bench [DIRECTORY [JOBS]]      (default: . 100000)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/clock.h"
#include "coordinator/engine/engine.h"
#include "store/sqlite_store.h"

namespace concur {
namespace {

constexpr uint32_t kTasks = 100;  // in an import

SweepSpec SpecToRun(uint32_t jobs) {
  SweepSpec spec;
  spec.name = "bench";
  ApproachSpec approach;
  approach.name = "a";
  approach.version = "1";
  approach.predict_command = {"answer", "{test}", "{predictions}", "{seed}"};
  spec.approaches = {approach};
  BenchmarkSpec benchmark;
  benchmark.name = "x";
  benchmark.test.emplace();
  benchmark.test->digest = Sha256Of("test");
  benchmark.test->suffix = ".jsonl";
  spec.benchmarks = {benchmark};
  spec.seeds.clear();
  for (uint32_t i = 0; i < jobs; ++i) {
    spec.seeds.push_back(i);
  }
  return spec;
}

// One approach for each hundred results.
SweepSpec SpecToImport(uint32_t jobs) {
  SweepSpec spec;
  spec.name = "import";
  for (uint32_t i = 0; i < jobs / kTasks; ++i) {
    spec.approaches.emplace_back().name = absl::StrCat("approach", i);
  }
  for (uint32_t i = 0; i < kTasks; ++i) {
    BenchmarkSpec& benchmark = spec.benchmarks.emplace_back();
    benchmark.name = absl::StrCat("benchmark", i);
    benchmark.format = DataFormat::kFile;
    benchmark.metric = "score";
  }
  spec.evaluate_on = EvaluateOn::kAll;
  spec.imported = Sha256Of("results");
  return spec;
}

std::shared_ptr<std::vector<ImportedResult>> ResultsOf(uint32_t jobs) {
  auto results = std::make_shared<std::vector<ImportedResult>>(jobs);
  for (uint32_t job = 0; job < jobs; ++job) {
    (*results)[job].job = job;
    JobResult& result = (*results)[job].result;
    result.succeeded = true;
    result.message = absl::StrCat("{\"file\":\"results/of/task", job, ".json\",\"row\":", job, "}");
    result.metrics = {{"another", job * 0.5, 100}, {"score", job * 0.25, 100}};
  }
  return results;
}

class Bench {
 public:
  Bench(const std::string& directory, uint32_t jobs, bool in_slices)
      : data_(absl::StrCat(directory, "/retry_bench.data")), jobs_(jobs), in_slices_(in_slices) {
    std::filesystem::remove_all(data_);
    std::filesystem::create_directory(data_);
    absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(data_ + "/concur.db");
    CONCUR_CHECK_OK(store.status());
    store_ = *std::move(store);
    EngineOptions options;
    if (!in_slices) {
      options.policy.slice_jobs = UINT32_MAX;
      store_->set_delete_rows(INT64_MAX);
    }
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(
        clock_, *store_,
        [](absl::string_view) { return absl::UnimplementedError("nothing is read here"); },
        std::move(options));
    CONCUR_CHECK_OK(engine.status());
    engine_ = *std::move(engine);
  }
  ~Bench() {
    engine_.reset();
    store_.reset();
    std::filesystem::remove_all(data_);
  }

  // Turns, of which the first one does `request`, until nothing is under way.
  void Measure(absl::string_view name, std::function<absl::Status(Scheduler&)> request) {
    engine_->Call<bool>(
        [request = std::move(request)](Scheduler& scheduler) -> absl::StatusOr<bool> {
          CONCUR_CHECK_OK(request(scheduler));
          return true;
        },
        [](const absl::StatusOr<bool>&) {});
    std::vector<double> turns_ms;
    do {
      const absl::Time begin = clock_.Now();
      engine_->RunTurn();
      turns_ms.push_back(absl::ToDoubleMilliseconds(clock_.Now() - begin));
    } while (engine_->NextDeadline() <= clock_.Now());
    double all_ms = 0;
    for (const double ms : turns_ms) {
      all_ms += ms;
    }
    const double first = turns_ms.front();
    const double last = turns_ms.back();
    std::sort(turns_ms.begin(), turns_ms.end());
    std::printf(
        "%-7.*s %9u  %-9s %6zu turns  longest %7.1f ms  p99 %6.1f  first %6.1f  last %6.1f  "
        "all %6.2f s\n",
        static_cast<int>(name.size()), name.data(), jobs_, in_slices_ ? "in slices" : "in one",
        turns_ms.size(), turns_ms.back(), turns_ms[turns_ms.size() * 99 / 100], first, last,
        all_ms / 1e3);
    std::fflush(stdout);
  }

  static Scheduler::Submission SubmissionOf(SweepSpec spec) {
    absl::StatusOr<Expansion> expansion = Expansion::Make(std::move(spec));
    CONCUR_CHECK_OK(expansion.status());
    return {"me", "", "spec", std::make_shared<const Expansion>(*std::move(expansion))};
  }

 private:
  const std::string data_;
  const uint32_t jobs_;
  const bool in_slices_;
  SystemClock clock_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<Engine> engine_;
};

void MeasureAll(const std::string& directory, uint32_t jobs, bool in_slices) {
  Bench bench(directory, jobs, in_slices);
  bench.Measure("submit", [submission = Bench::SubmissionOf(SpecToRun(jobs))](Scheduler& s) {
    return s.Submit(submission).status();
  });
  bench.Measure("cancel", [](Scheduler& s) { return s.CancelSweep(SweepId{1}); });
  bench.Measure("retry", [](Scheduler& s) { return s.RetryJobs(SweepId{1}, {}, false).status(); });
  bench.Measure("import",
                [submission = Bench::SubmissionOf(SpecToImport(jobs)), results = ResultsOf(jobs)](
                    Scheduler& s) { return s.Import(submission, results).status(); });
  bench.Measure("delete", [](Scheduler& s) { return s.DeleteSweep(SweepId{2}); });
}

int Main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : ".";
  uint32_t jobs = 100'000;
  if (argc > 2 && (!absl::SimpleAtoi(argv[2], &jobs) || jobs < kTasks || jobs % kTasks != 0)) {
    std::fprintf(stderr, "retry_bench: expected a number of jobs in hundreds, got \"%s\"\n",
                 argv[2]);
    return 2;
  }
  MeasureAll(directory, jobs, /*in_slices=*/false);
  MeasureAll(directory, jobs, /*in_slices=*/true);
  return 0;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) { return concur::Main(argc, argv); }
