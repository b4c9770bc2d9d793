// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/slurm_reasons.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace concur::provision {
namespace {

struct KnownReason {
  absl::string_view code;
  absl::string_view words;
  bool impossible = false;
};

// job_reason_string() of Slurm 22.05, and the codes of later releases that its documentation lists;
// limits of accounts and QOSes have names by a rule (LimitReason).
constexpr KnownReason kKnownReasons[] = {
    {"AccountNotAllowed", "its partition does not admit this account: correct slurm.account", true},
    {"AccountingPolicy", "a limit of its account or QOS is reached: wait, or ask for less"},
    {"AssociationJobLimit", "the account's limit on jobs is reached: wait, or lower workers.max"},
    {"AssociationResourceLimit",
     "the account's limit on resources is reached: wait, or ask for less per worker"},
    {"AssociationTimeLimit", "the account's time is used up: ask its administrator", true},
    {"BadConstraints", "no node has the constraint: correct slurm.constraint", true},
    {"BeginTime", "not before its begin time: wait, or remove --begin from slurm.arguments"},
    {"BlockFreeAction", "a block of nodes is being freed: wait"},
    {"BlockMaxError", "too many blocks of nodes are in error: ask the administrator"},
    {"BurstBufferOperation", "a burst buffer operation failed: ask the administrator", true},
    {"BurstBufferResources", "waits for burst buffers: wait"},
    {"BurstBufferStageIn", "its burst buffer is being filled: wait"},
    {"Cleaning", "is cleaned up after an earlier run: wait"},
    {"Constraints", "no node with its constraint is free: wait, or correct slurm.constraint"},
    {"DeadLine", "its deadline cannot be met: remove --deadline from slurm.arguments", true},
    {"Dependency", "waits for another job: wait, or remove --dependency from slurm.arguments"},
    {"DependencyNeverSatisfied",
     "the job that it depends on did not end as asked: remove --dependency from slurm.arguments",
     true},
    {"FedJobLock", "the federation's clusters agree on who runs it: wait"},
    {"FrontEndDown", "no front end node is up: ask the administrator"},
    {"InactiveLimit", "reached the limit on inactivity", true},
    {"InvalidAccount", "there is no such account: correct slurm.account", true},
    {"InvalidQOS", "there is no such QOS: correct slurm.qos", true},
    {"JobArrayTaskLimit", "its array's limit on tasks at a time is reached: wait"},
    {"JobHeldAdmin", "held by an administrator: ask why, or pause the pool", true},
    {"JobHeldUser", "held: `scontrol release` lets it go", true},
    {"JobHoldMaxRequeue", "was requeued too often, and is held: look at the nodes' logs", true},
    {"JobLaunchFailure", "could not be launched on its node: look at slurmd's log there", true},
    {"Licenses", "waits for a license: wait"},
    {"MaxMemPerLimit", "asks for more memory than a job may have: lower resources.memory", true},
    {"MaxRequeue", "was requeued too often: look at the nodes' logs", true},
    {"NodeDown", "the nodes that it needs are down: wait, or correct slurm.constraint"},
    {"NonZeroExitCode", "ended with an error: its log says which (slurm.log_directory)"},
    {"None", "waits for Slurm's scheduler to look at it"},
    {"OutOfMemory", "ran out of memory: raise resources.memory"},
    {"PartitionConfig",
     "its partition's configuration does not allow it (account, QOS, size or time): compare with "
     "`scontrol show partition`",
     true},
    {"PartitionDown", "its partition is down: wait, or choose another", true},
    {"PartitionInactive", "its partition is inactive: choose another", true},
    {"PartitionNodeLimit",
     "asks for more nodes than its partition has: this will never run; choose another partition",
     true},
    {"PartitionTimeLimit",
     "time_limit is longer than its partition allows: this will never run; lower time_limit", true},
    {"PowerNotAvail", "there is not power enough for its nodes: wait"},
    {"PowerReserved", "its power is reserved: wait"},
    {"Priority", "other jobs are before it: wait"},
    {"Prolog", "its prolog runs: wait"},
    {"QOSJobLimit", "the QOS's limit on jobs is reached: wait, or lower workers.max"},
    {"QOSNotAllowed", "its partition or account does not admit this QOS: correct slurm.qos", true},
    {"QOSResourceLimit",
     "the QOS's limit on resources is reached: wait, or ask for less per worker"},
    {"QOSTimeLimit", "the QOS's time is used up: wait, or choose another slurm.qos", true},
    {"QOSUsageThreshold", "used too much for this QOS: wait, or choose another slurm.qos"},
    {"ReqNodeNotAvail", "the nodes that it needs are not available: wait, or ask for others"},
    {"Reservation", "its reservation has not begun: wait, or correct --reservation"},
    {"ReservationDeleted", "its reservation was deleted: correct --reservation in slurm.arguments",
     true},
    {"Resources", "no room yet: wait, or ask for less per worker"},
    {"SchedDefer", "Slurm defers scheduling at submission: wait"},
    {"SystemFailure", "a part of Slurm failed: ask the administrator", true},
    {"TimeLimit", "reached its time limit"},
};

struct ResourceWord {
  absl::string_view code;
  absl::string_view words;
  absl::string_view field;  // pool field that asks for it
};
// Longer codes before those that they begin with.
constexpr ResourceWord kResourceWords[] = {
    {"BB", "burst buffers", "slurm.arguments"},
    {"Billing", "billing units", "resources"},
    {"CPU", "CPUs", "resources.cpus"},
    {"Cpu", "CPUs", "resources.cpus"},
    {"Energy", "energy", "resources"},
    {"GRES", "GPUs and other generic resources", "resources.gpus"},
    {"Jobs", "jobs", "workers.max"},
    {"License", "licenses", "slurm.arguments"},
    {"Memory", "memory", "resources.memory"},
    {"Mem", "memory", "resources.memory"},
    {"Node", "nodes", "workers.max"},
    {"SubmitJobs", "submitted jobs", "workers.max"},
    {"SubmitJob", "submitted jobs", "workers.max"},
    {"Unknown", "a resource", "resources"},
    {"WallDuration", "run time", "time_limit"},
    {"Wall", "run time", "time_limit"},
};

// "QOSMaxCpuPerUserLimit", "AssocGrpGRESRunMinutes", "QOSMinMemory", "MaxNodePerAccount".
SlurmReason LimitReason(absl::string_view code) {
  absl::string_view rest = code;
  std::string whose = "the account's or QOS's";
  if (absl::ConsumePrefix(&rest, "Assoc")) {
    whose = "the account's";
  } else if (absl::ConsumePrefix(&rest, "QOS")) {
    whose = "the QOS's";
  }
  const bool least = absl::ConsumePrefix(&rest, "Min");
  if (!least && !absl::ConsumePrefix(&rest, "Grp") && !absl::ConsumePrefix(&rest, "Max")) {
    return {};
  }
  for (const ResourceWord& resource : kResourceWords) {
    absl::string_view end = rest;
    if (!absl::ConsumePrefix(&end, resource.code)) {
      continue;
    }
    absl::ConsumeSuffix(&end, "Limit");
    absl::ConsumeSuffix(&end, "NotSatisfied");
    if (least) {
      return {absl::StrCat("asks for less than ", whose, " least of ", resource.words, ": raise ",
                           resource.field),
              true, end.empty()};
    }
    const bool per_job = absl::ConsumeSuffix(&end, "PerJob");
    const bool per_node = absl::ConsumeSuffix(&end, "PerNode");
    const absl::string_view each = per_job                                   ? " of a job"
                                   : per_node                                ? " on a node"
                                   : absl::ConsumeSuffix(&end, "PerUser")    ? " of a user"
                                   : absl::ConsumeSuffix(&end, "PerAccount") ? " of an account"
                                                                             : "";
    // Running jobs free their run minutes; minutes that are used up come back when the period ends.
    const bool running = absl::ConsumeSuffix(&end, "RunMinutes");
    const bool minutes = !running && absl::ConsumeSuffix(&end, "Minutes");
    const bool never = per_job || per_node || resource.code == "WallDuration";
    const std::string what = absl::StrCat(
        whose, " limit on ", minutes || running ? "minutes of " : "", resource.words, each);
    return {never     ? absl::StrCat("asks for more than ", what, ": lower ", resource.field)
            : minutes ? absl::StrCat(what,
                                     " is used up: ask the administrator, or choose another "
                                     "slurm.account or slurm.qos")
                      : absl::StrCat(what, " is reached: wait, or lower ", resource.field),
            never || minutes, end.empty()};
  }
  return {};
}

}  // namespace

SlurmReason ExplainSlurmReason(absl::string_view reason) {
  // "ReqNodeNotAvail, UnavailableNodes:n[1-4]".
  const absl::string_view code = reason.substr(0, reason.find(','));
  SlurmReason explained = LimitReason(code);
  for (const KnownReason& known : kKnownReasons) {
    if (code == known.code) {
      explained = {std::string(known.words), known.impossible, true};
    }
  }
  if (!explained.known) {
    return {std::string(reason)};
  }
  absl::StrAppend(&explained.words, " (", reason, ")");
  return explained;
}

}  // namespace concur::provision
