// SPDX-License-Identifier: Apache-2.0
#include "base/http/http_exchange.h"

#include <algorithm>
#include <cstring>

namespace concur::http {

void EventOutlet::SetCallbacks(std::function<void()> on_drained, std::function<void()> on_closed) {
  MutexLock lock(mutex_);
  on_drained_ = std::move(on_drained);
  on_closed_ = std::move(on_closed);
}

void EventOutlet::AppendLocked(absl::string_view bytes) {
  waiting_.append(bytes.data(), bytes.size());
  WakeLocked();
}

void EventOutlet::WakeLocked() {
  if (suspended_) {
    suspended_ = false;
    connection_.resume();
  }
}

void EventOutlet::Write(absl::string_view event) {
  MutexLock lock(mutex_);
  if (!closed_ && !ended_) {
    has_event_ = true;
    AppendLocked(event);
  }
}

void EventOutlet::End() {
  MutexLock lock(mutex_);
  ended_ = true;
  WakeLocked();
}

void EventOutlet::Attach(Connection connection) {
  MutexLock lock(mutex_);
  connection_ = std::move(connection);
}

void EventOutlet::WriteHeartbeat() {
  MutexLock lock(mutex_);
  if (!closed_ && !ended_ && waiting_.empty()) {
    AppendLocked(": \n\n");
  }
}

ssize_t EventOutlet::Read(char* to, size_t size) {
  std::function<void()> on_drained;
  size_t count = 0;
  {
    MutexLock lock(mutex_);
    if (waiting_.empty()) {
      if (ended_) {
        return -1;
      }
      suspended_ = true;
      connection_.suspend();
      return 0;
    }
    count = std::min(size, waiting_.size() - sent_);
    std::memcpy(to, waiting_.data() + sent_, count);
    sent_ += count;
    if (sent_ == waiting_.size()) {
      waiting_ = std::string();  // a large event's memory is not kept for small ones
      sent_ = 0;
      if (std::exchange(has_event_, false) && !ended_) {
        on_drained = on_drained_;
      }
    }
  }
  if (on_drained != nullptr) {
    on_drained();
  }
  return static_cast<ssize_t>(count);
}

void EventOutlet::Close() {
  std::function<void()> on_closed;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    suspended_ = false;
    on_closed = std::exchange(on_closed_, nullptr);
    on_drained_ = nullptr;  // it may own the producer, which owns this
  }
  if (on_closed != nullptr) {
    on_closed();
  }
}

}  // namespace concur::http
