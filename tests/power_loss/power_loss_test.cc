// SPDX-License-Identifier: Apache-2.0
// Power loss of everything that is synced: see docs/reliability.md.
//
// CONCUR_POWER_STATES=n checks n states instead of 600, CONCUR_POWER_SEED=n starts at seed n.
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/log.h"
#include "tests/power_loss/crash_states.h"
#include "tests/power_loss/file_trace.h"
#include "tests/power_loss/promises.h"
#include "tests/testing/test.h"

namespace concur::testing {
namespace {

constexpr uint64_t kStatesPerSeed = 200;
constexpr uint64_t kSeedsPerBug = 3;
// Such positions are tried more often than those between two writes.
constexpr double kAtSyncs = 0.6;
constexpr double kCutAgain = 0.3;  // during the next start

// A bug, as the trace of a program that has it: the same, but for syncs that it forgot.
struct PowerBug {
  const char* name;
  std::function<bool(const FileOp& op)> forgets;  // this sync
  bool answers_first = false;                     // commits are acknowledged when they begin
};

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

// After how many operations the power is cut, each time; ascending.
std::multiset<size_t> DrawPositions(const std::vector<FileOp>& ops, uint64_t count,
                                    Random& random) {
  std::vector<size_t> syncs;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != FileOp::Kind::kWrite) {
      syncs.push_back(i);      // before it
      syncs.push_back(i + 1);  // after it
    }
  }
  std::multiset<size_t> positions;
  for (uint64_t i = 0; i < count; ++i) {
    positions.insert(random.Chance(kAtSyncs) ? syncs[random.Below(syncs.size())]
                                             : random.Below(ops.size() + 1));
  }
  return positions;
}

Fate DrawFate(Random& random) { return kFates[random.Below(std::size(kFates))]; }

std::string StartOn(const FileTree& tree, const Promises& promises, size_t position) {
  const TempDir directory;
  WriteTree(tree, directory.path());
  return promises.Check(directory.path(), position, /*commits_more=*/true);
}

// Starts on what a power cut left, and cuts the power while that start repairs it.
std::string CutPowerAgain(const FileTree& tree, const Promises& promises, size_t position,
                          Random& random) {
  const TempDir directory;
  WriteTree(tree, directory.path());
  FileTrace trace(directory.path());
  std::string broken = promises.Check(directory.path(), position, /*commits_more=*/false);
  const std::vector<FileOp> ops = trace.Stop();
  if (!broken.empty()) {
    return broken;
  }
  CrashModel model(tree);
  const size_t end = random.Below(ops.size() + 1);
  for (size_t i = 0; i < end; ++i) {
    model.Apply(ops[i]);
  }
  const Fate fate = DrawFate(random);
  broken = StartOn(model.Crash(fate, random), promises, position);
  return broken.empty() ? ""
                        : absl::StrCat("again after ", end, ", ", FateName(fate), ": ", broken);
}

// Cuts the power `count` times in a recording. "" if every promise is kept.
std::string CutPower(const Recording& recording, const PowerBug* bug, uint64_t seed,
                     uint64_t count) {
  Random random(seed, "power_loss.cuts");
  Promises promises = recording.promises;
  if (bug != nullptr && bug->answers_first) {
    for (Promises::Commit& commit : promises.commits) {
      commit.acknowledged = commit.begin;
    }
  }
  CrashModel model;
  size_t at = 0;
  for (const size_t position : DrawPositions(recording.ops, count, random)) {
    for (; at < position; ++at) {
      const FileOp& op = recording.ops[at];
      if (bug == nullptr || op.kind != FileOp::Kind::kSync || !bug->forgets || !bug->forgets(op)) {
        model.Apply(op);
      }
    }
    const Fate fate = DrawFate(random);
    const FileTree tree = model.Crash(fate, random);
    std::string broken = StartOn(tree, promises, position);
    if (broken.empty() && random.Chance(kCutAgain)) {
      broken = CutPowerAgain(tree, promises, position, random);
    }
    if (!broken.empty()) {
      return absl::StrCat("seed ", seed, ", power cut after ", position, " of ",
                          recording.ops.size(), " operations, ", FateName(fate), ": ", broken);
    }
  }
  return "";
}

// States are many and short-lived: they are made in memory where that is possible.
class InMemory : public ::testing::Environment {
  void SetUp() override {
    if (access("/dev/shm", W_OK) == 0) {
      setenv("TMPDIR", "/dev/shm", /*replace=*/0);
    }
  }
};
const ::testing::Environment* const in_memory =
    ::testing::AddGlobalTestEnvironment(new InMemory);  // which owns it

class PowerLossTest : public ::testing::Test {
 protected:
  void SetUp() override { SetLog(LogLevel::kNone, LogFormat::kText); }
  void TearDown() override { SetLog(LogLevel::kInfo, LogFormat::kText); }
};

TEST_F(PowerLossTest, WhatWasAcknowledgedIsThereAfterEveryPowerCut) {
  const uint64_t states = NumberFrom("CONCUR_POWER_STATES", 600);
  uint64_t seed = NumberFrom("CONCUR_POWER_SEED", 1);
  size_t operations = 0;
  uint64_t recordings = 0;
  for (uint64_t done = 0; done < states; done += kStatesPerSeed, ++seed) {
    const Recording recording = Record(seed);
    ASSERT_THAT(recording.differences, IsEmpty()) << "the trace lacks operations, seed " << seed;
    operations += recording.ops.size();
    ++recordings;
    EXPECT_EQ(CutPower(recording, nullptr, seed, kStatesPerSeed), "");
  }
  std::cout << recordings * kStatesPerSeed << " power cuts in " << operations << " operations of "
            << recordings << " recordings\n";
}

// Each bug must be found within the states that a test run checks.
class PlantedPowerBugTest : public ::testing::TestWithParam<PowerBug> {};

TEST_P(PlantedPowerBugTest, IsFound) {
  SetLog(LogLevel::kNone, LogFormat::kText);
  std::string found;
  uint64_t seed = 1;
  for (; found.empty() && seed <= kSeedsPerBug; ++seed) {
    found = CutPower(Record(seed), &GetParam(), seed, kStatesPerSeed);
  }
  SetLog(LogLevel::kInfo, LogFormat::kText);
  EXPECT_NE(found, "") << "goes unnoticed";
  std::cout << GetParam().name << ": " << found << "\n";
}

bool IsIn(const FileOp& op, const char* folder) { return absl::StartsWith(op.path, folder); }

INSTANTIATE_TEST_SUITE_P(
    , PlantedPowerBugTest,
    ::testing::Values(
        PowerBug{"answer-before-commit", nullptr, true},
        PowerBug{"log-not-synced",
                 [](const FileOp& op) { return absl::EndsWith(op.path, "concur.db-wal"); }},
        PowerBug{"database-not-synced",
                 [](const FileOp& op) { return op.path == "data/concur.db"; }},
        PowerBug{"database-name-not-synced", [](const FileOp& op) { return op.path == "data"; }},
        PowerBug{"directory-name-not-synced", [](const FileOp& op) { return op.path.empty(); }},
        PowerBug{"artifact-not-synced",
                 [](const FileOp& op) { return IsIn(op, "data/artifacts/tmp/"); }},
        PowerBug{"artifact-name-not-synced",
                 [](const FileOp& op) { return IsIn(op, "data/artifacts/sha256/"); }},
        PowerBug{"artifact-folder-not-synced",
                 [](const FileOp& op) { return op.path == "data/artifacts/sha256"; }},
        PowerBug{"pack-not-synced",
                 [](const FileOp& op) { return IsIn(op, "data/artifacts/packs/"); }},
        PowerBug{"pack-name-not-synced",
                 [](const FileOp& op) { return op.path == "data/artifacts/packs"; }},
        PowerBug{"merged-pack-not-synced",
                 [](const FileOp& op) {
                   return IsIn(op, "data/artifacts/tmp/") && absl::EndsWith(op.path, ".pack");
                 }},
        PowerBug{"spool-not-synced", [](const FileOp& op) { return IsIn(op, "work/spool/"); }},
        PowerBug{"spool-name-not-synced", [](const FileOp& op) { return op.path == "work/spool"; }},
        PowerBug{"backup-not-synced",
                 [](const FileOp& op) { return absl::StrContains(op.path, "partial"); }}),
    [](const auto& bug) {
      return absl::StrReplaceAll(bug.param.name, {{"-", "_"}});
    });

// The model itself: a trace of few operations, and all that it may leave.
FileTree AfterCrash(const std::vector<FileOp>& ops, Fate fate) {
  CrashModel model;
  for (const FileOp& op : ops) {
    model.Apply(op);
  }
  Random random(1, "power_loss.model");
  return model.Crash(fate, random);
}

TEST(CrashModelTest, OnlyWhatWasSyncedIsCertain) {
  using Kind = FileOp::Kind;
  std::vector<FileOp> ops = {{Kind::kCreate, 1, "a.tmp", "", 0, ""},
                             {Kind::kWrite, 1, "", "", 0, "text"},
                             {Kind::kRename, 1, "a.tmp", "a", 0, ""}};
  EXPECT_THAT(AfterCrash(ops, Fate::kAllLost), IsEmpty());
  EXPECT_THAT(AfterCrash(ops, Fate::kAllKept), UnorderedElementsAre(std::pair("a", "text")));
  EXPECT_THAT(AfterCrash(ops, Fate::kNamesOnly),
              UnorderedElementsAre(std::pair("a", std::string(4, '\0'))));
  ops.push_back({Kind::kSync, 0, "", "", 0, ""});  // the directory alone
  EXPECT_THAT(AfterCrash(ops, Fate::kAllLost), UnorderedElementsAre(std::pair("a", "")));
  ops.push_back({Kind::kSync, 1, "a", "", 0, ""});
  EXPECT_THAT(AfterCrash(ops, Fate::kAllLost), UnorderedElementsAre(std::pair("a", "text")));
  ops.push_back({Kind::kTruncate, 1, "", "", 1, ""});
  ops.push_back({Kind::kRemove, 1, "a", "", 0, ""});
  EXPECT_THAT(AfterCrash(ops, Fate::kAllLost), UnorderedElementsAre(std::pair("a", "text")));
  EXPECT_THAT(AfterCrash(ops, Fate::kDataOnly), UnorderedElementsAre(std::pair("a", "t")));
  EXPECT_THAT(AfterCrash(ops, Fate::kNamesOnly), IsEmpty());
}

TEST(CrashModelTest, ADirectoryWhoseNameWasNotSyncedIsLostWithItsFiles) {
  using Kind = FileOp::Kind;
  const std::vector<FileOp> ops = {{Kind::kMakeDirectory, 1, "d", "", 0, ""},
                                   {Kind::kCreate, 2, "d/a", "", 0, ""},
                                   {Kind::kSync, 2, "d/a", "", 0, ""},
                                   {Kind::kSync, 1, "d", "", 0, ""}};
  EXPECT_THAT(AfterCrash(ops, Fate::kAllLost), IsEmpty());
}

}  // namespace
}  // namespace concur::testing
