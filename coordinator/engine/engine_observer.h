// SPDX-License-Identifier: Apache-2.0
// Observes the engine's turns, for the log and the metrics.
//
// Called on the engine's thread after a turn's commit; must not block.
#ifndef CONCUR_COORDINATOR_ENGINE_ENGINE_OBSERVER_H_
#define CONCUR_COORDINATOR_ENGINE_ENGINE_OBSERVER_H_

#include <cstddef>

#include "absl/time/time.h"
#include "core/scheduler/scheduler.h"

namespace concur {

class EngineObserver {
 public:
  struct Turn {
    size_t requests = 0;  // applied by this turn
    absl::Duration work;  // from taking the inbox to the commit
    absl::Duration commit;
    bool committed = false;  // there was something to save, and it is saved
  };

  virtual ~EngineObserver() = default;
  // `effects` are durable, and valid during the call only.
  virtual void OnTurn(const Turn& turn, const Effects& effects) = 0;
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_ENGINE_OBSERVER_H_
