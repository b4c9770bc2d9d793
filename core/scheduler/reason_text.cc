// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/reason_text.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/suggest.h"
#include "core/labels.h"
#include "core/spent.h"

namespace concur {
namespace {

using ReasonCode = JobReason::Code;

// --- parts of sentences

std::string Count(int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string SourceOf(const JobReason& reason) {
  return absl::StrCat(
      reason.starts_from_source ? "the train job that it starts from " : "its train job ",
      reason.source.ToString());
}

std::string TallyOf(const JobReason& reason) {
  return absl::StrCat(reason.failures, " of ", reason.failures_max, " failures, ", reason.lost,
                      " of ", reason.lost_max, " losses");
}

std::string RetryOf(const JobReason& reason) {
  return absl::StrCat("`concur sweep retry ", reason.job.sweep.ToString(), " --job ",
                      reason.job.index, "`");
}

std::string UnansweredText(const JobReason& reason) {
  return reason.unanswered
             ? absl::StrCat("; ", reason.unanswered->questions, " of ", reason.unanswered->of,
                            " questions have no prediction, and count as wrong")
             : "";
}

// That workers were drained, and how they work again; "" for none.
std::string DrainedText(const std::vector<std::string>& names) {
  if (names.empty()) {
    return "";
  }
  return absl::StrCat("; ", *std::min_element(names.begin(), names.end()),
                      names.size() == 1
                          ? " is drained"
                          : absl::StrCat(" and ", names.size() - 1, " more are drained"),
                      ", also after a restart, until `concur worker drain NAME --undo`");
}

std::string QuarantinedText(uint32_t count) {
  return count == 0 ? ""
                    : absl::StrCat("; ", count, count == 1 ? " is" : " are",
                                   " in quarantine (`concur worker list` says why)");
}

// Names the programs to install on a worker that lacks this label of an
// environment.
std::string EnvironmentRemedy(absl::string_view label) {
  absl::ConsumePrefix(&label, kEnvironmentLabelPrefix);
  const absl::string_view programs = label == "root"       ? "bubblewrap, podman or apptainer"
                                     : label == "registry" ? "skopeo, or podman"
                                     : label == "image"    ? "bubblewrap and skopeo, or podman,"
                                     : label == "conda"    ? "micromamba, mamba or conda"
                                                           : label;
  return absl::StrCat("install ", programs,
                      " there and start the worker again (its log says what it tried)");
}

std::string NoLabelText(const JobReason& reason) {
  constexpr size_t kShownMax = 5;
  const auto& [name, value] = *reason.missing.begin();
  std::vector<std::string> shown;
  for (const std::string& there : reason.present) {
    shown.push_back(shown.size() < kShownMax ? absl::StrCat(name, "=", there) : "…");
    if (shown.size() > kShownMax) {
      break;
    }
  }
  return absl::StrCat("waits for a worker with the label", reason.missing.size() == 1 ? " " : "s ",
                      LabelsText(reason.missing), ", which no live worker has (",
                      shown.empty() ? absl::StrCat("none has a label ", name)
                                    : absl::StrCat("there are ", absl::StrJoin(shown, ", ")),
                      "); start one with `--label ", name, "=", value,
                      "`, or correct resources.labels");
}

// On one line, cut, SHA-256 digests to twelve digits: which one it is, not what it is.
std::string ShortValue(const std::optional<std::string>& value) {
  constexpr size_t kShownMax = 200;
  constexpr size_t kDigest = 64;
  constexpr size_t kDigits = 12;
  std::string text;
  size_t run = 0;  // hexadecimal digits at the end of `text`
  for (const char c : value.value_or("").empty() ? "none" : *value) {
    run = absl::ascii_isxdigit(static_cast<unsigned char>(c)) ? run + 1 : 0;
    text.push_back(c);
    if (run == kDigest) {
      text.resize(text.size() - kDigest + kDigits);
      text += "…";
      run = 0;
    }
  }
  return OneLine(text, kShownMax);
}

std::string DifferenceText(const NoReuse& reason, const NoReuse::Field& field) {
  if (field.name != NoReuse::kCodeField && field.name != NoReuse::kPredictCodeField) {
    return absl::StrCat(field.name, " (", ShortValue(field.there), " there, ",
                        ShortValue(field.here), " here)");
  }
  if (!reason.code_here || !reason.code_there) {
    return absl::StrCat("code (none ", reason.code_here ? "there" : "here", ")");
  }
  constexpr size_t kShownMax = 5;
  std::vector<std::string> files = reason.code_files;
  const size_t more = files.size() > kShownMax ? files.size() - kShownMax : 0;
  files.resize(files.size() - more);
  return absl::StrCat("code: ", absl::StrJoin(files, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

// Why it took no result of an earlier job; "" when there is nothing to say.
std::string NoReuseText(const NoReuse& reason) {
  if (!reason.same_work.empty()) {
    constexpr size_t kShownMax = 3;
    std::vector<std::string> ids;
    for (const JobId id : reason.same_work) {
      ids.push_back(id.ToString());
    }
    return absl::StrCat(reason.asked_to_run ? "; asked to run although the same work was also done"
                                            : "; the same work was also done",
                        " by ", FirstNames(ids, ", ", kShownMax));
  }
  if (!reason.nearest) {
    return "";
  }
  std::vector<std::string> differences;
  for (const NoReuse::Field& field : reason.fields) {
    differences.push_back(DifferenceText(reason, field));
  }
  return absl::StrCat("; not reused: the nearest earlier job, ", reason.nearest->ToString(),
                      ", differs in ", absl::StrJoin(differences, ", "));
}

std::string PausedText(const JobReason& reason) {
  return absl::StrCat(
      "paused by early_stop at ", reason.rung.until, " of ", reason.rung.max, " steps: of the ",
      reason.rung.reached, " settings ", reason.rung.has_brackets ? "of its bracket " : "",
      "that have reached this step, 1 in ", reason.rung.eta, " goes on, the best by ",
      reason.metric, "; at least one does once no other can reach it; `concur sweep steps ",
      reason.job.sweep.ToString(), "` shows what they reported");
}

std::string StoredBytesText(const JobReason& reason) {
  const OwnerUse& use = reason.owner_use;
  std::string text =
      absl::StrCat("waits for its owner's quota: ", reason.owner, " stores ", use.stored_bytes,
                   " bytes, and stored_bytes_max is ", use.quota.stored_bytes_max,
                   "; `concur sweep delete` of what is no longer needed makes room");
  if (use.checkpoint_bytes > 0) {
    absl::StrAppend(&text, "; ", use.checkpoint_bytes,
                    " of them are checkpoints of jobs that have not ended: "
                    "`concur sweep cancel` "
                    "and `concur job cancel` free them, a higher quota lets "
                    "the jobs go on");
  }
  return text;
}

// --- a READY job

std::string UseText(const JobReason::Use& use) {
  const std::string remedy = absl::StrCat("`concur resource set ", use.name, " N`");
  if (!use.amount) {
    return absl::StrCat("waits for ", use.name, ", which is not set: ", remedy,
                        " says how many units there are");
  }
  if (use.units > *use.amount) {
    return absl::StrCat("waits for ", use.name, ": it uses ", use.units, ", and there are ",
                        *use.amount, "; ", remedy, " changes that");
  }
  if (use.per_minute > 0) {
    return absl::StrCat("waits for ", use.name, ": ", use.per_minute, " a minute");
  }
  if (use.in_use + use.units > *use.amount) {
    return absl::StrCat("waits for ", use.units == 1 ? "" : absl::StrCat(use.units, " of "),
                        use.name, ": ", use.in_use, " of ", *use.amount, " in use");
  }
  return use.silent.empty()
             ? absl::StrCat("waits for ", use.name,
                            ": a worker still runs an attempt of a deleted ",
                            "sweep, whose use is unknown")
             : absl::StrCat("waits for ", use.name, ": worker ", use.silent,
                            " may hold some, and has not called since the coordinator started");
}

std::string ServiceText(const JobReason& reason) {
  const JobReason::Service& service = *reason.service;
  const auto rounded = [](absl::Duration time) {
    return absl::FormatDuration(absl::Ceil(time, absl::Seconds(1)));
  };
  const std::string what = service.name.empty() ? "waits for its service"
                                                : absl::StrCat("waits for service ", service.name);
  switch (reason.code) {
    case ReasonCode::kServiceLoads:
      return absl::StrCat(what, ", which loads on worker ", service.worker,
                          service.time ? absl::StrCat(": ", rounded(*service.time)) : "",
                          service.load ? absl::StrCat(" of about ", rounded(*service.load)) : "");
    case ReasonCode::kServiceBusy:
      return absl::StrCat(what, ": it serves ", service.serves, " jobs at a time on worker ",
                          service.worker);
    default:
      return absl::StrCat(what, ", which ended ", Count(service.failed_starts, "time", "times"),
                          " before it was ready and is started again in ",
                          rounded(service.next_start));
  }
}

// Says why the workers that there are do not take it.
std::string FleetText(const JobReason& reason) {
  const FleetCounts& fleet = reason.fleet;
  const std::string needs = RequestText(reason.resources, reason.labels);
  const std::string aside = QuarantinedText(fleet.quarantined);
  const std::string kind = reason.labels.empty()
                               ? " live workers"
                               : absl::StrCat(" live workers labeled ", LabelsText(reason.labels));
  switch (reason.code) {
    case ReasonCode::kNoWorker:
      return absl::StrCat(
          "waits for a worker: none is live",
          fleet.draining > 0 ? absl::StrCat(" (", fleet.draining, " draining)") : "", "; it needs ",
          needs, aside, DrainedText(fleet.drained));
    case ReasonCode::kLabelsOnNoneAtOnce:
      return absl::StrCat("waits for a worker with all of the labels ", LabelsText(reason.labels),
                          ": live workers have each of them, but none has all", aside);
    case ReasonCode::kNoEnvironment:
      return absl::StrCat("waits for a worker with ", LabelsText(reason.missing),
                          ", which no live worker has: none can build and run the approach's "
                          "environment; ",
                          EnvironmentRemedy(reason.missing.begin()->first), aside);
    case ReasonCode::kNoLabel:
      return absl::StrCat(NoLabelText(reason), aside);
    case ReasonCode::kReserved:
      return absl::StrCat("waits for a worker that takes it: it needs ", needs, "; ",
                          fleet.reserved, " of ", fleet.labeled, kind, " take",
                          fleet.reserved == 1 ? "s" : "", " only jobs that ask for GPUs (label ",
                          kGpusMinLabel,
                          "; `accept: {gpus_min: 0}` in the pool would let others in), and no "
                          "other can hold it",
                          aside);
    case ReasonCode::kTooLarge:
      return absl::StrCat("fits on none of the ", fleet.labeled, kind, ": it needs ", needs,
                          "; start a larger worker or lower the approach's resources", aside);
    case ReasonCode::kNoRoom:
      return absl::StrCat("waits for room: it needs ", needs, "; ", fleet.fits_empty, " of ",
                          fleet.labeled, kind, " could hold it and are busy; ", reason.ready,
                          " jobs are ready in all");
    default:
      return absl::StrCat("waits for its turn: ", reason.ready, " jobs are ready, priority ",
                          reason.priority);
  }
}

std::string ReadyText(const JobReason& reason) {
  switch (reason.code) {
    case ReasonCode::kSweepPaused: {
      const std::string sweep = reason.job.sweep.ToString();
      return absl::StrCat("waits: sweep ", sweep, " is paused; `concur sweep resume ", sweep,
                          "` lets it go on");
    }
    case ReasonCode::kOverBudget: {
      const std::string sweep = reason.job.sweep.ToString();
      return absl::StrCat("waits: sweep ", sweep, " is paused by its budget of ",
                          UsdText(UsdOf(reason.budget)), ": ", UsdText(UsdOf(reason.spent)),
                          " spent, ", UsdText(UsdOf(reason.promised)),
                          " more expected of running jobs, ", UsdText(UsdOf(reason.cost)),
                          " of this one; `concur sweep set ", sweep, " --budget-usd N` raises it");
    }
    case ReasonCode::kAwaitsCost:
      return "waits for the running job of its sweep: until their cost is known, a sweep with a "
             "budget runs one job at a time";
    case ReasonCode::kSweepCanceled:
      return absl::StrCat("is about to be canceled with sweep ", reason.job.sweep.ToString());
    case ReasonCode::kSweepRetried:
      return absl::StrCat("waits: sweep ", reason.job.sweep.ToString(),
                          " is being retried, and starts once all its jobs are back in the queue");
    case ReasonCode::kRunningJobsMax:
      return absl::StrCat("waits for its owner's quota: ", reason.owner, " runs ",
                          reason.owner_use.running_jobs, " jobs, and running_jobs_max is ",
                          reason.owner_use.quota.running_jobs_max);
    case ReasonCode::kStoredBytesMax:
      return StoredBytesText(reason);
    case ReasonCode::kNoUnits:
      return UseText(*reason.use);
    case ReasonCode::kServiceFailed:
    case ReasonCode::kServiceLoads:
    case ReasonCode::kServiceBusy:
      return ServiceText(reason);
    case ReasonCode::kMustRunAlone:
      return absl::StrCat(
          "runs alone next, on a worker without other jobs, since its worker "
          "died ",
          reason.deaths, " times in a row while it ran; waits for one that is empty and holds ",
          RequestText(reason.resources, reason.labels));
    case ReasonCode::kNoTime:
      return absl::StrCat("waits for a worker that stays long enough: it takes about ",
                          absl::FormatDuration(absl::Floor(reason.expected, absl::Milliseconds(1))),
                          ", and none of the ", reason.fleet.fits_free,
                          " workers with room stays that long; a pool's time_limit says how "
                          "long its workers stay");
    default:
      return FleetText(reason);
  }
}

// --- a job that has ended

std::string EndText(const JobReason& reason) {
  switch (reason.code) {
    case ReasonCode::kReused:
      return absl::StrCat("took the result of ", reason.other.ToString(),
                          ": their content keys are equal");
    case ReasonCode::kImported:
      return absl::StrCat("imported, not run here: ", reason.message);
    case ReasonCode::kSucceeded:
      return absl::StrCat("succeeded in attempt ", reason.attempt, " on worker ", reason.worker,
                          UnansweredText(reason));
    case ReasonCode::kFailed:
      return absl::StrCat(
          "given up after attempt ", reason.attempt, ", which ended as ",
          FailureClassName(reason.failure), " (",
          reason.failure == FailureClass::kConfig ? "not tried again" : TallyOf(reason),
          "): ", reason.message, "; what it printed: `concur job logs ", reason.job.ToString(),
          "`");
    case ReasonCode::kGap:
      return "a gap: no score was imported for it";
    case ReasonCode::kCanceledWithSweep:
      return "canceled with its sweep";
    case ReasonCode::kCanceled:
      return absl::StrCat("canceled; ", RetryOf(reason), " returns it to the queue");
    case ReasonCode::kSkippedSourceFailed:
      return absl::StrCat("skipped: ", SourceOf(reason),
                          " failed; `concur sweep retry` tries both again");
    case ReasonCode::kSkippedSourceFailedOnce:
      return absl::StrCat("skipped when ", SourceOf(reason),
                          " had failed; `concur sweep retry` tries it again");
    case ReasonCode::kSkippedWithSource:
      return absl::StrCat("skipped with ", SourceOf(reason), ": ",
                          ReasonText(reason.source_reason.front()));
    case ReasonCode::kSkipped:
      return absl::StrCat("skipped: ",
                          reason.message.empty()
                              ? "too many jobs like it had failed, and none had succeeded"
                              : reason.message,
                          "; `concur sweep retry` tries it again");
    case ReasonCode::kStopped:
      return absl::StrCat("stopped by early_stop: other settings do better by ", reason.metric,
                          "; ", RetryOf(reason), " trains it to its end");
    default:
      return absl::StrCat("stopped: early_stop ended its train job ", reason.source.ToString(),
                          "; ", RetryOf(reason), " trains it to its end, and evaluates it");
  }
}

std::string StateText(const JobReason& reason) {
  switch (reason.code) {
    case ReasonCode::kAwaitsEqual:
      return absl::StrCat("waits for ", reason.other.ToString(),
                          ", which does the same work, to share its result");
    case ReasonCode::kAwaitsSource:
      return absl::StrCat("waits for ", SourceOf(reason));
    case ReasonCode::kAwaitsImport:
      return "waits for its sweep to be imported";
    case ReasonCode::kPaused:
      return PausedText(reason);
    case ReasonCode::kAwaitsTrials:
      return reason.trials == 0
                 ? "its setting is chosen when the sweep goes on"
                 : absl::StrCat("waits for results of ", Count(reason.trials, "trial", "trials"),
                                " of its search, by which its setting is chosen (settings.parallel "
                                "lets more run at a time)");
    case ReasonCode::kBackoff:
      return absl::StrCat("attempt ", reason.attempt, " ended as ",
                          FailureClassName(reason.failure), "; tried again at ",
                          FormatIsoTime(reason.not_before), " (", TallyOf(reason), ")");
    case ReasonCode::kRuns:
      return absl::StrCat("attempt ", reason.attempt, " runs on worker ", reason.worker);
    case ReasonCode::kAhead:
      return absl::StrCat("attempt ", reason.attempt, " waits for something to end on worker ",
                          reason.worker);
    default:
      return reason.code < ReasonCode::kBackoff ? ReadyText(reason) : EndText(reason);
  }
}

// --- pools

std::string ClassText(const DemandClass& demand) {
  return absl::StrCat(Count(static_cast<int64_t>(demand.ready), "job", "jobs"), " of ",
                      RequestText(demand.resources, demand.labels));
}

std::string Rounded(absl::Duration duration) {
  return absl::FormatDuration(duration < absl::Seconds(10)
                                  ? absl::Floor(duration, absl::Milliseconds(1))
                                  : absl::Floor(duration, absl::Seconds(1)));
}

std::string PilotsLostText(const PoolReason& reason) {
  const bool one = reason.pilots.size() == 1;
  return absl::StrCat(absl::StrJoin(reason.pilots, ", "),
                      one ? " is silent, but its provider still has it: it is stopped "
                          : " are silent, but their provider still has them: they are stopped ",
                      absl::FormatDuration(reason.span), " after the last lease, unless ",
                      one ? "it calls" : "they call", " again");
}

std::string DemandPoolText(const DemandReason::Pool& pool) {
  using PoolCode = DemandReason::Pool::Code;
  const std::string name = absl::StrCat("pool ", pool.name);
  switch (pool.code) {
    case PoolCode::kPaused:
      return absl::StrCat(name, " is paused: ", pool.message);
    case PoolCode::kNotBefore:
      return absl::StrCat(name, " tries again at ", FormatIsoTime(pool.time), ": ", pool.message);
    case PoolCode::kStarting:
      return absl::StrCat(name, " has ",
                          Count(pool.size.pending + pool.size.starting, "worker", "workers"),
                          " on the way");
    case PoolCode::kWorking:
      return absl::StrCat(name, " has ", pool.size.working, " of ", pool.size.max, " workers");
  }
  return "";
}

}  // namespace

std::string ReasonText(const JobReason& reason) {
  return absl::StrCat(StateText(reason), NoReuseText(reason.no_reuse));
}

std::string ReasonText(const PoolReason& reason) {
  using PoolCode = PoolReason::Code;
  const PoolSize& size = reason.size;
  switch (reason.code) {
    case PoolCode::kSize:
      return absl::StrCat(Count(size.all(), "worker", "workers"), " of ", size.min, " to ",
                          size.max, ": ", size.working, " working, ", size.starting, " starting, ",
                          size.pending, " in the queue, ", size.draining, " draining");
    case PoolCode::kRemoving:
      return "is being removed: goes when its last worker has left";
    case PoolCode::kPaused:
      return absl::StrCat("paused: ", reason.message, "; `concur pool resume ", reason.pool,
                          "` lets it start workers again");
    case PoolCode::kNotBefore:
      return absl::StrCat("starts nothing before ", FormatIsoTime(reason.time), ": ",
                          Count(reason.count, "start", "starts"), " in a row failed; paused after ",
                          reason.max);
    case PoolCode::kAtMaximum:
      return absl::StrCat("at its maximum: jobs could use ", reason.count, " workers");
    case PoolCode::kWanted:
      return absl::StrCat("jobs could use ", reason.count, " workers");
    case PoolCode::kIdle:
      return "no job waits for a worker of this pool";
    case PoolCode::kImageNotBefore:
      return absl::StrCat("starts nothing of image ", reason.image, " before ",
                          FormatIsoTime(reason.time), ": ", reason.message);
    case PoolCode::kDoubted:
      return "other pools take these jobs first";
    case PoolCode::kLastFailure:
      return absl::StrCat("last failure, at ", FormatIsoTime(reason.time), ": ", reason.message);
    case PoolCode::kProviderSilent:
      return absl::StrCat("its provider has not answered since ", FormatIsoTime(reason.time), ": ",
                          reason.message,
                          "; workers go on, and none are started or stopped until it does");
    case PoolCode::kPilotsWait:
      return absl::StrCat(Count(reason.count, "worker waits", "workers wait"), ": ",
                          reason.message);
    case PoolCode::kPilotsLost:
      return PilotsLostText(reason);
    case PoolCode::kImpossible:
      return absl::StrCat("no worker of any pool can take ", ClassText(reason.demand));
    case PoolCode::kTooLong:
      return absl::StrCat("no time limit is long enough for ", ClassText(reason.demand),
                          ", which take about ", Rounded(reason.demand.run_time),
                          ": raise time_limit");
  }
  return "";
}

std::string ReasonText(const PlannedJob& job) {
  if (job.awaits_setting) {
    return "its search chooses the setting from the scores of those before; runs unless an equal "
           "job has finished";
  }
  const std::string equal = job.equal ? job.equal->ToString() : "";
  if (!job.equal) {
    return absl::StrCat("nothing equal has finished", NoReuseText(job.not_reused));
  }
  if (!job.runs) {
    return job.equal_is_own ? absl::StrCat("takes the result of job ", job.equal->index,
                                           " of this sweep, which does the same work")
           : job.equal_runs ? absl::StrCat("waits for ", equal, ", which does the same work now")
                            : absl::StrCat("takes the result of ", equal);
  }
  return job.asked_to_run ? absl::StrCat("asked to run although ", equal, " does the same work")
                          : absl::StrCat("the system that ", equal, " trained is no longer kept");
}

std::string ReasonText(const DemandReason& reason) {
  if (!reason.has_pools) {
    return "";
  }
  if (!reason.pools.empty()) {
    return absl::StrJoin(reason.pools, "; ", [](std::string* out, const auto& pool) {
      absl::StrAppend(out, DemandPoolText(pool));
    });
  }
  if (reason.large_enough) {
    return absl::StrCat("no pool that is large enough has workers labeled ",
                        LabelsText(reason.labels));
  }
  return reason.reserved.empty() ? "no pool has workers for it"
                                 : absl::StrCat("no pool has workers for it; pool ",
                                                absl::StrJoin(reason.reserved, ", pool "),
                                                " takes only jobs that ask for GPUs (accept: "
                                                "{gpus_min: 0} lets "
                                                "others in)");
}

}  // namespace concur
