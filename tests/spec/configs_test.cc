// Every file of configs/ is what it says it is.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/expansion.h"
#include "spec/approach_yaml.h"
#include "spec/benchmark_yaml.h"
#include "spec/options_yaml.h"
#include "spec/sweep_yaml.h"
#include "tests/testing/status_matchers.h"

namespace concur::spec {
namespace {

std::string ConfigDirectory() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(source == nullptr ? "." : source, "/configs");
}

// The files of a folder of configs/, none of which may be anything but YAML.
std::set<std::string> FilesOf(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(ConfigDirectory() + "/" + folder)) {
    EXPECT_EQ(entry.path().extension(), ".yaml") << entry.path();
    paths.insert(entry.path().string());
  }
  EXPECT_FALSE(paths.empty()) << folder;
  return paths;
}

TEST(ConfigsTest, NoFolderOfConfigsGoesUnread) {
  const std::set<std::string> known = {"approaches", "benchmarks", "options", "sweeps"};
  for (const auto& entry : std::filesystem::directory_iterator(ConfigDirectory())) {
    EXPECT_EQ(known.count(entry.path().filename().string()), 1u) << entry.path();
  }
}

TEST(ConfigsTest, EveryApproachIsReadAndNamedAsItsFile) {
  for (const std::string& path : FilesOf("approaches")) {
    const absl::StatusOr<ApproachSpec> approach = LoadApproach(path);
    ASSERT_OK(approach) << path;
    EXPECT_EQ(approach->name, std::filesystem::path(path).stem().string());
  }
}

TEST(ConfigsTest, EveryBenchmarkIsReadAndNamedAsItsFile) {
  for (const std::string& path : FilesOf("benchmarks")) {
    const absl::StatusOr<ParsedBenchmark> benchmark = LoadBenchmark(path, {{"data", "/data"}});
    ASSERT_OK(benchmark) << path;
    EXPECT_EQ(benchmark->spec.name, std::filesystem::path(path).stem().string());
  }
}

TEST(ConfigsTest, EverySweepIsReadAndHasNoWarning) {
  for (const std::string& path : FilesOf("sweeps")) {
    const absl::StatusOr<LoadedSweep> sweep = LoadSweep(path, {{"data", "/data"}});
    ASSERT_OK(sweep) << path;
    EXPECT_TRUE(sweep->warnings.empty()) << path << ": " << sweep->warnings[0];
    EXPECT_EQ(sweep->spec.name, std::filesystem::path(path).stem().string());
  }
}

TEST(ConfigsTest, TheDemoHasFourBenchmarksSixApproachesAndTwoSettings) {
  ASSERT_OK_AND_ASSIGN(const LoadedSweep sweep, LoadSweep(ConfigDirectory() + "/sweeps/demo.yaml"));
  EXPECT_GE(sweep.spec.approaches.size(), 6u);
  EXPECT_EQ(sweep.spec.benchmarks.size(), 4u);
  ASSERT_OK_AND_ASSIGN(const Expansion expansion, Expansion::Make(sweep.spec));
  uint32_t with_settings = 0;
  for (const Block& block : expansion.blocks()) {
    with_settings += block.settings >= 2 ? 1 : 0;
  }
  EXPECT_GE(with_settings, 4u * 4u);
}

TEST(ConfigsTest, EveryOptionsFileIsRead) {
  for (const std::string& path : FilesOf("options")) {
    const bool coordinator = LoadCoordinatorOptions(path).ok();
    const bool worker = LoadWorkerOptions(path).ok();
    EXPECT_TRUE(coordinator || worker)
        << path << LoadCoordinatorOptions(path).status() << LoadWorkerOptions(path).status();
  }
}

TEST(ConfigsTest, TheCoordinatorExampleStatesEveryLimit) {
  ASSERT_OK_AND_ASSIGN(const CoordinatorOptions options,
                       LoadCoordinatorOptions(ConfigDirectory() + "/options/coordinator.yaml"));
  EXPECT_EQ(options.listen, "0.0.0.0:7447");
  EXPECT_EQ(options.lease, absl::Seconds(30));
  EXPECT_EQ(options.limits.artifact_bytes_max, int64_t{64} << 30);
  ASSERT_EQ(options.pools.size(), 2u);
  EXPECT_EQ(options.pools[1].max.gpus, 8);
}

TEST(ConfigsTest, TheWorkerExampleIsReadInFull) {
  ASSERT_OK_AND_ASSIGN(const WorkerOptions options,
                       LoadWorkerOptions(ConfigDirectory() + "/options/worker.yaml"));
  EXPECT_EQ(options.name, "gpu-node-1");
  EXPECT_EQ(options.cpu_millis, 16'000);
  EXPECT_EQ(options.gpus, 4);
  EXPECT_EQ(options.slots, 8);
  EXPECT_EQ(options.labels.at("rack"), "b2");
}

}  // namespace
}  // namespace concur::spec
