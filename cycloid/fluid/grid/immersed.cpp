#include "cycloid/fluid/grid/immersed.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

// A mobility or share below this counts as none: what hangs on the rest of the flow by less is lost
// in the rounding of the pressure.
constexpr double kLeast = 1e-7;

// Beyond a side: no obstacle.
constexpr double kFar = 1e30;

// Calls visit(number, dφ/dnumber) and returns φ.
template <class Visit>
double circle_distance(const GridBox& box, const double* p, const double* x, Visit&& visit) {
  double d[3] = {}, square = 0;
  way_from(box, p, x, d);
  for (int a = box.first; a < 3; ++a) square += d[a] * d[a];
  const double length = std::sqrt(square);
  for (int a = box.first; a < 3; ++a) visit(a - box.first, length > 0 ? -d[a] / length : 0);
  visit(box.dimensions, -1.0);
  return length - p[box.dimensions];
}

template <class Visit>
double box_distance(const GridBox& box, const double* p, const double* x, Visit&& visit) {
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
    visit(a - box.first, d[a] > 0 ? -slope : slope);
    visit(box.dimensions + a - box.first, -0.5 * slope);
  }
  return q[most] <= 0 ? q[most] : length;
}

// Linear between the corners of the cell that holds x.
template <class Visit>
double array_distance(const GridBox& box, const double* p, const double* x, Visit&& visit) {
  int cell[3] = {};
  double part[3] = {};
  for (int a = box.first; a < 3; ++a) {
    const int n = box.n[at(a)];
    double s = x[a] / box.h[at(a)];
    if (box.periodic(a)) s -= n * std::floor(s / n);
    cell[a] = std::clamp(static_cast<int>(std::floor(s)), 0, n - 1);
    part[a] = s - cell[a];
  }
  double sum = 0;
  for (int corner = 0; corner < 1 << box.dimensions; ++corner) {
    double weight = 1;
    int number = 0;
    for (int a = box.first; a < 3; ++a) {
      const int up = corner >> (2 - a) & 1;
      weight *= up ? part[a] : 1 - part[a];
      number = number * (box.n[at(a)] + 1) + cell[a] + up;
    }
    visit(number, weight);
    sum += weight * p[number];
  }
  return sum;
}

template <class Visit>
double distance(const GridBox& box, ObstacleKind kind, const double* p, const double* x,
                Visit&& visit) {
  switch (kind) {
    case ObstacleKind::circle: return circle_distance(box, p, x, visit);
    case ObstacleKind::box: return box_distance(box, p, x, visit);
    default: return array_distance(box, p, x, visit);
  }
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

void way_from(const GridBox& box, const double* centre, const double* x, double* d) {
  for (int a = box.first; a < 3; ++a) {
    d[a] = x[a] - centre[a - box.first];
    if (box.periodic(a)) d[a] -= box.size[at(a)] * std::round(d[a] / box.size[at(a)]);
  }
}

double signed_distance(const GridBox& box, ObstacleKind kind, const double* p, const double* x) {
  return distance(box, kind, p, x, [](int, double) {});
}

void signed_distance_pullback(const GridBox& box, ObstacleKind kind, const double* p,
                              const double* x, double phi_bar, double* p_bar) {
  distance(box, kind, p, x, [&](int i, double slope) { p_bar[i] += slope * phi_bar; });
}

double signed_distance_pushforward(const GridBox& box, ObstacleKind kind, const double* p,
                                   const double* x, const double* p_tan) {
  double sum = 0;
  distance(box, kind, p, x, [&](int i, double slope) { sum += slope * p_tan[i]; });
  return sum;
}

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

Immersed::Immersed(const GridBox& box, std::vector<FluidObstacle> obstacles)
    : box_(box), obstacles_(std::move(obstacles)) {
  for (int a = box_.first; a < 3; ++a) {
    D_[at(a)].assign(at(box_.numbers), 1.0), A_[at(a)] = D_[at(a)];
    phi_[at(a)].assign(at(box_.numbers), kFar);
    owner_[at(a)].assign(at(box_.numbers), 0);
  }
  corner_phi_.assign(at(box_.numbers), kFar);
  corner_owner_.assign(at(box_.numbers), 0);
}

void Immersed::position(int a, int i, int j, int k, double* x) const {
  const int place[3] = {i, j, k};
  for (int b = 0; b < 3; ++b) {
    x[b] = (place[b] + (a < 0 || a == b ? 0.0 : 0.5)) * box_.h[at(b)];
  }
}

Immersed::Nearest Immersed::nearest(const std::vector<const double*>& numbers,
                                    const double* x) const {
  Nearest found{kFar, 0};
  for (std::size_t o = 0; o < obstacles_.size(); ++o) {
    const double phi = signed_distance(box_, obstacles_[o].kind, numbers[o], x);
    if (phi < found.phi) found = {phi, static_cast<int>(o)};
  }
  return found;
}

template <class Visit>
void Immersed::for_each_face(int a, Visit&& visit) const {
  for (int i = 0; i < box_.count(a, 0); ++i) {
    for (int j = 0; j < box_.count(a, 1); ++j) {
      for (int k = 0; k < box_.count(a, 2); ++k) visit(i, j, k, box_.index(i, j, k));
    }
  }
}

// The corners of a face.
int Immersed::corners_of(int a, std::ptrdiff_t m, std::ptrdiff_t* corner) const {
  const int count = 1 << (box_.dimensions - 1);
  for (int c = 0; c < count; ++c) {
    corner[c] = m;
    int bit = box_.dimensions - 2;
    for (int b = box_.first; b < 3; ++b) {
      if (b != a) corner[c] += (c >> bit-- & 1) * box_.stride[at(b)];
    }
  }
  return count;
}

double Immersed::friction(int a, std::ptrdiff_t m) const {
  const auto& phi = phi_[at(a)];
  const double P = phi[at(m)];
  double sum = 0;
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)];
    const double over = 1 / (box_.h[at(b)] * box_.h[at(b)]);
    const double x = std::max(0.0, -phi[at(m - s)]), y = std::max(0.0, -phi[at(m + s)]), n = x + y;
    if (x > 0 && y > 0) sum += over * 2 * (n + x * y / P);
    else if (n > 0) sum += over * n * (3 * P + 2 * n) / (2 * P + n);  // (2)
  }
  return sum;
}

void Immersed::friction_pullback(int a, std::ptrdiff_t m, double bar, double* phi_bar) const {
  const auto& phi = phi_[at(a)];
  const double P = phi[at(m)];
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)];
    const double over = bar / (box_.h[at(b)] * box_.h[at(b)]);
    const double x = std::max(0.0, -phi[at(m - s)]), y = std::max(0.0, -phi[at(m + s)]), n = x + y;
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

void Immersed::set(const std::vector<const double*>& numbers, double viscosity_dt) {
  viscosity_dt_ = viscosity_dt;
  terms_.clear();
  const auto from = [&](int b) { return b >= box_.first && box_.periodic(b) ? -1 : 0; };
  const auto end = [&](int a, int b) {
    return a < 0 ? box_.n[at(b)] + (b >= box_.first ? 1 : 0)
                 : box_.count(a, b) + (b >= box_.first && box_.periodic(b) ? 1 : 0);
  };
  for (int a = -1; a < 3; ++a) {
    if (a >= 0 && a < box_.first) continue;
    auto& phi = a < 0 ? corner_phi_ : phi_[at(a)];
    auto& owner = a < 0 ? corner_owner_ : owner_[at(a)];
    for (int i = a < 0 ? 0 : from(0); i < end(a, 0); ++i) {
      for (int j = a < 0 ? 0 : from(1); j < end(a, 1); ++j) {
        for (int k = a < 0 ? 0 : from(2); k < end(a, 2); ++k) {
          double x[3];
          position(a, i, j, k, x);
          const Nearest found = nearest(numbers, x);  // (1)
          phi[at(box_.index(i, j, k))] = found.phi, owner[at(box_.index(i, j, k))] = found.owner;
        }
      }
    }
  }
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(a, [&](int, int, int, std::ptrdiff_t m) {
      const double P = phi_[at(a)][at(m)], sum = P > 0 ? friction(a, m) : 0;
      double& D = D_[at(a)][at(m)];
      D = P > 0 ? P / (P + viscosity_dt * sum) : 0;  // (3)
      if (D < kLeast) D = 0;
      for (int b = box_.first; b < 3 && sum > 0 && D > 0; ++b) {
        const std::ptrdiff_t s = box_.stride[at(b)];
        const double low = phi_[at(a)][at(m - s)], high = phi_[at(a)][at(m + s)];
        if ((low < 0) == (high < 0)) continue;
        const double n = -std::min(low, high);
        terms_.push_back({a, m, low < 0 ? m + s : m - s,
                          n / (2 * P + n) / (box_.h[at(b)] * box_.h[at(b)])});  // (2)
      }
      double corners[4], slope[4];
      std::ptrdiff_t index[4];
      const int count = corners_of(a, m, index);
      for (int c = 0; c < count; ++c) corners[c] = corner_phi_[at(index[c])];
      double& A = A_[at(a)][at(m)];
      A = open_share(count, corners, slope);  // (4)
      if (A < kLeast) A = 0;
    });
  }
}

void Immersed::pullback(const std::vector<const double*>& numbers, const double* const* D_bar,
                        const double* const* A_bar, const std::vector<double>& E_bar,
                        const std::vector<double*>& numbers_bar, double& viscosity_dt_bar) const {
  std::vector<double> corner_bar(at(box_.numbers), 0.0), phi_bar(corner_bar);
  const auto give = [&](int a, int i, int j, int k, int owner, double bar) {
    double x[3];
    position(a, i, j, k, x);
    signed_distance_pullback(box_, obstacles_[at(owner)].kind, numbers[at(owner)], x, bar,
                             numbers_bar[at(owner)]);
  };
  const auto place = [&](std::ptrdiff_t m, int* p) {
    for (int b = 0; b < 3; ++b) {
      p[b] = static_cast<int>(m / box_.stride[at(b)]) - box_.pad[at(b)];
      m %= box_.stride[at(b)];
    }
  };
  for (int a = box_.first; a < 3; ++a) {
    std::fill(phi_bar.begin(), phi_bar.end(), 0.0);
    const auto& phi = phi_[at(a)];
    for_each_face(a, [&](int, int, int, std::ptrdiff_t m) {
      const double P = phi[at(m)], bar = D_bar[a][m];
      if (D_[at(a)][at(m)] > 0 && bar != 0) {
        const double sum = friction(a, m), S = viscosity_dt_ * sum;
        if (sum > 0) {
          const double whole = (P + S) * (P + S), S_bar = -bar * P / whole;  // (3)
          phi_bar[at(m)] += bar * S / whole;
          viscosity_dt_bar += S_bar * sum;
          friction_pullback(a, m, viscosity_dt_ * S_bar, phi_bar.data());
        }
      }
      if (A_bar[a][m] != 0 && A_[at(a)][at(m)] > 0) {
        double corners[4], slope[4];
        std::ptrdiff_t index[4];
        const int count = corners_of(a, m, index);
        for (int c = 0; c < count; ++c) corners[c] = corner_phi_[at(index[c])];
        open_share(count, corners, slope);  // (4)
        for (int c = 0; c < count; ++c) corner_bar[at(index[c])] += slope[c] * A_bar[a][m];
      }
    });
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const WallTerm& term = terms_[t];
      if (term.component != a || E_bar[t] == 0) continue;
      const std::ptrdiff_t N = 2 * term.m - term.other;
      const double P = phi[at(term.m)], n = -phi[at(N)];
      const double scale = E_bar[t] * term.E / (n * (2 * P + n));  // (2)
      phi_bar[at(N)] -= scale * 2 * P;
      phi_bar[at(term.m)] -= scale * 2 * n;
    }
    for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
      if (phi_bar[at(m)] == 0) continue;
      int p[3];
      place(m, p);
      give(a, p[0], p[1], p[2], owner_[at(a)][at(m)], phi_bar[at(m)]);  // (1)
    }
  }
  for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
    if (corner_bar[at(m)] == 0) continue;
    int p[3];
    place(m, p);
    give(-1, p[0], p[1], p[2], corner_owner_[at(m)], corner_bar[at(m)]);
  }
}

void Immersed::pushforward(const std::vector<const double*>& numbers,
                           const std::vector<const double*>& numbers_tan, double viscosity_dt_tan,
                           std::array<std::vector<double>, 3>& D_tan,
                           std::array<std::vector<double>, 3>& A_tan,
                           std::vector<double>& E_tan) const {
  std::vector<double> corner_tan(at(box_.numbers), 0.0), phi_tan(corner_tan), slopes(corner_tan);
  const auto tangent = [&](int a, std::ptrdiff_t m, int owner) {
    int p[3];
    for (std::ptrdiff_t b = 0, rest = m; b < 3; ++b) {
      p[b] = static_cast<int>(rest / box_.stride[at(b)]) - box_.pad[at(b)];
      rest %= box_.stride[at(b)];
    }
    double x[3];
    position(a, p[0], p[1], p[2], x);
    return signed_distance_pushforward(box_, obstacles_[at(owner)].kind, numbers[at(owner)], x,
                                       numbers_tan[at(owner)]);  // (1)
  };
  for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
    if (corner_phi_[at(m)] < kFar) corner_tan[at(m)] = tangent(-1, m, corner_owner_[at(m)]);
  }
  E_tan.assign(terms_.size(), 0.0);
  for (int a = box_.first; a < 3; ++a) {
    const auto& phi = phi_[at(a)];
    D_tan[at(a)].assign(at(box_.numbers), 0.0), A_tan[at(a)] = D_tan[at(a)];
    for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
      phi_tan[at(m)] = phi[at(m)] < kFar ? tangent(a, m, owner_[at(a)][at(m)]) : 0;
    }
    for_each_face(a, [&](int, int, int, std::ptrdiff_t m) {
      std::ptrdiff_t index[4];
      double corners[4], slope[4];
      const int count = corners_of(a, m, index);
      for (int c = 0; c < count; ++c) corners[c] = corner_phi_[at(index[c])];
      open_share(count, corners, slope);  // (4)
      for (int c = 0; c < count && A_[at(a)][at(m)] > 0; ++c) {
        A_tan[at(a)][at(m)] += slope[c] * corner_tan[at(index[c])];
      }
      const double P = phi[at(m)], sum = D_[at(a)][at(m)] > 0 ? friction(a, m) : 0;
      if (sum == 0) return;
      friction_pullback(a, m, 1.0, slopes.data());
      double sum_tan = 0;
      const auto take = [&](std::ptrdiff_t k) {
        sum_tan += slopes[at(k)] * phi_tan[at(k)];
        slopes[at(k)] = 0;
      };
      take(m);
      for (int b = box_.first; b < 3; ++b) {
        take(m - box_.stride[at(b)]), take(m + box_.stride[at(b)]);
      }
      const double S = viscosity_dt_ * sum,
                   S_tan = viscosity_dt_tan * sum + viscosity_dt_ * sum_tan;
      D_tan[at(a)][at(m)] = (S * phi_tan[at(m)] - P * S_tan) / ((P + S) * (P + S));  // (3)
    });
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const WallTerm& term = terms_[t];
      if (term.component != a) continue;
      const std::ptrdiff_t N = 2 * term.m - term.other;
      const double P = phi[at(term.m)], n = -phi[at(N)];
      E_tan[t] = -term.E / (n * (2 * P + n)) *
                 (2 * P * phi_tan[at(N)] + 2 * n * phi_tan[at(term.m)]);  // (2)
    }
  }
}

}  // namespace cycloid::inline fluid
