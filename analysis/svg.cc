// The heat map of markup.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/markup.h"
#include "analysis/matrix.h"
#include "analysis/notes.h"
#include "analysis/svg_canvas.h"
#include "analysis/text_table.h"

namespace concur::analysis {
namespace {

class HeatMap {
 public:
  HeatMap(const ConcurrenceMatrix& matrix, int decimals) : matrix_(matrix), decimals_(decimals) {
    for (const std::string& name : matrix.benchmarks) {
      constexpr size_t kNameMax = 40;
      names_.push_back(absl::StrCat(names_.size() + 1, "  ",
                                    Printable(name, kNameMax)));  // notes name pairs by number
      label_ = std::max(label_, TextWidth(names_.back()));
    }
    const auto n = static_cast<double>(names_.size());
    left_ = kMargin + label_ + kGap;
    const double below = label_ * kSlant + kGap;
    width_ = std::max(left_ + n * kCell + kMargin, kWidthMin);
    const auto columns = static_cast<size_t>((width_ - 2 * kMargin) / 6.8);
    title_ = WrapText(MatrixTitle(matrix), columns);
    for (const std::string& note : MatrixNotes(matrix)) {
      for (std::string& line : WrapText(note, columns)) {
        notes_.push_back(std::move(line));
      }
    }
    top_ = kMargin + static_cast<double>(title_.size()) * kLine + kGap;
    bottom_ = top_ + n * kCell;
    notes_top_ = bottom_ + below + kGap;
    height_ = notes_top_ + static_cast<double>(notes_.size()) * kLine + kMargin;
  }

  std::string ToString() const {
    SvgCanvas canvas;
    double y = kMargin + kLine;
    for (const std::string& line : title_) {
      canvas.Text(kMargin, y, line, Anchor::kStart, "font-weight=\"bold\"");
      y += kLine;
    }
    for (size_t b = 0; b < names_.size(); ++b) {
      canvas.Text(left_ - kGap, CellTop(b) + kCell / 2 + 4, names_[b], Anchor::kEnd);
      for (size_t a = 0; a < b; ++a) {
        DrawCell(matrix_.pair(a, b), canvas);
      }
      if (b + 1 < names_.size()) {
        const double x = CellLeft(b) + kCell / 2;
        canvas.Text(x, bottom_ + kGap + 4, names_[b], Anchor::kEnd,
                    absl::StrFormat("transform=\"rotate(-45 %.1f %.1f)\"", x, bottom_ + kGap));
      }
    }
    y = notes_top_ + kLine;
    for (const std::string& line : notes_) {
      canvas.Text(kMargin, y, line);
      y += kLine;
    }
    return canvas.ToString(width_, height_, MatrixTitle(matrix_));
  }

 private:
  using Anchor = SvgCanvas::Anchor;
  static constexpr double kCell = 44;
  static constexpr double kMargin = 16;
  static constexpr double kGap = 8;
  static constexpr double kLine = 16;
  static constexpr double kSlant = 0.72;  // sine of 45 degrees, rounded up
  static constexpr double kWidthMin = 480;

  double CellLeft(size_t a) const { return left_ + static_cast<double>(a) * kCell; }
  double CellTop(size_t b) const { return top_ + static_cast<double>(b) * kCell; }

  void DrawCell(const MatrixPair& pair, SvgCanvas& canvas) const {
    const bool defined = pair.correlation.defined();
    const Color color = defined ? DivergingColor(pair.correlation.value) : Color{224, 224, 224};
    const char* ink = InkOn(color);
    const double x = CellLeft(pair.a);
    const double y = CellTop(pair.b);
    canvas.BeginGroup(absl::StrFormat("%s – %s: %s, n = %d", matrix_.benchmarks[pair.a],
                                      matrix_.benchmarks[pair.b], PairText(pair, decimals_),
                                      pair.correlation.n));
    canvas.Box(x, y, kCell, kCell, absl::StrCat("fill=\"", Hex(color), "\" stroke=\"#ffffff\""));
    const std::string value =
        (defined ? Fixed(pair.correlation.value, decimals_) : std::string("undef")) +
        (pair.missing.empty() ? "" : "*");
    canvas.Text(x + kCell / 2, y + kCell / 2 + 4, value, Anchor::kMiddle,
                absl::StrCat("fill=\"", ink, "\""));
    if (pair.interval.has_value()) {
      const auto at = [&](double end) { return x + 4 + (end + 1) / 2 * (kCell - 8); };
      const double line = y + kCell - 8;
      canvas.Path(absl::StrFormat("M%.1f %.1fv6m0 -3H%.1fm0 -3v6", at(pair.interval->low), line - 3,
                                  at(pair.interval->high)),
                  absl::StrCat("stroke=\"", ink, "\" fill=\"none\""));
    }
    canvas.EndGroup();
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
