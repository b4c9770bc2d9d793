// SPDX-License-Identifier: Apache-2.0
// Annotators' requests to a room, as JSON: bodies are read, events saved, answers written. Whatever
// is sent again because its answer was lost gets that answer again and changes nothing. Without
// HTTP, threads and a clock: the server calls it, and random tests do.
//
// Messages of errors are for annotators: what they did wrong, not what this machine did.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_ANNOTATION_API_H_
#define CONCUR_STUDIES_ANNOTATION_API_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "studies/annotation/event.h"
#include "studies/annotation/room.h"

namespace concur::annotation {

class AnnotationApi {
 public:
  // Saves an event that the room's Check accepts and applies it, or changes nothing
  // (LiveRoom::CommitChecked).
  using Commit = std::function<absl::Status(const Event&)>;

  // `room` outlives the object.
  AnnotationApi(const Room& room, Commit commit) : room_(room), commit_(std::move(commit)) {}

  // The name of the annotator whose login link has this code, which works once: Unauthenticated
  // afterwards. `body`: {"code"}.
  absl::StatusOr<std::string> LogIn(const std::string& body, absl::Time now);

  // All of these are for a known annotator. The work of the annotator and the state of the room.
  std::string State(const std::string& annotator) const;
  // {"kind": "writing", "validating" or "reviewing", "skip"}: what to do next.
  absl::StatusOr<std::string> TakeTask(const std::string& annotator, const std::string& body,
                                       absl::Time now);

  struct Question {
    Event attempt;
    std::string passage;  // its text
  };
  struct Begun {
    std::string response;              // when there is nothing to ask
    std::optional<Question> question;  // for the systems; EndAttempt follows
  };
  // {"key", "passage", "question", "begin", "end"}: an attempt. An annotator has one question at a
  // time with the systems; the passage stays with its annotator while it is asked.
  absl::StatusOr<Begun> BeginAttempt(const std::string& annotator, const std::string& body,
                                     absl::Time now);
  // Takes the answers of all systems to an attempt that was begun.
  absl::StatusOr<std::string> EndAttempt(Event attempt,
                                         absl::StatusOr<std::vector<std::string>> answers,
                                         absl::Time now);
  // {"number", "begin", "end"}, or {"number", "unanswerable": true}.
  absl::StatusOr<std::string> TakeValidation(const std::string& annotator, const std::string& body,
                                             absl::Time now);
  // {"number", "begin", "end"} or {"number", "unanswerable": true}: to an existing question.
  absl::StatusOr<std::string> TakeAnswer(const std::string& annotator, const std::string& body,
                                         absl::Time now);
  // {"number", "verdict"}: a reviewer accepts or rejects a question, or revokes its author.
  absl::StatusOr<std::string> TakeReview(const std::string& annotator, const std::string& body,
                                         absl::Time now);
  // {"round", "number", "begin", "end"}: an answer to a known question.
  absl::StatusOr<std::string> TakeOnboarding(const std::string& annotator, const std::string& body,
                                             absl::Time now);

 private:
  absl::Status Save(const Event& event);
  absl::StatusOr<std::string> SaveAttempt(Event event, absl::Time now);
  std::string TaskJson(const Task& task) const;

  const Room& room_;
  const Commit commit_;
  std::set<std::string> being_answered_;  // annotators
};

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_API_H_
