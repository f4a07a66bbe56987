#include "cycloid/page/text_plot.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/check.h"

namespace cycloid::inline page {
namespace {

// U+2800 + dots, in UTF-8.
std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

TextPlot::TextPlot(int columns, int rows, PlotRange x, PlotRange y)
    : columns_(columns),
      rows_(rows),
      x_(x),
      y_(y),
      cells_(static_cast<std::size_t>(columns * rows)) {
  CYCLOID_CHECK(columns > 0 && rows > 0 && x.low < x.high && y.low < y.high, columns, rows);
}

double TextPlot::dot_column(double x) const {
  return (x - x_.low) / (x_.high - x_.low) * (2 * columns_ - 1);
}

double TextPlot::dot_row(double y) const {
  return (y_.high - y) / (y_.high - y_.low) * (4 * rows_ - 1);
}

void TextPlot::set(double column, double row, const std::string& ink) {
  if (!(column > -0.5 && column < 2 * columns_ - 0.5 && row > -0.5 && row < 4 * rows_ - 0.5))
    return;
  const int c = static_cast<int>(std::lround(column)), r = static_cast<int>(std::lround(row));
  static constexpr unsigned kDots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  Cell& cell = cells_[static_cast<std::size_t>(r / 4 * columns_ + c / 2)];
  cell.dots |= kDots[r % 4][c % 2];
  cell.ink = ink;
}

void TextPlot::line(std::span<const double> x, std::span<const double> y, const std::string& ink) {
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double c0 = dot_column(x[i - 1]), r0 = dot_row(y[i - 1]);
    const double c1 = dot_column(x[i]), r1 = dot_row(y[i]);
    const double length = std::max(std::abs(c1 - c0), std::abs(r1 - r0));
    const int pieces = static_cast<int>(std::clamp(std::ceil(length), 1.0, 1e4));
    for (int k = 0; k <= pieces; ++k) {
      const double s = static_cast<double>(k) / pieces;
      set(c0 + s * (c1 - c0), r0 + s * (r1 - r0), ink);
    }
  }
}

void TextPlot::dots(std::span<const double> x, std::span<const double> y, const std::string& ink) {
  for (std::size_t i = 0; i < x.size(); ++i) set(dot_column(x[i]), dot_row(y[i]), ink);
}

void TextPlot::mark(double x, double y, const std::string& character, const std::string& ink) {
  const double column = dot_column(x) / 2, row = dot_row(y) / 4;
  if (!(column >= 0 && column < columns_ && row >= 0 && row < rows_)) return;
  Cell& cell =
      cells_[static_cast<std::size_t>(static_cast<int>(row) * columns_ + static_cast<int>(column))];
  cell.mark = character;
  cell.ink = ink;
}

std::string TextPlot::text(const std::string& indent, bool colour) const {
  std::string out;
  for (int r = 0; r < rows_; ++r) {
    out += indent;
    for (int c = 0; c < columns_; ++c) {
      const Cell& cell = cells_[static_cast<std::size_t>(r * columns_ + c)];
      if (cell.dots == 0 && cell.mark.empty()) {
        out += ' ';
        continue;
      }
      const bool inked = colour && !cell.ink.empty();
      if (inked) out += "\x1b[" + cell.ink + "m";
      out += cell.mark.empty() ? braille(cell.dots) : cell.mark;
      if (inked) out += "\x1b[0m";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace cycloid::inline page
