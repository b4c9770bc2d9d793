// The API server's REST interface, as far as pools need it: libcurl, one call at a time.
//
// Every call goes through one of KubeVerbs(), which is also what k8s/base/rbac.yaml grants.
//
// Thread-safe: calls share nothing but constants.
#ifndef CONCUR_PROVISION_KUBE_CLIENT_H_
#define CONCUR_PROVISION_KUBE_CLIENT_H_

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "provision/kube_config.h"

namespace concur::provision {

// What may be asked of the server.
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

// Breaks a watch off, from any thread.
class KubeInterrupt {
 public:
  void Set();
  void Clear();
  bool IsSet();

 private:
  friend class KubeClient;
  // The watch that is to be woken; null for none.
  void Attach(void* multi);

  Mutex mutex_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
  void* multi_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

class KubeClient {
 public:
  explicit KubeClient(KubeConfig config);

  // `name` of the object, for verbs on one; `query` without "?"; `body` of a POST or DELETE.
  // Returns the answer's body. Errors carry the server's own message:
  //   InvalidArgument    the request is refused as it is (400, 422)
  //   Unauthenticated    the token is missing, wrong or expired (401)
  //   PermissionDenied   a right is missing (403); names the verb and resource
  //   ResourceExhausted  a quota is used up (403), or the server limits the rate (429)
  //   NotFound, AlreadyExists (404, 409), OutOfRange (410 Gone)
  //   FailedPrecondition the server cannot be reached, and nothing was sent
  //   Unavailable        the server failed (5xx)
  //   DeadlineExceeded   the connection broke or the time was over: it may have been done
  absl::StatusOr<std::string> Call(KubeVerb verb, const std::string& name_space,
                                   const std::string& name, const std::string& query,
                                   const std::string& body) const;

  // Watches: gives each line of the answer to `on_line`, until the server ends the answer (OK),
  // `on_line` fails, `interrupt` is set (Cancelled), or nothing was heard for `silence_max`.
  absl::Status Watch(KubeVerb verb, const std::string& name_space, const std::string& query,
                     absl::Duration silence_max, KubeInterrupt& interrupt,
                     const std::function<absl::Status(absl::string_view)>& on_line) const;

  const KubeConfig& config() const { return config_; }

 private:
  struct Exchange;
  absl::Status Perform(KubeVerb verb, const std::string& url, const std::string& body,
                       absl::Duration timeout, Exchange& exchange) const;
  std::string Url(KubeVerb verb, const std::string& name_space, const std::string& name,
                  const std::string& query) const;

  const KubeConfig config_;
};

}  // namespace concur::provision

#endif  // CONCUR_PROVISION_KUBE_CLIENT_H_
