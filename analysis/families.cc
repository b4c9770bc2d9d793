// SPDX-License-Identifier: Apache-2.0
#include "analysis/families.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/score_table.h"

namespace concur::analysis {
namespace {

// Relatives are worth a word when more than a third of the approaches, and at least four, have one.
bool AreMany(size_t related, size_t approaches) { return related >= 4 && 3 * related > approaches; }

// One benchmark's intraclass correlation, NaN where it has none.
double IntraclassOf(const ScoreTable& table, const std::vector<std::vector<size_t>>& members,
                    size_t benchmark) {
  double count = 0;
  double squared_sizes = 0;
  double groups = 0;
  double sum = 0;
  double within = 0;
  std::vector<std::pair<double, double>> means;  // mean of a family, and its size
  for (const std::vector<size_t>& family : members) {
    double size = 0;
    double mean = 0;
    for (const size_t i : family) {
      const ScoreCell& cell = table.cell(i, benchmark);
      if (cell.state == CellState::kValue) {
        ++size;
        mean += (cell.value - mean) / size;
      }
    }
    if (size == 0) {
      continue;
    }
    for (const size_t i : family) {
      const ScoreCell& cell = table.cell(i, benchmark);
      within += cell.state == CellState::kValue ? (cell.value - mean) * (cell.value - mean) : 0;
    }
    means.emplace_back(mean, size);
    ++groups;
    count += size;
    squared_sizes += size * size;
    sum += size * mean;
  }
  if (groups < 2 || count <= groups) {
    return std::nan("");
  }
  double between = 0;
  for (const auto& [mean, size] : means) {
    between += size * (mean - sum / count) * (mean - sum / count);
  }
  between /= groups - 1;
  within /= count - groups;
  const double size = (count - squared_sizes / count) / (groups - 1);
  const double total = between + (size - 1) * within;
  return total > 0 ? std::clamp((between - within) / total, 0.0, 1.0) : std::nan("");
}

// Common start of the names of one family: the letters that come first after the last "/", in lower
// case. Empty for words that say nothing.
std::string StemOf(absl::string_view name) {
  const size_t slash = name.rfind('/');
  name = slash == absl::string_view::npos ? name : name.substr(slash + 1);
  size_t end = 0;
  while (end < name.size() && (absl::ascii_isalpha(static_cast<unsigned char>(name[end])) ||
                               static_cast<unsigned char>(name[end]) >= 0x80)) {
    ++end;
  }
  std::string stem = absl::AsciiStrToLower(name.substr(0, end));
  static const std::set<std::string>* const kGeneric =
      new std::set<std::string>{"approach", "baseline", "method",     "model",  "our",  "ours",
                                "run",      "setting",  "submission", "system", "team", "the"};
  return stem.size() < 2 || kGeneric->count(stem) > 0 ? "" : stem;
}

std::optional<Relatives> RelativesByTag(const ScoreTable& table) {
  for (const std::string& tag : TagsOf(table.approaches())) {
    const std::string lower = absl::AsciiStrToLower(tag);
    for (const char* word : {"family", "organization", "organisation", "organizer", "developer",
                             "base model", "base_model", "team", "series"}) {
      if (!absl::StrContains(lower, word)) {
        continue;
      }
      std::map<std::string, size_t> sizes;
      for (const AxisEntry& approach : table.approaches()) {
        ++sizes[TagValue(approach, tag)];
      }
      size_t related = 0;
      for (const auto& [value, size] : sizes) {
        related += !value.empty() && size > 1 ? size : 0;
      }
      if (AreMany(related, table.approaches().size()) && sizes.size() > 1) {
        return Relatives{Relatives::Sign::kTag, related, table.approaches().size(), tag};
      }
    }
  }
  return std::nullopt;
}

std::optional<Relatives> RelativesByName(const ScoreTable& table) {
  std::map<std::string, std::vector<size_t>> stems;
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    stems[StemOf(table.approaches()[i].name)].push_back(i);
  }
  size_t related = 0;
  const std::vector<size_t>* largest = nullptr;
  for (const auto& [stem, members] : stems) {
    if (stem.empty() || members.size() < 2) {
      continue;
    }
    related += members.size();
    largest = largest == nullptr || members.size() > largest->size() ? &members : largest;
  }
  // A word that nearly all names start with tells none apart.
  if (!AreMany(related, table.approaches().size()) ||
      5 * largest->size() > 4 * table.approaches().size()) {
    return std::nullopt;
  }
  return Relatives{Relatives::Sign::kNames,
                   related,
                   table.approaches().size(),
                   "",
                   table.approaches()[(*largest)[0]].name,
                   table.approaches()[(*largest)[1]].name};
}

}  // namespace

absl::StatusOr<Families> FamiliesOf(const ScoreTable& table, const std::string& tag) {
  const std::vector<std::string> tags = TagsOf(table.approaches());
  std::string wanted = tag.empty() ? kFamilyTag : tag;
  bool carried = std::find(tags.begin(), tags.end(), wanted) != tags.end();
  if (!carried && !tag.empty() && tag != kNoFamilies) {
    // Imports write the names of a leaderboard's columns in small letters.
    const auto same = [&](const std::string& name) { return absl::EqualsIgnoreCase(name, wanted); };
    const auto found = std::find_if(tags.begin(), tags.end(), same);
    if (found != tags.end() && std::count_if(tags.begin(), tags.end(), same) == 1) {
      wanted = *found;
      carried = true;
    }
  }
  Families families;
  if (!carried && !tag.empty() && tag != kNoFamilies) {
    return UnknownTag("families: no approach has the tag", tag, tags);
  }
  if (carried && tag != kNoFamilies) {
    families.tag = wanted;
  }
  const size_t n = table.approaches().size();
  std::map<std::string, size_t> positions;
  for (size_t i = 0; i < n; ++i) {
    const std::string value =
        families.declared() ? TagValue(table.approaches()[i], families.tag) : "";
    // Approaches without a family have names of their own, which no value equals.
    const auto [at, is_new] = positions.emplace(
        value.empty() ? absl::StrCat("/", i) : absl::StrCat("=", value), families.members.size());
    if (is_new) {
      families.members.emplace_back();
    }
    families.members[at->second].push_back(i);
  }
  double squares = 0;
  for (const std::vector<size_t>& family : families.members) {
    squares += static_cast<double>(family.size()) * static_cast<double>(family.size());
  }
  const auto all = static_cast<double>(n);
  families.effective = n > 0 ? all * all / squares : 0;
  double sum = 0;
  double defined = 0;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const double intraclass = IntraclassOf(table, families.members, b);
    if (!std::isnan(intraclass)) {
      sum += intraclass;
      ++defined;
    }
  }
  families.intraclass = defined > 0 ? sum / defined : 0;
  families.approaches =
      n > 0 ? all / (1 + (all / families.effective - 1) * families.intraclass) : 0;
  return families;
}

std::string FamiliesTagIn(const ScoreTable& part, const std::string& tag) {
  return FamiliesOf(part, tag).ok() ? tag : kNoFamilies;
}

FamilySizes SizesOfPair(const ScoreTable& table, const std::vector<std::vector<size_t>>& families,
                        size_t a, size_t b) {
  FamilySizes sizes;
  double all = 0;
  double squares = 0;
  for (const std::vector<size_t>& family : families) {
    const auto size =
        static_cast<double>(std::count_if(family.begin(), family.end(), [&](size_t i) {
          return table.cell(i, a).state == CellState::kValue &&
                 table.cell(i, b).state == CellState::kValue;
        }));
    sizes.count += size > 0 ? 1 : 0;
    all += size;
    squares += size * size;
  }
  sizes.effective = all > 0 ? all * all / squares : 0;
  return sizes;
}

double ExpandedLevel(double level, double units) {
  const boost::math::students_t_distribution<double> t(units - 1);
  const double tail = boost::math::quantile(boost::math::complement(t, (1 - level) / 2)) *
                      std::sqrt(units / (units - 1));
  return 1 - 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), tail));
}

double LevelBeforeExpansion(double level, double units) {
  if (level <= 0 || level >= 1) {
    return level;
  }
  const boost::math::students_t_distribution<double> t(units - 1);
  const double tail =
      boost::math::quantile(boost::math::complement(boost::math::normal(), (1 - level) / 2)) /
      std::sqrt(units / (units - 1));
  return 1 - 2 * boost::math::cdf(boost::math::complement(t, tail));
}

std::optional<Relatives> LikelyRelatives(const ScoreTable& table) {
  std::optional<Relatives> relatives = RelativesByTag(table);
  return relatives.has_value() ? relatives : RelativesByName(table);
}

}  // namespace concur::analysis
