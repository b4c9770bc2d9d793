// SPDX-License-Identifier: Apache-2.0
// `usage`.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/study/open_study.h"
#include "concur/v1/coordinator.pb.h"
#include "core/spent.h"
#include "report/text.h"

namespace concur::cli {
namespace {

constexpr std::array<const char*, 4> kKeys = {"owner", "sweep", "approach", "kind"};
constexpr char kJobKind[] = "job";
constexpr char kServiceKind[] = "service";
constexpr double kBytesPerGib = 1 << 30;

struct UsageFlags {
  std::vector<std::string> sweeps;
  std::string owner;
  std::vector<std::string> by;
  std::string since;
  std::string until;
};

// Resource use of attempts and services: their run times, times what their commands asked for; and
// what attempts said they have spent.
struct Usage {
  uint64_t jobs = 0;
  uint64_t attempts = 0;
  uint64_t services = 0;  // instances
  double hours = 0;
  double cpu_hours = 0;
  double gpu_hours = 0;
  double memory_gib_hours = 0;
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
  double usd = 0;

  Usage& operator+=(const Usage& more) {
    jobs += more.jobs;
    attempts += more.attempts;
    services += more.services;
    hours += more.hours;
    cpu_hours += more.cpu_hours;
    gpu_hours += more.gpu_hours;
    memory_gib_hours += more.memory_gib_hours;
    tokens_in += more.tokens_in;
    tokens_out += more.tokens_out;
    usd += more.usd;
    return *this;
  }
};

// The beginning of a day in UTC, or a time of RFC 3339.
absl::StatusOr<absl::Time> ReadTime(absl::string_view flag, const std::string& text,
                                    absl::Time standard) {
  absl::Time time = standard;
  std::string error;
  if (!text.empty() && !absl::ParseTime("%Y-%m-%d", text, absl::UTCTimeZone(), &time, &error) &&
      !absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": expected a day such as 2026-03-01, or a time such as 2026-03-01T12:00:00Z, got \"",
        text, "\""));
  }
  return time;
}

// Adds up what the jobs of sweeps took.
class UsageTable {
 public:
  UsageTable(std::vector<std::string> by, absl::Time since, absl::Time until)
      : by_(std::move(by)), since_(since), until_(until) {}

  absl::Status AddSweep(Client& client, const v1::Sweep& sweep) {
    std::map<std::string, const v1::Approach*> approaches;
    for (const v1::Approach& approach : sweep.spec().approaches()) {
      approaches[approach.name()] = &approach;
    }
    v1::ListJobsRequest request;
    request.set_sweep(sweep.id());
    request.set_page_size(1000);
    std::vector<std::string> with_failures;
    const auto add = [&](const v1::Job& job) {
      const auto approach = approaches.find(job.approach());
      if (approach == approaches.end()) {
        return;
      }
      const v1::Command& command = job.kind() == v1::Job::KIND_TRAIN ? approach->second->train()
                                                                     : approach->second->predict();
      AddJob(KeyOf(sweep, job.approach(), kJobKind), command.resources(), job);
    };
    CONCUR_RETURN_IF_ERROR(client.ListJobs(std::move(request), 0, [&](const v1::Job& job) {
      // Attempts that did not succeed come only with a job of its own. Early stopping leaves jobs
      // with nothing but such, whatever becomes of them later.
      const bool has_own_result = job.has_result() && job.reused_from().empty();
      const bool may_have_paused =
          job.attempt() > 0 && !has_own_result && job.state() != v1::Job::STATE_RUNNING;
      if (job.failures() > 0 || job.lost() > 0 || job.attempt() > 1 || may_have_paused) {
        with_failures.push_back(job.id());
      } else {
        add(job);
      }
      return true;
    }));
    for (const std::string& id : with_failures) {
      const absl::StatusOr<v1::Job> job = client.GetJob(id, /*include_steps=*/false);
      if (absl::IsNotFound(job.status())) {
        break;  // the sweep was deleted meanwhile
      }
      CONCUR_RETURN_IF_ERROR(job.status());
      add(*job);
    }
    return AddServices(client, sweep, approaches);
  }

  const std::map<std::vector<std::string>, Usage>& rows() const { return rows_; }
  uint64_t lost() const { return lost_; }

 private:
  absl::Status AddServices(Client& client, const v1::Sweep& sweep,
                           const std::map<std::string, const v1::Approach*>& approaches) {
    if (std::none_of(approaches.begin(), approaches.end(),
                     [](const auto& entry) { return entry.second->has_service(); })) {
      return absl::OkStatus();
    }
    const absl::StatusOr<v1::Sweep> used = client.GetSweep(sweep.id(), Client::Include::kServices);
    if (absl::IsNotFound(used.status())) {
      return absl::OkStatus();  // the sweep was deleted meanwhile
    }
    CONCUR_RETURN_IF_ERROR(used.status());
    for (const v1::ServiceRecord& instance : used->services()) {
      const auto approach = approaches.find(instance.approach());
      const absl::Time end = TimeOf(instance.end_time());
      if (approach != approaches.end() && end >= since_ && end < until_) {
        Usage& usage = rows_[KeyOf(sweep, instance.approach(), kServiceKind)];
        ++usage.services;
        AddHours(SpanOf(instance.run_time()), approach->second->service().command().resources(),
                 usage);
      }
    }
    return absl::OkStatus();
  }

  // Names of sweeps are used again: their ids follow them.
  std::vector<std::string> KeyOf(const v1::Sweep& sweep, const std::string& approach,
                                 const std::string& kind) const {
    std::vector<std::string> key;
    for (const std::string& part : by_) {
      if (part == "owner") {
        key.push_back(sweep.owner());
      } else if (part == "sweep") {
        key.push_back(sweep.name());
        key.push_back(sweep.id());
      } else {
        key.push_back(part == "approach" ? approach : kind);
      }
    }
    return key;
  }

  // A success is the job's result; all other attempts are records.
  void AddJob(const std::vector<std::string>& key, const v1::Resources& resources,
              const v1::Job& job) {
    const uint64_t before = attempts_;
    if (job.state() == v1::Job::STATE_SUCCEEDED && job.reused_from().empty() && job.has_result()) {
      const absl::Duration span = SpanOf(job.result().run_time());
      AddAttempt(key, resources, TimeOf(job.result().start_time()) + span, span);
    }
    for (const v1::AttemptRecord& attempt : job.attempts()) {
      AddAttempt(key, resources, TimeOf(attempt.end_time()), SpanOf(attempt.result().run_time()));
    }
    if (attempts_ != before) {
      ++rows_[key].jobs;
    }
    for (const v1::AttemptSpent& attempt : job.spent()) {
      const absl::Time time = TimeOf(attempt.update_time());
      if (time >= since_ && time < until_) {
        Usage& usage = rows_[key];
        usage.tokens_in += attempt.spent().tokens_in();
        usage.tokens_out += attempt.spent().tokens_out();
        usage.usd += attempt.spent().usd();
      }
    }
  }

  // Counts where it ended.
  void AddAttempt(const std::vector<std::string>& key, const v1::Resources& resources,
                  absl::Time end, absl::Duration span) {
    if (end < since_ || end >= until_) {
      return;
    }
    ++attempts_;
    lost_ += span <= absl::ZeroDuration() ? 1 : 0;
    Usage& usage = rows_[key];
    ++usage.attempts;
    AddHours(span, resources, usage);
  }

  static void AddHours(absl::Duration span, const v1::Resources& resources, Usage& usage) {
    const double hours = absl::ToDoubleHours(std::max(span, absl::ZeroDuration()));
    usage.hours += hours;
    usage.cpu_hours += hours * static_cast<double>(resources.cpu_millis()) / 1000;
    usage.gpu_hours += hours * GpusOf(resources);
    usage.memory_gib_hours += hours * static_cast<double>(resources.memory_bytes()) / kBytesPerGib;
  }

  const std::vector<std::string> by_;
  const absl::Time since_;
  const absl::Time until_;
  std::map<std::vector<std::string>, Usage> rows_;
  uint64_t attempts_ = 0;
  uint64_t lost_ = 0;  // attempts without a time
};

// The names of a row's keys in records.
std::vector<std::string> KeyNames(const std::vector<std::string>& by) {
  std::vector<std::string> names;
  for (const std::string& part : by) {
    names.push_back(part);
    if (part == "sweep") {
      names.emplace_back("sweep_id");
    }
  }
  return names;
}

Json UsageJson(const std::vector<std::string>& names, const std::vector<std::string>& key,
               const Usage& usage) {
  Json json = Json::object();
  for (size_t i = 0; i < names.size(); ++i) {
    json[names[i]] = key[i];
  }
  json["jobs"] = usage.jobs;
  json["attempts"] = usage.attempts;
  json["services"] = usage.services;
  json["hours"] = usage.hours;
  json["cpu_hours"] = usage.cpu_hours;
  json["gpu_hours"] = usage.gpu_hours;
  json["memory_gib_hours"] = usage.memory_gib_hours;
  json["tokens_in"] = usage.tokens_in;
  json["tokens_out"] = usage.tokens_out;
  json["usd"] = usage.usd;
  return json;
}

// The sweeps that a table is of.
struct UsageOf {
  std::vector<std::string> ids;
  uint64_t reused = 0;  // their jobs that took finished results
};

// Text that a person reads when nothing ran.
std::string NothingRanText(const UsageFlags& flags, const UsageOf& of) {
  if (of.ids.empty() && !flags.owner.empty()) {
    return absl::StrCat("No sweep of owner \"", flags.owner, "\".");
  }
  return absl::StrCat(
      "No job ", flags.sweeps.empty() ? "" : absl::StrCat("of ", FirstNames(of.ids), " "),
      "has run", flags.since.empty() && flags.until.empty() ? "" : " in this time",
      of.reused == 0 ? "." : absl::StrCat(": ", CountText(of.reused), " took finished results."));
}

// The columns of figures, in this order for people.
struct Figure {
  const char* name;
  std::string (*text)(const Usage& usage);
  int drop = 0;  // as in Column
};

std::string HoursText(double hours) { return absl::StrFormat("%.2f", hours); }

constexpr Figure kFigures[] = {
    {"JOBS", [](const Usage& usage) { return absl::StrCat(usage.jobs); }},
    {"ATTEMPTS", [](const Usage& usage) { return absl::StrCat(usage.attempts); }, 2},
    {"SERVICES", [](const Usage& usage) { return absl::StrCat(usage.services); }, 2},
    {"HOURS", [](const Usage& usage) { return HoursText(usage.hours); }},
    {"CPU-HOURS", [](const Usage& usage) { return HoursText(usage.cpu_hours); }},
    {"GPU-HOURS", [](const Usage& usage) { return HoursText(usage.gpu_hours); }},
    {"GIB-HOURS", [](const Usage& usage) { return HoursText(usage.memory_gib_hours); }, 1},
    {"TOKENS-IN", [](const Usage& usage) { return absl::StrCat(usage.tokens_in); }},
    {"TOKENS-OUT", [](const Usage& usage) { return absl::StrCat(usage.tokens_out); }},
    {"USD", [](const Usage& usage) { return UsdText(usage.usd).substr(1); }},
};

// People see the rows and columns that have a figure, and their total; programs see all of them.
void PrintUsage(CommandContext& context, const std::vector<std::string>& by,
                const UsageTable& table, const std::string& nothing) {
  const std::vector<std::string> names = KeyNames(by);
  const bool is_text = context.output == OutputMode::kTable;
  Usage total;
  size_t shown = 0;
  const auto has_figure = [](const Figure& figure, const Usage& usage) {
    const std::string text = figure.text(usage);
    return text != "0" && text != "0.00";
  };
  // Its figures but the numbers of jobs, attempts and services.
  const auto says_something = [&](const Usage& usage) {
    return std::any_of(std::begin(kFigures) + 3, std::end(kFigures),
                       [&](const Figure& figure) { return has_figure(figure, usage); });
  };
  for (const auto& [key, usage] : table.rows()) {
    total += usage;
    shown += says_something(usage) ? 1 : 0;
  }
  // People need no kinds where there are jobs alone.
  const auto kind = std::find(names.begin(), names.end(), "kind");
  const bool tells_kind =
      !is_text || total.services > 0 || names.size() == 1 || kind == names.end();
  std::vector<Column> columns;
  for (const std::string& name : names) {
    if (tells_kind || name != "kind") {
      columns.push_back(
          {.name = name == "sweep_id" ? "ID" : absl::AsciiStrToUpper(name), .width_max = 40});
    }
  }
  std::vector<const Figure*> figures;
  for (const Figure& figure : kFigures) {
    if (has_figure(figure, total)) {
      figures.push_back(&figure);
      columns.push_back({.name = figure.name, .is_number = true, .drop = figure.drop});
    }
  }
  Listing listing(context, columns,
                  UsageJson(names, std::vector<std::string>(names.size()), Usage()), nothing);
  const auto add = [&](std::vector<std::string> cells, const Json& record, const Usage& usage) {
    if (!tells_kind) {
      cells.erase(cells.begin() + (kind - names.begin()));
    }
    for (const Figure* figure : figures) {
      cells.push_back(figure->text(usage));
    }
    listing.Add(std::move(cells), record);
  };
  for (const auto& [key, usage] : table.rows()) {
    if (!is_text || shown == 0 || says_something(usage)) {
      add(key, UsageJson(names, key, usage), usage);
    }
  }
  if (is_text && shown > 1) {
    std::vector<std::string> key(names.size());
    key[0] = "total";
    add(std::move(key), Json(), total);
  }
  listing.Print();
  if (is_text && shown > 0 && shown < table.rows().size()) {
    PrintNote(context, absl::StrCat(table.rows().size() - shown,
                                    " rows without any figure are left out; -o csv has them"));
  }
  if (table.lost() > 0) {
    PrintNote(context,
              absl::StrCat("without the hours of ", analysis::Counted(table.lost(), "lost attempt"),
                           ", which are unknown"));
  }
}

absl::Status ShowUsage(CommandContext& context, const UsageFlags& flags) {
  const std::vector<std::string> known(kKeys.begin(), kKeys.end());
  for (const std::string& part : flags.by) {
    if (std::find(known.begin(), known.end(), part) == known.end() ||
        std::count(flags.by.begin(), flags.by.end(), part) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--by: expected each of ", absl::StrJoin(known, ", "),
                       " at most once, got \"", part, "\"", DidYouMean(part, known)));
    }
  }
  const std::vector<std::string> by = flags.by.empty() ? known : flags.by;
  CONCUR_ASSIGN_OR_RETURN(const absl::Time since,
                          ReadTime("--since", flags.since, absl::InfinitePast()));
  CONCUR_ASSIGN_OR_RETURN(const absl::Time until,
                          ReadTime("--until", flags.until, absl::InfiniteFuture()));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  std::vector<std::string> names = flags.sweeps;
  if (names.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Sweep> all, client->ListSweeps(flags.owner, 0));
    names.reserve(all.size());
    for (const v1::Sweep& sweep : all) {
      if (IsLoaded(sweep)) {
        names.push_back(sweep.id());
      }
    }
    NoteNotLoaded(context, all);
  }
  UsageTable table(by, since, until);
  UsageOf of;
  for (const std::string& name : names) {
    const absl::StatusOr<v1::Sweep> sweep = FindSweep(context, *client, name);
    if (flags.sweeps.empty() && absl::IsNotFound(sweep.status())) {
      continue;  // deleted meanwhile
    }
    CONCUR_RETURN_IF_ERROR(sweep.status());
    if (!flags.owner.empty() && sweep->owner() != flags.owner) {
      continue;
    }
    of.ids.push_back(sweep->id());
    if (sweep->spec().imported().empty()) {
      of.reused += sweep->reused();
      CONCUR_RETURN_IF_ERROR(table.AddSweep(*client, *sweep));
    }
  }
  PrintUsage(context, by, table, NothingRanText(flags, of));
  return absl::OkStatus();
}

}  // namespace

void AddUsageCommand(Command& app, CommandContext& context) {
  const auto flags = std::make_shared<UsageFlags>();
  Command* usage =
      app.AddSubcommand("usage", "Hours, tokens and dollars by owner, sweep, approach");
  usage->AddOption("sweep", flags->sweeps, "Only these sweeps, by id or name")->TypeName("SWEEP");
  usage->AddOption("--owner", flags->owner, "Only sweeps of this owner")->TypeName("NAME");
  usage
      ->AddOption("--by", flags->by,
                  "A row for each of these: owner, sweep, approach, kind (default: all)")
      ->TypeName("KEY[,...]")
      ->Delimiter(',')
      ->OneValueEach();
  usage
      ->AddOption("--since", flags->since,
                  "Only what ended at this time or later: a day (UTC) or a time")
      ->TypeName("TIME");
  usage->AddOption("--until", flags->until, "Only what ended before this time")->TypeName("TIME");
  usage->Footer(
      "Hours that attempts ran, times what their commands asked for (resources), failed attempts\n"
      "among them; and tokens_in, tokens_out and usd that they reported. Reused results cost\n"
      "nothing; hours of running attempts count when they end; deleted sweeps are not there any\n"
      "more. Services are rows of their own (kind service), under the job for which they were\n"
      "started; they count while they run, too.\n"
      "Examples:\n"
      "  concur usage --by owner --since 2026-03-01 --until 2026-04-01\n"
      "  concur usage study -o csv");
  OnRun(usage, context, [flags, &context] { return ShowUsage(context, *flags); });
}

}  // namespace concur::cli
