#include "cycloid/fluid/grid/obstacle/signed_distance.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline fluid {
namespace {

// Each calls by_number(number, ∂φ/∂number) and by_place(axis, ∂φ/∂x) and returns φ.
template <class ByNumber, class ByPlace>
double circle_distance(const GridBox& box, const double* p, const double* x, ByNumber&& by_number,
                       ByPlace&& by_place) {
  double d[3] = {}, square = 0;
  way_from(box, p, x, d);
  for (int a = box.first; a < 3; ++a) square += d[a] * d[a];
  const double length = std::sqrt(square);
  for (int a = box.first; a < 3; ++a) {
    const double slope = length > 0 ? d[a] / length : 0;
    by_number(a - box.first, -slope), by_place(a, slope);
  }
  by_number(box.dimensions, -1.0);
  return length - p[box.dimensions];  // (1)
}

template <class ByNumber, class ByPlace>
double box_distance(const GridBox& box, const double* p, const double* x, ByNumber&& by_number,
                    ByPlace&& by_place) {
  double d[3] = {}, q[3] = {}, outside = 0;
  way_from(box, p, x, d);
  int most = box.first;
  for (int a = box.first; a < 3; ++a) {
    q[a] = std::abs(d[a]) - 0.5 * p[box.dimensions + a - box.first];
    if (q[a] > q[most]) most = a;
    outside += std::max(0.0, q[a]) * std::max(0.0, q[a]);
  }
  const double length = std::sqrt(outside);
  for (int a = box.first; a < 3; ++a) {
    const double slope = q[most] <= 0 ? (a == most ? 1.0 : 0.0) : std::max(0.0, q[a]) / length;
    const double along = d[a] > 0 ? slope : -slope;
    by_number(a - box.first, -along), by_place(a, along);
    by_number(box.dimensions + a - box.first, -0.5 * slope);
  }
  return q[most] <= 0 ? q[most] : length;  // (2)
}

template <class ByNumber, class ByPlace>
double array_distance(const GridBox& box, const double* p, const double* x, ByNumber&& by_number,
                      ByPlace&& by_place) {
  int cell[3] = {};
  double part[3] = {};
  for (int a = box.first; a < 3; ++a) {
    const int n = box.n[at(a)];
    double s = x[a] / box.h[at(a)];
    if (box.periodic(a)) s -= n * std::floor(s / n);
    cell[a] = std::clamp(static_cast<int>(std::floor(s)), 0, n - 1);
    part[a] = s - cell[a];
  }
  double sum = 0, slope[3] = {};
  for (int corner = 0; corner < 1 << box.dimensions; ++corner) {
    double weight[3] = {1, 1, 1};
    int number = 0;
    for (int a = box.first; a < 3; ++a) {
      const int up = corner >> (2 - a) & 1;
      weight[a] = up ? part[a] : 1 - part[a];
      number = number * (box.n[at(a)] + 1) + cell[a] + up;
    }
    by_number(number, weight[0] * weight[1] * weight[2]);
    sum += weight[0] * weight[1] * weight[2] * p[number];  // (3)
    for (int a = box.first; a < 3; ++a) {
      const double side = corner >> (2 - a) & 1 ? 1 : -1;
      slope[a] += side / box.h[at(a)] * weight[(a + 1) % 3] * weight[(a + 2) % 3] * p[number];
    }
  }
  for (int a = box.first; a < 3; ++a) by_place(a, slope[a]);
  return sum;
}

template <class ByNumber, class ByPlace>
double distance(const GridBox& box, ObstacleKind kind, const double* p, const double* x,
                ByNumber&& by_number, ByPlace&& by_place) {
  switch (kind) {
    case ObstacleKind::circle: return circle_distance(box, p, x, by_number, by_place);
    case ObstacleKind::box: return box_distance(box, p, x, by_number, by_place);
    default: return array_distance(box, p, x, by_number, by_place);
  }
}

}  // namespace

void way_from(const GridBox& box, const double* centre, const double* x, double* d) {
  for (int a = box.first; a < 3; ++a) {
    d[a] = x[a] - centre[a - box.first];
    if (box.periodic(a)) d[a] -= box.size[at(a)] * std::round(d[a] / box.size[at(a)]);
  }
}

double signed_distance(const GridBox& box, ObstacleKind kind, const double* p, const double* x) {
  return distance(box, kind, p, x, [](int, double) {}, [](int, double) {});
}

void signed_distance_pullback(const GridBox& box, ObstacleKind kind, const double* p,
                              const double* x, double phi_bar, double* p_bar, double* x_bar) {
  distance(
      box, kind, p, x, [&](int i, double slope) { p_bar[i] += slope * phi_bar; },
      [&](int a, double slope) {
        if (x_bar) x_bar[a] += slope * phi_bar;
      });
}

double signed_distance_pushforward(const GridBox& box, ObstacleKind kind, const double* p,
                                   const double* x, const double* p_tan, const double* x_tan) {
  double sum = 0;
  distance(
      box, kind, p, x, [&](int i, double slope) { sum += slope * p_tan[i]; },
      [&](int a, double slope) {
        if (x_tan) sum += slope * x_tan[a];
      });
  return sum;
}

}  // namespace cycloid::inline fluid
