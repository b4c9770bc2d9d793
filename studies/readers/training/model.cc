// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/training/model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/tensors.h"

namespace concur::readers {
namespace {

using ModelJson = nlohmann::json;

constexpr int64_t kModelFormat = 1;
constexpr int64_t kModelJsonBytesMax = int64_t{1} << 30;
constexpr int64_t kVectorWidthMax = 4096;

ModelJson JsonOf(const Options& options) {
  ModelJson object = ModelJson::object();
  for (const auto& [name, value] : options.values()) {
    std::visit([&, key = name](const auto& plain) { object[key] = plain; }, value);
  }
  return object;
}

// "name=value" for each member of an object of plain values.
std::vector<std::string> AssignmentsOf(const ModelJson& object) {
  std::vector<std::string> assignments;
  for (const auto& [name, value] : object.items()) {
    assignments.push_back(
        absl::StrCat(name, "=", value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return assignments;
}

torch::Tensor Normals(int64_t rows, int64_t columns, Random& random) {
  torch::Tensor normals = torch::empty({rows, columns}, torch::kFloat32);
  auto* out = normals.data_ptr<float>();
  for (int64_t i = 0; i < normals.numel(); ++i) {
    out[i] = static_cast<float>(random.Normal());
  }
  return normals;
}

// Random vectors for words that have none; `known` are the vectors of words that have one.
torch::Tensor RandomVectors(UnknownWords kind, const torch::Tensor& known, int64_t rows,
                            Random& random) {
  if (kind == UnknownWords::kDropped || known.size(0) < 2) {
    return Normals(rows, known.size(1), random);  // as torch initialises embeddings
  }
  if (kind == UnknownWords::kRandom) {
    return Normals(rows, known.size(1), random) * known.std().item<double>() +
           known.mean().item<double>();
  }
  // Sums of the known vectors with random weights have their mean and covariance.
  const torch::Tensor mean = known.mean(0, true);
  return mean + Normals(rows, known.size(0), random).matmul(known - mean) /
                    std::sqrt(static_cast<double>(known.size(0)));
}

// Throws nlohmann's exceptions for absent members and those of another type.
absl::StatusOr<Model> ModelFromJson(const ModelJson& json) {
  if (json.at("format").get<int64_t>() != kModelFormat) {
    return absl::InvalidArgumentError(absl::StrCat("format: expected ", kModelFormat, ", got ",
                                                   json.at("format").dump(),
                                                   "; train the model again"));
  }
  CONCUR_ASSIGN_OR_RETURN(const Approach* approach,
                          FindApproach(json.at("approach").get<std::string>()));
  std::vector<std::string> assignments = AssignmentsOf(json.at("settings"));
  if (!json.at("settings").contains("vectors_case")) {
    assignments.emplace_back("vectors_case=exact");  // trained before there was another
  }
  for (std::string& option : AssignmentsOf(json.at("options"))) {
    assignments.push_back(std::move(option));
  }
  CONCUR_ASSIGN_OR_RETURN(Plan plan, MakePlan(*approach, assignments));
  CONCUR_ASSIGN_OR_RETURN(
      Vocabulary words, Vocabulary::FromEntries(json.at("words").get<std::vector<std::string>>()));
  CONCUR_ASSIGN_OR_RETURN(
      Vocabulary characters,
      Vocabulary::FromEntries(json.at("characters").get<std::vector<std::string>>()));
  Model model{approach,
              std::move(plan),
              json.at("seed").get<uint64_t>(),
              json.at("word_dim").get<int64_t>(),
              BatchMaker(approach->inputs, std::move(words), std::move(characters)),
              nullptr};
  if (model.word_dim < 1 || model.word_dim > kVectorWidthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("word_dim: expected 1 to ", kVectorWidthMax, ", got ", model.word_dim));
  }
  return model;
}

}  // namespace

absl::Status Model::MakeNetwork() {
  InputSizes sizes = batches.Sizes();
  sizes.word_dim = word_dim;
  Approach planned = *approach;
  planned.options = plan.options;
  torch::manual_seed(seed);
  CONCUR_ASSIGN_OR_RETURN(network, approach->make(planned.WithSizes(sizes)));
  return absl::OkStatus();
}

void Model::SetWordVectors(const WordVectorRows* rows, int64_t first_row) {
  const torch::NoGradGuard no_gradients;
  std::vector<int64_t> known;
  std::vector<int64_t> unknown;
  std::vector<float> values;
  if (first_row <= Vocabulary::kUnknown) {
    unknown.push_back(Vocabulary::kUnknown);
  }
  const std::vector<std::string>& entries = batches.words().entries();
  for (int64_t id = std::max(first_row, Vocabulary::kFirst); id < batches.words().size(); ++id) {
    const absl::Span<const float> row =
        rows == nullptr ? absl::Span<const float>()
                        : rows->Find(entries[static_cast<size_t>(id - Vocabulary::kFirst)]);
    (row.empty() ? unknown : known).push_back(id);
    values.insert(values.end(), row.begin(), row.end());
  }
  torch::Tensor table = network->WordVectors();
  const torch::Tensor vectors =
      torch::tensor(values).reshape({static_cast<int64_t>(known.size()), word_dim});
  Random random(seed, "word vectors");
  const torch::Tensor drawn = RandomVectors(approach->inputs.unknown_words, vectors,
                                            static_cast<int64_t>(unknown.size()), random);
  table.index_copy_(0, torch::tensor(known, torch::kInt64), vectors);
  table.index_copy_(0, torch::tensor(unknown, torch::kInt64), drawn);
  if (first_row == 0) {
    table[Vocabulary::kPadding].zero_();
  }
  network->WordVectorsChanged();
}

absl::Status Model::AddWords(const std::string& vectors, absl::flat_hash_set<std::string> forms) {
  absl::erase_if(forms, [&](const std::string& form) {
    return batches.words().Id(form) != Vocabulary::kUnknown;
  });
  CONCUR_ASSIGN_OR_RETURN(
      const WordVectorRows rows,
      WordVectorRows::Read(vectors, word_dim, forms, plan.settings.vectors_case));
  const int64_t before = batches.words().size();
  for (const std::string& form : std::set<std::string>(forms.begin(), forms.end())) {
    if (!rows.Find(form).empty()) {
      batches.AddWord(form);
    }
  }
  const std::shared_ptr<Reader> small = network;
  CONCUR_RETURN_IF_ERROR(MakeNetwork());
  const torch::NoGradGuard no_gradients;
  std::map<std::string, torch::Tensor> larger = StateOf(*network);
  for (const auto& [name, tensor] : StateOf(*small)) {
    torch::Tensor& target = larger.at(name);
    (target.sizes() == tensor.sizes() ? target : target.narrow(0, 0, tensor.size(0))).copy_(tensor);
  }
  network->eval();
  SetWordVectors(&rows, before);
  return absl::OkStatus();
}

absl::StatusOr<Annotator> AnnotatorOf(const Inputs& inputs) {
  return Annotator::Load(inputs.match_features, inputs.tags != Inputs::Tags::kNone, {});
}

absl::Status SaveModel(const std::string& directory, const Model& model) {
  CONCUR_RETURN_IF_ERROR(MakeDirectories(directory));
  const std::string weights = SaveState(*model.network, {});
  const ModelJson json = {
      {"format", kModelFormat},
      {"approach", model.approach->name},
      {"settings", JsonOf(OptionsOf(model.plan.settings))},
      {"options", JsonOf(model.plan.options)},
      {"seed", model.seed},
      {"word_dim", model.word_dim},
      {"words", model.batches.words().entries()},
      {"characters", model.batches.characters().entries()},
      {"weights", Sha256Of(weights).ToHex()},
  };
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(directory + "/weights.safetensors", weights));
  return WriteFileAtomically(directory + "/model.json",
                             json.dump(1, ' ', false, ModelJson::error_handler_t::replace) + "\n");
}

absl::StatusOr<Model> LoadModel(const std::string& directory) {
  const std::string path = directory + "/model.json";
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kModelJsonBytesMax));
  std::string digest;
  absl::StatusOr<Model> model = absl::UnknownError("");
  try {
    const ModelJson json = ModelJson::parse(text);
    model = ModelFromJson(json);
    digest = model.ok() ? json.at("weights").get<std::string>() : "";
  } catch (const ModelJson::exception& error) {
    return absl::DataLossError(absl::StrCat(path, ": damaged: ", JsonReason(error.what())));
  }
  if (!model.ok()) {
    return absl::Status(model.status().code(), absl::StrCat(path, ": ", model.status().message()));
  }
  const std::string weights_path = directory + "/weights.safetensors";
  CONCUR_ASSIGN_OR_RETURN(std::string weights, ReadFile(weights_path, int64_t{1} << 34));
  if (Sha256Of(weights).ToHex() != digest) {
    return absl::DataLossError(
        absl::StrCat(weights_path, ": damaged: its digest is not that of ", path));
  }
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors tensors,
                          SafeTensors::Parse(std::move(weights), weights_path));
  CONCUR_RETURN_IF_ERROR(model->MakeNetwork());
  CONCUR_RETURN_IF_ERROR(LoadState(*model->network, tensors.tensors(), weights_path));
  model->network->eval();
  return model;
}

}  // namespace concur::readers
