// SPDX-License-Identifier: Apache-2.0
#include "studies/readers/text/tagger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "qa/normalize.h"

namespace concur::readers {
namespace {

constexpr float kUnseen = -14;  // log probability of a transition that was not counted
constexpr int64_t kTaggerFileBytesMax = int64_t{64} << 20;

int32_t IndexOfPos(absl::string_view tag) {
  const auto found = std::find(kPosTags.begin(), kPosTags.end(), tag);
  return found == kPosTags.end() ? -1 : static_cast<int32_t>(found - kPosTags.begin());
}

struct TagNumber {
  int32_t tag = 0;
  double number = 0;
};

// Calls `use` with each entry of a file of lines "KEY: { TAG: NUMBER, … }". The key may be quoted.
template <typename Use>
absl::Status ForEachTagLine(const std::string& path, Use use) {
  absl::StatusOr<std::string> contents = ReadFile(path, kTaggerFileBytesMax);
  if (!contents.ok()) {
    return absl::Status(contents.status().code(),
                        absl::StrCat(contents.status().message(),
                                     "; parts of speech need the package liblingua-en-tagger-perl, "
                                     "or choose an approach without external features"));
  }
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(*contents, '\n')) {
    ++number;
    if (line.empty() || absl::StartsWith(line, "---")) {
      continue;
    }
    const auto wrong = [&] {
      return absl::DataLossError(
          absl::StrCat(path, ":", number, ": expected WORD: { TAG: NUMBER, … }"));
    };
    const size_t open = line.rfind(": {");
    const size_t close = line.rfind('}');
    if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
      return wrong();
    }
    absl::string_view key = line.substr(0, open);
    if (key.size() >= 2 && key.front() == '"' && key.back() == '"') {
      key = key.substr(1, key.size() - 2);
    }
    std::vector<TagNumber> numbers;
    for (const absl::string_view entry :
         absl::StrSplit(line.substr(open + 3, close - open - 3), ',')) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(absl::StripAsciiWhitespace(entry), ": ");
      TagNumber one{IndexOfPos(parts.first), 0};
      if (!absl::SimpleAtod(parts.second, &one.number) || !(one.number >= 0)) {
        return wrong();
      }
      if (one.tag >= 0 && one.number > 0) {
        numbers.push_back(one);
      }
    }
    use(key, numbers);
  }
  return absl::OkStatus();
}

bool HasDigit(absl::string_view word) {
  return std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool StartsUpper(absl::string_view word) {
  return !word.empty() && absl::ascii_isupper(static_cast<unsigned char>(word[0]));
}

// The class of a word that has no counts.
absl::string_view ClassOf(absl::string_view word) {
  if (StartsUpper(word)) {
    return "-cap-";
  }
  const std::array<std::pair<absl::string_view, absl::string_view>, 5> kEndings = {
      {{"ing", "-ing-"}, {"tion", "-tion-"}, {"ly", "-ly-"}, {"ed", "-ed-"}, {"s", "-s-"}}};
  for (const auto& [ending, name] : kEndings) {
    if (word.size() > ending.size() + 1 && absl::EndsWith(word, ending)) {
      return name;
    }
  }
  return "-unknown-";
}

}  // namespace

absl::StatusOr<absl::flat_hash_map<std::string, Tagger::Emissions>> Tagger::ReadCounts(
    const std::string& path) {
  std::vector<std::pair<std::string, std::vector<TagNumber>>> lines;
  std::array<double, kPosTags.size()> totals{};
  CONCUR_RETURN_IF_ERROR(
      ForEachTagLine(path, [&](absl::string_view word, std::vector<TagNumber>& numbers) {
        for (const TagNumber& one : numbers) {
          totals[static_cast<size_t>(one.tag)] += one.number;
        }
        if (!numbers.empty()) {
          lines.emplace_back(word, std::move(numbers));
        }
      }));
  absl::flat_hash_map<std::string, Emissions> emissions;
  for (const auto& [word, numbers] : lines) {
    Emissions& of_word = emissions[word];
    for (const TagNumber& one : numbers) {
      of_word.push_back({one.tag, static_cast<float>(std::log(
                                      one.number / totals[static_cast<size_t>(one.tag)]))});
    }
  }
  return emissions;
}

absl::Status Tagger::ReadTransitions(const std::string& path) {
  for (auto& row : transitions_) {
    row.fill(kUnseen);
  }
  return ForEachTagLine(path, [&](absl::string_view tag, const std::vector<TagNumber>& numbers) {
    const int32_t from = IndexOfPos(tag);
    for (const TagNumber& one : numbers) {
      if (from >= 0) {
        transitions_[static_cast<size_t>(from)][static_cast<size_t>(one.tag)] =
            std::max(kUnseen, static_cast<float>(std::log(one.number)));
      }
    }
  });
}

absl::StatusOr<Tagger> Tagger::Load(const std::string& directory) {
  Tagger tagger;
  CONCUR_ASSIGN_OR_RETURN(tagger.words_, ReadCounts(directory + "/words.yml"));
  CONCUR_ASSIGN_OR_RETURN(tagger.unknown_, ReadCounts(directory + "/unknown.yml"));
  CONCUR_RETURN_IF_ERROR(tagger.ReadTransitions(directory + "/tags.yml"));
  for (const absl::string_view name : {"-cap-", "-unknown-"}) {
    if (!tagger.unknown_.contains(name)) {
      return absl::DataLossError(absl::StrCat(directory, "/unknown.yml: no line of ", name));
    }
  }
  return tagger;
}

const Tagger::Emissions& Tagger::EmissionsOf(absl::string_view word, bool starts_sentence) const {
  static const auto& kNumber = *new Emissions{{IndexOfPos("cd"), 0}};
  static const auto& kSymbol = *new Emissions{{IndexOfPos("sym"), 0}};
  auto found = words_.find(word);
  if (found == words_.end() || (starts_sentence && StartsUpper(word))) {
    const auto lower = words_.find(absl::AsciiStrToLower(word));
    found = starts_sentence && lower != words_.end() ? lower : found;
  }
  if (found != words_.end()) {
    return found->second;
  }
  if (HasDigit(word) && !StartsUpper(word)) {
    return kNumber;
  }
  const bool letters = std::any_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           static_cast<unsigned char>(c) >= 0x80;
  });
  if (!letters) {
    return kSymbol;
  }
  const auto unknown = unknown_.find(ClassOf(word));
  return unknown == unknown_.end() ? unknown_.at("-unknown-") : unknown->second;
}

std::vector<int32_t> Tagger::Tag(const std::vector<absl::string_view>& words) const {
  struct Step {
    int32_t tag = 0;
    size_t from = 0;  // index in the step before
    float score = 0;
  };
  const int32_t stop = IndexOfPos("pp");
  std::vector<std::vector<Step>> steps = {{{stop, 0, 0}}};
  for (size_t i = 0; i < words.size(); ++i) {
    const bool starts = i == 0 || words[i - 1] == "." || words[i - 1] == "?" || words[i - 1] == "!";
    std::vector<Step> next;
    for (const Emission& emission : EmissionsOf(words[i], starts)) {
      Step best{emission.tag, 0, -std::numeric_limits<float>::infinity()};
      for (size_t k = 0; k < steps[i].size(); ++k) {
        const Step& before = steps[i][k];
        const float score =
            before.score + emission.log_probability +
            transitions_[static_cast<size_t>(before.tag)][static_cast<size_t>(emission.tag)];
        if (score > best.score) {
          best.score = score;
          best.from = k;
        }
      }
      next.push_back(best);
    }
    // Scores stay near 0, so that long texts lose no precision.
    const float top = std::max_element(next.begin(), next.end(), [](const Step& a, const Step& b) {
                        return a.score < b.score;
                      })->score;
    for (Step& step : next) {
      step.score -= top;
    }
    steps.push_back(std::move(next));
  }
  std::vector<int32_t> tags(words.size());
  size_t k = 0;
  for (size_t j = 0; j < steps.back().size(); ++j) {
    k = steps.back()[j].score > steps.back()[k].score ? j : k;
  }
  for (size_t i = words.size(); i > 0; --i) {
    tags[i - 1] = steps[i][k].tag;
    k = steps[i][k].from;
  }
  return tags;
}

}  // namespace concur::readers
