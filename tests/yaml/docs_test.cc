// SPDX-License-Identifier: Apache-2.0
// The examples of docs/ are files that are read as they stand.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "core/sweep/expansion.h"
#include "tests/testing/test.h"
#include "yaml/approach_yaml.h"
#include "yaml/benchmark_yaml.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

std::string SourceDirectory() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return source == nullptr ? "." : source;
}

// The blocks between ```yaml and ```.
std::vector<std::string> Examples(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  CONCUR_CHECK_OK(text.status());
  std::vector<std::string> blocks;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::StartsWith(line, "```")) {
      inside = line == "```yaml";
      if (inside) {
        blocks.emplace_back();
      }
    } else if (inside) {
      absl::StrAppend(&blocks.back(), line, "\n");
    }
  }
  return blocks;
}

TEST(DocsTest, TheExamplesOfTheSweepFilePageAreValid) {
  const std::vector<std::string> examples = Examples(SourceDirectory() + "/docs/sweep-file.md");
  ASSERT_EQ(examples.size(), 3u);
  const TempDir dir;
  std::filesystem::copy(SourceDirectory() + "/configs", dir.path(),
                        std::filesystem::copy_options::recursive);
  std::ofstream(dir.File("sweeps/example.yaml")) << examples[0];
  std::ofstream(dir.File("approach.yaml")) << examples[1];
  std::ofstream(dir.File("benchmark.yaml")) << examples[2];

  const absl::StatusOr<LoadedSweep> sweep = LoadSweep(dir.File("sweeps/example.yaml"));
  ASSERT_OK(sweep);
  EXPECT_OK(Expansion::Make(sweep->spec));
  EXPECT_EQ(sweep->spec.select, Selection::kBest);
  EXPECT_OK(LoadApproach(dir.File("approach.yaml")));
  EXPECT_OK(LoadBenchmark(dir.File("benchmark.yaml"), {{"data", "/data"}}));
}

}  // namespace
}  // namespace concur::spec
