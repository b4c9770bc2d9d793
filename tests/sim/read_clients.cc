// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/read_clients.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "coordinator/engine/sweep_board.h"

namespace concur::sim {
namespace {

constexpr absl::Duration kReadInterval = absl::Seconds(1);
constexpr absl::Duration kServeInterval = absl::Milliseconds(700);
constexpr absl::Duration kReadDelayMax = absl::Milliseconds(300);
constexpr absl::Duration kLongDelayMax = absl::Seconds(6);
constexpr size_t kWatchesMax = 4;
constexpr double kBreaks = 0.2;  // share of messages to watchers at which the connection breaks

}  // namespace

// A client that watches one sweep, and comes back with its cursor after a broken connection.
class ReadClients::Watch : public SweepBoard::Watcher {
 public:
  Watch(ReadClients& clients, SweepId sweep) : clients_(clients), sweep_(sweep) {}
  ~Watch() override {
    if (connected()) {
      clients_.coordinator_.board().Cancel(*this);
    }
  }

  bool connected() const {
    return process_ == clients_.coordinator_.process() && clients_.coordinator_.up();
  }
  // True if something was published that it was not sent.
  bool lacks_events() const {
    return connected() && !in_flight_ && position_ != clients_.history_.published(sweep_);
  }
  SweepId sweep() const { return sweep_; }

  void Connect() {
    if (connected() || in_flight_ || !clients_.coordinator_.up()) {
      return;
    }
    process_ = clients_.coordinator_.process();
    if (!clients_.coordinator_.Watch(sweep_, cursor_, *this).ok()) {
      process_ = 0;
    }
  }

  void Write(std::shared_ptr<const SweepBoard::Message> message, bool is_last) override {
    in_flight_ = true;
    clients_.world_.After(clients_.Delay(),
                          [this, message, is_last] { Arrive(*message, is_last); });
  }
  void End(absl::Status /*status*/) override { process_ = 0; }

 private:
  void Arrive(const SweepBoard::Message& message, bool is_last) {
    in_flight_ = false;
    const bool lives = connected();  // the process that sent it
    const bool breaks = !lives || clients_.random_.Chance(kBreaks);
    if (!breaks || clients_.random_.Chance(0.5)) {
      Take(message.bytes());
    }
    const bool written =
        lives && !is_last && clients_.coordinator_.board().Written(*this, !breaks).ok();
    if (!written) {
      process_ = 0;
    }
  }

  // "HEAD CURSOR RESET PROCESS PUBLISHED", then an event in each line.
  void Take(const std::string& text) {
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    const std::vector<std::string> head = absl::StrSplit(lines.at(0), ' ');
    uint64_t process = 0;
    uint64_t published = 0;
    if (head.size() != 5 || !absl::SimpleAtoi(head[3], &process) ||
        !absl::SimpleAtoi(head[4], &published)) {
      clients_.world_.Fail(absl::StrCat("a watcher got ", lines[0]));
      return;
    }
    cursor_ = head[1];
    if (head[2] == "1") {
      position_ = published;
      of_process_ = process;
    } else if (of_process_ != process) {
      Fail("goes on after a restart without a snapshot");
    }
    // A late message of a dead process cannot be compared any more.
    if (process != clients_.coordinator_.process()) {
      return;
    }
    for (size_t i = 1; i < lines.size(); ++i, ++position_) {
      const std::string expected = clients_.history_.Published(sweep_, position_);
      if (lines[i] != expected) {
        Fail(absl::StrCat("got event ", position_, " as \"", lines[i], "\", and it was \"",
                          expected, "\""));
        return;
      }
    }
  }

  void Fail(absl::string_view problem) {
    clients_.world_.Fail(absl::StrCat("a watcher of sweep ", sweep_.ToString(), " ", problem));
  }

  ReadClients& clients_;
  const SweepId sweep_;
  std::string cursor_;
  uint64_t process_ = 0;     // coordinator process that it is connected to; 0: none
  uint64_t of_process_ = 0;  // whose events it counts
  size_t position_ = 0;      // events of that process that it knows
  bool in_flight_ = false;
};

ReadClients::ReadClients(World& world, History& history, CoordinatorMachine& coordinator,
                         uint64_t seed)
    : world_(world),
      history_(history),
      coordinator_(coordinator),
      random_(seed, "sim.read_clients") {}

ReadClients::~ReadClients() = default;

void ReadClients::Start() {
  LookOften();
  ServeOften();
}

void ReadClients::ServeOften() {
  LookAfterRestart();
  ServeBoard();
  world_.After(kServeInterval, [this] { ServeOften(); });
}

absl::Duration ReadClients::Delay() {
  return random_.Uniform() * (random_.Chance(0.05) ? kLongDelayMax : kReadDelayMax);
}

void ReadClients::LookOften() {
  world_.After(2 * random_.Uniform() * kReadInterval, [this] {
    Look();
    LookOften();
  });
}

void ReadClients::Look() {
  const std::vector<SweepId>& sweeps = history_.sweeps();
  if (!sweeps.empty()) {
    LookAt(sweeps[random_.Below(sweeps.size())]);
  }
}

void ReadClients::LookAfterRestart() {
  if (coordinator_.up() && looked_at_process_ != coordinator_.process()) {
    looked_at_process_ = coordinator_.process();
    for (const SweepId id : history_.sweeps()) {
      LookAt(id);
    }
  }
}

void ReadClients::LookAt(SweepId id) {
  if (watches_.size() < kWatchesMax) {
    watches_.push_back(std::make_unique<Watch>(*this, id));
  }
  for (const std::unique_ptr<Watch>& watch : watches_) {
    watch->Connect();
  }
  world_.After(Delay(), [this, id, begun = history_.BeginRead(), engine = random_.Chance(0.7)] {
    const auto done = [this, id, begun](const Seen& seen) { Answer(id, begun, seen); };
    engine ? coordinator_.ReadSweep(id, done) : done(coordinator_.ReadBoard(id));
  });
}

// The answer takes its time, too. An error says nothing.
void ReadClients::Answer(SweepId id, History::Moment begun, const Seen& seen) {
  if (seen.ok()) {
    world_.After(Delay(), [this, id, begun, seen] { history_.EndRead(id, begun, *seen); });
  }
}

// As the board's thread does.
void ReadClients::ServeBoard() {
  const WatchEncoder encoder{
      [this](const WatchHead& head) {
        return absl::StrCat("head ", head.cursor, " ", head.reset ? 1 : 0, " ",
                            coordinator_.process(), " ", history_.published(head.sweep->row.id),
                            "\n");
      },
      [](const Expansion& /*expansion*/, absl::Span<const JobEvent> events, absl::Time /*time*/) {
        std::string lines;
        for (const JobEvent& event : events) {
          absl::StrAppend(&lines, History::TextOf(event), "\n");
        }
        return lines;
      }};
  if (coordinator_.up()) {
    coordinator_.board().RunOnce(encoder);
  }
}

void ReadClients::Check() {
  if (world_.failed()) {
    return;
  }
  ServeBoard();
  for (const std::unique_ptr<Watch>& watch : watches_) {
    if (watch->lacks_events()) {
      world_.Fail(absl::StrCat("a watcher of sweep ", watch->sweep().ToString(),
                               " is not sent its last events"));
    }
  }
  if (const std::string problem = history_.Check(); !problem.empty()) {
    world_.Fail(problem);
  }
}

}  // namespace concur::sim
