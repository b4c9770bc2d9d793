// SPDX-License-Identifier: Apache-2.0
// Values: transformers 4.9, examples/pytorch/question-answering (run_qa.py, its README);
// facebookresearch/SpanBERT, run_squad.py and README; google-research/electra, finetune; the
// appendices of ALBERT's and RoBERTa's publications.
#include "studies/readers/fine_tuning/settings.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "studies/readers/setting_reader.h"

namespace concur::readers {
namespace {

constexpr char kAdamWName[] = "adamw";
constexpr char kBertAdamName[] = "bert_adam";
constexpr char kRunQaName[] = "run_qa";
constexpr char kRunSquadName[] = "run_squad";
constexpr char kAsFilesSay[] = "files";

Options CommonOptions() {
  return {{"optimizer", std::string(kAdamWName)},
          {"learning_rate", 3e-5},
          {"beta1", 0.9},
          {"beta2", 0.999},
          {"epsilon", 1e-8},
          {"correct_bias", true},
          {"weight_decay", 0.0},
          {"warmup", 0.0},
          {"epochs", int64_t{2}},
          {"batch", int64_t{12}},
          {"step_batch", int64_t{0}},
          {"gradient_norm_max", 1.0},
          {"parameter_norm_max", 0.0},
          {"layer_decay", 1.0},
          {"precision", std::string(kFullPrecision)},
          {"windows", std::string(kRunQaName)},
          {"length", int64_t{384}},
          {"stride", int64_t{128}},
          {"padded", false},
          {"answerless_windows", true},
          {"question_tokens_max", int64_t{64}},
          {"answer_tokens_max", int64_t{30}},
          {"best", int64_t{20}},
          {"lower_case", std::string(kAsFilesSay)}};
}

Options With(std::initializer_list<std::pair<const std::string, Options::Value>> changes) {
  Options options = CommonOptions();
  for (const auto& [name, value] : changes) {
    options.Set(name, value);
  }
  return options;
}

absl::StatusOr<FineTuneSettings> SettingsOf(const Options& options) {
  constexpr double kTokensMax = 1 << 20;
  SettingReader reader(options);
  FineTuneSettings settings;
  settings.options = options;
  settings.rule.kind = reader.Choice("optimizer", {kAdamWName, kBertAdamName}) == 0
                           ? UpdateRule::Kind::kAdamW
                           : UpdateRule::Kind::kBertAdam;
  settings.learning_rate = reader.Real("learning_rate", 0, 10);
  settings.rule.beta1 = reader.Real("beta1", 0, 0.9999999);
  settings.rule.beta2 = reader.Real("beta2", 0, 0.9999999);
  settings.rule.epsilon = reader.Real("epsilon", 1e-30, 1);
  settings.rule.correct_bias = reader.Flag("correct_bias");
  settings.rule.parameter_norm_max = reader.Real("parameter_norm_max", 0, kSettingCountMax);
  settings.weight_decay = reader.Real("weight_decay", 0, 1);
  settings.warmup = reader.Real("warmup", 0, 1);
  settings.epochs = reader.Int("epochs", 0, 10000);
  settings.batch = reader.Int("batch", 1, 65536);
  settings.step_batch = reader.Int("step_batch", 0, 65536);
  settings.gradient_norm_max = reader.Real("gradient_norm_max", 0, kSettingCountMax);
  settings.layer_decay = reader.Real("layer_decay", 1e-6, 1);
  settings.half_precision = reader.HalfPrecision();
  settings.windows.generation = reader.Choice("windows", {kRunQaName, kRunSquadName}) == 0
                                    ? Generation::kRunQa
                                    : Generation::kRunSquad;
  settings.windows.length = reader.Int("length", 8, kTokensMax);
  settings.windows.stride = reader.Int("stride", 0, kTokensMax);
  settings.windows.padded = reader.Flag("padded");
  settings.answerless_windows = reader.Flag("answerless_windows");
  settings.windows.question_max = reader.Int("question_tokens_max", 0, kTokensMax);
  settings.answers.generation = settings.windows.generation;
  settings.answers.best = reader.Int("best", 1, 1000);
  settings.answers.tokens_max = reader.Int("answer_tokens_max", 1, kTokensMax);
  const size_t lower = reader.Choice("lower_case", {kAsFilesSay, "false", "true"});
  if (lower > 0) {
    settings.lower_case = lower == 2;
  }
  if (!reader.status().ok()) {
    return reader.status();
  }
  return settings;
}

}  // namespace

const std::vector<PretrainedApproach>& PretrainedApproaches() {
  static const auto& all = *new std::vector<PretrainedApproach>{
      {"bert", "bert", "BERT (Devlin et al., 2019), fine-tuned from --checkpoint", CommonOptions()},
      {"albert", "albert", "ALBERT (Lan et al., 2020), fine-tuned from --checkpoint",
       With({{"learning_rate", 5e-5},
             {"warmup", 0.1},
             {"weight_decay", 0.01},
             {"batch", int64_t{48}}})},
      {"roberta", "roberta", "RoBERTa (Liu et al., 2019), fine-tuned from --checkpoint",
       With({{"learning_rate", 1.5e-5},
             {"warmup", 0.06},
             {"weight_decay", 0.01},
             {"epsilon", 1e-6},
             {"beta2", 0.98},
             {"batch", int64_t{48}},
             {"length", int64_t{512}}})},
      {"electra", "electra", "ELECTRA (Clark et al., 2020), fine-tuned from --checkpoint",
       With({{"optimizer", std::string(kBertAdamName)},
             {"learning_rate", 1e-4},
             {"warmup", 0.1},
             {"weight_decay", 0.01},
             {"epsilon", 1e-6},
             {"layer_decay", 0.8},
             {"batch", int64_t{32}},
             {"epochs", int64_t{3}},
             {"length", int64_t{512}}})},
      {"spanbert", "bert", "SpanBERT (Joshi et al., 2020), fine-tuned from --checkpoint",
       With({{"optimizer", std::string(kBertAdamName)},
             {"learning_rate", 2e-5},
             {"warmup", 0.1},
             {"weight_decay", 0.01},
             {"epsilon", 1e-6},
             {"parameter_norm_max", 1.0},
             {"gradient_norm_max", 0.0},
             {"batch", int64_t{32}},
             {"epochs", int64_t{4}},
             {"length", int64_t{512}},
             {"windows", std::string(kRunSquadName)},
             {"lower_case", std::string("false")}})},
  };
  return all;
}

const PretrainedApproach* FindPretrained(absl::string_view name) {
  for (const PretrainedApproach& approach : PretrainedApproaches()) {
    if (approach.name == name) {
      return &approach;
    }
  }
  return nullptr;
}

absl::StatusOr<FineTuneSettings> MakeFineTuneSettings(const PretrainedApproach& approach,
                                                      const std::vector<std::string>& assignments) {
  Options options = approach.options;
  CONCUR_ASSIGN_OR_RETURN(const auto parsed, ParseAssignments(assignments));
  for (const auto& [name, value] : parsed) {
    const absl::Status status = options.Parse(name, value);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--setting ", status.message()));
    }
  }
  return SettingsOf(options);
}

double ScheduleFactor(const FineTuneSettings& settings, int64_t update, int64_t total) {
  const auto step = static_cast<double>(update);
  const auto all = static_cast<double>(std::max<int64_t>(1, total));
  const double rising = settings.rule.kind == UpdateRule::Kind::kAdamW
                            ? std::ceil(all * settings.warmup)
                            : all * settings.warmup;
  if (step < rising) {
    return step / rising;
  }
  return std::max(0.0, (all - step) / std::max(1.0, all - rising));
}

}  // namespace concur::readers
