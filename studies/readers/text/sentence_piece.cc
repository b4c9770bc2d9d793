// SPDX-License-Identifier: Apache-2.0
// Code: google/sentencepiece 0.1.97, normalizer.cc, unigram_model.cc (EncodeOptimized),
// sentencepiece_processor.cc, sentencepiece_model.proto.
#include "studies/readers/text/sentence_piece.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace concur::readers {
namespace {

constexpr int64_t kModelFileBytesMax = 16 << 20;
constexpr size_t kSentencePieceBytesMax = 1 << 10;
constexpr size_t kTableBytesMax = 256 << 20;  // total for pieces and their beginnings
constexpr size_t kTableEntryBytes = 64;       // beside the text
constexpr int32_t kBeginning = -1;
constexpr float kUnknownPenalty = 10;
constexpr absl::string_view kReplacementCharacter = "\xef\xbf\xbd";

// A field of a protobuf message: a number, or bytes.
struct ProtoField {
  uint32_t number = 0;
  uint32_t type = 0;
  uint64_t value = 0;
  absl::string_view bytes;
};

std::optional<uint64_t> TakeVarint(absl::string_view& message) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !message.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

// Takes the next field off `message`; nullopt when it is damaged.
std::optional<ProtoField> TakeField(absl::string_view& message) {
  enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  const std::optional<uint64_t> key = TakeVarint(message);
  if (!key.has_value()) {
    return std::nullopt;
  }
  ProtoField field;
  field.number = static_cast<uint32_t>(*key >> 3);
  field.type = static_cast<uint32_t>(*key & 7);
  uint64_t size = field.type == kFixed64 ? 8 : 4;
  if (field.type == kVarint || field.type == kBytes) {
    const std::optional<uint64_t> value = TakeVarint(message);
    if (!value.has_value()) {
      return std::nullopt;
    }
    field.value = *value;
    size = field.type == kBytes ? *value : 0;
  } else if (field.type != kFixed32 && field.type != kFixed64) {
    return std::nullopt;
  }
  if (size > message.size()) {
    return std::nullopt;
  }
  field.bytes = message.substr(0, size);
  message.remove_prefix(size);
  return field;
}

absl::Status DamagedModel() { return absl::InvalidArgumentError("a damaged message"); }

}  // namespace

absl::StatusOr<SentencePiece> SentencePiece::Parse(absl::string_view model,
                                                   absl::string_view place) {
  SentencePiece made;
  const auto parse = [&]() -> absl::Status {
    enum : uint32_t { kPieces = 1, kTrainer = 2, kNormalizer = 3 };
    enum : uint32_t { kModelType = 3, kByteFallback = 35, kSpaceAsSuffix = 24 };
    while (!model.empty()) {
      const std::optional<ProtoField> field = TakeField(model);
      if (!field.has_value()) {
        return DamagedModel();
      }
      if (field->number == kPieces) {
        CONCUR_RETURN_IF_ERROR(made.ParseEntry(field->bytes));
      } else if (field->number == kNormalizer) {
        CONCUR_RETURN_IF_ERROR(made.ParseRules(field->bytes));
      } else if (field->number == kTrainer) {
        absl::string_view rest = field->bytes;
        while (!rest.empty()) {
          const std::optional<ProtoField> option = TakeField(rest);
          if (!option.has_value()) {
            return DamagedModel();
          }
          if ((option->number == kModelType && option->value != 1) ||
              (option->number == kByteFallback && option->value != 0) ||
              (option->number == kSpaceAsSuffix && option->value != 0)) {
            return absl::InvalidArgumentError(
                "expected a unigram model, without bytes for unknown pieces and with spaces in "
                "front");
          }
        }
      }
    }
    return made.Finish();
  };
  const absl::Status status = parse();
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": not a model of SentencePiece: ", status.message()));
  }
  return made;
}

absl::StatusOr<SentencePiece> SentencePiece::Read(const std::string& path) {
  CONCUR_ASSIGN_OR_RETURN(const std::string model, ReadFile(path, kModelFileBytesMax));
  return Parse(model, path);
}

absl::Status SentencePiece::ParseEntry(absl::string_view message) {
  enum : uint32_t { kText = 1, kScore = 2, kKind = 3 };
  Item entry;
  while (!message.empty()) {
    const std::optional<ProtoField> field = TakeField(message);
    if (!field.has_value()) {
      return DamagedModel();
    }
    if (field->number == kText) {
      entry.text = std::string(field->bytes);
    } else if (field->number == kScore && field->bytes.size() == sizeof(float)) {
      std::memcpy(&entry.score, field->bytes.data(), sizeof(float));
    } else if (field->number == kKind) {
      if (field->value < 1 || field->value > 5) {
        return absl::InvalidArgumentError(
            absl::StrCat("piece ", entries_.size(), " has the unknown type ", field->value));
      }
      entry.kind = static_cast<Kind>(field->value);
    }
  }
  if (entry.text.empty() || entry.text.size() > kSentencePieceBytesMax || !IsUtf8(entry.text) ||
      !std::isfinite(entry.score)) {
    return absl::InvalidArgumentError(
        absl::StrCat("piece ", entries_.size(), ": expected text of 1 to ", kSentencePieceBytesMax,
                     " bytes and a finite score"));
  }
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status SentencePiece::ParseRules(absl::string_view message) {
  enum : uint32_t { kTable = 2, kDummyPrefix = 3, kRemoveSpaces = 4, kEscapeSpaces = 5 };
  while (!message.empty()) {
    const std::optional<ProtoField> field = TakeField(message);
    if (!field.has_value()) {
      return DamagedModel();
    }
    if (field->number == kDummyPrefix) {
      dummy_prefix_ = field->value != 0;
    } else if (field->number == kRemoveSpaces) {
      remove_spaces_ = field->value != 0;
    } else if (field->number == kEscapeSpaces && field->value == 0) {
      return absl::InvalidArgumentError("expected escape_whitespaces");
    } else if (field->number == kTable && !field->bytes.empty()) {
      CONCUR_ASSIGN_OR_RETURN(rules_, ReplacementRules::Parse(field->bytes));
    }
  }
  return absl::OkStatus();
}

// Fills the tables of pieces.
absl::Status SentencePiece::Finish() {
  score_min_ = std::numeric_limits<float>::max();
  score_max_ = std::numeric_limits<float>::min();  // the original's: the least above 0
  size_t table_bytes = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Item& entry = entries_[i];
    if (entry.kind == Kind::kUnknown) {
      unknown_ = static_cast<int32_t>(i);
    } else if (entry.kind == Kind::kUserDefined) {
      user_defined_.insert(entry.text);
      user_defined_bytes_max_ = std::max(user_defined_bytes_max_, entry.text.size());
    }
    if (entry.kind == Kind::kNormal) {
      score_min_ = std::min(score_min_, entry.score);
      score_max_ = std::max(score_max_, entry.score);
    }
    if (entry.kind != Kind::kNormal && entry.kind != Kind::kUserDefined) {
      others_.try_emplace(entry.text, static_cast<int32_t>(i));
    } else {
      for (size_t at = Utf8CharacterBytes(entry.text); at < entry.text.size();
           at += Utf8CharacterBytes(absl::string_view(entry.text).substr(at))) {
        if (pieces_.try_emplace(entry.text.substr(0, at), kBeginning).second) {
          table_bytes += at + kTableEntryBytes;
        }
      }
      int32_t& id = pieces_.try_emplace(entry.text, kBeginning).first->second;
      if (id != kBeginning) {
        return absl::InvalidArgumentError(absl::StrCat("piece ", i, " is also piece ", id));
      }
      id = static_cast<int32_t>(i);
      table_bytes += entry.text.size() + kTableEntryBytes;
      if (table_bytes > kTableBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("its pieces are too many and too long: a table of more than ",
                         kTableBytesMax, " bytes"));
      }
    }
  }
  return unknown_ < 0 ? absl::InvalidArgumentError("no piece of the type unknown")
                      : absl::OkStatus();
}

int32_t SentencePiece::Id(absl::string_view text) const {
  const auto other = others_.find(text);
  if (other != others_.end()) {
    return other->second;
  }
  const auto found = pieces_.find(text);
  return found == pieces_.end() || found->second == kBeginning ? -1 : found->second;
}

// Replacement of the beginning of `text`, and the number of bytes that it replaces.
// REQUIRES: !text.empty()
std::pair<absl::string_view, size_t> SentencePiece::Replace(absl::string_view text) const {
  for (size_t bytes = std::min(user_defined_bytes_max_, text.size()); bytes > 0; --bytes) {
    if (user_defined_.contains(text.substr(0, bytes))) {
      return {text.substr(0, bytes), bytes};
    }
  }
  if (const std::optional<ReplacementRules::Match> match = rules_.Longest(text)) {
    return {match->replacement, match->bytes};
  }
  const size_t bytes = Utf8CharacterBytes(text);
  return bytes == 0 ? std::make_pair(kReplacementCharacter, size_t{1})
                    : std::make_pair(text.substr(0, bytes), bytes);
}

SentencePiece::Normalized SentencePiece::Normalize(absl::string_view text) const {
  Normalized normalized;
  size_t consumed = 0;
  const auto append = [&](absl::string_view bytes) {
    normalized.text.append(bytes.data(), bytes.size());
    normalized.origin.resize(normalized.text.size(), static_cast<uint32_t>(consumed));
  };
  while (remove_spaces_ && consumed < text.size()) {
    const auto [replacement, bytes] = Replace(text.substr(consumed));
    if (replacement != " ") {
      break;
    }
    consumed += bytes;
  }
  if (consumed < text.size() && dummy_prefix_) {
    append(kSpaceSymbol);
  }
  bool after_space = remove_spaces_;
  while (consumed < text.size()) {
    auto [replacement, bytes] = Replace(text.substr(consumed));
    while (after_space && absl::ConsumePrefix(&replacement, " ")) {
    }
    for (const char& byte : replacement) {
      append(byte == ' ' ? kSpaceSymbol : absl::string_view(&byte, 1));
    }
    if (!replacement.empty()) {
      after_space = remove_spaces_ && absl::EndsWith(replacement, " ");
    }
    consumed += bytes;
  }
  while (remove_spaces_ && absl::EndsWith(normalized.text, kSpaceSymbol)) {
    normalized.text.resize(normalized.text.size() - kSpaceSymbol.size());
    consumed = normalized.origin[normalized.text.size()];
    normalized.origin.resize(normalized.text.size());
  }
  normalized.origin.push_back(static_cast<uint32_t>(consumed));
  return normalized;
}

std::vector<Piece> SentencePiece::Tokenize(absl::string_view text,
                                           std::vector<std::string>* shown) const {
  const Normalized normalized = Normalize(text);
  const absl::string_view all = normalized.text;
  struct Node {  // the best way to an end
    int32_t id = 0;
    float score = 0;
    size_t begin = absl::string_view::npos;
  };
  std::vector<Node> nodes(all.size() + 1);
  const float unknown_score = score_min_ - kUnknownPenalty;
  for (size_t begin = 0; begin < all.size();) {
    const size_t character = std::max<size_t>(1, Utf8CharacterBytes(all.substr(begin)));
    const float before = nodes[begin].score;
    // The sum is in the precision of the original's, whose bonus is a double.
    const auto offer = [&](size_t end, int32_t id, double score) {
      Node& node = nodes[end];
      if (node.begin == absl::string_view::npos || score > node.score) {
        node = {id, static_cast<float>(score), begin};
      }
    };
    bool alone = false;
    for (size_t end = begin + character; end <= all.size();) {
      const auto found = pieces_.find(all.substr(begin, end - begin));
      if (found == pieces_.end()) {
        break;
      }
      if (found->second != kBeginning) {
        const Item& entry = entries_[static_cast<size_t>(found->second)];
        const auto length = static_cast<float>(end - begin);
        const double score = entry.kind == Kind::kUserDefined
                                 ? static_cast<double>(length * score_max_) - 0.1
                                 : static_cast<double>(entry.score);
        offer(end, found->second, score + static_cast<double>(before));
        alone = alone || end == begin + character;
      }
      if (end == all.size()) {
        break;
      }
      end += std::max<size_t>(1, Utf8CharacterBytes(all.substr(end)));
    }
    if (!alone) {
      offer(begin + character, unknown_, static_cast<double>(unknown_score + before));
    }
    begin += character;
  }
  std::vector<Piece> pieces;
  std::vector<std::string> texts;
  for (size_t end = all.size(); end > 0; end = nodes[end].begin) {
    const Node& node = nodes[end];
    const Piece piece = {node.id, normalized.origin[node.begin], normalized.origin[end]};
    const absl::string_view piece_text = all.substr(node.begin, end - node.begin);
    if (!pieces.empty() && node.id == unknown_ && pieces.back().id == unknown_) {
      pieces.back().begin = piece.begin;
      if (shown != nullptr) {
        texts.back().insert(0, piece_text.data(), piece_text.size());
      }
    } else {
      pieces.push_back(piece);
      if (shown != nullptr) {
        texts.emplace_back(piece_text);
      }
    }
  }
  std::reverse(pieces.begin(), pieces.end());
  if (shown != nullptr) {
    shown->insert(shown->end(), texts.rbegin(), texts.rend());
  }
  return pieces;
}

std::string SentencePiece::Joined(absl::Span<const int32_t> ids) const {
  constexpr absl::string_view kUnknownSurface = " \xe2\x81\x87 ";
  std::string text;
  for (const int32_t id : ids) {
    const Item& entry = entries_[static_cast<size_t>(id)];
    absl::string_view rest = entry.text;
    if (entry.kind == Kind::kUnknown) {
      absl::StrAppend(&text, kUnknownSurface);
    } else if (entry.kind != Kind::kControl) {
      if (text.empty() && (dummy_prefix_ || remove_spaces_)) {
        absl::ConsumePrefix(&rest, kSpaceSymbol);
      }
      absl::StrAppend(&text, absl::StrReplaceAll(rest, {{kSpaceSymbol, " "}}));
    }
  }
  return text;
}

}  // namespace concur::readers
