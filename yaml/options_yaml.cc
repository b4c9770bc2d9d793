// SPDX-License-Identifier: Apache-2.0
#include "yaml/options_yaml.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/names.h"
#include "yaml/approach_yaml.h"
#include "yaml/pools_yaml.h"
#include "yaml/value.h"

namespace concur::spec {
namespace {

constexpr std::array<absl::string_view, 3> kContainmentNames = {"auto", "cgroup", "processes"};
constexpr int64_t kAnyMax = std::numeric_limits<int64_t>::max();

// HOST:PORT; the host may be an IPv6 address in brackets.
bool IsAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  int port = -1;
  const absl::string_view host = text.substr(0, colon);
  return colon != text.npos && !host.empty() &&
         (host.find(':') == host.npos || (host.front() == '[' && host.back() == ']')) &&
         host.find_first_of("/ ") == host.npos && absl::SimpleAtoi(text.substr(colon + 1), &port) &&
         port >= 0 && port <= 65535;
}

// With `several`, a list with commas.
void ReadAddress(Fields& fields, absl::string_view key, std::string* address,
                 bool several = false) {
  const std::optional<Value> value = fields.Get(key);
  if (!value) {
    return;
  }
  const std::optional<std::string> text = value->Text("an address HOST:PORT");
  if (!text) {
    return;
  }
  const std::vector<absl::string_view> addresses = absl::StrSplit(*text, ',');
  if ((addresses.size() > 1 && !several) ||
      !std::all_of(addresses.begin(), addresses.end(), IsAddress)) {
    value->Expected(absl::StrCat("an address HOST:PORT such as 127.0.0.1:7447",
                                 several ? ", or several with commas and no spaces" : ""));
    return;
  }
  *address = *text;
}

void ReadPath(Fields& fields, absl::string_view key, std::string* path) {
  if (const auto value = fields.Get(key)) {
    *path = value->Path().value_or("");
  }
}

void ReadDuration(Fields& fields, absl::string_view key, absl::Duration low, absl::Duration high,
                  absl::Duration* duration) {
  if (const auto value = fields.Get(key)) {
    *duration = value->Duration(low, high).value_or(*duration);
  }
}

void ReadCount(Fields& fields, absl::string_view key, int64_t low, int64_t high, int64_t* count) {
  if (const auto value = fields.Get(key)) {
    *count = value->Integer(low, high).value_or(*count);
  }
}

void ReadBytes(Fields& fields, absl::string_view key, int64_t* bytes) {
  if (const auto value = fields.Get(key)) {
    *bytes = value->Bytes().value_or(*bytes);
  }
}

void ReadQuota(Fields& fields, Quota* quota) {
  ReadCount(fields, "jobs_max", 1, 1'000'000'000, &quota->jobs_max);
  ReadCount(fields, "running_jobs_max", 1, 1'000'000'000, &quota->running_jobs_max);
  ReadBytes(fields, "stored_bytes_max", &quota->stored_bytes_max);
}

void ReadQuotas(const Value& value, QuotaPolicy* quotas) {
  Fields fields(value);
  if (const auto otherwise = fields.Get("default")) {
    Fields quota(*otherwise);
    ReadQuota(quota, &quotas->otherwise);
    quota.Finish();
  }
  if (const auto owners = fields.Get("owners")) {
    const auto items =
        owners->List("a list of {name, jobs_max, running_jobs_max, stored_bytes_max}");
    for (const Value& item : items.value_or(std::vector<Value>())) {
      Quota quota;
      Fields owner(item);
      const auto name = owner.Require("name", "of the owner");
      ReadQuota(owner, &quota);
      owner.Finish();
      if (name && !quotas->owners.emplace(name->Name().value_or(""), quota).second) {
        name->Error("expected each owner once");
      }
    }
  }
  fields.Finish();
}

void ReadQuarantine(const Value& value, CoordinatorOptions::Quarantine* quarantine) {
  Fields fields(value);
  ReadCount(fields, "failures", 0, 1'000'000, &quarantine->failures);
  ReadDuration(fields, "min", absl::Seconds(1), absl::Hours(24), &quarantine->min);
  ReadDuration(fields, "max", absl::Seconds(1), absl::Hours(24 * 7), &quarantine->max);
  fields.Finish();
  if (quarantine->max < quarantine->min) {
    value.Error(absl::StrCat("expected max of min or more, got ",
                             absl::FormatDuration(quarantine->min), " and ",
                             absl::FormatDuration(quarantine->max)));
  }
}

// A certificate needs its key.
void CheckPair(const Value& tls, const std::string& certificate, const std::string& key) {
  if (certificate.empty() != key.empty()) {
    tls.Error(absl::StrCat("expected certificate and key together, got only ",
                           key.empty() ? "certificate" : "key"));
  }
}

void ReadServerTls(const Value& value, CoordinatorOptions::Tls* tls) {
  Fields fields(value);
  ReadPath(fields, "certificate", &tls->certificate);
  ReadPath(fields, "key", &tls->key);
  ReadPath(fields, "client_ca", &tls->client_ca);
  fields.Finish();
  CheckPair(value, tls->certificate, tls->key);
  if (tls->certificate.empty()) {
    value.Error("expected certificate and key, the server's own");
  }
}

void ReadClientTls(const Value& value, WorkerOptions::Tls* tls) {
  Fields fields(value);
  ReadPath(fields, "ca", &tls->ca);
  ReadPath(fields, "certificate", &tls->certificate);
  ReadPath(fields, "key", &tls->key);
  fields.Finish();
  CheckPair(value, tls->certificate, tls->key);
  if (tls->ca.empty()) {
    value.Error("expected ca, which signed the coordinator's certificate");
  }
}

// Reads a text whose characters need no escaping in URLs and signatures.
void ReadPlain(const std::optional<Value>& value, absl::string_view characters,
               absl::string_view expected, size_t low, size_t high, std::string* plain) {
  if (!value) {
    return;
  }
  const std::optional<std::string> text = value->Text(expected);
  if (!text) {
    return;
  }
  const bool is_plain = std::all_of(text->begin(), text->end(), [characters](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           characters.find(c) != characters.npos;
  });
  if (!is_plain || text->size() < low || text->size() > high) {
    value->Expected(expected);
    return;
  }
  *plain = *text;
}

void ReadEndpoint(const std::optional<Value>& value, std::string* endpoint) {
  constexpr absl::string_view kExpected =
      "an address such as https://s3.eu-central-1.amazonaws.com";
  const std::optional<std::string> text = value ? value->Text(kExpected) : std::nullopt;
  if (!text) {
    return;
  }
  absl::string_view host = *text;
  if ((!absl::ConsumePrefix(&host, "https://") && !absl::ConsumePrefix(&host, "http://")) ||
      host.empty() || host.find_first_of("/?#@ ") != host.npos) {
    value->Expected(absl::StrCat(kExpected, ", without a path"));
    return;
  }
  *endpoint = *text;
}

void ReadS3(const Value& value, std::optional<S3Options>* s3) {
  S3Options& out = s3->emplace();
  Fields fields(value);
  ReadEndpoint(fields.Require("endpoint", "of the object storage"), &out.endpoint);
  ReadPlain(fields.Require("bucket", "to keep artifacts in"), ".-_",
            "a bucket's name: 3 to 63 letters, digits, \".\", \"-\" and \"_\"", 3, 63, &out.bucket);
  const std::optional<Value> prefix = fields.Get("prefix");
  ReadPlain(prefix, "/.-_",
            "letters, digits, \".\", \"-\", \"_\" and \"/\" between them, at most 512", 1, 512,
            &out.prefix);
  if (absl::StartsWith(out.prefix, "/") || absl::EndsWith(out.prefix, "/") ||
      absl::StrContains(out.prefix, "//") || absl::StrContains(out.prefix, "..")) {
    prefix->Error("expected no \"/\" at the ends, no \"//\" and no \"..\"");
  }
  ReadPlain(fields.Get("region"), "-_", "a region such as eu-central-1", 1, 63, &out.region);
  ReadPath(fields, "credentials_file", &out.credentials_file);
  ReadPath(fields, "ca", &out.ca);
  fields.Finish();
}

CoordinatorOptions ReadCoordinator(const Value& value) {
  CoordinatorOptions options;
  Fields fields(value);
  ReadAddress(fields, "listen", &options.listen);
  ReadAddress(fields, "metrics_listen", &options.metrics_listen);
  ReadAddress(fields, "page_listen", &options.page_listen);
  ReadPath(fields, "data_directory", &options.data_directory);
  if (const auto database = fields.Get("database")) {
    options.database = database->Text().value_or("");
    // The text is not repeated, since it may hold a password.
    if (!absl::StartsWith(options.database, "postgresql://") &&
        !absl::StartsWith(options.database, "postgres://")) {
      database->Error("expected a URI such as postgresql://concur@db.example.org/concur");
    }
  }
  ReadPath(fields, "static_worker", &options.static_worker);
  if (const auto owner = fields.Get("owner")) {
    options.owner = owner->Name().value_or("");
  }
  ReadDuration(fields, "lease", absl::Seconds(2), absl::Hours(1), &options.lease);
  ReadDuration(fields, "sync_park_max", absl::Seconds(1), absl::Minutes(10),
               &options.sync_park_max);
  ReadDuration(fields, "overdue_grace", absl::Seconds(1), absl::Hours(24 * 7),
               &options.overdue_grace);
  ReadDuration(fields, "lost_worker_kept", absl::ZeroDuration(), absl::Hours(24 * 365),
               &options.lost_worker_kept);
  if (const auto gc = fields.Get("gc")) {
    Fields gc_fields(*gc);
    ReadDuration(gc_fields, "interval", absl::Seconds(1), absl::Hours(24 * 7),
                 &options.gc.interval);
    ReadDuration(gc_fields, "grace", absl::ZeroDuration(), absl::Hours(24 * 365),
                 &options.gc.grace);
    gc_fields.Finish();
  }
  if (const auto artifacts = fields.Get("artifacts")) {
    Fields artifact_fields(*artifacts);
    if (const auto s3 = artifact_fields.Require("s3", "the object storage to keep artifacts in")) {
      ReadS3(*s3, &options.s3);
    }
    artifact_fields.Finish();
  }
  options.pack_small_artifacts = !options.s3.has_value();
  if (const auto packs = fields.Get("pack_small_artifacts")) {
    options.pack_small_artifacts = packs->Bool().value_or(false);
    if (options.pack_small_artifacts && options.s3.has_value()) {
      packs->Error("expected false with artifacts.s3, where nothing is packed");
    }
  }
  if (const auto limits = fields.Get("limits")) {
    CoordinatorOptions::Limits& out = options.limits;
    Fields limit_fields(*limits);
    ReadCount(limit_fields, "sweeps_max", 1, kAnyMax, &out.sweeps_max);
    ReadCount(limit_fields, "jobs_per_sweep_max", 1, kJobsMax, &out.jobs_per_sweep_max);
    ReadCount(limit_fields, "workers_max", 1, 1'000'000, &out.workers_max);
    ReadCount(limit_fields, "calls_max", 1, 1'000'000, &out.calls_max);
    ReadBytes(limit_fields, "artifact_bytes_max", &out.artifact_bytes_max);
    ReadBytes(limit_fields, "job_memory_max", &out.job_memory_max);
    ReadBytes(limit_fields, "disk_free_min", &out.disk_free_min);
    ReadDuration(limit_fields, "handshake_max", absl::Seconds(1), absl::Hours(1),
                 &out.handshake_max);
    ReadDuration(limit_fields, "idle_max", absl::Seconds(1), absl::Hours(24), &out.idle_max);
    ReadCount(limit_fields, "streams_per_peer_max", 1, 1'000'000, &out.streams_per_peer_max);
    ReadDuration(limit_fields, "stalled_max", absl::Seconds(1), absl::Hours(24), &out.stalled_max);
    limit_fields.Finish();
  }
  if (const auto tls = fields.Get("tls")) {
    ReadServerTls(*tls, &options.tls);
  }
  if (const auto quotas = fields.Get("quotas")) {
    ReadQuotas(*quotas, &options.quotas);
  }
  if (const auto quarantine = fields.Get("quarantine")) {
    ReadQuarantine(*quarantine, &options.quarantine);
  }
  if (const auto pools = fields.Get("pools")) {
    ReadPools(*pools, &options.pool_limits, &options.pools);
  }
  if (const auto pilots = fields.Get("pilots")) {
    Fields pilot_fields(*pilots);
    ReadAddress(pilot_fields, "coordinator", &options.pilots.coordinator, /*several=*/true);
    ReadPath(pilot_fields, "ca", &options.pilots.ca);
    ReadPath(pilot_fields, "certificate", &options.pilots.certificate);
    ReadPath(pilot_fields, "key", &options.pilots.key);
    pilot_fields.Finish();
    CheckPair(*pilots, options.pilots.certificate, options.pilots.key);
  }
  fields.Finish();
  if (options.sync_park_max >= options.lease) {
    value.Error(absl::StrCat(
        "expected sync_park_max below lease, got ", absl::FormatDuration(options.sync_park_max),
        " and ", absl::FormatDuration(options.lease), ": an idle worker would lose its lease"));
  }
  return options;
}

void ReadEnvironmentKinds(const Value& value, std::vector<std::string>* kinds) {
  const auto items = value.List("a list of bubblewrap, podman, apptainer, venv, conda");
  if (!items) {
    return;
  }
  kinds->clear();
  for (const Value& item : *items) {
    kinds->push_back(item.Text().value_or(""));
  }
  if (const absl::Status valid = CheckEnvironmentKinds(*kinds); !valid.ok()) {
    value.Error(valid.message());
  }
}

WorkerOptions ReadWorker(const Value& value) {
  WorkerOptions options;
  Fields fields(value);
  if (const auto name = fields.Get("name")) {
    options.name = name->Name().value_or("");
  }
  ReadAddress(fields, "coordinator", &options.coordinator, /*several=*/true);
  ReadAddress(fields, "metrics_listen", &options.metrics_listen);
  ReadPath(fields, "work_directory", &options.work_directory);
  ReadPath(fields, "run_directory", &options.run_directory);
  if (const auto resources = fields.Get("resources")) {
    const ResourceRequest request = ReadWorkerResources(*resources);
    options.cpu_millis = request.cpu_millis.value_or(0);
    options.memory_bytes = request.memory_bytes.value_or(0);
    options.gpus = request.WholeGpus();
  }
  if (const auto slots = fields.Get("slots")) {
    options.slots = static_cast<int32_t>(slots->Integer(0, 10'000).value_or(0));
  }
  ReadBytes(fields, "log_bytes_max", &options.log_bytes_max);
  ReadBytes(fields, "output_bytes_max", &options.output_bytes_max);
  ReadBytes(fields, "checkpoint_bytes_max", &options.checkpoint_bytes_max);
  if (const auto containment = fields.Get("containment")) {
    options.containment = containment->OneOf(ContainmentFromName).value_or(options.containment);
  }
  ReadCount(fields, "processes_max", 16, 4'000'000, &options.processes_max);
  if (const auto env_pass = fields.Get("env_pass")) {
    for (const Value& item : env_pass->List("a list of names").value_or(std::vector<Value>())) {
      const std::string pattern = item.Text("a variable's name").value_or("");
      if (const absl::Status status = CheckEnvPattern(concur::FieldPath("env_pass"), pattern);
          !status.ok()) {
        item.Error(status.message());
      }
      options.env_pass.push_back(pattern);
    }
  }
  if (const auto private_tmp = fields.Get("private_tmp")) {
    options.private_tmp = private_tmp->Bool().value_or(false);
  }
  ReadBytes(fields, "cache_bytes_max", &options.cache_bytes_max);
  if (const auto environments = fields.Get("environments")) {
    ReadEnvironmentKinds(*environments, &options.environments);
  }
  ReadPath(fields, "environment_directory", &options.environment_directory);
  ReadBytes(fields, "environment_bytes_max", &options.environment_bytes_max);
  ReadDuration(fields, "stop_grace", absl::ZeroDuration(), absl::Hours(1), &options.stop_grace);
  ReadDuration(fields, "drain_max", absl::ZeroDuration(), absl::Hours(24 * 365),
               &options.drain_max);
  if (const auto labels = fields.Get("labels")) {
    options.labels = ReadTags(*labels);
  }
  if (const auto tls = fields.Get("tls")) {
    ReadClientTls(*tls, &options.tls);
  }
  ReadPath(fields, "token_file", &options.token_file);
  fields.Finish();
  return options;
}

template <typename Options>
Options ReadOptions(const YamlFile& file, ErrorList& errors, absl::string_view kind,
                    Options (*read)(const Value&)) {
  const Document document = ReadDocument(file, kind, false, errors);
  if (document.metadata) {
    document.metadata->Error("expected no metadata here, got some; remove it");
  }
  return document.spec ? read(*document.spec) : Options();
}

template <typename Options>
absl::StatusOr<Options> Load(const std::string& path,
                             Options (*read)(const YamlFile&, ErrorList&)) {
  ErrorList errors;
  YamlFile file;
  if (!LoadYaml(path, {}, nullptr, &file, &errors)) {
    return errors.ToStatus();
  }
  Options options = read(file, errors);
  if (!errors.empty()) {
    return errors.ToStatus();
  }
  return options;
}

}  // namespace

absl::Status CheckEnvironmentKinds(const std::vector<std::string>& names) {
  const std::vector<std::string> known = WorkerOptions().environments;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end() || !seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected some of ", absl::StrJoin(known, ", "), ", each once, got \"", name, "\""));
    }
  }
  return absl::OkStatus();
}

CoordinatorOptions ReadCoordinatorFile(const YamlFile& file, ErrorList& errors) {
  return ReadOptions<CoordinatorOptions>(file, errors, "CoordinatorOptions", ReadCoordinator);
}

WorkerOptions ReadWorkerFile(const YamlFile& file, ErrorList& errors) {
  return ReadOptions<WorkerOptions>(file, errors, "WorkerOptions", ReadWorker);
}

absl::StatusOr<CoordinatorOptions> LoadCoordinatorOptions(const std::string& path) {
  return Load<CoordinatorOptions>(path, ReadCoordinatorFile);
}

absl::StatusOr<Containment> ContainmentFromName(absl::string_view name) {
  return FromNameIn<Containment>(kContainmentNames, "containment", name);
}

absl::StatusOr<WorkerOptions> LoadWorkerOptions(const std::string& path) {
  return Load<WorkerOptions>(path, ReadWorkerFile);
}

}  // namespace concur::spec
