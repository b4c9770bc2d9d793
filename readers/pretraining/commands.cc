// SPDX-License-Identifier: Apache-2.0
#include "readers/pretraining/commands.h"

#include <torch/torch.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "readers/files/safetensors.h"
#include "readers/pretraining/network.h"
#include "readers/pretraining/pretrainer.h"
#include "readers/pretraining/settings.h"
#include "readers/tensors.h"
#include "readers/text/word_piece.h"
#include "readers/text/word_piece_learner.h"
#include "readers/training/checkpoint.h"

namespace concur::readers {
namespace {

absl::StatusOr<std::vector<std::string>> LearnVocabulary(const TextSources& sources,
                                                         const PretrainSettings& settings) {
  WordPieceLearner learner({.lower_case = settings.lower_case});
  CONCUR_RETURN_IF_ERROR(ForEachText(sources, [&](absl::string_view text) { learner.Add(text); }));
  auto entries = learner.Learn(static_cast<size_t>(settings.vocabulary));
  if (!entries.ok()) {
    return absl::Status(entries.status().code(),
                        absl::StrCat("--setting ", entries.status().message()));
  }
  return entries;
}

// Everything that the weights depend on.
std::string PretrainFingerprint(const PretrainOptions& options, const PretrainSettings& settings,
                                absl::Span<const std::string> entries,
                                absl::Span<const int32_t> pieces) {
  Sha256 hash;
  hash.UpdateField(options.family);
  for (const auto& [name, value] : settings.options.values()) {
    hash.UpdateField(absl::StrCat(name, "=", OptionText(value)));
  }
  hash.UpdateField(absl::StrCat(options.seed, " ", options.machine.threads));
  for (const std::string& entry : entries) {
    hash.UpdateField(entry);
  }
  hash.UpdateField(absl::string_view(reinterpret_cast<const char*>(pieces.data()),
                                     pieces.size() * sizeof(int32_t)));
  return hash.Finish().ToHex();
}

// The encoder's tensors without the head for answers, which fine-tuning draws.
absl::StatusOr<std::string> WeightsWithoutHead(const Encoder& encoder) {
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors all,
                          SafeTensors::Parse(SaveState(encoder, {}), "model.safetensors"));
  SafeTensors::Tensors kept;
  for (const auto& [name, tensor] : all.tensors()) {
    if (!absl::StartsWith(name, "qa_outputs.")) {
      kept.emplace(name, tensor);
    }
  }
  return WriteSafeTensors(kept, {{"format", "pt"}});
}

absl::Status SavePretraining(const PretrainOptions& options, const PretrainSettings& settings,
                             absl::Span<const std::string> entries, const Encoder& encoder) {
  // So named, the original library reads WordPiece whatever the family is.
  const nlohmann::ordered_json tokenizer = {{"tokenizer_class", "BertTokenizer"},
                                            {"do_lower_case", settings.lower_case},
                                            {"model_max_length", settings.rows.length}};
  CONCUR_ASSIGN_OR_RETURN(const std::string weights, WeightsWithoutHead(encoder));
  const std::pair<const char*, std::string> files[] = {
      {"vocab.txt", absl::StrCat(absl::StrJoin(entries, "\n"), "\n")},
      {"tokenizer_config.json", tokenizer.dump(1) + "\n"},
      {"config.json", settings.config_json},
      {"model.safetensors", weights}};
  for (const auto& [name, text] : files) {
    CONCUR_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(options.out, "/", name), text));
  }
  return absl::OkStatus();
}

absl::Status RunPretraining(const PretrainOptions& options,
                            const std::function<bool(int64_t update)>& interrupted) {
  CONCUR_ASSIGN_OR_RETURN(const PretrainedFamily* family, FindFamily(options.family));
  CONCUR_ASSIGN_OR_RETURN(const PretrainSettings settings,
                          MakePretrainSettings(*family, options.assignments));
  PretrainRun run;
  CONCUR_ASSIGN_OR_RETURN(run.time_max, TimeBudgetOf(options.time_budget));
  CONCUR_ASSIGN_OR_RETURN(run.device, Prepare(options.machine));
  CONCUR_ASSIGN_OR_RETURN(run.product_type, ProductTypeOn(run.device, settings.half_precision));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> entries,
                          LearnVocabulary(options.sources, settings));
  CONCUR_ASSIGN_OR_RETURN(const WordPiece tokenizer,
                          WordPiece::FromEntries(entries, "vocabulary",
                                                 {.words = {.lower_case = settings.lower_case}}));
  CONCUR_ASSIGN_OR_RETURN(const std::vector<int32_t> pieces,
                          PiecesOfTexts(options.sources, tokenizer));
  Say(absl::StrCat(family->name, ": a text of ", pieces.size(), " tokens, ", entries.size(),
                   " different ones"));
  torch::manual_seed(options.seed);
  PretrainingNetwork network(settings);
  CONCUR_RETURN_IF_ERROR(MakeDirectories(options.out));
  run.fingerprint = PretrainFingerprint(options, settings, entries, pieces);
  run.checkpoint = CheckpointPath(options.out, run.fingerprint);
  run.progress = Say;
  std::string lines;
  run.reported = [&lines](const PretrainingReport& report) {
    nlohmann::ordered_json line = {{"update", report.update}};
    for (const auto& [name, value] : report.values) {
      line[name] = value;
    }
    absl::StrAppend(&lines, line.dump(), "\n");
    ReportStep(report.update, report.values);
  };
  const Termination termination;
  run.interrupted = [&](int64_t update) {
    return (interrupted && interrupted(update)) || Termination::Requested();
  };
  CONCUR_RETURN_IF_ERROR(
      Pretrain(network, pieces, EntriesOf(entries), settings, options.seed, run));
  CONCUR_RETURN_IF_ERROR(SavePretraining(options, settings, entries, network.encoder()));
  CONCUR_RETURN_IF_ERROR(WriteFileAtomically(options.out + "/pretraining.jsonl", lines));
  std::error_code ignored;
  std::filesystem::remove(run.checkpoint, ignored);
  return absl::OkStatus();
}

}  // namespace

absl::Status PretrainReader(const PretrainOptions& options,
                            const std::function<bool(int64_t update)>& interrupted) {
  return CatchTorch([&] { return RunPretraining(options, interrupted); });
}

}  // namespace concur::readers
