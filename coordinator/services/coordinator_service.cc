// SPDX-License-Identifier: Apache-2.0
#include "coordinator/services/coordinator_service.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "coordinator/engine/submission_forecast.h"
#include "coordinator/services/answer.h"
#include "coordinator/services/artifact_presence.h"
#include "coordinator/services/artifact_streams.h"
#include "coordinator/services/import_request.h"
#include "coordinator/services/job_pages.h"
#include "coordinator/services/page_size.h"
#include "coordinator/services/submission_checks.h"
#include "coordinator/services/sweep_streams.h"
#include "coordinator/services/views.h"
#include "core/fields.h"
#include "core/scheduler/reason_text.h"
#include "core/spent.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_score.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_value.h"

namespace concur {
namespace {

constexpr int kDigestsMax = 10'000;

absl::StatusOr<uint64_t> NumberToken(const std::string& token) {
  uint64_t value = 0;
  if (!token.empty() && !absl::SimpleAtoi(token, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_token: expected one that an earlier page gave, got \"", token, "\""));
  }
  return value;
}

constexpr size_t kPlannedJobsMax = 10'000;  // jobs of a sweep that is only checked

void AddPlannedJobs(const SchedulerViews& views, const std::shared_ptr<const Expansion>& expansion,
                    v1::CreateSweepResponse& answer) {
  if (expansion->job_count() > kPlannedJobsMax) {
    return;
  }
  const std::vector<PlannedJob> plan = views.Plan(expansion);
  for (uint32_t job = 0; job < plan.size(); ++job) {
    v1::PlannedJob& added = *answer.add_jobs();
    added.set_job(expansion->Describe(job));
    added.set_runs(plan[job].runs);
    if (plan[job].equal) {
      added.set_equal(plan[job].equal_is_own ? expansion->Describe(plan[job].equal->index)
                                             : plan[job].equal->ToString());
    }
    added.set_why(ReasonText(plan[job]));
  }
}

// Warnings about running this sweep on the current workers.
std::vector<std::string> WarningsOf(const Scheduler& scheduler, const Pools& pools,
                                    const SweepSpec& spec, bool workers_may_start) {
  if (!pools.Limits().empty()) {
    return {};  // they start the workers that are missing
  }
  std::vector<KnownWorker> live;
  for (WorkerView& worker : scheduler.views().ListWorkers()) {
    if (!worker.lost) {
      live.push_back({worker.info.capacity, std::move(worker.info.labels)});
    }
  }
  if (live.empty()) {
    return workers_may_start
               ? std::vector<std::string>()
               : std::vector<std::string>{"no worker is live: jobs wait until one joins"};
  }
  return CapacityWarnings(spec, live);
}

// Fails when a job fits neither on the workers of pools nor on a live worker, which may be larger.
absl::Status CheckFitsAnywhere(const Scheduler& scheduler, const Pools& pools,
                               const SweepSpec& spec, std::vector<PoolLimit> limits) {
  const std::vector<PoolLimit> of_pools = pools.Limits();
  if (limits.empty() && of_pools.empty()) {
    return absl::OkStatus();
  }
  limits.insert(limits.end(), of_pools.begin(), of_pools.end());
  absl::Status fits = CheckFitsInPools(spec, limits);
  if (fits.ok() || of_pools.empty()) {
    return fits;
  }
  for (const WorkerView& worker : scheduler.views().ListWorkers()) {
    if (!worker.lost) {
      limits.push_back({worker.info.name, worker.info.capacity, worker.info.labels});
    }
  }
  return CheckFitsInPools(spec, limits).ok() ? absl::OkStatus() : fits;
}

// The sweep of that name, if the caller may change it.
absl::StatusOr<SweepId> ResolveOwnSweep(const Scheduler& scheduler, const std::string& sweep,
                                        const Caller& caller) {
  CONCUR_ASSIGN_OR_RETURN(SweepId id, ResolveKnownSweep(scheduler, sweep, caller.user));
  const auto left_out = scheduler.views().left_out().find(id);
  const SweepRow& row = left_out == scheduler.views().left_out().end()
                            ? *scheduler.views().FindSweep(id)->row
                            : left_out->second.row;
  CONCUR_RETURN_IF_ERROR(CheckMayChange(caller, id.ToString(), row.owner));
  return id;
}

template <typename Change>
grpc::ServerUnaryReactor* ChangeSweep(Engine& engine, CallContext* call, v1::Sweep* response,
                                      std::string sweep, Change change) {
  return Answer<v1::Sweep>(engine, call, response,
                           [caller = call->caller(), sweep = std::move(sweep),
                            change](Scheduler& scheduler) -> absl::StatusOr<v1::Sweep> {
                             CONCUR_ASSIGN_OR_RETURN(SweepId id,
                                                     ResolveOwnSweep(scheduler, sweep, caller));
                             CONCUR_RETURN_IF_ERROR(change(scheduler, id));
                             return SweepProto(*scheduler.views().FindSweep(id));
                           });
}

// Answers with the sweep that `work` imports, once all of it is saved and `saved` was called.
void AnswerImport(grpc::ServerUnaryReactor* reactor, Engine& engine,
                  v1::CreateSweepResponse* response,
                  std::function<absl::StatusOr<SweepId>(Scheduler&)> work,
                  std::function<void()> saved) {
  engine.Call<SweepId>(
      [work = std::move(work), response](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
        CONCUR_ASSIGN_OR_RETURN(const SweepId id, work(scheduler));
        if (scheduler.IsImporting(id)) {
          return id;
        }
        const std::optional<SweepView> sweep = scheduler.views().FindSweep(id);
        if (!sweep || sweep->row->canceled) {
          return absl::AbortedError(absl::StrCat("sweep ", id.ToString(), " was ",
                                                 sweep ? "canceled" : "deleted",
                                                 " before all of it was imported"));
        }
        *response->mutable_sweep() = SweepProto(*sweep);
        return id;
      },
      [reactor, response, saved = std::move(saved), &engine](const absl::StatusOr<SweepId>& id) {
        if (id.ok() && !response->has_sweep()) {
          AnswerImport(
              reactor, engine, response, [id = *id](Scheduler&) { return id; }, saved);
          return;
        }
        if (id.ok()) {
          saved();
        }
        reactor->Finish(rpc::ToGrpcStatus(id.status()));
      });
}

}  // namespace

CoordinatorService::CoordinatorService(Clock& clock, Engine& engine, ArtifactStore& artifacts,
                                       PartialUploads& partial, AuditLog& audit, Secrets& secrets,
                                       const FleetHistory& fleet, ThreadPool& pool,
                                       ThreadPool& transfers, ThreadPool& answers,
                                       ServiceLimits limits)
    : clock_(clock),
      started_(clock.Now()),
      engine_(engine),
      artifacts_(artifacts),
      partial_(partial),
      audit_(audit),
      secrets_(secrets),
      fleet_(fleet),
      pool_(pool),
      transfers_(transfers),
      answers_(answers),
      limits_(std::move(limits)),
      uploads_(clock, limits_.uploads_kept) {}

// --- sweeps --------------------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::CreateSweep(CallContext* call,
                                                          const v1::CreateSweepRequest* request,
                                                          v1::CreateSweepResponse* response) {
  absl::StatusOr<SweepSpec> spec = rpc::FromProto(request->spec());
  if (spec.ok() && spec->imported) {
    return AnswerNow(
        call, absl::InvalidArgumentError("spec.imported: expected none in a sweep that is to run"));
  }
  absl::StatusOr<std::shared_ptr<const Expansion>> expanded =
      ExpandRequested(request->request_id(), std::move(spec), limits_);
  if (!expanded.ok()) {
    return AnswerNow(call, expanded.status());
  }
  const std::shared_ptr<const Expansion> expansion = *std::move(expanded);
  std::vector<std::string> secrets;
  for (const ApproachSpec& approach : expansion->spec().approaches) {
    for (const auto& [variable, name] : approach.secrets) {
      secrets.push_back(name);
    }
  }
  if (absl::Status status = secrets_.CheckHas(call->caller().user, secrets); !status.ok()) {
    return AnswerNow(call, status);
  }
  const bool validate_only = request->validate_only();
  if (!validate_only) {
    if (absl::Status status = CheckRoomOnDisk(limits_, artifacts_, partial_); !status.ok()) {
      return AnswerNow(call, status);
    }
  }
  Scheduler::Submission submission{call->caller().user, request->request_id(),
                                   rpc::EncodeSpec(expansion->spec()), expansion};
  std::vector<Digest> data;
  for (const SweepFile& file : FilesOf(expansion->spec())) {
    data.push_back(file.digest);
  }
  submission.unclaimed_bytes = uploads_.BytesOf(submission.owner, data);
  auto submit = [this, submission = std::move(submission), data, validate_only,
                 sweeps_max = limits_.sweeps_max, pools = &engine_.pools(),
                 stated_limits = limits_.pools,
                 workers_may_start = clock_.Now() - started_ < limits_.workers_expected](
                    Scheduler& scheduler) -> absl::StatusOr<v1::CreateSweepResponse> {
    v1::CreateSweepResponse answer;
    CONCUR_RETURN_IF_ERROR(
        CheckFitsAnywhere(scheduler, *pools, submission.expansion->spec(), stated_limits));
    for (std::string& warning :
         WarningsOf(scheduler, *pools, submission.expansion->spec(), workers_may_start)) {
      answer.add_warnings(std::move(warning));
    }
    if (validate_only) {
      CONCUR_RETURN_IF_ERROR(scheduler.views().CheckUses(*submission.expansion));
      CONCUR_RETURN_IF_ERROR(
          scheduler.views().CheckMemory(submission.owner, submission.expansion->job_count()));
      CONCUR_RETURN_IF_ERROR(scheduler.views().owners().CheckQuota(
          submission.owner, submission.expansion->spec(), submission.unclaimed_bytes));
      answer.mutable_sweep()->set_name(submission.expansion->spec().name);
      answer.mutable_sweep()->set_owner(submission.owner);
      answer.mutable_sweep()->mutable_counts()->set_blocked(submission.expansion->job_count());
      answer.mutable_sweep()->set_cell_count(submission.expansion->cell_count());
      AddPlannedJobs(scheduler.views(), submission.expansion, answer);
      return answer;
    }
    CONCUR_RETURN_IF_ERROR(CheckSweepCount(scheduler, sweeps_max));
    const size_t sweeps_before = scheduler.views().sweep_count();
    CONCUR_ASSIGN_OR_RETURN(SweepId id, scheduler.Submit(submission));
    uploads_.Claim(submission.owner, data);
    const bool is_new = scheduler.views().sweep_count() > sweeps_before;
    if (auto basis = is_new ? BasisOfForecast(scheduler, id) : std::nullopt) {
      RecordForecast(engine_, pool_, *std::move(basis));
    }
    *answer.mutable_sweep() = SweepProto(*scheduler.views().FindSweep(id));
    return answer;
  };
  if (validate_only) {
    return Answer<v1::CreateSweepResponse>(engine_, call, response, std::move(submit));
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  // On the pool, because object storage may be slow.
  transfers_.Submit([this, reactor, response, expansion, submit = std::move(submit)] {
    if (absl::Status status = CheckFilesAreThere(FilesOf(expansion->spec()), artifacts_);
        !status.ok()) {
      reactor->Finish(rpc::ToGrpcStatus(status));
    } else {
      AnswerOn<v1::CreateSweepResponse>(reactor, engine_, response, submit);
    }
  });
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::ImportSweep(CallContext* call,
                                                          const v1::ImportSweepRequest* request,
                                                          v1::CreateSweepResponse* response) {
  absl::StatusOr<RequestedImport> asked = ReadImport(*request, limits_);
  if (!asked.ok()) {
    return AnswerNow(call, asked.status());
  }
  if (absl::Status status = CheckRoomOnDisk(limits_, artifacts_, partial_); !status.ok()) {
    return AnswerNow(call, status);
  }
  Scheduler::Submission submission{call->caller().user, request->request_id(),
                                   rpc::EncodeSpec(asked->expansion->spec()), asked->expansion};
  std::vector<Digest> examples;
  for (const SweepFile& file : asked->examples) {
    examples.push_back(file.digest);
    submission.unclaimed_bytes += file.bytes;
  }
  submission.unclaimed_bytes += uploads_.BytesOf(submission.owner, examples);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  // On the pool, because object storage may be slow.
  transfers_.Submit([this, reactor, response, submission = std::move(submission), examples,
                     asked = *std::move(asked)] {
    if (absl::Status status = CheckFilesAreThere(asked.examples, artifacts_); !status.ok()) {
      reactor->Finish(rpc::ToGrpcStatus(status));
      return;
    }
    AnswerImport(
        reactor, engine_, response,
        [this, submission,
         results = asked.results](Scheduler& scheduler) -> absl::StatusOr<SweepId> {
          CONCUR_RETURN_IF_ERROR(CheckSweepCount(scheduler, limits_.sweeps_max));
          return scheduler.Import(submission, results);
        },
        [this, owner = submission.owner, examples] { uploads_.Claim(owner, examples); });
  });
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::GetSweep(CallContext* call,
                                                       const v1::GetSweepRequest* request,
                                                       v1::Sweep* response) {
  const absl::StatusOr<SweepFacts> sweep =
      engine_.board().Find(request->sweep(), call->caller().user);
  if (sweep.ok()) {
    *response = SweepProto(sweep->View());
    if (request->include_spec()) {
      *response->mutable_spec() = rpc::ToProto(sweep->expansion->spec());
    }
  }
  if (!sweep.ok() || !request->include_services()) {
    return AnswerNow(call, sweep.status());
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  engine_.ListServiceUse(
      sweep->row.id, [this, reactor, response, expansion = sweep->expansion](auto instances) {
        auto shared = std::make_shared<decltype(instances)>(std::move(instances));
        answers_.Submit([reactor, response, expansion, shared] {
          for (const AttemptRow& row : shared->ok() ? **shared : std::vector<AttemptRow>()) {
            *response->add_services() = ServiceRecordProto(*expansion, row);
          }
          reactor->Finish(rpc::ToGrpcStatus(shared->status()));
        });
      });
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::ListSweeps(CallContext* call,
                                                         const v1::ListSweepsRequest* request,
                                                         v1::ListSweepsResponse* response) {
  const absl::StatusOr<size_t> size = PageSize(request->page_size());
  const absl::StatusOr<uint64_t> before = NumberToken(request->page_token());
  absl::Status status = size.status();
  status.Update(before.status());
  if (status.ok()) {
    // One sweep more than the page holds shows whether there is another page.
    std::vector<SweepFacts> sweeps = engine_.board().List(*before, request->owner(), *size + 1);
    if (sweeps.size() > *size) {
      sweeps.pop_back();
      response->set_next_page_token(absl::StrCat(sweeps.back().row.id.number));
    }
    for (const SweepFacts& sweep : sweeps) {
      v1::Sweep* added = response->add_sweeps();
      *added = SweepProto(sweep.View());
      if (!sweep.load_status.ok()) {
        added->clear_state();
      }
    }
  }
  return AnswerNow(call, status);
}

grpc::ServerUnaryReactor* CoordinatorService::PauseSweep(CallContext* call,
                                                         const v1::PauseSweepRequest* request,
                                                         v1::Sweep* response) {
  return ChangeSweep(engine_, call, response, request->sweep(),
                     [](Scheduler& scheduler, SweepId id) { return scheduler.PauseSweep(id); });
}

grpc::ServerUnaryReactor* CoordinatorService::ResumeSweep(CallContext* call,
                                                          const v1::ResumeSweepRequest* request,
                                                          v1::Sweep* response) {
  return ChangeSweep(engine_, call, response, request->sweep(),
                     [](Scheduler& scheduler, SweepId id) { return scheduler.ResumeSweep(id); });
}

grpc::ServerUnaryReactor* CoordinatorService::SetPriority(CallContext* call,
                                                          const v1::SetPriorityRequest* request,
                                                          v1::Sweep* response) {
  return ChangeSweep(engine_, call, response, request->sweep(),
                     [priority = request->priority()](Scheduler& scheduler, SweepId id) {
                       return scheduler.SetPriority(id, priority);
                     });
}

grpc::ServerUnaryReactor* CoordinatorService::SetBudget(CallContext* call,
                                                        const v1::SetBudgetRequest* request,
                                                        v1::Sweep* response) {
  const absl::StatusOr<Spent> budget = SpentOf(kUsdName, request->usd());
  if (!budget.ok() || budget->empty()) {
    return AnswerNow(
        call, absl::InvalidArgumentError(absl::StrCat("usd: expected more than 0 and at most ",
                                                      kUsdMax, " dollars, got ", request->usd())));
  }
  return ChangeSweep(engine_, call, response, request->sweep(),
                     [micros = budget->usd_micros](Scheduler& scheduler, SweepId id) {
                       return scheduler.SetBudget(id, micros);
                     });
}

grpc::ServerUnaryReactor* CoordinatorService::CancelSweep(CallContext* call,
                                                          const v1::CancelSweepRequest* request,
                                                          v1::Sweep* response) {
  return ChangeSweep(engine_, call, response, request->sweep(),
                     [](Scheduler& scheduler, SweepId id) { return scheduler.CancelSweep(id); });
}

grpc::ServerUnaryReactor* CoordinatorService::DeleteSweep(CallContext* call,
                                                          const v1::DeleteSweepRequest* request,
                                                          v1::DeleteSweepResponse* response) {
  return Answer<v1::DeleteSweepResponse>(
      engine_, call, response,
      [request,
       caller = call->caller()](Scheduler& scheduler) -> absl::StatusOr<v1::DeleteSweepResponse> {
        CONCUR_ASSIGN_OR_RETURN(SweepId id, ResolveOwnSweep(scheduler, request->sweep(), caller));
        CONCUR_RETURN_IF_ERROR(scheduler.DeleteSweep(id));
        return v1::DeleteSweepResponse();
      });
}

// --- jobs ----------------------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::CancelJob(CallContext* call,
                                                        const v1::CancelJobRequest* request,
                                                        v1::Job* response) {
  return Answer<v1::Job>(
      engine_, call, response,
      [request, caller = call->caller()](Scheduler& scheduler) -> absl::StatusOr<v1::Job> {
        CONCUR_ASSIGN_OR_RETURN(const JobId id, ResolveJob(scheduler, request->job(), caller.user));
        CONCUR_RETURN_IF_ERROR(CheckMayChange(caller, id.sweep.ToString(),
                                              scheduler.views().FindSweep(id.sweep)->row->owner));
        CONCUR_RETURN_IF_ERROR(scheduler.CancelJob(id));
        return JobProto(scheduler, id);
      });
}

grpc::ServerUnaryReactor* CoordinatorService::RetryJobs(CallContext* call,
                                                        const v1::RetryJobsRequest* request,
                                                        v1::RetryJobsResponse* response) {
  return Answer<v1::RetryJobsResponse>(
      engine_, call, response,
      [request,
       caller = call->caller()](Scheduler& scheduler) -> absl::StatusOr<v1::RetryJobsResponse> {
        CONCUR_ASSIGN_OR_RETURN(SweepId id, ResolveOwnSweep(scheduler, request->sweep(), caller));
        const std::vector<uint32_t> jobs(request->jobs().begin(), request->jobs().end());
        CONCUR_ASSIGN_OR_RETURN(uint32_t retried,
                                scheduler.RetryJobs(id, jobs, request->rerun_succeeded()));
        v1::RetryJobsResponse answer;
        answer.set_retried(retried);
        return answer;
      });
}

grpc::ServerUnaryReactor* CoordinatorService::ListJobs(CallContext* call,
                                                       const v1::ListJobsRequest* request,
                                                       v1::ListJobsResponse* response) {
  const absl::StatusOr<SweepFacts> sweep =
      engine_.board().Find(request->sweep(), call->caller().user);
  const absl::StatusOr<size_t> size = PageSize(request->page_size());
  const absl::StatusOr<uint64_t> from = NumberToken(request->page_token());
  absl::Status status = sweep.status();
  status.Update(size.status());
  status.Update(from.status());
  if (status.ok()) {
    status = CheckJobFilters(*request, *sweep->expansion);
  }
  if (!status.ok()) {
    return AnswerNow(call, status);
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  ListJobsPage(engine_, answers_, *request, sweep->row.id, *from, *size,
               [reactor, response](absl::StatusOr<v1::ListJobsResponse> page) {
                 const absl::Status made = page.status();
                 if (made.ok()) {
                   *response = *std::move(page);
                 }
                 reactor->Finish(rpc::ToGrpcStatus(made));
               });
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::GetJob(CallContext* call,
                                                     const v1::GetJobRequest* request,
                                                     v1::Job* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  auto find = [text = request->job(), user = call->caller().user](Scheduler& scheduler) {
    return ResolveJob(scheduler, text, user);
  };
  engine_.Explain(std::move(find), request->include_steps(),
                  [this, reactor, response](absl::StatusOr<Engine::Explanation> explanation) {
                    auto steps = std::make_shared<std::vector<StepRow>>();
                    if (explanation.ok()) {
                      *response = JobProto(*explanation->scheduler, explanation->job);
                      response->set_explanation(explanation->text);
                      for (const AttemptRow& row : explanation->attempts) {
                        v1::AttemptRecord& record = *response->add_attempts();
                        record.set_attempt(row.attempt.number);
                        record.set_worker(row.worker);
                        *record.mutable_end_time() = rpc::ToProto(row.end_time);
                        *record.mutable_result() = rpc::ToProto(row.result);
                      }
                      *steps = std::move(explanation->steps);
                    }
                    // Thousands of reports are made into a message, and sent, off the engine's
                    // thread.
                    answers_.Submit([reactor, response, steps, status = explanation.status()] {
                      for (const StepRow& row : *steps) {
                        v1::StepRecord& record = *response->add_steps();
                        record.set_step(row.step.step);
                        record.set_name(row.step.name);
                        record.set_value(row.step.value);
                        record.set_attempt(row.attempt.number);
                      }
                      reactor->Finish(rpc::ToGrpcStatus(status));
                    });
                  });
  return reactor;
}

// --- workers -------------------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::ListWorkers(CallContext* call,
                                                          const v1::ListWorkersRequest* request,
                                                          v1::ListWorkersResponse* response) {
  return AnswerRead<v1::ListWorkersResponse>(
      engine_, answers_, call, response,
      [request](const Scheduler& scheduler) -> absl::StatusOr<v1::ListWorkersResponse> {
        CONCUR_ASSIGN_OR_RETURN(size_t size, PageSize(request->page_size()));
        v1::ListWorkersResponse page;
        std::string last;
        for (const WorkerView& worker : scheduler.views().ListWorkers()) {
          if (worker.left ||
              (!request->page_token().empty() && worker.info.name <= request->page_token())) {
            continue;
          }
          if (static_cast<size_t>(page.workers_size()) == size) {
            page.set_next_page_token(last);
            break;
          }
          *page.add_workers() = WorkerProto(worker);
          last = worker.info.name;
        }
        return page;
      });
}

// A page token is the number of the next group: groups keep their numbers while a coordinator runs.
grpc::ServerUnaryReactor* CoordinatorService::ListDurations(CallContext* call,
                                                            const v1::ListDurationsRequest* request,
                                                            v1::ListDurationsResponse* response) {
  return AnswerRead<v1::ListDurationsResponse>(
      engine_, answers_, call, response,
      [request](const Scheduler& scheduler) -> absl::StatusOr<v1::ListDurationsResponse> {
        CONCUR_ASSIGN_OR_RETURN(size_t size, PageSize(request->page_size()));
        CONCUR_ASSIGN_OR_RETURN(const uint64_t from, NumberToken(request->page_token()));
        const Durations& durations = scheduler.views().durations();
        v1::ListDurationsResponse page;
        for (const auto& [approach, load] : scheduler.views().Loads()) {
          (*page.mutable_loads())[approach] = rpc::ToProto(load);
        }
        for (uint64_t next = from; next < durations.size(); ++next) {
          const auto group = static_cast<Durations::Group>(next);
          const auto [micros, count] = durations.TotalOf(group);
          if (count == 0) {
            continue;
          }
          if (static_cast<size_t>(page.durations_size()) == size) {
            page.set_next_page_token(absl::StrCat(group));
            break;
          }
          v1::JobDuration& duration = *page.add_durations();
          duration.set_approach(durations.approach(group));
          duration.set_benchmark(durations.benchmark(group));
          duration.set_is_train(durations.is_train(group));
          *duration.mutable_mean() =
              rpc::ToProto(absl::Microseconds(micros / static_cast<int64_t>(count)));
          duration.set_count(count);
        }
        return page;
      });
}

grpc::ServerUnaryReactor* CoordinatorService::DrainWorker(CallContext* call,
                                                          const v1::DrainWorkerRequest* request,
                                                          v1::Worker* response) {
  return Answer<v1::Worker>(
      engine_, call, response, [request](Scheduler& scheduler) -> absl::StatusOr<v1::Worker> {
        CONCUR_RETURN_IF_ERROR(scheduler.DrainWorker(request->worker(), !request->undo()));
        for (const WorkerView& worker : scheduler.views().ListWorkers()) {
          if (worker.info.name == request->worker()) {
            return WorkerProto(worker);
          }
        }
        return absl::InternalError("the worker is gone");
      });
}

// --- named resources -----------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::ListResources(
    CallContext* call, const v1::ListResourcesRequest* /*request*/,
    v1::ListResourcesResponse* response) {
  return AnswerRead<v1::ListResourcesResponse>(
      engine_, answers_, call, response,
      [](const Scheduler& scheduler) -> absl::StatusOr<v1::ListResourcesResponse> {
        v1::ListResourcesResponse answer;
        for (const ResourceView& resource : scheduler.views().ListResources()) {
          *answer.add_resources() = ResourceProto(resource);
        }
        return answer;
      });
}

grpc::ServerUnaryReactor* CoordinatorService::SetResource(CallContext* call,
                                                          const v1::SetResourceRequest* request,
                                                          v1::NamedResource* response) {
  return Answer<v1::NamedResource>(
      engine_, call, response,
      [request](Scheduler& scheduler) -> absl::StatusOr<v1::NamedResource> {
        CONCUR_RETURN_IF_ERROR(
            scheduler.SetResource(request->name(), request->amount(), request->per_minute()));
        for (const ResourceView& resource : scheduler.views().ListResources()) {
          if (resource.name == request->name()) {
            return ResourceProto(resource);
          }
        }
        return absl::InternalError("the resource is gone");
      });
}

grpc::ServerUnaryReactor* CoordinatorService::DeleteResource(
    CallContext* call, const v1::DeleteResourceRequest* request,
    v1::DeleteResourceResponse* response) {
  return Answer<v1::DeleteResourceResponse>(
      engine_, call, response,
      [request](Scheduler& scheduler) -> absl::StatusOr<v1::DeleteResourceResponse> {
        CONCUR_RETURN_IF_ERROR(scheduler.DeleteResource(request->name()));
        return v1::DeleteResourceResponse();
      });
}

// --- scores --------------------------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::ListScores(CallContext* call,
                                                         const v1::ListScoresRequest* request,
                                                         v1::ListScoresResponse* response) {
  return AnswerRead<v1::ListScoresResponse>(
      engine_, answers_, call, response,
      [request, user = call->caller().user](
          const Scheduler& scheduler) -> absl::StatusOr<v1::ListScoresResponse> {
        CONCUR_ASSIGN_OR_RETURN(SweepId id, ResolveSweep(scheduler, request->sweep(), user));
        CONCUR_ASSIGN_OR_RETURN(size_t size, PageSize(request->page_size(), 1000, 10'000));
        CONCUR_ASSIGN_OR_RETURN(uint64_t from, NumberToken(request->page_token()));
        const uint32_t count = scheduler.views().FindSweep(id)->expansion->job_count();
        v1::ListScoresResponse page;
        uint32_t next = 0;
        for (const JobScore& score :
             PageOfScores(scheduler, id, static_cast<uint32_t>(std::min<uint64_t>(from, count)),
                          static_cast<uint32_t>(size), request->metric(), &next)) {
          *page.add_scores() = rpc::ToProto(score);
        }
        if (next < count) {
          page.set_next_page_token(absl::StrCat(next));
        }
        return page;
      });
}

// --- artifacts and streams -----------------------------------------------------------------------

grpc::ServerUnaryReactor* CoordinatorService::FindMissingArtifacts(
    CallContext* call, const v1::FindMissingArtifactsRequest* request,
    v1::FindMissingArtifactsResponse* response) {
  if (request->digests_size() > kDigestsMax) {
    return AnswerNow(call, absl::InvalidArgumentError(absl::StrCat("digests: at most ", kDigestsMax,
                                                                   " in one call, got ",
                                                                   request->digests_size())));
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  transfers_.Submit([this, request, response, reactor] {
    reactor->Finish(rpc::ToGrpcStatus(FindMissing(*request, artifacts_, response)));
  });
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::GetUploadOffset(
    CallContext* call, const v1::GetUploadOffsetRequest* request,
    v1::GetUploadOffsetResponse* response) {
  return AnswerUploadOffset(artifacts_, transfers_, partial_, call, request, response);
}

grpc::ServerReadReactor<v1::UploadArtifactRequest>* CoordinatorService::UploadArtifact(
    CallContext* call, v1::UploadArtifactResponse* response) {
  UploadLimits limits{limits_.artifact_bytes_max, limits_.disk_free_min, nullptr, nullptr};
  limits.admit = [this, user = call->caller().user, bytes_max = limits.bytes_max](
                     const Digest& digest, int64_t announced,
                     std::function<void(absl::StatusOr<int64_t>)> done) {
    engine_.Call<int64_t>(
        [this, user, digest, announced,
         bytes_max](Scheduler& scheduler) -> absl::StatusOr<int64_t> {
          const std::optional<int64_t> free_bytes = scheduler.views().owners().FreeBytesOf(user);
          return free_bytes.has_value() ? uploads_.Begin(user, digest, announced, *free_bytes)
                                        : bytes_max;
        },
        std::move(done));
  };
  limits.ended = [this, user = call->caller().user](const Digest& digest, int64_t bytes) {
    uploads_.End(user, digest, bytes);
  };
  return ReceiveArtifact(artifacts_, transfers_, partial_, call->caller().sender, limits, response);
}

grpc::ServerWriteReactor<v1::DownloadArtifactResponse>* CoordinatorService::DownloadArtifact(
    CallContext* /*call*/, const v1::DownloadArtifactRequest* request) {
  return SendArtifact(artifacts_, transfers_, *request);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* CoordinatorService::WatchSweep(
    CallContext* call, const v1::WatchSweepRequest* request) {
  return StreamSweep(engine_.board(), *request, call->caller().user);
}

grpc::ServerWriteReactor<v1::ReadLogResponse>* CoordinatorService::ReadLog(
    CallContext* call, const v1::ReadLogRequest* request) {
  return StreamLog(engine_, artifacts_, transfers_, *request, call->caller().user);
}

}  // namespace concur
