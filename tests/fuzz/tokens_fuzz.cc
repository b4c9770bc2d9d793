// SPDX-License-Identifier: Apache-2.0
// Files of tokens. What is wrong must be DataLoss that names the file; tokens that were read can be
// added to, and are then read as they were, but for those that ended long ago.
#include <cstdint>
#include <fstream>
#include <string>

#include "absl/time/time.h"
#include "base/check.h"
#include "coordinator/access/tokens.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const concur::testing::TempDir directory;
  const std::string path = concur::TokensPath(directory.path());
  const absl::string_view text = concur::testing::Text(data, size);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  const auto tokens = concur::LoadTokens(directory.path());
  if (!tokens.ok()) {
    CONCUR_CHECK(absl::IsDataLoss(tokens.status()));
    CONCUR_CHECK(tokens.status().message().find(path) != absl::string_view::npos);
    return 0;
  }
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  for (const concur::TokenRecord& record : *tokens) {
    CONCUR_CHECK(!record.StateAt(now).empty());
  }
  const auto made = concur::CreateToken(directory.path(), "ada", concur::Role::kViewer,
                                        absl::InfiniteFuture(), now);
  if (made.ok()) {
    const auto again = concur::LoadTokens(directory.path());
    CONCUR_CHECK_OK(again.status());
    CONCUR_CHECK(!again->empty() && again->back().id == made->record.id);
    CONCUR_CHECK(again->size() <= tokens->size() + 1);
  }
  return 0;
}
