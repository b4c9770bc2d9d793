// SPDX-License-Identifier: Apache-2.0
#include "readers/blas.h"

#include <dlfcn.h>
#include <torch/torch.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace concur::readers {

std::string BlasLibrary() {
  void* product = dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info info;
  if (product == nullptr || dladdr(product, &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : resolved.string();
}

absl::Status CheckBlas() {
  const std::string library = BlasLibrary();
  // Debian's reference BLAS is …/blas/libblas.so.3…; every faster one has a folder or a name of
  // its own.
  if (!absl::StrContains(library, "/blas/libblas.so") && !absl::StrContains(library, "/blas-ref")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(library,
                   " is the reference BLAS, with which a training step takes minutes; install "
                   "libopenblas0-pthread, or choose a faster one with "
                   "update-alternatives --config libblas.so.3-x86_64-linux-gnu"));
}

void SetThreads(int threads) {
  at::set_num_threads(threads);
  void* set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set_threads != nullptr) {
    reinterpret_cast<void (*)(int)>(set_threads)(threads);
  }
}

}  // namespace concur::readers
