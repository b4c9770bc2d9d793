// Shift fits as one table, for pages and papers; fit.h has the forms for terminals and programs.
//
// Thread-safe (stateless).
#ifndef CONCUR_ANALYSIS_SHIFT_TABLE_H_
#define CONCUR_ANALYSIS_SHIFT_TABLE_H_

#include <vector>

#include "analysis/fit.h"
#include "analysis/table.h"

namespace concur::analysis {

// One row for each system of each fit; slopes, and what is missing or was not fitted, as notes.
Table ShiftTable(const std::vector<ShiftFit>& fits);

}  // namespace concur::analysis

#endif  // CONCUR_ANALYSIS_SHIFT_TABLE_H_
