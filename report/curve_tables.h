// SPDX-License-Identifier: Apache-2.0
// Curves of coefficients and of expected scores as tables.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_CURVE_TABLES_H_
#define CONCUR_REPORT_CURVE_TABLES_H_

#include <string>
#include <vector>

#include "analysis/concurrence/curve.h"
#include "report/table.h"

namespace concur::analysis {

// The note under curves whose scores were chosen among k settings.
inline constexpr char kBestOnTestNote[] =
    "Settings are chosen on the test sets that are shown: the best of two or more is optimistic, "
    "the more settings the more so.";

// `x_key` names the x axis, e.g. "approaches"; `choices` say how settings were chosen.
Table CurveTable(const std::vector<CurvePoint>& points, const std::vector<std::string>& benchmarks,
                 const CurveOptions& options, const std::string& x_key, const std::string& title,
                 const std::vector<std::string>& choices = {});

// One row for each approach, benchmark and k.
Table ExpectedBestTable(const std::vector<ExpectedBest>& curve, const SettingScores& scores);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_CURVE_TABLES_H_
