// SPDX-License-Identifier: Apache-2.0
#include "readers/pretraining/pretrainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "readers/training/optimizer.h"
#include "readers/training/training_state.h"

namespace concur::readers {
namespace {

class Pretraining {
 public:
  Pretraining(PretrainingNetwork& network, absl::Span<const int32_t> pieces,
              const RowEntries& entries, const PretrainSettings& settings, uint64_t seed,
              const PretrainRun& run)
      : network_(network),
        pieces_(pieces),
        entries_(entries),
        settings_(settings),
        seed_(seed),
        run_(run),
        state_(settings.rule, network.Parameters(settings.weight_decay),
               {run.checkpoint, run.fingerprint, run.checkpoint_period},
               run.product_type.has_value()) {}

  absl::Status Run() {
    const size_t needed = settings_.rows.length - settings_.rows.specials();
    if (pieces_.size() < needed) {
      return absl::InvalidArgumentError(
          absl::StrCat("the text has ", pieces_.size(), " tokens, fewer than the ", needed,
                       " of a sequence: give more, or a smaller --setting length"));
    }
    CONCUR_RETURN_IF_ERROR(Resume());
    network_.train();
    while (state_.steps() < settings_.updates && state_.Used() < run_.time_max) {
      CONCUR_RETURN_IF_ERROR(Update());
      const int64_t done = state_.steps();
      if (done % kReportUpdates == 0) {
        Report();
      }
      const bool stops = run_.interrupted && run_.interrupted(done);
      if (stops || done < settings_.updates) {
        CONCUR_RETURN_IF_ERROR(Save(stops));
      }
      if (stops) {
        return absl::CancelledError("pretraining was interrupted");
      }
    }
    if (state_.steps() % kReportUpdates != 0) {
      Report();
    }
    network_.eval();
    return absl::OkStatus();
  }

 private:
  // The share of training that is done in the middle of an update.
  double Done(int64_t update) const {
    const double of_updates =
        (static_cast<double>(update) + 0.5) / static_cast<double>(settings_.updates);
    return run_.time_max == absl::InfiniteDuration()
               ? of_updates
               : std::max(of_updates, absl::FDivDuration(state_.Used(), run_.time_max));
  }

  absl::Status Update() {
    const int64_t update = state_.steps();
    // Random numbers depend on the update alone: a checkpoint needs no state of generators.
    Random random(seed_, absl::StrCat("pretraining update ", update));
    const uint64_t torch_seed = random.Next() >> 1;
    std::vector<PretrainingRow> rows;
    for (int64_t i = 0; i < settings_.batch; ++i) {
      rows.push_back(MakeRow(pieces_, settings_.rows, entries_, random));
    }
    PretrainingBatch batch = BatchOfRows(rows);
    if (batch.masked.numel() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "update ", update + 1, " has nothing to predict: the text has hardly any ",
          "words of its vocabulary; raise --setting vocabulary, or give another text"));
    }
    for (torch::Tensor* tensor : {&batch.ids, &batch.original, &batch.segments, &batch.masked,
                                  &batch.before, &batch.after, &batch.within, &batch.swapped}) {
      *tensor = tensor->to(run_.device);
    }
    bool updated = false;
    while (!updated) {
      state_.ZeroGradients();
      torch::manual_seed(torch_seed);
      PretrainingCounts counts = counts_;
      const torch::Tensor loss = network_.Loss(batch, counts);
      const auto value = loss.item<double>();
      if (!std::isfinite(value)) {
        return Diverged(value, absl::StrCat("update ", update + 1));
      }
      state_.Backward(loss);
      const double rate = settings_.learning_rate * RateFactor(settings_, Done(update));
      CONCUR_ASSIGN_OR_RETURN(updated, state_.Update(settings_.gradient_norm_max, rate));
      if (updated) {
        counts_ = counts;
        losses_ += value;
        ++reported_since_;
      }
    }
    return absl::OkStatus();
  }

  void Report() {
    PretrainingReport report;
    report.update = state_.steps();
    report.values.emplace_back("loss", losses_ / static_cast<double>(reported_since_));
    const auto add = [&report](const char* name, double right, double all) {
      if (all > 0) {
        report.values.emplace_back(name, 100 * right / all);
      }
    };
    add("masked_accuracy", counts_.masked_right, counts_.masked);
    add("replaced_accuracy", counts_.tokens_right, counts_.tokens);
    add("order_accuracy", counts_.segments_right, counts_.segments);
    std::string line = absl::StrFormat("update %d of %d:", report.update, settings_.updates);
    for (const auto& [name, mean] : report.values) {
      absl::StrAppendFormat(&line, " %s %.4g", name, mean);
    }
    absl::StrAppendFormat(&line, ", %.0f s", absl::ToDoubleSeconds(state_.Used()));
    run_.progress(line);
    run_.reported(report);
    reports_.push_back(std::move(report));
    losses_ = 0;
    reported_since_ = 0;
    counts_ = {};
  }

  std::array<double*, 6> Counts() {
    return {&counts_.masked,       &counts_.masked_right, &counts_.tokens,
            &counts_.tokens_right, &counts_.segments,     &counts_.segments_right};
  }

  absl::Status Save(bool at_once) {
    return state_.Save(at_once, NoMore, [this](nlohmann::json& json) {
      json["losses"] = losses_;
      for (const double* count : Counts()) {
        json["counts"].push_back(*count);
      }
      json["reports"] = nlohmann::json::array();
      for (const PretrainingReport& report : reports_) {
        json["reports"].push_back({{"update", report.update}, {"values", report.values}});
      }
    });
  }

  static TrainingState::Tensors NoMore() { return {}; }

  absl::Status Resume() {
    CONCUR_ASSIGN_OR_RETURN(const bool found, state_.Resume({}, [this](const nlohmann::json& json) {
      losses_ = json.at("losses").get<double>();
      for (size_t i = 0; i < Counts().size(); ++i) {
        *Counts()[i] = json.at("counts").at(i).get<double>();
      }
      for (const nlohmann::json& report : json.at("reports")) {
        reports_.push_back(
            {report.at("update").get<int64_t>(),
             report.at("values").get<std::vector<std::pair<std::string, double>>>()});
      }
      reported_since_ = state_.steps() - (reports_.empty() ? 0 : reports_.back().update);
      return state_.steps() <= settings_.updates && reported_since_ >= 0;
    }));
    if (found) {
      for (const PretrainingReport& report : reports_) {
        run_.reported(report);
      }
      run_.progress(
          absl::StrCat("going on after update ", state_.steps(), ", from ", run_.checkpoint));
    }
    return absl::OkStatus();
  }

  PretrainingNetwork& network_;
  absl::Span<const int32_t> pieces_;
  const RowEntries& entries_;
  const PretrainSettings& settings_;
  uint64_t seed_;
  const PretrainRun& run_;
  TrainingState state_;
  // Since the last report.
  double losses_ = 0;
  int64_t reported_since_ = 0;
  PretrainingCounts counts_;
  std::vector<PretrainingReport> reports_;
};

}  // namespace

absl::Status Pretrain(PretrainingNetwork& network, absl::Span<const int32_t> pieces,
                      const RowEntries& entries, const PretrainSettings& settings, uint64_t seed,
                      const PretrainRun& run) {
  network.to(run.device);
  network.SetProductType(run.product_type);
  CONCUR_RETURN_IF_ERROR(Pretraining(network, pieces, entries, settings, seed, run).Run());
  network.SetProductType(std::nullopt);
  network.to(torch::kCPU);
  return absl::OkStatus();
}

}  // namespace concur::readers
