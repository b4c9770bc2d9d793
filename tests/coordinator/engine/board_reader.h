// SPDX-License-Identifier: Apache-2.0
// Readers of a SweepBoard, and messages that a test can look into.
#ifndef CONCUR_TESTS_COORDINATOR_ENGINE_BOARD_READER_H_
#define CONCUR_TESTS_COORDINATOR_ENGINE_BOARD_READER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "coordinator/engine/sweep_board.h"

namespace concur {

// A message as text: "reset" or not, what the sweep counts, and the events.
inline WatchEncoder TextEncoder() {
  WatchEncoder encoder;
  encoder.head = [](const WatchHead& head) {
    return absl::StrCat(head.cursor, "|", head.reset ? "reset" : "", "|",
                        head.sweep->counts[static_cast<size_t>(JobState::kSucceeded)], "|",
                        head.earliest_change == absl::InfiniteFuture()
                            ? ""
                            : absl::StrCat(absl::ToUnixMillis(head.earliest_change)),
                        "|");
  };
  encoder.events = [](const Expansion&, absl::Span<const JobEvent> events, absl::Time) {
    std::string text;
    for (const JobEvent& event : events) {
      absl::StrAppend(&text, event.id.index, " ", JobStateName(event.state), ",");
    }
    return text;
  };
  return encoder;
}

// One message, taken apart.
struct Seen {
  explicit Seen(const std::string& text) {
    const std::vector<std::string> parts = absl::StrSplit(text, '|');
    cursor = parts[0];
    reset = parts[1] == "reset";
    succeeded = std::stoi(parts[2]);
    earliest = parts[3];
    events = absl::StrSplit(parts[4], ',', absl::SkipEmpty());
  }
  std::string cursor;
  bool reset = false;
  int succeeded = 0;
  std::string earliest;
  std::vector<std::string> events;
};

// A reader that takes what it is sent only when told to, if it is slow.
class Reader final : public SweepBoard::Watcher {
 public:
  explicit Reader(SweepBoard& board, bool is_slow = false) : board_(board), is_slow_(is_slow) {}
  ~Reader() override {
    if (watches_ && !ended) {
      Take();
      board_.Cancel(*this);
    }
  }

  absl::Status Watch(SweepId sweep, const std::string& cursor = "",
                     WatchDetail detail = WatchDetail::kAll) {
    absl::Status status = board_.Watch(sweep, cursor, detail, *this);
    watches_ = status.ok();
    return status;
  }
  void Write(std::shared_ptr<const SweepBoard::Message> message, bool is_last) override {
    CONCUR_CHECK(under_way_ == nullptr && !ended);
    under_way_ = std::move(message);
    ended = is_last;
    if (!is_slow_) {
      Take();
    }
  }
  void End(absl::Status status) override {
    CONCUR_CHECK(under_way_ == nullptr && !ended);
    ended = true;
    end = std::move(status);
  }
  // The message that is under way arrives.
  void Take() {
    if (under_way_ == nullptr) {
      return;
    }
    seen.emplace_back(under_way_->bytes());
    sent.push_back(under_way_.get());
    under_way_.reset();
    if (!ended) {
      written = board_.Written(*this, true);
      ended = !written.ok();
    }
  }
  bool has_message() const { return under_way_ != nullptr; }
  std::vector<std::string> Events() const {
    std::vector<std::string> all;
    for (const Seen& one : seen) {
      all.insert(all.end(), one.events.begin(), one.events.end());
    }
    return all;
  }

  std::vector<Seen> seen;
  std::vector<const void*> sent;  // addresses of the messages
  bool ended = false;
  absl::Status end;
  absl::Status written;

 private:
  SweepBoard& board_;
  const bool is_slow_;
  bool watches_ = false;
  std::shared_ptr<const SweepBoard::Message> under_way_;
};

}  // namespace concur

#endif  // CONCUR_TESTS_COORDINATOR_ENGINE_BOARD_READER_H_
