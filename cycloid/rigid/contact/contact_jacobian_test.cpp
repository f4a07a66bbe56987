#include "cycloid/rigid/contact/contact_jacobian.h"

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::contact_jacobian_test {

using test::Numbers;

// Contacts at a row of inputs, and their forces at a fixed q̈.
template <class S>
struct Pressed : test::ContactCase<S> {
  Pressed(const Tree& tree, const S* in) : test::ContactCase<S>(tree, in) {
    this->find();
    this->add_rows();
    r = this->products(this->acceleration.x);
    for (int i = 0; i < this->problem.all_rows(); ++i) {
      r[static_cast<std::size_t>(i)] -= this->problem.a_ref[i];
    }
    for (std::vector<S>& rows : numbers) rows.assign(r.size(), S(0));
    respond(this->problem, r.data(), response());
  }
  ConstraintResponse<S> response() {
    return {numbers[0].data(), numbers[1].data(), numbers[2].data(), numbers[3].data()};
  }
  // -Jᵀ f.
  std::vector<S> resistance() {
    std::vector<S> padded(static_cast<std::size_t>(this->dofs.size()), S(0)),
        out(static_cast<std::size_t>(this->dofs.dofs()));
    subtract_row_forces(this->problem, static_cast<const S*>(numbers[0].data()), padded.data());
    unpad(this->dofs, static_cast<const S*>(padded.data()), out.data());
    return out;
  }
  std::vector<S> r, numbers[4];
};

// By the displacement d of which q = q₀ ⊕ d, in place of q's own tangent.
void by_displacement(const Tree& tree, const Numbers& in, double* row) {
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  const Numbers base(static_cast<std::size_t>(tree.model.nq), 0.0), own(row, row + nv);
  Numbers unused(nv, 0.0);
  std::fill_n(row, nv, 0.0);
  retract_qpos_pullback(tree, base.data(), in.data(), own.data(), unused.data(), row);
}

// Jacobian by displacement and q̇, rows of 2 nv numbers.
Numbers jacobian(const Tree& tree, const Numbers& in) {
  Pressed<double> at(tree, in.data());
  const int nv = tree.model.nv;
  Numbers out(static_cast<std::size_t>(2 * nv * nv), 0.0);
  ContactJacobianSpace<double> space;
  const Arena memory = carve_memory(space, tree);
  add_contact_jacobian(at.at, at.space, at.instant, at.problem, at.first,
                       static_cast<const double*>(at.r.data()), at.response(), space, 2 * nv,
                       out.data(), out.data() + nv);
  for (int k = 0; k < nv; ++k) by_displacement(tree, in, out.data() + 2 * nv * k);
  return out;
}

// The worst error against dual numbers, relative to the largest entry.
double worst_error(const Tree& tree, const Numbers& in, double& largest) {
  using D = Dual<double, 1>;
  const int nv = tree.model.nv;
  const Numbers got = jacobian(tree, in);
  double worst = 0;
  for (int j = 0; j < 2 * nv; ++j) {
    std::vector<D> moved(in.begin(), in.end());
    moved[static_cast<std::size_t>(j)].tangent[0] = 1;
    Pressed<D> at(tree, moved.data());
    const std::vector<D> resistance = at.resistance();
    for (int k = 0; k < nv; ++k) {
      const double expected = -resistance[static_cast<std::size_t>(k)].tangent[0];
      largest = std::max(largest, std::abs(expected));
      worst = std::max(worst, std::abs(got[static_cast<std::size_t>(2 * nv * k + j)] - expected));
    }
  }
  return worst / std::max(largest, 1.0);
}

TEST_CASE("contact_jacobian: the derivative of contact forces equals dual numbers") {
  for (const bool elliptic : {false, true}) {
    for (const Model& m : {test::crowd(elliptic), test::loner(elliptic)}) {
      const Tree tree(m);
      int pressed = 0;
      for (const Numbers& in : test::crowd_points(tree)) {
        double largest = 0;
        CHECK(worst_error(tree, in, largest) < 1e-11);
        pressed += largest > 1;
      }
      CHECK(pressed >= 2);
    }
  }
}

}  // namespace cycloid::contact_jacobian_test
