// SPDX-License-Identifier: Apache-2.0
#include "qa/results/leaderboard_columns.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/table/table_text.h"
#include "base/table/words.h"
#include "qa/results/column_names.h"
#include "qa/results/reader.h"

namespace concur::imports {
namespace {

// Names of properties that are benchmarks, too: numbers that can be scores are scores.
constexpr absl::string_view kEitherNames =
    "|code|type|t|precision|context|source|tag|zero-shot|category|domain|correct|";
constexpr absl::string_view kModelNames =
    "|model|model name|model/adapter|models|eval name|fullname|full model name|approach|system|"
    "method|submission|name|entry|algorithm|encoder|agent|";
constexpr absl::string_view kTaskNames =
    "|task|scenario|benchmark|dataset|task name|test|test set|benchmark name|evaluation|subject|";
// First words of the names of columns of tasks, where no column is called a model.
constexpr absl::string_view kTaskWords =
    "|task|tasks|dataset|datasets|benchmark|benchmarks|scenario|evaluation|eval|evals|test|tests|"
    "suite|subject|subset|metric|metrics|";
constexpr absl::string_view kBenchmarkWords =
    "|mmlu|gsm8k|math|bbh|hellaswag|arc|humaneval|mbpp|truthfulqa|winogrande|squad|piqa|boolq|glue|"
    "superglue|sst|cola|mnli|qqp|qnli|rte|mrpc|race|drop|triviaqa|naturalquestions|hotpotqa|gpqa|"
    "ifeval|musr|agieval|ceval|cmmlu|mgsm|lambada|openbookqa|siqa|commonsenseqa|copa|imagenet|aime|"
    "livecodebench|mmmu|docvqa|chartqa|textvqa|xquad|xnli|newsqa|searchqa|";
constexpr absl::string_view kModelWords =
    "|gpt|chatgpt|llama|llama2|llama3|mistral|mixtral|qwen|qwen2|claude|gemini|gemma|bert|roberta|"
    "deberta|electra|xlnet|albert|t5|flan|phi|falcon|opt|bloom|vicuna|deepseek|palm|pythia|grok|"
    "chatglm|internlm|baichuan|olmo|bidaf|";

std::vector<std::string> WordsOf(absl::string_view name) {
  std::string plain = absl::AsciiStrToLower(name);
  for (char& c : plain) {
    c = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ? c : ' ';
  }
  return absl::StrSplit(plain, ' ', absl::SkipEmpty());
}

bool SoundsLikeBenchmark(absl::string_view name) {
  const std::vector<std::string> words = WordsOf(name);
  return NamesAggregate(name) || std::any_of(words.begin(), words.end(), [](const auto& word) {
           return HasWord(kBenchmarkWords, word);
         });
}

// By a model's family or its size, "7b", "350m"; "Model A".
bool SoundsLikeModel(absl::string_view name) {
  const std::vector<std::string> words = WordsOf(name);
  if (words.size() == 2 && words[0] == "model" && words[1].size() == 1) {
    return true;
  }
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    double size = 0;
    return HasWord(kModelWords, word) ||
           (absl::StrContains("bm", word.back()) &&
            absl::SimpleAtod(absl::string_view(word).substr(0, word.size() - 1), &size));
  });
}

// The column that is called like one of `names`, in their order.
std::optional<size_t> NamedColumn(const LeaderboardTable& table, absl::string_view names) {
  for (const absl::string_view name : absl::StrSplit(names, '|', absl::SkipEmpty())) {
    for (size_t c = 0; c < table.header.size(); ++c) {
      if (PlainName(table.header[c]) == name) {
        return c;
      }
    }
  }
  return std::nullopt;
}

std::optional<size_t> ModelColumn(const LeaderboardTable& table, const ReadOptions& options) {
  for (size_t c = 0; c < table.header.size() && !options.model_column.empty(); ++c) {
    if (table.header[c] == options.model_column) {
      return c;
    }
  }
  return NamedColumn(table, kModelNames);
}

// The column of models where none is called so: the first, unless it has numbers and a later one
// has names.
size_t FirstNames(const LeaderboardTable& table) {
  for (size_t c = 0; c < table.header.size(); ++c) {
    if (table.columns[c].words > table.columns[c].numbers && !NamesIncidental(table.header[c]) &&
        !NamesOccasion(table.header[c])) {
      return c;
    }
  }
  return 0;
}

// Scores, and at most as many words, which are left out and counted.
bool IsNumeric(const CellColumn& column) {
  return column.numbers > 0 && column.numbers >= column.words;
}

// Between 0 and 100, and not only of 0 and 1.
bool CanBeScores(const CellColumn& column) {
  bool has_other = false;
  for (const Cell& cell : column.cells) {
    if (cell.kind == CellKind::kNumber) {
      if (cell.value() < 0 || cell.value() > 100) {
        return false;
      }
      has_other = has_other || (cell.value() != 0 && cell.value() != 1);
    }
  }
  return has_other;
}

void Append(std::string& why, absl::string_view more) {
  if (!more.empty()) {
    absl::StrAppend(&why, why.empty() ? "" : "; ", more);
  }
}

// The scores of the rows that have one in every column: rows × columns.
Eigen::MatrixXd CompleteScores(const std::vector<ScoreColumn>& columns) {
  std::vector<size_t> complete;
  for (size_t r = 0; r < columns[0].size(); ++r) {
    if (std::all_of(columns.begin(), columns.end(),
                    [r](const ScoreColumn& column) { return column[r].has_value(); })) {
      complete.push_back(r);
    }
  }
  Eigen::MatrixXd scores(complete.size(), columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t r = 0; r < complete.size(); ++r) {
      scores(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) = *columns[c][complete[r]];
    }
  }
  return scores;
}

// True if column `of` is, but for rounding, a mean of some of the others with positive weights: a
// regression on the others explains it wholly, its weights add to about one, and none is below
// zero. (A single benchmark is explained by the mean and the others, too, with weights below zero.)
// `products`: sums over rows of products of two columns, each less its mean.
bool IsMeanOfColumns(const Eigen::MatrixXd& products, Eigen::Index of) {
  std::vector<Eigen::Index> others;
  for (Eigen::Index i = 0; i < products.cols(); ++i) {
    if (i != of) {
      others.push_back(i);
    }
  }
  const double total = products(of, of);
  const Eigen::MatrixXd a = products(others, others);
  const Eigen::VectorXd b = products(others, of);
  const Eigen::LDLT<Eigen::MatrixXd> factor(a);
  if (total == 0 || factor.vectorD().cwiseAbs().minCoeff() < 1e-9) {
    return false;
  }
  const Eigen::VectorXd weights = factor.solve(b);
  // In units of the mean's own spread: a column in another unit may have any weight.
  const auto spreads = weights.array().square() * a.diagonal().array();
  if ((weights.array() < 0 && spreads > 4e-4 * total).any()) {
    return false;
  }
  const double left = total - weights.dot(b);
  return (weights.array() > 0.02).count() >= 3 && left < 1e-4 * total && weights.sum() > 0.9 &&
         weights.sum() < 1.1;
}

// The part after " - ", as in "NarrativeQA - F1".
std::string MetricIn(absl::string_view name) {
  const size_t dash = name.rfind(" - ");
  return dash == absl::string_view::npos ? "score" : std::string(name.substr(dash + 3));
}

constexpr size_t kComparedMax = 200;  // columns
constexpr absl::string_view kMetricNames = "|metric|metric name|measure|";

absl::Status CheckNamed(const LeaderboardTable& table, const std::vector<std::string>& names,
                        absl::string_view option, absl::string_view path) {
  for (const std::string& name : names) {
    if (std::find(table.header.begin(), table.header.end(), name) == table.header.end()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":1: ", option, ": no column \"", name,
                                                     "\"", DidYouMean(name, table.header)));
    }
  }
  return absl::OkStatus();
}

ScoreColumn ScoresOf(const CellColumn& column) {
  ScoreColumn scores;
  scores.reserve(column.cells.size());
  for (const Cell& cell : column.cells) {
    scores.push_back(cell.kind == CellKind::kNumber ? std::optional(cell.value()) : std::nullopt);
  }
  return scores;
}

// An uncertainty by its name, unless its cells are scores with their margins: "MMLU (± std)".
bool IsUncertainty(const LeaderboardTable& table, size_t column) {
  const std::vector<Cell>& cells = table.columns[column].cells;
  return NamesUncertainty(table.header[column], table.header) &&
         std::none_of(cells.begin(), cells.end(), [](const Cell& cell) { return cell.has_margin; });
}

// Brings each column of scores to one unit, and says what was assumed of it.
void SettleScores(LeaderboardTable& table, std::vector<ColumnPlan>& plan) {
  for (size_t c = 0; c < plan.size(); ++c) {
    CellColumn& column = table.columns[c];
    if (plan[c].kind != ColumnKind::kScore) {
      continue;
    }
    std::vector<Cell*> cells;
    double most = 0;
    for (Cell& cell : column.cells) {
      cells.push_back(&cell);
      most = cell.kind == CellKind::kNumber ? std::max(most, cell.value()) : most;
    }
    const bool is_percent = SettlePercent(cells, column.remarks);
    if (is_percent || (most > 1 && (absl::StrContains(table.header[c], "(%)") ||
                                    absl::StrContains(table.header[c], "[%]")))) {
      plan[c].meaning.scale.kind = Scale::Kind::kPercent;
    }
    if (is_percent || plan[c].meaning.goal == Goal::kMaximize) {
      RemarkOnFractions(cells, column.remarks);
    }
    for (const std::string& remark : column.remarks) {
      Append(plan[c].why, remark);
    }
    if (column.words > 0) {
      Append(plan[c].why, absl::StrCat(column.words, column.words == 1 ? " word is" : " words are",
                                       " left out"));
    }
  }
}

// The column whose values all state a goal.
std::optional<size_t> GoalColumn(const LeaderboardTable& table) {
  for (size_t c = 0; c < table.header.size(); ++c) {
    size_t goals = 0;
    size_t values = 0;
    for (const LeaderboardTable::Row& row : table.rows) {
      values += row.fields[c].empty() ? 0 : 1;
      goals += StatedGoal(table.header[c], row.fields[c]).has_value() ? 1 : 0;
    }
    if (goals > 0 && goals == values) {
      return c;
    }
  }
  return std::nullopt;
}

// The columns of a long table that go by their names.
LongColumns NamedLongColumns(const LeaderboardTable& table) {
  LongColumns columns;
  columns.metric = NamedColumn(table, kMetricNames);
  for (size_t c = 0; c < table.header.size() && !columns.repeat.has_value(); ++c) {
    columns.repeat = HasRepeats(table, c) ? std::optional(c) : std::nullopt;
  }
  columns.goal = GoalColumn(table);
  columns.standard_error = NamedColumn(table, "|stderr|standard error|std err|se|std error|");
  columns.examples = NamedColumn(table, "|examples|n|samples|n samples|num samples|");
  return columns;
}

// The column of tasks of a table with tasks in rows; nothing when models are in rows.
absl::StatusOr<std::optional<LongColumns>> FindTasksInRows(const LeaderboardTable& table,
                                                           const ReadOptions& options,
                                                           absl::string_view path) {
  LongColumns columns;
  columns.metric = NamedColumn(table, kMetricNames);
  std::optional<size_t> task;
  for (size_t c = 0; c < table.header.size(); ++c) {
    const std::vector<std::string> words = WordsOf(table.header[c]);
    if (!task && !words.empty() && HasWord(kTaskWords, words[0]) && table.columns[c].numbers == 0 &&
        (columns.metric != c || c == 0)) {
      task = c;
    }
  }
  if (columns.metric == task) {
    columns.metric.reset();
  }
  if (options.rows == "models" || (options.rows.empty() && !options.model_column.empty())) {
    return std::optional<LongColumns>();
  }
  const std::optional<size_t> model = NamedColumn(table, kModelNames);
  columns.task = task.value_or(model.value_or(0));
  if (options.rows == "tasks") {
    columns.why = "--rows tasks";
    return std::optional(columns);
  }
  // Names of models above and of benchmarks at the left, less those that say the contrary.
  int turned = 0;
  int above = 0;
  for (size_t c = 0; c < table.header.size(); ++c) {
    above += c != columns.task && SoundsLikeModel(table.header[c]) ? 1 : 0;
    turned -= c != columns.task && SoundsLikeBenchmark(table.header[c]) ? 1 : 0;
  }
  int left = 0;
  for (const LeaderboardTable::Row& row : table.rows) {
    left += SoundsLikeBenchmark(row.fields[columns.task]) ? 1 : 0;
    turned -= SoundsLikeModel(row.fields[columns.task]) ? 1 : 0;
  }
  turned += above + left;
  if (model.has_value()) {
    if (turned >= 3 && above > 0 && left > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ":1: the column \"", table.header[*model],
          "\" has names of benchmarks, and the header names of models; --rows tasks or --rows "
          "models says what the rows are"));
    }
    return std::optional<LongColumns>();
  }
  columns.why = absl::StrCat("a guess: rows are tasks, by ",
                             task ? absl::StrCat("the column \"", table.header[*task], "\"")
                                  : "the names in rows and header",
                             "; --rows models");
  return task || turned >= 2 ? std::optional(columns) : std::nullopt;
}

}  // namespace

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void RemarkOnFractions(const std::vector<Cell*>& cells, std::vector<std::string>& remarks) {
  size_t numbers = 0;
  size_t small = 0;
  double least = 0;
  double largest_small = 0;
  double next = 101;  // the least number above 1
  double most = 0;
  for (const Cell* cell : cells) {
    if (cell->kind == CellKind::kNumber) {
      const double value = cell->value();
      ++numbers;
      if (value > 0 && value <= 1) {
        ++small;
        largest_small = std::max(largest_small, value);
      } else if (value > 1) {
        next = std::min(next, value);
      }
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  // Low percents, such as .8 beside 2 and 5, have others near them.
  if (small > 0 && least >= 0 && next >= 10 * largest_small && most > 10 && most <= 100) {
    remarks.push_back(absl::StrCat(small, " of ", numbers,
                                   " numbers are at most 1: read in the unit of the others, which "
                                   "are percent, a guess"));
  }
}

bool HasRepeats(const LeaderboardTable& table, size_t column) {
  if (!NamesRepeat(table.header[column])) {
    return false;
  }
  std::set<std::string> values;
  std::set<std::string> words;  // in the values, without their digits
  size_t rows = 0;
  bool have_digits = true;
  for (const LeaderboardTable::Row& row : table.rows) {
    std::string word = row.fields[column];
    if (ParseCell(word).kind != CellKind::kGap) {
      ++rows;
      values.insert(word);
      const size_t size = word.size();
      std::erase_if(word, [](unsigned char c) { return absl::ascii_isdigit(c); });
      have_digits = have_digits && word.size() < size;
      words.insert(std::move(word));
    }
  }
  return words.size() <= 1 || (have_digits && values.size() == rows);
}

void ReadColumns(LeaderboardTable& table) {
  table.columns.clear();
  std::vector<absl::string_view> fields(table.rows.size());
  for (size_t c = 0; c < table.header.size(); ++c) {
    for (size_t r = 0; r < table.rows.size(); ++r) {
      fields[r] = table.rows[r].fields[c];
    }
    table.columns.push_back(ReadCells(fields, table.separator));
  }
}

NamedGoal GoalInName(absl::string_view name) {
  NamedGoal named;
  named.name = CleanText(absl::StrReplaceAll(name, {{"(↑)", ""},
                                                    {"(↓)", ""},
                                                    {" ↑", ""},
                                                    {" ↓", ""},
                                                    {"↑", ""},
                                                    {"↓", ""},
                                                    {"⬆️", ""},
                                                    {"⬇️", ""}}));
  const std::string plain = absl::AsciiStrToLower(name);
  const bool is_lower = absl::StrContains(name, "↓") || absl::StrContains(name, "⬇️") ||
                        absl::StrContains(plain, "lower is better") ||
                        absl::StrContains(plain, "lower better");
  const bool is_higher = absl::StrContains(name, "↑") || absl::StrContains(name, "⬆️") ||
                         absl::StrContains(plain, "higher is better") ||
                         absl::StrContains(plain, "higher better");
  if (is_lower != is_higher) {
    named.goal = is_lower ? Goal::kMinimize : Goal::kMaximize;
    named.is_stated = true;
  } else if (UsuallyMinimized(named.name)) {
    named.goal = Goal::kMinimize;
  }
  return named;
}

absl::Status CheckModelColumn(const LeaderboardTable& table, const ReadOptions& options,
                              absl::string_view path) {
  return options.model_column.empty()
             ? absl::OkStatus()
             : CheckNamed(table, {options.model_column}, "--model-column", path);
}

absl::StatusOr<std::vector<ColumnPlan>> PlanColumns(LeaderboardTable& table,
                                                    const ReadOptions& options,
                                                    absl::string_view path) {
  CONCUR_RETURN_IF_ERROR(CheckNamed(table, options.leave_out, "--leave-out", path));
  CONCUR_RETURN_IF_ERROR(CheckNamed(table, options.keep, "--keep", path));
  const std::optional<size_t> named = ModelColumn(table, options);
  const size_t model = named.value_or(FirstNames(table));
  std::vector<ColumnPlan> plan(table.header.size());
  std::set<std::string> names;
  for (size_t c = 0; c < table.header.size(); ++c) {
    const std::string& header = table.header[c];
    const CellColumn& cells = table.columns[c];
    ColumnPlan& column = plan[c];
    column.name = TagName(header);
    if (c == model) {
      column.kind = ColumnKind::kModel;
      column.name = header;
      column.why =
          named ? "" : "a guess: no column is called a model; --model-column, --rows tasks";
      continue;
    }
    const bool is_either = HasWord(kEitherNames, PlainName(header));
    if (!Has(options.keep, header)) {
      if (Has(options.leave_out, header)) {
        column.why = "--leave-out";
        continue;
      }
      if (cells.numbers == 0) {
        column.why = cells.words == 0 ? "no values" : "words";
        continue;
      }
      if (!IsNumeric(cells)) {
        column.why = absl::StrCat(cells.words, " words; its ", cells.numbers,
                                  " numbers are left out but for --keep");
        continue;
      }
      if (NamesAggregate(header)) {
        column.kind = ColumnKind::kAggregate;
        column.name = header;
        column.why = "a column that is called a mean or an overall score";
        continue;
      }
      if (IsUncertainty(table, c)) {
        column.why = "a guess: an uncertainty by its name; --keep makes it a benchmark";
        continue;
      }
      const bool is_losses = PlainName(header) == "loss" && NamedColumn(table, "|win|wins|");
      // "errors ↓" says that it is a score.
      const bool is_score = HasWord("|errors|mistakes|failures|refusals|", PlainName(header)) &&
                            GoalInName(header).is_stated;
      if (is_either ? !CanBeScores(cells) : is_losses || (NamesTag(header) && !is_score)) {
        column.why = "a guess by its name; --keep makes it a benchmark";
        continue;
      }
    }
    column.kind = ColumnKind::kScore;
    const NamedGoal goal = GoalInName(header);
    column.name = names.insert(goal.name).second ? goal.name : header;
    column.metric = MetricIn(column.name);
    column.meaning.goal = goal.goal;
    column.is_goal_stated = goal.is_stated;
    if (is_either && !Has(options.keep, header)) {
      Append(column.why, "a guess: it may be a property; --leave-out makes it one");
    }
  }
  // The only result may be called a mean, also beside an error rate or a latency.
  const auto is_score = [](const ColumnPlan& column) { return column.kind == ColumnKind::kScore; };
  const bool has_more = std::any_of(plan.begin(), plan.end(), [&](const ColumnPlan& column) {
    return is_score(column) && column.meaning.goal == Goal::kMaximize;
  });
  if (!has_more && std::count_if(plan.begin(), plan.end(), is_score) < 2) {
    for (ColumnPlan& column : plan) {
      if (column.kind == ColumnKind::kAggregate &&
          !absl::StrContains(PlainName(column.name), "rank")) {
        column.kind = ColumnKind::kScore;
        column.why = "a guess: a mean by its name, but there is no other score; --leave-out";
      }
    }
  }
  SettleScores(table, plan);
  std::vector<size_t> candidates;
  std::vector<ScoreColumn> scores;
  for (size_t c = 0; c < plan.size(); ++c) {
    if (is_score(plan[c])) {
      candidates.push_back(c);
    }
  }
  for (const size_t c : candidates.size() <= kComparedMax ? candidates : std::vector<size_t>()) {
    scores.push_back(ScoresOf(table.columns[c]));
  }
  for (const size_t i : MeansOfOthers(scores)) {
    ColumnPlan& column = plan[candidates[i]];
    if (!Has(options.keep, table.header[candidates[i]])) {
      column.kind = ColumnKind::kAggregate;
      column.why = "a column that is a mean of others";
    }
  }
  return plan;
}

std::vector<size_t> MeansOfOthers(const std::vector<ScoreColumn>& columns) {
  std::vector<size_t> means;
  if (columns.size() < 4 || columns.size() > kComparedMax) {
    return means;
  }
  const Eigen::MatrixXd scores = CompleteScores(columns);
  // With fewer rows a regression explains anything.
  if (scores.rows() < scores.cols() + 5) {
    return means;
  }
  const Eigen::MatrixXd centred = scores.rowwise() - scores.colwise().mean();
  const Eigen::MatrixXd products = centred.transpose() * centred;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (IsMeanOfColumns(products, static_cast<Eigen::Index>(i))) {
      means.push_back(i);
    }
  }
  return means;
}

std::optional<LongColumns> FindLongColumns(const LeaderboardTable& table,
                                           const ReadOptions& options) {
  const std::optional<size_t> model = ModelColumn(table, options);
  const std::optional<size_t> task = NamedColumn(table, kTaskNames);
  if (!model.has_value() || !task.has_value() || *model == *task) {
    return std::nullopt;
  }
  LongColumns columns = NamedLongColumns(table);
  columns.model = *model;
  columns.task = *task;
  if (const auto score = NamedColumn(table, "|score|value|result|metric value|")) {
    columns.scores = {*score};
    return columns;
  }
  for (size_t c = 0; c < table.header.size(); ++c) {
    const bool is_property = NamesTag(table.header[c]) || IsUncertainty(table, c);
    if (c != *model && c != *task && columns.repeat != c && columns.standard_error != c &&
        columns.examples != c && columns.goal != c &&
        (!is_property || Has(options.keep, table.header[c])) &&
        !Has(options.leave_out, table.header[c]) && table.columns[c].numbers > 0 &&
        table.columns[c].words == 0) {
      columns.scores.push_back(c);
    }
  }
  // A table with a row for each model may have a column "Task", but then each model stands once;
  // and with several columns of numbers, models share their tasks.
  std::set<std::string> models;
  std::set<std::string> tasks;
  for (const LeaderboardTable::Row& row : table.rows) {
    models.insert(row.fields[*model]);
    tasks.insert(row.fields[*task]);
  }
  const size_t rows = table.rows.size();
  const bool is_long = models.size() < rows && (columns.scores.size() == 1 || tasks.size() < rows);
  return !columns.scores.empty() && is_long ? std::optional(columns) : std::nullopt;
}

absl::StatusOr<std::optional<LongColumns>> TurnTasksInRows(LeaderboardTable& table,
                                                           const ReadOptions& options,
                                                           absl::string_view path,
                                                           size_t fields_max) {
  CONCUR_ASSIGN_OR_RETURN(std::optional<LongColumns> columns,
                          FindTasksInRows(table, options, path));
  if (!columns.has_value()) {
    return columns;
  }
  LeaderboardTable turned;
  turned.separator = table.separator;
  std::vector<size_t> about;  // the task
  const std::optional<size_t> goal = GoalColumn(table);
  std::vector<size_t> models;
  for (size_t c = 0; c < table.header.size(); ++c) {
    const bool is_model = c != columns->task && c != goal && IsNumeric(table.columns[c]) &&
                          columns->metric != c && !NamesTag(table.header[c]) &&
                          !IsUncertainty(table, c) && PlainName(table.header[c]) != "version" &&
                          !Has(options.leave_out, table.header[c]) &&
                          (!NamesAggregate(table.header[c]) || Has(options.keep, table.header[c]));
    (is_model ? models : about).push_back(c);
  }
  if (models.empty()) {
    return std::optional<LongColumns>();
  }
  const size_t width = about.size() + 2;
  if (table.rows.size() * models.size() > fields_max / width) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected at most ", fields_max, " fields, got ", table.rows.size(),
                     " tasks of ", models.size(), " models; import a part of them"));
  }
  for (const size_t c : about) {
    turned.header.push_back(table.header[c]);
  }
  turned.header.insert(turned.header.end(), {"model", "score"});
  turned.columns.resize(width);
  for (const size_t model : models) {
    for (size_t r = 0; r < table.rows.size(); ++r) {
      LeaderboardTable::Row row;
      row.line = table.rows[r].line;
      for (const size_t c : about) {
        row.fields.push_back(table.rows[r].fields[c]);
      }
      row.fields.push_back(table.header[model]);
      row.fields.push_back(table.rows[r].fields[model]);
      turned.rows.push_back(std::move(row));
      turned.columns.back().cells.push_back(table.columns[model].cells[r]);
    }
    for (const std::string& remark : table.columns[model].remarks) {
      turned.columns.back().remarks.push_back(absl::StrCat(table.header[model], ": ", remark));
    }
  }
  const std::string task = table.header[columns->task];
  table = std::move(turned);
  LongColumns turned_columns;
  turned_columns.metric = NamedColumn(table, kMetricNames);
  turned_columns.goal = GoalColumn(table);
  turned_columns.task = static_cast<size_t>(
      std::find(table.header.begin(), table.header.end(), task) - table.header.begin());
  turned_columns.model = width - 2;
  turned_columns.scores = {width - 1};
  turned_columns.why = columns->why;
  return std::optional(turned_columns);
}

}  // namespace concur::imports
