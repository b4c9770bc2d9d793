// SPDX-License-Identifier: Apache-2.0
// `concur concurrence`: whether a new benchmark ranks approaches as a known one does, from its data
// to a verdict.
//
// A question is a series of sweeps, one for each look, of a panel of approaches on both benchmarks.
// Their request ids follow from their contents, so that the same command goes on where it was
// interrupted, and results are reused by content.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "analysis/bootstrap.h"
#include "analysis/plan/plan.h"
#include "analysis/plan/plan_until.h"
#include "analysis/plan/verdict.h"
#include "analysis/score_table.h"
#include "base/command/command.h"
#include "base/decimal.h"
#include "base/output_file.h"
#include "base/status_macros.h"
#include "cli/app/companion.h"
#include "cli/client/client.h"
#include "cli/commands/commands.h"
#include "cli/commands/run/concurrence_check.h"
#include "cli/commands/run/concurrence_judge.h"
#include "cli/commands/run/concurrence_list.h"
#include "cli/commands/run/concurrence_page.h"
#include "cli/commands/run/concurrence_verdict.h"
#include "cli/commands/run/published_reference.h"
#include "cli/commands/run/sweep_submit_until.h"
#include "cli/commands/score_options.h"
#include "cli/output/print.h"
#include "cli/output/render.h"
#include "cli/output/shell_word.h"
#include "cli/study/open_study.h"
#include "cli/study/study.h"
#include "cli/study/telling_examples.h"
#include "cli/sweep/column_benchmark.h"
#include "cli/sweep/follow_sweep.h"
#include "cli/sweep/submit.h"
#include "cli/sweep/temporary_directory.h"
#include "concur/v1/coordinator.pb.h"
#include "core/fields.h"
#include "yaml/benchmark_yaml.h"

namespace concur::cli {
namespace {

struct ConcurrenceFlags {
  std::string added;  // a benchmark file
  std::string with;
  std::string panel;
  std::vector<std::string> variables;
  analysis::VerdictOptions verdict;
  std::optional<double> hours;
  uint64_t seed = 1;
  bool no_check = false;
  bool list = false;
  std::string html;
  std::string badge;
};

// The question: what is compared, on what panel.
struct Question {
  TemporaryDirectory column;  // data of a reference that is a sweep's column
  MadeFiles made;
  spec::LoadedSweep loaded;
  std::string added;
  std::string reference;
  std::string test;  // the new benchmark's test set
};

absl::StatusOr<std::string> NameOfBenchmark(const std::string& path,
                                            const std::vector<std::string>& variables) {
  CONCUR_ASSIGN_OR_RETURN(const auto values, ParseVariables(variables));
  CONCUR_ASSIGN_OR_RETURN(const spec::ParsedBenchmark benchmark, spec::LoadBenchmark(path, values));
  return benchmark.spec.name;
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

BenchmarkSpec* BenchmarkIn(Question& question, const std::string& name) {
  for (BenchmarkSpec& benchmark : question.loaded.spec.benchmarks) {
    if (benchmark.name == name) {
      return &benchmark;
    }
  }
  return nullptr;
}

absl::Status CheckPanel(const std::string& panel, Question& question) {
  const bool is_published = IsPublished(question.reference);
  for (const std::string& name : {question.added, question.reference}) {
    if (BenchmarkIn(question, name) == nullptr && !IsPublished(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat(panel, ": spec.benchmarks: expected ",
                       is_published ? "[\"${new}\"]" : "[\"${new}\", \"${reference}\"]",
                       ", which the command fills in, got none of the name \"", name,
                       "\"; see configs/panels/", is_published ? "published" : "cheap", ".yaml"));
    }
  }
  if (question.loaded.spec.approaches.size() < analysis::kIntervalApproachesMin) {
    return absl::InvalidArgumentError(absl::StrCat(
        panel, ": spec.approaches: expected at least ", analysis::kIntervalApproachesMin,
        " approaches, got ", question.loaded.spec.approaches.size(), "; add some"));
  }
  return absl::OkStatus();
}

// Leaves out the approaches that have no published score, and says which. InvalidArgument when too
// few are left.
absl::Status KeepPublished(CommandContext& context, const std::string& panel,
                           const analysis::ScoreTable& published, SweepSpec& spec) {
  const std::vector<std::string> names = analysis::NamesOf(published.approaches());
  std::vector<std::string> matched;
  std::vector<std::string> others;
  for (uint32_t i = 0; i < spec.approaches.size(); ++i) {
    const std::string& name = spec.approaches[i].name;
    const auto row = std::find(names.begin(), names.end(), name);
    const bool has_score =
        row != names.end() && published.cell(static_cast<size_t>(row - names.begin()), 0).state ==
                                  analysis::CellState::kValue;
    (has_score ? matched : others).push_back(name);
    if (!has_score) {
      spec.exclude.push_back({i, {}, {}});
    }
  }
  if (matched.size() < analysis::kIntervalApproachesMin) {
    return absl::InvalidArgumentError(absl::StrCat(
        panel, ": spec.approaches: expected at least ", analysis::kIntervalApproachesMin,
        " approaches that ", published.benchmarks()[0].name, " has by name, got ", matched.size(),
        "; it has ", absl::StrJoin(names, ", ")));
  }
  PrintNote(context, absl::StrCat(matched.size(), " approaches have a published score: ",
                                  absl::StrJoin(matched, ", ")));
  if (!others.empty()) {
    PrintWarning(context, absl::StrCat("left out, without a published score: ",
                                       absl::StrJoin(others, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Question>> LoadQuestion(CommandContext& context, Client& client,
                                                       const ConcurrenceFlags& flags,
                                                       std::optional<BenchmarkCheck>& check) {
  auto question = std::make_unique<Question>();
  CONCUR_ASSIGN_OR_RETURN(question->added, NameOfBenchmark(flags.added, flags.variables));
  std::string reference = flags.with;
  analysis::ScoreTable published;
  const bool is_published = IsPublished(reference);
  const bool is_column = !is_published && !IsFile(reference);
  if (is_published) {
    CONCUR_ASSIGN_OR_RETURN(published, PublishedScores(reference));
    question->reference = published.benchmarks()[0].name;
  } else if (is_column) {
    CONCUR_ASSIGN_OR_RETURN(question->column, TemporaryDirectory::Make("column"));
    CONCUR_ASSIGN_OR_RETURN(reference,
                            FetchColumnBenchmark(client, flags.with, question->column.path()));
  }
  if (!is_published) {
    CONCUR_ASSIGN_OR_RETURN(question->reference, NameOfBenchmark(reference, flags.variables));
  }
  if (question->added == question->reference) {
    return absl::InvalidArgumentError(absl::StrCat("--with: expected another benchmark than ",
                                                   flags.added, ", got one of the same name, \"",
                                                   question->added, "\"; rename one"));
  }
  SubmitFlags submit;
  submit.file = flags.panel;
  if (flags.panel.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::string configs, ConfigsDirectory());
    submit.file = absl::StrCat(configs, "/panels/", is_published ? "published" : "cheap", ".yaml");
  }
  submit.request_id = "concurrence";
  submit.variables = flags.variables;
  submit.variables.push_back(absl::StrCat("new=", AbsolutePath(flags.added)));
  if (!is_published) {
    submit.variables.push_back(absl::StrCat("reference=", AbsolutePath(reference)));
  }
  CONCUR_ASSIGN_OR_RETURN(question->loaded, LoadForSubmission(context, submit, &question->made));
  CONCUR_RETURN_IF_ERROR(CheckPanel(submit.file, *question));
  SweepSpec& spec = question->loaded.spec;
  if (is_published) {
    CONCUR_RETURN_IF_ERROR(KeepPublished(context, submit.file, published, spec));
  }
  spec.name = absl::StrCat(kConcurrencePrefix, question->added, "@",
                           is_published ? PublishedId(question->reference) : question->reference);
  CONCUR_RETURN_IF_ERROR(AtField(FieldPath("--with"), CheckSweepName(spec.name)));
  const BenchmarkSpec& added = *BenchmarkIn(*question, question->added);
  BenchmarkSpec* const known = BenchmarkIn(*question, question->reference);
  if (!flags.no_check) {
    CONCUR_ASSIGN_OR_RETURN(check, CheckNewBenchmark(added, known));
    PrintWarnings(context, check->warnings);
  }
  question->test = added.test.has_value() ? added.test->path : "";
  if (is_column) {
    // An equal question is an equal request, wherever its files are.
    for (std::optional<DataFile>* file : {&known->train, &known->test}) {
      if (file->has_value()) {
        (*file)->path = absl::StrCat(known->name, (*file)->suffix);
      }
    }
  }
  return question;
}

struct Run {
  CommandContext& context;
  Client& client;
  const ConcurrenceFlags& flags;
  Question& question;
  UntilGrid grid;
  absl::Time deadline = absl::InfiniteFuture();
  bool out_of_time = false;
};

// Runs the released cells; at the deadline it cancels the rest.
absl::StatusOr<v1::Sweep> RunReleased(Run& run, const std::vector<bool>& released,
                                      const std::string& description) {
  spec::LoadedSweep batch = run.question.loaded;
  CONCUR_ASSIGN_OR_RETURN(batch.spec, SpecOfReleased(run.question.loaded.spec, run.grid, released));
  batch.spec.description = description;
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep submitted,
                          SubmitBatch(run.context, run.client, batch, "concurrence"));
  // An earlier run canceled it when its hours were over.
  if (submitted.state() == v1::Sweep::STATE_CANCELED) {
    v1::RetryJobsRequest retry;
    retry.set_sweep(submitted.id());
    CONCUR_RETURN_IF_ERROR(run.client.RetryJobs(retry).status());
  }
  WatchOptions watch;
  watch.quiet = !run.context.err_is_terminal;
  watch.timeout = std::max(absl::Seconds(1), run.deadline - absl::Now());
  watch.detach_hint = "it goes on without this command; the same command again shows the verdict";
  const absl::StatusOr<v1::Sweep> ended =
      FollowSweep(run.context, run.client, submitted.id(), watch);
  if (absl::IsDeadlineExceeded(ended.status())) {
    run.out_of_time = true;
    CONCUR_RETURN_IF_ERROR(run.client.CancelSweep(submitted.id()).status());
  } else {
    CONCUR_RETURN_IF_ERROR(ended.status());
    CONCUR_RETURN_IF_ERROR(CheckNotCanceled(*ended));
  }
  return run.client.GetSweep(submitted.id(), Client::Include::kSpec);
}

// Runs the first and the last approach of the panel on the new benchmark. FailedPrecondition when
// both are at the same end of its scale, where nobody can be ranked.
absl::Status Probe(Run& run) {
  const size_t columns = run.grid.benchmarks.size();
  const size_t last = run.grid.approaches.size() - 1;
  std::vector<bool> released(run.grid.has_job.size(), false);
  for (size_t b = 0; b < columns; ++b) {
    if (run.grid.table.benchmarks()[b].name == run.question.added) {
      released[b] = released[last * columns + b] = true;
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const v1::Sweep sweep,
                          RunReleased(run, released, std::string(kProbeDescription)));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable all,
                          FetchScoreTable(run.client, sweep, "", {.divide = false}));
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table,
                          all.SelectBenchmarks({run.question.added}));
  for (const analysis::BenchmarkFlag& flag : analysis::FlagBenchmarks(table)) {
    if (flag.kind != analysis::BenchmarkFlag::Kind::kConstant && flag.approaches >= 2) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s: %s: expected scores that differ, got %g (the %s) by both %s and %s, so that it can "
          "rank nobody; make it %s, or name a panel that can",
          run.flags.added, run.question.added, flag.end, analysis::BenchmarkFlagName(flag.kind),
          run.grid.table.approaches()[0].name, run.grid.table.approaches()[last].name,
          flag.kind == analysis::BenchmarkFlag::Kind::kFloor ? "easier" : "harder"));
    }
  }
  return absl::OkStatus();
}

std::vector<Outlier> OutliersOf(const Run& run, const Study& study,
                                const analysis::ScoreTable& table,
                                const analysis::Verdict& verdict) {
  constexpr size_t kExamplesMax = 2;
  const analysis::ScoreTable complete = table.Oriented().CompleteCases();
  std::vector<Outlier> outliers;
  for (const analysis::Influence& influence : verdict.outliers) {
    Outlier outlier{table.approaches()[influence.approach].name, *influence.without, 0, 0, {}};
    for (size_t i = 0; i < complete.approaches().size(); ++i) {
      if (complete.approaches()[i].name == outlier.approach) {
        outlier.new_rank = RankOf(complete, i, 0);
        outlier.reference_rank = RankOf(complete, i, 1);
      }
    }
    absl::StatusOr<std::vector<std::string>> examples =
        TellingExamples(study, run.question.added, outlier.approach,
                        outlier.new_rank < outlier.reference_rank, run.question.test, kExamplesMax);
    if (examples.ok()) {
      outlier.examples = *std::move(examples);
    } else {  // no reason to lose the verdict
      PrintWarning(run.context, absl::StrCat("no questions are shown for ", outlier.approach, ": ",
                                             examples.status().message()));
    }
    outliers.push_back(std::move(outlier));
  }
  return outliers;
}

// Why no more approaches run; "" when more do.
std::string WhyStopped(const Run& run, const analysis::Verdict& verdict, bool is_last) {
  if (verdict.claim != analysis::Claim::kOpen) {
    return absl::StrCat("the claim is ", std::string(analysis::ClaimName(verdict.claim)));
  }
  if (verdict.precise) {
    return absl::StrFormat("tau is known to ± %g", *run.flags.verdict.within);
  }
  if (run.out_of_time) {
    return absl::StrFormat("%g hours are over", *run.flags.hours);
  }
  return is_last ? "the whole panel has run" : "";
}

// Judges what the sweep of a look has, and whether it is the last one.
absl::Status JudgeLook(Run& run, const v1::Sweep& sweep, const analysis::VerdictOptions& options,
                       bool panel_is_through, ConcurrenceResult& result) {
  CONCUR_ASSIGN_OR_RETURN(const Study study, FetchStudy(run.client, sweep));
  const ComparedPair pair = {run.question.added, run.question.reference};
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable table, PairScores(study, pair));
  CONCUR_ASSIGN_OR_RETURN(result.verdict,
                          JudgeStudy(study, table, pair, options, !run.out_of_time));
  result.why = WhyStopped(run, result.verdict, panel_is_through);
  if (!result.why.empty()) {  // they read per-example scores of every job
    result.outliers = OutliersOf(run, study, table, result.verdict);
    result.scores = table;
  }
  result.sweep = sweep.id();
  result.looks.push_back(
      {sweep.id(), result.verdict.approaches, result.verdict.tau, result.verdict.tau_interval});
  result.missing.clear();
  std::set<std::string> released;
  result.jobs = 0;
  result.computing = absl::ZeroDuration();
  for (const v1::Job& job : study.jobs) {
    released.insert(job.approach());
    if (job.state() == v1::Job::STATE_SUCCEEDED) {
      ++result.jobs;
      result.computing += SpanOf(job.result().run_time());
    }
  }
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    const bool scored = table.cell(i, 0).state == analysis::CellState::kValue &&
                        table.cell(i, 1).state == analysis::CellState::kValue;
    if (!scored && released.count(table.approaches()[i].name) > 0) {
      result.missing.push_back(table.approaches()[i].name);
    }
  }
  return absl::OkStatus();
}

absl::Status Ask(Run& run, ConcurrenceResult& result) {
  const analysis::CellPlan plan(analysis::EqualCosts(run.grid.table), run.flags.seed);
  const std::vector<analysis::CellBatch> batches =
      analysis::BatchesOf(plan, run.grid.approaches.size());
  analysis::VerdictOptions options = run.flags.verdict;
  options.looks = batches.size();
  options.bootstrap.parallel_for = ThreadedFor;
  result.asked = {options.above, options.level, options.looks, options.bootstrap.families};
  if (!run.flags.no_check) {
    CONCUR_RETURN_IF_ERROR(Probe(run));
    if (run.out_of_time) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "--hours %g: they were over before the panel could start; give more", *run.flags.hours));
    }
  }
  std::vector<bool> released(run.grid.has_job.size(), false);
  size_t next = 0;
  v1::Sweep last;
  for (size_t number = 0; number < batches.size() && result.why.empty(); ++number) {
    for (; next < batches[number].cells; ++next) {
      const analysis::PlannedCell& cell = plan.cells()[next];
      const size_t at = cell.approach * run.grid.benchmarks.size() + cell.benchmark;
      released[at] = run.grid.has_job[at];
    }
    CONCUR_ASSIGN_OR_RETURN(last,
                            RunReleased(run, released, DescriptionOf(result.asked, number + 1)));
    CONCUR_RETURN_IF_ERROR(JudgeLook(run, last, options, number + 1 == batches.size(), result));
  }
  if (!run.out_of_time) {
    ReportEnd(run.context, last);
  }
  return absl::OkStatus();
}

std::string CommandOf(const ConcurrenceFlags& flags) {
  std::string command = absl::StrCat("concur concurrence ", ShellWord(flags.added), " --with ",
                                     ShellWord(flags.with));
  const auto add = [&](absl::string_view option, const std::string& value) {
    if (!value.empty()) {
      absl::StrAppend(&command, " ", option, " ", ShellWord(value));
    }
  };
  add("--panel", flags.panel);
  for (const std::string& variable : flags.variables) {
    add("--var", variable);
  }
  add("--families", flags.verdict.bootstrap.families);
  absl::StrAppend(&command, " --above ", ShortestDecimal(flags.verdict.above), " --level ",
                  ShortestDecimal(flags.verdict.level), " --order-seed ", flags.seed);
  if (flags.verdict.within.has_value()) {
    absl::StrAppend(&command, " --within ", ShortestDecimal(*flags.verdict.within));
  }
  return absl::StrCat(command, flags.no_check ? " --no-check" : "");
}

absl::Status WriteVerdict(const ConcurrenceFlags& flags, const ConcurrenceResult& result) {
  if (!flags.html.empty()) {
    CONCUR_ASSIGN_OR_RETURN(const std::string page, VerdictPage(result, CommandOf(flags)));
    CONCUR_RETURN_IF_ERROR(WriteOutput(flags.html, page));
  }
  return flags.badge.empty() ? absl::OkStatus() : WriteOutput(flags.badge, VerdictBadge(result));
}

absl::Status RunConcurrence(CommandContext& context, const ConcurrenceFlags& flags) {
  if (flags.list) {
    if (!flags.added.empty() || !flags.with.empty()) {
      return absl::InvalidArgumentError(
          "--list: expected neither a benchmark nor --with, since it lists all that were asked");
    }
    return ListConcurrences(context);
  }
  if (flags.added.empty() || flags.with.empty()) {
    return absl::InvalidArgumentError(
        "expected a new benchmark's file and --with REFERENCE beside it");
  }
  if (flags.hours.has_value() && !(*flags.hours > 0 && *flags.hours <= 100'000)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hours: expected a number above 0, got ", *flags.hours));
  }
  CONCUR_RETURN_IF_ERROR(analysis::ValidateVerdictOptions(flags.verdict));
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, Client::Connect(context));
  ConcurrenceResult result;
  CONCUR_ASSIGN_OR_RETURN(const std::unique_ptr<Question> question,
                          LoadQuestion(context, *client, flags, result.check));
  Run run{context, *client, flags, *question, {}};
  CONCUR_ASSIGN_OR_RETURN(const Expansion expansion, Expansion::Make(question->loaded.spec));
  CONCUR_ASSIGN_OR_RETURN(run.grid, GridOf(expansion));
  if (flags.hours.has_value()) {
    run.deadline = absl::Now() + absl::Hours(1) * *flags.hours;
  }
  result.added = question->added;
  result.reference = question->reference;
  CONCUR_RETURN_IF_ERROR(Ask(run, result));
  CONCUR_RETURN_IF_ERROR(WriteVerdict(flags, result));
  if (context.output == OutputMode::kTable) {
    context.out << VerdictText(result);
  } else {
    PrintDetails(context, {}, VerdictJson(result));
  }
  return absl::OkStatus();
}

}  // namespace

void AddConcurrenceCommand(Command& app, CommandContext& context) {
  Command* const command = app.AddSubcommand(
      "concurrence",
      "Does a new benchmark rank approaches as a known one does?\n"
      "Checks the new benchmark, runs a panel of approaches on both until the answer is known, and "
      "ends with a verdict on tau-b. The same command again goes on where it was interrupted.");
  const auto flags = std::make_shared<ConcurrenceFlags>();
  command->AddOption("new", flags->added, "A benchmark file (kind: Benchmark)")->TypeName("NEW");
  command
      ->AddOption("--with", flags->with,
                  "What to compare it with: a benchmark file, a benchmark of a sweep of this "
                  "coordinator, by name, or published:NAME, published scores of 20 approaches")
      ->TypeName("REFERENCE");
  command
      ->AddOption("--panel", flags->panel,
                  "A sweep file whose benchmarks are [\"${new}\", \"${reference}\"] (default: ten "
                  "cheap approaches; with published:NAME [\"${new}\"], by default all published)")
      ->TypeName("FILE");
  command->AddOption("--var", flags->variables, "Sets a variable of these files")
      ->TypeName("NAME=VALUE")
      ->OneValueEach();
  command->AddOption("--above", flags->verdict.above, "The tau that counts as high concurrence")
      ->ShowDefault();
  command->AddOption("--within", flags->verdict.within, "Stop also when tau is known to ± this")
      ->TypeName("W");
  command->AddOption("--level", flags->verdict.level, "Level of the verdict, over all looks")
      ->ShowDefault();
  command
      ->AddOption("--hours", flags->hours,
                  "Stop, and cancel the rest, after so many hours of this command")
      ->TypeName("HOURS");
  AddFamiliesOption(command, flags->verdict.bootstrap.families);
  command->AddOption("--order-seed", flags->seed, "Seed of the order of approaches")->ShowDefault();
  command->AddFlag("--no-check", flags->no_check,
                   "Leave out the checks of the new benchmark's data, floor and ceiling");
  command->AddOption("--html", flags->html, "Write the verdict as one HTML page")->TypeName("FILE");
  command->AddOption("--badge", flags->badge, "Write tau and the verdict as an SVG badge")
      ->TypeName("FILE");
  command->AddFlag("--list", flags->list,
                   "List what was asked on this coordinator, newest first, and run nothing");
  command->Footer(
      "Examples:\n"
      "  concur concurrence --list\n"
      "  concur concurrence mine.yaml --with squad.yaml\n"
      "  concur concurrence mine.yaml --with squad --within 0.15 --hours 2\n"
      "  concur concurrence mine.yaml --with squad --html page.html --badge tau.svg");
  OnRun(command, context, [flags, &context] { return RunConcurrence(context, *flags); });
}

}  // namespace concur::cli
