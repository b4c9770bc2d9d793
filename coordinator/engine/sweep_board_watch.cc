// SPDX-License-Identifier: Apache-2.0
// The watchers of sweeps, and the messages to them.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "coordinator/engine/sweep_board.h"

namespace concur {

bool SweepBoard::IsWanted(const JobEvent& event, WatchDetail detail) {
  switch (detail) {
    case WatchDetail::kAll:
      return true;
    case WatchDetail::kNone:
      return false;
    case WatchDetail::kFailures:
      break;
  }
  return event.state == JobState::kFailed || event.state == JobState::kBackoff ||
         (event.state == JobState::kReady && event.failure != FailureClass::kNone);
}

// The number of the last change that is not kept any more.
uint64_t SweepBoard::DroppedTo(const Sweep& sweep) {
  return sweep.changes.empty() ? sweep.head : sweep.changes.front()->first - 1;
}

bool SweepBoard::HasUpdate(const Sweep& sweep, const Watching& watching) {
  return watching.reset || IsTerminal(sweep.facts->state) || sweep.head > watching.after;
}

// --- adding and removing
// ----------------------------------------------------------------------------

absl::Status SweepBoard::Watch(SweepId id, const std::string& cursor, WatchDetail detail,
                               Watcher& watcher) {
  Watching watching;
  watching.sweep = id;
  watching.detail = detail;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(cursor, absl::MaxSplits('-', 1));
  watching.reset = parts.first != epoch_ || !absl::SimpleAtoi(parts.second, &watching.after);
  MutexLock lock(mutex_);
  if (stopping_) {
    return absl::UnavailableError("the coordinator is shutting down");
  }
  if (watching_.size() >= options_.watchers_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat(watching_.size(), " watch already, the most that may; try again later"));
  }
  const auto sweep = sweeps_.find(id);
  if (sweep == sweeps_.end()) {
    return absl::NotFoundError(absl::StrCat("no sweep ", id.ToString()));
  }
  if (watching.after > sweep->second.head) {
    watching.reset = true;  // not a cursor of this board
  }
  watching.number = next_number_++;
  watching.served = absl::InfinitePast();
  const auto [it, inserted] = watching_.emplace(&watcher, watching);
  CONCUR_CHECK(inserted);
  MakeDue(&watcher, it->second, absl::InfinitePast());
  return absl::OkStatus();
}

absl::Status SweepBoard::Written(Watcher& watcher, bool ok) {
  MutexLock lock(mutex_);
  const auto it = watching_.find(&watcher);
  CONCUR_CHECK(it != watching_.end() && it->second.state == WatchState::kWriting);
  Watching& watching = it->second;
  if (!ok || watching.canceled || stopping_) {
    const bool is_gone = !ok || watching.canceled;
    Forget(it);
    return is_gone ? absl::CancelledError("the reader went away")
                   : absl::UnavailableError("the coordinator is shutting down");
  }
  MakeDue(&watcher, watching, watching.served + options_.watch_interval);
  return absl::OkStatus();
}

bool SweepBoard::Cancel(Watcher& watcher) {
  MutexLock lock(mutex_);
  const auto it = watching_.find(&watcher);
  if (it == watching_.end()) {
    return false;
  }
  if (it->second.state == WatchState::kWriting) {
    it->second.canceled = true;
    return false;
  }
  Forget(it);
  return true;
}

size_t SweepBoard::watchers() const {
  MutexLock lock(mutex_);
  return watching_.size();
}

// From any other state. Wakes the thread if it would sleep past `due`.
void SweepBoard::MakeDue(Watcher* watcher, Watching& watching, absl::Time due) {
  watching.state = WatchState::kDue;
  watching.due = due;
  due_.emplace(std::pair(due, watching.number), watcher);
  if (std::max(due, next_slice_) < asleep_until_) {
    asleep_until_ = absl::InfinitePast();
    wake_.NotifyOne();
  }
}

void SweepBoard::Forget(WatchingMap::iterator it) {
  const Watching& watching = it->second;
  if (watching.state == WatchState::kDue) {
    due_.erase({watching.due, watching.number});
  } else if (const auto sweep = sweeps_.find(watching.sweep); sweep != sweeps_.end()) {
    sweep->second.idle.erase(watching.number);
  }
  watching_.erase(it);
}

// --- the thread ----------------------------------------------------------------------------------

void SweepBoard::Start(WatchEncoder encoder) {
  CONCUR_CHECK(!thread_.joinable());
  encoder_ = std::move(encoder);
  thread_ = std::thread([this] { Loop(); });
}

void SweepBoard::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) {
    thread_.join();
  }
  std::vector<Watcher*> waiting;
  {
    MutexLock lock(mutex_);
    for (auto it = watching_.begin(); it != watching_.end();) {
      const auto here = it++;
      if (here->second.state != WatchState::kWriting) {  // else Written ends it
        waiting.push_back(here->first);
        Forget(here);
      }
    }
  }
  for (Watcher* watcher : waiting) {
    watcher->End(absl::UnavailableError("the coordinator is shutting down"));
  }
}

void SweepBoard::Loop() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stopping_) {
        const absl::Time next = NextDue();
        const absl::Duration wait = next - clock_.Now();
        if (wait <= absl::ZeroDuration()) {
          break;
        }
        asleep_until_ = next;
        wake_.WaitWithTimeout(mutex_, wait);
        asleep_until_ = absl::InfinitePast();
      }
      if (stopping_) {
        return;
      }
    }
    RunOnce(encoder_);
  }
}

absl::Time SweepBoard::NextDue() const {
  if (!changed_.empty()) {
    return next_slice_;
  }
  return due_.empty() ? absl::InfiniteFuture() : std::max(due_.begin()->first.first, next_slice_);
}

absl::Time SweepBoard::RunOnce(const WatchEncoder& encoder) {
  const absl::Time now = clock_.Now();
  Slice slice;
  {
    MutexLock lock(mutex_);
    if (now < NextDue()) {
      return NextDue();
    }
    slice = TakeSlice(now);
    // A thread that was late catches up, by one slice at most.
    const absl::Duration spacing = options_.message_spacing;
    next_slice_ = std::max(next_slice_, now - spacing * static_cast<int64_t>(options_.slice_max)) +
                  spacing * static_cast<int64_t>(slice.deliveries.size());
  }
  for (Draft& draft : slice.drafts) {
    Encode(encoder, draft);
  }
  Deliver(std::move(slice));
  MutexLock lock(mutex_);
  return NextDue();
}

// Makes the idle watchers of changed sweeps due.
void SweepBoard::WakeIdle() {
  for (const SweepId& id : std::exchange(changed_, {})) {
    for (const auto& [number, watcher] : std::exchange(sweeps_.at(id).idle, {})) {
      Watching& watching = watching_.at(watcher);
      MakeDue(watcher, watching, watching.served + options_.watch_interval);
    }
  }
}

// The watchers that are due, longest first, with their messages.
SweepBoard::Slice SweepBoard::TakeSlice(absl::Time now) {
  WakeIdle();
  Slice slice;
  const bool too_much = *bytes_under_way_ > options_.bytes_under_way_max;
  while (!due_.empty() && due_.begin()->first.first <= now &&
         slice.deliveries.size() < options_.slice_max) {
    Watcher* const watcher = due_.begin()->second;
    due_.erase(due_.begin());
    const auto it = watching_.find(watcher);
    Watching& watching = it->second;
    const auto found = sweeps_.find(watching.sweep);
    if (found == sweeps_.end()) {
      slice.gone.emplace_back(watcher, watching.sweep);
      watching_.erase(it);
      continue;
    }
    Sweep& sweep = found->second;
    if (!HasUpdate(sweep, watching)) {
      watching.state = WatchState::kIdle;
      sweep.idle.emplace(watching.number, watcher);
      continue;
    }
    const bool reset = watching.reset || watching.after < DroppedTo(sweep) ||
                       (too_much && watching.detail != WatchDetail::kNone);
    watching.state = WatchState::kWriting;
    watching.served = now;
    slice.deliveries.emplace_back(watcher, DraftFor(sweep, watching, reset, now, slice));
  }
  return slice;
}

// The draft for all watchers that know the same changes as `watching`.
size_t SweepBoard::DraftFor(const Sweep& sweep, const Watching& watching, bool reset,
                            absl::Time now, Slice& slice) {
  for (size_t i = 0; i < slice.drafts.size(); ++i) {
    const Draft& draft = slice.drafts[i];
    if (draft.sweep == watching.sweep && draft.reset == reset &&
        (reset || (draft.after == watching.after && draft.detail == watching.detail))) {
      return i;
    }
  }
  Draft draft;
  draft.sweep = watching.sweep;
  draft.facts = sweep.facts;
  draft.recent = sweep.meter.Recent(now);
  draft.after = watching.after;
  draft.head = sweep.head;
  draft.detail = watching.detail;
  draft.reset = reset;
  if (!reset) {
    auto it =
        std::upper_bound(sweep.changes.begin(), sweep.changes.end(), watching.after,
                         [](uint64_t after, const auto& changes) { return after < changes->last; });
    // Without events, only the time of the first change is needed.
    const auto end = watching.detail == WatchDetail::kNone && it != sweep.changes.end()
                         ? std::next(it)
                         : sweep.changes.end();
    draft.changes.assign(it, end);
  }
  slice.drafts.push_back(std::move(draft));
  return slice.drafts.size() - 1;
}

void SweepBoard::Encode(const WatchEncoder& encoder, Draft& draft) const {
  const Expansion& expansion = *draft.facts->expansion;
  std::string events;
  size_t room = options_.events_per_message_max;
  draft.last = draft.head;
  for (const auto& changes : draft.changes) {
    if (draft.detail == WatchDetail::kAll && draft.after < changes->first &&
        changes->events.size() <= room) {
      if (changes->bytes.empty() && !changes->events.empty()) {
        changes->bytes = encoder.events(expansion, changes->events, changes->time);
      }
      room -= changes->events.size();
      events += changes->bytes;
      continue;
    }
    for (size_t i = 0; i < changes->events.size() && draft.last == draft.head; ++i) {
      const uint64_t number = changes->first + i;
      if (number <= draft.after || !IsWanted(changes->events[i], draft.detail)) {
        continue;
      }
      if (room == 0) {
        draft.last = number - 1;
      } else {
        --room;
        events +=
            encoder.events(expansion, absl::MakeConstSpan(&changes->events[i], 1), changes->time);
      }
    }
    if (draft.last != draft.head) {
      break;
    }
  }
  WatchHead head;
  head.sweep = draft.facts.get();
  head.recent = draft.recent;
  head.cursor = absl::StrCat(epoch_, "-", draft.last);
  head.reset = draft.reset;
  if (!draft.changes.empty()) {
    head.earliest_change = draft.changes.front()->time;
  }
  draft.is_last = IsTerminal(draft.facts->state) && draft.last == draft.head;
  draft.message = std::make_shared<const Message>(encoder.head(head) + events, bytes_under_way_);
}

void SweepBoard::Deliver(Slice slice) {
  {
    MutexLock lock(mutex_);
    for (const auto& [watcher, index] : slice.deliveries) {
      const Draft& draft = slice.drafts[index];
      const auto it = watching_.find(watcher);  // present while it is being written to
      if (draft.is_last) {
        Forget(it);
      } else {
        it->second.after = draft.last;
        it->second.reset = false;
      }
    }
  }
  for (const auto& [watcher, index] : slice.deliveries) {
    watcher->Write(slice.drafts[index].message, slice.drafts[index].is_last);
  }
  for (const auto& [watcher, sweep] : slice.gone) {
    watcher->End(absl::NotFoundError(absl::StrCat("no sweep ", sweep.ToString())));
  }
}

}  // namespace concur
