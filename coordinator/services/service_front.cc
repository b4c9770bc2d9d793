// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/service_front.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/server_interceptor.h>

#include <iterator>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "coordinator/access/audit_target.h"
#include "coordinator/access/method_table.h"
#include "coordinator/page/api.h"
#include "coordinator/services/call_context.h"
#include "proto/rpc/status.h"

namespace concur {
namespace {

using ::grpc::experimental::InterceptionHookPoints;
using ::grpc::experimental::InterceptorBatchMethods;
using ::grpc::experimental::ServerRpcInfo;
using ::grpc::internal::RpcMethod;

// Name that gRPC gives to the peer of a call in this process; those over sockets have addresses.
constexpr char kInProcessPeer[] = "unknown";

using CallHeaders = std::multimap<grpc::string_ref, grpc::string_ref>;

// The header "authorization"; "" when there is none, or more than one.
std::string AuthorizationIn(const CallHeaders& headers) {
  const auto [begin, end] = headers.equal_range("authorization");
  if (begin == end || std::next(begin) != end) {
    return "";
  }
  return std::string(begin->second.data(), begin->second.size());
}

// Where a call comes from. The page calls in this process, which has no address, for viewers whose
// addresses it hands on; others cannot claim one.
gate::Peer PeerOfCall(const gate::Peers& peers, const std::string& name,
                      const CallHeaders& headers) {
  const auto handed_on = headers.find(page::kPagePeerMetadata);
  if (name != kInProcessPeer || handed_on == headers.end()) {
    return peers.Of(name);
  }
  return {std::string(handed_on->second.data(), handed_on->second.size()), ""};
}

// Says in the context who calls, from where, and whether the method's role admits it.
void AuthenticateCall(const ServiceFrontParts& parts, const MethodRule& rule,
                      const CallHeaders& headers, CallContext& call) {
  call.from = PeerOfCall(parts.peers, call.peer(), headers);
  call.authenticated = parts.access.Authenticate(AuthorizationIn(headers));
  call.admitted = call.authenticated.ok() ? CheckMayCall(*call.authenticated, rule)
                                          : call.authenticated.status();
}

// Gives every call of a service a CallContext. Calls of unknown methods have generic contexts,
// which gRPC releases as if they were of the base class.
class CallContextAllocator final : public grpc::ContextAllocator {
 public:
  grpc::CallbackServerContext* NewCallbackServerContext() override { return new CallContext; }
  grpc::GenericCallbackServerContext* NewGenericCallbackServerContext() override {
    return new grpc::GenericCallbackServerContext;
  }
  void Release(grpc::CallbackServerContext* context) override { delete context; }
  void Release(grpc::GenericCallbackServerContext* context) override { delete context; }
};

// Ends a call at once, whatever kind it is.
template <typename Reactor>
class RefusalReactor final : public Reactor {
 public:
  explicit RefusalReactor(const absl::Status& status) { this->Finish(rpc::ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

// Returns what `serve` returns if the call was admitted.
template <typename Serve>
auto ServeAdmitted(grpc::CallbackServerContext* context, Serve serve) {
  auto* call = static_cast<CallContext*>(context);
  using Reactor = std::remove_pointer_t<decltype(serve(call))>;
  return call->admitted.ok() ? serve(call) : new RefusalReactor<Reactor>(call->admitted);
}

}  // namespace

struct ServiceFront::Method {
  const MethodRule* rule = nullptr;                      // null: of no service of ours
  MethodMetrics* metrics = nullptr;                      // null: none are kept
  AuditTarget (*target)(const void* message) = nullptr;  // a request's target
  // Its handler does what the interceptor does for other methods. An intercepted call passes
  // through gRPC's completion queue two more times, which wakes its threads each time.
  bool is_direct = false;
};

// One call in the metrics and the audit log. Thread-compatible.
class ServiceFront::Record final : public CallRecord {
 public:
  Record(const ServiceFrontParts& parts, const Method& method) : parts_(parts), method_(method) {
    if (method_.metrics != nullptr) {
      method_.metrics->Begin();
    }
  }
  ~Record() override {
    if (!ended_) {  // the client went away before there was a status
      EndMetrics(absl::StatusCode::kCancelled);
    }
  }

  // Whose call it is; not known of methods without a rule, whose contexts are of other types.
  void SetCall(const CallContext& call) { call_ = &call; }
  // Takes the target from the first message.
  void SetTarget(const void* message) {
    if (!has_target_) {
      has_target_ = true;
      target_ = method_.target(message);
    }
  }
  void End(const absl::Status& status) override {
    if (ended_) {
      return;
    }
    ended_ = true;
    EndMetrics(status.code());
    if (method_.rule != nullptr) {
      Audit(status);
    }
  }

 private:
  void EndMetrics(absl::StatusCode code) {
    if (method_.metrics != nullptr) {
      method_.metrics->End(code, absl::Now() - begin_);
    }
  }

  void Audit(const absl::Status& outcome) {
    const bool refused = absl::IsUnauthenticated(outcome) || absl::IsPermissionDenied(outcome);
    if (!refused && (!method_.rule->audited || target_.is_routine)) {
      return;
    }
    AuditEntry entry;
    if (call_->authenticated.ok()) {
      entry.user = call_->caller().user;
      entry.token = call_->caller().token;
    }
    entry.certificate = call_->from.certificate;
    entry.peer = call_->from.address;
    entry.method = std::string(method_.rule->name());
    entry.target = target_.text;
    entry.outcome = outcome;
    parts_.audit.Write(entry);
  }

  const ServiceFrontParts& parts_;
  const Method& method_;
  const absl::Time begin_ = absl::Now();
  const CallContext* call_ = nullptr;
  AuditTarget target_;
  bool has_target_ = false;
  bool ended_ = false;
};

// Follows one call from its headers to its end. gRPC calls it in order, from its own threads.
class ServiceFront::Interceptor final : public grpc::experimental::Interceptor {
 public:
  Interceptor(const ServiceFrontParts& parts, const Method& method, ServerRpcInfo& info)
      : parts_(parts), method_(method), info_(info), record_(parts, method) {
    if (method_.rule != nullptr) {
      record_.SetCall(call());
    }
  }

  ~Interceptor() override {
    if (stream_ != 0) {
      parts_.streams.End(stream_);
    }
  }

  void Intercept(InterceptorBatchMethods* batch) override {
    if (info_.type() != ServerRpcInfo::Type::UNARY) {
      WatchStream(*batch);
    }
    if (method_.rule != nullptr &&
        batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      Admit(*batch->GetRecvInitialMetadata());
    }
    if (method_.rule != nullptr &&
        batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) &&
        batch->GetRecvMessage() != nullptr) {
      record_.SetTarget(batch->GetRecvMessage());
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      record_.End(rpc::FromGrpcStatus(batch->GetSendStatus()));
    }
    batch->Proceed();
  }

 private:
  // REQUIRES: the method has a rule; other calls have contexts of other types.
  CallContext& call() const { return static_cast<CallContext&>(*info_.server_context()); }

  void Admit(const CallHeaders& headers) {
    CallContext& call = this->call();
    AuthenticateCall(parts_, *method_.rule, headers, call);
    if (call.admitted.ok() && stream_ != 0) {
      call.admitted =
          parts_.streams.Admit(stream_, call.caller().user, call.caller().sender, IsLimited());
    }
  }

  bool IsLimited() const {
    return method_.rule != nullptr && method_.rule->streams == StreamLimit::kPerPeer;
  }

  // Tells the StreamWatch when the other side has to read or to send, and when it has.
  void WatchStream(InterceptorBatchMethods& batch) {
    const bool receives = info_.type() == ServerRpcInfo::Type::CLIENT_STREAMING;
    // One in both directions, as server reflection is, has to begin; then either side may be
    // silent.
    const bool begins = info_.type() == ServerRpcInfo::Type::BIDI_STREAMING;
    if (stream_ == 0) {
      grpc::ServerContextBase& context = *info_.server_context();
      stream_ = parts_.streams.Begin(parts_.peers.Of(context.peer()).address, info_.method(),
                                     context.c_call());
      if (receives || begins) {
        parts_.streams.Wait(stream_);
      }
    }
    if (receives && batch.QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE)) {
      parts_.streams.Wait(stream_);  // for the next message
    } else if (batch.QueryInterceptionHookPoint(InterceptionHookPoints::POST_SEND_MESSAGE) ||
               (begins && !has_begun_ &&
                batch.QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE))) {
      has_begun_ = true;
      parts_.streams.Go(stream_);
    }
    if (batch.QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      parts_.streams.Wait(stream_);
    }
  }

  const ServiceFrontParts& parts_;
  const Method& method_;
  ServerRpcInfo& info_;
  Record record_;
  uint64_t stream_ = 0;     // the StreamWatch's number; 0: none
  bool has_begun_ = false;  // a message came or went
};

class ServiceFront::InterceptorFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit InterceptorFactory(const ServiceFront& front) : front_(front) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    const Method& method = front_.Find(info->method());
    return method.is_direct ? nullptr : new Interceptor(front_.parts_, method, *info);
  }

 private:
  const ServiceFront& front_;
};

// One service, whose methods are added one by one. gRPC's code generator would derive it from a
// class with one overload per method, which would be a second list of all methods, and costs more
// to compile; the handlers are those that generated code uses.
class ServiceFront::Service final : public grpc::Service {
 public:
  Service(ServiceFront& front, absl::string_view prefix) : front_(front), prefix_(prefix) {}

  template <typename Object, typename Request, typename Response>
  void Add(absl::string_view name, Object& object,
           grpc::ServerUnaryReactor* (Object::*handler)(CallContext*, const Request*, Response*)) {
    AddHandler(MakeMethod<Request>(name), RpcMethod::NORMAL_RPC,
               new grpc::internal::CallbackUnaryHandler<Request, Response>(
                   [&object, handler](grpc::CallbackServerContext* context, const Request* request,
                                      Response* response) {
                     return ServeAdmitted(context, [&](CallContext* call) {
                       return (object.*handler)(call, request, response);
                     });
                   }));
  }
  // Without an interceptor. The handler's reactor must call the record's End. A message that is no
  // Request never gets here: gRPC refuses it, and it is not recorded.
  template <typename Object, typename Request, typename Response>
  void AddDirect(absl::string_view name, Object& object,
                 grpc::ServerUnaryReactor* (Object::*handler)(CallContext*, const Request*,
                                                              Response*)) {
    Method& method = MakeMethod<Request>(name);
    method.is_direct = true;
    AddHandler(method, RpcMethod::NORMAL_RPC,
               new grpc::internal::CallbackUnaryHandler<Request, Response>(
                   [this, &method, &object, handler](grpc::CallbackServerContext* context,
                                                     const Request* request, Response* response) {
                     Begin(method, request, static_cast<CallContext&>(*context));
                     return ServeAdmitted(context, [&](CallContext* call) {
                       return (object.*handler)(call, request, response);
                     });
                   }));
  }
  template <typename Object, typename Request, typename Response>
  void Add(absl::string_view name, Object& object,
           grpc::ServerWriteReactor<Response>* (Object::*handler)(CallContext*, const Request*)) {
    AddHandler(
        MakeMethod<Request>(name), RpcMethod::SERVER_STREAMING,
        new grpc::internal::CallbackServerStreamingHandler<Request, Response>(
            [&object, handler](grpc::CallbackServerContext* context, const Request* request) {
              return ServeAdmitted(
                  context, [&](CallContext* call) { return (object.*handler)(call, request); });
            }));
  }
  template <typename Object, typename Request, typename Response>
  void Add(absl::string_view name, Object& object,
           grpc::ServerReadReactor<Request>* (Object::*handler)(CallContext*, Response*)) {
    AddHandler(MakeMethod<Request>(name), RpcMethod::CLIENT_STREAMING,
               new grpc::internal::CallbackClientStreamingHandler<Request, Response>(
                   [&object, handler](grpc::CallbackServerContext* context, Response* response) {
                     return ServeAdmitted(context, [&](CallContext* call) {
                       return (object.*handler)(call, response);
                     });
                   }));
  }

 private:
  template <typename Request>
  Method& MakeMethod(absl::string_view name) {
    const MethodRule* rule = FindMethodRule(absl::StrCat(prefix_, name));
    CONCUR_CHECK(rule != nullptr);
    auto& method = front_.methods_[rule->path];
    CONCUR_CHECK(method == nullptr);  // added twice
    method = std::make_unique<Method>();
    method->rule = rule;
    method->target = [](const void* message) {
      return AuditTargetOf(*static_cast<const Request*>(message));
    };
    if (front_.parts_.metrics != nullptr) {
      // A66 writes a method without its leading slash.
      method->metrics =
          &front_.metrics_.emplace_back(*front_.parts_.metrics, std::string(rule->path.substr(1)));
    }
    return *method;
  }

  void AddHandler(const Method& method, RpcMethod::RpcType type,
                  grpc::internal::MethodHandler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(method.rule->path.data(), type, nullptr));
    MarkMethodCallback(count_++, handler);
  }

  // Does what the interceptor does for other methods before their handlers run.
  void Begin(const Method& method, const void* request, CallContext& call) {
    auto record = std::make_unique<Record>(front_.parts_, method);
    record->SetCall(call);
    record->SetTarget(request);
    AuthenticateCall(front_.parts_, *method.rule, call.client_metadata(), call);
    if (!call.admitted.ok()) {
      record->End(call.admitted);
    }
    call.record = std::move(record);
  }

  ServiceFront& front_;
  const absl::string_view prefix_;
  int count_ = 0;
};

ServiceFront::ServiceFront(const ServiceFrontParts& parts, CoordinatorService& coordinator,
                           WorkerService& workers)
    : parts_(parts), other_(std::make_unique<Method>()) {
  if (parts_.metrics != nullptr) {
    other_->metrics = &metrics_.emplace_back(*parts_.metrics, "other");
  }
  using C = CoordinatorService;
  Service& users =
      *services_.emplace_back(std::make_unique<Service>(*this, "/concur.v1.Coordinator/"));
  users.Add("CreateSweep", coordinator, &C::CreateSweep);
  users.Add("ImportSweep", coordinator, &C::ImportSweep);
  users.Add("GetSweep", coordinator, &C::GetSweep);
  users.Add("ListSweeps", coordinator, &C::ListSweeps);
  users.Add("PauseSweep", coordinator, &C::PauseSweep);
  users.Add("ResumeSweep", coordinator, &C::ResumeSweep);
  users.Add("SetPriority", coordinator, &C::SetPriority);
  users.Add("SetBudget", coordinator, &C::SetBudget);
  users.Add("CancelSweep", coordinator, &C::CancelSweep);
  users.Add("CancelJob", coordinator, &C::CancelJob);
  users.Add("DeleteSweep", coordinator, &C::DeleteSweep);
  users.Add("RetryJobs", coordinator, &C::RetryJobs);
  users.Add("ListJobs", coordinator, &C::ListJobs);
  users.Add("GetJob", coordinator, &C::GetJob);
  users.Add("WatchSweep", coordinator, &C::WatchSweep);
  users.Add("ListWorkers", coordinator, &C::ListWorkers);
  users.Add("ListDurations", coordinator, &C::ListDurations);
  users.Add("GetFleetHistory", coordinator, &C::GetFleetHistory);
  users.Add("DrainWorker", coordinator, &C::DrainWorker);
  users.Add("ListResources", coordinator, &C::ListResources);
  users.Add("SetResource", coordinator, &C::SetResource);
  users.Add("DeleteResource", coordinator, &C::DeleteResource);
  users.Add("ListPools", coordinator, &C::ListPools);
  users.Add("GetPool", coordinator, &C::GetPool);
  users.Add("CreatePool", coordinator, &C::CreatePool);
  users.Add("PausePool", coordinator, &C::PausePool);
  users.Add("ResumePool", coordinator, &C::ResumePool);
  users.Add("DeletePool", coordinator, &C::DeletePool);
  users.Add("ListScores", coordinator, &C::ListScores);
  users.Add("ReadLog", coordinator, &C::ReadLog);
  users.Add("ListAuditEntries", coordinator, &C::ListAuditEntries);
  users.Add("FindMissingArtifacts", coordinator, &C::FindMissingArtifacts);
  users.Add("GetUploadOffset", coordinator, &C::GetUploadOffset);
  users.Add("UploadArtifact", coordinator, &C::UploadArtifact);
  users.Add("DownloadArtifact", coordinator, &C::DownloadArtifact);
  users.Add("SetSecret", coordinator, &C::SetSecret);
  users.Add("ListSecrets", coordinator, &C::ListSecrets);
  users.Add("DeleteSecret", coordinator, &C::DeleteSecret);

  using W = WorkerService;
  Service& gateway =
      *services_.emplace_back(std::make_unique<Service>(*this, "/concur.v1.WorkerGateway/"));
  gateway.AddDirect("Sync", workers, &W::Sync);
  gateway.Add("GetUploadOffset", workers, &W::GetUploadOffset);
  gateway.Add("UploadArtifact", workers, &W::UploadArtifact);
  gateway.Add("DownloadArtifact", workers, &W::DownloadArtifact);
}

ServiceFront::~ServiceFront() = default;

void ServiceFront::AddTo(grpc::ServerBuilder& builder) {
  builder.SetContextAllocator(std::make_unique<CallContextAllocator>());
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<InterceptorFactory>(*this));
  builder.experimental().SetInterceptorCreators(std::move(factories));
  for (const std::unique_ptr<Service>& service : services_) {
    builder.RegisterService(service.get());
  }
}

const ServiceFront::Method& ServiceFront::Find(absl::string_view path) const {
  const auto found = methods_.find(path);
  return found == methods_.end() ? *other_ : *found->second;
}

}  // namespace concur
