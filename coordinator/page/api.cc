// SPDX-License-Identifier: Apache-2.0
#include "coordinator/page/api.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/slice.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "proto/rpc/status.h"

namespace concur::page {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr std::chrono::seconds kCallTimeout{30};
// Limits on streams' messages that are remembered, with their JSON.
constexpr size_t kRememberedMax = 8;
constexpr size_t kRememberedBytesMax = 64 << 10;

const MethodDescriptor& DescriptorOf(const ApiMethod& method) {
  // Descriptors have dots where paths have slashes.
  const std::string name = absl::StrReplaceAll(method.path.substr(1), {{"/", "."}});
  const MethodDescriptor* found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  CONCUR_CHECK(found != nullptr);
  return *found;
}

std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

// The library's reason in one line, in words of the API: "sweeep: no such field".
std::string JsonProblem(absl::string_view reason) {
  reason = reason.substr(0, reason.find('\n'));
  absl::ConsumePrefix(&reason, ": ");
  return absl::StrReplaceAll(
      absl::StripSuffix(reason, "."),
      {{": Cannot find field", ": no such field"},
       {"invalid value Starting an object on a scalar field for type ", "expected no object for "},
       {"Root element must be a message", "expected an object"},
       {"for type TYPE_", "for type "},
       {"for type type.googleapis.com/concur.v1.", "for type "}});
}

absl::StatusOr<std::string> BytesOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok()) {
    return absl::InternalError("the response cannot be read");
  }
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

absl::StatusOr<std::string> ToJson(const google::protobuf::Descriptor& type,
                                   const std::string& bytes) {
  const std::unique_ptr<Message> message = NewMessage(type);
  if (!message->ParseFromString(bytes)) {
    return absl::InternalError("the response cannot be read");
  }
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(*message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(status.ToString());
  }
  return json;
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string Event(absl::string_view name, absl::string_view json) {
  return absl::StrCat("event: ", name, "\ndata: ", json, "\n\n");
}

}  // namespace

void AddCaller(const ApiCaller& caller, grpc::ClientContext& context) {
  if (!caller.authorization.empty()) {
    context.AddMetadata("authorization", caller.authorization);
  }
  context.AddMetadata(kPagePeerMetadata, caller.peer);
}

struct Api::UnaryCall {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
};

// A stream of messages, read one at a time: the next one once the viewer was sent the last. gRPC
// calls it from its threads, the outlet from the server's.
class Api::EventCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                             public std::enable_shared_from_this<Api::EventCall> {
 public:
  EventCall(Api& api, const ApiMethod& method, const std::string& request,
            std::shared_ptr<http::EventOutlet> events, std::function<void()> done)
      : api_(api),
        type_(*DescriptorOf(method).output_type()),
        pace_(method.pace),
        request_(ToBuffer(request)),
        events_(std::move(events)),
        done_(std::move(done)) {}

  // `self` is held until the call is done.
  void Start(const ApiMethod& method, const ApiCaller& caller,
             const std::shared_ptr<EventCall>& self) {
    self_ = self;
    AddCaller(caller, context_);
    events_->SetCallbacks([self] { self->Continue(); }, [self] { self->Close(); });
    if (!api_.Register(&context_)) {
      events_->SetCallbacks(nullptr, nullptr);
      self_ = nullptr;
      events_->End();
      done_();
      return;
    }
    api_.stub_.PrepareBidiStreamingCall(&context_, method.path, {}, this);
    AddHold();  // reads are started from outside of reactions
    {
      MutexLock lock(mutex_);
      reading_ = true;
    }
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    bool release = false;
    {
      MutexLock lock(mutex_);
      reading_ = false;
      release = (!ok || closed_) && !std::exchange(released_, true);
    }
    if (release) {
      RemoveHold();
      return;
    }
    if (!ok) {
      return;
    }
    absl::StatusOr<std::string> event = api_.MessageEvent(type_, response_);
    response_.Clear();
    if (event.ok()) {
      events_->Write(*std::move(event));
    } else {
      context_.TryCancel();
      Continue();
    }
  }

  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<EventCall> self = std::move(self_);
    events_->Write(status.ok() ? Event("end", "{}")
                               : Event("error", ErrorJson(rpc::FromGrpcStatus(status))));
    events_->End();
    done_();
    api_.Unregister(&context_);
  }

 private:
  // The viewer was sent the last message.
  void Continue() {
    if (pace_ == absl::ZeroDuration()) {
      ReadNext();
    } else {
      const absl::Duration past = (absl::Now() - absl::UnixEpoch()) % pace_;
      api_.timers_.SubmitAfter(pace_ - past, [self = shared_from_this()] { self->ReadNext(); });
    }
  }

  void ReadNext() {
    {
      MutexLock lock(mutex_);
      if (reading_ || released_) {
        return;
      }
      reading_ = true;
    }
    StartRead(&response_);
  }

  void Close() {
    context_.TryCancel();
    bool release = false;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      release = !reading_ && !std::exchange(released_, true);
    }
    if (release) {
      RemoveHold();
    }
  }

  Api& api_;
  const google::protobuf::Descriptor& type_;
  const absl::Duration pace_;
  const grpc::ByteBuffer request_;
  const std::shared_ptr<http::EventOutlet> events_;  // shared with the server
  const std::function<void()> done_;
  grpc::ClientContext context_;
  grpc::ByteBuffer response_;
  std::shared_ptr<EventCall> self_;  // the outlet's callbacks have it, too
  Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;    // by the viewer
  bool released_ ABSL_GUARDED_BY(mutex_) = false;  // no read is started any more
};

Api::Api(std::shared_ptr<grpc::Channel> channel, std::vector<ApiMethod> methods)
    : methods_(std::move(methods)), stub_(std::move(channel)), timers_(1) {}

Api::~Api() {
  MutexLock lock(mutex_);
  CONCUR_CHECK(stopping_);
  while (!contexts_.empty()) {
    changed_.Wait(mutex_);
  }
}

const ApiMethod* Api::Find(absl::string_view name) const {
  for (const ApiMethod& method : methods_) {
    if (method.name() == name) {
      return &method;
    }
  }
  return nullptr;
}

absl::StatusOr<std::string> Api::RequestFromJson(const ApiMethod& method, absl::string_view json) {
  const std::unique_ptr<Message> message = NewMessage(*DescriptorOf(method).input_type());
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), message.get());
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(method.name(), ": expected the JSON of ", message->GetDescriptor()->name(),
                     ": ", JsonProblem({status.message().data(), status.message().size()})));
  }
  return message->SerializeAsString();
}

absl::StatusOr<std::string> Api::RequestFromQuery(const ApiMethod& method,
                                                  const http::HttpRequest& request) {
  const google::protobuf::Descriptor& type = *DescriptorOf(method).input_type();
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [name, value] : request.query) {
    const FieldDescriptor* field = type.FindFieldByName(name);
    if (field == nullptr || field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return absl::InvalidArgumentError(
          absl::StrCat(method.name(), ": ", type.name(), " has no field \"", name, "\""));
    }
    if (field->is_repeated()) {
      object[name].push_back(value);
    } else if (object.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(method.name(), ": ", name, ": given twice"));
    } else {
      object[name] = value;
    }
  }
  return RequestFromJson(method,
                         object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void Api::Call(const ApiMethod& method, const ApiCaller& caller, const std::string& request,
               std::function<void(absl::StatusOr<std::string> json)> done) {
  auto call = std::make_shared<UnaryCall>();  // gRPC's callback holds it
  if (!Register(&call->context)) {
    done(absl::UnavailableError("the coordinator is stopping"));
    return;
  }
  AddCaller(caller, call->context);
  call->context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  call->request = ToBuffer(request);
  const google::protobuf::Descriptor& type = *DescriptorOf(method).output_type();
  stub_.UnaryCall(&call->context, method.path, {}, &call->request, &call->response,
                  [this, call, &type, done = std::move(done)](const grpc::Status& status) {
                    if (status.ok()) {
                      const absl::StatusOr<std::string> bytes = BytesOf(call->response);
                      done(bytes.ok() ? ToJson(type, *bytes) : bytes.status());
                    } else {
                      done(rpc::FromGrpcStatus(status));
                    }
                    Unregister(&call->context);
                  });
}

void Api::Stream(const ApiMethod& method, const ApiCaller& caller, const std::string& request,
                 std::shared_ptr<http::EventOutlet> events, std::function<void()> done) {
  const auto call =
      std::make_shared<EventCall>(*this, method, request, std::move(events), std::move(done));
  call->Start(method, caller, call);
}

absl::StatusOr<std::string> Api::MessageEvent(const google::protobuf::Descriptor& type,
                                              const grpc::ByteBuffer& buffer) {
  CONCUR_ASSIGN_OR_RETURN(std::string message, BytesOf(buffer));
  {
    MutexLock lock(mutex_);
    for (const Written& written : written_) {
      if (written.type == &type && written.message == message) {
        return written.event;
      }
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string json, ToJson(type, message));
  std::string event = Event("message", json);
  if (message.size() <= kRememberedBytesMax) {
    MutexLock lock(mutex_);
    written_.push_back({&type, std::move(message), event});
    if (written_.size() > kRememberedMax) {
      written_.pop_front();
    }
  }
  return event;
}

void Api::CancelAll() {
  MutexLock lock(mutex_);
  stopping_ = true;
  for (grpc::ClientContext* context : contexts_) {
    context->TryCancel();
  }
}

bool Api::Register(grpc::ClientContext* context) {
  MutexLock lock(mutex_);
  return !stopping_ && contexts_.insert(context).second;
}

void Api::Unregister(grpc::ClientContext* context) {
  MutexLock lock(mutex_);
  contexts_.erase(context);
  changed_.NotifyAll();
}

std::string ErrorJson(const absl::Status& status) {
  nlohmann::json json;
  json["error"]["code"] = absl::StatusCodeToString(status.code());
  json["error"]["message"] = std::string(status.message());
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

unsigned HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    case absl::StatusCode::kUnimplemented:
      return 501;
    default:
      return 500;
  }
}

}  // namespace concur::page
