#include "soft.h"

#include "cycloid/base/error.h"
#include "cycloid/soft/cloth.h"
#include "cycloid/soft/equilibrium.h"
#include "cycloid/soft/rod.h"
#include "cycloid/soft/solid.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

std::vector<double> numbers_of(const Rows<double>& rows) {
  const auto all = span_of(rows);
  return {all.begin(), all.end()};
}

template <class T>
T item(const nb::handle& from, const char* key) {
  return nb::cast<T>(from[key]);
}

std::array<double, 3> three(const nb::handle& from, const char* key) {
  const auto row = item<Rows<double>>(from, key);
  return {row.data()[0], row.data()[1], row.data()[2]};
}

std::vector<SoftObstacle> obstacles_of(const nb::handle& list) {
  std::vector<SoftObstacle> all;
  for (const nb::handle one : list) {
    SoftObstacle o;
    o.shape = static_cast<ObstacleShape>(item<int>(one, "shape"));
    o.position = three(one, "position"), o.rotation = three(one, "rotation");
    o.size = three(one, "size");
    all.push_back(o);
  }
  return all;
}

// What soft.py's _common made.
void take_common(const nb::dict& from, BodyOptions& o) {
  o.damping = item<double>(from, "damping"), o.drag = item<double>(from, "drag");
  o.mass = numbers_of(item<Rows<double>>(from, "mass"));
  const auto held = item<Rows<std::uint8_t>>(from, "held");
  for (const std::uint8_t h : span_of(held)) o.held.push_back(h != 0);
  o.gravity = three(from, "gravity");
  o.inputs = item<std::vector<std::string>>(from, "inputs");
  o.dt = item<double>(from, "dt"), o.integrator = item<std::string>(from, "integrator");
  o.floor = obstacles_of(from["floor"]), o.obstacles = obstacles_of(from["obstacles"]);
  o.contact = item<std::string>(from, "contact");
  o.contact_width = item<double>(from, "contact_width");
  o.contact_stiffness = item<double>(from, "contact_stiffness");
  o.friction = item<double>(from, "friction"), o.stiction = item<double>(from, "stiction");
  o.self_contact = item<bool>(from, "self_contact");
  o.linear_solver = item<std::string>(from, "linear_solver");
  for (const nb::handle one : from["loads"]) {
    SoftLoad load;
    load.kind = static_cast<SoftLoad::Kind>(item<int>(one, "kind"));
    const auto nodes = item<Rows<int>>(one, "nodes");
    const auto all = span_of(nodes);
    load.nodes.assign(all.begin(), all.end());
    load.each = item<int>(one, "each");
    load.value = numbers_of(item<Rows<double>>(one, "value"));
    load.points = numbers_of(item<Rows<double>>(one, "points"));
    o.loads.push_back(std::move(load));
  }
}

std::vector<SoftMuscle> muscles_of(const nb::list& list) {
  std::vector<SoftMuscle> all;
  for (const nb::handle one : list) {
    SoftMuscle m;
    const auto cells = item<Rows<int>>(one, "cells");
    const auto own = span_of(cells);
    m.cells.assign(own.begin(), own.end());
    m.direction = numbers_of(item<Rows<double>>(one, "direction"));
    m.strength = item<double>(one, "strength"), m.stiffness = item<double>(one, "stiffness");
    all.push_back(std::move(m));
  }
  return all;
}

}  // namespace

void bind_soft(nb::module_& m) {
  nb::class_<SolidMesh>(m, "SoftMesh")
      .def("vertices", [](const SolidMesh& mesh) { return to_numpy(mesh.vertices); })
      .def("cells", [](const SolidMesh& mesh) { return to_numpy(mesh.cells); })
      .def_prop_ro("nodes", &SolidMesh::nodes)
      .def_prop_ro("element",
                   [](const SolidMesh& mesh) { return std::string(name(mesh.element)); });
  m.def(
      "make_soft_mesh",
      [](const Rows<double>& vertices, const Rows<int>& cells, int nodes, bool parts) {
        const auto all = span_of(cells);
        return make_mesh(numbers_of(vertices), {all.begin(), all.end()}, nodes, parts);
      },
      nb::arg("vertices"), nb::arg("cells"), nb::arg("nodes"), nb::arg("parts"));
  m.def(
      "soft_box",
      [](int nx, int ny, int nz, double lx, double ly, double lz, const std::string& element) {
        return box_mesh({nx, ny, nz}, {lx, ly, lz}, element_named(element));
      },
      nb::arg("nx"), nb::arg("ny"), nb::arg("nz"), nb::arg("lx"), nb::arg("ly"), nb::arg("lz"),
      nb::arg("element"));
  m.def("soft_surface", [](const SolidMesh& mesh) {
    SurfaceFaces faces = surface_faces(mesh);
    return nb::make_tuple(to_numpy(std::move(faces.nodes)), faces.each);
  });
  m.def(
      "make_solid",
      [](const SolidMesh& mesh, const std::string& material, const Rows<double>& young,
         const Rows<double>& poisson, const Rows<double>& density, double mooney,
         const std::string& formulation, double yield, double hardening, const nb::list& muscles,
         const nb::dict& common) {
        SolidOptions o;
        take_common(common, o);
        o.yield = yield, o.hardening = hardening, o.muscles = muscles_of(muscles);
        o.material = material, o.mooney = mooney, o.formulation = formulation;
        o.young = numbers_of(young), o.poisson = numbers_of(poisson);
        o.density = numbers_of(density);
        return solid(mesh, o);
      },
      nb::arg("mesh"), nb::arg("material"), nb::arg("young"), nb::arg("poisson"),
      nb::arg("density"), nb::arg("mooney"), nb::arg("formulation"), nb::arg("yield_stress"),
      nb::arg("hardening"), nb::arg("muscles"), nb::arg("common"));
  m.def(
      "make_cloth",
      [](const Rows<double>& vertices, const Rows<int>& triangles, const Rows<double>& young,
         double poisson, double shear, const Rows<double>& warp, double thickness, double density,
         bool parts, const nb::dict& common) {
        ClothOptions o;
        take_common(common, o);
        o.young = numbers_of(young), o.poisson = poisson, o.shear = shear;
        std::copy_n(warp.data(), 3, o.warp.begin());
        o.thickness = thickness, o.density = density;
        const auto all = span_of(triangles);
        return cloth(numbers_of(vertices), {all.begin(), all.end()}, o, parts);
      },
      nb::arg("vertices"), nb::arg("triangles"), nb::arg("young"), nb::arg("poisson"),
      nb::arg("shear"), nb::arg("warp"), nb::arg("thickness"), nb::arg("density"), nb::arg("parts"),
      nb::arg("common"));
  m.def(
      "make_rod",
      [](const Rows<double>& points, double young, double radius, double density, double poisson,
         const nb::dict& common) {
        RodOptions o;
        take_common(common, o);
        o.young = young, o.radius = radius, o.density = density, o.poisson = poisson;
        return rod(numbers_of(points), o);
      },
      nb::arg("points"), nb::arg("young"), nb::arg("radius"), nb::arg("density"),
      nb::arg("poisson"), nb::arg("common"));
  nb::class_<Equilibrium>(m, "Equilibrium")
      .def("state", [](const Equilibrium& e) { return to_numpy(e.state); })
      .def_ro("converged", &Equilibrium::converged)
      .def_ro("residual", &Equilibrium::residual)
      .def_ro("iterations", &Equilibrium::iterations)
      .def_ro("load_steps", &Equilibrium::load_steps)
      .def_ro("load", &Equilibrium::load)
      .def_ro("stable", &Equilibrium::stable)
      .def("loads", [](const Equilibrium& e) { return to_numpy(e.loads); })
      .def("point", &Equilibrium::point)
      .def("pullback", [](const Equilibrium& e, const Rows<double>& bar) {
        EquilibriumGradient g = e.pullback(span_of(bar));
        return nb::make_tuple(to_numpy(std::move(g.params)), to_numpy(std::move(g.controls)));
      });
  m.def(
      "soft_equilibrium",
      [](const System& system, const Rows<double>& x0, const Rows<double>& u,
         const Rows<double>& params, double arc_length, int most_steps, int threads) {
        const Unlocked call;
        return equilibrium(system, span_of(x0), span_of(u), span_of(params),
                           EquilibriumOptions{threads, arc_length, most_steps});
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("u"), nb::arg("params"), nb::arg("arc_length"),
      nb::arg("most_steps"), nb::arg("threads"));
}

}  // namespace cycloid::python
