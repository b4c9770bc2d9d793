// SPDX-License-Identifier: Apache-2.0
// Renders the server's things: as JSON records, and in words for people.
//
// Keys are those of the protos; ids are "s12" and "s12/345"; states and classes are the lower-case
// words of core/; times are ISO 8601 in UTC, spans are seconds; what is unset is null.
//
// Stateless; thread-safe.
#ifndef CONCUR_CLI_OUTPUT_RENDER_H_
#define CONCUR_CLI_OUTPUT_RENDER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/print.h"
#include "concur/v1/coordinator.pb.h"
#include "core/job.h"
#include "core/job_score.h"
#include "core/sweep/params.h"
#include "core/sweep/sweep.h"

namespace concur::cli {

// "running"; "unknown" for a number that this program does not know.
std::string StateText(v1::Job::State state);
std::string StateText(v1::Sweep::State state);
std::string StateText(v1::Worker::State state);
std::string ProviderText(v1::PoolSpec::Provider provider);
std::string PhaseText(v1::Pilot::Phase phase);
std::string FailureText(v1::FailureClass failure);  // "" for none
std::string KindText(v1::Job::Kind kind);           // "train", "eval"
bool HasEnded(v1::Sweep::State state);
// False for a sweep that the coordinator left on disk when it started; the note names the newest.
bool IsLoaded(const v1::Sweep& sweep);
void NoteNotLoaded(CommandContext& context, const std::vector<v1::Sweep>& sweeps);
// "local-1 is in quarantine until …: it failed …; …"; "" when the worker is in none.
std::string QuarantineText(const v1::Worker& worker);

// "3 running, 10 ready, 2 failed": what is not 0, succeeded first.
std::string CountsText(const v1::StateCounts& counts);
// {"blocked": 0, "ready": 10, …}: each job counts once.
Json CountsJson(const v1::StateCounts& counts);

// "lr=0.1 epochs=3".
// "m7 (lr=0.1) ready on w1 since TIME, jobs: 3, failed starts: 1".
std::string ServiceText(const v1::Worker& worker, const v1::Worker::Instance& service);
std::string SettingText(const google::protobuf::Map<std::string, v1::ParamValue>& setting);
std::string ResourcesText(const v1::Resources& resources);
double GpusOf(const v1::Resources& resources);  // shares as fractions
// "the default and 5 sampled, seed 42"; of a search "the default and 29 chosen by tpe on validation
// scores, seed 42".
std::string SettingsText(const SweepSpec& spec);
// "asha, most validation_f1, steps 1 to 27, eta 3".
std::string EarlyStopText(const EarlyStopSpec& early_stop);
absl::Time TimeOf(const google::protobuf::Timestamp& time);

// Time that a sweep was expected to take when it was submitted, and time that it took. `error` is
// expected / took - 1, of a sweep that has succeeded and stopped no setting early.
struct SweepForecast {
  std::optional<absl::Duration> expected;
  std::optional<absl::Duration> took;
  std::optional<double> error;
};
SweepForecast ForecastOf(const v1::Sweep& sweep);
// "2.3 % too long", or "3 times too long" where it was far off; of expected / took - 1.
std::string ForecastErrorText(double error);
// "$3.20, 120,000 tokens in, 8,000 out"; "" for nothing.
std::string SpentText(const v1::Spent& spent);
// "$3.20 of $5.00"; with a remedy when that pauses it; "" without a budget.
std::string BudgetText(const v1::Sweep& sweep);
Json SpentJson(const v1::Spent& spent);
Json SweepJson(const v1::Sweep& sweep);
// "120 of 1,000 done", of a running job that says so; else "".
std::string JobProgressText(const v1::Job& job);
Json JobJson(const v1::Job& job);
Json WorkerJson(const v1::Worker& worker);
Json NamedResourceJson(const v1::NamedResource& resource);
// "3", or "3/4" of a worker with slots.
std::string RunningText(const v1::Worker& worker);
Json PoolJson(const v1::Pool& pool);
Json SettingJson(const Setting& setting);
Json ScoreJson(const JobScore& score);
Json EventJson(const v1::JobEvent& event);
Json ResultJson(const v1::JobResult& result);

}  // namespace concur::cli

#endif  // CONCUR_CLI_OUTPUT_RENDER_H_
