// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/score_options.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/output/print.h"

namespace concur::cli {

void ThreadedFor(size_t count, const std::function<void(size_t)>& body) {
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<size_t> next = 0;
  const auto work = [&](const std::function<void()>& after_each) {
    for (size_t i = next++; i < count; i = next++) {
      body(i);
      after_each();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(count, processors); ++i) {
    threads.emplace_back(work, [] {});
  }
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  const absl::Time begin = absl::Now();
  absl::Time next_line = begin + absl::Seconds(2);
  bool is_shown = false;
  work([&] {
    const absl::Time now = absl::Now();
    if (is_terminal && now >= next_line) {
      const double share =
          static_cast<double>(std::min(next.load(), count)) / static_cast<double>(count);
      std::cerr << absl::StrFormat("\r\x1b[Kcomputing: %.0f %%, %s left", 100 * share,
                                   SpanText((now - begin) * (1 / share - 1)))
                << std::flush;
      is_shown = true;
      next_line = now + absl::Milliseconds(500);
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::cerr << (is_shown ? "\r\x1b[K" : "") << std::flush;
}

void AddMinimizeOption(Command* command, ScoreFileFlags& flags) {
  command
      ->AddOption("--minimize", flags.minimize,
                  "Benchmarks of which less is better, \"*\" for any text; a row \"#goal\" of the "
                  "file, or the sweep, may say it too")
      ->TypeName("NAME[,...]")
      ->OneValueEach();
}

void AddScoreFileOptions(Command* command, ScoreFileFlags& flags) {
  AddMinimizeOption(command, flags);
  command
      ->AddOption("--key", flags.keys,
                  "A column of the file that tells rows with one name apart; may be repeated")
      ->TypeName("COLUMN")
      ->OneValueEach();
  command
      ->AddOption("--deviation", flags.deviation,
                  "Suffixes of the file's columns of means and of their standard deviations: with "
                  "_mean,_sd the columns A_mean and A_sd are one, A")
      ->TypeName("MEAN,SD");
  command
      ->AddOption("--deviation-seeds", flags.deviation_seeds,
                  "Number of seeds behind these standard deviations")
      ->ShowDefault();
}

void AddReferenceOption(Command* command, std::vector<std::string>& texts) {
  command
      ->AddOption(
          "--reference", texts,
          "Scores to show beside the others, unranked, such as people's: an approach (\"*\" "
          "for any text), a tag of benchmarks that holds them, or NAME=SCORE or "
          "NAME=BENCHMARK:SCORE,...; may be repeated")
      ->TypeName("NAME[=SCORES]")
      ->OneValueEach();
}

void AddTrainColumnOption(Command* command, ScoreFileFlags& flags) {
  command
      ->AddOption("--train", flags.train_column,
                  "The file's column that says what was trained on (default: train)")
      ->TypeName("COLUMN");
}

void AddSelectOption(Command* command, std::string& select, absl::string_view rules) {
  command
      ->AddOption("--select", select,
                  absl::StrCat("How the settings of a sweep become one score: ", rules,
                               " (default: as the sweep says)"))
      ->TypeName("RULE");
}

absl::StatusOr<SweepTableOptions> TableOptionsOf(const ScoreFileFlags& flags,
                                                 const std::string& select, analysis::Layout layout,
                                                 const std::vector<std::string>& columns) {
  SweepTableOptions options;
  options.select = select;
  options.layout = layout;
  CONCUR_ASSIGN_OR_RETURN(options.minimize, SplitAllNames("--minimize", flags.minimize));
  CONCUR_ASSIGN_OR_RETURN(options.columns, SplitAllNames("--columns", columns));
  return options;
}

absl::Status ApplyMinimize(const ScoreFileFlags& flags, analysis::ScoreTable& table) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> patterns,
                          SplitAllNames("--minimize", flags.minimize));
  return table.Minimize(patterns);
}

absl::Status ApplyMinimize(const ScoreFileFlags& flags, analysis::ExampleRuns& runs) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> patterns,
                          SplitAllNames("--minimize", flags.minimize));
  return analysis::Minimize(patterns, runs);
}

absl::StatusOr<analysis::ScoreTable> ReadScores(const std::string& path,
                                                const ScoreFileFlags& flags,
                                                CommandContext& context) {
  constexpr int64_t kScoresBytesMax = int64_t{1} << 30;
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kScoresBytesMax));
  if (absl::StartsWith(text, "{") || absl::StartsWith(text, "[{")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ":1: expected CSV, got JSON; results of other programs: concur bundle convert"));
  }
  analysis::ScoresCsvOptions options;
  options.keys = flags.keys;
  CONCUR_ASSIGN_OR_RETURN(options.with_goal, SplitAllNames("--minimize", flags.minimize));
  options.train_column = flags.train_column;
  if (!flags.deviation.empty()) {
    const std::vector<std::string> suffixes = absl::StrSplit(flags.deviation, ',');
    if (suffixes.size() != 2 || suffixes[1].empty() || suffixes[0] == suffixes[1]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--deviation: expected two suffixes, MEAN,SD, got \"", flags.deviation, "\""));
    }
    if (flags.deviation_seeds < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("--deviation-seeds: expected at least 2, got ", flags.deviation_seeds));
    }
    options.deviations = {suffixes[0], suffixes[1], flags.deviation_seeds};
  }
  CONCUR_ASSIGN_OR_RETURN(analysis::ParsedScores parsed,
                          analysis::ParseScoresCsv(text, path, options));
  if (parsed.table.approaches().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":2: expected a line for each approach, got only the header"));
  }
  for (const std::string& warning : parsed.warnings) {
    context.err << "warning: " << warning << "\n";
  }
  return std::move(parsed.table);
}

void AddColumnsOption(Command* command, std::vector<std::string>& columns) {
  command
      ->AddOption("--columns", columns,
                  "Only these benchmarks, in this order; quote names that have commas")
      ->TypeName("A,B")
      ->OneValueEach();
}

absl::StatusOr<analysis::CellCosts> ReadCosts(const std::string& file,
                                              const analysis::ScoreTable& table,
                                              CommandContext& context) {
  if (file.empty()) {
    return analysis::EqualCosts(table);
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ScoreTable costs, ReadScores(file, {}, context));
  return analysis::MatchCosts(table, costs);
}

absl::StatusOr<analysis::ScoreTable> SelectColumns(analysis::ScoreTable table,
                                                   const std::vector<std::string>& columns) {
  if (columns.empty()) {
    return table;
  }
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          SplitAllNames("--columns", columns));
  return table.SelectBenchmarks(names);
}

void AddWhereOption(Command* command, std::vector<std::string>& where) {
  command
      ->AddOption("--where", where,
                  "Only approaches (or benchmarks) with a tag; repeat to ask for several")
      ->TypeName("TAG=VALUE")
      ->OneValueEach();
}

absl::StatusOr<std::vector<std::string>> SplitNames(const std::string& option,
                                                    const std::string& value) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<CsvRecord> records, ParseCsv(value, option));
  if (records.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": expected NAME[,NAME…]"));
  }
  std::vector<std::string> names;
  for (const std::string& field : records[0].fields) {
    names.emplace_back(absl::StripAsciiWhitespace(field));
    if (names.back().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, ": expected NAME[,NAME…], got an empty name in \"", value, "\""));
    }
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> SplitAllNames(const std::string& option,
                                                       const std::vector<std::string>& values) {
  std::vector<std::string> names;
  for (const std::string& value : values) {
    CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> part, SplitNames(option, value));
    names.insert(names.end(), part.begin(), part.end());
  }
  return names;
}

Option* AddIntervalOptions(Command* command, IntervalFlags& flags, const std::string& about) {
  Option* interval = command->AddOption("--interval", flags.level, about);
  command->AddOption("--replicates", flags.replicates, "Bootstrap replicates behind the intervals")
      ->ShowDefault();
  command->AddOption("--seed", flags.seed, "Seed of the replicates")->ShowDefault();
  return interval;
}

void AddFamiliesOption(Command* command, std::string& tag) {
  command
      ->AddOption("--families", tag,
                  "Approaches with the same value of this tag are relatives: intervals take whole "
                  "families (default: the tag \"family\" where there is one; none: no families)")
      ->TypeName("TAG");
}

void AddClusterOption(Command* command, std::string& value) {
  command
      ->AddOption("--cluster", value,
                  "Resample by question, passage or document (default: the coarsest that the data "
                  "has, with at least 10 groups)")
      ->TypeName("UNIT");
}

absl::StatusOr<std::optional<analysis::ExampleUnit>> UnitOf(const std::string& value) {
  if (value.empty()) {
    return std::optional<analysis::ExampleUnit>();
  }
  CONCUR_ASSIGN_OR_RETURN(const analysis::ExampleUnit unit, analysis::ParseExampleUnit(value));
  return std::optional(unit);
}

absl::StatusOr<std::optional<analysis::BootstrapOptions>> BootstrapOf(const IntervalFlags& flags) {
  if (!flags.level.has_value() || *flags.level == 0) {
    return std::optional<analysis::BootstrapOptions>();
  }
  analysis::BootstrapOptions options;
  options.level = *flags.level;
  options.replicates = flags.replicates;
  options.seed = flags.seed;
  options.parallel_for = ThreadedFor;
  CONCUR_RETURN_IF_ERROR(analysis::ValidateBootstrapOptions(options));
  return std::optional<analysis::BootstrapOptions>(std::move(options));
}

}  // namespace concur::cli
