// SPDX-License-Identifier: Apache-2.0
#include "qa/results/variants.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "qa/results/imported.h"
#include "qa/results/results.h"
#include "qa/results/settings.h"
#include "qa/results/stored_run.h"

namespace concur::imports {
namespace {

struct ByValue {
  bool operator()(const Settings* a, const Settings* b) const { return *a < *b; }
};
using SettingsSet = std::set<const Settings*, ByValue>;
using Cells = std::map<std::string, SettingsSet>;

// One kind of settings, and the name that they become part of.
struct Axis {
  const Settings* StoredRun::*settings;
  std::string Run::*name;
  std::string Run::*other;         // with the name, a cell; of which the settings are to be equal
  absl::string_view always_named;  // a setting that is, also without a conflict; "": none
  bool is_whole = false;           // to be equal in all cells of the name
};

// The cells of some runs that have several variants, and these.
Cells Conflicts(const Axis& axis, const std::vector<StoredRun>& runs,
                const std::vector<size_t>& members) {
  Cells cells;
  for (const size_t i : members) {
    cells[axis.is_whole ? "" : runs[i].run.*axis.other].insert(runs[i].*axis.settings);
  }
  std::erase_if(cells, [](const auto& cell) { return cell.second.size() < 2; });
  return cells;
}

bool Separate(const Cells& cells, const std::vector<std::string>& keys) {
  return std::all_of(cells.begin(), cells.end(), [&](const auto& cell) {
    std::set<std::vector<std::string>> seen;
    for (const Settings* const settings : cell.second) {
      std::vector<std::string> values;
      values.reserve(keys.size());
      for (const std::string& key : keys) {
        values.push_back(ValueIn(*settings, key));
      }
      seen.insert(std::move(values));
    }
    return seen.size() == cell.second.size();
  });
}

// Names of settings that differ within a cell, those with the shortest names and values first.
std::vector<std::string> DifferingKeys(const Cells& cells) {
  std::map<std::string, size_t> lengths;  // longest value of each setting
  for (const auto& [cell, variants] : cells) {
    std::map<std::string, std::map<std::string, size_t>> values;
    for (const Settings* const settings : variants) {
      for (const auto& [key, value] : *settings) {
        ++values[key][value];
      }
    }
    for (const auto& [key, counts] : values) {
      if (counts.begin()->second == variants.size()) {
        continue;
      }
      for (const auto& [value, count] : counts) {
        // A digest stands for a long value.
        lengths[key] = std::max(lengths[key], IsDigest(value) ? 1000 : value.size());
      }
    }
  }
  std::vector<std::string> keys;
  keys.reserve(lengths.size());
  for (const auto& [key, length] : lengths) {
    keys.push_back(key);
  }
  std::stable_sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
    return lengths[a] + a.size() < lengths[b] + b.size();
  });
  return keys;
}

// Few settings that tell all variants of each cell apart.
std::vector<std::string> FewestKeys(const Cells& cells) {
  return FewestOf(DifferingKeys(cells), [&](const auto& keys) { return Separate(cells, keys); });
}

void AddWords(const Axis& axis, const std::vector<size_t>& members,
              const std::vector<std::string>& keys, std::vector<StoredRun>& runs) {
  std::map<std::string, std::set<std::string>> values;
  for (const std::string& key : keys) {
    for (const size_t i : members) {
      values[key].insert(ValueIn(*(runs[i].*axis.settings), key));
    }
  }
  for (const size_t i : members) {
    std::vector<std::string> words;
    for (const std::string& key : keys) {
      const std::string value = ValueIn(*(runs[i].*axis.settings), key);
      const bool is_only = values[key].size() == 2 && values[key].count("") > 0;
      if (key == kRowSetting && !value.empty()) {
        words.push_back(value);
      } else if (key == "shots" && !value.empty()) {
        words.push_back(value + "-shot");
      } else if (value == "true" || (is_only && IsDigest(value))) {
        words.push_back(key);
      } else if (!value.empty()) {
        words.push_back(absl::StrCat(key, " ", value));
      }
    }
    if (words.empty()) {
      continue;
    }
    std::string& name = runs[i].run.*axis.name;
    const std::string suffix = absl::StrCat(" (", absl::StrJoin(words, ", "), ")");
    if (name.size() + suffix.size() <= kNameBytesMax) {
      name += suffix;
    } else {
      // Cut between characters, as `name` is UTF-8.
      name = absl::StrCat(CleanUtf8(name, kNameBytesMax / 2), " (variant ",
                          ShortDigest(name + suffix), ")");
    }
  }
}

std::string PlaceOf(const std::vector<ImportedFile>& files, const StoredRun& run) {
  return absl::StrCat(files[run.file].path, run.run.place.empty() ? "" : ": ", run.run.place);
}

absl::Status Refusal(const Axis& axis, const Cells& conflicts,
                     const std::vector<ImportedFile>& files, const std::vector<StoredRun>& runs,
                     const std::vector<size_t>& members) {
  const auto& [cell, variants] = *conflicts.begin();
  const std::string key =
      FewestKeys({{cell, {*variants.begin(), *std::next(variants.begin())}}})[0];
  const StoredRun* first = nullptr;
  for (const size_t i : members) {
    const StoredRun& run = runs[i];
    if (!axis.is_whole && run.run.*axis.other != cell) {
      continue;
    }
    const auto text = [&](const StoredRun& of) {
      const std::string value = ValueIn(*(of.*axis.settings), key);
      return value.empty() ? "none" : absl::StrCat("\"", value, "\"");
    };
    if (first == nullptr) {
      first = &run;
    } else if (text(run) != text(*first)) {
      return absl::InvalidArgumentError(absl::StrCat(
          PlaceOf(files, run), ": ", key, ": expected ", text(*first), " as in ",
          PlaceOf(files, *first), ", another run of ", run.run.*axis.name, ", got ", text(run),
          "; --variants name tells such runs apart, --variants first counts one of them"));
    }
  }
  return absl::OkStatus();
}

// Marks all but the first variant of each cell.
void MarkOthers(const Axis& axis, const Cells& conflicts, const std::vector<StoredRun>& runs,
                const std::vector<size_t>& members, std::vector<bool>& left_out) {
  std::map<const Settings*, std::set<std::string>> support;
  for (const size_t i : members) {
    support[runs[i].*axis.settings].insert(runs[i].run.*axis.other);
  }
  for (const auto& [cell, variants] : conflicts) {
    const Settings* const first =
        *std::max_element(variants.begin(), variants.end(), [&](auto a, auto b) {
          const auto rank = [&](const Settings* settings) {
            return std::make_tuple(support[settings].size(),
                                   settings->count(std::string(kLimitSetting)) == 0,
                                   -static_cast<std::ptrdiff_t>(settings->size()));
          };
          return rank(a) < rank(b);
        });
    for (const size_t i : members) {
      left_out[i] = left_out[i] || ((axis.is_whole || runs[i].run.*axis.other == cell) &&
                                    runs[i].*axis.settings != first);
    }
  }
}

absl::Status SeparateAlong(const Axis& axis, Variants policy,
                           const std::vector<ImportedFile>& files, std::vector<StoredRun>& runs,
                           const LeaveOut& leave_out) {
  std::map<std::string, std::vector<size_t>> by_name;
  for (size_t i = 0; i < runs.size(); ++i) {
    by_name[runs[i].run.*axis.name].push_back(i);
  }
  std::vector<bool> left_out(runs.size());
  for (const auto& [name, members] : by_name) {
    const Cells conflicts = Conflicts(axis, runs, members);
    std::vector<std::string> keys =
        conflicts.empty() ? std::vector<std::string>() : FewestKeys(conflicts);
    if (!conflicts.empty() && policy == Variants::kRefuse) {
      return Refusal(axis, conflicts, files, runs, members);
    }
    if (!conflicts.empty() && policy == Variants::kFirst) {
      MarkOthers(axis, conflicts, runs, members, left_out);
      for (const size_t i : members) {
        if (left_out[i]) {
          leave_out("a run with other settings than the run that counts", runs[i],
                    absl::StrJoin(keys, ", "));
        }
      }
      keys.clear();
    }
    const std::string named(axis.always_named);
    if (!named.empty() && std::find(keys.begin(), keys.end(), named) == keys.end()) {
      keys.push_back(named);
    }
    AddWords(axis, members, keys, runs);
  }
  size_t kept = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!left_out[i]) {
      if (kept != i) {
        runs[kept] = std::move(runs[i]);
      }
      ++kept;
    }
  }
  runs.resize(kept);
  return absl::OkStatus();
}

}  // namespace

absl::Status SeparateBenchmarks(Variants variants, const std::vector<ImportedFile>& files,
                                std::vector<StoredRun>& runs, const LeaveOut& leave_out) {
  return SeparateAlong({&StoredRun::data_settings, &Run::task, &Run::model, kLimitSetting, true},
                       variants, files, runs, leave_out);
}

absl::Status SeparateVariants(Variants variants, const std::vector<ImportedFile>& files,
                              std::vector<StoredRun>& runs, const LeaveOut& leave_out) {
  CONCUR_RETURN_IF_ERROR(
      SeparateAlong({&StoredRun::model_settings, &Run::model, &Run::task, kExperimentSetting},
                    variants, files, runs, leave_out));
  return SeparateAlong({&StoredRun::task_settings, &Run::task, &Run::model, ""}, variants, files,
                       runs, leave_out);
}

bool AreRepetitions(const StoredRun& a, const StoredRun& b) {
  return std::tie(a.data_settings, a.model_settings, a.task_settings) ==
         std::tie(b.data_settings, b.model_settings, b.task_settings);
}

}  // namespace concur::imports
