// SPDX-License-Identifier: Apache-2.0
#include "base/process/waker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace concur::process {

Waker::Waker() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CONCUR_CHECK(fd_.valid()); }

void Waker::Wake() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then a wake is pending anyway.
  [[maybe_unused]] const ssize_t put = write(fd_.get(), &one, sizeof one);
}

void Waker::Clear() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(fd_.get(), &count, sizeof count);
}

void Waker::Wait(absl::Duration timeout, int other_fd) {
  pollfd fds[2] = {{fd_.get(), POLLIN, 0}, {other_fd, POLLIN, 0}};
  const absl::Duration bounded = std::clamp(timeout, absl::ZeroDuration(), absl::Hours(1));
  const timespec limit = absl::ToTimespec(absl::Ceil(bounded, absl::Microseconds(1)));
  if (ppoll(fds, other_fd >= 0 ? 2 : 1, &limit, nullptr) > 0 && (fds[0].revents & POLLIN) != 0) {
    Clear();
  }
}

}  // namespace concur::process
