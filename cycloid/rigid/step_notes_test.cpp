// What a step says about its lanes, and that neither it nor its pullback allocates.
#include "cycloid/rigid/step_notes.h"

#include "cycloid/rigid/contact/contact_case_test.h"
#include "cycloid/rigid/robot.h"
#include "tests/support/allocation_count.h"
#include "tests/support/stepper_run.h"

namespace cycloid::test::step_notes_test {

// A chunk of a robot. Row l of `x` is lane l's.
template <class T>
struct Chunk {
  Chunk(const System& system, const Rows<double>& x)
      : stepper(*system.steppers<T>().packed),
        n(stepper.sizes()),
        workspace(stepper.make_workspace({})),
        p(numbers(n.parameters)),
        state(numbers(n.state)),
        next(numbers(n.state)),
        u(numbers(n.input)),
        record(stepper),
        bar(numbers(n.tangent)),
        x_bar(numbers(n.tangent)),
        u_bar(numbers(n.input)) {
    const auto values = system.parameters().default_values();
    to_lanes(Rows<double>{Numbers(values.begin(), values.end())}, n.parameters, n.lanes, p.data());
    to_lanes(x, n.state, n.lanes, state.data());
    std::fill_n(u.data(), numbers(n.input), T(0));
    std::fill_n(bar.data(), numbers(n.tangent), T(1));
    std::fill_n(x_bar.data(), numbers(n.tangent), T(0));
    std::fill_n(u_bar.data(), numbers(n.input), T(0));
    stepper.begin({p.data()}, *workspace);
  }
  std::size_t numbers(int count) const { return static_cast<std::size_t>(count * n.lanes); }

  StepStatus step() {
    return stepper.step({state.data(), u.data(), 0, 0.0}, next.data(), &record, *workspace);
  }
  void pull() {
    stepper.pullback({state.data(), u.data(), 0, 0.0}, record, bar.data(), x_bar.data(),
                     u_bar.data(), *workspace);
  }
  const LaneNote& note(int l) { return stepper.notes(*workspace)[l]; }

  const Stepper<T>& stepper;
  const StepperSizes& n;
  std::unique_ptr<StepWorkspace> workspace;
  LaneMemory<T> p, state, next, u;
  test::RecordRoom record;
  LaneMemory<T> bar, x_bar, u_bar;
};

System robot(Model m, Precision precision = Precision::float64) {
  m.qpos0.assign(static_cast<std::size_t>(m.nq), 0.0);
  for (const Joint& j : m.joints) {
    if (j.kind == JointKind::free || j.kind == JointKind::ball) {
      m.qpos0[static_cast<std::size_t>(j.qpos + (j.kind == JointKind::free ? 3 : 0))] = 1;
    }
  }
  return make_robot(m, {.precision = precision});
}

// A slab on `side`² balls, above a floor.
Model slab(int side, bool with_floor = true) {
  CrowdBuilder b;
  if (with_floor) b.geom("floor", 0, Shape::plane, {});
  const int body = b.free_body("slab");
  for (int i = 0; i < side * side; ++i) {
    b.geom("", body, Shape::sphere, {0.05}, {0.11 * (i % side), 0.11 * (i / side), 0});
  }
  complete(b.model);
  return b.model;
}

// So many balls on rails, in a row, of which neighbours touch.
Model necklace(int balls) {
  CrowdBuilder b;
  for (int i = 0; i < balls; ++i) {
    const int body = b.body("", 0, {0.19 * i, 0, 0.01 * (i % 3)}, {1, 0, 0, 0});
    b.joint("", JointKind::slide, {0, 0.3, 1}, {});
    b.geom("", body, Shape::sphere, {0.1});
  }
  complete(b.model);
  return b.model;
}

template <class T>
std::int64_t allocations_of(const System& system) {
  const auto x = system.initial_state();
  Chunk<T> chunk(system, {Numbers(x.begin(), x.end())});
  const std::int64_t before = allocation_count();
  for (int k = 0; k < 3; ++k) {
    CHECK(chunk.step() == StepStatus::ok);
    chunk.pull();
  }
  return allocation_count() - before;
}

TEST_CASE("allocation_count: counts what new hands out, aligned or not") {
  const std::int64_t before = allocation_count();
  const LaneMemory<double> aligned(3);
  const std::vector<double> plain(3);
  CHECK(allocation_count() == before + 2);
}

TEST_CASE("RobotStepper: neither a step nor its pullback allocates") {
  for (const auto integrator :
       {RigidIntegrator::euler, RigidIntegrator::implicitfast, RigidIntegrator::rk4}) {
    Model touching = crowd(true), many = necklace(40), smooth = slab(2, false);
    for (Model* m : {&touching, &many, &smooth}) {
      m->options.integrator = integrator;
      CHECK(allocations_of<double>(robot(*m)) == 0);
      CHECK(allocations_of<float>(robot(*m, Precision::float32)) == 0);
    }
  }
  CHECK(ContactPlan(Tree(necklace(40)), DofBlocks(Tree(necklace(40)).parent_dof)).broad.sweep);
}

TEST_CASE("RobotStepper: notes have each lane's contacts and active rows") {
  const System system = robot(slab(2));
  const Numbers above = {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  Numbers on = above, tilted = above;
  on[2] = 0.04;
  tilted[2] = 0.04, tilted[3] = std::cos(0.5), tilted[4] = std::sin(0.5);  // two feet up
  Chunk<double> chunk(system, {above, on, tilted});
  REQUIRE(chunk.n.lanes >= 2);
  CHECK(chunk.step() == StepStatus::ok);
  CHECK(chunk.note(0).counters[kContacts] == 0);
  CHECK(chunk.note(0).active_set == 0);
  CHECK(chunk.note(0).counters[kActiveRows] == 0);
  CHECK(chunk.note(1).counters[kContacts] == 4);
  CHECK(chunk.note(1).active_set != 0);
  CHECK(chunk.note(1).counters[kActiveRows] > 0);
  for (int l = 0; l < chunk.n.lanes; ++l) {
    CHECK(chunk.note(l).residual == 0);
    CHECK_FALSE(chunk.note(l).crowded);
    if (l % 3 == 2) CHECK(chunk.note(l).counters[kContacts] == 2);
  }
  const System smooth = robot(slab(2, false));
  const Stepper<double>& packed = *smooth.steppers<double>().packed;
  CHECK(packed.notes(*packed.make_workspace({})) == nullptr);
}

TEST_CASE("row_zones: pyramids by direction, elliptic cones as a whole, dry friction by side") {
  double f[3] = {}, diagonal[3] = {1, 1, 0}, cross[3] = {0, 0.5, 0}, z[3] = {};
  const ConstraintResponse<double> at{f, diagonal, cross, z};
  CHECK(row_zones(at, RowLaw::pyramid, 0, 3).code == 1 + 4 * 2);
  CHECK(row_zones(at, RowLaw::pyramid, 0, 3).stiff == 2);
  CHECK(row_zones(at, RowLaw::elliptic, 0, 3).code == 3);  // slips
  CHECK(row_zones(at, RowLaw::elliptic, 0, 3).stiff == 1);
  cross[1] = -0.5;
  CHECK(row_zones(at, RowLaw::pyramid, 0, 3).code == 1 + 4 * 3);
  cross[1] = 0;
  CHECK(row_zones(at, RowLaw::pyramid, 0, 3).code == 1 + 4);
  CHECK(row_zones(at, RowLaw::elliptic, 0, 3).code == 1);
  CHECK(row_zones(at, RowLaw::given, 0, 3).code == 0);
  CHECK(row_zones(at, RowLaw::friction_loss, 2, 1).code == 0);
  f[0] = 2, f[2] = -1;
  CHECK(row_zones(at, RowLaw::given, 0, 3).code == 1);
  CHECK(row_zones(at, RowLaw::friction_loss, 2, 1).code == 3);
  CHECK(row_zones(at, RowLaw::friction_loss, 2, 1).stiff == 0);
  CHECK(row_zones(at, RowLaw::one_sided, 1, 1).code == 1);
}

TEST_CASE("RobotStepper: one contact that opens while another closes is another active set") {
  // Two balls on a floor, each on a rail of its own: left, right, both or none of them touch.
  CrowdBuilder b;
  b.geom("floor", 0, Shape::plane, {});
  for (const double x : {0.0, 1.0}) {
    const int body = b.body("", 0, {x, 0, 0}, {1, 0, 0, 0});
    b.joint("", JointKind::slide, {0, 0, 1}, {});
    b.geom("", body, Shape::sphere, {0.1});
  }
  complete(b.model);
  const System system = robot(b.model);
  const Numbers left = {0.09, 0.5, 0, 0}, right = {0.5, 0.09, 0, 0}, both = {0.09, 0.09, 0, 0},
                none = {0.5, 0.5, 0, 0};
  const auto set_of = [&](const Numbers& x, const Numbers& neighbour) {
    Chunk<double> chunk(system, {x, neighbour});
    CHECK(chunk.step() == StepStatus::ok);
    return chunk.note(0).active_set;
  };
  CHECK(set_of(left, left) != set_of(right, right));  // as many rows
  CHECK(set_of(left, left) != set_of(both, both));
  CHECK(set_of(none, none) == 0);
  for (const Numbers& x : {left, right, both, none}) {
    for (const Numbers& neighbour : {left, right, both, none}) {
      CHECK(set_of(x, neighbour) == set_of(x, x));
    }
  }
}

TEST_CASE("RobotStepper: the two ends of a range, and slip to either side, are different sets") {
  CrowdBuilder b;
  const int body = b.body("", 0, {0, 0, 0}, {1, 0, 0, 0});
  b.joint("", JointKind::slide, {1, 0, 0}, {});
  b.geom("", body, Shape::sphere, {0.1});
  complete(b.model);
  b.model.dofs[0].inverse_weight = 0.5;
  const auto set_of = [](const Model& m, double q, double v) {
    const System system = robot(m);
    Chunk<double> chunk(system, {{q, v}});
    CHECK(chunk.step() == StepStatus::ok);
    return chunk.note(0).active_set;
  };
  Model limited = b.model, rubbing = b.model;
  limited.joints[0].range = {true, -0.5, 0.5};
  const std::uint64_t low = set_of(limited, -0.6, 0), high = set_of(limited, 0.6, 0);
  CHECK(low != 0);
  CHECK(high != 0);
  CHECK(low != high);
  CHECK(set_of(limited, 0, 0) == 0);
  rubbing.dofs[0].frictionloss = 0.01;
  const std::uint64_t ahead = set_of(rubbing, 0, 1), back = set_of(rubbing, 0, -1),
                      still = set_of(rubbing, 0, 0);
  CHECK(ahead != back);
  CHECK(ahead != still);
  CHECK(back != still);
}

TEST_CASE("RobotStepper: a lane with more contacts than slots is crowded, its neighbour is not") {
  const System system = robot(slab(17));  // 289 feet
  Numbers on = {0, 0, 0.04, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, above = on;
  above[2] = 1;
  Chunk<double> chunk(system, {on, above});
  REQUIRE(chunk.n.lanes >= 2);
  CHECK(chunk.step() == StepStatus::short_of);
  CHECK(chunk.note(0).crowded);
  CHECK(chunk.note(0).counters[kContacts] == kMostContacts);
  CHECK_FALSE(chunk.note(1).crowded);
  CHECK(chunk.note(1).counters[kContacts] == 0);
}

TEST_CASE("take_notes: lanes that are not solved keep the largest residual of their solves") {
  using S = Pack<float, 4>;
  ConstrainedSpace<S> solver;
  solver.problem.clear();
  ContactSpace<S> contacts;
  contacts.clear();
  LaneNote notes[4];
  S residual(0.5f);
  set_lane(residual, 2, std::numeric_limits<float>::quiet_NaN());
  set_lane(residual, 3, 0.25f);
  S which(1);
  set_lane(which, 0, 0.0f);  // solved
  NewtonResult<S> result{residual, S(3), which == S(0), Mask<S>(true)};
  take_notes(result, solver, {}, contacts, notes);
  CHECK(fell_short(notes, 4));
  result.residual = S(0.375f);
  take_notes(result, solver, {}, contacts, notes);
  CHECK(notes[0].residual == 0);
  CHECK(notes[1].residual == 0.5);
  CHECK(notes[2].residual == std::numeric_limits<double>::infinity());
  CHECK(notes[3].residual == 0.375);
  CHECK_FALSE(fell_short(notes, 1));
}

}  // namespace cycloid::test::step_notes_test
