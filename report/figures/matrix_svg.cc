// SPDX-License-Identifier: Apache-2.0
// The heat map of a matrix: one part of figures.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analysis/concurrence/matrix.h"
#include "report/figures/figures.h"
#include "report/figures/svg_canvas.h"
#include "report/notes.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

class HeatMap {
 public:
  HeatMap(const ConcurrenceMatrix& matrix, const MatrixFigure& figure)
      : matrix_(matrix), figure_(figure), cell_(matrix.level > 0 ? kCellWithInterval : kCell) {
    for (const std::string& name : matrix.benchmarks) {
      names_.push_back(ShortName(name, kNameMax));
      label_ = std::max(label_, TextWidth(names_.back()));
    }
    const auto n = static_cast<double>(names_.size());
    // A slanted name may begin left of its own row's label.
    left_ = kMargin + std::max(label_ + kGap, label_ * kSlant);
    width_ = std::max(left_ + n * cell_ + kMargin, kWidthMin);
    const auto columns = static_cast<size_t>((width_ - 2 * kMargin) / 6.8);
    title_ =
        WrapText(Printable(figure.title.empty() ? MatrixTitle(matrix) : figure.title), columns);
    for (const std::string& note : FigureNotes()) {
      for (std::string& line : WrapText(note, columns)) {
        notes_.push_back(std::move(line));
      }
    }
    bar_top_ = kMargin + static_cast<double>(title_.size()) * kLine + kGap;
    top_ = bar_top_ + kBarHeight + kLine + kGap;
    bottom_ = top_ + n * kRow;
    notes_top_ = bottom_ + label_ * kSlant + 2 * kGap;
    height_ = notes_top_ + static_cast<double>(notes_.size()) * kLine + kMargin;
  }

  std::string ToString() const {
    SvgCanvas canvas;
    double y = kMargin + kLine - 4;
    for (const std::string& line : title_) {
      canvas.Text(kMargin, y, line, Anchor::kStart, "font-weight=\"bold\"");
      y += kLine;
    }
    DrawColorBar(canvas);
    for (size_t b = 0; b < names_.size(); ++b) {
      canvas.Text(left_ - kGap, CellTop(b) + kRow / 2 + 4, names_[b], Anchor::kEnd);
      for (size_t a = 0; a < b; ++a) {
        DrawCell(matrix_.pair(a, b), canvas);
      }
      if (b + 1 < names_.size()) {
        const double x = CellLeft(b) + cell_ / 2;
        canvas.Text(x, bottom_ + kGap + 4, names_[b], Anchor::kEnd,
                    absl::StrFormat("transform=\"rotate(-45 %.1f %.1f)\"", x, bottom_ + kGap));
      }
    }
    y = notes_top_ + kLine;
    for (const std::string& line : notes_) {
      canvas.Text(kMargin, y, line, Anchor::kStart, "fill=\"#595959\"");
      y += kLine;
    }
    return canvas.ToString(width_, height_, title_.empty() ? "" : title_[0], figure_.width);
  }

 private:
  using Anchor = SvgCanvas::Anchor;
  static constexpr double kCell = 44;
  static constexpr double kCellWithInterval = 74;  // room for "[-0.12, 0.95]"
  static constexpr double kRow = 38;
  static constexpr double kMargin = 16;
  static constexpr double kGap = 8;
  static constexpr double kLine = 16;
  static constexpr double kSlant = 0.72;  // sine of 45 degrees, rounded up
  static constexpr double kWidthMin = 480;
  static constexpr double kBarWidth = 200;
  static constexpr double kBarHeight = 12;
  static constexpr size_t kNameMax = 28;

  double CellLeft(size_t a) const { return left_ + static_cast<double>(a) * cell_; }
  double CellTop(size_t b) const { return top_ + static_cast<double>(b) * kRow; }

  std::vector<std::string> FigureNotes() const {
    std::vector<std::string> notes = MatrixNotes(matrix_);
    for (std::string& choice : ChoiceWarning(matrix_)) {
      notes.push_back(std::move(choice));
    }
    return notes;
  }

  // Which colour means what, from the least to the greatest value of the coefficient.
  void DrawColorBar(SvgCanvas& canvas) const {
    const double least = LeastValue(matrix_.coefficient);
    const auto at = [&](double value) { return left_ + (value - least) / (1 - least) * kBarWidth; };
    constexpr int kSteps = 40;
    for (int i = 0; i < kSteps; ++i) {
      const double value = least + (i + 0.5) * (1 - least) / kSteps;
      const double begin = left_ + i * kBarWidth / kSteps;
      const std::string color = Hex(DivergingColor(value));
      canvas.Box(begin, bar_top_, kBarWidth / kSteps, kBarHeight,
                 absl::StrCat("fill=\"", color, "\" stroke=\"", color, "\" stroke-width=\"0.5\""));
    }
    canvas.Box(left_, bar_top_, kBarWidth, kBarHeight, "fill=\"none\" stroke=\"#767676\"");
    for (const double value : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      if (value >= least) {
        canvas.Text(at(value), bar_top_ + kBarHeight + 13, absl::StrFormat("%g", value),
                    Anchor::kMiddle, "font-size=\"11\"");
      }
    }
  }

  void DrawCell(const MatrixPair& pair, SvgCanvas& canvas) const {
    // Two approaches always agree wholly, or not at all.
    const bool tells = pair.correlation.defined() && pair.correlation.n > 2;
    const Color color = tells ? DivergingColor(pair.correlation.value) : Color{224, 224, 224};
    const std::string ink = absl::StrCat("fill=\"", InkOn(color), "\"");
    const double x = CellLeft(pair.a);
    const double y = CellTop(pair.b);
    const bool with_interval = pair.interval.has_value();
    canvas.BeginGroup(absl::StrFormat("%s – %s: %s, n = %d", matrix_.benchmarks[pair.a],
                                      matrix_.benchmarks[pair.b], PairText(pair),
                                      pair.correlation.n));
    canvas.Box(x, y, cell_, kRow, absl::StrCat("fill=\"", Hex(color), "\" stroke=\"#ffffff\""));
    canvas.Text(x + cell_ / 2, y + kRow / 2 + (with_interval ? -2 : 4),
                absl::StrCat(FixedOrUndef(pair.correlation.OptionalValue(), 2),
                             DaggerOf(pair.interval), pair.missing.empty() ? "" : "*"),
                Anchor::kMiddle, ink + " font-size=\"13\"");
    if (with_interval) {
      canvas.Text(x + cell_ / 2, y + kRow / 2 + 13, IntervalText(*pair.interval, 2),
                  Anchor::kMiddle, ink + " font-size=\"10\"");
    }
    canvas.EndGroup();
  }

  const ConcurrenceMatrix& matrix_;
  const MatrixFigure& figure_;
  double cell_;
  std::vector<std::string> names_;
  std::vector<std::string> title_;
  std::vector<std::string> notes_;
  double label_ = 0;
  double left_ = 0;
  double bar_top_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  double notes_top_ = 0;
  double width_ = 0;
  double height_ = 0;
};

}  // namespace

std::string MatrixSvg(const ConcurrenceMatrix& matrix, const MatrixFigure& figure) {
  return HeatMap(matrix, figure).ToString();
}

}  // namespace concur::analysis
