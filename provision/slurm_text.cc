// SPDX-License-Identifier: Apache-2.0
#include "provision/slurm_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kSubmitTimeout = absl::Seconds(60);
constexpr size_t kSlurmMessageBytesMax = 600;
constexpr size_t kFields = 5;
constexpr char kKeyVariable[] = "CONCUR_PILOT_KEY";

std::string Prefix(const PilotSetup& setup) {
  return absl::StrCat("concur-", setup.coordinator_id, "-");
}

std::string DirectoryOf(const std::string& program) {
  const size_t slash = program.rfind('/');
  return slash == std::string::npos ? "" : program.substr(0, slash);
}

struct Reason {
  absl::string_view code;
  absl::string_view words;
  bool impossible = false;  // somebody has to change something first
};
constexpr Reason kReasons[] = {
    {"AssocGrpCpuLimit", "the account's limit on CPUs is reached"},
    {"AssocGrpCPUMinutesLimit", "the account's CPU minutes are used up", true},
    {"AssocMaxJobsLimit", "the account's limit on jobs is reached"},
    {"BadConstraints", "no node has the constraint: this will never run", true},
    {"BeginTime", "not before its begin time"},
    {"JobHeldAdmin", "held by an administrator", true},
    {"JobHeldUser", "held: `scontrol release` lets it go", true},
    {"Licenses", "waits for a license"},
    {"NodeDown", "the nodes that it needs are down"},
    {"None", "waits for Slurm's scheduler to look at it"},
    {"PartitionDown", "its partition is down", true},
    {"PartitionInactive", "its partition is inactive", true},
    {"PartitionNodeLimit", "asks for more nodes than its partition has: this will never run", true},
    {"PartitionTimeLimit", "time_limit is longer than its partition allows: this will never run",
     true},
    {"Priority", "other jobs are before it"},
    {"QOSMaxCpuPerUserLimit", "the QOS's limit on CPUs is reached"},
    {"QOSMaxJobsPerUserLimit", "the QOS's limit on jobs is reached"},
    {"QOSMaxSubmitJobPerUserLimit", "the QOS's limit on submitted jobs is reached"},
    {"ReqNodeNotAvail", "the nodes that it needs are not available"},
    {"Reservation", "waits for its reservation"},
    {"Resources", "waits for room"},
};

// Null when it is not known.
const Reason* FindReason(absl::string_view reason) {
  for (const Reason& known : kReasons) {
    // "ReqNodeNotAvail, UnavailableNodes:n[1-4]".
    if (reason == known.code || absl::StartsWith(reason, absl::StrCat(known.code, ","))) {
      return &known;
    }
  }
  return nullptr;
}

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

// Whether Slurm or a person ended the job.
bool IsTakenBack(absl::string_view state) {
  return state == "CANCELLED" || state == "PREEMPTED" || state == "NODE_FAIL" || state == "REVOKED";
}

absl::Status Garbled(absl::string_view line) {
  constexpr size_t kShownMax = 120;
  return absl::DataLossError(absl::StrCat("squeue printed a line that makes no sense: \"",
                                          absl::CHexEscape(line.substr(0, kShownMax)), "\""));
}

// "cpu-19" of the job "concur-ID-cpu-17" and the array index "2"; "" when it is none of ours.
std::string PilotOf(absl::string_view job_name, absl::string_view index, const PilotSetup& setup) {
  if (!absl::ConsumePrefix(&job_name, Prefix(setup))) {
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

std::string WorkerLine(const PoolSpec& pool, const PilotSetup& setup) {
  std::string line = "\"$worker\" --name \"$name\" --work-dir \"$dir/work\"";
  for (const std::string& argument : WorkerArguments(pool, setup)) {
    absl::StrAppend(&line, " ", ShellQuoted(argument));
  }
  return line;
}

// A file in the pilot's directory, whose path is in `variable`.
std::string FileLines(const char* name, const char* variable, const std::string& contents) {
  return absl::StrCat("cat > ", name, " <<'END_OF_FILE'\n", contents,
                      absl::EndsWith(contents, "\n") ? "" : "\n", "END_OF_FILE\n", "export ",
                      variable, "=$dir/", name, "\n");
}

// What is secret comes with the environment, for scripts are shown to operators; what is not, with
// the script.
std::string CredentialLines(const PilotSetup& setup) {
  std::string lines;
  if (!setup.ca_pem.empty()) {
    absl::StrAppend(&lines, FileLines("ca.pem", "CONCUR_CA", setup.ca_pem));
  }
  if (!setup.key_pem.empty()) {
    absl::StrAppend(&lines, FileLines("client.pem", "CONCUR_CERTIFICATE", setup.certificate_pem),
                    "printf '%s' \"$", kKeyVariable, "\" > client.key\n", "unset ", kKeyVariable,
                    "\nexport CONCUR_KEY=$dir/client.key\n");
  }
  return lines;
}

}  // namespace

std::string ShellQuoted(absl::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./:=,@%+", c);
  });
  return plain ? std::string(text)
               : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string SlurmJobName(const PilotSetup& setup, const std::vector<std::string>& pilots) {
  CONCUR_CHECK(!pilots.empty());
  return absl::StrCat(Prefix(setup), pilots[0]);
}

std::string PilotScript(const PoolSpec& pool, const PilotSetup& setup,
                        const std::vector<std::string>& pilots) {
  const std::string program = WorkerProgram(pool, setup);
  std::string script =
      absl::StrCat("#!/bin/bash\n# A worker of Concur's pool ", pool.name, ".\n",
                   "first=", PilotNumber(pilots[0]), "\n", "name=", ShellQuoted(pool.name),
                   "-$((first + ${SLURM_ARRAY_TASK_ID:-0}))\n");
  absl::StrAppend(&script, "base=",
                  pool.work_directory.empty() ? std::string("${TMPDIR:-/tmp}")
                                              : ShellQuoted(pool.work_directory),
                  "\n", "dir=$base/concur-", setup.coordinator_id, "-$name\n", "umask 077\n",
                  "mkdir -p \"$dir\" || exit 72\n", "cd \"$dir\" || exit 72\n");
  absl::StrAppend(&script, CredentialLines(setup));
  for (const std::string& line : pool.setup) {
    absl::StrAppend(&script, line, "\n");
  }
  const std::string directory = DirectoryOf(program);
  if (!directory.empty()) {
    absl::StrAppend(&script, "PATH=", ShellQuoted(directory), ":$PATH\n");
  }
  // The shell stays, to clean up; it hands on the signal that comes before the time limit.
  absl::StrAppend(&script, "worker=", ShellQuoted(program), "\n", WorkerLine(pool, setup), " &\n",
                  "pid=$!\n", "trap 'kill -TERM \"$pid\" 2>/dev/null' TERM INT\n", "while :; do\n",
                  "  wait \"$pid\"\n", "  status=$?\n", "  kill -0 \"$pid\" 2>/dev/null || break\n",
                  "done\n", "cd / && rm -rf \"$dir\"\n", "exit \"$status\"\n");
  return script;
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
  request.input = PilotScript(pool, setup, pilots);
  request.timeout = kSubmitTimeout;
  return request;
}

absl::StatusOr<std::string> ParseSbatch(absl::string_view out) {
  absl::string_view line = absl::StripAsciiWhitespace(out);
  line = line.substr(0, line.find(';'));  // "ID;CLUSTER"
  int64_t id = 0;
  if (!absl::SimpleAtoi(line, &id) || id <= 0) {
    return absl::DataLossError(absl::StrCat("sbatch: expected a job id, got \"",
                                            absl::CHexEscape(out.substr(0, 120)), "\""));
  }
  return absl::StrCat(id);
}

std::vector<std::string> SqueueArguments() {
  // The name comes last: it may hold anything.
  return {"squeue", "--noheader", "--me", "--array", "--states=all", "--format=%i|%K|%T|%r|%j"};
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
      if (absl::StartsWith(pilot.job_name, Prefix(setup))) {
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
      pilot.report.message = PendingReasonText(fields[3]);
      const Reason* reason = FindReason(fields[3]);
      pilot.report.impossible = reason != nullptr && reason->impossible;
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

std::string PendingReasonText(absl::string_view reason) {
  const Reason* known = FindReason(reason);
  return known == nullptr ? std::string(reason) : absl::StrCat(known->words, " (", reason, ")");
}

absl::Status SlurmError(absl::string_view program, const CommandResult& result) {
  std::string text;
  for (absl::string_view line : absl::StrSplit(result.err, '\n', absl::SkipEmpty())) {
    absl::ConsumePrefix(&line, absl::StrCat(program, ": "));
    absl::ConsumePrefix(&line, "error: ");
    absl::StrAppend(&text, text.empty() ? "" : "; ", absl::CHexEscape(line));
  }
  if (text.size() > kSlurmMessageBytesMax) {
    text = absl::StrCat(text.substr(0, kSlurmMessageBytesMax), "…");
  }
  if (text.empty()) {
    text = absl::StrCat("exit code ", result.exit_code, " without a word");
  }
  std::string message = absl::StrCat(program, ": ", text);
  if (absl::StrContains(text, "Invalid job array specification")) {
    absl::StrAppend(&message, "; set the pool's slurm.array_max to Slurm's MaxArraySize, or to 1");
  }
  for (const char* sign :
       {"Unable to contact slurm controller", "Socket timed out", "Connection refused",
        "Zero Bytes were transmitted", "temporarily unable", "Communication connection failure",
        "slurm_persist_conn", "Connection timed out", "Transport endpoint", "Protocol"}) {
    if (absl::StrContains(text, sign)) {
      return absl::UnavailableError(message);
    }
  }
  return absl::FailedPreconditionError(message);
}

}  // namespace concur::provision
