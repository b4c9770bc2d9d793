// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/fine_tuning/commands.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/dataset_io.h"
#include "qa/score.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/fine_tuning/fine_tuner.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/pretrained/encoder.h"
#include "studies/readers/tensors.h"
#include "studies/readers/text/best_answers.h"
#include "studies/readers/text/checkpoint_tokenizer.h"
#include "studies/readers/text/windows.h"
#include "studies/readers/training/checkpoint.h"

namespace concur::readers {
namespace {

using ReaderJson = nlohmann::ordered_json;

constexpr int64_t kReaderFormat = 1;
constexpr int64_t kReaderJsonBytesMax = 1 << 20;
constexpr int64_t kTokenizerFileBytesMax = 64 << 20;
constexpr char kReaderFile[] = "/reader.json";
constexpr size_t kQuestionsAtOnce = 256;

// A checkpoint, how it is trained or asked, and its tokenizer.
struct PretrainedModel {
  const PretrainedApproach* approach = nullptr;
  FineTuneSettings settings;
  std::shared_ptr<Encoder> encoder;
  std::optional<CheckpointTokenizer> tokenizer;
  TokenizerFiles tokenizer_files;

  // Reads the tokenizer, and compares it and the windows with the encoder.
  absl::Status ReadTokenizer(const std::string& directory) {
    CONCUR_ASSIGN_OR_RETURN(tokenizer_files, TokenizerFilesIn(directory));
    TokenizerOptions options;
    options.implementation = ImplementationOf(settings.windows.generation);
    options.lower_case = settings.lower_case;
    CONCUR_ASSIGN_OR_RETURN(tokenizer, CheckpointTokenizer::Read(tokenizer_files, options));
    settings.answers.lower_case = tokenizer->lower_case();
    const EncoderConfig& config = encoder->config();
    if (tokenizer->size() > config.vocabulary) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, ": the tokenizer has ", tokenizer->size(),
                       " entries, more than vocab_size of config.json, ", config.vocabulary,
                       "; --tokenizer DIR names another folder"));
    }
    if (tokenizer->padding_id() != config.padding_id) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, ": the tokenizer's padding is ", tokenizer->padding_id(),
                       ", pad_token_id of config.json ", config.padding_id));
    }
    const int64_t positions =
        config.positions - (config.family->positions_after_padding ? config.padding_id + 1 : 0);
    if (settings.windows.length > positions) {
      return absl::InvalidArgumentError(absl::StrCat("--setting length: ", settings.windows.length,
                                                     " tokens, more than the encoder's ", positions,
                                                     " positions"));
    }
    return absl::OkStatus();
  }
};

// Where the question's first answer stands, as the data say or else where its text does.
std::optional<AnswerPlace> PlaceOf(const qa::Passage& passage, const qa::Question& question) {
  if (!question.spans.empty()) {
    const qa::Span& span = question.spans[0];
    return AnswerPlace{static_cast<uint32_t>(span.begin), static_cast<uint32_t>(span.end)};
  }
  for (const std::string& answer : question.answers) {
    const size_t at = answer.empty() ? std::string::npos : passage.context.find(answer);
    if (at != std::string::npos) {
      return AnswerPlace{static_cast<uint32_t>(at), static_cast<uint32_t>(at + answer.size())};
    }
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<TrainWindow>> ReadTrainWindows(const PretrainedModel& model,
                                                          const std::string& path) {
  std::vector<TrainWindow> all;
  int64_t questions = 0;
  int64_t absent = 0;
  const WindowOptions& options = model.settings.windows;
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(path, [&](const qa::Passage& passage) -> absl::Status {
    const TokenizedPassage tokenized =
        TokenizePassage(*model.tokenizer, options.generation, passage.context);
    for (const qa::Question& question : passage.questions) {
      ++questions;
      const std::optional<AnswerPlace> place = PlaceOf(passage, question);
      CONCUR_ASSIGN_OR_RETURN(std::vector<Window> windows,
                              MakeWindows(*model.tokenizer, options, tokenized, question.text));
      std::vector<Label> labels;
      if (place.has_value() && place->begin < place->end) {
        labels = LabelWindows(*model.tokenizer, options, tokenized, windows, *place);
      }
      absent += labels.empty() ? 1 : 0;
      for (size_t i = 0; i < labels.size(); ++i) {
        if (labels[i].impossible && !model.settings.answerless_windows) {
          continue;
        }
        windows[i].most_context.clear();
        all.push_back({std::move(windows[i]), labels[i]});
      }
    }
    return absl::OkStatus();
  }));
  Say(absl::StrCat(questions, " questions, ", all.size(), " windows; ", absent,
                   " questions whose answer does not stand in the passage are left out"));
  return all;
}

// Everything that the trained weights depend on.
std::string FineTuneFingerprint(const TrainOptions& options, const PretrainedModel& model,
                                const std::vector<TrainWindow>& windows) {
  Sha256 hash;
  hash.UpdateField(options.approach);
  for (const auto& [name, value] : model.settings.options.values()) {
    hash.UpdateField(absl::StrCat(name, "=", OptionText(value)));
  }
  hash.UpdateField(absl::StrCat(options.seed, " ", options.machine.threads));
  for (const auto& [window, label] : windows) {
    hash.UpdateField(absl::string_view(reinterpret_cast<const char*>(window.ids.data()),
                                       window.ids.size() * sizeof(int32_t)));
    hash.UpdateField(absl::StrCat(window.passage_at, " ", label.first, " ", label.last));
  }
  for (const auto& [name, tensor] : StateOf(*model.encoder)) {
    const torch::Tensor values = tensor.detach().contiguous();
    hash.UpdateField(name);
    hash.UpdateField(
        absl::string_view(static_cast<const char*>(values.data_ptr()), values.nbytes()));
  }
  return hash.Finish().ToHex();
}

// Receives a model's questions with the best answers of each, in the data's order.
using Answered = std::function<void(const qa::Question&, std::vector<BestAnswer>)>;

// Answers questions, some hundred at a time.
class Asker {
 public:
  Asker(const PretrainedModel& model, torch::Device device, Answered answered)
      : model_(model), device_(device), answered_(std::move(answered)) {}

  absl::Status Ask(qa::Passage passage) {
    const WindowOptions& options = model_.settings.windows;
    const auto tokenized = std::make_shared<const TokenizedPassage>(
        TokenizePassage(*model_.tokenizer, options.generation, std::move(passage.context)));
    for (qa::Question& question : passage.questions) {
      CONCUR_ASSIGN_OR_RETURN(std::vector<Window> windows,
                              MakeWindows(*model_.tokenizer, options, *tokenized, question.text));
      pending_.push_back({std::move(question), tokenized, std::move(windows)});
      if (pending_.size() == kQuestionsAtOnce) {
        Flush();
      }
    }
    return absl::OkStatus();
  }

  // Answers what was asked and is not answered yet.
  void Flush() {
    const WindowOptions& options = model_.settings.windows;
    std::vector<const Window*> windows;
    for (const Asked& asked : pending_) {
      for (const Window& window : asked.windows) {
        windows.push_back(&window);
      }
    }
    const std::vector<torch::Tensor> scores =
        ScoreWindows(*model_.encoder, windows, options.padded ? options.length : 0, device_);
    size_t at = 0;
    for (const Asked& asked : pending_) {
      std::vector<WindowScores> of_windows;
      for (size_t i = 0; i < asked.windows.size(); ++i, ++at) {
        const auto* values = scores[at].data_ptr<float>();
        const auto size = static_cast<size_t>(scores[at].size(1));
        of_windows.push_back({{values, size}, {values + size, size}});
      }
      answered_(asked.question, BestAnswers(*model_.tokenizer, model_.settings.answers,
                                            *asked.passage, asked.windows, of_windows));
    }
    pending_.clear();
  }

 private:
  struct Asked {
    qa::Question question;
    std::shared_ptr<const TokenizedPassage> passage;
    std::vector<Window> windows;
  };

  const PretrainedModel& model_;
  const torch::Device device_;
  const Answered answered_;
  std::vector<Asked> pending_;
};

// Answers the questions of a file.
absl::Status Answer(const PretrainedModel& model, const std::string& path, torch::Device device,
                    Answered answered) {
  Asker asker(model, device, std::move(answered));
  CONCUR_RETURN_IF_ERROR(
      qa::ForEachPassage(path, [&](qa::Passage passage) { return asker.Ask(std::move(passage)); }));
  asker.Flush();
  return absl::OkStatus();
}

// The model's config.json: the checkpoint's, with what the original library reads to load it.
absl::StatusOr<std::string> ConfigText(const std::string& checkpoint, const Family& family) {
  CONCUR_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(checkpoint + "/config.json", kEncoderConfigBytesMax));
  ReaderJson config = ReaderJson::parse(text);  // LoadForTraining has read it
  const std::pair<absl::string_view, const char*> names[] = {
      {"bert", "Bert"}, {"albert", "Albert"}, {"roberta", "Roberta"}, {"electra", "Electra"}};
  for (const auto& [name, shown] : names) {
    if (name == family.name) {
      config["architectures"] = ReaderJson::array({absl::StrCat(shown, "ForQuestionAnswering")});
    }
  }
  config["model_type"] = family.name;
  return config.dump(1) + "\n";
}

absl::Status CopyTokenizer(const TokenizerFiles& files, const std::string& directory) {
  for (const std::string* path : {&files.vocabulary, &files.byte_entries, &files.merges,
                                  &files.model, &files.json, &files.config}) {
    if (!path->empty()) {
      CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(*path, kTokenizerFileBytesMax));
      const std::string name = std::filesystem::path(*path).filename().string();
      CONCUR_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(directory, "/", name), text));
    }
  }
  return absl::OkStatus();
}

absl::Status SavePretrained(const TrainOptions& options, const PretrainedModel& model) {
  const std::string& directory = options.model;
  CONCUR_ASSIGN_OR_RETURN(const std::string config,
                          ConfigText(options.checkpoint, *model.encoder->config().family));
  const std::string weights = SaveState(*model.encoder, {{"format", "pt"}});
  ReaderJson settings = ReaderJson::object();
  for (const auto& [name, value] : model.settings.options.values()) {
    std::visit([&, key = name](const auto& plain) { settings[key] = plain; }, value);
  }
  const ReaderJson json = {{"format", kReaderFormat},
                           {"approach", options.approach},
                           {"settings", settings},
                           {"seed", options.seed},
                           {"weights", Sha256Of(weights).ToHex()}};
  CONCUR_RETURN_IF_ERROR(CopyTokenizer(model.tokenizer_files, directory));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(directory + "/config.json", config));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(directory + "/model.safetensors", weights));
  return WriteFileAtomically(directory + kReaderFile, json.dump(1) + "\n");
}

// The scores of a data set's answers, in percent.
absl::StatusOr<std::pair<double, double>> ScoreDataset(const PretrainedModel& model,
                                                       const std::string& path,
                                                       torch::Device device) {
  double exact = 0;
  double f1 = 0;
  int64_t count = 0;
  CONCUR_RETURN_IF_ERROR(
      Answer(model, path, device, [&](const qa::Question& question, std::vector<BestAnswer> best) {
        double most_exact = 0;
        double most_f1 = 0;
        for (const std::string& gold : question.answers) {
          most_exact = std::max(most_exact, qa::ExactMatch(best[0].text, gold) ? 1.0 : 0.0);
          most_f1 = std::max(most_f1, qa::F1(best[0].text, gold));
        }
        exact += most_exact;
        f1 += most_f1;
        ++count;
      }));
  const double scale = 100.0 / static_cast<double>(std::max<int64_t>(1, count));
  return std::make_pair(exact * scale, f1 * scale);
}

absl::Status TrainPretrained(const TrainOptions& options,
                             const std::function<bool(int64_t update)>& interrupted) {
  PretrainedModel model;
  model.approach = FindPretrained(options.approach);
  CONCUR_ASSIGN_OR_RETURN(model.settings,
                          MakeFineTuneSettings(*model.approach, options.assignments));
  if (options.checkpoint.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--checkpoint: expected the folder of a pretrained ", options.approach, " checkpoint"));
  }
  FineTuneRun run;
  CONCUR_ASSIGN_OR_RETURN(run.time_max, TimeBudgetOf(options.time_budget));
  CONCUR_ASSIGN_OR_RETURN(run.device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(run.product_type,
                          ProductTypeOn(run.device, model.settings.half_precision));
  bool drew_head = false;
  CONCUR_ASSIGN_OR_RETURN(model.encoder,
                          LoadForTraining(options.checkpoint, options.seed, drew_head));
  const Family& family = *model.encoder->config().family;
  if (model.approach->family != family.name) {
    return absl::InvalidArgumentError(absl::StrCat(options.checkpoint, ": a checkpoint of ",
                                                   family.name, ", and not of ",
                                                   model.approach->family));
  }
  Say(absl::StrCat(options.approach, ": ", options.checkpoint,
                   drew_head ? ", with a new head for answers" : ""));
  CONCUR_RETURN_IF_ERROR(
      model.ReadTokenizer(options.tokenizer.empty() ? options.checkpoint : options.tokenizer));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<TrainWindow> windows,
                          ReadTrainWindows(model, options.train));
  CONCUR_RETURN_IF_ERROR(MakeDirectories(options.model));
  run.fingerprint = FineTuneFingerprint(options, model, windows);
  run.checkpoint = CheckpointPath(options.model, run.fingerprint);
  run.progress = Say;
  run.epoch_ended = [](int64_t epoch, double loss) { ReportStep(epoch, {{"loss", loss}}); };
  const Termination termination;
  run.interrupted = [&](int64_t update) {
    return (interrupted && interrupted(update)) || Termination::Requested();
  };
  CONCUR_ASSIGN_OR_RETURN(const std::vector<double> losses,
                          FineTune(*model.encoder, windows, model.settings, options.seed, run));
  std::string lines;
  for (size_t i = 0; i < losses.size(); ++i) {
    ReaderJson line = {{"epoch", i + 1}, {"loss", losses[i]}};
    if (i + 1 == losses.size() && options.dev != kNotGiven) {
      model.encoder->to(run.device);
      CONCUR_ASSIGN_OR_RETURN(const auto scores, ScoreDataset(model, options.dev, run.device));
      model.encoder->to(torch::kCPU);
      line["validation_exact_match"] = scores.first;
      line["validation_f1"] = scores.second;
      ReportStep(static_cast<int64_t>(i) + 1,
                 {{"validation_exact_match", scores.first}, {"validation_f1", scores.second}});
      Say(absl::StrFormat("validation EM %.2f F1 %.2f", scores.first, scores.second));
    }
    absl::StrAppend(&lines, line.dump(), "\n");
  }
  CONCUR_RETURN_IF_ERROR(SavePretrained(options, model));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(options.model + "/training.jsonl", lines));
  std::error_code ignored;
  std::filesystem::remove(run.checkpoint, ignored);
  return absl::OkStatus();
}

// The approach and settings that reader.json says, or the family's.
absl::Status ReadReaderJson(const std::string& directory, PretrainedModel& model) {
  const std::string path = directory + kReaderFile;
  std::error_code error;
  std::vector<std::string> assignments;
  std::string name;
  if (std::filesystem::exists(path, error)) {
    CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kReaderJsonBytesMax));
    try {
      const ReaderJson json = ReaderJson::parse(text);
      if (json.at("format") != kReaderFormat) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": format: expected ", kReaderFormat, "; train the model again"));
      }
      name = json.at("approach").get<std::string>();
      for (const auto& [key, value] : json.at("settings").items()) {
        assignments.push_back(
            absl::StrCat(key, "=", value.is_string() ? value.get<std::string>() : value.dump()));
      }
    } catch (const ReaderJson::exception& parse_error) {
      return absl::DataLossError(absl::StrCat(path, ": damaged: ", JsonReason(parse_error.what())));
    }
  } else if (const Family* family = FamilyOfCheckpoint(directory)) {
    name = family->name;
  }
  model.approach = FindPretrained(name);
  if (model.approach == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no such pretrained approach: \"", name, "\""));
  }
  absl::StatusOr<FineTuneSettings> settings = MakeFineTuneSettings(*model.approach, assignments);
  if (!settings.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": ", settings.status().message()));
  }
  model.settings = *std::move(settings);
  return absl::OkStatus();
}

absl::StatusOr<PretrainedModel> LoadPretrained(const std::string& directory, torch::Device device) {
  PretrainedModel model;
  CONCUR_RETURN_IF_ERROR(ReadReaderJson(directory, model));
  CONCUR_ASSIGN_OR_RETURN(model.encoder, LoadEncoder(directory));
  CONCUR_RETURN_IF_ERROR(model.ReadTokenizer(directory));
  model.encoder->to(device);
  return model;
}

absl::Status ServePretrained(const ServeOptions& options, qa::ServeLoop loop) {
  CONCUR_ASSIGN_OR_RETURN(const torch::Device device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(const PretrainedModel model, LoadPretrained(options.model, device));
  std::string answer;
  Asker asker(model, device, [&](const qa::Question&, const std::vector<BestAnswer>& best) {
    answer = best[0].text;
  });
  return loop(
      [&](std::string passage, const qa::Question& question) -> absl::StatusOr<std::string> {
        qa::Passage asked;
        asked.context = std::move(passage);
        asked.questions.push_back(question);
        CONCUR_RETURN_IF_ERROR(asker.Ask(std::move(asked)));
        asker.Flush();
        return answer;
      });
}

absl::Status PredictPretrained(const PredictOptions& options) {
  CONCUR_ASSIGN_OR_RETURN(const torch::Device device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(const PretrainedModel model, LoadPretrained(options.model, device));
  std::vector<std::pair<std::string, std::string>> answers;
  ReaderJson all = ReaderJson::object();
  CONCUR_RETURN_IF_ERROR(
      Answer(model, options.test, device,
             [&](const qa::Question& question, const std::vector<BestAnswer>& best) {
               answers.emplace_back(question.id, best[0].text);
               if (options.best.empty()) {
                 return;
               }
               ReaderJson& list = all[question.id] = ReaderJson::array();
               for (const BestAnswer& answer : best) {
                 list.push_back({{"text", answer.text},
                                 {"probability", answer.probability},
                                 {"start_logit", answer.start_score},
                                 {"end_logit", answer.end_score}});
               }
             }));
  if (!options.best.empty()) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(
        options.best, all.dump(1, ' ', false, ReaderJson::error_handler_t::replace) + "\n"));
  }
  return WriteFileAtomically(options.predictions, PredictionsText(answers));
}

}  // namespace

absl::Status FineTuneReader(const TrainOptions& options,
                            const std::function<bool(int64_t update)>& interrupted) {
  return CatchTorch([&] { return TrainPretrained(options, interrupted); });
}

bool IsPretrainedModel(const std::string& directory) {
  std::error_code error;
  return !std::filesystem::exists(directory + "/model.json", error) &&
         (std::filesystem::exists(directory + kReaderFile, error) ||
          FamilyOfCheckpoint(directory) != nullptr);
}

absl::Status PredictWithPretrained(const PredictOptions& options) {
  return CatchTorch([&] { return PredictPretrained(options); });
}

absl::Status ServeWithPretrained(const ServeOptions& options, qa::ServeLoop loop) {
  return CatchTorch([&] { return ServePretrained(options, loop); });
}

}  // namespace concur::readers
