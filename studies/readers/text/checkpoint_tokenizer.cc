// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/checkpoint_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "studies/readers/text/tokenizer_json.h"

namespace concur::readers {
namespace {

using ConfigJson = nlohmann::json;

constexpr int64_t kTokenizerConfigBytesMax = 1 << 20;

// By kind.
struct SpecialNames {
  const char *first, *separator, *padding, *mask, *unknown;
};
constexpr SpecialNames kSpecialNames[] = {{"[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"},
                                          {"<s>", "</s>", "<pad>", "<mask>", "<unk>"},
                                          {"[CLS]", "[SEP]", "<pad>", "[MASK]", "<unk>"}};

// The part of a tokenizer that has its entries.
template <typename Cutter>
const Cutter& Entries(const Cutter& cutter) {
  return cutter;
}
const SentencePiece& Entries(const AlbertTokenizer& albert) { return albert.model(); }

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Sets what is not said yet from a tokenizer_config.json, which may be absent. Special tokens must
// be the usual ones: others would be found elsewhere in texts.
absl::Status AddConfig(const std::string& path, const SpecialNames& names,
                       TokenizerOptions& options) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  CONCUR_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kTokenizerConfigBytesMax));
  const ConfigJson config = ConfigJson::parse(text, nullptr, false);
  if (!config.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a JSON object"));
  }
  const std::pair<const char*, std::optional<bool>*> flags[] = {
      {"do_lower_case", &options.lower_case},
      {"strip_accents", &options.strip_accents},
      {"tokenize_chinese_chars", &options.split_chinese},
      {"keep_accents", &options.keep_accents},
      {"add_prefix_space", &options.prefix_space}};
  for (const auto& [name, flag] : flags) {
    const auto found = config.find(name);
    if (found == config.end() || found->is_null()) {
      continue;
    }
    if (!found->is_boolean()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", name, ": expected true, false or null"));
    }
    *flag = flag->has_value() ? *flag : found->get<bool>();
  }
  const std::pair<const char*, const char*> tokens[] = {{"cls_token", names.first},
                                                        {"sep_token", names.separator},
                                                        {"pad_token", names.padding},
                                                        {"mask_token", names.mask},
                                                        {"unk_token", names.unknown}};
  for (const auto& [name, usual] : tokens) {
    auto found = config.find(name);
    const bool wrapped = found != config.end() && found->is_object() && found->contains("content");
    const ConfigJson* token = found == config.end() ? nullptr
                              : wrapped             ? &(*found)["content"]
                                                    : &*found;
    if (token != nullptr && !token->is_null() && *token != usual) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", name, ": expected ", usual));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TokenizerFiles> TokenizerFilesIn(const std::string& directory) {
  TokenizerFiles files;
  const std::pair<const char*, std::string*> names[] = {
      {"vocab.txt", &files.vocabulary}, {"vocab.json", &files.byte_entries},
      {"merges.txt", &files.merges},    {"spiece.model", &files.model},
      {"tokenizer.json", &files.json},  {"tokenizer_config.json", &files.config}};
  for (const auto& [name, path] : names) {
    const std::string candidate = absl::StrCat(directory, "/", name);
    if (Exists(candidate)) {
      *path = candidate;
    }
  }
  if (files.vocabulary.empty() && (files.byte_entries.empty() || files.merges.empty()) &&
      files.model.empty() && files.json.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory,
                     ": no tokenizer: expected vocab.txt, vocab.json with merges.txt, "
                     "spiece.model or tokenizer.json"));
  }
  return files;
}

absl::StatusOr<CheckpointTokenizer> CheckpointTokenizer::Make(Kind kind, Cutter cutter,
                                                              bool lower_case,
                                                              absl::string_view place,
                                                              Implementation implementation) {
  CheckpointTokenizer made(kind, std::move(cutter), lower_case);
  made.fast_ = implementation == Implementation::kRust;
  const SpecialNames& names = kSpecialNames[static_cast<size_t>(kind)];
  const std::pair<const char*, int32_t*> ids[] = {{names.first, &made.first_},
                                                  {names.separator, &made.separator_},
                                                  {names.padding, &made.padding_},
                                                  {names.mask, &made.mask_},
                                                  {names.unknown, &made.unknown_}};
  for (const auto& [name, id] : ids) {
    *id = made.Id(name);
    if (*id < 0) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": no entry ", name));
    }
  }
  return made;
}

absl::StatusOr<CheckpointTokenizer> CheckpointTokenizer::Read(const TokenizerFiles& files,
                                                              const TokenizerOptions& given) {
  const bool has_pairs = !files.byte_entries.empty() && !files.merges.empty();
  const bool has_others = !files.vocabulary.empty() || has_pairs || !files.model.empty();
  if (!files.json.empty() && (!has_others || given.implementation == Implementation::kRust)) {
    CONCUR_ASSIGN_OR_RETURN(const std::string json, ReadFile(files.json, kTokenizerJsonBytesMax));
    return ParseJson(json, files.json, given.implementation);
  }
  const Kind kind = !files.vocabulary.empty() ? Kind::kWordPiece
                    : has_pairs               ? Kind::kBytePair
                                              : Kind::kAlbert;
  TokenizerOptions options = given;
  CONCUR_RETURN_IF_ERROR(
      AddConfig(files.config, kSpecialNames[static_cast<size_t>(kind)], options));
  const Implementation implementation = options.implementation;
  const bool lower_case = options.lower_case.value_or(true);
  switch (kind) {
    case Kind::kWordPiece: {
      CONCUR_ASSIGN_OR_RETURN(
          WordPiece pieces,
          WordPiece::Read(files.vocabulary,
                          {.words = {.lower_case = lower_case,
                                     .strip_accents = options.strip_accents,
                                     .split_chinese = options.split_chinese.value_or(true),
                                     .implementation = implementation}}));
      return Make(kind, std::move(pieces), lower_case, files.vocabulary);
    }
    case Kind::kBytePair: {
      CONCUR_ASSIGN_OR_RETURN(BytePair pairs,
                              BytePair::Read(files.byte_entries, files.merges,
                                             {.prefix_space = options.prefix_space.value_or(false),
                                              .implementation = implementation}));
      return Make(kind, std::move(pairs), false, files.byte_entries, implementation);
    }
    case Kind::kAlbert:
      break;
  }
  CONCUR_ASSIGN_OR_RETURN(SentencePiece model, SentencePiece::Read(files.model));
  const bool keep_accents = options.keep_accents.value_or(false);
  if (implementation == Implementation::kPython) {
    return Make(kind, AlbertTokenizer(std::move(model), {lower_case, keep_accents}), lower_case,
                files.model);
  }
  CONCUR_ASSIGN_OR_RETURN(FastAlbert fast, FastAlbert::FromModel(model, files.model,
                                                                 {.lower_case = lower_case,
                                                                  .keep_accents = keep_accents}));
  return Make(kind, std::move(fast), lower_case, files.model);
}

absl::StatusOr<CheckpointTokenizer> CheckpointTokenizer::ParseJson(absl::string_view json,
                                                                   absl::string_view place,
                                                                   Implementation implementation) {
  CONCUR_ASSIGN_OR_RETURN(TokenizerJson parsed, ParseTokenizerJson(json, place));
  if (auto* words = std::get_if<TokenizerJson::Words>(&parsed.model)) {
    words->options.words.implementation = implementation;
    CONCUR_ASSIGN_OR_RETURN(WordPiece pieces,
                            WordPiece::FromEntries(words->entries, place, words->options));
    return Make(Kind::kWordPiece, std::move(pieces), words->options.words.lower_case, place);
  }
  if (auto* pairs = std::get_if<TokenizerJson::Pairs>(&parsed.model)) {
    pairs->options.implementation = implementation;
    CONCUR_ASSIGN_OR_RETURN(BytePair made, BytePair::FromEntries(pairs->vocabulary, pairs->merges,
                                                                 place, pairs->options));
    return Make(Kind::kBytePair, std::move(made), false, place, implementation);
  }
  auto& unigram = std::get<TokenizerJson::Unigram>(parsed.model);
  if (implementation == Implementation::kPython) {
    return absl::InvalidArgumentError(
        absl::StrCat(place,
                     ": ALBERT's tokenizer of Python needs spiece.model: expected that file beside "
                     "it, or the implementation rust"));
  }
  CONCUR_ASSIGN_OR_RETURN(
      FastAlbert fast, FastAlbert::FromEntries(std::move(unigram.entries), unigram.unknown,
                                               std::move(unigram.rules), place, unigram.options));
  return Make(Kind::kAlbert, std::move(fast), unigram.options.lower_case, place);
}

std::vector<Piece> CheckpointTokenizer::Tokenize(absl::string_view text, bool word) const {
  if (const auto* pairs = std::get_if<BytePair>(&cutter_)) {
    return word ? pairs->Tokenize(text, true) : pairs->Tokenize(text);
  }
  return std::visit([&](const auto& cutter) { return cutter.Tokenize(text); }, cutter_);
}

std::vector<std::string> CheckpointTokenizer::Shown(absl::string_view text,
                                                    absl::Span<const Piece> pieces) const {
  std::vector<std::string> shown;
  if (const auto* albert = std::get_if<AlbertTokenizer>(&cutter_)) {
    albert->Tokenize(text, &shown);
  } else if (const auto* fast = std::get_if<FastAlbert>(&cutter_)) {
    fast->Tokenize(text, &shown);
  } else {
    uint32_t end = 0;  // end of the piece before
    for (const Piece& piece : pieces) {
      // Rust shows the white space that belongs to a special token.
      const bool with_space =
          fast_ && kind_ == Kind::kBytePair && piece.id == mask_ && piece.begin > end;
      shown.push_back(
          absl::StrCat(with_space ? text.substr(end, piece.begin - end) : "", Entry(piece.id)));
      end = piece.end;
    }
  }
  return shown;
}

int32_t CheckpointTokenizer::size() const {
  return std::visit([](const auto& cutter) { return Entries(cutter).size(); }, cutter_);
}

const std::string& CheckpointTokenizer::Entry(int32_t id) const {
  return std::visit(
      [id](const auto& cutter) -> const std::string& { return Entries(cutter).Entry(id); },
      cutter_);
}

int32_t CheckpointTokenizer::Id(absl::string_view entry) const {
  return std::visit([entry](const auto& cutter) { return Entries(cutter).Id(entry); }, cutter_);
}

std::string CheckpointTokenizer::Joined(absl::Span<const int32_t> ids) const {
  if (const auto* pairs = std::get_if<BytePair>(&cutter_)) {
    return CleanUtf8(pairs->BytesOf(ids));
  }
  if (const auto* albert = std::get_if<AlbertTokenizer>(&cutter_)) {
    return albert->model().Joined(ids);
  }
  std::vector<absl::string_view> entries;
  for (const int32_t id : ids) {
    entries.emplace_back(Entry(id));
  }
  if (kind_ == Kind::kWordPiece) {
    return absl::StrReplaceAll(absl::StrJoin(entries, " "), {{" ##", ""}});
  }
  const std::string text = absl::StrReplaceAll(absl::StrJoin(entries, ""), {{kSpaceSymbol, " "}});
  return std::string(absl::StripPrefix(text, " "));
}

}  // namespace concur::readers
