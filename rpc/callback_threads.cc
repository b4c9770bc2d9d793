// SPDX-License-Identifier: Apache-2.0
#include "rpc/callback_threads.h"

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

}  // namespace

CallbackThreads::CallbackThreads() : thread_([this] { Run(); }) {}

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

void CallbackThreads::Run() {
  // A channel without credentials fails every call, and connects to nothing.
  grpc::GenericStub stub(grpc::CreateChannel("", nullptr));
  int64_t begun = 0;
  for (absl::Time next = absl::Now(); WaitUntil(next); next = absl::Now() + kInterval) {
    const auto call = std::make_shared<FailingCall>();
    stub.UnaryCall(&call->context, "/none", grpc::StubOptions(), &call->request, &call->response,
                   [this, call](const grpc::Status&) {
                     MutexLock lock(mu_);
                     ++events_;
                     changed_.NotifyAll();
                   });
    ++begun;
  }
  MutexLock lock(mu_);
  while (events_ < begun) {  // the callbacks use this
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
