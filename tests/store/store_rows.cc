// SPDX-License-Identifier: Apache-2.0
#include "tests/store/store_rows.h"

#include <bit>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace concur::testing {
namespace {

absl::Time At(int64_t seconds, int64_t nanoseconds = 0) {
  return absl::FromUnixSeconds(seconds) + absl::Nanoseconds(nanoseconds);
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*S", time, absl::UTCTimeZone());
}

std::string ResultText(const JobResult& result) {
  std::string text = absl::StrCat(
      result.succeeded, " failure=", static_cast<int>(result.failure), " exit=", result.exit_code,
      " message=", absl::CHexEscape(result.message), " start=", TimeText(result.start_time),
      " run=", absl::FormatDuration(result.run_time), " memory=", result.memory_bytes_peak,
      " resumed=", result.resumed_from);
  for (const Metric& metric : result.metrics) {
    // All the bits, not six digits.
    absl::StrAppend(&text, " metric=", absl::CHexEscape(metric.name), ":",
                    absl::Hex(std::bit_cast<uint64_t>(metric.value)), ":", metric.examples);
  }
  for (const ArtifactRef& artifact : result.artifacts) {
    absl::StrAppend(&text, " artifact=", static_cast<int>(artifact.kind), ":",
                    artifact.digest.ToHex(), ":", artifact.bytes);
  }
  return text;
}

std::string JobText(JobId id) { return absl::StrCat("s", id.sweep.number, "/", id.index); }

JobRow RandomJob(Random& random, JobId id) {
  JobRow row;
  row.id = id;
  row.state = static_cast<JobState>(random.Below(kJobStates));
  row.attempt.number = static_cast<uint32_t>(random.Below(4));
  row.failures = static_cast<uint32_t>(random.Next() >> (32 + random.Below(32)));
  row.lost = static_cast<uint32_t>(random.Below(3));
  row.failure = static_cast<FailureClass>(random.Below(kFailureClasses));
  if (random.Chance(0.3)) {
    row.not_before = random.Chance(0.1) ? absl::InfiniteFuture()
                                        : At(1'700'000'000, static_cast<int64_t>(random.Below(9)));
  }
  if (random.Chance(0.7)) {
    row.worker = absl::StrCat("w", random.Below(4));
    row.incarnation = random.Chance(0.2) ? "" : absl::StrCat("i", random.Below(3));
  }
  row.gpu_mask = random.Chance(0.3) ? random.Next() : 0;
  if (random.Chance(0.2)) {
    row.reused_from = MakeJobId(random.Below(5), static_cast<uint32_t>(random.Below(5)));
  }
  row.system_collected = random.Chance(0.2);
  row.no_reuse = random.Chance(0.2);
  row.deaths = random.Chance(0.2) ? static_cast<uint32_t>(random.Between(1, 3)) : 0;
  row.death_shared = row.deaths > 0 && random.Chance(0.5);
  row.rung = random.Chance(0.3) ? static_cast<uint32_t>(random.Below(56)) : 0;
  row.whole = random.Chance(0.1);
  if (random.Chance(0.2)) {
    row.checkpoint = {Sha256Of(absl::StrCat("checkpoint ", random.Below(9))),
                      random.Between(0, INT64_MAX), static_cast<uint32_t>(random.Below(9))};
  }
  // Between the infinities, to a quarter of a nanosecond.
  row.update_time =
      At(random.Between(-20'000'000'000, 20'000'000'000)) + absl::Nanoseconds(1) * random.Uniform();
  return row;
}

std::string RandomBytes(Random& random, size_t size_max) {
  std::string bytes(random.Below(size_max + 1), '\0');
  for (char& c : bytes) {
    c = static_cast<char>(random.Chance(0.5) ? 32 + random.Below(95) : random.Below(256));
  }
  return bytes;
}

JobResult RandomResult(Random& random) {
  JobResult result;
  result.succeeded = random.Chance(0.7);
  result.failure = static_cast<FailureClass>(random.Below(kFailureClasses));
  result.exit_code = static_cast<int32_t>(random.Next());
  result.message = random.Chance(0.3) ? RandomBytes(random, 40) : "";
  result.start_time = At(random.Between(0, 2'000'000'000), random.Between(0, 999'999'999));
  result.run_time = random.Chance(0.1) ? absl::InfiniteDuration()
                                       : absl::Nanoseconds(random.Between(0, int64_t{1} << 50));
  result.memory_bytes_peak = random.Between(0, int64_t{1} << 40);
  for (uint64_t i = random.Below(4); i > 0; --i) {
    Metric& metric = result.metrics.emplace_back();
    metric.name = absl::StrCat(i, RandomBytes(random, 12));
    metric.value = random.Chance(0.5) ? random.Uniform() * 100
                                      : std::bit_cast<double>(random.Next() & ~(0x7ffull << 52));
    metric.examples = random.Between(0, 20'000);
  }
  for (int kind = 0; kind < kArtifactKinds; ++kind) {
    if (random.Chance(0.4)) {
      result.artifacts.push_back({static_cast<ArtifactKind>(kind), Sha256Of(RandomBytes(random, 3)),
                                  random.Between(0, 1 << 30)});
    }
  }
  random.Shuffle(result.artifacts);
  return result;
}

}  // namespace

SweepRow FullSweep(uint64_t number) {
  SweepRow row;
  row.id.number = number;
  row.owner = "ada";
  row.name = "a sweep of \"quotes\", \xc3\xa9 and\nlines";
  row.request_id = absl::StrCat("request-", number);
  row.create_time = At(1'700'000'001, 123'456'789);
  row.spec = std::string("\0\x01 spec \xff", 9);
  row.paused = true;
  row.canceled = true;
  row.end_time = At(1'700'000'002, 5);
  return row;
}

JobRow FullJob(JobId id) {
  JobRow row;
  row.id = id;
  row.state = JobState::kBackoff;
  row.attempt.number = 3;
  row.failures = 2;
  row.lost = 1;
  row.failure = FailureClass::kWorker;
  row.not_before = At(1'700'000'003, 7);
  row.worker = "node-1";
  row.incarnation = "0f1e2d3c";
  row.gpu_mask = 0x8000'0000'0000'0001;
  row.reused_from = MakeJobId(7, 99'999'999);
  row.system_collected = true;
  row.no_reuse = true;
  row.update_time = At(1'700'000'004, 999'999'999);
  return row;
}

JobResult FullResult() {
  JobResult result;
  result.succeeded = true;
  result.failure = FailureClass::kInvalidOutput;
  result.exit_code = -1;
  result.message = "predictions.json:3: expected a string, got \"\\u0000\"";
  result.start_time = At(1'700'000'005, 1);
  result.run_time = absl::Seconds(3600) + absl::Nanoseconds(3);
  result.memory_bytes_peak = int64_t{5} << 40;
  result.metrics = {{"exact_match", 100.0 / 3, 10'570},
                    {"f1", -0.0, 0},
                    {"loss \"x\" \\ \n", 1e-300, int64_t{1} << 60}};
  // Kinds of the first schema, whose dump the script is compared with.
  for (int kind = 0; kind <= static_cast<int>(ArtifactKind::kMetrics); ++kind) {
    result.artifacts.push_back({static_cast<ArtifactKind>(kind),
                                Sha256Of(absl::StrCat("artifact ", kind)),
                                int64_t{1} << (10 * kind)});
  }
  return result;
}

ResultRow FullResultRow(JobId id) { return ResultRow{id, FullResult()}; }

AttemptRow FullAttempt(JobId id, uint32_t attempt) {
  AttemptRow row{id, Attempt{attempt}, "node-2", At(1'700'000'006, 2), FullResult()};
  row.result.succeeded = false;
  return row;
}

StepRow FullStep(JobId id, uint64_t arrival) {
  return StepRow{id, arrival, Attempt{4'000'000'000}, {kStepMax, "validation \"f1\"", 100.0 / 3}};
}

WorkerRow FullWorker(const std::string& name) {
  return WorkerRow{.name = name,
                   .incarnation = "incarnation of " + name,
                   .draining = true,
                   .last_seen = At(1'700'000'007, 3)};
}

WorkerRow QuarantinedWorker(const std::string& name) {
  WorkerRow row = FullWorker(name);
  row.quarantine_end = At(1'700'000'010, 4);
  row.quarantine_span = absl::Seconds(20) + absl::Nanoseconds(5);
  row.quarantine_reason = "failed what others can do";
  return row;
}

BlameRow FullBlame(const std::string& worker) {
  return BlameRow{.worker = worker,
                  .kind = Sha256Of("kind"),
                  .sweep = SweepId{3},
                  .approach = "bert",
                  .benchmark = "squad \"1.1\"",
                  .is_train = true,
                  .failures = 4'000'000'000,
                  .success_time = At(1'700'000'011, 6)};
}

PilotRow FullPilot(const std::string& name) {
  return PilotRow{name,
                  "p",
                  2,
                  PilotPhase::kStopping,
                  "123_4",
                  "why not",
                  At(1'700'000'008, 1),
                  At(1'700'000'009, 2),
                  true,
                  "registry/name@sha256:12"};
}

std::vector<Batch> ScriptOfBatches() {
  std::vector<Batch> script;
  const auto next = [&script]() -> Batch& { return script.emplace_back(); };
  for (uint64_t sweep = 1; sweep <= 3; ++sweep) {
    Batch& submit = next();
    submit.next_sweep_number = sweep + 1;
    SweepRow row = FullSweep(sweep);
    row.paused = row.canceled = false;
    row.end_time.reset();
    submit.put_sweeps = {row};
  }
  next().put_workers = {FullWorker("w1"), FullWorker("w2")};
  for (uint32_t job = 0; job < 4; ++job) {
    const JobId id = MakeJobId(1 + job % 2, job);
    JobRow row = FullJob(id);
    row.state = JobState::kRunning;
    next().put_jobs = {row};
    row.state = JobState::kSucceeded;
    row.worker = absl::StrCat("w", job);
    Batch& finish = next();
    finish.put_jobs = {row};
    finish.put_results = {FullResultRow(id)};
  }
  next().put_attempts = {FullAttempt(MakeJobId(1, 0), 1), FullAttempt(MakeJobId(1, 0), 2),
                         FullAttempt(MakeJobId(2, 1), 1)};
  Batch& retry = next();
  retry.delete_results = {MakeJobId(1, 2), MakeJobId(1, 777)};
  retry.put_jobs = {FullJob(MakeJobId(1, 2))};
  Batch& leave = next();
  leave.put_workers = {FullWorker("w3")};
  leave.delete_workers = {"w1", "stranger"};
  Batch& end = next();
  end.put_sweeps = {FullSweep(1)};
  next().delete_sweeps = {SweepId{2}};
  Batch& last = next();
  last.next_sweep_number = 5;
  last.put_sweeps = {FullSweep(4)};
  last.put_jobs = {FullJob(MakeJobId(4, 0)), FullJob(MakeJobId(3, 99'999'999))};
  last.put_results = {FullResultRow(MakeJobId(4, 0))};
  return script;
}

Batch RandomBatch(Random& random) {
  Batch batch;
  const auto sweep = [&] { return 1 + random.Below(4); };
  const auto job = [&] { return MakeJobId(sweep(), static_cast<uint32_t>(random.Below(30))); };
  const auto worker = [&] { return absl::StrCat("w", random.Below(5)); };
  if (random.Chance(0.2)) {
    batch.next_sweep_number = random.Below(1000);
  }
  if (random.Chance(0.2)) {
    SweepRow row = FullSweep(sweep());
    row.spec = RandomBytes(random, 20);
    row.name = RandomBytes(random, 20);
    row.paused = random.Chance(0.5);
    if (random.Chance(0.5)) {
      row.end_time.reset();
    }
    if (random.Chance(0.5)) {
      row.forecast = absl::Nanoseconds(random.Between(0, int64_t{1} << 50));
      row.priority = static_cast<int32_t>(random.Between(-9, 9));
      row.retry = {.next = random.Below(uint64_t{1} << 35), .was_canceled = random.Chance(0.5)};
      row.canceled = false;
    }
    if (random.Chance(0.5)) {
      row.budget_usd_micros = random.Between(0, kSpentMax);
      row.over_budget = random.Chance(0.5);
    }
    batch.put_sweeps.push_back(row);
  }
  for (uint64_t i = random.Below(8); i > 0; --i) {
    batch.put_jobs.push_back(RandomJob(random, job()));
  }
  for (uint64_t i = random.Below(6); i > 0; --i) {
    batch.put_results.push_back(ResultRow{job(), RandomResult(random)});
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    batch.delete_results.push_back(job());
  }
  for (uint64_t i = random.Below(3); i > 0; --i) {
    batch.put_attempts.push_back({job(), Attempt{static_cast<uint32_t>(1 + random.Below(3))},
                                  worker(), At(5), RandomResult(random)});
  }
  for (uint64_t i = random.Below(6); i > 0; --i) {
    StepRow row = FullStep(job(), random.Below(9));
    row.attempt.number = static_cast<uint32_t>(1 + random.Below(3));
    row.step.step = random.Between(0, 9);
    row.step.name = random.Chance(0.5) ? "f1" : "loss";
    row.step.value = random.Chance(0.1) ? -0.0 : random.Uniform() - 0.5;
    batch.put_steps.push_back(row);
  }
  if (random.Chance(0.3)) {
    batch.delete_steps.emplace_back(job(), random.Below(9));
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    batch.put_spent.push_back({job(),
                               Attempt{static_cast<uint32_t>(1 + random.Below(3))},
                               {.tokens_in = random.Between(0, 9),
                                .tokens_out = random.Between(0, kSpentMax),
                                .usd_micros = random.Between(0, kSpentMax)},
                               At(1'700'000'012, 8)});
  }
  if (random.Chance(0.3)) {
    batch.put_workers.push_back(random.Chance(0.5) ? FullWorker(worker())
                                                   : QuarantinedWorker(worker()));
  }
  for (uint64_t i = random.Below(4); i > 0; --i) {
    BlameRow row = FullBlame(worker());
    row.kind.bytes[0] = static_cast<uint8_t>(random.Below(3));
    row.sweep.number = random.Below(3);
    row.approach = absl::StrCat("a", random.Below(2));
    row.is_train = random.Chance(0.5);
    row.failures = static_cast<uint32_t>(random.Below(3));
    if (random.Chance(0.5)) {
      row.success_time.reset();
    }
    batch.put_blames.push_back(row);
  }
  if (random.Chance(0.2)) {
    batch.delete_workers.push_back(worker());
  }
  const auto pool = [&] { return absl::StrCat("p", random.Below(3)); };
  const auto pilot = [&] { return absl::StrCat("p-", random.Below(9)); };
  if (random.Chance(0.3)) {
    batch.next_pilot_number = random.Below(1000);
    batch.last_service_number = static_cast<uint32_t>(random.Below(1000));
    batch.put_pools.push_back(
        {pool(), RandomBytes(random, 20), random.Chance(0.5), "why", random.Chance(0.5)});
    batch.put_pilots.push_back(FullPilot(pilot()));
  }
  if (random.Chance(0.3)) {
    batch.put_resources.push_back(
        {absl::StrCat("r", random.Below(3)), static_cast<int64_t>(random.Below(1000))});
  }
  if (random.Chance(0.1)) {
    batch.delete_resources.push_back(absl::StrCat("r", random.Below(3)));
  }
  if (random.Chance(0.2)) {
    batch.delete_pools.push_back(pool());
    batch.delete_pilots.push_back(pilot());
  }
  if (random.Chance(0.05)) {
    batch.delete_sweeps.push_back(SweepId{sweep()});
  }
  return batch;
}

std::string Describe(Store& store) {
  const absl::StatusOr<Snapshot> snapshot = store.Load();
  if (!snapshot.ok()) {
    return absl::StrCat("ERROR: ", snapshot.status().ToString());
  }
  std::string text = absl::StrCat("next ", snapshot->next_sweep_number, "\n");
  for (const SweepRow& row : snapshot->sweeps) {
    absl::StrAppend(
        &text, "sweep ", row.id.number, " ", row.owner, " ", absl::CHexEscape(row.name), " ",
        row.request_id, " ", TimeText(row.create_time), " ", absl::CHexEscape(row.spec), " ",
        row.paused, row.canceled, " ", row.end_time ? TimeText(*row.end_time) : "-", " ",
        row.forecast ? absl::FormatDuration(*row.forecast) : "-",
        row.priority ? absl::StrCat(" priority ", *row.priority) : "",
        row.retry ? absl::StrCat(" retry ", row.retry->next, " ", row.retry->was_canceled) : "",
        row.budget_usd_micros ? absl::StrCat(" budget ", *row.budget_usd_micros) : "",
        row.over_budget ? " over it" : "", "\n");
  }
  for (const JobRow& row : snapshot->jobs) {
    absl::StrAppend(&text, "job ", JobText(row.id), " state=", static_cast<int>(row.state), " ",
                    row.attempt.number, " ", row.failures, " ", row.lost, " ",
                    static_cast<int>(row.failure), " ", TimeText(row.not_before));
    absl::StrAppend(&text, " ", row.worker, " ", row.incarnation, " ", row.gpu_mask, " ",
                    row.reused_from ? JobText(*row.reused_from) : "-", " ", row.system_collected,
                    row.no_reuse, " ", TimeText(row.update_time), " ", row.deaths, " ", row.rung,
                    " ", row.whole, " ", row.death_shared, " ",
                    row.checkpoint
                        ? absl::StrCat(row.checkpoint->digest.ToHex(), " ", row.checkpoint->bytes,
                                       " ", row.checkpoint->attempt)
                        : "-",
                    "\n");
    const absl::StatusOr<std::vector<AttemptRow>> attempts = store.ListAttempts(row.id);
    if (!attempts.ok()) {
      return absl::StrCat("ERROR: ", attempts.status().ToString());
    }
    for (const AttemptRow& attempt : *attempts) {
      absl::StrAppend(&text, "attempt ", JobText(attempt.id), " ", attempt.attempt.number, " ",
                      attempt.worker, " ", TimeText(attempt.end_time), " ",
                      ResultText(attempt.result), "\n");
    }
  }
  for (const StepSeriesRow& series : snapshot->steps) {
    absl::StrAppend(&text, "steps ", JobText(series.id), " ", series.series.name, " ",
                    series.series.count, " ", series.series.last, " ", series.last_arrival, "\n");
    const absl::StatusOr<std::vector<StepRow>> steps = store.ListSteps(series.id);
    if (!steps.ok()) {
      return absl::StrCat("ERROR: ", steps.status().ToString());
    }
    for (const StepRow& row : *steps) {
      absl::StrAppend(&text, "step ", row.arrival, " ", row.attempt.number, " ", row.step.name, " ",
                      row.step.step, " ", absl::Hex(std::bit_cast<uint64_t>(row.step.value)), "\n");
    }
  }
  for (const SpentRow& row : snapshot->spent) {
    absl::StrAppend(&text, "spent ", JobText(row.id), " ", row.attempt.number, " ",
                    row.spent.tokens_in, " ", row.spent.tokens_out, " ", row.spent.usd_micros, " ",
                    TimeText(row.time), "\n");
  }
  for (const ResultRow& row : snapshot->results) {
    absl::StrAppend(&text, "result ", JobText(row.id), " ", ResultText(row.result), "\n");
  }
  for (const WorkerRow& row : snapshot->workers) {
    absl::StrAppend(&text, "worker ", row.name, " ", row.incarnation, " ", row.draining, " ",
                    TimeText(row.last_seen), "\n");
    if (row.quarantine_span != absl::ZeroDuration()) {
      absl::StrAppend(&text, "quarantine until ", TimeText(row.quarantine_end), " of ",
                      absl::ToInt64Nanoseconds(row.quarantine_span), " ", row.quarantine_reason,
                      "\n");
    }
  }
  for (const BlameRow& row : snapshot->blames) {
    absl::StrAppend(&text, "blame ", row.worker, " ", row.kind.ToHex(), " ", row.sweep.number, " ",
                    row.approach, " ", row.benchmark, " ", row.is_train, " ", row.failures, " ",
                    row.success_time ? TimeText(*row.success_time) : "-", "\n");
  }
  for (const ResourceRow& row : snapshot->resources) {
    absl::StrAppend(&text, "resource ", row.name, " ", row.amount, "\n");
  }
  absl::StrAppend(&text, "next pilot ", snapshot->next_pilot_number, ", last service ",
                  snapshot->last_service_number, "\n");
  for (const PoolRow& row : snapshot->pools) {
    absl::StrAppend(&text, "pool ", row.name, " ", absl::CHexEscape(row.spec), " ", row.paused, " ",
                    row.pause_reason, " ", row.removing, "\n");
  }
  for (const PilotRow& row : snapshot->pilots) {
    absl::StrAppend(&text, "pilot ", row.name, " ", row.pool, " ", row.provider, " ",
                    static_cast<int>(row.phase), " ", row.external_id, " ", row.message, " ",
                    TimeText(row.request_time), " ", TimeText(row.phase_time), " ", row.joined, " ",
                    row.image, "\n");
  }
  return text;
}

}  // namespace concur::testing
