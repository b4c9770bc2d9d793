// SPDX-License-Identifier: Apache-2.0
// CoordinatorService: secrets.
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/access/secrets.h"
#include "coordinator/services/answer.h"
#include "coordinator/services/coordinator_service.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/status.h"

namespace concur {
namespace {

v1::Secret SecretProto(const Secrets::Named& one) {
  v1::Secret proto;
  proto.set_name(one.name);
  *proto.mutable_set_time() = rpc::ToProto(one.set_time);
  return proto;
}

}  // namespace

// On the pool, since it writes a file.
grpc::ServerUnaryReactor* CoordinatorService::SetSecret(CallContext* call,
                                                        const v1::SetSecretRequest* request,
                                                        v1::Secret* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  pool_.Submit([this, reactor, owner = call->caller().user, request, response] {
    const absl::StatusOr<Secrets::Named> set =
        secrets_.Set(owner, request->name(), request->value());
    if (set.ok()) {
      *response = SecretProto(*set);
    }
    reactor->Finish(rpc::ToGrpcStatus(set.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::ListSecrets(CallContext* call,
                                                          const v1::ListSecretsRequest* /*request*/,
                                                          v1::ListSecretsResponse* response) {
  for (const Secrets::Named& one : secrets_.List(call->caller().user)) {
    *response->add_secrets() = SecretProto(one);
  }
  return AnswerNow(call, absl::OkStatus());
}

grpc::ServerUnaryReactor* CoordinatorService::DeleteSecret(CallContext* call,
                                                           const v1::DeleteSecretRequest* request,
                                                           v1::DeleteSecretResponse* /*response*/) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  pool_.Submit([this, reactor, owner = call->caller().user, request] {
    reactor->Finish(rpc::ToGrpcStatus(secrets_.Delete(owner, request->name())));
  });
  return reactor;
}

}  // namespace concur
