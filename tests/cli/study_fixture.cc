// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/study_fixture.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "core/sweep/expansion.h"
#include "proto/rpc/convert_sweep.h"
#include "proto/rpc/convert_value.h"

namespace concur::cli {
namespace {

constexpr int kExamples = 40;

v1::Approach* AddApproach(v1::SweepSpec& spec, const std::string& name,
                          const std::string& trained) {
  v1::Approach* approach = spec.add_approaches();
  approach->set_name(name);
  approach->set_version("1");
  (*approach->mutable_tags())["trained"] = trained;
  for (const char* arg : {"train", "--train={train}", "--model={model}"}) {
    approach->mutable_train()->add_argv(arg);
  }
  for (const char* arg : {"predict", "--model={model}", "--test={test}", "--out={predictions}"}) {
    approach->mutable_predict()->add_argv(arg);
  }
  return approach;
}

void AddBenchmark(v1::SweepSpec& spec, const std::string& name) {
  v1::Benchmark* benchmark = spec.add_benchmarks();
  benchmark->set_name(name);
  benchmark->set_format(v1::Benchmark::FORMAT_QA);
  benchmark->set_metric("exact_match");
  for (v1::DataFile* file : {benchmark->mutable_train(), benchmark->mutable_test()}) {
    file->set_digest(Sha256Of(absl::StrCat(name, spec.benchmarks_size())).ToBytes());
    file->set_size_bytes(10);
    file->set_suffix(".json");
  }
  v1::TrainSet* train = spec.add_train_sets();
  train->set_name(name);
  train->add_parts()->set_benchmark(static_cast<uint32_t>(spec.benchmarks_size() - 1));
}

}  // namespace

std::string ExampleLines(const std::vector<std::pair<std::string, bool>>& examples) {
  std::string lines;
  for (const auto& [id, right] : examples) {
    absl::StrAppend(&lines, "{\"id\": \"", id, "\", \"exact_match\": ", right ? 1 : 0,
                    ", \"f1\": ", right ? "1" : "0.25", "}\n");
  }
  return lines;
}

StudyFixture::StudyFixture() {
  v1::Sweep sweep;
  sweep.set_id("s1");
  sweep.set_name("demo");
  sweep.set_owner("ada");
  sweep.set_state(v1::Sweep::STATE_FAILED);
  sweep.mutable_create_time()->set_seconds(1'700'000'000);
  sweep.mutable_end_time()->set_seconds(1'700'000'125);
  v1::SweepSpec& spec = *sweep.mutable_spec();
  spec.set_name("demo");
  v1::Approach* lr = AddApproach(spec, "lr", "yes");
  (*lr->mutable_defaults())["c"].set_double_value(0.1);
  v1::Distribution::Range* range = (*lr->mutable_space())["c"].mutable_log_uniform();
  range->set_low(0.01);
  range->set_high(10);
  AddApproach(spec, "guess", "no");
  AddApproach(spec, "bert", "yes");
  AddApproach(spec, "broken", "yes");
  AddBenchmark(spec, "news");
  AddBenchmark(spec, "wiki");
  spec.set_evaluate_on(v1::SweepSpec::EVALUATE_ON_SAME);
  spec.set_random_settings(1);
  spec.set_settings_seed(42);
  spec.add_seeds(1);
  spec.set_select(v1::SweepSpec::SELECTION_BEST);
  fake_.sweeps = {sweep};
  AddJobs(spec);
}

void StudyFixture::AddJobs(const v1::SweepSpec& proto) {
  // Right answers out of 40: by approach, benchmark and setting.
  const std::map<std::tuple<std::string, std::string, uint32_t>, int> right = {
      {{"lr", "news", 0}, 20},   {{"lr", "news", 1}, 30},   {{"lr", "wiki", 0}, 20},
      {{"lr", "wiki", 1}, 30},   {{"guess", "news", 0}, 5}, {{"guess", "wiki", 0}, 9},
      {{"bert", "news", 0}, 35}, {{"bert", "wiki", 0}, 28}};
  absl::StatusOr<SweepSpec> spec = rpc::FromProto(proto);
  CONCUR_CHECK_OK(spec.status());
  const absl::StatusOr<Expansion> expansion = Expansion::Make(*std::move(spec));
  CONCUR_CHECK_OK(expansion.status());
  for (uint32_t index = 0; index < expansion->job_count(); ++index) {
    const JobCoordinates at = expansion->Locate(index);
    const Block& block = expansion->blocks()[at.block];
    v1::Job job;
    job.set_id(absl::StrCat("s1/", index));
    job.set_kind(at.is_train ? v1::Job::KIND_TRAIN : v1::Job::KIND_EVAL);
    job.set_approach(expansion->spec().approaches[block.approach].name);
    job.set_train_set(expansion->spec().train_sets[block.train_set].name);
    job.set_setting_index(at.setting);
    *job.mutable_setting() = rpc::ToProto(expansion->Settings(block.approach)[at.setting]);
    job.set_seed(1);
    const bool failed = job.approach() == "broken";
    job.set_state(failed ? v1::Job::STATE_FAILED : v1::Job::STATE_SUCCEEDED);
    job.mutable_result()->set_succeeded(!failed);
    if (!at.is_train) {
      job.set_test_benchmark(job.train_set());
      if (!failed) {
        AddScores(right.at({job.approach(), job.train_set(), at.setting}), job);
      }
    }
    fake_.jobs.push_back(std::move(job));
  }
}

Digest StudyFixture::ExamplesDigest(const std::string& approach,
                                    const std::string& benchmark) const {
  for (const v1::Job& job : fake_.jobs) {
    if (job.approach() == approach && job.test_benchmark() == benchmark) {
      return *Digest::FromBytes(job.result().artifacts(0).digest());
    }
  }
  return Digest();
}

Output StudyFixture::Concur(std::vector<std::string> args) {
  args.insert(args.begin(), {"--server", fake_.address()});
  return RunConcur(std::move(args));
}

void StudyFixture::AddScores(int right, v1::Job& job) {
  std::vector<std::pair<std::string, bool>> examples;
  for (int i = 0; i < kExamples; ++i) {
    // Spread over the test set, elsewhere for every setting.
    examples.emplace_back(absl::StrCat(job.test_benchmark(), i),
                          (i * 7 + static_cast<int>(job.setting_index()) * 3) % kExamples < right);
  }
  const std::string lines = ExampleLines(examples);
  fake_.artifacts[Sha256Of(lines)] = lines;
  v1::JobResult& result = *job.mutable_result();
  v1::Artifact* artifact = result.add_artifacts();
  artifact->set_kind(v1::Artifact::KIND_EXAMPLES);
  artifact->set_digest(Sha256Of(lines).ToBytes());
  artifact->set_size_bytes(static_cast<int64_t>(lines.size()));
  double f1_sum = 0;
  for (int i = 0; i < kExamples; ++i) {
    f1_sum += examples[static_cast<size_t>(i)].second ? 1 : 0.25;
  }
  for (const auto& [name, value] :
       {std::pair("exact_match", 100.0 * right / kExamples), {"f1", 100.0 * f1_sum / kExamples}}) {
    v1::Metric* metric = result.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
    metric->set_examples(kExamples);
  }
}

}  // namespace concur::cli
