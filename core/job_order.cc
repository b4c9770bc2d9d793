#include "core/job_order.h"

#include <string>
#include <utility>

#include "base/check.h"

namespace concur {
namespace {

JobOrder::Input InputOf(const BenchmarkSpec& benchmark, const DataFile& file) {
  JobOrder::Input input;
  input.name = benchmark.name;
  input.digest = file.digest;
  input.bytes = file.bytes;
  input.suffix = file.suffix;
  return input;
}

void FillTrain(const SweepSpec& spec, const TrainSet& train_set, JobOrder& order) {
  order.benchmark = train_set.name;
  order.is_mixture = train_set.IsMixture();
  order.mixture_seed = train_set.seed;
  order.train.reserve(train_set.parts.size());
  for (const TrainSet::Part& part : train_set.parts) {
    const BenchmarkSpec& benchmark = spec.benchmarks[part.benchmark];
    CONCUR_CHECK(benchmark.train.has_value());
    JobOrder::Input input = InputOf(benchmark, *benchmark.train);
    input.examples_max = part.examples_max;
    order.train.push_back(std::move(input));
  }
  // What a train job reads has one format; a mixture of formats is refused at submission.
  order.format = spec.benchmarks[train_set.parts.front().benchmark].format;
}

}  // namespace

JobOrder MakeJobOrder(const Expansion& expansion, AttemptId id, const std::string& owner,
                      uint64_t gpu_mask, const Digest& system, int64_t system_bytes) {
  const SweepSpec& spec = expansion.spec();
  const JobCoordinates at = expansion.Locate(id.job.index);
  const Block& block = expansion.blocks()[at.block];
  const ApproachSpec& approach = spec.approaches[block.approach];

  JobOrder order;
  order.id = id;
  order.is_train = at.is_train;
  order.owner = owner;
  order.sweep_name = spec.name;
  order.approach = approach.name;
  order.command = at.is_train ? approach.train_command : approach.predict_command;
  order.env = approach.env;
  order.setting = expansion.Settings(block.approach)[at.setting];
  order.setting_index = at.setting;
  order.seed = spec.seeds[at.seed_index];
  order.resources = at.is_train ? approach.train_resources : approach.predict_resources;
  order.gpu_mask = gpu_mask;
  order.timeout = at.is_train ? approach.train_timeout : approach.predict_timeout;
  order.keep = spec.keep;
  if (at.is_train) {
    FillTrain(spec, spec.train_sets[block.train_set], order);
    return order;
  }
  const BenchmarkSpec& benchmark = spec.benchmarks[at.test_benchmark];
  CONCUR_CHECK(benchmark.test.has_value());
  order.benchmark = benchmark.name;
  order.test = InputOf(benchmark, *benchmark.test);
  order.format = benchmark.format;
  order.system = system;
  order.system_bytes = system_bytes;
  return order;
}

}  // namespace concur
