// SPDX-License-Identifier: Apache-2.0
// Reads files of configs/ in tests.
#ifndef CONCUR_TESTS_YAML_CONFIG_FILES_H_
#define CONCUR_TESTS_YAML_CONFIG_FILES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {

inline std::string ConfigDirectory() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return absl::StrCat(source == nullptr ? "." : source, "/configs");
}

// The files of a folder of configs/ and of the folders in it, none of which may be anything but
// YAML.
inline std::set<std::string> FilesOf(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(ConfigDirectory() + "/" + folder)) {
    if (entry.is_directory()) {
      continue;
    }
    EXPECT_EQ(entry.path().extension(), ".yaml") << entry.path();
    paths.insert(entry.path().string());
  }
  EXPECT_FALSE(paths.empty()) << folder;
  return paths;
}

// Every variable that some file has.
inline const std::map<std::string, std::string>& AllVariables() {
  static const auto& variables = *new std::map<std::string, std::string>{
      {"data", "/data"},       {"programs", "/programs"},
      {"program", "/program"}, {"vectors", "/vectors"},
      {"dev", "none"},         {"device", "cpu"},
      {"gpus", "0"},           {"checkpoints", "/checkpoints"}};
  return variables;
}

// The sweep, with its data at one place where it reads any.
inline absl::StatusOr<LoadedSweep> LoadWithData(const std::string& path) {
  const std::string text = ReadFile(path).value_or("");
  const bool has_data =
      absl::StrContains(text, "{data: ") || absl::StrContains(text, "\n    data: ");
  return has_data ? LoadSweep(path, {{"data", "/data"}}) : LoadSweep(path);
}

// The benchmarks whose test sets the MRQA shared task kept hidden.
inline const std::set<std::string>& HiddenSets() {
  static const auto& names = *new std::set<std::string>{"mrqa-bioasq-test",
                                                        "mrqa-bioprocess",
                                                        "mrqa-complex-web-questions",
                                                        "mrqa-drop-test",
                                                        "mrqa-duorc-test",
                                                        "mrqa-mctest",
                                                        "mrqa-qamr",
                                                        "mrqa-qast",
                                                        "mrqa-race-test",
                                                        "mrqa-relation-extraction-test",
                                                        "mrqa-textbookqa-test",
                                                        "mrqa-trec"};
  return names;
}

// The sweep where the hidden test sets are at hand.
inline absl::StatusOr<LoadedSweep> LoadWithHiddenSets(const std::string& path) {
  const testing::TempDir data;
  for (const std::string& name : HiddenSets()) {
    EXPECT_OK(MakeDirectories(data.File(name)));
    EXPECT_OK(WriteFileAtomically(data.File(name) + "/test.jsonl", ""));
  }
  return LoadSweep(path, {{"data", data.path()}});
}

}  // namespace concur::spec

#endif  // CONCUR_TESTS_YAML_CONFIG_FILES_H_
