#include "soft.h"

#include <algorithm>

#include "cycloid/base/error.h"
#ifdef CYCLOID_MUJOCO
#include "cycloid/io/flexes.h"
#endif
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

#ifdef CYCLOID_MUJOCO
// What soft.py's flexes says about all of them, on top of what the model says.
void take_wishes(const nb::dict& from, FlexModel& read) {
  FlexOptions& o = read.options;
  if (!from["dt"].is_none()) o.dt = item<double>(from, "dt");
  o.integrator = item<std::string>(from, "integrator");
  o.inputs = item<std::vector<std::string>>(from, "inputs");
  o.contact = item<std::string>(from, "contact");
  o.contact_width = item<double>(from, "contact_width");
  o.contact_stiffness = item<double>(from, "contact_stiffness");
  o.stiction = item<double>(from, "stiction");
  if (!from["self_contact"].is_none()) {
    o.self_contact = item<bool>(from, "self_contact");
    o.friction = std::max(read.friction_of_obstacles, o.self_contact ? read.friction_of_itself : 0);
  }
  o.linear_solver = item<std::string>(from, "linear_solver");
}

nb::list rows_of(const std::vector<SoftObstacle>& obstacles) {
  nb::list rows;
  for (const SoftObstacle& o : obstacles) {
    nb::dict row;
    row["shape"] = static_cast<int>(o.shape);
    row["position"] = to_numpy(std::vector<double>(o.position.begin(), o.position.end()));
    row["rotation"] = to_numpy(std::vector<double>(o.rotation.begin(), o.rotation.end()));
    row["size"] = to_numpy(std::vector<double>(o.size.begin(), o.size.end()));
    rows.append(row);
  }
  return rows;
}

void bind_flexes(nb::module_& m) {
  // Of each: name, System, number of vertices, faces and how many vertices they have, elements,
  // obstacles; and what is to be said.
  m.def(
      "load_flexes",
      [](const nb::bytes& path_or_xml, const std::vector<nb::bytes>& search_paths,
         const nb::dict& wishes) {
        std::vector<std::string> warnings;
        LoadOptions options;
        options.warnings = &warnings;
        for (const nb::bytes& path : search_paths) {
          options.search_paths.emplace_back(path.c_str(), path.size());
        }
        nb::list out;
        const std::string source(path_or_xml.c_str(), path_or_xml.size());
        for (FlexModel& read : load_flexes(source, options)) {
          take_wishes(wishes, read);
          SurfaceFaces faces{read.options.dim + 1, read.elements};
          if (read.options.dim == 3) {
            faces = surface_faces(make_mesh(read.vertices, read.elements, 4, true));
          }
          System made = flex(read.vertices, read.elements, read.options);
          out.append(nb::make_tuple(read.options.name, std::move(made), read.vertices.size() / 3,
                                    to_numpy(std::move(faces.nodes)), faces.each,
                                    to_numpy(std::move(read.elements)),
                                    rows_of(read.options.obstacles)));
        }
        return nb::make_tuple(out, warnings);
      },
      nb::arg("path_or_xml"), nb::arg("search_paths"), nb::arg("wishes"));
}
#endif

}  // namespace

void bind_soft(nb::module_& m) {
#ifdef CYCLOID_MUJOCO
  bind_flexes(m);
#endif
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
