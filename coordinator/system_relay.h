// SPDX-License-Identifier: Apache-2.0
// Brings those who ask a trained system together with the workers that serve it, and carries one
// question at a time from here to there. In memory only: a restart of the coordinator ends all
// conversations, and both sides open theirs again.
//
// A conversation is one who asks; a place is where a worker can serve one system. A conversation
// waits until a free place fits it, and keeps that place until it ends or the place is lost. What
// was asked there and not answered is asked again at the next place.
//
// Nothing is queued: a conversation has one question and one answer, a place one question. Who asks
// and who serves take what there is for them (Take…) when they can send it, and are woken when
// there may be something new. So one that does not read costs no memory.
//
// Thread-safe. Wakers are called without a lock held, from any thread, and may call the relay.
#ifndef CONCUR_COORDINATOR_SYSTEM_RELAY_H_
#define CONCUR_COORDINATOR_SYSTEM_RELAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "core/labels.h"
#include "core/resources.h"
#include "core/serve_order.h"

namespace concur {

struct RelayLimits {
  size_t conversations_max = 256;
  size_t conversations_of_user_max = 8;
  size_t places_max = 100'000;
  absl::Duration prepare_max = absl::Minutes(60);  // fetching, and making an environment
  // Beyond what the worker gives the system: it is the worker that does not answer.
  absl::Duration answer_grace = absl::Seconds(30);
  // A question fails after so many places were lost with it.
  int losses_max = 3;
  // A conversation ends after so many places in a row were lost before they were prepared.
  int failed_preparations_max = 5;
};

class SystemRelay {
 public:
  using Waker = std::function<void()>;
  enum class State { kWaiting, kStarting, kReady, kFailed };

  // --- those who ask ---

  struct Wants {
    ServeOrder order;
    std::string user;         // who asks
    Labels labels;            // of the worker
    std::string near_worker;  // preferred: it has the system; "": none
  };
  struct Standing {
    State state = State::kWaiting;
    std::string worker;  // "" while it waits
    std::string detail;  // what happened last
    size_t places = 0;   // that fit, taken ones included
  };
  using ForAsker = std::variant<Standing, ServedAnswer, absl::Status>;

  // ResourceExhausted when there are too many, of all or of the user.
  absl::StatusOr<uint64_t> OpenConversation(Wants wants, Waker wake);
  // Replaces a question that is not answered yet. InvalidArgument unless its number grows.
  absl::Status Ask(uint64_t conversation, ServedQuestion question);
  // An answer before a change of standing; `absl::Status`: it is over, as no worker can
  // prepare the system or the coordinator stops. Nullopt: nothing for now.
  std::optional<ForAsker> TakeForAsker(uint64_t conversation);
  // Its place is told to end the system. The waker is not called any more once this has returned
  // and calls under way are over.
  void CloseConversation(uint64_t conversation);

  // --- workers ---

  struct Offer {
    std::string worker;
    Resources capacity;
    Labels labels;
  };
  // `absl::Status`: the place is over; OK when nobody asks any more.
  using ForPlace = std::variant<ServeOrder, ServedQuestion, absl::Status>;

  // ResourceExhausted when there are too many, of all or of the worker.
  absl::StatusOr<uint64_t> OpenPlace(Offer offer, Waker wake);
  std::optional<ForPlace> TakeForPlace(uint64_t place);
  // FailedPrecondition for a report that nobody waits for; the caller closes the place then.
  absl::Status Prepared(uint64_t place);
  absl::Status Answered(uint64_t place, ServedAnswer answer);
  // `why`: for those who ask; "" when the worker went away.
  void ClosePlace(uint64_t place, const std::string& why);

  // --- both ---

  // `clock` outlives the relay.
  explicit SystemRelay(Clock& clock, RelayLimits limits = {}) : clock_(clock), limits_(limits) {}

  // Gives up places whose deadline is over. To be called now and again.
  void CheckDeadlines();
  // Ends everything, now and later.
  void Stop();

  struct Serving {
    size_t places = 0;
    std::vector<std::string> jobs;  // whose systems are served there
  };
  // By worker.
  std::map<std::string, Serving> List() const;

  // For tests: what does not belong together; "" when all does.
  std::string BrokenInvariant() const;

 private:
  struct Conversation {
    Wants wants;
    Waker wake;
    Standing standing;
    bool standing_changed = true;
    uint64_t place = 0;  // 0: none
    uint64_t last_number = 0;
    std::optional<ServedQuestion> question;  // not answered yet
    bool asked = false;                      // it is at the place
    int losses = 0;                          // of places that had the question
    int failed_preparations = 0;             // in a row
    std::optional<ServedAnswer> answer;      // not taken yet
    std::optional<absl::Status> over;        // nothing follows
    bool over_taken = false;
  };
  struct Place {
    Offer offer;
    Waker wake;
    uint64_t conversation = 0;  // 0: none
    bool was_taken = false;     // it serves once: the worker offers it anew
    bool ordered = false;       // the order was taken
    bool prepared = false;
    std::optional<uint64_t> at_work;  // the number of the question that it has
    absl::Time deadline = absl::InfiniteFuture();
    std::optional<absl::Status> over;  // nothing follows
    bool over_taken = false;
  };
  using Wakers = std::vector<Waker>;

  static bool Waits(const Conversation& conversation) {
    return conversation.place == 0 && !conversation.over;
  }
  static bool Fits(const Offer& offer, const Wants& wants);
  static bool IsFree(const Place& place) { return !place.over && !place.was_taken; }
  // Gives the conversation a free place that fits, if there is one.
  void FindPlace(uint64_t id, Conversation& conversation, Wakers& wakers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Join(uint64_t id, Conversation& conversation, uint64_t place_id, Place& place,
            Wakers& wakers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The place's conversation looks for another one.
  void Detach(Place& place, const std::string& why, Wakers& wakers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // No more is to come of the place.
  void GiveUp(Place& place, absl::Status status, Wakers& wakers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Standing::places of those that the place fits, `change` more.
  void Count(const Place& place, int change, Wakers& wakers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void SetStanding(Conversation& conversation, State state, std::string worker,
                          std::string detail);
  static void Wake(const Wakers& wakers);

  Clock& clock_;
  const RelayLimits limits_;

  mutable Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Conversation> conversations_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::map<uint64_t, Place> places_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> places_of_worker_ ABSL_GUARDED_BY(mutex_);  // above 0
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_SYSTEM_RELAY_H_
