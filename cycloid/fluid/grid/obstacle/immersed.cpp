#include "cycloid/fluid/grid/obstacle/immersed.h"

#include <algorithm>
#include <numeric>

namespace cycloid::inline fluid {
namespace {

std::vector<int> each_of(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The share of a triangle where φ is positive.
double triangle_share(const double* phi, double* slope) {
  const int positive = (phi[0] > 0) + (phi[1] > 0) + (phi[2] > 0);
  std::fill_n(slope, 3, 0.0);
  if (positive == 0 || positive == 3) return positive == 3;
  // The corner that is alone on its side, i, cuts off a² / ((a - b)(a - c)).
  const bool lone = positive == 1;
  int i = 0;
  while ((phi[i] > 0) != lone) ++i;
  const int j = (i + 1) % 3, k = (i + 2) % 3;
  const double a = phi[i], b = phi[j], c = phi[k], ab = a - b, ac = a - c;
  const double cut = a * a / (ab * ac), sign = lone ? 1 : -1;
  slope[i] = sign * (2 * a / (ab * ac) - cut / ab - cut / ac);
  slope[j] = sign * cut / ab;
  slope[k] = sign * cut / ac;
  return lone ? cut : 1 - cut;
}

}  // namespace

double open_share(int corners, const double* phi, double* slope) {
  if (corners == 2) {
    slope[0] = slope[1] = 0;
    if ((phi[0] > 0) == (phi[1] > 0)) return phi[0] > 0;
    const int up = phi[0] > 0 ? 0 : 1;
    const double a = phi[up], b = phi[1 - up], width = a - b;
    slope[up] = -b / (width * width), slope[1 - up] = a / (width * width);
    return a / width;
  }
  // Four triangles around the middle, whose φ is the mean.
  constexpr int kRing[5] = {0, 1, 3, 2, 0};
  const double middle = 0.25 * (phi[0] + phi[1] + phi[2] + phi[3]);
  double share = 0;
  std::fill_n(slope, 4, 0.0);
  for (int t = 0; t < 4; ++t) {
    const double three[3] = {phi[kRing[t]], phi[kRing[t + 1]], middle};
    double s[3];
    share += 0.25 * triangle_share(three, s);
    slope[kRing[t]] += 0.25 * s[0], slope[kRing[t + 1]] += 0.25 * s[1];
    for (int c = 0; c < 4; ++c) slope[c] += 0.0625 * s[2];
  }
  return share;
}

Immersed::Immersed(const GridBox& box, const std::vector<FluidObstacle>& obstacles)
    : box_(box),
      corners_(box, WallPoints::kCorners, obstacles, each_of(obstacles.size())),
      corner_bar_(at(box.numbers), 0.0) {
  for (int a = box_.first; a < 3; ++a) {
    faces_.emplace_back(box, a, obstacles, each_of(obstacles.size()));
    A_[at(a)].assign(at(box_.numbers), 1.0);
  }
}

template <class Visit>
void Immersed::for_each_face(int a, Visit&& visit) const {
  for (int i = 0; i < box_.count(a, 0); ++i) {
    for (int j = 0; j < box_.count(a, 1); ++j) {
      for (int k = 0; k < box_.count(a, 2); ++k) visit(box_.index(i, j, k));
    }
  }
}

int Immersed::corners_of(int a, std::ptrdiff_t m, std::ptrdiff_t* corner, double* phi) const {
  const int count = 1 << (box_.dimensions - 1);
  for (int c = 0; c < count; ++c) {
    corner[c] = m;
    int bit = box_.dimensions - 2;
    for (int b = box_.first; b < 3; ++b) {
      if (b != a) corner[c] += (c >> bit-- & 1) * box_.stride[at(b)];
    }
    phi[c] = corners_.phi()[corner[c]];
  }
  return count;
}

void Immersed::set(const ObstacleNumbers& numbers, double viscosity_dt) {
  corners_.set(numbers, 0);
  for (int a = box_.first; a < 3; ++a) {
    points(a).set(numbers, viscosity_dt);
    for_each_face(a, [&](std::ptrdiff_t m) {
      double phi[4], slope[4];
      std::ptrdiff_t corner[4];
      double& A = A_[at(a)][at(m)];
      A = open_share(corners_of(a, m, corner, phi), phi, slope);  // (1)
      if (A < kLeastShare) A = 0;
    });
  }
}

void Immersed::pullback(const ObstacleNumbers& numbers, const double* const* D_bar,
                        const double* const* A_bar, const std::array<std::vector<double>, 3>& E_bar,
                        const ObstacleBars& bars, double& viscosity_dt_bar) {
  std::fill(corner_bar_.begin(), corner_bar_.end(), 0.0);
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(a, [&](std::ptrdiff_t m) {
      if (A_bar[a][m] == 0 || A_[at(a)][at(m)] == 0) return;
      double phi[4], slope[4];
      std::ptrdiff_t corner[4];
      const int count = corners_of(a, m, corner, phi);
      open_share(count, phi, slope);  // (1)
      for (int c = 0; c < count; ++c) corner_bar_[at(corner[c])] += slope[c] * A_bar[a][m];
    });
    points(a).pullback(numbers, D_bar[a], E_bar[at(a)].data(), nullptr, bars, viscosity_dt_bar);
  }
  double nothing = 0;
  corners_.pullback(numbers, nullptr, nullptr, corner_bar_.data(), bars, nothing);
}

void Immersed::pushforward(const ObstacleNumbers& numbers, const ObstacleNumbers& tangents,
                           double viscosity_dt_tan, std::array<std::vector<double>, 3>& D_tan,
                           std::array<std::vector<double>, 3>& A_tan,
                           std::array<std::vector<double>, 3>& E_tan) {
  std::vector<double> corner_tan, none;
  corners_.pushforward(numbers, tangents, 0, corner_tan, none);
  for (int a = box_.first; a < 3; ++a) {
    points(a).pushforward(numbers, tangents, viscosity_dt_tan, D_tan[at(a)], E_tan[at(a)]);
    A_tan[at(a)].assign(at(box_.numbers), 0.0);
    for_each_face(a, [&](std::ptrdiff_t m) {
      if (A_[at(a)][at(m)] == 0) return;
      double phi[4], slope[4];
      std::ptrdiff_t corner[4];
      const int count = corners_of(a, m, corner, phi);
      open_share(count, phi, slope);  // (1)
      for (int c = 0; c < count; ++c) A_tan[at(a)][at(m)] += slope[c] * corner_tan[at(corner[c])];
    });
  }
}

}  // namespace cycloid::inline fluid
