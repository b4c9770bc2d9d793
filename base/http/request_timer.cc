// SPDX-License-Identifier: Apache-2.0
#include "base/http/request_timer.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace concur::http {
namespace {

constexpr absl::Duration kCloseInterval = absl::Milliseconds(250);
constexpr int kBodyTimes = 4;  // as long as a head

}  // namespace

size_t RequestTimer::ConnectionsMax(size_t wanted) {
  rlimit files{};
  CONCUR_CHECK(getrlimit(RLIMIT_NOFILE, &files) == 0);
  return std::min<size_t>(wanted, std::max<size_t>(16, files.rlim_cur / 16));
}

void RequestTimer::OnConnection(void* self, MHD_Connection* connection, void** /*context*/,
                                MHD_ConnectionNotificationCode code) {
  auto* timer = static_cast<RequestTimer*>(self);
  code == MHD_CONNECTION_NOTIFY_CLOSED ? timer->Closed(connection) : timer->Opened(connection);
}

void RequestTimer::Opened(MHD_Connection* connection) {
  MutexLock lock(mu_);
  if (++open_ > connections_max_ / 4 * 3) {
    CloseOne();
  }
  Wait(connection, head_max_);
}

// Before the daemon closes the descriptor, so that no other one is shut down under its number.
void RequestTimer::Closed(MHD_Connection* connection) {
  MutexLock lock(mu_);
  --open_;
  waiting_.erase(connection);
}

void RequestTimer::HeadCame(MHD_Connection* connection) {
  MutexLock lock(mu_);
  if (const auto it = waiting_.find(connection); it != waiting_.end()) {
    it->second.deadline = clock_.Now() + kBodyTimes * head_max_;
  }
}

void RequestTimer::RequestCame(MHD_Connection* connection) {
  MutexLock lock(mu_);
  waiting_.erase(connection);
}

void RequestTimer::AnswerBegan(MHD_Connection* connection, uint64_t bytes) {
  MutexLock lock(mu_);
  Wait(connection,
       kBodyTimes * head_max_ + absl::Seconds(bytes / static_cast<uint64_t>(answer_rate_min_)),
       /*is_answer=*/true);
}

void RequestTimer::RequestEnded(MHD_Connection* connection) {
  MutexLock lock(mu_);
  Wait(connection, head_max_);
}

void RequestTimer::Wait(MHD_Connection* connection, absl::Duration wait_max, bool is_answer) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info == nullptr) {
    return;
  }
  const absl::Time now = clock_.Now();
  waiting_[connection] = {info->connect_fd, now, now + wait_max, is_answer};
  if (!is_scheduled_) {
    is_scheduled_ = true;
    thread_.SubmitAfter(kCloseInterval, [this] { CloseLate(); });
  }
}

// One that was shut down is still counted until the daemon has closed it, but not chosen again.
void RequestTimer::CloseOne() {
  const auto order = [](const Waiting& of) {
    return std::pair(of.is_answer, of.is_answer ? of.deadline : of.since);
  };
  const auto first = std::min_element(
      waiting_.begin(), waiting_.end(),
      [&](const auto& a, const auto& b) { return order(a.second) < order(b.second); });
  if (first != waiting_.end()) {
    shutdown(first->second.descriptor, SHUT_RDWR);
    waiting_.erase(first);
  }
}

void RequestTimer::CloseLate() {
  MutexLock lock(mu_);
  const absl::Time now = clock_.Now();
  for (const auto& [connection, waiting] : waiting_) {
    if (waiting.deadline <= now) {
      shutdown(waiting.descriptor, SHUT_RDWR);  // the daemon then closes it
    }
  }
  is_scheduled_ = !waiting_.empty();
  if (is_scheduled_) {
    thread_.SubmitAfter(kCloseInterval, [this] { CloseLate(); });
  }
}

}  // namespace concur::http
