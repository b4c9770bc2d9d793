// SPDX-License-Identifier: Apache-2.0
// Logs what happens to sweeps, workers and attempts; each line has their ids. Successes are logged
// at debug level, because there are thousands.
//
// Owned by the engine's thread.
#ifndef CONCUR_COORDINATOR_ENGINE_ENGINE_LOG_H_
#define CONCUR_COORDINATOR_ENGINE_ENGINE_LOG_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "coordinator/engine/engine_observer.h"

namespace concur {

class EngineLog : public EngineObserver {
 public:
  void OnTurn(const Turn& turn, const Effects& effects) override;

 private:
  void LogSweeps(const Effects& effects);
  void LogWorkers(const Effects& effects);
  void LogQuarantine(const WorkerRow& row);
  static void LogAttempts(const Effects& effects);

  // State that was logged last; bounded by the sweeps and workers that the scheduler keeps.
  std::map<SweepId, std::string> sweeps_;
  std::map<std::string, std::string> workers_;
  std::map<std::string, absl::Time> quarantines_;  // their ends, by worker
};

}  // namespace concur

#endif  // CONCUR_COORDINATOR_ENGINE_ENGINE_LOG_H_
