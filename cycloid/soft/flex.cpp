#include "cycloid/soft/flex.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

void check(const std::vector<double>& vertices, const std::vector<int>& elements,
           const FlexOptions& o) {
  if (o.dim < 1 || o.dim > 3) throw ModelError(message("dim must be 1, 2 or 3; got ", o.dim));
  if (elements.empty() || elements.size() % at(o.dim + 1) != 0) {
    throw ModelError(message("elements of dim ", o.dim, " have ", o.dim + 1, " vertices each; got ",
                             elements.size(), " numbers"));
  }
  if (o.dim == 1 && o.self_contact) {
    throw ModelError("the edges of a flex of dim 1 do not touch each other; those of a rod do");
  }
  if (vertices.size() % 3 != 0) {
    throw ModelError(message("vertices have three numbers each; got ", vertices.size()));
  }
  const int n = static_cast<int>(vertices.size() / 3);
  for (const int v : elements) {
    if (v >= 0 && v < n) continue;
    throw ModelError(message("an element has vertex ", v, "; there are vertices 0 to ", n - 1));
  }
  for (const double x : vertices) {
    if (!std::isfinite(x)) throw ModelError(message("vertices must be finite; got ", x));
  }
  if (o.mass.size() != at(n)) {
    throw ParameterError(message("a flex takes a mass for each of its ", n, " vertices; got ",
                                 o.mass.size(), " numbers"));
  }
  if (o.kept.size() != 2 * o.kept_weight.size()) {
    throw ModelError(message("kept edges have two vertices and a weight each; got ", o.kept.size(),
                             " vertices and ", o.kept_weight.size(), " weights"));
  }
  for (const int v : o.kept) {
    if (v >= 0 && v < n) continue;
    throw ModelError(message("a kept edge has vertex ", v, "; there are vertices 0 to ", n - 1));
  }
  for (const double weight : o.kept_weight) {
    if (std::isfinite(weight) && weight >= 0) continue;
    throw ModelError(message("the weight of a kept edge must not be negative; got ", weight));
  }
  const std::pair<const char*, double> numbers[] = {{"young", o.young},
                                                    {"thickness", o.thickness},
                                                    {"edge stiffness", o.edge_stiffness},
                                                    {"edge damping", o.edge_damping},
                                                    {"equality stiffness", o.equality_stiffness},
                                                    {"equality damping", o.equality_damping}};
  for (const auto& [name, value] : numbers) {
    if (std::isfinite(value) && value >= 0) continue;
    throw ParameterError(message(name, " must not be negative; got ", value));
  }
}

double size_of(const double* x, const int* v, int dim) {
  const auto p = [&](int a) {
    return Vec3<double>{x[3 * v[a]] - x[3 * v[0]], x[3 * v[a] + 1] - x[3 * v[0] + 1],
                        x[3 * v[a] + 2] - x[3 * v[0] + 2]};
  };
  if (dim == 1) return norm(p(1));
  if (dim == 2) return norm(cross(p(1), p(2))) / 2;
  return dot(p(1), cross(p(2), p(3))) / 6;
}

// Edges, each once, with the corners across from it.
std::map<std::array<int, 2>, std::vector<int>> edges_of(const std::vector<int>& elements, int dim) {
  std::map<std::array<int, 2>, std::vector<int>> edges;
  for (std::size_t e = 0; e < elements.size(); e += at(dim + 1)) {
    for (int a = 0; a <= dim; ++a) {
      for (int b = a + 1; b <= dim; ++b) {
        const int p = elements[e + at(a)], q = elements[e + at(b)];
        auto& across = edges[{std::min(p, q), std::max(p, q)}];
        if (dim == 2) across.push_back(elements[e + at(3 - a - b)]);
      }
    }
  }
  return edges;
}

void add_shell(const std::vector<int>& triangles, const FlexOptions& o, BodyParts& parts) {
  if (o.stretches) {
    NamedTerm named;
    named.term.law = StencilLaw::membrane;
    named.term.nodes = triangles;
    named.numbers = {{"young"}, {"poisson"}, {"thickness"}, {}, {"damping"}};  // no density
    parts.laws.push_back(std::move(named));
  }
  NamedTerm bending;
  bending.term.law = StencilLaw::cubic_bending;
  bending.numbers = {{"young"}, {"poisson"}, {"thickness"}, {"damping"}};
  for (const auto& [edge, across] : edges_of(triangles, 2)) {
    if (!o.bends || across.size() < 2) continue;
    bending.term.nodes.insert(bending.term.nodes.end(), {edge[0], edge[1], across[0], across[1]});
  }
  if (!bending.term.nodes.empty()) parts.laws.push_back(std::move(bending));
}

// Springs along edges (k, 2), with parameters of this name.
void add_springs(const std::string& name, const std::vector<int>& edges,
                 const std::vector<double>& weight, std::array<double, 2> numbers,
                 std::array<const char*, 2> units, BodyParts& parts) {
  if (edges.empty() || (numbers[0] == 0 && numbers[1] == 0)) return;
  NamedTerm named;
  named.term.law = StencilLaw::edge_spring;
  named.term.nodes = edges;
  named.term.constants = weight;
  const std::string names[] = {name + ".stiffness", name + ".damping"};
  for (std::size_t i = 0; i < 2; ++i) {
    named.numbers.push_back({names[i]});
    parts.parameters.push_back({names[i], units[i], Constraint::non_negative, {numbers[i]}});
  }
  parts.laws.push_back(std::move(named));
}

void add_springs(const std::vector<int>& elements, const FlexOptions& o, BodyParts& parts) {
  std::vector<int> edges;
  for (const auto& [edge, across] : edges_of(elements, o.dim)) {
    edges.insert(edges.end(), edge.begin(), edge.end());
  }
  add_springs("edge", edges, std::vector<double>(edges.size() / 2, 1.0),
              {o.edge_stiffness, o.edge_damping}, {"N/m", "N·s/m"}, parts);
  add_springs("equality", o.kept, o.kept_weight, {o.equality_stiffness, o.equality_damping},
              {"1/s²", "1/s"}, parts);
}

}  // namespace

System flex(std::vector<double> vertices, std::vector<int> elements, const FlexOptions& o) {
  check(vertices, elements, o);
  const bool elastic = o.young > 0 && o.dim > 1, solid = elastic && o.dim == 3;
  const int each = o.dim + 1, n = static_cast<int>(vertices.size() / 3);
  BodyParts parts;
  parts.name = o.name;
  if (solid) {
    parts.mesh = make_mesh(std::move(vertices), elements, each, true);
    parts.material = Material::stvk;
    parts.parameters = {{"young", "Pa", Constraint::positive, {o.young}, true, &SolidBody::young},
                        {"poisson", "", Constraint::none, {o.poisson}, true, &SolidBody::poisson}};
  } else {
    parts.mesh.vertices = std::move(vertices);
    find_parts(parts.mesh, elements, each);
  }
  if (elastic && o.dim == 2) {
    parts.parameters = {{"young", "Pa", Constraint::positive, {o.young}},
                        {"poisson", "", Constraint::none, {o.poisson}},
                        {"thickness", "m", Constraint::positive, {o.thickness}}};
    add_shell(elements, o, parts);
  }
  add_springs(elements, o, parts);
  if (o.dim == 3) {
    const SurfaceFaces faces =
        surface_faces(solid ? parts.mesh : make_mesh(parts.mesh.vertices, elements, each, true));
    parts.skin = faces.nodes;
  } else if (o.dim == 2) {
    parts.skin = elements;
  }
  parts.touching.resize(at(n));
  std::iota(parts.touching.begin(), parts.touching.end(), 0);
  parts.refuse = [elements, each, elastic](const Parameters& registry,
                                           const double* p) -> std::string {
    if (elastic) {
      const double nu = p[registry.find("poisson").offset];
      if (!(nu > -1 && nu < 0.5)) {
        return message("poisson must be above -1 and below 0.5; got ", nu);
      }
    }
    const double* const v = p + registry.find("vertices").offset;
    for (std::size_t e = 0; e < elements.size(); e += at(each)) {
      if (size_of(v, elements.data() + e, each - 1) > 0) continue;
      return message("with these vertices element ", e / at(each),
                     each == 4 ? " is turned inside out or" : "", " has no size");
    }
    return {};
  };
  return make_body(std::move(parts), o);
}

}  // namespace cycloid::inline soft
