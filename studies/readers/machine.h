// SPDX-License-Identifier: Apache-2.0
// Resources that a process computes with: a BLAS, threads and a device.
//
// Thread-compatible: torch's settings are the process's.
#ifndef CONCUR_STUDIES_READERS_MACHINE_H_
#define CONCUR_STUDIES_READERS_MACHINE_H_

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace concur::readers {

// The file that this process runs its matrix products from; "" when torch brings its own.
std::string BlasLibrary();

// FailedPrecondition when that is the reference BLAS, with which a step takes minutes where another
// takes a second; the message has the remedy.
absl::Status CheckBlas();

// Sets the number of threads of torch and of the BLAS, which has threads of its own.
void SetThreads(int threads);

struct Machine {
  std::string device = "auto";  // auto, cpu, cuda, cuda:N
  int64_t threads = 1;
};

// The device, after CheckBlas and SetThreads; `auto` is the first CUDA device where there is one.
// Without one, up to 256 MiB of freed memory stay with the process. On CUDA torch is asked for
// products of 32-bit floats and for sums in a fixed order.
absl::StatusOr<torch::Device> Prepare(const Machine& machine);

// The type of an encoder's matrix products in training: 16-bit floats for half precision; nullopt
// is that of the weights. InvalidArgument for half precision on another device than CUDA.
absl::StatusOr<std::optional<torch::ScalarType>> ProductTypeOn(torch::Device device,
                                                               bool half_precision);

// That of all threads of this process so far.
absl::Duration ProcessorTime();

}  // namespace concur::readers

#endif  // CONCUR_STUDIES_READERS_MACHINE_H_
