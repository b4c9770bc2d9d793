// SPDX-License-Identifier: Apache-2.0
// A reader with a bug, which the replay of a corpus must find: it believes a length that its input
// announces.
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t length = 0;
  if (absl::SimpleAtoi(concur::testing::Text(data, size), &length)) {
    const std::string room(length, '\0');
    return room.size() == length ? 0 : 1;
  }
  return 0;
}
