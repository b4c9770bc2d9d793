// The shape of a unary call: some work in an engine turn, its value answered after the commit.
#ifndef CONCUR_COORDINATOR_ANSWER_H_
#define CONCUR_COORDINATOR_ANSWER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/engine.h"
#include "rpc/status.h"

namespace concur {

// Fills `response`, which lives until the call is finished, with what `work` returns.
template <typename Response>
void AnswerOn(grpc::ServerUnaryReactor* reactor, Engine& engine, Response* response,
              std::function<absl::StatusOr<Response>(Scheduler&)> work) {
  engine.Call<Response>(std::move(work), [reactor, response](absl::StatusOr<Response> value) {
    const absl::Status status = value.status();
    if (status.ok()) {
      *response = *std::move(value);
    }
    reactor->Finish(rpc::ToGrpcStatus(status));
  });
}

// The same for a call whose reactor nobody has asked for: a context makes one each time.
template <typename Response>
grpc::ServerUnaryReactor* Answer(Engine& engine, grpc::CallbackServerContext* context,
                                 Response* response,
                                 std::function<absl::StatusOr<Response>(Scheduler&)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AnswerOn<Response>(reactor, engine, response, std::move(work));
  return reactor;
}

// Ends a call that needs no engine.
inline grpc::ServerUnaryReactor* AnswerNow(grpc::CallbackServerContext* context,
                                           const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpcStatus(status));
  return reactor;
}

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ANSWER_H_
