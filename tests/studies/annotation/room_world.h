// SPDX-License-Identifier: Apache-2.0
// A room with its people, simulated in one thread: annotators write, validate and answer known
// questions through the real AnnotationApi, over connections that lose answers, so that they send
// again; the system is slow or does not answer; the disk is full; the clock is set forward or back;
// the power is cut while a line is written, and the real log, cut at any byte, is read again.
//
// A seed draws it all: the same seed gives the same world. One thread. A failed check in the real
// code ends the process.
#ifndef CONCUR_TESTS_STUDIES_ANNOTATION_ROOM_WORLD_H_
#define CONCUR_TESTS_STUDIES_ANNOTATION_ROOM_WORLD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "studies/annotation/api.h"
#include "studies/annotation/room.h"

namespace concur::annotation {

// Each is planted between the real parts, never in them.
enum class RoomBug {
  kNone,
  kNotSynced,        // a power cut takes the last line that was acknowledged
  kTailKept,         // a line that was cut off stays, and the next one follows it
  kResentAsNew,      // an attempt that is sent again has another key
  kSecondsOnly,      // the log has times without their milliseconds
  kAnswerCut,        // the log has less of a system's answer than the room
  kAnswersSwapped,   // the log has the answers of several systems in another order
  kSystemForgotten,  // a restart does not know which system answers
  kLoginForgotten,   // the use of a login link is not saved
  kLentTooEarly,     // tasks are given by a clock that is ahead
  kFailureDropped,   // that the system did not answer is told to nobody
  kSplitByTime,      // splits depend on when they are made
  kLinkRefused,      // nobody new gets a login link after a while
  kReviewForgotten,  // a verdict is not saved
  kAnswerForgotten,  // an answer to an existing question is not saved
  kReviewHeld,       // reviewers never get a question once nothing fails any more
  kKnownRefused,     // nobody new can answer known questions after a while
};
inline constexpr int kRoomBugs = 16;  // without kNone
absl::string_view RoomBugName(RoomBug bug);

struct RoomWorldCounts {
  int64_t attempts = 0;
  int64_t kept = 0;
  int64_t dropped = 0;
  int64_t rejected = 0;
  int64_t resent = 0;  // requests whose answer was lost
  int64_t restarts = 0;
  int64_t tails = 0;   // lines that were cut off
  int64_t jumps = 0;   // times that the clock jumped
  int64_t splits = 0;  // worlds with enough for three
};

class RoomWorld {
 public:
  RoomWorld(uint64_t seed, RoomBug bug);

  // Lives through the world to its end, or to the first promise that is broken: its description;
  // "" when all are kept.
  std::string Run();
  const RoomWorldCounts& counts() const { return counts_; }

 private:
  struct Request {
    std::string annotator;
    std::string method;  // "task", "attempt", "validation", "onboarding", "review", "answer"
    std::string body;
    int64_t sent = 0;
  };
  // State that the annotator's browser keeps.
  struct Person {
    std::string code;  // the login link's
    bool link_used = false;
    std::string passage;  // to write for
    int64_t number = 0;   // to validate
    int64_t to_review = 0;
    int64_t known_answers = 0;  // to known questions
    size_t answers = 0;         // to existing questions
    size_t answers_saved = 0;
    std::vector<Request> unanswered;
  };
  // When an annotator did something with a passage last.
  struct Touch {
    size_t passage = 0;
    absl::Duration at;
    int64_t jumps = 0;
  };

  // Whatever is tried so often in vain is refused for ever.
  static constexpr int kTriesMax = 1000;

  // Fails the world, unless it has failed before.
  void Broken(std::string description);
  bool is_broken() const { return !broken_.empty(); }

  // --- the machine (room_world.cc)
  absl::Status Commit(const Event& event);
  absl::Status CommitChecked(const Event& event);
  void DoUntilSaved(Event event);  // at the present time, by whoever runs the server
  void Restart();
  std::unique_ptr<Room> NewRoom(const Settings& settings) const;
  void Start(std::unique_ptr<Room> room);
  void Wait(absl::Duration time);
  void SetClock();

  // --- people (room_world.cc)
  void Act();
  void Invite(const std::string& name, bool is_reviewer = false);
  void LogIn(const std::string& name);
  Request NewRequest(const std::string& name);
  Request ReviewOf(const std::string& name);
  Request AttemptOf(const std::string& name);
  Request AnswerTo(const std::string& name, const std::string& method, int64_t number,
                   size_t passage);
  void Send(Request request);
  absl::StatusOr<std::optional<std::string>> Call(const Request& request);
  void Answered(const Request& request, const absl::StatusOr<std::string>& response);
  void AnswerByTheSystem();

  // --- promises (room_world_checks.cc)
  void Acknowledged(const Request& request, const std::string& response);
  void CheckTouch(const Event& event);
  void CheckNow();
  void CheckAcknowledged();
  void CheckQuestions();
  std::string StateOf(const Room& room) const;
  void CheckEnd();
  void CheckRequestsEnd();
  void CheckPassagesComeBack();
  void CheckQuestionsAreDecided();
  void CheckSplits();
  void CheckReviews();
  void CheckReviewsEnd();
  void CheckAnswersEnd();
  void Join(const std::string& name, bool is_reviewer = false);  // invited, and onboarded

  const RoomBug bug_;
  Random random_;
  Settings settings_;
  std::vector<KnownQuestion> known_;
  std::vector<std::string> systems_;
  bool is_calm_ = false;  // nothing fails any more
  RoomWorldCounts counts_;
  std::string broken_;

  absl::Time wall_;
  absl::Duration age_;
  std::string disk_;  // the log
  bool power_is_cut_ = false;
  std::unique_ptr<Room> room_;
  std::unique_ptr<AnnotationApi> api_;
  std::vector<std::pair<Request, AnnotationApi::Question>> asked_;  // questions to the system

  std::map<std::string, Person> people_;
  int64_t serial_ = 0;
  std::map<std::string, Touch> touched_;
  // Keys that each annotator made for a question, and what was told of each request.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> keys_;
  std::map<std::pair<std::string, std::string>, std::string> told_;  // annotator and body
  std::map<std::string, std::set<int64_t>> validated_;
};

}  // namespace concur::annotation

#endif  // CONCUR_TESTS_STUDIES_ANNOTATION_ROOM_WORLD_H_
