// SPDX-License-Identifier: Apache-2.0
#include "report/figures/figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "analysis/comparison/generalization.h"
#include "analysis/concurrence/family_permutation.h"
#include "analysis/families.h"
#include "analysis/statistics/correlation.h"
#include "base/status_macros.h"
#include "report/figures/label_places.h"
#include "report/figures/panel.h"
#include "report/figures/svg_canvas.h"
#include "report/notes.h"
#include "report/ranking_tables.h"
#include "report/text.h"

namespace concur::analysis {
namespace {

using Anchor = SvgCanvas::Anchor;
constexpr double kMargin = 16;
constexpr double kLine = 18;
constexpr size_t kPanelsPerRow = 3;

// The approaches of each group, by name; the first is all of them.
absl::StatusOr<std::vector<std::pair<std::string, std::vector<size_t>>>> GroupApproaches(
    const ScoreTable& table, const std::string& tag) {
  std::vector<std::pair<std::string, std::vector<size_t>>> groups = {{"all", {}}};
  std::map<std::string, std::vector<size_t>> by_value;
  const std::vector<std::string> tags = TagsOf(table.approaches());
  if (!tag.empty() && std::find(tags.begin(), tags.end(), tag) == tags.end()) {
    return UnknownTag("group-by: no approach has the tag", tag, tags);
  }
  for (size_t i = 0; i < table.approaches().size(); ++i) {
    groups[0].second.push_back(i);
    if (!tag.empty()) {
      by_value[TagValue(table.approaches()[i], tag)].push_back(i);
    }
  }
  for (auto& [value, approaches] : by_value) {
    groups.emplace_back(value.empty() ? absl::StrCat("no ", tag) : absl::StrCat(tag, "=", value),
                        std::move(approaches));
  }
  return groups;
}

// The benchmarks that the panels show.
std::vector<AxisEntry> ShownBy(const ScoreTable& table, absl::Span<const ScatterPanel> panels) {
  std::vector<AxisEntry> shown;
  for (const ScatterPanel& panel : panels) {
    if (shown.empty()) {
      shown.push_back(table.benchmarks()[panel.x]);
    }
    shown.push_back(table.benchmarks()[panel.y]);
  }
  return shown;
}

Correlation CorrelatePart(const ScoreTable& table, const ScatterPanel& panel,
                          const ScatterPanel::Part& part, Coefficient coefficient) {
  std::vector<double> x;
  std::vector<double> y;
  for (const size_t approach : part.approaches) {
    x.push_back(table.sign(panel.x) * table.cell(approach, panel.x).value);
    y.push_back(table.sign(panel.y) * table.cell(approach, panel.y).value);
  }
  return Correlate(coefficient, x, y);
}

double PValueOfPart(const ScoreTable& table, const ScatterPanel& panel,
                    const ScatterPanel::Part& part, Coefficient coefficient,
                    const Correlation& correlation) {
  constexpr int64_t kPermutations = 999;
  return part.families.empty()
             ? correlation.p_value
             : FamilyPermutationPValue(table, part.families, panel.x, panel.y, coefficient,
                                       /*top=*/0, kPermutations);
}

std::vector<std::vector<size_t>> FamiliesAmong(const Families& families,
                                               const std::vector<size_t>& approaches) {
  std::vector<std::vector<size_t>> among;
  for (const std::vector<size_t>& members : families.members) {
    std::vector<size_t> kept;
    std::copy_if(members.begin(), members.end(), std::back_inserter(kept), [&](size_t approach) {
      return std::find(approaches.begin(), approaches.end(), approach) != approaches.end();
    });
    if (!kept.empty()) {
      among.push_back(std::move(kept));
    }
  }
  return among;
}

// Where panel `i` of a figure lies.
std::pair<double, double> PanelCorner(size_t i) {
  const size_t row = i / kPanelsPerRow;
  const size_t column = i % kPanelsPerRow;
  return {kMargin + static_cast<double>(column) * Panel::kWidth,
          kMargin + static_cast<double>(row) * Panel::kHeight};
}

double FigureWidth(size_t panels) {
  return 2 * kMargin +
         static_cast<double>(std::clamp<size_t>(panels, 1, kPanelsPerRow)) * Panel::kWidth;
}

double PanelsBottom(size_t panels) {
  const size_t rows = (panels + kPanelsPerRow - 1) / kPanelsPerRow;
  return kMargin + static_cast<double>(rows) * Panel::kHeight;
}

// Draws wrapped notes below `y`; returns where they end.
double DrawNotes(const std::vector<std::string>& notes, double y, double width, SvgCanvas& canvas) {
  const auto columns = static_cast<size_t>((width - 2 * kMargin) / 6.8);
  for (const std::string& note : notes) {
    for (const std::string& line : WrapText(Printable(note), columns)) {
      y += kLine;
      canvas.Text(kMargin, y, line);
    }
  }
  return y;
}

// Writes the names of the panel's labelled points; returns how many have no room.
size_t DrawPointLabels(const ScoreTable& table, const ScatterPanel& panel, const Panel& plot,
                       SvgCanvas& canvas) {
  constexpr double kFont = 10;
  constexpr size_t kLabelMax = 24;
  const auto point = [&](size_t approach) {
    return LabelPlaces::Point{plot.X(table.cell(approach, panel.x).value),
                              plot.Y(table.cell(approach, panel.y).value)};
  };
  std::vector<LabelPlaces::Point> points;
  for (const size_t approach : panel.parts[0].approaches) {
    points.push_back(point(approach));
  }
  LabelPlaces places(plot.plot(), points);
  size_t without_room = 0;
  for (const size_t approach : panel.labels) {
    const std::vector<size_t>& drawn = panel.parts[0].approaches;
    if (std::find(drawn.begin(), drawn.end(), approach) == drawn.end()) {
      continue;
    }
    const std::string name = ShortName(table.approaches()[approach].name, kLabelMax);
    const std::optional<PixelBox> box =
        places.Place(point(approach), TextWidth(name) * kFont / 12, kFont);
    if (box.has_value()) {
      canvas.Text(box->left, box->bottom - 1.5, name, Anchor::kStart, "font-size=\"10\"");
    } else {
      ++without_room;
    }
  }
  return without_room;
}

// Returns how many labels have no room.
size_t DrawScatterPanel(const ScoreTable& table, const ScatterPanel& panel, size_t index,
                        SvgCanvas& canvas) {
  const auto [left, top] = PanelCorner(index);
  const ScatterPanel::Part& all = panel.parts[0];
  std::vector<double> xs;
  std::vector<double> ys;
  for (const size_t approach : all.approaches) {
    xs.push_back(table.cell(approach, panel.x).value);
    ys.push_back(table.cell(approach, panel.y).value);
  }
  const auto axis = [&](size_t benchmark, const std::vector<double>& scores) {
    const bool minimized = table.sign(benchmark) < 0;
    Axis made = LinearAxis(
        absl::StrCat(table.benchmarks()[benchmark].name, minimized ? " (less is better)" : ""),
        scores);
    made.reversed = minimized;
    return made;
  };
  const Panel plot(axis(panel.x, xs), axis(panel.y, ys), left, top);
  std::vector<std::string> titles = {table.benchmarks()[panel.y].name};
  constexpr size_t kPartsShown = 3;
  for (size_t i = 0; i < std::min(panel.parts.size(), kPartsShown); ++i) {
    const ScatterPanel::Part& part = panel.parts[i];
    titles.push_back(absl::StrCat(
        part.group, ": τ ",
        FixedOrUndef(CorrelatePart(table, panel, part, Coefficient::kKendall).OptionalValue(), 2),
        ", r ",
        FixedOrUndef(CorrelatePart(table, panel, part, Coefficient::kPearson).OptionalValue(), 2),
        ", n ", part.approaches.size()));
  }
  plot.DrawFrame(titles, canvas);
  const size_t first = panel.parts.size() > 1 ? 1 : 0;
  for (size_t i = first; i < panel.parts.size(); ++i) {
    for (const size_t approach : panel.parts[i].approaches) {
      const double x = table.cell(approach, panel.x).value;
      const double y = table.cell(approach, panel.y).value;
      canvas.Marker(
          i - first, plot.X(x), plot.Y(y),
          absl::StrCat(table.approaches()[approach].name, ": ", Fixed(x, 2), ", ", Fixed(y, 2)));
    }
  }
  return DrawPointLabels(table, panel, plot, canvas);
}

// Ticks of a transformed axis, at round scores.
Axis ScaledAxis(const std::string& label, FitScale scale, double full,
                const std::vector<double>& transformed) {
  Axis axis = LinearAxis(label, transformed);
  if (scale == FitScale::kLinear) {
    return axis;
  }
  std::vector<double> ticks;
  for (const double share : {0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9,
                             0.925, 0.95, 0.97, 0.98, 0.99, 0.999}) {
    const double at = Transform(scale, share);
    if (at > axis.low && at < axis.high) {
      ticks.push_back(at);
    }
  }
  if (ticks.size() < 2) {  // a short range: round scores of its own
    ticks.clear();
    const double low = InverseTransform(scale, axis.low) * full;
    const double high = InverseTransform(scale, axis.high) * full;
    for (const double score : RoundTicks(low, high, 4)) {
      ticks.push_back(Transform(scale, score / full));
    }
  }
  // Crowded ones are left out from the crowded end.
  std::vector<double> kept;
  for (const double tick : ticks) {
    if (kept.empty() || tick - kept.back() > (axis.high - axis.low) / 9) {
      kept.push_back(tick);
    }
  }
  axis.ticks = kept;
  axis.tick_text = [scale, full](double at) {
    return absl::StrFormat("%g", std::round(1e4 * full * InverseTransform(scale, at)) / 1e4);
  };
  return axis;
}

// A line at the reference's score on the new test set, and where it stands on it.
void DrawReference(const Panel& plot, double x, double y, const std::string& about,
                   SvgCanvas& canvas) {
  constexpr size_t kReferenceStyle = 3;  // a diamond
  canvas.Line(plot.plot().left, y, plot.plot().right, y,
              absl::StrCat("stroke=\"", StyleOfGroup(kReferenceStyle).fill,
                           "\" stroke-width=\"0.8\" stroke-dasharray=\"2 3\""));
  canvas.Marker(kReferenceStyle, x, y, about);
}

// Draws one fit; returns how many systems have no place on its axes.
size_t DrawShiftPanel(const ShiftFit& fit, size_t index, SvgCanvas& canvas) {
  const auto [left, top] = PanelCorner(index);
  const double full = fit.full_score;
  const auto place = [&](double score) {
    return fit.scale == FitScale::kLinear ? score : Transform(fit.scale, score / full);
  };
  std::vector<double> all;
  size_t outside = 0;
  for (const FittedSystem& system : fit.systems) {
    if (std::isfinite(place(system.from)) && std::isfinite(place(system.to))) {
      all.push_back(place(system.from));
      all.push_back(place(system.to));
    } else {
      ++outside;
    }
  }
  // One range for both axes, so that y = x is the diagonal.
  const Panel plot(ScaledAxis(fit.from, fit.scale, full, all),
                   ScaledAxis(fit.to, fit.scale, full, all), left, top);
  std::vector<std::string> titles = {
      fit.to, absl::StrCat(FitScaleName(fit.scale), " scale, ", fit.n, " systems")};
  titles.push_back(absl::StrCat("slope ", FixedOrUndef(fit.slope, 2), ", R² ",
                                FixedOrUndef(fit.r_squared, 2), ", mean gap ",
                                FixedOrUndef(fit.mean_gap, 1)));
  plot.DrawFrame(titles, canvas);
  plot.DrawLine(1, 0, "stroke=\"#595959\" stroke-dasharray=\"4 3\"", canvas);
  if (fit.slope.has_value() && fit.intercept.has_value()) {
    // The intercept of linear fits is in the scores' unit, as are these axes.
    plot.DrawLine(*fit.slope, *fit.intercept, "stroke=\"#a3163d\" stroke-width=\"1.6\"", canvas);
  }
  for (const FittedSystem& system : fit.systems) {
    const double x = place(system.from);
    const double y = place(system.to);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      continue;
    }
    const std::string about =
        absl::StrCat(system.name, ": ", Fixed(system.from, 2), ", ", Fixed(system.to, 2),
                     system.is_reference ? " (reference)"
                     : system.fitted     ? ""
                                         : " (not fitted)");
    if (system.is_reference) {
      DrawReference(plot, plot.X(x), plot.Y(y), about, canvas);
    } else {
      canvas.Marker(0, plot.X(x), plot.Y(y), about, !system.fitted);
    }
  }
  return outside;
}

// Goodness of a score, from 0 to 1: on the benchmark's scale, or, without limits, among its scores.
double ShareOf(const ScoreTable& table, size_t benchmark, double score) {
  std::optional<ScoreRange> range = table.range(benchmark);
  const bool has_limits = range.has_value();
  for (const ScoreCell& cell : table.column(benchmark)) {
    if (cell.state == CellState::kValue && !has_limits) {
      range = range.value_or(ScoreRange{cell.value, cell.value});
      range->low = std::min(range->low, cell.value);
      range->high = std::max(range->high, cell.value);
    }
  }
  if (!range.has_value() || range->low == range->high) {
    return 0;
  }
  const double share = (score - range->low) / (range->high - range->low);
  return table.sign(benchmark) < 0 ? 1 - share : share;
}

}  // namespace

absl::StatusOr<std::vector<ScatterPanel>> ScatterPanels(const ScoreTable& table,
                                                        const ScatterOptions& options) {
  if (options.y.size() > kPanelsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected at most ", kPanelsMax, " panels, got ", options.y.size()));
  }
  CONCUR_ASSIGN_OR_RETURN(const auto groups, GroupApproaches(table, options.group_by));
  CONCUR_ASSIGN_OR_RETURN(const size_t x,
                          FindEntry(table.benchmarks(), options.x, "unknown column", "benchmarks"));
  std::vector<size_t> labels;
  for (const std::string& pattern : options.labels) {
    const size_t before = labels.size();
    for (size_t i = 0; i < table.approaches().size(); ++i) {
      if (MatchesPattern(pattern, table.approaches()[i].name)) {
        labels.push_back(i);
      }
    }
    if (labels.size() == before) {
      return FindEntry(table.approaches(), pattern, "label: unknown approach", "approaches")
          .status();
    }
  }
  CONCUR_ASSIGN_OR_RETURN(const Families families, FamiliesOf(table, options.families));
  std::vector<ScatterPanel> panels;
  for (const std::string& name : options.y) {
    ScatterPanel panel;
    panel.x = x;
    panel.labels = labels;
    CONCUR_ASSIGN_OR_RETURN(panel.y,
                            FindEntry(table.benchmarks(), name, "unknown column", "benchmarks"));
    if (panel.y == x) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is on both axes; expected another benchmark"));
    }
    for (const auto& [group, approaches] : groups) {
      ScatterPanel::Part part;
      part.group = group;
      for (const size_t approach : approaches) {
        const bool both = table.cell(approach, x).state == CellState::kValue &&
                          table.cell(approach, panel.y).state == CellState::kValue;
        (both ? part.approaches : part.missing).push_back(approach);
      }
      if (families.declared()) {
        part.families = FamiliesAmong(families, part.approaches);
      }
      panel.parts.push_back(std::move(part));
    }
    panels.push_back(std::move(panel));
  }
  return panels;
}

Table ScatterTable(const ScoreTable& table, absl::Span<const ScatterPanel> panels) {
  Table result;
  result.columns = {{"x", "x"},
                    {"y", "y"},
                    {"group", "approaches"},
                    {"n", "n", true},
                    {"kendall", "τ", true},
                    {"kendall_p", "p of τ", true, 4},
                    {"pearson", "r", true},
                    {"pearson_p", "p of r", true, 4}};
  std::set<std::string> missing;
  for (const ScatterPanel& panel : panels) {
    for (const ScatterPanel::Part& part : panel.parts) {
      const Correlation tau = CorrelatePart(table, panel, part, Coefficient::kKendall);
      const Correlation r = CorrelatePart(table, panel, part, Coefficient::kPearson);
      result.rows.push_back(
          {TextCell(table.benchmarks()[panel.x].name), TextCell(table.benchmarks()[panel.y].name),
           TextCell(part.group), IntegerCell(static_cast<int64_t>(part.approaches.size())),
           CoefficientCell(tau.OptionalValue()),
           PValueCell(PValueOfPart(table, panel, part, Coefficient::kKendall, tau)),
           CoefficientCell(r.OptionalValue()),
           PValueCell(PValueOfPart(table, panel, part, Coefficient::kPearson, r))});
    }
    for (const size_t approach : panel.parts[0].missing) {
      for (const size_t benchmark : {panel.x, panel.y}) {
        if (table.cell(approach, benchmark).state != CellState::kValue) {
          missing.insert(absl::StrCat(table.benchmarks()[benchmark].name, ": ",
                                      table.approaches()[approach].name));
        }
      }
    }
  }
  if (!panels.empty() && !panels[0].parts[0].families.empty()) {
    result.details.push_back("P-values permute families.");
  }
  if (!missing.empty()) {
    result.notes.push_back(
        absl::StrCat("Without a score on: ", FirstNames({missing.begin(), missing.end()}, "; ")));
  }
  result.details = ChoiceNotes(ShownBy(table, panels));
  return result;
}

std::string ScatterSvg(const ScoreTable& table, absl::Span<const ScatterPanel> panels) {
  SvgCanvas canvas;
  std::vector<std::string> notes;
  for (size_t i = 0; i < panels.size(); ++i) {
    const size_t without_room = DrawScatterPanel(table, panels[i], i, canvas);
    if (without_room > 0) {
      notes.push_back(absl::StrCat(table.benchmarks()[panels[i].y].name, ": no room for ",
                                   without_room, without_room == 1 ? " name" : " names"));
    }
  }
  const double width = FigureWidth(panels.size());
  double y = PanelsBottom(panels.size());
  if (!panels.empty() && panels[0].parts.size() > 1) {
    double x = kMargin + 4;
    y += kLine;
    for (size_t i = 1; i < panels[0].parts.size(); ++i) {
      const std::string name = Printable(panels[0].parts[i].group, 40);
      if (x + 16 + TextWidth(name) > width && i > 1) {
        x = kMargin + 4;
        y += kLine;
      }
      canvas.Marker(i - 1, x, y - 4, name);
      canvas.Text(x + 10, y, name);
      x += 28 + TextWidth(name);
    }
  }
  for (const ScatterPanel& panel : panels) {
    if (!panel.parts[0].missing.empty()) {
      std::vector<std::string> names;
      for (const size_t approach : panel.parts[0].missing) {
        names.push_back(table.approaches()[approach].name);
      }
      notes.push_back(
          absl::StrCat("Not drawn, without both scores: ", table.benchmarks()[panel.y].name, ": ",
                       FirstNames(names, "; ")));
    }
  }
  for (std::string& choice : ChoiceWarning(ShownBy(table, panels))) {
    notes.push_back(std::move(choice));
  }
  y = DrawNotes(notes, y, width, canvas);
  const std::string title = panels.empty()
                                ? "No benchmarks"
                                : absl::StrCat(table.benchmarks()[panels[0].x].name, " against ",
                                               panels.size(), " benchmarks");
  return canvas.ToString(width, y + kMargin, title);
}

std::string ShiftSvg(const std::vector<ShiftFit>& fits) {
  SvgCanvas canvas;
  const double width = FigureWidth(fits.size());
  std::vector<std::string> notes = {
      "Dashed: the new score equals the original one. Solid: the fitted line. Hollow: not fitted."};
  for (size_t i = 0; i < fits.size(); ++i) {
    const size_t outside = DrawShiftPanel(fits[i], i, canvas);
    if (outside > 0) {
      notes.push_back(absl::StrCat(fits[i].to, ": ", outside, " systems with a score of 0 or 100 ",
                                   "% have no place on these axes."));
    }
    if (!fits[i].missing.empty()) {
      notes.push_back(absl::StrCat(
          fits[i].to, ": without both scores: ", absl::StrJoin(fits[i].missing, "; ")));
    }
  }
  std::set<std::string> references;
  for (const ShiftFit& fit : fits) {
    for (const FittedSystem& system : fit.systems) {
      if (system.is_reference) {
        references.insert(system.name);
      }
    }
  }
  if (!references.empty()) {
    notes.push_back(absl::StrCat("Diamonds and dotted lines: ", absl::StrJoin(references, "; "),
                                 ", not fitted and not ranked."));
  }
  for (const ShiftFit& fit : fits) {
    for (const std::string& choice : ChoiceWarning(fit.benchmarks)) {
      if (std::find(notes.begin(), notes.end(), choice) == notes.end()) {
        notes.push_back(choice);
      }
    }
  }
  const double y = DrawNotes(notes, PanelsBottom(fits.size()), width, canvas);
  return canvas.ToString(width, y + kMargin,
                         fits.empty() ? "No fits" : absl::StrCat("Shift from ", fits[0].from));
}

absl::StatusOr<std::string> CrossSvg(const ScoreTable& table) {
  constexpr double kCellWidth = 78;
  constexpr double kCellHeight = 36;
  constexpr size_t kNameMax = 36;
  CONCUR_ASSIGN_OR_RETURN(const Table text, CrossTable(table));
  const std::vector<std::vector<bool>> best = BestTrainSets(table);
  double label = 60;
  double head = 20;
  for (size_t row = 0; row < table.approaches().size(); ++row) {
    label = std::max(label, TextWidth(ShortName(table.approaches()[row].name, kNameMax)));
  }
  for (const AxisEntry& benchmark : table.benchmarks()) {
    head = std::max(head, 0.72 * TextWidth(ShortName(benchmark.name, kNameMax)) + 16);
  }
  SvgCanvas canvas;
  const double left = kMargin + label + 8;
  const double top = kMargin + head;
  for (size_t b = 0; b < table.benchmarks().size(); ++b) {
    const double x = left + (static_cast<double>(b) + 0.4) * kCellWidth;
    canvas.Text(x, top - 8, ShortName(table.benchmarks()[b].name, kNameMax), Anchor::kStart,
                absl::StrFormat("transform=\"rotate(-45 %.1f %.1f)\"", x, top - 8));
  }
  for (size_t row = 0; row < table.approaches().size(); ++row) {
    const double y = top + static_cast<double>(row) * kCellHeight;
    canvas.Text(left - 8, y + kCellHeight / 2 + 4,
                ShortName(table.approaches()[row].name, kNameMax), Anchor::kEnd);
    for (size_t b = 0; b < table.benchmarks().size(); ++b) {
      const ScoreCell& cell = table.cell(row, b);
      const bool has_value = cell.state == CellState::kValue;
      const Color color =
          has_value ? SequentialColor(ShareOf(table, b, cell.value)) : Color{224, 224, 224};
      const double x = left + static_cast<double>(b) * kCellWidth;
      canvas.BeginGroup(absl::StrCat(table.approaches()[row].name, " on ",
                                     table.benchmarks()[b].name, ": ",
                                     CellText(cell, table.decimals(b))));
      canvas.Box(x + 1, y + 1, kCellWidth - 2, kCellHeight - 2,
                 absl::StrCat("fill=\"", Hex(color), "\" stroke=\"",
                              best[row][b] ? "#a3163d" : Hex(color), "\" stroke-width=\"2\""));
      const std::string ink = absl::StrCat("fill=\"", InkOn(color), "\"");
      const bool has_sd = has_value && cell.seeds >= 2;
      const int decimals = table.decimals(b) - 1;
      canvas.Text(x + kCellWidth / 2, y + kCellHeight / 2 + (has_sd ? -2 : 4),
                  has_value ? Fixed(cell.value, decimals) : CellText(cell, decimals),
                  Anchor::kMiddle, best[row][b] ? ink + " font-weight=\"bold\"" : ink);
      if (has_sd) {
        canvas.Text(x + kCellWidth / 2, y + kCellHeight / 2 + 11,
                    absl::StrCat("±", Fixed(cell.standard_deviation, decimals)), Anchor::kMiddle,
                    ink + " font-size=\"10\"");
      }
      canvas.EndGroup();
    }
  }
  const double width = std::max(
      left + static_cast<double>(table.benchmarks().size()) * kCellWidth + kMargin + head / 2,
      420.0);
  double y = top + static_cast<double>(table.approaches().size()) * kCellHeight + 4;
  std::vector<std::string> notes = {text.title};
  notes.insert(notes.end(), text.notes.begin(), text.notes.end());
  y = DrawNotes(notes, y, width, canvas);
  return canvas.ToString(width, y + kMargin, text.title);
}

}  // namespace concur::analysis
