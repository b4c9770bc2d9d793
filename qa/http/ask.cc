// SPDX-License-Identifier: Apache-2.0
#include "qa/http/ask.h"

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/http/client.h"
#include "base/status_macros.h"
#include "qa/dataset_io.h"
#include "qa/http/question_server.h"
#include "qa/json_fields.h"

namespace concur::qa {
namespace {

using Answers = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kBodyBytesMax = int64_t{64} << 20;  // an answer's

// Questions on their way to one server.
class Asker {
 public:
  explicit Asker(absl::string_view url)
      : url_(absl::StrCat(absl::StripSuffix(url, "/"), "/answer")),
        client_(clock_, {.stall = absl::InfiniteDuration()}) {}

  absl::Status Add(const std::string& passage, const Question& question) {
    lines_.append("{\"id\": ");
    AppendJsonString(question.id, lines_);
    lines_.append(", \"passage\": ");
    AppendJsonString(passage, lines_);
    lines_.append(", \"question\": ");
    AppendJsonString(question.text, lines_);
    lines_.append("}\n");
    asked_.push_back(question.id);
    return lines_.size() >= kQuestionBatchBytes ? Flush() : absl::OkStatus();
  }
  absl::Status Flush() {
    if (asked_.empty()) {
      return absl::OkStatus();
    }
    CONCUR_ASSIGN_OR_RETURN(const std::string body, Post());
    CONCUR_RETURN_IF_ERROR(Read(body));
    lines_.clear();
    asked_.clear();
    return absl::OkStatus();
  }
  Answers& answers() { return answers_; }

 private:
  absl::StatusOr<std::string> Post() {
    CONCUR_ASSIGN_OR_RETURN(
        const std::unique_ptr<http::Exchange> exchange,
        client_.Send({.method = "POST", .url = url_, .body = lines_, .fresh_connection = true}));
    std::string body;
    CONCUR_RETURN_IF_ERROR(exchange->Read(kBodyBytesMax, &body));
    if (exchange->code() == 200) {
      return body;
    }
    const std::string message =
        absl::StrCat(url_, ": ", exchange->code(), ": ",
                     absl::StripTrailingAsciiWhitespace(body.substr(0, 500)));
    return exchange->code() == 400   ? absl::InvalidArgumentError(message)
           : exchange->code() == 503 ? absl::UnavailableError(message)
                                     : absl::InternalError(message);
  }
  // A line for each question, in their order.
  absl::Status Read(const std::string& body) {
    const std::vector<absl::string_view> lines = absl::StrSplit(body, '\n', absl::SkipEmpty());
    if (lines.size() != asked_.size()) {
      return absl::InternalError(absl::StrCat(url_, ": expected ", asked_.size(),
                                              " lines in the answer, got ", lines.size()));
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      JsonFields fields;
      fields.place = absl::StrCat(url_, ": line ", i + 1, " of the answer");
      JsonFields::Element root;
      if (const auto error = parser_.parse(lines[i].data(), lines[i].size()).get(root);
          error != simdjson::SUCCESS) {
        return fields.BadJson(lines[i], error);
      }
      std::optional<JsonFields::Element> id;
      std::optional<JsonFields::Element> answer;
      CONCUR_RETURN_IF_ERROR(fields.Collect(root, "answer", {{"id", &id}, {"answer", &answer}}));
      CONCUR_ASSIGN_OR_RETURN(const std::string answered, fields.Text(id, "id"));
      if (answered != asked_[i]) {
        return absl::InternalError(absl::StrCat(fields.place, ": id: expected ", Quoted(asked_[i]),
                                                ", got ", Quoted(answered)));
      }
      CONCUR_ASSIGN_OR_RETURN(std::string text, fields.Text(answer, "answer"));
      answers_.emplace_back(asked_[i], std::move(text));
    }
    return absl::OkStatus();
  }

  const std::string url_;
  SystemClock clock_;
  http::Client client_;
  simdjson::dom::parser parser_;
  std::string lines_;
  std::vector<std::string> asked_;  // their ids
  Answers answers_;
};

}  // namespace

absl::StatusOr<Answers> AskQuestions(const std::string& url, const std::string& data) {
  Asker asker(url);
  const auto ask = [&](const Passage& passage) {
    for (const Question& question : passage.questions) {
      CONCUR_RETURN_IF_ERROR(asker.Add(passage.context, question));
    }
    return absl::OkStatus();
  };
  CONCUR_RETURN_IF_ERROR(ForEachPassage(data, ask));
  CONCUR_RETURN_IF_ERROR(asker.Flush());
  return std::move(asker.answers());
}

}  // namespace concur::qa
