// SPDX-License-Identifier: Apache-2.0
// The score table, the concurrence matrix and the ranking of a sweep for the page, by the same
// functions as `concur scores`, `concur matrix` and `concur rank`.
//
// Scores come through the channel on the viewer's behalf. Two threads of low priority compute, one
// of them matrices with intervals, which take long, and keep the latest answers: many viewers of
// one sweep cost one computation for each change of it, and of a sweep that runs at most half of
// the time.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_PAGE_TABLES_H_
#define CONCUR_COORDINATOR_PAGE_TABLES_H_

#include <grpcpp/channel.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/http/http_exchange.h"
#include "base/mutex.h"
#include "base/thread_pool.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "coordinator/page/api.h"

namespace concur::page {

enum class TableKind { kScores, kMatrix, kRank };
// By the command's name, which is the method's; unset for other names.
std::optional<TableKind> TableKindOf(absl::string_view name);

// The table that is asked for, from a request's query.
struct TableQuery {
  TableKind kind = TableKind::kScores;
  std::string sweep;
  std::string metric;                   // "": each benchmark's
  std::string coefficient = "kendall";  // a matrix's
  bool intervals = true;                // a matrix's
  std::string format = "json";          // json, csv or (a matrix) svg
};
// InvalidArgument names an unknown field or a value that is not among those above.
absl::StatusOr<TableQuery> ParseTableQuery(TableKind kind, const http::HttpRequest& request);

class Tables {
 public:
  // `clock` outlives it.
  Tables(Clock& clock, std::shared_ptr<grpc::Channel> channel);
  // REQUIRES: Stop was called.
  ~Tables() = default;
  // Answers waiting requests with Unavailable; tables being computed are finished.
  void Stop();

  // `done` is called once, from any thread. ResourceExhausted when too many wait.
  void Make(TableQuery query, ApiCaller caller,
            std::function<void(absl::StatusOr<http::HttpResponse>)> done);

 private:
  // A finished answer, and from what, when and in how long it was made.
  struct Kept {
    std::string key;
    std::string counts;
    absl::Time time;
    absl::Duration cost;
    http::HttpResponse response;
  };
  struct Job {
    TableQuery query;
    ApiCaller caller;
    std::function<void(absl::StatusOr<http::HttpResponse>)> done;
  };

  // The jobs of one thread, and the thread.
  struct Lane {
    std::deque<Job> jobs;
    ThreadPool thread{1};
  };

  void RunNext(Lane& lane);
  absl::StatusOr<http::HttpResponse> Compute(const TableQuery& query, const ApiCaller& caller);
  absl::StatusOr<v1::Sweep> GetSweep(const std::string& sweep, const ApiCaller& caller);

  Clock& clock_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // the newest first
  Lane quick_;  // their jobs are guarded by mutex_; threads end before what their work uses
  Lane slow_;
};

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_TABLES_H_
