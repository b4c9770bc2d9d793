#include "coordinator/audit_interceptor.h"

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "concur/v1/coordinator.pb.h"
#include "concur/v1/worker.pb.h"
#include "coordinator/authorization.h"
#include "rpc/status.h"

namespace concur {
namespace {

using ::grpc::experimental::InterceptionHookPoints;
using ::grpc::experimental::InterceptorBatchMethods;

template <typename Request>
std::string SweepOf(const void* message) {
  return static_cast<const Request*>(message)->sweep();
}

// What the request is about. `message` has the type that `method` takes.
std::string TargetOf(absl::string_view method, const void* message) {
  if (method == "CreateSweep") {
    const auto& request = *static_cast<const v1::CreateSweepRequest*>(message);
    return absl::StrCat(request.spec().name(), request.validate_only() ? " (only checked)" : "",
                        ", request ", request.request_id());
  }
  if (method == "PauseSweep") {
    return SweepOf<v1::PauseSweepRequest>(message);
  }
  if (method == "ResumeSweep") {
    return SweepOf<v1::ResumeSweepRequest>(message);
  }
  if (method == "CancelSweep") {
    return SweepOf<v1::CancelSweepRequest>(message);
  }
  if (method == "DeleteSweep") {
    return SweepOf<v1::DeleteSweepRequest>(message);
  }
  if (method == "RetryJobs") {
    const auto& request = *static_cast<const v1::RetryJobsRequest*>(message);
    return absl::StrCat(request.sweep(), ", ",
                        request.jobs().empty() ? "all" : absl::StrCat(request.jobs_size()), " jobs",
                        request.rerun_succeeded() ? ", also succeeded ones" : "");
  }
  if (method == "DrainWorker") {
    const auto& request = *static_cast<const v1::DrainWorkerRequest*>(message);
    return absl::StrCat(request.worker(), request.undo() ? ", undo" : "");
  }
  if (method == "CreatePool") {
    return static_cast<const v1::CreatePoolRequest*>(message)->spec().name();
  }
  if (method == "PausePool") {
    return static_cast<const v1::PausePoolRequest*>(message)->pool();
  }
  if (method == "ResumePool") {
    return static_cast<const v1::ResumePoolRequest*>(message)->pool();
  }
  if (method == "DeletePool") {
    const auto& request = *static_cast<const v1::DeletePoolRequest*>(message);
    return absl::StrCat(request.pool(), request.at_once() ? ", at once" : "");
  }
  if (method == "UploadArtifact") {
    const auto& request = *static_cast<const v1::UploadArtifactRequest*>(message);
    return absl::BytesToHexString(absl::string_view(request.digest()).substr(0, 32));
  }
  if (method == "Sync") {
    const auto& request = *static_cast<const v1::SyncRequest*>(message);
    return absl::StrCat(request.worker(), ", incarnation ", request.incarnation(),
                        request.leaving() ? ", leaves" : "");
  }
  return "";
}

class AuditInterceptor final : public grpc::experimental::Interceptor {
 public:
  AuditInterceptor(Access& access, AuditLog& log, const MethodRule& rule,
                   grpc::experimental::ServerRpcInfo* info)
      : access_(access),
        log_(log),
        method_(rule.method.substr(rule.method.rfind('/') + 1)),
        by_worker_(absl::StartsWith(rule.method, "/concur.v1.WorkerGateway/")),
        changes_(rule.changes),
        info_(info) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      authorization_ = AuthorizationIn(*methods->GetRecvInitialMetadata());
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) && !seen_ &&
        methods->GetRecvMessage() != nullptr) {
      seen_ = true;
      const void* message = methods->GetRecvMessage();
      target_ = TargetOf(method_, message);
      if (method_ == "Sync") {
        // One line for a worker's coming and one for its leaving, not one for each of its calls.
        const auto& request = *static_cast<const v1::SyncRequest*>(message);
        notable_ = request.sequence() <= 1 || request.leaving();
      }
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      End(rpc::FromGrpcStatus(methods->GetSendStatus()));
    }
    methods->Proceed();
  }

 private:
  void End(absl::Status status) {
    const bool refused = absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status);
    // What workers upload are their jobs' results, which the database tells of.
    const bool routine = by_worker_ && (method_ != "Sync" || !notable_);
    if (!refused && (!changes_ || routine)) {
      return;
    }
    AuditEntry entry;
    if (const absl::StatusOr<Caller> caller = access_.Authenticate(authorization_); caller.ok()) {
      entry.user = caller->user;
      entry.token = caller->token;
    }
    grpc::ServerContextBase* context = info_->server_context();
    if (context->auth_context() != nullptr && context->auth_context()->IsPeerAuthenticated()) {
      for (const grpc::string_ref& name : context->auth_context()->GetPeerIdentity()) {
        entry.certificate.assign(name.data(), name.size());
      }
    }
    entry.peer = context->peer();
    entry.method = std::string(method_);
    entry.target = target_;
    entry.outcome = std::move(status);
    log_.Write(entry);
  }

  Access& access_;
  AuditLog& log_;
  const absl::string_view method_;  // of the rule, which stays
  const bool by_worker_;
  const bool changes_;
  grpc::experimental::ServerRpcInfo* const info_;
  std::string authorization_;
  std::string target_;
  bool seen_ = false;
  bool notable_ = false;
};

}  // namespace

grpc::experimental::Interceptor* AuditInterceptorFactory::CreateServerInterceptor(
    grpc::experimental::ServerRpcInfo* info) {
  const MethodRule* rule = FindMethodRule(info->method());
  return rule == nullptr ? nullptr : new AuditInterceptor(access_, log_, *rule, info);
}

}  // namespace concur
