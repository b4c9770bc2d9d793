// SPDX-License-Identifier: Apache-2.0
#include "coordinator/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace concur {
namespace {

using ::testing::SizeIs;

class AuditLogTest : public ::testing::Test {
 protected:
  std::vector<nlohmann::json> Lines(const std::string& name) {
    std::vector<nlohmann::json> lines;
    for (absl::string_view line :
         absl::StrSplit(ReadFile(dir_.File(name)).value_or(""), '\n', absl::SkipEmpty())) {
      lines.push_back(nlohmann::json::parse(line));  // throws, and so fails, on anything else
    }
    return lines;
  }

  testing::TempDir dir_;
  testing::SimulatedClock clock_;
};

TEST_F(AuditLogTest, ALineTellsWhoWhatOnWhatFromWhereAndHowItEnded) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  log->Write({"ada", "t3", "", "ipv4:127.0.0.1:4", "CancelSweep", "s7", absl::OkStatus()});
  const auto lines = Lines("calls.jsonl");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].dump(),
            R"({"method":"CancelSweep","outcome":"ok","peer":"ipv4:127.0.0.1:4","target":"s7",)"
            R"("time":"2023-11-14T22:13:20.000Z","token":"t3","user":"ada"})");
}

TEST_F(AuditLogTest, StrangersAreKeptApartAndCannotForgeLines) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  log->Write({"", "", "", "unix:", "GetSweep", "a\"\n{\"user\":\"root\"}\xff",
              absl::UnauthenticatedError(std::string(100'000, 'x'))});
  EXPECT_THAT(Lines("calls.jsonl"), SizeIs(0));
  const auto lines = Lines("refused.jsonl");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0]["outcome"], "unauthenticated");
  EXPECT_FALSE(lines[0].contains("user"));
  EXPECT_LT(lines[0].dump().size(), 2000u);
}

TEST_F(AuditLogTest, RotationBoundsItAndLosesTheOldestFirst) {
  ASSERT_OK_AND_ASSIGN(const auto log,
                       AuditLog::Open(clock_, dir_.path(), {.bytes_max = 1000, .files_max = 2}));
  for (int i = 0; i < 100; ++i) {
    log->Write({"ada", "t1", "", "unix:", "PauseSweep", absl::StrCat("s", i), absl::OkStatus()});
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_LE(entry.file_size(), 1000u) << entry.path();
    files += entry.path().filename().string().rfind("calls.jsonl", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(files, 3);
  // What is left are the last ones, in order and without a gap.
  std::vector<std::string> targets;
  for (const char* name : {"calls.jsonl.2", "calls.jsonl.1", "calls.jsonl"}) {
    for (const nlohmann::json& line : Lines(name)) {
      targets.push_back(line["target"]);
    }
  }
  ASSERT_GT(targets.size(), 10u);
  for (size_t i = 0; i < targets.size(); ++i) {
    EXPECT_EQ(targets[i], absl::StrCat("s", 100 - targets.size() + i));
  }
}

TEST_F(AuditLogTest, ARestartAppends) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
    log->Write({"ada", "t1", "", "unix:", "PauseSweep", "s1", absl::OkStatus()});
  }
  EXPECT_THAT(Lines("calls.jsonl"), SizeIs(2));
}

}  // namespace
}  // namespace concur
