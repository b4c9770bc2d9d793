// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/files/encoder_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur::readers {
namespace {

using EncoderJson = nlohmann::json;

// Ten times the largest encoders that were published; sizes multiply without overflow.
constexpr int64_t kRowsMax = 1 << 24;
constexpr int64_t kWidthMax = 1 << 17;
constexpr int64_t kLayersMax = 512;
constexpr int64_t kEncoderValuesMax = int64_t{1} << 33;

constexpr std::array<const char*, kLayerParts> kBertParts = {"attention.self.query",
                                                             "attention.self.key",
                                                             "attention.self.value",
                                                             "attention.output.dense",
                                                             "attention.output.LayerNorm",
                                                             "intermediate.dense",
                                                             "output.dense",
                                                             "output.LayerNorm"};
constexpr std::array<const char*, kLayerParts> kAlbertParts = {
    "attention.query",     "attention.key", "attention.value", "attention.dense",
    "attention.LayerNorm", "ffn",           "ffn_output",      "full_layer_layer_norm"};

// As transformers 4.9 has them.
constexpr Family kFamilies[] = {
    {.name = "bert",
     .prefix = "bert.",
     .parts = kBertParts,
     .projection = "",
     .always_projects = false,
     .shares_layers = false,
     .segments = true,
     .positions_after_padding = false,
     .drops_after_feed_forward = true},
    {.name = "albert",
     .prefix = "albert.",
     .parts = kAlbertParts,
     .projection = "encoder.embedding_hidden_mapping_in",
     .always_projects = true,
     .shares_layers = true,
     .segments = true,
     .positions_after_padding = false,
     .drops_after_feed_forward = false},
    {.name = "roberta",
     .prefix = "roberta.",
     .parts = kBertParts,
     .projection = "",
     .always_projects = false,
     .shares_layers = false,
     .segments = false,
     .positions_after_padding = true,
     .drops_after_feed_forward = true},
    {.name = "electra",
     .prefix = "electra.",
     .parts = kBertParts,
     .projection = "embeddings_project",
     .always_projects = false,
     .shares_layers = false,
     .segments = true,
     .positions_after_padding = false,
     .drops_after_feed_forward = true},
};

constexpr std::pair<const char*, Activation> kActivations[] = {
    {"gelu", Activation::kGelu}, {"gelu_new", Activation::kGeluTanh}, {"relu", Activation::kRelu},
    {"silu", Activation::kSilu}, {"swish", Activation::kSilu},
};

// Names of heads of pretraining and of poolers; poolers also stand under the family's prefix.
constexpr const char* kUnread[] = {"cls.",
                                   "predictions.",
                                   "sop_classifier.",
                                   "lm_head.",
                                   "pooler.",
                                   "discriminator_predictions.",
                                   "generator_lm_head."};

const Family* FamilyNamed(absl::string_view name) {
  const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const Family& family) { return name == family.name; });
  return found == std::end(kFamilies) ? nullptr : found;
}

template <typename Row, size_t kRows>
std::vector<std::string> NamesIn(const Row (&table)[kRows], const char* (*name)(const Row&)) {
  std::vector<std::string> names;
  for (const Row& row : table) {
    names.emplace_back(name(row));
  }
  return names;
}

// Reads fields, and keeps the first error.
class FieldReader {
 public:
  explicit FieldReader(const EncoderJson& config) : config_(config) {}

  int64_t Int(const char* field, int64_t least, int64_t most, std::optional<int64_t> other = {}) {
    const EncoderJson* value = Find(field, other.has_value());
    if (value == nullptr) {
      return other.value_or(least);
    }
    // Compared as doubles first: a number beyond int64_t is not read as another one.
    if (!value->is_number_integer() || value->get<double>() < static_cast<double>(least) ||
        value->get<double>() > static_cast<double>(most)) {
      Refuse(field, absl::StrCat("an integer from ", least, " to ", most), *value);
      return least;
    }
    return value->get<int64_t>();
  }

  // From `least` to `most`, without `most`.
  double Real(const char* field, double least, double most, double other) {
    const EncoderJson* value = Find(field, true);
    if (value == nullptr) {
      return other;
    }
    if (!value->is_number() || !(value->get<double>() >= least) || !(value->get<double>() < most)) {
      Refuse(field, absl::StrCat("a number from ", least, " to below ", most), *value);
      return other;
    }
    return value->get<double>();
  }

  std::string Text(const char* field, const std::vector<std::string>& names, const char* other) {
    const EncoderJson* value = Find(field, true);
    if (value == nullptr) {
      return other;
    }
    if (!value->is_string()) {
      Refuse(field, "a string", *value);
      return other;
    }
    std::string text = value->get<std::string>();
    if (std::find(names.begin(), names.end(), text) == names.end()) {
      Fail(absl::StrCat(field, ": ", ExpectedOneOf(names, text.substr(0, kShownBytes))));
      return other;
    }
    return text;
  }

  void Fail(std::string error) { error_ = error_.empty() ? std::move(error) : error_; }
  const std::string& error() const { return error_; }

 private:
  static constexpr size_t kShownBytes = 40;

  const EncoderJson* Find(const char* field, bool optional) {
    const auto found = config_.find(field);
    if (found == config_.end() && !optional) {
      Fail(absl::StrCat(field, " is missing"));
    }
    return found == config_.end() ? nullptr : &*found;
  }
  void Refuse(const char* field, const std::string& expected, const EncoderJson& value) {
    const std::string text = value.is_structured()
                                 ? value.type_name()
                                 : value.dump(-1, ' ', true, EncoderJson::error_handler_t::replace);
    Fail(absl::StrCat(field, ": expected ", expected, ", got ", text.substr(0, kShownBytes)));
  }

  const EncoderJson& config_;
  std::string error_;
};

// Returns why sizes that are each within their limits do not fit each other; "" when they fit.
std::string Misfit(const EncoderConfig& config) {
  if (config.width % config.heads != 0) {
    return absl::StrCat("hidden_size: ", config.width, " is no multiple of num_attention_heads, ",
                        config.heads);
  }
  if (config.padding_id >= config.vocabulary) {
    return absl::StrCat("pad_token_id: ", config.padding_id, " is not below vocab_size, ",
                        config.vocabulary);
  }
  if (config.family->positions_after_padding && config.padding_id + 1 >= config.positions) {
    return absl::StrCat("max_position_embeddings: expected more than pad_token_id + 1, got ",
                        config.positions);
  }
  if (config.groups * config.layers_of_group > kLayersMax) {
    return absl::StrCat("num_hidden_groups: ", config.groups, " groups of ", config.layers_of_group,
                        " layers are more than ", kLayersMax);
  }
  int64_t values = 0;
  for (const auto& [name, shape] : config.Tensors()) {
    int64_t product = 1;
    for (const int64_t size : shape) {
      product *= size;
    }
    values += product;
  }
  return values <= kEncoderValuesMax
             ? ""
             : absl::StrCat("its sizes give ", values, " weights, more than ", kEncoderValuesMax);
}

EncoderConfig ReadFields(FieldReader& fields) {
  EncoderConfig config;
  const std::vector<std::string> names =
      NamesIn<Family>(kFamilies, [](const Family& family) { return family.name; });
  config.family = FamilyNamed(fields.Text("model_type", names, "bert"));
  const Family& family = *config.family;
  config.vocabulary = fields.Int("vocab_size", 1, kRowsMax);
  config.positions = fields.Int("max_position_embeddings", 1, kRowsMax);
  config.segments = fields.Int("type_vocab_size", 1, kRowsMax, 2);
  config.width = fields.Int("hidden_size", 1, kWidthMax);
  config.embedding_width =
      family.projection[0] == '\0' ? config.width : fields.Int("embedding_size", 1, kWidthMax, 128);
  config.intermediate_width = fields.Int("intermediate_size", 1, kWidthMax);
  config.layers = fields.Int("num_hidden_layers", 1, kLayersMax);
  config.heads = fields.Int("num_attention_heads", 1, kWidthMax);
  config.groups = config.layers;
  config.layers_of_group = 1;
  if (family.shares_layers) {
    config.groups = fields.Int("num_hidden_groups", 1, kLayersMax, 1);
    config.layers_of_group = fields.Int("inner_group_num", 1, kLayersMax, 1);
  }
  config.padding_id =
      fields.Int("pad_token_id", 0, kRowsMax, family.positions_after_padding ? 1 : 0);
  using Named = std::pair<const char*, Activation>;
  const std::string activation =
      fields.Text("hidden_act",
                  NamesIn<Named>(kActivations, [](const Named& row) { return row.first; }), "gelu");
  config.activation =
      std::find_if(std::begin(kActivations), std::end(kActivations), [&](const Named& row) {
        return activation == row.first;
      })->second;
  config.norm_epsilon = fields.Real("layer_norm_eps", 0, 1, 1e-12);
  config.dropout = fields.Real("hidden_dropout_prob", 0, 1, 0.1);
  config.attention_dropout = fields.Real("attention_probs_dropout_prob", 0, 1, 0.1);
  config.initial_deviation = fields.Real("initializer_range", 0, 10, 0.02);
  fields.Text("position_embedding_type", {"absolute"}, "absolute");
  return config;
}

}  // namespace

bool EncoderConfig::projects() const {
  return family->projection[0] != '\0' && (family->always_projects || embedding_width != width);
}

std::vector<std::string> EncoderConfig::LayerPaths() const {
  std::vector<std::string> paths;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t i = 0; i < layers_of_group; ++i) {
      paths.push_back(family->shares_layers
                          ? absl::StrCat(family->prefix, "encoder.albert_layer_groups.", group,
                                         ".albert_layers.", i, ".")
                          : absl::StrCat(family->prefix, "encoder.layer.", group, "."));
    }
  }
  return paths;
}

std::vector<std::vector<size_t>> EncoderConfig::Steps() const {
  std::vector<std::vector<size_t>> steps;
  for (int64_t step = 0; step < layers; ++step) {
    // As the original rounds it.
    const double steps_of_group = static_cast<double>(layers) / static_cast<double>(groups);
    const auto group = static_cast<int64_t>(static_cast<double>(step) / steps_of_group);
    steps.emplace_back();
    for (int64_t i = 0; i < layers_of_group; ++i) {
      steps.back().push_back(static_cast<size_t>(group * layers_of_group + i));
    }
  }
  return steps;
}

TensorShapes EncoderConfig::Tensors() const {
  TensorShapes shapes;
  const auto add_linear = [&](const std::string& path, int64_t input, int64_t output) {
    shapes[path + ".weight"] = {output, input};
    shapes[path + ".bias"] = {output};
  };
  const auto add_norm = [&](const std::string& path, int64_t size) {
    shapes[path + ".weight"] = {size};
    shapes[path + ".bias"] = {size};
  };
  const std::string embeddings = absl::StrCat(family->prefix, "embeddings.");
  shapes[embeddings + "word_embeddings.weight"] = {vocabulary, embedding_width};
  shapes[embeddings + "position_embeddings.weight"] = {positions, embedding_width};
  shapes[embeddings + "token_type_embeddings.weight"] = {segments, embedding_width};
  add_norm(embeddings + "LayerNorm", embedding_width);
  if (projects()) {
    add_linear(absl::StrCat(family->prefix, family->projection), embedding_width, width);
  }
  for (const std::string& layer : LayerPaths()) {
    for (const LayerPart part : {kQuery, kKey, kValue, kAttentionOutput}) {
      add_linear(layer + family->parts[part], width, width);
    }
    add_linear(layer + family->parts[kUp], width, intermediate_width);
    add_linear(layer + family->parts[kDown], intermediate_width, width);
    add_norm(layer + family->parts[kAttentionNorm], width);
    add_norm(layer + family->parts[kNorm], width);
  }
  add_linear("qa_outputs", width, 2);
  return shapes;
}

absl::StatusOr<EncoderConfig> ParseEncoderConfig(absl::string_view json, absl::string_view place) {
  const auto invalid = [place](absl::string_view message) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", message));
  };
  if (json.size() > static_cast<size_t>(kEncoderConfigBytesMax)) {
    return invalid(absl::StrCat("more than ", kEncoderConfigBytesMax, " bytes"));
  }
  const EncoderJson object = EncoderJson::parse(json.begin(), json.end(), nullptr, false);
  if (!object.is_object()) {
    return invalid("expected a JSON object");
  }
  FieldReader fields(object);
  EncoderConfig config = ReadFields(fields);
  for (const char* flag : {"is_decoder", "add_cross_attention"}) {
    if (object.contains(flag) && object[flag] != false) {
      fields.Fail(absl::StrCat(flag, ": expected false: only encoders answer questions here"));
    }
  }
  if (fields.error().empty()) {
    fields.Fail(Misfit(config));
  }
  if (!fields.error().empty()) {
    return invalid(fields.error());
  }
  return config;
}

const Family* FamilyOfCheckpoint(const std::string& directory) {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(directory, "/config.json"), kEncoderConfigBytesMax);
  const EncoderJson config = text.ok() ? EncoderJson::parse(*text, nullptr, false) : EncoderJson();
  if (!config.is_object() || !config.contains("model_type") || !config["model_type"].is_string()) {
    return nullptr;
  }
  return FamilyNamed(config["model_type"].get_ref<const std::string&>());
}

std::string EncoderTensorName(const Family& family, absl::string_view stored) {
  absl::string_view inner = stored;
  const bool has_prefix = absl::ConsumePrefix(&inner, family.prefix);
  for (const absl::string_view unread : kUnread) {
    if (absl::StartsWith(inner, unread) && (!has_prefix || unread == "pooler.")) {
      return "";
    }
  }
  if (inner == "embeddings.position_ids") {
    return "";
  }
  const bool alone = !has_prefix && (absl::StartsWith(inner, "embeddings.") ||
                                     absl::StartsWith(inner, "embeddings_project.") ||
                                     absl::StartsWith(inner, "encoder."));
  std::string name = alone ? absl::StrCat(family.prefix, inner) : std::string(stored);
  for (const auto& [old, now] : {std::make_pair(".gamma", ".weight"), {".beta", ".bias"}}) {
    if (absl::EndsWith(name, absl::StrCat("LayerNorm", old))) {
      name = absl::StrCat(absl::StripSuffix(name, old), now);
    }
  }
  return name;
}

}  // namespace concur::readers
