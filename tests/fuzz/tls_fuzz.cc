// SPDX-License-Identifier: Apache-2.0
// PEM files of certificates and keys, as a coordinator loads them for its own TLS and for workers.
// One file stands for all. What is wrong must be InvalidArgument that says what.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/check.h"
#include "coordinator/access/pilot_tls.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = concur::testing::FileWith(concur::testing::Text(data, size));
  const auto loaded = concur::PilotTls::Load({path, path, path}, {path, path, path});
  if (!loaded.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(loaded.status()) ||
                 absl::IsResourceExhausted(loaded.status()));
    CONCUR_CHECK(!loaded.status().message().empty());
    return 0;
  }
  CONCUR_CHECK(!loaded->certificate().empty() && !loaded->ca().empty());
  const absl::Status host = loaded->CheckAddress("localhost:7447");
  CONCUR_CHECK(host.ok() || absl::IsInvalidArgument(host));
  return 0;
}
