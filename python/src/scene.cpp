// What is drawn of a robot: its shapes, names and looks, as plain arrays.
#include "module.h"
#ifdef CYCLOID_MUJOCO
#include "cycloid/io/appearance.h"
#endif

namespace cycloid::python {
namespace {

template <std::size_t N>
std::vector<double> listed(const std::array<double, N>& row) {
  return {row.begin(), row.end()};
}

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::plane: return "plane";
    case Shape::hfield: return "hfield";
    case Shape::sphere: return "sphere";
    case Shape::capsule: return "capsule";
    case Shape::ellipsoid: return "ellipsoid";
    case Shape::cylinder: return "cylinder";
    case Shape::box: return "box";
    case Shape::mesh: return "mesh";
    case Shape::other: break;
  }
  return "other";
}

template <class Elements>
std::vector<std::string> labels(const Elements& all) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    out.push_back(Model::label(all, static_cast<int>(i)));
  }
  return out;
}

nb::list geoms_of(const Model& model) {
  nb::list out;
  for (const Named<Geom>& g : model.geoms) {
    nb::dict row;
    row["body"] = g.body, row["shape"] = name_of(g.shape), row["data"] = g.data;
    row["pos"] = listed(g.pos), row["quat"] = listed(g.quat), row["size"] = listed(g.size);
    row["drawn"] = g.drawn;
    out.append(row);
  }
  return out;
}

// The straight pieces of spatial tendons between their sites: body and place of either end.
nb::list tendons_of(const Model& model) {
  nb::list out;
  for (const Named<Tendon>& t : model.tendons) {
    if (t.kind != TendonKind::spatial) continue;
    const Marker* before = nullptr;
    for (int i = t.first_wrap; i < t.first_wrap + t.wraps; ++i) {
      const Wrap& w = model.wraps[static_cast<std::size_t>(i)];
      if (w.kind == WrapKind::pulley) before = nullptr;
      if (w.kind != WrapKind::site) continue;
      const Marker& site = model.sites[static_cast<std::size_t>(w.object)];
      if (before) {
        out.append(nb::make_tuple(before->body, listed(before->pos), site.body, listed(site.pos)));
      }
      before = &site;
    }
  }
  return out;
}

// name (or that of its body), first number in qpos and in qvel, numbers of each
nb::list joints_of(const Model& model) {
  nb::list out;
  for (std::size_t i = 0; i < model.joints.size(); ++i) {
    const Named<Joint>& j = model.joints[i];
    const std::string name = j.name.empty() ? Model::label(model.bodies, j.body) : j.name;
    out.append(nb::make_tuple(name, j.qpos, j.dof, qpos_numbers(j.kind), dof_numbers(j.kind)));
  }
  return out;
}

// name, first place in ctrl, how many
nb::list controls_of(const Model& model) {
  nb::list out;
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& a = model.actuators[i];
    if (a.control < 0) continue;
    out.append(
        nb::make_tuple(Model::label(model.actuators, static_cast<int>(i)), a.control, a.controls));
  }
  return out;
}

}  // namespace

void bind_scene(nb::module_& m) {
  m.def(
      "scene_of",
      [](const Model& model) {
        nb::dict out;
        out["bodies"] = labels(model.bodies);
        std::vector<int> parents, moves;
        for (const Body& b : model.bodies) parents.push_back(b.parent), moves.push_back(b.tree);
        out["parents"] = parents;
        out["trees"] = moves;
        out["geoms"] = geoms_of(model);
        out["tendons"] = tendons_of(model);
        out["joints"] = joints_of(model);
        out["controls"] = controls_of(model);
        nb::list hulls, fields;
        for (const Mesh& mesh : model.meshes) {
          hulls.append(nb::make_tuple(to_numpy(mesh.vertex), to_numpy(mesh.triangles)));
        }
        for (const HeightData& f : model.height_fields) {
          fields.append(nb::make_tuple(f.rows, f.columns, listed(f.size), to_numpy(f.data)));
        }
        out["hulls"] = hulls;
        out["height_fields"] = fields;
        return out;
      },
      nb::arg("model"), "What is drawn of a robot, without its looks.");
#ifdef CYCLOID_MUJOCO
  nb::class_<Appearance>(m, "Appearance")
      .def_prop_ro("geoms",
                   [](const Appearance& looks) {
                     nb::list out;
                     for (const GeomLook& g : looks.geoms) {
                       out.append(nb::make_tuple(listed(g.colour), g.group, g.mesh));
                     }
                     return out;
                   })
      .def("mesh", [](const Appearance& looks, std::size_t i) {
        const DrawnMesh& mesh = looks.meshes.at(i);
        return nb::make_tuple(to_numpy(mesh.vertex), to_numpy(mesh.triangles));
      });
#endif
}

}  // namespace cycloid::python
