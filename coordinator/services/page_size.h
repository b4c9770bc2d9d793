// SPDX-License-Identifier: Apache-2.0
// The size of a page of a list.
//
// Stateless.
#ifndef CONCUR_COORDINATOR_SERVICES_PAGE_SIZE_H_
#define CONCUR_COORDINATOR_SERVICES_PAGE_SIZE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace concur {

// The default when unset, at most the maximum. InvalidArgument when it is negative.
inline absl::StatusOr<size_t> PageSize(int32_t asked, int32_t standard = 100,
                                       int32_t maximum = 1000) {
  if (asked < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size: expected 0 to ", maximum, ", got ", asked));
  }
  return static_cast<size_t>(asked == 0 ? standard : std::min(asked, maximum));
}

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_PAGE_SIZE_H_
