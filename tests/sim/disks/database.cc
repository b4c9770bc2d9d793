// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/disks/database.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"

namespace concur::sim {
namespace {

constexpr absl::Duration kExpiry = absl::Seconds(6);
constexpr absl::Duration kClockOffsetMax = absl::Hours(1);
constexpr absl::Duration kUnderWayMax = absl::Seconds(15);

}  // namespace

class DatabaseDisk::Session : public Store, private FencedDatabase {
 public:
  Session(DatabaseDisk& database, uint64_t holder)
      : database_(database),
        holder_(holder),
        epoch_(database.row_.epoch),
        commits_(database.row_.turn) {}

  absl::StatusOr<Snapshot> Load() override { return database_.rows_.Load(); }
  absl::Status Commit(const Batch& batch) override {
    return batch.empty() ? absl::OkStatus() : CommitFenced(*this, batch, epoch_, commits_);
  }
  absl::Status CheckLeads() override { return CheckFenced(*this, epoch_, commits_); }
  absl::StatusOr<std::vector<AttemptRow>> ListAttempts(JobId job) override {
    return database_.rows_.ListAttempts(job);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListSweepAttempts(SweepId sweep) override {
    return database_.rows_.ListSweepAttempts(sweep);
  }
  absl::StatusOr<std::vector<AttemptRow>> ListServiceUse(SweepId sweep) override {
    return database_.rows_.ListServiceUse(sweep);
  }
  absl::StatusOr<std::vector<StepRow>> ListSteps(JobId job) override {
    return database_.rows_.ListSteps(job);
  }

 private:
  World& world() const { return database_.world_; }

  absl::Status Save(const Batch& batch, int64_t epoch, int64_t turn) override {
    fenced_ = false;
    killed_ = world().Strikes(Fault::kCommitTorn);
    if (killed_ || world().Strikes(Fault::kCommitLost)) {
      // It may be under way for longer than its sender lives.
      if (world().random().Chance(0.5)) {
        world().After(
            world().Between(absl::ZeroDuration(), kUnderWayMax),
            [database = &database_, batch, epoch, turn] { database->Execute(batch, epoch, turn); });
      }
      guessed_ = turn;
      return Break();
    }
    guessed_ = 0;
    if (!database_.Execute(batch, epoch, turn)) {
      fenced_ = true;
      return absl::UnknownError("the leader's row has another epoch or turn");
    }
    return world().Strikes(Fault::kCommitUnanswered) ? Break() : absl::OkStatus();
  }
  absl::Status Break() {
    broken_ = true;
    return absl::UnavailableError("the connection was lost");
  }
  absl::Status Compare(int64_t epoch, int64_t turn) override {
    const bool is_latest = database_.row_.epoch == epoch && database_.row_.turn == turn;
    return is_latest || world().bug() == Bug::kEmptyTurnAnswered
               ? absl::OkStatus()
               : absl::FailedPreconditionError("another coordinator leads");
  }
  bool IsBroken() const override { return broken_; }
  bool IsFenced() const override { return fenced_; }
  absl::Status Connect() override {
    broken_ = false;
    return absl::OkStatus();
  }
  absl::StatusOr<LeaderRow> MoveEpoch() override {
    if (database_.holder_ != holder_) {
      database_.took_fault_ = true;
      return absl::FailedPreconditionError("another coordinator leads");
    }
    ++database_.row_.epoch;
    LeaderRow row = database_.row_;
    if (world().bug() == Bug::kOutcomeGuessed && guessed_ != 0) {
      row.turn = database_.row_.turn = guessed_;
    }
    return row;
  }
  absl::Status CheckTime() override {
    if (killed_) {
      database_.took_fault_ = true;
      return absl::FailedPreconditionError("killed");
    }
    return absl::OkStatus();
  }
  void WaitToConnect() override {}
  const std::string& Name() const override { return name_; }

  DatabaseDisk& database_;
  const uint64_t holder_;
  const std::string name_ = "database";
  int64_t epoch_;
  int64_t commits_;
  bool broken_ = false;
  bool fenced_ = false;
  bool killed_ = false;
  int64_t guessed_ = 0;
};

DatabaseDisk::DatabaseDisk(World& world)
    : world_(world), offset_(world.Between(-kClockOffsetMax, kClockOffsetMax)) {}

bool DatabaseDisk::MayTake() const {
  if (world_.now() < paused_until_) {
    return false;
  }
  if (world_.bug() == Bug::kBothLead && world_.faults()) {
    return true;
  }
  return !held_ || expiry_ < (world_.bug() == Bug::kExpiryByOwnClock ? world_.now() : Now());
}

absl::StatusOr<std::unique_ptr<Store>> DatabaseDisk::Open() {
  ++row_.epoch;
  held_ = true;
  expiry_ = Now() + kExpiry;
  leader_paused_until_ = absl::InfinitePast();
  return std::unique_ptr<Store>(new Session(*this, ++holder_));
}

bool DatabaseDisk::Renew() {
  if (world_.now() < leader_paused_until()) {
    return false;
  }
  expiry_ = Now() + kExpiry;
  return true;
}

void DatabaseDisk::Pause(absl::Duration duration, bool leader_only) {
  absl::Time& until = leader_only ? leader_paused_until_ : paused_until_;
  until = std::max(until, world_.now() + duration);
}

bool DatabaseDisk::Execute(const Batch& batch, int64_t epoch, int64_t turn) {
  if (world_.bug() != Bug::kCommitWithoutEpoch && (row_.epoch != epoch || row_.turn != turn - 1)) {
    return false;
  }
  row_.turn = turn;
  CONCUR_CHECK_OK(rows_.Commit(batch));
  return true;
}

}  // namespace concur::sim
