#include "analysis/shift_table.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/notes.h"

namespace concur::analysis {
namespace {

std::string Figure(const std::optional<double>& value, const std::optional<Interval>& interval) {
  std::string text = value.has_value() ? Fixed(*value, 3) : "undef";
  if (interval.has_value()) {
    absl::StrAppend(&text, " [", Fixed(interval->low, 3), ", ", Fixed(interval->high, 3), "]");
  }
  return text;
}

std::string FitNote(const ShiftFit& fit) {
  return absl::StrCat(fit.from, " → ", fit.to, ", ", FitScaleName(fit.scale), " scale, ", fit.n,
                      " systems: slope ", Figure(fit.slope, fit.slope_interval), ", intercept ",
                      Figure(fit.intercept, fit.intercept_interval), ", R² ",
                      Figure(fit.r_squared, fit.r_squared_interval), ", mean gap ",
                      fit.mean_gap.has_value() ? Fixed(*fit.mean_gap, 2) : "undef");
}

}  // namespace

Table ShiftTable(const std::vector<ShiftFit>& fits) {
  Table table;
  table.columns = {{"to", "new test set"},
                   {"rank", "rank", true},
                   {"system", "system"},
                   {"from_score", "from", true},
                   {"to_score", "to", true},
                   {"gap", "gap", true},
                   {"new_rank", "new rank", true},
                   {"delta_rank", "Δ rank", true},
                   {"residual", "beyond line", true}};
  bool any_left_out = false;
  for (const ShiftFit& fit : fits) {
    table.notes.push_back(FitNote(fit));
    for (const FittedSystem& system : fit.systems) {
      any_left_out = any_left_out || !system.fitted;
      const int64_t rise = system.rank - system.new_rank;
      TableCell change = IntegerCell(rise);
      change.text = rise == 0 ? "0" : absl::StrFormat("%+d", rise);
      table.rows.push_back(
          {TextCell(fit.to), IntegerCell(system.rank),
           TextCell(absl::StrCat(system.name, system.fitted ? "" : " †")), NumberCell(system.from),
           NumberCell(system.to), NumberCell(system.gap), IntegerCell(system.new_rank), change,
           NumberCell(system.residual, system.residual.has_value()
                                           ? absl::StrFormat("%+.2f", *system.residual)
                                           : "")});
    }
    if (!fit.missing.empty()) {
      table.notes.push_back(absl::StrCat(fit.to, ": without both scores: ", fit.missing.size(),
                                         ": ", absl::StrJoin(fit.missing, "; ")));
    }
  }
  if (any_left_out) {
    table.notes.push_back("† not part of the fit.");
  }
  return table;
}

}  // namespace concur::analysis
