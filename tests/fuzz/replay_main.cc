// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on every file of the given directories, in order of name: a corpus as a test.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::cerr << path << "\n";  // the last one named is the one that failed
    const absl::StatusOr<std::string> contents = concur::ReadFile(path);
    CONCUR_CHECK_OK(contents.status());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(contents->data()), contents->size());
  }
  if (paths.empty()) {
    std::cerr << "expected directories with inputs\n";
    return 1;
  }
  return 0;
}
