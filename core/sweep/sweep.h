// SPDX-License-Identifier: Apache-2.0
// A sweep as the coordinator gets it: every name resolved, every data file known by its digest.
// yaml/ makes one from YAML, proto/rpc/ from protobuf; core/sweep/expansion.h counts and numbers
// its jobs.
//
// Values; immutable once submitted.
#ifndef CONCUR_CORE_SWEEP_SWEEP_H_
#define CONCUR_CORE_SWEEP_SWEEP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/metric_meaning.h"
#include "core/early_stop/early_stop.h"
#include "core/fields.h"
#include "core/ids.h"
#include "core/labels.h"
#include "core/resources.h"
#include "core/sweep/code.h"
#include "core/sweep/environment.h"
#include "core/sweep/params.h"

namespace concur {

// Limits on one sweep. A request beyond them is InvalidArgument.
inline constexpr size_t kApproachesMax = 10'000;
inline constexpr size_t kBenchmarksMax = 10'000;
inline constexpr uint32_t kSettingsMax = 100'000;  // and the values of one choice
inline constexpr size_t kSeedsMax = 10'000'000;
inline constexpr size_t kTrainSetsMax = 10'000;
inline constexpr size_t kExcludeRulesMax = 10'000;
inline constexpr uint64_t kSettingsTotalMax = 1'000'000;  // over all approaches
inline constexpr uint32_t kTrialsMax = 1'000;             // a search's; SearchSpec
inline constexpr uint32_t kProposalsMax = 10'000;         // a sweep's
inline constexpr uint64_t kProposalBytesMax = 32 << 20;   // a sweep's: one row, one message
inline constexpr size_t kHyperparametersMax = 100;        // an approach's; also parameters
inline constexpr size_t kArgumentsMax = 1'000;            // one command's; variables of its env
inline constexpr size_t kTextBytesMax = 65'536;     // an argument, environment value, description
inline constexpr size_t kSecretsMax = 64;           // an approach's
inline constexpr size_t kPathBytesMax = 4'096;      // path of a data file
inline constexpr size_t kSuffixBytesMax = 32;       // suffix of a data file's name
inline constexpr int32_t kPriorityMax = 1'000'000;  // and its negative
inline constexpr uint32_t kAttemptsMax = 1'000;     // a job's, by each count of RetryPolicy
inline constexpr absl::Duration kTimeoutMin = absl::Seconds(1);
inline constexpr absl::Duration kBackoffMax = absl::Hours(24);

// Tags of approaches and benchmarks, for selecting and grouping: {"pretrained": "no"}.
// A tag written without a value has the value "yes".
using Tags = std::map<std::string, std::string>;

// A train job starts from the system of another approach's train job, of that one's default setting
// and with the same seed.
struct TrainFrom {
  uint32_t approach = 0;              // index into SweepSpec::approaches
  std::optional<uint32_t> train_set;  // that it was trained on; absent: the job's own
};

// A program that eval jobs ask. It runs beside them on a worker, for all jobs that need an equal
// one, and is stopped when none has needed it for `idle`.
struct ServiceSpec {
  std::vector<std::string> command;  // listens on {port} of 127.0.0.1, or on the path {socket}
  std::optional<Digest> program;     // as ApproachSpec::train_program
  // A path that answers GET with status 200 once it is ready; "": ready once it accepts a
  // connection.
  std::string ready_http;
  absl::Duration ready_within = absl::Hours(1);
  Resources resources;
  uint32_t serves = 8;  // eval jobs at a time
  absl::Duration idle = absl::Minutes(5);
};
inline constexpr uint32_t kServesMax = 10'000;

// Commands are argv templates with placeholders {train} {validation} {start} {test} {model}
// {predictions} {metrics} {output} {code} {seed} {hp.NAME} {benchmark.NAME} {service.url}
// {service.socket} {service.NAME.url} {service.NAME.socket}; "{{" and "}}" are braces.
struct ApproachSpec {
  std::string name;
  Tags tags;
  std::string version;  // "" only beside `code`, which says as much
  // The files that the commands need, as {code}; part of the key. Absent: whatever the worker has.
  std::optional<Code> code;
  // In which the commands run; part of the key. Absent: the worker's own programs.
  std::optional<Environment> environment;
  // Empty: the approach needs no training (its cells have no train job and no train set).
  std::vector<std::string> train_command;
  // Empty: it is never evaluated, and there for others that start from it or need its service.
  std::vector<std::string> predict_command;
  // The files behind {code} in predict_command; part of eval jobs' keys alone. Absent: `code`.
  std::optional<Code> predict_code;
  // Digests of the scripts that the commands' first words were on the submitting machine, where
  // these lie in no code; part of the key.
  std::optional<Digest> train_program;
  std::optional<Digest> predict_program;
  // Its eval jobs ask this. Its command and program are part of their keys, the rest is not.
  std::optional<ServiceSpec> service;
  // Approaches whose services they ask, too (core/sweep/needs.h); part of their keys. Indices into
  // SweepSpec::approaches.
  std::vector<uint32_t> needs;
  // Source of what its train command reads as {start}; part of the key (core/sweep/train_from.h).
  std::optional<TrainFrom> train_from;
  Hyperparameters hyperparameters;
  Resources train_resources;
  Resources predict_resources;
  // Labels of the workers that may run its jobs; not part of the key.
  Labels train_labels;
  Labels predict_labels;
  // Named resources that its jobs hold; not part of the key.
  Uses train_uses;
  Uses predict_uses;
  absl::Duration train_timeout = absl::InfiniteDuration();
  absl::Duration predict_timeout = absl::InfiniteDuration();
  std::map<std::string, std::string> env;  // added to the job's environment; part of the key
  // Further variables, each with the name of a secret of the sweep's owner, whose value the
  // coordinator sends with the job. Not part of the key, names and values alike.
  std::map<std::string, std::string> secrets;
  bool rerun = false;  // its jobs take no result that another job has; not part of the key

  // Its commands: of training, prediction and service, those that it has.
  std::vector<const std::vector<std::string>*> Commands() const {
    std::vector<const std::vector<std::string>*> commands = {&train_command, &predict_command};
    if (service) {
      commands.push_back(&service->command);
    }
    return commands;
  }
  // The code of its jobs of this kind.
  const std::optional<Code>& CodeOf(bool is_train) const {
    return is_train || !predict_code ? code : predict_code;
  }
  absl::Duration TimeoutOf(bool is_train) const {
    return is_train ? train_timeout : predict_timeout;
  }
};

// A data file, named by its bytes. `path` is where the submitting machine read it: for people.
struct DataFile {
  Digest digest;
  int64_t bytes = 0;
  std::string path;
  // ".json", ".jsonl", ".jsonl.gz", …: the file a job sees ends so.
  std::string suffix;
};

// "qa", "file", "qa-variants".
enum class DataFormat {
  kQa,    // SQuAD v1.1 JSON or MRQA JSON lines; predictions are scored by the worker
  kFile,  // anything; the command writes {metrics} itself
  // As kQa; questions ORIGINAL-SUFFIX are variants of ORIGINAL, of which the worst counts
  // (AddSent and AddOneSent: Jia and Liang, 2017).
  kQaVariants,
};

// True if the worker scores predictions.
inline bool IsQa(DataFormat format) { return format != DataFormat::kFile; }

struct BenchmarkSpec {
  std::string name;
  Tags tags;
  DataFormat format = DataFormat::kQa;
  std::optional<DataFile> train;  // absent: never trained on
  std::optional<DataFile> test;   // absent: never evaluated
  // Set: this is the validation set of that benchmark (an index into SweepSpec::benchmarks), on
  // which settings are chosen; `test` is its data, and there is no `train`. Every cell whose train
  // set has the benchmark in it is evaluated here too, as is an approach that needs no training
  // wherever it is evaluated on the benchmark. No list or rule names a validation set.
  std::optional<uint32_t> validation_of;
  // The metric that matrices use: "exact_match" or "f1" for qa (both are always computed, in
  // percent); for kFile the name of a value of {metrics}.
  std::string metric = "exact_match";
  // Meaning of that metric's values, as far as it is stated. Not part of the key: a result is the
  // same, whoever reads it how.
  MetricMeaning meaning;
  // By name, what predict commands have as {benchmark.NAME}; part of eval jobs' keys.
  std::map<std::string, std::string> parameters;
  // Labels of the workers that may read its data: jobs that train or are evaluated on it ask for
  // these beside their approach's. Not part of the key.
  Labels labels;
  // Named resources that jobs evaluated on it hold beside their approach's. Not part of the key.
  Uses uses;
  // As ApproachSpec::needs, of jobs evaluated on it; part of their keys.
  std::vector<uint32_t> needs;
};

// Data that a cell trains on: one benchmark's train set, or a mixture of several.
struct TrainSet {
  struct Part {
    uint32_t benchmark = 0;    // index into SweepSpec::benchmarks
    int64_t examples_max = 0;  // cap: a seeded sample of so many examples; 0: all
  };
  std::string name;  // the benchmark's name, or the mixture's own
  std::vector<Part> parts;
  uint64_t seed = 0;  // seed of the sample and the order of a mixture
  Tags tags;
  bool source_only = false;  // only what other approaches start from is trained on it

  bool IsMixture() const { return parts.size() != 1 || parts[0].examples_max != 0; }
};

// The name that the validation set of a benchmark gets where a sweep is read.
std::string ValidationName(absl::string_view benchmark);

// Which test sets the systems of a train set are evaluated on: "same", "all", "listed". Under kSame
// an approach that needs no training is evaluated on every benchmark with a test set.
enum class EvaluateOn {
  kSame,    // the test sets of the train set's own benchmarks
  kAll,     // every benchmark with a test set
  kListed,  // SweepSpec::evaluate_benchmarks
};

// Leaves out every (approach, train set, test benchmark) that matches all fields that are set.
// Without `test_benchmark` it leaves out the cell altogether; a cell that has lost all its tests
// goes too. A rule with `train_set` matches no approach that needs no training. Indices into the
// sweep's lists; at least one is set.
struct ExcludeRule {
  std::optional<uint32_t> approach;
  std::optional<uint32_t> train_set;
  std::optional<uint32_t> test_benchmark;
};

// Way to make one score of several settings of one approach: "best", "default", "mean", "each",
// "best-on-test". The best setting is the one that did best on the validation sets of what it was
// trained on, or, where there is none, on the test set; kBestOnTest leaves validation sets aside.
enum class Selection { kBest, kDefault, kMean, kEach, kBestOnTest };

// Which artifacts are kept once nothing needs them. Scores are always kept.
struct KeepPolicy {
  bool systems = true;
  bool predictions = true;  // with the per-example scores
  bool logs = true;
  bool outputs = false;  // {output} of jobs that succeeded
};

struct RetryPolicy {
  // Attempts that end by the job's own failure (exit code, signal, out of memory, time-out, bad
  // output); attempts lost with their worker count apart, up to `lost_max`.
  uint32_t failures_max = 3;
  uint32_t lost_max = 10;
  absl::Duration backoff_min = absl::Seconds(1);
  absl::Duration backoff_max = absl::Minutes(5);
};

// Settings that train no further because others of their cell's approach, train set and seed do
// better (core/early_stop/early_stop.h).
struct EarlyStopSpec {
  EarlyStopRule rule;
  std::string metric;  // a name that train jobs report (core/reported_step.h)
};

// A setting that a search has chosen. It stands in the sweep's spec before any job has it, and
// never changes.
struct Proposal {
  uint32_t block = 0;  // index in the sweep's expansion
  uint32_t setting = 0;
  Setting values = {};

  friend bool operator==(const Proposal&, const Proposal&) = default;
};

// Settings are chosen one after the other by the scores of those before (core/search/tpe.h), in
// place of sampling. Every block (an approach on a train set) has its own search; a trial is a
// setting with all seeds. The default is the first of them.
struct SearchSpec {
  bool on_test = false;   // trials are compared on test sets, else on validation sets
  uint32_t parallel = 1;  // trials of a block that may be without a result
  std::vector<Proposal> proposals = {};
};
// The parallel trials of a search where nothing else is asked for.
uint32_t ParallelTrials(uint32_t trials);

struct SweepSpec {
  std::string name;
  std::string description;
  std::vector<ApproachSpec> approaches;
  std::vector<BenchmarkSpec> benchmarks;
  std::vector<TrainSet> train_sets;
  EvaluateOn evaluate_on = EvaluateOn::kSame;
  std::vector<uint32_t> evaluate_benchmarks;  // for kListed
  std::vector<ExcludeRule> exclude;
  uint32_t random_settings = 0;  // beside setting 0; with `search` chosen, not sampled
  uint64_t settings_seed = 0;
  std::optional<SearchSpec> search;
  std::vector<int64_t> seeds = {1};
  Selection select = Selection::kBest;
  int32_t priority = 0;  // higher goes first
  // Before a job that would pass it, by what such jobs have cost, the sweep is paused; 0: none.
  int64_t budget_usd_micros = 0;
  KeepPolicy keep;
  RetryPolicy retry;
  // A part of the sweep is given up once so many of its jobs failed for good and none succeeded: an
  // approach on a train set, the same on a test, an approach, a train set, a test benchmark
  // (core/state/failure_tallies.h). 0: never.
  uint32_t failures_max_per_block = 10;
  std::optional<EarlyStopSpec> early_stop;
  // SHA-256 of results that were computed elsewhere and imported (core/sweep/imported_results.h).
  // Such a sweep has approaches and benchmarks by name, no commands and no data; its jobs have
  // ended when it is added, never run, and share their content keys with no job that ran.
  std::optional<Digest> imported;
  std::string path;  // the file that the submitting machine read; for people
};

// True if the approach is more than a source that others start from, or a service that they need.
// One of imported results has no commands.
inline bool IsEvaluated(const ApproachSpec& approach) {
  return !approach.predict_command.empty() || (approach.train_command.empty() && !approach.service);
}

// Meaning of values of `metric` on a benchmark of the sweep: as it states for its own metric, else
// as the first benchmark does whose own it is, else as its name says (UsuallyMinimized);
// exact_match and f1 of formats that the worker scores are percents.
MetricMeaning MeaningOf(const SweepSpec& sweep, const BenchmarkSpec& benchmark,
                        absl::string_view metric);

absl::string_view DataFormatName(DataFormat format);
absl::StatusOr<DataFormat> DataFormatFromName(absl::string_view name);
absl::StatusOr<Selection> SelectionFromName(absl::string_view name);

// An artifact that a sweep reads.
struct SweepFile {
  Digest digest;
  int64_t bytes = 0;
  std::string name;  // a file's path, or "code of approach NAME"
  bool is_code = false;
};
// The data files, code and environments of a sweep, each once, by digest.
std::vector<SweepFile> FilesOf(const SweepSpec& spec);

// Names of sweeps, approaches, benchmarks, mixtures and tags: letters, digits and "._+-@=",
// starting with a letter or digit, at most kNameBytesMax bytes. InvalidArgument otherwise, without
// the place. Imported approaches, benchmarks and tags have the names that their source gives them:
// any line.
absl::Status ValidateName(absl::string_view name);

// Refuses the name of a new sweep that looks like an id ("s1"): wherever a sweep is named, ids come
// first. Sweeps that are stored already may have such names. InvalidArgument, without the place.
absl::Status CheckSweepName(absl::string_view name);
// Names of hyperparameters: letters, digits, "_", "-" and ".", starting with a letter or "_".
absl::Status ValidateHyperparameterName(absl::string_view name);

// The name, amount and rate of a named resource that is to be set: a name as of ValidateName, 0 to
// kUnitsMax units, and as many starts a minute. InvalidArgument otherwise; `path` as in
// core/fields.h.
absl::Status CheckNamedResource(const FieldPath& path, const std::string& name, int64_t amount,
                                int64_t per_minute);

// Checks that sweeps and the orders made from them share; `path` as in core/fields.h.
// At most kArgumentsMax arguments, of which the first, if any, is not empty. `name` is the field's.
absl::Status CheckCommand(const FieldPath& path, absl::string_view name,
                          const std::vector<std::string>& command);
// Names are [A-Za-z_][A-Za-z0-9_]* and do not start with CONCUR_.
absl::Status CheckEnvironment(const FieldPath& path, const std::map<std::string, std::string>& env);
// The same of variables whose values are names of secrets; none is in `env`, too.
absl::Status CheckSecrets(const FieldPath& path, const std::map<std::string, std::string>& secrets,
                          const std::map<std::string, std::string>& env);
// The place of each value is `path.field.NAME`.
absl::Status CheckSetting(const FieldPath& path, absl::string_view field, const Setting& setting);
// "", or "." and letters, digits, ".", "_", "-": safe as the end of a file name.
absl::Status CheckSuffix(const FieldPath& path, absl::string_view suffix);

// InvalidArgument, naming the field within `path`, when the spec breaks a limit, an index is out of
// range, names repeat, a command has an unknown placeholder, or a field has a value that cannot be
// meant. Does not count jobs: Expansion::Make does.
absl::Status ValidateSweepSpec(const SweepSpec& spec, const FieldPath& path = FieldPath());

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_SWEEP_H_
