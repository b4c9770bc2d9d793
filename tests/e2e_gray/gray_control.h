// SPDX-License-Identifier: Apache-2.0
// Data that a test and the library gray_faults.cc, preloaded into a program, share: a mapped file.
//
// Thread-safe.
#ifndef CONCUR_TESTS_E2E_GRAY_GRAY_CONTROL_H_
#define CONCUR_TESTS_E2E_GRAY_GRAY_CONTROL_H_

#include <atomic>
#include <cstdint>

namespace concur::testing {

// The environment variable that names the file.
inline constexpr char kGrayFile[] = "CONCUR_GRAY_FILE";

struct GrayControl {
  std::atomic<int64_t> sync_micros{0};    // each fsync and fdatasync takes so much longer
  std::atomic<int64_t> clock_seconds{0};  // added to the wall clock
  // Uses that the program made of it, to show that the library was there:
  std::atomic<int64_t> syncs_delayed{0};
  std::atomic<int64_t> clock_reads{0};  // while seconds were added
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

}  // namespace concur::testing

#endif  // CONCUR_TESTS_E2E_GRAY_GRAY_CONTROL_H_
