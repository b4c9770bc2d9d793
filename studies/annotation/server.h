// SPDX-License-Identifier: Apache-2.0
// The annotators' page and its API (docs/annotation.md). Whoever logs in is an annotator and sees
// passages, questions to validate and numbers about themselves; reviewers see questions with their
// authors, too. There is no other role here, and no way from here to a coordinator.
//
// One thread owns the room: each change is in its log before it is answered. Another asks the
// systems, so that a slow one delays nobody who writes or validates.
//
// Thread-safe.
#ifndef CONCUR_STUDIES_ANNOTATION_SERVER_H_
#define CONCUR_STUDIES_ANNOTATION_SERVER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/http/http_server.h"
#include "base/http/listener.h"
#include "base/http/session.h"
#include "base/thread_pool.h"
#include "studies/annotation/api.h"
#include "studies/annotation/directory.h"
#include "studies/annotation/system.h"

namespace concur::annotation {

struct ServerOptions {
  std::string listen;    // HOST:PORT of the loopback device; port 0 takes a free one
  std::string key_path;  // file of the key that seals sessions; made when there is none
  absl::Duration session = absl::Hours(24 * 30);
};

class AnnotationServer {
 public:
  // InvalidArgument for an address that is not one of the loopback device; Unavailable when it is
  // taken.
  static absl::StatusOr<http::Listener> ListenOn(const std::string& address);
  // `systems` answer: one for each of room.systems(), in its order. The errors of ListenOn. `clock`
  // outlives the server.
  static absl::StatusOr<std::unique_ptr<AnnotationServer>> Start(
      Clock& clock, std::unique_ptr<LiveRoom> room, std::vector<std::unique_ptr<System>> systems,
      ServerOptions options);
  // Waits for the answer that a system is asked for; later questions are refused.
  ~AnnotationServer();
  AnnotationServer(const AnnotationServer&) = delete;
  AnnotationServer& operator=(const AnnotationServer&) = delete;

  // "http://127.0.0.1:7450/".
  const std::string& address() const { return address_; }
  // A link that logs the annotator in once. Sessions and links of earlier ones end. With
  // `is_reviewer`, the annotator reviews others from now on.
  absl::StatusOr<std::string> MakeLink(const std::string& annotator, bool is_reviewer = false);

 private:
  using Exchange = std::shared_ptr<http::HttpExchange>;

  AnnotationServer(Clock& clock, std::unique_ptr<LiveRoom> room,
                   std::vector<std::unique_ptr<System>> systems, ServerOptions options,
                   std::string key, const http::Endpoint& endpoint);

  void Handle(const Exchange& exchange);
  // The rest runs on the room's thread, except where it says so.
  http::HttpResponse LogIn(const http::HttpRequest& request);
  absl::StatusOr<std::string> AnnotatorOf(const http::HttpRequest& request) const;
  void HandleCall(const Exchange& exchange, const std::string& method);
  void TakeAttempt(const Exchange& exchange, const std::string& annotator);
  void AskSystems(const Exchange& exchange, AnnotationApi::Question question);
  absl::StatusOr<std::vector<std::string>> AnswersTo(const AnnotationApi::Question& question);
  std::string SessionCookie(const std::string& value, absl::Duration age) const;
  absl::Time Now() const;

  Clock& clock_;
  const std::unique_ptr<LiveRoom> room_;                // used by room_thread_
  const std::vector<std::unique_ptr<System>> systems_;  // asked by system_thread_
  const ServerOptions options_;
  const std::string address_;
  const std::string cookie_name_;
  const http::SessionSealer sealer_;
  AnnotationApi api_;  // used by room_thread_
  std::atomic<bool> is_stopping_ = false;
  ThreadPool room_thread_;
  ThreadPool system_thread_;
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_SERVER_H_
