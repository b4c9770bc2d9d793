// The text form of spooled results: a line with format and digest, then one JSON object a line.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "worker/spool.h"

namespace concur::worker {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "concur-results-1 ";

Json ToJson(const SpooledResult& spooled) {
  const AttemptId& id = spooled.finished.id;
  const JobResult& result = spooled.finished.result;
  Json json = {
      {"sweep", id.job.sweep.number},
      {"job", id.job.index},
      {"attempt", id.attempt.number},
      {"published", spooled.published},
      {"succeeded", result.succeeded},
      {"failure", static_cast<int>(result.failure)},
      {"exit_code", result.exit_code},
      {"message", result.message},
      {"start_time_ns", absl::ToUnixNanos(result.start_time)},
      {"run_time_ns", absl::ToInt64Nanoseconds(result.run_time)},
      {"memory_bytes_peak", result.memory_bytes_peak},
      {"metrics", Json::array()},
      {"artifacts", Json::array()},
  };
  for (const Metric& metric : result.metrics) {
    json["metrics"].push_back({metric.name, metric.value, metric.examples});
  }
  for (const ArtifactRef& artifact : result.artifacts) {
    json["artifacts"].push_back(
        {static_cast<int>(artifact.kind), artifact.digest.ToHex(), artifact.bytes});
  }
  return json;
}

absl::StatusOr<SpooledResult> FromJson(const Json& json) {
  SpooledResult spooled;
  AttemptId& id = spooled.finished.id;
  JobResult& result = spooled.finished.result;
  id.job.sweep.number = json.at("sweep").get<uint64_t>();
  id.job.index = json.at("job").get<uint32_t>();
  id.attempt.number = json.at("attempt").get<uint32_t>();
  spooled.published = json.at("published").get<bool>();
  result.succeeded = json.at("succeeded").get<bool>();
  result.failure = static_cast<FailureClass>(json.at("failure").get<int>());
  result.exit_code = json.at("exit_code").get<int32_t>();
  result.message = json.at("message").get<std::string>();
  result.start_time = absl::FromUnixNanos(json.at("start_time_ns").get<int64_t>());
  result.run_time = absl::Nanoseconds(json.at("run_time_ns").get<int64_t>());
  result.memory_bytes_peak = json.at("memory_bytes_peak").get<int64_t>();
  for (const Json& metric : json.at("metrics")) {
    result.metrics.push_back(
        {metric.at(0).get<std::string>(), metric.at(1).get<double>(), metric.at(2).get<int64_t>()});
  }
  for (const Json& artifact : json.at("artifacts")) {
    ArtifactRef ref;
    ref.kind = static_cast<ArtifactKind>(artifact.at(0).get<int>());
    CONCUR_ASSIGN_OR_RETURN(ref.digest, Digest::FromHex(artifact.at(1).get<std::string>()));
    ref.bytes = artifact.at(2).get<int64_t>();
    result.artifacts.push_back(ref);
  }
  return spooled;
}

}  // namespace

std::string FormatResults(const std::vector<SpooledResult>& results) {
  std::string body;
  for (const SpooledResult& result : results) {
    absl::StrAppend(&body, ToJson(result).dump(-1, ' ', false, Json::error_handler_t::replace),
                    "\n");
  }
  return absl::StrCat(kFormat, Sha256Of(body).ToHex(), "\n", body);
}

absl::StatusOr<std::vector<SpooledResult>> ParseResults(absl::string_view text) {
  const size_t line_end = text.find('\n');
  absl::string_view header = text.substr(0, line_end);
  if (line_end == absl::string_view::npos || !absl::ConsumePrefix(&header, kFormat)) {
    return absl::DataLossError("not a file of results");
  }
  const absl::string_view body = text.substr(line_end + 1);
  if (Sha256Of(body).ToHex() != header) {
    return absl::DataLossError("the contents do not match their digest");
  }
  std::vector<SpooledResult> results;
  for (const absl::string_view line : absl::StrSplit(body, '\n', absl::SkipEmpty())) {
    try {
      CONCUR_ASSIGN_OR_RETURN(SpooledResult result,
                              FromJson(Json::parse(line.data(), line.data() + line.size())));
      results.push_back(std::move(result));
    } catch (const Json::exception& error) {
      return absl::DataLossError(error.what());
    }
  }
  return results;
}

}  // namespace concur::worker
