// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/room.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/json_text.h"
#include "qa/normalize.h"
#include "qa/score.h"
#include "qa/utf8.h"

namespace concur::annotation {
namespace {

constexpr size_t kNameBytesMax = 64;
constexpr size_t kKeyBytesMax = 64;
constexpr int64_t kValidatorsMax = 10;
constexpr int64_t kQuestionsPerPassageMax = 1000;
constexpr int64_t kQualificationMax = 20;
constexpr absl::Duration kHoldMax = absl::Hours(24 * 7);

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("._@-", c);
}

bool IsOneLine(absl::string_view text) {
  return IsUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
         });
}

// A text without a word has F1 0 against everything: the person would always win.
bool HasWord(absl::string_view text) { return !qa::NormalizeAnswer(text).empty(); }

absl::Status CheckSettings(const Settings& settings) {
  const auto is_fraction = [](double value) { return value >= 0 && value <= 1; };
  if (!is_fraction(settings.f1_win_max) || !is_fraction(settings.agreement_min) ||
      !is_fraction(settings.onboarding_f1_min) || !is_fraction(settings.held_out)) {
    return absl::InvalidArgumentError(
        "settings: expected fractions from 0 to 1 for f1_win_max, agreement_min, "
        "onboarding_f1_min and held_out");
  }
  if (settings.validators < 0 || settings.validators > kValidatorsMax ||
      settings.questions_per_passage < 1 ||
      settings.questions_per_passage > kQuestionsPerPassageMax) {
    return absl::InvalidArgumentError(absl::StrCat("settings: expected 0 to ", kValidatorsMax,
                                                   " validators and 1 to ", kQuestionsPerPassageMax,
                                                   " questions for each passage"));
  }
  if (settings.qualification < 0 || settings.qualification > kQualificationMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("settings: qualification: expected 0 to ", kQualificationMax, " questions"));
  }
  if (settings.hold < absl::Seconds(1) || settings.hold > kHoldMax) {
    return absl::InvalidArgumentError("settings: hold: expected one second to a week");
  }
  return absl::OkStatus();
}

// F1 of 2 of 5 words is 0.4000000000000001: what is that close to a limit is at it.
bool IsAbove(double f1, double limit) { return f1 > limit + 1e-9; }

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double F1AgainstKnown(const KnownQuestion& known, const qa::Span& answer) {
  const absl::string_view text = qa::TextOf(known.passage.text, answer);
  double best = 0;
  for (const std::string& gold : known.answers) {
    best = std::max(best, qa::F1(text, gold));
  }
  return best;
}

absl::Status CheckSystems(const Event& event) {
  const std::set<std::string> distinct(event.systems.begin(), event.systems.end());
  return distinct.size() == event.systems.size() && distinct.size() <= kSystemsMax &&
                 std::all_of(distinct.begin(), distinct.end(),
                             [](const std::string& one) { return Digest::FromHex(one).ok(); })
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("systems: expected at most ", kSystemsMax,
                                                       ", each by its own SHA-256"));
}

absl::Status CheckAnswers(const Event& event, const std::vector<std::string>& systems) {
  if (event.systems != systems) {
    return absl::FailedPreconditionError("system: another system answers now; try again");
  }
  const auto is_answer = [](const std::string& one) {
    return one.size() <= kSystemAnswerBytesMax && IsUtf8(one);
  };
  return event.system_answers.size() == systems.size() &&
                 std::all_of(event.system_answers.begin(), event.system_answers.end(), is_answer)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("system_answer: expected text of at most ",
                                                       kSystemAnswerBytesMax,
                                                       " bytes from each system"));
}

absl::Status CheckSpan(const std::optional<qa::Span>& span, absl::string_view text) {
  if (!span.has_value()) {
    return absl::InvalidArgumentError("answer: expected a marked part of the passage");
  }
  if (span->begin < 0 || span->begin >= span->end ||
      static_cast<uint64_t>(span->end) > text.size() ||
      !qa::IsCodePointBoundary(text, static_cast<size_t>(span->begin)) ||
      !qa::IsCodePointBoundary(text, static_cast<size_t>(span->end))) {
    return absl::InvalidArgumentError("answer: expected a part of the passage, in whole letters");
  }
  return HasWord(qa::TextOf(text, *span))
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   "answer: expected a word beside articles and punctuation; mark more");
}

// `next` is the number of questions that are answered.
absl::Status CheckAnswer(const Event& event, size_t next,
                         const std::vector<KnownQuestion>& questions) {
  if (next >= questions.size() || event.number != static_cast<int64_t>(next)) {
    return absl::FailedPreconditionError("number: expected the next of the questions");
  }
  return event.answer.has_value() ? CheckSpan(event.answer, questions[next].passage.text)
                                  : absl::OkStatus();
}

// The time since the annotator did something else. Where that is as long as a passage is held, they
// were away: none. Whoever is asked by the system has renewed the hold before.
void CountTime(const Event& event, absl::Duration hold, Annotator& annotator) {
  const absl::Duration gap = event.time - annotator.last;
  const absl::Duration time = gap < hold ? std::max(gap, absl::ZeroDuration()) : absl::Duration();
  annotator.last = event.time;
  if (event.kind == EventKind::kAttempt ||
      (event.kind == EventKind::kAssignment && event.number == 0)) {
    annotator.writing += time;
  } else if (event.kind == EventKind::kAssignment || event.kind == EventKind::kValidation ||
             event.kind == EventKind::kAnswer) {
    annotator.validating += time;
  }
}

}  // namespace

absl::Status CheckAnnotatorName(absl::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax ||
      !std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return absl::InvalidArgumentError(absl::StrCat("annotator: expected 1 to ", kNameBytesMax,
                                                   " letters (a-z, A-Z), digits and . _ @ -, got ",
                                                   qa::Shown(CleanUtf8(name, 200))));
  }
  return absl::OkStatus();
}

absl::string_view QuestionStateName(QuestionState state) {
  switch (state) {
    case QuestionState::kSystemWon:
      return "system won";
    case QuestionState::kWaiting:
      return "waiting";
    case QuestionState::kKept:
      return "kept";
    case QuestionState::kDropped:
      return "dropped";
    case QuestionState::kRejected:
      return "rejected";
    case QuestionState::kRevoked:
      return "revoked";
  }
  return "invalid";
}

const SystemAnswer* Attempt::BestAnswer() const {
  const auto best =
      std::max_element(answers.begin(), answers.end(),
                       [](const SystemAnswer& a, const SystemAnswer& b) { return a.f1 < b.f1; });
  return best == answers.end() ? nullptr : &*best;
}

double Attempt::Agreement() const {
  const auto agreeing = std::count_if(validations.begin(), validations.end(),
                                      [](const Validation& one) { return one.agrees; });
  return validations.empty()
             ? 0
             : static_cast<double>(agreeing) / static_cast<double>(validations.size());
}

absl::StatusOr<Room> Room::Create(std::vector<SourcePassage> passages,
                                  std::vector<KnownQuestion> onboarding, Settings settings,
                                  std::vector<KnownQuestion> questions) {
  CONCUR_RETURN_IF_ERROR(CheckSettings(settings));
  Room room(std::move(passages), std::move(onboarding), settings);
  room.questions_ = std::move(questions);
  return room;
}

Room::Room(std::vector<SourcePassage> passages, std::vector<KnownQuestion> onboarding,
           Settings settings)
    : passages_(std::move(passages)),
      onboarding_(std::move(onboarding)),
      settings_(settings),
      held_out_(passages_.size(), false),
      open_(passages_.size(), 0) {
  for (size_t i = 0; i < passages_.size(); ++i) {
    passage_of_id_.emplace(passages_[i].id, i);
  }
  // Which ones are held out depends on the ids alone.
  std::vector<std::pair<Digest, size_t>> order;
  for (size_t i = 0; i < passages_.size(); ++i) {
    order.emplace_back(Sha256Of(passages_[i].id), i);
  }
  std::sort(order.begin(), order.end());
  const double count = settings_.held_out * static_cast<double>(passages_.size());
  for (size_t i = 0; i < static_cast<size_t>(std::lround(count)); ++i) {
    held_out_[order[i].second] = true;
  }
  progress_.passages = static_cast<int64_t>(passages_.size());
}

// --- what may happen -----------------------------------------------------------------------------

absl::Status Room::Check(const Event& event) const {
  switch (event.kind) {
    case EventKind::kOpening:
      return absl::FailedPreconditionError("event: a room is opened once");
    case EventKind::kAnnotator:
      return CheckAnnotator(event);
    case EventKind::kLogin: {
      CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kKnown, event.annotator));
      const std::string& code = annotators_.at(event.annotator).code_digest;
      return !code.empty() && code == event.code_digest
                 ? absl::OkStatus()
                 : absl::FailedPreconditionError("code: this login link was used, or replaced");
    }
    case EventKind::kSystem:
      return CheckSystems(event);
    case EventKind::kAssignment:
      return CheckAssignment(event);
    case EventKind::kOnboarding:
      return CheckOnboarding(event);
    case EventKind::kAttempt:
      return CheckAttempt(event);
    case EventKind::kValidation:
      return CheckValidation(event);
    case EventKind::kReview:
      CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kKnown, event.annotator));
      return CheckReview(event, *this);
    case EventKind::kAnswer:
      CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kOnboarded, event.annotator));
      return CheckAnswer(event, annotators_.at(event.annotator).answers.size(), questions_);
  }
  return absl::InvalidArgumentError("event: expected a known kind");
}

absl::Status Room::CheckAnnotator(const Event& event) const {
  CONCUR_RETURN_IF_ERROR(CheckAnnotatorName(event.annotator));
  if (!Digest::FromHex(event.code_digest).ok()) {
    return absl::InvalidArgumentError("code_digest: expected a SHA-256");
  }
  const auto found = annotators_.find(event.annotator);
  if (event.is_reviewer && found != annotators_.end() && found->second.is_revoked) {
    return absl::FailedPreconditionError(
        absl::StrCat("annotator: a reviewer has revoked ", event.annotator));
  }
  return found != annotators_.end() || annotators_.size() < kAnnotatorsMax
             ? absl::OkStatus()
             : absl::ResourceExhaustedError(
                   absl::StrCat("annotator: there are ", kAnnotatorsMax, " already"));
}

absl::Status Room::CheckIs(Stage stage, const std::string& name) const {
  const auto found = annotators_.find(name);
  if (found == annotators_.end()) {
    return absl::NotFoundError(
        absl::StrCat("annotator: there is none called ", qa::Shown(CleanUtf8(name, 200))));
  }
  const Annotator& annotator = found->second;
  if (annotator.is_revoked) {
    return absl::FailedPreconditionError(
        "annotator: a reviewer has ended your work here; thank you for it");
  }
  if (stage != Stage::kKnown && !annotator.onboarded) {
    return absl::FailedPreconditionError("annotator: the onboarding comes first");
  }
  if (stage > Stage::kOnboarded && settings_.answering) {
    return absl::FailedPreconditionError(
        "annotator: in this room, existing questions are answered");
  }
  const bool is_trying = stage == Stage::kWriting && annotator.wins < settings_.qualification;
  return stage <= Stage::kOnboarded || is_trying || annotator.is_qualified
             ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   absl::StrCat("annotator: a reviewer must judge your first ",
                                settings_.qualification, " questions before, and accept 80 %"));
}

absl::StatusOr<size_t> Room::PassageOf(const std::string& id) const {
  const auto found = passage_of_id_.find(id);
  if (found == passage_of_id_.end()) {
    return absl::NotFoundError(
        absl::StrCat("passage: there is none called ", qa::Shown(CleanUtf8(id, 200))));
  }
  return found->second;
}

absl::StatusOr<const SourcePassage*> Room::FindPassage(const std::string& id) const {
  CONCUR_ASSIGN_OR_RETURN(const size_t passage, PassageOf(id));
  return &passages_[passage];
}

std::set<size_t> Room::Taken(const std::string& annotator, absl::Time now) const {
  std::set<size_t> taken;
  for (const auto& [holder, loan] : loans_) {
    if (!settings_.share_passages && holder != annotator && loan.IsHeld(now, settings_.hold)) {
      taken.insert(loan.passage);
    }
  }
  return taken;
}

// Work that was begun may be ended, in another view or late, while nobody else has the passage.
absl::Status Room::CheckLent(size_t passage, const Event& event) const {
  const auto loan = loans_.find(event.annotator);
  if (loan == loans_.end() || !loan->second.passages.contains(passage)) {
    return absl::FailedPreconditionError("passage: you were not given it");
  }
  return Taken(event.annotator, event.time).contains(passage)
             ? absl::FailedPreconditionError(
                   "passage: you left it or had it for too long, and another annotator has it now; "
                   "take "
                   "another passage")
             : absl::OkStatus();
}

absl::Status Room::CheckAssignment(const Event& event) const {
  CONCUR_RETURN_IF_ERROR(
      CheckIs(event.number == 0 ? Stage::kWriting : Stage::kQualified, event.annotator));
  CONCUR_ASSIGN_OR_RETURN(const size_t passage, PassageOf(event.passage));
  if (event.number < 0 || static_cast<uint64_t>(event.number) > attempts_.size() ||
      (event.number > 0 && attempts_[static_cast<size_t>(event.number - 1)].passage != passage)) {
    return absl::InvalidArgumentError("number: expected a question to this passage, or nothing");
  }
  return Taken(event.annotator, event.time).contains(passage)
             ? absl::FailedPreconditionError("passage: another annotator has it")
             : absl::OkStatus();
}

absl::Status Room::CheckOnboarding(const Event& event) const {
  CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kKnown, event.annotator));
  const Annotator& annotator = annotators_.at(event.annotator);
  if (annotator.onboarded) {
    return absl::FailedPreconditionError("annotator: the onboarding is done");
  }
  if (event.number != static_cast<int64_t>(annotator.onboarding_f1.size())) {
    return absl::FailedPreconditionError("number: expected the next of the known questions");
  }
  return CheckSpan(event.answer, onboarding_[static_cast<size_t>(event.number)].passage.text);
}

absl::Status Room::CheckAttempt(const Event& event) const {
  CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kWriting, event.annotator));
  if (event.key.empty() || event.key.size() > kKeyBytesMax || !IsOneLine(event.key)) {
    return absl::InvalidArgumentError(absl::StrCat("key: expected 1 to ", kKeyBytesMax, " bytes"));
  }
  if (FindAttempt(event.annotator, event.key) != nullptr) {
    return absl::AlreadyExistsError("key: this attempt was saved before");
  }
  if (event.question.size() > kQuestionBytesMax || !IsOneLine(event.question) ||
      !HasWord(event.question)) {
    return absl::InvalidArgumentError(absl::StrCat("question: expected words in one line, at most ",
                                                   kQuestionBytesMax, " bytes"));
  }
  CONCUR_RETURN_IF_ERROR(CheckAnswers(event, systems_));
  CONCUR_ASSIGN_OR_RETURN(const size_t passage, PassageOf(event.passage));
  CONCUR_RETURN_IF_ERROR(CheckLent(passage, event));
  if (asked_.contains({passage, qa::NormalizeAnswer(event.question)})) {
    return absl::FailedPreconditionError(
        "question: the passage has this question already; ask another");
  }
  if (open_[passage] >= settings_.questions_per_passage) {
    return absl::FailedPreconditionError("passage: it has enough questions; take another passage");
  }
  if (attempts_.size() >= kAttemptsMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("attempts: there are ", kAttemptsMax, " already; open another room"));
  }
  return CheckSpan(event.answer, passages_[passage].text);
}

// Reviewers see the author's answer, except of questions that reviewers wrote.
bool Room::MayValidate(const Attempt& attempt, const std::string& annotator) const {
  const Annotator& author = annotators_.at(attempt.annotator);
  return attempt.state == QuestionState::kWaiting && attempt.annotator != annotator &&
         author.is_qualified && (author.is_reviewer || !annotators_.at(annotator).is_reviewer) &&
         std::none_of(attempt.validations.begin(), attempt.validations.end(),
                      [&](const Validation& one) { return one.annotator == annotator; });
}

absl::Status Room::CheckValidation(const Event& event) const {
  CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kQualified, event.annotator));
  if (event.number < 1 || static_cast<uint64_t>(event.number) > attempts_.size()) {
    return absl::NotFoundError("number: there is no such question");
  }
  const Attempt& attempt = attempts_[static_cast<size_t>(event.number - 1)];
  if (!MayValidate(attempt, event.annotator)) {
    return absl::FailedPreconditionError(
        "number: the question is your own, you review it or have answered it, or it needs no more "
        "answers now");
  }
  CONCUR_RETURN_IF_ERROR(CheckLent(attempt.passage, event));
  return event.answer.has_value() ? CheckSpan(event.answer, passages_[attempt.passage].text)
                                  : absl::OkStatus();
}

// --- what it changes -----------------------------------------------------------------------------

void Room::Apply(const Event& event) {
  if (const auto found = annotators_.find(event.annotator);
      found != annotators_.end() && event.kind != EventKind::kAnnotator) {
    CountTime(event, settings_.hold, found->second);
  }
  switch (event.kind) {
    case EventKind::kOpening:
      break;
    case EventKind::kAnnotator: {
      Annotator& annotator = annotators_[event.annotator];
      annotator.code_digest = event.code_digest;
      ++annotator.links;
      annotator.is_reviewer = annotator.is_reviewer || event.is_reviewer;
      annotator.onboarded = annotator.onboarded || annotator.is_reviewer || onboarding_.empty();
      annotator.is_qualified =
          annotator.is_qualified || annotator.is_reviewer || settings_.qualification == 0;
      break;
    }
    case EventKind::kLogin:
      annotators_[event.annotator].code_digest.clear();
      break;
    case EventKind::kSystem:
      systems_ = event.systems;
      break;
    case EventKind::kAssignment: {
      const size_t passage = passage_of_id_.at(event.passage);
      Loan& loan = Lend(passage, event);
      if (event.number == 0) {
        loan.writing = passage;
      } else {
        loan.validating = event.number;
      }
      break;
    }
    case EventKind::kOnboarding:
      ApplyOnboarding(event);
      break;
    case EventKind::kAttempt:
      ApplyAttempt(event);
      break;
    case EventKind::kValidation:
      ApplyValidation(event);
      break;
    case EventKind::kReview:
      ApplyReview(event);
      break;
    case EventKind::kAnswer:
      annotators_[event.annotator].answers.push_back(event.answer);
      break;
  }
}

Room::Loan& Room::Lend(size_t passage, const Event& event) {
  // Earlier holds have ended, and stay so when the clock is set back.
  for (auto& [holder, other] : loans_) {
    if (!settings_.share_passages && other.passage == passage) {
      other.until = absl::InfinitePast();
    }
  }
  Loan& loan = loans_[event.annotator];
  loan.passage = passage;
  loan.until = event.time + settings_.hold;
  loan.passages.insert(passage);
  return loan;
}

void Room::ApplyOnboarding(const Event& event) {
  Annotator& annotator = annotators_[event.annotator];
  annotator.onboarding_f1.push_back(
      F1AgainstKnown(onboarding_[static_cast<size_t>(event.number)], *event.answer));
  annotator.known_number = event.number;
  annotator.known_answer = *event.answer;
  if (annotator.onboarding_f1.size() < onboarding_.size()) {
    return;
  }
  annotator.onboarded = !IsAbove(settings_.onboarding_f1_min, Mean(annotator.onboarding_f1));
  if (!annotator.onboarded) {
    ++annotator.rounds_failed;
    annotator.onboarding_f1.clear();
  }
}

void Room::ApplyAttempt(const Event& event) {
  Attempt attempt;
  attempt.number = static_cast<int64_t>(attempts_.size()) + 1;
  attempt.annotator = event.annotator;
  attempt.time = event.time;
  attempt.passage = passage_of_id_.at(event.passage);
  attempt.key = event.key;
  attempt.question = event.question;
  attempt.answer = *event.answer;
  for (size_t i = 0; i < event.systems.size(); ++i) {
    const std::string& text = event.system_answers[i];
    attempt.answers.push_back(
        {event.systems[i], text,
         qa::F1(text, qa::TextOf(passages_[attempt.passage].text, attempt.answer))});
  }
  Lend(attempt.passage, event).writing = attempt.passage;
  number_of_key_[{attempt.annotator, attempt.key}] = attempt.number;
  Annotator& author = annotators_[attempt.annotator];
  ++author.attempts;
  ++progress_.attempts;
  if (const SystemAnswer* best = attempt.BestAnswer();
      best != nullptr && IsAbove(best->f1, settings_.f1_win_max)) {
    ++progress_.system_won;
    attempts_.push_back(std::move(attempt));
    return;
  }
  ++author.wins;
  ++progress_.waiting;
  if (++open_[attempt.passage] == settings_.questions_per_passage) {
    ++progress_.passages_done;
  }
  attempt.state = QuestionState::kWaiting;
  asked_.emplace(attempt.passage, qa::NormalizeAnswer(attempt.question));
  waiting_.insert(attempt.number);
  attempts_.push_back(std::move(attempt));
  Decide(attempts_.back());
}

void Room::ApplyValidation(const Event& event) {
  Attempt& attempt = attempts_[static_cast<size_t>(event.number - 1)];
  const absl::string_view text = passages_[attempt.passage].text;
  Validation validation;
  validation.annotator = event.annotator;
  validation.time = event.time;
  validation.answer = event.answer;
  if (event.answer.has_value()) {
    validation.f1 = qa::F1(qa::TextOf(text, *event.answer), qa::TextOf(text, attempt.answer));
    validation.agrees = IsAbove(validation.f1, settings_.f1_win_max);
  }
  const int64_t agrees = validation.agrees ? 1 : 0;
  Annotator& author = annotators_[attempt.annotator];
  ++author.validations_received;
  author.agreements_received += agrees;
  Annotator& validator = annotators_[event.annotator];
  ++validator.validations;
  validator.agreements += agrees;
  ++progress_.validations;
  progress_.agreements += agrees;
  Lend(attempt.passage, event);
  attempt.validations.push_back(std::move(validation));
  Decide(attempt);
  Judge(attempt.annotator);  // a question that was dropped is no more to be reviewed
}

// Once there are enough validations, the question is kept or dropped.
void Room::Decide(Attempt& attempt) {
  if (static_cast<int64_t>(attempt.validations.size()) < settings_.validators &&
      IsHeldOut(attempt.passage)) {
    return;
  }
  if (!attempt.validations.empty() && attempt.Agreement() < settings_.agreement_min) {
    TakeOut(attempt, QuestionState::kDropped);
    return;
  }
  waiting_.erase(attempt.number);
  --progress_.waiting;
  attempt.state = QuestionState::kKept;
  ++progress_.kept;
  ++annotators_[attempt.annotator].kept;
}

void Room::TakeOut(Attempt& attempt, QuestionState state) {
  Annotator& author = annotators_[attempt.annotator];
  if (attempt.state == QuestionState::kWaiting) {
    waiting_.erase(attempt.number);
    --progress_.waiting;
  } else {
    --progress_.kept;
    --author.kept;
  }
  attempt.state = state;
  if (state == QuestionState::kDropped) {
    ++progress_.dropped;
    ++author.dropped;
  } else {
    ++progress_.rejected;
  }
  asked_.erase({attempt.passage, qa::NormalizeAnswer(attempt.question)});
  if (open_[attempt.passage]-- == settings_.questions_per_passage) {
    --progress_.passages_done;
  }
}

// --- what comes next -----------------------------------------------------------------------------

std::optional<size_t> Room::HeldBy(const std::string& annotator, absl::Time now) const {
  const auto loan = loans_.find(annotator);
  return loan != loans_.end() && loan->second.IsHeld(now, settings_.hold)
             ? std::make_optional(loan->second.passage)
             : std::nullopt;
}

bool Room::HasTask(const std::string& annotator, const Task& task, absl::Time now) const {
  if (task.kind != TaskKind::kWriting && task.kind != TaskKind::kValidating) {
    return true;
  }
  const bool is_held = HeldBy(annotator, now) == task.passage;
  return is_held &&
         (task.kind == TaskKind::kWriting ? loans_.at(annotator).writing == task.passage
                                          : loans_.at(annotator).validating == task.number);
}

const Attempt* Room::FindAttempt(const std::string& annotator, const std::string& key) const {
  const auto found = number_of_key_.find({annotator, key});
  return found == number_of_key_.end() ? nullptr
                                       : &attempts_[static_cast<size_t>(found->second - 1)];
}

std::optional<Task> Room::WritingTask(const std::string& annotator, bool skip,
                                      absl::Time now) const {
  const std::set<size_t> taken = Taken(annotator, now);
  const auto loan = loans_.find(annotator);
  const std::optional<size_t> last = loan != loans_.end() ? loan->second.writing : std::nullopt;
  const auto is_open = [&](size_t passage) {
    return open_[passage] < settings_.questions_per_passage && !taken.contains(passage);
  };
  if (last.has_value() && !skip && is_open(*last)) {
    return Task{TaskKind::kWriting, *last, 0};
  }
  // After one that was skipped its successors in the file's order, so that all are seen; else the
  // one with the fewest questions.
  std::optional<size_t> best;
  const size_t count = passages_.size();
  const size_t start = last.has_value() && skip ? *last + 1 : 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t passage = (start + i) % count;
    if (!is_open(passage) || (skip && last == passage)) {
      continue;
    }
    if (!best.has_value() || (!skip && open_[passage] < open_[*best])) {
      best = passage;
    }
    if (skip || open_[*best] == 0) {
      break;
    }
  }
  return best.has_value() ? std::make_optional(Task{TaskKind::kWriting, *best, 0}) : std::nullopt;
}

std::optional<Task> Room::ValidatingTask(const std::string& annotator, bool skip,
                                         absl::Time now) const {
  const std::set<size_t> taken = Taken(annotator, now);
  const auto loan = loans_.find(annotator);
  const int64_t last = loan != loans_.end() ? loan->second.validating : 0;
  std::optional<Task> first;
  // From the last one on, so that those who skip see all.
  auto at = skip ? waiting_.upper_bound(last) : waiting_.lower_bound(last);
  for (size_t i = 0; i < waiting_.size(); ++i, ++at) {
    at = at == waiting_.end() ? waiting_.begin() : at;
    const Attempt& attempt = attempts_[static_cast<size_t>(*at - 1)];
    if (taken.contains(attempt.passage) || !MayValidate(attempt, annotator) ||
        (skip && *at == last)) {
      continue;
    }
    const Task task{TaskKind::kValidating, attempt.passage, *at};
    if (skip || *at == last || loan == loans_.end() || loan->second.passage == attempt.passage) {
      return task;
    }
    if (!first.has_value()) {
      first = task;
    }
  }
  return first;
}

absl::StatusOr<Task> Room::NextTask(const std::string& annotator, TaskKind wanted, bool skip,
                                    absl::Time now) const {
  CONCUR_RETURN_IF_ERROR(CheckIs(Stage::kKnown, annotator));
  const Annotator& known = annotators_.at(annotator);
  if (!known.onboarded) {
    return Task{TaskKind::kOnboarding, 0, static_cast<int64_t>(known.onboarding_f1.size()),
                known.rounds_failed};
  }
  if (settings_.answering) {
    const size_t next = known.answers.size();
    return next < questions_.size()
               ? absl::StatusOr<Task>(Task{TaskKind::kAnswering, 0, static_cast<int64_t>(next)})
               : absl::NotFoundError("you have answered all questions; thank you");
  }
  if (wanted == TaskKind::kReviewing && !known.is_reviewer) {
    return absl::PermissionDeniedError("kind: only reviewers review");
  }
  if (const absl::Status may =
          CheckIs(wanted == TaskKind::kWriting ? Stage::kWriting : Stage::kQualified, annotator);
      !may.ok()) {
    return absl::NotFoundError(absl::StripPrefix(may.message(), "annotator: "));
  }
  std::optional<Task> task;
  std::string nothing;
  if (wanted == TaskKind::kReviewing) {
    task = ReviewingTask(*this);
    nothing = "no question is to be reviewed now";
  } else if (wanted == TaskKind::kValidating) {
    task = ValidatingTask(annotator, skip, now);
    nothing = "no question of others needs your answer now";
  } else {
    task = WritingTask(annotator, skip, now);
    nothing = "no other passage is free now: all have enough questions, or others have them";
  }
  return task.has_value() ? absl::StatusOr<Task>(*task) : absl::NotFoundError(nothing);
}

}  // namespace concur::annotation
