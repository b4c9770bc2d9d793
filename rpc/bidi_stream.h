// SPDX-License-Identifier: Apache-2.0
// The client's end of a stream in both directions, for a thread that waits for messages with a
// deadline and wants to know of the stream's end while it does something else.
//
// One message that was received waits to be read, and one that is to be sent is under way: neither
// side's pace costs the other memory.
#ifndef CONCUR_RPC_BIDI_STREAM_H_
#define CONCUR_RPC_BIDI_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "rpc/status.h"

namespace concur::rpc {

// Thread-safe, but for its end.
template <typename Out, typename In>
// The destructor is virtual, which clang-tidy 14 does not see in a base that depends on parameters.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor)
class BidiStream final : private grpc::ClientBidiReactor<Out, In> {
 public:
  using Open = std::function<void(grpc::ClientContext*, grpc::ClientBidiReactor<Out, In>*)>;
  // `open` is a method of a stub's async(). REQUIRES: CallbackThreads lives as long.
  explicit BidiStream(const Open& open) {
    open(&context_, this);
    this->AddHold();  // until nothing is received any more: Write begins outside of reactions
    this->StartRead(&incoming_);
    this->StartCall();
  }
  // Cancels the call and waits for its end.
  ~BidiStream() override {
    context_.TryCancel();
    bool release = false;
    {
      MutexLock lock(mutex_);
      closing_ = true;
      if (received_) {  // no read is under way, whose failure would do this
        ended_ = true;
        release = !writing_;
      }
    }
    if (release) {
      this->RemoveHold();
    }
    MutexLock lock(mutex_);
    while (!done_) {
      changed_.Wait(mutex_);
    }
  }
  BidiStream(const BidiStream&) = delete;
  BidiStream& operator=(const BidiStream&) = delete;

  // The next message. Nullopt when the stream has ended, after `wait`, and after Wake.
  std::optional<In> Read(absl::Duration wait = absl::InfiniteDuration()) {
    const absl::Time end = absl::Now() + wait;
    std::optional<In> message;
    bool goes_on = false;
    {
      MutexLock lock(mutex_);
      while (!received_ && !ended_ && !std::exchange(woken_, false) && absl::Now() < end) {
        changed_.WaitWithTimeout(mutex_, end - absl::Now());
      }
      if (std::exchange(received_, false)) {
        message = std::move(incoming_);
        goes_on = true;
      }
    }
    if (goes_on) {
      this->StartRead(&incoming_);
    }
    return message;
  }

  // Waits for the message before it. False when the stream has ended.
  bool Write(Out message) {
    {
      MutexLock lock(mutex_);
      while (writing_ && !ended_) {
        changed_.Wait(mutex_);
      }
      if (ended_) {
        return false;
      }
      outgoing_ = std::move(message);
      writing_ = true;
    }
    this->StartWrite(&outgoing_);
    return true;
  }

  void Cancel() { context_.TryCancel(); }
  // The Read that waits, or the next one that would, returns.
  void Wake() {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }
  // Whether the other side has ended it, and what came before was read.
  bool ended() const {
    MutexLock lock(mutex_);
    return ended_ && !received_;
  }
  // How it ended. REQUIRES: ended().
  absl::Status WaitForStatus() {
    MutexLock lock(mutex_);
    while (!done_) {
      changed_.Wait(mutex_);
    }
    return status_;
  }

 private:
  void OnReadDone(bool ok) override {
    bool release = false;
    {
      MutexLock lock(mutex_);
      received_ = ok;
      ended_ = !ok || closing_;
      release = ended_ && !writing_;
      changed_.NotifyAll();
    }
    if (release) {
      this->RemoveHold();
    }
  }
  void OnWriteDone(bool /*ok*/) override {
    bool release = false;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      release = ended_;
      changed_.NotifyAll();
    }
    if (release) {
      this->RemoveHold();
    }
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(mutex_);
    status_ = FromGrpcStatus(status);
    done_ = true;
    changed_.NotifyAll();
  }

  grpc::ClientContext context_;
  Out outgoing_;
  In incoming_;  // gRPC's while a read is under way

  mutable Mutex mutex_;
  CondVar changed_;
  bool received_ ABSL_GUARDED_BY(mutex_) = false;  // incoming_ has a message that was not read
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more is received
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace concur::rpc

#endif  // CONCUR_RPC_BIDI_STREAM_H_
