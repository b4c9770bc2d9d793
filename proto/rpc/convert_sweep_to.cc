// SPDX-License-Identifier: Apache-2.0
// core → protobuf; the way back is in convert_sweep.cc.
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/utf8.h"
#include "proto/rpc/convert_environment.h"
#include "proto/rpc/convert_sweep.h"

namespace concur::rpc {
namespace {

v1::Distribution ToProto(const Distribution& distribution) {
  v1::Distribution proto;
  if (const auto* choice = std::get_if<Choice>(&distribution)) {
    auto* values = choice->is_grid ? proto.mutable_grid() : proto.mutable_choice();
    for (const ParamValue& value : choice->values) {
      *values->add_values() = rpc::ToProto(value);
    }
  } else if (const auto* uniform = std::get_if<UniformRange>(&distribution)) {
    proto.mutable_uniform()->set_low(uniform->low);
    proto.mutable_uniform()->set_high(uniform->high);
  } else if (const auto* log_uniform = std::get_if<LogUniformRange>(&distribution)) {
    proto.mutable_log_uniform()->set_low(log_uniform->low);
    proto.mutable_log_uniform()->set_high(log_uniform->high);
  } else {
    const auto& integers = std::get<IntegerRange>(distribution);
    proto.mutable_integers()->set_low(integers.low);
    proto.mutable_integers()->set_high(integers.high);
    proto.mutable_integers()->set_step(integers.step);
  }
  return proto;
}

v1::Command CommandToProto(const std::vector<std::string>& argv, const Resources& resources,
                           absl::Duration timeout, const std::optional<Digest>& program) {
  v1::Command proto;
  for (const std::string& argument : argv) {
    proto.add_argv(argument);
  }
  *proto.mutable_resources() = rpc::ToProto(resources);
  if (timeout != absl::InfiniteDuration()) {
    *proto.mutable_timeout() = rpc::ToProto(timeout);
  }
  if (program) {
    proto.set_program_digest(program->ToBytes());
  }
  return proto;
}

v1::Code ToProto(const Code& code) {
  v1::Code proto;
  proto.set_digest(code.digest.ToBytes());
  proto.set_size_bytes(code.bytes);
  proto.set_root(CleanUtf8(code.root));
  for (const CodeFile& file : code.files) {
    v1::Code::File& added = *proto.add_files();
    added.set_path(file.path);
    added.set_digest(file.digest.ToBytes());
    added.set_size_bytes(file.bytes);
    added.set_executable(file.is_executable);
  }
  return proto;
}

v1::Approach ToProto(const ApproachSpec& approach) {
  v1::Approach proto;
  proto.set_name(approach.name);
  proto.mutable_tags()->insert(approach.tags.begin(), approach.tags.end());
  proto.set_version(approach.version);
  *proto.mutable_train() = CommandToProto(approach.train_command, approach.train_resources,
                                          approach.train_timeout, approach.train_program);
  *proto.mutable_predict() = CommandToProto(approach.predict_command, approach.predict_resources,
                                            approach.predict_timeout, approach.predict_program);
  proto.mutable_train()->mutable_labels()->insert(approach.train_labels.begin(),
                                                  approach.train_labels.end());
  proto.mutable_predict()->mutable_labels()->insert(approach.predict_labels.begin(),
                                                    approach.predict_labels.end());
  proto.mutable_train()->mutable_uses()->insert(approach.train_uses.begin(),
                                                approach.train_uses.end());
  proto.mutable_predict()->mutable_uses()->insert(approach.predict_uses.begin(),
                                                  approach.predict_uses.end());
  *proto.mutable_defaults() = rpc::ToProto(approach.hyperparameters.defaults);
  for (const auto& [name, distribution] : approach.hyperparameters.space) {
    (*proto.mutable_space())[name] = ToProto(distribution);
  }
  proto.mutable_env()->insert(approach.env.begin(), approach.env.end());
  proto.mutable_secrets()->insert(approach.secrets.begin(), approach.secrets.end());
  if (approach.code) {
    *proto.mutable_code() = ToProto(*approach.code);
  }
  if (approach.predict_code) {
    *proto.mutable_predict_code() = ToProto(*approach.predict_code);
  }
  if (approach.environment) {
    *proto.mutable_environment() = rpc::ToProto(*approach.environment);
  }
  if (const std::optional<ServiceSpec>& service = approach.service) {
    v1::Service& added = *proto.mutable_service();
    *added.mutable_command() = CommandToProto(service->command, service->resources,
                                              absl::InfiniteDuration(), service->program);
    added.set_ready_http(service->ready_http);
    *added.mutable_ready_within() = rpc::ToProto(service->ready_within);
    added.set_serves(service->serves);
    *added.mutable_idle() = rpc::ToProto(service->idle);
  }
  proto.mutable_needs()->Add(approach.needs.begin(), approach.needs.end());
  if (approach.train_from) {
    proto.mutable_train_from()->set_approach(approach.train_from->approach);
    if (approach.train_from->train_set) {
      proto.mutable_train_from()->set_train_set(*approach.train_from->train_set);
    }
  }
  proto.set_rerun(approach.rerun);
  return proto;
}

v1::DataFile ToProto(const DataFile& file) {
  v1::DataFile proto;
  proto.set_digest(file.digest.ToBytes());
  proto.set_size_bytes(file.bytes);
  proto.set_path(CleanUtf8(file.path));  // only for people
  proto.set_suffix(file.suffix);
  return proto;
}

v1::Benchmark::Scale::Kind ToProto(Scale::Kind kind) {
  switch (kind) {
    case Scale::Kind::kUnstated:
      return v1::Benchmark::Scale::KIND_UNSPECIFIED;
    case Scale::Kind::kPercent:
      return v1::Benchmark::Scale::KIND_PERCENT;
    case Scale::Kind::kFraction:
      return v1::Benchmark::Scale::KIND_FRACTION;
    case Scale::Kind::kRange:
      return v1::Benchmark::Scale::KIND_RANGE;
    case Scale::Kind::kNone:
      return v1::Benchmark::Scale::KIND_NONE;
  }
  return v1::Benchmark::Scale::KIND_UNSPECIFIED;
}

v1::Benchmark ToProto(const BenchmarkSpec& benchmark) {
  v1::Benchmark proto;
  proto.set_name(benchmark.name);
  proto.mutable_tags()->insert(benchmark.tags.begin(), benchmark.tags.end());
  proto.set_format(rpc::ToProto(benchmark.format));
  if (benchmark.train) {
    *proto.mutable_train() = ToProto(*benchmark.train);
  }
  if (benchmark.test) {
    *proto.mutable_test() = ToProto(*benchmark.test);
  }
  if (benchmark.validation_of) {
    proto.set_validation_of(*benchmark.validation_of);
  }
  proto.mutable_parameters()->insert(benchmark.parameters.begin(), benchmark.parameters.end());
  proto.set_metric(benchmark.metric);
  // Maximizing is what sweeps of programs before goals say: not at all.
  if (benchmark.meaning.goal == Goal::kMinimize) {
    proto.set_goal(v1::Benchmark::GOAL_MINIMIZE);
  }
  if (const Scale& scale = benchmark.meaning.scale; scale.kind != Scale::Kind::kUnstated) {
    proto.mutable_scale()->set_kind(ToProto(scale.kind));
    proto.mutable_scale()->set_low(scale.low);
    proto.mutable_scale()->set_high(scale.high);
  }
  proto.mutable_labels()->insert(benchmark.labels.begin(), benchmark.labels.end());
  proto.mutable_uses()->insert(benchmark.uses.begin(), benchmark.uses.end());
  proto.mutable_needs()->Add(benchmark.needs.begin(), benchmark.needs.end());
  return proto;
}

v1::TrainSet ToProto(const TrainSet& train_set) {
  v1::TrainSet proto;
  proto.set_name(train_set.name);
  for (const TrainSet::Part& part : train_set.parts) {
    v1::TrainSet::Part* out = proto.add_parts();
    out->set_benchmark(part.benchmark);
    out->set_examples_max(part.examples_max);
  }
  proto.set_seed(train_set.seed);
  proto.mutable_tags()->insert(train_set.tags.begin(), train_set.tags.end());
  proto.set_source_only(train_set.source_only);
  return proto;
}

v1::RetryPolicy ToProto(const RetryPolicy& retry) {
  v1::RetryPolicy proto;
  proto.set_failures_max(retry.failures_max);
  proto.set_lost_max(retry.lost_max);
  *proto.mutable_backoff_min() = rpc::ToProto(retry.backoff_min);
  *proto.mutable_backoff_max() = rpc::ToProto(retry.backoff_max);
  return proto;
}

v1::EarlyStop::Method ToProto(EarlyStopMethod method) {
  switch (method) {
    case EarlyStopMethod::kAsha:
      return v1::EarlyStop::METHOD_ASHA;
    case EarlyStopMethod::kMedian:
      return v1::EarlyStop::METHOD_MEDIAN;
    case EarlyStopMethod::kHyperband:
      return v1::EarlyStop::METHOD_HYPERBAND;
  }
  return v1::EarlyStop::METHOD_UNSPECIFIED;
}

v1::EarlyStop ToProto(const EarlyStopSpec& early_stop) {
  v1::EarlyStop proto;
  proto.set_method(ToProto(early_stop.rule.method));
  proto.set_metric(early_stop.metric);
  proto.set_minimize(early_stop.rule.minimize);
  proto.set_min(early_stop.rule.min);
  proto.set_max(early_stop.rule.max);
  proto.set_eta(early_stop.rule.eta);
  return proto;
}

v1::Search ToProto(const SearchSpec& search) {
  v1::Search proto;
  proto.set_method(v1::Search::METHOD_TPE);
  proto.set_on_test(search.on_test);
  proto.set_parallel(search.parallel);
  for (const Proposal& proposal : search.proposals) {
    v1::Search::Proposal* out = proto.add_proposals();
    out->set_block(proposal.block);
    out->set_setting_index(proposal.setting);
    *out->mutable_setting() = rpc::ToProto(proposal.values);
  }
  return proto;
}

v1::SweepSpec::EvaluateOn ToProto(EvaluateOn evaluate_on) {
  switch (evaluate_on) {
    case EvaluateOn::kSame:
      return v1::SweepSpec::EVALUATE_ON_SAME;
    case EvaluateOn::kAll:
      return v1::SweepSpec::EVALUATE_ON_ALL;
    case EvaluateOn::kListed:
      break;
  }
  return v1::SweepSpec::EVALUATE_ON_LISTED;
}

}  // namespace

v1::SweepSpec::Selection ToProto(Selection select) {
  switch (select) {
    case Selection::kBest:
      return v1::SweepSpec::SELECTION_BEST;
    case Selection::kDefault:
      return v1::SweepSpec::SELECTION_DEFAULT;
    case Selection::kMean:
      return v1::SweepSpec::SELECTION_MEAN;
    case Selection::kBestOnTest:
      return v1::SweepSpec::SELECTION_BEST_ON_TEST;
    case Selection::kEach:
      break;
  }
  return v1::SweepSpec::SELECTION_EACH;
}

v1::SweepSpec ToProto(const SweepSpec& spec) {
  v1::SweepSpec proto;
  proto.set_name(spec.name);
  proto.set_description(spec.description);
  for (const ApproachSpec& approach : spec.approaches) {
    *proto.add_approaches() = ToProto(approach);
  }
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    *proto.add_benchmarks() = ToProto(benchmark);
  }
  for (const TrainSet& train_set : spec.train_sets) {
    *proto.add_train_sets() = ToProto(train_set);
  }
  proto.set_evaluate_on(ToProto(spec.evaluate_on));
  proto.mutable_evaluate_benchmarks()->Assign(spec.evaluate_benchmarks.begin(),
                                              spec.evaluate_benchmarks.end());
  for (const ExcludeRule& rule : spec.exclude) {
    v1::SweepSpec::ExcludeRule* out = proto.add_exclude();
    if (rule.approach) {
      out->set_approach(*rule.approach);
    }
    if (rule.train_set) {
      out->set_train_set(*rule.train_set);
    }
    if (rule.test_benchmark) {
      out->set_test_benchmark(*rule.test_benchmark);
    }
  }
  proto.set_random_settings(spec.random_settings);
  proto.set_settings_seed(spec.settings_seed);
  proto.mutable_seeds()->Assign(spec.seeds.begin(), spec.seeds.end());
  proto.set_select(ToProto(spec.select));
  proto.set_priority(spec.priority);
  proto.set_budget_usd_micros(spec.budget_usd_micros);
  proto.set_path(CleanUtf8(spec.path));
  *proto.mutable_keep() = rpc::ToProto(spec.keep);
  *proto.mutable_retry() = ToProto(spec.retry);
  proto.set_failures_max_per_block(spec.failures_max_per_block);
  if (spec.early_stop) {
    *proto.mutable_early_stop() = ToProto(*spec.early_stop);
  }
  if (spec.search) {
    *proto.mutable_search() = ToProto(*spec.search);
  }
  if (spec.imported) {
    proto.set_imported(spec.imported->ToBytes());
  }
  return proto;
}

}  // namespace concur::rpc
