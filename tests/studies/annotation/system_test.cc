// SPDX-License-Identifier: Apache-2.0
// Systems that answer, that print garbage, nothing or too much, that hang, that die, and that take
// more than they may.
#include "studies/annotation/system.h"

#include <signal.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "studies/annotation/confinement.h"
#include "tests/testing/simulated_clock.h"
#include "tests/testing/test.h"

namespace concur::annotation {
namespace {

using ::concur::testing::SimulatedClock;

constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

// Answers the id that is in the line; `answer` is JSON text.
std::string Replies(const std::string& answer) {
  return "while read -r line; do id=${line#*:}; id=${id%%,*}; printf '{\"id\":%s,\"answer\":" +
         answer + "}\\n' \"$id\"; done";
}

class SystemTest : public ::testing::Test {
 protected:
  SystemTest() { signal(SIGPIPE, SIG_IGN); }

  SystemOptions Options(const std::string& script) const {
    SystemOptions options;
    options.command = {"sh", "-c", script};
    options.directory = directory_.path();
    options.log = directory_.File("log");
    options.start_max = options.answer_max = absl::Seconds(60);
    return options;
  }
  std::unique_ptr<System> Serve(const std::string& script,
                                absl::Duration answer_max = absl::Seconds(60)) {
    SystemOptions options = Options(script);
    options.start_max = options.answer_max = answer_max;
    return MakeLocalSystem(clock_, options);
  }
  // The room is another directory than the one where the system runs.
  VisibleFiles FilesAround(const std::string& directory) {
    std::filesystem::create_directories(directory + "/room/run");
    std::filesystem::create_directories(directory + "/room/systems");
    for (const char* secret : {"/room/log.jsonl", "/room/systems/token"}) {
      EXPECT_OK(WriteFileAtomically(directory + secret, "secret"));
    }
    EXPECT_OK(WriteFileAtomically(directory + "/model", "weights"));
    VisibleFiles files;
    files.room = std::filesystem::canonical(directory + "/room").string();
    files.run = files.room + "/run";
    files.read = {directory + "/model"};
    files.hidden = {directory + "/room/systems/token"};
    return files;
  }
  // Output of `script`, which writes to "seen", in the sandbox. Unset: this machine has none.
  std::optional<std::string> SeenBy(const std::string& script, const VisibleFiles& files) {
    const std::unique_ptr<Confinement> confinement = Confinement::SetUp(files, "auto").value();
    if (!confinement->has_sandbox()) {
      return std::nullopt;
    }
    SystemOptions options = Options(script + "; " + Replies("\"A\""));
    options.directory = files.run;
    options.confinement = confinement.get();
    const auto system = MakeLocalSystem(clock_, options);
    EXPECT_OK(system->Answer("A.", "B?"));
    return ReadFile(files.run + "/seen").value_or("");
  }

  TempDir directory_;
  SimulatedClock clock_;
};

TEST_F(SystemTest, OneProcessAnswersOneQuestionAfterTheOther) {
  const auto system = Serve("echo started >> starts; " + Replies("\"Alps\""));
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string answer, system->Answer("The Alps.", "What\"?"));
    EXPECT_EQ(answer, "Alps");
  }
  EXPECT_EQ(ReadFile(directory_.File("starts")).value(), "started\n");
}

TEST_F(SystemTest, AnEmptyAnswerIsAnAnswer) {
  const auto system = Serve(Replies("\"\""));
  ASSERT_OK_AND_ASSIGN(const std::string answer, system->Answer("The Alps.", "What?"));
  EXPECT_EQ(answer, "");
}

TEST_F(SystemTest, ALongPassageReachesASystemThatReadsSlowly) {
  const auto system = Serve(Replies("\"Alps\""));
  EXPECT_OK(system->Answer(std::string(1 << 20, 'x'), "What?"));
}

TEST_F(SystemTest, WhatIsNoAnswerIsRefusedWithWhatWasPrinted) {
  for (const std::string& script :
       {std::string("echo garbage; cat"), std::string("echo '[]'; cat"),
        std::string("echo '{\"id\":\"7\",\"answer\":\"of another question\"}'; cat"), Replies("7"),
        Replies("null"), std::string("printf '{\"answer\":\"\\377\"}\\n'; cat")}) {
    EXPECT_THAT(Serve(script)->Answer("The Alps.", "What?"),
                StatusIs(kUnavailable, HasSubstr("printed a line that is not")))
        << script;
  }
  EXPECT_THAT(Serve(Replies("\"'$(head -c 5000 /dev/zero | tr '\\0' x)'\""))->Answer("A.", "B?"),
              StatusIs(kUnavailable, HasSubstr("at most 4096 bytes, got 5000")));
  EXPECT_THAT(Serve(Replies("\"a\\\\u0000b\""))->Answer("A.", "B?"),
              StatusIs(kUnavailable, HasSubstr("without NUL")));
}

TEST_F(SystemTest, OneThatPrintsWithoutEndIsStopped) {
  EXPECT_THAT(Serve("cat /dev/zero")->Answer("The Alps.", "What?"),
              StatusIs(kUnavailable, HasSubstr("line of more than")));
}

TEST_F(SystemTest, ACanceledOneIsNotWaitedFor) {
  const auto system = Serve("sleep 1000", absl::Minutes(10));
  std::thread cancels([&system] { system->Cancel(); });
  EXPECT_THAT(system->Answer("A.", "B?"), StatusIs(kUnavailable, HasSubstr("nobody asks")));
  cancels.join();
}

TEST_F(SystemTest, OneThatHangsIsKilledWithItsChildren) {
  const auto system = Serve("sleep 1000 & echo $! > child; wait", absl::Seconds(2));
  EXPECT_THAT(system->Answer("The Alps.", "What?"),
              StatusIs(kUnavailable, AllOf(HasSubstr("did not answer in time"),
                                           HasSubstr(directory_.File("log")))));
  int child = 0;
  ASSERT_TRUE(absl::SimpleAtoi(
      absl::StripAsciiWhitespace(ReadFile(directory_.File("child")).value()), &child));
  // It is gone, or dead and not yet waited for by the process that adopted it.
  const std::string state = absl::StrCat("/proc/", child, "/stat");
  while (kill(child, 0) == 0 && !absl::StrContains(ReadFile(state).value_or(") Z "), ") Z ")) {
    std::this_thread::yield();
  }
}

TEST_F(SystemTest, OneThatClosesItsOutputAndStaysIsStopped) {
  EXPECT_THAT(Serve("exec >&-; sleep 1000")->Answer("The Alps.", "What?"),
              StatusIs(kUnavailable, HasSubstr("closed its standard output")));
}

TEST_F(SystemTest, TheSameQuestionHasTheSameId) {
  const auto system = Serve(
      "while read -r line; do id=${line#*:}; id=${id%%,*}; "
      "printf '{\"id\":%s,\"answer\":%s}\\n' \"$id\" \"$id\"; done");
  ASSERT_OK_AND_ASSIGN(const std::string first, system->Answer("The Alps.", "What?"));
  ASSERT_OK_AND_ASSIGN(const std::string other, system->Answer("The Alps.", "Where?"));
  ASSERT_OK_AND_ASSIGN(const std::string again, system->Answer("The Alps.", "What?"));
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST_F(SystemTest, OneThatDiesIsStartedAgainAfterAWaitThatDoubles) {
  // Answers from its third start on.
  const auto system = Serve(
      "echo x >> starts; echo why >&2; [ $(wc -l < starts) -ge 3 ] || exit 9; " + Replies("\"A\""));
  EXPECT_THAT(system->Answer("A.", "B?"), StatusIs(kUnavailable, HasSubstr("exit code 9")));
  EXPECT_EQ(ReadFile(directory_.File("log")).value(), "why\n");
  EXPECT_THAT(system->Answer("A.", "B?"),
              StatusIs(kUnavailable, AllOf(HasSubstr("exit code 9"), HasSubstr("again in 1s"))));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(system->Answer("A.", "B?"), StatusIs(kUnavailable, HasSubstr("exit code 9")));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(system->Answer("A.", "B?"), StatusIs(kUnavailable, HasSubstr("again in 1s")));
  clock_.Advance(absl::Seconds(1));
  EXPECT_OK(system->Answer("A.", "B?"));
  EXPECT_EQ(ReadFile(directory_.File("starts")).value(), "x\nx\nx\n");
}

// Holds 200 MB at its first start.
constexpr char kHog[] =
    "echo x >> starts; [ $(wc -l < starts) -ge 2 ] || { read -r line; "
    "x=$(head -c 200000000 /dev/zero | tr '\\0' x); sleep 1000; }; ";

TEST_F(SystemTest, OneThatTakesTooMuchMemoryIsStartedAgainAndSaysSo) {
  SystemOptions options = Options(kHog + Replies("\"A\""));
  options.memory_bytes_max = int64_t{64} << 20;
  const auto system = MakeLocalSystem(clock_, options);
  EXPECT_THAT(system->Answer("A.", "B?"),
              StatusIs(kUnavailable, HasSubstr("took more than the 64 MiB of memory")));
  EXPECT_THAT(system->Answer("A.", "B?"),
              StatusIs(kUnavailable, AllOf(HasSubstr("64 MiB"), HasSubstr("again in 1s"))));
  clock_.Advance(absl::Seconds(1));
  EXPECT_OK(system->Answer("A.", "B?"));
  EXPECT_EQ(ReadFile(directory_.File("starts")).value(), "x\nx\n");
}

TEST_F(SystemTest, AControlGroupLimitsMemoryAndProcesses) {
  const std::unique_ptr<Confinement> confinement =
      Confinement::SetUp(FilesAround(directory_.path()), "none").value();
  if (confinement->cgroups() == nullptr) {
    GTEST_SKIP() << confinement->notes().front();
  }
  SystemOptions options = Options(kHog + Replies("\"A\""));
  options.confinement = confinement.get();
  options.memory_bytes_max = int64_t{64} << 20;
  EXPECT_THAT(MakeLocalSystem(clock_, options)->Answer("A.", "B?"),
              StatusIs(kUnavailable, HasSubstr("64 MiB")));
  options = Options("read -r line; for i in $(seq 100); do sleep 1000 & done; echo all");
  options.confinement = confinement.get();
  options.processes_max = 16;
  EXPECT_THAT(MakeLocalSystem(clock_, options)->Answer("A.", "B?"),
              StatusIs(kUnavailable, HasSubstr("exit code")));
  EXPECT_THAT(ReadFile(directory_.File("log")).value(), HasSubstr("ork")) << "Cannot fork";
}

constexpr char kNoSandbox[] = "no sandbox works here";

// The second one's confinement took away the first one's control group and sandbox.
TEST_F(SystemTest, TwoConfinedSystemsAnswerAtATime) {
  std::vector<std::unique_ptr<Confinement>> confinements;
  std::vector<std::unique_ptr<System>> systems;
  VisibleFiles files = FilesAround(directory_.path());
  for (const char* answer : {"\"A\"", "\"B\""}) {
    SystemOptions options = Options(Replies(answer));
    confinements.push_back(Confinement::SetUp(files, "auto").value());
    options.directory = files.run;
    options.confinement = confinements.back().get();
    systems.push_back(MakeLocalSystem(clock_, options));
    files.state = files.room + "/system2";
    std::filesystem::create_directories(files.state);
  }
  for (int asked = 0; asked < 2; ++asked) {
    EXPECT_EQ(systems[0]->Answer("A.", "B?").value_or("-"), "A");
    EXPECT_EQ(systems[1]->Answer("A.", "B?").value_or("-"), "B");
  }
}

TEST_F(SystemTest, InASandboxItWritesItsOwnDirectoryAndSeesNoRoom) {
  const VisibleFiles files = FilesAround(directory_.path());
  const std::string& room = files.room;
  // In /tmp, which is its own there: a name that nobody else has.
  const std::string made = std::filesystem::path(directory_.path()).filename().string();
  const std::optional<std::string> seen = SeenBy(
      absl::StrCat("cat ", files.read[0], " > seen; cat ", room, "/log.jsonl ", room,
                   "/systems/token >> seen; readlink /proc/self/ns/pid > namespace; echo x > ",
                   room, "/made && echo made >> seen; echo x > /usr/", made,
                   " && echo made >> seen; echo x > /tmp/", made, "-own && echo own >> seen"),
      files);
  if (!seen.has_value()) {
    GTEST_SKIP() << kNoSandbox;
  }
  EXPECT_EQ(*seen, "weightsown\n");
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat("/tmp/", made, "-own")));
  EXPECT_NE(ReadFile(room + "/run/namespace").value_or(""),
            absl::StrCat(std::filesystem::read_symlink("/proc/self/ns/pid").string(), "\n"))
      << "other processes are not seen";
}

TEST_F(SystemTest, InASandboxItSeesNoRoomInTheFolderOfItsCode) {
  VisibleFiles files = FilesAround(directory_.path());
  files.read = {directory_.path(), files.room + "/systems"};
  const std::optional<std::string> seen = SeenBy(
      absl::StrCat("cat ", directory_.path(), "/model > seen; cat ", files.room, "/log.jsonl ",
                   files.room, "/systems/token >> seen; ls ", files.room, " >> seen"),
      files);
  if (!seen.has_value()) {
    GTEST_SKIP() << kNoSandbox;
  }
  EXPECT_EQ(*seen, "weightsrun\nsystems\n");
}

TEST_F(SystemTest, InASandboxALinkOfTheMachineLeadsToNoRoom) {
  std::filesystem::create_directories(directory_.File("var/home"));
  std::filesystem::create_directory_symlink("var/home", directory_.File("home"));
  std::filesystem::create_directory_symlink("var/home/room", directory_.File("room"));
  std::filesystem::create_directory_symlink("var/home/room/systems", directory_.File("systems"));
  VisibleFiles files = FilesAround(directory_.File("var/home"));
  files.tops.push_back(directory_.path());
  ASSERT_OK(WriteFileAtomically(directory_.File("var/home/other"), "secret"));
  files.hidden.push_back(directory_.File("var/home/other"));
  const std::string linked = directory_.File("home");
  const std::optional<std::string> seen =
      SeenBy(absl::StrCat("cat ", linked, "/model > seen; cat ", linked, "/other ", linked,
                          "/room/log.jsonl ", linked, "/room/systems/token ",
                          directory_.File("room/log.jsonl"), " ", directory_.File("systems/token"),
                          " >> seen"),
             files);
  if (!seen.has_value()) {
    GTEST_SKIP() << kNoSandbox;
  }
  EXPECT_EQ(*seen, "weights");
}

TEST_F(SystemTest, ASandboxThatIsNoneIsRefused) {
  std::filesystem::create_directories(directory_.File("room/run"));
  VisibleFiles files;
  files.room = directory_.File("room");
  files.run = directory_.File("room/run");
  EXPECT_THAT(Confinement::SetUp(files, "chroot"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--sandbox: expected auto")));
}

TEST_F(SystemTest, AProgramThatIsNotThereIsNamed) {
  SystemOptions options;
  options.command = {"no-such-program-here"};
  options.directory = directory_.path();
  options.log = directory_.File("log");
  EXPECT_THAT(MakeLocalSystem(clock_, options)->Answer("A.", "B?"),
              StatusIs(kUnavailable, HasSubstr("no-such-program-here")));
}

}  // namespace
}  // namespace concur::annotation
