// SPDX-License-Identifier: Apache-2.0
// Runs tests/core/scheduler/scripts/*.script: what the scheduler does, event by event.
//
// A script holds cases. A case is a list of lines "event -> effects"; the effects are all that
// follows from the event, parted by "; ", or "nothing". A line that begins with "->" goes on with
// the effects of the line before. "#" begins a comment. Every event must be known and every effect
// foretold; CONCUR_SCRIPT_ACTUAL=1 prints the lines as they came out, for writing scripts.
//
//   case NAME                   a new scheduler; the lines until the next case are its own
//   policy lease=30s …          before anything else
//   worker w1 cpus=2 …          what w1 has (default: one CPU); it is unknown until it syncs
//   submit name=… …             a sweep; see SpecOf
//   sync w1 [s1/0=ok …] […]     w1 tells its state, after the named attempts ended (ok, a failure
//                               class, or "dropped": stopped by order); options: lost-answer,
//                               seq=N, shutting_down, draining, forged=s1/0#2:ok (finished, out of
//                               thin air), took=20s (by attempts that end so), left=1h (of w1's
//                               time)
//   restart w1 [spooled] [unknown]   a new process; with its results on disk; without its old name
//   advance 31s · pause|resume|cancel|delete s1 · retry s1 [0,1] [rerun] · drain|undrain w1
//   collect s1/0 …              retention removed these systems
//   coordinator-restart         kill -9; parked calls are gone
//   wait-over w1                w1's call has waited for as long as it may
//   check s1/0 · counts s1 · explain s1/0 · workers · orders w1 (whether there are any)
//   resource NAME N · delete-resource NAME · resources · demand (of pools)
//
// After every event come the end of the turn and the answers to the workers that wait for one.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/core/scheduler/script_runner.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

struct Line {
  int number = 0;
  std::string event;
  std::string effects;
};

struct ScriptCase {
  std::string file;  // as printed
  std::string name;
  std::vector<Line> lines;
};

void PrintTo(const ScriptCase& script, std::ostream* out) { *out << script.file; }

std::string Squeezed(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipWhitespace()), " ");
}

std::vector<ScriptCase> ReadScript(const std::filesystem::path& path) {
  std::vector<ScriptCase> cases;
  std::ifstream in(path);
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    const std::string line = Squeezed(text);
    if (line.empty() || line[0] == '#') {
      continue;
    }
    if (absl::StartsWith(line, "case ")) {
      cases.push_back({absl::StrCat(path.filename().string(), ":", number), line.substr(5), {}});
      continue;
    }
    if (cases.empty()) {
      cases.push_back({absl::StrCat(path.filename().string(), ":", number), "unnamed", {}});
    }
    std::vector<Line>& lines = cases.back().lines;
    if (absl::StartsWith(line, "->") && !lines.empty()) {
      absl::StrAppend(&lines.back().effects, " ", Squeezed(line.substr(2)));
      continue;
    }
    const size_t arrow = line.find(" -> ");
    lines.push_back({number, line.substr(0, arrow),
                     arrow == std::string::npos ? "" : Squeezed(line.substr(arrow + 4))});
  }
  return cases;
}

std::filesystem::path ScriptFolder() {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");
  return std::filesystem::path(source == nullptr ? "." : source) / "tests" / "core" / "scheduler" /
         "scripts";
}

std::vector<ScriptCase> AllCases() {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(ScriptFolder(), error)) {
    if (entry.path().extension() == ".script") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<ScriptCase> cases;
  for (const std::filesystem::path& file : files) {
    for (ScriptCase& script : ReadScript(file)) {
      cases.push_back(std::move(script));
    }
  }
  return cases;
}
class SchedulerScriptTest : public ::testing::TestWithParam<ScriptCase> {};

TEST_P(SchedulerScriptTest, DoesWhatTheScriptSays) {
  const bool print = std::getenv("CONCUR_SCRIPT_ACTUAL") != nullptr;
  const ScriptCase& script = GetParam();
  ASSERT_FALSE(script.lines.empty()) << script.file << ": an empty case";
  ScriptRunner runner;
  if (print) {
    std::cout << "case " << script.name << "\n";
  }
  for (const Line& line : script.lines) {
    const std::string place = absl::StrCat(script.file.substr(0, script.file.find(':')), ":",
                                           line.number, ": ", line.event);
    SCOPED_TRACE(place);
    const std::string actual = runner.Run(line.event);
    if (print) {
      std::cout << line.event << " -> " << actual << std::endl;
      continue;
    }
    ASSERT_EQ(line.effects, actual) << place;
    ASSERT_FALSE(HasFailure()) << place;
  }
}

std::string CaseName(const ::testing::TestParamInfo<ScriptCase>& param) {
  std::string name =
      absl::StrCat(param.param.file.substr(0, param.param.file.find('.')), "_", param.param.name);
  for (char& c : name) {
    c = absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Scripts, SchedulerScriptTest, ::testing::ValuesIn(AllCases()), CaseName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SchedulerScriptTest);

TEST(SchedulerScriptsTest, AreFound) {
  EXPECT_GE(AllCases().size(), 40u)
      << "in " << ScriptFolder() << "; CONCUR_SOURCE_DIR names the source tree";
}

}  // namespace
}  // namespace concur::testing
