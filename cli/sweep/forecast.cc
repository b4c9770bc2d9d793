// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep/forecast.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/command/command.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/client/client.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "proto/rpc/convert_value.h"
#include "yaml/value.h"

namespace concur::cli {
namespace {

constexpr int64_t kDurationsBytesMax = int64_t{64} << 20;
constexpr int64_t kSimulatedWorkersMax = 100'000;
constexpr double kSecondsMax = 1e9;
constexpr char kAll[] = "*";

struct Columns {
  std::optional<size_t> approach;
  std::optional<size_t> benchmark;
  std::optional<size_t> kind;
  std::optional<size_t> seconds;
  std::optional<size_t> spread;
};

absl::StatusOr<Columns> ColumnsOf(const CsvRecord& head, const std::string& place) {
  Columns columns;
  const std::pair<const char*, std::optional<size_t>*> known[] = {{"approach", &columns.approach},
                                                                  {"benchmark", &columns.benchmark},
                                                                  {"kind", &columns.kind},
                                                                  {"seconds", &columns.seconds},
                                                                  {"spread", &columns.spread}};
  for (size_t i = 0; i < head.fields.size(); ++i) {
    const auto found = std::find_if(std::begin(known), std::end(known),
                                    [&](const auto& k) { return head.fields[i] == k.first; });
    if (found == std::end(known) || found->second->has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, "expected the columns approach, benchmark, kind, seconds and perhaps ",
          "spread, each once, got \"", head.fields[i], "\""));
    }
    *found->second = i;
  }
  for (const auto& [name, column] : known) {
    if (!column->has_value() && column != &columns.spread) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, "the column \"", name, "\" is missing"));
    }
  }
  return columns;
}

absl::StatusOr<double> NumberOf(const std::string& text, const std::string& place, const char* name,
                                double max) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0 && value <= max)) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, name, ": expected a number from 0 to ", max, ", got \"", text, "\""));
  }
  return value;
}

absl::Status AddRecord(const CsvRecord& record, const Columns& columns, const std::string& place,
                       double spread, DurationTable& table) {
  const std::string& kind = record.fields[*columns.kind];
  const bool is_service = kind == "service";
  if (kind != "train" && kind != "eval" && !is_service) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, "kind: expected train, eval or service, got \"", kind, "\""));
  }
  const std::string& benchmark = record.fields[*columns.benchmark];
  if (is_service && benchmark != kAll) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, "benchmark: expected * for a service, got \"", benchmark, "\""));
  }
  ExpectedDuration expected;
  CONCUR_ASSIGN_OR_RETURN(const double seconds,
                          NumberOf(record.fields[*columns.seconds], place, "seconds", kSecondsMax));
  expected.mean = absl::Seconds(seconds);
  expected.spread = spread;
  if (columns.spread && !record.fields[*columns.spread].empty()) {
    CONCUR_ASSIGN_OR_RETURN(expected.spread,
                            NumberOf(record.fields[*columns.spread], place, "spread", 10));
  }
  expected.is_known = true;
  const std::string& approach = record.fields[*columns.approach];
  const absl::Status added = is_service ? table.AddLoad(approach, expected.mean)
                                        : table.Add(approach, benchmark, kind == "train", expected);
  return added.ok() ? added : absl::InvalidArgumentError(absl::StrCat(place, added.message()));
}

// Mean durations of the coordinator's finished jobs; for a benchmark that an approach never ran on,
// the approach's mean.
absl::StatusOr<DurationTable> History(Client& client, double spread) {
  std::map<std::string, google::protobuf::Duration> loads;
  std::vector<v1::JobDuration> durations;
  v1::ListDurationsRequest request;
  request.set_page_size(Client::kPage);
  bool more = true;
  while (more) {
    CONCUR_ASSIGN_OR_RETURN(const v1::ListDurationsResponse page,
                            client.Call<v1::ListDurationsResponse>(request));
    loads.insert(page.loads().begin(), page.loads().end());
    durations.insert(durations.end(), page.durations().begin(), page.durations().end());
    request.set_page_token(page.next_page_token());
    more = !page.next_page_token().empty();
  }
  DurationTable table;
  for (const auto& [approach, proto] : loads) {
    CONCUR_ASSIGN_OR_RETURN(const absl::Duration load,
                            rpc::FromProto(proto, FieldPath("loads").Field(approach)));
    CONCUR_RETURN_IF_ERROR(table.AddLoad(approach, load));
  }
  std::map<std::pair<std::string, bool>, std::pair<absl::Duration, int64_t>> totals;
  for (const v1::JobDuration& duration : durations) {
    CONCUR_ASSIGN_OR_RETURN(const absl::Duration mean,
                            rpc::FromProto(duration.mean(), FieldPath("durations").Field("mean")));
    CONCUR_RETURN_IF_ERROR(table.Add(duration.approach(), duration.benchmark(), duration.is_train(),
                                     {mean, spread, true}));
    auto& [sum, count] = totals[{duration.approach(), duration.is_train()}];
    sum += mean * static_cast<int64_t>(duration.count());
    count += static_cast<int64_t>(duration.count());
  }
  for (const auto& [key, total] : totals) {
    CONCUR_RETURN_IF_ERROR(
        table.Add(key.first, kAll, key.second,
                  {total.first / std::max<int64_t>(total.second, 1), spread, true}));
  }
  return table;
}

absl::StatusOr<Resources> WorkerOf(const ForecastFlags& flags) {
  if (flags.slots > 0) {
    return Resources{.cpu_millis = 1000 * flags.slots, .memory_bytes = 0, .gpus = 0};
  }
  Resources worker{.cpu_millis = 1000,
                   .memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
                   .gpus = static_cast<int32_t>(flags.gpus)};
  double cpus = 1;
  if (!flags.cpus.empty() &&
      (!absl::SimpleAtod(flags.cpus, &cpus) || !(cpus >= 0.001 && cpus <= 1e6))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cpus: expected a number from 0.001 to 1000000, got \"", flags.cpus, "\""));
  }
  worker.cpu_millis = static_cast<int64_t>(std::llround(cpus * 1000));
  if (!flags.memory.empty()) {
    const absl::StatusOr<int64_t> bytes = spec::ParseBytesText(flags.memory);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--memory: ", bytes.status().message()));
    }
    worker.memory_bytes = *bytes;
  }
  return worker;
}

// Their resources and labels.
absl::Status AddLiveWorkers(Client& client, ForecastOptions* options) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Worker> workers, client.ListWorkers());
  for (const v1::Worker& worker : workers) {
    if (worker.state() == v1::Worker::STATE_LIVE) {
      options->workers.push_back(rpc::FromProto(worker.capacity()));
      options->labels.emplace_back(worker.labels().begin(), worker.labels().end());
      options->slots.push_back(worker.slots());
    }
  }
  if (options->workers.empty()) {
    return absl::FailedPreconditionError(
        "no worker is live at the coordinator; say --workers N, and --slots or --cpus");
  }
  return absl::OkStatus();
}

// The coordinator's named resources, if there is one, and what --resource says.
absl::Status AddResources(Client* client, const ForecastFlags& flags, ForecastOptions* options) {
  if (client != nullptr) {
    CONCUR_ASSIGN_OR_RETURN(const v1::ListResourcesResponse listed, client->ListResources());
    for (const v1::NamedResource& resource : listed.resources()) {
      if (resource.has_amount()) {
        options->resources[resource.name()] = {resource.amount(), resource.per_minute()};
      }
    }
  }
  for (const std::string& text : flags.resources) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const std::pair<absl::string_view, absl::string_view> numbers =
        absl::StrSplit(parts.second, absl::MaxSplits('/', 1));
    ForecastOptions::Resource resource = options->resources[parts.first];
    if (!absl::SimpleAtoi(numbers.first, &resource.amount) ||
        (numbers.first.size() < parts.second.size() &&
         !absl::SimpleAtoi(numbers.second, &resource.per_minute)) ||
        !CheckNamedResource(FieldPath(), parts.first, resource.amount, resource.per_minute).ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--resource: expected NAME=N[/PER_MINUTE], as openai=16/3000, got ", "\"", text, "\""));
    }
    options->resources[parts.first] = resource;
  }
  return absl::OkStatus();
}

}  // namespace

void AddForecastOptions(Command* command, ForecastFlags& flags) {
  command
      ->AddOption("--workers", flags.workers,
                  "Number of workers (default: the coordinator's live ones)")
      ->TypeName("N")
      ->InRange(int64_t{1}, kSimulatedWorkersMax);
  Option* slots =
      command->AddOption("--slots", flags.slots, "Jobs at a time of each, whatever they ask for")
          ->TypeName("N")
          ->InRange(int64_t{1}, int64_t{10'000});
  command->AddOption("--cpus", flags.cpus, "CPUs of each worker (default: 1)")->Excludes(slots);
  command
      ->AddOption("--memory", flags.memory,
                  "Memory of each worker, e.g. 8GiB (default: this machine's)")
      ->Excludes(slots);
  command->AddOption("--gpus", flags.gpus, "GPUs of each worker")
      ->InRange(int64_t{0}, int64_t{kGpusMax})
      ->Excludes(slots);
  command
      ->AddOption("--resource", flags.resources,
                  "Units of a named resource, and jobs that may start in a minute (default: the "
                  "coordinator's; others are not limited)")
      ->TypeName("NAME=N[/M]");
  command
      ->AddOption("--durations", flags.durations,
                  "CSV: approach,benchmark,kind,seconds[,spread] (default: the coordinator's "
                  "history)")
      ->TypeName("FILE");
  command
      ->AddOption("--spread", flags.spread,
                  "Standard deviation of durations as a fraction of their mean")
      ->InRange(0.0, 10.0);
  command
      ->AddOption("--turnaround", flags.turnaround_ms,
                  "Milliseconds from a job's end until its worker has the next order")
      ->ShowDefault()
      ->InRange(0.0, 3.6e6);
  command->AddOption("--price", flags.price, "Price of a worker for an hour")->InRange(0.0, 1e9);
  command->AddOption("--seed", flags.seed, "Seed of the durations that are drawn")->ShowDefault();
}

absl::StatusOr<DurationTable> DurationTable::Parse(absl::string_view text, const std::string& file,
                                                   double spread) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(text, file));
  if (records.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": expected the columns approach, benchmark, kind and seconds"));
  }
  const auto place = [&](const CsvRecord& record) {
    return absl::StrCat(file, ":", record.line, ": ");
  };
  CONCUR_ASSIGN_OR_RETURN(const Columns columns, ColumnsOf(records[0], place(records[0])));
  DurationTable table;
  for (size_t i = 1; i < records.size(); ++i) {
    if (records[i].fields.size() != records[0].fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat(place(records[i]), "expected ",
                                                     records[0].fields.size(), " fields, got ",
                                                     records[i].fields.size()));
    }
    CONCUR_RETURN_IF_ERROR(AddRecord(records[i], columns, place(records[i]), spread, table));
  }
  return table;
}

absl::Status DurationTable::Add(const std::string& approach, const std::string& benchmark,
                                bool is_train, const ExpectedDuration& expected) {
  if (approach.empty() || benchmark.empty()) {
    return absl::InvalidArgumentError("approach and benchmark: expected a name, or *");
  }
  if (!expected_.emplace(Key{approach, benchmark, is_train}, expected).second) {
    return absl::InvalidArgumentError(absl::StrCat(approach, ", ", benchmark, ", ",
                                                   is_train ? "train" : "eval", " stands twice"));
  }
  return absl::OkStatus();
}

absl::Status DurationTable::AddLoad(const std::string& approach, absl::Duration load) {
  return loads_.emplace(approach, load).second
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(approach, ", *, service stands twice"));
}

std::optional<absl::Duration> DurationTable::FindLoad(const std::string& approach) const {
  for (const std::string& name : {approach, std::string(kAll)}) {
    if (const auto it = loads_.find(name); it != loads_.end()) {
      return it->second;
    }
  }
  return std::nullopt;
}

ExpectedDuration DurationTable::Find(absl::string_view approach, absl::string_view benchmark,
                                     bool is_train) const {
  for (const auto& [a, b] :
       {std::pair(approach, benchmark), std::pair(approach, absl::string_view(kAll)),
        std::pair(absl::string_view(kAll), benchmark),
        std::pair(absl::string_view(kAll), absl::string_view(kAll))}) {
    const auto it = expected_.find(Key{std::string(a), std::string(b), is_train});
    if (it != expected_.end()) {
      return it->second;
    }
  }
  return {};
}

absl::StatusOr<Forecast> MakeForecast(CommandContext& context, const ForecastFlags& flags,
                                      SweepSpec spec) {
  std::unique_ptr<Client> client;
  if (flags.workers == 0 || flags.durations.empty()) {
    CONCUR_ASSIGN_OR_RETURN(client, Client::Connect(context));
  }
  DurationTable table;
  if (flags.durations.empty()) {
    CONCUR_ASSIGN_OR_RETURN(table, History(*client, flags.spread));
    if (table.size() == 0) {
      return absl::FailedPreconditionError(
          "the coordinator has no finished job yet to learn durations from; say --durations FILE");
    }
  } else {
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.durations, kDurationsBytesMax));
    CONCUR_ASSIGN_OR_RETURN(table, DurationTable::Parse(text, flags.durations, flags.spread));
  }
  ForecastOptions options;
  options.turnaround = absl::Milliseconds(flags.turnaround_ms);
  options.seed = flags.seed;
  if (flags.workers == 0) {
    CONCUR_RETURN_IF_ERROR(AddLiveWorkers(*client, &options));
  } else {
    CONCUR_ASSIGN_OR_RETURN(const Resources worker, WorkerOf(flags));
    options.workers.assign(static_cast<size_t>(flags.workers), worker);
  }
  CONCUR_RETURN_IF_ERROR(AddResources(client.get(), flags, &options));
  if (flags.workers > 0 && flags.slots > 0) {
    for (ApproachSpec& approach : spec.approaches) {
      approach.train_resources = Resources{.cpu_millis = 1000, .memory_bytes = 0, .gpus = 0};
      approach.predict_resources = approach.train_resources;
      if (approach.service) {
        approach.service->resources = Resources{.cpu_millis = 0, .memory_bytes = 0, .gpus = 0};
      }
    }
  }
  for (const ApproachSpec& approach : spec.approaches) {
    if (const auto load = table.FindLoad(approach.name); load && approach.service) {
      options.loads[approach.name] = *load;
    }
  }
  // A validation set whose durations nobody states has those of its benchmark.
  std::map<std::string, std::string, std::less<>> owners;
  for (const BenchmarkSpec& benchmark : spec.benchmarks) {
    if (benchmark.validation_of) {
      owners[benchmark.name] = spec.benchmarks[*benchmark.validation_of].name;
    }
  }
  return ForecastSweep(
      std::move(spec),
      [&](absl::string_view approach, absl::string_view benchmark, bool is_train) {
        const ExpectedDuration found = table.Find(approach, benchmark, is_train);
        const auto owner = owners.find(benchmark);
        return found.is_known || owner == owners.end()
                   ? found
                   : table.Find(approach, owner->second, is_train);
      },
      options);
}

std::vector<std::pair<std::string, std::string>> ForecastLines(const Forecast& forecast,
                                                               double price) {
  const double ratio = absl::FDivDuration(forecast.makespan, forecast.bound);
  const double hours = absl::ToDoubleHours(forecast.machine_time);
  return {{"jobs", CountText(forecast.jobs)},
          {"equal to others", forecast.reused == 0 ? "" : CountText(forecast.reused)},
          {"workers", absl::StrCat(CountText(forecast.workers), " with ", CountText(forecast.slots),
                                   " slots")},
          {"work", SpanText(forecast.work)},
          {"critical path", SpanText(forecast.critical)},
          {"lower bound", SpanText(forecast.bound)},
          {"makespan",
           forecast.bound > absl::ZeroDuration()
               ? absl::StrFormat("%s, %.3f of the lower bound", SpanText(forecast.makespan), ratio)
               : SpanText(forecast.makespan)},
          {"utilisation", absl::StrFormat("%.1f %%", 100 * forecast.utilization)},
          {"machine time", absl::StrFormat("%.2f h", hours)},
          {"loading", forecast.unknown_loads.empty()
                          ? ""
                          : absl::StrCat("not counted, unknown: ",
                                         absl::StrJoin(forecast.unknown_loads, ", "))},
          {"cost", price > 0 ? absl::StrFormat("%.2f", hours * price) : ""}};
}

Json ForecastJson(const Forecast& forecast, double price) {
  const double hours = absl::ToDoubleHours(forecast.machine_time);
  Json json = {{"jobs", forecast.jobs},
               {"reused", forecast.reused},
               {"workers", forecast.workers},
               {"slots", forecast.slots},
               {"work_seconds", absl::ToDoubleSeconds(forecast.work)},
               {"critical_path_seconds", absl::ToDoubleSeconds(forecast.critical)},
               {"bound_seconds", absl::ToDoubleSeconds(forecast.bound)},
               {"makespan_seconds", absl::ToDoubleSeconds(forecast.makespan)},
               {"utilization", forecast.utilization},
               {"machine_hours", hours}};
  json["unknown_loads"] = forecast.unknown_loads;
  json["cost"] = price > 0 ? Json(hours * price) : Json(nullptr);
  return json;
}

}  // namespace concur::cli
