// What users wait for, in milliseconds of one process that stays connected: the program `concur`
// takes longer to start than most calls take.
//
//   bench_client submit FILE --coordinator ADDRESS --times 5
//   bench_client ask SWEEP --coordinator ADDRESS --seconds 10 --watchers 100
//
// Prints one JSON object. `submit` wants the data files to be with the coordinator already. `ask`
// calls GetSweep and ListJobs (a page of 1000) in turns, while so many streams watch the sweep.
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
#include "rpc/channel.h"
#include "rpc/convert_sweep.h"
#include "rpc/credentials.h"
#include "spec/sweep_yaml.h"

namespace concur {
namespace {

struct Flags {
  std::string coordinator;
  std::string file;
  std::string sweep;
  int times = 5;
  double seconds = 10;
  int watchers = 0;
};

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

// Reads a sweep's changes until it is told to stop.
class Watcher : public grpc::ClientReadReactor<v1::WatchSweepResponse> {
 public:
  Watcher(v1::Coordinator::Stub& stub, const std::string& sweep, std::atomic<int64_t>& messages,
          std::atomic<int>& open)
      : messages_(messages), open_(open) {
    request_.set_sweep(sweep);
    ++open_;
    stub.async()->WatchSweep(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (ok) {
      ++messages_;
      StartRead(&response_);
    }
  }
  void OnDone(const grpc::Status&) override { --open_; }
  void Stop() { context_.TryCancel(); }

 private:
  std::atomic<int64_t>& messages_;
  std::atomic<int>& open_;
  grpc::ClientContext context_;
  v1::WatchSweepRequest request_;
  v1::WatchSweepResponse response_;
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
  std::atomic<int64_t> messages = 0;
  std::atomic<int> open = 0;
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < flags.watchers; ++i) {
    watchers.push_back(std::make_unique<Watcher>(*stub, flags.sweep, messages, open));
  }
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
  const int still_open = open;
  for (const auto& watcher : watchers) {
    watcher->Stop();
  }
  while (open > 0) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  std::cout << Json{{"get_sweep", Summary(get)},
                    {"list_jobs", Summary(list)},
                    {"watchers_open", still_open},
                    {"watch_messages", messages.load()}}
                   .dump()
            << std::endl;
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
  for (CLI::App* command : {submit, ask}) {
    command->add_option("--coordinator", flags.coordinator, "HOST:PORT or unix:PATH")->required();
  }
  submit->add_option("file", flags.file, "the sweep file")->required();
  submit->add_option("--times", flags.times, "how often")->capture_default_str();
  ask->add_option("sweep", flags.sweep, "its id")->required();
  ask->add_option("--seconds", flags.seconds, "for how long")->capture_default_str();
  ask->add_option("--watchers", flags.watchers, "streams that watch it")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return submit->parsed() ? concur::Submit(flags) : concur::Ask(flags);
}
