// SPDX-License-Identifier: Apache-2.0
#include "report/figures/svg_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "report/markup.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

// Light enough for black text on all of them: white text beside black in cells of nearly one colour
// looks like a difference.
constexpr Color kNegative = {224, 130, 20};
constexpr Color kZero = {247, 247, 247};
constexpr Color kPositive = {67, 147, 195};

Color Mix(const Color& from, const Color& to, double share) {
  const auto mix = [share](double a, double b) { return std::round(a + share * (b - a)); };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

// Relative luminance as WCAG 2.1 defines it.
double Luminance(const Color& color) {
  const auto linear = [](double channel) {
    const double share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

}  // namespace

std::string Hex(const Color& color) {
  return absl::StrFormat("#%02x%02x%02x", static_cast<int>(color.red),
                         static_cast<int>(color.green), static_cast<int>(color.blue));
}

double Contrast(const Color& a, const Color& b) {
  const double x = Luminance(a) + 0.05;
  const double y = Luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

const char* InkOn(const Color& background) {
  return Contrast(background, {0, 0, 0}) >= Contrast(background, {255, 255, 255}) ? "#000000"
                                                                                  : "#ffffff";
}

Color DivergingColor(double value) {
  return Mix(kZero, value < 0 ? kNegative : kPositive, std::min(1.0, std::abs(value)));
}

Color SequentialColor(double share) {
  return Mix({255, 255, 255}, kPositive, std::clamp(share, 0.0, 1.0));
}

GroupStyle StyleOfGroup(size_t group) {
  // Each at least 4.5 : 1 against white.
  constexpr std::array<GroupStyle, kGroupStyles> kStyles = {{{"circle", "#1f5fa8"},
                                                             {"triangle", "#a04a00"},
                                                             {"square", "#1b7346"},
                                                             {"diamond", "#8a3c94"},
                                                             {"cross", "#4d4d4d"},
                                                             {"down triangle", "#a3163d"}}};
  return kStyles[group % kGroupStyles];
}

double TextWidth(absl::string_view text) { return 6.8 * static_cast<double>(DisplayWidth(text)); }

std::vector<std::string> WrapText(const std::string& text, size_t columns) {
  std::vector<std::string> lines = {""};
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!lines.back().empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > columns) {
      lines.emplace_back();
    }
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

std::vector<double> RoundTicks(double low, double high, int count) {
  const double span = high > low ? high - low : 1;
  const double rough = span / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    step = factor * power >= rough * 0.999 ? factor * power : step;
  }
  // Steps that are hardly wider than the gaps between doubles make no round numbers, and adding one
  // to a count of such steps may change nothing.
  constexpr double kFinest = 4 * std::numeric_limits<double>::epsilon();
  if (!(step > kFinest * std::max(std::abs(low), std::abs(high)))) {
    return {low};
  }
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) {
    ticks.push_back(k * step);
  }
  if (ticks.empty()) {
    ticks.push_back(low);
  }
  return ticks;
}

void SvgCanvas::Text(double x, double y, absl::string_view text, Anchor anchor,
                     absl::string_view attributes) {
  const char* at = anchor == Anchor::kStart    ? ""
                   : anchor == Anchor::kMiddle ? " text-anchor=\"middle\""
                                               : " text-anchor=\"end\"";
  absl::StrAppendFormat(&body_, "<text x=\"%.1f\" y=\"%.1f\"%s%s%s>%s</text>\n", x, y, at,
                        attributes.empty() ? "" : " ", attributes, EscapeXml(text));
}

void SvgCanvas::Line(double x1, double y1, double x2, double y2, absl::string_view attributes) {
  absl::StrAppendFormat(&body_, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>\n", x1, y1, x2, y2,
                        attributes);
}

void SvgCanvas::Box(double x, double y, double width, double height, absl::string_view attributes) {
  absl::StrAppendFormat(&body_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>\n",
                        x, y, width, height, attributes);
}

void SvgCanvas::Marker(size_t group, double x, double y, absl::string_view title, bool hollow) {
  const GroupStyle style = StyleOfGroup(group);
  // Relative paths around (x, y).
  constexpr std::array<const char*, kGroupStyles> kShapes = {"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
                                                             "m0 -5l4.8 8.4h-9.6z",
                                                             "m-3.6 -3.6h7.2v7.2h-7.2z",
                                                             "m0 -5l5 5l-5 5l-5 -5z",
                                                             "m-4 -4l8 8m0 -8l-8 8",
                                                             "m0 5l4.8 -8.4h-9.6z"};
  absl::StrAppendFormat(&body_,
                        "<path d=\"M%.1f %.1f%s\" fill=\"%s\" fill-opacity=\"0.85\" stroke=\"%s\" "
                        "stroke-width=\"1.2\"><title>%s</title></path>\n",
                        x, y, kShapes[group % kGroupStyles], hollow ? "#ffffff" : style.fill,
                        style.fill, EscapeXml(title));
}

void SvgCanvas::BeginGroup(absl::string_view title) {
  absl::StrAppend(&body_, "<g>");
  if (!title.empty()) {
    absl::StrAppend(&body_, "<title>", EscapeXml(title), "</title>");
  }
  body_ += "\n";
}

void SvgCanvas::EndGroup() { body_ += "</g>\n"; }

void SvgCanvas::Path(absl::string_view data, absl::string_view attributes) {
  absl::StrAppend(&body_, "<path d=\"", data, "\" ", attributes, "/>\n");
}

std::string SvgCanvas::ToString(double width, double height, absl::string_view title,
                                double shown_width) const {
  const double scale = shown_width > 0 ? shown_width / width : 1;
  return absl::StrCat(
      absl::StrFormat(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%.0f\" height=\"%.0f\" "
          "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
          "font-size=\"12\">\n",
          scale * width, scale * height, width, height),
      "<title>", EscapeXml(title),
      "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", body_, "</svg>\n");
}

}  // namespace concur::analysis
