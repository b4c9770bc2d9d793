// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "studies/readers/training/batches.h"
#include "studies/readers/training/optimizer.h"
#include "studies/readers/training/training_state.h"

namespace concur::readers {
namespace {

constexpr double kPerfect = 100 - 1e-9;
constexpr absl::Duration kProgressPeriod = absl::Seconds(20);
constexpr int64_t kAnswerBatch = 32;
// Predicting costs little memory beside training, except for long texts: a batch of questions
// holds at most so many pairs of tokens.
constexpr int64_t kAnswerPairsMax = int64_t{4} << 20;

// The parameters that change: all but word vectors beyond the tuned words.
std::vector<Trained> TrainedOf(Model& model) {
  torch::Tensor words = model.network->WordVectors();
  const int64_t tuned = model.plan.settings.tuned_words;
  std::vector<Trained> trained;
  for (auto& parameter : model.network->named_parameters()) {
    const bool is_words = parameter.value().is_same(words);
    if (is_words) {
      parameter.value().set_requires_grad(tuned != 0);
    }
    if (parameter.value().requires_grad()) {
      trained.push_back({parameter.key(), parameter.value(), model.plan.settings.weight_decay,
                         is_words && tuned > 0 ? Vocabulary::kFirst + tuned : -1});
    }
  }
  return trained;
}

// The settings' limits for training.
TokensMax TrainTokensMax(const Settings& settings) {
  TokensMax tokens_max;
  if (settings.passage_tokens_max > 0) {
    tokens_max.passage = std::min(tokens_max.passage, settings.passage_tokens_max);
  }
  if (settings.question_tokens_max > 0) {
    tokens_max.question = std::min(tokens_max.question, settings.question_tokens_max);
  }
  return tokens_max;
}

// The questions to train on, and what is left out.
std::vector<size_t> Learnable(const Examples& examples, const Settings& settings,
                              const std::function<void(absl::string_view)>& progress) {
  std::vector<size_t> rows;
  int64_t absent = 0;
  int64_t long_ones = 0;
  const int64_t passage_max = TrainTokensMax(settings).passage;
  for (size_t i = 0; i < examples.questions.size(); ++i) {
    const ExampleQuestion& question = examples.questions[i];
    if (question.answers.empty()) {
      ++absent;
    } else if ((settings.train_answer_tokens_max > 0 &&
                question.answers[0].size() > settings.train_answer_tokens_max) ||
               question.answers[0].last >= passage_max) {
      ++long_ones;
    } else {
      rows.push_back(i);
    }
  }
  if (absent + long_ones > 0) {
    progress(absl::StrCat("training leaves out ", absent,
                          " questions whose answers are not in the passage, and ", long_ones,
                          " that are beyond the lengths"));
  }
  return rows;
}

// States that the device's random numbers go on from. Those of the processor serve any device.
using GeneratorStates = std::vector<std::vector<uint8_t>>;

std::vector<torch::Device> DevicesOfGenerators(torch::Device device) {
  return device.is_cpu() ? std::vector<torch::Device>{device}
                         : std::vector<torch::Device>{torch::kCPU, device};
}

GeneratorStates StatesOfGenerators(torch::Device device) {
  GeneratorStates states;
  for (const torch::Device& one : DevicesOfGenerators(device)) {
    const torch::Tensor state = at::globalContext().defaultGenerator(one).get_state();
    const auto* bytes = state.data_ptr<uint8_t>();
    states.emplace_back(bytes, bytes + state.numel());
  }
  return states;
}

// False for states of other generators.
bool RestoreGenerators(torch::Device device, GeneratorStates states) {
  const std::vector<torch::Device> devices = DevicesOfGenerators(device);
  try {
    for (size_t i = 0; i < std::min(devices.size(), states.size()); ++i) {
      at::Generator generator = at::globalContext().defaultGenerator(devices[i]);
      generator.set_state(torch::from_blob(states[i].data(),
                                           {static_cast<int64_t>(states[i].size())}, torch::kUInt8)
                              .clone());
    }
  } catch (const c10::Error&) {
    return false;
  }
  return true;
}

class Training {
 public:
  Training(Model& model, const Examples& train, const Examples& validation, const TrainingRun& run)
      : model_(model),
        train_(train),
        validation_(validation),
        run_(run),
        rate_(model.plan.settings) {}

  absl::StatusOr<std::vector<Epoch>> Run() {
    const Settings& settings = model_.plan.settings;
    rows_ = Learnable(train_, settings, run_.progress);
    if (rows_.empty()) {
      return absl::InvalidArgumentError(
          "no question to learn from: expected answers that occur in their passages");
    }
    model_.network->to(run_.device);
    state_.emplace(RuleOf(settings), TrainedOf(model_),
                   CheckpointPlan{run_.checkpoint, run_.fingerprint, run_.checkpoint_period});
    if (settings.average_decay > 0) {
      average_.emplace(settings.average_decay, state_->trained());
    }
    for (const Trained& parameter : state_->trained()) {
      best_.push_back(parameter.tensor.detach().clone());
    }
    CONCUR_RETURN_IF_ERROR(Resume());
    while (!Ended()) {
      CONCUR_RETURN_IF_ERROR(RunEpoch());
    }
    const torch::NoGradGuard no_gradients;
    for (size_t i = 0; i < state_->trained().size(); ++i) {
      state_->trained()[i].tensor.copy_(best_[i]);
    }
    model_.network->to(torch::kCPU);
    model_.network->eval();
    return epochs_;
  }

 private:
  bool TimeIsUp() const { return state_->Used() >= run_.time_max; }
  bool Ended() const {
    const Settings& settings = model_.plan.settings;
    const auto epochs = static_cast<int64_t>(epochs_.size());
    return epochs >= settings.epochs || (epochs > 0 && begun_.batches == 0 && TimeIsUp()) ||
           rate_.state().best >= kPerfect ||
           (settings.patience > 0 && rate_.stale_epochs() >= settings.patience);
  }

  absl::Status RunEpoch() {
    const absl::Time began = absl::Now();
    const int64_t number = static_cast<int64_t>(epochs_.size()) + 1;
    // Random numbers depend on the epoch and not on what was drawn before it: only a checkpoint
    // within an epoch needs the state of generators.
    Random random(model_.seed, absl::StrCat("epoch ", number));
    torch::manual_seed(random.Next() >> 1);
    const std::vector<std::vector<size_t>> batches =
        Batches(train_, rows_, model_.plan.settings.batch, random);
    if (begun_.batches > batches.size() ||
        !RestoreGenerators(run_.device, std::move(begun_.generators))) {
      return state_->Damaged("its epoch");
    }
    model_.network->train();
    absl::Time reported = began;
    while (begun_.batches < batches.size()) {
      CONCUR_ASSIGN_OR_RETURN(const double loss, Step(batches[begun_.batches], number));
      begun_.loss += loss;
      ++begun_.batches;
      const size_t done = begun_.batches;
      if (absl::Now() - reported >= kProgressPeriod) {
        reported = absl::Now();
        run_.progress(absl::StrFormat("epoch %d: %d of %d batches, loss %.4f", number, done,
                                      batches.size(), begun_.loss / static_cast<double>(done)));
      }
      const bool stops = run_.interrupted && run_.interrupted(state_->steps());
      CONCUR_RETURN_IF_ERROR(Save(stops, absl::Now() - began));
      if (stops) {
        return absl::CancelledError("training was interrupted");
      }
      if (TimeIsUp()) {
        break;
      }
    }
    Epoch epoch;
    epoch.number = number;
    epoch.loss = begun_.loss / static_cast<double>(begun_.batches);
    Validate(epoch);
    epoch.seconds = begun_.seconds + absl::ToDoubleSeconds(absl::Now() - began);
    epochs_.push_back(epoch);
    begun_ = {};
    if (run_.epoch_ended) {
      run_.epoch_ended(epoch);
    }
    return Save(false, absl::ZeroDuration());
  }

  absl::StatusOr<double> Step(const std::vector<size_t>& rows, int64_t epoch) {
    state_->ZeroGradients();
    const Batch batch =
        model_.batches.Make(train_, rows, TrainTokensMax(model_.plan.settings)).To(run_.device);
    const torch::Tensor loss = model_.network->Loss(model_.network->Forward(batch), batch);
    const double value = loss.item<double>();
    if (!std::isfinite(value)) {
      return Diverged(value, absl::StrFormat("epoch %d, update %d", epoch, state_->steps() + 1));
    }
    loss.backward();
    ClipGradients(state_->trained(), model_.plan.settings.gradient_norm_max);
    state_->updates().Step(rate_.At(state_->steps() + 1));
    if (average_.has_value()) {
      average_->Update(state_->steps());
    }
    return value;
  }

  // Scores the epoch's weights, or their averages, and keeps the best.
  void Validate(Epoch& epoch) {
    if (average_.has_value()) {
      average_->Swap();
    }
    epoch.validation = ScoreAnswers(validation_, AnswerQuestions(model_, validation_, run_.device));
    const double score = model_.plan.settings.selection == Selection::kExactMatch
                             ? epoch.validation.exact_match
                             : epoch.validation.f1;
    epoch.best = rate_.EpochEnded(score);
    if (epoch.best) {
      const torch::NoGradGuard no_gradients;
      for (size_t i = 0; i < state_->trained().size(); ++i) {
        best_[i].copy_(state_->trained()[i].tensor);
      }
    }
    if (average_.has_value()) {
      average_->Swap();
    }
  }

  // Tensors that are not the state's own.
  TrainingState::Tensors Tensors() const {
    TrainingState::Tensors tensors;
    if (average_.has_value()) {
      tensors = average_->State();
    }
    for (size_t i = 0; i < best_.size(); ++i) {
      tensors["best." + state_->trained()[i].name] = best_[i];
    }
    return tensors;
  }

  // When it is time for it, or at once; so long into the epoch that is begun.
  absl::Status Save(bool at_once, absl::Duration into_epoch) {
    return state_->Save(
        at_once, [this] { return Tensors(); },
        [&](nlohmann::json& json) {
          const LearningRate::State rate = rate_.state();
          json["rate"] = {rate.best, rate.stale, rate.stale_since_change, rate.factor};
          json["epochs"] = nlohmann::json::array();
          for (const Epoch& epoch : epochs_) {
            json["epochs"].push_back({epoch.loss, epoch.validation.exact_match, epoch.validation.f1,
                                      epoch.best, epoch.seconds});
          }
          if (begun_.batches > 0) {
            json["begun"] = {{"batches", begun_.batches},
                             {"loss", begun_.loss},
                             {"seconds", begun_.seconds + absl::ToDoubleSeconds(into_epoch)},
                             {"generators", StatesOfGenerators(run_.device)}};
          }
        });
  }

  absl::Status Resume() {
    const auto read = [this](const nlohmann::json& json) {
      const nlohmann::json& rate = json.at("rate");
      rate_.Restore({rate.at(0).get<double>(), rate.at(1).get<int64_t>(), rate.at(2).get<int64_t>(),
                     rate.at(3).get<double>()});
      for (const nlohmann::json& epoch : json.at("epochs")) {
        epochs_.push_back({static_cast<int64_t>(epochs_.size()) + 1,
                           epoch.at(0).get<double>(),
                           {epoch.at(1).get<double>(), epoch.at(2).get<double>()},
                           epoch.at(3).get<bool>(),
                           epoch.at(4).get<double>()});
      }
      if (json.contains("begun")) {
        const nlohmann::json& begun = json.at("begun");
        begun_ = {begun.at("batches").get<size_t>(), begun.at("loss").get<double>(),
                  begun.at("seconds").get<double>(), begun.at("generators").get<GeneratorStates>()};
      }
      return true;
    };
    CONCUR_ASSIGN_OR_RETURN(const bool found, state_->Resume(Tensors(), read));
    if (found) {
      run_.progress(
          absl::StrCat("going on after epoch ", epochs_.size(),
                       begun_.batches > 0 ? absl::StrCat(" and ", begun_.batches, " batches") : "",
                       ", from ", run_.checkpoint));
    }
    return absl::OkStatus();
  }

  // An epoch that is not at its end.
  struct Begun {
    size_t batches = 0;          // done
    double loss = 0;             // their sum
    double seconds = 0;          // before an interruption
    GeneratorStates generators;  // at the interruption
  };

  Model& model_;
  const Examples& train_;
  const Examples& validation_;
  const TrainingRun& run_;
  LearningRate rate_;
  std::vector<size_t> rows_;
  std::optional<TrainingState> state_;
  std::optional<WeightAverage> average_;
  std::vector<torch::Tensor> best_;
  std::vector<Epoch> epochs_;
  Begun begun_;
};

}  // namespace

absl::StatusOr<std::vector<Epoch>> TrainModel(Model& model, const Examples& train,
                                              const Examples& validation, const TrainingRun& run) {
  return Training(model, train, validation, run).Run();
}

std::vector<std::string> AnswerQuestions(const Model& model, const Examples& examples,
                                         torch::Device device) {
  const torch::InferenceMode inference;
  model.network->eval();
  std::vector<std::string> answers(examples.questions.size());
  std::vector<size_t> rows;
  for (size_t i = 0; i < examples.questions.size(); ++i) {
    if (examples.passages[examples.questions[i].passage].size() > 0) {
      rows.push_back(i);
    }
  }
  const auto length_of = [&](size_t row) {
    return examples.passages[examples.questions[row].passage].size();
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return length_of(a) > length_of(b); });
  const Limits limits{model.plan.settings.answer_tokens_max, 1};
  for (size_t begin = 0; begin < rows.size();) {
    const int64_t length = std::min(length_of(rows[begin]), kPassageTokensMax);
    const int64_t size = std::clamp<int64_t>(kAnswerPairsMax / (length * length), 1, kAnswerBatch);
    const size_t end = std::min(rows.size(), begin + static_cast<size_t>(size));
    const std::vector<size_t> some(rows.begin() + static_cast<int64_t>(begin),
                                   rows.begin() + static_cast<int64_t>(end));
    const Batch batch = model.batches.Make(examples, some).To(device);
    const auto spans = model.network->Decode(model.network->Forward(batch), batch, limits);
    for (size_t i = 0; i < some.size(); ++i) {
      const ExampleQuestion& question = examples.questions[some[i]];
      if (!spans[i].empty()) {
        answers[some[i]] =
            std::string(examples.TextOf(question.passage, {spans[i][0].first, spans[i][0].last}));
      }
    }
    begin = end;
  }
  return answers;
}

}  // namespace concur::readers
