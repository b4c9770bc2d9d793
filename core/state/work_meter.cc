// SPDX-License-Identifier: Apache-2.0
#include "core/state/work_meter.h"

#include <algorithm>

namespace concur {

void WorkMeter::Add(absl::Time now, uint64_t done, bool some_run) {
  while (samples_.size() > 1 && samples_[1].time <= now - kWindow) {
    samples_.pop_front();
  }
  const bool was_idle = !some_run_ && !samples_.empty() && samples_.front().done == done_;
  if (samples_.empty() || done < done_ || now < samples_.back().time) {
    samples_ = {{now, done}};
  } else if (was_idle) {
    samples_ = {{now, done_}};
  } else if (now - samples_.back().time >= kSpacing) {
    samples_.push_back({now, done});
  }
  done_ = done;
  some_run_ = some_run;
}

RecentWork WorkMeter::Recent(absl::Time now) const {
  if (samples_.empty()) {
    return {};
  }
  const absl::Time start = now - kWindow;
  const Sample* first = &samples_.front();
  for (const Sample& sample : samples_) {
    first = sample.time <= start ? &sample : first;
  }
  return {done_ - first->done, std::max(absl::ZeroDuration(), now - std::max(first->time, start))};
}

}  // namespace concur
