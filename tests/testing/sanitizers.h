// SPDX-License-Identifier: Apache-2.0
// CONCUR_SANITIZED is defined when the compiler adds AddressSanitizer or ThreadSanitizer: for tests
// that measure memory, which these change. g++ and clang name them in different ways.
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

#endif  // CONCUR_TESTS_TESTING_SANITIZERS_H_
