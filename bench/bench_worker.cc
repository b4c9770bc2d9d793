// SPDX-License-Identifier: Apache-2.0
// Hundreds of workers in one process that run nothing: what they are told to start succeeds at once
// or after a drawn time. What is measured with them is the coordinator.
//
//   concur-bench-worker --coordinator ADDRESS --workers 16 --slots 64 --jobs 1000000
//
// Ends when so many results have been acknowledged (durable then), prints one JSON object, and
// fails unless every one of them was acknowledged exactly once: a figure without that check counts
// for nothing. Each worker keeps core/sync/sync.h's rules: it lists every attempt that it knows in
// every Sync, and hands in a result until it is told to forget it.
//
// One thread takes all answers from one completion queue: the threads of gRPC's callbacks wake each
// other for every answer, and would take time of the CPUs from the coordinator that is measured.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_unary_call.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/random.h"
#include "concur/v1/worker.grpc.pb.h"
#include "proto/rpc/channel.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/credentials.h"

namespace concur {
namespace {

struct Flags {
  std::string coordinator = "127.0.0.1:7447";
  int workers = 16;
  int slots = 64;
  uint64_t jobs = 0;
  int channels = 1;
  double seconds = 0;  // mean run time of a job; 0: none
  double stop_after = 3600;
  uint64_t seed = 1;
  std::string prefix = "bench";
  bool partial = false;  // there are more jobs than are waited for
};

double Seconds(absl::Duration duration) { return absl::ToDoubleSeconds(duration); }

double CpuSeconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Counts over all workers of the process. Thread-safe.
class Tally {
 public:
  explicit Tally(uint64_t jobs) : jobs_(jobs) { accepted_.reserve(jobs); }

  void Started(size_t count) {
    MutexLock lock(mu_);
    if (starts_ == 0 && count > 0) {
      first_start_ = absl::Now();
    }
    starts_ += count;
  }
  void Forgotten(const v1::ForgetOrder& order) {
    MutexLock lock(mu_);
    if (!order.accepted()) {
      ++refused_;
      return;
    }
    if (!accepted_.insert({order.id().sweep(), order.id().job()}).second) {
      ++repeated_;
    }
    if (accepted_.size() >= jobs_) {
      last_ack_ = absl::Now();
      done_.NotifyAll();
    }
  }
  void Called() {
    MutexLock lock(mu_);
    ++calls_;
  }
  void Failed(const std::string& message) {
    MutexLock lock(mu_);
    ++errors_;
    last_error_ = message;
  }
  // False when the time ran out.
  bool Wait(absl::Duration timeout) {
    const absl::Time end = absl::Now() + timeout;
    MutexLock lock(mu_);
    while (accepted_.size() < jobs_ && absl::Now() < end) {
      done_.WaitWithTimeout(mu_, end - absl::Now());
    }
    return accepted_.size() >= jobs_;
  }
  nlohmann::ordered_json Report() {
    MutexLock lock(mu_);
    const double wall = Seconds(last_ack_ - first_start_);
    nlohmann::ordered_json report;
    report["acknowledged"] = accepted_.size();
    report["started"] = starts_;
    report["repeated"] = repeated_;
    report["refused"] = refused_;
    report["errors"] = errors_;
    report["last_error"] = last_error_;
    report["calls"] = calls_;
    report["seconds"] = wall;
    report["per_second"] = wall > 0 ? static_cast<double>(accepted_.size()) / wall : 0;
    report["client_cpu_seconds"] = CpuSeconds();
    return report;
  }

 private:
  const uint64_t jobs_;

  Mutex mu_;
  CondVar done_;
  absl::flat_hash_set<std::pair<uint64_t, uint32_t>> accepted_ ABSL_GUARDED_BY(mu_);
  uint64_t starts_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t repeated_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t errors_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t calls_ ABSL_GUARDED_BY(mu_) = 0;
  std::string last_error_ ABSL_GUARDED_BY(mu_);
  absl::Time first_start_ ABSL_GUARDED_BY(mu_);
  absl::Time last_ack_ ABSL_GUARDED_BY(mu_);
};

// Thread-safe.
class FakeWorker {
 public:
  FakeWorker(const Flags& flags, int index, std::shared_ptr<grpc::Channel> channel,
             grpc::CompletionQueue& answers, Tally& tally)
      : flags_(flags),
        answers_(answers),
        stub_(v1::WorkerGateway::NewStub(std::move(channel))),
        tally_(tally),
        random_(flags.seed, absl::StrCat("bench/worker/", index)),
        name_(absl::StrCat(flags.prefix, "-", index)),
        incarnation_(absl::StrCat(name_, "-", absl::ToUnixNanos(absl::Now()))) {}

  void Start() {
    UploadSystem();
    MutexLock lock(mu_);
    Send();
  }
  // Takes the answers of all workers until the queue is shut down.
  static void TakeAnswers(grpc::CompletionQueue& answers) {
    void* tag = nullptr;
    bool ok = false;
    while (answers.Next(&tag, &ok)) {
      auto* call = static_cast<Call*>(tag);
      call->worker->OnDone(call);
    }
  }
  // Ends what has run long enough. Returns when the next one ends.
  absl::Time Tick(absl::Time now) {
    MutexLock lock(mu_);
    bool news = false;
    while (!ends_.empty() && ends_.begin()->first <= now) {
      Finish(ends_.begin()->second);
      ends_.erase(ends_.begin());
      news = true;
    }
    if (news) {
      // The parked call is superseded by the one that brings the news.
      Send();
    }
    return ends_.empty() ? absl::InfiniteFuture() : ends_.begin()->first;
  }
  // No call is made any more; waits for those under way.
  void Stop() {
    MutexLock lock(mu_);
    stopping_ = true;
    for (Call* call : calls_) {
      call->context.TryCancel();
    }
    while (!calls_.empty()) {
      ended_.Wait(mu_);
    }
  }

 private:
  struct Call {
    FakeWorker* worker = nullptr;
    grpc::ClientContext context;
    v1::SyncRequest request;
    v1::SyncResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::SyncResponse>> reader;
  };
  using Key = std::pair<uint64_t, uint32_t>;  // sweep, job
  struct Running {
    bool is_train = false;
    absl::Duration run_time;  // as drawn
  };

  // All train jobs report this system: a coordinator counts no result whose artifacts it has not.
  static std::string System() { return std::string(1000, 's'); }
  void UploadSystem() {
    grpc::ClientContext context;
    v1::UploadArtifactResponse response;
    const auto writer = stub_->UploadArtifact(&context, &response);
    v1::UploadArtifactRequest request;
    request.set_digest(Sha256Of(System()).ToBytes());
    request.set_data(System());
    writer->Write(request);
    writer->WritesDone();
    if (const grpc::Status status = writer->Finish(); !status.ok()) {
      tally_.Failed(status.error_message());
    }
  }

  void Finish(const v1::AttemptId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto running = running_.find({id.sweep(), id.job()});
    if (running == running_.end()) {
      return;
    }
    v1::FinishedAttempt& finished = finished_[running->first];
    *finished.mutable_id() = id;
    v1::JobResult& result = *finished.mutable_result();
    result.set_succeeded(true);
    result.mutable_start_time()->set_seconds(1'700'000'000);
    *result.mutable_run_time() = rpc::ToProto(running->second.run_time);
    if (running->second.is_train) {
      v1::Artifact& system = *result.add_artifacts();
      system.set_kind(v1::Artifact::KIND_SYSTEM);
      system.set_digest(system_digest_);
      system.set_size_bytes(static_cast<int64_t>(System().size()));
    } else {
      v1::Metric& metric = *result.add_metrics();
      metric.set_name("accuracy");
      metric.set_value(random_.Uniform());
      metric.set_examples(1000);
    }
    running_.erase(running);
  }

  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (stopping_) {
      return;
    }
    auto* call = new Call;  // deleted when it has ended
    call->worker = this;
    v1::SyncRequest& request = call->request;
    request.set_worker(name_);
    request.set_incarnation(incarnation_);
    request.set_host("bench");
    request.set_version("bench");
    request.mutable_capacity()->set_cpu_millis(int64_t{1000} * flags_.slots);
    request.set_sequence(++sequence_);
    request.mutable_wait()->set_seconds(10);
    for (const auto& [key, running] : running_) {
      v1::AttemptId& id = *request.add_running();
      id = attempts_.at(key);
    }
    for (const auto& [key, finished] : finished_) {
      *request.add_finished() = finished;
    }
    calls_.insert(call);
    call->context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    call->reader = stub_->AsyncSync(&call->context, call->request, &answers_);
    call->reader->Finish(&call->response, &call->status, call);
  }

  void OnDone(Call* call) {
    const std::unique_ptr<Call> owned(call);
    MutexLock lock(mu_);
    calls_.erase(call);
    if (stopping_) {
      ended_.NotifyAll();
      return;
    }
    if (call->request.sequence() != sequence_) {
      return;  // superseded
    }
    if (!call->status.ok()) {
      tally_.Failed(call->status.error_message());
      Send();
      return;
    }
    tally_.Called();
    for (const v1::ForgetOrder& order : call->response.forget()) {
      const Key key{order.id().sweep(), order.id().job()};
      finished_.erase(key);
      attempts_.erase(key);
      tally_.Forgotten(order);
    }
    tally_.Started(static_cast<size_t>(call->response.start_size()));
    const absl::Time now = absl::Now();
    for (const v1::JobOrder& order : call->response.start()) {
      const Key key{order.id().sweep(), order.id().job()};
      attempts_[key] = order.id();
      Running& running = running_[key];
      running.is_train = order.is_train();
      if (flags_.seconds > 0) {
        running.run_time = absl::Seconds(-std::log1p(-random_.Uniform()) * flags_.seconds);
        ends_.emplace(now + running.run_time, order.id());
      } else {
        Finish(order.id());
      }
    }
    Send();
  }

  const Flags& flags_;
  grpc::CompletionQueue& answers_;
  const std::string system_digest_ = Sha256Of(System()).ToBytes();
  const std::unique_ptr<v1::WorkerGateway::Stub> stub_;
  Tally& tally_;

  Mutex mu_;
  CondVar ended_;
  Random random_ ABSL_GUARDED_BY(mu_);
  const std::string name_;
  const std::string incarnation_;
  uint64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::set<Call*> calls_ ABSL_GUARDED_BY(mu_);
  std::map<Key, v1::AttemptId> attempts_ ABSL_GUARDED_BY(mu_);
  std::map<Key, Running> running_ ABSL_GUARDED_BY(mu_);
  std::map<Key, v1::FinishedAttempt> finished_ ABSL_GUARDED_BY(mu_);
  std::multimap<absl::Time, v1::AttemptId> ends_ ABSL_GUARDED_BY(mu_);
};

int Run(const Flags& flags) {
  Tally tally(flags.jobs);
  const absl::StatusOr<rpc::Credentials> credentials = rpc::LoadCredentials(flags.coordinator, {});
  CONCUR_CHECK_OK(credentials.status());
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < flags.channels; ++i) {
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
        rpc::MakeChannel(flags.coordinator, *credentials);
    CONCUR_CHECK_OK(channel.status());
    channels.push_back(*std::move(channel));
  }
  grpc::CompletionQueue answers;
  std::thread taker([&answers] { FakeWorker::TakeAnswers(answers); });
  std::vector<std::unique_ptr<FakeWorker>> workers;
  for (int i = 0; i < flags.workers; ++i) {
    workers.push_back(std::make_unique<FakeWorker>(
        flags, i, channels[static_cast<size_t>(i) % channels.size()], answers, tally));
    workers.back()->Start();
  }
  const absl::Time end = absl::Now() + absl::Seconds(flags.stop_after);
  bool complete = false;
  if (flags.seconds > 0) {
    while (!complete && absl::Now() < end) {
      absl::Time next = absl::Now() + absl::Milliseconds(20);
      for (const auto& worker : workers) {
        next = std::min(next, worker->Tick(absl::Now()));
      }
      complete = tally.Wait(std::max(next - absl::Now(), absl::Milliseconds(1)));
    }
  } else {
    complete = tally.Wait(end - absl::Now());
  }
  for (const auto& worker : workers) {
    worker->Stop();
  }
  answers.Shutdown();
  taker.join();
  const nlohmann::ordered_json report = tally.Report();
  std::cout << report.dump() << std::endl;
  const bool exact =
      report["repeated"] == 0 && report["refused"] == 0 && report["acknowledged"] >= flags.jobs &&
      (flags.partial || (report["acknowledged"] == flags.jobs && report["started"] == flags.jobs));
  return complete && exact ? 0 : 1;
}

}  // namespace
}  // namespace concur

int main(int argc, char** argv) {
  concur::Flags flags;
  CLI::App app{"Workers that run nothing, to measure a coordinator with"};
  app.add_option("--coordinator", flags.coordinator, "HOST:PORT or unix:PATH")
      ->capture_default_str();
  app.add_option("--workers", flags.workers, "how many workers")->capture_default_str();
  app.add_option("--slots", flags.slots, "jobs at a time, of each")->capture_default_str();
  app.add_option("--channels", flags.channels, "connections that they share")
      ->capture_default_str();
  app.add_option("--jobs", flags.jobs, "end when so many results are acknowledged")->required();
  app.add_option("--seconds", flags.seconds, "mean of the exponential run times; 0: none")
      ->capture_default_str();
  app.add_option("--stop-after", flags.stop_after, "give up after so many seconds")
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "of the run times")->capture_default_str();
  app.add_option("--partial", flags.partial, "there are more jobs: they may begin, too");
  app.add_option("--prefix", flags.prefix, "of the workers' names")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return concur::Run(flags);
}
