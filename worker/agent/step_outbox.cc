// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/step_outbox.h"

#include <algorithm>
#include <utility>

namespace concur::worker {

void StepOutbox::Add(AttemptStep step, absl::Time now) {
  steps_[step.id].push_back(std::move(step.step));
  due_ = std::min(due_, now + interval_);
}

StepOutbox::Sent StepOutbox::Fill(std::vector<AttemptStep>& steps) {
  Sent sent;
  for (const auto& [id, waiting] : steps_) {
    const size_t count = std::min(waiting.size(), kSyncStepsMax - steps.size());
    for (size_t i = 0; i < count; ++i) {
      steps.push_back({id, waiting[i]});
    }
    sent[id] = count;
  }
  due_ = absl::InfiniteFuture();
  return sent;
}

bool StepOutbox::HasAll(const AttemptId& id, const Sent& sent) const {
  const auto waiting = steps_.find(id);
  const auto some = sent.find(id);
  return waiting == steps_.end() || (some != sent.end() && some->second == waiting->second.size());
}

void StepOutbox::Confirm(const Sent& sent, absl::Time now) {
  for (const auto& [id, count] : sent) {
    const auto it = steps_.find(id);
    if (it == steps_.end()) {
      continue;  // forgotten
    }
    it->second.erase(it->second.begin(), it->second.begin() + static_cast<std::ptrdiff_t>(count));
    if (it->second.empty()) {
      steps_.erase(it);
    }
  }
  if (!steps_.empty() && due_ == absl::InfiniteFuture()) {
    due_ = now;  // those that found no room
  }
}

void StepOutbox::Fail(absl::Time now) {
  if (!steps_.empty()) {
    due_ = now;
  }
}

}  // namespace concur::worker
