// SPDX-License-Identifier: Apache-2.0
// A library to preload (LD_PRELOAD) into a program under test: its syncs take longer and its wall
// clock is set, as the file that $CONCUR_GRAY_FILE names says (gray_control.h). The monotonic
// clocks are left alone, as by the kernel when somebody sets the time.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "tests/e2e_gray/gray_control.h"

namespace {

using concur::testing::GrayControl;

GrayControl* control = nullptr;

__attribute__((constructor)) void MapControl() {
  const char* path = getenv(concur::testing::kGrayFile);
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return;
  }
  void* mapped = mmap(nullptr, sizeof(GrayControl), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  control = mapped == MAP_FAILED ? nullptr : static_cast<GrayControl*>(mapped);
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int64_t ClockSeconds() { return control == nullptr ? 0 : control->clock_seconds.load(); }

timespec ForKernel(timespec until) {
  until.tv_sec = std::max<time_t>(until.tv_sec - ClockSeconds(), 0);
  return until;
}

// Not the version for programs of 2002, which dlsym may find.
auto* RealTimedWait() {
  using Function = int(pthread_cond_t*, pthread_mutex_t*, const timespec*);
  void* const found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  return found != nullptr ? reinterpret_cast<Function*>(found)
                          : Real<Function>("pthread_cond_timedwait");
}

void DelaySync() {
  const int64_t micros = control == nullptr ? 0 : control->sync_micros.load();
  if (micros > 0) {
    control->syncs_delayed.fetch_add(1);
    usleep(static_cast<useconds_t>(micros));
  }
}

}  // namespace

extern "C" {

int fsync(int fd) {
  static auto* const real = Real<int(int)>("fsync");
  DelaySync();
  return real(fd);
}

int fdatasync(int fd) {
  static auto* const real = Real<int(int)>("fdatasync");
  DelaySync();
  return real(fd);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = Real<int(clockid_t, timespec*)>("clock_gettime");
  const int status = real(clock, time);
  if (const int64_t seconds = ClockSeconds(); clock == CLOCK_REALTIME && seconds != 0) {
    control->clock_reads.fetch_add(1);
    time->tv_sec += seconds;
  }
  return status;
}

// Waits until a moment of the wall clock, which the kernel has not set: Abseil's, and those of
// condition variables. Waits that are under way when the clock is set go on unchanged.
long syscall(long number, ...) noexcept {
  static auto* const real = Real<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) {
    argument = va_arg(list, long);
  }
  va_end(list);
  timespec until;
  const auto* given = reinterpret_cast<const timespec*>(arguments[3]);
  if (number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0 && given != nullptr) {
    until = ForKernel(*given);
    arguments[3] = reinterpret_cast<long>(&until);
  }
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
  static auto* const real = RealTimedWait();
  constexpr unsigned kMonotonic = 2;  // glibc: the clock that pthread_condattr_setclock chose
  if ((condition->__data.__wrefs & kMonotonic) != 0) {
    return real(condition, mutex, until);
  }
  const timespec shifted = ForKernel(*until);
  return real(condition, mutex, &shifted);
}

}  // extern "C"
