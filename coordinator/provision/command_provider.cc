// SPDX-License-Identifier: Apache-2.0
#include "coordinator/provision/command_provider.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "coordinator/provision/command_text.h"
#include "coordinator/provision/pilot_script.h"

namespace concur::provision {
namespace {

constexpr int kExitUnknown = 75;  // EX_TEMPFAIL
constexpr size_t kTriedBytesMax = 600;
constexpr int64_t kFailureBytesMax = 8192;
constexpr int64_t kPlacesBytesMax = 1 << 20;

std::string PlacesFile(const PilotSetup& setup) { return setup.directory + "/commands"; }

bool IsLiving(const PilotReport& report) { return report.state != PilotReport::State::kEnded; }

}  // namespace

CommandProvider::CommandProvider(PilotSetup setup, std::string tokens)
    : setup_(std::move(setup)), tokens_(std::move(tokens)) {}

void CommandProvider::Start(const PoolSpec& pool, const std::vector<std::string>& pilots,
                            StartDone done) {
  thread_.Submit([this, pool, pilots, done = std::move(done)] { done(StartNow(pool, pilots)); });
}

void CommandProvider::Try(const PoolSpec& pool, TryDone done) {
  thread_.Submit([this, pool, done = std::move(done)] { done(TryNow(pool)); });
}

void CommandProvider::Stop(const std::vector<std::string>& pilots, StopDone done) {
  thread_.Submit([this, pilots, done = std::move(done)] { done(StopNow(pilots)); });
}

void CommandProvider::Observe(ObserveDone done) {
  thread_.Submit([this, done = std::move(done)] { done(ObserveNow()); });
}

absl::StatusOr<std::string> CommandProvider::TokensOf(const PoolSpec& pool) const {
  if (!pool.command.token_directory.empty()) {
    return pool.command.token_directory;
  }
  if (tokens_.empty()) {
    return absl::FailedPreconditionError(
        "command.token_directory: expected a directory that the nodes have as well; the "
        "coordinator's user has no HOME");
  }
  return tokens_;
}

// --- which programs there are --------------------------------------------------------------------

absl::Status CommandProvider::Load() {
  if (loaded_) {
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text = ReadFile(PlacesFile(setup_), kPlacesBytesMax);
  if (!text.ok() && !absl::IsNotFound(text.status())) {
    return text.status();
  }
  for (const absl::string_view line : absl::StrSplit(text.value_or(""), '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    if (fields.size() == 2) {
      places_[fields[0]].tokens.insert(fields[1]);
    }
  }
  loaded_ = true;
  return absl::OkStatus();
}

absl::Status CommandProvider::Save() {
  std::string text;
  for (const auto& [directory, place] : places_) {
    for (const std::string& tokens : place.tokens) {
      absl::StrAppend(&text, directory, "\t", tokens, "\n");
    }
  }
  CONCUR_RETURN_IF_ERROR(MakeDirectories(setup_.directory, 0700));
  return WriteFileAtomically(PlacesFile(setup_), text);
}

// After its list has answered once, so that programs that never worked stop no other pool, and
// before anything is started, so that it is found again.
absl::Status CommandProvider::Remember(const PoolSpec& pool, const std::string& tokens) {
  CONCUR_RETURN_IF_ERROR(Load());
  const std::string& directory = pool.command.directory;
  const auto known = places_.find(directory);
  if (known != places_.end() && known->second.tokens.contains(tokens)) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<PilotReport> reports, List(directory));
  Place& place = places_[directory];
  place.tokens.insert(tokens);
  place.answered = true;
  place.reports = std::move(reports);
  absl::Status saved = Save();
  if (!saved.ok()) {
    place.tokens.erase(tokens);
    if (place.tokens.empty()) {
      places_.erase(directory);
    }
  }
  return saved;
}

// --- starting ------------------------------------------------------------------------------------

absl::StatusOr<std::vector<std::string>> CommandProvider::StartNow(
    const PoolSpec& pool, const std::vector<std::string>& pilots) {
  CONCUR_ASSIGN_OR_RETURN(const std::string tokens, TokensOf(pool));
  CONCUR_ASSIGN_OR_RETURN(const std::string token, setup_.token());
  if (absl::Status status = Remember(pool, tokens); !status.ok()) {
    return absl::FailedPreconditionError(status.message());  // nothing was asked for
  }
  CONCUR_RETURN_IF_ERROR(MakePrivateDirectory(tokens, {}));
  if (!token.empty()) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(TokenFile(tokens, setup_), token, 0600));
  }
  if (!setup_.key_pem.empty()) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(KeyFile(tokens, setup_), setup_.key_pem, 0600));
  }
  Place& place = places_.at(pool.command.directory);
  std::vector<std::string> ids;
  for (const std::string& pilot : pilots) {
    const absl::StatusOr<std::string> id =
        StartOne(SubmitRequest(pool, setup_, tokens, pilot, !token.empty()));
    if (id.ok() || IsOpen(id.status())) {
      PilotReport report;
      report.name = pilot;
      report.external_id = id.value_or("");
      place.reports.push_back(std::move(report));
    }
    if (!id.ok()) {
      // Those before it are there: the next observation finds them, and lacks the others.
      return ids.empty()
                 ? id.status()
                 : absl::AbortedError(absl::StrCat("only ", ids.size(), " of ", pilots.size(),
                                                   " workers: ", id.status().message()));
    }
    ids.push_back(*id);
  }
  LogInfo("jobs submitted", {{"program", pool.command.directory + "/submit"},
                             {"pool", pool.name},
                             {"first", pilots[0]},
                             {"workers", absl::StrCat(pilots.size())}});
  return ids;
}

absl::StatusOr<std::string> CommandProvider::StartOne(const CommandRequest& request) {
  CONCUR_ASSIGN_OR_RETURN(const CommandResult result, RunCommand(request));
  if (result.exit_code == kExitUnknown) {
    return absl::UnavailableError(WhatItSaid(request.argv[0], result));
  }
  if (result.exit_code != 0) {
    return absl::FailedPreconditionError(WhatItSaid(request.argv[0], result));
  }
  absl::StatusOr<std::string> id = ParseSubmit(request.argv[0], result.out);
  if (!id.ok()) {
    return absl::AbortedError(id.status().message());  // it may have been submitted all the same
  }
  return id;
}

absl::StatusOr<std::string> CommandProvider::TryNow(const PoolSpec& pool) {
  CONCUR_ASSIGN_OR_RETURN(const std::string tokens, TokensOf(pool));
  for (const char* name : {"/submit", "/list", "/cancel"}) {
    const std::string program = pool.command.directory + name;
    if (access(program.c_str(), X_OK) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("command.directory: there is no program ", program, " that may be run"));
    }
  }
  CONCUR_RETURN_IF_ERROR(List(pool.command.directory).status());
  CommandRequest request = SubmitRequest(pool, setup_, tokens, pool.name + "-0", false);
  request.env["CONCUR_DRY_RUN"] = "1";
  CONCUR_ASSIGN_OR_RETURN(const CommandResult result, RunCommand(request));
  if (result.exit_code != 0) {
    return absl::FailedPreconditionError(WhatItSaid(request.argv[0], result));
  }
  const absl::string_view said = absl::StripAsciiWhitespace(result.out);
  return said.empty() ? absl::StrCat(request.argv[0], " takes its workers")
                      : OneLine(said, kTriedBytesMax);
}

// --- observing and stopping ----------------------------------------------------------------------

absl::StatusOr<std::vector<PilotReport>> CommandProvider::List(const std::string& directory) const {
  const CommandRequest request = ListRequest(directory, setup_);
  CONCUR_ASSIGN_OR_RETURN(const CommandResult result, RunCommand(request));
  if (result.exit_code != 0) {
    return absl::UnavailableError(WhatItSaid(request.argv[0], result));
  }
  CONCUR_ASSIGN_OR_RETURN(std::vector<PilotReport> reports,
                          ParseList(request.argv[0], result.out, setup_));
  return OnePerPilot(std::move(reports));
}

// A pilot whose setup failed left a file that says so. It counts once its job no longer lives, and
// stays for an hour.
void CommandProvider::AddFailures(const Place& place, std::vector<PilotReport>* reports) const {
  std::set<std::string> living;
  for (const PilotReport& report : *reports) {
    if (IsLiving(report)) {
      living.insert(report.name);
    }
  }
  for (const std::string& tokens : place.tokens) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(tokens, error), end; !error && it != end;
         it.increment(error)) {
      const std::string pilot = PilotOfFailureFile(it->path().filename().string(), setup_);
      if (pilot.empty() || living.contains(pilot)) {
        continue;
      }
      std::error_code ignored;
      const auto age = std::filesystem::file_time_type::clock::now() -
                       std::filesystem::last_write_time(it->path(), ignored);
      if (!ignored && age > std::chrono::hours(1)) {
        std::filesystem::remove(it->path(), ignored);
        continue;
      }
      const absl::StatusOr<std::string> why = ReadFile(it->path().string(), kFailureBytesMax);
      if (!why.ok() || !absl::StartsWith(*why, kPilotSetupFailed)) {
        continue;
      }
      std::erase_if(*reports, [&](const PilotReport& report) { return report.name == pilot; });
      PilotReport report;
      report.name = pilot;
      report.state = PilotReport::State::kEnded;
      report.message = OneLine(absl::StripAsciiWhitespace(*why));
      reports->push_back(std::move(report));
    }
  }
}

absl::StatusOr<std::vector<PilotReport>> CommandProvider::ObserveNow() {
  CONCUR_RETURN_IF_ERROR(Load());
  std::vector<PilotReport> all;
  absl::Status failure;
  bool any = places_.empty();
  for (auto it = places_.begin(); it != places_.end();) {
    Place& place = it->second;
    absl::StatusOr<std::vector<PilotReport>> reports = List(it->first);
    if (!reports.ok()) {
      if (!place.failing) {
        LogWarning("pools are not seen", {{"error", std::string(reports.status().message())}});
      }
      place.failing = true;
      if (!place.answered && absl::IsNotFound(reports.status())) {
        it = places_.erase(it);  // its programs are gone, and nobody can be asked any more
        CONCUR_RETURN_IF_ERROR(Save());
        any = true;
        continue;
      }
      failure.Update(reports.status());
      if (!place.answered) {
        return failure;
      }
      all.insert(all.end(), place.reports.begin(), place.reports.end());
      ++it;
      continue;
    }
    any = true;
    place.failing = false;
    AddFailures(place, &*reports);
    all.insert(all.end(), reports->begin(), reports->end());
    std::erase_if(*reports, [](const PilotReport& report) { return !IsLiving(report); });
    if (!place.answered && reports->empty()) {
      it = places_.erase(it);  // a former run's: gone until something is started there again
      CONCUR_RETURN_IF_ERROR(Save());
      continue;
    }
    place.answered = true;
    place.reports = *std::move(reports);
    ++it;
  }
  if (!any) {
    return failure;
  }
  return OnePerPilot(std::move(all));
}

// Ids are asked for anew: cancel gets only what its own list has just called living.
absl::Status CommandProvider::StopNow(const std::vector<std::string>& pilots) {
  CONCUR_RETURN_IF_ERROR(Load());
  const std::set<std::string> wanted(pilots.begin(), pilots.end());
  absl::Status failure;
  for (const auto& [directory, place] : places_) {
    absl::StatusOr<std::vector<PilotReport>> reports = List(directory);
    if (!reports.ok()) {
      failure.Update(reports.status());
      continue;
    }
    std::erase_if(*reports, [&](const PilotReport& report) {
      return !IsLiving(report) || !wanted.contains(report.name);
    });
    if (reports->empty()) {
      continue;
    }
    const CommandRequest request = CancelRequest(directory, setup_, *reports);
    const absl::StatusOr<CommandResult> result = RunCommand(request);
    if (!result.ok()) {
      failure.Update(result.status());
    } else if (result->exit_code != 0) {
      failure.Update(absl::UnavailableError(WhatItSaid(request.argv[0], *result)));
    }
  }
  return failure;
}

}  // namespace concur::provision
