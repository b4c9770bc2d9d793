// SPDX-License-Identifier: Apache-2.0
// All objects of one kind that a selector selects, kept up to date: one list, then a watch from its
// resourceVersion on, and a list again whenever the watch cannot go on (410 Gone, a malformed
// event, a broken connection).
//
// Thread-safe; has a thread of its own.
#ifndef CONCUR_COORDINATOR_PROVISION_KUBE_WATCH_H_
#define CONCUR_COORDINATOR_PROVISION_KUBE_WATCH_H_

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "coordinator/provision/kube_client.h"
#include "coordinator/provision/kube_objects.h"

namespace concur::provision {

struct KubeWatchOptions {
  absl::Duration watch_max = absl::Minutes(4);    // the server ends a watch after so long
  absl::Duration silence_max = absl::Minutes(5);  // the connection is given up after so long
  absl::Duration backoff_min = absl::Milliseconds(200);
  absl::Duration backoff_max = absl::Seconds(15);
};

class KubeWatch {
 public:
  // `client` outlives it. Starts at once.
  KubeWatch(const KubeClient& client, KubeVerb list, KubeVerb watch, std::string name_space,
            std::string selector, KubeWatchOptions options = {});
  ~KubeWatch();
  KubeWatch(const KubeWatch&) = delete;
  KubeWatch& operator=(const KubeWatch&) = delete;

  // Existing objects, by name. Waits at most `timeout` for a list that is under way; fails with the
  // server's words while the server cannot be watched.
  absl::StatusOr<std::vector<std::shared_ptr<const KubeJson>>> Objects(absl::Duration timeout);
  // An object that the server was just seen to have: counts from now on.
  void Insert(const KubeJson& object);
  // Notes that objects may have changed unseen: Objects waits for a list that begins from now on.
  void RequireList();

 private:
  void Run();
  absl::Status List(std::string* version);
  absl::Status WatchFrom(std::string* version);
  absl::Status Apply(absl::string_view line, std::string* version);
  bool Pause(absl::Duration span);
  void Warn(const absl::Status& status);

  const KubeClient& client_;
  const KubeVerb list_;
  const KubeVerb watch_;
  const std::string name_space_;
  const std::string selector_;
  const KubeWatchOptions options_;
  http::Interrupt interrupt_;

  // Shared with those who keep an object while the next state of it comes.
  using Objects_ = std::map<std::string, std::shared_ptr<const KubeJson>>;
  Mutex mutex_;
  CondVar changed_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  int wanted_ ABSL_GUARDED_BY(mutex_) = 1;  // number of the list that must have begun
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;
  int listed_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the latest list that is in
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::string warned_;  // the error logged last; used by the thread alone
  Objects_ objects_ ABSL_GUARDED_BY(mutex_);
  Objects_ inserted_ ABSL_GUARDED_BY(mutex_);  // since the list under way began
  std::thread thread_;
};

}  // namespace concur::provision

#endif  // CONCUR_COORDINATOR_PROVISION_KUBE_WATCH_H_
