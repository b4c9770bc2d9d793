// SPDX-License-Identifier: Apache-2.0
// Kinds of columns, rows and metrics of leaderboards, as their names tell them: a mean of others,
// an uncertainty, a count or another property, a setting, a part of the data.
//
// A name is of a kind when *all* its words belong to the kind's vocabulary, so that "Param count"
// is a property and VTAB's "Clevr-Count" a benchmark. A kind is a guess; callers call it one.
//
// Pure functions.
#ifndef CONCUR_QA_RESULTS_COLUMN_NAMES_H_
#define CONCUR_QA_RESULTS_COLUMN_NAMES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/metric_meaning.h"

namespace concur::imports {

// A column's name in small letters, without blanks around, "_" and arrows.
std::string PlainName(absl::string_view name);
// The words of a name in small letters, of letters and digits, and each of "#", "$", "±" as a word;
// "ModelSize (GB)" is "model", "size", "gb".
std::vector<std::string> NameWords(absl::string_view name);

// A mean, sum or rank over other columns.
bool NamesAggregate(absl::string_view name);
// A standard error, standard deviation or end of an interval, of itself or of another column of
// `header`.
bool NamesUncertainty(absl::string_view name, const std::vector<std::string>& header = {});
// A property of a model or of its evaluation that is no score: size, count, cost, time, rank, date.
bool NamesTag(absl::string_view name);
// A tag, or the same of a metric: a latency, too.
bool NamesMeasure(absl::string_view name);
// A property that may differ between repetitions of one evaluation: cost, time, rank, id.
bool NamesIncidental(absl::string_view name);
// A date or a note: of several rows that nothing else tells apart, each is another version.
bool NamesOccasion(absl::string_view name);
// A setting of the evaluation, as a number of shots or a temperature.
bool NamesSetting(absl::string_view name);
bool NamesShots(absl::string_view name);
// The number or the seed of a repetition.
bool NamesRepeat(absl::string_view name);
// A part of the data. `is_sure` is false where it may be a kind of model, too: "category".
bool NamesData(absl::string_view name, bool& is_sure);

// The goal that a value such as "lower is better", "max" or "↓" states, in a column of any name; or
// "true" in one called "lower_is_better". Nothing for another value.
std::optional<Goal> StatedGoal(absl::string_view column, absl::string_view value);

// A tag's name from a column's: letters, digits and "._+-@=".
std::string TagName(absl::string_view column);

}  // namespace concur::imports

#endif  // CONCUR_QA_RESULTS_COLUMN_NAMES_H_
