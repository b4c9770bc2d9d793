// SPDX-License-Identifier: Apache-2.0
#include "studies/annotation/passages.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "qa/dataset_io.h"
#include "qa/json_items.h"
#include "qa/json_text.h"

namespace concur::annotation {
namespace {

constexpr size_t kIdBytesMax = 200;
constexpr size_t kTitleBytesMax = 1000;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

bool IsPlainLine(absl::string_view text) {
  return std::none_of(text.begin(), text.end(), IsControl);
}

bool IsPlainText(absl::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return IsControl(c) && c != '\n' && c != '\t'; });
}

absl::Status CheckPassage(const SourcePassage& passage, absl::string_view place) {
  const auto wrong = [place](absl::string_view field, absl::string_view expected) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": ", field, ": expected ", expected));
  };
  if (passage.id.empty() || passage.id.size() > kIdBytesMax || !IsPlainLine(passage.id)) {
    return wrong("id", absl::StrCat("1 to ", kIdBytesMax, " bytes without control characters"));
  }
  if (passage.title.size() > kTitleBytesMax || !IsPlainLine(passage.title)) {
    return wrong("title", absl::StrCat("at most ", kTitleBytesMax, " bytes, no control character"));
  }
  if (absl::StripAsciiWhitespace(passage.text).empty()) {
    return wrong("text", "a passage, got an empty one");
  }
  if (passage.text.size() > kPassageBytesMax) {
    return wrong("text", absl::StrCat("at most ", kPassageBytesMax, " bytes, got ",
                                      passage.text.size(), "; divide the passage"));
  }
  // Browsers change carriage returns, and offsets with them.
  if (!IsPlainText(passage.text)) {
    return wrong("text",
                 "no control characters but line feeds and tabs; replace \\r\\n by \\n, and remove "
                 "the others");
  }
  return absl::OkStatus();
}

absl::Status AddPassage(SourcePassage passage, absl::string_view place, std::set<std::string>& ids,
                        std::vector<SourcePassage>& passages) {
  CONCUR_RETURN_IF_ERROR(CheckPassage(passage, place));
  if (!ids.insert(passage.id).second) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": id: ", qa::Shown(passage.id), " was there before"));
  }
  if (passages.size() == kPassagesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": expected at most ", kPassagesMax, " passages"));
  }
  passages.push_back(std::move(passage));
  return absl::OkStatus();
}

absl::Status ReadPassageLine(const qa::JsonFields::Element& item, const std::string& place,
                             SourcePassage& passage) {
  qa::JsonFields fields;
  fields.place = place;
  std::optional<qa::JsonFields::Element> id;
  std::optional<qa::JsonFields::Element> title;
  std::optional<qa::JsonFields::Element> text;
  CONCUR_RETURN_IF_ERROR(
      fields.Collect(item, "passage", {{"id", &id}, {"title", &title}, {"text", &text}}));
  CONCUR_ASSIGN_OR_RETURN(passage.id, fields.Text(id, "id"));
  CONCUR_ASSIGN_OR_RETURN(passage.text, fields.Text(text, "text"));
  if (title.has_value()) {
    CONCUR_ASSIGN_OR_RETURN(passage.title, fields.Text(title, "title"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SourcePassage>> ReadPassages(const std::string& path) {
  std::vector<SourcePassage> passages;
  std::set<std::string> ids;
  CONCUR_ASSIGN_OR_RETURN(const bool is_lines, qa::FirstObjectHas(path, "text"));
  std::set<Digest> texts;  // passages of one text could be in several splits
  const auto take_line = [&](const qa::JsonFields::Element& item,
                             const std::string& place) -> absl::Status {
    SourcePassage passage;
    CONCUR_RETURN_IF_ERROR(ReadPassageLine(item, place, passage));
    if (!texts.insert(Sha256Of(passage.text)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": text: an earlier passage has the same text; remove one of them"));
    }
    return AddPassage(std::move(passage), place, ids, passages);
  };
  const auto take_passage = [&](const qa::Passage& passage) -> absl::Status {
    if (!texts.insert(Sha256Of(passage.context)).second) {
      return absl::OkStatus();
    }
    const std::string id = absl::StrCat("p", passages.size() + 1);
    return AddPassage({id, passage.title, passage.context}, absl::StrCat(path, ": passage ", id),
                      ids, passages);
  };
  CONCUR_RETURN_IF_ERROR(is_lines ? qa::ForEachJsonLine(path, take_line)
                                  : qa::ForEachPassage(path, take_passage));
  if (passages.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected at least one passage, found none"));
  }
  return passages;
}

absl::StatusOr<std::vector<KnownQuestion>> ReadOnboarding(const std::string& path, size_t max) {
  std::vector<KnownQuestion> known;
  int64_t passages = 0;
  const auto take = [&](const qa::Passage& from) -> absl::Status {
    const SourcePassage passage{absl::StrCat("onboarding", ++passages), from.title, from.context};
    CONCUR_RETURN_IF_ERROR(CheckPassage(passage, absl::StrCat(path, ": passage ", passages)));
    for (const qa::Question& question : from.questions) {
      known.push_back({passage, question.text, question.answers});
    }
    return known.size() <= max
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     path, ": expected at most ", max,
                     " questions, since each annotator answers all; take a sample with concur data "
                     "downsample"));
  };
  CONCUR_RETURN_IF_ERROR(qa::ForEachPassage(path, take));
  if (known.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected at least one question"));
  }
  return known;
}

}  // namespace concur::annotation
