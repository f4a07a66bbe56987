#include "cycloid/page/svg_plot.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "cycloid/page/html.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline page {
namespace {

constexpr double kCharacter = 6.8;  // mean width of a tick label's character [px]
constexpr double kFarAway = 1e5;    // beyond the picture, where a number still has few digits [px]

std::string pixels(double v) { return fixed(std::clamp(v, -kFarAway, kFarAway), 1); }

// Digits after the point that tell ticks of this spacing apart.
int digits_for(double spacing) {
  return std::max(0, static_cast<int>(std::ceil(-std::log10(spacing) - 1e-9)));
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::vector<double> linear_ticks(double low, double high, int count) {
  const double wish = (high - low) / std::max(1, count);
  const double power = std::pow(10.0, std::floor(std::log10(wish)));
  const double share = wish / power;
  const double step = power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
  std::vector<double> ticks;
  const double slack = 1e-9 * (high - low);
  for (double k = std::ceil((low - slack) / step); k * step <= high + slack; ++k) {
    ticks.push_back(k * step);
  }
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high, int count) {
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const int every = std::max(1, (last - first) / std::max(1, count) + 1);
  std::vector<double> ticks;
  for (int e = first; e <= last; ++e) {
    if (e % every == 0) ticks.push_back(std::pow(10.0, e));
  }
  return ticks;
}

double Plot::Axis::share(double v) const {
  if (scale == Scale::linear) return (v - low) / (high - low);
  return std::log(v / low) / std::log(high / low);
}

std::vector<double> Plot::Axis::tick_values(double length, double spacing) const {
  const int count = static_cast<int>(length / spacing);
  return scale == Scale::linear ? linear_ticks(low, high, count)
                                : logarithmic_ticks(low, high, count);
}

std::string Plot::Axis::tick_text(double v, const std::vector<double>& all) const {
  if (scale == Scale::logarithmic) {
    return power_of_ten(static_cast<int>(std::lround(std::log10(v))));
  }
  const double spacing = all.size() > 1 ? all[1] - all[0] : 1;
  return typeset(fixed(v, digits_for(spacing)));
}

Plot::Plot(std::string id, std::string description, double width, double height)
    : id_(std::move(id)), description_(std::move(description)), width_(width), height_(height) {}

Plot& Plot::x_axis(std::string label, double low, double high, Scale scale) {
  CYCLOID_CHECK(low < high && (scale == Scale::linear || low > 0), low, high);
  x_ = {std::move(label), low, high, scale, true};
  return *this;
}

Plot& Plot::y_axis(std::string label, double low, double high, Scale scale) {
  CYCLOID_CHECK(low < high && (scale == Scale::linear || low > 0), low, high);
  y_ = {std::move(label), low, high, scale, true};
  std::size_t widest = 1;
  const std::vector<double> ticks = y_.tick_values(height_ - top_ - bottom_, 42);
  for (const double v : ticks) widest = std::max(widest, characters(y_.tick_text(v, ticks)));
  left_ = 16 + kCharacter * static_cast<double>(widest);
  return *this;
}

Plot& Plot::without_x_ticks() {
  x_.ticks = false;
  bottom_ = 28;
  return *this;
}

double Plot::px(double x) const { return left_ + x_.share(x) * (width_ - left_ - right_); }
double Plot::py(double y) const {
  return height_ - bottom_ - y_.share(y) * (height_ - top_ - bottom_);
}

Plot& Plot::path(std::span<const double> x, std::span<const double> y, const std::string& css,
                 const std::string& attributes, bool closed, bool keep_all) {
  CYCLOID_CHECK(x.size() == y.size(), x.size(), y.size());
  std::string d;
  double last_x = INFINITY, last_y = INFINITY;
  bool broken = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = px(x[i]), v = py(y[i]);
    if (std::isnan(u) || std::isnan(v)) {
      broken = true;
      continue;
    }
    const bool near = std::abs(u - last_x) + std::abs(v - last_y) < 0.7;
    if (!keep_all && !broken && near && i + 1 < x.size()) continue;
    d += message(broken ? "M" : "L", pixels(u), " ", pixels(v));
    last_x = u, last_y = v, broken = false;
  }
  if (closed) d += "Z";
  inside_ += message("<path class=\"", css, "\" d=\"", d, "\"", attributes.empty() ? "" : " ",
                     attributes, "/>\n");
  return *this;
}

Plot& Plot::line(std::span<const double> x, std::span<const double> y, const std::string& css,
                 const std::string& attributes) {
  return path(x, y, "line " + css, attributes, false, false);
}

Plot& Plot::exact_line(std::span<const double> x, std::span<const double> y, const std::string& css,
                       const std::string& attributes) {
  return path(x, y, "line " + css, attributes, false, true);
}

Plot& Plot::area(std::span<const double> x, std::span<const double> y, const std::string& css) {
  return path(x, y, "area " + css, "", true, false);
}

Plot& Plot::dots(std::span<const double> x, std::span<const double> y, double radius,
                 const std::string& css) {
  CYCLOID_CHECK(x.size() == y.size(), x.size(), y.size());
  std::string d;  // round caps on strokes of no length
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = px(x[i]), v = py(y[i]);
    if (std::isnan(u) || std::isnan(v)) continue;
    d += message("M", pixels(u), " ", pixels(v), "h0");
  }
  inside_ += message("<path class=\"dots ", css, "\" stroke-width=\"", fixed(2 * radius, 1),
                     "\" d=\"", d, "\"/>\n");
  return *this;
}

Plot& Plot::dot(double x, double y, double radius, const std::string& css,
                const std::string& attributes) {
  inside_ +=
      message("<circle class=\"dot ", css, "\" cx=\"", pixels(px(x)), "\" cy=\"", pixels(py(y)),
              "\" r=\"", fixed(radius, 1), "\"", attributes.empty() ? "" : " ", attributes, "/>\n");
  return *this;
}

Plot& Plot::bar(double x, double low, double high, const std::string& css) {
  inside_ += message("<path class=\"line bar ", css, "\" d=\"M", pixels(px(x)), " ",
                     pixels(py(low)), "V", pixels(py(high)), "\"/>\n");
  return *this;
}

Plot& Plot::vertical(double x, const std::string& label, const std::string& css, double place) {
  const double u = px(x), top = top_, low = height_ - bottom_;
  inside_ += message("<path class=\"line marker ", css, "\" d=\"M", pixels(u), " ", pixels(low),
                     "V", pixels(top), "\"/>\n");
  if (label.empty()) return *this;
  const bool leftwards = u > left_ + 0.6 * (width_ - left_ - right_);
  const double v = low - place * (low - top);
  above_ += message("<text class=\"note ", css, "\" x=\"", pixels(u + (leftwards ? -6 : 6)),
                    "\" y=\"", pixels(std::clamp(v + 4, top + 12, low - 6)), "\" text-anchor=\"",
                    leftwards ? "end" : "start", "\">", escape_html(label), "</text>\n");
  return *this;
}

Plot& Plot::horizontal(double y, const std::string& label, const std::string& css, double place) {
  const double v = py(y), left = left_, right = width_ - right_;
  inside_ += message("<path class=\"line marker ", css, "\" d=\"M", pixels(left), " ", pixels(v),
                     "H", pixels(right), "\"/>\n");
  if (label.empty()) return *this;
  const char* anchor = place > 0.66 ? "end" : place < 0.33 ? "start" : "middle";
  above_ +=
      message("<text class=\"note ", css, "\" x=\"",
              pixels(std::clamp(left + place * (right - left), left + 6, right - 6)), "\" y=\"",
              pixels(v - 6), "\" text-anchor=\"", anchor, "\">", escape_html(label), "</text>\n");
  return *this;
}

Plot& Plot::note(double x, double y, const std::string& text, const std::string& anchor, double dx,
                 double dy, const std::string& css) {
  above_ +=
      message("<text class=\"", css, "\" x=\"", pixels(px(x) + dx), "\" y=\"", pixels(py(y) + dy),
              "\" text-anchor=\"", anchor, "\">", escape_html(text), "</text>\n");
  return *this;
}

Plot& Plot::arrow(double x, double y, double dx, double dy, const std::string& css) {
  const double length = std::hypot(dx, dy), u = dx / length, v = dy / length;
  const double ex = px(x) + dx, ey = py(y) + dy;
  above_ += message("<path class=\"line ", css, "\" d=\"M", pixels(px(x)), " ", pixels(py(y)), "L",
                    pixels(ex), " ", pixels(ey), "M", pixels(ex - 7 * u + 4 * v), " ",
                    pixels(ey - 7 * v - 4 * u), "L", pixels(ex), " ", pixels(ey), "L",
                    pixels(ex - 7 * u - 4 * v), " ", pixels(ey - 7 * v + 4 * u), "\"/>\n");
  return *this;
}

void Plot::axes(std::string& out) const {
  const double right = width_ - right_, low = height_ - bottom_;
  const std::vector<double> xs = x_.tick_values(width_ - left_ - right_, 70);
  const std::vector<double> ys = y_.tick_values(height_ - top_ - bottom_, 42);
  std::string grid, labels;
  for (const double v : ys) {
    grid += message("M", pixels(left_), " ", pixels(py(v)), "H", pixels(right));
    labels += message("<text x=\"", pixels(left_ - 7), "\" y=\"", pixels(py(v) + 4),
                      "\" text-anchor=\"end\">", y_.tick_text(v, ys), "</text>\n");
  }
  for (const double v : x_.ticks ? xs : std::vector<double>()) {
    grid += message("M", pixels(px(v)), " ", pixels(low), "V", pixels(low + 4));
    labels += message("<text x=\"", pixels(px(v)), "\" y=\"", pixels(low + 18),
                      "\" text-anchor=\"middle\">", x_.tick_text(v, xs), "</text>\n");
  }
  out +=
      message("<path class=\"grid\" d=\"", grid, "\"/>\n<path class=\"axis\" d=\"M", pixels(left_),
              " ", pixels(low), "H", pixels(right), "\"/>\n<g class=\"ticks\">\n", labels,
              "</g>\n<text class=\"label\" x=\"2\" y=\"13\">", escape_html(y_.label),
              "</text>\n<text class=\"label\" x=\"", pixels(right), "\" y=\"", pixels(height_ - 7),
              "\" text-anchor=\"end\">", escape_html(x_.label), "</text>\n");
}

std::string Plot::svg() const {
  std::string out =
      message("<svg class=\"plot\" id=\"", id_, "\" viewBox=\"0 0 ", fixed(width_, 0), " ",
              fixed(height_, 0), "\" role=\"img\" aria-label=\"", escape_html(description_),
              "\">\n<clipPath id=\"", id_, "-clip\"><rect x=\"", pixels(left_), "\" y=\"",
              pixels(top_ - 4), "\" width=\"", pixels(width_ - left_ - right_ + 4), "\" height=\"",
              pixels(height_ - top_ - bottom_ + 4), "\"/></clipPath>\n");
  axes(out);
  out += message("<g clip-path=\"url(#", id_, "-clip)\">\n", inside_, "</g>\n", above_, "</svg>\n");
  return out;
}

}  // namespace cycloid::inline page
