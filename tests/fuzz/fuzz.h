// SPDX-License-Identifier: Apache-2.0
// Code for all fuzz targets. Each target is one file that defines LLVMFuzzerTestOneInput: clang
// links it with libFuzzer (scripts/fuzz), every other build with replay_main.cc, which runs the
// committed corpus as a test.
//
// A target must not only survive its input: what it accepts must also keep a promise, such as being
// the same when it is written and read again.
#ifndef CONCUR_TESTS_FUZZ_FUZZ_H_
#define CONCUR_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/testing/temp_dir.h"

// By libFuzzer's rules: called with each input, in one thread; returns 0.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace concur::testing {

inline absl::string_view Text(const uint8_t* data, size_t size) {
  return absl::string_view(reinterpret_cast<const char*>(data), size);
}

// The input as a file, for readers that take a path; its name stays from input to input.
inline const std::string& FileWith(absl::string_view contents) {
  static const TempDir directory;
  static const std::string path = directory.File("input");
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(contents.data(), static_cast<std::streamsize>(contents.size()));
  return path;
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_FUZZ_FUZZ_H_
