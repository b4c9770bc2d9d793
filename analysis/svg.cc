// The heat map of markup.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "analysis/markup.h"
#include "analysis/matrix.h"
#include "analysis/notes.h"
#include "analysis/text_table.h"

namespace concur::analysis {
namespace {

struct Color {
  double red = 0;
  double green = 0;
  double blue = 0;  // each 0 to 255
};

constexpr Color kNegative = {179, 88, 6};
constexpr Color kZero = {247, 247, 247};
constexpr Color kPositive = {33, 102, 172};

Color ColorOf(double value) {
  const Color& end = value < 0 ? kNegative : kPositive;
  const double share = std::min(1.0, std::abs(value));
  const auto mix = [&](double from, double to) { return std::round(from + share * (to - from)); };
  return {mix(kZero.red, end.red), mix(kZero.green, end.green), mix(kZero.blue, end.blue)};
}

// Relative luminance as WCAG 2.1 defines it.
double Luminance(const Color& color) {
  const auto linear = [](double channel) {
    const double share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

// Black or white, whichever stands out more: at least 4.58 : 1 on any background.
const char* InkOn(const Color& background) {
  const double luminance = Luminance(background);
  return (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) ? "#000000" : "#ffffff";
}

std::string Hex(const Color& color) {
  return absl::StrFormat("#%02x%02x%02x", static_cast<int>(color.red),
                         static_cast<int>(color.green), static_cast<int>(color.blue));
}

// Widths of text at 12 px, on the generous side.
double WidthOf(absl::string_view text) { return 6.8 * static_cast<double>(DisplayWidth(text)); }

// Lines of at most `columns` columns, broken at blanks.
std::vector<std::string> Wrap(const std::string& text, size_t columns) {
  std::vector<std::string> lines = {""};
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!lines.back().empty() && DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > columns) {
      lines.emplace_back();
    }
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

class HeatMap {
 public:
  HeatMap(const ConcurrenceMatrix& matrix, int decimals) : matrix_(matrix), decimals_(decimals) {
    for (const std::string& name : matrix.benchmarks) {
      constexpr size_t kNameMax = 40;
      names_.push_back(absl::StrCat(names_.size() + 1, "  ",
                                    Printable(name, kNameMax)));  // notes name pairs by number
      label_ = std::max(label_, WidthOf(names_.back()));
    }
    const auto n = static_cast<double>(names_.size());
    left_ = kMargin + label_ + kGap;
    const double below = label_ * kSlant + kGap;
    width_ = std::max(left_ + n * kCell + kMargin, kWidthMin);
    const auto columns = static_cast<size_t>((width_ - 2 * kMargin) / 6.8);
    title_ = Wrap(MatrixTitle(matrix), columns);
    for (const std::string& note : MatrixNotes(matrix)) {
      for (std::string& line : Wrap(note, columns)) {
        notes_.push_back(std::move(line));
      }
    }
    top_ = kMargin + static_cast<double>(title_.size()) * kLine + kGap;
    bottom_ = top_ + n * kCell;
    notes_top_ = bottom_ + below + kGap;
    height_ = notes_top_ + static_cast<double>(notes_.size()) * kLine + kMargin;
  }

  std::string ToString() const {
    std::string svg = absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
        "font-size=\"12\">\n",
        width_, height_, width_, height_);
    absl::StrAppend(&svg, "<title>", EscapeXml(MatrixTitle(matrix_)), "</title>\n");
    svg += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    double y = kMargin + kLine;
    for (const std::string& line : title_) {
      svg += Text(kMargin, y, line, "font-weight=\"bold\"");
      y += kLine;
    }
    for (size_t b = 0; b < names_.size(); ++b) {
      svg += Text(left_ - kGap, CellTop(b) + kCell / 2 + 4, names_[b], "text-anchor=\"end\"");
      for (size_t a = 0; a < b; ++a) {
        svg += Cell(matrix_.pair(a, b));
      }
      if (b + 1 < names_.size()) {
        const double x = CellLeft(b) + kCell / 2;
        svg += Text(x, bottom_ + kGap + 4, names_[b],
                    absl::StrFormat("text-anchor=\"end\" transform=\"rotate(-45 %.1f %.1f)\"", x,
                                    bottom_ + kGap));
      }
    }
    y = notes_top_ + kLine;
    for (const std::string& line : notes_) {
      svg += Text(kMargin, y, line, "");
      y += kLine;
    }
    return svg + "</svg>\n";
  }

 private:
  static constexpr double kCell = 44;
  static constexpr double kMargin = 16;
  static constexpr double kGap = 8;
  static constexpr double kLine = 16;
  static constexpr double kSlant = 0.72;  // sine of 45 degrees, rounded up
  static constexpr double kWidthMin = 480;

  double CellLeft(size_t a) const { return left_ + static_cast<double>(a) * kCell; }
  double CellTop(size_t b) const { return top_ + static_cast<double>(b) * kCell; }

  static std::string Text(double x, double y, const std::string& text,
                          const std::string& attributes) {
    return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes,
                           EscapeXml(text));
  }

  std::string Cell(const MatrixPair& pair) const {
    const bool defined = pair.correlation.defined();
    const Color color = defined ? ColorOf(pair.correlation.value) : Color{224, 224, 224};
    const char* ink = InkOn(color);
    const double x = CellLeft(pair.a);
    const double y = CellTop(pair.b);
    std::string svg = absl::StrFormat(
        "<g><title>%s – %s: %s, n = %d</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" "
        "height=\"%.0f\" fill=\"%s\" stroke=\"#ffffff\"/>",
        EscapeXml(matrix_.benchmarks[pair.a]), EscapeXml(matrix_.benchmarks[pair.b]),
        EscapeXml(PairText(pair, decimals_)), pair.correlation.n, x, y, kCell, kCell, Hex(color));
    const std::string value =
        (defined ? Fixed(pair.correlation.value, decimals_) : std::string("undef")) +
        (pair.missing.empty() ? "" : "*");
    svg += Text(x + kCell / 2, y + kCell / 2 + 4, value,
                absl::StrCat("text-anchor=\"middle\" fill=\"", ink, "\""));
    if (pair.interval.has_value()) {
      const auto at = [&](double end) { return x + 4 + (end + 1) / 2 * (kCell - 8); };
      const double line = y + kCell - 8;
      absl::StrAppendFormat(&svg,
                            "<path d=\"M%.1f %.1fv6m0 -3H%.1fm0 -3v6\" stroke=\"%s\" "
                            "fill=\"none\"/>",
                            at(pair.interval->low), line - 3, at(pair.interval->high), ink);
    }
    return svg + "</g>\n";
  }

  const ConcurrenceMatrix& matrix_;
  int decimals_;
  std::vector<std::string> names_;
  std::vector<std::string> title_;
  std::vector<std::string> notes_;
  double label_ = 0;
  double left_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  double notes_top_ = 0;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace

std::string MatrixSvg(const ConcurrenceMatrix& matrix, const TextOptions& options) {
  return HeatMap(matrix, options.decimals).ToString();
}

}  // namespace concur::analysis
