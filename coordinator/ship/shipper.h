// SPDX-License-Identifier: Apache-2.0
// Ships a data directory to a second place as it changes: the work of `concur-coordinator ship`.
// It runs beside the coordinator, reads its files, and takes no lock that the coordinator waits
// for: a collection of artifacts is put off, as during a backup.
//
// A round reads what was committed since the last one (store/log_tail.h), then copies the artifacts
// that are new, then names both in a new shipment: so a shipment has the artifacts of its database.
// The base, a copy of the database's file, is read while a coordinator writes to it. All that a
// checkpoint may change in it meanwhile is also in the log, which is kept from its front at the
// time when the copy began. The base is made anew when the log has grown larger than it.
//
// Thread-compatible.
#ifndef CONCUR_COORDINATOR_SHIP_SHIPPER_H_
#define CONCUR_COORDINATOR_SHIP_SHIPPER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/thread_pool.h"
#include "coordinator/data/data_place.h"
#include "coordinator/ship/ship_status.h"
#include "coordinator/ship/shipment.h"
#include "store/artifacts/artifact_store.h"
#include "store/log_tail.h"

namespace concur {

struct ShipLimits {
  // The base is made anew when the log has more bytes than this and than the base, or more pieces.
  int64_t log_bytes_min = int64_t{64} << 20;
  size_t log_pieces_max = 2000;
  absl::Duration garbage_kept = absl::Hours(1);  // also the time between two collections
};

class Shipper {
 public:
  // FailedPrecondition when another process ships this directory, or the place has the data of
  // another coordinator. `clock` and `to` outlive the shipper.
  static absl::StatusOr<std::unique_ptr<Shipper>> Start(Clock& clock, const DataPlace& from,
                                                        const ShipPlace& to,
                                                        const ShipLimits& limits = ShipLimits());

  // One round. After an error the place has what it had before, and the next round tries again;
  // FailedPrecondition names what a person must change.
  absl::Status Ship();

  const ShipStatus& status() const { return status_; }

 private:
  Shipper(Clock& clock, const DataPlace& from, const ShipPlace& to, const ShipLimits& limits);
  absl::StatusOr<std::string> ReadShipment() const;  // "" before the first
  absl::Status ReadPlace();
  absl::Status ShipOnce();
  // A coordinator may make packs (store/artifacts/packs.h) at any time.
  absl::Status OpenSource();
  // Aborted when the log was lost to us: then the database is to be copied.
  absl::Status FollowDatabase();
  absl::Status CopyDatabase();
  absl::Status ShipDatabase();
  absl::Status ShipArtifacts(const std::vector<Digest>& digests);
  absl::Status Publish(Shipment shipment);
  absl::Status CollectGarbage(const std::vector<Digest>& artifacts);
  // Puts a piece into the database's store, unless it is there.
  absl::StatusOr<Digest> PutPiece(absl::string_view data);
  void ShowStatus();

  Clock& clock_;
  const DataPlace from_;
  const std::string database_;  // path
  const ShipPlace& to_;
  const ShipLimits limits_;
  FileDescriptor lock_;
  std::unique_ptr<ArtifactStore> source_;  // null: the artifacts are in object storage
  bool has_packs_ = false;                 // source_ reads them
  absl::flat_hash_set<Digest> artifacts_there_;
  absl::flat_hash_set<Digest> pieces_there_;

  // The database as it was read: base_ and then log_, up to position_.
  std::string database_id_;
  std::vector<Digest> base_;  // empty: none yet
  int64_t base_bytes_ = 0;
  int64_t base_time_ = 0;  // when its file was changed before it was copied, nanoseconds
  std::vector<Digest> log_;
  int64_t log_bytes_ = 0;
  LogPosition position_;

  Shipment shipped_;         // the latest that is there
  std::string text_there_;   // its text; "": none
  std::string text_trying_;  // one whose writing failed: it may be there all the same
  absl::Time next_look_ = absl::InfinitePast();  // at the place, though nothing changes
  absl::Time next_collection_;

  ShipStatus status_;
  int64_t log_unread_ = 0;  // bytes found and not put
  int64_t log_bytes_shipped_ = 0;
  int64_t artifact_bytes_unread_ = 0;
  ThreadPool pool_;
};

// Ships until the process ends. Returns only errors that a person must mend.
absl::Status ShipForever(Clock& clock, const DataPlace& from, const ShipPlace& to);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SHIP_SHIPPER_H_
