// SPDX-License-Identifier: Apache-2.0
// Messages from the wire: Syncs, their answers and sweeps. The first byte says which. What is
// accepted must mean the same after it was converted there and back.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "concur/v1/worker.pb.h"
#include "core/sweep/expansion.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_sync.h"
#include "tests/fuzz/fuzz.h"

namespace {

template <typename Proto>
void Check(absl::string_view bytes) {
  Proto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  const auto value = concur::rpc::FromProto(proto);
  if (!value.ok()) {
    CONCUR_CHECK(absl::IsInvalidArgument(value.status()) && !value.status().message().empty());
    return;
  }
  const Proto back = concur::rpc::ToProto(*value);
  const auto again = concur::rpc::FromProto(back);
  CONCUR_CHECK_OK(again.status());
  // Maps have no order in serialized bytes, but in text.
  CONCUR_CHECK(concur::rpc::ToProto(*again).DebugString() == back.DebugString());
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes = concur::testing::Text(data, size);
  if (bytes.empty()) {
    return 0;
  }
  switch (bytes[0] % 3) {
    case 0:
      Check<concur::v1::SyncRequest>(bytes.substr(1));
      break;
    case 1:
      Check<concur::v1::SyncResponse>(bytes.substr(1));
      break;
    default:
      Check<concur::v1::SweepSpec>(bytes.substr(1));
  }
  return 0;
}
