// SPDX-License-Identifier: Apache-2.0
// The system calls that machine_calls.cc replaces, as the C library has them.
#ifndef CONCUR_TESTS_WORKER_MACHINE_REAL_CALLS_H_
#define CONCUR_TESTS_WORKER_MACHINE_REAL_CALLS_H_

#include <dlfcn.h>

namespace concur::testing {

template <typename Function>
Function* RealCall(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The C library's `syscall`; sets errno.
template <typename... Arguments>
long Kernel(long number, Arguments... arguments) {
  static auto* const real = RealCall<long(long, ...)>("syscall");
  return real(number, arguments...);
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_WORKER_MACHINE_REAL_CALLS_H_
