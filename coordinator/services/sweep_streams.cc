// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/sweep_streams.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "coordinator/services/views.h"
#include "proto/rpc/status.h"
#include "store/artifacts/artifact_reader.h"

namespace concur {
namespace {

// A stream whose next piece comes from a wait in the engine. It starts a wait only after the last
// piece was written, so that a slow reader delays nobody. gRPC calls OnCancel, OnWriteDone and
// OnDone from any thread; the engine answers from its own.
template <typename Response>
class EngineStream : public grpc::ServerWriteReactor<Response> {
 public:
  explicit EngineStream(Engine& engine) : engine_(engine) {}

  void OnWriteDone(bool ok) override {
    if (!ok) {
      End(absl::CancelledError("the reader went away"));
      return;
    }
    Next();
  }

  void OnCancel() override {
    uint64_t ticket = 0;
    {
      MutexLock lock(waiting_->mutex);
      waiting_->canceled = true;
      ticket = waiting_->ticket;
    }
    if (ticket != 0) {
      engine_.CancelWait(ticket);  // its callback ends the call
    }
  }

  void OnDone() override { delete this; }

 protected:
  // Starts a wait unless the reader has disconnected. `start` returns the ticket.
  template <typename Start>
  void Wait(Start start) {
    // An answer at once may end the call, and with it this.
    Engine& engine = engine_;
    const std::shared_ptr<Waiting> waiting = waiting_;
    bool canceled;
    {
      MutexLock lock(waiting->mutex);
      canceled = waiting->canceled;
      waiting->is_open = true;
    }
    if (canceled) {
      End(absl::CancelledError("the reader went away"));
      return;
    }
    const uint64_t ticket = start();
    bool cancel_now = false;
    {
      MutexLock lock(waiting->mutex);
      if (waiting->is_open) {  // else it is already answered
        waiting->ticket = ticket;
        cancel_now = waiting->canceled;
      }
    }
    if (cancel_now) {
      engine.CancelWait(ticket);
    }
  }
  void Answered() {
    MutexLock lock(waiting_->mutex);
    waiting_->is_open = false;
    waiting_->ticket = 0;
  }
  void End(const absl::Status& status) { this->Finish(rpc::ToGrpcStatus(status)); }

  virtual void Next() = 0;

  Engine& engine_;
  Response piece_;

 private:
  struct Waiting {
    Mutex mutex;
    bool canceled ABSL_GUARDED_BY(mutex) = false;
    bool is_open ABSL_GUARDED_BY(mutex) = false;
    uint64_t ticket ABSL_GUARDED_BY(mutex) = 0;
  };
  const std::shared_ptr<Waiting> waiting_ = std::make_shared<Waiting>();
};

WatchDetail DetailOf(v1::WatchSweepRequest::Events events) {
  switch (events) {
    case v1::WatchSweepRequest::EVENTS_FAILURES:
      return WatchDetail::kFailures;
    case v1::WatchSweepRequest::EVENTS_NONE:
      return WatchDetail::kNone;
    default:
      return WatchDetail::kAll;
  }
}

// One watcher of the board. It writes messages that the board encoded once for all: no bytes are
// copied.
class SweepStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                          private SweepBoard::Watcher {
 public:
  SweepStream(SweepBoard& board, const v1::WatchSweepRequest& request, const std::string& user)
      : board_(board) {
    const absl::StatusOr<SweepFacts> sweep = board.Find(request.sweep(), user);
    absl::Status status = sweep.status();
    if (status.ok()) {
      status = board.Watch(sweep->row.id, request.cursor(), DetailOf(request.events()), *this);
    }
    if (!status.ok()) {
      End(std::move(status));
    }
  }

  void OnWriteDone(bool ok) override {
    piece_.Clear();
    if (is_last_) {
      End(ok ? absl::OkStatus() : absl::CancelledError("the reader went away"));
    } else if (absl::Status status = board_.Written(*this, ok); !status.ok()) {
      End(std::move(status));
    }
  }

  void OnCancel() override {
    if (board_.Cancel(*this)) {
      End(absl::CancelledError("the reader went away"));
    }
  }

  void OnDone() override { delete this; }

 private:
  using Held = std::shared_ptr<const SweepBoard::Message>;

  void Write(Held message, bool is_last) override {
    is_last_ = is_last;
    const std::string& bytes = message->bytes();
    // gRPC takes the bytes as void* without changing them, and releases the message once it is
    // sent.
    const grpc::Slice slice(
        const_cast<char*>(bytes.data()), bytes.size(),  // NOLINT
        [](void* held) { delete static_cast<Held*>(held); }, new Held(std::move(message)));
    piece_ = grpc::ByteBuffer(&slice, 1);
    StartWrite(&piece_);
  }

  void End(absl::Status status) override { Finish(rpc::ToGrpcStatus(status)); }

  SweepBoard& board_;
  grpc::ByteBuffer piece_;
  bool is_last_ = false;  // nothing comes after the piece that is being written
};

class LogStream final : public EngineStream<v1::ReadLogResponse> {
 public:
  LogStream(Engine& engine, ArtifactStore& artifacts, ThreadPool& pool,
            const v1::ReadLogRequest& request, const std::string& user)
      : EngineStream(engine),
        artifacts_(artifacts),
        pool_(pool),
        offset_(request.offset()),
        follow_(request.follow()) {
    engine.Call<JobId>([name = request.job(),
                        user](Scheduler& scheduler) { return ResolveJob(scheduler, name, user); },
                       [this](absl::StatusOr<JobId> id) {
                         if (!id.ok()) {
                           End(id.status());
                         } else if (offset_ < 0) {
                           End(absl::InvalidArgumentError("offset: expected 0 or more"));
                         } else {
                           job_ = *id;
                           Next();
                         }
                       });
  }

 private:
  void Next() override {
    if (!artifact_.IsZero()) {
      pool_.Submit([this] { SendFile(); });
      return;
    }
    Wait([this] {
      return engine_.WaitForLog(job_, attempt_, offset_, follow_,
                                [this](absl::StatusOr<LogBatch> batch) {
                                  Answered();
                                  Take(std::move(batch));
                                });
    });
  }

  void Take(absl::StatusOr<LogBatch> batch) {
    if (!batch.ok()) {
      End(batch.status());
      return;
    }
    attempt_ = batch->id.attempt;
    if (batch->ended && !batch->artifact.IsZero()) {
      artifact_ = batch->artifact;
      pool_.Submit([this] { SendFile(); });
    } else if (batch->data.empty()) {  // the end, for now if the attempt still runs
      End(absl::OkStatus());
    } else {
      Write(std::move(batch->data));
    }
  }

  void SendFile() {
    constexpr int64_t kPieceBytes = int64_t{256} * 1024;
    if (!reader_) {
      reader_.emplace(artifacts_, artifact_, offset_);
    }
    std::string data;
    const absl::Status status = reader_->Next(kPieceBytes, &data);
    if (!status.ok() || data.empty()) {
      End(status);
      return;
    }
    Write(std::move(data));
  }

  void Write(std::string data) {
    piece_.Clear();
    piece_.set_offset(offset_);
    piece_.set_attempt(attempt_.number);
    offset_ += static_cast<int64_t>(data.size());
    piece_.set_data(std::move(data));
    StartWrite(&piece_);
  }

  ArtifactStore& artifacts_;
  ThreadPool& pool_;
  JobId job_;
  Attempt attempt_;
  Digest artifact_;  // once the attempt has ended
  std::optional<ArtifactReader> reader_;
  int64_t offset_;
  const bool follow_;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* StreamSweep(SweepBoard& board,
                                                        const v1::WatchSweepRequest& request,
                                                        const std::string& user) {
  return new SweepStream(board, request, user);
}

grpc::ServerWriteReactor<v1::ReadLogResponse>* StreamLog(Engine& engine, ArtifactStore& artifacts,
                                                         ThreadPool& pool,
                                                         const v1::ReadLogRequest& request,
                                                         const std::string& user) {
  return new LogStream(engine, artifacts, pool, request, user);
}

}  // namespace concur
