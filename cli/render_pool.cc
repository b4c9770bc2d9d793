// Pools as JSON records.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "cli/render.h"

namespace concur::cli {
namespace {

// "working" of PHASE_WORKING.
std::string Word(absl::string_view name, absl::string_view prefix) {
  return absl::ConsumePrefix(&name, prefix) && name != "UNSPECIFIED" ? absl::AsciiStrToLower(name)
                                                                     : "unknown";
}

Json SpanJson(bool is_set, const google::protobuf::Duration& span) {
  return is_set ? Json(absl::ToDoubleSeconds(SpanOf(span))) : Json();
}

Json TimeJson(bool is_set, const google::protobuf::Timestamp& time) {
  return is_set ? Json(FormatIsoTime(TimeOf(time))) : Json();
}

Json SpecJson(const v1::PoolSpec& spec) {
  Json json = Json::object();
  json["provider"] = ProviderText(spec.provider());
  json["workers_min"] = spec.workers_min();
  json["workers_max"] = spec.workers_max();
  json["resources"] = {{"cpus", static_cast<double>(spec.resources().cpu_millis()) / 1000},
                       {"memory_bytes", spec.resources().memory_bytes()},
                       {"gpus", spec.resources().gpus()}};
  json["labels"] = Json::object();
  for (const auto& [name, value] : spec.labels()) {
    json["labels"][name] = value;
  }
  json["time_limit"] = SpanJson(spec.has_time_limit(), spec.time_limit());
  json["idle_timeout"] = SpanJson(spec.has_idle_timeout(), spec.idle_timeout());
  json["start_timeout"] = SpanJson(spec.has_start_timeout(), spec.start_timeout());
  return json;
}

}  // namespace

std::string ProviderText(v1::PoolSpec::Provider provider) {
  return Word(v1::PoolSpec::Provider_Name(provider), "PROVIDER_");
}

std::string PhaseText(v1::Pilot::Phase phase) {
  return Word(v1::Pilot::Phase_Name(phase), "PHASE_");
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
  json["leaving"] = pool.leaving();
  json["wanted"] = pool.wanted();
  json["failures"] = pool.failures();
  json["last_failure"] = pool.last_failure();
  json["last_failure_time"] = TimeJson(pool.has_last_failure_time(), pool.last_failure_time());
  json["not_before_time"] = TimeJson(pool.has_not_before_time(), pool.not_before_time());
  json["explanation"] = Json::array();
  for (const std::string& line : pool.explanation()) {
    json["explanation"].push_back(line);
  }
  json["workers"] = Json::array();
  for (const v1::Pilot& pilot : pool.pilots()) {
    json["workers"].push_back({{"name", pilot.name()},
                               {"phase", PhaseText(pilot.phase())},
                               {"external_id", pilot.external_id()},
                               {"message", pilot.message()},
                               {"request_time", TimeJson(true, pilot.request_time())},
                               {"phase_time", TimeJson(true, pilot.phase_time())}});
  }
  return json;
}

}  // namespace concur::cli
