// SPDX-License-Identifier: Apache-2.0
#include "tests/studies/readers/check/fixture.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "studies/readers/approaches/recognise.h"
#include "studies/readers/tensors.h"

namespace concur::readers {
namespace {

using Json = nlohmann::json;

constexpr int64_t kConfigBytesMax = 1 << 20;

absl::StatusOr<Json> ReadConfig(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kConfigBytesMax));
  Json config = Json::parse(text, nullptr, false);
  if (!config.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a JSON object"));
  }
  return config;
}

// A value of a configuration as an option of the type of `declared`; nullopt for other types.
std::optional<Options::Value> OptionFrom(const Json& value, const Options::Value& declared) {
  if (value.is_array() && value.size() == 1) {
    return OptionFrom(value[0], declared);
  }
  if (value.is_null() && std::holds_alternative<std::string>(declared)) {
    return std::string();
  }
  if (value.is_boolean()) {
    return value.get<bool>();
  }
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    return std::holds_alternative<bool>(declared) ? Options::Value(number != 0)
                                                  : Options::Value(number);
  }
  if (value.is_number_float()) {
    return value.get<double>();
  }
  if (value.is_string()) {
    return value.get<std::string>();
  }
  return std::nullopt;
}

// Sets every option that the configuration, or an object in it, has.
absl::Status SetOptions(const Json& config, const std::string& path, Options& options) {
  for (const auto& [key, value] : config.items()) {
    if (value.is_object()) {
      CONCUR_RETURN_IF_ERROR(SetOptions(value, path, options));
    }
  }
  for (const auto& [key, value] : config.items()) {
    if (value.is_object() || !options.Has(key)) {
      continue;
    }
    const std::optional<Options::Value> option = OptionFrom(value, options.values().at(key));
    const absl::Status status =
        option.has_value() ? options.Assign(key, *option)
                           : absl::InvalidArgumentError(absl::StrCat(key, ": not a single value"));
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// The inputs under the names of one of the three families of originals.
absl::StatusOr<Batch> BatchFrom(const Fixture& fixture) {
  Batch batch;
  const auto set = [&fixture](torch::Tensor& tensor, absl::string_view name) {
    tensor = fixture.Find(name).value_or(torch::Tensor());
  };
  set(batch.passage, "x1");
  if (batch.passage.defined()) {  // DrQA's descendants: masks are true at padding
    set(batch.question, "x2");
    set(batch.passage_characters, fixture.Find("x1_c").has_value() ? "x1_c" : "x1_char");
    set(batch.question_characters, fixture.Find("x2_c").has_value() ? "x2_c" : "x2_char");
    set(batch.passage_features, "x1_f");
    set(batch.question_features, "x2_f");
    set(batch.passage_pos, "x1_pos");
    set(batch.passage_entities, "x1_ner");
    set(batch.passage_mask, "x1_mask");
    set(batch.question_mask, "x2_mask");
    if (batch.passage_mask.defined() && batch.question_mask.defined()) {
      batch.passage_mask = batch.passage_mask.eq(0);
      batch.question_mask = batch.question_mask.eq(0);
    }
  } else if (fixture.Find("passage_tokens").has_value()) {  // AllenNLP: 0 is padding
    set(batch.passage, "passage_tokens");
    set(batch.question, "question_tokens");
    set(batch.passage_characters, "passage_characters");
    set(batch.question_characters, "question_characters");
    batch.passage_mask = batch.passage.ne(0);
    batch.question_mask = batch.question.defined() ? batch.question.ne(0) : torch::Tensor();
  } else {  // RaSoR: masks are 1 at tokens
    set(batch.passage, "passage");
    set(batch.question, "question");
    set(batch.passage_mask, "passage_mask");
    set(batch.question_mask, "question_mask");
    if (batch.passage_mask.defined() && batch.question_mask.defined()) {
      batch.passage_mask = batch.passage_mask.ne(0);
      batch.question_mask = batch.question_mask.ne(0);
    }
  }
  set(batch.starts, "target_start");
  set(batch.ends, "target_end");
  for (const torch::Tensor& needed : {batch.passage, batch.question, batch.passage_mask,
                                      batch.question_mask, batch.starts, batch.ends}) {
    if (!needed.defined()) {
      return absl::InvalidArgumentError(
          absl::StrCat(fixture.directory,
                       "/io.safetensors: expected passages, questions, masks "
                       "and targets under the names of an original"));
    }
  }
  return batch;
}

}  // namespace

std::optional<torch::Tensor> Fixture::Find(absl::string_view name) const {
  const auto found = io.tensors().find(name);
  return found == io.tensors().end() ? std::nullopt : std::optional(ToTensor(found->second));
}

absl::StatusOr<Fixture> ReadFixture(const std::string& directory) {
  Fixture fixture;
  fixture.directory = directory;
  const std::string config_path = absl::StrCat(directory, "/config.json");
  const std::string weights_path = absl::StrCat(directory, "/weights.safetensors");
  CONCUR_ASSIGN_OR_RETURN(const Json config, ReadConfig(config_path));
  CONCUR_ASSIGN_OR_RETURN(fixture.weights, ReadSafeTensors(weights_path));
  fixture.approach = RecogniseApproach(config, fixture.weights);
  if (fixture.approach == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": these are the weights of no approach here"));
  }
  CONCUR_ASSIGN_OR_RETURN(fixture.io, ReadSafeTensors(absl::StrCat(directory, "/io.safetensors")));
  CONCUR_ASSIGN_OR_RETURN(fixture.gradients,
                          ReadSafeTensors(absl::StrCat(directory, "/grads.safetensors")));
  CONCUR_ASSIGN_OR_RETURN(fixture.batch, BatchFrom(fixture));
  fixture.in_training = fixture.Find("train.loss").has_value();
  fixture.options = fixture.approach->options;
  CONCUR_RETURN_IF_ERROR(SetOptions(config, config_path, fixture.options));
  if (fixture.in_training) {
    for (const auto& [name, value] : fixture.approach->options.values()) {
      if (std::holds_alternative<double>(value) && absl::StrContains(name, "drop")) {
        fixture.options.Set(name, 0.0);
      }
    }
  }
  absl::StatusOr<std::shared_ptr<Reader>> network = fixture.approach->make(fixture.options);
  if (!network.ok()) {
    return absl::Status(network.status().code(),
                        absl::StrCat(config_path, ": ", network.status().message()));
  }
  fixture.network = *std::move(network);
  fixture.network->eval();
  CONCUR_RETURN_IF_ERROR(LoadState(*fixture.network, fixture.weights.tensors(), weights_path));
  return fixture;
}

}  // namespace concur::readers
