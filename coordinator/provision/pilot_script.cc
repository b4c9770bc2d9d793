// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/pilot_script.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/http/listener.h"

namespace concur::provision {
namespace {

std::string DirectoryOf(const std::string& program) {
  const size_t slash = program.rfind('/');
  return slash == std::string::npos ? "" : program.substr(0, slash);
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

// Credentials that are not secret come with the script.
std::string CredentialLines(const PilotSetup& setup, const PilotScriptParts& parts) {
  std::string lines = parts.token;
  if (!setup.ca_pem.empty()) {
    absl::StrAppend(&lines, FileLines("ca.pem", "CONCUR_CA", setup.ca_pem));
  }
  if (!setup.key_pem.empty()) {
    absl::StrAppend(&lines, FileLines("client.pem", "CONCUR_CERTIFICATE", setup.certificate_pem),
                    parts.key, "export CONCUR_KEY=$dir/client.key\n");
  }
  return lines;
}

// The profile of a login shell, which defines `module` and the like. Not `bash -l`: profiles set
// PATH anew, and the submitted one, on which an engine's own programs may be, would be lost.
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
//
// One that exists may be what an earlier try of this pilot left, or a trap of another user, for its
// name can be guessed. Only `stat` tells in one step: `[ -O` follows links.
constexpr char kDirectoryLines[] = R"sh(umask 077
dir=$prefix$name
host=$(uname -n)
mkdir -p "$base" || exit 72
if ! mkdir "$dir" 2>/dev/null; then
  if [ -L "$dir" ] || [ "$(stat -c %u "$dir")" != "$EUID" ]; then
    echo "$dir cannot be made, or is another user's: choose another work_directory" >&2
    exit 72
  fi
  chmod 700 "$dir" || exit 72
fi
cd "$dir" || exit 72
fetching=
trap 'trap - EXIT
[ -z "$fetching" ] || { kill "$fetching"; wait "$fetching"; }
cd / && rm -rf "$dir"; exit 143' TERM INT
if command -v flock >/dev/null; then
  exec 8>lock && flock -n 8 && echo "$host" > host
  for old in "$prefix"*/; do
    [ "$(cat "$old/host" 2>/dev/null)" = "$host" ] && flock -n "$old/lock" true && rm -rf "$old"
  done
fi
)sh";

// Ends a pilot that cannot work, with the reason in $why.
std::string FailLines(const PilotScriptParts& parts) {
  return absl::StrCat("fail_pilot() {\n  echo \"$why\" >&2\n", parts.setup_failed,
                      "  cd / && rm -rf \"$dir\"\n  exit 78\n}\n");
}

// `lines` as one piece of shell. The first that fails ends the pilot, and is named in $why. An ERR
// trap and not `set -e`, which functions such as `module` inherit and do not expect.
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
                  kPilotSetupFailed, R"sh($line (exit code $1)${why:+: $why}"
  fail_pilot
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

// Bash has its own way to a port, and every node coreutils: nothing need be installed there. What
// came is judged by its digest alone. All tries share one deadline, in a process group of their own
// that a signal to the pilot ends at once.
constexpr char kFetchLines[] = R"sh(try_fetch() {
  exec 7<>"/dev/tcp/$1/$2" || return
  printf 'GET %s HTTP/1.0\r\n\r\n' "$3" >&7
  IFS=' ' read -r -t 60 -n 1000 version status rest <&7
  case $status in
    200*) ;;
    404*) echo "404: the coordinator has another worker by now" >&2; exit 1 ;;
    *) echo "it answered ${status:-nothing}" >&2; return 1 ;;
  esac
  for ((i = 0; i < 100; i++)); do
    IFS= read -r -t 60 -n 1000 line <&7 && [ "$line" != $'\r' ] || break
  done
  head -c "$4" <&7 > "$dir/concur-worker"
  exec 7<&-
  is_offered "$dir/concur-worker" && chmod 700 "$dir/concur-worker" && exit 0
  echo "what it sent is another file" >&2
}
try_thrice() {
  trap '' PIPE
  try_fetch "$@"; sleep 2; try_fetch "$@"; sleep 10; try_fetch "$@"
  exit 1
}
fetch_worker() {
  dir=$dir timeout 300 bash -c "$(declare -f is_offered try_fetch try_thrice)
    try_thrice \"\$@\"" fetch "$@" </dev/null >/dev/null 2>"$dir/fetch.err" &
  fetching=$!
  wait "$fetching"
  set -- $?
  fetching=
  [ "$1" -ne 124 ] || echo "it took more than 300 s" > "$dir/fetch.err"
  return "$1"
}
)sh";

// HOST of HOST:PORT, without brackets; "" of a socket's path.
std::string HostOfAddress(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (absl::StartsWith(host, "[") && absl::EndsWith(host, "]")) {
    host = host.substr(1, host.size() - 2);
  }
  return host == "unix" ? "" : host;
}

bool IsLoopback(const std::string& address) {
  const absl::StatusOr<http::Endpoint> endpoint = http::ParseEndpoint("coordinator", address);
  return endpoint.ok() && endpoint->IsLoopback();
}

// Sets `worker` to the coordinator's own: the file of this machine that is the same, or what the
// coordinator serves. Where neither is to be had or runs (a machine of another kind, a directory
// without programs), an installed one may stay.
std::string OfferedLines(const PoolSpec& pool, const PilotSetup& setup) {
  if (!setup.offered_worker.has_value() || !pool.worker_program.empty()) {
    return "";
  }
  const OfferedWorker& offered = *setup.offered_worker;
  const std::string& coordinator = pool.coordinator.empty() ? setup.coordinator : pool.coordinator;
  std::vector<std::string> hosts;  // that may serve it
  const std::vector<std::string> addresses = absl::StrSplit(coordinator, ',');
  for (const std::string& address : addresses) {
    if (offered.port > 0 && (!offered.is_local || IsLoopback(address))) {
      hosts.push_back(HostOfAddress(address));
    }
  }
  std::erase(hosts, "");
  const bool is_served = !hosts.empty();
  std::string lines =
      absl::StrCat("offered=", ShellQuoted(offered.file), "\nis_offered() {\n  echo \"",
                   offered.digest, "  $1\" | sha256sum --check --status 2>/dev/null\n}\n",
                   "runs_here() {\n  \"$1\" --version >/dev/null 2>\"$dir/fetch.err\"\n}\n",
                   is_served ? kFetchLines : "");
  absl::StrAppend(&lines, "if is_offered \"$offered\" && runs_here \"$offered\"; then\n",
                  "  worker=$offered\n");
  for (const std::string& host : hosts) {
    absl::StrAppend(&lines, "elif fetch_worker ", ShellQuoted(host), " ", offered.port, " ",
                    OfferedWorkerPage(offered), " ", offered.bytes,
                    " && runs_here \"$dir/concur-worker\"; then\n  worker=$dir/concur-worker\n");
  }
  absl::StrAppend(
      &lines, "elif [ ! -x \"$worker\" ]; then\n  why=\"", kPilotSetupFailed,
      "there is no $worker here, ",
      is_served
          ? absl::StrCat("nor is the coordinator's to be had from port ", offered.port,
                         " of its host: $(tail -n 1 \"$dir/fetch.err\" | tr -cd '[:print:]')")
          : "and the coordinator serves none: it needs metrics_listen on an address of its network",
      "\"\n  fail_pilot\nfi\n");
  return lines;
}

}  // namespace

std::string PilotPrefix(const PilotSetup& setup) {
  return absl::StrCat("concur-", setup.coordinator_id, "-");
}

std::string ShellQuoted(absl::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./:=,@%+", c);
  });
  return plain ? std::string(text)
               : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string PilotScript(const PoolSpec& pool, const PilotSetup& setup,
                        const PilotScriptParts& parts) {
  const std::string program = WorkerProgram(pool, setup);
  std::string script =
      absl::StrCat("#!/bin/bash\n# A worker of Concur's pool ", pool.name, ".\n",
                   pool.setup.empty() ? "" : kProfileLines, parts.name, "base=",
                   pool.work_directory.empty() ? std::string("${TMPDIR:-/tmp}")
                                               : ShellQuoted(pool.work_directory),
                   "\n", "prefix=$base/", PilotPrefix(setup), "\n", kDirectoryLines);
  const std::string setup_lines = SetupLines(pool.setup);
  const std::string offered_lines = OfferedLines(pool, setup);
  absl::StrAppend(&script, CredentialLines(setup, parts),
                  setup_lines.empty() && offered_lines.empty() ? "" : FailLines(parts),
                  setup_lines);
  const std::string directory = DirectoryOf(program);
  if (!directory.empty()) {
    absl::StrAppend(&script, "PATH=", ShellQuoted(directory), ":$PATH\n");
  }
  // The shell stays, to clean up; it hands on the signal that comes before the time limit.
  absl::StrAppend(&script, "worker=", ShellQuoted(program), "\n", offered_lines,
                  WorkerLine(pool, setup), " &\n", "pid=$!\n",
                  "trap 'kill -TERM \"$pid\" 2>/dev/null' TERM INT\n", "while :; do\n",
                  "  wait \"$pid\"\n", "  status=$?\n", "  kill -0 \"$pid\" 2>/dev/null || break\n",
                  "done\n", "cd / && rm -rf \"$dir\"\n", "exit \"$status\"\n");
  return script;
}

}  // namespace concur::provision
