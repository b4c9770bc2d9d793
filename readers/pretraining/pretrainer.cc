// SPDX-License-Identifier: Apache-2.0
#include "readers/pretraining/pretrainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "readers/machine.h"
#include "readers/training/checkpoint.h"
#include "readers/training/optimizer.h"

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
        started_(ProcessorTime()),
        saved_(absl::Now()),
        trained_(network.Parameters(settings.weight_decay)),
        updates_(settings.rule, trained_) {}

  absl::Status Run() {
    const size_t needed = settings_.rows.length - settings_.rows.specials();
    if (pieces_.size() < needed) {
      return absl::InvalidArgumentError(
          absl::StrCat("the text has ", pieces_.size(), " tokens, fewer than the ", needed,
                       " of a sequence: give more, or a smaller --setting length"));
    }
    CONCUR_RETURN_IF_ERROR(Resume());
    network_.train();
    while (updates_.steps() < settings_.updates && Used() < run_.time_max) {
      CONCUR_RETURN_IF_ERROR(Update());
      const int64_t done = updates_.steps();
      if (done % kReportUpdates == 0) {
        Report();
      }
      const bool stops = run_.interrupted && run_.interrupted(done);
      CONCUR_RETURN_IF_ERROR(Save(stops));
      if (stops) {
        return absl::CancelledError("pretraining was interrupted");
      }
    }
    if (updates_.steps() % kReportUpdates != 0) {
      Report();
    }
    network_.eval();
    return absl::OkStatus();
  }

 private:
  absl::Duration Used() const { return used_before_ + ProcessorTime() - started_; }

  // The share of training that is done in the middle of an update.
  double Done(int64_t update) const {
    const double of_updates =
        (static_cast<double>(update) + 0.5) / static_cast<double>(settings_.updates);
    return run_.time_max == absl::InfiniteDuration()
               ? of_updates
               : std::max(of_updates, absl::FDivDuration(Used(), run_.time_max));
  }

  absl::Status Update() {
    const int64_t update = updates_.steps();
    for (const Trained& parameter : trained_) {
      parameter.tensor.mutable_grad() = torch::Tensor();
    }
    // Random numbers depend on the update alone: a checkpoint needs no state of generators.
    Random random(seed_, absl::StrCat("pretraining update ", update));
    torch::manual_seed(random.Next() >> 1);
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
    const torch::Tensor loss = network_.Loss(batch, counts_);
    const auto value = loss.item<double>();
    if (!std::isfinite(value)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "the loss became %f in update %d: training diverged; choose a smaller learning_rate, or "
          "another seed",
          value, update + 1));
    }
    loss.backward();
    ClipGradients(trained_, settings_.gradient_norm_max);
    updates_.Step(settings_.learning_rate * RateFactor(settings_, Done(update)));
    losses_ += value;
    ++reported_since_;
    return absl::OkStatus();
  }

  void Report() {
    PretrainingReport report;
    report.update = updates_.steps();
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
    absl::StrAppendFormat(&line, ", %.0f s", absl::ToDoubleSeconds(Used()));
    run_.progress(line);
    run_.reported(report);
    reports_.push_back(std::move(report));
    losses_ = 0;
    reported_since_ = 0;
    counts_ = {};
  }

  std::map<std::string, torch::Tensor> Tensors() const {
    std::map<std::string, torch::Tensor> tensors = updates_.State();
    for (const Trained& parameter : trained_) {
      tensors["weight." + parameter.name] = parameter.tensor;
    }
    return tensors;
  }

  std::array<double*, 6> Counts() {
    return {&counts_.masked,       &counts_.masked_right, &counts_.tokens,
            &counts_.tokens_right, &counts_.segments,     &counts_.segments_right};
  }

  // When it is time for it, or at once.
  absl::Status Save(bool at_once) {
    const bool due =
        absl::Now() - saved_ >= run_.checkpoint_period && updates_.steps() < settings_.updates;
    if (run_.checkpoint.empty() || (!at_once && !due)) {
      return absl::OkStatus();
    }
    nlohmann::json counts = nlohmann::json::array();
    for (const double* count : Counts()) {
      counts.push_back(*count);
    }
    nlohmann::json reports = nlohmann::json::array();
    for (const PretrainingReport& report : reports_) {
      reports.push_back({{"update", report.update}, {"values", report.values}});
    }
    const nlohmann::json state = {{"updates", updates_.steps()},
                                  {"seconds", absl::ToDoubleSeconds(Used())},
                                  {"losses", losses_},
                                  {"counts", counts},
                                  {"reports", reports}};
    const absl::Status status = WriteCheckpoint(
        run_.checkpoint, {Tensors(), {{kFingerprint, run_.fingerprint}, {"state", state.dump()}}});
    saved_ = absl::Now();
    return status;
  }

  absl::Status Resume() {
    if (run_.checkpoint.empty()) {
      return absl::OkStatus();
    }
    auto numbers = ReadCheckpoint(run_.checkpoint, run_.fingerprint, Tensors());
    if (absl::IsNotFound(numbers.status())) {
      return absl::OkStatus();
    }
    CONCUR_RETURN_IF_ERROR(numbers.status());
    try {
      const nlohmann::json state = nlohmann::json::parse((*numbers)["state"]);
      updates_.SetSteps(state.at("updates").get<int64_t>());
      used_before_ = absl::Seconds(state.at("seconds").get<double>());
      losses_ = state.at("losses").get<double>();
      for (size_t i = 0; i < Counts().size(); ++i) {
        *Counts()[i] = state.at("counts").at(i).get<double>();
      }
      for (const nlohmann::json& report : state.at("reports")) {
        reports_.push_back(
            {report.at("update").get<int64_t>(),
             report.at("values").get<std::vector<std::pair<std::string, double>>>()});
      }
    } catch (const nlohmann::json::exception& error) {
      return absl::DataLossError(absl::StrCat(run_.checkpoint, ": damaged: ", error.what()));
    }
    const int64_t done = updates_.steps();
    reported_since_ = done - (reports_.empty() ? 0 : reports_.back().update);
    if (done < 0 || done > settings_.updates || reported_since_ < 0) {
      return absl::DataLossError(absl::StrCat(run_.checkpoint, ": damaged: its updates"));
    }
    for (const PretrainingReport& report : reports_) {
      run_.reported(report);
    }
    run_.progress(absl::StrCat("going on after update ", done, ", from ", run_.checkpoint));
    return absl::OkStatus();
  }

  PretrainingNetwork& network_;
  absl::Span<const int32_t> pieces_;
  const RowEntries& entries_;
  const PretrainSettings& settings_;
  uint64_t seed_;
  const PretrainRun& run_;
  absl::Duration started_;
  absl::Duration used_before_ = absl::ZeroDuration();
  absl::Time saved_;
  std::vector<Trained> trained_;
  ParameterUpdates updates_;
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
  CONCUR_RETURN_IF_ERROR(Pretraining(network, pieces, entries, settings, seed, run).Run());
  network.to(torch::kCPU);
  return absl::OkStatus();
}

}  // namespace concur::readers
