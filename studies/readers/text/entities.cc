// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "qa/builders/wordnet.h"
#include "studies/readers/text/tagger.h"

namespace concur::readers {
namespace {

enum Entity : int32_t {
  kOther,
  kPerson,
  kLocation,
  kOrganization,
  kMisc,
  kNumber,
  kDate,
  kTime,
  kMoney,
  kPercent,
  kOrdinal,
};

bool IsCue(absl::string_view cues, absl::string_view word) {
  const std::vector<absl::string_view> list = absl::StrSplit(cues, ' ');
  return std::find(list.begin(), list.end(), word) != list.end();
}

constexpr absl::string_view kMonthsAndDays =
    "January February March April May June July August September October November December Monday "
    "Tuesday Wednesday Thursday Friday Saturday Sunday";
constexpr absl::string_view kPersonCues =
    "Mr. Mr Mrs. Mrs Ms. Ms Dr. Dr Prof. Sir Lord Lady President King Queen Prince Princess Pope "
    "Saint St. General Captain Senator";
constexpr absl::string_view kOrganizationCues =
    "University College School Institute Company Corporation Corp Inc Ltd Party Club Association "
    "Society Council Committee Department Ministry Bank Church Army Navy Agency Union League Court "
    "Commission Group Museum Foundation";
constexpr absl::string_view kLocationCues =
    "River Lake Mountain Mount Street Avenue Road County City Island Islands Bay Sea Ocean Valley "
    "Park Bridge Desert Republic Province";
constexpr absl::string_view kPlacePrepositions = "in at near In At Near";
constexpr absl::string_view kMagnitudes = "hundred thousand million billion trillion dozen";

bool IsAsciiUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }
bool IsAsciiDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool IsYear(absl::string_view word) {
  return word.size() == 4 && std::all_of(word.begin(), word.end(), IsAsciiDigit) &&
         word >= "1000" && word < "2100";
}

// Tag of a number, by its form and its neighbours.
int32_t TagOfNumber(const std::vector<absl::string_view>& words, size_t i) {
  const absl::string_view word = words[i];
  const absl::string_view before = i > 0 ? words[i - 1] : "";
  const absl::string_view after = i + 1 < words.size() ? words[i + 1] : "";
  if (before == "$" || before == "\u00a3" || before == "\u20ac") {
    return kMoney;
  }
  if (after == "%" || after == "percent") {
    return kPercent;
  }
  if (absl::EndsWith(word, "st") || absl::EndsWith(word, "nd") || absl::EndsWith(word, "rd") ||
      absl::EndsWith(word, "th")) {
    return after == "century" ? kDate : kOrdinal;
  }
  if (absl::StrContains(word, ':')) {
    return kTime;
  }
  if (IsYear(word) || absl::EndsWith(word, "0s") || IsCue(kMonthsAndDays, before) ||
      IsCue(kMonthsAndDays, after)) {
    return kDate;
  }
  return kNumber;
}

// The entity of the instances of a class: that of the first of its hypernyms which is known.
int32_t EntityOfClass(const std::vector<qa::Synset>& synsets, uint32_t synset) {
  static constexpr int kLevelsMax = 32;
  for (int level = 0; level < kLevelsMax; ++level) {
    const absl::string_view name = synsets[synset].words[0];
    if (name == "person") {
      return kPerson;
    }
    if (IsCue("location region district body_of_water geological_formation land way structure",
              name)) {
      return kLocation;
    }
    if (name == "group") {
      return kOrganization;
    }
    const auto& pointers = synsets[synset].pointers;
    const auto up = std::find_if(pointers.begin(), pointers.end(),
                                 [](const auto& pointer) { return pointer.symbol == "@"; });
    if (up == pointers.end()) {
      break;
    }
    synset = up->target;
  }
  return kMisc;
}

}  // namespace

absl::StatusOr<EntityTagger> EntityTagger::Load(qa::SourceLog& sources) {
  CONCUR_ASSIGN_OR_RETURN(const qa::WordNet net, qa::WordNet::Load(sources));
  EntityTagger tagger;
  for (const qa::Synset& synset : net.synsets()) {
    for (const qa::SynsetPointer& pointer : synset.pointers) {
      if (pointer.symbol != "@i") {
        continue;
      }
      for (const absl::string_view word : synset.words) {
        if (IsAsciiUpper(word[0])) {
          tagger.names_.try_emplace(word, EntityOfClass(net.synsets(), pointer.target));
        }
      }
      break;
    }
  }
  return tagger;
}

int32_t EntityTagger::TagOfName(absl::Span<const absl::string_view> name,
                                absl::string_view before) const {
  const auto known = names_.find(absl::StrJoin(name, "_"));
  if (known != names_.end()) {
    return known->second;
  }
  const auto any = [&](absl::string_view cues) {
    return std::any_of(name.begin(), name.end(),
                       [&](absl::string_view word) { return IsCue(cues, word); });
  };
  if (IsCue(kPersonCues, before) || IsCue(kPersonCues, name[0])) {
    return kPerson;
  }
  if (any(kOrganizationCues)) {
    return kOrganization;
  }
  if (any(kLocationCues) || IsCue(kPlacePrepositions, before)) {
    return kLocation;
  }
  // A first and a last name; the last name's owner may be known.
  const auto last = names_.find(name.back());
  if (name.size() >= 2) {
    return last != names_.end() && name.size() > 3 ? last->second : kPerson;
  }
  return std::all_of(name[0].begin(), name[0].end(), IsAsciiUpper) ? kOrganization : kMisc;
}

std::vector<int32_t> EntityTagger::Tag(const std::vector<absl::string_view>& words,
                                       const std::vector<int32_t>& pos) const {
  std::vector<int32_t> tags(words.size(), kOther);
  const auto pos_is = [&](size_t i, absl::string_view tag) {
    return kPosTags[static_cast<size_t>(pos[i])] == tag;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    const absl::string_view before = i > 0 ? words[i - 1] : "";
    if (IsCue(kMonthsAndDays, word) && !(word == "May" && pos_is(i, "md"))) {
      tags[i] = kDate;
    } else if (IsAsciiDigit(word[0]) || pos_is(i, "cd")) {
      tags[i] = TagOfNumber(words, i);
    } else if (i > 0 && IsCue(kMagnitudes, word) && tags[i - 1] >= kNumber) {
      tags[i] = tags[i - 1];
    } else if (word == "%" || word == "$") {
      tags[i] = word == "%" ? kPercent : kMoney;
    } else if (IsAsciiUpper(word[0]) && (pos_is(i, "nnp") || pos_is(i, "nnps"))) {
      size_t end = i + 1;
      while (end < words.size() && IsAsciiUpper(words[end][0]) &&
             (pos_is(end, "nnp") || pos_is(end, "nnps"))) {
        ++end;
      }
      const int32_t tag = TagOfName(absl::MakeConstSpan(words).subspan(i, end - i), before);
      std::fill(tags.begin() + static_cast<int64_t>(i), tags.begin() + static_cast<int64_t>(end),
                tag);
      i = end - 1;
    }
  }
  return tags;
}

}  // namespace concur::readers
