// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/annotation/room_world.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "qa/utf8.h"
#include "studies/annotation/log.h"
#include "tests/studies/annotation/scene.h"

namespace concur::annotation {
namespace {

using Body = nlohmann::json;

// Code points [begin, end) of each word.
std::vector<std::pair<int64_t, int64_t>> WordsOf(const std::string& text) {
  std::vector<std::pair<int64_t, int64_t>> words;
  int64_t at = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const int64_t size = qa::CountCodePoints(word);
    words.emplace_back(at, at + size);
    at += size + 1;
  }
  return words;
}

Settings RandomSettings(Random& random, RoomBug bug) {
  Settings settings;
  settings.validators = random.Between(0, 3);
  settings.questions_per_passage = random.Between(1, 4);
  settings.agreement_min = random.Uniform();
  settings.hold = absl::Seconds(random.Between(1, 1800));
  settings.share_passages = random.Chance(0.2);
  if (bug == RoomBug::kSplitByTime) {  // it shows where many passages can be in each split
    return settings;
  }
  settings.answering = bug == RoomBug::kAnswerForgotten || random.Chance(0.05);
  settings.held_out = random.Chance(0.3) ? random.Uniform() : 1;
  settings.qualification = random.Chance(0.3) ? random.Between(1, 2) : 0;
  return settings;
}

std::vector<KnownQuestion> RandomKnown(Random& random) {
  return std::vector<KnownQuestion>(random.Below(3), Known());
}

std::vector<std::string> RandomSystems(Random& random) {
  std::vector<std::string> systems;
  for (uint64_t i = random.Below(4); i > 0; --i) {
    systems.push_back(Sha256Of(absl::StrCat("system ", i)).ToHex());
  }
  return systems;
}

}  // namespace

absl::string_view RoomBugName(RoomBug bug) {
  switch (bug) {
    case RoomBug::kNone:
      return "none";
    case RoomBug::kNotSynced:
      return "not_synced";
    case RoomBug::kTailKept:
      return "tail_kept";
    case RoomBug::kResentAsNew:
      return "resent_as_new";
    case RoomBug::kSecondsOnly:
      return "seconds_only";
    case RoomBug::kAnswerCut:
      return "answer_cut";
    case RoomBug::kAnswersSwapped:
      return "answers_swapped";
    case RoomBug::kSystemForgotten:
      return "system_forgotten";
    case RoomBug::kLoginForgotten:
      return "login_forgotten";
    case RoomBug::kLentTooEarly:
      return "lent_too_early";
    case RoomBug::kFailureDropped:
      return "failure_dropped";
    case RoomBug::kSplitByTime:
      return "split_by_time";
    case RoomBug::kLinkRefused:
      return "link_refused";
    case RoomBug::kReviewForgotten:
      return "review_forgotten";
    case RoomBug::kAnswerForgotten:
      return "answer_forgotten";
    case RoomBug::kReviewHeld:
      return "review_held";
    case RoomBug::kKnownRefused:
      return "known_refused";
  }
  return "invalid";
}

RoomWorld::RoomWorld(uint64_t seed, RoomBug bug)
    : bug_(bug),
      random_(seed, "room"),
      settings_(RandomSettings(random_, bug)),
      known_(RandomKnown(random_)),
      systems_(RandomSystems(random_)),
      wall_(kStart) {
  Event opening;
  opening.time = wall_;
  opening.settings = settings_;
  opening.passages_digest = Sha256Of("passages").ToHex();
  disk_ = EventLine(opening, "");
  Start(NewRoom(settings_));
  if (!systems_.empty()) {
    Event system;
    system.kind = EventKind::kSystem;
    system.systems = systems_;
    DoUntilSaved(system);
  }
}

std::string RoomWorld::Run() {
  for (const char* name : {"ada", "bob", "cleo", "dora"}) {
    Invite(name);
  }
  Invite("rita", /*is_reviewer=*/true);
  for (int step = 0; step < 250 && !is_broken(); ++step) {
    Act();
    if (power_is_cut_) {
      Restart();
    }
    CheckNow();
    Wait(settings_.hold * random_.Uniform() * (random_.Chance(0.1) ? 1.5 : 0.1));
    SetClock();
  }
  if (!is_broken()) {
    is_calm_ = true;
    CheckEnd();
  }
  counts_.attempts = room_->progress().attempts;
  counts_.kept = room_->progress().kept;
  counts_.dropped = room_->progress().dropped;
  counts_.rejected = room_->progress().rejected;
  return broken_;
}

void RoomWorld::Broken(std::string description) {
  if (broken_.empty()) {
    broken_ = std::move(description);
  }
}

// --- the machine ---------------------------------------------------------------------------------

std::unique_ptr<Room> RoomWorld::NewRoom(const Settings& settings) const {
  std::vector<KnownQuestion> questions(settings.answering ? 5 : 0, Known());
  return std::make_unique<Room>(
      Room::Create(ThreePassages(), known_, settings, std::move(questions)).value());
}

void RoomWorld::Start(std::unique_ptr<Room> room) {
  api_.reset();
  room_ = std::move(room);
  api_ =
      std::make_unique<AnnotationApi>(*room_, [this](const Event& e) { return CommitChecked(e); });
}

// As LiveRoom::Commit: checked, on the disk, applied.
absl::Status RoomWorld::Commit(const Event& event) {
  CONCUR_RETURN_IF_ERROR(room_->Check(event));
  return CommitChecked(event);
}

absl::Status RoomWorld::CommitChecked(const Event& event) {
  if (power_is_cut_) {
    return absl::UnavailableError("the power is cut");
  }
  if (!is_calm_ && random_.Chance(0.01)) {
    return absl::ResourceExhaustedError("the disk is full");
  }
  if (is_calm_ && ((bug_ == RoomBug::kLinkRefused && event.kind == EventKind::kAnnotator) ||
                   (bug_ == RoomBug::kKnownRefused && event.annotator == "eve" &&
                    event.kind == EventKind::kOnboarding))) {
    return absl::FailedPreconditionError("this is refused for ever");
  }
  Event written = event;
  if (bug_ == RoomBug::kSecondsOnly) {
    written.time = absl::FromUnixSeconds(absl::ToUnixSeconds(event.time));
  } else if (bug_ == RoomBug::kAnswerCut && !event.system_answers.empty()) {
    written.system_answers[0].resize(event.system_answers[0].size() / 2);
  } else if (bug_ == RoomBug::kAnswersSwapped) {
    std::reverse(written.system_answers.begin(), written.system_answers.end());
  }
  std::string line = EventLine(written, disk_);
  if ((bug_ == RoomBug::kLoginForgotten && event.kind == EventKind::kLogin) ||
      (bug_ == RoomBug::kAnswerForgotten && event.kind == EventKind::kAnswer) ||
      (bug_ == RoomBug::kReviewForgotten && event.kind == EventKind::kReview)) {
    line.clear();
  }
  if (!is_calm_ && random_.Chance(0.02)) {
    power_is_cut_ = true;
    const size_t whole = line.size();
    line.resize(random_.Below(whole + 1));
    counts_.tails += !line.empty() && line.size() < whole ? 1 : 0;
    disk_ += line;
    if (line.size() < whole) {
      return absl::UnavailableError("the power is cut");
    }
  } else {
    disk_ += line;
  }
  CheckTouch(event);
  room_->Apply(event);
  // Nobody is told when the power was cut right after the line was whole.
  return power_is_cut_ ? absl::UnavailableError("the power is cut") : absl::OkStatus();
}

void RoomWorld::DoUntilSaved(Event event) {
  event.time = wall_;
  for (int tries = 1; !is_broken() && !Commit(event).ok(); ++tries) {
    if (power_is_cut_) {
      Restart();
    }
    if (tries == kTriesMax) {
      Broken(absl::StrCat("an event of the server is refused ", tries, " times"));
    }
  }
}

// As RoomOf in studies/annotation/directory.cc.
void RoomWorld::Restart() {
  ++counts_.restarts;
  power_is_cut_ = false;
  if (bug_ == RoomBug::kNotSynced) {
    disk_.resize(disk_.rfind('\n', disk_.size() - 2) + 1);
  }
  const absl::StatusOr<LogContents> log = ParseLog(disk_, "log.jsonl");
  if (!log.ok()) {
    Broken(absl::StrCat("the log cannot be read: ", log.status().message()));
    return;
  }
  if (bug_ != RoomBug::kTailKept) {
    disk_.resize(log->bytes);
  }
  std::unique_ptr<Room> again = NewRoom(log->events.front().settings);
  for (size_t i = 1; i < log->events.size(); ++i) {
    const Event& event = log->events[i];
    if (bug_ == RoomBug::kSystemForgotten && event.kind == EventKind::kSystem) {
      continue;
    }
    if (const absl::Status possible = again->Check(event); !possible.ok()) {
      Broken(absl::StrCat("line ", i + 1, " of the log is refused: ", possible.message()));
      return;
    }
    again->Apply(event);
  }
  if (StateOf(*again) != StateOf(*room_)) {
    Broken(absl::StrCat("a restart gives another room:\n", StateOf(*again), "\ninstead of\n",
                        StateOf(*room_)));
  }
  Start(std::move(again));
  // Those who wait for the system never hear of it.
  for (auto& [request, question] : asked_) {
    people_[request.annotator].unanswered.push_back(std::move(request));
  }
  asked_.clear();
  CheckAcknowledged();
  CheckQuestions();
  CheckReviews();
}

void RoomWorld::Wait(absl::Duration time) {
  const absl::Duration whole = absl::Milliseconds(absl::ToInt64Milliseconds(time));
  age_ += whole;
  wall_ += whole;
}

void RoomWorld::SetClock() {
  if (!random_.Chance(0.01)) {
    return;
  }
  ++counts_.jumps;
  const absl::Duration by = random_.Chance(0.5) ? settings_.hold * 2 * random_.Uniform()
                                                : absl::Hours(24 * random_.Between(1, 4000));
  wall_ += absl::Milliseconds(absl::ToInt64Milliseconds(random_.Chance(0.5) ? by : -by));
}

// --- people --------------------------------------------------------------------------------------

void RoomWorld::Invite(const std::string& name, bool is_reviewer) {
  const std::string code = absl::StrCat("code", ++serial_);
  if (people_.contains(name)) {
    people_[name].link_used = false;  // the new link may be saved before anybody is told
  }
  Event event;
  event.kind = EventKind::kAnnotator;
  event.annotator = name;
  event.is_reviewer = is_reviewer;
  event.code_digest = Sha256Of(code).ToHex();
  DoUntilSaved(event);
  people_[name].code = code;
}

void RoomWorld::LogIn(const std::string& name) {
  Person& person = people_[name];
  const absl::StatusOr<std::string> who = api_->LogIn(Body({{"code", person.code}}).dump(), wall_);
  if (who.ok() && (*who != name || person.link_used)) {
    Broken(absl::StrCat(name, "'s login link works again, for ", *who));
  }
  if (!who.ok() && !person.link_used && absl::IsUnauthenticated(who.status()) && is_calm_) {
    Broken(absl::StrCat(name, "'s login link does not work: ", who.status().message()));
  }
  person.link_used = person.link_used || who.ok();
}

void RoomWorld::Act() {
  if (!asked_.empty() && random_.Chance(0.3)) {
    AnswerByTheSystem();
    return;
  }
  auto at = people_.begin();
  std::advance(at, random_.Below(people_.size()));
  auto& [name, person] = *at;
  if (random_.Chance(0.03)) {
    LogIn(name);
  } else if (random_.Chance(0.01)) {
    Invite(name);
  } else if (!person.unanswered.empty() && random_.Chance(0.4)) {
    const size_t index = random_.Below(person.unanswered.size());
    Request request = std::move(person.unanswered[index]);
    person.unanswered.erase(person.unanswered.begin() + static_cast<std::ptrdiff_t>(index));
    Send(std::move(request));
  } else {
    Send(NewRequest(name));
  }
}

RoomWorld::Request RoomWorld::NewRequest(const std::string& name) {
  const Annotator& annotator = room_->annotators().at(name);
  Person& person = people_[name];
  if (!annotator.onboarded && random_.Chance(0.9)) {
    return AnswerTo(name, "onboarding", static_cast<int64_t>(annotator.onboarding_f1.size()), 0);
  }
  if (settings_.answering && random_.Chance(0.7)) {
    return AnswerTo(name, "answer", static_cast<int64_t>(annotator.answers.size()), 0);
  }
  if (annotator.is_reviewer && random_.Chance(0.5)) {
    return ReviewOf(name);
  }
  const uint64_t kind = random_.Below(4);
  if (kind == 1 && !person.passage.empty()) {
    return AttemptOf(name);
  }
  const bool is_there =
      person.number > 0 && static_cast<size_t>(person.number) <= room_->attempts().size();
  if (kind == 2 && is_there) {
    const Attempt& attempt = room_->attempts()[static_cast<size_t>(person.number - 1)];
    return AnswerTo(name, "validation", person.number, attempt.passage);
  }
  return {name, "task",
          Body({{"kind", random_.Chance(0.6) ? "writing" : "validating"},
                {"skip", random_.Chance(0.3)}})
              .dump()};
}

RoomWorld::Request RoomWorld::ReviewOf(const std::string& name) {
  Person& person = people_[name];
  if (person.to_review == 0) {
    return {name, "task", R"({"kind": "reviewing"})"};
  }
  const char* const verdict = random_.Chance(0.85)  ? "accept"
                              : random_.Chance(0.9) ? "reject"
                                                    : "revoke";
  return {name, "review",
          Body({{"number", std::exchange(person.to_review, 0)}, {"verdict", verdict}}).dump()};
}

RoomWorld::Request RoomWorld::AttemptOf(const std::string& name) {
  const std::string& passage = people_[name].passage;
  const auto words = WordsOf(room_->FindPassage(passage).value()->text);
  const auto& [begin, end] = words[random_.Below(words.size())];
  // Few questions, so that a passage is asked some of them twice.
  const std::string question = absl::StrCat("Which one, ", random_.Below(20), "?");
  const std::string key = absl::StrCat("key", ++serial_);
  keys_[{name, question}].insert(key);
  return {name, "attempt",
          Body({{"key", key},
                {"passage", passage},
                {"question", question},
                {"begin", begin},
                {"end", end}})
              .dump()};
}

RoomWorld::Request RoomWorld::AnswerTo(const std::string& name, const std::string& method,
                                       int64_t number, size_t passage) {
  const bool is_known = method != "validation";
  const std::string& text = is_known ? Known().passage.text : room_->passages()[passage].text;
  const auto words = WordsOf(text);
  auto [begin, end] = words[is_known && random_.Chance(0.6) ? 0 : random_.Below(words.size())];
  if (!is_known && random_.Chance(0.5)) {  // as the author
    const qa::Span& answer = room_->attempts()[static_cast<size_t>(number - 1)].answer;
    begin =
        qa::CountCodePoints(absl::string_view(text).substr(0, static_cast<size_t>(answer.begin)));
    end = begin + qa::CountCodePoints(qa::TextOf(text, answer));
  }
  Body body = {{"number", number}, {"begin", begin}, {"end", end}};
  people_[name].answers += method == "answer" ? 1 : 0;
  if (method == "onboarding") {
    ++people_[name].known_answers;
    body["round"] = room_->annotators().at(name).rounds_failed;
  } else if (random_.Chance(0.1)) {
    body = {{"number", number}, {"unanswerable", true}};
  }
  return {name, method, body.dump()};
}

void RoomWorld::Send(Request request) {
  if (bug_ == RoomBug::kResentAsNew && request.method == "attempt" && request.sent > 0) {
    Body body = Body::parse(request.body);
    body["key"] = absl::StrCat("again", ++serial_);
    request.body = body.dump();
  }
  ++request.sent;
  counts_.resent += request.sent > 1 ? 1 : 0;
  absl::StatusOr<std::optional<std::string>> response = Call(request);
  if (!response.ok()) {
    Answered(request, response.status());
  } else if (response->has_value()) {
    Answered(request, *std::move(*response));
  }
}

// Nothing while the system is asked.
absl::StatusOr<std::optional<std::string>> RoomWorld::Call(const Request& request) {
  if (request.method == "task") {
    if (bug_ == RoomBug::kReviewHeld && is_calm_ && request.annotator == "rita") {
      return absl::NotFoundError("no question is to be reviewed now");
    }
    const absl::Duration ahead =
        bug_ == RoomBug::kLentTooEarly ? settings_.hold : absl::ZeroDuration();
    return api_->TakeTask(request.annotator, request.body, wall_ + ahead);
  }
  if (request.method == "validation") {
    return api_->TakeValidation(request.annotator, request.body, wall_);
  }
  if (request.method == "answer") {
    return api_->TakeAnswer(request.annotator, request.body, wall_);
  }
  if (request.method == "review") {
    return api_->TakeReview(request.annotator, request.body, wall_);
  }
  if (request.method == "onboarding") {
    return api_->TakeOnboarding(request.annotator, request.body, wall_);
  }
  CONCUR_ASSIGN_OR_RETURN(AnnotationApi::Begun begun,
                          api_->BeginAttempt(request.annotator, request.body, wall_));
  if (begun.question.has_value()) {
    asked_.emplace_back(request, *std::move(begun.question));
    return std::nullopt;
  }
  return begun.response;
}

void RoomWorld::AnswerByTheSystem() {
  const size_t index = random_.Below(asked_.size());
  auto [request, question] = std::move(asked_[index]);
  asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(index));
  absl::StatusOr<std::vector<std::string>> answers =
      absl::DeadlineExceededError("a system is slow");
  if (is_calm_ || random_.Chance(0.8)) {
    answers.emplace();
    while (answers->size() < systems_.size()) {
      answers->emplace_back(random_.Chance(0.5 / static_cast<double>(systems_.size()))
                                ? qa::TextOf(question.passage, *question.attempt.answer)
                                : absl::string_view(random_.Chance(0.5) ? "another one" : ""));
    }
  }
  if (bug_ == RoomBug::kFailureDropped && !answers.ok()) {
    people_[request.annotator].unanswered.push_back(std::move(request));
    return;
  }
  const absl::StatusOr<std::string> response =
      api_->EndAttempt(std::move(question.attempt), std::move(answers), wall_);
  Answered(request, response);
}

void RoomWorld::Answered(const Request& request, const absl::StatusOr<std::string>& response) {
  Person& person = people_[request.annotator];
  // An answer is lost on its way, or another view of the same person sends the request again.
  if (power_is_cut_ || (!is_calm_ && random_.Chance(0.2)) ||
      absl::IsUnavailable(response.status()) || absl::IsResourceExhausted(response.status())) {
    person.unanswered.push_back(request);
    return;
  }
  if (!response.ok()) {
    return;
  }
  Acknowledged(request, *response);
  const Body body = Body::parse(*response);
  if (request.method == "task" && body["kind"] == "writing") {
    person.passage = body["passage"]["id"];
  } else if (request.method == "task" && body["kind"] == "validating") {
    person.number = body["number"];
  } else if (request.method == "task" && body["kind"] == "reviewing") {
    person.to_review = body["number"];
  }
}

}  // namespace concur::annotation
