// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/machine.h"

#include <dlfcn.h>
#include <malloc.h>
#include <torch/torch.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace concur::readers {
namespace {

constexpr int64_t kThreadsMax = 1024;
constexpr int kFreeBytesMax = 256 << 20;

// Asks for factors that are not rounded to 10 bits, and for sums in a fixed order.
void MakeCudaExact() {
  // cuBLAS reads it when it is first used. NOLINTNEXTLINE(concurrency-mt-unsafe): one thread yet
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
}

// Every product's result is new memory of some MiB. By default glibc maps what is larger than all
// that was freed before, and keeps twice that: the kernel clears the same pages for each product
// anew.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that an older glibc takes
  mallopt(M_MMAP_THRESHOLD, kFreeBytesMax);
  mallopt(M_TRIM_THRESHOLD, kFreeBytesMax);
}

}  // namespace

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

absl::StatusOr<torch::Device> Prepare(const Machine& machine) {
  if (machine.threads < 1 || machine.threads > kThreadsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads: expected 1 to ", kThreadsMax, ", got ", machine.threads));
  }
  CONCUR_RETURN_IF_ERROR(CheckBlas());
  SetThreads(static_cast<int>(machine.threads));
  absl::string_view name = machine.device;
  if (name == "cpu" || (name == "auto" && !torch::cuda::is_available())) {
    KeepFreedMemory();
    return torch::Device(torch::kCPU);
  }
  int32_t index = 0;
  if (name != "auto" && name != "cuda" &&
      !(absl::ConsumePrefix(&name, "cuda:") && absl::SimpleAtoi(name, &index) && index >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device: expected auto, cpu or cuda:N, got \"", machine.device, "\""));
  }
  if (static_cast<size_t>(index) >= torch::cuda::device_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device ", machine.device, ": this libtorch finds ",
                     torch::cuda::device_count(), " CUDA devices; choose cpu"));
  }
  MakeCudaExact();
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

absl::StatusOr<std::optional<torch::ScalarType>> ProductTypeOn(torch::Device device,
                                                               bool half_precision) {
  if (!half_precision) {
    return std::nullopt;
  }
  if (!device.is_cuda()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--setting precision: half needs a CUDA device, and this training runs on ",
                     device.str(), "; choose precision=full, or --device cuda"));
  }
  return torch::kFloat16;
}

absl::Duration ProcessorTime() {
  return absl::Seconds(static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
}

}  // namespace concur::readers
