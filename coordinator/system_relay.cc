// SPDX-License-Identifier: Apache-2.0
#include "coordinator/system_relay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace concur {
namespace {

absl::Status CoordinatorStops() { return absl::UnavailableError("the coordinator stops"); }

}  // namespace

void SystemRelay::Wake(const Wakers& wakers) {
  for (const Waker& wake : wakers) {
    wake();
  }
}

bool SystemRelay::Fits(const Offer& offer, const Wants& wants) {
  return wants.order.resources.FitsIn(offer.capacity) &&
         TakesRequest(offer.labels, wants.order.resources, wants.labels);
}

void SystemRelay::SetStanding(Conversation& conversation, State state, std::string worker,
                              std::string detail) {
  conversation.standing.state = state;
  conversation.standing.worker = std::move(worker);
  conversation.standing.detail = std::move(detail);
  conversation.standing_changed = true;
}

// Of several places that of the preferred worker, else the one that was offered first.
void SystemRelay::FindPlace(uint64_t id, Conversation& conversation, Wakers& wakers) {
  auto best = places_.end();
  for (auto it = places_.begin(); it != places_.end(); ++it) {
    const Place& place = it->second;
    if (!IsFree(place) || !Fits(place.offer, conversation.wants)) {
      continue;
    }
    const bool is_near = place.offer.worker == conversation.wants.near_worker;
    if (best == places_.end() || is_near) {
      best = it;
    }
    if (is_near) {
      break;
    }
  }
  if (best != places_.end()) {
    Join(id, conversation, best->first, best->second, wakers);
  }
}

void SystemRelay::Join(uint64_t id, Conversation& conversation, uint64_t place_id, Place& place,
                       Wakers& wakers) {
  place.conversation = id;
  place.was_taken = true;
  place.deadline = clock_.Now() + limits_.prepare_max;
  conversation.place = place_id;
  SetStanding(conversation, State::kStarting, place.offer.worker, conversation.standing.detail);
  wakers.push_back(place.wake);
  wakers.push_back(conversation.wake);
}

void SystemRelay::Count(const Place& place, int change, Wakers& wakers) {
  for (auto& [id, conversation] : conversations_) {
    if (Fits(place.offer, conversation.wants)) {
      conversation.standing.places += static_cast<size_t>(change);
      conversation.standing_changed = true;
      wakers.push_back(conversation.wake);
    }
  }
}

void SystemRelay::GiveUp(Place& place, absl::Status status, Wakers& wakers) {
  Count(place, -1, wakers);
  place.over = std::move(status);
  place.deadline = absl::InfiniteFuture();
  wakers.push_back(place.wake);
}

void SystemRelay::Detach(Place& place, const std::string& why, Wakers& wakers) {
  const auto found = conversations_.find(std::exchange(place.conversation, 0));
  if (found == conversations_.end()) {
    return;
  }
  Conversation& conversation = found->second;
  conversation.place = 0;
  const std::string detail = why.empty() ? absl::StrCat(place.offer.worker, " went away")
                                         : absl::StrCat(place.offer.worker, ": ", why);
  if (std::exchange(conversation.asked, false)) {
    ++conversation.losses;
    if (conversation.losses >= limits_.losses_max) {
      conversation.answer =
          ServedAnswer{conversation.question->number, false,
                       absl::StrCat("the system gave no answer on ", conversation.losses,
                                    " workers; last, ", detail)};
      conversation.question.reset();
    }
  }
  SetStanding(conversation, State::kWaiting, "", detail);
  wakers.push_back(conversation.wake);
  if (!place.prepared && ++conversation.failed_preparations >= limits_.failed_preparations_max) {
    conversation.over = absl::FailedPreconditionError(
        absl::StrCat("the system could not be prepared ", conversation.failed_preparations,
                     " times in a row; last, ", detail));
    return;
  }
  FindPlace(found->first, conversation, wakers);
}

absl::StatusOr<uint64_t> SystemRelay::OpenConversation(Wants wants, Waker wake) {
  Wakers wakers;
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) {
      return CoordinatorStops();
    }
    if (conversations_.size() >= limits_.conversations_max) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "there are ", conversations_.size(), " conversations with systems: end one first"));
    }
    const auto of_user = static_cast<size_t>(std::count_if(
        conversations_.begin(), conversations_.end(),
        [&wants](const auto& entry) { return entry.second.wants.user == wants.user; }));
    if (of_user >= limits_.conversations_of_user_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(wants.user, " has ", of_user,
                       " conversations with systems, as many as one user may have: end one first"));
    }
    id = next_++;
    Conversation& conversation = conversations_[id];
    conversation.wants = std::move(wants);
    conversation.wake = std::move(wake);
    conversation.standing.places = static_cast<size_t>(
        std::count_if(places_.begin(), places_.end(), [&conversation](const auto& entry) {
          return !entry.second.over && Fits(entry.second.offer, conversation.wants);
        }));
    FindPlace(id, conversation, wakers);
  }
  Wake(wakers);
  return id;
}

absl::Status SystemRelay::Ask(uint64_t id, ServedQuestion question) {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    Conversation& conversation = conversations_.at(id);
    if (question.number <= conversation.last_number) {
      return absl::InvalidArgumentError(absl::StrCat("question.number: expected more than ",
                                                     conversation.last_number, ", got ",
                                                     question.number));
    }
    conversation.last_number = question.number;
    conversation.question = std::move(question);
    conversation.asked = false;
    conversation.losses = 0;
    conversation.answer.reset();
    if (const auto place = places_.find(conversation.place); place != places_.end()) {
      wakers.push_back(place->second.wake);
    }
  }
  Wake(wakers);
  return absl::OkStatus();
}

std::optional<SystemRelay::ForAsker> SystemRelay::TakeForAsker(uint64_t id) {
  MutexLock lock(mutex_);
  const auto found = conversations_.find(id);
  if (found == conversations_.end()) {
    return std::nullopt;
  }
  Conversation& conversation = found->second;
  if (stopped_) {
    return std::exchange(conversation.over_taken, true)
               ? std::nullopt
               : std::optional<ForAsker>(CoordinatorStops());
  }
  if (conversation.over.has_value()) {
    return std::exchange(conversation.over_taken, true)
               ? std::nullopt
               : std::optional<ForAsker>(*conversation.over);
  }
  if (conversation.answer.has_value()) {
    return *std::exchange(conversation.answer, std::nullopt);
  }
  if (std::exchange(conversation.standing_changed, false)) {
    return conversation.standing;
  }
  return std::nullopt;
}

void SystemRelay::CloseConversation(uint64_t id) {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    const auto found = conversations_.find(id);
    if (found == conversations_.end()) {
      return;
    }
    const auto place = places_.find(found->second.place);
    conversations_.erase(found);
    if (place != places_.end()) {
      place->second.conversation = 0;
      GiveUp(place->second, absl::OkStatus(), wakers);
    }
  }
  Wake(wakers);
}

absl::StatusOr<uint64_t> SystemRelay::OpenPlace(Offer offer, Waker wake) {
  Wakers wakers;
  uint64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) {
      return CoordinatorStops();
    }
    if (places_.size() >= limits_.places_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", places_.size(), " places for systems already"));
    }
    if (const auto of_worker = places_of_worker_.find(offer.worker);
        of_worker != places_of_worker_.end() && of_worker->second >= kServePlacesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(offer.worker, " has ", of_worker->second,
                       " places for systems, as many as one may have"));
    }
    ++places_of_worker_[offer.worker];
    id = next_++;
    Place& place = places_[id];
    place.offer = std::move(offer);
    place.wake = std::move(wake);
    Count(place, 1, wakers);
    // The one whose preparation failed the fewest times, so that it keeps no place from others; of
    // several the oldest.
    auto waiting = conversations_.end();
    for (auto it = conversations_.begin(); it != conversations_.end(); ++it) {
      if (Waits(it->second) && Fits(place.offer, it->second.wants) &&
          (waiting == conversations_.end() ||
           it->second.failed_preparations < waiting->second.failed_preparations)) {
        waiting = it;
      }
    }
    if (waiting != conversations_.end()) {
      Join(waiting->first, waiting->second, id, place, wakers);
    }
  }
  Wake(wakers);
  return id;
}

std::optional<SystemRelay::ForPlace> SystemRelay::TakeForPlace(uint64_t id) {
  MutexLock lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) {
    return std::nullopt;
  }
  Place& place = found->second;
  if (place.over.has_value()) {
    return std::exchange(place.over_taken, true) ? std::nullopt
                                                 : std::optional<ForPlace>(*place.over);
  }
  const auto asker = conversations_.find(place.conversation);
  if (asker == conversations_.end()) {
    return std::nullopt;
  }
  Conversation& conversation = asker->second;
  if (!std::exchange(place.ordered, true)) {
    return conversation.wants.order;
  }
  if (!place.prepared || place.at_work.has_value() || conversation.asked ||
      !conversation.question.has_value()) {
    return std::nullopt;
  }
  conversation.asked = true;
  place.at_work = conversation.question->number;
  place.deadline =
      clock_.Now() + kServedStartTime + conversation.wants.order.answer_max + limits_.answer_grace;
  return *conversation.question;
}

absl::Status SystemRelay::Prepared(uint64_t id) {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    Place& place = places_.at(id);
    if (place.over.has_value()) {
      return absl::OkStatus();  // it was under way
    }
    if (!place.ordered || place.prepared) {
      return absl::FailedPreconditionError("prepared: nothing was ordered");
    }
    place.prepared = true;
    if (const auto asker = conversations_.find(place.conversation); asker != conversations_.end()) {
      asker->second.failed_preparations = 0;
    }
    place.deadline = absl::InfiniteFuture();
    wakers.push_back(place.wake);
  }
  Wake(wakers);
  return absl::OkStatus();
}

absl::Status SystemRelay::Answered(uint64_t id, ServedAnswer answer) {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    Place& place = places_.at(id);
    if (place.over.has_value()) {
      return absl::OkStatus();
    }
    if (place.at_work != answer.number) {
      return absl::FailedPreconditionError(
          absl::StrCat("answer: nothing was asked under the number ", answer.number));
    }
    place.at_work.reset();
    place.deadline = absl::InfiniteFuture();
    wakers.push_back(place.wake);  // another question may wait
    const auto asker = conversations_.find(place.conversation);
    CONCUR_CHECK(asker != conversations_.end());
    Conversation& conversation = asker->second;
    SetStanding(conversation, answer.answered ? State::kReady : State::kFailed, place.offer.worker,
                answer.answered ? "" : answer.text);
    // Else it was replaced by another question.
    if (conversation.question.has_value() && conversation.question->number == answer.number) {
      conversation.question.reset();
      conversation.asked = false;
      conversation.answer = std::move(answer);
    }
    wakers.push_back(conversation.wake);
  }
  Wake(wakers);
  return absl::OkStatus();
}

void SystemRelay::ClosePlace(uint64_t id, const std::string& why) {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    const auto found = places_.find(id);
    if (found == places_.end()) {
      return;
    }
    Place place = std::move(found->second);
    places_.erase(found);
    if (const auto of_worker = places_of_worker_.find(place.offer.worker);
        --of_worker->second == 0) {
      places_of_worker_.erase(of_worker);
    }
    if (!place.over) {
      Count(place, -1, wakers);
    }
    Detach(place, why, wakers);
  }
  Wake(wakers);
}

void SystemRelay::CheckDeadlines() {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    for (auto& [id, place] : places_) {
      if (place.deadline > now) {
        continue;
      }
      GiveUp(place,
             absl::DeadlineExceededError(place.prepared ? "the worker did not answer in time"
                                                        : "preparing took too long"),
             wakers);
      Detach(place, std::string(place.over->message()), wakers);
    }
  }
  Wake(wakers);
}

void SystemRelay::Stop() {
  Wakers wakers;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    for (auto& [id, place] : places_) {
      place.over = CoordinatorStops();
      wakers.push_back(place.wake);
    }
    for (auto& [id, conversation] : conversations_) {
      wakers.push_back(conversation.wake);
    }
  }
  Wake(wakers);
}

std::map<std::string, SystemRelay::Serving> SystemRelay::List() const {
  std::map<std::string, Serving> serving;
  MutexLock lock(mutex_);
  for (const auto& [id, place] : places_) {
    Serving& worker = serving[place.offer.worker];
    ++worker.places;
    if (const auto asker = conversations_.find(place.conversation); asker != conversations_.end()) {
      worker.jobs.push_back(asker->second.wants.order.train.id.job.ToString());
    }
  }
  return serving;
}

std::string SystemRelay::BrokenInvariant() const {
  MutexLock lock(mutex_);
  for (const auto& [id, conversation] : conversations_) {
    size_t places = 0;
    bool could_begin = false;
    for (const auto& [number, place] : places_) {
      const bool fits = !place.over && Fits(place.offer, conversation.wants);
      places += fits ? 1 : 0;
      could_begin = could_begin || (fits && !place.was_taken);
    }
    if (conversation.standing.places != places) {
      return "the number of places is not what there is";
    }
    if ((conversation.place == 0) != (conversation.standing.state == State::kWaiting)) {
      return "a conversation waits with a place, or does not without";
    }
    if ((Waits(conversation) && could_begin) || (conversation.place == 0 && conversation.asked)) {
      return "a conversation waits beside a free place, or asks without one";
    }
    if (conversation.answer.has_value() && conversation.question.has_value()) {
      return "there is an answer to a question before the last";
    }
    const auto place = places_.find(conversation.place);
    if (conversation.place != 0 &&
        (place == places_.end() || place->second.conversation != id || place->second.over)) {
      return "a conversation's place is not its own";
    }
    if (conversation.asked && (!conversation.question.has_value() ||
                               place->second.at_work != conversation.question->number)) {
      return "what was asked is not at the place";
    }
  }
  for (const auto& [id, place] : places_) {
    if (place.conversation != 0 && !conversations_.contains(place.conversation)) {
      return "a place is kept for nobody";
    }
    if (!place.over && place.was_taken != (place.conversation != 0)) {
      return "a place serves twice";
    }
    // Whoever was told to do something has a deadline for it.
    const bool owes = place.conversation != 0 && (!place.prepared || place.at_work.has_value());
    if (owes != (place.deadline < absl::InfiniteFuture())) {
      return "a place has no deadline, or one for nothing";
    }
  }
  return "";
}

}  // namespace concur
