// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/callback_threads.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace concur::rpc {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(500);

struct FailingCall {
  grpc::ClientContext context;
  grpc::Slice nothing;
  grpc::ByteBuffer request{&nothing, 1};
  grpc::ByteBuffer response;
};

// Fails every call, as it has no credentials, and connects to nothing. It stays until the process
// ends: channels share the threads, whose end comes with the last channel that used them and races
// with their start, so that now and then one of them reads a completion queue that is gone.
const std::shared_ptr<grpc::Channel>& FailingChannel() {
  static const auto* const channel =
      new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("", nullptr));
  return *channel;
}

}  // namespace

CallbackThreads::CallbackThreads() {
  Call();
  thread_ = std::thread([this] { Run(); });
}

CallbackThreads::~CallbackThreads() {
  {
    MutexLock lock(mu_);
    closing_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

int64_t CallbackThreads::events() const {
  MutexLock lock(mu_);
  return events_;
}

void CallbackThreads::Call() {
  {
    MutexLock lock(mu_);
    ++begun_;
  }
  const auto call = std::make_shared<FailingCall>();
  grpc::GenericStub(FailingChannel())
      .UnaryCall(&call->context, "/none", grpc::StubOptions(), &call->request, &call->response,
                 [this, call](const grpc::Status&) {
                   MutexLock lock(mu_);
                   ++events_;
                   changed_.NotifyAll();
                 });
}

void CallbackThreads::Run() {
  while (WaitUntil(absl::Now() + kInterval)) {
    Call();
  }
  MutexLock lock(mu_);
  while (events_ < begun_) {  // the callbacks use this
    changed_.Wait(mu_);
  }
}

bool CallbackThreads::WaitUntil(absl::Time time) {
  MutexLock lock(mu_);
  for (absl::Time now = absl::Now(); !closing_ && now < time; now = absl::Now()) {
    changed_.WaitWithTimeout(mu_, time - now);
  }
  return !closing_;
}

}  // namespace concur::rpc
