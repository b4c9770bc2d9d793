// SPDX-License-Identifier: Apache-2.0
// A trained system that answers on a worker: its coordinator finds one and carries the questions
// there. A thread keeps the stream; when it breaks, it opens another one and asks again.
#ifndef CONCUR_CLI_PROGRAMS_CONCUR_ANNOTATE_REMOTE_SYSTEM_H_
#define CONCUR_CLI_PROGRAMS_CONCUR_ANNOTATE_REMOTE_SYSTEM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "annotation/system.h"
#include "rpc/credentials.h"

namespace concur::cli {

struct RemoteSystemOptions {
  std::string address;  // of the coordinator
  rpc::CredentialFiles credentials;
  std::string job;                   // "s1/12"
  std::vector<std::string> command;  // its approach's `serve`
  absl::Duration answer_max = absl::Seconds(20);
  // Called by the thread with what changes, a line for whoever runs this; null: nobody reads it.
  std::function<void(const std::string&)> on_change;
};

// Answer waits as long as a system may take for its first answer, whether a worker has it or not:
// who asks again is answered by the worker that has it then.
class RemoteSystem : public annotation::System {
 public:
  // Errors as those of rpc::LoadCredentials and rpc::MakeChannel.
  static absl::StatusOr<std::unique_ptr<RemoteSystem>> Open(RemoteSystemOptions options);

  // Waits for what the coordinator says first: how many places of workers could have the system,
  // taken ones included. What it refuses, as it says it.
  virtual absl::StatusOr<size_t> CountPlaces() = 0;
  // Waits until a worker has the system, as long as there are places for it. False: none has it.
  virtual bool AwaitWorker(absl::Duration wait_max) = 0;
  // As Answer, without limit of time while no worker has said anything about it.
  virtual absl::StatusOr<std::string> AnswerAtLast(const std::string& passage,
                                                   const std::string& question) = 0;
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_PROGRAMS_CONCUR_ANNOTATE_REMOTE_SYSTEM_H_
