// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/users.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/spent.h"

namespace concur::sim {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(8);
constexpr absl::Duration kBackoffMax = absl::Seconds(2);

bool AsksAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);  // a full disk
}

}  // namespace

Users::Users(World& world, Network& network, Checker& checker, History& history,
             CoordinatorMachine& coordinator, const Workload& workload)
    : world_(world),
      network_(network),
      checker_(checker),
      history_(history),
      coordinator_(coordinator),
      workload_(workload) {}

void Users::Start(bool meddle) {
  meddle_ = meddle;
  for (const AmountChange& change : workload_.amounts) {
    if (meddle) {
      ++pending_;
      world_.After(change.after, [this, change] {
        --pending_;
        SetResource(change.name, change.amount, [] {});
      });
    }
  }
  SetResources([this] { SubmitAll(); });
}

void Users::SetResources(const std::function<void()>& then) {
  const auto waiting = std::make_shared<size_t>(workload_.resources.size());  // shared by answers
  if (*waiting == 0) {
    then();
  }
  for (const auto& [name, amount] : workload_.resources) {
    SetResource(name, amount, [waiting, then] {
      if (--*waiting == 0) {
        then();
      }
    });
  }
}

int64_t Users::RateOf(const std::string& name) const {
  const auto rate = workload_.rates.find(name);
  return rate == workload_.rates.end() || world_.bug() == Bug::kRateNotKept ? 0 : rate->second;
}

void Users::SetResource(const std::string& name, int64_t amount,
                        const std::function<void()>& then) {
  ++pending_;
  // Shared by all attempts of one request.
  TryOnce(
      std::make_shared<const std::string>(absl::StrCat("set ", name, " to ", amount)),
      [this, name, amount](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
        checker_.OnAmountSet(name, amount);
        const absl::Status set =
            world_.bug() == Bug::kAmountNotApplied && scheduler.views().sweep_count() > 0
                ? absl::OkStatus()
                : scheduler.SetResource(name, amount, RateOf(name));
        return set.ok() ? absl::StatusOr<SweepId>(SweepId()) : set;
      },
      [this, then](const absl::StatusOr<SweepId>& answer) {
        if (!answer.ok()) {
          world_.Fail(absl::StrCat("an amount was refused: ", answer.status().ToString()));
        }
        then();
      });
}

void Users::SubmitAll() {
  for (size_t planned = 0; planned < workload_.sweeps.size(); ++planned) {
    ++pending_;
    world_.After(workload_.sweeps[planned].submit_after, [this, planned] {
      --pending_;
      Submit(planned);
    });
  }
}

void Users::Ask(UserRequest request, SweepId id, const std::string& what, const Work& work,
                const Answered& answered) {
  ++pending_;
  // Shared by all attempts of one request.
  TryOnce(std::make_shared<const std::string>(what), work,
          [this, request, begun = history_.Begin(request, id),
           answered](const absl::StatusOr<SweepId>& answer) {
            if (answer.ok()) {
              history_.End(request, *answer, begun);
            }
            answered(answer);
          });
}

void Users::TryOnce(const std::shared_ptr<const std::string>& what, const Work& work,
                    const Answered& answered) {
  auto finish = [this, what, work, answered,
                 open = std::make_shared<bool>(true)](const absl::StatusOr<SweepId>& answer) {
    if (!std::exchange(*open, false)) {
      return;
    }
    if (world_.tracing()) {
      world_.Trace(absl::StrCat("user: ", *what, ": ",
                                answer.ok() ? answer->ToString() : answer.status().ToString()));
    }
    if (!answer.ok() && AsksAgain(answer.status())) {
      world_.After(world_.Between(absl::Milliseconds(100), kBackoffMax),
                   [this, what, work, answered] { TryOnce(what, work, answered); });
      return;
    }
    --pending_;
    answered(answer);
  };
  const auto lost = [finish] { finish(absl::UnavailableError("the connection was lost")); };
  network_.Send(
      kUsersNode, kCoordinatorNode,
      [this, work, finish, lost] {
        coordinator_.Call<SweepId>(
            work, [this, finish, lost](const absl::StatusOr<SweepId>& answer) {
              network_.Send(
                  kCoordinatorNode, kUsersNode, [finish, answer] { finish(answer); }, lost);
            });
      },
      lost);
  world_.After(kTimeout, [finish] { finish(absl::DeadlineExceededError("no answer")); });
}

void Users::AskAfter(absl::Duration delay, UserRequest request, SweepId id, const std::string& what,
                     Work work, Answered answered) {
  ++pending_;
  world_.After(delay,
               [this, request, id, what, work = std::move(work), answered = std::move(answered)] {
                 --pending_;
                 Ask(request, id, what, work, answered);
               });
}

void Users::Submit(size_t planned) {
  const PlannedSweep& plan = workload_.sweeps[planned];
  Ask(
      UserRequest::kSubmit, SweepId(), absl::StrCat("submit ", plan.request_id),
      [this, &plan](Scheduler& scheduler) {
        std::string request_id = plan.request_id;
        if (world_.bug() == Bug::kSubmittedTwice) {
          absl::StrAppend(&request_id, "-", ++requests_);
        }
        Scheduler::Submission submission{kSweepOwner, std::move(request_id), plan.text,
                                         plan.expansion};
        if (plan.imported.empty()) {
          return scheduler.Submit(std::move(submission));
        }
        const absl::StatusOr<SweepId> id = scheduler.Import(
            std::move(submission), std::make_shared<std::vector<ImportedResult>>(plan.imported));
        return id.ok() && scheduler.IsImporting(*id) && world_.bug() != Bug::kAnsweredHalfImported
                   ? absl::UnavailableError("not all is imported")  // asks again
                   : id;
      },
      [this, planned](absl::StatusOr<SweepId> id) {
        if (!id.ok()) {
          world_.Fail(absl::StrCat("a submission was refused: ", id.status().ToString()));
          return;
        }
        checker_.OnSubmitted(planned, *id);
        if (meddle_) {
          Meddle(planned, *id);
        }
      });
}

Users::Work Users::RetryWork(SweepId id, std::vector<uint32_t> jobs, bool rerun) {
  return
      [this, id, jobs = std::move(jobs), rerun](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
        std::set<JobId> collected;
        const std::optional<SweepView> sweep = scheduler.views().FindSweep(id);
        for (uint32_t job = 0; sweep && job < sweep->expansion->job_count(); ++job) {
          if (scheduler.views().ViewJob({id, job}).system_collected) {
            collected.insert({id, job});
          }
        }
        const absl::StatusOr<uint32_t> retried = scheduler.RetryJobs(id, jobs, rerun);
        if (!retried.ok()) {
          return retried.status();
        }
        // It may return none to the queue, and still end a canceled job as its train job did.
        const bool under_way = *retried > 0 || scheduler.views().FindSweep(id)->row->retry;
        checker_.OnRetried(id, rerun, collected, /*whole=*/jobs.empty() && under_way);
        return id;
      };
}

void Users::Meddle(size_t planned, SweepId id) {
  const PlannedSweep& plan = workload_.sweeps[planned];
  const auto on_sweep = [id](absl::Status (Scheduler::*change)(SweepId)) -> Work {
    return [id, change](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
      const absl::Status status = (scheduler.*change)(id);
      return status.ok() ? absl::StatusOr<SweepId>(id) : status;
    };
  };
  const Answered ignore = [](const absl::StatusOr<SweepId>&) {};
  if (plan.pause_after) {
    AskAfter(
        *plan.pause_after, UserRequest::kPause, id, absl::StrCat("pause ", id.ToString()),
        on_sweep(&Scheduler::PauseSweep),
        [this, id, on_sweep, ignore, after = *plan.pause_after](const absl::StatusOr<SweepId>&) {
          AskAfter(
              after, UserRequest::kResume, id, absl::StrCat("resume ", id.ToString()),
              [resume = on_sweep(&Scheduler::ResumeSweep), id](Scheduler& scheduler) {
                (void)scheduler.SetPriority(id, static_cast<int32_t>(id.number % 3));
                return resume(scheduler);
              },
              ignore);
        });
  }
  if (plan.budget_change) {
    ++pending_;
    world_.After(plan.budget_change->after,
                 [this, id, ignore, usd_micros = plan.budget_change->usd_micros] {
                   TryOnce(
                       std::make_shared<const std::string>(
                           absl::StrCat("budget of ", id.ToString(), ": ", usd_micros)),
                       [id, usd_micros](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
                         const absl::Status status = scheduler.SetBudget(id, usd_micros);
                         return status.ok() ? absl::StatusOr<SweepId>(id) : status;
                       },
                       ignore);
                 });
  }
  if (plan.cancel_after) {
    // A delayed duplicate of the request may arrive after a retry and cancel again.
    AskAfter(
        *plan.cancel_after, UserRequest::kCancel, id, absl::StrCat("cancel ", id.ToString()),
        [this, id, cancel = on_sweep(&Scheduler::CancelSweep)](Scheduler& scheduler) {
          const std::optional<SweepView> before = scheduler.views().FindSweep(id);
          const bool changes = before && !before->row->canceled && !IsTerminal(before->state);
          absl::StatusOr<SweepId> canceled = cancel(scheduler);
          if (canceled.ok() && changes) {
            checker_.OnCancelMade(id);
          }
          return canceled;
        },
        [this](absl::StatusOr<SweepId> canceled) {
          if (canceled.ok()) {
            checker_.OnCanceled(*canceled);
          }
        });
  }
  if (plan.cancel_job_after) {
    const JobId job{id, plan.cancel_job};
    checker_.OnAskedToCancel(job);
    AskAfter(
        *plan.cancel_job_after, UserRequest::kCancelJob, id,
        absl::StrCat("cancel ", job.ToString()),
        [job](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
          const absl::Status status = scheduler.CancelJob(job);
          return status.ok() ? absl::StatusOr<SweepId>(job.sweep) : status;
        },
        [this, job](const absl::StatusOr<SweepId>& canceled) {
          if (canceled.ok()) {
            checker_.OnJobCanceled(job);
          }
        });
  }
  if (plan.retry_after) {
    AskAfter(*plan.retry_after, UserRequest::kRetry, id, absl::StrCat("retry ", id.ToString()),
             RetryWork(id, {}, false),
             [this, id, imported = !plan.imported.empty()](const absl::StatusOr<SweepId>& retried) {
               if (imported && retried.ok()) {
                 world_.Fail(absl::StrCat("imported sweep ", id.ToString(), " was retried"));
               }
             });
  }
  if (plan.rerun_after) {
    AskAfter(*plan.rerun_after, UserRequest::kRetry, id, absl::StrCat("run again ", id.ToString()),
             RetryWork(id, {plan.rerun_job}, true), ignore);
  }
  if (plan.delete_after) {
    AskAfter(
        *plan.delete_after, UserRequest::kDelete, id, absl::StrCat("delete ", id.ToString()),
        [this, id](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
          const absl::Status status = scheduler.DeleteSweep(id);
          if (status.ok()) {
            checker_.OnDeleted(id);
          }
          return status.ok() ? absl::StatusOr<SweepId>(id) : status;
        },
        ignore);
  }
}

void Users::ResumeAll() {
  history_.BeginAll(UserRequest::kResume);
  ++pending_;
  TryOnce(
      std::make_shared<const std::string>("resume all"),
      [this](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
        // An earlier change that was asked for again and again may have come after the last one.
        std::map<std::string, int64_t> last;
        for (const AmountChange& change : workload_.amounts) {
          last[change.name] = change.amount;
        }
        for (const auto& [name, amount] : last) {
          checker_.OnAmountSet(name, amount);
          scheduler.SetResource(name, amount, RateOf(name)).IgnoreError();
        }
        for (const SweepId& id : scheduler.views().ListSweeps()) {
          scheduler.ResumeSweep(id).IgnoreError();  // fails for one that has ended
          if (scheduler.views().FindSweep(id)->expansion->spec().budget_usd_micros > 0) {
            scheduler.SetBudget(id, kSpentMax).IgnoreError();
          }
        }
        return SweepId();
      },
      [](const absl::StatusOr<SweepId>&) {});
}

void Users::RetryFailed() {
  for (const SweepId& id : coordinator_.scheduler().views().ListSweeps()) {
    const SweepView sweep = *coordinator_.scheduler().views().FindSweep(id);
    if (sweep.state == SweepState::kFailed) {
      Ask(UserRequest::kRetry, id, absl::StrCat("retry ", id.ToString()), RetryWork(id, {}, false),
          [](const absl::StatusOr<SweepId>&) {});
    }
  }
}

void Users::RerunSome() {
  for (const SweepId& id : coordinator_.scheduler().views().ListSweeps()) {
    const SweepView sweep = *coordinator_.scheduler().views().FindSweep(id);
    const uint32_t job = sweep.expansion->job_count() - 1;  // an eval job
    if (!sweep.row->canceled) {
      Ask(UserRequest::kRetry, id, absl::StrCat("run again ", id.ToString()),
          RetryWork(id, {job}, true), [](const absl::StatusOr<SweepId>&) {});
    }
  }
}

}  // namespace concur::sim
