// What users are shown, as protobuf: made from the scheduler's views.
//
// Stateless. Whatever takes the scheduler is called on the engine's thread.
#ifndef CONCUR_COORDINATOR_VIEWS_H_
#define CONCUR_COORDINATOR_VIEWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/selection.h"
#include "concur/v1/coordinator.pb.h"
#include "coordinator/sweep_board.h"
#include "core/scheduler.h"

namespace concur {

v1::Sweep SweepProto(const SweepView& sweep);
v1::Job JobProto(const Scheduler& scheduler, JobId id);
v1::Job JobProto(const Expansion& expansion, const JobView& job);
v1::Worker WorkerProto(const WorkerView& worker);
v1::JobEvent EventProto(const Expansion& expansion, const JobEvent& event, absl::Time time);
// Bytes of a v1::WatchSweepResponse.
WatchEncoder MakeWatchEncoder();

// "s12", or the newest sweep of that name. NotFound with the names that are near.
absl::StatusOr<SweepId> ResolveSweep(const Scheduler& scheduler, const std::string& text);
// "s12/345" of an existing job, or "NAME/345". NotFound.
absl::StatusOr<JobId> ResolveJob(const Scheduler& scheduler, const std::string& text);

// The scores of a sweep's eval jobs `first` to `first + count - 1` (by job index), with those that
// are missing. `metric` empty: each benchmark's own.
std::vector<v1::Score> ScoreProtos(const Scheduler& scheduler, SweepId id, uint32_t first,
                                   uint32_t count, const std::string& metric, uint32_t* next);

// All scores of a sweep as records for a table, and the order of the table's axes.
struct SweepScores {
  std::vector<analysis::ScoreRecord> records;
  analysis::SelectionOptions options;
};
SweepScores CollectScores(const Scheduler& scheduler, SweepId id, const std::string& metric);

// The matrix that was asked for. InvalidArgument names the field of the request.
absl::StatusOr<v1::Matrix> MatrixProto(SweepScores scores, const v1::GetMatrixRequest& request);

}  // namespace concur

#endif  // CONCUR_COORDINATOR_VIEWS_H_
