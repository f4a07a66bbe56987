#include "cycloid/soft/solid.h"

#include <algorithm>

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

}  // namespace

System solid(const SolidMesh& mesh, const SolidOptions& o) {
  BodyParts parts;
  parts.name = "solid";
  parts.mesh = mesh;
  parts.material = static_cast<Material>(index_of_word(
      "material", o.material, {std::begin(kMaterialNames), std::end(kMaterialNames)}));
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
  if (!o.floor.empty() || !o.obstacles.empty()) {
    parts.touching = surface_faces(mesh).nodes;
    std::sort(parts.touching.begin(), parts.touching.end());
    parts.touching.erase(std::unique(parts.touching.begin(), parts.touching.end()),
                         parts.touching.end());
  }
  parts.refuse = [mesh](const Parameters& registry, const double* p) {
    return refuse(mesh, registry, p);
  };
  return make_body(std::move(parts), o);
}

}  // namespace cycloid::inline soft
