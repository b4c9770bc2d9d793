// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/campaign.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "tests/e2e/campaign_client.h"

namespace concur::testing {
namespace {

constexpr int kMomentMax = 20;  // milliseconds

void Append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class Killer : public Trouble {
 public:
  Killer(Cluster& cluster, const CampaignOptions& options)
      : cluster_(cluster), options_(options), random_(options.seed, "kills") {}
  const CampaignReport& report() const { return report_; }

  void Start() override {
    cluster_.Write("options.yaml", kCampaignOptions);
    cluster_.StartCoordinator({"--options", cluster_.File("options.yaml")});
    for (int worker = 0; worker < options_.workers; ++worker) {
      StartWorker(worker);
    }
  }

  void Run(CampaignProgress& progress) override {
    while (report_.coordinator_kills < options_.coordinator_kills ||
           report_.worker_kills < options_.worker_kills) {
      progress.WaitForMore(
          static_cast<int>(random_.Between(1, options_.acknowledgements_per_kill_max)));
      // The moment is what this is about: not the one at which an answer came.
      std::this_thread::sleep_for(
          std::chrono::microseconds(random_.Below(uint64_t{kMomentMax} * 1000)));
      const int coordinator_left = options_.coordinator_kills - report_.coordinator_kills;
      const int worker_left = options_.worker_kills - report_.worker_kills;
      const bool coordinator =
          static_cast<int>(random_.Below(static_cast<uint64_t>(coordinator_left + worker_left))) <
          coordinator_left;
      // One in four times the other goes down as well, before the first comes back.
      const bool both = coordinator_left > 0 && worker_left > 0 && random_.Chance(0.25);
      const int worker = static_cast<int>(random_.Below(static_cast<uint64_t>(options_.workers)));
      if (coordinator || both) {
        cluster_.KillCoordinator(SIGKILL);
        ++report_.coordinator_kills;
      }
      if (!coordinator || both) {
        cluster_.KillWorker(WorkerName(worker), SIGKILL);
        ++report_.worker_kills;
      }
      if (coordinator || both) {
        RestartCoordinator();
      }
      if (!coordinator || both) {
        StartWorker(worker);
      }
    }
  }

 private:
  static std::string WorkerName(int worker) { return absl::StrCat("w", worker + 1); }
  void StartWorker(int worker) { cluster_.StartWorker(WorkerName(worker), 2); }

  void RestartCoordinator() {
    const std::vector<std::string> options = {"--options", cluster_.File("options.yaml")};
    while (report_.coordinator_kills < options_.coordinator_kills && random_.Chance(0.15)) {
      cluster_.LaunchCoordinator(options);
      std::this_thread::sleep_for(
          std::chrono::microseconds(random_.Below(uint64_t{kMomentMax} * 1000)));
      cluster_.KillCoordinator(SIGKILL);
      ++report_.coordinator_kills;
      ++report_.kills_while_starting;
    }
    cluster_.StartCoordinator(options);
  }

  Cluster& cluster_;
  const CampaignOptions& options_;
  CampaignReport report_;
  Random random_;
};

// The scores of the same work without faults: what the campaign is compared with.
std::map<int, SeedScores> UndisturbedScores(const std::set<int>& versions, int workers) {
  Cluster calm;
  WriteCampaignFiles(calm);
  calm.Write("mended", "");
  calm.StartCoordinator();
  for (int worker = 0; worker < workers; ++worker) {
    calm.StartWorker(absl::StrCat("w", worker + 1), 2);
  }
  std::map<int, SeedScores> scores;
  CampaignHistory history;
  CampaignClient client(calm, history, 0, 0, 0);
  for (const int version : versions) {
    client.SubmitVersion(version);
  }
  client.Finish();
  for (const CampaignClient::Known& sweep : client.sweeps()) {
    scores[sweep.version] = CampaignClient::ScoresOf(sweep);
  }
  return scores;
}

// No attempt started twice.
void CheckStarts(const Cluster& cluster, CampaignReport& report) {
  const std::string text = ReadFile(cluster.File("starts")).value_or("");
  std::set<std::string> started;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++report.attempts_started;
    if (!started.emplace(line).second) {
      report.duplicated.push_back(absl::StrCat("attempt \"", line, "\" started twice"));
    }
  }
}

// One sweep a submission, and none that nobody submitted.
void CheckSweeps(const Cluster& cluster, const std::set<std::string>& names,
                 CampaignReport& report) {
  const Output list = cluster.Concur({"-o", "jsonl", "sweep", "list", "--limit", "0"});
  std::multiset<std::string> found;
  for (absl::string_view line : absl::StrSplit(list.out, '\n', absl::SkipEmpty())) {
    found.insert(nlohmann::json::parse(line.begin(), line.end()).at("name").get<std::string>());
  }
  report.sweeps = static_cast<int>(found.size());
  for (const std::string& name : names) {
    if (found.count(name) == 0) {
      report.lost.push_back(absl::StrCat("submission ", name));
    }
  }
  for (const std::string& name : found) {
    if (names.count(name) == 0 || found.count(name) > 1) {
      report.duplicated.push_back(absl::StrCat("sweep ", name));
    }
  }
}

void Add(const CampaignReport& from, CampaignReport& to) {
  to.submissions += from.submissions;
  to.repeated_submissions += from.repeated_submissions;
  to.cancels += from.cancels;
  to.retries += from.retries;
  to.results_read += from.results_read;
  Append(to.lost, from.lost);
  Append(to.duplicated, from.duplicated);
}

void CheckScores(const std::vector<std::unique_ptr<CampaignClient>>& clients, int workers,
                 CampaignReport& report) {
  std::set<int> versions;
  for (const auto& client : clients) {
    for (const CampaignClient::Known& sweep : client->sweeps()) {
      versions.insert(sweep.version);
    }
  }
  const std::map<int, SeedScores> expected = UndisturbedScores(versions, workers);
  for (const auto& client : clients) {
    for (const CampaignClient::Known& sweep : client->sweeps()) {
      report.jobs += static_cast<int>(sweep.jobs.size());
      const SeedScores found = CampaignClient::ScoresOf(sweep);
      const SeedScores& wanted = expected.at(sweep.version);
      if (!sweep.canceled && found.size() != wanted.size()) {
        report.lost.push_back(
            absl::StrCat(sweep.id, " has ", found.size(), " scores, not ", wanted.size()));
      }
      for (const auto& [seed, score] : found) {
        if (wanted.count(seed) == 0 || wanted.at(seed) != score) {
          report.different.push_back(absl::StrCat(sweep.id, ", seed ", seed, ": ", score));
        }
      }
    }
  }
}

}  // namespace

void CampaignProgress::Note(int client, const AcknowledgedWrite& latest) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    writes_.push_back(latest);
    noted_[static_cast<size_t>(client)] = absl::Now();
  }
  changed_.notify_one();
}

void CampaignProgress::WaitForMore(int more) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int target = count_ + more;
  changed_.wait(lock, [&] { return count_ >= target; });
}

std::optional<absl::Time> CampaignProgress::WaitForWrite(absl::Time moment,
                                                         std::chrono::milliseconds wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto find = [&] {
    return std::find_if(writes_.begin(), writes_.end(),
                        [&](const AcknowledgedWrite& write) { return write.begun > moment; });
  };
  changed_.wait_for(lock, wait, [&] { return find() != writes_.end(); });
  const auto first = find();
  return first == writes_.end() ? std::nullopt : std::optional<absl::Time>(first->ended);
}

bool CampaignProgress::WaitForEach(absl::Time moment, std::chrono::milliseconds wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, wait, [&] {
    return std::all_of(noted_.begin(), noted_.end(),
                       [&](absl::Time noted) { return noted > moment; });
  });
}

CampaignReport RunCampaign(Cluster& cluster, const CampaignOptions& options) {
  Killer killer(cluster, options);
  CampaignReport report = RunCampaign(cluster, options, killer);
  report.coordinator_kills = killer.report().coordinator_kills;
  report.kills_while_starting = killer.report().kills_while_starting;
  report.worker_kills = killer.report().worker_kills;
  return report;
}

CampaignReport RunCampaign(Cluster& cluster, const CampaignOptions& options, Trouble& trouble) {
  CampaignReport report;
  WriteCampaignFiles(cluster);
  trouble.Start();
  CampaignProgress progress(options.clients);
  CampaignHistory history;
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<CampaignClient>> clients;
  std::vector<std::thread> threads;
  for (int number = 0; number < options.clients; ++number) {
    clients.push_back(std::make_unique<CampaignClient>(cluster, history, number, options.seed,
                                                       options.submit_chance));
    threads.emplace_back([number, client = clients.back().get(), &progress, &stop] {
      for (int checked = 0; !stop;) {
        if (const int checks = progress.checks(); checks != checked) {
          client->CheckSweeps();
          checked = checks;
        }
        client->Act();
        progress.Note(number, client->latest_write());
      }
    });
  }
  trouble.Run(progress);
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  cluster.Write("mended", "");
  std::set<std::string> names;
  for (const auto& client : clients) {
    client->Finish();
    Add(client->report, report);
    for (const CampaignClient::Known& sweep : client->sweeps()) {
      names.insert(sweep.name);
    }
  }
  report.reads = static_cast<int>(history.reads());
  report.unexplained = history.Check();
  CheckSweeps(cluster, names, report);
  CheckStarts(cluster, report);
  CheckScores(clients, options.workers, report);
  return report;
}

}  // namespace concur::testing
