// SPDX-License-Identifier: Apache-2.0
// Ends the sleep of a loop thread from any other thread.
#ifndef CONCUR_BASE_PROCESS_WAKER_H_
#define CONCUR_BASE_PROCESS_WAKER_H_

#include "absl/time/time.h"
#include "base/file.h"

namespace concur::process {

// Thread-safe; one thread waits. Wakes are remembered until somebody waits, and merged.
class Waker {
 public:
  Waker();

  void Wake();
  // Waits for Wake, for `other_fd` (if not negative) to be readable, or for `timeout`.
  void Wait(absl::Duration timeout, int other_fd = -1);
  // Readable while a wake is pending, for use in another poll.
  int fd() const { return fd_.get(); }
  // Takes pending wakes back.
  void Clear();

 private:
  FileDescriptor fd_;
};

}  // namespace concur::process

#endif  // CONCUR_BASE_PROCESS_WAKER_H_
