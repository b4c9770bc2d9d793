// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/export_benchmark.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "core/sweep/sweep.h"
#include "qa/builders/staging.h"
#include "qa/dataset_io.h"
#include "qa/example.h"
#include "qa/score.h"

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

// Authors of whose questions too few were answerable: left out, as in the study.
std::set<std::string> LeftOut(const Room& room, double answerable_min) {
  std::map<std::string, std::pair<int64_t, int64_t>> counts;  // validated, kept
  for (const Attempt& attempt : room.attempts()) {
    const bool is_kept = attempt.state == QuestionState::kKept;
    if (!attempt.validations.empty() && (is_kept || attempt.state == QuestionState::kDropped)) {
      ++counts[attempt.annotator].first;
      counts[attempt.annotator].second += is_kept ? 1 : 0;
    }
  }
  std::set<std::string> left_out;
  for (const auto& [author, count] : counts) {
    if (static_cast<double>(count.second) < answerable_min * static_cast<double>(count.first)) {
      left_out.insert(author);
    }
  }
  return left_out;
}

// The questions that are exported, by passage.
std::map<size_t, std::vector<const Attempt*>> ExportedAttempts(const Room& room,
                                                               const ExportOptions& options) {
  const std::set<std::string> left_out = LeftOut(room, options.answerable_min);
  std::map<size_t, std::vector<const Attempt*>> exported;
  for (const Attempt& attempt : room.attempts()) {
    if (attempt.state == QuestionState::kKept && !left_out.contains(attempt.annotator)) {
      exported[attempt.passage].push_back(&attempt);
    }
  }
  return exported;
}

// Counts how a random validator does. Until the end, the scores are sums.
void AddHuman(const Attempt& attempt, const std::string& text, uint64_t seed,
              ExportedSplit& split) {
  if (attempt.validations.empty()) {
    return;
  }
  Sha256 hash;
  hash.UpdateField(absl::StrCat(seed));
  hash.UpdateField(IdOf(attempt));
  const uint64_t drawn = std::stoull(hash.Finish().ToHex().substr(0, 15), nullptr, 16);
  const Validation& one = attempt.validations[drawn % attempt.validations.size()];
  ++split.validated;
  if (one.answer.has_value()) {
    split.human_f1 += one.f1;
    split.human_exact_match +=
        qa::ExactMatch(qa::TextOf(text, *one.answer), qa::TextOf(text, attempt.answer)) ? 1 : 0;
  }
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
  if (!(options.answerable_min >= 0 && options.answerable_min <= 1)) {
    return absl::InvalidArgumentError("--answerable: expected a fraction from 0 to 1");
  }
  return ValidateName(options.name);
}

absl::Status WriteSplit(const Room& room, const std::vector<size_t>& passages,
                        const std::map<size_t, std::vector<const Attempt*>>& exported,
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
    std::vector<qa::Question> questions;
    for (const Attempt* attempt : exported.at(index)) {
      questions.push_back(QuestionOf(*attempt, source.text));
      AddHuman(*attempt, source.text, options.seed, split);
    }
    CONCUR_RETURN_IF_ERROR(writer->Write({source.title, source.text, questions}));
    ++split.passages;
    split.questions += static_cast<int64_t>(questions.size());
  }
  const double percent = split.validated == 0 ? 0 : 100.0 / static_cast<double>(split.validated);
  split.human_exact_match *= percent;
  split.human_f1 *= percent;
  return writer->Finish();
}

// Tags that `concur rank --reference human` reads.
std::string HumanTags(const ExportedSplit& test) {
  return test.validated == 0 || test.validated < test.questions
             ? ""
             : absl::StrFormat(", tags: {human: %.1f, human-f1: %.1f}", test.human_exact_match,
                               test.human_f1);
}

Json AnswerJson(const std::string& text, const qa::Span& span) {
  return {{"text", std::string(qa::TextOf(text, span))}, {"begin", span.begin}, {"end", span.end}};
}

}  // namespace

absl::StatusOr<std::array<std::vector<size_t>, 3>> DealPassages(const Room& room,
                                                                const ExportOptions& options) {
  CONCUR_RETURN_IF_ERROR(CheckOptions(options));
  std::map<Digest, size_t> order;
  std::array<std::vector<size_t>, 3> dealt;
  const bool is_all = room.settings().held_out == 1;
  const auto exported = ExportedAttempts(room, options);
  for (const auto& [passage, attempts] : exported) {
    if (!room.IsHeldOut(passage)) {
      dealt[0].push_back(passage);
      continue;
    }
    Sha256 hash;
    hash.UpdateField(absl::StrCat(options.seed));
    hash.UpdateField(room.passages()[passage].id);
    order.emplace(hash.Finish(), passage);
  }
  const size_t train = is_all ? 1 : 0;  // passages that `order` must leave
  if (order.size() < 2 + train || (!is_all && dealt[0].empty())) {
    return absl::FailedPreconditionError(
        absl::StrCat("expected kept questions to at least 3 passages, for three splits, ",
                     is_all ? "" : "2 of them held out, ", "found ", exported.size()));
  }
  const double whole = is_all ? 1 : options.test_share + options.validation_share;
  const size_t test =
      std::min(CountOf(options.test_share / whole, order.size()), order.size() - 1 - train);
  const size_t validation =
      is_all ? std::min(CountOf(options.validation_share, order.size()), order.size() - test - 1)
             : order.size() - test;
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

absl::StatusOr<std::vector<ExportedPerson>> ExportAnswers(const Room& room,
                                                          const ExportOptions& options) {
  CONCUR_RETURN_IF_ERROR(ValidateName(options.name));
  std::string lines;
  std::string em = absl::StrCat("system,", options.name, "\n");
  std::string f1 = em;
  std::vector<ExportedPerson> people;
  bool is_any = false;
  for (const auto& [name, one] : room.annotators()) {
    ExportedPerson person{name, static_cast<int64_t>(one.answers.size())};
    for (size_t i = 0; i < one.answers.size(); ++i) {
      const KnownQuestion& asked = room.questions()[i];
      const std::string text(
          one.answers[i].has_value() ? qa::TextOf(asked.passage.text, *one.answers[i]) : "");
      double best_em = 0;
      double best_f1 = 0;
      for (const std::string& gold : asked.answers) {
        best_em = std::max(best_em, qa::ExactMatch(text, gold) ? 1.0 : 0.0);
        best_f1 = std::max(best_f1, qa::F1(text, gold));
      }
      person.exact_match += best_em * 100 / static_cast<double>(one.answers.size());
      person.f1 += best_f1 * 100 / static_cast<double>(one.answers.size());
      const Json json = {{"annotator", name},          {"number", i},
                         {"question", asked.question}, {"answer", text},
                         {"exact_match", best_em},     {"f1", best_f1}};
      absl::StrAppend(&lines, json.dump(-1, ' ', false, Json::error_handler_t::replace), "\n");
    }
    if (one.answers.size() == room.questions().size()) {
      is_any = true;
      absl::StrAppendFormat(&em, "human-%s,%.2f\n", name, person.exact_match);
      absl::StrAppendFormat(&f1, "human-%s,%.2f\n", name, person.f1);
    }
    people.push_back(std::move(person));
  }
  if (!is_any) {
    return absl::FailedPreconditionError("expected somebody who has answered all questions");
  }
  CONCUR_ASSIGN_OR_RETURN(qa::Staging staging, qa::Staging::Create(options.directory));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(staging.PathOf("answers.jsonl"), lines));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(staging.PathOf("human-em.csv"), em));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(staging.PathOf("human-f1.csv"), f1));
  CONCUR_RETURN_IF_ERROR(staging.Publish({"answers.jsonl", "human-em.csv", "human-f1.csv"}));
  return people;
}

absl::StatusOr<ExportResult> ExportBenchmark(const Room& room, const ExportOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const auto dealt, DealPassages(room, options));
  const auto exported = ExportedAttempts(room, options);
  CONCUR_ASSIGN_OR_RETURN(qa::Staging staging, qa::Staging::Create(options.directory));
  ExportResult result;
  result.splits[0].name = "train";
  result.splits[1].name = "validation";
  result.splits[2].name = "test";
  for (size_t i = 0; i < dealt.size(); ++i) {
    CONCUR_RETURN_IF_ERROR(
        WriteSplit(room, dealt[i], exported, options, staging, result.splits[i]));
  }
  result.attempts_path = options.directory + "/attempts.jsonl";
  CONCUR_RETURN_IF_ERROR(
      WriteFileAtomically(staging.PathOf("attempts.jsonl"), AttemptsJsonLines(room)));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(
      staging.PathOf("benchmark.yaml"),
      absl::StrCat("apiVersion: concur/v1\nkind: Benchmark\nmetadata: {name: ", options.name,
                   HumanTags(result.splits[2]),
                   "}\nspec:\n  train: train.jsonl\n  validation: validation.jsonl\n  test: "
                   "test.jsonl\n")));
  CONCUR_RETURN_IF_ERROR(staging.Publish(
      {"train.jsonl", "validation.jsonl", "test.jsonl", "attempts.jsonl", "benchmark.yaml"}));
  result.unanswerable = room.progress().kept;
  for (const ExportedSplit& split : result.splits) {
    result.unanswerable -= split.questions;
  }
  result.dropped = room.progress().dropped;
  result.rejected = room.progress().rejected;
  result.waiting = room.progress().waiting;
  result.system_won = room.progress().system_won;
  return result;
}

}  // namespace concur::annotation
