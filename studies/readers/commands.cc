// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/commands.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "studies/readers/approaches/approach.h"
#include "studies/readers/approaches/recognise.h"
#include "studies/readers/files/encoder_config.h"
#include "studies/readers/files/safetensors.h"
#include "studies/readers/fine_tuning/settings.h"
#include "studies/readers/text/checkpoint_tokenizer.h"
#include "studies/readers/training/settings.h"

namespace concur::readers {
namespace {

constexpr int64_t kInspectedConfigBytesMax = 1 << 20;
constexpr size_t kTokenizedLineBytesMax = size_t{32} << 20;

// Reads a line without its end; false when there is none left.
absl::StatusOr<bool> NextLine(std::istream& in, int64_t number, std::string& line) {
  line.clear();
  std::streambuf* buffer = in.rdbuf();
  bool any = false;
  for (int c = buffer->sbumpc(); c != std::char_traits<char>::eof(); c = buffer->sbumpc()) {
    any = true;
    if (c == '\n') {
      break;
    }
    if (line.size() == kTokenizedLineBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": more than ", kTokenizedLineBytesMax, " bytes"));
    }
    line.push_back(static_cast<char>(c));
  }
  return any;
}

absl::StatusOr<TokenizerOptions> TokenizerOptionsOf(const TokenizeOptions& options) {
  TokenizerOptions made;
  made.implementation = options.implementation;
  const std::pair<const char*, std::optional<bool>*> flags[] = {
      {"do_lower_case", &made.lower_case},
      {"strip_accents", &made.strip_accents},
      {"tokenize_chinese_chars", &made.split_chinese},
      {"keep_accents", &made.keep_accents},
      {"add_prefix_space", &made.prefix_space}};
  for (const std::string& assignment : options.assignments) {
    const size_t equals = std::min(assignment.find('='), assignment.size());
    const std::string name = assignment.substr(0, equals);
    const std::string value = assignment.substr(std::min(equals + 1, assignment.size()));
    std::vector<std::string> names;
    std::optional<bool>* flag = nullptr;
    for (const auto& [known, target] : flags) {
      names.emplace_back(known);
      flag = name == known ? target : flag;
    }
    if (flag == nullptr || (value != "true" && value != "false")) {
      return absl::InvalidArgumentError(
          absl::StrCat("--setting ", assignment, ": expected true or false for one of ",
                       absl::StrJoin(names, ", "), flag == nullptr ? DidYouMean(name, names) : ""));
    }
    *flag = value == "true";
  }
  return made;
}

// The approach that the folder's config.json and weights belong to; nullptr for an unknown one.
const Approach* ApproachOf(const std::string& directory, const SafeTensors& weights) {
  const absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(directory, "/config.json"), kInspectedConfigBytesMax);
  const nlohmann::json config = nlohmann::json::parse(text.value_or(""), nullptr, false);
  return config.is_object() ? RecogniseApproach(config, weights) : nullptr;
}

}  // namespace

std::string ListApproaches() {
  std::string out;
  const auto show = [&out](const Options& options) {
    for (const auto& [name, value] : options.values()) {
      absl::StrAppend(&out, "    ", name, "=", OptionText(value), "\n");
    }
  };
  for (const Approach& approach : AllApproaches()) {
    absl::StrAppend(&out, approach.name, ": ", approach.summary, "\n");
    show(OptionsOf(approach.settings));
    show(NetworkOptionsOf(approach));
  }
  for (const PretrainedApproach& approach : PretrainedApproaches()) {
    absl::StrAppend(&out, approach.name, ": ", approach.summary, "\n");
    show(approach.options);
  }
  return out;
}

absl::StatusOr<std::string> InspectWeights(const std::string& path) {
  const bool is_directory = std::filesystem::is_directory(path);
  const std::string file = is_directory ? absl::StrCat(path, "/weights.safetensors") : path;
  CONCUR_ASSIGN_OR_RETURN(const SafeTensors weights, ReadSafeTensors(file));
  std::string out;
  if (is_directory && std::filesystem::exists(absl::StrCat(path, "/config.json"))) {
    const Family* family = FamilyOfCheckpoint(path);
    const Approach* approach = ApproachOf(path, weights);
    absl::StrAppend(&out, "approach: ",
                    family != nullptr     ? family->name
                    : approach != nullptr ? approach->name
                                          : "unknown",
                    "\n");
  }
  for (const auto& [name, value] : weights.metadata()) {
    absl::StrAppend(&out, name, ": ", value, "\n");
  }
  size_t width = 0;
  int64_t values = 0;
  for (const auto& [name, tensor] : weights.tensors()) {
    width = std::max(width, name.size());
    values += tensor.values();
  }
  for (const auto& [name, tensor] : weights.tensors()) {
    absl::StrAppendFormat(&out, "%-*s  %-4s  [%s]\n", static_cast<int>(width), name,
                          NameOf(tensor.type), absl::StrJoin(tensor.shape, ", "));
  }
  absl::StrAppend(&out, weights.tensors().size(), " tensors, ", values, " values\n");
  return out;
}

absl::Status TokenizeLines(const TokenizeOptions& options, std::istream& in, std::ostream& out) {
  CONCUR_ASSIGN_OR_RETURN(const TokenizerFiles files, TokenizerFilesIn(options.checkpoint));
  CONCUR_ASSIGN_OR_RETURN(const TokenizerOptions tokenizer_options, TokenizerOptionsOf(options));
  CONCUR_ASSIGN_OR_RETURN(const CheckpointTokenizer tokenizer,
                          CheckpointTokenizer::Read(files, tokenizer_options));
  std::string text;
  for (int64_t number = 1;; ++number) {
    CONCUR_ASSIGN_OR_RETURN(const bool found, NextLine(in, number, text));
    if (!found) {
      break;
    }
    if (options.json) {
      const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
      if (!value.is_string()) {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", number, ": expected a JSON string"));
      }
      text = value.get<std::string>();
    }
    if (!IsUtf8(text)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": not UTF-8"));
    }
    const std::vector<Piece> pieces = tokenizer.Tokenize(text, options.word);
    const std::vector<uint32_t> place = CodePointsBefore(text);
    nlohmann::ordered_json ids = nlohmann::ordered_json::array();
    nlohmann::ordered_json offsets = nlohmann::ordered_json::array();
    for (const Piece& piece : pieces) {
      ids.push_back(piece.id);
      offsets.push_back({place[piece.begin], place[piece.end]});
    }
    const nlohmann::ordered_json line = {
        {"ids", ids}, {"pieces", tokenizer.Shown(text, pieces)}, {"offsets", offsets}};
    out << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  }
  return absl::OkStatus();
}

}  // namespace concur::readers
