#include "cycloid/rigid/forward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/rigid/contact/contact_view.h"
#include "cycloid/rigid/sense/instant_dynamics.h"
#include "cycloid/rigid/sense/robot_observables.h"
#include "cycloid/rigid/tree/inverse_dynamics.h"

namespace cycloid::inline rigid {
namespace {

const ObserverKey& key_of(const System& robot) {
  const auto* const own = dynamic_cast<const RobotObservables*>(robot.observables());
  if (!own) throw ModelError(message("system \"", robot.name(), "\" is no robot"));
  return own->key();
}

// The rows, one at a time: the robot at that instant, and the way back from its
// cotangents to those of the row.
class ObservedInstants {
 public:
  ObservedInstants(const System& robot, const CheckedRows& seen)
      : states_(robot.states()),
        seen_(seen),
        key_(key_of(robot)),
        tree_(*key_.tree),
        memory_(carve_memory(*this)) {
    p_.resize(static_cast<std::size_t>(tree_.parameters.lane_size()));
    length_.resize(tree_.quaternions.size());
    if (plan()) constraints.contacts.begin(plan()->contacts);
    const std::size_t nv = static_cast<std::size_t>(tree_.model.nv);
    d_bar_.resize(2 * nv + static_cast<std::size_t>(tree_.model.na));
    u_bar_.resize(static_cast<std::size_t>(key_.input_size));
    p_bar_.resize(p_.size());
    array_bars_.resize(static_cast<std::size_t>(tree_.parameters.size()) - p_.size());
  }
  ObservedInstants(const ObservedInstants&) = delete;

  const Tree& tree() const { return tree_; }
  const ConstraintPlan* plan() const { return key_.constraints.get(); }
  InstantDynamics<double> dynamics(LaneNote* notes = nullptr) {
    return {plan(), constraints, notes};
  }
  std::int64_t rows() const { return seen_.rows; }

  void carve(Arena& arena) {
    work.carve(tree_, arena);
    if (!plan()) return;
    constraints.carve(tree_, *plan(), arena);
    views.carve(plan()->contacts, arena);
  }

  void go_to(std::int64_t i) {
    row_ = static_cast<std::size_t>(i);
    if (i == 0 || seen_.parameter_rows > 1) {
      std::copy_n(seen_.p.begin() + place_of_parameters(), p_.size(), p_.begin());
      prepare_parameters(tree_, p_.data(), length_.data());
      set_solids();
    }
    for (std::vector<double>* bar : {&d_bar_, &u_bar_, &p_bar_, &array_bars_}) {
      std::fill(bar->begin(), bar->end(), 0.0);
    }
    h_bar_ = 0;
  }

  Robot<double, double> robot() const { return {tree_, key_.inputs, p_.data(), Implicit::nothing}; }
  Instant<double> instant() const {
    const ModelView& m = tree_.model;
    const double* x = seen_.x.data() + row_ * static_cast<std::size_t>(m.nq + m.nv + m.na);
    return {x, x + m.nq, x + m.nq + m.nv, seen_.u.data() + row_ * u_bar_.size()};
  }
  InstantBars<double> bars() {
    double* d = d_bar_.data();
    const int nv = tree_.model.nv;
    return {d, d + nv, d + 2 * nv, u_bar_.data(), p_bar_.data(), h_bar_};
  }

  // What bars() has gathered, into the row of g; a row of parameters that all share gets the sum.
  void hand_over(ObservationGradient& g) {
    const std::size_t nx = static_cast<std::size_t>(states_.size());
    p_bar_[static_cast<std::size_t>(tree_.options.timestep)] += h_bar_;
    const double* length = length_.data();
    for (const int q : tree_.quaternions) {  // three tangent numbers become four
      double* bar = p_bar_.data() + q;
      store(bar, ambient_from_tangent_cotangent(load_quat(p_.data() + q), load_vec3(bar)) *
                     (1 / *length++));
    }
    std::copy(d_bar_.begin(), d_bar_.end(), g.states_tangent.data() + row_ * d_bar_.size());
    std::copy(u_bar_.begin(), u_bar_.end(), g.inputs.data() + row_ * u_bar_.size());
    states_.to_coordinates(seen_.raw.data() + row_ * nx, d_bar_.data(),
                           g.states.data() + row_ * nx);
    double* own = g.parameters.data() + place_of_parameters();
    for (std::size_t k = 0; k < p_bar_.size(); ++k) own[k] += p_bar_[k];
    for (std::size_t k = 0; k < array_bars_.size(); ++k) own[p_bar_.size() + k] += array_bars_[k];
  }

  Workspace<double> work;
  ConstraintMemory<double> constraints;  // with a plan
  ContactViews<double> views;

 private:
  std::ptrdiff_t place_of_parameters() const {
    return static_cast<std::ptrdiff_t>(seen_.parameter_place(static_cast<std::int64_t>(row_)));
  }
  // Points of meshes and heights of fields.
  void set_solids() {
    if (!plan()) return;
    arrays_.clear(), bars_.clear();
    for (const Parameter& p : tree_.parameters.all()) {
      if (!p.array) continue;
      arrays_.push_back(seen_.p.data() + place_of_parameters() + p.offset);
      bars_.push_back(array_bars_.data() + (p.offset - tree_.parameters.lane_size()));
    }
    constraints.contacts.set_solids(plan()->contacts, tree_.source,
                                    SolidArrays<double>{arrays_.data(), bars_.data(), nullptr});
  }

  const Space& states_;
  const CheckedRows& seen_;
  const ObserverKey& key_;
  const Tree& tree_;
  std::size_t row_ = 0;
  std::vector<double> p_, length_, d_bar_, u_bar_, p_bar_, array_bars_;
  std::vector<const double*> arrays_;
  std::vector<double*> bars_;
  Arena memory_;
  double h_bar_ = 0;
};

// M from the storage of Tree::row into a square.
void fill_square(const Tree& tree, const double* M, double* square) {
  const int nv = tree.model.nv;
  set_zero(square, nv * nv);
  for (int k = 0; k < nv; ++k) {
    for (int j = k; j >= 0; j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      square[k * nv + j] = square[j * nv + k] = *M++;
    }
  }
}

// Its transpose.
void gather_square(const Tree& tree, const double* square, double* M) {
  const int nv = tree.model.nv;
  for (int k = 0; k < nv; ++k) {
    for (int j = k; j >= 0; j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      *M++ = square[k * nv + j] + (j == k ? 0 : square[j * nv + k]);
    }
  }
}

void fill_poses(const ObservedInstants& at, const Robot<double, double>& r, std::size_t i,
                Forward& out) {
  const ModelView& m = at.tree().model;
  const Frames<double>& f = at.work.frames;
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    const std::size_t place = i * m.bodies.size() + b;
    store(out.body_pos.data() + 3 * place, f.origin[b] + f.pos[b]);
    store(out.body_quat.data() + 4 * place,
          f.link_quat[static_cast<std::size_t>(at.tree().last_link[b])]);
  }
  for (std::size_t s = 0; s < m.sites.size(); ++s) {
    const Vec3<double> in_tree = site_point(at.tree(), r.p, static_cast<int>(s), f);
    store(out.site_pos.data() + 3 * (i * m.sites.size() + s), f.origin[m.sites[s].body] + in_tree);
  }
}

// The contacts of one row.
void add_contacts(ObservedInstants& at, const Robot<double, double>& r, ForwardContacts& out) {
  if (!at.plan()) return out.count.push_back(0);
  const ContactPlan& plan = at.plan()->contacts;
  const ContactSpace<double>& found = at.constraints.contacts;
  const ContactScene<double, double> scene{plan, at.tree(), r.p, at.work.frames};
  view_contacts(scene, found, at.constraints.solver.problem,
                static_cast<const double*>(at.constraints.solver.newton.at.f), at.views);
  out.count.push_back(at.views.slots);
  for (int slot = 0; slot < at.views.slots; ++slot) {
    const ContactView<double>& view = at.views.view[slot];
    const ContactPair& pair = scene.pair(found.touched[found.groups_of(slot)->owner].pair);
    const auto append = [](std::vector<double>& to, const double* from, int n) {
      to.insert(to.end(), from, from + n);
    };
    for (const int g : {pair.geom1, pair.geom2}) out.geoms.push_back(scene.geom(g).geom);
    for (const Vec3<double>& axis : {view.F.n, view.F.t1, view.F.t2}) append(out.frame, &axis.x, 3);
    append(out.pos, &view.pos.x, 3);
    append(out.dist, &view.dist, 1);
    append(out.force, view.f, kMostRows);
  }
}

// Gives every row the same number of entries.
void fill_up(ForwardContacts& contacts) {
  for (const std::int64_t n : contacts.count) contacts.most = std::max(contacts.most, n);
  const auto spread = [&](auto& numbers, std::int64_t size, auto nothing) {
    std::remove_reference_t<decltype(numbers)> all;
    auto from = numbers.begin();
    for (const std::int64_t n : contacts.count) {
      all.insert(all.end(), from, from + n * size);
      all.insert(all.end(), static_cast<std::size_t>((contacts.most - n) * size), nothing);
      from += n * size;
    }
    numbers = std::move(all);
  };
  spread(contacts.geoms, 2, std::int64_t{-1});
  spread(contacts.pos, 3, 0.0);
  spread(contacts.frame, 9, 0.0);
  spread(contacts.dist, 1, 0.0);
  spread(contacts.force, kMostRows, 0.0);
}

// Whether the cotangent is there; throws where it is not as it should be.
bool given(std::span<const double> bar, std::size_t size, const char* what) {
  if (bar.empty() && size > 0) return false;
  if (bar.size() != size) {
    throw Error(message(what, ": expected ", size, " numbers, got ", bar.size()));
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (!std::isfinite(bar[i])) {
      throw Error(message(what, " must be finite; number ", i, " is ", bar[i]));
    }
  }
  return true;
}

// Of the box around a mesh's vertices, the least half width.
double mesh_half_width(const std::vector<Mesh>& meshes, int mesh) {
  if (mesh < 0) return 0;
  const std::vector<double>& v = meshes[static_cast<std::size_t>(mesh)].vertex;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t i = axis; i < v.size(); i += 3) {
      low = std::min(low, v[i]), high = std::max(high, v[i]);
    }
    least = std::min(least, 0.5 * (high - low));
  }
  return least;
}

}  // namespace

Forward forward(const System& robot, const ObservedRows& rows_at) {
  Forward out{.robot = robot, .checked = CheckedRows(robot, rows_at)};
  ObservedInstants at(robot, out.checked);
  const Tree& tree = at.tree();
  const ModelView& m = tree.model;
  const Workspace<double>& w = at.work;
  const std::size_t rows = static_cast<std::size_t>(at.rows()), nv = static_cast<std::size_t>(m.nv);
  out.qacc.resize(rows * nv);
  out.mass_matrix.resize(rows * nv * nv);
  out.bias.resize(rows * nv);
  out.body_pos.resize(rows * m.bodies.size() * 3);
  out.body_quat.resize(rows * m.bodies.size() * 4);
  out.site_pos.resize(rows * m.sites.size() * 3);
  out.energy.resize(rows * 2);
  for (std::size_t i = 0; i < rows; ++i) {
    at.go_to(static_cast<std::int64_t>(i));
    const Robot<double, double> r = at.robot();
    const Instant<double> x = at.instant();
    LaneNote note;
    at.dynamics(&note).accelerate(r, x, w, out.qacc.data() + i * nv);
    if (fell_short(&note, 1)) out.notes.push_back({static_cast<std::int64_t>(i), note});
    add_contacts(at, r, out.contacts);
    inverse_dynamics(r, x, w, static_cast<const double*>(nullptr), out.bias.data() + i * nv);
    out.energy[2 * i] = potential_energy(r, x, w);
    out.energy[2 * i + 1] = kinetic_energy(r, x, w);
    fill_square(tree, w.LD, out.mass_matrix.data() + i * nv * nv);
    fill_poses(at, r, i, out);
  }
  fill_up(out.contacts);
  return out;
}

ObservationGradient Forward::pullback(const ForwardBars& bars) const {
  const bool by_qacc = given(bars.qacc, qacc.size(), "qacc_bar"),
             by_matrix = given(bars.mass_matrix, mass_matrix.size(), "mass_matrix_bar"),
             by_bias = given(bars.bias, bias.size(), "bias_bar");
  ObservedInstants at(robot, checked);
  ObservationGradient g = checked.zero_gradient(robot);
  const Tree& tree = at.tree();
  const Workspace<double>& w = at.work;
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  const std::vector<double> no_qacc(nv, 0.0);
  std::vector<double> M_bar(static_cast<std::size_t>(tree.entries())), unused(nv);
  for (std::size_t i = 0; i < static_cast<std::size_t>(checked.rows); ++i) {
    at.go_to(static_cast<std::int64_t>(i));
    const Robot<double, double> r = at.robot();
    const Instant<double> x = at.instant();
    if (by_qacc) {
      std::copy_n(bars.qacc.data() + i * nv, nv, w.mu);
      at.dynamics().pullback(r, x, w, qacc.data() + i * nv, static_cast<const double*>(nullptr),
                             at.bars());
    }
    if (by_matrix || by_bias) place_bodies(r, x, w);
    if (by_bias) {
      inverse_dynamics_pullback(r, x, w, no_qacc.data(), bars.bias.data() + i * nv, unused.data(),
                                at.bars());
    }
    if (by_matrix) {
      gather_square(tree, bars.mass_matrix.data() + i * nv * nv, M_bar.data());
      inertia_matrix_pullback(r, x, w, static_cast<const double*>(M_bar.data()), at.bars());
    }
    at.hand_over(g);
  }
  return g;
}

std::vector<double> half_widths(const System& robot) {
  const Model& model = key_of(robot).tree->source;
  std::vector<double> widths;
  for (const Geom& g : model.geoms) {
    const auto& s = g.size;
    switch (g.shape) {
      case Shape::sphere:
      case Shape::capsule: widths.push_back(s[0]); break;
      case Shape::cylinder: widths.push_back(std::min(s[0], s[1])); break;
      case Shape::ellipsoid:
      case Shape::box: widths.push_back(std::min({s[0], s[1], s[2]})); break;
      case Shape::mesh: widths.push_back(mesh_half_width(model.meshes, g.data)); break;
      default: widths.push_back(std::numeric_limits<double>::infinity());
    }
  }
  return widths;
}

InverseDynamics inverse_dynamics(const System& robot, const ObservedRows& rows_at,
                                 std::span<const double> qacc) {
  InverseDynamics out{robot, CheckedRows(robot, rows_at), {qacc.begin(), qacc.end()}, {}};
  ObservedInstants at(robot, out.checked);
  const std::size_t nv = static_cast<std::size_t>(at.tree().model.nv);
  out.tau.resize(static_cast<std::size_t>(at.rows()) * nv);
  if (!given(qacc, out.tau.size(), "qacc")) {
    throw Error(message("qacc: expected ", out.tau.size(), " numbers, got none"));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(at.rows()); ++i) {
    at.go_to(static_cast<std::int64_t>(i));
    const Robot<double, double> r = at.robot();
    const Instant<double> x = at.instant();
    place_bodies(r, x, at.work);
    inverse_dynamics(r, x, at.work, qacc.data() + i * nv, out.tau.data() + i * nv);
  }
  return out;
}

InverseDynamicsGradient InverseDynamics::pullback(std::span<const double> tau_bar) const {
  ObservedInstants at(robot, checked);
  InverseDynamicsGradient g{checked.zero_gradient(robot), std::vector<double>(qacc.size(), 0.0)};
  if (!given(tau_bar, tau.size(), "tau_bar")) {
    throw Error(message("tau_bar: expected ", tau.size(), " numbers, got none"));
  }
  const std::size_t nv = static_cast<std::size_t>(at.tree().model.nv);
  for (std::size_t i = 0; i < static_cast<std::size_t>(at.rows()); ++i) {
    at.go_to(static_cast<std::int64_t>(i));
    const Robot<double, double> r = at.robot();
    const Instant<double> x = at.instant();
    place_bodies(r, x, at.work);
    inverse_dynamics_pullback(r, x, at.work, qacc.data() + i * nv, tau_bar.data() + i * nv,
                              g.qacc.data() + i * nv, at.bars());
    at.hand_over(g.at);
  }
  return g;
}

}  // namespace cycloid::inline rigid
