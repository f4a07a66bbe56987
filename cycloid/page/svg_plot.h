// Plots as SVG text: axes with ticks, lines, areas, dots, bars, markers.
//
//   Plot plot("miss", "Distance from the target after each correction", 440, 280);
//   plot.x_axis("correction", 0, 8).y_axis("miss [m]", 1e-7, 100, Scale::logarithmic);
//   plot.line(xs, ys, "c1");
//   page << plot.svg();
//
// Colours are the page's: every element has a class and no colour of its own, so that one style
// sheet serves light and dark. Data outside the axes is clipped; a line is broken where a number is
// NaN. `description` is what a screen reader says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cycloid/page/plot_range.h"

namespace cycloid::inline page {

enum class Scale { linear, logarithmic };

// Round numbers within [low, high], about `count` of them: steps of 1, 2 or 5 times a power of ten.
std::vector<double> linear_ticks(double low, double high, int count);
// Powers of ten within [low, high], at most `count`.
std::vector<double> logarithmic_ticks(double low, double high, int count);

class Plot {
 public:
  Plot(std::string id, std::string description, double width, double height);

  Plot& x_axis(std::string label, double low, double high, Scale scale = Scale::linear);
  Plot& y_axis(std::string label, double low, double high, Scale scale = Scale::linear);
  Plot& x_axis(std::string label, PlotRange range) {
    return x_axis(std::move(label), range.low, range.high);
  }
  Plot& y_axis(std::string label, PlotRange range) {
    return y_axis(std::move(label), range.low, range.high);
  }
  // No ticks on the x axis, where its numbers mean nothing.
  Plot& without_x_ticks();

  // `attributes` go into the element: data-frame="3" or a style.
  Plot& line(std::span<const double> x, std::span<const double> y, const std::string& css,
             const std::string& attributes = "");
  // As line, with every point kept: point k of the data is point k of the path.
  Plot& exact_line(std::span<const double> x, std::span<const double> y, const std::string& css,
                   const std::string& attributes = "");
  // Closed and filled.
  Plot& area(std::span<const double> x, std::span<const double> y, const std::string& css);
  Plot& dots(std::span<const double> x, std::span<const double> y, double radius,
             const std::string& css);
  Plot& dot(double x, double y, double radius, const std::string& css,
            const std::string& attributes = "");
  // From (x, low) to (x, high).
  Plot& bar(double x, double low, double high, const std::string& css);
  // A line across the plot with a label beside it. `place` is where along the line the label
  // stands, 0 … 1.
  Plot& vertical(double x, const std::string& label, const std::string& css, double place = 1);
  Plot& horizontal(double y, const std::string& label, const std::string& css, double place = 1);
  // Text at a point; dx, dy in pixels; anchor start, middle or end.
  Plot& note(double x, double y, const std::string& text, const std::string& anchor = "start",
             double dx = 0, double dy = 0, const std::string& css = "note");
  // An arrow from a point, of (dx, dy) in pixels.
  Plot& arrow(double x, double y, double dx, double dy, const std::string& css);

  const std::string& id() const { return id_; }
  std::string svg() const;

  // Where a point lies [px].
  double px(double x) const;
  double py(double y) const;

 private:
  struct Axis {
    std::string label;
    double low = 0, high = 1;
    Scale scale = Scale::linear;
    bool ticks = true;
    double share(double v) const;  // 0 at low, 1 at high
    std::vector<double> tick_values(double length, double spacing) const;
    std::string tick_text(double v, const std::vector<double>& all) const;
  };
  Plot& path(std::span<const double> x, std::span<const double> y, const std::string& css,
             const std::string& attributes, bool closed, bool keep_all);
  void axes(std::string& out) const;

  std::string id_, description_;
  double width_, height_;
  double left_ = 48, right_ = 12, top_ = 26, bottom_ = 44;
  Axis x_, y_;
  std::string inside_, above_;  // elements that are clipped to the axes, and those that are not
};

}  // namespace cycloid::inline page
