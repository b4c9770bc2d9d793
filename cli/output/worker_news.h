// SPDX-License-Identifier: Apache-2.0
// Changes from one list of workers to the next: quarantines that began or ended, and none live.
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_WORKER_NEWS_H_
#define CONCUR_CLI_OUTPUT_WORKER_NEWS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "concur/v1/resources.pb.h"

namespace concur::cli {

class WorkerNews {
 public:
  // A line for each change since the call before; at first, for each quarantine. That no worker is
  // live is said at the second call on: at first they may be about to join.
  std::vector<std::string> Update(const std::vector<v1::Worker>& workers);

 private:
  std::map<std::string, absl::Time> ends_;  // ends of present quarantines, by worker
  int without_worker_ = 0;                  // calls since one was there
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_WORKER_NEWS_H_
