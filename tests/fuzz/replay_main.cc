// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on every file of the given directories, in order of name: a corpus as a test.
// No input may take more memory than a fixed factor of its size; see HeapMax.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "qa/raw_stream.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/sanitizers.h"

namespace {

constexpr size_t kHeapFree = size_t{4} << 20;
// Texts as tokens and maps of short names take most: up to 20 times their bytes.
constexpr size_t kHeapFactorMax = 32;

// The most memory that an input may take. What is gzipped counts as long as it may become.
size_t HeapMax(const std::string& contents) {
  size_t bytes = contents.size();
  if (contents.starts_with("\x1f\x8b")) {
    bytes = std::max(static_cast<size_t>(concur::qa::kUnpackedFreeBytes),
                     static_cast<size_t>(concur::qa::kUnpackedRatioMax) * bytes);
  }
  return kHeapFree + kHeapFactorMax * bytes;
}

// Bytes of operator new; C libraries have their own memory, which is small.
std::atomic<size_t> live{0};
std::atomic<size_t> peak{0};

}  // namespace

// Sanitizers have an operator new of their own, which finds more.
#ifndef CONCUR_SANITIZED
// NOLINTBEGIN
void* operator new(size_t size) {
  void* const memory = malloc(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  const size_t now = live += malloc_usable_size(memory);
  size_t before = peak;
  while (now > before && !peak.compare_exchange_weak(before, now)) {
  }
  return memory;
}
void operator delete(void* memory) noexcept {
  live -= malloc_usable_size(memory);
  free(memory);
}
void operator delete(void* memory, size_t /*size*/) noexcept { operator delete(memory); }
// NOLINTEND
#endif

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::cerr << path << "\n";  // the last one named is the one that failed
    const absl::StatusOr<std::string> contents = concur::ReadFile(path);
    CONCUR_CHECK_OK(contents.status());
    const size_t before = live;
    peak = before;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(contents->data()), contents->size());
    const size_t taken = peak - before;
    if (taken > HeapMax(*contents)) {
      std::cerr << "an input of " << contents->size() << " bytes takes " << taken
                << " bytes of memory, and may take " << HeapMax(*contents) << "\n";
      return 1;
    }
  }
  if (paths.empty()) {
    std::cerr << "expected directories with inputs\n";
    return 1;
  }
  return 0;
}
