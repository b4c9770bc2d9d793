// SPDX-License-Identifier: Apache-2.0
// Every file of tests/golden/bad_sweeps holds a bad sweep file and the message that it must get,
// byte for byte:
//
//   the text of sweep.yaml
//   === file NAME
//   the text of another file beside it (any number of these; "\xNN" is a byte)
//   === expected
//   the message
//
// The files of tests/golden/bad_sweeps/common stand beside sweep.yaml too. With
// CONCUR_UPDATE_GOLDEN in the environment the expected part is rewritten; read the difference
// before committing it.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/test.h"
#include "yaml/options_yaml.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

std::string GoldenDirectory() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(source == nullptr ? "." : source, "/tests/golden/bad_sweeps");
}

std::string ReadOrDie(const std::string& path) {
  absl::StatusOr<std::string> contents = ReadFile(path);
  CONCUR_CHECK_OK(contents.status());
  return *std::move(contents);
}

struct Case {
  std::string input;                         // the part of the file before "=== expected"
  std::map<std::string, std::string> files;  // with sweep.yaml
  std::string expected;
};

Case ReadCase(const std::string& path) {
  constexpr char kExpected[] = "=== expected\n";
  Case result;
  const std::string text = ReadOrDie(path);
  const size_t at = text.find(kExpected);
  result.input = text.substr(0, at);
  if (at != std::string::npos) {
    result.expected = text.substr(at + sizeof(kExpected) - 1);
  }
  std::string name = "sweep.yaml";
  result.files[name] = "";
  for (absl::string_view line : absl::StrSplit(result.input, '\n')) {
    if (absl::ConsumePrefix(&line, "=== file ")) {
      name = std::string(line);
      continue;
    }
    absl::StrAppend(&result.files[name], line, "\n");
  }
  for (auto& [file, contents] : result.files) {
    // Bytes that a text file should not hold are written as \xNN.
    if (absl::StrContains(contents, "\\x")) {
      std::string raw;
      CONCUR_CHECK(absl::CUnescape(contents, &raw));
      contents = raw;
    }
  }
  return result;
}

// Everything that a submission would check before it calls the coordinator.
absl::Status Submit(const std::string& directory) {
  absl::StatusOr<LoadedSweep> sweep = LoadSweep(directory + "/sweep.yaml");
  if (!sweep.ok()) {
    return sweep.status();
  }
  const std::string options_path = directory + "/options.yaml";
  if (std::filesystem::exists(options_path)) {
    const absl::StatusOr<CoordinatorOptions> options = LoadCoordinatorOptions(options_path);
    if (!options.ok()) {
      return options.status();
    }
    const absl::Status pools = CheckPools(*sweep, options->pool_limits);
    if (!pools.ok()) {
      return pools;
    }
  }
  return ResolveDataFiles(&*sweep);
}

std::vector<std::string> CasePaths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenDirectory())) {
    if (entry.path().extension() == ".txt") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(GoldenTest, EveryBadSweepFileGetsItsMessage) {
  const bool update = std::getenv("CONCUR_UPDATE_GOLDEN") != nullptr;  // NOLINT
  const std::vector<std::string> paths = CasePaths();
  EXPECT_GE(paths.size(), 30u);
  for (const std::string& path : paths) {
    const Case bad = ReadCase(path);
    const TempDir directory;
    for (const auto& entry : std::filesystem::directory_iterator(GoldenDirectory() + "/common")) {
      std::filesystem::copy(entry.path(), directory.path());
    }
    for (const auto& [name, contents] : bad.files) {
      std::ofstream(directory.File(name), std::ios::binary) << contents;
    }
    const absl::Status status = Submit(directory.path());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path << "\n" << status;
    const std::string message =
        absl::StrCat(absl::StrReplaceAll(status.message(), {{directory.path() + "/", ""}}), "\n");
    if (update) {
      CONCUR_CHECK_OK(WriteFileAtomically(path, bad.input + "=== expected\n" + message));
      continue;
    }
    EXPECT_EQ(message, bad.expected) << path;
  }
}

}  // namespace
}  // namespace concur::spec
