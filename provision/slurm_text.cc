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
#include "provision/slurm_reasons.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kSubmitTimeout = absl::Seconds(60);
constexpr size_t kSlurmMessageBytesMax = 600;
constexpr size_t kFields = 5;
constexpr char kKeyVariable[] = "CONCUR_PILOT_KEY";
constexpr absl::string_view kSetupFailed = "setup failed: ";
constexpr size_t kCommentBytesMax = 1100;

std::string Prefix(const PilotSetup& setup) {
  return absl::StrCat("concur-", setup.coordinator_id, "-");
}

std::string DirectoryOf(const std::string& program) {
  const size_t slash = program.rfind('/');
  return slash == std::string::npos ? "" : program.substr(0, slash);
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

// The profile of a login shell, which defines `module` and the like. Not `bash -l`: profiles set
// PATH anew, and the submitted one, on which Slurm's own programs may be, would be lost.
constexpr char kProfileLines[] = R"sh(submitted_path=$PATH
for profile in /etc/profile ~/.bash_profile ~/.bash_login ~/.profile; do
  [ -r "$profile" ] || continue
  . "$profile"
  [ "$profile" = /etc/profile ] || break
done
PATH=$PATH:$submitted_path
)sh";

// A directory of the pilot's own, locked while the pilot or its worker lives, so that the next
// pilot on the node can remove what a killed one has left. On shared storage only those of its own
// host are looked at: not every file system locks across hosts.
constexpr char kDirectoryLines[] = R"sh(umask 077
dir=$prefix$name
host=$(uname -n)
mkdir -p "$dir" || exit 72
cd "$dir" || exit 72
if command -v flock >/dev/null; then
  exec 8>lock && flock -n 8 && echo "$host" > host
  for old in "$prefix"*/; do
    [ "$(cat "$old/host" 2>/dev/null)" = "$host" ] && flock -n "$old/lock" true && rm -rf "$old"
  done
fi
)sh";

// `lines` as one piece of shell. The first that fails ends the pilot, and is named in the comment
// of its Slurm job, where the coordinator reads it. An ERR trap and not `set -e`, which functions
// such as `module` inherit and do not expect.
std::string SetupLines(const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return "";
  }
  std::string script = "setup=(\n";
  for (const std::string& line : lines) {
    absl::StrAppend(&script, "  ", ShellQuoted(line), "\n");
  }
  absl::StrAppend(&script, R"sh()
setup_failed() {
  trap - ERR EXIT
  exec 2>&9
  cat "$dir/setup.err" >&2
  why="$(tail -n 1 "$dir/setup.err" | tr -cd '[:print:]')"
  if [ "$2" -gt 0 ]; then line="line $2, ${setup[$2 - 1]}"; else line="it ended the script"; fi
  why=")sh",
                  kSetupFailed, R"sh($line (exit code $1)${why:+: $why}"
  echo "$why" >&2
  scontrol update JobId="$SLURM_JOB_ID" Comment="${why:0:1000}" >&2
  cd / && rm -rf "$dir"
  exit 78
}
exec 9>&2 2>"$dir/setup.err"
trap 'setup_failed "$?" "$((LINENO - setup_at))"' ERR
trap 'setup_failed "$?" 0' EXIT
setup_at=$LINENO
)sh",
                  absl::StrJoin(lines, "\n"), R"sh(
trap - ERR EXIT
exec 2>&9 9>&-
cat "$dir/setup.err" >&2
)sh");
  return script;
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
  std::string script = absl::StrCat(
      "#!/bin/bash\n# A worker of Concur's pool ", pool.name, ".\n",
      pool.setup.empty() ? "" : kProfileLines, "first=", PilotNumber(pilots[0]), "\n",
      "name=", ShellQuoted(pool.name), "-$((first + ${SLURM_ARRAY_TASK_ID:-0}))\n", "base=",
      pool.work_directory.empty() ? std::string("${TMPDIR:-/tmp}")
                                  : ShellQuoted(pool.work_directory),
      "\n", "prefix=$base/concur-", setup.coordinator_id, "-\n", kDirectoryLines);
  absl::StrAppend(&script, CredentialLines(setup), SetupLines(pool.setup));
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

bool MayHaveFailedSetup(const PilotReport& report) {
  return report.state == PilotReport::State::kEnded &&
         absl::StrContains(report.message, ": FAILED");
}

std::vector<std::string> SqueueCommentArguments(const std::string& job) {
  return {"squeue", "--noheader", absl::StrCat("--jobs=", job), "--states=all", "--format=%k"};
}

std::string SetupFailureOf(absl::string_view out) {
  const absl::string_view comment = absl::StripAsciiWhitespace(out).substr(0, kCommentBytesMax);
  return absl::StartsWith(comment, kSetupFailed) ? absl::CHexEscape(comment) : "";
}

std::string ParseSbatchTest(absl::string_view err) {
  // "sbatch: Job 7 to start at 2026-01-01T00:00:00 using 1 processors on nodes n1 in partition p".
  for (absl::string_view line : absl::StrSplit(err, '\n', absl::SkipEmpty())) {
    const size_t start = line.find(" to start at ");
    if (start != line.npos) {
      return absl::StrCat("Slurm would start a worker at ",
                          absl::CHexEscape(line.substr(start + 13, kSlurmMessageBytesMax)));
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
