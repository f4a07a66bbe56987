#include "cycloid/soft/rod.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

double length(const double* points, int segment) {
  const double* const p = points + 3 * segment;
  return std::hypot(p[3] - p[0], p[4] - p[1], p[5] - p[2]);
}

// Whether segments k and k + 1 point against each other: there they have no curvature.
bool folds(const double* points, int k) {
  double dot = 0;
  for (int i = 0; i < 3; ++i) {
    const double* const p = points + 3 * k + i;
    dot += (p[3] - p[0]) * (p[6] - p[3]);
  }
  const double lengths = length(points, k) * length(points, k + 1);
  return !(lengths + dot > 1e-12 * lengths);
}

// The longest side of the box around, by which angles are multiplied (solid_state.h).
double extent(const std::vector<double>& points) {
  double most = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    double low = points[a], high = low;
    for (std::size_t i = a; i < points.size(); i += 3) {
      low = std::min(low, points[i]), high = std::max(high, points[i]);
    }
    most = std::max(most, high - low);
  }
  return most;
}

}  // namespace

System rod(std::vector<double> points, const RodOptions& o) {
  const int n = static_cast<int>(points.size() / 3);
  if (n < 2) throw ModelError(message("a rod has two points at least; got ", n));
  for (int k = 0; k + 1 < n; ++k) {
    const double l = length(points.data(), k);
    if (!std::isfinite(l) || l <= 0) {
      throw ModelError(
          message("points ", k, " and ", k + 1, " of a rod must be apart; they are ", l, " m"));
    }
  }
  for (int k = 0; k + 2 < n; ++k) {
    if (!folds(points.data(), k)) continue;
    throw ModelError(message("a rod turns back on itself at point ", k + 1, ": segments ", k,
                             " and ", k + 1, " must not point against each other"));
  }
  const auto is_held = [&](int segment) {
    for (int i = 0; i < 6; ++i) {
      if (o.held.empty() || !o.held[at(3 * segment + i)]) return false;
    }
    return true;
  };
  if (!o.held.empty() && o.held.size() != points.size()) {
    throw ModelError(
        message("held has one mark for each of ", points.size(), " numbers; got ", o.held.size()));
  }
  if (!(o.poisson > -1) || !(o.poisson <= 0.5)) {
    throw ParameterError(
        message("poisson of a rod lies above -1 and not above 0.5; got ", o.poisson));
  }
  NamedTerm stretch, bend, spin;
  stretch.term.law = StencilLaw::rod_stretch;
  for (const char* name : {"young", "radius", "density", "damping"})
    stretch.numbers.push_back({name});
  bend.term.law = StencilLaw::rod_bending;
  for (const char* name : {"young", "radius", "poisson", "damping"}) bend.numbers.push_back({name});
  spin.term.law = StencilLaw::rod_spin;
  for (const char* name : {"radius", "density"}) spin.numbers.push_back({name});
  const double inverse_scale = 1 / extent(points);
  for (int k = 0; k + 1 < n; ++k) {
    stretch.term.nodes.insert(stretch.term.nodes.end(), {k, k + 1});
    spin.term.nodes.insert(spin.term.nodes.end(), {k, k + 1, n + k});
    spin.term.constants.push_back(inverse_scale);
    if (k + 2 >= n || (is_held(k) && is_held(k + 1))) continue;
    bend.term.nodes.insert(bend.term.nodes.end(), {k, k + 1, k + 2, n + k, n + k + 1});
    bend.term.constants.insert(bend.term.constants.end(),
                               {is_held(k) ? 0.0 : 1.0, is_held(k + 1) ? 0.0 : 1.0, inverse_scale});
  }
  BodyParts parts;
  parts.name = "rod";
  parts.mesh.vertices = std::move(points);
  parts.mesh.part.assign(at(n), 0);
  parts.turns = n - 1;
  parts.laws = {std::move(stretch), std::move(spin)};
  if (!bend.term.nodes.empty()) parts.laws.push_back(std::move(bend));
  parts.touching.resize(at(n));
  std::iota(parts.touching.begin(), parts.touching.end(), 0);
  parts.parameters = {{"young", "Pa", Constraint::positive, {o.young}},
                      {"radius", "m", Constraint::positive, {o.radius}},
                      {"poisson", "", Constraint::none, {o.poisson}},
                      {"density", "kg/m³", Constraint::positive, {o.density}}};
  parts.refuse = [n](const Parameters& registry, const double* p) -> std::string {
    const double poisson = p[registry.find("poisson").offset];
    if (!(poisson > -1 && poisson <= 0.5)) {
      return message("poisson of a rod lies above -1 and not above 0.5; got ", poisson);
    }
    const double* const v = p + registry.find("vertices").offset;
    for (int k = 0; k + 1 < n; ++k) {
      if (!(length(v, k) > 0)) {
        return message("with these vertices points ", k, " and ", k + 1, " are not apart");
      }
      if (k + 2 < n && folds(v, k)) {
        return message("with these vertices the rod turns back on itself at point ", k + 1);
      }
    }
    return {};
  };
  parts.round = o.radius;
  return make_body(std::move(parts), o);
}

}  // namespace cycloid::inline soft
