// SPDX-License-Identifier: Apache-2.0
#include "proto/rpc/convert_score.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "core/ids.h"
#include "proto/rpc/convert_value.h"

namespace concur::rpc {

v1::Score ToProto(const JobScore& score) {
  v1::Score proto;
  proto.set_job(score.job.ToString());
  proto.set_state(ToProto(score.state));
  proto.set_approach(score.approach);
  proto.set_train_set(score.train_set);
  proto.set_test_benchmark(score.test_benchmark);
  proto.set_setting_index(score.setting);
  proto.set_seed(score.seed);
  proto.set_metric(score.metric);
  if (score.value.has_value()) {
    proto.set_value(*score.value);
  }
  proto.set_examples(score.examples);
  if (score.interval.has_value()) {
    proto.set_low(score.interval->low);
    proto.set_high(score.interval->high);
  }
  for (const Metric& part : score.parts) {
    AddToParts(part, *proto.mutable_parts());
  }
  if (!score.worker.empty()) {
    proto.set_worker(score.worker);
  }
  if (score.run_time != absl::ZeroDuration()) {
    *proto.mutable_run_time() = ToProto(score.run_time);
  }
  return proto;
}

absl::StatusOr<JobScore> FromProto(const v1::Score& proto, const FieldPath& path) {
  const absl::StatusOr<JobId> job = JobId::Parse(proto.job());
  if (!job.ok()) {
    return FieldError(path.Field("job"), job.status().message());
  }
  JobScore score;
  score.job = *job;
  CONCUR_ASSIGN_OR_RETURN(score.state, FromProto(proto.state(), path.Field("state")));
  score.approach = proto.approach();
  score.train_set = proto.train_set();
  score.test_benchmark = proto.test_benchmark();
  score.setting = proto.setting_index();
  score.seed = proto.seed();
  score.metric = proto.metric();
  if (proto.has_value()) {
    CONCUR_RETURN_IF_ERROR(CheckFinite(path.Field("value"), proto.value()));
    score.value = proto.value();
  }
  score.examples = proto.examples();
  score.interval = IntervalOf(proto);
  if (score.interval.has_value()) {
    CONCUR_RETURN_IF_ERROR(CheckFinite(path.Field("low"), score.interval->low));
    CONCUR_RETURN_IF_ERROR(CheckFinite(path.Field("high"), score.interval->high));
  }
  CONCUR_RETURN_IF_ERROR(CheckCount(path.Field("parts"), proto.parts_size(), kPartsMax));
  for (int i = 0; i < proto.parts_size(); ++i) {
    const v1::Part& part = proto.parts(i);
    const FieldPath here = path.Field("parts", i);
    CONCUR_RETURN_IF_ERROR(CheckName(here.Field("name"), part.name()));
    CONCUR_RETURN_IF_ERROR(CheckCount(here.Field("metrics"), part.metrics_size(), 1));
    for (const v1::Metric& metric : part.metrics()) {
      score.parts.push_back(FromProto(metric, part.name()));
      CONCUR_RETURN_IF_ERROR(CheckMetric(here.Field("metrics", 0), score.parts.back()));
    }
  }
  score.worker = proto.worker();
  CONCUR_ASSIGN_OR_RETURN(score.run_time, FromProto(proto.run_time(), path.Field("run_time")));
  return score;
}

absl::StatusOr<JobScore> ScoreFromJob(const v1::Job& proto, const std::string& metric,
                                      const FieldPath& path) {
  v1::Score score;
  score.set_job(proto.id());
  score.set_state(proto.state());
  score.set_approach(proto.approach());
  score.set_train_set(proto.train_set());
  score.set_test_benchmark(proto.test_benchmark());
  score.set_setting_index(proto.setting_index());
  score.set_seed(proto.seed());
  score.set_metric(metric);
  if (proto.has_result()) {
    score.set_worker(proto.worker());
    *score.mutable_run_time() = proto.result().run_time();
  }
  const bool succeeded = proto.state() == v1::Job::STATE_SUCCEEDED;
  for (const v1::Part& part : proto.result().parts()) {
    for (const v1::Metric& found : part.metrics()) {
      if (found.name() == metric && succeeded) {
        AddToParts(FromProto(found, part.name()), *score.mutable_parts());
      }
    }
  }
  for (const v1::Metric& found : proto.result().metrics()) {
    if (found.name() == metric && succeeded) {
      score.set_value(found.value());
      score.set_examples(found.examples());
      if (const auto interval = IntervalOf(found)) {
        score.set_low(interval->low);
        score.set_high(interval->high);
      }
    }
  }
  return FromProto(score, path);
}

}  // namespace concur::rpc
