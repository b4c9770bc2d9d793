// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/slurm_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "coordinator/provision/pilot_script.h"
#include "coordinator/provision/slurm_reasons.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kSubmitTimeout = absl::Seconds(60);
constexpr size_t kSlurmMessageBytesMax = 600;
constexpr size_t kFields = 5;
constexpr char kKeyVariable[] = "CONCUR_PILOT_KEY";
constexpr size_t kCommentBytesMax = 1100;

std::optional<PilotReport::State> StateOf(absl::string_view state) {
  static constexpr std::array<absl::string_view, 6> kPending = {
      "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"};
  static constexpr std::array<absl::string_view, 8> kRunning = {
      "RUNNING",   "CONFIGURING", "SUSPENDED", "STOPPED",
      "SIGNALING", "RESIZING",    "STAGE_OUT", "COMPLETING"};
  static constexpr std::array<absl::string_view, 10> kEnded = {
      "COMPLETED", "FAILED",    "TIMEOUT",  "NODE_FAIL", "OUT_OF_MEMORY",
      "BOOT_FAIL", "CANCELLED", "DEADLINE", "PREEMPTED", "REVOKED"};
  const auto in = [state](const auto& names) {
    return std::find(names.begin(), names.end(), state) != names.end();
  };
  if (in(kPending)) {
    return PilotReport::State::kPending;
  }
  if (in(kRunning)) {
    return PilotReport::State::kRunning;
  }
  if (in(kEnded)) {
    return PilotReport::State::kEnded;
  }
  return std::nullopt;
}

// Returns true if Slurm or a person ended the job.
bool IsTakenBack(absl::string_view state) {
  return state == "CANCELLED" || state == "PREEMPTED" || state == "NODE_FAIL" || state == "REVOKED";
}

absl::Status Garbled(absl::string_view line) {
  constexpr size_t kShownMax = 120;
  return absl::DataLossError(
      absl::StrCat("squeue printed a line that makes no sense: ", Quoted(line, kShownMax)));
}

// "cpu-19" of the job "concur-ID-cpu-17" and the array index "2"; "" when it is none of ours.
std::string PilotOf(absl::string_view job_name, absl::string_view index, const PilotSetup& setup) {
  if (!absl::ConsumePrefix(&job_name, PilotPrefix(setup))) {
    return "";
  }
  const size_t dash = job_name.rfind('-');
  int64_t first = 0;
  if (dash == job_name.npos || dash == 0 || !absl::SimpleAtoi(job_name.substr(dash + 1), &first) ||
      first < 0) {
    return "";
  }
  int64_t offset = 0;
  if (index != "N/A" && !absl::SimpleAtoi(index, &offset)) {
    return "";
  }
  return absl::StrCat(job_name.substr(0, dash), "-", first + offset);
}

}  // namespace

std::string SlurmJobName(const PilotSetup& setup, const std::vector<std::string>& pilots) {
  CONCUR_CHECK(!pilots.empty());
  return absl::StrCat(PilotPrefix(setup), pilots[0]);
}

std::string SlurmScript(const PoolSpec& pool, const PilotSetup& setup,
                        const std::vector<std::string>& pilots) {
  PilotScriptParts parts;
  parts.name = absl::StrCat("first=", PilotNumber(pilots[0]), "\nname=", ShellQuoted(pool.name),
                            "-$((first + ${SLURM_ARRAY_TASK_ID:-0}))\n");
  // Secrets come with the environment, for scripts are shown to operators.
  if (!setup.key_pem.empty()) {
    parts.key = absl::StrCat("printf '%s' \"$", kKeyVariable, "\" > client.key\nunset ",
                             kKeyVariable, "\n");
  }
  parts.setup_failed = absl::StrCat("scontrol update JobId=\"$SLURM_JOB_ID\" Comment=\"${why:0:",
                                    kPilotReasonBytesMax, "}\" >&2\n");
  return PilotScript(pool, setup, parts);
}

CommandRequest SbatchRequest(const PoolSpec& pool, const PilotSetup& setup,
                             const std::string& token, const std::vector<std::string>& pilots) {
  CommandRequest request;
  const std::string job_name = SlurmJobName(setup, pilots);
  request.argv = {"sbatch",
                  "--parsable",
                  absl::StrCat("--job-name=", job_name),
                  absl::StrCat("--comment=Concur pool ", pool.name),
                  "--no-requeue",
                  "--nodes=1",
                  "--ntasks=1",
                  absl::StrCat("--cpus-per-task=", (pool.resources.cpu_millis + 999) / 1000)};
  std::vector<std::string>& argv = request.argv;
  if (pilots.size() > 1) {
    argv.push_back(absl::StrCat("--array=0-", pilots.size() - 1));
  }
  if (pool.resources.memory_bytes > 0) {
    constexpr int64_t kMiB = 1 << 20;
    argv.push_back(absl::StrCat("--mem=", (pool.resources.memory_bytes + kMiB - 1) / kMiB, "M"));
  }
  if (pool.resources.gpus > 0) {
    argv.push_back(absl::StrCat("--gres=gpu:", pool.resources.gpus));
  }
  if (pool.time_limit != absl::InfiniteDuration()) {
    argv.push_back(absl::StrCat(
        "--time=", absl::ToInt64Minutes(absl::Ceil(pool.time_limit, absl::Minutes(1)))));
    // Slurm's clocks are coarse: the signal may come up to a minute earlier.
    argv.push_back(absl::StrCat("--signal=B:TERM@", absl::ToInt64Seconds(pool.drain_margin)));
  }
  const auto add = [&argv](const char* flag, const std::string& value) {
    if (!value.empty()) {
      argv.push_back(absl::StrCat(flag, value));
    }
  };
  add("--partition=", pool.slurm.partition);
  add("--account=", pool.slurm.account);
  add("--qos=", pool.slurm.qos);
  add("--constraint=", pool.slurm.constraint);
  argv.push_back(absl::StrCat(
      "--output=", pool.slurm.log_directory.empty()
                       ? std::string("/dev/null")
                       : absl::StrCat(pool.slurm.log_directory, "/", job_name, ".%a.log")));
  // Nothing of the coordinator's environment but what a worker needs.
  argv.push_back(absl::StrCat("--export=CONCUR_TOKEN,PATH,HOME,LANG",
                              setup.key_pem.empty() ? "" : ",",
                              setup.key_pem.empty() ? "" : kKeyVariable));
  argv.insert(argv.end(), pool.slurm.arguments.begin(), pool.slurm.arguments.end());
  request.env = {{"CONCUR_TOKEN", token}};
  if (!setup.key_pem.empty()) {
    request.env[kKeyVariable] = setup.key_pem;
  }
  request.input = SlurmScript(pool, setup, pilots);
  request.timeout = kSubmitTimeout;
  return request;
}

absl::StatusOr<std::string> ParseSbatch(absl::string_view out) {
  absl::string_view line = absl::StripAsciiWhitespace(out);
  line = line.substr(0, line.find(';'));  // "ID;CLUSTER"
  int64_t id = 0;
  if (!absl::SimpleAtoi(line, &id) || id <= 0) {
    return absl::DataLossError(absl::StrCat("sbatch: expected a job id, got ", Quoted(out, 120)));
  }
  return absl::StrCat(id);
}

std::vector<std::string> SqueueArguments() {
  // The name comes last: it may hold anything.
  return {"squeue", "--noheader", "--me", "--array", "--states=all", "--format=%i|%K|%T|%r|%j"};
}

bool MayHaveFailedSetup(const PilotReport& report) {
  return report.state == PilotReport::State::kEnded &&
         absl::StrContains(report.message, ": FAILED");
}

std::vector<std::string> SqueueCommentArguments(const std::string& job) {
  return {"squeue", "--noheader", absl::StrCat("--jobs=", job), "--states=all", "--format=%k"};
}

std::string SetupFailureOf(absl::string_view out) {
  const absl::string_view comment = absl::StripAsciiWhitespace(out).substr(0, kCommentBytesMax);
  return absl::StartsWith(comment, kPilotSetupFailed) ? OneLine(comment) : "";
}

std::string ParseSbatchTest(absl::string_view err) {
  // "sbatch: Job 7 to start at 2026-01-01T00:00:00 using 1 processors on nodes n1 in partition p".
  for (absl::string_view line : absl::StrSplit(err, '\n', absl::SkipEmpty())) {
    const size_t start = line.find(" to start at ");
    if (start != line.npos) {
      return absl::StrCat("Slurm would start a worker at ",
                          OneLine(line.substr(start + 13), kSlurmMessageBytesMax));
    }
  }
  return "Slurm takes its jobs";
}

absl::StatusOr<std::vector<SlurmPilot>> ParseSqueue(absl::string_view out,
                                                    const PilotSetup& setup) {
  std::vector<SlurmPilot> pilots;
  if (!out.empty() && out.back() != '\n') {
    return Garbled(out.substr(out.rfind('\n') + 1));
  }
  for (const absl::string_view line : absl::StrSplit(out, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line, absl::MaxSplits('|', kFields - 1));
    if (fields.size() != kFields) {
      return Garbled(line);
    }
    SlurmPilot pilot;
    pilot.job_name = std::string(absl::StripAsciiWhitespace(fields[4]));
    pilot.report.name = PilotOf(pilot.job_name, fields[1], setup);
    if (pilot.report.name.empty()) {
      if (absl::StartsWith(pilot.job_name, PilotPrefix(setup))) {
        return Garbled(line);
      }
      continue;
    }
    const std::optional<PilotReport::State> state = StateOf(fields[2]);
    if (!state) {
      return Garbled(line);
    }
    pilot.report.state = *state;
    pilot.report.external_id = std::string(fields[0]);
    if (*state == PilotReport::State::kPending) {
      SlurmReason reason = ExplainSlurmReason(fields[3]);
      pilot.report.message = std::move(reason.words);
      pilot.report.impossible = reason.impossible;
    } else if (*state == PilotReport::State::kEnded) {
      pilot.report.taken_back = IsTakenBack(fields[2]);
      pilot.report.message = absl::StrCat(
          "Slurm job ", fields[0], " ended: ", fields[2],
          fields[3] == "None" || fields[3].empty() ? "" : absl::StrCat(" (", fields[3], ")"));
    }
    pilots.push_back(std::move(pilot));
  }
  return pilots;
}

absl::Status SlurmError(absl::string_view program, const CommandResult& result) {
  std::string message = WhatItSaid(program, result);
  if (absl::StrContains(message, "Invalid job array specification")) {
    absl::StrAppend(&message, "; set the pool's slurm.array_max to Slurm's MaxArraySize, or to 1");
  }
  for (const char* sign :
       {"Unable to contact slurm controller", "Socket timed out", "Connection refused",
        "Zero Bytes were transmitted", "temporarily unable", "Communication connection failure",
        "slurm_persist_conn", "Connection timed out", "Transport endpoint", "Protocol"}) {
    if (absl::StrContains(message, sign)) {
      return absl::UnavailableError(message);
    }
  }
  return absl::FailedPreconditionError(message);
}

}  // namespace concur::provision
