// SPDX-License-Identifier: Apache-2.0
// The reader of pickles and archives of torch. Tensors that were read have the sizes that their
// shapes say.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "studies/readers/files/torch_file.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using concur::readers::TorchFile;
  const auto read = TorchFile::Parse(std::string(concur::testing::Text(data, size)), "input.pt");
  if (!read.ok()) {
    CONCUR_CHECK(!read.status().message().empty());
    return 0;
  }
  const concur::readers::PickleValue* state = read->root().Find("state_dict");
  const auto named = concur::readers::TensorsOf(*read, state == nullptr ? read->root() : *state);
  if (named.ok()) {
    const std::string written = concur::readers::WriteSafeTensors(named->tensors, {});
    CONCUR_CHECK_OK(concur::readers::SafeTensors::Parse(written, "written").status());
  }
  return 0;
}
