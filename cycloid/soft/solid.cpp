#include "cycloid/soft/solid.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

// Why these parameters make no body.
std::string refuse(const SolidMesh& mesh, const Parameters& registry, const double* p) {
  const Parameter& poisson = registry.find("poisson");
  for (int c = 0; c < poisson.size; ++c) {
    const double nu = p[poisson.offset + c];
    if (nu > -1 && nu < 0.5) continue;
    return message("poisson", poisson.size > 1 ? message(" of cell ", c) : std::string(),
                   " must be above -1 and below 0.5; got ", nu,
                   nu == 0.5 ? ": matter that keeps its volume exactly; take 0.49" : "");
  }
  const double* const vertices = p + registry.find("vertices").offset;
  if (const int c = first_flat_cell(mesh, vertices); c >= 0) {
    return message("with these vertices ", cell_name(mesh, c),
                   " is turned inside out or has no volume");
  }
  return {};
}

constexpr const char* kPlasticName = "plastic";

StencilLaw of_element(StencilLaw first, ElementKind element) {
  return static_cast<StencilLaw>(static_cast<int>(first) + static_cast<int>(element));
}

// Every cell is plastic.
void add_plastic(const SolidOptions& o, BodyParts& parts) {
  if (parts.formulation != Formulation::standard) {
    throw ModelError("plastic matter has formulation \"standard\"");
  }
  if (o.young.size() > 1 || o.poisson.size() > 1) {
    throw ParameterError("plastic matter takes one young and one poisson for all cells");
  }
  if (!(o.yield > 0) || !std::isfinite(o.yield)) {
    throw ParameterError(message("yield_stress must be positive [Pa]; got ", o.yield));
  }
  if (!(o.hardening >= 0) || !std::isfinite(o.hardening)) {
    throw ParameterError(message("hardening must not be negative [Pa]; got ", o.hardening));
  }
  NamedTerm named;
  named.term.law = of_element(StencilLaw::plastic, parts.mesh.element);
  named.term.nodes = parts.mesh.cells;
  for (const char* name : {"young", "poisson", "yield_stress", "hardening"}) {
    named.numbers.push_back({name});
  }
  parts.elastic = false;
  parts.laws.push_back(std::move(named));
  parts.parameters.push_back({"yield_stress", "Pa", Constraint::positive, {o.yield}});
  parts.parameters.push_back({"hardening", "Pa", Constraint::non_negative, {o.hardening}});
}

// A unit vector along a row of three.
std::array<double, 3> unit_row(const double* row, const std::string& name) {
  const double length = std::hypot(row[0], row[1], row[2]);
  if (!(length > 0) || !std::isfinite(length)) {
    throw ModelError(message(name, ": a direction has three finite numbers, not all zero; got (",
                             row[0], ", ", row[1], ", ", row[2], ")"));
  }
  return {row[0] / length, row[1] / length, row[2] / length};
}

void add_muscle(const SoftMuscle& muscle, int k, BodyParts& parts) {
  const std::string name = message("muscle:#", k);
  const int cells = parts.mesh.cell_count(), nodes = parts.mesh.nodes();
  std::vector<int> own = muscle.cells;
  if (own.empty()) own.resize(at(cells)), std::iota(own.begin(), own.end(), 0);
  if (muscle.direction.size() != 3 && muscle.direction.size() != 3 * own.size()) {
    throw ModelError(message(name, ": direction has three numbers, or three for each of its ",
                             own.size(), " cells; got ", muscle.direction.size()));
  }
  NamedTerm named;
  named.term.law = of_element(StencilLaw::fibre, parts.mesh.element);
  named.term.name = name;
  for (std::size_t c = 0; c < own.size(); ++c) {
    if (own[c] < 0 || own[c] >= cells) {
      throw ModelError(message(name, " names cell ", own[c], "; there are cells 0 to ", cells - 1));
    }
    const auto first = parts.mesh.cells.begin() + own[c] * nodes;
    named.term.nodes.insert(named.term.nodes.end(), first, first + nodes);
    const auto a =
        unit_row(muscle.direction.data() + (muscle.direction.size() > 3 ? 3 * c : 0), name);
    named.term.constants.insert(named.term.constants.end(), a.begin(), a.end());
  }
  named.numbers = {{name + ".strength"}, {name + ".stiffness"}, {"", 0, name, 0}};
  parts.laws.push_back(std::move(named));
  parts.parameters.push_back({name + ".strength", "Pa", Constraint::none, {muscle.strength}});
  parts.parameters.push_back(
      {name + ".stiffness", "Pa", Constraint::non_negative, {muscle.stiffness}});
  parts.inputs.push_back(name);
}

// Four corners are two triangles, six nodes are four.
std::vector<int> triangles_of(const SurfaceFaces& faces) {
  static const std::vector<std::array<int, 3>> kThree = {{0, 1, 2}}, kFour = {{0, 1, 2}, {0, 2, 3}},
                                               kSix = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}, {3, 4, 5}};
  std::vector<int> out;
  for (std::size_t f = 0; f < faces.nodes.size(); f += at(faces.each)) {
    for (const auto& t : faces.each == 3 ? kThree : faces.each == 4 ? kFour : kSix) {
      for (const int a : t) out.push_back(faces.nodes[f + at(a)]);
    }
  }
  return out;
}

}  // namespace

System solid(const SolidMesh& mesh, const SolidOptions& o) {
  BodyParts parts;
  parts.name = "solid";
  parts.mesh = mesh;
  std::vector<std::string> materials(std::begin(kMaterialNames), std::end(kMaterialNames));
  materials.emplace_back(kPlasticName);
  const int material = index_of_word("material", o.material, materials);
  const bool plastic = o.material == kPlasticName;
  if (!plastic) parts.material = static_cast<Material>(material);
  parts.formulation = static_cast<Formulation>(
      index_of_word("formulation", o.formulation, {"standard", "locking_free"}));
  if (parts.formulation == Formulation::locking_free && mesh.element != ElementKind::hex) {
    throw ModelError(message("formulation \"locking_free\" is one of hexahedra; these cells are ",
                             name(mesh.element), ": tet10 hardly locks"));
  }
  parts.parameters = {
      {"young", "Pa", Constraint::positive, o.young, true, &SolidBody::young},
      {"poisson", "", Constraint::none, o.poisson, true, &SolidBody::poisson},
      {"density", "kg/m³", Constraint::positive, o.density, true, &SolidBody::density}};
  if (parts.material == Material::mooney_rivlin) {
    parts.parameters.push_back(
        {"mooney", "", Constraint::unit_interval, {o.mooney}, false, &SolidBody::mooney});
  }
  if (plastic) add_plastic(o, parts);
  else if (o.yield != 0 || o.hardening != 0) {
    throw ParameterError(message("yield_stress and hardening are numbers of material \"",
                                 kPlasticName, "\"; this one is \"", o.material, "\""));
  }
  for (std::size_t k = 0; k < o.muscles.size(); ++k) {
    add_muscle(o.muscles[k], static_cast<int>(k), parts);
  }
  if (!o.floor.empty() || !o.obstacles.empty()) {
    parts.touching = surface_faces(mesh).nodes;
    std::sort(parts.touching.begin(), parts.touching.end());
    parts.touching.erase(std::unique(parts.touching.begin(), parts.touching.end()),
                         parts.touching.end());
  }
  if (o.self_contact) parts.skin = triangles_of(surface_faces(mesh));
  parts.refuse = [mesh](const Parameters& registry, const double* p) {
    return refuse(mesh, registry, p);
  };
  return make_body(std::move(parts), o);
}

}  // namespace cycloid::inline soft
