// SPDX-License-Identifier: Apache-2.0
#include "analysis/families.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "analysis/intervals.h"
#include "analysis/score_table.h"
#include "analysis/text.h"

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
  std::vector<std::pair<double, double>> means;  // of a family, and its size
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

// What names of one family start with: the letters that come first after the last "/", in lower
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

std::string RelativesByTag(const ScoreTable& table) {
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
        return absl::StrCat(related, " of ", table.approaches().size(),
                            " approaches share the tag ", ScreenName(tag), " with another one");
      }
    }
  }
  return "";
}

std::string RelativesByName(const ScoreTable& table) {
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
    return "";
  }
  return absl::StrCat(related, " of ", table.approaches().size(),
                      " approaches have names that start like another one's (",
                      ScreenName(table.approaches()[(*largest)[0]].name), ", ",
                      ScreenName(table.approaches()[(*largest)[1]].name), ", …)");
}

// What is left of complete columns, in standard deviations, less the mean of row and column.
std::vector<std::vector<double>> ResidualRows(const ScoreTable& table) {
  const size_t n = table.approaches().size();
  std::vector<std::vector<double>> rows(n);
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    std::vector<double> values;
    for (const ScoreCell& cell : table.column(b)) {
      if (cell.state == CellState::kValue) {
        values.push_back(cell.value);
      }
    }
    const Moments moments = ComputeMoments(values);
    if (values.size() < n || moments.standard_deviation == 0) {
      continue;
    }
    for (size_t i = 0; i < n; ++i) {
      rows[i].push_back((values[i] - moments.mean) / moments.standard_deviation);
    }
  }
  for (std::vector<double>& row : rows) {
    const Moments moments = ComputeMoments(row);
    for (double& value : row) {
      value -= moments.mean;
    }
  }
  return rows;
}

std::string RelativesByScores(const ScoreTable& table) {
  constexpr size_t kBenchmarksMin = 8;
  constexpr size_t kApproachesMax = 1000;
  constexpr double kAlike = 0.9;
  const size_t n = table.approaches().size();
  if (n < 6 || n > kApproachesMax) {
    return "";
  }
  const std::vector<std::vector<double>> rows = ResidualRows(table);
  if (rows[0].size() < kBenchmarksMin) {
    return "";
  }
  std::vector<bool> related(n, false);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      double xx = 0;
      double yy = 0;
      double xy = 0;
      for (size_t b = 0; b < rows[i].size(); ++b) {
        xx += rows[i][b] * rows[i][b];
        yy += rows[j][b] * rows[j][b];
        xy += rows[i][b] * rows[j][b];
      }
      if (xy > kAlike * std::sqrt(xx * yy) && xy > 0) {
        related[i] = related[j] = true;
      }
    }
  }
  const auto count = static_cast<size_t>(std::count(related.begin(), related.end(), true));
  return AreMany(count, n) ? absl::StrCat(count, " of ", n,
                                          " approaches have scores that deviate from the rest "
                                          "almost as another one's do")
                           : "";
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

double ExpandedLevel(double level, double units) {
  const boost::math::students_t_distribution<double> t(units - 1);
  const double tail = boost::math::quantile(boost::math::complement(t, (1 - level) / 2)) *
                      std::sqrt(units / (units - 1));
  return 1 - 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), tail));
}

std::string LikelyRelatives(const ScoreTable& table) {
  std::string reason = RelativesByTag(table);
  if (reason.empty()) {
    reason = RelativesByName(table);
  }
  return reason.empty() ? RelativesByScores(table) : reason;
}

}  // namespace concur::analysis
