// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/job_pages.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/suggest.h"
#include "coordinator/services/views.h"
#include "proto/rpc/convert_value.h"

namespace concur {
namespace {

// Jobs that the engine's thread examines before it does something else.
constexpr uint64_t kJobsExaminedMax = 20'000;
constexpr size_t kPartMetricsOfPageMax = 50'000;  // a page with more ends before it is full

bool Matches(const v1::ListJobsRequest& request, const Scheduler& scheduler,
             const Expansion& expansion, JobId job) {
  const auto& states = request.states();
  if (!states.empty() &&
      std::find(states.begin(), states.end(), rpc::ToProto(scheduler.views().JobStateOf(job))) ==
          states.end()) {
    return false;
  }
  if (request.approach().empty() && request.benchmark().empty() && request.worker().empty() &&
      !request.has_setting_index() && !request.has_seed()) {
    return true;
  }
  const SweepSpec& spec = expansion.spec();
  const JobCoordinates at = expansion.Locate(job.index);
  const Block& block = expansion.blocks()[at.block];
  if ((request.has_setting_index() && at.setting != request.setting_index()) ||
      (request.has_seed() && spec.seeds[at.seed_index] != request.seed()) ||
      (!request.worker().empty() && scheduler.views().ViewJob(job).worker != request.worker())) {
    return false;
  }
  if (!request.approach().empty() && spec.approaches[block.approach].name != request.approach()) {
    return false;
  }
  return request.benchmark().empty() ||
         (block.train_set != kNoTrainSet &&
          spec.train_sets[block.train_set].name == request.benchmark()) ||
         (!at.is_train && spec.benchmarks[at.test_benchmark].name == request.benchmark());
}

absl::Status UnknownFilter(absl::string_view what, const std::string& name,
                           const std::vector<std::string>& known) {
  return absl::NotFoundError(
      absl::StrCat("the sweep has no ", what, " \"", name, "\"", DidYouMean(name, known)));
}

// One page in progress. Shared by the closures that build it.
class PageCall : public std::enable_shared_from_this<PageCall> {
 public:
  using Done = std::function<void(absl::StatusOr<v1::ListJobsResponse>)>;

  PageCall(Engine& engine, ThreadPool& pool, const v1::ListJobsRequest& request, SweepId sweep,
           uint64_t from, size_t size, Done done)
      : engine_(engine),
        pool_(pool),
        request_(request),
        sweep_(sweep),
        next_(from),
        size_(size),
        done_(std::move(done)) {}

  void Run() {
    engine_.Read<bool>([self = shared_from_this()](
                           const Scheduler& scheduler) { return self->Collect(scheduler); },
                       [self = shared_from_this()](absl::StatusOr<bool> complete) {
                         self->Continue(std::move(complete));
                       });
  }

 private:
  // Returns whether the page is full or there are no more jobs.
  absl::StatusOr<bool> Collect(const Scheduler& scheduler) {
    if (!scheduler.views().FindSweep(sweep_)) {
      return absl::NotFoundError(absl::StrCat("no sweep ", sweep_.ToString()));
    }
    expansion_ = scheduler.views().SharedExpansion(sweep_);
    const uint64_t count = expansion_->job_count();
    const uint64_t end = std::min(count, next_ + std::min(kJobsExaminedMax, count));
    for (; next_ < end; ++next_) {
      const JobId job{sweep_, static_cast<uint32_t>(next_)};
      if (!Matches(request_, scheduler, *expansion_, job)) {
        continue;
      }
      if (jobs_.size() == size_ || part_metrics_ >= kPartMetricsOfPageMax) {
        is_full_ = true;
        return true;
      }
      JobView view = scheduler.views().ViewJob(job);
      if (view.result != nullptr) {
        view.result = &results_.emplace_back(*view.result);
        part_metrics_ += PartMetricsOf(*view.result);
      }
      jobs_.push_back(std::move(view));
    }
    return next_ >= count;
  }

  void Continue(absl::StatusOr<bool> complete) {
    if (complete.ok() && !*complete) {
      Run();
      return;
    }
    pool_.Submit([self = shared_from_this(), status = complete.status()] {
      self->done_(status.ok() ? absl::StatusOr<v1::ListJobsResponse>(self->Page()) : status);
    });
  }

  v1::ListJobsResponse Page() const {
    v1::ListJobsResponse page;
    for (const JobView& job : jobs_) {
      *page.add_jobs() = JobProto(*expansion_, job);
    }
    if (is_full_) {
      page.set_next_page_token(absl::StrCat(next_));
    }
    return page;
  }

  Engine& engine_;
  ThreadPool& pool_;
  const v1::ListJobsRequest& request_;
  const SweepId sweep_;
  uint64_t next_;  // the first index that was not examined
  const size_t size_;
  const Done done_;
  std::shared_ptr<const Expansion> expansion_;  // shared with the scheduler
  std::vector<JobView> jobs_;
  std::deque<JobResult> results_;  // results of `jobs_`: their addresses stay
  size_t part_metrics_ = 0;        // those in `results_`
  bool is_full_ = false;
};

}  // namespace

absl::Status CheckJobFilters(const v1::ListJobsRequest& request, const Expansion& expansion) {
  const SweepSpec& spec = expansion.spec();
  const auto add = [](const auto& things, std::vector<std::string>* names) {
    for (const auto& thing : things) {
      names->push_back(thing.name);
    }
  };
  const auto is_in = [](const std::string& name, const std::vector<std::string>& names) {
    return name.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> approaches;
  std::vector<std::string> benchmarks;
  add(spec.approaches, &approaches);
  add(spec.benchmarks, &benchmarks);
  add(spec.train_sets, &benchmarks);
  if (!is_in(request.approach(), approaches)) {
    return UnknownFilter("approach", request.approach(), approaches);
  }
  if (!is_in(request.benchmark(), benchmarks)) {
    return UnknownFilter("benchmark", request.benchmark(), benchmarks);
  }
  if (request.has_setting_index()) {
    size_t settings = 0;
    for (const Block& block : expansion.blocks()) {
      if (request.approach().empty() || approaches[block.approach] == request.approach()) {
        settings = std::max<size_t>(settings, block.settings);
      }
    }
    if (request.setting_index() >= settings) {
      return absl::NotFoundError(absl::StrCat(
          "no setting ", request.setting_index(),
          settings == 1 ? ": the only one is 0" : absl::StrCat(": they are 0 to ", settings - 1)));
    }
  }
  if (request.has_seed() &&
      std::find(spec.seeds.begin(), spec.seeds.end(), request.seed()) == spec.seeds.end()) {
    constexpr size_t kSeedsShown = 10;
    const std::vector<int64_t> first(
        spec.seeds.begin(),
        spec.seeds.begin() + static_cast<std::ptrdiff_t>(std::min(spec.seeds.size(), kSeedsShown)));
    return absl::NotFoundError(absl::StrCat("the sweep has no seed ", request.seed(),
                                            ": its seeds are ", absl::StrJoin(first, ", "),
                                            spec.seeds.size() > kSeedsShown ? ", …" : ""));
  }
  return absl::OkStatus();
}

void ListJobsPage(Engine& engine, ThreadPool& pool, const v1::ListJobsRequest& request,
                  SweepId sweep, uint64_t from, size_t size,
                  std::function<void(absl::StatusOr<v1::ListJobsResponse>)> done) {
  std::make_shared<PageCall>(engine, pool, request, sweep, from, size, std::move(done))->Run();
}

}  // namespace concur
