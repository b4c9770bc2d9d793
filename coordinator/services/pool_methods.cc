// SPDX-License-Identifier: Apache-2.0
// CoordinatorService: pools.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "coordinator/services/answer.h"
#include "coordinator/services/coordinator_service.h"
#include "coordinator/services/views.h"
#include "core/scheduler/reason_text.h"
#include "proto/rpc/convert_pool.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/status.h"

namespace concur {
namespace {

v1::Pilot PilotProto(const PilotRow& row) {
  v1::Pilot proto;
  proto.set_name(row.name);
  proto.set_phase(static_cast<v1::Pilot::Phase>(static_cast<int>(row.phase) + 1));
  proto.set_external_id(CleanUtf8(row.external_id));
  proto.set_message(CleanUtf8(row.message));
  *proto.mutable_request_time() = rpc::ToProto(row.request_time);
  *proto.mutable_phase_time() = rpc::ToProto(row.phase_time);
  proto.set_image(row.image);
  return proto;
}

v1::Pool PoolProto(const PoolView& view) {
  v1::Pool proto;
  *proto.mutable_spec() = rpc::ToProto(*view.spec);
  proto.set_from_options(view.from_options);
  proto.set_paused(view.paused);
  proto.set_pause_reason(CleanUtf8(view.pause_reason));
  proto.set_pending(view.pending);
  proto.set_starting(view.starting);
  proto.set_working(view.working);
  proto.set_draining(view.draining);
  proto.set_wanted(view.wanted);
  proto.set_failures(view.failures);
  proto.set_last_failure(CleanUtf8(view.last_failure));
  if (view.last_failure_time != absl::InfinitePast()) {
    *proto.mutable_last_failure_time() = rpc::ToProto(view.last_failure_time);
  }
  if (view.not_before != absl::InfinitePast()) {
    *proto.mutable_not_before_time() = rpc::ToProto(view.not_before);
  }
  return proto;
}

// The pool with its state, or NotFound.
absl::StatusOr<v1::Pool> FindPoolProto(const Pools& pools, const std::string& name) {
  const std::optional<PoolView> view = pools.Find(name);
  if (!view) {
    return absl::NotFoundError(absl::StrCat("no pool \"", name, "\""));
  }
  return PoolProto(*view);
}

// The answer to a pool that is only tried. A provider that is closed drops its callback: the call
// ends all the same.
class TryAnswer {
 public:
  TryAnswer(grpc::ServerUnaryReactor* reactor, const PoolSpec& spec, v1::Pool* response)
      : reactor_(reactor), response_(response) {
    *response->mutable_spec() = rpc::ToProto(spec);
  }
  ~TryAnswer() { Give(absl::UnavailableError("the coordinator stops")); }
  TryAnswer(const TryAnswer&) = delete;
  TryAnswer& operator=(const TryAnswer&) = delete;

  // The first answer counts. An error is final, whatever its kind: nothing is gained by asking
  // again.
  void Give(const absl::StatusOr<std::string>& said) {
    if (given_.exchange(true)) {
      return;
    }
    if (said.ok()) {
      response_->add_explanation(CleanUtf8(*said));
    }
    reactor_->Finish(rpc::ToGrpcStatus(
        said.ok() ? absl::OkStatus() : absl::FailedPreconditionError(said.status().message())));
  }

 private:
  grpc::ServerUnaryReactor* const reactor_;
  v1::Pool* const response_;
  std::atomic<bool> given_ = false;
};

// Changes one pool, and answers with the pool.
template <typename Change>
grpc::ServerUnaryReactor* ChangePool(Engine& engine, CallContext* call, v1::Pool* response,
                                     std::string name, Change change) {
  return Answer<v1::Pool>(engine, call, response,
                          [&engine, name = std::move(name),
                           change = std::move(change)](Scheduler&) -> absl::StatusOr<v1::Pool> {
                            CONCUR_RETURN_IF_ERROR(change(engine.pools()));
                            return FindPoolProto(engine.pools(), name);
                          });
}

}  // namespace

grpc::ServerUnaryReactor* CoordinatorService::ListPools(CallContext* call,
                                                        const v1::ListPoolsRequest* /*request*/,
                                                        v1::ListPoolsResponse* response) {
  return Answer<v1::ListPoolsResponse>(engine_, call, response,
                                       [this](Scheduler&) -> absl::StatusOr<v1::ListPoolsResponse> {
                                         v1::ListPoolsResponse answer;
                                         for (const PoolView& view : engine_.pools().List()) {
                                           *answer.add_pools() = PoolProto(view);
                                         }
                                         return answer;
                                       });
}

grpc::ServerUnaryReactor* CoordinatorService::GetPool(CallContext* call,
                                                      const v1::GetPoolRequest* request,
                                                      v1::Pool* response) {
  return Answer<v1::Pool>(engine_, call, response,
                          [this, name = request->pool()](Scheduler&) -> absl::StatusOr<v1::Pool> {
                            const Pools& pools = engine_.pools();
                            CONCUR_ASSIGN_OR_RETURN(v1::Pool proto, FindPoolProto(pools, name));
                            CONCUR_ASSIGN_OR_RETURN(const std::vector<PoolReason> reasons,
                                                    pools.ReasonsOf(name));
                            for (const PoolReason& reason : reasons) {
                              proto.add_explanation(CleanUtf8(ReasonText(reason)));
                            }
                            const std::vector<const PilotRow*> pilots = pools.Find(name)->pilots;
                            for (const PilotRow* row : pilots) {
                              *proto.add_pilots() = PilotProto(*row);
                            }
                            return proto;
                          });
}

grpc::ServerUnaryReactor* CoordinatorService::CreatePool(CallContext* call,
                                                         const v1::CreatePoolRequest* request,
                                                         v1::Pool* response) {
  const absl::StatusOr<PoolSpec> spec = rpc::FromProto(request->spec());
  if (!spec.ok()) {
    return AnswerNow(call, spec.status());
  }
  if (!limits_.providers.contains(spec->provider)) {
    return AnswerNow(call, absl::FailedPreconditionError(
                               absl::StrCat("spec.provider: this coordinator has no provider \"",
                                            ProviderKindName(spec->provider), "\"")));
  }
  if (limits_.check_pool) {
    if (const absl::Status checked = limits_.check_pool(*spec); !checked.ok()) {
      return AnswerNow(call, absl::FailedPreconditionError(checked.message()));
    }
  }
  if (request->validate_only()) {
    grpc::ServerUnaryReactor* const reactor = call->DefaultReactor();
    const auto answer = std::make_shared<TryAnswer>(reactor, *spec, response);
    engine_.TryPool(*spec,
                    [answer](const absl::StatusOr<std::string>& said) { answer->Give(said); });
    return reactor;
  }
  return ChangePool(engine_, call, response, spec->name, [spec = *spec](Pools& pools) {
    return pools.Add(spec, rpc::EncodePool(spec));
  });
}

grpc::ServerUnaryReactor* CoordinatorService::PausePool(CallContext* call,
                                                        const v1::PausePoolRequest* request,
                                                        v1::Pool* response) {
  std::string reason =
      request->reason().empty() ? absl::StrCat("by ", call->caller().user) : request->reason();
  return ChangePool(engine_, call, response, request->pool(),
                    [name = request->pool(), reason = std::move(reason)](Pools& pools) {
                      return pools.Pause(name, reason);
                    });
}

grpc::ServerUnaryReactor* CoordinatorService::ResumePool(CallContext* call,
                                                         const v1::ResumePoolRequest* request,
                                                         v1::Pool* response) {
  return ChangePool(engine_, call, response, request->pool(),
                    [name = request->pool()](Pools& pools) { return pools.Resume(name); });
}

grpc::ServerUnaryReactor* CoordinatorService::DeletePool(CallContext* call,
                                                         const v1::DeletePoolRequest* request,
                                                         v1::DeletePoolResponse* response) {
  return Answer<v1::DeletePoolResponse>(
      engine_, call, response,
      [this, name = request->pool(),
       at_once = request->at_once()](Scheduler&) -> absl::StatusOr<v1::DeletePoolResponse> {
        CONCUR_RETURN_IF_ERROR(engine_.pools().Remove(name, at_once));
        return v1::DeletePoolResponse();
      });
}

}  // namespace concur
