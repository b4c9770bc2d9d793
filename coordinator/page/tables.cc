// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/tables.h"

#include <grpcpp/client_context.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/bootstrap.h"
#include "analysis/comparison/generalization.h"
#include "analysis/comparison/parts.h"
#include "analysis/comparison/rank_sets.h"
#include "analysis/concurrence/matrix.h"
#include "analysis/concurrence/matrix_work.h"
#include "analysis/statistics/correlation.h"
#include "base/status_macros.h"
#include "core/fields.h"
#include "core/job_score.h"
#include "proto/rpc/convert_score.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/status.h"
#include "report/figures/figures.h"
#include "report/ranking_tables.h"
#include "report/sweep_table.h"
#include "report/table.h"
#include "report/writers.h"

namespace concur::page {
namespace {

constexpr int kScoresPage = 10'000;
// More take longer than a page may make a coordinator work; `concur matrix` takes them.
constexpr size_t kScoresMax = 200'000;
constexpr size_t kResolvedMax = 400;  // approaches; rank sets of more take longer, too
constexpr size_t kWaitingMax = 32;
constexpr size_t kKeptMax = 16;
// While a sweep runs, a score may change without its counts: a job that succeeded runs again.
constexpr absl::Duration kKeptFor = absl::Seconds(5);
constexpr std::chrono::seconds kListTimeout{20};
constexpr int kNiceness = 10;

void Begin(const ApiCaller& caller, grpc::ClientContext& context) {
  AddCaller(caller, context);
  context.set_deadline(std::chrono::system_clock::now() + kListTimeout);
}

absl::StatusOr<std::vector<JobScore>> AllScores(v1::Coordinator::Stub& stub,
                                                const TableQuery& query, const ApiCaller& caller) {
  std::vector<JobScore> scores;
  size_t parts = 0;  // scores of them
  v1::ListScoresRequest request;
  request.set_sweep(query.sweep);
  request.set_metric(query.metric);
  request.set_page_size(kScoresPage);
  do {
    grpc::ClientContext context;
    Begin(caller, context);
    v1::ListScoresResponse response;
    CONCUR_RETURN_IF_ERROR(rpc::FromGrpcStatus(stub.ListScores(&context, request, &response)));
    for (const v1::Score& score : response.scores()) {
      CONCUR_ASSIGN_OR_RETURN(
          JobScore one,
          rpc::FromProto(score, FieldPath("response").Field("scores", scores.size())));
      parts += one.parts.size();
      scores.push_back(std::move(one));
    }
    if (scores.size() + parts > kScoresMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the page shows tables of at most ", kScoresMax,
                       " scores; \"concur scores\" and \"concur matrix\" make larger ones"));
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return scores;
}

http::HttpResponse JsonResponse(std::string body) {
  return {200, "application/json", std::move(body)};
}

http::HttpResponse CsvResponse(std::string body) {
  return {200, "text/csv; charset=utf-8", std::move(body)};
}

// Response with what `write` makes of the format that is asked for.
template <typename Write>
http::HttpResponse Written(const TableQuery& query, Write write) {
  return query.format == "csv" ? CsvResponse(write(analysis::TableFormat::kCsv))
                               : JsonResponse(write(analysis::TableFormat::kJson));
}

absl::StatusOr<http::HttpResponse> MatrixAnswer(const analysis::ScoreTable& table,
                                                const TableQuery& query) {
  if (table.benchmarks().size() < 2) {
    return absl::FailedPreconditionError("a matrix needs the scores of two benchmarks or more");
  }
  analysis::MatrixOptions options;
  CONCUR_ASSIGN_OR_RETURN(options.coefficient, analysis::ParseCoefficient(query.coefficient));
  if (query.intervals && analysis::IntervalsAreQuick(table)) {
    options.bootstrap = analysis::BootstrapOptions();
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ConcurrenceMatrix matrix,
                          analysis::ComputeMatrix(table, options));
  if (query.format == "svg") {
    return http::HttpResponse{200, "image/svg+xml", analysis::MatrixSvg(matrix)};
  }
  return Written(query, [&matrix](analysis::TableFormat format) {
    return analysis::WriteMatrix(matrix, format);
  });
}

absl::StatusOr<http::HttpResponse> RankAnswer(analysis::ScoreTable table, const TableQuery& query) {
  std::vector<analysis::BenchmarkGroup> groups = analysis::GroupsByGoal(table);
  const bool goals_differ = groups.size() > 1;
  analysis::AddPartGroups(table, groups);
  std::vector<analysis::Conversion> converted = analysis::ToPercent(groups, table);
  CONCUR_ASSIGN_OR_RETURN(analysis::Generalization ranking,
                          analysis::RankByAverage(table, groups, std::nullopt));
  ranking.converted = std::move(converted);
  CONCUR_ASSIGN_OR_RETURN(const std::optional<analysis::RankEstimate> estimate,
                          analysis::EstimateIfResolvable(table, ranking, kResolvedMax));
  CONCUR_ASSIGN_OR_RETURN(
      analysis::Table ranks,
      analysis::RankingTable(table, ranking, goals_differ, estimate, analysis::RankSetOptions()));
  ranks.details.clear();
  if (analysis::RankedApproaches(ranking).size() > kResolvedMax) {
    ranks.notes.push_back(absl::StrCat("The page resolves ranks of at most ", kResolvedMax,
                                       " approaches; \"concur rank\" resolves those of more."));
  }
  return Written(query, [&ranks](analysis::TableFormat format) {
    return analysis::WriteTable(ranks, format);
  });
}

std::string KeyOf(const TableQuery& query, const v1::Sweep& sweep) {
  return absl::StrCat(static_cast<int>(query.kind), "\n", sweep.id(), "\n", query.metric, "\n",
                      query.coefficient, "\n", query.intervals, "\n", query.format);
}

// Text that changes whenever a score of an ended sweep may have changed.
std::string CountsOf(const v1::Sweep& sweep) {
  const v1::StateCounts& counts = sweep.counts();
  return absl::StrCat(counts.succeeded(), " ", counts.failed(), " ", counts.canceled(), " ",
                      counts.skipped(), " ", counts.stopped(), " ", sweep.end_time().seconds(), " ",
                      sweep.end_time().nanos());
}

}  // namespace

std::optional<TableKind> TableKindOf(absl::string_view name) {
  if (name == "scores") {
    return TableKind::kScores;
  }
  if (name == "matrix") {
    return TableKind::kMatrix;
  }
  return name == "rank" ? std::optional(TableKind::kRank) : std::nullopt;
}

absl::StatusOr<TableQuery> ParseTableQuery(TableKind kind, const http::HttpRequest& request) {
  TableQuery query;
  query.kind = kind;
  const bool is_matrix = kind == TableKind::kMatrix;
  for (const auto& [name, value] : request.query) {
    if (name == "sweep") {
      query.sweep = value;
    } else if (name == "metric") {
      query.metric = value;
    } else if (name == "format" &&
               (value == "json" || value == "csv" || (is_matrix && value == "svg"))) {
      query.format = value;
    } else if (is_matrix && name == "coefficient") {
      CONCUR_RETURN_IF_ERROR(analysis::ParseCoefficient(value).status());
      query.coefficient = value;
    } else if (is_matrix && name == "intervals" && (value == "true" || value == "false")) {
      query.intervals = value == "true";
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("expected sweep, metric, format (json or csv", is_matrix ? " or svg" : "",
                       ")", is_matrix ? ", coefficient or intervals (true or false)" : "", ", got ",
                       name, "=", value));
    }
  }
  if (query.sweep.empty()) {
    return absl::InvalidArgumentError("sweep: expected a sweep's id or name");
  }
  return query;
}

Tables::Tables(Clock& clock, std::shared_ptr<grpc::Channel> channel)
    : clock_(clock), stub_(v1::Coordinator::NewStub(std::move(channel))) {
  for (Lane* lane : {&quick_, &slow_}) {
    // Lowers the priority of the thread alone: the machine's workers and the engine go first.
    lane->thread.Submit([] { setpriority(PRIO_PROCESS, 0, kNiceness); });
  }
}

void Tables::Stop() {
  for (Lane* lane : {&quick_, &slow_}) {
    std::deque<Job> dropped;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      dropped.swap(lane->jobs);
    }
    for (const Job& job : dropped) {
      job.done(absl::UnavailableError("the coordinator is stopping"));
    }
  }
  quick_.thread.Close();
  slow_.thread.Close();
}

void Tables::Make(TableQuery query, ApiCaller caller,
                  std::function<void(absl::StatusOr<http::HttpResponse>)> done) {
  Lane& lane = query.kind == TableKind::kMatrix && query.intervals ? slow_ : quick_;
  absl::Status refused;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      refused = absl::UnavailableError("the coordinator is stopping");
    } else if (lane.jobs.size() >= kWaitingMax) {
      refused = absl::ResourceExhaustedError("too many tables are asked for at a time; try again");
    } else {
      lane.jobs.push_back({std::move(query), std::move(caller), std::move(done)});
      lane.thread.Submit([this, &lane] { RunNext(lane); });
      return;
    }
  }
  done(refused);
}

void Tables::RunNext(Lane& lane) {
  Job job;
  {
    MutexLock lock(mutex_);
    if (lane.jobs.empty()) {
      return;
    }
    job = std::move(lane.jobs.front());
    lane.jobs.pop_front();
  }
  job.done(Compute(job.query, job.caller));
}

absl::StatusOr<v1::Sweep> Tables::GetSweep(const std::string& sweep, const ApiCaller& caller) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  request.set_include_spec(true);
  grpc::ClientContext context;
  Begin(caller, context);
  v1::Sweep response;
  CONCUR_RETURN_IF_ERROR(rpc::FromGrpcStatus(stub_->GetSweep(&context, request, &response)));
  return response;
}

absl::StatusOr<http::HttpResponse> Tables::Compute(const TableQuery& query,
                                                   const ApiCaller& caller) {
  // Also who asks is checked by it, before what is kept is shown.
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, GetSweep(query.sweep, caller));
  const std::string key = KeyOf(query, sweep);
  const std::string counts = CountsOf(sweep);
  const absl::Time began = clock_.Now();
  {
    MutexLock lock(mutex_);
    const auto kept = std::find_if(kept_.begin(), kept_.end(),
                                   [&key](const Kept& one) { return one.key == key; });
    if (kept != kept_.end()) {
      const bool is_same = kept->counts == counts;
      const absl::Duration kept_for = is_same ? std::max(kKeptFor, kept->cost) : kept->cost;
      // Nobody asks again for the table of an ended sweep.
      if (sweep.has_end_time() ? is_same : began - kept->time < kept_for) {
        return kept->response;
      }
      kept_.erase(kept);
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const SweepSpec spec, rpc::FromProto(sweep.spec()));
  TableQuery by_id = query;
  by_id.sweep = sweep.id();
  CONCUR_ASSIGN_OR_RETURN(const std::vector<JobScore> scores, AllScores(*stub_, by_id, caller));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, SweepTable(spec, scores));
  http::HttpResponse response;
  if (query.kind == TableKind::kMatrix) {
    CONCUR_ASSIGN_OR_RETURN(response, MatrixAnswer(table, query));
  } else if (query.kind == TableKind::kRank) {
    CONCUR_ASSIGN_OR_RETURN(response, RankAnswer(table, query));
  } else {
    response = Written(query, [&table](analysis::TableFormat format) {
      return analysis::WriteScores(table, format);
    });
  }
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  kept_.push_front({key, counts, now, now - began, response});
  if (kept_.size() > kKeptMax) {
    kept_.pop_back();
  }
  return response;
}

}  // namespace concur::page
