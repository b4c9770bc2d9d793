// SPDX-License-Identifier: Apache-2.0
// Text for people: the columns of a terminal that it takes, control characters made harmless, and
// figures with a fixed number of decimals.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_TEXT_H_
#define CONCUR_REPORT_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "analysis/statistics/intervals.h"

namespace concur::analysis {

// Columns of a terminal that UTF-8 `text` takes: 2 for wide East Asian characters and emoji, 0 for
// combining marks, 1 for the rest.
size_t DisplayWidth(absl::string_view text);

// `text` with control characters, which could move the cursor or recolour the screen, replaced by
// U+FFFD, and cut to `width_max` columns with "…" when longer (0: never).
std::string Printable(absl::string_view text, size_t width_max = 0);

// As Printable, but what is left out is the middle: long names often differ at their ends.
std::string ShortName(absl::string_view text, size_t width_max);

// A name as notes have it: Printable, at most 60 columns.
std::string ScreenName(absl::string_view name);

// `value` with so many decimals, and no minus before a rounded zero.
std::string Fixed(double value, int decimals);

// As Fixed; "undef" without a value.
std::string FixedOrUndef(std::optional<double> value, int decimals);

// "1 approach", "2 approaches".
std::string Counted(size_t count, absl::string_view one, absl::string_view plural = "s");

// "[0.70, 0.95]".
std::string IntervalText(const Interval& interval, int decimals);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_TEXT_H_
