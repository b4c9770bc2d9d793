// SPDX-License-Identifier: Apache-2.0
// A badge: a label and its value in a strip of 20 pixels, as READMEs show them.
//
// Thread-safe (stateless).
#ifndef CONCUR_REPORT_FIGURES_BADGE_H_
#define CONCUR_REPORT_FIGURES_BADGE_H_

#include <string>

#include "report/figures/svg_canvas.h"

namespace concur::analysis {

// White text on grey and on `color`, which needs a contrast of 4.5 : 1 to white. Each text is cut
// to 60 columns.
std::string BadgeSvg(const std::string& label, const std::string& value, const Color& color);

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_FIGURES_BADGE_H_
