// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/command_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "coordinator/provision/pilot_script.h"

namespace concur::provision {
namespace {

constexpr absl::Duration kProgramTimeout = absl::Seconds(60);
constexpr absl::Duration kListTimeout = absl::Seconds(30);
constexpr size_t kIdBytesMax = 200;
constexpr size_t kWhyBytesMax = 600;
constexpr size_t kShownBytesMax = 120;

absl::Status Garbled(absl::string_view program, absl::string_view line,
                     absl::string_view expected) {
  return absl::DataLossError(
      absl::StrCat(program, ": expected ", expected, ", got ", Quoted(line, kShownBytesMax)));
}

// The pilot of a job's name; "" when it is none of this coordinator's.
std::string PilotOf(absl::string_view job_name, const PilotSetup& setup) {
  if (!absl::ConsumePrefix(&job_name, PilotPrefix(setup))) {
    return "";
  }
  const size_t dash = job_name.rfind('-');
  int64_t number = 0;
  const bool is_pilot = dash != job_name.npos && dash > 0 &&
                        absl::SimpleAtoi(job_name.substr(dash + 1), &number) && number >= 0;
  return is_pilot ? absl::StrCat(job_name.substr(0, dash), "-", number) : "";
}

// A word of list, and what it says of the pilot.
struct StateWord {
  absl::string_view word;
  PilotReport::State state;
  bool impossible = false;
  bool taken_back = false;
};
constexpr std::array<StateWord, 5> kStateWords = {{
    {"pending", PilotReport::State::kPending},
    {"impossible", PilotReport::State::kPending, true},
    {"running", PilotReport::State::kRunning},
    {"ended", PilotReport::State::kEnded},
    {"canceled", PilotReport::State::kEnded, false, true},
}};

bool IsId(absl::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

// A line of the script that reads a secret, or says which setting is wrong.
std::string Read(const std::string& command, const std::string& file) {
  return absl::StrCat(
      command, " || {\n  echo ",
      ShellQuoted(absl::StrCat("concur: cannot read ", file,
                               ": the pool's command.token_directory must be one that nodes have")),
      " >&2\n  exit 72\n}\n");
}

}  // namespace

std::string TokenFile(const std::string& tokens, const PilotSetup& setup) {
  return absl::StrCat(tokens, "/", PilotPrefix(setup), "token");
}

std::string KeyFile(const std::string& tokens, const PilotSetup& setup) {
  return absl::StrCat(tokens, "/", PilotPrefix(setup), "key");
}

std::string FailureFile(const std::string& tokens, const PilotSetup& setup,
                        const std::string& pilot) {
  return absl::StrCat(tokens, "/", PilotPrefix(setup), pilot, ".failed");
}

std::string PilotOfFailureFile(absl::string_view name, const PilotSetup& setup) {
  return absl::ConsumeSuffix(&name, ".failed") ? PilotOf(name, setup) : "";
}

CommandRequest SubmitRequest(const PoolSpec& pool, const PilotSetup& setup,
                             const std::string& tokens, const std::string& pilot, bool has_token) {
  constexpr int64_t kMiB = 1 << 20;
  CommandRequest request;
  request.argv = {absl::StrCat(pool.command.directory, "/submit")};
  request.argv.insert(request.argv.end(), pool.command.arguments.begin(),
                      pool.command.arguments.end());
  const int64_t seconds =
      pool.time_limit == absl::InfiniteDuration() ? 0 : absl::ToInt64Seconds(pool.time_limit);
  request.env = {
      {"CONCUR_PREFIX", PilotPrefix(setup)},
      {"CONCUR_PILOT", absl::StrCat(PilotPrefix(setup), pilot)},
      {"CONCUR_POOL", pool.name},
      {"CONCUR_PILOT_CPUS", absl::StrCat((pool.resources.cpu_millis + 999) / 1000)},
      {"CONCUR_PILOT_MEMORY_MIB", absl::StrCat((pool.resources.memory_bytes + kMiB - 1) / kMiB)},
      {"CONCUR_PILOT_GPUS", absl::StrCat(pool.resources.gpus)},
      {"CONCUR_PILOT_SECONDS", absl::StrCat(seconds)},
  };
  PilotScriptParts parts;
  parts.name = absl::StrCat("name=", ShellQuoted(pilot), "\n");
  if (has_token) {
    const std::string file = TokenFile(tokens, setup);
    parts.token =
        absl::StrCat(Read(absl::StrCat("CONCUR_TOKEN=$(cat ", ShellQuoted(file), ")"), file),
                     "export CONCUR_TOKEN\n");
  }
  if (!setup.key_pem.empty()) {
    const std::string file = KeyFile(tokens, setup);
    parts.key = Read(absl::StrCat("cat ", ShellQuoted(file), " > client.key"), file);
  }
  parts.setup_failed = absl::StrCat("printf '%s\\n' \"${why:0:", kPilotReasonBytesMax, "}\" > ",
                                    ShellQuoted(FailureFile(tokens, setup, pilot)), "\n");
  request.input = PilotScript(pool, setup, parts);
  request.timeout = kProgramTimeout;
  return request;
}

CommandRequest ListRequest(const std::string& directory, const PilotSetup& setup) {
  CommandRequest request;
  request.argv = {directory + "/list"};
  request.env = {{"CONCUR_PREFIX", PilotPrefix(setup)}};
  request.timeout = kListTimeout;
  return request;
}

CommandRequest CancelRequest(const std::string& directory, const PilotSetup& setup,
                             const std::vector<PilotReport>& pilots) {
  CommandRequest request;
  request.argv = {directory + "/cancel"};
  request.env = {{"CONCUR_PREFIX", PilotPrefix(setup)}};
  for (const PilotReport& pilot : pilots) {
    absl::StrAppend(&request.input, PilotPrefix(setup), pilot.name, "\t", pilot.external_id, "\n");
  }
  request.timeout = kProgramTimeout;
  return request;
}

absl::StatusOr<std::string> ParseSubmit(absl::string_view program, absl::string_view out) {
  const absl::string_view id = absl::StripAsciiWhitespace(out);
  if (!IsId(id)) {
    return Garbled(program, out, "a job's id on one line");
  }
  return std::string(id);
}

absl::StatusOr<std::vector<PilotReport>> ParseList(absl::string_view program, absl::string_view out,
                                                   const PilotSetup& setup) {
  std::vector<PilotReport> reports;
  if (!out.empty() && out.back() != '\n') {
    return Garbled(program, out.substr(out.rfind('\n') + 1), "a line that ends");
  }
  for (const absl::string_view line : absl::StrSplit(out, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits('\t', 3));
    if (fields.size() < 3) {
      return Garbled(program, line, "NAME, STATE, ID and WHY with tabs between them");
    }
    PilotReport report;
    report.name = PilotOf(fields[0], setup);
    if (report.name.empty()) {
      return Garbled(program, line, absl::StrCat("a name such as ", PilotPrefix(setup), "POOL-1"));
    }
    const auto* const state =
        std::find_if(kStateWords.begin(), kStateWords.end(),
                     [&](const StateWord& known) { return known.word == fields[1]; });
    if (state == kStateWords.end()) {
      return Garbled(program, line, "pending, impossible, running, ended or canceled");
    }
    if (!IsId(fields[2])) {
      return Garbled(program, line, "a job's id");
    }
    report.state = state->state;
    report.impossible = state->impossible;
    report.taken_back = state->taken_back;
    report.external_id = std::string(fields[2]);
    if (fields.size() > 3) {
      report.message = OneLine(fields[3], kWhyBytesMax);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace concur::provision
