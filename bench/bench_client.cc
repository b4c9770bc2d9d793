// SPDX-License-Identifier: Apache-2.0
// Waiting times of users, in milliseconds of one process that stays connected: the program `concur`
// takes longer to start than most calls take.
//
//   bench_client submit FILE --coordinator ADDRESS --times 5
//   bench_client ask SWEEP --coordinator ADDRESS --seconds 10
//   bench_client watch SWEEP --coordinator ADDRESS --seconds 10 --watchers 1000 --events failures
//
// Prints one JSON object. `submit` wants the data files to be with the coordinator already. `ask`
// calls GetSweep and ListJobs (a page of 1000) in turns. `watch` opens so many streams, each
// connection carrying at most 500, and tells for every message how long ago the earliest change
// happened that it was the first to tell of, by this machine's clock; with --events all also how
// long ago each event happened. Once its streams are open it writes a line "open" to stderr.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "concur/v1/coordinator.grpc.pb.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/credentials.h"
#include "yaml/sweep_yaml.h"

namespace concur {
namespace {

struct Flags {
  std::string coordinator;
  std::string file;
  std::string sweep;
  int times = 5;
  double seconds = 10;
  int watchers = 1;
  std::string events = "failures";
};

constexpr int kStreamsPerConnection = 500;

using Json = nlohmann::ordered_json;

Json Summary(std::vector<double> millis) {
  CONCUR_CHECK(!millis.empty());
  std::sort(millis.begin(), millis.end());
  const auto at = [&](double p) {
    return millis[std::min(millis.size() - 1,
                           static_cast<size_t>(p * static_cast<double>(millis.size())))];
  };
  return {{"count", millis.size()},
          {"min", millis.front()},
          {"median", at(0.5)},
          {"p99", at(0.99)},
          {"max", millis.back()}};
}

double MillisOf(const std::function<grpc::Status()>& call) {
  const absl::Time start = absl::Now();
  const grpc::Status status = call();
  if (!status.ok()) {
    std::cerr << "bench_client: " << status.error_message() << "\n";
    std::exit(1);
  }
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

std::unique_ptr<v1::Coordinator::Stub> Connect(const std::string& address) {
  const absl::StatusOr<rpc::Credentials> credentials = rpc::LoadCredentials(address, {});
  CONCUR_CHECK_OK(credentials.status());
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = rpc::MakeChannel(address, *credentials);
  CONCUR_CHECK_OK(channel.status());
  return v1::Coordinator::NewStub(*std::move(channel));
}

// Counts over all watchers of the process. The readings begin when all are open.
struct WatchTotals {
  std::atomic<bool> counts = false;
  std::atomic<int> open = 0;  // have had their first message, and not their end
  std::atomic<int> ended = 0;
};

// Reads a sweep's changes until it is told to stop.
class Watcher : public grpc::ClientReadReactor<v1::WatchSweepResponse> {
 public:
  Watcher(v1::Coordinator::Stub& stub, const v1::WatchSweepRequest& request, WatchTotals& totals)
      : totals_(totals), request_(request) {
    stub.async()->WatchSweep(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      return;
    }
    if (!std::exchange(is_open_, true)) {
      ++totals_.open;
    }
    if (totals_.counts) {
      Count(absl::Now());
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status&) override {
    if (is_open_) {
      --totals_.open;
    }
    ++totals_.ended;
  }
  void Stop() { context_.TryCancel(); }

  // Valid once it has ended.
  std::vector<double> message_millis;
  std::vector<double> event_millis;
  uint64_t messages = 0;
  uint64_t resets = 0;

 private:
  static double MillisSince(const google::protobuf::Timestamp& time, absl::Time now) {
    return absl::ToDoubleMilliseconds(now - absl::FromUnixSeconds(time.seconds()) -
                                      absl::Nanoseconds(time.nanos()));
  }
  void Count(absl::Time now) {
    ++messages;
    resets += response_.reset() ? 1 : 0;
    if (response_.has_earliest_change_time()) {
      message_millis.push_back(MillisSince(response_.earliest_change_time(), now));
    }
    for (const v1::JobEvent& event : response_.events()) {
      event_millis.push_back(MillisSince(event.time(), now));
    }
  }

  WatchTotals& totals_;
  grpc::ClientContext context_;
  const v1::WatchSweepRequest request_;
  v1::WatchSweepResponse response_;
  bool is_open_ = false;
};

int Submit(const Flags& flags) {
  absl::StatusOr<spec::LoadedSweep> loaded = spec::LoadSweep(flags.file);
  CONCUR_CHECK_OK(loaded.status());
  CONCUR_CHECK_OK(spec::ResolveDataFiles(&*loaded));
  const auto stub = Connect(flags.coordinator);
  std::vector<double> millis;
  Json sweeps = Json::array();
  for (int i = 0; i < flags.times; ++i) {
    v1::CreateSweepRequest request;
    *request.mutable_spec() = rpc::ToProto(loaded->spec);
    request.set_request_id(absl::StrCat("bench-", absl::ToUnixNanos(absl::Now())));
    v1::CreateSweepResponse response;
    millis.push_back(MillisOf([&] {
      grpc::ClientContext context;
      return stub->CreateSweep(&context, request, &response);
    }));
    sweeps.push_back(response.sweep().id());
  }
  std::cout << Json{{"millis", Summary(millis)}, {"sweeps", sweeps}}.dump() << std::endl;
  return 0;
}

int Ask(const Flags& flags) {
  const auto stub = Connect(flags.coordinator);
  std::vector<double> get;
  std::vector<double> list;
  const absl::Time end = absl::Now() + absl::Seconds(flags.seconds);
  std::string token;
  while (absl::Now() < end) {
    get.push_back(MillisOf([&] {
      grpc::ClientContext context;
      v1::GetSweepRequest request;
      request.set_sweep(flags.sweep);
      v1::Sweep sweep;
      return stub->GetSweep(&context, request, &sweep);
    }));
    v1::ListJobsResponse page;
    list.push_back(MillisOf([&] {
      grpc::ClientContext context;
      v1::ListJobsRequest request;
      request.set_sweep(flags.sweep);
      request.set_page_size(1000);
      request.set_page_token(token);
      return stub->ListJobs(&context, request, &page);
    }));
    token = page.next_page_token();
    absl::SleepFor(absl::Milliseconds(5));
  }
  std::cout << Json{{"get_sweep", Summary(get)}, {"list_jobs", Summary(list)}}.dump() << std::endl;
  return 0;
}

int Watch(const Flags& flags) {
  v1::WatchSweepRequest request;
  request.set_sweep(flags.sweep);
  request.set_events(flags.events == "all"    ? v1::WatchSweepRequest::EVENTS_ALL
                     : flags.events == "none" ? v1::WatchSweepRequest::EVENTS_NONE
                                              : v1::WatchSweepRequest::EVENTS_FAILURES);
  std::vector<std::unique_ptr<v1::Coordinator::Stub>> stubs;
  std::vector<std::unique_ptr<Watcher>> watchers;
  WatchTotals totals;
  for (int i = 0; i < flags.watchers; ++i) {
    if (i % kStreamsPerConnection == 0) {
      stubs.push_back(Connect(flags.coordinator));
    }
    watchers.push_back(std::make_unique<Watcher>(*stubs.back(), request, totals));
  }
  while (totals.open < flags.watchers && totals.ended == 0) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  std::cerr << "open" << std::endl;
  totals.counts = true;
  absl::SleepFor(absl::Seconds(flags.seconds));
  totals.counts = false;
  const int still_open = totals.open;
  for (const auto& watcher : watchers) {
    watcher->Stop();
  }
  while (totals.ended < flags.watchers) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  Json report = {{"watchers_open", still_open}};
  std::vector<double> messages;
  std::vector<double> events;
  uint64_t received = 0;
  uint64_t resets = 0;
  for (const auto& watcher : watchers) {
    messages.insert(messages.end(), watcher->message_millis.begin(), watcher->message_millis.end());
    events.insert(events.end(), watcher->event_millis.begin(), watcher->event_millis.end());
    received += watcher->messages;
    resets += watcher->resets;
  }
  report["messages_per_second"] = static_cast<double>(received) / flags.seconds;
  report["resets"] = resets;
  report["earliest_change"] = messages.empty() ? Json(nullptr) : Summary(std::move(messages));
  report["event"] = events.empty() ? Json(nullptr) : Summary(std::move(events));
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) {
  concur::Flags flags;
  CLI::App app{"A client, to measure a coordinator with"};
  app.require_subcommand(1);
  CLI::App* submit = app.add_subcommand("submit", "submits a sweep file again and again");
  CLI::App* ask = app.add_subcommand("ask", "asks for a sweep and its jobs again and again");
  CLI::App* watch = app.add_subcommand("watch", "watches a sweep many times over");
  for (CLI::App* command : {submit, ask, watch}) {
    command->add_option("--coordinator", flags.coordinator, "HOST:PORT or unix:PATH")->required();
  }
  submit->add_option("file", flags.file, "the sweep file")->required();
  submit->add_option("--times", flags.times, "how often")->capture_default_str();
  for (CLI::App* command : {ask, watch}) {
    command->add_option("sweep", flags.sweep, "its id")->required();
    command->add_option("--seconds", flags.seconds, "for how long")->capture_default_str();
  }
  watch->add_option("--watchers", flags.watchers, "streams")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  watch->add_option("--events", flags.events, "that each stream asks for")
      ->capture_default_str()
      ->check(CLI::IsMember({"all", "failures", "none"}));
  CLI11_PARSE(app, argc, argv);
  return submit->parsed() ? concur::Submit(flags)
         : ask->parsed()  ? concur::Ask(flags)
                          : concur::Watch(flags);
}
