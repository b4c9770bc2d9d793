// SPDX-License-Identifier: Apache-2.0
// Where the names of points go in a scatter plot: beside their points, over no other point or name.
//
// Thread-compatible. Pixels; y grows downwards.
#ifndef CONCUR_REPORT_FIGURES_LABEL_PLACES_H_
#define CONCUR_REPORT_FIGURES_LABEL_PLACES_H_

#include <optional>
#include <vector>

namespace concur::analysis {

struct PixelBox {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

class LabelPlaces {
 public:
  struct Point {
    double x = 0;
    double y = 0;
  };

  // `points` are the middles of all markers.
  LabelPlaces(const PixelBox& plot, const std::vector<Point>& points);

  // The box of a label of that size for the marker at (x, y): right of it, left, above, below or at
  // a corner, whichever is the first that lies within the plot and over nothing placed so far.
  // Nothing when none does. The box is then taken.
  std::optional<PixelBox> Place(const Point& marker, double width, double height);

 private:
  PixelBox plot_;
  std::vector<PixelBox> taken_;
};

}  // namespace concur::analysis

#endif  // CONCUR_REPORT_FIGURES_LABEL_PLACES_H_
