// SPDX-License-Identifier: Apache-2.0
// A small data set that a reader can learn, and settings that train in moments.
//
// Functions are stateless.
#ifndef CONCUR_TESTS_STUDIES_READERS_TRAINING_SMALL_DATA_H_
#define CONCUR_TESTS_STUDIES_READERS_TRAINING_SMALL_DATA_H_

#include <array>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace concur::readers {

inline void WriteText(const std::string& path, absl::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// One MRQA line: a question whose answer stands at `at` in the context, or nowhere (-1).
inline std::string QuestionLine(const std::string& id, absl::string_view context,
                                absl::string_view question, absl::string_view answer, int64_t at) {
  const std::string spans =
      at < 0 ? ""
             : absl::StrCat(R"({"text": ")", answer, R"(", "char_spans": [[)", at, ", ",
                            at + static_cast<int64_t>(answer.size()) - 1, "]]}");
  return absl::StrCat(R"({"context": ")", context, R"(", "qas": [{"qid": ")", id,
                      R"(", "question": ")", question, R"(", "answers": [")", answer,
                      R"("], "detected_answers": [)", spans, "]}]}\n");
}

// `passages` passages such as "Ann went to the park . Bob went to the hall .", a question for each.
inline std::string SmallData(int passages) {
  constexpr std::array<absl::string_view, 4> kNames = {"Ann", "Bob", "Cat", "Dan"};
  constexpr std::array<absl::string_view, 3> kPlaces = {"park", "hall", "cellar"};
  std::string lines;
  for (int i = 0; i < passages; ++i) {
    std::string context;
    int64_t at = 0;
    absl::string_view answer;
    for (int k = 0; k < 2 + i % 3; ++k) {
      absl::StrAppend(&context, k == 0 ? "" : " ", kNames[(i + k) % 4], " went to the ");
      if (k == i % 2) {
        at = static_cast<int64_t>(context.size());
        answer = kPlaces[(i + k) % 3];
      }
      absl::StrAppend(&context, kPlaces[(i + k) % 3], " .");
    }
    lines += QuestionLine(absl::StrCat("q", i), context,
                          absl::StrCat("Where is ", kNames[(i + i % 2) % 4], " ?"), answer, at);
  }
  return lines;
}

// The questions of SmallData as `serve` reads them.
std::string QuestionsToServe(int passages);
// Answers that it printed, by id.
std::map<std::string, std::string> AnswersServed(const std::string& printed);

// Assignments that make DrQA's network small.
inline std::vector<std::string> SmallSettings(int epochs) {
  return {"hidden_size=6", "doc_layers=1",       "question_layers=1",
          "batch=8",       "learning_rate=0.02", absl::StrCat("epochs=", epochs)};
}

}  // namespace concur::readers

#endif  // CONCUR_TESTS_STUDIES_READERS_TRAINING_SMALL_DATA_H_
