// SPDX-License-Identifier: Apache-2.0
// DIRECTORY/ship.status: how far `concur-coordinator ship` is, for the coordinator's metrics.
//
// Functions without state. The file has one line of one length and is written in place, unsynced:
// it is about now, and a second later it is written again.
#ifndef CONCUR_COORDINATOR_SHIP_SHIP_STATUS_H_
#define CONCUR_COORDINATOR_SHIP_SHIP_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace concur {

struct ShipStatus {
  // All that was acknowledged before it is in the second place; infinite past: nothing is.
  absl::Time time = absl::InfinitePast();
  int64_t bytes_behind = 0;  // known bytes of the log and of artifacts that are not there
};

absl::Status WriteShipStatus(const std::string& directory, const ShipStatus& status);
// Nullopt when nothing ships this directory, or the line is not whole.
std::optional<ShipStatus> ReadShipStatus(const std::string& directory);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SHIP_SHIP_STATUS_H_
