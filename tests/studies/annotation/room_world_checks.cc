// SPDX-License-Identifier: Apache-2.0
// The promises of a room, as its people see them.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "qa/score.h"
#include "studies/annotation/export_benchmark.h"
#include "tests/studies/annotation/room_world.h"
#include "tests/studies/annotation/scene.h"

namespace concur::annotation {
namespace {

using Told = nlohmann::json;

// By passage: questions that wait or are kept.
std::vector<int64_t> OpenQuestions(const Room& room) {
  std::vector<int64_t> open(room.passages().size(), 0);
  for (const Attempt& attempt : room.attempts()) {
    open[attempt.passage] +=
        attempt.state == QuestionState::kWaiting || attempt.state == QuestionState::kKept ? 1 : 0;
  }
  return open;
}

// Expected state of the attempt, from what people and the system said.
QuestionState StateFrom(const Attempt& attempt, const Room& room) {
  const Settings& settings = room.settings();
  const std::string& text = room.passages()[attempt.passage].text;
  const auto is_above = [&](absl::string_view answer) {
    return qa::F1(answer, qa::TextOf(text, attempt.answer)) > settings.f1_win_max + 1e-9;
  };
  if (std::any_of(attempt.answers.begin(), attempt.answers.end(),
                  [&](const SystemAnswer& one) { return is_above(one.text); })) {
    return QuestionState::kSystemWon;
  }
  int64_t agreeing = 0;
  for (const Validation& one : attempt.validations) {
    agreeing += one.answer.has_value() && is_above(qa::TextOf(text, *one.answer)) ? 1 : 0;
  }
  if (attempt.review.has_value() && attempt.review->verdict == "reject") {
    return QuestionState::kRejected;
  }
  const auto all = static_cast<int64_t>(attempt.validations.size());
  const bool is_revoked = room.annotators().at(attempt.annotator).is_revoked;
  if (all < settings.validators && room.IsHeldOut(attempt.passage)) {
    return is_revoked ? QuestionState::kRevoked : QuestionState::kWaiting;
  }
  if (static_cast<double>(agreeing) < settings.agreement_min * static_cast<double>(all)) {
    return QuestionState::kDropped;
  }
  return is_revoked ? QuestionState::kRevoked : QuestionState::kKept;
}

// True if it waits although somebody who is here may answer it, or somebody new.
bool WaitsForNothing(const Attempt& attempt, const Room& room) {
  const Annotator& author = room.annotators().at(attempt.annotator);
  // Nobody validates for those who are not qualified yet.
  if (attempt.state != QuestionState::kWaiting || !author.is_qualified) {
    return false;
  }
  return room.settings().qualification == 0 ||
         std::any_of(room.annotators().begin(), room.annotators().end(), [&](const auto& entry) {
           const auto& [name, one] = entry;
           return one.is_qualified && !one.is_revoked && name != attempt.annotator &&
                  (author.is_reviewer || !one.is_reviewer) &&
                  std::none_of(attempt.validations.begin(), attempt.validations.end(),
                               [&who = name](const Validation& v) { return v.annotator == who; });
         });
}

}  // namespace

void RoomWorld::Acknowledged(const Request& request, const std::string& response) {
  if (request.method == "validation") {
    validated_[request.annotator].insert(Told::parse(request.body)["number"].get<int64_t>());
  } else if (request.method == "answer") {
    size_t& saved = people_[request.annotator].answers_saved;
    saved = std::max(saved, Told::parse(request.body)["number"].get<size_t>() + 1);
  } else if (request.method != "attempt" && request.method != "review") {
    return;
  }
  const auto [told, is_new] = told_.try_emplace({request.annotator, request.body}, response);
  if (!is_new && told->second != response) {
    Broken(absl::StrCat(request.annotator, " was told ", told->second, " and now ", response,
                        " for ", request.body));
  }
}

// Before it is applied: nobody takes a passage from somebody before its hold has ended.
void RoomWorld::CheckTouch(const Event& event) {
  Touch touch{0, age_, counts_.jumps};
  if (event.kind == EventKind::kValidation) {
    const Attempt& attempt = room_->attempts()[static_cast<size_t>(event.number - 1)];
    touch.passage = attempt.passage;
    if (room_->annotators().at(event.annotator).is_reviewer &&
        !room_->annotators().at(attempt.annotator).is_reviewer) {
      Broken(absl::StrCat(event.annotator, " validates ", event.number, " and reviews it"));
    }
  } else if (event.kind == EventKind::kAssignment || event.kind == EventKind::kAttempt) {
    while (room_->passages()[touch.passage].id != event.passage) {
      ++touch.passage;
    }
  } else {
    return;
  }
  for (auto at = touched_.begin(); at != touched_.end() && !settings_.share_passages;) {
    const auto& [name, last] = *at;
    if (name == event.annotator || last.passage != touch.passage) {
      ++at;
      continue;
    }
    if (last.jumps == counts_.jumps && age_ - last.at < settings_.hold) {
      Broken(absl::StrCat(event.annotator, " gets the passage ", touch.passage, " that ", name,
                          " has had for ", absl::FormatDuration(age_ - last.at), " of ",
                          absl::FormatDuration(settings_.hold)));
    }
    at = touched_.erase(at);
  }
  touched_[event.annotator] = touch;
}

void RoomWorld::CheckNow() {
  std::map<size_t, std::string> holders;
  for (const auto& [name, person] : people_) {
    const std::optional<size_t> held = room_->HeldBy(name, wall_);
    if (!held.has_value() || settings_.share_passages) {
      continue;
    }
    const auto [other, is_first] = holders.emplace(*held, name);
    if (!is_first) {
      Broken(absl::StrCat(other->second, " and ", name, " hold the passage ", *held));
    }
  }
  for (const auto& [name, one] : room_->annotators()) {
    const auto all = static_cast<int64_t>(known_.size());
    const auto present = static_cast<int64_t>(one.onboarding_f1.size());
    if (one.rounds_failed * all + present > people_[name].known_answers) {
      Broken(absl::StrCat("one answer of ", name, " to a known question counts twice"));
    }
    if (one.answers.size() > people_[name].answers) {
      Broken(absl::StrCat("one answer of ", name, " counts twice"));
    }
  }
  std::map<std::pair<std::string, std::string>, size_t> asked;
  for (const Attempt& attempt : room_->attempts()) {
    ++asked[{attempt.annotator, attempt.question}];
  }
  for (const auto& [who_and_what, count] : asked) {
    if (count > keys_[who_and_what].size()) {
      Broken(absl::StrCat("one attempt of ", who_and_what.first,
                          " counts twice: ", who_and_what.second));
    }
  }
  for (const int64_t open : OpenQuestions(*room_)) {
    if (open > settings_.questions_per_passage) {
      Broken("a passage has more questions than are asked for");
    }
  }
  if (!is_broken()) {
    room_->CheckInvariants();
  }
}

void RoomWorld::CheckAcknowledged() {
  for (const auto& [who_and_body, response] : told_) {
    const auto& [name, body] = who_and_body;
    const Told sent = Told::parse(body);
    if (sent.contains("verdict")) {
      const Attempt& judged = room_->attempts().at(sent["number"].get<size_t>() - 1);
      if (!judged.review.has_value() || judged.review->verdict != sent["verdict"]) {
        Broken(absl::StrCat("a review of ", name, " was saved and is lost: ", body));
      }
    }
    if (!sent.contains("key")) {
      continue;
    }
    const Attempt* attempt = room_->FindAttempt(name, sent["key"]);
    if (attempt == nullptr || attempt->number != Told::parse(response)["number"]) {
      Broken(absl::StrCat("an attempt of ", name, " was saved and is lost: ", body));
    }
  }
  for (const auto& [name, numbers] : validated_) {
    for (const int64_t number : numbers) {
      const auto at = static_cast<size_t>(number - 1);
      const bool is_there =
          at < room_->attempts().size() &&
          std::any_of(room_->attempts()[at].validations.begin(),
                      room_->attempts()[at].validations.end(),
                      [&who = name](const Validation& one) { return one.annotator == who; });
      if (!is_there) {
        Broken(absl::StrCat(name, "'s validation of ", number, " was saved and is lost"));
      }
    }
  }
  for (const auto& [name, person] : people_) {
    const auto found = room_->annotators().find(name);
    if (found == room_->annotators().end()) {
      Broken(absl::StrCat(name, " was invited and is lost"));
    } else if (found->second.answers.size() < person.answers_saved) {
      Broken(absl::StrCat("an answer of ", name, " was saved and is lost"));
    } else if (person.link_used && !found->second.code_digest.empty()) {
      Broken(absl::StrCat(name, "'s login link works again"));
    }
  }
}

void RoomWorld::CheckQuestions() {
  for (const Attempt& attempt : room_->attempts()) {
    std::set<std::string> people = {attempt.annotator};
    for (const Validation& one : attempt.validations) {
      if (!people.insert(one.annotator).second) {
        Broken(absl::StrCat(one.annotator, " validates an own question, or one twice"));
      }
    }
    if (StateFrom(attempt, *room_) != attempt.state) {
      Broken(absl::StrCat("the question ", attempt.number, " is ", QuestionStateName(attempt.state),
                          " and should be ", QuestionStateName(StateFrom(attempt, *room_))));
    }
  }
}

// From the verdicts alone: who may be revoked, and who may be qualified. Also, how long they
// worked.
void RoomWorld::CheckReviews() {
  for (const auto& [name, one] : room_->annotators()) {
    std::map<std::string, int64_t> verdicts;
    int64_t validations = 0;
    for (const Attempt& attempt : room_->attempts()) {
      validations +=
          std::count_if(attempt.validations.begin(), attempt.validations.end(),
                        [&who = name](const Validation& v) { return v.annotator == who; });
      if (attempt.annotator == name && attempt.review.has_value()) {
        ++verdicts[attempt.review->verdict];
        if (!room_->annotators().at(attempt.review->annotator).is_reviewer ||
            attempt.review->annotator == name) {
          Broken(absl::StrCat(attempt.review->annotator, " reviews ", attempt.number));
        }
      }
    }
    const int64_t bad = verdicts["reject"] + verdicts["revoke"];
    if (one.reviewed != verdicts["accept"] + bad || one.accepted != verdicts["accept"]) {
      Broken(absl::StrCat("a review of ", name, "'s questions counts twice, or not"));
    }
    const int64_t judged = one.is_qualified ? 5 : settings_.qualification;
    if (one.is_revoked ? verdicts["revoke"] == 0 &&
                             (5 * one.accepted >= 4 * one.reviewed || one.reviewed < judged)
                       : verdicts["revoke"] > 0) {
      Broken(absl::StrCat(name, " is revoked or not against the verdicts"));
    }
    if (counts_.jumps == 0 && one.writing + one.validating > age_) {
      Broken(absl::StrCat(name, " has worked for longer than the room is open"));
    }
    if (!one.is_reviewer && settings_.qualification > 0 &&
        (one.is_qualified ? one.reviewed < settings_.qualification
                          : one.wins > settings_.qualification || validations > 0)) {
      Broken(absl::StrCat(name, " does what only the qualified may, or is qualified too early"));
    }
  }
}

// All that people can notice of a room.
std::string RoomWorld::StateOf(const Room& room) const {
  std::string text =
      absl::StrCat("systems ", absl::StrJoin(room.systems(), " "), "\n", AttemptsJsonLines(room));
  for (const Attempt& attempt : room.attempts()) {
    absl::StrAppend(&text, attempt.key, "@", absl::ToUnixMillis(attempt.time), " ");
  }
  for (const auto& [name, one] : room.annotators()) {
    absl::StrAppend(&text, "\n", name, " ", one.code_digest, " links ", one.links, " onboarding ",
                    one.onboarded, " ", one.onboarding_f1.size(), " ");
    absl::StrAppend(&text, one.rounds_failed, " ", one.known_number, " written ", one.attempts, " ",
                    one.wins, " ", one.kept, " ", one.dropped, " ");
    for (const std::optional<qa::Span>& answer : one.answers) {
      absl::StrAppend(&text, answer.has_value() ? answer->begin : -1, ",");
    }
    absl::StrAppend(&text, one.is_reviewer, one.is_qualified, one.is_revoked, " reviewed ",
                    one.reviewed, " ", one.accepted, " took ", absl::FormatDuration(one.writing),
                    " ", absl::FormatDuration(one.validating), " ");
    absl::StrAppend(&text, one.validations_received, " ", one.agreements_received, " validated ",
                    one.validations, " ", one.agreements, " next");
    for (const absl::Time now :
         {wall_, wall_ + settings_.hold - absl::Milliseconds(1), wall_ + 2 * settings_.hold}) {
      const std::optional<size_t> held = room.HeldBy(name, now);
      absl::StrAppend(&text, " ", held.has_value() ? static_cast<int64_t>(*held) : -1);
      for (const TaskKind kind :
           {TaskKind::kWriting, TaskKind::kValidating, TaskKind::kReviewing}) {
        for (const bool skip : {false, true}) {
          const absl::StatusOr<Task> task = room.NextTask(name, kind, skip, now);
          absl::StrAppend(&text, "/",
                          task.ok() ? absl::StrCat(task->passage, ":", task->number) : "none");
        }
      }
    }
  }
  return text;
}

// --- once nothing fails any more -----------------------------------------------------------------

void RoomWorld::CheckEnd() {
  CheckRequestsEnd();
  if (settings_.answering) {
    CheckAnswersEnd();
    return;
  }
  CheckReviewsEnd();
  CheckPassagesComeBack();
  CheckQuestionsAreDecided();
  CheckNow();
  CheckQuestions();
  CheckReviews();
  CheckSplits();
}

void RoomWorld::CheckRequestsEnd() {
  for (auto& [name, person] : people_) {
    for (int sent = 0; !is_broken() && (!person.unanswered.empty() || !asked_.empty()); ++sent) {
      if (sent > kTriesMax) {
        Broken(absl::StrCat(name, " gets no answer to ", person.unanswered.front().body));
      }
      while (!asked_.empty()) {
        AnswerByTheSystem();
      }
      if (!person.unanswered.empty()) {
        Request request = std::move(person.unanswered.front());
        person.unanswered.erase(person.unanswered.begin());
        Send(std::move(request));
      }
    }
  }
}

// Somebody new comes to the end of the questions.
void RoomWorld::CheckAnswersEnd() {
  Join("eve");
  const auto answered = [this] { return room_->annotators().at("eve").answers.size(); };
  // Some answers are articles, which count as none.
  for (int tries = 1; !is_broken() && answered() < room_->questions().size(); ++tries) {
    if (tries == kTriesMax) {
      Broken("eve cannot answer all questions");
    }
    Send(AnswerTo("eve", "answer", static_cast<int64_t>(answered()), 0));
  }
  if (is_broken()) {
    return;
  }
  CheckNow();
  Restart();
}

// Reviewers come to the end of their queue, and then as many questions as needed are reviewed.
void RoomWorld::CheckReviewsEnd() {
  for (size_t sent = 0; sent <= 2 * room_->attempts().size() && !is_broken(); ++sent) {
    Send(ReviewOf("rita"));
  }
  for (const Attempt& attempt : room_->attempts()) {
    const Annotator& author = room_->annotators().at(attempt.annotator);
    const bool counts =
        attempt.state == QuestionState::kWaiting || attempt.state == QuestionState::kKept;
    if (counts && !attempt.review.has_value() &&
        author.reviewed < std::min(author.wins, ReviewsNeeded(author, settings_))) {
      Broken(absl::StrCat("the question ", attempt.number, " is reviewed by nobody"));
    }
  }
  for (const auto& [name, one] : room_->annotators()) {
    if (one.reviewed >= 5 && 5 * one.accepted < 4 * one.reviewed && !one.is_revoked) {
      Broken(absl::StrCat(name, " stays with ", one.accepted, " of ", one.reviewed, " accepted"));
    }
  }
}

void RoomWorld::Join(const std::string& name, bool is_reviewer) {
  Invite(name, is_reviewer);
  LogIn(name);
  for (int tries = 1; !is_broken() && !room_->annotators().at(name).onboarded; ++tries) {
    if (tries == kTriesMax) {
      Broken(absl::StrCat(name, " answered ", tries, " known questions and is not onboarded"));
      return;
    }
    const auto number = static_cast<int64_t>(room_->annotators().at(name).onboarding_f1.size());
    Send(AnswerTo(name, "onboarding", number, 0));
  }
}

// Two looks, since a clock that was set back may prolong a hold to twice its length.
void RoomWorld::CheckPassagesComeBack() {
  Join("eve");
  std::set<size_t> seen;
  for (int look = 0; look < 2 && !is_broken(); ++look) {
    Wait(2 * settings_.hold);
    for (size_t i = 0; i <= room_->passages().size(); ++i) {
      const absl::StatusOr<std::string> task =
          api_->TakeTask("eve", R"({"kind": "writing", "skip": true})", wall_);
      for (size_t at = 0; task.ok() && at < room_->passages().size(); ++at) {
        if (room_->passages()[at].id == Told::parse(*task)["passage"]["id"]) {
          seen.insert(at);
        }
      }
    }
  }
  const std::vector<int64_t> open = OpenQuestions(*room_);
  for (size_t at = 0; at < open.size(); ++at) {
    if (open[at] < settings_.questions_per_passage && !seen.contains(at)) {
      Broken(absl::StrCat("the passage ", at, " does not come back"));
    }
  }
}

// Newcomers validate, or, where these must qualify first, those who are qualified.
void RoomWorld::CheckQuestionsAreDecided() {
  const auto waiting = [this] {
    return std::count_if(room_->attempts().begin(), room_->attempts().end(),
                         [this](const Attempt& one) { return WaitsForNothing(one, *room_); });
  };
  std::vector<std::string> qualified;
  for (const auto& [name, one] : room_->annotators()) {
    if (one.is_qualified && !one.is_revoked) {
      qualified.push_back(name);
    }
  }
  for (size_t i = 0; i < 40 && !is_broken() && waiting() > 0; ++i) {
    std::string name = absl::StrCat("validator", i);
    if (settings_.qualification > 0) {
      name = qualified[i % qualified.size()];
    } else {
      Join(name);
    }
    Wait(2 * settings_.hold);
    for (size_t count = 0; count <= room_->attempts().size() && !is_broken(); ++count) {
      people_[name].number = 0;
      Send({name, "task", R"({"kind": "validating"})"});
      const int64_t number = people_[name].number;
      if (number == 0) {
        break;
      }
      const size_t passage = room_->attempts()[static_cast<size_t>(number - 1)].passage;
      Send(AnswerTo(name, "validation", number, passage));
    }
  }
  if (waiting() > 0) {
    Broken(absl::StrCat(waiting(), " questions are validated by nobody"));
  }
}

void RoomWorld::CheckSplits() {
  const auto deal = [&] {
    ExportOptions options;
    options.seed =
        bug_ == RoomBug::kSplitByTime ? static_cast<uint64_t>(absl::ToUnixMillis(wall_)) : 1;
    return DealPassages(*room_, options);
  };
  const auto before = deal();
  Wait(absl::Hours(1));
  if (!is_broken()) {
    Restart();
  }
  const auto after = deal();
  if (before.ok() != after.ok() || (before.ok() && *before != *after)) {
    Broken("the splits are others after a restart");
  }
  if (!before.ok() || is_broken()) {
    return;
  }
  ++counts_.splits;
  std::multiset<size_t> dealt;
  for (const std::vector<size_t>& split : *before) {
    dealt.insert(split.begin(), split.end());
  }
  std::multiset<size_t> expected;
  for (size_t at = 0; at < room_->passages().size(); ++at) {
    if (std::any_of(room_->attempts().begin(), room_->attempts().end(), [&](const Attempt& one) {
          return one.passage == at && one.state == QuestionState::kKept;
        })) {
      expected.insert(at);
    }
  }
  for (const size_t split : {1, 2}) {
    for (const size_t passage : before->at(split)) {
      if (!room_->IsHeldOut(passage)) {
        Broken(absl::StrCat("the passage ", passage, " is not held out, and tests"));
      }
    }
  }
  if (dealt != expected) {
    Broken("the splits do not have each passage with kept questions once");
  }
}

}  // namespace concur::annotation
