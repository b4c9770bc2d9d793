// SPDX-License-Identifier: Apache-2.0
// Closes the connections of a libmicrohttpd daemon whose request takes too long to arrive, or whose
// answer takes too long to be read. The daemon's own time-out starts again with each byte, so that
// one byte now and then would hold a connection for ever.
//
// The head's time counts from the connection's start or the end of its last request; a body may
// take four times as long, and so may an answer, beside the time of its bytes at a least rate. When
// three quarters of the connections are taken, each new one closes the one whose request has taken
// longest; where no request is waited for, the answer that must be read soonest.
//
// Thread-safe. It must outlive the daemon.
#ifndef CONCUR_BASE_HTTP_REQUEST_TIMER_H_
#define CONCUR_BASE_HTTP_REQUEST_TIMER_H_

#include <microhttpd.h>

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread_pool.h"

namespace concur::http {

class RequestTimer {
 public:
  // At most this many of `wanted` connections: a sixteenth of the process's descriptors, so that
  // pages leave most of them to others.
  static size_t ConnectionsMax(size_t wanted);

  // `answer_rate_min`: bytes a second; 0: 64 KiB.
  RequestTimer(size_t connections_max, absl::Duration head_max, int64_t answer_rate_min = 0)
      : connections_max_(connections_max),
        head_max_(head_max),
        answer_rate_min_(answer_rate_min > 0 ? answer_rate_min : int64_t{64} << 10) {}

  // For MHD_OPTION_NOTIFY_CONNECTION, with the timer as its closure.
  static void OnConnection(void* self, MHD_Connection* connection, void** context,
                           MHD_ConnectionNotificationCode code);
  void HeadCame(MHD_Connection* connection);
  void RequestCame(MHD_Connection* connection);
  // An answer of so many bytes is to be read from now on.
  void AnswerBegan(MHD_Connection* connection, uint64_t bytes);
  void RequestEnded(MHD_Connection* connection);

 private:
  struct Waiting {
    int descriptor = -1;
    absl::Time since;
    absl::Time deadline;
    bool is_answer = false;
  };

  void Opened(MHD_Connection* connection);
  void Closed(MHD_Connection* connection);
  void Wait(MHD_Connection* connection, absl::Duration wait_max, bool is_answer = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseLate();

  const size_t connections_max_;
  const absl::Duration head_max_;
  const int64_t answer_rate_min_;
  SystemClock clock_;  // monotonic

  Mutex mu_;
  size_t open_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_scheduled_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_map<MHD_Connection*, Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  ThreadPool thread_{1};
};

}  // namespace concur::http

#endif  // CONCUR_BASE_HTTP_REQUEST_TIMER_H_
