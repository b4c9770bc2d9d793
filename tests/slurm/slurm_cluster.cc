// SPDX-License-Identifier: Apache-2.0
#include "tests/slurm/slurm_cluster.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/file.h"
#include "tests/testing/daemons.h"

namespace concur::testing {
namespace {

constexpr const char* kPrograms[] = {"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged",
                                     "/usr/bin/sbatch", "/usr/bin/squeue"};

std::string HostName() {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  return std::string(host).substr(0, std::string(host).find('.'));
}

std::string UserName() {
  const passwd* entry = getpwuid(getuid());  // NOLINT(concurrency-mt-unsafe)
  return entry == nullptr ? "root" : entry->pw_name;
}

pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or("");
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(stat).substr(std::min(stat.size(), stat.rfind(')') + 1)),
                     ' ', absl::SkipEmpty());
  pid_t parent = 0;
  return fields.size() > 1 && absl::SimpleAtoi(fields[1], &parent) ? parent : 0;
}

bool IsStepd(pid_t pid) {
  std::error_code error;
  const std::string program =
      std::filesystem::read_symlink(absl::StrCat("/proc/", pid, "/exe"), error).filename().string();
  return pid > 1 && program.find("slurmstepd") == 0;
}

}  // namespace

std::string SlurmCluster::Missing() {
  for (const char* program : kPrograms) {
    if (!std::filesystem::exists(program)) {
      return absl::StrCat(program,
                          " is not here: scripts/install-packages "
                          "scripts/packages/slurm.txt installs a Slurm");
    }
  }
  return "";
}

SlurmCluster::SlurmCluster(int nodes, int cpus_each) : cpus_each_(cpus_each) {
  for (const char* sub : {"state", "munge", "log", "spool"}) {
    std::filesystem::create_directory(File(sub));
  }
  // munged asks that nobody but the owner can write here, and everybody reach its socket.
  std::filesystem::permissions(dir_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(File("munge"), std::filesystem::perms(0711));
  controller_port_ = FreePort();
  nodes_.resize(static_cast<size_t>(nodes));
  for (int i = 0; i < nodes; ++i) {
    ports_.push_back(FreePort());
    std::filesystem::create_directory(File(absl::StrCat("spool/n", i)));
  }
}

SlurmCluster::~SlurmCluster() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    KillNode(static_cast<int>(i));
  }
  controller_.reset();
  munge_.reset();
}

std::map<std::string, std::string> SlurmCluster::Environment() const {
  return {{"SLURM_CONF", File("slurm.conf")}};
}

void SlurmCluster::WriteConfiguration() {
  const std::string user = UserName();
  std::string text = absl::StrCat(
      "ClusterName=test\nSlurmctldHost=", HostName(), "(127.0.0.1)\nAuthType=auth/munge\n",
      "AuthInfo=socket=", File("munge/s"), ",cred_expire=5\nCredType=cred/munge\nSlurmUser=", user,
      "\nSlurmdUser=", user, "\nSlurmctldPort=", controller_port_,
      "\nSlurmctldPidFile=", File("slurmctld.pid"), "\nSlurmdPidFile=", File("slurmd.%n.pid"),
      "\nStateSaveLocation=", File("state"), "\nSlurmdSpoolDir=", File("spool/%n"),
      "\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
      "JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_CPU\nSchedulerType=sched/backfill\n"
      "SchedulerParameters=sched_min_interval=20000,batch_sched_delay=1,bf_interval=5\n"
      "AccountingStorageType=accounting_storage/none\nMpiDefault=none\n"
      "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nSwitchType=switch/none\n"
      "ReturnToService=2\nSlurmdTimeout=10\nSlurmctldTimeout=10\nInactiveLimit=0\nKillWait=5\n"
      "Waittime=0\nMinJobAge=30\n");
  for (size_t i = 0; i < ports_.size(); ++i) {
    absl::StrAppend(&text, "NodeName=n", i, " NodeHostname=", HostName(),
                    " NodeAddr=127.0.0.1 Port=", ports_[i], " CPUs=", cpus_each_,
                    " RealMemory=1000 State=UNKNOWN\n");
  }
  absl::StrAppend(&text, "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
  CONCUR_CHECK_OK(WriteFileAtomically(File("slurm.conf"), text));
}

absl::Status SlurmCluster::StartMunge() {
  CONCUR_CHECK_OK(WriteFileAtomically(File("munge/key"), std::string(128, 'k'), 0600));
  munge_ = std::make_unique<Process>(
      std::vector<std::string>{"/usr/sbin/munged", "--foreground", "--force",
                               "--key-file=" + File("munge/key"), "--socket=" + File("munge/s"),
                               "--pid-file=" + File("munge/pid"), "--log-file=" + File("munge/log"),
                               "--seed-file=" + File("munge/seed"), "--num-threads=2"},
      File("log/munged"));
  for (int i = 0; i < 1000; ++i) {
    if (std::filesystem::exists(File("munge/s"))) {
      return absl::OkStatus();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return absl::UnavailableError(absl::StrCat("munged made no socket in 5 s: ",
                                             ReadFile(File("log/munged.err")).value_or("")));
}

absl::Status SlurmCluster::Start() {
  if (const absl::Status status = StartMunge(); !status.ok()) {
    return status;
  }
  WriteConfiguration();
  StartController();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    StartNode(static_cast<int>(i));
  }
  const std::string wanted = absl::StrCat(nodes_.size(), "\n");
  std::string last;
  for (int i = 0; i < 150; ++i) {
    const Output output = Run({"/usr/bin/sinfo", "--noheader", "-t", "idle", "-o", "%D"});
    if (output.out == wanted) {
      return absl::OkStatus();
    }
    last = absl::StrCat(output.out, output.err);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return absl::UnavailableError(absl::StrCat("not idle in 15 s: ", last,
                                             ReadFile(File("log/slurmctld.err")).value_or(""),
                                             ReadFile(File("log/slurmd-0.err")).value_or("")));
}

Output SlurmCluster::Run(const std::vector<std::string>& argv) const {
  return Cluster::Run(argv, File("run"), Environment());
}

int SlurmCluster::JobCount() const {
  const Output output = Run({"/usr/bin/squeue", "--noheader", "--array", "-o", "%i"});
  if (output.exit_code != 0) {
    return -1;
  }
  return static_cast<int>(std::count(output.out.begin(), output.out.end(), '\n'));
}

void SlurmCluster::KillController() {
  controller_->Signal(SIGKILL);
  controller_->Wait();
  controller_.reset();
}

void SlurmCluster::StartController() {
  controller_ = std::make_unique<Process>(std::vector<std::string>{"/usr/sbin/slurmctld", "-D"},
                                          File("log/slurmctld"), Environment());
}

void SlurmCluster::KillNode(int node) {
  auto& slurmd = nodes_[static_cast<size_t>(node)];
  if (slurmd != nullptr) {
    slurmd->Signal(SIGKILL);
    slurmd->Wait();
    slurmd.reset();
  }
  // Processes that jobs run there, and the slurmstepd processes that started them.
  for (const pid_t pid : ProcessesWith(
           {absl::StrCat("SLURMD_NODENAME=n", node), "SLURM_CONF=" + File("slurm.conf")})) {
    if (const pid_t parent = ParentOf(pid); IsStepd(parent)) {
      kill(parent, SIGKILL);
    }
    kill(pid, SIGKILL);
  }
}

void SlurmCluster::StartNode(int node) {
  nodes_[static_cast<size_t>(node)] = std::make_unique<Process>(
      std::vector<std::string>{"/usr/sbin/slurmd", "-D", "-N", absl::StrCat("n", node)},
      File(absl::StrCat("log/slurmd-", node)), Environment());
}

}  // namespace concur::testing
