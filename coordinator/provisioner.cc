// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provisioner.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace concur {
namespace {

// Runs `what` in the engine's next turn.
void UpdatePools(Engine& engine, std::function<void(Pools&, absl::Time)> what) {
  engine.Call<bool>(
      [&engine, what = std::move(what)](Scheduler&) -> absl::StatusOr<bool> {
        what(engine.pools(), engine.turn_time());
        return true;
      },
      [](const absl::StatusOr<bool>&) {});
}

}  // namespace

Provisioner::Provisioner(Clock& clock, Engine& engine, Providers providers)
    : clock_(clock), engine_(engine), providers_(std::move(providers)) {
  engine_.ConnectPools([this](const PoolActions& actions) { Carry(actions); },
                       [this](const PoolSpec& pool, PoolTryDone done) {
                         if (provision::Provider* provider = Find(pool.provider)) {
                           provider->Try(pool, std::move(done));
                         } else {
                           done(CheckProvider(pool.provider));
                         }
                       });
}

Provisioner::~Provisioner() {
  engine_.Stop();
  providers_.clear();
}

provision::Provider* Provisioner::Find(ProviderKind kind) const {
  const auto it = providers_.find(kind);
  return it == providers_.end() ? nullptr : it->second.get();
}

absl::Status Provisioner::CheckProvider(ProviderKind kind) const {
  if (Find(kind) != nullptr) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("provider: this coordinator has no provider \"", ProviderKindName(kind), "\""));
}

void Provisioner::Carry(const PoolActions& actions) {
  for (const PoolActions::Start& start : actions.start) {
    Start(start);
  }
  for (const PoolActions::Stop& stop : actions.stop) {
    if (provision::Provider* provider = Find(stop.provider)) {
      provider->Stop(stop.pilots, [](const absl::Status& status) {
        if (!status.ok()) {  // repeated until an observation shows that they stopped
          LogWarning("workers could not be stopped", {{"error", std::string(status.message())}});
        }
      });
    }
  }
  for (const ProviderKind kind : actions.observe) {
    Observe(kind);
  }
}

void Provisioner::Start(const PoolActions::Start& start) {
  const auto done = [this, pilots = start.pilots,
                     pool = start.pool.name](const absl::StatusOr<std::vector<std::string>>& ids) {
    if (!ids.ok()) {
      LogWarning("workers could not be started",
                 {{"pool", pool}, {"error", std::string(ids.status().message())}});
    }
    UpdatePools(engine_,
                [pilots, ids](Pools& pools, absl::Time now) { pools.Started(pilots, ids, now); });
  };
  if (provision::Provider* provider = Find(start.pool.provider)) {
    LogInfo("starting workers", {{"pool", start.pool.name},
                                 {"workers", absl::StrCat(start.pilots.size())},
                                 {"first", start.pilots.front()}});
    provider->Start(start.pool, start.pilots, done);
  } else {
    done(CheckProvider(start.pool.provider));
  }
}

void Provisioner::Observe(ProviderKind kind) {
  const absl::Time asked = clock_.Now();
  const auto done = [this, kind, asked](const absl::StatusOr<std::vector<PilotReport>>& reports) {
    UpdatePools(engine_, [kind, asked, reports](Pools& pools, absl::Time now) {
      pools.Observed(kind, reports, asked, now);
    });
  };
  if (provision::Provider* provider = Find(kind)) {
    provider->Observe(done);
  } else {
    done(CheckProvider(kind));
  }
}

}  // namespace concur
