// SPDX-License-Identifier: Apache-2.0
// Sizes: BERT-tiny of Turc et al. (2019), 2 layers of 128. Objectives: Devlin et al. (2019), whose
// later checkpoints mask whole words; Liu et al. (2019); Lan et al. (2020), but whole words where
// ALBERT masks up to three; Clark et al. (2020); Joshi et al. (2020). BERT's next-sentence
// prediction is left out, as RoBERTa and SpanBERT found it to be of no use.
#include "readers/pretraining/settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "readers/setting_reader.h"
#include "readers/text/word_piece_learner.h"

namespace concur::readers {
namespace {

constexpr const char* kObjectives[] = {"tokens", "words", "spans", "replaced"};

Options FamilyOptions(const char* objective,
                      std::initializer_list<std::pair<const std::string, Options::Value>> changes) {
  Options options = {{"objective", std::string(objective)},
                     {"sentence_order", false},
                     {"share", 0.15},
                     {"length", int64_t{128}},
                     {"vocabulary", int64_t{6000}},
                     {"lower_case", true},
                     {"layers", int64_t{2}},
                     {"width", int64_t{128}},
                     {"heads", int64_t{2}},
                     {"intermediate", int64_t{512}},
                     {"activation", std::string("gelu")},
                     {"dropout", 0.1},
                     {"batch", int64_t{32}},
                     {"updates", int64_t{4000}},
                     {"learning_rate", 1e-3},
                     {"warmup", 0.1},
                     {"weight_decay", 0.01},
                     {"beta2", 0.98},
                     {"epsilon", 1e-6},
                     {"gradient_norm_max", 1.0},
                     {"precision", std::string(kFullPrecision)}};
  for (const auto& [name, value] : changes) {
    options.Set(name, value);
  }
  return options;
}

nlohmann::ordered_json ConfigJsonOf(const PretrainSettings& settings, const Options& options) {
  const bool roberta = settings.model_type == "roberta";
  nlohmann::ordered_json json = {
      {"model_type", settings.model_type},
      {"vocab_size", settings.vocabulary},
      {"hidden_size", options.Int("width")},
      {"num_hidden_layers", options.Int("layers")},
      {"num_attention_heads", options.Int("heads")},
      {"intermediate_size", options.Int("intermediate")},
      {"hidden_act", options.Text("activation")},
      {"hidden_dropout_prob", options.Real("dropout")},
      {"attention_probs_dropout_prob", options.Real("dropout")},
      {"max_position_embeddings", options.Int("length") + (roberta ? 1 : 0)},
      {"type_vocab_size", roberta ? 1 : 2},
      {"initializer_range", 0.02},
      {"layer_norm_eps", 1e-12},
      {"pad_token_id", 0}};
  if (options.Has("embedding")) {
    json["embedding_size"] = options.Int("embedding");
  }
  return json;
}

absl::StatusOr<EncoderConfig> ConfigFor(const nlohmann::ordered_json& json) {
  return ParseEncoderConfig(json.dump(), "--setting");
}

}  // namespace

const std::vector<PretrainedFamily>& PretrainedFamilies() {
  static const auto& all = *new std::vector<PretrainedFamily>{
      {"albert", "albert", "ALBERT: whole words and the order of segments; layers are shared",
       FamilyOptions("words", {{"sentence_order", true},
                               {"embedding", int64_t{64}},
                               {"layers", int64_t{4}},
                               {"activation", std::string("gelu_new")}})},
      {"bert", "bert", "BERT: whole words", FamilyOptions("words", {})},
      {"electra", "electra", "ELECTRA: which tokens a small generator replaced",
       FamilyOptions("replaced", {{"embedding", int64_t{128}},
                                  {"generator_width", int64_t{64}},
                                  {"discriminator_weight", 50.0}})},
      {"roberta", "roberta", "RoBERTa: single tokens, in one segment", FamilyOptions("tokens", {})},
      {"spanbert", "bert", "SpanBERT: spans of words, also from their boundaries; cased",
       FamilyOptions("spans", {{"lower_case", false}})},
  };
  return all;
}

absl::StatusOr<const PretrainedFamily*> FindFamily(absl::string_view name) {
  std::vector<std::string> names;
  for (const PretrainedFamily& family : PretrainedFamilies()) {
    if (family.name == name) {
      return &family;
    }
    names.push_back(family.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("--family: ", ExpectedOneOf(names, name)));
}

absl::StatusOr<PretrainSettings> MakePretrainSettings(const PretrainedFamily& family,
                                                      const std::vector<std::string>& assignments) {
  constexpr double kSizeMax = 1 << 16;
  PretrainSettings settings;
  settings.options = family.options;
  CONCUR_ASSIGN_OR_RETURN(const auto parsed, ParseAssignments(assignments));
  for (const auto& [name, value] : parsed) {
    const absl::Status status = settings.options.Parse(name, value);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--setting ", status.message()));
    }
  }
  const Options& options = settings.options;
  SettingReader reader(options);
  settings.model_type = family.model_type;
  settings.rows.objective = static_cast<Objective>(
      reader.Choice("objective", {std::begin(kObjectives), std::end(kObjectives)}));
  settings.rows.sentence_order = reader.Flag("sentence_order");
  settings.rows.share = reader.Real("share", 0.01, 0.9);
  settings.rows.length = static_cast<size_t>(reader.Int("length", 8, kSizeMax));
  settings.vocabulary = reader.Int("vocabulary", kLearnedSpecials + 1, 1 << 20);
  settings.lower_case = reader.Flag("lower_case");
  settings.batch = reader.Int("batch", 1, kSizeMax);
  settings.updates = reader.Int("updates", 0, kSettingCountMax);
  settings.rule.kind = UpdateRule::Kind::kAdamW;
  settings.rule.beta2 = reader.Real("beta2", 0, 0.9999999);
  settings.rule.epsilon = reader.Real("epsilon", 1e-30, 1);
  settings.learning_rate = reader.Real("learning_rate", 0, 10);
  settings.warmup = reader.Real("warmup", 0, 1);
  settings.weight_decay = reader.Real("weight_decay", 0, 1);
  settings.gradient_norm_max = reader.Real("gradient_norm_max", 0, kSettingCountMax);
  settings.half_precision = reader.HalfPrecision();
  const bool electra = options.Has("generator_width");
  if ((settings.rows.objective == Objective::kReplaced) != electra) {
    reader.Fail("objective: replaced belongs to the family electra, which has no other");
  }
  if (settings.rows.sentence_order && (electra || family.model_type == "roberta")) {
    reader.Fail(absl::StrCat("sentence_order: expected false for ", family.name));
  }
  if (electra) {
    settings.discriminator_weight = reader.Real("discriminator_weight", 0, 1e6);
  }
  CONCUR_RETURN_IF_ERROR(reader.status());
  nlohmann::ordered_json json = ConfigJsonOf(settings, options);
  settings.config_json = json.dump(1) + "\n";
  CONCUR_ASSIGN_OR_RETURN(settings.config, ConfigFor(json));
  if (electra) {
    // As deep as the discriminator, which is what ELECTRA's small ones are.
    const int64_t width = options.Int("generator_width");
    json["hidden_size"] = width;
    json["intermediate_size"] = 4 * width;
    absl::StatusOr<EncoderConfig> generator = ConfigFor(json);
    if (!generator.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--setting generator_width: ", generator.status().message()));
    }
    settings.generator = *std::move(generator);
  }
  return settings;
}

double RateFactor(const PretrainSettings& settings, double done) {
  return done < settings.warmup ? done / settings.warmup
                                : std::max(0.0, (1 - done) / std::max(1e-9, 1 - settings.warmup));
}

}  // namespace concur::readers
