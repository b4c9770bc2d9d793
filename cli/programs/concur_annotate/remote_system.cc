// SPDX-License-Identifier: Apache-2.0
#include "cli/programs/concur_annotate/remote_system.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "core/serve_order.h"
#include "rpc/bidi_stream.h"
#include "rpc/callback_threads.h"
#include "rpc/channel.h"
#include "rpc/convert_serve.h"
#include "rpc/convert_value.h"

namespace concur::cli {
namespace {

using AskStream = rpc::BidiStream<v1::AskSystemRequest, v1::AskSystemResponse>;
using Progress = v1::AskSystemResponse::Status;

constexpr absl::Duration kBackoffMin = absl::Seconds(1);
constexpr absl::Duration kBackoffMax = absl::Seconds(60);
constexpr char kNoAnswer[] = "the coordinator does not answer";
// For what the coordinator says first.
constexpr absl::Duration kFirstWordMax = absl::Seconds(30);

// Whether another stream may do better. All else is refused for good.
bool MayBeRepeated(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status) ||
         absl::IsUnknown(status) || absl::IsInternal(status);
}

// For whoever runs the room.
std::string ProgressText(const Progress& progress) {
  const std::string why =
      progress.detail().empty() ? "" : absl::StrCat(" (", progress.detail(), ")");
  switch (progress.state()) {
    case Progress::STATE_STARTING:
      return absl::StrCat("the system is being started on ", progress.worker(), why);
    case Progress::STATE_READY:
      return absl::StrCat("the system answers on ", progress.worker());
    case Progress::STATE_FAILED:
      return absl::StrCat("on ", progress.worker(), ": ", progress.detail());
    default:
      return absl::StrCat("the system waits for a worker: ",
                          progress.places() == 0
                              ? "none serves systems and has the labels, memory, GPUs and "
                                "environment for this one"
                              : "those that could have it serve others",
                          why);
  }
}

class GrpcRemoteSystem final : public RemoteSystem {
 public:
  GrpcRemoteSystem(RemoteSystemOptions options, std::unique_ptr<v1::Coordinator::Stub> stub)
      : options_(std::move(options)), stub_(std::move(stub)), thread_([this] { Run(); }) {}
  ~GrpcRemoteSystem() override {
    GrpcRemoteSystem::Cancel();
    thread_.join();
  }

  absl::StatusOr<std::string> Answer(const std::string& passage,
                                     const std::string& question) override {
    return Ask(passage, question, options_.answer_max);
  }
  absl::StatusOr<std::string> AnswerAtLast(const std::string& passage,
                                           const std::string& question) override {
    return Ask(passage, question, absl::InfiniteDuration());
  }

  absl::StatusOr<size_t> CountPlaces() override {
    const absl::Time end = absl::Now() + kFirstWordMax;
    MutexLock lock(mutex_);
    while (!progress_.has_value() && refused_.ok() && absl::Now() < end) {
      changed_.WaitWithTimeout(mutex_, end - absl::Now());
    }
    CONCUR_RETURN_IF_ERROR(refused_);
    if (!progress_.has_value()) {
      return absl::UnavailableError(trouble_);
    }
    return progress_->places();
  }

  bool AwaitWorker(absl::Duration wait_max) override {
    const absl::Time end = absl::Now() + wait_max;
    MutexLock lock(mutex_);
    while (refused_.ok() && !stopping_ && absl::Now() < end) {
      if (progress_.has_value() && !progress_->worker().empty()) {
        return true;
      }
      if (progress_.has_value() && progress_->places() == 0) {
        return false;
      }
      changed_.WaitWithTimeout(mutex_, end - absl::Now());
    }
    return false;
  }

  void Cancel() override {
    MutexLock lock(mutex_);
    stopping_ = true;
    Notify();
  }

  std::string Standing() const override {
    MutexLock lock(mutex_);
    if (!progress_.has_value()) {
      return "the system cannot be reached now";
    }
    switch (progress_->state()) {
      case Progress::STATE_READY:
        return "";
      case Progress::STATE_STARTING:
        return "the system is being started";
      case Progress::STATE_FAILED:
        return "the system did not answer the last question";
      default:
        return "the system waits for a machine";
    }
  }

 private:
  // While no worker has the system, waits `unserved_max`; a worker has as long as it gives the
  // system, and some time for the way.
  absl::StatusOr<std::string> Ask(const std::string& passage, const std::string& question,
                                  absl::Duration unserved_max) {
    const absl::Time begin = absl::Now();
    const absl::Duration served_max =
        std::max(unserved_max, kServedStartTime + 2 * options_.answer_max);
    MutexLock lock(mutex_);
    question_ = {++last_number_, passage, question};
    answer_.reset();
    Notify();
    absl::StatusOr<std::string> answer = AwaitAnswer(begin, served_max, unserved_max);
    question_.reset();
    return answer;
  }

  absl::StatusOr<std::string> AwaitAnswer(absl::Time begin, absl::Duration served_max,
                                          absl::Duration unserved_max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (;;) {
      if (answer_.has_value() && answer_->number == last_number_) {
        return answer_->answered ? absl::StatusOr<std::string>(answer_->text)
                                 : absl::UnavailableError(answer_->text);
      }
      if (!refused_.ok()) {
        return absl::UnavailableError(refused_.message());
      }
      if (stopping_) {
        return absl::UnavailableError("the room is being closed");
      }
      const bool is_served = progress_.has_value() && !progress_->worker().empty();
      const absl::Duration left = begin + (is_served ? served_max : unserved_max) - absl::Now();
      if (left <= absl::ZeroDuration()) {
        return absl::UnavailableError(progress_.has_value() ? ProgressText(*progress_) : trouble_);
      }
      changed_.WaitWithTimeout(mutex_, left);
    }
  }

  void Notify() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    changed_.NotifyAll();
    if (stream_ != nullptr) {
      stream_->Wake();
    }
  }

  void Run() {
    absl::Duration backoff = kBackoffMin;
    for (;;) {
      AskStream stream(
          [this](auto* context, auto* reactor) { stub_->async()->AskSystem(context, reactor); });
      if (Follow(stream)) {
        backoff = kBackoffMin;
      }
      if (!TakeEnd(stream)) {
        return;
      }
      Pause(backoff);
      backoff = std::min(2 * backoff, kBackoffMax);
    }
  }

  // Whether another stream is to follow.
  bool TakeEnd(AskStream& stream) {
    std::string trouble;
    bool goes_on = false;
    {
      MutexLock lock(mutex_);
      stream_ = nullptr;
      if (stopping_) {
        return false;
      }
      const absl::Status status = stream.WaitForStatus();
      progress_.reset();
      trouble = absl::StrCat("the coordinator's stream ended: ", status.message());
      // A room that is open goes on: a token that has expired may be renewed.
      if (!has_answered_ && !MayBeRepeated(status)) {
        refused_ = status;
      }
      goes_on = refused_.ok();
      if (std::exchange(trouble_, trouble) == trouble) {
        trouble.clear();  // said before
      }
      changed_.NotifyAll();
    }
    Say(trouble);
    return goes_on;
  }

  void Pause(absl::Duration duration) {
    const absl::Time end = absl::Now() + duration;
    MutexLock lock(mutex_);
    while (!stopping_ && absl::Now() < end) {
      changed_.WaitWithTimeout(mutex_, end - absl::Now());
    }
  }

  // "": nothing.
  void Say(const std::string& change) const {
    if (!change.empty() && options_.on_change != nullptr) {
      options_.on_change(change);
    }
  }

  // Until the stream has ended, or this is the end. Whether the coordinator said anything.
  bool Follow(AskStream& stream) {
    v1::AskSystemRequest first;
    v1::AskSystemRequest::Open& open = *first.mutable_open();
    open.set_job(options_.job);
    open.mutable_command()->Add(options_.command.begin(), options_.command.end());
    *open.mutable_answer_timeout() = rpc::ToProto(options_.answer_max);
    stream.Write(std::move(first));
    bool has_heard = false;
    uint64_t sent = 0;
    {
      MutexLock lock(mutex_);
      stream_ = &stream;
    }
    while (!stream.ended()) {
      std::optional<ServedQuestion> question;
      {
        MutexLock lock(mutex_);
        if (stopping_) {
          break;
        }
        // What was asked on the stream before is asked again.
        if (question_.has_value() && question_->number != sent) {
          question = question_;
        }
      }
      if (question.has_value()) {
        sent = question->number;
        v1::AskSystemRequest request;
        *request.mutable_question() = rpc::ToProto(*question);
        stream.Write(std::move(request));
      }
      if (const std::optional<v1::AskSystemResponse> response = stream.Read()) {
        has_heard = true;
        Take(*response);
      }
    }
    return has_heard;
  }

  void Take(const v1::AskSystemResponse& response) {
    std::string change;
    {
      MutexLock lock(mutex_);
      if (response.has_answer()) {
        absl::StatusOr<ServedAnswer> answer = rpc::FromProto(response.answer());
        if (answer.ok()) {
          has_answered_ = has_answered_ || answer->answered;
          answer_ = *std::move(answer);
        }
      } else {
        const std::string before = progress_.has_value() ? ProgressText(*progress_) : "";
        progress_ = response.status();
        change = ProgressText(*progress_);
        change = change == before ? "" : change;
        trouble_ = kNoAnswer;  // the next one is news
      }
      changed_.NotifyAll();
    }
    Say(change);
  }

  const rpc::CallbackThreads callback_threads_;
  const RemoteSystemOptions options_;
  const std::unique_ptr<v1::Coordinator::Stub> stub_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  AskStream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;       // the thread's; null: none is open
  std::optional<Progress> progress_ ABSL_GUARDED_BY(mutex_);  // of the open stream
  std::string trouble_ ABSL_GUARDED_BY(mutex_) = kNoAnswer;
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);  // for good
  bool has_answered_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<ServedQuestion> question_ ABSL_GUARDED_BY(mutex_);
  std::optional<ServedAnswer> answer_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // the last member: it uses the others from its start
};

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteSystem>> RemoteSystem::Open(RemoteSystemOptions options) {
  CONCUR_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                          rpc::LoadCredentials(options.address, options.credentials));
  CONCUR_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                          rpc::MakeChannel(options.address, credentials));
  return std::make_unique<GrpcRemoteSystem>(std::move(options), v1::Coordinator::NewStub(channel));
}

}  // namespace concur::cli
