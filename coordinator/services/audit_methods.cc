// SPDX-License-Identifier: Apache-2.0
// CoordinatorService: the audit log.
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "coordinator/services/answer.h"
#include "coordinator/services/coordinator_service.h"
#include "coordinator/services/page_size.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/status.h"

namespace concur {
namespace {

v1::AuditEntry AuditEntryProto(const AuditRecord& record) {
  v1::AuditEntry proto;
  if (record.time != absl::InfinitePast()) {
    *proto.mutable_time() = rpc::ToProto(record.time);
  }
  proto.set_user(CleanUtf8(record.user));
  proto.set_token(CleanUtf8(record.token));
  proto.set_certificate(CleanUtf8(record.certificate));
  proto.set_peer(CleanUtf8(record.peer));
  proto.set_method(CleanUtf8(record.method));
  proto.set_target(CleanUtf8(record.target));
  proto.set_outcome(CleanUtf8(record.outcome));
  proto.set_message(CleanUtf8(record.message));
  return proto;
}

absl::Status ReadEntries(AuditLog& audit, const v1::ListAuditEntriesRequest& request,
                         v1::ListAuditEntriesResponse* response) {
  CONCUR_ASSIGN_OR_RETURN(const size_t size, PageSize(request.page_size()));
  const AuditFilter filter{request.strangers(), request.user(), request.method(), request.target(),
                           request.failed_only()};
  CONCUR_ASSIGN_OR_RETURN(AuditPage page, audit.Read(filter, request.page_token(), size));
  for (const AuditRecord& record : page.records) {
    *response->add_entries() = AuditEntryProto(record);
  }
  response->set_next_page_token(std::move(page.next_page_token));
  return absl::OkStatus();
}

}  // namespace

// On the pool, since it reads files.
grpc::ServerUnaryReactor* CoordinatorService::ListAuditEntries(
    CallContext* call, const v1::ListAuditEntriesRequest* request,
    v1::ListAuditEntriesResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  pool_.Submit([this, reactor, request, response] {
    reactor->Finish(rpc::ToGrpcStatus(ReadEntries(audit_, *request, response)));
  });
  return reactor;
}

}  // namespace concur
