// SPDX-License-Identifier: Apache-2.0
// Carries out the actions of pools: passes them to providers, and the providers' answers to the
// engine.
//
// Thread-safe. Does not block: providers have threads of their own.
#ifndef CONCUR_COORDINATOR_PROVISIONER_H_
#define CONCUR_COORDINATOR_PROVISIONER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "coordinator/engine/engine.h"
#include "coordinator/provision/provider.h"
#include "core/pools/pools.h"

namespace concur {

class Provisioner {
 public:
  using Providers = std::map<ProviderKind, std::unique_ptr<provision::Provider>>;

  // `clock` and `engine` outlive it. Connects itself to the engine's pools.
  Provisioner(Clock& clock, Engine& engine, Providers providers);
  // Stops the engine, which may be calling it, and the providers.
  ~Provisioner();

  // FailedPrecondition when there is no such provider here.
  absl::Status CheckProvider(ProviderKind kind) const;

 private:
  void Carry(const PoolActions& actions);
  void Start(const PoolActions::Start& start);
  void Observe(ProviderKind kind);
  provision::Provider* Find(ProviderKind kind) const;

  Clock& clock_;
  Engine& engine_;
  Providers providers_;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_PROVISIONER_H_
