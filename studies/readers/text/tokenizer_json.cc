// SPDX-License-Identifier: Apache-2.0
// Format: huggingface/tokenizers, tokenizer/serialization.rs and the modules that it names.
#include "studies/readers/text/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "qa/json_text.h"

namespace concur::readers {
namespace {

using Json = nlohmann::json;

constexpr size_t kEntriesMax = 1 << 24;

absl::Status Unread(absl::string_view field, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected ", expected));
}

// The member; null when there is none.
const Json& Member(const Json& object, const char* name) {
  static const auto& none = *new Json();
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string TypeIn(const Json& object) {
  const Json& type = Member(object, "type");
  return type.is_string() ? type.get<std::string>() : "";
}

// The value; `other` for null; nullopt for another type.
std::optional<bool> Flag(const Json& object, const char* name, bool other) {
  const Json& value = Member(object, name);
  return value.is_null()      ? std::optional(other)
         : value.is_boolean() ? std::optional(value.get<bool>())
                              : std::nullopt;
}

// The steps of a Sequence in `list`, one step as itself, none for null.
std::vector<const Json*> StepsOf(const Json& step, const char* list) {
  std::vector<const Json*> steps;
  if (TypeIn(step) == "Sequence") {
    for (const Json& inner : Member(step, list)) {
      steps.push_back(&inner);
    }
  } else if (!step.is_null()) {
    steps.push_back(&step);
  }
  return steps;
}

// {"entry": id}.
absl::StatusOr<std::vector<std::pair<std::string, int32_t>>> VocabularyIn(const Json& object) {
  if (!object.is_object() || object.size() > kEntriesMax) {
    return Unread("model.vocab", absl::StrCat("at most ", kEntriesMax, " entries and their ids"));
  }
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  for (const auto& [entry, id] : object.items()) {
    if (!id.is_number_integer() || id.get<double>() < 0 ||
        id.get<double>() >= static_cast<double>(kEntriesMax)) {
      return Unread(absl::StrCat("model.vocab: ", qa::Shown(entry)),
                    absl::StrCat("an id from 0 to below ", kEntriesMax));
    }
    vocabulary.emplace_back(entry, id.get<int32_t>());
  }
  return vocabulary;
}

absl::StatusOr<TokenizerJson> ParseWords(const Json& json, const Json& model) {
  TokenizerJson::Words words;
  CONCUR_ASSIGN_OR_RETURN(const auto vocabulary, VocabularyIn(Member(model, "vocab")));
  std::vector<bool> seen(vocabulary.size(), false);
  words.entries.resize(vocabulary.size());
  for (const auto& [entry, id] : vocabulary) {
    const auto at = static_cast<size_t>(id);
    if (at >= seen.size() || seen[at]) {
      return Unread(absl::StrCat("model.vocab: ", qa::Shown(entry)),
                    "ids from 0 on, each once and none left out");
    }
    seen[at] = true;
    words.entries[at] = entry;
  }
  const Json& prefix = Member(model, "continuing_subword_prefix");
  const Json& unknown = Member(model, "unk_token");
  if ((!prefix.is_null() && prefix != "##") || (!unknown.is_null() && unknown != "[UNK]")) {
    return Unread("model", "the prefix ## and the unknown token [UNK]");
  }
  const Json& most = Member(model, "max_input_chars_per_word");
  if (!most.is_null()) {
    if (!most.is_number_unsigned()) {
      return Unread("model.max_input_chars_per_word", "a number");
    }
    words.options.word_characters_max = most.get<size_t>();
  }
  const Json& normalizer = Member(json, "normalizer");
  const std::optional<bool> lower = Flag(normalizer, "lowercase", true);
  const std::optional<bool> chinese = Flag(normalizer, "handle_chinese_chars", true);
  const std::optional<bool> strips = Flag(normalizer, "strip_accents", lower.value_or(true));
  if (TypeIn(normalizer) != "BertNormalizer" || Flag(normalizer, "clean_text", true) != true ||
      !lower.has_value() || !chinese.has_value() || !strips.has_value()) {
    return Unread("normalizer", "a BertNormalizer with clean_text");
  }
  if (TypeIn(Member(json, "pre_tokenizer")) != "BertPreTokenizer") {
    return Unread("pre_tokenizer", "a BertPreTokenizer");
  }
  words.options.words = {.lower_case = *lower, .strip_accents = *strips, .split_chinese = *chinese};
  return TokenizerJson{std::move(words)};
}

absl::StatusOr<TokenizerJson> ParsePairs(const Json& json, const Json& model) {
  TokenizerJson::Pairs pairs;
  CONCUR_ASSIGN_OR_RETURN(pairs.vocabulary, VocabularyIn(Member(model, "vocab")));
  const Json& merges = Member(model, "merges");
  if (!merges.is_array()) {
    return Unread("model.merges", "a list");
  }
  for (size_t i = 0; i < merges.size(); ++i) {
    const Json& merge = merges[i];
    if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      const size_t space = std::min(text.find(' '), text.size());
      pairs.merges.emplace_back(text.substr(0, space),
                                text.substr(std::min(space + 1, text.size())));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      pairs.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else {
      return Unread(absl::StrCat("model.merges: ", i), "two entries");
    }
  }
  for (const char* refused : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json& value = Member(model, refused);
    if (!value.is_null() && value != "" && value != 0) {
      return Unread(absl::StrCat("model.", refused), "null");
    }
  }
  if (!Member(json, "normalizer").is_null()) {
    return Unread("normalizer", "null");
  }
  const Json& before = Member(json, "pre_tokenizer");
  const std::optional<bool> prefix = Flag(before, "add_prefix_space", true);
  if (TypeIn(before) != "ByteLevel" || !prefix.has_value() ||
      Flag(before, "use_regex", true) != true) {
    return Unread("pre_tokenizer", "ByteLevel");
  }
  pairs.options.prefix_space = *prefix;
  return TokenizerJson{std::move(pairs)};
}

// Adds one step of a unigram model's normalization.
absl::Status AddStep(const Json& step, TokenizerJson::Unigram& unigram) {
  const std::string type = TypeIn(step);
  const Json& pattern = Member(step, "pattern");
  const Json& content = Member(step, "content");
  if (type == "Replace" &&
      (Member(pattern, "String") == "``" || Member(pattern, "String") == "''") && content == "\"") {
    unigram.options.replace_quotes = true;
  } else if (type == "Replace" && Member(pattern, "Regex") == " {2,}" && content == " ") {
    unigram.options.join_spaces = true;
  } else if (type == "NFKD" || type == "StripAccents") {
    unigram.options.keep_accents = false;
  } else if (type == "Lowercase") {
    unigram.options.lower_case = true;
  } else if (type == "Precompiled") {
    const Json& table = Member(step, "precompiled_charsmap");
    std::string bytes;
    if (!table.is_string() || !absl::Base64Unescape(table.get_ref<const std::string&>(), &bytes)) {
      return Unread("normalizer: precompiled_charsmap", "base64");
    }
    CONCUR_ASSIGN_OR_RETURN(unigram.rules, ReplacementRules::Parse(bytes));
  } else {
    return Unread(absl::StrCat("normalizer: ", qa::Shown(type)),
                  "ALBERT's Replace, NFKD, StripAccents, Lowercase and Precompiled");
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenizerJson> ParseUnigram(const Json& json, const Json& model) {
  TokenizerJson::Unigram unigram;
  const Json& vocabulary = Member(model, "vocab");
  const Json& unknown = Member(model, "unk_id");
  if (!vocabulary.is_array() || vocabulary.size() > kEntriesMax || !unknown.is_number_unsigned() ||
      unknown.get<uint64_t>() >= vocabulary.size() ||
      Flag(model, "byte_fallback", false) != false) {
    return Unread("model", "a list as vocab, its unk_id, and no byte_fallback");
  }
  unigram.unknown = unknown.get<int64_t>();
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const Json& entry = vocabulary[i];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return Unread(absl::StrCat("model.vocab: ", i), "an entry and its score");
    }
    unigram.entries.push_back({entry[0].get<std::string>(), entry[1].get<double>()});
  }
  unigram.options = {
      .lower_case = false, .keep_accents = true, .replace_quotes = false, .join_spaces = false};
  for (const Json* step : StepsOf(Member(json, "normalizer"), "normalizers")) {
    CONCUR_RETURN_IF_ERROR(AddStep(*step, unigram));
  }
  bool words = false;
  for (const Json* step : StepsOf(Member(json, "pre_tokenizer"), "pretokenizers")) {
    const std::string type = TypeIn(*step);
    const Json& scheme = Member(*step, "prepend_scheme");
    if (type == "WhitespaceSplit" && !words) {
      unigram.options.split_at_space = true;
    } else if (type == "Metaspace" && Member(*step, "replacement") == std::string(kSpaceSymbol) &&
               (scheme.is_null() ? Flag(*step, "add_prefix_space", true) == true
                                 : scheme == "always")) {
      words = true;
    } else {
      return Unread("pre_tokenizer", "WhitespaceSplit and Metaspace, or the last alone");
    }
  }
  if (!words) {
    return Unread("pre_tokenizer", "Metaspace");
  }
  return TokenizerJson{std::move(unigram)};
}

absl::StatusOr<TokenizerJson> ParseRoot(const Json& json) {
  const Json& model = Member(json, "model");
  std::string type = TypeIn(model);
  if (type.empty() && model.is_object()) {  // older files do not say it
    type = model.contains("merges") ? "BPE" : model.contains("unk_token") ? "WordPiece" : "Unigram";
  }
  if (type == "WordPiece") {
    return ParseWords(json, model);
  }
  if (type == "BPE") {
    return ParsePairs(json, model);
  }
  if (type == "Unigram") {
    return ParseUnigram(json, model);
  }
  return Unread("model.type", "WordPiece, BPE or Unigram");
}

}  // namespace

absl::StatusOr<TokenizerJson> ParseTokenizerJson(absl::string_view json, absl::string_view place) {
  const auto parse = [json]() -> absl::StatusOr<TokenizerJson> {
    if (json.size() > static_cast<size_t>(kTokenizerJsonBytesMax)) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kTokenizerJsonBytesMax, " bytes"));
    }
    const Json parsed = Json::parse(json.begin(), json.end(), nullptr, false);
    if (!parsed.is_object()) {
      return absl::InvalidArgumentError("expected a JSON object");
    }
    return ParseRoot(parsed);
  };
  absl::StatusOr<TokenizerJson> made = parse();
  if (!made.ok()) {
    return absl::Status(made.status().code(), absl::StrCat(place, ": ", made.status().message()));
  }
  return made;
}

}  // namespace concur::readers
