// SPDX-License-Identifier: Apache-2.0
// The coordinator's durable state, saved one engine turn at a time.
//
// Rows hold only what differs from a fresh expansion: a job that never left its initial state has
// no row. Specs are opaque bytes here (the engine encodes them), so that this layer knows neither
// protobuf nor YAML.
//
// Thread-compatible; owned by the engine's thread.
#ifndef CONCUR_STORE_STORE_H_
#define CONCUR_STORE_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/rows.h"
#include "core/sweep/expansion.h"

namespace concur {

class Store {
 public:
  virtual ~Store() = default;

  // Everything that was committed. DataLoss when a row cannot be understood; the message names it.
  virtual absl::StatusOr<Snapshot> Load() = 0;

  // As Load, but has nothing of the sweeps that `choose` returns of all: they stay on disk. No
  // batch may change these until the next Load.
  using ChooseLeftOut =
      absl::FunctionRef<absl::btree_set<SweepId>(const std::vector<SweepRow>& sweeps)>;
  virtual absl::StatusOr<Snapshot> LoadPart(ChooseLeftOut choose);

  // Saves the whole batch or nothing, and returns after it is on disk. ResourceExhausted when the
  // disk is full: nothing was saved, and the same batch may be tried again. After any other error
  // the caller must not go on with this store: memory is ahead of disk.
  virtual absl::Status Commit(const Batch& batch) = 0;

  // OK if what was committed is still where the next start looks for it. An error as Commit gives
  // it, after which the caller must not go on with this store.
  virtual absl::Status CheckPlace() { return absl::OkStatus(); }

  // OK if no other process has committed since: what memory says may be answered. An error as
  // Commit gives it.
  virtual absl::Status CheckLeads() { return absl::OkStatus(); }

  // True while rows of deleted sweeps are there. Nothing shows them, and each Commit, also of an
  // empty batch, removes some.
  virtual bool IsDeleting() const { return false; }

  // The failed attempts of one job, oldest first. JobId::Service() of it has rows of its own.
  virtual absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) = 0;

  // The failed attempts of all jobs of a sweep, by job and then oldest first.
  virtual absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) = 0;

  // The instances of services that were started for a sweep's jobs, likewise.
  virtual absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) = 0;

  // Steps that one job reported, as they arrived.
  virtual absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) = 0;
};

// Fills `snapshot.reports`: what the jobs of sweeps with early_stop reported. `expansions` are
// those of snapshot.sweeps, in the same order.
absl::Status AddReports(Store& store,
                        const std::vector<std::shared_ptr<const Expansion>>& expansions,
                        Snapshot& snapshot);

}  // namespace concur

#endif  // CONCUR_STORE_STORE_H_
