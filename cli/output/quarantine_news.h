// SPDX-License-Identifier: Apache-2.0
// Which workers began or ended a quarantine from one list of workers to the next.
//
// Thread-compatible.
#ifndef CONCUR_CLI_OUTPUT_QUARANTINE_NEWS_H_
#define CONCUR_CLI_OUTPUT_QUARANTINE_NEWS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "concur/v1/resources.pb.h"

namespace concur::cli {

class QuarantineNews {
 public:
  // A line for each change since the call before; at first, for each quarantine.
  std::vector<std::string> Update(const std::vector<v1::Worker>& workers);

 private:
  std::map<std::string, absl::Time> ends_;  // ends of present quarantines, by worker
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_QUARANTINE_NEWS_H_
