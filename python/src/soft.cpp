#include "soft.h"

#include "cycloid/base/error.h"
#include "cycloid/soft/equilibrium.h"
#include "cycloid/soft/solid.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

std::vector<double> numbers_of(const Rows<double>& rows) {
  const auto all = span_of(rows);
  return {all.begin(), all.end()};
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
  m.def(
      "make_solid",
      [](const SolidMesh& mesh, const std::string& material, const Rows<double>& young,
         const Rows<double>& poisson, const Rows<double>& density, double damping, double drag,
         double mooney, const Rows<double>& mass, const Rows<std::uint8_t>& held,
         const Rows<double>& gravity, const std::vector<std::string>& inputs, double dt,
         const std::string& integrator) {
        SolidOptions o;
        o.material = material, o.integrator = integrator, o.inputs = inputs, o.dt = dt;
        o.young = numbers_of(young), o.poisson = numbers_of(poisson);
        o.density = numbers_of(density), o.mass = numbers_of(mass);
        o.damping = damping, o.drag = drag, o.mooney = mooney;
        for (const std::uint8_t h : span_of(held)) o.held.push_back(h != 0);
        std::copy_n(gravity.data(), 3, o.gravity.begin());
        return solid(mesh, o);
      },
      nb::arg("mesh"), nb::arg("material"), nb::arg("young"), nb::arg("poisson"),
      nb::arg("density"), nb::arg("damping"), nb::arg("drag"), nb::arg("mooney"), nb::arg("mass"),
      nb::arg("held"), nb::arg("gravity"), nb::arg("inputs"), nb::arg("dt"), nb::arg("integrator"));
  nb::class_<Equilibrium>(m, "Equilibrium")
      .def("state", [](const Equilibrium& e) { return to_numpy(e.state); })
      .def_ro("converged", &Equilibrium::converged)
      .def_ro("residual", &Equilibrium::residual)
      .def_ro("iterations", &Equilibrium::iterations)
      .def_ro("load_steps", &Equilibrium::load_steps)
      .def("pullback", [](const Equilibrium& e, const Rows<double>& bar) {
        EquilibriumGradient g = e.pullback(span_of(bar));
        return nb::make_tuple(to_numpy(std::move(g.params)), to_numpy(std::move(g.controls)));
      });
  m.def(
      "soft_equilibrium",
      [](const System& system, const Rows<double>& x0, const Rows<double>& u,
         const Rows<double>& params, int threads) {
        const Unlocked call;
        return equilibrium(system, span_of(x0), span_of(u), span_of(params), threads);
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("u"), nb::arg("params"), nb::arg("threads"));
}

}  // namespace cycloid::python
