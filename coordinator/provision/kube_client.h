// SPDX-License-Identifier: Apache-2.0
// The calls of the Kubernetes API that pools need, over HTTP.
//
// Every call has one of KubeRights(), which are also what k8s/base/rbac.yaml grants.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_PROVISION_KUBE_CLIENT_H_
#define CONCUR_COORDINATOR_PROVISION_KUBE_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/http/client.h"
#include "coordinator/provision/kube_config.h"

namespace concur::provision {

// The calls that pools make.
enum class KubeVerb {
  kCreateJob,
  kDeleteJob,
  kListJobs,
  kWatchJobs,
  kListPods,
  kWatchPods,
  kListEvents,
  kCreateSecret,
};
struct KubeRight {
  KubeVerb verb;
  absl::string_view group;     // "" for the core
  absl::string_view resource;  // "jobs"
  absl::string_view name;      // "create"
};
absl::Span<const KubeRight> KubeRights();

class KubeClient {
 public:
  // `clock` outlives the client and measures how long a watch is silent.
  KubeClient(Clock& clock, KubeConfig config);

  // `name` of the object, for verbs on one; `query` without "?"; `body` of a POST or DELETE.
  // Returns the answer's body. Errors carry the server's own message:
  //   InvalidArgument    the request is refused as it is (400, 422)
  //   Unauthenticated    the token is missing, wrong or expired (401)
  //   PermissionDenied   a right is missing (403); names the verb and resource
  //   ResourceExhausted  a quota is used up (403), or the server limits the rate (429)
  //   NotFound, AlreadyExists (404, 409), OutOfRange (410 Gone)
  //   FailedPrecondition the server cannot be reached, and nothing was sent
  //   Unavailable        the server failed (5xx)
  //   DeadlineExceeded   the connection broke or timed out: the server may have carried it out
  absl::StatusOr<std::string> Call(KubeVerb verb, const std::string& name_space,
                                   const std::string& name, const std::string& query,
                                   const std::string& body) const;

  // Gives each line of a watch's answer to `on_line`, until the server ends the answer (OK),
  // `on_line` fails, `interrupt` is set (Cancelled), or no bytes came for `silence_max`.
  absl::Status Watch(KubeVerb verb, const std::string& name_space, const std::string& query,
                     absl::Duration silence_max, http::Interrupt& interrupt,
                     const std::function<absl::Status(absl::string_view)>& on_line) const;

  const KubeConfig& config() const { return config_; }

 private:
  absl::StatusOr<std::unique_ptr<http::Exchange>> Send(KubeVerb verb, http::Request request) const;
  absl::Status TransportError(const absl::Status& status, absl::string_view url) const;
  std::string Url(KubeVerb verb, const std::string& name_space, const std::string& name,
                  const std::string& query) const;

  const KubeConfig config_;
  const std::unique_ptr<http::Client> http_;
};

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_KUBE_CLIENT_H_
