// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/commands.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/machine.h"
#include "studies/readers/text/examples.h"
#include "studies/readers/text/tokenizer.h"
#include "studies/readers/text/vocabulary.h"
#include "studies/readers/text/word_vectors.h"
#include "studies/readers/training/checkpoint.h"
#include "studies/readers/training/model.h"
#include "studies/readers/training/settings.h"
#include "studies/readers/training/trainer.h"

namespace concur::readers {
namespace {

constexpr int64_t kHoldOutNth = 10;
// QANet's authors ignore rarer characters (READERS' configuration: min_count 200).
constexpr int64_t kCharacterCountMin = 200;

// Occurrences of each word, in the form that ids are looked up by, and of each character.
struct Occurrences {
  Counts words, characters;

  void Add(const BatchMaker& batches, const AnnotatedText& text, int64_t times) {
    for (const Token& token : text.tokens) {
      const absl::string_view word = token.In(text.text);
      words.Add(batches.WordForm(word), times);
      for (const absl::string_view character : CharactersOf(word)) {
        characters.Add(character, times);
      }
    }
  }
  // A question's passage is counted once.
  void Add(const BatchMaker& batches, const Examples& examples, int64_t times) {
    for (const AnnotatedText& passage : examples.passages) {
      Add(batches, passage, times);
    }
    for (const ExampleQuestion& question : examples.questions) {
      Add(batches, question.text, times);
    }
  }
};

// The width that ends a name like "glove.840B.300d".
int64_t WidthOf(absl::string_view vectors) {
  int64_t width = 0;
  absl::ConsumeSuffix(&vectors, "d");
  const size_t dot = vectors.rfind('.');
  return absl::SimpleAtoi(vectors.substr(dot == vectors.npos ? 0 : dot + 1), &width) && width > 0
             ? width
             : 300;
}

// The words that get ids, the most frequent first, then the rarer markers. Of those without a
// vector the approach may want none; where there are no vectors at all, words that occur once teach
// the vector of unknown ones.
Vocabulary WordsOf(const Counts& counts, const Inputs& inputs, const WordVectorRows* rows) {
  constexpr int64_t kKnownCountMin = 2;
  Vocabulary words;
  for (const std::string& word : counts.Ranked(rows == nullptr ? kKnownCountMin : 0)) {
    if (rows == nullptr || inputs.unknown_words != UnknownWords::kDropped ||
        !rows->Find(word).empty()) {
      words.Add(word);
    }
  }
  for (const std::string& word : counts.Ranked(0)) {
    if (IsMarker(word)) {
      words.Add(word);
    }
  }
  return words;
}

// A reader cannot tell words apart that have no vectors: says how many of the answers' words have
// one.
absl::Status CheckAnswerVectors(const TrainOptions& options, const BatchMaker& forms,
                                const Examples& train, const WordVectorRows& rows,
                                double percent_min) {
  constexpr double kPercentUsual = 90;
  int64_t words = 0;
  int64_t known = 0;
  for (const ExampleQuestion& question : train.questions) {
    const AnnotatedText& passage = train.passages[question.passage];
    for (int64_t i = 0; !question.answers.empty() && i < question.answers[0].size(); ++i) {
      const Token& token = passage.tokens[static_cast<size_t>(question.answers[0].first + i)];
      const std::string word(forms.WordForm(token.In(passage.text)));
      ++words;
      known += IsMarker(word) || !rows.Find(word).empty() ? 1 : 0;
    }
  }
  const double percent =
      words == 0 ? 100 : 100.0 * static_cast<double>(known) / static_cast<double>(words);
  const std::string found = absl::StrFormat("%.1f %% of the answers' words have a vector", percent);
  ReportStep(0, {{"answer_vectors", percent}});
  if (percent < percent_min) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.vectors, ": ", found, ", expected at least ", percent_min,
                     "; give vectors of more words, or --setting answer_vectors_min=0"));
  }
  Say(absl::StrCat(percent < kPercentUsual ? "warning: " : "", found));
  return absl::OkStatus();
}

// Vocabularies, network and word vectors of an untrained model.
absl::StatusOr<Model> NewModel(const Approach& approach, Plan plan, const TrainOptions& options,
                               const Examples& train, const Examples& validation) {
  const BatchMaker forms(approach.inputs, {}, {});
  Occurrences seen;
  seen.Add(forms, train, 1);
  seen.Add(forms, validation, 0);  // known, but not frequent
  const std::vector<std::string> ranked = seen.words.Ranked(0);
  std::optional<WordVectorRows> rows;
  Model model{&approach, std::move(plan), options.seed, options.word_dim, forms, nullptr};
  if (options.vectors == kNotGiven) {
    model.word_dim = model.word_dim > 0 ? model.word_dim : WidthOf(model.plan.settings.vectors);
    model.plan.settings.tuned_words = -1;
  } else {
    CONCUR_ASSIGN_OR_RETURN(
        rows, WordVectorRows::Read(options.vectors, options.word_dim,
                                   absl::flat_hash_set<std::string>(ranked.begin(), ranked.end()),
                                   model.plan.settings.vectors_case));
    model.word_dim = rows->width();
    const auto known = std::count_if(ranked.begin(), ranked.end(), [&](const std::string& word) {
      return !rows->Find(word).empty();
    });
    Say(absl::StrCat(known, " of ", ranked.size(), " words have a vector of ", model.word_dim,
                     " numbers"));
    CONCUR_RETURN_IF_ERROR(
        CheckAnswerVectors(options, forms, train, *rows, model.plan.settings.answer_vectors_min));
  }
  const Vocabulary words =
      WordsOf(seen.words, approach.inputs, rows.has_value() ? &*rows : nullptr);
  CONCUR_ASSIGN_OR_RETURN(
      Vocabulary characters,
      Vocabulary::FromEntries(seen.characters.Ranked(
          approach.inputs.characters == Characters::kVocabulary ? kCharacterCountMin : 1)));
  model.batches = BatchMaker(approach.inputs, words, std::move(characters));
  CONCUR_RETURN_IF_ERROR(model.MakeNetwork());
  if (!rows.has_value()) {
    const std::vector<torch::Tensor> parameters = model.network->parameters();
    const torch::Tensor table = model.network->WordVectors();
    const bool trained =
        std::any_of(parameters.begin(), parameters.end(),
                    [&](const torch::Tensor& parameter) { return parameter.is_same(table); });
    Say(absl::StrCat("no --vectors: random word vectors of ", model.word_dim, " numbers",
                     trained ? ", which are trained" : ""));
  }
  model.SetWordVectors(rows.has_value() ? &*rows : nullptr, 0);
  return model;
}

// Everything that the trained weights depend on.
absl::StatusOr<std::string> FingerprintOf(const TrainOptions& options, const Model& model) {
  Sha256 hash;
  hash.UpdateField(model.approach->name);
  for (const Options& values : {OptionsOf(model.plan.settings), model.plan.options}) {
    for (const auto& [name, value] : values.values()) {
      hash.UpdateField(absl::StrCat(name, "=", OptionText(value)));
    }
  }
  hash.UpdateField(absl::StrCat(options.seed, " ", options.machine.threads, " ", model.word_dim));
  for (const std::string& path : {options.train, options.dev}) {
    if (path != kNotGiven) {
      CONCUR_ASSIGN_OR_RETURN(const FileDigest digest, DigestFile(path));
      hash.UpdateField(digest.digest.ToHex());
    }
  }
  const torch::Tensor words = model.network->WordVectors().detach().contiguous();
  hash.UpdateField(absl::string_view(static_cast<const char*>(words.data_ptr()), words.nbytes()));
  return hash.Finish().ToHex();
}

std::string ProgressOf(const Epoch& epoch, int64_t epochs, size_t questions) {
  return absl::StrFormat(
      "epoch %d/%d: loss %.4f, validation EM %.2f F1 %.2f%s, %.1f s (%.0f questions/s)",
      epoch.number, epochs, epoch.loss, epoch.validation.exact_match, epoch.validation.f1,
      epoch.best ? " (best)" : "", epoch.seconds,
      static_cast<double>(questions) / std::max(1e-3, epoch.seconds));
}

std::string MetricsOf(const std::vector<Epoch>& epochs) {
  std::string lines;
  for (const Epoch& epoch : epochs) {
    const nlohmann::json line = {{"epoch", epoch.number},
                                 {"loss", epoch.loss},
                                 {"validation_exact_match", epoch.validation.exact_match},
                                 {"validation_f1", epoch.validation.f1},
                                 {"best", epoch.best}};
    absl::StrAppend(&lines, line.dump(), "\n");
  }
  return lines;
}

absl::Status Train(const TrainOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const Approach* approach, FindApproach(options.approach));
  CONCUR_ASSIGN_OR_RETURN(Plan plan, MakePlan(*approach, options.assignments));
  TrainingRun run;
  CONCUR_ASSIGN_OR_RETURN(run.time_max, TimeBudgetOf(options.time_budget));
  CONCUR_ASSIGN_OR_RETURN(run.device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(Annotator annotator, AnnotatorOf(approach->inputs));
  CONCUR_ASSIGN_OR_RETURN(Examples examples, ReadExamples(options.train, annotator));
  Split split;
  if (options.dev == kNotGiven) {
    split = HoldOut(std::move(examples), kHoldOutNth, options.seed);
  } else {
    CONCUR_ASSIGN_OR_RETURN(split.held_out, ReadExamples(options.dev, annotator));
    split.train = std::move(examples);
  }
  if (split.train.questions.empty() || split.held_out.questions.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.train, ": expected at least two questions, or --dev"));
  }
  Say(absl::StrCat(approach->name, ": ", split.train.questions.size(), " questions to train on, ",
                   split.held_out.questions.size(), " to validate on"));
  CONCUR_ASSIGN_OR_RETURN(
      Model model, NewModel(*approach, std::move(plan), options, split.train, split.held_out));
  CONCUR_RETURN_IF_ERROR(MakeDirectories(options.model));
  CONCUR_ASSIGN_OR_RETURN(run.fingerprint, FingerprintOf(options, model));
  run.checkpoint = CheckpointPath(options.model, run.fingerprint);
  run.progress = Say;
  run.epoch_ended = [&](const Epoch& epoch) {
    Say(ProgressOf(epoch, model.plan.settings.epochs, split.train.questions.size()));
    ReportStep(epoch.number, {{"loss", epoch.loss},
                              {"validation_exact_match", epoch.validation.exact_match},
                              {"validation_f1", epoch.validation.f1}});
  };
  const Termination termination;
  run.interrupted = [](int64_t /*update*/) { return Termination::Requested(); };
  CONCUR_ASSIGN_OR_RETURN(const std::vector<Epoch> epochs,
                          TrainModel(model, split.train, split.held_out, run));
  CONCUR_RETURN_IF_ERROR(SaveModel(options.model, model));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(options.model + "/training.jsonl", MetricsOf(epochs)));
  std::error_code ignored;
  std::filesystem::remove(run.checkpoint, ignored);
  return absl::OkStatus();
}

absl::Status Predict(const PredictOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const torch::Device device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(Model model, LoadModel(options.model));
  CONCUR_ASSIGN_OR_RETURN(Annotator annotator, AnnotatorOf(model.approach->inputs));
  CONCUR_ASSIGN_OR_RETURN(const Examples examples, ReadExamples(options.test, annotator));
  if (options.vectors != kNotGiven) {
    absl::flat_hash_set<std::string> forms;
    const auto add = [&](const AnnotatedText& text) {
      for (const Token& token : text.tokens) {
        forms.insert(model.batches.WordForm(token.In(text.text)));
      }
    };
    std::for_each(examples.passages.begin(), examples.passages.end(), add);
    for (const ExampleQuestion& question : examples.questions) {
      add(question.text);
    }
    CONCUR_RETURN_IF_ERROR(model.AddWords(options.vectors, std::move(forms)));
  }
  model.network->to(device);
  const std::vector<std::string> answers = AnswerQuestions(model, examples, device);
  std::vector<std::pair<std::string, std::string>> named;
  for (size_t i = 0; i < answers.size(); ++i) {
    named.emplace_back(examples.questions[i].id, answers[i]);
  }
  return WriteFileAtomically(options.predictions, PredictionsText(named));
}

absl::Status Serve(const ServeOptions& options, qa::ServeLoop loop) {
  CONCUR_ASSIGN_OR_RETURN(const torch::Device device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  CONCUR_ASSIGN_OR_RETURN(Annotator annotator, AnnotatorOf(model.approach->inputs));
  model.network->to(device);
  return loop([&](std::string passage, const qa::Question& question) {
    Examples examples;
    examples.passages.push_back(annotator.Annotate(std::move(passage)));
    ExampleQuestion& example = examples.questions.emplace_back();
    example.id = question.id;
    example.text = annotator.Annotate(question.text);
    return AnswerQuestions(model, examples, device)[0];
  });
}

}  // namespace

std::string PredictionsText(const std::vector<std::pair<std::string, std::string>>& answers) {
  std::string out = "{";
  for (size_t i = 0; i < answers.size(); ++i) {
    out.append(i == 0 ? "\n" : ",\n");
    AppendJsonString(answers[i].first, out);
    out.append(": ");
    AppendJsonString(answers[i].second, out);
  }
  out.append("\n}\n");
  return out;
}

void Say(absl::string_view line) {
  std::fprintf(stderr, "concur-reader: %s\n", std::string(line).c_str());
}

void ReportStep(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (std::getenv("CONCUR_JOB") == nullptr) {  // NOLINT(concurrency-mt-unsafe): none writes to it
    return;
  }
  for (const auto& [name, value] : values) {
    const nlohmann::json line = {{"step", step}, {"name", name}, {"value", value}};
    std::printf("concur-metric %s\n", line.dump().c_str());
  }
  std::fflush(stdout);
}

absl::StatusOr<absl::Duration> TimeBudgetOf(const std::string& text) {
  absl::Duration budget = absl::InfiniteDuration();
  if (text != kNotGiven &&
      (!absl::ParseDuration(text, &budget) || budget <= absl::ZeroDuration())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--time-budget: expected a duration such as 90s or 30m, or none; got \"", text, "\""));
  }
  return budget;
}

// The messages of torch's errors continue with a stack trace, which says nothing to users.
absl::Status CatchTorch(absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (absl::StrContains(text, "out of memory") || absl::StrContains(text, "allocate memory")) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "out of memory: choose a smaller --setting batch=…, or give the job more memory (",
          text.substr(0, text.find('\n')), ")"));
    }
    return absl::InternalError(text.substr(0, text.find('\n')));
  }
}

absl::Status TrainReader(const TrainOptions& options) {
  return CatchTorch([&] { return Train(options); });
}

absl::Status PredictAnswers(const PredictOptions& options) {
  return CatchTorch([&] { return Predict(options); });
}

absl::Status ServeReader(const ServeOptions& options, qa::ServeLoop loop) {
  return CatchTorch([&] { return Serve(options, loop); });
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kDataLoss:
      return 78;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return 75;
    default:
      return 1;
  }
}

}  // namespace concur::readers
