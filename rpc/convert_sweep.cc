// protobuf → core and the encoding; core → protobuf is in convert_sweep_to.cc.
#include "rpc/convert_sweep.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace concur::rpc {
namespace {

constexpr int64_t kExamplesMax = int64_t{1} << 40;

absl::StatusOr<Distribution> FromProto(const v1::Distribution& proto, const FieldPath& path) {
  switch (proto.kind_case()) {
    case v1::Distribution::kChoice: {
      const FieldPath choice = path.Field("choice");
      const int count = proto.choice().values_size();
      if (count == 0) {
        return FieldError(choice.Field("values"), "expected at least one value");
      }
      CONCUR_RETURN_IF_ERROR(CheckCount(choice.Field("values"), count, kChoicesMax));
      Choice result;
      for (int i = 0; i < count; ++i) {
        CONCUR_ASSIGN_OR_RETURN(
            ParamValue value, rpc::FromProto(proto.choice().values(i), choice.Field("values", i)));
        result.values.push_back(std::move(value));
      }
      return Distribution(std::move(result));
    }
    case v1::Distribution::kUniform:
    case v1::Distribution::kLogUniform: {
      const bool is_log = proto.has_log_uniform();
      const v1::Distribution::Range& range = is_log ? proto.log_uniform() : proto.uniform();
      const FieldPath here = path.Field(is_log ? "log_uniform" : "uniform");
      CONCUR_RETURN_IF_ERROR(CheckFinite(here.Field("low"), range.low()));
      CONCUR_RETURN_IF_ERROR(CheckFinite(here.Field("high"), range.high()));
      if (is_log && range.low() <= 0) {
        return FieldError(here.Field("low"),
                          absl::StrCat("expected more than 0, got ", range.low()));
      }
      if (range.low() >= range.high()) {
        return FieldError(
            here, absl::StrCat("expected low < high, got ", range.low(), " and ", range.high()));
      }
      return is_log ? Distribution(LogUniformRange{range.low(), range.high()})
                    : Distribution(UniformRange{range.low(), range.high()});
    }
    case v1::Distribution::kIntegers: {
      const v1::Distribution::Integers& range = proto.integers();
      const FieldPath here = path.Field("integers");
      CONCUR_RETURN_IF_ERROR(
          CheckRange(here.Field("step"), range.step(), 1, std::numeric_limits<int64_t>::max()));
      if (range.low() > range.high()) {
        return FieldError(
            here, absl::StrCat("expected low <= high, got ", range.low(), " and ", range.high()));
      }
      return Distribution(IntegerRange{range.low(), range.high(), range.step()});
    }
    case v1::Distribution::KIND_NOT_SET:
      break;
  }
  return FieldError(path, "expected choice, uniform, log_uniform or integers");
}

// A command's parts stand in three members of an approach.
struct CommandParts {
  std::vector<std::string> argv;
  Resources resources;
  absl::Duration timeout = absl::InfiniteDuration();
  Labels labels;
};

absl::StatusOr<CommandParts> FromProto(const v1::Command& proto, const FieldPath& path) {
  CommandParts result;
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("argv"), proto.argv_size(), kArgvMax));
  for (int i = 0; i < proto.argv_size(); ++i) {
    CONCUR_RETURN_IF_ERROR(CheckText(path.Field("argv", i), proto.argv(i), kArgumentBytesMax));
  }
  if (proto.argv_size() > 0 && proto.argv(0).empty()) {
    return FieldError(path.Field("argv", 0), "expected a program, got an empty string");
  }
  result.argv.assign(proto.argv().begin(), proto.argv().end());
  if (proto.has_resources()) {
    CONCUR_ASSIGN_OR_RETURN(result.resources,
                            rpc::FromProto(proto.resources(), path.Field("resources")));
  }
  if (proto.has_timeout()) {
    CONCUR_ASSIGN_OR_RETURN(result.timeout, rpc::FromProto(proto.timeout(), path.Field("timeout")));
    if (result.timeout <= absl::ZeroDuration()) {
      return FieldError(path.Field("timeout"), "expected more than 0 s");
    }
  }
  CONCUR_ASSIGN_OR_RETURN(result.labels, TagsFromProto(proto.labels(), path, "labels"));
  return result;
}

absl::StatusOr<ApproachSpec> FromProto(const v1::Approach& proto, const FieldPath& path) {
  ApproachSpec result;
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), proto.name()));
  result.name = proto.name();
  CONCUR_ASSIGN_OR_RETURN(result.tags, TagsFromProto(proto.tags(), path, "tags"));
  CONCUR_RETURN_IF_ERROR(CheckOptionalName(path.Field("version"), proto.version()));
  result.version = proto.version();
  CONCUR_ASSIGN_OR_RETURN(CommandParts train, FromProto(proto.train(), path.Field("train")));
  CONCUR_ASSIGN_OR_RETURN(CommandParts predict, FromProto(proto.predict(), path.Field("predict")));
  if (train.argv.empty() && predict.argv.empty()) {
    return FieldError(path, "expected a train or a predict command, got neither");
  }
  result.train_command = std::move(train.argv);
  result.train_resources = train.resources;
  result.train_timeout = train.timeout;
  result.train_labels = std::move(train.labels);
  result.predict_command = std::move(predict.argv);
  result.predict_resources = predict.resources;
  result.predict_timeout = predict.timeout;
  result.predict_labels = std::move(predict.labels);
  CONCUR_ASSIGN_OR_RETURN(result.hyperparameters.defaults,
                          rpc::FromProto(proto.defaults(), path, "defaults"));
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("space"), proto.space().size(), kParamsMax));
  for (const auto& [name, distribution] : proto.space()) {
    const FieldPath here = path.Entry("space", name);
    if (result.hyperparameters.defaults.count(name) == 0) {
      return FieldError(here, "expected a default for it in defaults");
    }
    CONCUR_ASSIGN_OR_RETURN(Distribution value, FromProto(distribution, here));
    result.hyperparameters.space.emplace(name, std::move(value));
  }
  CONCUR_ASSIGN_OR_RETURN(result.env, EnvironmentFromProto(proto.env(), path, "env"));
  return result;
}

absl::StatusOr<DataFile> FromProto(const v1::DataFile& proto, const FieldPath& path) {
  DataFile result;
  CONCUR_ASSIGN_OR_RETURN(result.digest, DigestFromBytes(proto.digest(), path.Field("digest")));
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("size_bytes"), proto.size_bytes(), 0, kArtifactBytesMax));
  result.bytes = proto.size_bytes();
  CONCUR_RETURN_IF_ERROR(CheckText(path.Field("path"), proto.path(), kPathBytesMax));
  result.path = proto.path();
  CONCUR_RETURN_IF_ERROR(CheckSuffix(path.Field("suffix"), proto.suffix()));
  result.suffix = proto.suffix();
  return result;
}

absl::StatusOr<BenchmarkSpec> FromProto(const v1::Benchmark& proto, const FieldPath& path) {
  BenchmarkSpec result;
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), proto.name()));
  result.name = proto.name();
  CONCUR_ASSIGN_OR_RETURN(result.tags, TagsFromProto(proto.tags(), path, "tags"));
  CONCUR_ASSIGN_OR_RETURN(result.format, rpc::FromProto(proto.format(), path.Field("format")));
  if (proto.has_train()) {
    CONCUR_ASSIGN_OR_RETURN(result.train, FromProto(proto.train(), path.Field("train")));
  }
  if (proto.has_test()) {
    CONCUR_ASSIGN_OR_RETURN(result.test, FromProto(proto.test(), path.Field("test")));
  }
  if (!result.train && !result.test) {
    return FieldError(path, "expected a train or a test file, got neither");
  }
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("metric"), proto.metric()));
  if (IsQa(result.format) && proto.metric() != "exact_match" && proto.metric() != "f1") {
    return FieldError(
        path.Field("metric"),
        absl::StrCat("expected \"exact_match\" or \"f1\", got \"", proto.metric(), "\""));
  }
  result.metric = proto.metric();
  CONCUR_ASSIGN_OR_RETURN(result.labels, TagsFromProto(proto.labels(), path, "labels"));
  return result;
}

absl::StatusOr<TrainSet> FromProto(const v1::TrainSet& proto, const SweepSpec& spec,
                                   const FieldPath& path) {
  TrainSet result;
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), proto.name()));
  result.name = proto.name();
  if (proto.parts_size() == 0) {
    return FieldError(path.Field("parts"), "expected at least one");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(path.Field("parts"), proto.parts_size(), spec.benchmarks.size()));
  std::set<uint32_t> seen;
  for (int i = 0; i < proto.parts_size(); ++i) {
    const v1::TrainSet::Part& part = proto.parts(i);
    const FieldPath here = path.Field("parts", i);
    CONCUR_RETURN_IF_ERROR(CheckIndex(here.Field("benchmark"), part.benchmark(),
                                      spec.benchmarks.size(), "benchmarks"));
    if (!spec.benchmarks[part.benchmark()].train) {
      return FieldError(here.Field("benchmark"),
                        absl::StrCat("expected a benchmark with a train file, got \"",
                                     spec.benchmarks[part.benchmark()].name, "\""));
    }
    if (!seen.insert(part.benchmark()).second) {
      return FieldError(here.Field("benchmark"),
                        absl::StrCat("expected each benchmark once, got \"",
                                     spec.benchmarks[part.benchmark()].name, "\" twice"));
    }
    CONCUR_RETURN_IF_ERROR(
        CheckRange(here.Field("examples_max"), part.examples_max(), 0, kExamplesMax));
    result.parts.push_back({part.benchmark(), part.examples_max()});
  }
  result.seed = proto.seed();
  CONCUR_ASSIGN_OR_RETURN(result.tags, TagsFromProto(proto.tags(), path, "tags"));
  return result;
}

absl::StatusOr<RetryPolicy> FromProto(const v1::RetryPolicy& proto, const FieldPath& path) {
  RetryPolicy result;
  CONCUR_RETURN_IF_ERROR(
      CheckRange(path.Field("failures_max"), proto.failures_max(), 1, kAttemptsMax));
  result.failures_max = proto.failures_max();
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("lost_max"), proto.lost_max(), 0, kAttemptsMax));
  result.lost_max = proto.lost_max();
  if (proto.has_backoff_min()) {
    CONCUR_ASSIGN_OR_RETURN(result.backoff_min,
                            rpc::FromProto(proto.backoff_min(), path.Field("backoff_min")));
  }
  if (proto.has_backoff_max()) {
    CONCUR_ASSIGN_OR_RETURN(result.backoff_max,
                            rpc::FromProto(proto.backoff_max(), path.Field("backoff_max")));
  }
  if (result.backoff_min > result.backoff_max) {
    return FieldError(
        path.Field("backoff_max"),
        absl::StrCat("expected at least backoff_min, ", absl::FormatDuration(result.backoff_min),
                     ", got ", absl::FormatDuration(result.backoff_max)));
  }
  return result;
}

absl::StatusOr<ExcludeRule> FromProto(const v1::SweepSpec::ExcludeRule& proto,
                                      const SweepSpec& spec, const FieldPath& path) {
  ExcludeRule result;
  if (proto.has_approach()) {
    CONCUR_RETURN_IF_ERROR(
        CheckIndex(path.Field("approach"), proto.approach(), spec.approaches.size(), "approaches"));
    result.approach = proto.approach();
  }
  if (proto.has_train_set()) {
    CONCUR_RETURN_IF_ERROR(CheckIndex(path.Field("train_set"), proto.train_set(),
                                      spec.train_sets.size(), "train_sets"));
    result.train_set = proto.train_set();
  }
  if (proto.has_test_benchmark()) {
    CONCUR_RETURN_IF_ERROR(CheckIndex(path.Field("test_benchmark"), proto.test_benchmark(),
                                      spec.benchmarks.size(), "benchmarks"));
    result.test_benchmark = proto.test_benchmark();
  }
  if (!result.approach && !result.train_set && !result.test_benchmark) {
    return FieldError(path, "expected approach, train_set or test_benchmark, got an empty rule");
  }
  return result;
}

// Reads a list of named things, each name once.
template <typename Core, typename List, typename Read>
absl::Status ReadNamed(const List& list, const FieldPath& path, absl::string_view name,
                       size_t count_max, std::vector<Core>* out, Read read) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field(name), list.size(), count_max));
  std::set<std::string> names;
  out->reserve(list.size());
  for (int i = 0; i < list.size(); ++i) {
    const FieldPath here = path.Field(name, i);
    CONCUR_ASSIGN_OR_RETURN(Core thing, read(list[i], here));
    if (!names.insert(thing.name).second) {
      return FieldError(here.Field("name"),
                        absl::StrCat("expected each name once, got \"", thing.name, "\" twice"));
    }
    out->push_back(std::move(thing));
  }
  return absl::OkStatus();
}

absl::Status ReadEvaluation(const v1::SweepSpec& proto, const FieldPath& path, SweepSpec* spec) {
  switch (proto.evaluate_on()) {
    case v1::SweepSpec::EVALUATE_ON_UNSPECIFIED:
    case v1::SweepSpec::EVALUATE_ON_SAME:
      spec->evaluate_on = EvaluateOn::kSame;
      break;
    case v1::SweepSpec::EVALUATE_ON_ALL:
      spec->evaluate_on = EvaluateOn::kAll;
      break;
    case v1::SweepSpec::EVALUATE_ON_LISTED:
      spec->evaluate_on = EvaluateOn::kListed;
      break;
    default:
      return FieldError(path.Field("evaluate_on"),
                        absl::StrCat("expected a known value, got number ",
                                     static_cast<int>(proto.evaluate_on())));
  }
  const bool listed = spec->evaluate_on == EvaluateOn::kListed;
  const FieldPath list = path.Field("evaluate_benchmarks");
  if (listed != (proto.evaluate_benchmarks_size() > 0)) {
    return FieldError(list, listed ? "expected at least one for EVALUATE_ON_LISTED"
                                   : "expected none unless evaluate_on is EVALUATE_ON_LISTED");
  }
  CONCUR_RETURN_IF_ERROR(
      CheckCount(list, proto.evaluate_benchmarks_size(), spec->benchmarks.size()));
  std::set<uint32_t> seen;
  for (int i = 0; i < proto.evaluate_benchmarks_size(); ++i) {
    const uint32_t benchmark = proto.evaluate_benchmarks(i);
    const FieldPath here = path.Field("evaluate_benchmarks", i);
    CONCUR_RETURN_IF_ERROR(CheckIndex(here, benchmark, spec->benchmarks.size(), "benchmarks"));
    if (!spec->benchmarks[benchmark].test) {
      return FieldError(here, absl::StrCat("expected a benchmark with a test file, got \"",
                                           spec->benchmarks[benchmark].name, "\""));
    }
    if (!seen.insert(benchmark).second) {
      return FieldError(here,
                        absl::StrCat("expected each benchmark once, got ", benchmark, " twice"));
    }
    spec->evaluate_benchmarks.push_back(benchmark);
  }
  return absl::OkStatus();
}

absl::Status ReadRules(const v1::SweepSpec& proto, const FieldPath& path, SweepSpec* spec) {
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("exclude"), proto.exclude_size(), kExcludeRulesMax));
  for (int i = 0; i < proto.exclude_size(); ++i) {
    CONCUR_ASSIGN_OR_RETURN(ExcludeRule rule,
                            FromProto(proto.exclude(i), *spec, path.Field("exclude", i)));
    spec->exclude.push_back(rule);
  }
  CONCUR_RETURN_IF_ERROR(CheckRange(path.Field("random_settings"), proto.random_settings(), 0,
                                    int64_t{kSettingsMax} - 1));
  spec->random_settings = proto.random_settings();
  spec->settings_seed = proto.settings_seed();
  if (proto.seeds_size() == 0) {
    return FieldError(path.Field("seeds"), "expected at least one");
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("seeds"), proto.seeds_size(), kSeedsMax));
  spec->seeds.assign(proto.seeds().begin(), proto.seeds().end());
  if (proto.select() != v1::SweepSpec::SELECTION_UNSPECIFIED) {
    CONCUR_ASSIGN_OR_RETURN(spec->select, rpc::FromProto(proto.select(), path.Field("select")));
  }
  spec->priority = proto.priority();
  if (proto.has_keep()) {
    spec->keep = rpc::FromProto(proto.keep());
  }
  if (proto.has_retry()) {
    CONCUR_ASSIGN_OR_RETURN(spec->retry, FromProto(proto.retry(), path.Field("retry")));
  }
  spec->failures_max_per_block = proto.failures_max_per_block();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SweepSpec> FromProto(const v1::SweepSpec& proto, const FieldPath& path) {
  SweepSpec spec;
  CONCUR_RETURN_IF_ERROR(CheckName(path.Field("name"), proto.name()));
  spec.name = proto.name();
  CONCUR_RETURN_IF_ERROR(
      CheckText(path.Field("description"), proto.description(), kDescriptionBytesMax));
  spec.description = proto.description();
  if (proto.approaches_size() == 0) {
    return FieldError(path.Field("approaches"), "expected at least one");
  }
  if (proto.benchmarks_size() == 0) {
    return FieldError(path.Field("benchmarks"), "expected at least one");
  }
  CONCUR_RETURN_IF_ERROR(ReadNamed(proto.approaches(), path, "approaches", kApproachesMax,
                                   &spec.approaches,
                                   [](const v1::Approach& approach, const FieldPath& here) {
                                     return FromProto(approach, here);
                                   }));
  CONCUR_RETURN_IF_ERROR(ReadNamed(proto.benchmarks(), path, "benchmarks", kBenchmarksMax,
                                   &spec.benchmarks,
                                   [](const v1::Benchmark& benchmark, const FieldPath& here) {
                                     return FromProto(benchmark, here);
                                   }));
  CONCUR_RETURN_IF_ERROR(ReadNamed(proto.train_sets(), path, "train_sets", kTrainSetsMax,
                                   &spec.train_sets,
                                   [&](const v1::TrainSet& train_set, const FieldPath& here) {
                                     return FromProto(train_set, spec, here);
                                   }));
  CONCUR_RETURN_IF_ERROR(ReadEvaluation(proto, path, &spec));
  CONCUR_RETURN_IF_ERROR(ReadRules(proto, path, &spec));
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
