// SPDX-License-Identifier: Apache-2.0
// `job list`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/command/command.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "core/job.h"
#include "core/sweep/sweep.h"
#include "proto/rpc/convert_value.h"
#include "report/text.h"

namespace concur::cli {
namespace {

constexpr int kPageMax = 1000;

struct JobListFlags {
  std::string sweep;
  std::vector<std::string> states;
  std::string approach;
  std::string benchmark;
  std::string worker;
  std::optional<int64_t> setting;
  std::optional<int64_t> seed;
  std::string sort;
  bool test_scores = false;
  size_t limit = 100;
  size_t offset = 0;
};

using JobLess = std::function<bool(const v1::Job& a, const v1::Job& b)>;

template <typename Key>
JobLess By(Key key) {
  return [key](const v1::Job& a, const v1::Job& b) { return key(a) < key(b); };
}

// By the names of the columns.
const std::vector<std::pair<std::string, JobLess>>& SortKeys() {
  static const auto* const kKeys = new std::vector<std::pair<std::string, JobLess>>{
      {"kind", By([](const v1::Job& job) { return job.kind(); })},
      {"state", By([](const v1::Job& job) { return job.state(); })},
      {"approach", By([](const v1::Job& job) { return job.approach(); })},
      {"train", By([](const v1::Job& job) { return job.train_set(); })},
      {"test", By([](const v1::Job& job) { return job.test_benchmark(); })},
      {"setting", By([](const v1::Job& job) { return job.setting_index(); })},
      {"seed", By([](const v1::Job& job) { return job.seed(); })},
      {"try", By([](const v1::Job& job) { return job.attempt(); })},
      {"worker", By([](const v1::Job& job) { return job.worker(); })},
      {"time", By([](const v1::Job& job) { return SpanOf(job.result().run_time()); })},
      {"memory", By([](const v1::Job& job) { return job.result().memory_bytes_peak(); })}};
  return *kKeys;
}

// Null without --sort.
absl::StatusOr<JobLess> SortOrder(absl::string_view name) {
  if (name.empty()) {
    return JobLess();
  }
  const bool down = absl::ConsumePrefix(&name, "-");
  std::vector<std::string> known;
  for (const auto& [key, less] : SortKeys()) {
    if (key == name) {
      return down
                 ? JobLess([less = less](const v1::Job& a, const v1::Job& b) { return less(b, a); })
                 : less;
    }
    known.push_back(key);
  }
  return absl::InvalidArgumentError(absl::StrCat("--sort: expected one of ",
                                                 absl::StrJoin(known, ", "), ", got \"", name, "\"",
                                                 DidYouMean(name, known)));
}

// Jobs in an order; of these only the first `keep_max` (0: all). Memory is bounded by these.
class SortedJobs {
 public:
  SortedJobs(JobLess less, size_t keep_max) : less_(std::move(less)), keep_max_(keep_max) {}

  void Add(v1::Job job) {
    jobs_.push_back(std::move(job));
    if (keep_max_ != 0 && jobs_.size() >= 2 * keep_max_ + kPageMax) {
      Cut();
    }
  }
  std::vector<v1::Job> Take() {
    Cut();
    return std::move(jobs_);
  }

 private:
  // Equal ones stay as they came: by index.
  void Cut() {
    std::stable_sort(jobs_.begin(), jobs_.end(), less_);
    if (keep_max_ != 0 && jobs_.size() > keep_max_) {
      jobs_.resize(keep_max_);
    }
  }

  const JobLess less_;
  const size_t keep_max_;
  std::vector<v1::Job> jobs_;
};

// Test scores that stay out of sight unless they are asked for: those of approaches of which the
// sweep chooses a setting, so that nobody chooses by them on the way. `concur scores` shows the
// ones of the chosen settings.
class UnchosenScores {
 public:
  static absl::StatusOr<UnchosenScores> Of(Client& client, const std::string& name) {
    CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep, client.GetSweep(name, Client::Include::kSpec));
    const v1::SweepSpec& spec = sweep.spec();
    UnchosenScores unchosen;
    unchosen.default_is_chosen_ = spec.select() == v1::SweepSpec::SELECTION_DEFAULT;
    const bool shows_all = spec.select() == v1::SweepSpec::SELECTION_EACH ||
                           spec.select() == v1::SweepSpec::SELECTION_MEAN;
    for (const v1::Approach& approach : spec.approaches()) {
      const bool has_grid =
          std::any_of(approach.space().begin(), approach.space().end(),
                      [](const auto& parameter) { return parameter.second.has_grid(); });
      if (!shows_all && (has_grid || (spec.random_settings() > 0 && approach.space_size() > 0))) {
        unchosen.approaches_.insert(approach.name());
      }
    }
    for (const v1::Benchmark& benchmark : spec.benchmarks()) {
      if (benchmark.has_validation_of()) {
        unchosen.validation_sets_.insert(benchmark.name());
      }
    }
    return unchosen;
  }

  // Takes the metrics from the job if they are such scores.
  void Hide(v1::Job& job) {
    if (job.kind() == v1::Job::KIND_EVAL && job.result().metrics_size() > 0 &&
        approaches_.count(job.approach()) > 0 &&
        validation_sets_.count(job.test_benchmark()) == 0 &&
        !(default_is_chosen_ && job.setting_index() == 0)) {
      job.mutable_result()->clear_metrics();
      job.mutable_result()->clear_parts();
      ++hidden_;
    }
  }

  size_t hidden() const { return hidden_; }

 private:
  bool default_is_chosen_ = false;
  std::set<std::string> approaches_;  // with several settings
  std::set<std::string> validation_sets_;
  size_t hidden_ = 0;  // jobs
};

// The figure or the reason that a person looks for in a list.
std::string NoteOf(const v1::Job& job) {
  std::vector<std::string> parts;
  for (const v1::Metric& metric : job.result().metrics()) {
    parts.push_back(absl::StrFormat("%s %.2f", metric.name(), metric.value()));
  }
  std::string note = absl::StrJoin(parts, ", ");
  std::string rest = job.of() > 0 ? JobProgressText(job) : HeadLine(job.explanation());
  if (!job.reused_from().empty()) {
    rest = absl::StrCat("reused from ", job.reused_from());
  } else if (job.state() == v1::Job::STATE_FAILED || job.state() == v1::Job::STATE_BACKOFF) {
    const std::string message = HeadLine(job.result().message());
    rest = absl::StrCat(FailureText(job.failure()), message.empty() ? "" : ": ", message);
  }
  return absl::StrCat(note, note.empty() || rest.empty() ? "" : "; ", rest);
}

// An empty record with every key, including those of a result.
Json JobPrototype() {
  v1::Job job;
  job.mutable_result();
  return JobJson(job);
}

absl::Status AddStates(const std::vector<std::string>& names, v1::ListJobsRequest* request) {
  std::vector<std::string> known;
  known.reserve(kJobStates);
  for (int i = 0; i < kJobStates; ++i) {
    known.emplace_back(JobStateName(static_cast<JobState>(i)));
  }
  for (const std::string& name : names) {
    const auto it = std::find(known.begin(), known.end(), name);
    if (it == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--state: expected one of ",
                                                     absl::StrJoin(known, ", "), ", got \"", name,
                                                     "\"", DidYouMean(name, known)));
    }
    request->add_states(rpc::ToProto(static_cast<JobState>(it - known.begin())));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ListJobsRequest> RequestOf(const JobListFlags& flags) {
  v1::ListJobsRequest request;
  request.set_sweep(flags.sweep);
  request.set_approach(flags.approach);
  request.set_benchmark(flags.benchmark);
  request.set_worker(flags.worker);
  if (flags.setting) {
    request.set_setting_index(static_cast<uint32_t>(*flags.setting));
  }
  if (flags.seed) {
    request.set_seed(*flags.seed);
  }
  CONCUR_RETURN_IF_ERROR(AddStates(flags.states, &request));
  const bool is_page = flags.limit != 0 && flags.sort.empty();
  request.set_page_size(
      is_page ? static_cast<int>(std::min<size_t>(flags.offset + flags.limit + 1, kPageMax))
              : kPageMax);
  return request;
}

// A coordinator of 0.2.0 does not know these fields of the request.
bool IsAskedFor(const v1::Job& job, const JobListFlags& flags) {
  return (flags.worker.empty() || job.worker() == flags.worker) &&
         (!flags.setting || job.setting_index() == *flags.setting) &&
         (!flags.seed || job.seed() == *flags.seed);
}

// NotFound when there is no worker of that name, so that no job can be its.
absl::Status CheckWorker(Client& client, const std::string& name) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<v1::Worker> workers, client.ListWorkers());
  std::vector<std::string> names;
  for (const v1::Worker& worker : workers) {
    if (worker.name() == name) {
      return absl::OkStatus();
    }
    names.push_back(worker.name());
  }
  return absl::NotFoundError(
      absl::StrCat("--worker: no worker \"", name, "\"", DidYouMean(name, names)));
}

void AddRow(const v1::Job& job, Listing* listing) {
  if (!listing->wants_cells()) {
    listing->Add({}, JobJson(job));
    return;
  }
  listing->Add(
      {job.id(), KindText(job.kind()), StateText(job.state()), job.approach(), job.train_set(),
       job.test_benchmark(), absl::StrCat(job.setting_index()), absl::StrCat(job.seed()),
       job.attempt() == 0 ? "" : absl::StrCat(job.attempt()), job.worker(),
       job.has_result() ? SpanText(SpanOf(job.result().run_time())) : "", NoteOf(job)},
      Json());
}

// Gets the jobs that are asked for, one after the other, and writes a row for each.
absl::Status ListJobs(CommandContext& context, const JobListFlags& flags) {
  CONCUR_ASSIGN_OR_RETURN(const JobLess less, SortOrder(flags.sort));
  CONCUR_ASSIGN_OR_RETURN(v1::ListJobsRequest request, RequestOf(flags));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  UnchosenScores unchosen;
  if (!flags.test_scores) {
    CONCUR_ASSIGN_OR_RETURN(unchosen, UnchosenScores::Of(*client, flags.sweep));
  }
  Listing listing(context,
                  {{"ID"},
                   {.name = "KIND", .drop = 7},
                   {.name = "STATE", .is_state = true},
                   {.name = "APPROACH", .width_max = 30},
                   {.name = "TRAIN", .drop = 1, .width_max = 30},
                   {.name = "TEST", .width_max = 30},
                   {.name = "SETTING", .is_number = true, .drop = 2},
                   {.name = "SEED", .is_number = true, .drop = 3},
                   {.name = "TRY", .is_number = true, .drop = 6},
                   {.name = "WORKER", .drop = 5, .width_max = 24},
                   {.name = "TIME", .is_number = true, .drop = 4},
                   {.name = "NOTE", .wraps = true}},
                  JobPrototype(), "No such jobs.");
  SortedJobs sorted(less, flags.limit == 0 ? 0 : flags.offset + flags.limit + 1);
  size_t found = 0;
  bool more = false;
  // False once there is one more than is asked for.
  const auto show = [&](v1::Job& job) {
    more = flags.limit != 0 && found >= flags.offset + flags.limit;
    if (!more && found++ >= flags.offset) {
      unchosen.Hide(job);
      AddRow(job, &listing);
    }
    return !more;
  };
  CONCUR_RETURN_IF_ERROR(client->ListJobs(std::move(request), 0, [&](v1::Job job) {
    if (!IsAskedFor(job, flags)) {
      return true;
    }
    if (less) {
      sorted.Add(std::move(job));
      return true;
    }
    return show(job);
  }));
  if (less) {
    for (v1::Job& job : sorted.Take()) {
      show(job);
    }
  }
  if (found == 0 && !flags.worker.empty()) {
    CONCUR_RETURN_IF_ERROR(CheckWorker(*client, flags.worker));
  }
  listing.Print();
  // A list in JSON does not say what it leaves out.
  const auto say = [&context](const std::string& note) {
    IsJson(context) ? PrintWarning(context, note) : PrintNote(context, note);
  };
  if (unchosen.hidden() > 0) {
    say(absl::StrCat(analysis::Counted(unchosen.hidden(), "test score"),
                     " hidden   chosen: concur scores ", flags.sweep, "   all: --test-scores"));
  }
  if (more) {
    say(absl::StrCat("only ", flags.limit, " are shown; the next ones: --offset ",
                     flags.offset + flags.limit, "   all: --limit 0"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddJobListCommand(Command& job, CommandContext& context) {
  const auto flags = std::make_shared<JobListFlags>();
  Command* list = job.AddSubcommand("list", "Jobs of a sweep, in their order");
  list->AddOption("sweep", flags->sweep, "A sweep, by id or name")->TypeName("SWEEP")->Required();
  list->AddOption("--state", flags->states,
                  "Only jobs in these states: blocked, ready, backoff, running, succeeded, "
                  "failed, canceled, skipped, stopped")
      ->TypeName("STATE[,...]")
      ->Delimiter(',')
      ->OneValueEach();
  list->AddOption("--approach", flags->approach, "Only this approach's")->TypeName("NAME");
  list->AddOption("--benchmark", flags->benchmark, "Only trained or tested on this benchmark")
      ->TypeName("NAME");
  list->AddOption("--worker", flags->worker, "Only those whose latest attempt is this worker's")
      ->TypeName("NAME");
  list->AddOption("--setting", flags->setting, "Only of this setting; 0 is the default one")
      ->TypeName("N")
      ->InRange<int64_t>(0, kSettingsMax);
  list->AddOption("--seed", flags->seed, "Only of this seed")->TypeName("N");
  list->AddOption("--sort", flags->sort,
                  "By a column instead: kind, state, approach, train, test, setting, seed, try, "
                  "worker, time or memory; with \"-\" before it, the largest first")
      ->TypeName("[-]COLUMN");
  list->AddFlag("--test-scores", flags->test_scores,
                "Also the test scores of settings from which the sweep chooses");
  list->AddOption("--offset", flags->offset, "Leave out this many jobs at the beginning")
      ->TypeName("N");
  list->AddOption("--limit", flags->limit, "List at most this many; 0: all")
      ->ShowDefault()
      ->TypeName("N");
  list->Footer(
      "Examples:\n"
      "  concur job list s12 --state failed,skipped\n"
      "  concur job list s12 --approach bert --sort=-time --limit 10");
  OnRun(list, context, [flags, &context] { return ListJobs(context, *flags); });
}

}  // namespace concur::cli
