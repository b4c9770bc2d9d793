// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

#include <string>

#include "absl/time/clock.h"

namespace concur {
namespace {

absl::Duration BootTime() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

SystemClock::SystemClock() : start_wall_(absl::Now()), start_boot_(BootTime()) {}

absl::Time SystemClock::Now() { return start_wall_ + (BootTime() - start_boot_); }

std::string FormatIsoTime(absl::Time time) {
  const bool whole = absl::ToUnixMillis(time) % 1000 == 0;
  return absl::FormatTime(whole ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%E3SZ", time,
                          absl::UTCTimeZone());
}

}  // namespace concur
