// SPDX-License-Identifier: Apache-2.0
#include "report/figures/label_places.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace concur::analysis {
namespace {

constexpr double kMarkerHalf = 4.5;
constexpr double kLabelGap = 2;

bool Overlap(const PixelBox& a, const PixelBox& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

}  // namespace

LabelPlaces::LabelPlaces(const PixelBox& plot, const std::vector<Point>& points) : plot_(plot) {
  for (const Point& point : points) {
    taken_.push_back({point.x - kMarkerHalf, point.y - kMarkerHalf, point.x + kMarkerHalf,
                      point.y + kMarkerHalf});
  }
}

std::optional<PixelBox> LabelPlaces::Place(const Point& marker, double width, double height) {
  const double reach = kMarkerHalf + kLabelGap;
  // The left and top ends on each side of the marker.
  const double lefts[] = {marker.x + reach, marker.x - reach - width, marker.x - width / 2};
  const double tops[] = {marker.y - height / 2, marker.y - reach - height, marker.y + reach};
  constexpr int kOrder[][2] = {{0, 0}, {1, 0}, {2, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 1}, {1, 2}};
  for (const auto& [column, row] : kOrder) {
    const PixelBox box{lefts[column], tops[row], lefts[column] + width, tops[row] + height};
    const bool inside = box.left >= plot_.left && box.right <= plot_.right &&
                        box.top >= plot_.top && box.bottom <= plot_.bottom;
    if (inside && std::none_of(taken_.begin(), taken_.end(),
                               [&](const PixelBox& other) { return Overlap(box, other); })) {
      taken_.push_back(box);
      return box;
    }
  }
  return std::nullopt;
}

}  // namespace concur::analysis
