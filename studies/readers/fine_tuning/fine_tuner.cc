// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/fine_tuning/fine_tuner.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "studies/readers/training/optimizer.h"
#include "studies/readers/training/training_state.h"

namespace concur::readers {
namespace {

constexpr absl::Duration kFineTuneProgressPeriod = absl::Seconds(20);
// Windows that are scored at once: as many as keep a GPU busy, or were fastest on a processor core
// (docs/performance.md).
constexpr size_t kScoredOnCuda = 32;
constexpr size_t kScoredOnProcessors = 8;

// The factor of the learning rate of a parameter, by its depth: embeddings are at 0, the head above
// all layers.
double RateScale(const EncoderConfig& config, const std::string& name, double decay) {
  const std::string prefix = config.family->prefix;
  int64_t depth = config.layers + 2;
  if (absl::StartsWith(name, absl::StrCat(prefix, "embeddings"))) {
    depth = 0;
  }
  const std::vector<std::string> paths = config.LayerPaths();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (absl::StartsWith(name, paths[i])) {
      depth = static_cast<int64_t>(i) + 1;
    }
  }
  return std::pow(decay, static_cast<double>(config.layers + 2 - depth));
}

class FineTuning {
 public:
  FineTuning(Encoder& encoder, const std::vector<TrainWindow>& windows,
             const FineTuneSettings& settings, uint64_t seed, const FineTuneRun& run)
      : encoder_(encoder), windows_(windows), settings_(settings), seed_(seed), run_(run) {}

  absl::StatusOr<std::vector<double>> Run() {
    if (windows_.empty()) {
      return absl::InvalidArgumentError(
          "no question to learn from: expected answers that occur in their passages");
    }
    if (settings_.layer_decay != 1 && encoder_.config().family->shares_layers) {
      return absl::InvalidArgumentError(
          "--setting layer_decay: expected 1, since all steps share one layer");
    }
    encoder_.to(run_.device);
    std::vector<Trained> all;
    for (auto& parameter : encoder_.named_parameters()) {
      Trained trained = {parameter.key(), parameter.value()};
      // Biases and the scales of layer norms have one dimension, and do not decay.
      trained.weight_decay = parameter->dim() > 1 ? settings_.weight_decay : 0;
      trained.rate_scale = settings_.layer_decay == 1
                               ? 1
                               : RateScale(encoder_.config(), trained.name, settings_.layer_decay);
      all.push_back(std::move(trained));
    }
    state_.emplace(settings_.rule, std::move(all),
                   CheckpointPlan{run_.checkpoint, run_.fingerprint, run_.checkpoint_period},
                   run_.product_type.has_value());
    const auto count = static_cast<int64_t>(windows_.size());
    per_epoch_ = (count + settings_.batch - 1) / settings_.batch;
    total_ = per_epoch_ * settings_.epochs;
    CONCUR_RETURN_IF_ERROR(Resume());
    encoder_.train();
    encoder_.SetProductType(run_.product_type);
    absl::Time reported = absl::Now();
    while (state_->steps() < total_ && state_->Used() < run_.time_max) {
      CONCUR_RETURN_IF_ERROR(Update());
      const int64_t done = state_->steps();
      if (absl::Now() - reported >= kFineTuneProgressPeriod || done % per_epoch_ == 0) {
        reported = absl::Now();
        run_.progress(absl::StrFormat("update %d of %d, epoch %d: loss %.4f, %.0f s", done, total_,
                                      losses_.size(), MeanLoss(),
                                      absl::ToDoubleSeconds(state_->Used())));
      }
      if (done % per_epoch_ == 0 && run_.epoch_ended) {
        run_.epoch_ended(done / per_epoch_, MeanLoss());
      }
      const bool stops = run_.interrupted && run_.interrupted(done);
      if (stops || done < total_) {
        CONCUR_RETURN_IF_ERROR(Save(stops));
      }
      if (stops) {
        return absl::CancelledError("training was interrupted");
      }
    }
    encoder_.SetProductType(std::nullopt);
    encoder_.to(torch::kCPU);
    encoder_.eval();
    return losses_;
  }

 private:
  double MeanLoss() const { return losses_.empty() ? 0 : losses_.back(); }

  // The windows of an update, longest first.
  std::vector<size_t> RowsOf(int64_t update) {
    const int64_t epoch = update / per_epoch_;
    if (epoch != ordered_epoch_) {
      ordered_epoch_ = epoch;
      order_.resize(windows_.size());
      std::iota(order_.begin(), order_.end(), 0);
      Random(seed_, absl::StrCat("epoch ", epoch)).Shuffle(order_);
    }
    const auto begin = static_cast<size_t>((update % per_epoch_) * settings_.batch);
    const size_t end = std::min(order_.size(), begin + static_cast<size_t>(settings_.batch));
    std::vector<size_t> rows(order_.begin() + static_cast<int64_t>(begin),
                             order_.begin() + static_cast<int64_t>(end));
    std::stable_sort(rows.begin(), rows.end(), [this](size_t a, size_t b) {
      return windows_[a].window.ids.size() > windows_[b].window.ids.size();
    });
    return rows;
  }

  absl::Status Update() {
    const int64_t update = state_->steps();
    const std::vector<size_t> rows = RowsOf(update);
    const double rate = settings_.learning_rate * ScheduleFactor(settings_, update, total_);
    double loss = 0;
    bool updated = false;
    while (!updated) {
      state_->ZeroGradients();
      // Random numbers depend on the update alone: a checkpoint needs no state of generators.
      torch::manual_seed(Random(seed_, absl::StrCat("update ", update)).Next() >> 1);
      loss = LearnInSteps(rows);
      if (!std::isfinite(loss)) {
        return Diverged(loss, absl::StrCat("update ", update + 1));
      }
      CONCUR_ASSIGN_OR_RETURN(updated, state_->Update(settings_.gradient_norm_max, rate));
    }
    const int64_t done = update % per_epoch_;
    if (done == 0) {
      losses_.push_back(0);
    }
    losses_.back() += (loss - losses_.back()) / static_cast<double>(done + 1);
    return absl::OkStatus();
  }

  // Computes the gradients of the windows' mean loss, and returns that.
  double LearnInSteps(const std::vector<size_t>& rows) {
    const size_t step =
        settings_.step_batch > 0 ? static_cast<size_t>(settings_.step_batch) : rows.size();
    double sum = 0;
    for (size_t begin = 0; begin < rows.size(); begin += step) {
      const size_t end = std::min(rows.size(), begin + step);
      const double share = static_cast<double>(end - begin) / static_cast<double>(rows.size());
      sum += share * Learn(absl::MakeConstSpan(rows).subspan(begin, end - begin), share);
    }
    return sum;
  }

  // Adds the gradients of the windows' mean loss times `share`; returns the mean loss.
  double Learn(absl::Span<const size_t> rows, double share) {
    std::vector<const Window*> windows;
    torch::Tensor starts = torch::empty({static_cast<int64_t>(rows.size())}, torch::kInt64);
    torch::Tensor ends = torch::empty_like(starts);
    for (size_t i = 0; i < rows.size(); ++i) {
      const TrainWindow& row = windows_[rows[i]];
      windows.push_back(&row.window);
      starts[static_cast<int64_t>(i)] = row.label.first;
      ends[static_cast<int64_t>(i)] = row.label.last;
    }
    TokenBatch batch = BatchOfWindows(windows, encoder_.config().padding_id, PaddedLength());
    batch.ids = batch.ids.to(run_.device);
    batch.mask = batch.mask.to(run_.device);
    batch.segments = batch.segments.to(run_.device);
    const torch::Tensor loss =
        Encoder::Loss(encoder_.Forward(batch), starts.to(run_.device), ends.to(run_.device));
    state_->Backward(share == 1 ? loss : loss * share);
    return loss.item<double>();
  }

  int64_t PaddedLength() const { return settings_.windows.padded ? settings_.windows.length : 0; }

  absl::Status Save(bool at_once) {
    return state_->Save(
        at_once, [] { return TrainingState::Tensors(); },
        [this](nlohmann::json& json) { json["losses"] = losses_; });
  }

  absl::Status Resume() {
    CONCUR_ASSIGN_OR_RETURN(const bool found, state_->Resume({}, [&](const nlohmann::json& json) {
      losses_ = json.at("losses").get<std::vector<double>>();
      const int64_t done = state_->steps();
      return done <= total_ &&
             static_cast<int64_t>(losses_.size()) == (done + per_epoch_ - 1) / per_epoch_;
    }));
    if (found) {
      run_.progress(
          absl::StrCat("going on after update ", state_->steps(), ", from ", run_.checkpoint));
    }
    return absl::OkStatus();
  }

  Encoder& encoder_;
  const std::vector<TrainWindow>& windows_;
  const FineTuneSettings& settings_;
  uint64_t seed_;
  const FineTuneRun& run_;
  int64_t per_epoch_ = 0, total_ = 0;
  std::optional<TrainingState> state_;
  int64_t ordered_epoch_ = -1;
  std::vector<size_t> order_;
  std::vector<double> losses_;  // each epoch's mean so far
};

}  // namespace

TokenBatch BatchOfWindows(absl::Span<const Window* const> windows, int64_t padding_id,
                          int64_t length) {
  size_t longest = static_cast<size_t>(length);
  for (const Window* window : windows) {
    longest = std::max(longest, window->ids.size());
  }
  const auto rows = static_cast<int64_t>(windows.size());
  const auto columns = static_cast<int64_t>(longest);
  TokenBatch batch;
  batch.ids = torch::full({rows, columns}, padding_id, torch::kInt64);
  batch.mask = torch::zeros({rows, columns}, torch::kBool);
  batch.segments = torch::zeros({rows, columns}, torch::kInt64);
  for (int64_t row = 0; row < rows; ++row) {
    const Window& window = *windows[static_cast<size_t>(row)];
    auto* ids = batch.ids.data_ptr<int64_t>() + row * columns;
    auto* mask = batch.mask.data_ptr<bool>() + row * columns;
    auto* segments = batch.segments.data_ptr<int64_t>() + row * columns;
    for (size_t i = 0; i < window.ids.size(); ++i) {
      ids[i] = window.ids[i];
      mask[i] = true;
      segments[i] = window.SegmentAt(static_cast<int64_t>(i));
    }
  }
  return batch;
}

absl::StatusOr<std::vector<double>> FineTune(Encoder& encoder,
                                             const std::vector<TrainWindow>& windows,
                                             const FineTuneSettings& settings, uint64_t seed,
                                             const FineTuneRun& run) {
  return FineTuning(encoder, windows, settings, seed, run).Run();
}

std::vector<torch::Tensor> ScoreWindows(Encoder& encoder, absl::Span<const Window* const> windows,
                                        int64_t length, torch::Device device) {
  const torch::InferenceMode inference;
  encoder.eval();
  std::vector<size_t> order(windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return windows[a]->ids.size() > windows[b]->ids.size();
  });
  std::vector<torch::Tensor> scores(windows.size());
  const size_t at_once = device.is_cuda() ? kScoredOnCuda : kScoredOnProcessors;
  for (size_t begin = 0; begin < order.size(); begin += at_once) {
    const size_t end = std::min(order.size(), begin + at_once);
    std::vector<const Window*> some;
    for (size_t i = begin; i < end; ++i) {
      some.push_back(windows[order[i]]);
    }
    TokenBatch batch = BatchOfWindows(some, encoder.config().padding_id, length);
    batch.ids = batch.ids.to(device);
    batch.mask = batch.mask.to(device);
    batch.segments = batch.segments.to(device);
    const Scores computed = encoder.Forward(batch);
    const torch::Tensor both = torch::stack({computed.starts, computed.ends}, 1).cpu();
    for (size_t i = begin; i < end; ++i) {
      // Without a given length padding does not compete.
      const auto row = both[static_cast<int64_t>(i - begin)];
      const auto size = static_cast<int64_t>(windows[order[i]]->ids.size());
      scores[order[i]] = (length > 0 ? row : row.narrow(1, 0, size)).contiguous();
    }
  }
  return scores;
}

}  // namespace concur::readers
