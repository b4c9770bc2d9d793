// SPDX-License-Identifier: Apache-2.0
// CoordinatorService: workers and pools over time.
#include <map>
#include <string>

#include "base/utf8.h"
#include "coordinator/services/answer.h"
#include "coordinator/services/coordinator_service.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/status.h"

namespace concur {
namespace {

v1::FleetHistory FleetHistoryProto(const FleetHistory::Contents& contents) {
  v1::FleetHistory proto;
  std::map<std::string, v1::PoolHistory> pools;
  for (const FleetSample& sample : contents.samples) {
    for (const auto& [name, counts] : sample.pools) {
      pools[name].set_pool(name);
    }
  }
  for (const FleetSample& sample : contents.samples) {
    *proto.add_times() = rpc::ToProto(sample.time);
    proto.add_jobs_ready(static_cast<int64_t>(sample.jobs_ready));
    proto.add_jobs_running(static_cast<int64_t>(sample.jobs_running));
    proto.add_workers_live(static_cast<int32_t>(sample.workers_live));
    proto.add_workers_draining(static_cast<int32_t>(sample.workers_draining));
    proto.add_workers_quarantined(static_cast<int32_t>(sample.workers_quarantined));
    for (auto& [name, pool] : pools) {
      const auto found = sample.pools.find(name);
      const FleetSample::Pool counts =
          found == sample.pools.end() ? FleetSample::Pool() : found->second;
      pool.add_wanted(counts.wanted);
      pool.add_pending(counts.pending);
      pool.add_starting(counts.starting);
      pool.add_working(counts.working);
      pool.add_draining(counts.draining);
    }
  }
  for (auto& [name, pool] : pools) {
    *proto.add_pools() = std::move(pool);
  }
  for (const QuarantineRecord& record : contents.quarantines) {
    v1::Quarantine& quarantine = *proto.add_quarantines();
    quarantine.set_worker(record.worker);
    if (record.begin != absl::InfinitePast()) {
      *quarantine.mutable_begin_time() = rpc::ToProto(record.begin);
    }
    *quarantine.mutable_end_time() = rpc::ToProto(record.end);
    quarantine.set_reason(CleanUtf8(record.reason));
  }
  return proto;
}

}  // namespace

grpc::ServerUnaryReactor* CoordinatorService::GetFleetHistory(
    CallContext* call, const v1::GetFleetHistoryRequest* /*request*/, v1::FleetHistory* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  answers_.Submit([this, reactor, response] {
    *response = FleetHistoryProto(fleet_.Get());
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

}  // namespace concur
