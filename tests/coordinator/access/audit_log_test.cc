// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/audit_log.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur {
namespace {

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

  TempDir dir_;
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
  // The lines that are left are the last ones, in order and without a gap.
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

// Lowers a limit of this process while it lives.
class LowLimit {
 public:
  LowLimit(__rlimit_resource resource, rlim_t limit) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit low{limit, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &low), 0);
  }
  ~LowLimit() { setrlimit(resource_, &before_); }
  LowLimit(const LowLimit&) = delete;
  LowLimit& operator=(const LowLimit&) = delete;

 private:
  const __rlimit_resource resource_;
  rlimit before_{};
};

TEST_F(AuditLogTest, HalfALineOfAFullDiskSpoilsNoOther) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  const auto write = [&](const std::string& target) {
    log->Write({"ada", "t1", "", "unix:", "PauseSweep", target, absl::OkStatus()});
  };
  write("s1");
  {
    signal(SIGXFSZ, SIG_IGN);
    const LowLimit full(RLIMIT_FSIZE, std::filesystem::file_size(dir_.File("calls.jsonl")) + 9);
    write("s2");
  }
  write("s3");
  const auto lines = Lines("calls.jsonl");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[1]["target"], "s3");
}

TEST_F(AuditLogTest, AFileThatCannotBeOpenedCostsOneRotation) {
  ASSERT_OK_AND_ASSIGN(const auto log,
                       AuditLog::Open(clock_, dir_.path(), {.bytes_max = 500, .files_max = 3}));
  const auto write = [&](int i) {
    log->Write({"ada", "t1", "", "unix:", "PauseSweep", absl::StrCat("s", i), absl::OkStatus()});
  };
  for (int i = 0; i < 8; ++i) {
    write(i);
  }
  ASSERT_TRUE(std::filesystem::exists(dir_.File("calls.jsonl.2")));
  ASSERT_FALSE(std::filesystem::exists(dir_.File("calls.jsonl.3")));
  {
    const LowLimit no_more_files(RLIMIT_NOFILE, 0);
    for (int i = 8; i < 20; ++i) {
      write(i);
    }
  }
  write(20);
  ASSERT_OK_AND_ASSIGN(const AuditPage page, log->Read({}, "", 100));
  EXPECT_EQ(page.records.front().target, "s20");
  EXPECT_EQ(page.records.back().target, "s0") << "what was written before is kept";
}

// All pages, one after the other.
std::vector<std::string> TargetsOf(AuditLog& log, const AuditFilter& filter, size_t count_max,
                                   int* pages = nullptr) {
  std::vector<std::string> targets;
  std::string token;
  do {
    const absl::StatusOr<AuditPage> page = log.Read(filter, token, count_max);
    EXPECT_OK(page.status());
    EXPECT_LE(page->records.size(), count_max);
    for (const AuditRecord& record : page->records) {
      targets.push_back(record.target);
    }
    token = page->next_page_token;
    if (pages != nullptr) {
      ++*pages;
    }
  } while (!token.empty());
  return targets;
}

TEST_F(AuditLogTest, LinesAreReadAsTheyWereWrittenNewestFirst) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  EXPECT_THAT(TargetsOf(*log, {}, 10), SizeIs(0));
  log->Write({"ada", "t3", "cn", "ipv4:127.0.0.1:4", "CancelSweep", "s7", absl::OkStatus()});
  clock_.Advance(absl::Seconds(2));
  log->Write({"eve", "t4", "", "unix:", "DrainWorker", "w\"\n",
              absl::PermissionDeniedError("needs the role admin")});
  ASSERT_OK_AND_ASSIGN(const AuditPage failed, log->Read({.failed_only = true}, "", 10));
  ASSERT_THAT(failed.records, SizeIs(1));
  const AuditRecord& last = failed.records[0];
  EXPECT_EQ(last.user, "eve");
  EXPECT_EQ(last.target, "w\"\n");
  EXPECT_EQ(last.outcome, "permission_denied");
  EXPECT_EQ(last.message, "needs the role admin");
  EXPECT_EQ(last.time, clock_.Now());
  ASSERT_OK_AND_ASSIGN(const AuditPage page, log->Read({}, "", 10));
  ASSERT_THAT(page.records, SizeIs(1));
  EXPECT_EQ(page.next_page_token, "");
  const AuditRecord& first = page.records[0];
  EXPECT_EQ(first.certificate, "cn");
  EXPECT_EQ(first.token, "t3");
  EXPECT_EQ(first.peer, "ipv4:127.0.0.1:4");
  EXPECT_EQ(first.method, "CancelSweep");
  EXPECT_EQ(first.outcome, "ok");
}

TEST_F(AuditLogTest, ATargetIsFoundWithWhatWasDoneToIt) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  for (const char* target : {"s1", "s12", "s12/3", "s12, all jobs", "s123", "xs12"}) {
    log->Write({"ada", "t1", "", "unix:", "RetryJobs", target, absl::OkStatus()});
  }
  AuditFilter filter;
  filter.target = "s12";
  EXPECT_THAT(TargetsOf(*log, filter, 10), ElementsAre("s12, all jobs", "s12/3", "s12"));
}

TEST_F(AuditLogTest, PagesGoOnThroughRotatedFilesWhileMoreIsWritten) {
  ASSERT_OK_AND_ASSIGN(const auto log,
                       AuditLog::Open(clock_, dir_.path(), {.bytes_max = 1000, .files_max = 8}));
  const auto write = [&](int i) {
    log->Write({"ada", "t1", "", "unix:", "PauseSweep", absl::StrCat("s", i), absl::OkStatus()});
  };
  for (int i = 0; i < 40; ++i) {
    write(i);
  }
  std::vector<std::string> expected;
  for (int i = 39; i >= 0; --i) {
    expected.push_back(absl::StrCat("s", i));
  }
  for (const size_t count_max : {1, 3, 7, 40, 1000}) {
    EXPECT_EQ(TargetsOf(*log, {}, count_max), expected) << count_max;
  }
  ASSERT_OK_AND_ASSIGN(const AuditPage first, log->Read({}, "", 5));
  for (int i = 40; i < 52; ++i) {
    write(i);  // renames the files
  }
  ASSERT_OK_AND_ASSIGN(const AuditPage second, log->Read({}, first.next_page_token, 1));
  ASSERT_THAT(second.records, SizeIs(1));
  EXPECT_EQ(second.records[0].target, "s34");
}

TEST_F(AuditLogTest, AFilterChoosesAndStrangersAreAListOfTheirOwn) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  log->Write({"ada", "t1", "", "unix:", "PauseSweep", "s1", absl::OkStatus()});
  log->Write({"eve", "t2", "", "unix:", "PauseSweep", "s2", absl::PermissionDeniedError("no")});
  log->Write({"ada", "t1", "", "unix:", "CancelSweep", "s3", absl::OkStatus()});
  log->Write({"", "", "", "unix:", "GetSweep", "s4", absl::UnauthenticatedError("no")});
  using Targets = std::vector<std::string>;
  EXPECT_EQ(TargetsOf(*log, {}, 9), (Targets{"s3", "s1"}));
  EXPECT_EQ(TargetsOf(*log, {.user = "ada"}, 1), (Targets{"s3", "s1"}));
  EXPECT_EQ(TargetsOf(*log, {.method = "PauseSweep"}, 9), (Targets{"s1"}));
  EXPECT_EQ(TargetsOf(*log, {.target = "s3"}, 9), (Targets{"s3"}));
  EXPECT_EQ(TargetsOf(*log, {.failed_only = true}, 9), (Targets{"s2"}));
  EXPECT_EQ(TargetsOf(*log, {.strangers = true}, 9), (Targets{"s4"}));
}

// A viewer's refused calls filled all files and pushed out what had been done.
TEST_F(AuditLogTest, WhoIsRefusedPushesNothingOutAndIsCounted) {
  const AuditOptions options{.bytes_max = 2000, .files_max = 2};
  ASSERT_OK_AND_ASSIGN(auto log, AuditLog::Open(clock_, dir_.path(), options));
  const auto refuse = [&](const std::string& user, int i) {
    log->Write({user, user.empty() ? "" : "t9", "", absl::StrCat("ipv4:10.0.0.9:", i),
                "CancelSweep", absl::StrCat("s", i), absl::PermissionDeniedError("no")});
  };
  log->Write({"ada", "t1", "", "unix:", "CancelSweep", "done", absl::OkStatus()});
  for (int i = 0; i < 10'000; ++i) {
    refuse("vic", i);
    refuse("", i);
    clock_.Advance(absl::Milliseconds(10));
  }
  refuse("bob", 1);
  EXPECT_EQ(TargetsOf(*log, {}, 10), std::vector<std::string>{"done"});
  EXPECT_THAT(TargetsOf(*log, {.strangers = true}, 100), SizeIs(::testing::Le(6u)));
  ASSERT_OK_AND_ASSIGN(AuditPage page, log->Read({.user = "vic", .failed_only = true}, "", 100));
  ASSERT_THAT(page.records, SizeIs(::testing::Le(6u)));
  EXPECT_EQ(page.records[0].target, "s9999") << "the last one";
  EXPECT_THAT(page.records[0].message, HasSubstr(" more such calls; no"));
  EXPECT_THAT(TargetsOf(*log, {.user = "bob", .failed_only = true}, 10), ElementsAre("s1"));
  // Every call is in a line or in a number, also those since the last line.
  refuse("vic", 10'000);
  log.reset();
  int64_t calls = 0;
  for (const nlohmann::json& line : Lines("failed.jsonl")) {
    calls += line["user"] == "vic" ? line.value("calls", 1) : 0;
  }
  EXPECT_EQ(calls, 10'001);
}

TEST_F(AuditLogTest, ManyCallersAtOnceShareANumber) {
  ASSERT_OK_AND_ASSIGN(auto log, AuditLog::Open(clock_, dir_.path()));
  for (int i = 0; i < 5000; ++i) {
    log->Write({"", "", "", absl::StrCat("ipv4:10.1.", i, ":1"), "GetSweep", "",
                absl::UnauthenticatedError("no")});
  }
  log.reset();
  const auto lines = Lines("refused.jsonl");
  EXPECT_LE(lines.size(), 1001u);
  EXPECT_EQ(lines.back().value("calls", 0), 4000);
}

// A stranger's calls took all places, and users' refusals became one line with the last one's name.
TEST_F(AuditLogTest, StrangersTakeNoUsersPlaceAndALineForManyNamesNobody) {
  ASSERT_OK_AND_ASSIGN(auto log, AuditLog::Open(clock_, dir_.path()));
  for (int i = 0; i < 2000; ++i) {
    log->Write({"", "", "", absl::StrCat("ipv4:10.1.", i, ":1"), "GetSweep", "s1",
                absl::UnauthenticatedError("no")});
  }
  for (int i = 0; i < 1100; ++i) {
    log->Write({absl::StrCat("user", i), "t", "", "unix:", "PauseSweep", "s1",
                absl::PermissionDeniedError("no")});
  }
  EXPECT_THAT(TargetsOf(*log, {.user = "user999", .failed_only = true}, 10), ElementsAre("s1"));
  log.reset();
  for (const char* file : {"failed.jsonl", "refused.jsonl"}) {
    const nlohmann::json last = Lines(file).back();
    EXPECT_EQ(last.value("calls", 0), file[0] == 'f' ? 100 : 1000) << last;
    for (const char* field : {"user", "token", "peer", "method", "target"}) {
      EXPECT_FALSE(last.contains(field)) << last;
    }
  }
}

// Failures that may have had an effect came after all refusals, however new they were.
TEST_F(AuditLogTest, FailuresOfBothKindsAreListedNewestFirst) {
  ASSERT_OK_AND_ASSIGN(auto log, AuditLog::Open(clock_, dir_.path()));
  const auto write = [&](const char* target, const absl::Status& outcome) {
    log->Write({"ada", "t1", "", "unix:", target, target, outcome});
    clock_.Advance(absl::Seconds(1));
  };
  write("s1", absl::NotFoundError("no"));
  write("s2", absl::UnavailableError("later"));
  write("s3", absl::OkStatus());
  write("s4", absl::NotFoundError("no"));
  write("s5", absl::InternalError("half"));
  for (const size_t count_max : {1, 9}) {
    EXPECT_THAT(TargetsOf(*log, {.failed_only = true}, count_max),
                ElementsAre("s5", "s4", "s2", "s1"));
    EXPECT_THAT(TargetsOf(*log, {}, count_max), ElementsAre("s5", "s3", "s2"));
  }
}

TEST_F(AuditLogTest, APageReadsABoundedPartOfALargeLog) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  const std::string peer(400, 'p');
  log->Write({"eve", "t2", "", peer, "PauseSweep", "oldest", absl::OkStatus()});
  const int lines = static_cast<int>(2 * AuditLog::kReadBytesMax / 400);
  for (int i = 0; i < lines; ++i) {
    log->Write({"ada", "t1", "", peer, "PauseSweep", "s1", absl::OkStatus()});
  }
  int pages = 0;
  EXPECT_EQ(TargetsOf(*log, {.user = "eve"}, 10, &pages), std::vector<std::string>{"oldest"});
  EXPECT_GE(pages, 3);
  EXPECT_LE(pages, 5);
}

TEST_F(AuditLogTest, ADamagedLineIsShownAsSuchAndHidesNoOther) {
  ASSERT_OK(WriteFileAtomically(dir_.File("calls.jsonl"), "{\"time\":\"20\n[]\n\n\xff\n"));
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  log->Write({"ada", "t1", "", "unix:", "PauseSweep", "s1", absl::OkStatus()});
  ASSERT_OK_AND_ASSIGN(const AuditPage page, log->Read({}, "", 10));
  ASSERT_THAT(page.records, SizeIs(4));
  EXPECT_EQ(page.records[0].target, "s1");
  EXPECT_EQ(page.records[3].outcome, "unreadable");
  EXPECT_EQ(page.records[3].message, "a damaged line at byte 0 of its file");
}

TEST_F(AuditLogTest, ATokenThatNoPageGaveIsRefused) {
  ASSERT_OK_AND_ASSIGN(const auto log, AuditLog::Open(clock_, dir_.path()));
  for (const char* token :
       {"x", "1", "-", "1-", "1--2", "1-2-3", " 1-2", "1-99999999999999999999"}) {
    EXPECT_THAT(log->Read({}, token, 10),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")))
        << token;
  }
  // A file that is not there any more.
  ASSERT_OK_AND_ASSIGN(const AuditPage page, log->Read({}, "1-5", 10));
  EXPECT_THAT(page.records, SizeIs(0));
}

}  // namespace
}  // namespace concur
