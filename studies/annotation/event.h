// SPDX-License-Identifier: Apache-2.0
// Events in a room of annotators, one value for each thing that is to be remembered.
//
// Values.
#ifndef CONCUR_STUDIES_ANNOTATION_EVENT_H_
#define CONCUR_STUDIES_ANNOTATION_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "qa/example.h"

namespace concur::annotation {

// Numbers are not written; names are ("opening", "annotator", …).
enum class EventKind {
  kOpening,     // the first event: settings, and which files belong to the room
  kAnnotator,   // an annotator is new, or has a new login link
  kLogin,       // a login link was used
  kSystem,      // from now on these systems answer
  kAssignment,  // an annotator gets a passage
  kOnboarding,  // an answer to a question whose answers are known
  kAttempt,     // a question with its answer, and what the systems answered
  kValidation,  // another person's answer to a question that beat the system
  kReview,      // a reviewer's verdict on a question
  kAnswer,      // an answer to a question of an existing data set
};

inline constexpr int64_t kChainedVersion = 2;  // each line has a checksum of the one before

struct Settings {
  // The system wins an attempt when the word-overlap F1 of its answer is above this fraction, and a
  // validator agrees with a question's author above it.
  double f1_win_max = 0.4;
  int64_t validators = 2;             // answers of others that each question needs; 0..10
  double agreement_min = 0.5;         // share of validators that must agree; 0..1
  double onboarding_f1_min = 0.5;     // mean over the known questions, 0..1
  int64_t questions_per_passage = 5;  // that beat the system; then nobody is given the passage
  // An annotator keeps a passage for so long after the last thing done with it.
  absl::Duration hold = absl::Minutes(30);
  bool share_passages = false;  // several annotators may have one passage at a time
  // Share of the passages that are for validation and test, whose questions alone others validate;
  // 1: those of all passages.
  double held_out = 1;
  // The passages' file is a data set, whose questions annotators answer; nobody writes.
  bool answering = false;
  // Questions that beat the system which each new annotator writes, and a reviewer must accept,
  // before anything else; 0..20, 0: none.
  int64_t qualification = 0;

  friend bool operator==(const Settings&, const Settings&) = default;
};

struct Event {
  EventKind kind = EventKind::kOpening;
  absl::Time time = absl::UnixEpoch();  // whole milliseconds
  std::string annotator;
  std::string passage;  // its id; of an assignment, an attempt
  // Number of the known or existing question (from 0), or of the validated or reviewed attempt
  // (from 1); of an assignment, number of the attempt that it is to validate, 0 to write.
  int64_t number = 0;
  bool is_reviewer = false;  // an annotator's: reviews others, from now on
  std::string key;           // an attempt's: the same key again is the same attempt
  std::string question;
  std::optional<qa::Span>
      answer;  // bytes of the passage; of a validation or answer: absent is "none"
  std::vector<std::string> systems;         // digests of those that answer or answered
  std::vector<std::string> system_answers;  // an attempt's: one of each
  std::string verdict;                      // a review's: "accept", "reject" or "revoke"
  std::string code_digest;                  // SHA-256 of a login link's code, in hexadecimal digits
  int64_t log_version = kChainedVersion;    // the opening's; lines of 1 are not chained
  Settings settings;                        // the opening's
  std::string passages_digest;              // the opening's: SHA-256 of the file's bytes
  std::string onboarding_digest;            // "": no questions are known

  friend bool operator==(const Event&, const Event&) = default;
};

}  // namespace concur::annotation

#endif  // CONCUR_STUDIES_ANNOTATION_EVENT_H_
