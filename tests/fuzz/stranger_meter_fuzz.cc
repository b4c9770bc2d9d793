// SPDX-License-Identifier: Apache-2.0
// HTTP/2 of a client without a token. However it is cut into pieces, the verdict is the same: the
// error, whether a token was seen, and how many of the host's frames it took.
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "coordinator/gate/stranger_meter.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::tuple<std::string, bool, double> Verdict(absl::string_view bytes, size_t piece) {
  concur::gate::FrameBudget budget;
  concur::gate::StrangerMeter meter(
      {}, budget, [](absl::string_view authorization) { return authorization == "Bearer right"; });
  const absl::Time now = absl::UnixEpoch();
  absl::Status status;
  for (size_t at = 0; status.ok() && at < bytes.size(); at += piece) {
    status = meter.Take(now, bytes.substr(at, piece));
  }
  CONCUR_CHECK(budget.left >= 0);
  return {status.ToString(), meter.is_admitted(), budget.left};
}

}  // namespace

// The first byte: 1 puts the preface, which a fuzzer does not guess, before the rest.
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const absl::string_view rest = concur::testing::Text(data, size).substr(1);
  const std::string bytes =
      absl::StrCat(data[0] == 1 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "", rest);
  const auto whole = Verdict(bytes, bytes.size() + 1);
  CONCUR_CHECK(Verdict(bytes, 1) == whole);
  CONCUR_CHECK(Verdict(bytes, 7) == whole);
  return 0;
}
