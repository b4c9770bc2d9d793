// SPDX-License-Identifier: Apache-2.0
#include "tests/gridengine/gridengine_cluster.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "tests/testing/daemons.h"

namespace concur::testing {
namespace {

constexpr const char* kPrograms[] = {"/usr/sbin/sge_qmaster", "/usr/sbin/sge_execd",
                                     "/usr/bin/qsub", "/usr/lib/gridengine/spoolinit"};

}  // namespace

std::string GridEngineCluster::Missing() {
  for (const char* program : kPrograms) {
    if (!std::filesystem::exists(program)) {
      return absl::StrCat(program,
                          " is not here: scripts/install-packages "
                          "scripts/packages/gridengine.txt installs a Grid Engine");
    }
  }
  return geteuid() == 0 ? "" : "Grid Engine's daemons want to be root";
}

GridEngineCluster::GridEngineCluster(int slots)
    : slots_(slots), master_port_(FreePort()), host_port_(FreePort()) {
  std::filesystem::create_directory(File("log"));
}

GridEngineCluster::~GridEngineCluster() {
  host_.reset();
  master_.reset();
  for (const pid_t pid : ProcessesWith({"SGE_ROOT=" + File("sge")})) {
    kill(pid, SIGKILL);
  }
}

std::map<std::string, std::string> GridEngineCluster::Environment() const {
  return {{"SGE_ROOT", File("sge")},
          {"SGE_CELL", "default"},
          {"SGE_ND", "1"},  // daemons stay in the foreground
          {"SGE_QMASTER_PORT", absl::StrCat(master_port_)},
          {"SGE_EXECD_PORT", absl::StrCat(host_port_)}};
}

Output GridEngineCluster::Run(const std::vector<std::string>& argv) const {
  return Cluster::Run(argv, File("run"), Environment());
}

absl::Status GridEngineCluster::MakeCell(const std::vector<std::string>& step) const {
  const char* source = std::getenv("CONCUR_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> argv = {
      absl::StrCat(source == nullptr ? "." : source, "/tests/gridengine/make-cell")};
  argv.insert(argv.end(), step.begin(), step.end());
  const Output output = Run(argv);
  return output.exit_code == 0 ? absl::OkStatus() : absl::UnavailableError(output.err);
}

absl::Status GridEngineCluster::Await(const std::vector<std::string>& argv,
                                      const std::string& sign) const {
  std::string last;
  for (int i = 0; i < 300; ++i) {
    const Output output = Run(argv);
    if (output.exit_code == 0 && absl::StrContains(output.out, sign)) {
      return absl::OkStatus();
    }
    last = absl::StrCat(output.out, output.err);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return absl::UnavailableError(absl::StrCat(argv[0], " does not show ", sign, " in 30 s: ", last,
                                             ReadFile(File("log/master.err")).value_or(""),
                                             ReadFile(File("log/host.err")).value_or("")));
}

absl::Status GridEngineCluster::Start() {
  CONCUR_RETURN_IF_ERROR(MakeCell({"files"}));
  StartMaster();
  CONCUR_RETURN_IF_ERROR(Await({"/usr/bin/qconf", "-sconf"}, "global"));
  CONCUR_RETURN_IF_ERROR(MakeCell({"host", absl::StrCat(slots_)}));
  host_ = std::make_unique<Process>(std::vector<std::string>{"/usr/sbin/sge_execd"},
                                    File("log/host"), Environment());
  return Await({"/usr/bin/qhost"}, "lx-");
}

std::string GridEngineCluster::WhatEverybodySees() const {
  std::string seen = absl::StrCat(Run({"/usr/bin/qstat", "-u", "*", "-ext"}).out,
                                  Run({"/usr/bin/qstat", "-j", "*"}).out);
  std::error_code error;  // set by what vanishes meanwhile
  for (std::filesystem::recursive_directory_iterator it(
           File("sge"), std::filesystem::directory_options::skip_permission_denied, error);
       it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    struct stat info {};
    if (stat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        (info.st_mode & S_IROTH) != 0) {
      absl::StrAppend(&seen, ReadFile(it->path().string()).value_or(""));
    }
  }
  return seen;
}

int GridEngineCluster::JobCount() const {
  const Output output = Run({"/usr/bin/qstat", "-u", "*"});
  if (output.exit_code != 0) {
    return -1;
  }
  // Two lines of a head, if there is any.
  return std::max(0, static_cast<int>(std::count(output.out.begin(), output.out.end(), '\n')) - 2);
}

void GridEngineCluster::KillMaster() {
  master_->Signal(SIGKILL);
  master_->Wait();
}

void GridEngineCluster::StartMaster() {
  master_ = std::make_unique<Process>(std::vector<std::string>{"/usr/sbin/sge_qmaster"},
                                      File("log/master"), Environment());
}

}  // namespace concur::testing
