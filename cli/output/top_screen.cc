// SPDX-License-Identifier: Apache-2.0
#include "cli/output/top_screen.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "cli/output/estimate.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/tone.h"
#include "proto/rpc/progress.h"
#include "report/table.h"
#include "report/text.h"

namespace concur::cli {
namespace {

constexpr size_t kBarWidth = 20;

bool IsActive(const v1::Sweep& sweep) { return IsLoaded(sweep) && !HasEnded(sweep.state()); }

std::string TopCpus(int64_t millis) {
  return millis % 1000 == 0 ? absl::StrCat(millis / 1000)
                            : absl::StrFormat("%.1f", static_cast<double>(millis) / 1000);
}

std::string Bar(int64_t used, int64_t capacity, bool unicode) {
  const size_t full =
      capacity <= 0 ? 0
                    : std::min<size_t>(kBarWidth, static_cast<size_t>(used * kBarWidth / capacity));
  std::string bar;
  for (size_t i = 0; i < kBarWidth; ++i) {
    bar += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : "-");
  }
  return bar;
}

std::string WorkersText(const TopTotals& totals) {
  std::vector<std::string> parts = {absl::StrCat(totals.live, " live")};
  if (totals.quarantined > 0) {
    parts.push_back(absl::StrCat(totals.quarantined, " in quarantine"));
  }
  if (totals.draining > 0) {
    parts.push_back(absl::StrCat(totals.draining, " draining"));
  }
  if (totals.lost > 0) {
    parts.push_back(absl::StrCat(totals.lost, " lost"));
  }
  return absl::StrJoin(parts, ", ");
}

// "2 running, 3 queued, 88 ready": what is not 0.
std::string QueueText(const v1::StateCounts& jobs) {
  v1::StateCounts left;
  left.set_running(jobs.running());
  left.set_queued(jobs.queued());
  left.set_ready(jobs.ready());
  left.set_backoff(jobs.backoff());
  left.set_blocked(jobs.blocked());
  const std::string text = CountsText(left);
  return text.empty() ? "empty" : text;
}

// Each with `gap` before it; "" while they are unknown.
std::string EstimateText(const Estimate& estimate, absl::string_view gap) {
  const std::string rate = RateText(estimate.jobs_per_second);
  return absl::StrCat(rate.empty() ? "" : absl::StrCat(gap, rate),
                      estimate.left ? absl::StrCat(gap, "ETA ", EtaText(estimate)) : "");
}

// "openai 16/16, 84 wait; licence 0/2".
std::string NamedResourcesText(const TopLook& look) {
  return absl::StrJoin(
      look.resources, "; ", [](std::string* out, const v1::NamedResource& resource) {
        absl::StrAppend(out, resource.name(), " ", resource.in_use(), "/",
                        resource.has_amount() ? absl::StrCat(resource.amount()) : "not set");
        if (resource.waiting() > 0) {
          absl::StrAppend(out, ", ", CountText(resource.waiting()), " wait");
        }
      });
}

std::vector<std::string> Head(const TopLook& look, const TopTotals& totals,
                              const TopFrameOptions& options) {
  std::string resources = absl::StrCat(
      "CPUs     ", Bar(totals.used.cpu_millis(), totals.capacity.cpu_millis(), options.unicode),
      " ", TopCpus(totals.used.cpu_millis()), "/", TopCpus(totals.capacity.cpu_millis()));
  if (totals.capacity.gpus() > 0) {
    absl::StrAppend(&resources, "   GPUs ", GpusOf(totals.used), "/", totals.capacity.gpus());
  }
  if (totals.capacity.memory_bytes() > 0) {
    absl::StrAppend(&resources, "   memory ", BytesText(totals.used.memory_bytes()), "/",
                    BytesText(totals.capacity.memory_bytes()));
  }
  // First: what a narrow terminal cuts off is the end.
  constexpr absl::string_view kGap = "   ";
  const std::string estimate = EstimateText(EstimateOf(look.sweeps), kGap);
  std::vector<std::string> head = {
      absl::StrCat("concur   ", look.server, "   ",
                   FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(look.time)))),
      absl::StrCat("workers  ", WorkersText(totals)), std::move(resources),
      absl::StrCat("queue    ", estimate.empty() ? "" : estimate.substr(kGap.size()),
                   estimate.empty() ? "" : kGap, QueueText(totals.jobs))};
  if (!look.resources.empty()) {
    head.push_back(absl::StrCat("named    ", NamedResourcesText(look)));
  }
  return head;
}

// The table's lines, which fit the terminal; they are coloured unless they must be cut to fit.
std::vector<std::string> TableLines(analysis::Table table, const TopFrameOptions& options) {
  table.key_columns = table.columns.size();  // no blocks: a worker is one line
  const auto lines_of = [&](bool color) -> std::vector<std::string> {
    return absl::StrSplit(
        analysis::WriteTable(table, analysis::TableFormat::kText, {options.width, color}), '\n',
        absl::SkipEmpty());
  };
  std::vector<std::string> lines = lines_of(false);
  bool all_fit = true;
  for (std::string& line : lines) {
    all_fit = all_fit && (options.width == 0 || analysis::DisplayWidth(line) <= options.width);
    line = LineText(line, options.width);
  }
  return all_fit && options.color ? lines_of(true) : lines;
}

std::vector<std::string> SweepLines(const TopLook& look, const TopFrameOptions& options) {
  analysis::Table table = ListTable({{"SWEEP"},
                                     {.name = "NAME", .width_max = 24},
                                     {"STATE"},
                                     {"DONE", true},
                                     {"JOBS", true},
                                     {"RUNNING", true},
                                     {.name = "QUEUED", .is_number = true, .drop = 1},
                                     {.name = "READY", .is_number = true, .drop = 2},
                                     {"FAILED", true},
                                     {.name = "RATE", .is_number = true, .drop = 3},
                                     {"ETA", true}});
  for (const v1::Sweep& sweep : look.sweeps) {
    if (!IsActive(sweep)) {
      continue;
    }
    const v1::StateCounts& counts = sweep.counts();
    const v1::Progress progress = rpc::ProgressOf(sweep);
    const Estimate estimate = EstimateOf(sweep);
    table.rows.push_back(TextCells(
        {sweep.id(), sweep.name(), "", CountText(progress.done()), CountText(progress.jobs()),
         RunningText(counts), CountText(counts.queued()), CountText(counts.ready()),
         CountText(counts.failed()), RateText(estimate.jobs_per_second), EtaText(estimate)}));
    table.rows.back()[2] = StateCell(StateText(sweep.state()));
  }
  if (table.rows.empty()) {
    return {LineText("No sweep is under way.", options.width)};
  }
  std::vector<std::string> lines = TableLines(std::move(table), options);
  for (const v1::Sweep& sweep : look.sweeps) {
    if (IsActive(sweep) && sweep.over_budget()) {
      lines.push_back(
          LineText(absl::StrCat(sweep.id(), " is paused by its budget: `concur sweep set ",
                                sweep.id(), " --budget-usd N` raises it"),
                   options.width));
    }
  }
  return lines;
}

// The services that workers run; none when there are none.
std::vector<std::string> ServiceLines(const TopLook& look, const TopFrameOptions& options) {
  analysis::Table table =
      ListTable({{.name = "SERVICE", .width_max = 32}, {"STATE"}, {"WORKER"}, {"JOBS", true}});
  for (const v1::Worker& worker : look.workers) {
    for (const v1::Worker::Instance& service : worker.services()) {
      table.rows.push_back(TextCells(
          {service.approach(), service.state(), worker.name(), CountText(service.jobs())}));
    }
  }
  return table.rows.empty() ? std::vector<std::string>() : TableLines(std::move(table), options);
}

std::vector<std::string> WorkerLines(const TopLook& look, const TopRates& rates,
                                     const TopFrameOptions& options) {
  if (look.workers.empty()) {
    return {LineText("No workers. Start one: concur-worker --coordinator ADDRESS", options.width)};
  }
  analysis::Table table = ListTable({{.name = "WORKER", .width_max = 32},
                                     {"STATE"},
                                     {"CPUS", true},
                                     {"GPUS", true},
                                     {"RUNNING", true},
                                     {"DONE", true},
                                     {"FAILED", true},
                                     {"RATE", true},
                                     {.name = "SEEN", .is_number = true, .drop = 1}});
  analysis::Table quarantines = ListTable({{""}});
  quarantines.columns[0].wraps = true;
  for (const v1::Worker& worker : look.workers) {
    const v1::Resources& used = worker.used();
    const v1::Resources& capacity = worker.capacity();
    table.rows.push_back(TextCells(
        {worker.name(), "",
         absl::StrCat(TopCpus(used.cpu_millis()), "/", TopCpus(capacity.cpu_millis())),
         capacity.gpus() == 0 ? "" : absl::StrCat(GpusOf(used), "/", capacity.gpus()),
         RunningText(worker), CountText(worker.succeeded()), CountText(worker.failed()),
         RateText(rates.OfWorker(worker.name())),
         worker.has_last_seen_time()
             ? absl::StrCat(SpanText(std::max(absl::ZeroDuration(),
                                              look.time - TimeOf(worker.last_seen_time()))),
                            " ago")
             : ""}));
    table.rows.back()[1] = StateCell(StateText(worker.state()));
    if (std::string text = QuarantineText(worker); !text.empty()) {
      quarantines.rows.push_back(TextCells({std::move(text)}));
    }
  }
  // Before the workers: a short screen does not leave them out.
  std::vector<std::string> lines = TableLines(std::move(quarantines), options);
  for (std::string& line : TableLines(std::move(table), options)) {
    lines.push_back(std::move(line));
  }
  const std::vector<std::string> services = ServiceLines(look, options);
  if (!services.empty()) {
    lines.emplace_back();
    lines.insert(lines.end(), services.begin(), services.end());
  }
  return lines;
}

// At most `room` lines, of which the last says how many are missing. 0: all.
void AppendSome(const std::vector<std::string>& lines, size_t room, absl::string_view what,
                size_t width, std::vector<std::string>* frame) {
  if (room == 0 || lines.size() <= room) {
    frame->insert(frame->end(), lines.begin(), lines.end());
    return;
  }
  frame->insert(frame->end(), lines.begin(), lines.begin() + static_cast<ptrdiff_t>(room - 1));
  frame->push_back(
      LineText(absl::StrCat("… and ", lines.size() - (room - 1), " more ", what), width));
}

Json ShareJson(double used, double capacity, double unit) {
  Json json = Json::object();
  json["used"] = used / unit;
  json["capacity"] = capacity / unit;
  return json;
}

}  // namespace

// --- rates of workers
// ---------------------------------------------------------------------------------------

void TopRates::Add(const TopLook& look) {
  std::map<std::string, WorkMeter> workers;  // those that were forgotten go
  for (const v1::Worker& worker : look.workers) {
    const auto it = workers_.find(worker.name());
    WorkMeter meter = it == workers_.end() ? WorkMeter() : std::move(it->second);
    meter.Add(look.time, worker.succeeded() + worker.failed(), worker.running() > 0);
    workers.emplace(worker.name(), std::move(meter));
  }
  workers_ = std::move(workers);
  time_ = look.time;
}

double TopRates::OfWorker(const std::string& name) const {
  const auto it = workers_.find(name);
  const RecentWork recent = it == workers_.end() ? RecentWork() : it->second.Recent(time_);
  const double seconds = absl::ToDoubleSeconds(recent.span);
  return seconds < 0.5 ? 0 : static_cast<double>(recent.jobs) / seconds;
}

// --- totals --------------------------------------------------------------------------------------

TopTotals AddUp(const TopLook& look) {
  TopTotals totals;
  v1::StateCounts& jobs = totals.jobs;
  for (const v1::Sweep& sweep : look.sweeps) {
    totals.sweeps_active += IsActive(sweep) ? 1 : 0;
    const v1::StateCounts& counts = sweep.counts();
    jobs.set_blocked(jobs.blocked() + counts.blocked());
    jobs.set_ready(jobs.ready() + counts.ready());
    jobs.set_backoff(jobs.backoff() + counts.backoff());
    jobs.set_running(jobs.running() + counts.running());
    jobs.set_queued(jobs.queued() + counts.queued());
    jobs.set_succeeded(jobs.succeeded() + counts.succeeded());
    jobs.set_failed(jobs.failed() + counts.failed());
    jobs.set_canceled(jobs.canceled() + counts.canceled());
    jobs.set_skipped(jobs.skipped() + counts.skipped());
    jobs.set_stopped(jobs.stopped() + counts.stopped());
  }
  const auto add = [](const v1::Resources& more, v1::Resources* sum) {
    sum->set_cpu_millis(sum->cpu_millis() + more.cpu_millis());
    sum->set_memory_bytes(sum->memory_bytes() + more.memory_bytes());
    sum->set_gpus(sum->gpus() + more.gpus());
    sum->set_gpu_share(sum->gpu_share() + more.gpu_share());
  };
  for (const v1::Worker& worker : look.workers) {
    if (worker.state() == v1::Worker::STATE_LOST) {
      ++totals.lost;
      continue;
    }
    ++(worker.state() == v1::Worker::STATE_DRAINING      ? totals.draining
       : worker.state() == v1::Worker::STATE_QUARANTINED ? totals.quarantined
                                                         : totals.live);
    add(worker.used(), &totals.used);
    add(worker.capacity(), &totals.capacity);
  }
  return totals;
}

// --- text ----------------------------------------------------------------------------------------

std::string TopFrame(const TopLook& look, const TopRates& rates, const TopFrameOptions& options) {
  std::vector<std::string> frame = Head(look, AddUp(look), options);
  for (std::string& line : frame) {
    line = LineText(line, options.width);
  }
  frame.emplace_back();
  const std::vector<std::string> sweeps = SweepLines(look, options);
  const std::vector<std::string> workers = WorkerLines(look, rates, options);
  // Sweeps get what workers leave, and at least a third of what there is.
  size_t sweep_room = 0;
  size_t worker_room = 0;
  if (options.height > 0) {
    const size_t used = frame.size() + 1;
    const size_t room = std::max<size_t>(options.height, used + 4) - used;
    sweep_room = std::max<size_t>(
        2, std::min(sweeps.size(), std::max(room / 3, room - std::min(room, workers.size()))));
    worker_room = std::max<size_t>(2, room - std::min(room, std::min(sweep_room, sweeps.size())));
  }
  AppendSome(sweeps, sweep_room, "sweeps", options.width, &frame);
  frame.emplace_back();
  AppendSome(workers, worker_room, "workers", options.width, &frame);
  return absl::StrJoin(frame, "\n") + "\n";
}

std::string TopLine(const TopLook& look) {
  const TopTotals totals = AddUp(look);
  return absl::StrCat(FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(look.time))),
                      "  workers ", WorkersText(totals), "; CPUs ",
                      TopCpus(totals.used.cpu_millis()), "/", TopCpus(totals.capacity.cpu_millis()),
                      totals.capacity.gpus() == 0 ? ""
                                                  : absl::StrCat("; GPUs ", GpusOf(totals.used),
                                                                 "/", totals.capacity.gpus()),
                      "; ", totals.sweeps_active,
                      totals.sweeps_active == 1 ? " sweep: " : " sweeps: ", QueueText(totals.jobs),
                      EstimateText(EstimateOf(look.sweeps), "; "), "\n");
}

Json TopJson(const TopLook& look, const TopRates& rates) {
  const TopTotals totals = AddUp(look);
  Json json = Json::object();
  json["time"] = FormatIsoTime(look.time);
  json["server"] = look.server;
  json["jobs"] = CountsJson(totals.jobs);
  const Estimate estimate = EstimateOf(look.sweeps);
  json["jobs_per_second"] = estimate.jobs_per_second;
  json["eta_seconds"] = estimate.left ? Json(absl::ToDoubleSeconds(*estimate.left)) : Json();
  json["cpus"] = ShareJson(static_cast<double>(totals.used.cpu_millis()),
                           static_cast<double>(totals.capacity.cpu_millis()), 1000);
  json["memory_bytes"] = ShareJson(static_cast<double>(totals.used.memory_bytes()),
                                   static_cast<double>(totals.capacity.memory_bytes()), 1);
  json["gpus"] = ShareJson(GpusOf(totals.used), totals.capacity.gpus(), 1);
  json["workers_live"] = totals.live;
  json["workers_quarantined"] = totals.quarantined;
  json["workers_draining"] = totals.draining;
  json["workers_lost"] = totals.lost;
  json["sweeps_are_all"] = !look.more_sweeps;
  json["sweeps"] = Json::array();
  for (const v1::Sweep& sweep : look.sweeps) {
    if (IsActive(sweep)) {
      json["sweeps"].push_back(SweepJson(sweep));
    }
  }
  json["resources"] = Json::array();
  for (const v1::NamedResource& resource : look.resources) {
    json["resources"].push_back(NamedResourceJson(resource));
  }
  json["workers"] = Json::array();
  for (const v1::Worker& worker : look.workers) {
    Json record = WorkerJson(worker);
    record["jobs_per_second"] = rates.OfWorker(worker.name());
    json["workers"].push_back(std::move(record));
  }
  return json;
}

}  // namespace concur::cli
