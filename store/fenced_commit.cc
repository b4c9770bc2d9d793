// SPDX-License-Identifier: Apache-2.0
#include "store/fenced_commit.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace concur {
namespace {

// True when commit number `turn` was saved; the connection was lost during it.
absl::StatusOr<bool> WasSaved(FencedDatabase& database, int64_t turn, int64_t& epoch) {
  for (;;) {
    CONCUR_RETURN_IF_ERROR(database.CheckTime());
    // The old connection's transaction may still be under way at the server: it ends, or fails by
    // the new epoch, before the row tells.
    const absl::Status connected = database.Connect();
    const absl::StatusOr<LeaderRow> row = connected.ok() ? database.MoveEpoch() : connected;
    if (row.ok()) {
      epoch = row->epoch;
      if (row->turn != turn && row->turn != turn - 1) {
        return CommitsMissing(database.Name(), row->turn, turn - 1);
      }
      return row->turn == turn;
    }
    if (!database.IsBroken()) {
      return row.status();
    }
    database.WaitToConnect();
  }
}

}  // namespace

absl::Status CommitsMissing(const std::string& database, int64_t found, int64_t expected) {
  return absl::DataLossError(absl::StrCat(database, ": ", expected,
                                          " commits were acknowledged, and it has ", found,
                                          ": it was restored, or a replica that lacks some took "
                                          "over"));
}

absl::Status CheckFenced(FencedDatabase& database, int64_t epoch, int64_t commits) {
  for (;;) {
    CONCUR_RETURN_IF_ERROR(database.CheckTime());
    absl::Status status = database.Compare(epoch, commits);
    if (status.ok() || !database.IsBroken()) {
      return status;
    }
    database.WaitToConnect();
    database.Connect().IgnoreError();  // the next comparison tells
  }
}

absl::Status CommitFenced(FencedDatabase& database, const Batch& batch, int64_t& epoch,
                          int64_t& commits) {
  for (;;) {
    absl::Status status = database.Save(batch, epoch, commits + 1);
    bool saved = status.ok();
    if (!saved && database.IsBroken()) {
      LogWarning("the connection was lost during a commit", {{"error", status.ToString()}});
      CONCUR_ASSIGN_OR_RETURN(saved, WasSaved(database, commits + 1, epoch));
    } else if (!saved && database.IsFenced()) {
      CONCUR_ASSIGN_OR_RETURN(const LeaderRow row, database.MoveEpoch());
      return CommitsMissing(database.Name(), row.turn, commits);
    } else if (!saved) {
      return status;
    }
    if (saved) {
      ++commits;
      return absl::OkStatus();
    }
  }
}

}  // namespace concur
