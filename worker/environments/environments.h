// SPDX-License-Identifier: Apache-2.0
// The environments of approaches on this machine: which kinds a worker can build and run, building
// them, and how a command is started in one.
//
// Thread-safe after Open; builds block.
#ifndef CONCUR_WORKER_ENVIRONMENTS_ENVIRONMENTS_H_
#define CONCUR_WORKER_ENVIRONMENTS_ENVIRONMENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/process/process.h"
#include "base/process/sandbox.h"
#include "core/labels.h"
#include "core/result.h"
#include "core/sweep/environment.h"
#include "core/sync/job_order.h"
#include "worker/environments/environment_cache.h"
#include "worker/inputs/run_dir.h"

namespace concur::worker {

struct EnvironmentOptions {
  std::vector<std::string> kinds;                      // as WorkerOptions::environments
  std::string directory;                               // the cache's
  int64_t bytes_max = 0;                               // the cache's; 0: no limit
  std::string work_directory;                          // for what sandboxes leave; its lock is held
  std::map<std::string, std::string> base;             // as BaseEnvironment
  std::map<std::string, std::string> build_only = {};  // more for programs that build
  // The image of the container that this worker runs in; "": none that it knows. Its jobs find its
  // programs, and `image_variables`, as they are.
  std::string image = {};
  std::map<std::string, std::string> image_variables = {};
};

// An environment that is ready, and stays so for as long as this lives.
struct ReadyEnvironment {
  EnvironmentKind kind = EnvironmentKind::kRoot;
  HeldEnvironmentPtr held;                                          // null: the worker's own image
  std::vector<std::pair<std::string, std::string>> variables = {};  // that an image sets
};

class Environments {
 public:
  // Whatever is not there is no error: the labels say less.
  static std::unique_ptr<Environments> Open(EnvironmentOptions options);

  // Labels that the worker tells of itself (core/sweep/environment.h).
  const Labels& labels() const { return labels_; }
  // Why a kind that was asked for is not there, a line each.
  const std::vector<std::string>& missing() const { return missing_; }

  using Fetch = std::function<absl::StatusOr<std::string>()>;  // gives the artifact's path
  using IsCanceled = std::function<bool()>;
  // Builds the environment unless it is there. Unavailable: another one builds it now. Other errors
  // say what failed, with the end of what programs printed; ClassOfBuildError has their class.
  absl::StatusOr<ReadyEnvironment> Get(const Environment& environment, const Fetch& fetch,
                                       const IsCanceled& is_canceled);

  // The command of an attempt, to be started in its environment. `gpu_names` as BuildEnvironment.
  // NotFound when its program is not there.
  absl::StatusOr<process::Command> CommandFor(const ReadyEnvironment& environment,
                                              const JobOrder& order, const RunPaths& paths,
                                              const std::vector<std::string>& argv,
                                              const std::vector<std::string>& gpu_names) const;
  // As Sandbox::SparesLauncher, of what CommandFor returns.
  bool SparesLauncher(const ReadyEnvironment& environment) const;

 private:
  explicit Environments(EnvironmentOptions options) : options_(std::move(options)) {}

  void FindSandbox();
  void FindBuilders();
  absl::StatusOr<std::string> FindTool(absl::string_view name) const;

  absl::Status Build(const Environment& environment, const Fetch& fetch,
                     const IsCanceled& is_canceled, const std::string& directory,
                     const std::string& log) const;
  absl::Status BuildRoot(const Environment& environment, const Fetch& fetch,
                         const IsCanceled& is_canceled, const std::string& directory,
                         const std::string& log) const;
  absl::Status BuildVenv(const Environment& environment, const Fetch& fetch,
                         const IsCanceled& is_canceled, const std::string& directory,
                         const std::string& log) const;
  absl::Status BuildConda(const Environment& environment, const Fetch& fetch,
                          const IsCanceled& is_canceled, const std::string& directory,
                          const std::string& log) const;
  absl::StatusOr<std::string> PullImage(const Environment& environment,
                                        const IsCanceled& is_canceled, const std::string& directory,
                                        const std::string& log) const;
  absl::Status RunSetup(const Environment& environment, const IsCanceled& is_canceled,
                        const std::string& directory, const std::string& log) const;
  absl::StatusOr<process::Command> SetupCommand(const Environment& environment,
                                                const std::string& line,
                                                const std::string& directory) const;
  absl::Status RunTool(const std::vector<std::string>& argv, const std::string& directory,
                       const IsCanceled& is_canceled, const std::string& log,
                       absl::StatusCode failed) const;

  // Constant after Open.
  const EnvironmentOptions options_;
  std::unique_ptr<process::Sandbox> sandbox_;  // null: none
  std::vector<std::string> puller_;  // a program that gets images from registries: its path
  std::string conda_;                // "": none
  Labels labels_;
  std::vector<std::string> missing_;

  std::unique_ptr<EnvironmentCache> cache_;  // own synchronization
};

// Class of an error of Environments::Get.
FailureClass ClassOfBuildError(const absl::Status& status);

// Variables of this process that programs need to reach package indexes: PIP_INDEX_URL,
// https_proxy and the like.
std::map<std::string, std::string> BuildVariables();

// Variables of this process that the image of its container sets: all but those of Concur, of
// Kubernetes and of the pod. The pod's own stand in kPodVariables, divided by commas; of them
// `env_pass` are left.
std::map<std::string, std::string> ImageVariables(const std::vector<std::string>& env_pass);

}  // namespace concur::worker

#endif  // CONCUR_WORKER_ENVIRONMENTS_ENVIRONMENTS_H_
