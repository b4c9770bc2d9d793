// SPDX-License-Identifier: Apache-2.0
#include "report/figures/badge.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "report/figures/svg_canvas.h"
#include "report/text.h"

namespace concur::analysis {

std::string BadgeSvg(const std::string& label, const std::string& value, const Color& color) {
  constexpr double kBadgeHeight = 20;
  constexpr double kPadding = 6;
  constexpr Color kLabelColor = {77, 77, 77};
  const std::string left = ShortName(label, 60);
  const std::string right = ShortName(value, 60);
  const double split = TextWidth(left) + 2 * kPadding;
  const double width = split + TextWidth(right) + 2 * kPadding;
  SvgCanvas canvas;
  canvas.Box(0, 0, split, kBadgeHeight, absl::StrCat("fill=\"", Hex(kLabelColor), "\""));
  canvas.Box(split, 0, width - split, kBadgeHeight, absl::StrCat("fill=\"", Hex(color), "\""));
  canvas.Text(split / 2, 14, left, SvgCanvas::Anchor::kMiddle, "fill=\"#ffffff\"");
  canvas.Text((split + width) / 2, 14, right, SvgCanvas::Anchor::kMiddle, "fill=\"#ffffff\"");
  return canvas.ToString(width, kBadgeHeight, absl::StrCat(left, ": ", right));
}

}  // namespace concur::analysis
