// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/api.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "qa/utf8.h"

namespace concur::annotation {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A request's body: an object whose fields have the right types.
class Body {
 public:
  static absl::StatusOr<Body> Parse(const std::string& text) {
    Body body;
    body.json_ = std::make_unique<Json>(Json::parse(text, nullptr, /*allow_exceptions=*/false));
    return body.json_->is_object() ? absl::StatusOr<Body>(std::move(body))
                                   : absl::InvalidArgumentError("expected a JSON object in UTF-8");
  }

  absl::StatusOr<std::string> Text(const char* name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_string()
               ? absl::StatusOr<std::string>(found->get<std::string>())
               : absl::InvalidArgumentError(absl::StrCat(name, ": expected text"));
  }
  absl::StatusOr<int64_t> Integer(const char* name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_number_integer()
               ? absl::StatusOr<int64_t>(found->get<int64_t>())
               : absl::InvalidArgumentError(absl::StrCat(name, ": expected an integer"));
  }
  bool IsTrue(const char* name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_boolean() && found->get<bool>();
  }
  // Code points [begin, end) of `passage` as bytes.
  absl::StatusOr<qa::Span> SpanIn(const std::string& passage) const {
    CONCUR_ASSIGN_OR_RETURN(const int64_t begin, Integer("begin"));
    CONCUR_ASSIGN_OR_RETURN(const int64_t end, Integer("end"));
    const qa::CodePointMap map(passage);
    if (begin < 0 || begin > end || end > map.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("end: expected a part of the passage's ", map.size(), " characters"));
    }
    return qa::Span{map.ByteOf(begin), map.ByteOf(end)};
  }

 private:
  std::unique_ptr<Json> json_;  // moved without an exception
};

Json PassageJson(const SourcePassage& passage) {
  return {{"id", passage.id}, {"title", passage.title}, {"text", passage.text}};
}

std::string ValidationJson(const Attempt& attempt, const Validation& validation,
                           const std::string& passage) {
  return Dump({{"saved", true},
               {"agrees", validation.agrees},
               {"author_answer", std::string(qa::TextOf(passage, attempt.answer))}});
}

std::string KnownJson(const KnownQuestion& known, const Annotator& annotator) {
  return Dump({{"saved", true},
               {"answers", known.answers},
               {"onboarded", annotator.onboarded},
               {"again", !annotator.onboarded && annotator.onboarding_f1.empty()}});
}

Json Share(int64_t part, int64_t all) {
  return all == 0 ? Json() : Json(static_cast<double>(part) / static_cast<double>(all));
}

std::string AttemptJson(const Attempt& attempt) {
  Json json = {{"saved", true},
               {"number", attempt.number},
               {"winner", attempt.state == QuestionState::kSystemWon ? "system" : "person"},
               {"answers", Json::array()}};
  for (const SystemAnswer& one : attempt.answers) {
    json["answers"].push_back({{"text", one.text}, {"f1", one.f1}});
  }
  return Dump(json);
}

Event EventOf(EventKind kind, const std::string& annotator, absl::Time now) {
  Event event;
  event.kind = kind;
  event.time = now;
  event.annotator = annotator;
  return event;
}

}  // namespace

absl::StatusOr<std::string> AnnotationApi::LogIn(const std::string& text, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  CONCUR_ASSIGN_OR_RETURN(const std::string code, body.Text("code"));
  Event event;
  event.kind = EventKind::kLogin;
  event.time = now;
  event.code_digest = Sha256Of(code).ToHex();
  for (const auto& [name, annotator] : room_.annotators()) {
    if (annotator.code_digest == event.code_digest) {
      event.annotator = name;
    }
  }
  if (event.annotator.empty()) {
    return absl::UnauthenticatedError(
        "this link was used, or replaced by another; ask for a new one");
  }
  CONCUR_RETURN_IF_ERROR(Save(event));
  return event.annotator;
}

absl::Status AnnotationApi::Save(const Event& event) {
  CONCUR_RETURN_IF_ERROR(room_.Check(event));
  absl::Status saved = commit_(event);
  if (saved.ok()) {
    return saved;
  }
  LogError(saved.message(), {{"annotator", event.annotator}});
  return absl::UnavailableError("this cannot be saved now; tell who runs concur annotate");
}

std::string AnnotationApi::State(const std::string& name) const {
  const Annotator& annotator = room_.annotators().at(name);
  const Progress& progress = room_.progress();
  return Dump(
      {{"user", name},
       {"systems", room_.systems().size()},
       {"onboarded", annotator.onboarded},
       {"reviewer", annotator.is_reviewer},
       {"answering", room_.settings().answering},
       {"f1_win_max", room_.settings().f1_win_max},
       {"validators", room_.settings().validators},
       {"question_bytes_max", kQuestionBytesMax},
       {"mine",
        {{"attempts", annotator.attempts},
         {"wins", annotator.wins},
         {"kept", annotator.kept},
         {"dropped", annotator.dropped},
         {"agreement", Share(annotator.agreements_received, annotator.validations_received)},
         {"validations", annotator.validations},
         {"validator_agreement", Share(annotator.agreements, annotator.validations)}}},
       {"all",
        {{"passages", progress.passages},
         {"passages_done", progress.passages_done},
         {"attempts", progress.attempts},
         {"system_won", progress.system_won},
         {"waiting", progress.waiting},
         {"kept", progress.kept},
         {"dropped", progress.dropped},
         {"rejected", progress.rejected},
         {"agreement", Share(progress.agreements, progress.validations)}}}});
}

std::string AnnotationApi::TaskJson(const Task& task) const {
  switch (task.kind) {
    case TaskKind::kOnboarding: {
      const KnownQuestion& known = room_.onboarding()[static_cast<size_t>(task.number)];
      return Dump({{"kind", "onboarding"},
                   {"number", task.number},
                   {"of", room_.onboarding().size()},
                   {"round", task.round},
                   {"question", known.question},
                   {"passage", PassageJson(known.passage)}});
    }
    case TaskKind::kValidating:
      // Neither who asked nor what was answered: the validator is to find the answer.
      return Dump({{"kind", "validating"},
                   {"number", task.number},
                   {"question", room_.attempts()[static_cast<size_t>(task.number - 1)].question},
                   {"passage", PassageJson(room_.passages()[task.passage])}});
    case TaskKind::kAnswering: {
      const KnownQuestion& asked = room_.questions()[static_cast<size_t>(task.number)];
      return Dump({{"kind", "answering"},
                   {"number", task.number},
                   {"of", room_.questions().size()},
                   {"question", asked.question},
                   {"passage", PassageJson(asked.passage)}});
    }
    case TaskKind::kReviewing: {
      const Attempt& attempt = room_.attempts()[static_cast<size_t>(task.number - 1)];
      const Annotator& author = room_.annotators().at(attempt.annotator);
      const SourcePassage& passage = room_.passages()[task.passage];
      return Dump({{"kind", "reviewing"},
                   {"number", task.number},
                   {"question", attempt.question},
                   {"answer", std::string(qa::TextOf(passage.text, attempt.answer))},
                   {"author", attempt.annotator},
                   {"written", author.wins},
                   {"reviewed", author.reviewed},
                   {"accepted", author.accepted},
                   {"passage", PassageJson(passage)}});
    }
    case TaskKind::kWriting:
      return Dump({{"kind", "writing"}, {"passage", PassageJson(room_.passages()[task.passage])}});
  }
  return "{}";
}

absl::StatusOr<std::string> AnnotationApi::TakeTask(const std::string& annotator,
                                                    const std::string& text, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  CONCUR_ASSIGN_OR_RETURN(const std::string kind, body.Text("kind"));
  if (kind != "writing" && kind != "validating" && kind != "reviewing") {
    return absl::InvalidArgumentError(R"(kind: expected "writing", "validating" or "reviewing")");
  }
  CONCUR_ASSIGN_OR_RETURN(const Task task,
                          room_.NextTask(annotator,
                                         kind == "writing"      ? TaskKind::kWriting
                                         : kind == "validating" ? TaskKind::kValidating
                                                                : TaskKind::kReviewing,
                                         body.IsTrue("skip"), now));
  if (!room_.HasTask(annotator, task, now)) {
    Event event = EventOf(EventKind::kAssignment, annotator, now);
    event.passage = room_.passages()[task.passage].id;
    event.number = task.number;
    CONCUR_RETURN_IF_ERROR(Save(event));
  }
  return TaskJson(task);
}

absl::StatusOr<AnnotationApi::Begun> AnnotationApi::BeginAttempt(const std::string& annotator,
                                                                 const std::string& text,
                                                                 absl::Time now) {
  Event event = EventOf(EventKind::kAttempt, annotator, now);
  event.systems = room_.systems();
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  CONCUR_ASSIGN_OR_RETURN(event.key, body.Text("key"));
  CONCUR_ASSIGN_OR_RETURN(event.passage, body.Text("passage"));
  CONCUR_ASSIGN_OR_RETURN(event.question, body.Text("question"));
  CONCUR_ASSIGN_OR_RETURN(const SourcePassage* const passage, room_.FindPassage(event.passage));
  CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(passage->text));
  // Sent again, since its answer was lost: the answer is given again.
  if (const Attempt* saved = room_.FindAttempt(annotator, event.key)) {
    return Begun{AttemptJson(*saved), std::nullopt};
  }
  event.system_answers.resize(event.systems.size());
  CONCUR_RETURN_IF_ERROR(room_.Check(event));
  if (being_answered_.contains(annotator)) {
    return absl::ResourceExhaustedError("your last question is being answered; wait for it");
  }
  if (event.systems.empty()) {
    CONCUR_ASSIGN_OR_RETURN(std::string response, SaveAttempt(std::move(event), now));
    return Begun{std::move(response), std::nullopt};
  }
  Event renewal;
  renewal.kind = EventKind::kAssignment;
  renewal.time = now;
  renewal.annotator = annotator;
  renewal.passage = event.passage;
  CONCUR_RETURN_IF_ERROR(Save(renewal));
  being_answered_.insert(annotator);
  return Begun{"", Question{std::move(event), passage->text}};
}

absl::StatusOr<std::string> AnnotationApi::EndAttempt(
    Event attempt, absl::StatusOr<std::vector<std::string>> answers, absl::Time now) {
  being_answered_.erase(attempt.annotator);
  if (!answers.ok()) {
    // Messages on the system, with paths of this machine, are for whoever runs the room.
    LogWarning(answers.status().message(), {{"annotator", attempt.annotator}});
    return absl::UnavailableError("the system did not answer; submit the question again");
  }
  attempt.system_answers = *std::move(answers);
  return SaveAttempt(std::move(attempt), now);
}

absl::StatusOr<std::string> AnnotationApi::SaveAttempt(Event event, absl::Time now) {
  event.time = now;
  const absl::Status saved = Save(event);
  const Attempt* attempt = room_.FindAttempt(event.annotator, event.key);
  // The same one may have been saved meanwhile.
  return saved.ok() || (absl::IsAlreadyExists(saved) && attempt != nullptr)
             ? absl::StatusOr<std::string>(AttemptJson(*attempt))
             : saved;
}

absl::StatusOr<std::string> AnnotationApi::TakeValidation(const std::string& annotator,
                                                          const std::string& text, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  Event event = EventOf(EventKind::kValidation, annotator, now);
  CONCUR_ASSIGN_OR_RETURN(event.number, body.Integer("number"));
  if (event.number < 1 || static_cast<uint64_t>(event.number) > room_.attempts().size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const Attempt& attempt = room_.attempts()[static_cast<size_t>(event.number - 1)];
  const SourcePassage& passage = room_.passages()[attempt.passage];
  if (!body.IsTrue("unanswerable")) {
    CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(passage.text));
  }
  // Sent again, since its answer was lost.
  for (const Validation& saved : attempt.validations) {
    if (saved.annotator == annotator && saved.answer == event.answer) {
      return ValidationJson(attempt, saved, passage.text);
    }
  }
  CONCUR_RETURN_IF_ERROR(Save(event));
  return ValidationJson(attempt, attempt.validations.back(), passage.text);
}

absl::StatusOr<std::string> AnnotationApi::TakeAnswer(const std::string& annotator,
                                                      const std::string& text, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  Event event = EventOf(EventKind::kAnswer, annotator, now);
  CONCUR_ASSIGN_OR_RETURN(event.number, body.Integer("number"));
  if (event.number < 0 || static_cast<uint64_t>(event.number) >= room_.questions().size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const auto number = static_cast<size_t>(event.number);
  if (!body.IsTrue("unanswerable")) {
    CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(room_.questions()[number].passage.text));
  }
  const auto& answers = room_.annotators().at(annotator).answers;
  // Sent again, since its answer was lost.
  if (number >= answers.size() || answers[number] != event.answer) {
    CONCUR_RETURN_IF_ERROR(Save(event));
  }
  return Dump({{"saved", true}});
}

absl::StatusOr<std::string> AnnotationApi::TakeReview(const std::string& annotator,
                                                      const std::string& text, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  Event event = EventOf(EventKind::kReview, annotator, now);
  CONCUR_ASSIGN_OR_RETURN(event.number, body.Integer("number"));
  CONCUR_ASSIGN_OR_RETURN(event.verdict, body.Text("verdict"));
  const std::string response = Dump({{"saved", true}});
  if (event.number >= 1 && static_cast<uint64_t>(event.number) <= room_.attempts().size()) {
    const auto& saved = room_.attempts()[static_cast<size_t>(event.number - 1)].review;
    // Sent again, since its answer was lost.
    if (saved.has_value() && saved->annotator == annotator && saved->verdict == event.verdict) {
      return response;
    }
  }
  CONCUR_RETURN_IF_ERROR(Save(event));
  return response;
}

absl::StatusOr<std::string> AnnotationApi::TakeOnboarding(const std::string& annotator,
                                                          const std::string& text, absl::Time now) {
  CONCUR_ASSIGN_OR_RETURN(const Body body, Body::Parse(text));
  Event event = EventOf(EventKind::kOnboarding, annotator, now);
  CONCUR_ASSIGN_OR_RETURN(event.number, body.Integer("number"));
  if (event.number < 0 || static_cast<uint64_t>(event.number) >= room_.onboarding().size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const KnownQuestion& known = room_.onboarding()[static_cast<size_t>(event.number)];
  CONCUR_ASSIGN_OR_RETURN(event.answer, body.SpanIn(known.passage.text));
  CONCUR_ASSIGN_OR_RETURN(const int64_t round, body.Integer("round"));
  const Annotator& by = room_.annotators().at(annotator);
  // Sent again, since its answer was lost. A round that was not good enough ended with that answer.
  const bool is_round_over = !by.onboarded && by.onboarding_f1.empty();
  if (round == by.rounds_failed - (is_round_over ? 1 : 0) && by.known_number == event.number &&
      by.known_answer == event.answer) {
    return KnownJson(known, by);
  }
  if (round != by.rounds_failed) {
    return absl::FailedPreconditionError("round: this one is over; answer the next question");
  }
  CONCUR_RETURN_IF_ERROR(Save(event));
  return KnownJson(known, by);
}

}  // namespace concur::annotation
