// SPDX-License-Identifier: Apache-2.0
// The coordinator's gRPC methods as JSON. A request becomes the method's message, is sent through a
// channel, and the response's message becomes JSON: roles, checks, limits and the audit log are
// those of gRPC, since it is the same call. There is no list of fields: messages are found by name.
//
// Thread-safe; blocks nobody.
#ifndef CONCUR_COORDINATOR_PAGE_API_H_
#define CONCUR_COORDINATOR_PAGE_API_H_

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/http/http_exchange.h"
#include "base/mutex.h"
#include "base/thread_pool.h"

namespace grpc {
class ClientContext;
}  // namespace grpc
namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace concur::page {

// Way in which a method is served over HTTP.
enum class ApiKind {
  kGet,     // reads: fields in the query
  kPost,    // changes: a JSON body
  kEvents,  // reads a stream: fields in the query, messages as server-sent events
};

struct ApiMethod {
  std::string path;  // "/concur.v1.Coordinator/GetSweep"
  ApiKind kind = ApiKind::kGet;
  // Pace of a stream whose next message has all that happened since the last one: it is asked for
  // at multiples of this time. So many viewers of one sweep cost little, and get the same message,
  // which is written once. Zero: at once.
  absl::Duration pace = absl::ZeroDuration();

  std::string name() const { return path.substr(path.rfind('/') + 1); }  // "GetSweep"
};

// On whose behalf a call is made: metadata of the gRPC call.
struct ApiCaller {
  std::string authorization;  // "Bearer TOKEN"; "" where everybody may do everything
  std::string peer;           // for the audit log
};
// The name of the metadata with the peer.
inline constexpr char kPagePeerMetadata[] = "concur-page-peer";

void AddCaller(const ApiCaller& caller, grpc::ClientContext& context);

class Api {
 public:
  Api(std::shared_ptr<grpc::Channel> channel, std::vector<ApiMethod> methods);
  // Waits for calls in progress. REQUIRES: CancelAll was called.
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  const std::vector<ApiMethod>& methods() const { return methods_; }
  // Null when there is none.
  const ApiMethod* Find(absl::string_view name) const;

  // The method's request as protobuf writes it. InvalidArgument names what is wrong.
  static absl::StatusOr<std::string> RequestFromQuery(const ApiMethod& method,
                                                      const http::HttpRequest& request);
  static absl::StatusOr<std::string> RequestFromJson(const ApiMethod& method,
                                                     absl::string_view json);

  // Calls a method with such a request. `done` gets the response as JSON, from any thread.
  void Call(const ApiMethod& method, const ApiCaller& caller, const std::string& request,
            std::function<void(absl::StatusOr<std::string> json)> done);
  // Calls one that answers by a stream. Every message becomes an event "message" with JSON; the
  // last event is "end", or "error" with {"error":{"code","message"}}. `done` is called once, when
  // the call has ended.
  void Stream(const ApiMethod& method, const ApiCaller& caller, const std::string& request,
              std::shared_ptr<http::EventOutlet> events, std::function<void()> done);

  // Cancels what is in progress and refuses what comes (Unavailable).
  void CancelAll();

 private:
  struct UnaryCall;
  class EventCall;

  // A message of a stream and what a viewer is sent for it.
  struct Written {
    const google::protobuf::Descriptor* type;
    std::string message;
    std::string event;
  };

  // The event "message". Those of the last few messages are remembered, since the viewers of one
  // sweep are sent the same.
  absl::StatusOr<std::string> MessageEvent(const google::protobuf::Descriptor& type,
                                           const grpc::ByteBuffer& buffer);
  // False after CancelAll.
  bool Register(grpc::ClientContext* context);
  void Unregister(grpc::ClientContext* context);

  const std::vector<ApiMethod> methods_;
  grpc::GenericStub stub_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  std::deque<Written> written_ ABSL_GUARDED_BY(mutex_);
  ThreadPool timers_;  // used by paced streams; needed until there are no contexts
};

// {"error":{"code":"NOT_FOUND","message":"…"}}.
std::string ErrorJson(const absl::Status& status);
// 404 for NotFound, and so on.
unsigned HttpStatusOf(const absl::Status& status);

}  // namespace concur::page

#endif  // CONCUR_COORDINATOR_PAGE_API_H_
