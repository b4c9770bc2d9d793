// SPDX-License-Identifier: Apache-2.0
// The SweepBoard: the durable state of sweeps, published by the engine's thread. Reads of sweeps
// never ask the engine, and a thread of the board sends changes to watchers.
//
// The board keeps the newest state and the latest changes of each sweep. A watcher has at most one
// message in flight; once that is written, the next one has all changes since. A slow reader thus
// costs one message of memory and delays nobody. A message that is encoded for one watcher is sent
// to all watchers with the same cursor. A watcher whose changes are no longer kept gets a snapshot
// of the newest state.
//
// Thread-safe. Publish is for the engine's thread, after each commit.
#ifndef CONCUR_COORDINATOR_ENGINE_SWEEP_BOARD_H_
#define CONCUR_COORDINATOR_ENGINE_SWEEP_BOARD_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "core/scheduler/scheduler.h"
#include "core/state/work_meter.h"

namespace concur {

// The state of a sweep on disk. Immutable once published.
struct SweepFacts {
  SweepRow row;                                // without its spec's bytes
  std::shared_ptr<const Expansion> expansion;  // shared with the scheduler and other readers
  SweepState state = SweepState::kActive;
  StateCounts counts{};
  uint32_t reused = 0;
  uint32_t queued = 0;
  double running_done = 0;
  OwnerUse owner_use;
  Spent spent;
  RecentWork recent;         // set in a copy that a reader gets
  absl::Status load_status;  // as SweepBook::CheckLoaded: unless OK, it has no state and no counts

  // Valid as long as this is.
  SweepView View() const {
    return {&row,   expansion.get(), state,     counts, reused,
            queued, running_done,    owner_use, spent,  recent};
  }
};

// Changes that a turn made to one sweep.
struct SweepUpdate {
  SweepId id;
  std::shared_ptr<const SweepFacts> facts;  // null: the sweep was deleted
  std::vector<JobEvent> events;
  // Current use of the sweep's owner; of a deleted sweep, too.
  OwnerUse owner_use;
};

// Which job events a watcher is sent.
enum class WatchDetail { kAll, kFailures, kNone };

// A message to a watcher without its events. Valid during the encoding.
struct WatchHead {
  const SweepFacts* sweep = nullptr;
  RecentWork recent;
  std::string cursor;
  bool reset = false;  // a snapshot: the cursor was too old, or from before a restart
  absl::Time earliest_change = absl::InfiniteFuture();  // in this message; of a snapshot none
};

// Encoding of messages: the bytes of the head, followed by those of the events, in any number
// of pieces. The events of a turn are encoded once for all watchers.
struct WatchEncoder {
  std::function<std::string(const WatchHead& head)> head;
  std::function<std::string(const Expansion& expansion, absl::Span<const JobEvent> events,
                            absl::Time time)>
      events;
};

struct SweepBoardOptions {
  // The least time between two messages to one watcher.
  absl::Duration watch_interval = absl::Milliseconds(20);
  // The mean time between messages to all watchers together: a thousand watchers are sent changes
  // every 30 ms, ten thousand every 300 ms.
  absl::Duration message_spacing = absl::Microseconds(30);
  // Watchers served in one slice, and the most by which a late thread catches up.
  size_t slice_max = 100;
  size_t watchers_max = 20'000;
  // Changes of one sweep that can be replayed to a watcher that comes back.
  size_t events_max = 10'000;
  // In one message.
  size_t events_per_message_max = 1'000;
  // Bytes of different messages in flight. Beyond it, watchers get snapshots without events.
  size_t bytes_under_way_max = size_t{64} << 20;
};

class SweepBoard {
 public:
  // An encoded message. Immutable, and shared by all watchers that it is sent to.
  class Message {
   public:
    // `under_way` is shared because messages may outlive the board in gRPC's buffers.
    Message(std::string bytes, std::shared_ptr<std::atomic<size_t>> under_way)
        : bytes_(std::move(bytes)), under_way_(std::move(under_way)) {
      *under_way_ += bytes_.size();
    }
    ~Message() { *under_way_ -= bytes_.size(); }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    const std::string& bytes() const { return bytes_; }

   private:
    const std::string bytes_;
    const std::shared_ptr<std::atomic<size_t>> under_way_;
  };
  // Called by the board's thread, without a lock held. Must not block.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // `message` is to be written; then Written is to be called, unless it is the last one: the
    // sweep has ended, and the board has forgotten the watcher.
    virtual void Write(std::shared_ptr<const Message> message, bool is_last) = 0;
    // There is nothing to write any more; the board has forgotten the watcher.
    virtual void End(absl::Status status) = 0;
  };

  // `epoch` marks cursors: one of another epoch gives a snapshot. `clock` outlives the board.
  SweepBoard(Clock& clock, SweepBoardOptions options, std::string epoch);
  ~SweepBoard();

  // --- the engine's thread ----------------------------------------------------------------------

  void Publish(std::vector<SweepUpdate> updates, absl::Time now);
  // Facts of a sweep that was published; null when it is not known.
  std::shared_ptr<const SweepFacts> FactsOf(SweepId id) const;

  // --- readers ----------------------------------------------------------------------------------

  // "s12", or a name as ChooseSweep reads it; its owner's use is current as well. NotFound suggests
  // similar names. FailedPrecondition as of SweepBook::CheckLoaded.
  absl::StatusOr<SweepFacts> Find(const std::string& text, const std::string& user) const;
  // Newest first: sweeps with numbers below `before` (0: all) of `owner` ("": of all owners).
  std::vector<SweepFacts> List(uint64_t before, const std::string& owner, size_t limit) const;

  // --- watchers ---------------------------------------------------------------------------------

  // Starts the thread that sends messages. Without it, tests call RunOnce. REQUIRES: called once.
  void Start(WatchEncoder encoder);
  // Ends all watchers (Unavailable), and joins the thread. Later watchers are refused.
  void Stop();
  // Serves one slice, as the thread would. Returns when the next slice is due.
  absl::Time RunOnce(const WatchEncoder& encoder);

  // Sends the sweep's changes since `cursor` to `watcher`, after a snapshot if they are not kept.
  // The watcher must live until End, the last Write, a Written that fails, or a Cancel that returns
  // true. NotFound; ResourceExhausted when there are too many watchers; Unavailable after Stop.
  absl::Status Watch(SweepId id, const std::string& cursor, WatchDetail detail, Watcher& watcher);
  // The watcher's message was written, or (not `ok`) could not be. On an error the board has
  // forgotten the watcher, whose call should end with that error.
  absl::Status Written(Watcher& watcher, bool ok);
  // Ends a watch. True: the board has forgotten the watcher, and calls it no more. False: the watch
  // ends, or has ended, by the last Write, End or Written.
  bool Cancel(Watcher& watcher);
  size_t watchers() const;

 private:
  // The changes of one turn, numbered from `first` to `last`: one per event, or one if there are no
  // events.
  struct Changes {
    uint64_t first = 0;
    uint64_t last = 0;
    absl::Time time;
    std::vector<JobEvent> events;
    mutable std::string bytes;  // all events once encoded; used by the encoding thread only
  };
  struct Sweep {
    std::shared_ptr<const SweepFacts> facts;
    WorkMeter meter;    // used while the sweep has not ended
    uint64_t head = 0;  // number of the last change
    // The last changes, ascending and without gaps up to `head`. The thread that encodes them
    // shares them.
    std::deque<std::shared_ptr<const Changes>> changes;
    absl::btree_map<uint64_t, Watcher*> idle;  // that know all changes, by their numbers
  };
  struct Owner {
    OwnerUse use;
    size_t sweeps = 0;
  };
  enum class WatchState { kIdle, kDue, kWriting };
  struct Watching {
    SweepId sweep;
    uint64_t number = 0;  // in order of arrival
    uint64_t after = 0;   // the last change that it knows
    WatchDetail detail = WatchDetail::kAll;
    bool reset = false;
    bool canceled = false;
    WatchState state = WatchState::kDue;
    absl::Time due;     // while kDue
    absl::Time served;  // when it was last sent something
  };
  using WatchingMap = absl::flat_hash_map<Watcher*, Watching>;
  // The message for all watchers of a slice that know the same changes.
  struct Draft {
    SweepId sweep;
    std::shared_ptr<const SweepFacts> facts;
    RecentWork recent;
    std::vector<std::shared_ptr<const Changes>> changes;  // with numbers beyond `after`
    uint64_t after = 0;
    uint64_t head = 0;
    WatchDetail detail = WatchDetail::kAll;
    bool reset = false;
    // Once it is encoded:
    std::shared_ptr<const Message> message;
    uint64_t last = 0;  // change in it
    bool is_last = false;
  };
  struct Slice {
    std::vector<Draft> drafts;
    std::vector<std::pair<Watcher*, size_t>> deliveries;  // each watcher's draft, by index
    std::vector<std::pair<Watcher*, SweepId>> gone;       // whose sweeps were deleted
  };

  static bool IsWanted(const JobEvent& event, WatchDetail detail);
  static bool HasUpdate(const Sweep& sweep, const Watching& watching);
  static uint64_t DroppedTo(const Sweep& sweep);
  void PublishOne(SweepUpdate update, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Measure(Sweep& sweep, absl::Time now);
  void Remove(const SweepUpdate& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(Sweep& sweep, std::vector<JobEvent> events, absl::Time now) const;
  SweepFacts Copy(const Sweep& sweep) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeDue(Watcher* watcher, Watching& watching, absl::Time due)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(WatchingMap::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Slice TakeSlice(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static size_t DraftFor(const Sweep& sweep, const Watching& watching, bool reset, absl::Time now,
                         Slice& slice);
  void Encode(const WatchEncoder& encoder, Draft& draft) const;
  void Deliver(Slice slice);
  absl::Time NextDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Loop();

  // Constant after construction; `encoder_` after Start.
  Clock& clock_;
  const SweepBoardOptions options_;
  const std::string epoch_;
  const std::shared_ptr<std::atomic<size_t>> bytes_under_way_;
  WatchEncoder encoder_;
  std::thread thread_;

  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::btree_map<SweepId, Sweep> sweeps_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<std::string, absl::btree_set<SweepId>> by_name_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Owner> owners_ ABSL_GUARDED_BY(mutex_);
  WatchingMap watching_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  // By time, then by arrival.
  absl::btree_map<std::pair<absl::Time, uint64_t>, Watcher*> due_ ABSL_GUARDED_BY(mutex_);
  // Changed since they had idle watchers.
  absl::btree_set<SweepId> changed_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_slice_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time asleep_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_SWEEP_BOARD_H_
