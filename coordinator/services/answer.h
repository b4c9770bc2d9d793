// SPDX-License-Identifier: Apache-2.0
// Answers to unary calls: work in an engine turn, whose value is sent after the commit.
//
// Thread-safe.
#ifndef CONCUR_COORDINATOR_SERVICES_ANSWER_H_
#define CONCUR_COORDINATOR_SERVICES_ANSWER_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "coordinator/engine/engine.h"
#include "proto/rpc/status.h"

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

// The same, with the context's own reactor. REQUIRES: DefaultReactor was not called: a context
// makes one once.
template <typename Response>
grpc::ServerUnaryReactor* Answer(Engine& engine, grpc::CallbackServerContext* context,
                                 Response* response,
                                 std::function<absl::StatusOr<Response>(Scheduler&)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AnswerOn<Response>(reactor, engine, response, std::move(work));
  return reactor;
}

// The same for work that changes nothing: it runs before the next turn, on durable state, and the
// pool sends the answer, so that the engine's thread does not wait for the network.
template <typename Response>
grpc::ServerUnaryReactor* AnswerRead(
    Engine& engine, ThreadPool& pool, grpc::CallbackServerContext* context, Response* response,
    std::function<absl::StatusOr<Response>(const Scheduler&)> work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  engine.Read<Response>(
      std::move(work), [reactor, response, &pool](absl::StatusOr<Response> value) {
        // Into a copyable closure.
        auto shared = std::make_shared<absl::StatusOr<Response>>(std::move(value));
        pool.Submit([reactor, response, shared] {
          if (shared->ok()) {
            *response = *std::move(*shared);
          }
          reactor->Finish(rpc::ToGrpcStatus(shared->status()));
        });
      });
  return reactor;
}

// Ends a call without the engine.
inline grpc::ServerUnaryReactor* AnswerNow(grpc::CallbackServerContext* context,
                                           const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpcStatus(status));
  return reactor;
}

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SERVICES_ANSWER_H_
