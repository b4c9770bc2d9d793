// SPDX-License-Identifier: Apache-2.0
// Every file of configs/ is what it says it is.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "core/sweep/expansion.h"
#include "tests/testing/test.h"
#include "tests/yaml/config_files.h"
#include "yaml/approach_yaml.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/catalogue_yaml.h"
#include "yaml/options_yaml.h"
#include "yaml/pools_yaml.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

TEST(ConfigsTest, NoFolderOfConfigsGoesUnread) {
  const std::set<std::string> known = {
      "adapters", "approaches", "benchmarks", "environments", "data",   "options",  "panels",
      "pools",    "providers",  "references", "starter",      "sweeps", "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(ConfigDirectory())) {
    EXPECT_EQ(known.count(entry.path().filename().string()), 1u) << entry.path();
  }
}

TEST(ConfigsTest, TheStudyToStartFromIsRead) {
  ASSERT_OK_AND_ASSIGN(LoadedSweep sweep, LoadSweep(ConfigDirectory() + "/starter/study.yaml"));
  EXPECT_OK(ResolveDataFiles(&sweep));
  EXPECT_EQ(sweep.spec.approaches.size(), 4u);
  EXPECT_EQ(sweep.spec.benchmarks.size(), 2u);
  EXPECT_TRUE(sweep.warnings.empty());
}

TEST(ConfigsTest, EveryApproachIsReadAndNamedAsItsFile) {
  std::set<std::string> names;
  for (const std::string& path : FilesOf("approaches")) {
    const absl::StatusOr<ApproachSpec> approach = LoadApproach(path, AllVariables());
    ASSERT_OK(approach) << path;
    EXPECT_EQ(approach->name, std::filesystem::path(path).stem().string());
    EXPECT_TRUE(names.insert(approach->name).second) << path;
  }
}

TEST(ConfigsTest, EveryAdapterIsAnApproachNamedAsItsFile) {
  for (const std::string& path : FilesOf("adapters")) {
    const absl::StatusOr<ApproachSpec> adapter = LoadApproach(path, AllVariables());
    ASSERT_OK(adapter) << path;
    EXPECT_EQ(adapter->name, std::filesystem::path(path).stem().string());
    EXPECT_EQ(adapter->tags.count("adapter"), 1u) << path;
  }
}

TEST(ConfigsTest, EveryBenchmarkIsReadAndNamedAsItsFile) {
  std::set<std::string> names;
  for (const std::string& path : FilesOf("benchmarks")) {
    const absl::StatusOr<ParsedBenchmark> benchmark = LoadBenchmark(path, AllVariables());
    ASSERT_OK(benchmark) << path;
    EXPECT_EQ(benchmark->spec.name, std::filesystem::path(path).stem().string());
    EXPECT_TRUE(names.insert(benchmark->spec.name).second) << path;
  }
}

TEST(ConfigsTest, EveryDataSourceIsReadAndNamedAsItsFile) {
  for (const std::string& path : FilesOf("data")) {
    const absl::StatusOr<DataSource> source = LoadDataSource(path);
    ASSERT_OK(source) << path;
    EXPECT_EQ(source->name, std::filesystem::path(path).stem().string());
    EXPECT_FALSE(source->import.empty()) << path;
  }
}

TEST(ConfigsTest, WhatDataSourcesImportIsWhereBenchmarksReadIt) {
  std::set<std::string> read;  // files below ${data}
  for (const std::string& path : FilesOf("benchmarks")) {
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, "${data}/");
      if (parts.size() == 2 && !absl::StartsWith(line, "#")) {
        read.insert(parts[1]);
      }
    }
  }
  EXPECT_GE(read.size(), 80u);
  for (const std::string& path : FilesOf("data")) {
    ASSERT_OK_AND_ASSIGN(const DataSource source, LoadDataSource(path));
    for (const std::string& command : source.import) {
      const std::vector<std::string> parts = absl::StrSplit(command, " --out ");
      if (parts.size() == 2) {
        const std::string& out = parts[1];  // a file, or a folder with train and test
        EXPECT_TRUE(read.count(out) == 1 || read.count(out + "/train.jsonl") == 1) << command;
      }
    }
  }
}

TEST(ConfigsTest, EveryCheckpointOfAnApproachCanBeFetched) {
  std::set<std::string> checkpoints;
  for (const std::string& path : FilesOf("approaches/pretrained")) {
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, "${checkpoints}/");
      if (parts.size() == 2) {
        const std::string name = parts[1].substr(0, parts[1].find('"'));
        ASSERT_OK_AND_ASSIGN(const DataSource source,
                             LoadDataSource(ConfigDirectory() + "/data/" + name + ".yaml"));
        std::vector<std::string> files;
        for (const DataSourceFile& file : source.files) {
          files.push_back(file.name);
          EXPECT_THAT(file.url, AllOf(HasSubstr(kRevision), HasSubstr("/" + file.name)));
        }
        if (absl::StrContains(parts[0], "--checkpoint")) {
          checkpoints.insert(name);
          EXPECT_THAT(files, ::testing::IsSupersetOf({"config.json", "pytorch_model.bin"})) << name;
        } else {
          EXPECT_THAT(files, Contains("vocab.txt")) << name;
        }
      }
    }
  }
  EXPECT_EQ(checkpoints.size(), 10u);
}

TEST(ConfigsTest, ARevisionIsSaidWhereAnAddressHasOne) {
  const TempDir dir;
  const auto error = [&](const std::string& revision, const std::string& url) {
    CONCUR_CHECK_OK(WriteFileAtomically(
        dir.File("x.yaml"),
        "apiVersion: concur/v1\nkind: DataSource\nmetadata: {name: x, description: y}\nspec:\n"
        "  licence: z\n  homepage: https://z\n" +
            revision + "  files: [{name: a, url: \"" + url + "\"}]\n"));
    return std::string(LoadDataSource(dir.File("x.yaml")).status().message());
  };
  EXPECT_EQ(error("  revision: main\n", "https://z/{revision}/a"), "");
  EXPECT_THAT(error("", "https://z/{revision}/a"), HasSubstr("x.yaml:5:3: spec: expected \"rev"));
  EXPECT_THAT(error("  revision: main\n", "https://z/a"), HasSubstr("no url has {revision}"));
  for (const char* bad : {"a b", "", "a//b", "../x", "a/..", "a?b"}) {
    EXPECT_THAT(error(absl::StrCat("  revision: \"", bad, "\"\n"), "https://z/{revision}/a"),
                HasSubstr("spec.revision: expected a commit, tag or branch"))
        << bad;
  }
}

TEST(ConfigsTest, BadDataSourcesAreRefusedByField) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("x.yaml"), R"(apiVersion: concur/v1
kind: DataSource
metadata: {name: x, description: y}
spec:
  licence: z
  homepage: https://z
  files:
    - {name: ../a, url: ftp://a, sha256: "12"}
    - {name: b, url: http://b}
    - {name: b, url: http://c, size: 3}
    - {name: d, url: http://d, ask: somebody}
    - {name: e}
)"));
  const absl::Status status = LoadDataSource(dir.File("x.yaml")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* part :
       {"x.yaml:8:14: spec.files[0].name: expected a file's name",
        "spec.files[0].url: expected an address", "spec.files[0].sha256: ", "\"b\" appears twice",
        "size", "expected either \"url\" or \"ask\", got both",
        "spec.files[4]: expected the field \"url\" (its address, or \"ask\")"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
}

TEST(ConfigsTest, EverySweepIsReadAndHasNoWarning) {
  for (const std::string& path : FilesOf("sweeps")) {
    const absl::StatusOr<LoadedSweep> sweep = LoadWithData(path);
    ASSERT_OK(sweep) << path;
    EXPECT_TRUE(sweep->warnings.empty()) << path << ": " << sweep->warnings[0];
    EXPECT_EQ(sweep->spec.name, std::filesystem::path(path).stem().string());
  }
}

TEST(ConfigsTest, ThePublishedPanelHasTheApproachesOfThePublishedScores) {
  const TempDir dir;
  ASSERT_OK(WriteFileAtomically(dir.File("new.yaml"),
                                "apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: new}\n"
                                "spec: {train: a.jsonl, test: b.jsonl}\n"));
  ASSERT_OK_AND_ASSIGN(
      const LoadedSweep sweep,
      LoadSweep(ConfigDirectory() + "/panels/published.yaml", {{"new", dir.File("new.yaml")}}));
  std::set<std::string> names;
  for (const ApproachSpec& approach : sweep.spec.approaches) {
    names.insert(approach.name);
    EXPECT_EQ(approach.tags.count("family"), 1u) << approach.name;
  }
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(ConfigDirectory() + "/references/published.csv"));
  std::set<std::string> published;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    published.insert(std::string(line.substr(0, line.find(','))));
  }
  published.erase("approach");
  EXPECT_EQ(published.size(), 20u);
  EXPECT_EQ(names, published);
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

TEST(ConfigsTest, EveryPoolIsRead) {
  for (const std::string& path : FilesOf("pools")) {
    EXPECT_OK(LoadPool(path)) << path;
  }
  EXPECT_EQ(LoadPool(ConfigDirectory() + "/pools/slurm.yaml")->slurm.partition, "batch");
  ASSERT_OK_AND_ASSIGN(const PoolSpec pods, LoadPool(ConfigDirectory() + "/pools/kubernetes.yaml"));
  EXPECT_EQ(pods.kubernetes.tolerations,
            (std::vector<Toleration>{{"dedicated", "research", "NoSchedule"}}));
  EXPECT_EQ(
      pods.kubernetes.volumes,
      (std::vector<PodVolume>{{VolumeKind::kClaim, "models", 0, "/models", "", true},
                              {VolumeKind::kSecret, "hub-token", 0, "/etc/hub", "", true},
                              {VolumeKind::kMemory, "", int64_t{8} << 30, "/dev/shm", "", false}}));
}

TEST(ConfigsTest, TheProgramsOfEveryProviderCanBeRun) {
  int providers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ConfigDirectory() + "/providers")) {
    ++providers;
    for (const char* program : {"submit", "list", "cancel"}) {
      EXPECT_EQ(access((entry.path() / program).c_str(), X_OK), 0) << entry.path() << program;
    }
    const std::string pool = entry.path().filename().string();
    EXPECT_EQ(LoadPool(ConfigDirectory() + "/pools/" + pool + ".yaml")->command.directory,
              "/usr/share/concur/configs/providers/" + pool);
  }
  EXPECT_EQ(providers, 2);
}

TEST(ConfigsTest, TheCoordinatorExampleStatesEveryLimit) {
  ASSERT_OK_AND_ASSIGN(const CoordinatorOptions options,
                       LoadCoordinatorOptions(ConfigDirectory() + "/options/coordinator.yaml"));
  EXPECT_EQ(options.listen, "0.0.0.0:7447");
  EXPECT_EQ(options.lease, absl::Seconds(30));
  EXPECT_EQ(options.overdue_grace, absl::Hours(1));
  EXPECT_EQ(options.limits.artifact_bytes_max, int64_t{64} << 30);
  ASSERT_EQ(options.pool_limits.size(), 2u);
  EXPECT_EQ(options.pool_limits[1].max.gpus, 8);
}

TEST(ConfigsTest, TheWorkerExampleIsReadInFull) {
  ASSERT_OK_AND_ASSIGN(const WorkerOptions options,
                       LoadWorkerOptions(ConfigDirectory() + "/options/worker.yaml"));
  EXPECT_EQ(options.name, "gpu-node-1");
  EXPECT_EQ(options.cpu_millis, 16'000);
  EXPECT_EQ(options.gpus, 4);
  EXPECT_EQ(options.slots, 8);
  EXPECT_EQ(options.containment, Containment::kAuto);
  EXPECT_EQ(options.processes_max, 32'768);
  EXPECT_FALSE(options.private_tmp);
  EXPECT_EQ(options.environments, WorkerOptions().environments);
  EXPECT_EQ(options.environment_directory, "/var/tmp/concur-environments");
  EXPECT_EQ(options.labels.at("rack"), "b2");
}

}  // namespace
}  // namespace concur::spec
