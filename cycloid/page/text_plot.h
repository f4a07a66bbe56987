// Plots in characters: eight dots per braille character.
//
//   TextPlot plot(64, 12, {0, 45}, {0, 12});
//   plot.line(xs, ys);
//   out << plot.text("   ");
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cycloid/page/plot_range.h"

namespace cycloid::inline page {

class TextPlot {
 public:
  // `columns` × `rows` characters over the ranges.
  TextPlot(int columns, int rows, PlotRange x, PlotRange y);

  // `ink` is a colour's ANSI code ("36"), or empty. Later ink covers earlier ink.
  void line(std::span<const double> x, std::span<const double> y, const std::string& ink = "");
  void dots(std::span<const double> x, std::span<const double> y, const std::string& ink = "");
  // One character at a point.
  void mark(double x, double y, const std::string& character, const std::string& ink = "");

  // The picture, each line after `indent`; with colours where `colour`.
  std::string text(const std::string& indent, bool colour) const;

 private:
  struct Cell {
    unsigned dots = 0;
    std::string mark, ink;
  };
  void set(double column, double row, const std::string& ink);
  double dot_column(double x) const;
  double dot_row(double y) const;

  int columns_, rows_;
  PlotRange x_, y_;
  std::vector<Cell> cells_;
};

}  // namespace cycloid::inline page
