#include "cycloid/fluid/grid/observe/grid_integrals.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline fluid {
namespace {

// ω of direction c at the edge below m, and its pullback.
double turn(const GridInstant& p, int c, std::ptrdiff_t m) {
  const int a = (c + 1) % 3, b = (c + 2) % 3;
  return p.slope(p.u[at(b)], a, m) - p.slope(p.u[at(a)], b, m);
}

void turn_pullback(GridInstant& p, int c, std::ptrdiff_t m, double bar) {
  const int a = (c + 1) % 3, b = (c + 2) % 3;
  const double of_b = bar / p.box.h[at(a)], of_a = bar / p.box.h[at(b)];
  p.u_bar[at(b)][at(m)] += of_b, p.u_bar[at(b)][at(m - p.box.stride[at(a)])] -= of_b;
  p.u_bar[at(a)][at(m)] -= of_a, p.u_bar[at(a)][at(m - p.box.stride[at(b)])] += of_a;
}

// Edges of direction c, with their share: visit(m, κ).
template <class Visit>
void for_each_edge(const GridBox& box, int c, Visit&& visit) {
  int n[3];
  for (int a = 0; a < 3; ++a) {
    n[a] = box.n[at(a)] + (a != c && a >= box.first && !box.periodic(a) ? 1 : 0);
  }
  for (int i = 0; i < n[0]; ++i) {
    for (int j = 0; j < n[1]; ++j) {
      for (int k = 0; k < n[2]; ++k) {
        const int place[3] = {i, j, k};
        double kappa = 1;
        for (int a = box.first; a < 3; ++a) {
          if (a == c || box.periodic(a)) continue;
          if (place[a] == 0 || place[a] == box.n[at(a)]) kappa *= 0.5;
        }
        visit(box.index(i, j, k), kappa);
      }
    }
  }
}

int directions(const GridBox& box) { return box.dimensions == 2 ? 1 : 3; }

// Calls visit(number, direction, edge) for the four edges of every cell and direction.
template <class Visit>
void for_each_cell_edge(const GridBox& box, Visit&& visit) {
  const int turns = directions(box);
  int cell = 0;
  for (int i = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      for (int k = 0; k < box.n[2]; ++k, ++cell) {
        const std::ptrdiff_t m = box.index(i, j, k);
        for (int c = 0; c < turns; ++c) {
          const std::ptrdiff_t a = box.stride[at((c + 1) % 3)], b = box.stride[at((c + 2) % 3)];
          for (const std::ptrdiff_t e : {m, m + a, m + b, m + a + b}) visit(cell * turns + c, c, e);
        }
      }
    }
  }
}

}  // namespace

double kinetic_energy(const GridInstant& p) {
  double sum = 0;
  for (int a = p.box.first; a < 3; ++a) {
    for_each_weighted(p.box, a, [&](std::ptrdiff_t m, double kappa) {
      sum += kappa * p.u[at(a)][at(m)] * p.u[at(a)][at(m)];
    });
  }
  return 0.5 * p.work.density * p.box.volume() * sum;  // (1)
}

void kinetic_energy_pullback(GridInstant& p, double bar) {
  for (int a = p.box.first; a < 3; ++a) {
    for_each_weighted(p.box, a, [&](std::ptrdiff_t m, double kappa) {
      p.u_bar[at(a)][at(m)] += bar * p.work.density * p.box.volume() * kappa * p.u[at(a)][at(m)];
    });
  }
  p.work.density_bar += bar * kinetic_energy(p) / p.work.density;
}

double enstrophy(const GridInstant& p) {
  double sum = 0;
  for (int c = 0; c < directions(p.box); ++c) {
    for_each_edge(p.box, c, [&](std::ptrdiff_t m, double kappa) {
      const double omega = turn(p, c, m);
      sum += kappa * omega * omega;
    });
  }
  return 0.5 * p.box.volume() * sum;  // (2)
}

void enstrophy_pullback(GridInstant& p, double bar) {
  for (int c = 0; c < directions(p.box); ++c) {
    for_each_edge(p.box, c, [&](std::ptrdiff_t m, double kappa) {
      turn_pullback(p, c, m, bar * p.box.volume() * kappa * turn(p, c, m));
    });
  }
}

void vorticity(const GridInstant& p, double* out) {
  std::fill_n(out, p.box.cells * directions(p.box), 0.0);
  for_each_cell_edge(p.box, [&](int number, int c, std::ptrdiff_t e) {
    out[number] += 0.25 * turn(p, c, e);  // (4)
  });
}

void vorticity_pullback(GridInstant& p, const double* bar) {
  for_each_cell_edge(p.box, [&](int number, int c, std::ptrdiff_t e) {
    turn_pullback(p, c, e, 0.25 * bar[number]);
  });
}

// (3): the largest, and its cell.
std::pair<double, int> largest_divergence(GridInstant& p) {
  p.work.projection.flux(p.u, p.z);
  p.work.projection.divergence(p.z, p.div.data());
  int most = 0;
  for (int i = 1; i < p.box.cells; ++i) {
    if (std::abs(p.div[at(i)]) > std::abs(p.div[at(most)])) most = i;
  }
  return {p.div[at(most)], most};
}

void divergence_pullback(GridInstant& p, double bar) {
  const auto [value, cell] = largest_divergence(p);
  const double of_value = value > 0 ? bar : -bar;
  const int k = cell % p.box.n[2], j = cell / p.box.n[2] % p.box.n[1],
            i = cell / p.box.n[2] / p.box.n[1];
  for (int a = p.box.first; a < 3; ++a) {
    for (int high = 0; high < 2; ++high) {
      int place[3] = {i, j, k};
      place[a] += high;
      if (p.box.periodic(a) && place[a] == p.box.n[at(a)]) place[a] = 0;
      const std::ptrdiff_t m = p.box.index(place[0], place[1], place[2]);
      const double flux_bar = (high ? of_value : -of_value) / p.box.h[at(a)];
      p.u_bar[at(a)][at(m)] += p.A(a, m) * flux_bar;
      if (!p.work.obstacles) continue;
      p.work.obstacles->A_bar[at(a)][at(m)] += (p.u[at(a)][at(m)] - p.w(a, m)) * flux_bar;
      p.work.obstacles->w_bar[at(a)][at(m)] += (1 - p.A(a, m)) * flux_bar;
    }
  }
}

}  // namespace cycloid::inline fluid
