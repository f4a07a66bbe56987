#include "cycloid/fluid/grid/obstacle/wall_points.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline fluid {
namespace {

// Beyond a side: no obstacle.
constexpr double kFar = 1e30;

}  // namespace

WallPoints::WallPoints(const GridBox& box, int kind, std::vector<FluidObstacle> obstacles,
                       std::vector<int> counted)
    : box_(box),
      kind_(kind),
      obstacles_(std::move(obstacles)),
      counted_(std::move(counted)),
      D_(at(box.numbers), 1.0),
      phi_(at(box.numbers), kFar),
      room_(at(box.numbers), 0.0),
      slopes_(at(box.numbers), 0.0),
      owner_(at(box.numbers), 0) {}

void WallPoints::position(int i, int j, int k, double* x) const {
  const int place[3] = {i, j, k};
  for (int b = 0; b < 3; ++b) {
    x[b] = (place[b] + (kind_ == kCorners || kind_ == b ? 0.0 : 0.5)) * box_.h[at(b)];
  }
}

void WallPoints::place_of(std::ptrdiff_t m, double* x) const {
  int p[3];
  for (int b = 0; b < 3; ++b) {
    p[b] = static_cast<int>(m / box_.stride[at(b)]) - box_.pad[at(b)];
    m %= box_.stride[at(b)];
  }
  position(p[0], p[1], p[2], x);
}

int WallPoints::end(int b) const {
  if (b < box_.first) return box_.n[at(b)];
  if (kind_ == kCorners) return box_.n[at(b)] + 1;
  return box_.count(kind_, b) + (box_.periodic(b) ? 1 : 0);
}

template <class Visit>
void WallPoints::for_each_point(Visit&& visit) const {
  for (int i = 0; i < box_.count(kind_, 0); ++i) {
    for (int j = 0; j < box_.count(kind_, 1); ++j) {
      for (int k = 0; k < box_.count(kind_, 2); ++k) visit(box_.index(i, j, k));
    }
  }
}

double WallPoints::friction(std::ptrdiff_t m) const {
  const double P = phi_[at(m)];
  double sum = 0;
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)];
    const double over = 1 / (box_.h[at(b)] * box_.h[at(b)]);
    const double x = std::max(0.0, -phi_[at(m - s)]), y = std::max(0.0, -phi_[at(m + s)]),
                 n = x + y;
    if (x > 0 && y > 0) sum += over * 2 * (n + x * y / P);
    else if (n > 0) sum += over * n * (3 * P + 2 * n) / (2 * P + n);  // (2)
  }
  return sum;
}

void WallPoints::friction_pullback(std::ptrdiff_t m, double bar, double* phi_bar) const {
  const double P = phi_[at(m)];
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)];
    const double over = bar / (box_.h[at(b)] * box_.h[at(b)]);
    const double x = std::max(0.0, -phi_[at(m - s)]), y = std::max(0.0, -phi_[at(m + s)]),
                 n = x + y;
    if (x > 0 && y > 0) {
      phi_bar[m - s] -= over * 2 * (1 + y / P);
      phi_bar[m + s] -= over * 2 * (1 + x / P);
      phi_bar[m] -= over * 2 * x * y / (P * P);
    } else if (n > 0) {
      const double whole = 2 * P + n;  // (2)
      phi_bar[x > 0 ? m - s : m + s] -=
          over * ((3 * P + 4 * n) / whole - n * (3 * P + 2 * n) / (whole * whole));
      phi_bar[m] += over * n * (3 / whole - 2 * (3 * P + 2 * n) / (whole * whole));
    }
  }
}

void WallPoints::set(const ObstacleNumbers& numbers, double spread) {
  spread_ = spread;
  terms_.clear();
  const auto from = [&](int b) {
    return kind_ != kCorners && b >= box_.first && box_.periodic(b) ? -1 : 0;
  };
  for (int i = from(0); i < end(0); ++i) {
    for (int j = from(1); j < end(1); ++j) {
      for (int k = from(2); k < end(2); ++k) {
        double x[3], y[3], nearest = kFar;
        position(i, j, k, x);
        const std::size_t m = at(box_.index(i, j, k));
        for (const int o : counted_) {
          const FluidObstacle& one = obstacles_[at(o)];
          const double* const p = numbers.numbers[at(o)];
          seen_from(box_, one, p, numbers.ways[at(o)], x, y);
          const double phi = signed_distance(box_, one.kind, p, y);  // (1)
          if (phi < nearest) nearest = phi, owner_[m] = o;
        }
        phi_[m] = nearest;
      }
    }
  }
  if (kind_ == kCorners) return;
  for_each_point([&](std::ptrdiff_t m) {
    const double P = phi_[at(m)], sum = P > 0 ? friction(m) : 0;
    double& D = D_[at(m)];
    D = P > 0 ? P / (P + spread * sum) : 0;  // (3)
    if (D < kLeastShare) D = 0;
    for (int b = box_.first; b < 3 && sum > 0 && D > 0; ++b) {
      const std::ptrdiff_t s = box_.stride[at(b)];
      const double low = phi_[at(m - s)], high = phi_[at(m + s)];
      if ((low < 0) == (high < 0)) continue;
      const double n = -std::min(low, high);
      terms_.push_back(
          {m, low < 0 ? m + s : m - s, n / (2 * P + n) / (box_.h[at(b)] * box_.h[at(b)])});  // (2)
    }
  });
  // Elsewhere an obstacle may have some more.
  if (terms_.capacity() < 2 * terms_.size()) terms_.reserve(3 * terms_.size());
}

void WallPoints::pullback(const ObstacleNumbers& numbers, const double* D_bar, const double* E_bar,
                          const double* phi_bar, const ObstacleBars& bars, double& spread_bar) {
  if (phi_bar) std::copy_n(phi_bar, room_.size(), room_.begin());
  else std::fill(room_.begin(), room_.end(), 0.0);
  if (D_bar) {
    for_each_point([&](std::ptrdiff_t m) {
      if (D_[at(m)] == 0 || D_bar[m] == 0) return;
      const double P = phi_[at(m)], sum = friction(m), S = spread_ * sum;
      if (sum == 0) return;
      const double whole = (P + S) * (P + S), S_bar = -D_bar[m] * P / whole;  // (3)
      room_[at(m)] += D_bar[m] * S / whole;
      spread_bar += S_bar * sum;
      friction_pullback(m, spread_ * S_bar, room_.data());
    });
  }
  for (std::size_t t = 0; E_bar && t < terms_.size(); ++t) {
    if (E_bar[t] == 0) continue;
    const std::ptrdiff_t N = 2 * terms_[t].m - terms_[t].other;
    const double P = phi_[at(terms_[t].m)], n = -phi_[at(N)];
    const double scale = E_bar[t] * terms_[t].E / (n * (2 * P + n));  // (2)
    room_[at(N)] -= scale * 2 * P;
    room_[at(terms_[t].m)] -= scale * 2 * n;
  }
  for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
    if (room_[at(m)] == 0) continue;
    const std::size_t o = at(owner_[at(m)]);
    double x[3], y[3], y_bar[3] = {};
    place_of(m, x);
    const double* const p = numbers.numbers[o];
    seen_from(box_, obstacles_[o], p, numbers.ways[o], x, y);
    signed_distance_pullback(box_, obstacles_[o].kind, p, y, room_[at(m)], bars.numbers[o],
                             y_bar);  // (1)
    seen_from_pullback(box_, obstacles_[o], p, numbers.ways[o], x, y_bar, bars.numbers[o],
                       bars.ways[o]);
  }
}

void WallPoints::pushforward(const ObstacleNumbers& numbers, const ObstacleNumbers& tangents,
                             double spread_tan, std::vector<double>& D_tan,
                             std::vector<double>& E_tan) {
  for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
    room_[at(m)] = 0;
    if (phi_[at(m)] >= kFar) continue;
    const std::size_t o = at(owner_[at(m)]);
    double x[3], y[3], y_tan[3] = {};
    place_of(m, x);
    const double *const p = numbers.numbers[o], *const p_tan = tangents.numbers[o];
    seen_from(box_, obstacles_[o], p, numbers.ways[o], x, y);
    seen_from_pushforward(box_, obstacles_[o], p, numbers.ways[o], x, p_tan, tangents.ways[o],
                          y_tan);
    room_[at(m)] =
        signed_distance_pushforward(box_, obstacles_[o].kind, p, y, p_tan, y_tan);  // (1)
  }
  D_tan.assign(at(box_.numbers), 0.0);
  E_tan.assign(terms_.size(), 0.0);
  if (kind_ == kCorners) {
    D_tan = room_;
    return;
  }
  for_each_point([&](std::ptrdiff_t m) {
    const double P = phi_[at(m)], sum = D_[at(m)] > 0 ? friction(m) : 0;
    if (sum == 0) return;
    friction_pullback(m, 1.0, slopes_.data());
    double sum_tan = 0;
    const auto take = [&](std::ptrdiff_t k) {
      sum_tan += slopes_[at(k)] * room_[at(k)];
      slopes_[at(k)] = 0;
    };
    take(m);
    for (int b = box_.first; b < 3; ++b) {
      take(m - box_.stride[at(b)]), take(m + box_.stride[at(b)]);
    }
    const double S = spread_ * sum, S_tan = spread_tan * sum + spread_ * sum_tan;
    D_tan[at(m)] = (S * room_[at(m)] - P * S_tan) / ((P + S) * (P + S));  // (3)
  });
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const std::ptrdiff_t N = 2 * terms_[t].m - terms_[t].other;
    const double P = phi_[at(terms_[t].m)], n = -phi_[at(N)];
    E_tan[t] = -terms_[t].E / (n * (2 * P + n)) *
               (2 * P * room_[at(N)] + 2 * n * room_[at(terms_[t].m)]);  // (2)
  }
}

}  // namespace cycloid::inline fluid
