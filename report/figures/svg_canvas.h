// SPDX-License-Identifier: Apache-2.0
// The small part of SVG that Concur's figures are drawn with: text, lines, boxes and markers on a
// white page, and colours whose contrast is known.
//
// SvgCanvas is thread-compatible; the functions are thread-safe. Lengths are pixels, y grows
// downwards. Text is escaped, control characters become U+FFFD; attributes are written as given
// and must not come from outside.
#ifndef CONCUR_REPORT_FIGURES_SVG_CANVAS_H_
#define CONCUR_REPORT_FIGURES_SVG_CANVAS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace concur::analysis {

struct Color {
  double red = 0;
  double green = 0;
  double blue = 0;  // each 0 to 255
};

// "#2166ac".
std::string Hex(const Color& color);
// WCAG 2.1's ratio of two colours, 1 to 21.
double Contrast(const Color& a, const Color& b);
// Black or white, whichever stands out more: at least 4.58 : 1 on any background.
const char* InkOn(const Color& background);
// From brown (-1) over white to blue (1).
Color DivergingColor(double value);
// From white (0) to blue (1).
Color SequentialColor(double share);

// Look of the groups of a scatter plot: told apart by shape as well as by colour.
struct GroupStyle {
  const char* name;  // names the shape in the legend's words
  const char* fill;
};
// Styles repeat after kGroupStyles groups.
inline constexpr size_t kGroupStyles = 6;
GroupStyle StyleOfGroup(size_t group);

// Width of `text` at 12 px, on the generous side.
double TextWidth(absl::string_view text);
// Lines of at most `columns` columns, broken at blanks.
std::vector<std::string> WrapText(const std::string& text, size_t columns);

// Round numbers that divide [low, high] into about `count` parts; `low` alone where there are none,
// as between neighbouring doubles.
std::vector<double> RoundTicks(double low, double high, int count);

class SvgCanvas {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };

  void Text(double x, double y, absl::string_view text, Anchor anchor = Anchor::kStart,
            absl::string_view attributes = "");
  void Line(double x1, double y1, double x2, double y2, absl::string_view attributes);
  void Box(double x, double y, double width, double height, absl::string_view attributes);
  // The marker of a group, about 8 px wide, with a title that pointers and screen readers get.
  // Hollow ones have a white inside.
  void Marker(size_t group, double x, double y, absl::string_view title, bool hollow = false);
  // Draws what has been written by `part` in one group, with a title when it is not empty.
  void BeginGroup(absl::string_view title);
  void EndGroup();
  // A path, e.g. "M0 0H10".
  void Path(absl::string_view data, absl::string_view attributes);

  // Everything drawn so far, for a document that brings its own <svg>.
  const std::string& body() const { return body_; }
  // The document: everything drawn so far on a white page of `width` x `height`, shown
  // `shown_width` wide; 0: as wide as it is.
  std::string ToString(double width, double height, absl::string_view title,
                       double shown_width = 0) const;

 private:
  std::string body_;
};

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_FIGURES_SVG_CANVAS_H_
