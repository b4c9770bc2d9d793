// SPDX-License-Identifier: Apache-2.0
// A Room decides what each annotator does next and what becomes of each question. A person writes a
// question to a passage and marks its answer; systems answer, too; when the answers of all of them
// share few words with the person's, the person wins, and others answer the question to validate
// it.
//
// The state is what the events have made of it. Check says whether an event may happen now, Apply
// makes it so: a log of events that are applied again gives the same state. It does no I/O and
// reads no clock: callers pass the time in.
//
// Thread-compatible.
#ifndef CONCUR_STUDIES_ANNOTATION_ROOM_H_
#define CONCUR_STUDIES_ANNOTATION_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "studies/annotation/event.h"
#include "studies/annotation/passages.h"

namespace concur::annotation {

inline constexpr size_t kAnnotatorsMax = 1000;
inline constexpr size_t kAttemptsMax = 1'000'000;
inline constexpr size_t kQuestionBytesMax = 1000;
inline constexpr size_t kSystemAnswerBytesMax = 4096;
inline constexpr size_t kSystemsMax = 8;

// 1 to 64 of a-z A-Z 0-9 . _ @ - : a name stands in logs, tables and file names.
absl::Status CheckAnnotatorName(absl::string_view name);

struct Validation {
  std::string annotator;
  absl::Time time;
  std::optional<qa::Span> answer;  // absent: the validator found none
  double f1 = 0;                   // against the author's answer, 0..1
  bool agrees = false;
};

// A reviewer rejects a question, or revokes its author, whose questions all go.
enum class QuestionState { kSystemWon, kWaiting, kKept, kDropped, kRejected, kRevoked };
// "system won", "waiting", "kept", "dropped", "rejected", "revoked".
absl::string_view QuestionStateName(QuestionState state);

struct Review {
  std::string annotator;
  absl::Time time;
  std::string verdict;  // "accept", "reject" or "revoke"
};

struct SystemAnswer {
  std::string system;  // digest
  std::string text;
  double f1 = 0;  // against the author's answer, 0..1
};

struct Attempt {
  int64_t number = 0;  // from 1, in the order of saving
  std::string annotator;
  absl::Time time;
  size_t passage = 0;
  std::string key;
  std::string question;
  qa::Span answer;
  std::vector<SystemAnswer> answers;  // one of each system that answered
  QuestionState state = QuestionState::kSystemWon;
  std::vector<Validation> validations;
  std::optional<Review> review;

  // The one with the highest F1; null when no system answered.
  const SystemAnswer* BestAnswer() const;
  // Share of the validators that agree, 0..1; 0 before there is one.
  double Agreement() const;
};

struct Annotator {
  std::string code_digest;  // the login link's; "" once it was used
  int64_t links = 0;        // number of login links so far: sessions of earlier ones have ended
  // Onboarding: F1 of the answers in the present round, and the rounds that were not good enough.
  std::vector<double> onboarding_f1;
  int64_t rounds_failed = 0;
  bool onboarded = false;
  int64_t known_number = -1;  // the known question that was answered last
  qa::Span known_answer;      // to it
  bool is_reviewer = false;
  bool is_qualified = false;  // its first questions were accepted, if they had to be
  bool is_revoked = false;    // may do nothing more
  // As an author.
  int64_t attempts = 0;
  int64_t wins = 0;  // over the system; all questions when there is none
  int64_t kept = 0;
  int64_t dropped = 0;
  int64_t reviewed = 0;
  int64_t accepted = 0;  // by reviewers
  int64_t validations_received = 0;
  int64_t agreements_received = 0;
  absl::Duration writing;  // time for all attempts
  // As a validator.
  int64_t validations = 0;
  int64_t agreements = 0;                        // with the questions' authors
  std::vector<std::optional<qa::Span>> answers;  // to existing questions, in their order
  absl::Duration validating;                     // or answering
  absl::Time last = absl::InfiniteFuture();      // something was done; infinite: nothing yet
};

// The number of questions of this author that are to be reviewed by now, in all.
int64_t ReviewsNeeded(const Annotator& author, const Settings& settings);

struct Progress {
  int64_t passages = 0;
  int64_t passages_done = 0;  // with as many winning questions as are asked for
  int64_t attempts = 0;
  int64_t system_won = 0;
  int64_t waiting = 0;
  int64_t kept = 0;
  int64_t dropped = 0;
  int64_t rejected = 0;  // by reviewers, or with their author
  int64_t validations = 0;
  int64_t agreements = 0;

  friend bool operator==(const Progress&, const Progress&) = default;
};

enum class TaskKind { kOnboarding, kWriting, kValidating, kReviewing, kAnswering };

struct Task {
  TaskKind kind = TaskKind::kWriting;
  size_t passage = 0;  // unless it is onboarding
  int64_t number =
      0;  // known or existing question (from 0) or attempt to validate or review (from 1)
  int64_t round = 0;  // round of the onboarding, from 0
};

class Room {
 public:
  // `onboarding` may be empty: then nobody needs it. `questions` are those to answer.
  // InvalidArgument for settings beyond limits.
  static absl::StatusOr<Room> Create(std::vector<SourcePassage> passages,
                                     std::vector<KnownQuestion> onboarding, Settings settings,
                                     std::vector<KnownQuestion> questions = {});

  // OK if the event may happen; InvalidArgument when it is malformed, NotFound for what it names,
  // FailedPrecondition when the state forbids it, PermissionDenied for a review by others
  // than reviewers, AlreadyExists for an attempt with a known key,
  // ResourceExhausted beyond a limit.
  absl::Status Check(const Event& event) const;
  // REQUIRES: Check(event) is OK.
  void Apply(const Event& event);

  // The annotator's next task: the one given last, or, with `skip`, the one after it. NotFound
  // when there is nothing of this kind now, or nobody of this name.
  absl::StatusOr<Task> NextTask(const std::string& annotator, TaskKind wanted, bool skip,
                                absl::Time now) const;
  // True if the annotator was given this task last, and still holds its passage.
  bool HasTask(const std::string& annotator, const Task& task, absl::Time now) const;
  // The passage that the annotator holds; nullopt for none.
  std::optional<size_t> HeldBy(const std::string& annotator, absl::Time now) const;
  absl::StatusOr<const SourcePassage*> FindPassage(const std::string& id) const;
  // Null when there is none.
  const Attempt* FindAttempt(const std::string& annotator, const std::string& key) const;

  const Settings& settings() const { return settings_; }
  const std::vector<SourcePassage>& passages() const { return passages_; }
  // True for a passage whose questions others validate.
  bool IsHeldOut(size_t passage) const { return held_out_[passage]; }
  const std::vector<KnownQuestion>& onboarding() const { return onboarding_; }
  const std::vector<KnownQuestion>& questions() const { return questions_; }
  const std::map<std::string, Annotator>& annotators() const { return annotators_; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  const Progress& progress() const { return progress_; }
  const std::vector<std::string>& systems() const { return systems_; }  // digests

  // Fails the process when counts and states contradict each other.
  void CheckInvariants() const;

 private:
  // Passages and tasks that an annotator was given.
  struct Loan {
    size_t passage = 0;  // held until then, unless another one was given since
    absl::Time until;
    std::optional<size_t> writing;  // the last passage to write for
    int64_t validating = 0;         // the last attempt to validate; 0: none
    std::set<size_t> passages;      // all

    // A clock that was set back prolongs a hold by no more than its length. One that seems longer
    // is no hold until the clock nears its end again, unless the passage was lent in between.
    bool IsHeld(absl::Time now, absl::Duration hold) const {
      return now < until && until <= now + 2 * hold;
    }
  };

  Room(std::vector<SourcePassage> passages, std::vector<KnownQuestion> onboarding,
       Settings settings);

  absl::Status CheckAnnotator(const Event& event) const;
  // Stages of an annotator, each needed for something.
  enum class Stage { kKnown, kOnboarded, kWriting, kQualified };
  absl::Status CheckIs(Stage stage, const std::string& name) const;
  absl::Status CheckLent(size_t passage, const Event& event) const;
  absl::StatusOr<size_t> PassageOf(const std::string& id) const;
  absl::Status CheckAttempt(const Event& event) const;
  absl::Status CheckValidation(const Event& event) const;
  absl::Status CheckOnboarding(const Event& event) const;
  absl::Status CheckAssignment(const Event& event) const;
  // The passages that others than `annotator` hold.
  std::set<size_t> Taken(const std::string& annotator, absl::Time now) const;
  std::optional<Task> WritingTask(const std::string& annotator, bool skip, absl::Time now) const;
  std::optional<Task> ValidatingTask(const std::string& annotator, bool skip, absl::Time now) const;
  bool MayValidate(const Attempt& attempt, const std::string& annotator) const;

  // The annotator holds the passage from now on.
  Loan& Lend(size_t passage, const Event& event);
  void ApplyOnboarding(const Event& event);
  void ApplyAttempt(const Event& event);
  void ApplyValidation(const Event& event);
  void ApplyReview(const Event& event);
  // Qualifies or revokes the author by the share of reviewed questions that were accepted.
  void Judge(const std::string& name);
  void Revoke(const std::string& name);
  void Decide(Attempt& attempt);
  // A question that waited or was kept does so no more.
  void TakeOut(Attempt& attempt, QuestionState state);

  std::vector<SourcePassage> passages_;
  std::vector<KnownQuestion> onboarding_;
  std::vector<KnownQuestion> questions_;
  Settings settings_;
  std::vector<bool> held_out_;  // by passage
  std::map<std::string, size_t> passage_of_id_;
  std::vector<std::string> systems_;
  std::map<std::string, Annotator> annotators_;
  std::vector<Attempt> attempts_;  // attempts_[i].number == i + 1
  std::map<std::pair<std::string, std::string>, int64_t> number_of_key_;  // annotator, key
  std::set<int64_t> waiting_;  // numbers of attempts that need validations
  std::vector<int64_t> open_;  // by passage: questions that won and were not dropped
  std::set<std::pair<size_t, std::string>> asked_;  // their passages and normalized texts
  std::map<std::string, Loan> loans_;               // by annotator
  Progress progress_;
};

// For Room: errors of Check for the review of somebody who is known, and the next question to
// review.
absl::Status CheckReview(const Event& event, const Room& room);
std::optional<Task> ReviewingTask(const Room& room);

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_ROOM_H_
