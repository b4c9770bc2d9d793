// SPDX-License-Identifier: Apache-2.0
#include "tests/worker_machine/jobs.h"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "worker/inputs/run_dir.h"

namespace concur::testing {
namespace {

// Looked at and never run: where there is no such file, that would be the error told.
constexpr char kProgram[] = "/bin/true";
constexpr size_t kInputs = 3;
constexpr int64_t kMemoryBytes = int64_t{100} << 20;
constexpr absl::Duration kTimeout = absl::Milliseconds(20);

std::string RandomText(Random& random, size_t size) {
  std::string text(size, '\0');
  for (char& c : text) {
    c = static_cast<char>(random.Below(256));
  }
  return text;
}

std::string Slurp(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A log that the disk did not take whole.
bool IsMarkedAsCut(const std::string& log) {
  return log.find("\n[the rest of the log could not be written: ") != std::string::npos;
}

JobPlan DrawPlan(Random& random) {
  using Kind = JobPlan::Kind;
  constexpr Kind kKinds[] = {Kind::kFail, Kind::kCrash,        Kind::kNoOutput, Kind::kHang,
                             Kind::kHog,  Kind::kUntilStopped, Kind::kKernelOom};
  JobPlan plan;
  plan.kind = random.Chance(0.5) ? Kind::kSucceed : kKinds[random.Below(std::size(kKinds))];
  plan.is_train = random.Chance(0.6);
  constexpr int kCodes[] = {1, 3, 75, 78};
  plan.exit_code = plan.kind == Kind::kFail ? kCodes[random.Below(std::size(kCodes))] : 0;
  plan.daemons = random.Chance(0.3) ? static_cast<int>(random.Between(1, 3)) : 0;
  plan.has_litter = random.Chance(0.2);
  plan.undeletable = random.Chance(0.05);
  plan.input = random.Below(kInputs);
  plan.model_bytes = static_cast<size_t>(random.Between(1, random.Chance(0.2) ? 300'000 : 3'000));
  return plan;
}

}  // namespace

Jobs::Jobs(uint64_t seed, size_t count, int slots, worker::FakeTransfer& transfer, Broken broken)
    : slots_(slots), transfer_(transfer), broken_(std::move(broken)) {
  Random random(seed, "jobs");
  for (size_t i = 0; i < kInputs; ++i) {
    inputs_.push_back(RandomText(random, static_cast<size_t>(random.Between(1, 200'000))));
    transfer_.Add(inputs_.back());
  }
  for (size_t i = 0; i < count; ++i) {
    plans_.push_back(DrawPlan(random));
  }
}

JobOrder Jobs::Order(const AttemptId& id) const {
  const JobPlan& plan = plans_[id.job.index];
  JobOrder order;
  order.id = id;
  order.is_train = plan.is_train;
  order.sweep_name = "world";
  order.approach = "simulated";
  order.benchmark = "data";
  order.format = DataFormat::kFile;
  order.resources.memory_bytes = kMemoryBytes;
  order.timeout = plan.kind == JobPlan::Kind::kHang ? kTimeout : absl::InfiniteDuration();
  JobOrder::Input input;
  input.name = "data";
  input.digest = Sha256Of(inputs_[plan.input]);
  input.bytes = static_cast<int64_t>(inputs_[plan.input].size());
  if (plan.is_train) {
    order.train = {input};
    order.command = {kProgram, absl::StrCat(id.job.index), "{train}", "{model}", "{output}"};
  } else {
    order.test = input;
    order.command = {kProgram, absl::StrCat(id.job.index), "{test}", "{metrics}", "{output}"};
  }
  return order;
}

// --- the programs --------------------------------------------------------------------------------

std::string Jobs::ModelOf(size_t job) const {
  Random random(job, "model");
  return RandomText(random, plans_[job].model_bytes);
}

std::string Jobs::OutputOf(const std::string& run) const {
  return absl::StrCat(run, " says this\n");
}

void Jobs::CheckDirectory(const std::string& run, const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    const bool is_folder = name == "output" || name == "tmp" || name == "checkpoint";
    if (!is_folder && name.rfind("train", 0) != 0 && name.rfind("test", 0) != 0) {
      broken_(absl::StrCat(run, " begins beside a file of another: ", name));
    }
    if (is_folder && !std::filesystem::is_empty(entry.path())) {
      broken_(absl::StrCat(run, " begins with files of another in ", name));
    }
  }
}

void Jobs::CheckInput(const std::string& run, const JobPlan& plan, const std::string& path) {
  const std::string found = Slurp(path);
  if (found != inputs_[plan.input]) {
    broken_(absl::StrCat(run, " reads other data than it was given: ", found.size(),
                         " bytes instead of ", inputs_[plan.input].size()));
  }
}

void Jobs::MakeLitter(Machine& machine, const JobPlan& plan, const std::string& output) {
  if (plan.has_litter) {
    std::filesystem::create_directories(output + "/deep/closed");
    std::ofstream(output + "/deep/closed/file") << "x";
    chmod((output + "/deep/closed").c_str(), 0);
  }
  if (plan.undeletable) {
    std::ofstream(output + "/immutable") << "x";
    machine.MakeUndeletable(output + "/immutable");
  }
}

Behaviour Jobs::Start(Machine& machine, const Execution& execution) {
  size_t job = 0;
  CONCUR_CHECK(absl::SimpleAtoi(execution.argv.at(1), &job));
  const JobPlan& plan = plans_[job];
  const std::string run = std::filesystem::path(execution.directory).filename().string();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!started_.insert(run).second) {
      broken_(run + " starts twice");
    }
    if (reported_.contains(run)) {
      broken_(run + " starts after its result was reported");
    }
  }
  if (machine.LivingJobs() >= static_cast<size_t>(slots_)) {
    broken_(absl::StrCat(run, " starts beside ", slots_, " others, the number of slots"));
  }
  if (machine.Living(execution.directory) > 0) {
    broken_(run + " starts beside processes of another in its directory");
  }
  CheckDirectory(run, execution.directory);
  CheckInput(run, plan, execution.argv[2]);
  Random random(job, run);
  Behaviour behaviour;
  behaviour.end_after = std::chrono::milliseconds(random.Between(0, 8));
  behaviour.output = OutputOf(run);
  behaviour.dies_slowly = random.Chance(0.2);
  behaviour.ignores_term = random.Chance(0.3);
  for (int i = 0; i < plan.daemons; ++i) {
    behaviour.children.push_back({random.Chance(0.7), random.Chance(0.3)});
  }
  MakeLitter(machine, plan, execution.argv[4]);
  switch (plan.kind) {
    case JobPlan::Kind::kSucceed:
      std::ofstream(execution.argv[3], std::ios::binary)
          << (plan.is_train ? ModelOf(job) : absl::StrCat("{\"accuracy\": ", job, ".5}"));
      break;
    case JobPlan::Kind::kFail:
      behaviour.wait_status = plan.exit_code << 8;
      break;
    case JobPlan::Kind::kCrash:
      behaviour.wait_status = SIGSEGV;
      break;
    case JobPlan::Kind::kKernelOom:
      behaviour.wait_status = SIGKILL;
      behaviour.kernel_oom = true;
      break;
    case JobPlan::Kind::kHog:
      behaviour.memory_bytes = 2 * kMemoryBytes;
      behaviour.end_after.reset();
      break;
    case JobPlan::Kind::kHang:
    case JobPlan::Kind::kUntilStopped:
      behaviour.end_after.reset();
      break;
    case JobPlan::Kind::kNoOutput:
      break;
  }
  return behaviour;
}

// --- the results ---------------------------------------------------------------------------------

void Jobs::Reported(const AttemptId& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reported_.insert(worker::RunName(id));
}

int Jobs::starts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(started_.size());
}

bool Jobs::IsFinal(size_t job, const JobResult& result) const {
  // A job that the machine's faults made fail is tried again.
  return result.succeeded || (result.failure != FailureClass::kWorker &&
                              (result.failure != FailureClass::kPreempted ||
                               plans_[job].kind == JobPlan::Kind::kUntilStopped));
}

std::string Jobs::Problem(const AttemptId& id, const JobResult& result) {
  const JobPlan& plan = plans_[id.job.index];
  const std::string run = worker::RunName(id);
  for (const ArtifactRef& artifact : result.artifacts) {
    if (!transfer_.Has(artifact.digest)) {
      return absl::StrCat(run, ": its ", ArtifactKindName(artifact.kind), " was not uploaded");
    }
    const std::string data = transfer_.Get(artifact.digest);
    if (artifact.kind == ArtifactKind::kLog && data != OutputOf(run) && !IsMarkedAsCut(data)) {
      return absl::StrCat(run, ": its log is not what it printed: \"", data, "\"");
    }
    if (artifact.kind == ArtifactKind::kSystem && data != ModelOf(id.job.index)) {
      return absl::StrCat(run, ": its system is not what it wrote: ", data.size(),
                          " bytes instead of ", plan.model_bytes);
    }
  }
  using Kind = JobPlan::Kind;
  using Failure = FailureClass;
  static const std::map<Kind, std::set<Failure>> allowed = {
      {Kind::kSucceed, {Failure::kNone}},
      {Kind::kFail, {Failure::kFailed, Failure::kTemporary, Failure::kConfig}},
      {Kind::kCrash, {Failure::kFailed}},
      {Kind::kNoOutput, {Failure::kInvalidOutput}},
      {Kind::kHang, {Failure::kTimeout}},
      {Kind::kUntilStopped, {}},
      {Kind::kHog, {Failure::kOutOfMemory}},
      // Which process the kernel killed is not known where there are no control groups.
      {Kind::kKernelOom, {Failure::kOutOfMemory, Failure::kFailed}},
  };
  if (result.failure != Failure::kWorker && result.failure != Failure::kPreempted &&
      !allowed.at(plan.kind).contains(result.failure)) {
    return absl::StrCat(run, ": a result of class ", FailureClassName(result.failure),
                        " for a job of kind ", static_cast<int>(plan.kind), ": ", result.message);
  }
  if (result.succeeded && plan.is_train && FindArtifact(result, ArtifactKind::kSystem) == nullptr) {
    return run + ": a success without a system";
  }
  if (result.succeeded && !plan.is_train &&
      (result.metrics.size() != 1 ||
       result.metrics[0].value != static_cast<double>(id.job.index) + 0.5)) {
    return run + ": another score than it wrote";
  }
  const bool told = result.failure == Failure::kFailed || result.failure == Failure::kTemporary ||
                    result.failure == Failure::kConfig;
  if (plan.kind == Kind::kFail && told && result.exit_code != plan.exit_code) {
    return absl::StrCat(run, ": exit code ", result.exit_code, " instead of ", plan.exit_code);
  }
  return "";
}

}  // namespace concur::testing
