#include "cycloid/rigid/robot.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <limits>

#include "cycloid/base/check.h"
#include "cycloid/model/model_file.h"
#include "cycloid/rigid/robot_variant.h"
#include "module.h"
#include "unlocked.h"
#ifdef CYCLOID_MUJOCO
#include "load_options.h"
#endif

namespace cycloid::python {
namespace {

// Of HuntCrossley, in its order.
using CompliantNumbers = std::tuple<std::optional<double>, double, double, double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> keyframe_names(const Model& model) {
  std::vector<std::string> names;
  for (const Keyframe& k : model.keyframes) names.push_back(k.name);
  return names;
}

std::vector<double> keyframe_state(const Model& model, int i) {
  CYCLOID_CHECK(i >= 0 && i < static_cast<int>(model.keyframes.size()), i);
  return initial_state(model, &model.keyframes[static_cast<std::size_t>(i)]);
}

// Of each control the smallest and the largest value; infinite where it has no limits.
std::vector<double> control_range(const Model& model) {
  std::vector<double> range;
  for (int i = 0; i < model.nu; ++i) range.insert(range.end(), {-kInfinity, kInfinity});
  for (const Actuator& a : model.actuators) {
    for (int k = 0; k < a.controls; ++k) {
      const Range& limit = cycloid::control_range(a, k);
      if (a.control < 0 || !limit.on) continue;
      double* own = range.data() + 2 * static_cast<std::size_t>(a.control + k);
      own[0] = limit.low, own[1] = limit.high;
    }
  }
  return range;
}

#ifdef CYCLOID_MUJOCO
void bind_load(nb::module_& m) {
  m.def(
      "load_model",
      [](const nb::bytes& path_or_xml, bool constraints, bool ignore_noslip,
         const std::vector<nb::bytes>& search_paths) {
        const std::string source(path_or_xml.c_str(), path_or_xml.size());
        std::vector<std::string> warnings;
        LoadOptions options = load_options(constraints, ignore_noslip, search_paths);
        options.warnings = &warnings;
        Appearance looks;
        options.appearance = &looks;
        Unlocked call;
        Model model = load_model(source, options);
        return std::make_tuple(std::move(model), std::move(warnings), std::move(looks));
      },
      nb::arg("path_or_xml"), nb::arg("constraints"), nb::arg("ignore_noslip"),
      nb::arg("search_paths"));
  m.def(
      "model_from_mjmodel",
      [](std::uintptr_t address, bool constraints, bool ignore_noslip) {
        std::vector<std::string> warnings;
        LoadOptions options = load_options(constraints, ignore_noslip, {});
        options.warnings = &warnings;
        Appearance looks;
        options.appearance = &looks;
        Model model = model_from_mjmodel(reinterpret_cast<const void*>(address), options);
        return std::make_tuple(std::move(model), std::move(warnings), std::move(looks));
      },
      nb::arg("address"), nb::arg("constraints"), nb::arg("ignore_noslip"));
  m.def(
      "set_mujoco_library",
      [](const nb::bytes& path) { set_mujoco_library(std::string(path.c_str(), path.size())); },
      nb::arg("path"));
}
#endif

}  // namespace

void bind_robot(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def_ro("nq", &Model::nq)
      .def_ro("nv", &Model::nv)
      .def_ro("na", &Model::na)
      .def_ro("nu", &Model::nu)
      .def("control_range", [](const Model& model) { return to_numpy(control_range(model)); })
      .def_prop_ro("keyframe_names", &keyframe_names)
      .def("keyframe_state",
           [](const Model& model, int i) { return to_numpy(keyframe_state(model, i)); });

  // Paths are bytes, as the file system has them. A model comes with what is to be warned about,
  // one that MuJoCo has read also with its looks.
  m.def(
      "is_model_file",
      [](const nb::bytes& path) { return is_model_file(std::string(path.c_str(), path.size())); },
      nb::arg("path"));
  m.def(
      "read_model",
      [](const nb::bytes& path, bool constraints) {
        const std::string file(path.c_str(), path.size());
        Unlocked call;
        SavedModel saved = read_model(file);
        saved.model.options.acting.constraints &= constraints;
        return std::make_tuple(std::move(saved.model), std::move(saved.notes));
      },
      nb::arg("path"), nb::arg("constraints"));
  m.def(
      "save_model",
      [](const nb::bytes& path, const Model& model, const std::vector<std::string>& notes) {
        const std::string file(path.c_str(), path.size());
        Unlocked call;
        save_model(file, {model, notes});
      },
      nb::arg("path"), nb::arg("model"), nb::arg("notes"));
  m.def(
      "varied_model",
      [](const Model& model, double dt, const std::string& integrator, const std::string& contact) {
        return varied_model(model, {dt, integrator, contact});
      },
      nb::arg("model"), nb::arg("dt"), nb::arg("integrator"), nb::arg("contact"));
  m.def(
      "make_robot",
      [](const Model& model, const std::string& dtype, const std::vector<std::string>& inputs,
         const std::vector<std::string>& vary, const std::optional<CompliantNumbers>& contact,
         std::optional<double> refine) {
        RobotOptions options{precision_of(dtype), inputs, vary};
        options.refine = refine;
        if (contact) {
          const auto& [stiffness, exponent, dissipation, stiction] = *contact;
          options.contact = HuntCrossley{stiffness, exponent, dissipation, stiction};
        }
        return make_robot(model, options);
      },
      nb::arg("model"), nb::arg("dtype"), nb::arg("inputs"), nb::arg("vary"),
      nb::arg("contact").none(), nb::arg("refine").none());
#ifdef CYCLOID_MUJOCO
  bind_load(m);
#endif
}

}  // namespace cycloid::python
