#include "cli/top.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "cli/render.h"

namespace concur::cli {
namespace {

constexpr size_t kBarWidth = 20;

uint64_t DoneBy(const v1::Sweep& sweep) {
  // A reused job succeeded without being done.
  const uint64_t ended = EndedCount(sweep.counts());
  return ended - std::min<uint64_t>(sweep.reused(), ended);
}

std::string RateText(double per_second) {
  if (per_second <= 0) {
    return "";
  }
  return per_second >= 10   ? absl::StrFormat("%.0f/s", per_second)
         : per_second >= .1 ? absl::StrFormat("%.1f/s", per_second)
                            : absl::StrFormat("%.1f/min", per_second * 60);
}

std::string CpusText(int64_t millis) {
  return millis % 1000 == 0 ? absl::StrCat(millis / 1000)
                            : absl::StrFormat("%.1f", static_cast<double>(millis) / 1000);
}

uint64_t LeftOf(const v1::StateCounts& counts) {
  return JobCount(counts) - std::min(EndedCount(counts), JobCount(counts));
}

std::string EtaText(uint64_t left, double per_second) {
  return left == 0 || per_second <= 0
             ? ""
             : SpanText(absl::Seconds(static_cast<double>(left) / per_second));
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
  if (totals.draining > 0) {
    parts.push_back(absl::StrCat(totals.draining, " draining"));
  }
  if (totals.lost > 0) {
    parts.push_back(absl::StrCat(totals.lost, " lost"));
  }
  return absl::StrJoin(parts, ", ");
}

std::vector<std::string> Head(const TopLook& look, const TopTotals& totals, const TopRates& rates,
                              const TopFrameOptions& options) {
  const v1::StateCounts& jobs = totals.jobs;
  std::string resources = absl::StrCat(
      "CPUs     ", Bar(totals.used.cpu_millis(), totals.capacity.cpu_millis(), options.unicode),
      " ", CpusText(totals.used.cpu_millis()), "/", CpusText(totals.capacity.cpu_millis()));
  if (totals.capacity.gpus() > 0) {
    absl::StrAppend(&resources, "   GPUs ", totals.used.gpus(), "/", totals.capacity.gpus());
  }
  if (totals.capacity.memory_bytes() > 0) {
    absl::StrAppend(&resources, "   memory ", BytesText(totals.used.memory_bytes()), "/",
                    BytesText(totals.capacity.memory_bytes()));
  }
  const std::string rate = RateText(rates.JobsPerSecond());
  const std::string eta = EtaText(LeftOf(jobs), rates.JobsPerSecond());
  return {absl::StrCat("concur   ", look.server, "   ",
                       FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(look.time)))),
          absl::StrCat("workers  ", WorkersText(totals)), std::move(resources),
          absl::StrCat("queue    ", CountText(jobs.running()), " running, ",
                       CountText(jobs.ready()), " ready, ", CountText(jobs.backoff()),
                       " to be retried, ", CountText(jobs.blocked()), " blocked",
                       rate.empty() ? "" : absl::StrCat("   ", rate),
                       eta.empty() ? "" : absl::StrCat("   ", eta, " left"))};
}

std::vector<std::string> TableLines(const Listing& listing) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{out, err};
  listing.Print(context);
  return absl::StrSplit(std::move(out).str(), '\n', absl::SkipEmpty());
}

std::vector<std::string> SweepLines(const TopLook& look, const TopRates& rates) {
  Listing listing({{"SWEEP"},
                   {"NAME"},
                   {"STATE"},
                   {"DONE", true},
                   {"OF", true},
                   {"RUNNING", true},
                   {"READY", true},
                   {"FAILED", true},
                   {"RATE", true},
                   {"LEFT", true}},
                  Json::object(), "");
  bool any = false;
  for (const v1::Sweep& sweep : look.sweeps) {
    if (HasEnded(sweep.state())) {
      continue;
    }
    any = true;
    const v1::StateCounts& counts = sweep.counts();
    const double rate = rates.OfSweep(sweep.id());
    listing.Add({sweep.id(), LineText(sweep.name(), 24), StateText(sweep.state()),
                 CountText(EndedCount(counts)), CountText(JobCount(counts)),
                 CountText(counts.running()), CountText(counts.ready()), CountText(counts.failed()),
                 RateText(rate), EtaText(LeftOf(counts), rate)},
                Json::object());
  }
  return any ? TableLines(listing) : std::vector<std::string>{"No sweep is under way."};
}

std::vector<std::string> WorkerLines(const TopLook& look, const TopRates& rates) {
  if (look.workers.empty()) {
    return {"No workers. Start one: concur-worker --coordinator ADDRESS"};
  }
  Listing listing({{"WORKER"},
                   {"STATE"},
                   {"CPUS", true},
                   {"GPUS", true},
                   {"RUNNING", true},
                   {"DONE", true},
                   {"FAILED", true},
                   {"RATE", true},
                   {"SEEN", true}},
                  Json::object(), "");
  for (const v1::Worker& worker : look.workers) {
    const v1::Resources& used = worker.used();
    const v1::Resources& capacity = worker.capacity();
    listing.Add({LineText(worker.name(), 32), StateText(worker.state()),
                 absl::StrCat(CpusText(used.cpu_millis()), "/", CpusText(capacity.cpu_millis())),
                 capacity.gpus() == 0 ? "" : absl::StrCat(used.gpus(), "/", capacity.gpus()),
                 CountText(worker.running()), CountText(worker.succeeded()),
                 CountText(worker.failed()), RateText(rates.OfWorker(worker.name())),
                 worker.has_last_seen_time()
                     ? absl::StrCat(SpanText(std::max(absl::ZeroDuration(),
                                                      look.time - TimeOf(worker.last_seen_time()))),
                                    " ago")
                     : ""},
                Json::object());
  }
  return TableLines(listing);
}

// At most `room` lines, of which the last says how many are missing. 0: all.
void AppendSome(const std::vector<std::string>& lines, size_t room, absl::string_view what,
                std::vector<std::string>* frame) {
  if (room == 0 || lines.size() <= room) {
    frame->insert(frame->end(), lines.begin(), lines.end());
    return;
  }
  frame->insert(frame->end(), lines.begin(), lines.begin() + static_cast<ptrdiff_t>(room - 1));
  frame->push_back(absl::StrCat("… and ", lines.size() - (room - 1), " more ", what));
}

Json ShareJson(int64_t used, int64_t capacity, double unit) {
  Json json = Json::object();
  json["used"] = static_cast<double>(used) / unit;
  json["capacity"] = static_cast<double>(capacity) / unit;
  return json;
}

}  // namespace

// --- rates ---------------------------------------------------------------------------------------

void TopRates::Update(std::map<std::string, Meter>* meters, const std::string& name, absl::Time now,
                      uint64_t done, uint64_t* gained) {
  const auto [it, is_new] = meters->try_emplace(name);
  Meter& meter = it->second;
  meter.seen = true;
  meter.rate.Add(now, done);
  *gained += !is_new && done > meter.done ? done - meter.done : 0;
  meter.done = done;
}

void TopRates::Forget(std::map<std::string, Meter>* meters) {
  for (auto it = meters->begin(); it != meters->end();) {
    it = std::exchange(it->second.seen, false) ? std::next(it) : meters->erase(it);
  }
}

void TopRates::Add(const TopLook& look) {
  for (const v1::Sweep& sweep : look.sweeps) {
    Update(&sweeps_, sweep.id(), look.time, DoneBy(sweep), &done_);
  }
  uint64_t by_workers = 0;  // told apart from the sweeps': a worker may be forgotten
  for (const v1::Worker& worker : look.workers) {
    Update(&workers_, worker.name(), look.time, worker.succeeded() + worker.failed(), &by_workers);
  }
  Forget(&sweeps_);
  Forget(&workers_);
  all_.Add(look.time, done_);
}

double TopRates::OfSweep(const std::string& id) const {
  const auto it = sweeps_.find(id);
  return it == sweeps_.end() ? 0 : it->second.rate.PerSecond();
}

double TopRates::OfWorker(const std::string& name) const {
  const auto it = workers_.find(name);
  return it == workers_.end() ? 0 : it->second.rate.PerSecond();
}

// --- totals --------------------------------------------------------------------------------------

TopTotals AddUp(const TopLook& look) {
  TopTotals totals;
  v1::StateCounts& jobs = totals.jobs;
  for (const v1::Sweep& sweep : look.sweeps) {
    totals.sweeps_active += HasEnded(sweep.state()) ? 0 : 1;
    const v1::StateCounts& counts = sweep.counts();
    jobs.set_blocked(jobs.blocked() + counts.blocked());
    jobs.set_ready(jobs.ready() + counts.ready());
    jobs.set_backoff(jobs.backoff() + counts.backoff());
    jobs.set_running(jobs.running() + counts.running());
    jobs.set_succeeded(jobs.succeeded() + counts.succeeded());
    jobs.set_failed(jobs.failed() + counts.failed());
    jobs.set_canceled(jobs.canceled() + counts.canceled());
    jobs.set_skipped(jobs.skipped() + counts.skipped());
  }
  const auto add = [](const v1::Resources& more, v1::Resources* sum) {
    sum->set_cpu_millis(sum->cpu_millis() + more.cpu_millis());
    sum->set_memory_bytes(sum->memory_bytes() + more.memory_bytes());
    sum->set_gpus(sum->gpus() + more.gpus());
  };
  for (const v1::Worker& worker : look.workers) {
    if (worker.state() == v1::Worker::STATE_LOST) {
      ++totals.lost;
      continue;
    }
    ++(worker.state() == v1::Worker::STATE_DRAINING ? totals.draining : totals.live);
    add(worker.used(), &totals.used);
    add(worker.capacity(), &totals.capacity);
  }
  return totals;
}

// --- text ----------------------------------------------------------------------------------------

std::string TopFrame(const TopLook& look, const TopRates& rates, const TopFrameOptions& options) {
  std::vector<std::string> frame = Head(look, AddUp(look), rates, options);
  frame.emplace_back();
  const std::vector<std::string> sweeps = SweepLines(look, rates);
  const std::vector<std::string> workers = WorkerLines(look, rates);
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
  AppendSome(sweeps, sweep_room, "sweeps", &frame);
  frame.emplace_back();
  AppendSome(workers, worker_room, "workers", &frame);
  std::string text;
  for (const std::string& line : frame) {
    absl::StrAppend(&text, LineText(line, options.width), "\n");
  }
  return text;
}

std::string TopLine(const TopLook& look, const TopRates& rates) {
  const TopTotals totals = AddUp(look);
  const std::string rate = RateText(rates.JobsPerSecond());
  return absl::StrCat(
      FormatIsoTime(absl::FromUnixSeconds(absl::ToUnixSeconds(look.time))), "  workers ",
      WorkersText(totals), "; CPUs ", CpusText(totals.used.cpu_millis()), "/",
      CpusText(totals.capacity.cpu_millis()),
      totals.capacity.gpus() == 0
          ? ""
          : absl::StrCat("; GPUs ", totals.used.gpus(), "/", totals.capacity.gpus()),
      "; ", totals.sweeps_active, " sweeps: ", CountText(totals.jobs.running()), " running, ",
      CountText(totals.jobs.ready()), " ready, ", CountText(totals.jobs.backoff()),
      " to be retried, ", CountText(totals.jobs.blocked()), " blocked",
      rate.empty() ? "" : absl::StrCat("; ", rate), "\n");
}

Json TopJson(const TopLook& look, const TopRates& rates) {
  const TopTotals totals = AddUp(look);
  Json json = Json::object();
  json["time"] = FormatIsoTime(look.time);
  json["server"] = look.server;
  Json& jobs = json["jobs"] = Json::object();
  jobs["blocked"] = totals.jobs.blocked();
  jobs["ready"] = totals.jobs.ready();
  jobs["backoff"] = totals.jobs.backoff();
  jobs["running"] = totals.jobs.running();
  jobs["succeeded"] = totals.jobs.succeeded();
  jobs["failed"] = totals.jobs.failed();
  jobs["canceled"] = totals.jobs.canceled();
  jobs["skipped"] = totals.jobs.skipped();
  json["jobs_per_second"] = rates.JobsPerSecond();
  json["cpus"] = ShareJson(totals.used.cpu_millis(), totals.capacity.cpu_millis(), 1000);
  json["memory_bytes"] = ShareJson(totals.used.memory_bytes(), totals.capacity.memory_bytes(), 1);
  json["gpus"] = ShareJson(totals.used.gpus(), totals.capacity.gpus(), 1);
  json["workers_live"] = totals.live;
  json["workers_draining"] = totals.draining;
  json["workers_lost"] = totals.lost;
  json["sweeps_are_all"] = !look.more_sweeps;
  json["sweeps"] = Json::array();
  for (const v1::Sweep& sweep : look.sweeps) {
    if (!HasEnded(sweep.state())) {
      Json record = SweepJson(sweep);
      record["jobs_per_second"] = rates.OfSweep(sweep.id());
      json["sweeps"].push_back(std::move(record));
    }
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
