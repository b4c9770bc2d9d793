// SPDX-License-Identifier: Apache-2.0
// Services that listen on a unix socket, without a sandbox and in each that works on this machine.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/test.h"
#include "tests/worker/environments/environment_fixture.h"

namespace concur::worker {
namespace {

constexpr char kPerl[] = "/usr/bin/perl";  // connects to unix sockets without further files

// Answers each request of HTTP, and outlives those that only connect. A sandbox lets it put no link
// in the place of the socket's folder, which jobs would follow.
constexpr char kServe[] = R"(
($folder = $ARGV[0]) =~ s/.s$//;
if ($ARGV[1]) { rename($folder, "$folder.old") and die "the folder was moved" }
$SIG{PIPE} = "IGNORE";
socket(S, 1, 1, 0); bind(S, pack("S a108", 1, $ARGV[0])) or die "$ARGV[0]: $!"; listen(S, 8);
while (accept(C, S)) { sysread(C, $asked, 4096); syswrite(C, "HTTP/1.1 200 OK\r\n\r\nhello"); close(C) })";

// Prints the answer, and the variables of services.
constexpr char kAsk[] = R"(
socket(S, 1, 1, 0); connect(S, pack("S a108", 1, $ARGV[0])) or die "$ARGV[0]: $!";
syswrite(S, "GET / HTTP/1.1\r\n\r\n"); while (<S>) { print }
print "\n"; print "$_=$ENV{$_}\n" for grep { /^CONCUR_SERVICE/ } sort keys %ENV; exit 3)";

class ServiceSocketTest : public EnvironmentFixture,
                          public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kBusybox) || !std::filesystem::exists(kPerl)) {
      GTEST_SKIP() << "no " << kBusybox << " or no " << kPerl;
    }
    if (GetParam() == "none") {
      Reopen();
      return;
    }
    Start({GetParam()});
    if (!environments_->labels().contains(kSandboxLabel)) {
      GTEST_SKIP() << environments_->missing()[0];
    }
    process::Command copy;
    copy.program = "/bin/sh";
    copy.argv = {"sh", "-c", "cp -L --parents $0 $(ldd $0 | grep -o '/[^ ]*') $1", kPerl,
                 temp_.File("root")};
    copy.directory = temp_.path();
    ASSERT_OK(MakeDirectories(temp_.File("root")));
    ASSERT_OK_AND_ASSIGN(const process::ProgramEnd end, process::RunProgram(copy, {}));
    ASSERT_EQ(end.exit_code, 0) << end.output;
    MakeRoot();
  }
  // An eval job of this perl program, or, with a place, the service that it asks there.
  JobOrder Perl(const char* program, const std::string& argument) {
    JobOrder order = Eval("");
    order.command = {kPerl, "-e", Escaped(program), argument};
    return GetParam() == "none" ? order : In(order);
  }
  JobOrder Service(uint32_t place, const char* ready_http) {
    JobOrder order = Perl(kServe, "{socket}");
    order.command.push_back(GetParam() == "none" ? "" : "in a sandbox");
    order.id = {JobId{{1}, 99}.Service(place), {1}};
    order.ready_http = ready_http;
    return order;
  }
  void StartAndWait(const JobOrder& order) {
    executor_->Start(order);
    const absl::Time deadline = absl::Now() + kDeadline;
    while (executor_->PollReady().empty()) {
      for (const ExecutorReport& report : executor_->Poll()) {
        FAIL() << report.finished.result.message << LogOf(report.finished.result);
      }
      ASSERT_LT(absl::Now(), deadline) << executor_->ReadLog(order.id, 0, 4096);
      waker_.Wait(absl::Milliseconds(20));
    }
  }
};

TEST_P(ServiceSocketTest, JobsAskASocketOfTheirUserWhichIsGoneAtTheEnd) {
  const JobOrder own = Service(0, "/health");
  const JobOrder judge = Service(1, "");
  StartAndWait(own);
  StartAndWait(judge);
  const std::string folder = absl::StrCat(temp_.File("work/runs/"), RunName(own.id), "/socket");
  struct stat info {};
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(info.st_uid, geteuid());
  ASSERT_EQ(stat(absl::StrCat(folder, "/s").c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));

  for (const char* asked : {"{service.socket}", "{service.my-judge.socket}"}) {
    JobOrder job = Perl(kAsk, asked);
    job.services = {{"", own.id}, {"my-judge", judge.id}};
    const JobResult result = Run(job);
    EXPECT_EQ(result.failure, FailureClass::kFailed) << result.message;  // not of the service
    EXPECT_EQ(result.exit_code, 3) << LogOf(result);
    EXPECT_THAT(LogOf(result), HasSubstr("hello\nCONCUR_SERVICE_MY_JUDGE_SOCKET="));
    EXPECT_THAT(LogOf(result), HasSubstr(absl::StrCat("\nCONCUR_SERVICE_SOCKET=", folder, "/s\n")));
  }
  executor_->Stop(own.id, StopCause::kCanceled, /*at_once=*/true);
  EXPECT_EQ(Next().finished.id, own.id);
  // Nobody answers it any more: that is no fault of a job.
  JobOrder late = Perl(kAsk, "{service.socket}");
  late.services = {{"", own.id}};
  EXPECT_EQ(Run(late).failure, FailureClass::kService);
  executor_->Forget(own.id);
  const absl::Time deadline = absl::Now() + kDeadline;
  while (std::filesystem::exists(folder)) {
    ASSERT_LT(absl::Now(), deadline);
    waker_.Wait(absl::Milliseconds(20));
  }
}

TEST_P(ServiceSocketTest, APathThatIsTooLongForASocketIsRefusedWithItsRemedy) {
  options_.run_directory = temp_.File(std::string(80, 'x'));
  Reopen();
  const JobResult result = Run(Service(0, ""));
  EXPECT_EQ(result.failure, FailureClass::kWorker);
  EXPECT_THAT(result.message, HasSubstr("the path of a unix socket has at most 107 bytes, and "));
  EXPECT_THAT(result.message, HasSubstr("give the worker a shorter --run-dir"));
}

INSTANTIATE_TEST_SUITE_P(Sandboxes, ServiceSocketTest,
                         ::testing::Values("none", "bubblewrap", "podman"),
                         [](const auto& sandbox) { return sandbox.param; });

}  // namespace
}  // namespace concur::worker
