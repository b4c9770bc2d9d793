// SPDX-License-Identifier: Apache-2.0
// protobuf → core and the encoding; core → protobuf is in convert_sweep_to.cc.
#include "proto/rpc/convert_sweep.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "proto/rpc/convert_environment.h"

namespace concur::rpc {
namespace {

absl::StatusOr<Distribution> ChoiceFrom(const v1::Distribution::Choice& proto,
                                        const FieldPath& path, bool is_grid) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("values"), proto.values_size(), kSettingsMax));
  Choice result{.values = {}, .is_grid = is_grid};
  for (int i = 0; i < proto.values_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(ParamValue value,
                            rpc::FromProto(proto.values(i), path.Field("values", i)));
    result.values.push_back(std::move(value));
  }
  return Distribution(std::move(result));
}

absl::StatusOr<Distribution> FromProto(const v1::Distribution& proto, const FieldPath& path) {
  switch (proto.kind_case()) {
    case v1::Distribution::kChoice:
      return ChoiceFrom(proto.choice(), path.Field("choice"), /*is_grid=*/false);
    case v1::Distribution::kGrid:
      return ChoiceFrom(proto.grid(), path.Field("grid"), /*is_grid=*/true);
    case v1::Distribution::kUniform:
      return Distribution(UniformRange{proto.uniform().low(), proto.uniform().high()});
    case v1::Distribution::kLogUniform:
      return Distribution(LogUniformRange{proto.log_uniform().low(), proto.log_uniform().high()});
    case v1::Distribution::kIntegers:
      return Distribution(
          IntegerRange{proto.integers().low(), proto.integers().high(), proto.integers().step()});
    case v1::Distribution::KIND_NOT_SET:
      break;
  }
  return FieldError(path, "expected choice, grid, uniform, log_uniform or integers");
}

absl::StatusOr<Uses> ReadUses(const google::protobuf::Map<std::string, int64_t>& proto,
                              const FieldPath& path) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path, proto.size(), kUsesMax));
  return Uses(proto.begin(), proto.end());
}

absl::Status ReadCommand(const v1::Command& proto, const FieldPath& path,
                         std::vector<std::string>* command, Resources* resources,
                         absl::Duration* timeout, Labels* labels, Uses* uses,
                         std::optional<Digest>* program) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("argv"), proto.argv_size(), kArgumentsMax));
  command->assign(proto.argv().begin(), proto.argv().end());
  if (proto.has_resources()) {
    *resources = rpc::FromProto(proto.resources());
  }
  if (proto.has_timeout()) {
    CONCUR_ASSIGN_OR_RETURN(*timeout, rpc::FromProto(proto.timeout(), path.Field("timeout")));
  }
  CONCUR_ASSIGN_OR_RETURN(*labels, rpc::FromProto(proto.labels(), path.Field("labels"), kTagsMax));
  CONCUR_ASSIGN_OR_RETURN(*uses, ReadUses(proto.uses(), path.Field("uses")));
  if (!proto.program_digest().empty()) {
    CONCUR_ASSIGN_OR_RETURN(*program,
                            DigestFromBytes(proto.program_digest(), path.Field("program_digest")));
  }
  return absl::OkStatus();
}

absl::StatusOr<Code> FromProto(const v1::Code& proto, const FieldPath& path) {
  CONCUR_ASSIGN_OR_RETURN(const Digest digest,
                          DigestFromBytes(proto.digest(), path.Field("digest")));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("files"), proto.files_size(), kCodeFilesMax));
  std::vector<CodeFile> files;
  for (int i = 0; i < proto.files_size(); ++i) {
    const v1::Code::File& file = proto.files(i);
    const FieldPath here = path.Field("files", i);
    CONCUR_ASSIGN_OR_RETURN(const Digest contents,
                            DigestFromBytes(file.digest(), here.Field("digest")));
    files.push_back({file.path(), contents, file.size_bytes(), file.executable()});
  }
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("root"), proto.root(), kPathBytesMax));
  Code code = MakeCode(digest, proto.size_bytes(), std::move(files));
  code.root = proto.root();
  return code;
}

absl::StatusOr<ServiceSpec> FromProto(const v1::Service& proto, const FieldPath& path) {
  ServiceSpec service;
  absl::Duration timeout;
  Labels labels;
  Uses uses;
  CONCUR_RETURN_IF_ERROR(ReadCommand(proto.command(), path.Field("command"), &service.command,
                                     &service.resources, &timeout, &labels, &uses,
                                     &service.program));
  if (!labels.empty() || !uses.empty() || proto.command().has_timeout()) {
    return FieldError(path.Field("command"), "expected no labels, no uses and no timeout");
  }
  service.ready_http = proto.ready_http();
  if (proto.has_ready_within()) {
    CONCUR_ASSIGN_OR_RETURN(service.ready_within,
                            rpc::FromProto(proto.ready_within(), path.Field("ready_within")));
  }
  service.serves = proto.serves() == 0 ? service.serves : proto.serves();
  if (proto.has_idle()) {
    CONCUR_ASSIGN_OR_RETURN(service.idle, rpc::FromProto(proto.idle(), path.Field("idle")));
  }
  return service;
}

absl::StatusOr<ApproachSpec> FromProto(const v1::Approach& proto, const FieldPath& path) {
  ApproachSpec result;
  result.name = proto.name();
  CONCUR_ASSIGN_OR_RETURN(result.tags, rpc::FromProto(proto.tags(), path.Field("tags"), kTagsMax));
  result.version = proto.version();
  CONCUR_RETURN_IF_ERROR(ReadCommand(
      proto.train(), path.Field("train"), &result.train_command, &result.train_resources,
      &result.train_timeout, &result.train_labels, &result.train_uses, &result.train_program));
  CONCUR_RETURN_IF_ERROR(ReadCommand(proto.predict(), path.Field("predict"),
                                     &result.predict_command, &result.predict_resources,
                                     &result.predict_timeout, &result.predict_labels,
                                     &result.predict_uses, &result.predict_program));
  CONCUR_ASSIGN_OR_RETURN(result.hyperparameters.defaults,
                          rpc::FromProto(proto.defaults(), path, "defaults"));
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("space"), proto.space().size(), kHyperparametersMax));
  for (const auto& [name, distribution] : proto.space()) {
    CONCUR_ASSIGN_OR_RETURN(result.hyperparameters.space[name],
                            FromProto(distribution, path.Entry("space", name)));
  }
  CONCUR_ASSIGN_OR_RETURN(result.env,
                          rpc::FromProto(proto.env(), path.Field("env"), kArgumentsMax));
  CONCUR_ASSIGN_OR_RETURN(result.secrets,
                          rpc::FromProto(proto.secrets(), path.Field("secrets"), kArgumentsMax));
  if (proto.has_code()) {
    CONCUR_ASSIGN_OR_RETURN(result.code, FromProto(proto.code(), path.Field("code")));
  }
  if (proto.has_predict_code()) {
    CONCUR_ASSIGN_OR_RETURN(result.predict_code,
                            FromProto(proto.predict_code(), path.Field("predict_code")));
  }
  if (proto.has_environment()) {
    CONCUR_ASSIGN_OR_RETURN(result.environment,
                            rpc::FromProto(proto.environment(), path.Field("environment")));
  }
  if (proto.has_service()) {
    CONCUR_ASSIGN_OR_RETURN(result.service, FromProto(proto.service(), path.Field("service")));
  }
  result.needs.assign(proto.needs().begin(), proto.needs().end());
  if (proto.has_train_from()) {
    TrainFrom& from = result.train_from.emplace();
    from.approach = proto.train_from().approach();
    if (proto.train_from().has_train_set()) {
      from.train_set = proto.train_from().train_set();
    }
  }
  result.rerun = proto.rerun();
  return result;
}

absl::StatusOr<DataFile> FromProto(const v1::DataFile& proto, const FieldPath& path) {
  DataFile result;
  CONCUR_ASSIGN_OR_RETURN(result.digest, DigestFromBytes(proto.digest(), path.Field("digest")));
  result.bytes = proto.size_bytes();
  result.path = proto.path();
  result.suffix = proto.suffix();
  return result;
}

absl::StatusOr<Goal> FromProto(v1::Benchmark::Goal goal, const FieldPath& path) {
  switch (goal) {
    case v1::Benchmark::GOAL_UNSPECIFIED:
    case v1::Benchmark::GOAL_MAXIMIZE:
      return Goal::kMaximize;
    case v1::Benchmark::GOAL_MINIMIZE:
      return Goal::kMinimize;
    default:
      return FieldError(path, absl::StrCat("expected a known goal, got ", goal));
  }
}

absl::StatusOr<Scale> FromProto(const v1::Benchmark::Scale& scale, const FieldPath& path) {
  switch (scale.kind()) {
    case v1::Benchmark::Scale::KIND_UNSPECIFIED:
      return Scale();
    case v1::Benchmark::Scale::KIND_PERCENT:
      return Scale{Scale::Kind::kPercent};
    case v1::Benchmark::Scale::KIND_FRACTION:
      return Scale{Scale::Kind::kFraction};
    case v1::Benchmark::Scale::KIND_RANGE:
      return Scale{Scale::Kind::kRange, scale.low(), scale.high()};
    case v1::Benchmark::Scale::KIND_NONE:
      return Scale{Scale::Kind::kNone};
    default:
      return FieldError(path.Field("kind"),
                        absl::StrCat("expected a known scale, got ", scale.kind()));
  }
}

absl::StatusOr<BenchmarkSpec> FromProto(const v1::Benchmark& proto, const FieldPath& path) {
  BenchmarkSpec result;
  result.name = proto.name();
  CONCUR_ASSIGN_OR_RETURN(result.tags, rpc::FromProto(proto.tags(), path.Field("tags"), kTagsMax));
  CONCUR_ASSIGN_OR_RETURN(result.format, rpc::FromProto(proto.format(), path.Field("format")));
  if (proto.has_train()) {
    CONCUR_ASSIGN_OR_RETURN(result.train, FromProto(proto.train(), path.Field("train")));
  }
  if (proto.has_test()) {
    CONCUR_ASSIGN_OR_RETURN(result.test, FromProto(proto.test(), path.Field("test")));
  }
  if (proto.has_validation_of()) {
    result.validation_of = proto.validation_of();
  }
  CONCUR_ASSIGN_OR_RETURN(result.parameters,
                          rpc::FromProto(proto.parameters(), path.Field("parameters"), kTagsMax));
  result.metric = proto.metric();
  CONCUR_ASSIGN_OR_RETURN(result.meaning.goal, FromProto(proto.goal(), path.Field("goal")));
  if (proto.has_scale()) {
    CONCUR_ASSIGN_OR_RETURN(result.meaning.scale, FromProto(proto.scale(), path.Field("scale")));
  }
  CONCUR_ASSIGN_OR_RETURN(result.labels,
                          rpc::FromProto(proto.labels(), path.Field("labels"), kTagsMax));
  CONCUR_ASSIGN_OR_RETURN(result.uses, ReadUses(proto.uses(), path.Field("uses")));
  result.needs.assign(proto.needs().begin(), proto.needs().end());
  return result;
}

absl::StatusOr<TrainSet> FromProto(const v1::TrainSet& proto, const FieldPath& path) {
  TrainSet result;
  result.name = proto.name();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("parts"), proto.parts_size(), kBenchmarksMax));
  for (const v1::TrainSet::Part& part : proto.parts()) {
    result.parts.push_back({part.benchmark(), part.examples_max()});
  }
  result.seed = proto.seed();
  CONCUR_ASSIGN_OR_RETURN(result.tags, rpc::FromProto(proto.tags(), path.Field("tags"), kTagsMax));
  result.source_only = proto.source_only();
  return result;
}

absl::StatusOr<RetryPolicy> FromProto(const v1::RetryPolicy& proto, const FieldPath& path) {
  RetryPolicy result;
  result.failures_max = proto.failures_max();
  result.lost_max = proto.lost_max();
  if (proto.has_backoff_min()) {
    CONCUR_ASSIGN_OR_RETURN(result.backoff_min,
                            rpc::FromProto(proto.backoff_min(), path.Field("backoff_min")));
  }
  if (proto.has_backoff_max()) {
    CONCUR_ASSIGN_OR_RETURN(result.backoff_max,
                            rpc::FromProto(proto.backoff_max(), path.Field("backoff_max")));
  }
  return result;
}

ExcludeRule FromProto(const v1::SweepSpec::ExcludeRule& proto) {
  ExcludeRule result;
  if (proto.has_approach()) {
    result.approach = proto.approach();
  }
  if (proto.has_train_set()) {
    result.train_set = proto.train_set();
  }
  if (proto.has_test_benchmark()) {
    result.test_benchmark = proto.test_benchmark();
  }
  return result;
}

absl::StatusOr<EarlyStopSpec> FromProto(const v1::EarlyStop& proto, const FieldPath& path) {
  EarlyStopSpec result;
  switch (proto.method()) {
    case v1::EarlyStop::METHOD_ASHA:
      result.rule.method = EarlyStopMethod::kAsha;
      break;
    case v1::EarlyStop::METHOD_MEDIAN:
      result.rule.method = EarlyStopMethod::kMedian;
      break;
    case v1::EarlyStop::METHOD_HYPERBAND:
      result.rule.method = EarlyStopMethod::kHyperband;
      break;
    default:
      return FieldError(path.Field("method"), absl::StrCat("expected a known value, got number ",
                                                           static_cast<int>(proto.method())));
  }
  result.metric = proto.metric();
  result.rule.minimize = proto.minimize();
  result.rule.min = proto.min();
  result.rule.max = proto.max();
  result.rule.eta = proto.eta();
  return result;
}

absl::StatusOr<Proposal> FromProto(const v1::Search::Proposal& proto, const FieldPath& path) {
  Proposal proposal{.block = proto.block(), .setting = proto.setting_index()};
  CONCUR_ASSIGN_OR_RETURN(proposal.values, rpc::FromProto(proto.setting(), path, "setting"));
  return proposal;
}

// Reads a list of messages.
template <typename Core, typename List>
absl::Status ReadList(const List& list, const FieldPath& path, absl::string_view name,
                      size_t count_max, std::vector<Core>* out) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(name), list.size(), count_max));
  out->reserve(list.size());
  for (int i = 0; i < list.size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(Core thing, FromProto(list[i], path.Field(name, i)));
    out->push_back(std::move(thing));
  }
  return absl::OkStatus();
}

absl::StatusOr<SearchSpec> FromProto(const v1::Search& proto, const FieldPath& path) {
  if (proto.method() != v1::Search::METHOD_TPE) {
    return FieldError(path.Field("method"), absl::StrCat("expected a known value, got number ",
                                                         static_cast<int>(proto.method())));
  }
  SearchSpec search{.on_test = proto.on_test(), .parallel = proto.parallel()};
  CONCUR_RETURN_IF_ERROR(
      ReadList(proto.proposals(), path, "proposals", kProposalsMax, &search.proposals));
  return search;
}

absl::StatusOr<EvaluateOn> FromProto(v1::SweepSpec::EvaluateOn evaluate_on, const FieldPath& path) {
  switch (evaluate_on) {
    case v1::SweepSpec::EVALUATE_ON_UNSPECIFIED:
    case v1::SweepSpec::EVALUATE_ON_SAME:
      return EvaluateOn::kSame;
    case v1::SweepSpec::EVALUATE_ON_ALL:
      return EvaluateOn::kAll;
    case v1::SweepSpec::EVALUATE_ON_LISTED:
      return EvaluateOn::kListed;
    default:
      return FieldError(
          path, absl::StrCat("expected a known value, got number ", static_cast<int>(evaluate_on)));
  }
}

}  // namespace

absl::StatusOr<SweepSpec> FromProto(const v1::SweepSpec& proto, const FieldPath& path) {
  SweepSpec spec;
  spec.name = proto.name();
  spec.description = proto.description();
  CONCUR_RETURN_IF_ERROR(
      ReadList(proto.approaches(), path, "approaches", kApproachesMax, &spec.approaches));
  CONCUR_RETURN_IF_ERROR(
      ReadList(proto.benchmarks(), path, "benchmarks", kBenchmarksMax, &spec.benchmarks));
  CONCUR_RETURN_IF_ERROR(
      ReadList(proto.train_sets(), path, "train_sets", kTrainSetsMax, &spec.train_sets));
  CONCUR_ASSIGN_OR_RETURN(spec.evaluate_on,
                          FromProto(proto.evaluate_on(), path.Field("evaluate_on")));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("evaluate_benchmarks"),
                                    proto.evaluate_benchmarks_size(), kBenchmarksMax));
  spec.evaluate_benchmarks.assign(proto.evaluate_benchmarks().begin(),
                                  proto.evaluate_benchmarks().end());
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("exclude"), proto.exclude_size(), kExcludeRulesMax));
  for (const v1::SweepSpec::ExcludeRule& rule : proto.exclude()) {
    spec.exclude.push_back(FromProto(rule));
  }
  spec.random_settings = proto.random_settings();
  spec.settings_seed = proto.settings_seed();
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("seeds"), proto.seeds_size(), kSeedsMax));
  spec.seeds.assign(proto.seeds().begin(), proto.seeds().end());
  if (proto.select() != v1::SweepSpec::SELECTION_UNSPECIFIED) {
    CONCUR_ASSIGN_OR_RETURN(spec.select, rpc::FromProto(proto.select(), path.Field("select")));
  }
  spec.priority = proto.priority();
  spec.budget_usd_micros = proto.budget_usd_micros();
  CONCUR_RETURN_IF_ERROR(CheckLine(path.Field("path"), proto.path(), kPathBytesMax));
  spec.path = proto.path();
  if (proto.has_keep()) {
    spec.keep = rpc::FromProto(proto.keep());
  }
  if (proto.has_retry()) {
    CONCUR_ASSIGN_OR_RETURN(spec.retry, FromProto(proto.retry(), path.Field("retry")));
  }
  spec.failures_max_per_block = proto.failures_max_per_block();
  if (proto.has_early_stop()) {
    CONCUR_ASSIGN_OR_RETURN(spec.early_stop,
                            FromProto(proto.early_stop(), path.Field("early_stop")));
  }
  if (proto.has_search()) {
    CONCUR_ASSIGN_OR_RETURN(spec.search, FromProto(proto.search(), path.Field("search")));
  }
  if (!proto.imported().empty()) {
    CONCUR_ASSIGN_OR_RETURN(spec.imported,
                            DigestFromBytes(proto.imported(), path.Field("imported")));
  }
  CONCUR_RETURN_IF_ERROR(ValidateSweepSpec(spec, path));
  return spec;
}

absl::StatusOr<Selection> FromProto(v1::SweepSpec::Selection select, const FieldPath& path) {
  switch (select) {
    case v1::SweepSpec::SELECTION_BEST:
      return Selection::kBest;
    case v1::SweepSpec::SELECTION_DEFAULT:
      return Selection::kDefault;
    case v1::SweepSpec::SELECTION_MEAN:
      return Selection::kMean;
    case v1::SweepSpec::SELECTION_EACH:
      return Selection::kEach;
    case v1::SweepSpec::SELECTION_BEST_ON_TEST:
      return Selection::kBestOnTest;
    default:
      return FieldError(
          path, absl::StrCat("expected a known value, got number ", static_cast<int>(select)));
  }
}

std::string EncodeSpec(const SweepSpec& spec) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // maps in order
    ToProto(spec).SerializeToCodedStream(&coded);
  }
  return bytes;
}

absl::StatusOr<SweepSpec> DecodeSpec(absl::string_view bytes) {
  v1::SweepSpec proto;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("sweep specification: the bytes are not a SweepSpec");
  }
  absl::StatusOr<SweepSpec> spec = FromProto(proto);
  if (!spec.ok()) {
    return absl::DataLossError(absl::StrCat("sweep specification: ", spec.status().message()));
  }
  return spec;
}

}  // namespace concur::rpc
