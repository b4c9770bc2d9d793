// SPDX-License-Identifier: Apache-2.0
// The logs of running attempts that clients follow: the last bytes of each, which its worker sends
// with its Syncs, and those who wait for more.
//
// Thread-compatible; owned by the engine's thread.
#ifndef CONCUR_COORDINATOR_ENGINE_FOLLOWED_LOGS_H_
#define CONCUR_COORDINATOR_ENGINE_FOLLOWED_LOGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/scheduler/scheduler.h"
#include "core/sync/sync.h"
#include "store/store.h"

namespace concur {

struct LogBatch {
  AttemptId id;
  int64_t offset = 0;
  std::string data;
  // The attempt has ended: the rest of the log is in this artifact; zero: there is no log.
  bool ended = false;
  Digest artifact;
};
using LogDone = std::function<void(absl::StatusOr<LogBatch>)>;

struct LogWait {
  JobId job;
  Attempt attempt;  // 0: the latest, until the wait is parked
  int64_t offset = 0;
  bool follow = false;
  LogDone done;
};

class FollowedLogs {
 public:
  // Keeps at most `window_bytes` of each log. `store` outlives this.
  FollowedLogs(Store& store, size_t window_bytes) : store_(store), window_bytes_(window_bytes) {}

  // Calls `wait.done`, or parks it under `ticket` until there is more.
  void Answer(const Scheduler& scheduler, absl::Time now, uint64_t ticket, LogWait wait);
  // Answers the waits for which there are new bytes, and drops the logs of attempts that have ended
  // or that nobody follows.
  void AnswerAll(const Scheduler& scheduler, absl::Time now);
  void Cancel(absl::Time now, uint64_t ticket);
  void RefuseAll(const absl::Status& status);

  void TakeChunks(const SyncRequest& request);
  // The worker has not been asked yet for all that is waited for.
  bool AreDue(const Scheduler& scheduler, const std::string& worker) const;
  void AddOrders(const Scheduler& scheduler, const std::string& worker, SyncResponse& response);

 private:
  // The end of a running attempt's log, and those who wait for more of it.
  struct FollowedLog {
    int64_t begin = 0;  // offset of data[0]
    std::string data;
    int64_t asked = -1;                   // offset that was last requested from the worker
    bool at_end = false;                  // the worker had nothing beyond `data`
    std::map<uint64_t, LogWait> waiters;  // by ticket
    absl::Time unused_since = absl::InfiniteFuture();
  };

  Store& store_;
  const size_t window_bytes_;
  absl::btree_map<AttemptId, FollowedLog> logs_;
  absl::flat_hash_map<uint64_t, AttemptId> tickets_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_FOLLOWED_LOGS_H_
