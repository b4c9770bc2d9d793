// SPDX-License-Identifier: Apache-2.0
// The batch script of Slurm's pilots, run by bash beside a worker and a scontrol that are scripts.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "base/http/listener.h"
#include "base/metrics/status_server.h"
#include "base/run_command.h"
#include "coordinator/provision/slurm_text.h"
#include "tests/testing/test.h"

namespace concur::provision {
namespace {

class PilotScriptTest : public ::testing::Test {
 protected:
  PilotScriptTest() {
    for (const char* name : {"base", "bin", "home"}) {
      std::filesystem::create_directory(dir_.File(name));
    }
    setup_.coordinator_id = "ab12";
    setup_.coordinator = "head:7447";
    setup_.worker_program = dir_.File("bin/concur-worker");
    pool_.name = "cpu";
    pool_.provider = ProviderKind::kSlurm;
    pool_.work_directory = dir_.File("base");
    Program("concur-worker", "env > $TOLD.env; echo \"$@\" > $TOLD.worker");
    // Profiles of the machine set PATH anew.
    std::ofstream(dir_.File("home/.profile")) << "PATH=" << dir_.File("bin") << ":$PATH\n";
    Program("scontrol", "printf '%s\\n' \"$@\" > $TOLD.scontrol");
  }
  void Program(const std::string& name, const std::string& script) {
    const std::string path = dir_.File("bin/" + name);
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  // Runs the script of "cpu-7" as slurmd would.
  CommandResult Run() {
    const std::string path = dir_.File("slurm_script");
    std::ofstream(path) << SlurmScript(pool_, setup_, {"cpu-7"});
    chmod(path.c_str(), 0700);
    CommandRequest request;
    request.argv = {path};
    request.env = {{"TOLD", dir_.File("told")},
                   {"SLURM_JOB_ID", "42"},
                   {"HOME", dir_.File("home")},
                   {"PATH", dir_.File("bin") + ":/usr/bin:/bin"}};
    const absl::StatusOr<CommandResult> result = RunCommand(request);
    EXPECT_OK(result.status());
    return result.value_or(CommandResult{-1, "", ""});
  }
  std::string Told(const std::string& what) const {
    return ReadFile(dir_.File("told." + what)).value_or("");
  }
  // The directory that pilot "cpu-NUMBER" has left, of this host or another.
  std::string Leave(const std::string& number, const std::string& host) {
    const std::string path = dir_.File("base/concur-ab12-cpu-" + number);
    std::filesystem::create_directory(path);
    std::ofstream(path + "/lock");
    std::ofstream(path + "/host") << host << "\n";
    return path;
  }
  static std::string Host() {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return host;
  }

  TempDir dir_;
  PilotSetup setup_;
  PoolSpec pool_;
};

TEST_F(PilotScriptTest, TheWorkerRunsAndNothingIsLeft) {
  const CommandResult result = Run();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Told("worker"), HasSubstr("--name cpu-7 --work-dir " + dir_.File("base")));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("base")));
}

// A pilot that was canceled before it had a worker left its directory.
TEST_F(PilotScriptTest, APilotThatIsCanceledEarlyLeavesNothing) {
  pool_.setup = {"kill -TERM $$", "true"};
  const CommandResult result = Run();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_EQ(Told("scontrol"), "") << "its setup did not fail";
  EXPECT_EQ(Told("worker"), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("base")));
}

// Names in /tmp can be guessed: another user made the directory, or a link to one, before.
TEST_F(PilotScriptTest, ADirectoryThatAnotherMadeIsRefused) {
  const std::string path = dir_.File("base/concur-ab12-cpu-7");
  std::filesystem::create_directory_symlink(dir_.File("home"), path);
  CommandResult result = Run();
  EXPECT_EQ(result.exit_code, 72);
  EXPECT_THAT(result.err, HasSubstr(path + " cannot be made, or is another user's"));
  EXPECT_TRUE(std::filesystem::exists(dir_.File("home/.profile")));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  if (chown(path.c_str(), 65534, 65534) == 0) {  // as root alone
    result = Run();
    EXPECT_EQ(result.exit_code, 72);
    EXPECT_THAT(result.err, HasSubstr("is another user's"));
    ASSERT_EQ(chown(path.c_str(), geteuid(), getegid()), 0);
  }
  EXPECT_EQ(Told("worker"), "");
  chmod(path.c_str(), 0777);
  Program("concur-worker", "stat -c %a " + path + " > $TOLD.mode; touch $TOLD.worker");
  EXPECT_EQ(Run().exit_code, 0) << "an earlier try of the same pilot left it";
  EXPECT_EQ(Told("mode"), "700\n");
}

// Program that a coordinator offers, in a file of its machine, that tells when it runs.
class OfferedWorkerTest : public PilotScriptTest {
 protected:
  OfferedWorkerTest() {
    Program("static", "echo \"$0 $@\" > $TOLD.offered");
    offered_.file = dir_.File("bin/static");
    const std::string program = ReadFile(offered_.file).value_or("");
    offered_.digest = Sha256Of(program).ToHex();
    offered_.bytes = static_cast<int64_t>(program.size());
    std::filesystem::remove(dir_.File("bin/concur-worker"));
    Program("sleep", "echo \"$1\" >> $TOLD.sleep");  // the pauses between tries
  }
  // Serves `file` as the offered one.
  void Serve(const std::string& file) {
    StatusPages pages;
    pages.files[OfferedWorkerPage(offered_)] = file;
    absl::StatusOr<std::unique_ptr<StatusServer>> server =
        StatusServer::Start("127.0.0.1:0", pages);
    ASSERT_OK(server);
    server_ = *std::move(server);
    const std::string& address = server_->address();
    offered_.port = std::stoi(address.substr(address.rfind(':') + 1));
    setup_.coordinator = "127.0.0.1:7447";
  }
  CommandResult RunOffered() {
    setup_.offered_worker = offered_;
    return Run();
  }

  OfferedWorker offered_;
  std::unique_ptr<StatusServer> server_;
};

TEST_F(OfferedWorkerTest, TheSameFileOfTheNodeRuns) {
  const CommandResult result = RunOffered();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Told("offered"), HasSubstr(offered_.file + " --name cpu-7 "));
}

TEST_F(OfferedWorkerTest, ANodeWithoutItFetchesItAndKeepsNothing) {
  std::filesystem::rename(offered_.file, dir_.File("served"));
  Serve(dir_.File("served"));
  const CommandResult result = RunOffered();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Told("offered"),
              HasSubstr(dir_.File("base/concur-ab12-cpu-7/concur-worker") + " --name cpu-7 "));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("base")));
}

TEST_F(OfferedWorkerTest, SetupMayChangeTheDirectory) {
  std::filesystem::rename(offered_.file, dir_.File("served"));
  Serve(dir_.File("served"));
  pool_.setup = {"cd " + dir_.File("home")};
  EXPECT_EQ(RunOffered().exit_code, 0);
  EXPECT_THAT(Told("offered"), HasSubstr("/concur-worker --name cpu-7 "));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("home/concur-worker")));
  server_.reset();
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("Connection refused"));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("home/fetch.err")));
}

// One of another processor, or on a file system without programs, left the installed one unused.
TEST_F(OfferedWorkerTest, AWorkerThatDoesNotRunHereIsPassedOver) {
  chmod(offered_.file.c_str(), 0644);
  Serve(offered_.file);
  EXPECT_EQ(RunOffered().exit_code, 0);
  EXPECT_THAT(Told("offered"), HasSubstr("/concur-ab12-cpu-7/concur-worker --name cpu-7 "));
  server_.reset();
  std::ofstream(offered_.file) << std::string("\177ELF\2\1\1\0of another machine", 26);
  chmod(offered_.file.c_str(), 0755);
  const std::string program = ReadFile(offered_.file).value_or("");
  offered_.digest = Sha256Of(program).ToHex();
  offered_.bytes = static_cast<int64_t>(program.size());
  Serve(offered_.file);
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("Exec format error"));
  Program("concur-worker", "echo installed > $TOLD.worker");
  EXPECT_EQ(RunOffered().exit_code, 0);
  EXPECT_EQ(Told("worker"), "installed\n");
}

// A coordinator that accepts and says nothing. Its `timeout` is shorter here.
TEST_F(OfferedWorkerTest, AFetchHasADeadline) {
  std::filesystem::remove(offered_.file);
  const absl::StatusOr<http::Listener> silent = http::Listen({"127.0.0.1", 0});
  ASSERT_OK(silent);
  offered_.port = silent->endpoint.port;
  setup_.coordinator = "127.0.0.1:7447";
  Program("timeout", "shift; exec /usr/bin/timeout 0.2 \"$@\"");
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("it took more than 300 s"));
}

TEST_F(OfferedWorkerTest, APilotThatIsCanceledWhileItFetchesEndsAtOnce) {
  std::filesystem::remove(offered_.file);
  offered_.port = 9;
  setup_.coordinator = "127.0.0.1:7447";
  Program("timeout", "echo $$ > $TOLD.pid; kill -TERM $PPID; exec /bin/sleep 60");
  EXPECT_EQ(RunOffered().exit_code, 143);
  EXPECT_NE(kill(std::stoi(Told("pid")), 0), 0) << "the fetch lives on";
  EXPECT_EQ(Told("scontrol"), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("base")));
}

TEST_F(OfferedWorkerTest, AFetchIsTriedThriceUnlessTheCoordinatorHasAnotherWorker) {
  std::filesystem::rename(offered_.file, dir_.File("served"));
  Serve(dir_.File("served"));
  const std::string digest = std::exchange(offered_.digest, std::string(64, '0'));
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("404: the coordinator has another worker by now"));
  EXPECT_EQ(Told("sleep"), "");
  offered_.digest = digest;
  server_.reset();
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_EQ(Told("sleep"), "2\n10\n");
}

// The first of two coordinators is a stand-by, or is gone.
TEST_F(OfferedWorkerTest, EachOfSeveralCoordinatorsIsAskedForTheWorker) {
  std::filesystem::rename(offered_.file, dir_.File("served"));
  Serve(dir_.File("served"));
  setup_.coordinator = "127.0.0.2:7447,unix:/run/concur,127.0.0.1:7447";
  EXPECT_EQ(RunOffered().exit_code, 0);
  EXPECT_THAT(Told("offered"), HasSubstr("/concur-worker --name cpu-7 "));
  EXPECT_THAT(Told("offered"), HasSubstr("--coordinator " + setup_.coordinator));
}

// A coordinator whose own address is local, and one pool that comes from elsewhere.
TEST_F(OfferedWorkerTest, APortOfThisMachineAloneIsForPoolsOfThisMachine) {
  std::filesystem::rename(offered_.file, dir_.File("served"));
  Serve(dir_.File("served"));
  offered_.is_local = true;
  pool_.coordinator = "head.example.org:7447";
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("it needs metrics_listen"));
  std::swap(pool_.coordinator, setup_.coordinator);
  EXPECT_EQ(RunOffered().exit_code, 0);
}

// An old worker under the same path, and the offered one on a network with somebody in between.
TEST_F(OfferedWorkerTest, AnotherFileThanTheOfferedOneNeverRuns) {
  Program("static", "echo \"$0\" > $TOLD.offered");
  Serve(offered_.file);
  const CommandResult result = RunOffered();
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(Told("offered"), "");
  EXPECT_THAT(Told("scontrol"), AllOf(HasSubstr("Comment=setup failed: there is no " +
                                                dir_.File("bin/concur-worker") + " here"),
                                      HasSubstr("what it sent is another file")));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("base")));
}

TEST_F(OfferedWorkerTest, AnInstalledWorkerRunsWhereTheOfferedOneCannotBeHad) {
  Program("concur-worker", "echo installed > $TOLD.worker");
  std::filesystem::remove(offered_.file);
  EXPECT_EQ(RunOffered().exit_code, 0) << "it is served nowhere";
  EXPECT_EQ(Told("worker"), "installed\n");
  Serve(dir_.File("bin/concur-worker"));
  server_.reset();
  std::filesystem::remove(dir_.File("told.worker"));
  EXPECT_EQ(RunOffered().exit_code, 0) << "nobody listens there";
  EXPECT_EQ(Told("worker"), "installed\n");
}

TEST_F(OfferedWorkerTest, WithoutAnyWorkerThePilotSaysWhatToDo) {
  std::filesystem::remove(offered_.file);
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("it needs metrics_listen"));
  Serve(dir_.File("bin/scontrol"));
  server_.reset();
  EXPECT_EQ(RunOffered().exit_code, 78);
  EXPECT_THAT(Told("scontrol"), HasSubstr("Connection refused"));
}

TEST_F(OfferedWorkerTest, AProgramThatThePoolNamesComesFirst) {
  Program("mine", "echo mine > $TOLD.worker");
  pool_.worker_program = dir_.File("bin/mine");
  EXPECT_EQ(RunOffered().exit_code, 0);
  EXPECT_EQ(Told("worker"), "mine\n");
}

// A `module load` that failed was ignored, and jobs failed one after the other.
TEST_F(PilotScriptTest, ASetupLineThatFailsEndsThePilotAndIsNamedInTheJobsComment) {
  pool_.setup = {"if true; then", "export A=1", "fi", "nothing-like-it --load cuda"};
  const CommandResult result = Run();
  EXPECT_EQ(result.exit_code, 78);
  const std::string why = "setup failed: line 4, nothing-like-it --load cuda (exit code 127): ";
  EXPECT_THAT(result.err, AllOf(HasSubstr(why), HasSubstr("command not found")));
  EXPECT_THAT(Told("scontrol"), AllOf(HasSubstr("update\nJobId=42\nComment=" + why),
                                      HasSubstr("command not found\n")));
  EXPECT_EQ(Told("worker"), "") << "no worker was started";
  EXPECT_TRUE(std::filesystem::is_empty(dir_.File("base")));
}

TEST_F(PilotScriptTest, ASetupThatEndsTheScriptIsAFailure) {
  pool_.setup = {"exit 0"};
  const CommandResult result = Run();
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(Told("scontrol"),
              HasSubstr("Comment=setup failed: it ended the script (exit code 0)"));
}

// Functions such as `module` have commands that fail inside, and are well in the end.
TEST_F(PilotScriptTest, WhatAProfileDefinesWorksAndVariablesReachTheWorker) {
  std::ofstream(dir_.File("home/.bash_profile"))
      << "module() { false; [ \"$1\" = load ] && export CUDA_HOME=/opt/$2; }\nPATH=/usr/bin\n";
  pool_.setup = {"module load cuda", "grep -q nothing /dev/null || true"};
  const CommandResult result = Run();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Told("env"), AllOf(HasSubstr("CUDA_HOME=/opt/cuda\n"),
                                 HasSubstr("PATH=" + dir_.File("bin") + ":/usr/bin:")))
      << "the worker's directory, the profile's PATH, the submitted one";
  EXPECT_EQ(Told("scontrol"), "");
}

TEST_F(PilotScriptTest, TheNextPilotOnANodeRemovesWhatAKilledOneLeft) {
  const std::string killed = Leave("1", Host());
  const std::string elsewhere = Leave("2", "another-node");
  const std::string alive = Leave("3", Host());
  const FileDescriptor lock(open((alive + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const std::string foreign = dir_.File("base/concur-ffff-cpu-1");
  std::filesystem::create_directory(foreign);
  EXPECT_EQ(Run().exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(killed));
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

// The worker holds the lock as long as it lives, also when the shell above it was killed.
TEST_F(PilotScriptTest, ARunningPilotsDirectoryIsLocked) {
  Program("concur-worker", "flock -n " + dir_.File("base") +
                               "/concur-ab12-cpu-7/lock true && echo free > $TOLD.lock || "
                               "echo taken > $TOLD.lock");
  EXPECT_EQ(Run().exit_code, 0);
  EXPECT_EQ(Told("lock"), "taken\n");
}

}  // namespace
}  // namespace concur::provision
