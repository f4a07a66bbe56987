#include "cycloid/fluid/grid/observe/grid_probes.h"

#include <algorithm>
#include <cmath>

#include "cycloid/fluid/grid/observe/grid_forces.h"

namespace cycloid::inline fluid {
namespace {

// A sum of numbers with weights.
struct Term {
  std::ptrdiff_t index;
  double weight;
};
using Terms = std::vector<Term>;

// Of component a at a point, by its faces and ghosts (7).
Terms probe_terms(const GridBox& box, int a, const double* point) {
  int low[3] = {};
  double part[3] = {};
  for (int b = box.first; b < 3; ++b) {
    const int n = box.n[at(b)];
    double x = point[b - box.first];
    if (box.periodic(b)) x -= box.size[at(b)] * std::floor(x / box.size[at(b)]);
    const double s = x / box.h[at(b)] - (a == b ? 0 : 0.5);
    low[b] = std::clamp(static_cast<int>(std::floor(s)), a == b ? 0 : -1, n - 1);
    part[b] = s - low[b];
  }
  Terms terms;
  for (int corner = 0; corner < 1 << box.dimensions; ++corner) {
    double weight = 1;
    int place[3] = {};
    for (int b = box.first; b < 3; ++b) {
      const int up = corner >> (2 - b) & 1;
      weight *= up ? part[b] : 1 - part[b];
      place[b] = low[b] + up;
    }
    if (weight != 0) terms.push_back({box.index(place[0], place[1], place[2]), weight});
  }
  return terms;
}

// Of q at a point, by cells (8): beyond the last centre before a wall on a straight line, into
// obstacles by what lies next to them.
class PressureProbe {
 public:
  explicit PressureProbe(const GridWork<double>& work)
      : box_(work.box), solver_(work.projection.solver()) {}

  Terms terms(const double* point) const {
    int low[3] = {};
    double part[3] = {};
    for (int b = box_.first; b < 3; ++b) {
      const int n = box_.n[at(b)];
      double x = point[b - box_.first];
      if (box_.periodic(b)) x -= box_.size[at(b)] * std::floor(x / box_.size[at(b)]);
      const double s = x / box_.h[at(b)] - 0.5;
      const bool out_low = box_.periodic(b) || box_.side[at(b)][0] == SideKind::outflow;
      const bool out_high = box_.periodic(b) || box_.side[at(b)][1] == SideKind::outflow;
      low[b] =
          std::clamp(static_cast<int>(std::floor(s)), out_low ? -1 : 0, out_high ? n - 1 : n - 2);
      part[b] = s - low[b];
    }
    Terms sum;
    double total = 0;
    for (int corner = 0; corner < 1 << box_.dimensions; ++corner) {
      double weight = 1, sign = 1;
      int place[3] = {};
      for (int b = box_.first; b < 3; ++b) {
        const int up = corner >> (2 - b) & 1, n = box_.n[at(b)];
        weight *= up ? part[b] : 1 - part[b];
        place[b] = low[b] + up;
        if (place[b] >= 0 && place[b] < n) continue;
        if (!box_.periodic(b)) sign = -sign;  // beyond an outflow
        place[b] = box_.periodic(b) ? (place[b] + n) % n : std::clamp(place[b], 0, n - 1);
      }
      if (weight == 0) continue;
      const int cell = number(place);
      if (solver_.open(cell)) {
        sum.push_back({cell, sign * weight});
        total += weight;
        continue;
      }
      const Terms line = extended(place);
      for (const Term& t : line) sum.push_back({t.index, sign * weight * t.weight});
      if (!line.empty()) total += weight;
    }
    if (total != 0) {
      for (Term& t : sum) t.weight /= total;
    }
    return sum;
  }

 private:
  int number(const int* p) const { return (p[0] * box_.n[1] + p[1]) * box_.n[2] + p[2]; }
  // The cell `steps` away along an axis if it is there and open, or -1.
  int neighbour(const int* place, int b, int steps) const {
    int p[3] = {place[0], place[1], place[2]};
    const int n = box_.n[at(b)];
    p[b] += steps;
    if (box_.periodic(b)) p[b] = (p[b] + n) % n;
    if (p[b] < 0 || p[b] >= n) return -1;
    return solver_.open(number(p)) ? number(p) : -1;
  }
  // The mean over directions of parabolas through open cells, or of lines, or of constants.
  Terms extended(const int* place) const {
    Terms by_order[3];
    int count[3] = {};
    for (int b = box_.first; b < 3; ++b) {
      for (const int way : {-1, 1}) {
        const int cell[3] = {neighbour(place, b, way), neighbour(place, b, 2 * way),
                             neighbour(place, b, 3 * way)};
        constexpr double kWeights[3][3] = {{1, 0, 0}, {2, -1, 0}, {3, -3, 1}};
        for (int order = 0; order < 3 && cell[order] >= 0; ++order) {
          for (int i = 0; i <= order; ++i) by_order[order].push_back({cell[i], kWeights[order][i]});
          ++count[order];
        }
      }
    }
    for (int order = 2; order >= 0; --order) {
      if (count[order] == 0) continue;
      for (Term& t : by_order[order]) t.weight /= count[order];
      return by_order[order];
    }
    return {};
  }

  const GridBox& box_;
  const PressureSolver& solver_;
};

template <class Visit>
void for_each_pressure_probe(const GridInstant& p, Visit&& visit) {
  const PressureProbe probes(p.work);
  const std::size_t d = at(p.box.dimensions);
  for (std::size_t i = 0; i * d < p.work.model.probes.size(); ++i) {
    visit(i, probes.terms(p.work.model.probes.data() + i * d));
  }
}

// Calls visit(line, component, term) for what adds up to the flux (9).
template <class Visit>
void for_each_flux_term(const GridInstant& p, Visit&& visit) {
  const std::vector<double>& ends = p.work.model.lines;
  const double h = std::min(p.box.h[1], p.box.h[2]);
  for (std::size_t line = 0; 4 * line < ends.size(); ++line) {
    const double* const a = ends.data() + 4 * line;
    const double d[2] = {a[2] - a[0], a[3] - a[1]};
    const int parts = std::max(1, static_cast<int>(std::ceil(2 * std::hypot(d[0], d[1]) / h)));
    for (int i = 0; i < parts; ++i) {
      const double s = (i + 0.5) / parts, point[2] = {a[0] + s * d[0], a[1] + s * d[1]};
      for (const int c : {1, 2}) {  // u dy - v dx
        const double across = (c == 1 ? d[1] : -d[0]) / parts;
        for (const Term& t : probe_terms(p.box, c, point)) {
          visit(line, c, Term{t.index, t.weight * across});
        }
      }
    }
  }
}

}  // namespace

void probe(const GridInstant& p, double* out) {
  const int d = p.box.dimensions;
  for (std::size_t i = 0; i < p.work.model.probes.size(); ++i) {
    const std::size_t point = i / at(d) * at(d);
    const int a = static_cast<int>(i - point) + p.box.first;
    out[i] = 0;
    for (const Term& t : probe_terms(p.box, a, p.work.model.probes.data() + point)) {
      out[i] += t.weight * p.u[at(a)][at(t.index)];
    }
  }
}

void probe_pullback(GridInstant& p, const double* bar) {
  const int d = p.box.dimensions;
  for (std::size_t i = 0; i < p.work.model.probes.size(); ++i) {
    const std::size_t point = i / at(d) * at(d);
    const int a = static_cast<int>(i - point) + p.box.first;
    for (const Term& t : probe_terms(p.box, a, p.work.model.probes.data() + point)) {
      p.u_bar[at(a)][at(t.index)] += t.weight * bar[i];
    }
  }
}

void probe_pressure(const GridInstant& p, double* out) {
  for_each_pressure_probe(p, [&](std::size_t i, const Terms& terms) {
    out[i] = 0;
    for (const Term& t : terms) {
      out[i] += t.weight * p.work.density * (p.q[at(t.index)] - p.mean);
    }
  });
}

void probe_pressure_pullback(GridInstant& p, const double* bar) {
  std::vector<double> cells(at(p.box.cells), 0.0);
  for_each_pressure_probe(p, [&](std::size_t i, const Terms& terms) {
    for (const Term& t : terms) cells[at(t.index)] += t.weight * bar[i];
  });
  pressure_pullback(p, cells.data());
}

void flux(const GridInstant& p, double* out) {
  std::fill_n(out, p.work.model.lines.size() / 4, 0.0);
  for_each_flux_term(p, [&](std::size_t line, int c, const Term& t) {
    out[line] += t.weight * p.u[at(c)][at(t.index)];
  });
}

void flux_pullback(GridInstant& p, const double* bar) {
  for_each_flux_term(p, [&](std::size_t line, int c, const Term& t) {
    p.u_bar[at(c)][at(t.index)] += t.weight * bar[line];
  });
}

}  // namespace cycloid::inline fluid
