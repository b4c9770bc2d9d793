// SPDX-License-Identifier: Apache-2.0
// An executor whose jobs run in environments, and a root of busybox alone.
#ifndef CONCUR_TESTS_WORKER_ENVIRONMENTS_ENVIRONMENT_FIXTURE_H_
#define CONCUR_TESTS_WORKER_ENVIRONMENTS_ENVIRONMENT_FIXTURE_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process/run_program.h"
#include "tests/worker/execution/executor_fixture.h"
#include "worker/environments/environments.h"

namespace concur::worker {

class EnvironmentFixture : public ExecutorFixture {
 protected:
  static constexpr char kBusybox[] = "/bin/busybox";

  void TearDown() override { executor_.reset(); }

  void Start(const std::vector<std::string>& kinds,
             std::map<std::string, std::string> base = process::BaseEnvironment()) {
    executor_.reset();
    environments_ = Environments::Open({.kinds = kinds,
                                        .directory = temp_.File("environments"),
                                        .work_directory = temp_.File("work"),
                                        .base = std::move(base)});
    options_.environments = environments_.get();
    Reopen();
  }

  // A root of busybox alone, as a tar.
  void MakeRoot() {
    const std::string root = temp_.File("root");
    ASSERT_OK(MakeDirectories(root + "/bin"));
    std::filesystem::copy_file(kBusybox, root + "/bin/busybox");
    for (const char* name : {"sh", "cat", "touch", "sleep", "test", "ls", "id", "kill", "head",
                             "tr", "setsid", "env", "chown", "mkdir", "chmod", "mount"}) {
      std::filesystem::create_symlink("busybox", absl::StrCat(root, "/bin/", name));
    }
    process::Command tar;
    tar.program = "/bin/tar";
    tar.argv = {"tar", "-C", root, "-cf", temp_.File("root.tar"), "."};
    tar.directory = root;
    ASSERT_OK_AND_ASSIGN(const process::ProgramEnd end, process::RunProgram(tar, {}));
    ASSERT_EQ(end.exit_code, 0) << end.output;
    ASSERT_OK_AND_ASSIGN(root_tar_, ReadFile(temp_.File("root.tar")));
  }

  // The order in that root.
  JobOrder In(JobOrder order, std::vector<std::string> setup = {}) {
    Environment& environment = order.environment.emplace();
    environment.digest = transfer_.Add(root_tar_);
    environment.path = "root.tar";
    environment.setup = std::move(setup);
    return order;
  }
  std::string LogOf(const JobResult& result) { return ReadArtifact(result, ArtifactKind::kLog); }

  std::unique_ptr<Environments> environments_;
  std::string root_tar_;
};

}  // namespace concur::worker

#endif  // CONCUR_TESTS_WORKER_ENVIRONMENTS_ENVIRONMENT_FIXTURE_H_
