// SPDX-License-Identifier: Apache-2.0
#include "store/row_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/decimal.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "store/sql_tables.h"

namespace concur {
namespace {

// Artifacts of this kind and later ones have columns behind those of all other fields.
constexpr int kFirstLateKind = static_cast<int>(ArtifactKind::kOutputs);
static_assert(kFirstLateKind == kArtifactKinds - 1);

// Words of text enter the checksum as they lie in memory; databases do not travel between machines
// of different byte orders.
static_assert(std::endian::native == std::endian::little);

constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kIntMax = std::numeric_limits<int64_t>::max();

// Limits are those of JSON, which has no infinity: 1e999 reads back as one everywhere.
void AppendJsonNumber(double value, std::string& json) {
  if (std::isnan(value)) {
    json += "null";
  } else if (std::isinf(value)) {
    json += value > 0 ? "1e999" : "-1e999";
  } else {
    AppendShortestDecimal(value, &json);
  }
}

// A cursor over the JSON that MetricsToJson writes, and no other.
class MetricsParser {
 public:
  explicit MetricsParser(absl::string_view json) : rest_(json) {}

  bool Parse(std::vector<Metric>& metrics) {
    if (!Take('{')) {
      return false;
    }
    while (!Take('}')) {
      Metric& metric = metrics.emplace_back();
      if ((metrics.size() > 1 && !Take(',')) || !ParseString(metric.name) || !Take(':') ||
          !Take('[') || !ParseDouble(metric.value) || !Take(',') || !ParseInt(metric.examples)) {
        return false;
      }
      bool more = Take(',');
      if (more && !absl::StartsWith(rest_, "\"")) {
        MetricInterval& interval = metric.interval.emplace();
        if (!ParseDouble(interval.low) || !Take(',') || !ParseDouble(interval.high)) {
          return false;
        }
        more = Take(',');
      }
      if ((more && !ParsePart(metric)) || !Take(']')) {
        return false;
      }
    }
    return rest_.empty();
  }

 private:
  bool Take(char c) {
    if (rest_.empty() || rest_[0] != c) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  // Takes the part's name off that of the metric, too.
  bool ParsePart(Metric& metric) {
    if (!ParseString(metric.part) || metric.part.empty() ||
        !absl::StartsWith(metric.name, absl::StrCat(metric.part, "/"))) {
      return false;
    }
    metric.name.erase(0, metric.part.size() + 1);
    return true;
  }

  bool ParseString(std::string& text) {
    if (!Take('"')) {
      return false;
    }
    for (;;) {
      const size_t plain = rest_.find_first_of("\"\\");
      if (plain == absl::string_view::npos) {
        return false;
      }
      text.append(rest_.data(), plain);
      rest_.remove_prefix(plain);
      if (Take('"')) {
        return true;
      }
      if (!ParseEscape(text)) {
        return false;
      }
    }
  }

  bool ParseEscape(std::string& text) {
    if (rest_.size() < 2) {
      return false;
    }
    const char escaped = rest_[1];
    if (escaped == '"' || escaped == '\\') {
      text += escaped;
      rest_.remove_prefix(2);
      return true;
    }
    if (const size_t named = absl::string_view("ntr").find(escaped);
        named != absl::string_view::npos) {
      text += "\n\t\r"[named];
      rest_.remove_prefix(2);
      return true;
    }
    unsigned code = 0;
    if (escaped != 'u' || rest_.size() < 6 ||
        std::from_chars(rest_.data() + 2, rest_.data() + 6, code, 16).ptr != rest_.data() + 6 ||
        (code >= 0x20 && code != 0x7F)) {
      return false;
    }
    text += static_cast<char>(code);
    rest_.remove_prefix(6);
    return true;
  }

  bool ParseDouble(double& value) {
    if (rest_.substr(0, 4) == "null") {
      value = std::numeric_limits<double>::quiet_NaN();
      rest_.remove_prefix(4);
      return true;
    }
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) {
      value = rest_[0] == '-' ? -std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::infinity();
    } else if (error != std::errc()) {
      return false;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }

  bool ParseInt(int64_t& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) {
      return false;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }

  absl::string_view rest_;
};

absl::string_view BytesOf(const Digest& digest) {
  return absl::string_view(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
}

}  // namespace

int64_t TimeToInt(absl::Time time) {
  if (time == absl::InfiniteFuture()) {
    return kIntMax;
  }
  if (time == absl::InfinitePast()) {
    return kIntMin;
  }
  return std::clamp(absl::ToUnixNanos(time), kIntMin + 1, kIntMax - 1);
}

absl::Time TimeOfInt(int64_t nanoseconds) {
  if (nanoseconds == kIntMax) {
    return absl::InfiniteFuture();
  }
  return nanoseconds == kIntMin ? absl::InfinitePast() : absl::FromUnixNanos(nanoseconds);
}

int64_t DurationToInt(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) {
    return kIntMax;
  }
  if (duration == -absl::InfiniteDuration()) {
    return kIntMin;
  }
  return std::clamp(absl::ToInt64Nanoseconds(duration), kIntMin + 1, kIntMax - 1);
}

absl::Duration DurationOfInt(int64_t nanoseconds) {
  if (nanoseconds == kIntMax) {
    return absl::InfiniteDuration();
  }
  return nanoseconds == kIntMin ? -absl::InfiniteDuration() : absl::Nanoseconds(nanoseconds);
}

std::string MetricsToJson(const std::vector<Metric>& metrics) {
  std::string json = "{";
  for (const Metric& metric : metrics) {
    if (json.size() > 1) {
      json += ',';
    }
    AppendJsonString(
        metric.part.empty() ? metric.name : absl::StrCat(metric.part, "/", metric.name), json);
    json += ":[";
    AppendJsonNumber(metric.value, json);
    absl::StrAppend(&json, ",", metric.examples);
    if (metric.interval.has_value()) {
      json += ',';
      AppendJsonNumber(metric.interval->low, json);
      json += ',';
      AppendJsonNumber(metric.interval->high, json);
    }
    if (!metric.part.empty()) {
      json += ',';
      AppendJsonString(metric.part, json);
    }
    json += ']';
  }
  json += '}';
  return json;
}

bool MetricsOfJson(absl::string_view json, std::vector<Metric>& metrics) {
  metrics.clear();
  return MetricsParser(json).Parse(metrics);
}

void RowChecksum::AddBytes(int column, absl::string_view value) {
  AddInt(column, static_cast<int64_t>(value.size()));
  uint64_t word = 0;
  for (; value.size() >= sizeof(word); value.remove_prefix(sizeof(word))) {
    std::memcpy(&word, value.data(), sizeof(word));
    Mix(word);
  }
  word = 0;
  // An empty view may have no address.
  if (!value.empty()) {
    std::memcpy(&word, value.data(), value.size());
  }
  Mix(word);
}

int32_t RowChecksum::Finish() const {
  const uint64_t mixed = (state_ ^ (state_ >> 29)) * 0xc4ce'b9fe'1a85'ec53;
  return static_cast<int32_t>(static_cast<uint32_t>(mixed >> 32));
}

void RowWriter::Int(int64_t value) {
  checksum_.AddInt(parameter_, value);
  statement_.BindInt(++parameter_, value);
}

void RowWriter::Real(double value) {
  value += 0.0;  // SQLite keeps whole numbers as integers, which have no negative zero
  checksum_.AddInt(parameter_, std::bit_cast<int64_t>(value));
  statement_.BindReal(++parameter_, value);
}

void RowWriter::Text(absl::string_view value) {
  checksum_.AddBytes(parameter_, value);
  statement_.BindText(++parameter_, value);
}

void RowWriter::Blob(absl::string_view value) {
  checksum_.AddBytes(parameter_, value);
  statement_.BindBlob(++parameter_, value);
}

void RowWriter::OptionalText(absl::string_view value) {
  if (value.empty()) {
    Null();
  } else {
    Text(value);
  }
}

void RowWriter::Column(const std::vector<Metric>& metrics) {
  if (metrics.empty()) {
    Null();
  } else {
    metrics_ = MetricsToJson(metrics);
    Text(metrics_);
  }
}

void RowWriter::Column(const std::vector<ArtifactRef>& artifacts) {
  std::array<const ArtifactRef*, kArtifactKinds> by_kind{};
  for (const ArtifactRef& artifact : artifacts) {
    by_kind[static_cast<size_t>(artifact.kind)] = &artifact;
  }
  for (int kind = 0; kind < kFirstLateKind; ++kind) {
    Artifact(by_kind[static_cast<size_t>(kind)]);
  }
}

void RowWriter::Artifact(const ArtifactRef* artifact) {
  if (artifact == nullptr) {
    Null();
    Null();
  } else {
    Blob(BytesOf(artifact->digest));
    Int(artifact->bytes);
  }
}

void RowWriter::Column(uint32_t value) {
  if (value == 0) {
    Null();
  } else {
    Int(value);
  }
}

void RowWriter::OptionalCheckpoint(const std::optional<Checkpoint>& checkpoint) {
  if (!checkpoint) {
    Null();
    Null();
    Null();
    return;
  }
  Blob(BytesOf(checkpoint->digest));
  Int(checkpoint->bytes);
  Int(checkpoint->attempt);
}

void RowWriter::Result(const JobResult& result) {
  VisitFields(result, [this](absl::string_view, const auto& field) { Column(field); });
  Artifact(FindArtifact(result, ArtifactKind::kOutputs));
}

absl::Status RowWriter::Run(int64_t* changed) {
  statement_.BindInt(++parameter_, checksum_.Finish());
  return statement_.Run(changed);
}

absl::Status PutCounter(SqlDatabase& database, const std::string& name, int64_t value) {
  CONCUR_ASSIGN_OR_RETURN(SqlStatement * statement, database.Prepare(Tables().counter.upsert));
  RowChecksum checksum;
  RowWriter writer(*statement, checksum);
  writer.Text(name);
  writer.Int(value);
  return writer.Run();
}

void RowReader::Fail(absl::string_view problem) {
  if (problem_.empty()) {
    problem_ = absl::StrCat("column ", column_ + 1, " ", problem);
  }
}

int64_t RowReader::Int(int64_t low, int64_t high) {
  ++column_;
  if (!statement_.IsInt(column_)) {
    Fail("is not an integer");
    return 0;
  }
  const int64_t value = statement_.Int(column_);
  checksum_.AddInt(column_, value);
  if (value < low || value > high) {
    Fail(absl::StrCat("is ", value, ", expected ", low, " to ", high));
    return 0;
  }
  return value;
}

double RowReader::Real() {
  ++column_;
  if (!statement_.IsReal(column_)) {
    Fail("is not a floating-point number");
    return 0;
  }
  const double value = statement_.Real(column_);
  checksum_.AddInt(column_, std::bit_cast<int64_t>(value));
  return value;
}

std::optional<int64_t> RowReader::OptionalInt(int64_t low, int64_t high) {
  if (statement_.IsNull(column_ + 1)) {
    ++column_;
    return std::nullopt;
  }
  return Int(low, high);
}

absl::string_view RowReader::Text() {
  ++column_;
  if (!statement_.IsText(column_)) {
    Fail("is not text");
    return "";
  }
  const absl::string_view value = statement_.Bytes(column_);
  checksum_.AddBytes(column_, value);
  return value;
}

absl::string_view RowReader::Blob() {
  ++column_;
  if (!statement_.IsBlob(column_)) {
    Fail("is not a blob");
    return "";
  }
  const absl::string_view value = statement_.Bytes(column_);
  checksum_.AddBytes(column_, value);
  return value;
}

absl::string_view RowReader::OptionalText() {
  if (statement_.IsNull(column_ + 1)) {
    ++column_;
    return "";
  }
  return Text();
}

absl::string_view RowReader::OptionalBlob() {
  if (statement_.IsNull(column_ + 1)) {
    ++column_;
    return "";
  }
  return Blob();
}

void RowReader::Column(std::vector<Metric>& metrics) {
  const absl::string_view json = OptionalText();
  if (!json.empty() && !MetricsOfJson(json, metrics)) {
    Fail("is not a list of metrics");
  }
}

void RowReader::Column(std::vector<ArtifactRef>& artifacts) {
  for (int kind = 0; kind < kFirstLateKind; ++kind) {
    Artifact(static_cast<ArtifactKind>(kind), artifacts);
  }
}

void RowReader::Artifact(ArtifactKind kind, std::vector<ArtifactRef>& artifacts) {
  const absl::string_view bytes = OptionalBlob();
  const std::optional<int64_t> size = OptionalInt();
  if (bytes.empty() && !size) {
    return;
  }
  ArtifactRef artifact{kind, Digest(), size.value_or(0)};
  if (bytes.size() != artifact.digest.bytes.size() || !size) {
    Fail("is not the size of an artifact with a digest of 32 bytes");
    return;
  }
  std::memcpy(artifact.digest.bytes.data(), bytes.data(), bytes.size());
  artifacts.push_back(artifact);
}

std::optional<Checkpoint> RowReader::OptionalCheckpoint() {
  const absl::string_view bytes = OptionalBlob();
  const std::optional<int64_t> size = OptionalInt(0);
  const std::optional<int64_t> attempt = OptionalInt(0, UINT32_MAX);
  if (bytes.empty() && !size && !attempt) {
    return std::nullopt;
  }
  Checkpoint checkpoint{Digest(), size.value_or(0), static_cast<uint32_t>(attempt.value_or(0))};
  if (bytes.size() != checkpoint.digest.bytes.size() || !size || !attempt) {
    Fail("is not the attempt of a checkpoint with a size and a digest of 32 bytes");
    return std::nullopt;
  }
  std::memcpy(checkpoint.digest.bytes.data(), bytes.data(), bytes.size());
  return checkpoint;
}

void RowReader::Result(JobResult& result) {
  VisitFields(result, [this](absl::string_view, auto& field) { Column(field); });
  Artifact(ArtifactKind::kOutputs, result.artifacts);
}

bool RowReader::Finish() {
  const int32_t expected = checksum_.Finish();
  ++column_;
  if (!statement_.IsInt(column_) || statement_.Int(column_) != expected) {
    problem_ = "the checksum does not match: the row was damaged, or edited by hand";
  }
  return problem_.empty();
}

}  // namespace concur
