// SPDX-License-Identifier: Apache-2.0
// CONCUR_SANITIZED is defined when the compiler adds AddressSanitizer or ThreadSanitizer, which g++
// and clang name in different ways: for tests that measure memory, or repeat pure computations.
#ifndef CONCUR_TESTS_TESTING_SANITIZERS_H_
#define CONCUR_TESTS_TESTING_SANITIZERS_H_

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONCUR_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONCUR_SANITIZED
#endif

namespace concur::testing {
#ifdef CONCUR_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_SANITIZERS_H_
