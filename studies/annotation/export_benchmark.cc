// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/export_benchmark.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"
#include "qa/builders/staging.h"
#include "qa/dataset_io.h"
#include "qa/example.h"

namespace concur::annotation {
namespace {

using Json = nlohmann::ordered_json;

std::string IdOf(const Attempt& attempt) { return absl::StrCat("q", attempt.number); }

qa::Question QuestionOf(const Attempt& attempt, const std::string& text) {
  qa::Question question;
  question.id = IdOf(attempt);
  question.text = attempt.question;
  const auto add = [&](const qa::Span& span) {
    qa::AddSpan(span, question.spans);
    std::string answer(qa::TextOf(text, span));
    if (std::find(question.answers.begin(), question.answers.end(), answer) ==
        question.answers.end()) {
      question.answers.push_back(std::move(answer));
    }
  };
  add(attempt.answer);
  for (const Validation& validation : attempt.validations) {
    if (validation.agrees) {
      add(*validation.answer);
    }
  }
  return question;
}

size_t CountOf(double share, size_t all) {
  return static_cast<size_t>(std::max(1L, std::lround(share * static_cast<double>(all))));
}

absl::Status CheckOptions(const ExportOptions& options) {
  if (!(options.validation_share > 0) || !(options.test_share > 0) ||
      !(options.validation_share + options.test_share < 1)) {
    return absl::InvalidArgumentError(
        "shares: expected --validation and --test above 0 that add up to less than 1");
  }
  return ValidateName(options.name);
}

absl::Status WriteSplit(const Room& room, const std::vector<size_t>& passages,
                        const std::map<size_t, std::vector<qa::Question>>& kept,
                        const ExportOptions& options, const qa::Staging& staging,
                        ExportedSplit& split) {
  const std::string file = split.name + ".jsonl";
  split.path = absl::StrCat(options.directory, "/", file);
  const qa::Header header = {{"dataset", options.name},
                             {"generator", "concur annotate"},
                             {"seed", absl::StrCat(options.seed)},
                             {"split", split.name}};
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<qa::DatasetWriter> writer,
                          qa::DatasetWriter::Create(staging.PathOf(file), header));
  for (const size_t index : passages) {
    const SourcePassage& source = room.passages()[index];
    const std::vector<qa::Question>& questions = kept.at(index);
    CONCUR_RETURN_IF_ERROR(writer->Write({source.title, source.text, questions}));
    ++split.passages;
    split.questions += static_cast<int64_t>(questions.size());
  }
  return writer->Finish();
}

Json AnswerJson(const std::string& text, const qa::Span& span) {
  return {{"text", std::string(qa::TextOf(text, span))}, {"begin", span.begin}, {"end", span.end}};
}

}  // namespace

absl::StatusOr<std::array<std::vector<size_t>, 3>> DealPassages(const Room& room,
                                                                const ExportOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckOptions(options));
  std::map<Digest, size_t> order;
  for (const Attempt& attempt : room.attempts()) {
    if (attempt.state == QuestionState::kKept) {
      Sha256 hash;
      hash.UpdateField(absl::StrCat(options.seed));
      hash.UpdateField(room.passages()[attempt.passage].id);
      order.emplace(hash.Finish(), attempt.passage);
    }
  }
  if (order.size() < 3) {
    return absl::FailedPreconditionError(absl::StrCat(
        "expected kept questions to at least 3 passages, for three splits, found ", order.size()));
  }
  const size_t test = std::min(CountOf(options.test_share, order.size()), order.size() - 2);
  const size_t validation =
      std::min(CountOf(options.validation_share, order.size()), order.size() - test - 1);
  std::array<std::vector<size_t>, 3> dealt;
  size_t count = 0;
  for (const auto& [digest, passage] : order) {
    dealt[count < test ? 2 : count < test + validation ? 1 : 0].push_back(passage);
    ++count;
  }
  for (std::vector<size_t>& passages : dealt) {
    std::sort(passages.begin(), passages.end());
  }
  return dealt;
}

std::string AttemptsJsonLines(const Room& room) {
  std::string lines;
  for (const Attempt& attempt : room.attempts()) {
    const SourcePassage& passage = room.passages()[attempt.passage];
    const SystemAnswer* const best = attempt.BestAnswer();
    Json json = {{"id", IdOf(attempt)},
                 {"annotator", attempt.annotator},
                 {"time", FormatIsoTime(attempt.time)},
                 {"passage", passage.id},
                 {"question", attempt.question},
                 {"answer", AnswerJson(passage.text, attempt.answer)},
                 {"system", best == nullptr ? Json() : Json(best->system)},
                 {"system_answer", best == nullptr ? Json() : Json(best->text)},
                 {"f1", best == nullptr ? Json() : Json(best->f1)},
                 {"state", QuestionStateName(attempt.state)},
                 {"validations", Json::array()}};
    for (const SystemAnswer& one : attempt.answers) {
      if (attempt.answers.size() > 1) {
        json["systems"].push_back({{"system", one.system}, {"answer", one.text}, {"f1", one.f1}});
      }
    }
    if (attempt.review.has_value()) {
      json["review"] = {{"annotator", attempt.review->annotator},
                        {"time", FormatIsoTime(attempt.review->time)},
                        {"verdict", attempt.review->verdict}};
    }
    for (const Validation& validation : attempt.validations) {
      json["validations"].push_back(
          {{"annotator", validation.annotator},
           {"time", FormatIsoTime(validation.time)},
           {"answer",
            validation.answer.has_value() ? AnswerJson(passage.text, *validation.answer) : Json()},
           {"f1", validation.f1},
           {"agrees", validation.agrees}});
    }
    absl::StrAppend(&lines, json.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
  }
  return lines;
}

absl::StatusOr<ExportResult> ExportBenchmark(const Room& room, const ExportOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const auto dealt, DealPassages(room, options));
  std::map<size_t, std::vector<qa::Question>> kept;
  for (const Attempt& attempt : room.attempts()) {
    if (attempt.state == QuestionState::kKept) {
      kept[attempt.passage].push_back(QuestionOf(attempt, room.passages()[attempt.passage].text));
    }
  }
  CONCUR_ASSIGN_OR_RETURN(qa::Staging staging, qa::Staging::Create(options.directory));
  ExportResult result;
  result.splits[0].name = "train";
  result.splits[1].name = "validation";
  result.splits[2].name = "test";
  for (size_t i = 0; i < dealt.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(WriteSplit(room, dealt[i], kept, options, staging, result.splits[i]));
  }
  result.attempts_path = options.directory + "/attempts.jsonl";
  CONCUR_RETURN_IF_ERROR(
      WriteFileAtomically(staging.PathOf("attempts.jsonl"), AttemptsJsonLines(room)));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(
      staging.PathOf("benchmark.yaml"),
      absl::StrCat("apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: ", options.name,
                   "}\nspec:\n  train: train.jsonl\n  validation: validation.jsonl\n  test: "
                   "test.jsonl\n")));
  CONCUR_RETURN_IF_ERROR(staging.Publish(
      {"train.jsonl", "validation.jsonl", "test.jsonl", "attempts.jsonl", "benchmark.yaml"}));
  result.dropped = room.progress().dropped;
  result.rejected = room.progress().rejected;
  result.waiting = room.progress().waiting;
  result.system_won = room.progress().system_won;
  return result;
}

}  // namespace concur::annotation
