// SPDX-License-Identifier: Apache-2.0
#include "coordinator/system_streams.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "coordinator/views.h"
#include "core/environment.h"
#include "core/job_order.h"
#include "rpc/convert_serve.h"
#include "rpc/convert_value.h"
#include "rpc/status.h"

namespace concur {
namespace {

// One end in the relay. A message is sent when the one before it was written, and the next one is
// read when the one before it was handled. It owns itself until the call is done.
template <typename Request, typename Response>
class RelayStream : public grpc::ServerBidiReactor<Request, Response>,
                    public std::enable_shared_from_this<RelayStream<Request, Response>> {
 public:
  // REQUIRES: a shared_ptr owns it.
  void Begin() {
    self_ = this->shared_from_this();
    this->StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      Take(incoming_);
    } else {
      End(absl::OkStatus());  // it has nothing more to say, or went away
    }
  }
  void OnWriteDone(bool /*ok*/) override {
    {
      MutexLock lock(mutex_);
      writing_ = false;
    }
    Pump();
  }
  void OnCancel() override { End(absl::CancelledError("the other side went away")); }
  void OnDone() override {
    uint64_t id = 0;
    {
      MutexLock lock(mutex_);
      id = id_;
    }
    if (id != 0) {
      Close(id);
    }
    self_.reset();
  }

 protected:
  using Next = std::variant<std::monostate, Response, absl::Status>;

  // What the relay has for this end; a status ends the stream.
  virtual Next TakeNext(uint64_t id) = 0;
  // Handles a message, and then calls ReadNext or End.
  virtual void Take(const Request& request) = 0;
  // Closes this end in the relay.
  virtual void Close(uint64_t id) = 0;

  void ReadNext() {
    MutexLock lock(mutex_);
    if (!ending_) {
      this->StartRead(&incoming_);
    }
  }
  void ReadNextOr(const absl::Status& wrong) {
    if (wrong.ok()) {
      ReadNext();
    } else {
      End(wrong);
    }
  }
  // Calls Pump while the stream lives.
  SystemRelay::Waker Waker() {
    return [stream = this->weak_from_this()] {
      if (const auto alive = stream.lock()) {
        alive->Pump();
      }
    };
  }
  // This end is in the relay now. Whether the call still goes on; if not, the end was closed.
  bool Opened(uint64_t id) {
    {
      MutexLock lock(mutex_);
      if (!ending_) {
        id_ = id;
      }
    }
    if (this->id() == 0) {
      Close(id);
      return false;
    }
    Pump();
    return true;
  }
  uint64_t id() const {
    MutexLock lock(mutex_);
    return id_;
  }
  void End(absl::Status status) {
    MutexLock lock(mutex_);
    if (!std::exchange(ending_, true)) {
      status_ = std::move(status);
      FinishWhenWritten();
    }
  }

 private:
  void Pump() {
    MutexLock lock(mutex_);
    if (writing_ || id_ == 0) {
      return;
    }
    if (ending_) {
      FinishWhenWritten();
      return;
    }
    Next next = TakeNext(id_);
    if (auto* response = std::get_if<Response>(&next)) {
      outgoing_ = std::move(*response);
      writing_ = true;
      this->StartWrite(&outgoing_);
    } else if (auto* status = std::get_if<absl::Status>(&next)) {
      ending_ = true;
      status_ = std::move(*status);
      FinishWhenWritten();
    }
  }
  void FinishWhenWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!writing_ && !std::exchange(finished_, true)) {
      this->Finish(rpc::ToGrpcStatus(status_));
    }
  }

  std::shared_ptr<RelayStream> self_;  // until the call is done
  Request incoming_;
  Response outgoing_;

  mutable Mutex mutex_;
  uint64_t id_ ABSL_GUARDED_BY(mutex_) = 0;  // in the relay; 0: not there yet
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;  // nothing follows but status_
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

absl::Status CheckMayAsk(const Caller& caller, const std::string& job, const std::string& owner) {
  if (caller.role == Role::kAdmin || caller.user == owner) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(job, " belongs to ", owner, ": only ", owner,
                                                  " or an admin may have its system answer, not ",
                                                  caller.user));
}

absl::StatusOr<SystemRelay::Wants> WantsOf(const Scheduler& scheduler, const Caller& caller,
                                           const v1::AskSystemRequest::Open& open) {
  CONCUR_ASSIGN_OR_RETURN(const JobId id, ResolveJob(scheduler, open.job()));
  const SweepView sweep = *scheduler.FindSweep(id.sweep);
  CONCUR_RETURN_IF_ERROR(CheckMayAsk(caller, id.ToString(), sweep.row->owner));
  const Expansion& expansion = *sweep.expansion;
  const JobCoordinates at = expansion.Locate(id.index);
  const JobView job = scheduler.ViewJob(id);
  const ArtifactRef* const system =
      job.result == nullptr ? nullptr : FindArtifact(*job.result, ArtifactKind::kSystem);
  if (!at.is_train || system == nullptr || job.system_collected) {
    return absl::FailedPreconditionError(
        absl::StrCat("job: ", id.ToString(), " has no trained system",
                     job.system_collected ? " any more: it was removed" : "",
                     "; expected a train job that succeeded"));
  }
  const ApproachSpec& approach = expansion.spec().approaches[expansion.blocks()[at.block].approach];
  SystemRelay::Wants wants;
  wants.user = caller.user;
  ServeOrder& order = wants.order;
  order.train = MakeJobOrder(expansion, {id, Attempt{std::max(job.attempt.number, 1U)}},
                             sweep.row->owner, /*gpu_mask=*/0, Digest(), /*system_bytes=*/0);
  CONCUR_RETURN_IF_ERROR(
      CheckCount(FieldPath("open").Field("command"), open.command_size(), kArgumentsMax));
  order.command.assign(open.command().begin(), open.command().end());
  order.resources = approach.predict_resources;
  order.system = system->digest;
  order.system_bytes = system->bytes;
  if (open.has_answer_timeout()) {
    CONCUR_ASSIGN_OR_RETURN(
        order.answer_max,
        rpc::FromProto(open.answer_timeout(), FieldPath("open").Field("answer_timeout")));
  }
  CONCUR_RETURN_IF_ERROR(ValidateServeOrder(order, FieldPath("open")));
  wants.labels = approach.predict_labels;
  if (approach.environment) {
    wants.labels.merge(LabelsOfEnvironment(*approach.environment));
  }
  wants.near_worker = job.worker;
  return wants;
}

v1::AskSystemResponse StandingProto(const SystemRelay::Standing& standing) {
  using Proto = v1::AskSystemResponse::Status;
  v1::AskSystemResponse response;
  Proto& proto = *response.mutable_status();
  switch (standing.state) {
    case SystemRelay::State::kWaiting:
      proto.set_state(Proto::STATE_WAITING);
      break;
    case SystemRelay::State::kStarting:
      proto.set_state(Proto::STATE_STARTING);
      break;
    case SystemRelay::State::kReady:
      proto.set_state(Proto::STATE_READY);
      break;
    case SystemRelay::State::kFailed:
      proto.set_state(Proto::STATE_FAILED);
      break;
  }
  proto.set_worker(standing.worker);
  proto.set_detail(CleanUtf8(standing.detail, kServedAnswerBytesMax));
  proto.set_places(static_cast<uint32_t>(standing.places));
  return response;
}

class AskerStream final : public RelayStream<v1::AskSystemRequest, v1::AskSystemResponse> {
 public:
  AskerStream(Engine& engine, SystemRelay& relay, AuditLog& audit, ThreadPool& pool,
              const CallContext& call)
      : engine_(engine),
        relay_(relay),
        audit_(audit),
        pool_(pool),
        caller_(call.caller()),
        peer_(call.peer()) {}

 private:
  void Take(const v1::AskSystemRequest& request) override {
    if (id() == 0) {
      if (!request.has_open()) {
        End(absl::InvalidArgumentError("open: expected the job whose system is to answer first"));
        return;
      }
      Open(request.open());
      return;
    }
    if (!request.has_question()) {
      End(absl::InvalidArgumentError("question: expected one"));
      return;
    }
    absl::StatusOr<ServedQuestion> question = rpc::FromProto(request.question());
    ReadNextOr(question.ok() ? relay_.Ask(id(), *std::move(question)) : question.status());
  }

  void Open(const v1::AskSystemRequest::Open& open) {
    using Wants = SystemRelay::Wants;
    const auto self = std::static_pointer_cast<AskerStream>(shared_from_this());
    engine_.Read<Wants>(
        [self, open](const Scheduler& scheduler) {
          return WantsOf(scheduler, self->caller_, open);
        },
        [self](absl::StatusOr<Wants> wants) {
          if (!wants.ok()) {
            self->End(wants.status());
            return;
          }
          // Not on the engine's thread: the audit log writes to the disk.
          self->pool_.Submit(
              [self, wants = *std::move(wants)]() mutable { self->Join(std::move(wants)); });
        });
  }

  void Join(SystemRelay::Wants wants) {
    const std::string job = wants.order.train.id.job.ToString();
    const absl::StatusOr<uint64_t> id = relay_.OpenConversation(std::move(wants), Waker());
    if (!id.ok()) {
      End(id.status());
    } else if (Opened(*id)) {
      audit_.Write({.user = caller_.user,
                    .token = caller_.token,
                    .certificate = "",
                    .peer = peer_,
                    .method = "AskSystem",
                    .target = absl::StrCat(job, ", begins"),
                    .outcome = absl::OkStatus()});
      ReadNext();
    }
  }

  Next TakeNext(uint64_t id) override {
    std::optional<SystemRelay::ForAsker> taken = relay_.TakeForAsker(id);
    if (!taken.has_value()) {
      return {};
    }
    if (auto* status = std::get_if<absl::Status>(&*taken)) {
      return *status;
    }
    if (const auto* standing = std::get_if<SystemRelay::Standing>(&*taken)) {
      return StandingProto(*standing);
    }
    v1::AskSystemResponse response;
    *response.mutable_answer() = rpc::ToProto(std::get<ServedAnswer>(*taken));
    return response;
  }

  void Close(uint64_t id) override { relay_.CloseConversation(id); }

  Engine& engine_;
  SystemRelay& relay_;
  AuditLog& audit_;
  ThreadPool& pool_;
  const Caller caller_;
  const std::string peer_;
};

absl::StatusOr<SystemRelay::Offer> OfferFromProto(const v1::ServeSystemRequest::Offer& proto) {
  const FieldPath path("offer");
  SystemRelay::Offer offer{proto.worker(), rpc::FromProto(proto.capacity()), {}};
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("worker"), offer.worker));
  CONCUR_RETURN_IF_ERROR(CheckResources(path.Field("capacity"), offer.capacity));
  CONCUR_ASSIGN_OR_RETURN(offer.labels,
                          rpc::FromProto(proto.labels(), path.Field("labels"), kTagsMax));
  return offer;
}

class PlaceStream final : public RelayStream<v1::ServeSystemRequest, v1::ServeSystemResponse> {
 public:
  explicit PlaceStream(SystemRelay& relay) : relay_(relay) {}

 private:
  void Take(const v1::ServeSystemRequest& request) override {
    if (id() == 0) {
      Open(request);
      return;
    }
    switch (request.kind_case()) {
      case v1::ServeSystemRequest::kPrepared:
        ReadNextOr(relay_.Prepared(id()));
        return;
      case v1::ServeSystemRequest::kAnswer: {
        absl::StatusOr<ServedAnswer> answer = rpc::FromProto(request.answer());
        ReadNextOr(answer.ok() ? relay_.Answered(id(), *std::move(answer)) : answer.status());
        return;
      }
      case v1::ServeSystemRequest::kFailure:
        why_ = CleanUtf8(request.failure(), kServedAnswerBytesMax);
        End(absl::OkStatus());
        return;
      default:
        End(absl::InvalidArgumentError("expected prepared, an answer or a failure"));
    }
  }

  void Open(const v1::ServeSystemRequest& request) {
    if (!request.has_offer()) {
      End(absl::InvalidArgumentError("offer: expected the worker's offer first"));
      return;
    }
    absl::StatusOr<SystemRelay::Offer> offer = OfferFromProto(request.offer());
    if (!offer.ok()) {
      End(offer.status());
      return;
    }
    const absl::StatusOr<uint64_t> id = relay_.OpenPlace(*std::move(offer), Waker());
    if (!id.ok()) {
      End(id.status());
    } else if (Opened(*id)) {
      ReadNext();
    }
  }

  Next TakeNext(uint64_t id) override {
    std::optional<SystemRelay::ForPlace> taken = relay_.TakeForPlace(id);
    if (!taken.has_value()) {
      return {};
    }
    if (auto* status = std::get_if<absl::Status>(&*taken)) {
      return *status;
    }
    v1::ServeSystemResponse response;
    if (const auto* order = std::get_if<ServeOrder>(&*taken)) {
      *response.mutable_order() = rpc::ToProto(*order);
    } else {
      *response.mutable_question() = rpc::ToProto(std::get<ServedQuestion>(*taken));
    }
    return response;
  }

  void Close(uint64_t id) override { relay_.ClosePlace(id, why_); }

  SystemRelay& relay_;
  std::string why_;  // it could not be prepared; of the reads, which end before the call does
};

}  // namespace

grpc::ServerBidiReactor<v1::AskSystemRequest, v1::AskSystemResponse>* StreamAsker(
    Engine& engine, SystemRelay& relay, AuditLog& audit, ThreadPool& pool,
    const CallContext& call) {
  const auto stream = std::make_shared<AskerStream>(engine, relay, audit, pool, call);
  stream->Begin();
  return stream.get();
}

grpc::ServerBidiReactor<v1::ServeSystemRequest, v1::ServeSystemResponse>* StreamPlace(
    SystemRelay& relay) {
  const auto stream = std::make_shared<PlaceStream>(relay);
  stream->Begin();
  return stream.get();
}

}  // namespace concur
