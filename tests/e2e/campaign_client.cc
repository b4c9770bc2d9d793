// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/campaign_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/check.h"

namespace concur::testing {
namespace {

using Json = nlohmann::json;

using sim::UserRequest;

constexpr int kUnavailable = 7;
constexpr int kPrecondition = 4;

// A score tells version and seed, so that no job's can pass for another's. Half of it comes from a
// server that is killed with its worker.
constexpr char kSweep[] = R"(apiVersion: concur/v1
kind: Sweep
metadata: {name: NAME}
spec:
  approaches:
    - metadata: {name: shell}
      spec:
        version: "VERSION"
        train:
          command: [/bin/sh, -c, "echo $CONCUR_JOB $CONCUR_ATTEMPT >> DIR/starts; [ {seed} != FAILING ] || [ -e DIR/mended ] || exit 3; [ {seed} != LONG ] || [ ! -e DIR/long ] || sleep 3; echo {seed} > {model}; : {train}"]
        service:
          command: [python3, DIR/server.py, "{port}", "VERSION"]
          resources: {cpus: 0.1}
          idle: 1s
        predict:
          command: [/bin/bash, -c, "echo $CONCUR_JOB $CONCUR_ATTEMPT >> DIR/starts; read s < {model}; IFS=: read h i p <<< $CONCUR_SERVICE_URL; exec 3<>/dev/tcp/127.0.0.1/$p && read v <&3 || exit 1; printf '{{\"accuracy\": %s}}' $((v * 100 + s)) > {metrics}; : {test}"]
  benchmarks:
    - metadata: {name: task}
      spec: {format: file, train: set.txt, test: set.txt, metric: accuracy}
  retry: {failures_max: 1, lost_max: 1000, backoff_min: 10ms, backoff_max: 20ms}
  seeds: {from: 1, to: SEEDS}
)";

constexpr char kCampaignServer[] = R"(import socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self): self.request.sendall(f"{sys.argv[2]}\n".encode())
socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
)";

SweepId IdOf(const std::string& id) {
  const absl::StatusOr<SweepId> parsed = SweepId::Parse(id);
  CONCUR_CHECK_OK(parsed.status());
  return *parsed;
}

bool IsCanceled(const std::string& state) { return state == "canceled" || state == "canceling"; }

std::vector<Json> Lines(const std::string& text) {
  std::vector<Json> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    lines.push_back(Json::parse(line.begin(), line.end()));
  }
  return lines;
}

}  // namespace

void WriteCampaignFiles(Cluster& cluster) {
  cluster.Write("set.txt", "x\n");
  cluster.Write("server.py", kCampaignServer);
}

std::string CampaignSweep(const Cluster& cluster, const std::string& name, int version) {
  return absl::StrReplaceAll(kSweep, {{"NAME", name},
                                      {"VERSION", absl::StrCat(version)},
                                      {"DIR", cluster.dir().path()},
                                      {"FAILING", absl::StrCat(kFailingSeed)},
                                      {"LONG", absl::StrCat(kLongSeed)},
                                      {"SEEDS", absl::StrCat(kCampaignSeeds)}});
}

CampaignClient::CampaignClient(Cluster& cluster, CampaignHistory& history, int number,
                               uint64_t seed, double submit_chance)
    : cluster_(cluster),
      history_(history),
      number_(number),
      submit_chance_(submit_chance),
      random_(seed, absl::StrCat("client ", number)) {}

Output CampaignClient::Concur(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = {"-o", "jsonl"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Cluster::Run(cluster_.Command(all), cluster_.File(absl::StrCat("client-", number_)));
}

std::optional<Json> CampaignClient::Ask(const std::vector<std::string>& arguments,
                                        const std::string& promise) {
  for (;;) {
    const Output output = Concur(arguments);
    if (output.exit_code == 0) {
      return Json(Lines(output.out));
    }
    if (output.exit_code != kUnavailable) {
      report.lost.push_back(
          absl::StrCat(promise, ": exit code ", output.exit_code, ": ", output.err));
      return std::nullopt;
    }
  }
}

void CampaignClient::Act() {
  if (random_.Chance(0.2)) {
    if (const std::vector<SweepId> all = history_.sweeps(); !all.empty()) {
      LookAt(all[all.size() - 1 - random_.Below(std::min<size_t>(all.size(), 6))]);
      return;
    }
  }
  if (sweeps_.empty() || random_.Chance(submit_chance_)) {
    // Two sweeps of a client, one after the other, do the same work.
    SubmitVersion(1 + number_ + 100 * static_cast<int>(sweeps_.size() / 2));
    return;
  }
  // Mostly what is new, where something is under way.
  const size_t recent = std::min<size_t>(sweeps_.size(), 4);
  const size_t range = random_.Chance(0.8) ? recent : sweeps_.size();
  Known& sweep = sweeps_[sweeps_.size() - 1 - random_.Below(range)];
  const uint64_t what = random_.Below(4);
  if (what == 0) {
    Cancel(sweep);
  } else if (what == 1) {
    Retry(sweep);
  } else {
    Read(sweep);
  }
}

void CampaignClient::SubmitVersion(int version) {
  Known known;
  known.name = absl::StrCat("c", number_, "-", sweeps_.size());
  known.version = version;
  cluster_.Write(known.name + ".yaml", CampaignSweep(cluster_, known.name, known.version));
  const std::vector<std::string> command = {"sweep", "submit", cluster_.File(known.name + ".yaml"),
                                            "--request-id", known.name};
  const CampaignHistory::Moment begun = history_.Begin(UserRequest::kSubmit, SweepId());
  const absl::Time sent = absl::Now();
  const auto answer = Ask(command, absl::StrCat("submission ", known.name));
  if (!answer) {
    return;
  }
  known.id = answer->at(0).at("id");
  history_.End(UserRequest::kSubmit, IdOf(known.id), begun);
  latest_write_ = {sent, absl::Now()};
  ++report.submissions;
  if (random_.Chance(0.3)) {
    if (const auto again = Ask(command, absl::StrCat("repeated submission ", known.name))) {
      ++report.repeated_submissions;
      if (again->at(0).at("id") != known.id) {
        report.duplicated.push_back(absl::StrCat("submission ", known.name, " made ", known.id,
                                                 " and ",
                                                 again->at(0).at("id").get<std::string>()));
      }
    }
  }
  sweeps_.push_back(std::move(known));
}

void CampaignClient::Cancel(Known& sweep) {
  const CampaignHistory::Moment begun = history_.Begin(UserRequest::kCancel, IdOf(sweep.id));
  const absl::Time sent = absl::Now();
  const auto answer = Ask({"sweep", "cancel", sweep.id}, absl::StrCat("cancel of ", sweep.id));
  if (!answer) {
    return;
  }
  history_.End(UserRequest::kCancel, IdOf(sweep.id), begun);
  latest_write_ = {sent, absl::Now()};
  ++report.cancels;
  // One that had ended stays as it is.
  sweep.canceled = IsCanceled(answer->at(0).at("state"));
  sweep.unsure = false;
}

void CampaignClient::Retry(Known& sweep) {
  const CampaignHistory::Moment begun = history_.Begin(UserRequest::kRetry, IdOf(sweep.id));
  for (;;) {
    const Output output = Concur({"sweep", "retry", sweep.id});
    if (output.exit_code == kUnavailable) {
      sweep.unsure = true;  // it may have been carried out
      continue;
    }
    if (output.exit_code == kPrecondition) {
      return;  // it still stops attempts
    }
    if (output.exit_code != 0) {
      report.lost.push_back(absl::StrCat("retry of ", sweep.id, ": ", output.err));
      return;
    }
    ++report.retries;
    history_.End(UserRequest::kRetry, IdOf(sweep.id), begun);
    if (Lines(output.out).at(0).at("retried") > 0) {
      sweep.canceled = false;
      sweep.unsure = false;
    }
    return;
  }
}

void CampaignClient::Read(Known& sweep) {
  if (const auto answer = ReadSweep(IdOf(sweep.id))) {
    CheckState(sweep, answer->at(0));
  }
  const auto jobs = ReadJobs(IdOf(sweep.id));
  if (!jobs) {
    return;
  }
  if (jobs->size() != 2 * kCampaignSeeds) {
    report.lost.push_back(absl::StrCat(sweep.id, " has ", jobs->size(), " jobs"));
  }
  for (const Json& job : *jobs) {
    CheckJob(sweep, job);
  }
}

void CampaignClient::CheckSweeps() {
  const auto list = Ask({"sweep", "list", "--limit", "0"}, "list of sweeps");
  if (!list) {
    return;
  }
  std::map<std::string, const Json*> listed;
  for (const Json& sweep : *list) {
    listed[sweep.at("id")] = &sweep;
  }
  for (const Known& sweep : sweeps_) {
    if (const auto it = listed.find(sweep.id); it != listed.end()) {
      CheckState(sweep, *it->second);
    } else {
      report.lost.push_back(absl::StrCat("submission ", sweep.id));
    }
  }
}

void CampaignClient::LookAt(SweepId sweep) {
  if (random_.Chance(0.5)) {
    ReadSweep(sweep);
  } else {
    ReadJobs(sweep);
  }
}

std::optional<Json> CampaignClient::ReadSweep(SweepId sweep) {
  const std::string id = sweep.ToString();
  const CampaignHistory::Moment begun = history_.BeginRead();
  std::optional<Json> answer = Ask({"sweep", "get", id}, absl::StrCat("submission ", id));
  if (answer) {
    const std::string state = answer->at(0).at("state");
    sim::SeenSweep seen;
    seen.canceled = IsCanceled(state);
    seen.ended = state == "succeeded" || state == "failed" || state == "canceled";
    history_.EndRead(sweep, begun, std::move(seen));
  }
  return answer;
}

std::optional<Json> CampaignClient::ReadJobs(SweepId sweep) {
  const std::string id = sweep.ToString();
  const CampaignHistory::Moment begun = history_.BeginRead();
  std::optional<Json> jobs =
      Ask({"job", "list", id, "--limit", "0"}, absl::StrCat("submission ", id));
  if (jobs) {
    sim::SeenSweep seen;
    seen.only_jobs = true;
    for (const Json& job : *jobs) {
      const bool succeeded = job.at("state") == "succeeded";
      const bool scored = succeeded && !job.at("result").at("metrics").empty();
      seen.jobs.push_back(
          {job.at("attempt"), succeeded,
           scored ? job.at("result").at("metrics").at(0).at("value").get<double>() : 0});
    }
    history_.EndRead(sweep, begun, std::move(seen));
  }
  return jobs;
}

void CampaignClient::CheckState(const Known& sweep, const Json& answer) {
  const std::string state = answer.at("state");
  if (answer.at("name") != sweep.name) {
    report.lost.push_back(absl::StrCat(sweep.id, " is no longer called ", sweep.name));
  }
  if (!sweep.unsure && IsCanceled(state) != sweep.canceled) {
    report.lost.push_back(absl::StrCat(sweep.canceled ? "cancel of " : "retry of ", sweep.id,
                                       ": the sweep is ", state));
  }
}

void CampaignClient::CheckJob(Known& sweep, const Json& job) {
  const std::string id = job.at("id");
  Seen now{job.at("attempt"), job.at("state"), ""};
  if (now.state == "succeeded") {
    now.metrics = job.at("result").at("metrics").dump();
  }
  Seen& before = sweep.jobs[id];
  if (now.attempt < before.attempt) {
    report.lost.push_back(absl::StrCat("attempt ", before.attempt, " of ", id));
  }
  if (before.state == "succeeded") {
    if (now.state != "succeeded" || now.metrics != before.metrics) {
      report.lost.push_back(absl::StrCat("the result of ", id, ": it is ", now.state));
    } else if (now.attempt != before.attempt) {
      report.duplicated.push_back(absl::StrCat(id, " succeeded in attempt ", before.attempt,
                                               " and again in attempt ", now.attempt));
    }
  } else if (now.state == "succeeded") {
    ++report.results_read;
  }
  before = std::move(now);
}

void CampaignClient::Finish() {
  for (Known& sweep : sweeps_) {
    Read(sweep);
    if (!sweep.canceled) {
      // An attempt of before the mend may fail after the first retry, none after the second.
      Retry(sweep);
      while (Concur({"sweep", "wait", sweep.id}).exit_code == kUnavailable) {
      }
      Retry(sweep);
      Ask({"sweep", "wait", sweep.id}, absl::StrCat("end of ", sweep.id));
    }
    Read(sweep);
  }
}

SeedScores CampaignClient::ScoresOf(const Known& sweep) {
  SeedScores scores;
  int seed = 0;
  for (int job = 0; job < 2 * kCampaignSeeds; ++job) {
    const auto it = sweep.jobs.find(absl::StrCat(sweep.id, "/", job));
    seed = job / 2 + 1;  // a cell is its train job and its one eval job
    if (job % 2 == 1 && it != sweep.jobs.end() && it->second.state == "succeeded") {
      scores[seed] = Json::parse(it->second.metrics).at(0).at("value");
    }
  }
  return scores;
}

}  // namespace concur::testing
