// SPDX-License-Identifier: Apache-2.0
#include "cli/output/render.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "cli/output/estimate.h"
#include "core/fields.h"
#include "core/spent.h"
#include "core/sweep/params.h"
#include "proto/rpc/convert_value.h"
#include "proto/rpc/progress.h"

namespace concur::cli {
namespace {

const FieldPath kField("field");

Json TextJson(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json ParamJson(const v1::ParamValue& value) {
  switch (value.kind_case()) {
    case v1::ParamValue::kBoolValue:
      return value.bool_value();
    case v1::ParamValue::kIntValue:
      return value.int_value();
    case v1::ParamValue::kDoubleValue:
      return value.double_value();
    case v1::ParamValue::kStringValue:
      if (double number = 0; value.is_number() && absl::SimpleAtod(value.string_value(), &number)) {
        return number;
      }
      return value.string_value();
    case v1::ParamValue::KIND_NOT_SET:
      break;
  }
  return {};
}

template <typename Value>
std::map<std::string, Value> Sorted(const google::protobuf::Map<std::string, Value>& map) {
  return {map.begin(), map.end()};
}

template <typename Words, typename State>
std::string WordOf(State state, Words words) {
  const auto core = rpc::FromProto(state, kField);
  return core.ok() ? std::string(words(*core)) : "unknown";
}

Json ParamsJson(const google::protobuf::Map<std::string, v1::ParamValue>& setting) {
  Json json = Json::object();
  for (const auto& [name, value] : Sorted(setting)) {
    json[name] = ParamJson(value);
  }
  return json;
}

// "working" of "PHASE_WORKING" and "PHASE_".
std::string EnumWord(absl::string_view name, absl::string_view prefix) {
  return absl::ConsumePrefix(&name, prefix) && name != "UNSPECIFIED" ? absl::AsciiStrToLower(name)
                                                                     : "unknown";
}

Json TimeJson(bool is_set, const google::protobuf::Timestamp& time) {
  return is_set ? Json(FormatIsoTime(TimeOf(time))) : Json();
}

Json ResourcesJson(const v1::Resources& resources) {
  return {{"cpus", static_cast<double>(resources.cpu_millis()) / 1000},
          {"memory_bytes", resources.memory_bytes()},
          {"gpus", GpusOf(resources)}};
}

Json SpanJson(bool is_set, const google::protobuf::Duration& span) {
  return is_set ? Json(absl::ToDoubleSeconds(SpanOf(span))) : Json();
}

Json SpecJson(const v1::PoolSpec& spec) {
  Json json = Json::object();
  json["provider"] = ProviderText(spec.provider());
  json["workers_min"] = spec.workers_min();
  json["workers_max"] = spec.workers_max();
  json["resources"] = ResourcesJson(spec.resources());
  json["labels"] = std::map<std::string, std::string>(spec.labels().begin(), spec.labels().end());
  json["time_limit"] = SpanJson(spec.has_time_limit(), spec.time_limit());
  json["idle_timeout"] = SpanJson(spec.has_idle_timeout(), spec.idle_timeout());
  json["start_timeout"] = SpanJson(spec.has_start_timeout(), spec.start_timeout());
  return json;
}

}  // namespace

std::string StateText(v1::Job::State state) { return WordOf(state, JobStateName); }
std::string StateText(v1::Sweep::State state) {
  return state == v1::Sweep::STATE_UNSPECIFIED ? "not loaded" : WordOf(state, SweepStateName);
}

std::string StateText(v1::Worker::State state) {
  return EnumWord(v1::Worker::State_Name(state), "STATE_");
}

std::string ProviderText(v1::PoolSpec::Provider provider) {
  return EnumWord(v1::PoolSpec::Provider_Name(provider), "PROVIDER_");
}

std::string PhaseText(v1::Pilot::Phase phase) {
  return EnumWord(v1::Pilot::Phase_Name(phase), "PHASE_");
}

std::string FailureText(v1::FailureClass failure) {
  return failure == v1::FAILURE_CLASS_UNSPECIFIED ? "" : WordOf(failure, FailureClassName);
}

std::string KindText(v1::Job::Kind kind) { return EnumWord(v1::Job::Kind_Name(kind), "KIND_"); }

bool HasEnded(v1::Sweep::State state) {
  return state == v1::Sweep::STATE_SUCCEEDED || state == v1::Sweep::STATE_FAILED ||
         state == v1::Sweep::STATE_CANCELED;
}

bool IsLoaded(const v1::Sweep& sweep) { return sweep.state() != v1::Sweep::STATE_UNSPECIFIED; }

void NoteNotLoaded(CommandContext& context, const std::vector<v1::Sweep>& sweeps) {
  const auto first = std::find_if_not(sweeps.begin(), sweeps.end(), IsLoaded);
  if (first != sweeps.end()) {
    PrintNote(context, absl::StrCat("the coordinator has no memory for ", first->id(),
                                    ", which is safe on disk: `concur sweep get ", first->id(),
                                    "` says what to do"));
  }
}

std::string QuarantineText(const v1::Worker& worker) {
  if (worker.quarantine_reason().empty()) {
    return "";
  }
  const absl::Time end = TimeOf(worker.quarantine_end_time());
  return absl::StrCat(worker.name(), " is in quarantine until ",
                      FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(end))), ": it ",
                      worker.quarantine_reason(), "; end it: concur worker drain ", worker.name(),
                      " --undo");
}

std::string CountsText(const v1::StateCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, absl::string_view word) {
    if (count > 0) {
      parts.push_back(absl::StrCat(CountText(count), " ", word));
    }
  };
  add(counts.succeeded(), "succeeded");
  add(counts.failed(), "failed");
  add(counts.skipped(), "skipped");
  add(counts.stopped(), "stopped");
  add(counts.canceled(), "canceled");
  add(RunningCount(counts), "running");
  add(counts.queued(), "queued");
  add(counts.ready(), "ready");
  add(counts.backoff(), "to be retried");
  add(counts.blocked(), "blocked");
  return absl::StrJoin(parts, ", ");
}

Json CountsJson(const v1::StateCounts& counts) {
  Json json = Json::object();
  json["blocked"] = counts.blocked();
  json["ready"] = counts.ready();
  json["backoff"] = counts.backoff();
  json["queued"] = counts.queued();
  json["running"] = RunningCount(counts);
  json["succeeded"] = counts.succeeded();
  json["failed"] = counts.failed();
  json["canceled"] = counts.canceled();
  json["skipped"] = counts.skipped();
  json["stopped"] = counts.stopped();
  return json;
}

std::string SettingText(const google::protobuf::Map<std::string, v1::ParamValue>& setting) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : Sorted(setting)) {
    const absl::StatusOr<ParamValue> param = rpc::FromProto(value, kField);
    parts.push_back(absl::StrCat(name, "=", param.ok() ? ParamText(*param) : "?"));
  }
  return absl::StrJoin(parts, " ");
}

double GpusOf(const v1::Resources& resources) {
  return resources.gpus() + static_cast<double>(resources.gpu_share()) / kGpuShares;
}

std::string ResourcesText(const v1::Resources& resources) {
  Resources core;
  core.cpu_millis = resources.cpu_millis();
  core.memory_bytes = resources.memory_bytes();
  core.gpus = resources.gpus();
  core.gpu_share = resources.gpu_share();
  return concur::ResourcesText(core);
}

std::string SettingsText(const SweepSpec& spec) {
  if (spec.search) {
    return absl::StrCat("the default and ", spec.random_settings, " chosen by tpe on ",
                        spec.search->on_test ? "test" : "validation", " scores, seed ",
                        spec.settings_seed);
  }
  const bool has_grid = std::any_of(
      spec.approaches.begin(), spec.approaches.end(),
      [](const ApproachSpec& approach) { return CountSettings(approach.hyperparameters, 0) > 1; });
  return absl::StrCat("the default", has_grid ? ", grids" : "", " and ", spec.random_settings,
                      " sampled, seed ", spec.settings_seed);
}

std::string EarlyStopText(const EarlyStopSpec& early_stop) {
  const EarlyStopRule& rule = early_stop.rule;
  return absl::StrCat(EarlyStopMethodName(rule.method), ", ", rule.minimize ? "least " : "most ",
                      early_stop.metric, ", steps ", rule.min, " to ", rule.max,
                      Halves(rule.method) ? absl::StrCat(", eta ", rule.eta) : "");
}

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return rpc::FromProto(time, kField).value_or(absl::UnixEpoch());
}

SweepForecast ForecastOf(const v1::Sweep& sweep) {
  SweepForecast forecast;
  if (sweep.has_forecast()) {
    forecast.expected = SpanOf(sweep.forecast());
  }
  if (sweep.has_end_time() && sweep.has_create_time()) {
    forecast.took = TimeOf(sweep.end_time()) - TimeOf(sweep.create_time());
  }
  if (forecast.expected && forecast.took && *forecast.took > absl::ZeroDuration() &&
      sweep.state() == v1::Sweep::STATE_SUCCEEDED && sweep.counts().stopped() == 0) {
    forecast.error = absl::FDivDuration(*forecast.expected, *forecast.took) - 1;
  }
  return forecast;
}

std::string ForecastErrorText(double error) {
  const double ratio = 1 + error;
  return absl::StrCat(ratio > 0.5 && ratio < 2
                          ? absl::StrFormat("%.1f %%", 100 * std::abs(error))
                          : absl::StrFormat("%.0f times", std::max(ratio, 1 / ratio)),
                      ratio > 1 ? " too long" : " too short");
}

std::string SpentText(const v1::Spent& spent) {
  std::vector<std::string> parts;
  if (spent.usd() > 0) {
    parts.push_back(UsdText(spent.usd()));
  }
  if (spent.tokens_in() > 0 || spent.tokens_out() > 0) {
    parts.push_back(absl::StrCat(CountText(static_cast<uint64_t>(spent.tokens_in())),
                                 " tokens in, ",
                                 CountText(static_cast<uint64_t>(spent.tokens_out())), " out"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string BudgetText(const v1::Sweep& sweep) {
  if (sweep.budget_usd() == 0) {
    return "";
  }
  return absl::StrCat(
      UsdText(sweep.spent().usd()), " of ", UsdText(sweep.budget_usd()),
      sweep.over_budget()
          ? absl::StrCat(": paused, as the next job would pass it; `concur sweep set ", sweep.id(),
                         " --budget-usd N` raises it")
          : "");
}

Json SpentJson(const v1::Spent& spent) {
  Json json = Json::object();
  json["tokens_in"] = spent.tokens_in();
  json["tokens_out"] = spent.tokens_out();
  json["usd"] = spent.usd();
  return json;
}

Json SweepJson(const v1::Sweep& sweep) {
  Json json = Json::object();
  json["id"] = sweep.id();
  json["name"] = sweep.name();
  json["owner"] = sweep.owner();
  json["state"] = StateText(sweep.state());
  json["priority"] = sweep.priority();
  const v1::Progress progress = rpc::ProgressOf(sweep);
  json["jobs"] = progress.jobs();
  json["done"] = progress.done();
  json["percent"] = progress.percent();
  json["cells"] = sweep.cell_count();
  json["reused"] = sweep.reused();
  if (sweep.trials() > 0) {
    json["trials"] = sweep.trials();
    json["trials_chosen"] = sweep.trials_chosen();
  }
  json["counts"] = CountsJson(sweep.counts());
  const Estimate estimate = EstimateOf(sweep);
  json["jobs_per_second"] = estimate.jobs_per_second;
  json["eta_seconds"] = estimate.left ? Json(absl::ToDoubleSeconds(*estimate.left)) : Json();
  Json& use = json["owner_use"] = Json::object();
  use["running_jobs"] = sweep.owner_use().running_jobs();
  use["running_jobs_max"] = sweep.owner_use().running_jobs_max();
  use["stored_bytes"] = sweep.owner_use().stored_bytes();
  use["stored_bytes_max"] = sweep.owner_use().stored_bytes_max();
  json["spent"] = SpentJson(sweep.spent());
  json["budget_usd"] = sweep.budget_usd() == 0 ? Json(nullptr) : Json(sweep.budget_usd());
  json["over_budget"] = sweep.over_budget();
  json["create_time"] = TimeJson(sweep.has_create_time(), sweep.create_time());
  json["end_time"] = TimeJson(sweep.has_end_time(), sweep.end_time());
  const SweepForecast forecast = ForecastOf(sweep);
  const auto seconds = [](const std::optional<absl::Duration>& span) {
    return span ? Json(absl::ToDoubleSeconds(*span)) : Json(nullptr);
  };
  json["forecast_seconds"] = seconds(forecast.expected);
  json["took_seconds"] = seconds(forecast.took);
  json["forecast_error"] = forecast.error ? Json(*forecast.error) : Json(nullptr);
  return json;
}

Json MetricsJson(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
  Json json = Json::array();
  for (const v1::Metric& metric : metrics) {
    Json one = Json::object();
    one["name"] = metric.name();
    one["value"] = metric.value();
    one["examples"] = metric.examples();
    json.push_back(std::move(one));
  }
  return json;
}

Json ResultJson(const v1::JobResult& result) {
  Json json = Json::object();
  json["succeeded"] = result.succeeded();
  json["failure"] = TextJson(FailureText(result.failure()));
  json["exit_code"] = result.exit_code();
  json["message"] = TextJson(result.message());
  json["start_time"] = TimeJson(result.has_start_time(), result.start_time());
  json["run_time"] = absl::ToDoubleSeconds(SpanOf(result.run_time()));
  json["memory_bytes_peak"] = result.memory_bytes_peak();
  json["metrics"] = MetricsJson(result.metrics());
  for (const v1::Part& part : result.parts()) {
    json["parts"][part.name()] = MetricsJson(part.metrics());
  }
  json["artifacts"] = Json::array();
  for (const v1::Artifact& artifact : result.artifacts()) {
    Json one = Json::object();
    const auto kind = rpc::FromProto(artifact.kind(), kField);
    one["kind"] = kind.ok() ? std::string(ArtifactKindName(*kind)) : "unknown";
    one["digest"] = absl::BytesToHexString(artifact.digest());
    one["size_bytes"] = artifact.size_bytes();
    json["artifacts"].push_back(std::move(one));
  }
  if (result.resumed_from() > 0) {
    json["resumed_from"] = result.resumed_from();
  }
  return json;
}

std::string JobProgressText(const v1::Job& job) {
  return job.of() == 0 ? ""
                       : absl::StrCat(CountText(job.done()), " of ", CountText(job.of()), " done");
}

Json JobJson(const v1::Job& job) {
  Json json = Json::object();
  json["id"] = job.id();
  json["kind"] = KindText(job.kind());
  json["state"] = StateText(job.state());
  json["attempt"] = job.attempt();
  json["failures"] = job.failures();
  json["lost"] = job.lost();
  json["approach"] = job.approach();
  json["train_set"] = TextJson(job.train_set());
  json["test_benchmark"] = TextJson(job.test_benchmark());
  json["setting_index"] = job.setting_index();
  json["setting"] = ParamsJson(job.setting());
  json["seed"] = job.seed();
  json["worker"] = TextJson(job.worker());
  json["failure"] = TextJson(FailureText(job.failure()));
  json["reused_from"] = TextJson(job.reused_from());
  json["not_before_time"] = TimeJson(job.has_not_before_time(), job.not_before_time());
  json["explanation"] = TextJson(job.explanation());
  json["result"] = job.has_result() ? ResultJson(job.result()) : Json();
  if (job.of() > 0) {
    json["done"] = job.done();
    json["of"] = job.of();
  }
  if (job.has_checkpoint()) {
    json["checkpoint"] = {{"attempt", job.checkpoint().attempt()},
                          {"digest", absl::BytesToHexString(job.checkpoint().digest())},
                          {"size_bytes", job.checkpoint().size_bytes()}};
  }
  if (job.attempts_size() > 0) {
    json["attempts"] = Json::array();
    for (const v1::AttemptRecord& attempt : job.attempts()) {
      Json one = Json::object();
      one["attempt"] = attempt.attempt();
      one["worker"] = TextJson(attempt.worker());
      one["end_time"] = TimeJson(attempt.has_end_time(), attempt.end_time());
      one["result"] = ResultJson(attempt.result());
      json["attempts"].push_back(std::move(one));
    }
  }
  if (job.spent_size() > 0) {
    json["spent"] = Json::array();
    for (const v1::AttemptSpent& spent : job.spent()) {
      Json one = SpentJson(spent.spent());
      one["attempt"] = spent.attempt();
      json["spent"].push_back(std::move(one));
    }
  }
  if (job.steps_size() > 0) {
    json["steps"] = Json::array();
    for (const v1::StepRecord& step : job.steps()) {
      Json one = Json::object();
      one["step"] = step.step();
      one["name"] = step.name();
      one["value"] = step.value();
      one["attempt"] = step.attempt();
      json["steps"].push_back(std::move(one));
    }
  }
  return json;
}

Json NamedResourceJson(const v1::NamedResource& resource) {
  Json json = Json::object();
  json["name"] = resource.name();
  json["amount"] = resource.has_amount() ? Json(resource.amount()) : Json(nullptr);
  json["in_use"] = resource.in_use();
  json["waiting"] = resource.waiting();
  json["per_minute"] = resource.per_minute() == 0 ? Json(nullptr) : Json(resource.per_minute());
  return json;
}

std::string ServiceText(const v1::Worker& worker, const v1::Worker::Instance& service) {
  std::string text = service.approach();
  if (!service.setting().empty()) {
    absl::StrAppend(&text, " (", SettingText(service.setting()), ")");
  }
  absl::StrAppend(&text, " ", service.state(), " on ", worker.name());
  if (service.has_start_time()) {
    absl::StrAppend(&text, " since ",
                    FormatIsoTime(absl::FromUnixSeconds(service.start_time().seconds())));
  }
  absl::StrAppend(&text, ", jobs: ", service.jobs());
  if (service.failed_starts() > 0) {
    absl::StrAppend(&text, ", failed starts: ", service.failed_starts());
  }
  return text;
}

std::string RunningText(const v1::Worker& worker) {
  return absl::StrCat(CountText(worker.running()),
                      worker.slots() == 0 ? "" : absl::StrCat("/", worker.slots()));
}

Json WorkerJson(const v1::Worker& worker) {
  Json json = Json::object();
  json["name"] = worker.name();
  json["incarnation"] = worker.incarnation();
  json["state"] = StateText(worker.state());
  json["host"] = worker.host();
  json["version"] = worker.version();
  json["capacity"] = ResourcesJson(worker.capacity());
  json["used"] = ResourcesJson(worker.used());
  json["labels"] = Sorted(worker.labels());
  json["running"] = worker.running();
  json["services"] = Json::array();
  for (const v1::Worker::Instance& service : worker.services()) {
    json["services"].push_back(
        {{"approach", service.approach()},
         {"setting", ParamsJson(service.setting())},
         {"state", service.state()},
         {"jobs", service.jobs()},
         {"start_time", TimeJson(service.has_start_time(), service.start_time())},
         {"failed_starts", service.failed_starts()}});
  }
  json["slots"] = worker.slots() == 0 ? Json(nullptr) : Json(worker.slots());
  json["succeeded"] = worker.succeeded();
  json["failed"] = worker.failed();
  json["quarantine_reason"] = TextJson(worker.quarantine_reason());
  json["quarantine_end_time"] =
      TimeJson(worker.has_quarantine_end_time(), worker.quarantine_end_time());
  json["notices"] = Json::array();
  for (const std::string& notice : worker.notices()) {
    json["notices"].push_back(notice);
  }
  json["containment"] = Json::array();
  for (const std::string& part : worker.containment()) {
    json["containment"].push_back(part);
  }
  json["last_seen_time"] = TimeJson(worker.has_last_seen_time(), worker.last_seen_time());
  json["lease_expire_time"] = TimeJson(worker.has_lease_expire_time(), worker.lease_expire_time());
  return json;
}

Json SettingJson(const Setting& setting) {
  Json json = Json::object();
  for (const auto& [name, value] : setting) {
    json[name] = ParamJson(rpc::ToProto(value));
  }
  return json;
}

Json ScoreJson(const JobScore& score) {
  Json json = Json::object();
  json.get_ref<Json::object_t&>().reserve(15);  // there are millions
  json["job"] = score.job.ToString();
  json["approach"] = score.approach;
  json["train_set"] = TextJson(score.train_set);
  json["test_benchmark"] = score.test_benchmark;
  json["setting_index"] = score.setting;
  json["seed"] = score.seed;
  json["metric"] = TextJson(score.metric);
  json["value"] = score.value.has_value() ? Json(*score.value) : Json();
  json["examples"] = score.examples;
  json["state"] = std::string(JobStateName(score.state));
  json["low"] = score.interval.has_value() ? Json(score.interval->low) : Json();
  json["high"] = score.interval.has_value() ? Json(score.interval->high) : Json();
  json["worker"] = TextJson(score.worker);
  json["seconds"] = score.worker.empty() ? Json() : Json(absl::ToDoubleSeconds(score.run_time));
  for (const Metric& part : score.parts) {
    json["parts"][part.part] = {{"value", part.value}, {"examples", part.examples}};
  }
  return json;
}

Json EventJson(const v1::JobEvent& event) {
  Json json = Json::object();
  json["job"] = event.job();
  json["state"] = StateText(event.state());
  json["attempt"] = event.attempt();
  json["worker"] = TextJson(event.worker());
  json["failure"] = TextJson(FailureText(event.failure()));
  json["message"] = TextJson(event.message());
  json["time"] = TimeJson(event.has_time(), event.time());
  json["description"] = event.description();
  json["reused"] = event.reused();
  return json;
}

Json PoolJson(const v1::Pool& pool) {
  Json json = Json::object();
  json["name"] = pool.spec().name();
  json["spec"] = SpecJson(pool.spec());
  json["from_options"] = pool.from_options();
  json["paused"] = pool.paused();
  json["pause_reason"] = pool.pause_reason();
  json["pending"] = pool.pending();
  json["starting"] = pool.starting();
  json["working"] = pool.working();
  json["draining"] = pool.draining();
  json["wanted"] = pool.wanted();
  json["failures"] = pool.failures();
  json["last_failure"] = pool.last_failure();
  json["last_failure_time"] = TimeJson(pool.has_last_failure_time(), pool.last_failure_time());
  json["not_before_time"] = TimeJson(pool.has_not_before_time(), pool.not_before_time());
  json["explanation"] =
      std::vector<std::string>(pool.explanation().begin(), pool.explanation().end());
  json["workers"] = Json::array();
  for (const v1::Pilot& pilot : pool.pilots()) {
    json["workers"].push_back({{"name", pilot.name()},
                               {"phase", PhaseText(pilot.phase())},
                               {"external_id", pilot.external_id()},
                               {"message", pilot.message()},
                               {"image", pilot.image()},
                               {"request_time", TimeJson(true, pilot.request_time())},
                               {"phase_time", TimeJson(true, pilot.phase_time())}});
  }
  return json;
}

}  // namespace concur::cli
