// SPDX-License-Identifier: Apache-2.0
// Refuses to compute with a BLAS that would take minutes where another takes a second.
//
// Thread-safe (stateless).
#ifndef CONCUR_READERS_BLAS_H_
#define CONCUR_READERS_BLAS_H_

#include <string>

#include "absl/status/status.h"

namespace concur::readers {

// The file that this process runs its matrix products from; "" when torch brings its own.
std::string BlasLibrary();

// FailedPrecondition when that is the reference BLAS, with the remedy.
absl::Status CheckBlas();

// How many threads torch and the BLAS, which has threads of its own, compute with.
void SetThreads(int threads);

}  // namespace concur::readers

#endif  // CONCUR_READERS_BLAS_H_
