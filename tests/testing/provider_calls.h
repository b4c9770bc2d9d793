// SPDX-License-Identifier: Apache-2.0
// Calls of a provider that wait for its answer.
#ifndef CONCUR_TESTS_TESTING_PROVIDER_CALLS_H_
#define CONCUR_TESTS_TESTING_PROVIDER_CALLS_H_

#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/provision/provider.h"

namespace concur::testing {

inline absl::StatusOr<std::vector<std::string>> CallStart(provision::Provider& provider,
                                                          const PoolSpec& pool,
                                                          const std::vector<std::string>& pilots) {
  std::promise<absl::StatusOr<std::vector<std::string>>> promise;
  provider.Start(pool, pilots, [&promise](auto ids) { promise.set_value(std::move(ids)); });
  return promise.get_future().get();
}

inline absl::StatusOr<std::vector<PilotReport>> CallObserve(provision::Provider& provider) {
  std::promise<absl::StatusOr<std::vector<PilotReport>>> promise;
  provider.Observe([&promise](auto reports) { promise.set_value(std::move(reports)); });
  return promise.get_future().get();
}

inline absl::StatusOr<std::string> CallTry(provision::Provider& provider, const PoolSpec& pool) {
  std::promise<absl::StatusOr<std::string>> promise;
  provider.Try(pool, [&promise](auto said) { promise.set_value(std::move(said)); });
  return promise.get_future().get();
}

inline absl::Status CallStop(provision::Provider& provider,
                             const std::vector<std::string>& pilots) {
  std::promise<absl::Status> promise;
  provider.Stop(pilots, [&promise](absl::Status status) { promise.set_value(std::move(status)); });
  return promise.get_future().get();
}

}  // namespace concur::testing

#endif  // CONCUR_TESTS_TESTING_PROVIDER_CALLS_H_
