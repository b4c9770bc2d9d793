// SPDX-License-Identifier: Apache-2.0
// What a worker needs to have the system of a train job answer questions, and the questions and
// answers themselves: pure data. Serving is no job; it has no attempt, no lease and no result.
//
// Values.
#ifndef CONCUR_CORE_SERVE_ORDER_H_
#define CONCUR_CORE_SERVE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "core/fields.h"
#include "core/job_order.h"
#include "core/resources.h"

namespace concur {

// Of an answer, and of what is said in place of one.
inline constexpr size_t kServedAnswerBytesMax = 4096;
// Of a passage and of a question.
inline constexpr size_t kServedPassageBytesMax = size_t{64} << 10;
inline constexpr size_t kServedQuestionBytesMax = 4096;
inline constexpr absl::Duration kServedAnswerTimeMax = absl::Minutes(10);
// For the first answer after a start, which loads the system.
inline constexpr absl::Duration kServedStartTime = absl::Minutes(2);

// For a system whose approach asks for no memory.
inline constexpr int64_t kServedMemoryBytes = int64_t{8} << 30;

// Systems that one worker serves at a time.
inline constexpr int kServePlacesMax = 64;

struct ServedQuestion {
  uint64_t number = 0;  // grows within a conversation
  std::string passage;
  std::string question;
};

struct ServedAnswer {
  uint64_t number = 0;  // of the question
  bool answered = false;
  std::string text;  // the answer; else what the system did instead
};

struct ServeOrder {
  // How the system was trained: its code, environment, variables, setting and seed are those with
  // which it answers.
  JobOrder train;
  std::vector<std::string> command;  // argv with {model} and, where there is code, {code}
  Resources resources;               // what predicting asks for
  Digest system;
  int64_t system_bytes = 0;
  absl::Duration answer_max = absl::Seconds(20);
};

// InvalidArgument, naming the field within `path`.
absl::Status ValidateServedQuestion(const ServedQuestion& question, const FieldPath& path);
absl::Status ValidateServedAnswer(const ServedAnswer& answer, const FieldPath& path);
absl::Status ValidateServeOrder(const ServeOrder& order, const FieldPath& path);

}  // namespace concur

#endif  // CONCUR_CORE_SERVE_ORDER_H_
