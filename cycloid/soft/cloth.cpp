#include "cycloid/soft/cloth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

double area(const double* vertices, const int* t) {
  const auto p = [&](int a) {
    return Vec3<double>{vertices[3 * t[a]], vertices[3 * t[a] + 1], vertices[3 * t[a] + 2]};
  };
  return 0.5 * norm(cross(p(1) - p(0), p(2) - p(0)));
}

std::string place_of(const std::vector<double>& vertices, const int* t) {
  double p[3] = {};
  for (int a = 0; a < 3; ++a) {
    for (int i = 0; i < 3; ++i) p[i] += vertices[at(3 * t[a] + i)] / 3;
  }
  return message(" near (", p[0], ", ", p[1], ", ", p[2], ")");
}

void check_triangles(const std::vector<double>& vertices, const std::vector<int>& triangles) {
  const int n = static_cast<int>(vertices.size() / 3);
  if (triangles.empty()) throw ModelError("a cloth has no triangles");
  for (const double x : vertices) {
    if (!std::isfinite(x)) throw ModelError(message("vertices must be finite; got ", x));
  }
  std::vector<char> used(at(n), 0);
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const int* const nodes = triangles.data() + t;
    for (int a = 0; a < 3; ++a) {
      if (nodes[a] < 0 || nodes[a] >= n) {
        throw ModelError(message("triangle ", t / 3, " has vertex ", nodes[a],
                                 "; there are vertices 0 to ", n - 1));
      }
      used[at(nodes[a])] = 1;
    }
    double longest = 0;
    for (int a = 0; a < 3; ++a) {
      double d = 0;
      for (int i = 0; i < 3; ++i) {
        d = std::hypot(d,
                       vertices[at(3 * nodes[a] + i)] - vertices[at(3 * nodes[(a + 1) % 3] + i)]);
      }
      longest = std::max(longest, d);
    }
    if (!(area(vertices.data(), nodes) > 1e-12 * longest * longest)) {
      throw ModelError(message("triangle ", t / 3, place_of(vertices, nodes), " has no area"));
    }
  }
  const auto lone = std::find(used.begin(), used.end(), 0);
  if (lone != used.end()) {
    throw ModelError(message("vertex ", lone - used.begin(), " belongs to no triangle"));
  }
}

// By edge and direction: the triangle that has it so, and its third node.
struct Side {
  int triangle, opposite;
};
using Sides = std::map<std::pair<int, int>, Side>;

Sides sides_of(const std::vector<double>& vertices, const std::vector<int>& triangles) {
  Sides sides;
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    for (std::size_t a = 0; a < 3; ++a) {
      const int p = triangles[t + (a + 1) % 3], q = triangles[t + (a + 2) % 3];
      const auto [old, fresh] = sides.insert({{p, q}, {static_cast<int>(t / 3), triangles[t + a]}});
      if (fresh) continue;
      throw ModelError(message("triangles ", old->second.triangle, " and ", t / 3,
                               place_of(vertices, triangles.data() + t), " have the edge ", p, "-",
                               q,
                               " in the same direction: turn one of them, or more than two "
                               "meet there"));
    }
  }
  return sides;
}

bool is_woven(const ClothOptions& o) { return o.young.size() > 1; }

// young and poisson, or what a weave has in their place, then the others.
void name_numbers(bool woven, std::initializer_list<const char*> others, NamedTerm& to) {
  to.numbers = {{"young"}, {"poisson"}};
  if (woven) to.numbers = {{"young", 0}, {"young", 1}, {"poisson"}, {"shear"}};
  for (const char* name : others) to.numbers.push_back({name});
}

NamedTerm membrane(const std::vector<int>& triangles, const ClothOptions& o) {
  NamedTerm named;
  named.term.law = is_woven(o) ? StencilLaw::woven_membrane : StencilLaw::membrane;
  named.term.nodes = triangles;
  for (std::size_t t = 0; is_woven(o) && t < triangles.size(); t += 3) {
    named.term.constants.insert(named.term.constants.end(), o.warp.begin(), o.warp.end());
  }
  name_numbers(is_woven(o), {"thickness", "density", "damping"}, named);
  return named;
}

void check_weave(const std::vector<double>& vertices, const std::vector<int>& triangles,
                 const ClothOptions& o) {
  if (o.young.size() > 2 || o.young.empty()) {
    throw ParameterError(message("young takes one number, or those of warp and weft; got ",
                                 o.young.size(), " numbers"));
  }
  if (!is_woven(o)) {
    if (o.shear == 0) return;
    throw ParameterError("shear is a number of woven cloth, whose young is (warp, weft)");
  }
  if (!(o.shear > 0) || !std::isfinite(o.shear)) {
    throw ParameterError(message("a woven cloth wants its shear modulus [Pa]; got ", o.shear));
  }
  const Vec3<double> warp = {o.warp[0], o.warp[1], o.warp[2]};
  for (std::size_t t = 0; t < triangles.size(); t += 3) {
    const auto p = [&](std::size_t a) {
      const double* const x = vertices.data() + 3 * triangles[t + a];
      return Vec3<double>{x[0], x[1], x[2]};
    };
    const Vec3<double> n = cross(p(1) - p(0), p(2) - p(0));
    const double across = std::abs(dot(n, warp)), whole = norm(n) * norm(warp);
    if (std::isfinite(whole) && whole > 0 && across < (1 - 1e-6) * whole) continue;
    throw ModelError(message("the warp (", o.warp[0], ", ", o.warp[1], ", ", o.warp[2],
                             ") has no direction in triangle ", t / 3,
                             place_of(vertices, triangles.data() + t), ", which it stands across"));
  }
}

NamedTerm bending(const std::vector<int>& triangles, const Sides& sides, const ClothOptions& o) {
  const std::vector<char>& held = o.held;
  NamedTerm named;
  named.term.law = is_woven(o) ? StencilLaw::woven_bending : StencilLaw::shell_bending;
  name_numbers(is_woven(o), {"thickness", "damping"}, named);
  const auto is_held = [&](int t) {
    if (held.empty()) return false;
    for (int a = 0; a < 3; ++a) {
      for (int i = 0; i < 3; ++i) {
        if (!held[at(3 * triangles[at(3 * t + a)] + i)]) return false;
      }
    }
    return true;
  };
  for (int t = 0; t < static_cast<int>(triangles.size()) / 3; ++t) {
    if (is_held(t)) continue;
    const int* const nodes = triangles.data() + 3 * t;
    std::array<int, 6> stencil = {nodes[0], nodes[1], nodes[2], nodes[0], nodes[1], nodes[2]};
    std::array<double, 3> weight = {};
    for (int a = 0; a < 3; ++a) {
      const auto across = sides.find({nodes[(a + 2) % 3], nodes[(a + 1) % 3]});
      if (across == sides.end()) continue;
      stencil[at(3 + a)] = across->second.opposite;
      weight[at(a)] = is_held(across->second.triangle) ? 2 : 1;
    }
    named.term.nodes.insert(named.term.nodes.end(), stencil.begin(), stencil.end());
    named.term.constants.insert(named.term.constants.end(), weight.begin(), weight.end());
    if (is_woven(o)) {
      named.term.constants.insert(named.term.constants.end(), o.warp.begin(), o.warp.end());
    }
  }
  return named;
}

}  // namespace

System cloth(std::vector<double> vertices, std::vector<int> triangles, const ClothOptions& o,
             bool allow_parts) {
  check_triangles(vertices, triangles);
  const Sides sides = sides_of(vertices, triangles);
  BodyParts parts;
  parts.name = "cloth";
  parts.mesh.vertices = std::move(vertices);
  find_parts(parts.mesh, triangles, 3);
  if (parts.mesh.parts > 1 && !allow_parts) {
    throw ModelError(message("the cloth is in ", parts.mesh.parts,
                             " parts that do not touch; parts=True allows that"));
  }
  check_weave(parts.mesh.vertices, triangles, o);
  parts.laws = {membrane(triangles, o), bending(triangles, sides, o)};
  if (parts.laws[1].term.nodes.empty()) parts.laws.pop_back();
  parts.touching.resize(at(parts.mesh.vertex_count()));
  std::iota(parts.touching.begin(), parts.touching.end(), 0);
  parts.skin = triangles;
  parts.parameters = {{"young", "Pa", Constraint::positive, o.young},
                      {"poisson", "", Constraint::none, {o.poisson}},
                      {"thickness", "m", Constraint::positive, {o.thickness}},
                      {"density", "kg/m³", Constraint::positive, {o.density}}};
  if (is_woven(o)) parts.parameters.push_back({"shear", "Pa", Constraint::positive, {o.shear}});
  parts.refuse = [triangles](const Parameters& registry, const double* p) -> std::string {
    const double nu = p[registry.find("poisson").offset];
    const Parameter& young = registry.find("young");
    const double* const Y = p + young.offset;
    if (young.size == 2 && !(nu * nu * Y[1] < Y[0])) {
      return message("poisson² must be below young of the warp over that of the weft, ",
                     Y[0] / Y[1], "; got poisson ", nu);
    }
    if (young.size == 1 && !(nu > -1 && nu <= 0.5)) {
      return message("poisson must be above -1 and not above 0.5; got ", nu);
    }
    const double* const v = p + registry.find("vertices").offset;
    for (std::size_t t = 0; t < triangles.size(); t += 3) {
      if (!(area(v, triangles.data() + t) > 0)) {
        return message("with these vertices triangle ", t / 3, " has no area");
      }
    }
    return {};
  };
  return make_body(std::move(parts), o);
}

}  // namespace cycloid::inline soft
