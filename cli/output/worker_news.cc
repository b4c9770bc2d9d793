// SPDX-License-Identifier: Apache-2.0
#include "cli/output/worker_news.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/output/render.h"

namespace concur::cli {

std::vector<std::string> WorkerNews::Update(const std::vector<v1::Worker>& workers) {
  std::vector<std::string> lines;
  std::map<std::string, absl::Time> ends;
  for (const v1::Worker& worker : workers) {
    std::string text = QuarantineText(worker);
    const auto it = ends_.find(worker.name());
    if (!text.empty()) {
      const absl::Time end = TimeOf(worker.quarantine_end_time());
      if (it == ends_.end() || it->second != end) {
        lines.push_back(std::move(text));
      }
      ends.emplace(worker.name(), end);
    } else if (it != ends_.end() && worker.state() == v1::Worker::STATE_LIVE) {
      lines.push_back(absl::StrCat(worker.name(), " is no longer in quarantine"));
    }
  }
  ends_ = std::move(ends);
  const bool none = std::all_of(workers.begin(), workers.end(), [](const v1::Worker& worker) {
    return worker.state() == v1::Worker::STATE_LOST;
  });
  without_worker_ = none ? without_worker_ + 1 : 0;
  if (without_worker_ == 2) {
    lines.emplace_back("no worker is live: jobs wait until one joins");
  }
  return lines;
}

}  // namespace concur::cli
