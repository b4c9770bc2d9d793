// SPDX-License-Identifier: Apache-2.0
// The text form of spooled results: a line with format and digest, then one JSON object a line.
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/escape.h"
#include "worker/agent/spool.h"

// Conversions of the types of a result's fields for nlohmann's library.
namespace nlohmann {

template <>
struct adl_serializer<absl::Time> {
  static void to_json(json& to, absl::Time time) { to = absl::ToUnixNanos(time); }
  static void from_json(const json& from, absl::Time& time) {
    time = absl::FromUnixNanos(from.get<int64_t>());
  }
};

template <>
struct adl_serializer<absl::Duration> {
  static void to_json(json& to, absl::Duration span) { to = absl::ToInt64Nanoseconds(span); }
  static void from_json(const json& from, absl::Duration& span) {
    span = absl::Nanoseconds(from.get<int64_t>());
  }
};

template <>
struct adl_serializer<concur::Metric> {
  static void to_json(json& to, const concur::Metric& metric) {
    const auto& [name, value, examples, interval, part] = metric;
    to = json::array({name, value, examples});
    if (interval.has_value()) {
      to.push_back(interval->low);
      to.push_back(interval->high);
    }
    if (!part.empty()) {
      to.push_back(part);
    }
  }
  static void from_json(const json& from, concur::Metric& metric) {
    auto& [name, value, examples, interval, part] = metric;
    from.at(0).get_to(name);
    from.at(1).get_to(value);
    from.at(2).get_to(examples);
    if (from.size() > 4) {
      interval = {from.at(3).get<double>(), from.at(4).get<double>()};
    }
    if (from.size() == 4 || from.size() > 5) {
      from.back().get_to(part);
    }
  }
};

template <>
struct adl_serializer<concur::ArtifactRef> {
  static void to_json(json& to, const concur::ArtifactRef& artifact) {
    const auto& [kind, digest, bytes] = artifact;
    to = {kind, digest.ToHex(), bytes};
  }
  static void from_json(const json& from, concur::ArtifactRef& artifact) {
    auto& [kind, digest, bytes] = artifact;
    from.at(0).get_to(kind);
    digest = concur::Digest::FromHex(from.at(1).get<std::string>()).value();
    from.at(2).get_to(bytes);
  }
};

template <>
struct adl_serializer<concur::Checkpoint> {
  static void to_json(json& to, const concur::Checkpoint& checkpoint) {
    const auto& [digest, bytes, attempt] = checkpoint;
    to = {digest.ToHex(), bytes, attempt};
  }
  static void from_json(const json& from, concur::Checkpoint& checkpoint) {
    auto& [digest, bytes, attempt] = checkpoint;
    digest = concur::Digest::FromHex(from.at(0).get<std::string>()).value();
    from.at(1).get_to(bytes);
    from.at(2).get_to(attempt);
  }
};

}  // namespace nlohmann

namespace concur::worker {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "concur-results-1 ";

template <typename T>
std::string KeyOf(absl::string_view field, const T& /*value*/) {
  constexpr bool kIsTime = std::is_same_v<T, absl::Time> || std::is_same_v<T, absl::Duration>;
  return absl::StrCat(field, kIsTime ? "_ns" : "");
}

Json ToJson(const SpooledResult& spooled) {
  const AttemptId& id = spooled.finished.id;
  Json json = {
      {"sweep", id.job.sweep.number},
      {"job", id.job.index},
      {"attempt", id.attempt.number},
      {"published", spooled.published},
  };
  VisitFields(spooled.finished.result, [&json](absl::string_view field, const auto& value) {
    json[KeyOf(field, value)] = value;
  });
  if (spooled.finished.checkpoint) {
    json["checkpoint"] = *spooled.finished.checkpoint;
  }
  return json;
}

// Throws when `json` is not what ToJson made.
SpooledResult FromJson(const Json& json) {
  SpooledResult spooled;
  AttemptId& id = spooled.finished.id;
  json.at("sweep").get_to(id.job.sweep.number);
  json.at("job").get_to(id.job.index);
  json.at("attempt").get_to(id.attempt.number);
  json.at("published").get_to(spooled.published);
  VisitFields(spooled.finished.result, [&json](absl::string_view field, auto& value) {
    // Absent when an older version, which did not have the field, wrote the file.
    if (const auto it = json.find(KeyOf(field, value)); it != json.end()) {
      it->get_to(value);
    }
  });
  if (const auto it = json.find("checkpoint"); it != json.end()) {
    it->get_to(spooled.finished.checkpoint.emplace());
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
      results.push_back(FromJson(Json::parse(line.data(), line.data() + line.size())));
    } catch (const std::exception& error) {
      return absl::DataLossError(JsonReason(error.what()));
    }
  }
  return results;
}

}  // namespace concur::worker
