// SPDX-License-Identifier: Apache-2.0
// A gateway whose calls the test answers, in any order, late, twice or never. Records every call.
#ifndef CONCUR_TESTS_TESTING_FAKE_GATEWAY_H_
#define CONCUR_TESTS_TESTING_FAKE_GATEWAY_H_

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "core/sync/sync.h"
#include "worker/gateway_client.h"

namespace concur::testing {

// Thread-compatible.
class FakeGateway : public worker::Gateway {
 public:
  void StartSync(const SyncRequest& request, absl::Duration timeout) override {
    CONCUR_CHECK(requests_.empty() || request.sequence > requests_.rbegin()->first);
    CONCUR_CHECK(timeout > absl::ZeroDuration());
    requests_.emplace(request.sequence, request);
    open_.insert(request.sequence);
  }
  void CancelSync(uint64_t sequence) override {
    CONCUR_CHECK(requests_.contains(sequence));
    open_.erase(sequence);
  }
  std::vector<worker::SyncAnswer> Poll() override { return std::exchange(answers_, {}); }

  // The latest request. REQUIRES: there was one.
  const SyncRequest& last() const { return requests_.rbegin()->second; }
  const std::map<uint64_t, SyncRequest>& requests() const { return requests_; }
  // Calls that were neither answered nor canceled.
  const std::set<uint64_t>& open() const { return open_; }

  void Answer(uint64_t sequence, SyncResponse response) {
    open_.erase(sequence);
    answers_.push_back({sequence, std::move(response)});
  }
  void Fail(uint64_t sequence, absl::Status status) {
    open_.erase(sequence);
    answers_.push_back({sequence, std::move(status)});
  }

 private:
  std::map<uint64_t, SyncRequest> requests_;
  std::set<uint64_t> open_;
  std::vector<worker::SyncAnswer> answers_;
};

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_FAKE_GATEWAY_H_
