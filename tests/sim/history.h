// SPDX-License-Identifier: Apache-2.0
// Record of what clients saw: the invocation and the answer of each request and read, and each
// event that they were sent. Checks that one order explains it.
//
// The requests and reads of one sweep must be linearizable: there is an order of them in which each
// takes effect at once, between its invocation and its answer, and each read sees the effects of
// what is before it. The search is that of Wing and Gong, with Lowe's memory of configurations, as
// in Knossos and Porcupine. Jobs change by themselves between reads, but never backward: attempt
// numbers only grow, and a success stays as it was seen unless a retry was sent. A request that was
// sent may take effect again and again, since the network and users repeat messages.
//
// A watcher's events must be those that were published, from its snapshot on, without a gap or a
// repeat, across broken connections.
//
// One thread. Only observes: it draws no random numbers and changes nothing.
#ifndef CONCUR_TESTS_SIM_HISTORY_H_
#define CONCUR_TESTS_SIM_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "coordinator/engine/engine_observer.h"
#include "core/scheduler/scheduler.h"

namespace concur::sim {

enum class UserRequest : uint8_t { kSubmit, kPause, kResume, kCancel, kCancelJob, kRetry, kDelete };
inline constexpr size_t kUserRequests = 7;

// A sweep, as a read shows it.
struct SeenSweep {
  struct Job {
    uint32_t attempt = 0;
    bool succeeded = false;
    double score = 0;

    friend bool operator==(const Job&, const Job&) = default;
  };
  bool canceled = false;
  bool paused = false;
  bool ended = false;
  bool may_pause = false;  // some job has not ended: what was paused is
  std::vector<Job> jobs;   // empty: the read did not ask for them
  bool only_jobs = false;  // it says nothing else of the sweep
};
SeenSweep SeenOf(const SweepView& sweep);
// With its jobs; nullopt when there is no such sweep.
std::optional<SeenSweep> SeenIn(const Scheduler& scheduler, SweepId id);

class History : public EngineObserver {
 public:
  // A moment: later calls give greater numbers.
  using Moment = uint64_t;

  // --- requests and reads -----------------------------------------------------------------------

  // A user sends a request about a sweep; `sweep` is 0 for a submission, whose answer has the
  // number.
  Moment Begin(UserRequest request, SweepId sweep);
  // About any of the sweeps, and without an answer that says about which.
  void BeginAll(UserRequest request);
  // It was answered with success; those that were refused say nothing.
  void End(UserRequest request, SweepId sweep, Moment begun);
  Moment BeginRead() { return ++now_; }
  // nullopt: there was no such sweep.
  void EndRead(SweepId sweep, Moment begun, std::optional<SeenSweep> seen);
  // Sweeps whose submission was answered.
  const std::vector<SweepId>& sweeps() const { return submitted_; }

  // Describes what no order explains; "" if there is nothing.
  std::string Check() const;
  uint64_t reads() const { return reads_; }

  // --- events -----------------------------------------------------------------------------------

  // A process of the coordinator starts, and publishes anew.
  void OnProcess() { published_.clear(); }
  void OnTurn(const Turn& turn, const Effects& effects) override;
  // Number of events of the sweep that this process has published.
  size_t published(SweepId sweep) const;
  // Text of event number `at`; "" if there is none.
  std::string Published(SweepId sweep, size_t at) const;
  static std::string TextOf(const JobEvent& event);

 private:
  struct Call {
    Moment begun = 0;
    Moment ended = 0;
    std::optional<UserRequest> request;  // none: a read
    std::optional<SeenSweep> seen;
  };
  struct OfSweep {
    std::vector<Call> calls;
    std::array<Moment, kUserRequests> first{};  // when one was first sent; 0: never
  };
  class Search;

  // True if such a request may take effect before `end` though no answer says so.
  bool MayComeBefore(const OfSweep& sweep, UserRequest request, Moment end) const;

  Moment now_ = 0;
  uint64_t reads_ = 0;
  std::vector<SweepId> submitted_;
  std::map<SweepId, OfSweep> sweeps_;
  std::array<Moment, kUserRequests> first_of_all_{};
  std::map<SweepId, std::vector<std::string>> published_;
};

}  // namespace concur::sim

#endif  // CONCUR_TESTS_SIM_HISTORY_H_
