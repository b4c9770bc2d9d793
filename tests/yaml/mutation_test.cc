// SPDX-License-Identifier: Apache-2.0
// Damaged files are refused or read, never more: no crash, no error without a place.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "base/random.h"
#include "tests/testing/test.h"
#include "yaml/sweep_yaml.h"

namespace concur::spec {
namespace {

std::string Damaged(std::string text, Random& random) {
  static const std::vector<std::string> kPieces = {"{",     "}",
                                                   "[",     "]",
                                                   ":",     "\n",
                                                   "  ",    "- ",
                                                   "\"",    "'",
                                                   "${",    "$${",
                                                   "{{",    "&a",
                                                   "*a",    "!!int",
                                                   "---\n", "...\n",
                                                   "|",     ">",
                                                   "#",     "\t",
                                                   "~",     "null",
                                                   "-1",    "1e999",
                                                   "0x1",   ", ",
                                                   "\xff",  std::string(1, '\0'),
                                                   "<<: ",  "? ",
                                                   "tag:",  "99999999999999999999"};
  for (uint64_t edits = 1 + random.Below(4); edits > 0; --edits) {
    const size_t at = random.Below(text.size() + 1);
    switch (random.Below(3)) {
      case 0:
        text.insert(at, kPieces[random.Below(kPieces.size())]);
        break;
      case 1:
        text.erase(at, random.Below(20));
        break;
      default:
        text.insert(at, text.substr(random.Below(text.size() + 1), random.Below(40)));
        break;
    }
  }
  return text;
}

TEST(MutationTest, ADamagedFileIsRefusedWithAPlaceOrRead) {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string configs = absl::StrCat(source == nullptr ? "." : source, "/configs");
  const TempDir dir;
  std::filesystem::copy(configs, dir.path(), std::filesystem::copy_options::recursive);
  const std::vector<std::string> files = {"sweeps/demo.yaml", "sweeps/real.yaml",
                                          "approaches/logistic-regression.yaml",
                                          "benchmarks/fuzzy.yaml"};
  constexpr uint64_t kSeed = 1;
  Random random(kSeed, "mutation");
  for (int round = 0; round < 400; ++round) {
    const std::string& name = files[random.Below(files.size())];
    absl::StatusOr<std::string> text = ReadFile(absl::StrCat(configs, "/", name));
    CONCUR_CHECK_OK(text.status());
    const std::string damaged = Damaged(*text, random);
    std::ofstream(dir.File(name), std::ios::binary) << damaged;
    const bool real = name == "sweeps/real.yaml";
    const absl::StatusOr<LoadedSweep> sweep =
        LoadSweep(dir.File(real ? "sweeps/real.yaml" : "sweeps/demo.yaml"), {{"data", "/data"}});
    if (!sweep.ok()) {
      EXPECT_EQ(sweep.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_TRUE(absl::StrContains(sweep.status().message(), ".yaml"))
          << "seed " << kSeed << ", round " << round << ": " << sweep.status() << "\n"
          << damaged;
    }
    std::ofstream(dir.File(name), std::ios::binary) << *text;
  }
}

}  // namespace
}  // namespace concur::spec
