// SPDX-License-Identifier: Apache-2.0
// The reader of safetensors. Tensors that were read lie in the file, and are the same after they
// were written and read again.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "studies/readers/files/safetensors.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using concur::readers::SafeTensors;
  const auto read =
      SafeTensors::Parse(std::string(concur::testing::Text(data, size)), "input.safetensors");
  if (!read.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(read.status()) && !read.status().message().empty());
    return 0;
  }
  size_t bytes = 0;
  for (const auto& [name, tensor] : read->tensors()) {
    bytes += tensor.bytes.size();
  }
  CONCUR_CHECK(bytes < size);
  const std::string written = concur::readers::WriteSafeTensors(read->tensors(), read->metadata());
  const auto again = SafeTensors::Parse(written, "written.safetensors");
  CONCUR_CHECK_OK(again.status());
  CONCUR_CHECK(concur::readers::WriteSafeTensors(again->tensors(), again->metadata()) == written);
  return 0;
}
