// SPDX-License-Identifier: Apache-2.0
// A second place to which a coordinator's data is shipped (docs/design/020-ship.md): a directory or
// a prefix in object storage.
//
//   artifacts/  the artifacts
//   database/   pieces of the database and its log, and the hashes of tokens, named by digest, too
//   shipment    the only file that changes: it names what belongs together, and is replaced at once
//
// Pieces are there, whole, before a shipment names them; so a half-written shipment is never taken
// for a whole one.
#ifndef CONCUR_COORDINATOR_SHIP_SHIPMENT_H_
#define CONCUR_COORDINATOR_SHIP_SHIPMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "coordinator/data/data_directory.h"
#include "coordinator/data/data_place.h"
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/s3_client.h"

namespace concur {

// Contents of the file `shipment`; digests are of pieces.
struct Shipment {
  std::string database_id;
  absl::Time time = absl::UnixEpoch();  // all acknowledged before it is in; milliseconds
  int64_t commits = 0;                  // so many that were acknowledged, or more
  std::string object_storage;           // contents of the data directory's file; "": none
  Digest tokens;                        // contents of tokens.json; zero: none
  std::vector<Digest> base;             // the database's file, read while it changed,
  std::vector<Digest> log;              // and what turns it into the database

  friend bool operator==(const Shipment&, const Shipment&) = default;
};
std::string ShipmentText(const Shipment& shipment);
// DataLoss for a text that ShipmentText did not write; `place` is for messages.
absl::StatusOr<Shipment> ParseShipment(absl::string_view text, const std::string& place);

// Where shipments are. Thread-safe as its stores are; one process ships to a place at a time.
struct ShipPlace {
  std::string name;  // for people
  std::unique_ptr<ArtifactStore> artifacts;
  std::unique_ptr<ArtifactStore> database;
  std::function<absl::StatusOr<std::string>()> read;  // the file `shipment`; NotFound
  std::function<absl::Status(absl::string_view text)> write;
};

// True for "s3://…".
bool IsObjectStorage(absl::string_view to);

// `to` is a directory, of which at most the last part is missing, or s3://BUCKET[/PREFIX], where
// `s3` has the rest. NotFound without a parent directory; FailedPrecondition when a coordinator
// works in the place. Unless it `claims` a new place, nothing is written to object storage.
// `clock` outlives the result.
absl::StatusOr<ShipPlace> OpenShipPlace(Clock& clock, const std::string& to, s3::Options s3,
                                        bool claims = true);

// Puts what was shipped in the place of an empty data directory, as RestoreDataDirectory. `time`
// becomes that of the shipment. NotFound when there is none.
absl::StatusOr<DataReport> RestoreShipment(const ShipPlace& from, const DataPlace& place,
                                           absl::Time* time);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SHIP_SHIPMENT_H_
