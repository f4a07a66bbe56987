#include "cycloid/soft/solid_stepper.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/soft/solid.h"
#include "cycloid/system/observer.h"
#include "tests/support/pullback_check.h"
#include "tests/support/stepper_run.h"

namespace cycloid {
namespace {

using test::FixedNumbers;
using test::Numbers;

double dot(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Everything that a step is a function of.
struct Inputs {
  Numbers x, u, p;
};

Inputs moved(Inputs at, const Inputs& along, double e) {
  for (std::size_t i = 0; i < at.x.size(); ++i) at.x[i] += e * along.x[i];
  for (std::size_t i = 0; i < at.u.size(); ++i) at.u[i] += e * along.u[i];
  for (std::size_t i = 0; i < at.p.size(); ++i) at.p[i] += e * along.p[i];
  return at;
}

// One step, its pullback, and its pushforward along a direction.
struct Once {
  Once(const System& system, const Inputs& in, std::int64_t k, const Numbers* bar = nullptr,
       const Inputs* along = nullptr, int threads = 1) {
    const Stepper<double>& stepper = *system.steppers<double>().one;
    const auto workspace = stepper.make_workspace({threads});
    const std::size_t lanes = static_cast<std::size_t>(stepper.sizes().parameters);
    back = {Numbers(in.x.size(), 0.0), Numbers(in.u.size(), 0.0), Numbers(in.p.size(), 0.0)};
    std::vector<const double*> arrays, arrays_tan;
    std::vector<double*> arrays_bar;
    std::size_t place = lanes;
    for (const std::int64_t n : stepper.sizes().arrays) {
      arrays.push_back(in.p.data() + place);
      arrays_bar.push_back(back.p.data() + place);
      if (along) arrays_tan.push_back(along->p.data() + place);
      place += static_cast<std::size_t>(n);
    }
    CHECK(place == in.p.size());
    stepper.begin({in.p.data(), arrays.data(), arrays_bar.data(), nullptr}, *workspace);
    const StepInput<double> at{in.x.data(), in.u.data(), k, 0.0};
    test::RecordRoom record(stepper);
    next.resize(in.x.size());
    status = stepper.step(at, next.data(), &record, *workspace);
    iterations = stepper.notes(*workspace)->counters[0];
    if (status == StepStatus::non_finite) {
      trouble = stepper.explain(at, 0, *workspace);
      return;
    }
    if (bar) {
      stepper.pullback(at, record, bar->data(), back.x.data(), back.u.data(), *workspace);
      stepper.finish(*workspace, back.p.data());
    }
    if (along) {
      next_tan.resize(in.x.size());
      CHECK(stepper.pushforward(
          at, record, {along->x.data(), along->u.data(), along->p.data(), arrays_tan.data()},
          next_tan.data(), *workspace));
    }
  }
  StepStatus status;
  StepTrouble trouble;
  int iterations = 0;
  Numbers next, next_tan;
  Inputs back;
};

// A distorted block, held by one face, with everything that a body can have.
System block(const std::string& material, const std::string& integrator, ElementKind element,
             bool per_cell = false, bool muscle = false) {
  SolidMesh mesh = box_mesh({2, 1, 2}, {0.4, 0.2, 0.3}, element);
  FixedNumbers random(5);
  for (double& v : mesh.vertices) v += 0.01 * random.next();
  SolidOptions o;
  o.material = material, o.integrator = integrator;
  o.young = Numbers(per_cell ? static_cast<std::size_t>(mesh.cell_count()) : 1, 2e4);
  o.density = Numbers(o.young.size(), 900.0);
  o.damping = 0.01, o.drag = 0.4, o.mooney = 0.3, o.dt = 0.02;
  o.mass = Numbers(mesh.vertices.size() / 3, 0.02);
  o.held.assign(mesh.vertices.size(), 0);
  for (std::size_t v = 0; v < o.held.size() / 3; ++v) {
    if (mesh.vertices[3 * v] < 0.05) o.held[3 * v] = o.held[3 * v + 1] = o.held[3 * v + 2] = 1;
  }
  o.held[o.held.size() - 2] = 1;  // and one number of the last vertex
  o.inputs = {"pinned", "force"};
  if (material == "plastic") o.yield = 30, o.hardening = 3e3;  // everything flows
  if (muscle) {
    o.muscles = {{{}, {0.2, 1, 0.3}, 3e3, 5e3}, {{1, 0}, {1, 0, 0, 0, 0.5, 0.6}, 1e3, 2e3}};
    o.inputs = {"pinned", "muscle:#0", "force", "muscle:#1"};
  }
  return solid(mesh, o);
}

Inputs inputs_of(const System& system) {
  FixedNumbers random(9);
  Inputs in{system.initial_state(), random.vector(static_cast<std::size_t>(system.inputs().size())),
            system.parameters().default_values()};
  const auto half = static_cast<std::size_t>(system.parameters().find("vertices").size);
  for (std::size_t i = 0; i < half; ++i) in.x[i] += 0.01 * random.next();
  for (std::size_t i = half; i < 2 * half; ++i) in.x[i] = 0.3 * random.next();
  for (std::size_t i = 2 * half; i < in.x.size(); ++i) in.x[i] = 0.02 * random.next();
  const auto& blocks = system.inputs().blocks();
  for (const Block& b : blocks) {
    for (int i = b.offset; i < b.offset + b.size; ++i) {
      in.u[static_cast<std::size_t>(i)] *= b.name == "pinned" ? 0.01 : 5;
    }
  }
  return in;
}

// A direction in which every number moves by a part of its size.
Inputs direction_of(const System& system, const Inputs& in, std::uint64_t seed) {
  FixedNumbers random(seed);
  Inputs d = in;
  for (double& v : d.x) v = 0.01 * random.next();
  for (double& v : d.u) v = 0.01 * random.next();
  for (double& v : d.p) v = (std::abs(v) > 1e-3 ? std::abs(v) : 0.1) * 0.1 * random.next();
  const Parameter& vertices = system.parameters().find("vertices");
  for (int i = 0; i < vertices.size; ++i) {
    d.p[static_cast<std::size_t>(vertices.offset + i)] = 0.01 * random.next();
  }
  return d;
}

// The derivative of ⟨bar, next⟩ along d, by central differences of sixth order.
double differences(const System& system, const Inputs& in, std::int64_t k, const Inputs& d,
                   const Numbers& bar, double h) {
  const auto value = [&](double e) { return dot(bar, Once(system, moved(in, d, e), k).next); };
  return (45 * (value(h) - value(-h)) - 9 * (value(2 * h) - value(-2 * h)) +
          (value(3 * h) - value(-3 * h))) /
         (60 * h);
}

// The pullback in dual numbers: of each number, what it changes by along d, with bar held.
Inputs second(const System& system, const Inputs& in, std::int64_t k, const Inputs& d,
              const Numbers& bar, const Inputs& first) {
  const Stepper<double>& stepper = *system.steppers<double>().dual;
  const auto workspace = stepper.make_workspace({1});
  const auto pairs = [](const Numbers& values, const Numbers& tangents, std::size_t count) {
    Numbers out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(values[i]), out.push_back(tangents[i]);
    return out;
  };
  Inputs back{Numbers(in.x.size(), 0.0), Numbers(in.u.size(), 0.0), Numbers(in.p.size(), 0.0)},
      back_tan = back;
  const auto lanes = static_cast<std::size_t>(stepper.sizes().parameters);
  std::vector<const double*> arrays, arrays_tan;
  std::vector<double*> arrays_bar, arrays_bar_tan;
  std::size_t place = lanes;
  for (const std::int64_t n : stepper.sizes().arrays) {
    arrays.push_back(in.p.data() + place), arrays_tan.push_back(d.p.data() + place);
    arrays_bar.push_back(back.p.data() + place);
    arrays_bar_tan.push_back(back_tan.p.data() + place);
    place += static_cast<std::size_t>(n);
  }
  const Numbers none(in.x.size(), 0.0),
      p = pairs(in.p, d.p, lanes), x = pairs(in.x, d.x, in.x.size()),
      u = pairs(in.u, d.u, in.u.size()), next_bar = pairs(bar, none, bar.size());
  Numbers next(2 * in.x.size()), x_bar(next.size(), 0.0), u_bar(2 * in.u.size(), 0.0),
      p_bar(2 * lanes, 0.0);
  stepper.begin({p.data(), arrays.data(), arrays_bar.data(), nullptr, arrays_tan.data(),
                 arrays_bar_tan.data()},
                *workspace);
  const StepInput<double> at{x.data(), u.data(), k, 0.0};
  test::RecordRoom record(stepper);
  CHECK(stepper.step(at, next.data(), &record, *workspace) == StepStatus::ok);
  stepper.pullback(at, record, next_bar.data(), x_bar.data(), u_bar.data(), *workspace);
  stepper.finish(*workspace, p_bar.data());
  const auto split = [](const Numbers& of, Numbers& values, Numbers& tangents) {
    for (std::size_t i = 0; i < of.size(); i += 2) {
      values[i / 2] += of[i], tangents[i / 2] += of[i + 1];
    }
  };
  split(x_bar, back.x, back_tan.x), split(u_bar, back.u, back_tan.u);
  split(p_bar, back.p, back_tan.p);
  CHECK(back.x == first.x);  // values are those of the first derivative, bit for bit
  CHECK(back.u == first.u);
  CHECK(back.p == first.p);
  return back_tan;
}

// Against differences of sixth order of the pullback, block by block.
void check_second(const System& system, std::int64_t k, const Inputs& in, double h = 0.02) {
  const Inputs d = direction_of(system, in, 33);
  const Numbers bar = FixedNumbers(4).vector(in.x.size());
  const auto first = [&](double e) { return Once(system, moved(in, d, e), k, &bar).back; };
  const Inputs found = second(system, in, k, d, bar, first(0));
  Inputs expected{Numbers(d.x.size(), 0.0), Numbers(d.u.size(), 0.0), Numbers(d.p.size(), 0.0)};
  const double weight[] = {45, -9, 1};
  for (int m = 1; m <= 3; ++m) {
    expected = moved(expected, first(m * h), weight[m - 1] / (60 * h));
    expected = moved(expected, first(-m * h), -weight[m - 1] / (60 * h));
  }
  const auto check = [&](const std::string& what, const Numbers& a, const Numbers& b, int from,
                         int count) {
    CAPTURE(what);
    double most = 0, off = 0;
    for (int i = from; i < from + count; ++i) {
      const auto j = static_cast<std::size_t>(i);
      most = std::max(most, std::abs(b[j])), off = std::max(off, std::abs(a[j] - b[j]));
    }
    CHECK(most > 1e-9);
    CHECK(off <= 1e-6 * most);
  };
  check("state", found.x, expected.x, 0, static_cast<int>(d.x.size()));
  check("inputs", found.u, expected.u, 0, static_cast<int>(d.u.size()));
  for (const Parameter& p : system.parameters().all()) {
    check(p.name, found.p, expected.p, p.offset, p.size);
  }
}
void check_second(const System& system, std::int64_t k) {
  check_second(system, k, inputs_of(system));
}

void check_step(const System& system, std::int64_t k, const Inputs& in, double h = 0.02) {
  const Inputs d = direction_of(system, in, 21);
  const Numbers bar = FixedNumbers(4).vector(in.x.size());
  const Once once(system, in, k, &bar, &d);
  REQUIRE(once.status == StepStatus::ok);
  const double pulled = dot(once.back.x, d.x) + dot(once.back.u, d.u) + dot(once.back.p, d.p);
  CHECK(dot(bar, once.next_tan) == doctest::Approx(pulled).epsilon(1e-10));
  // Each kind of input on its own.
  const Inputs none{Numbers(d.x.size(), 0.0), Numbers(d.u.size(), 0.0), Numbers(d.p.size(), 0.0)};
  const auto check = [&](const std::string& what, const Inputs& along, double expected) {
    CAPTURE(what);
    CHECK(std::abs(expected) > 1e-6);
    CHECK(differences(system, in, k, along, bar, h) ==
          doctest::Approx(expected).epsilon(1e-7).scale(1e-3 * std::abs(pulled)));
  };
  check("state", {d.x, none.u, none.p}, dot(once.back.x, d.x));
  check("inputs", {none.x, d.u, none.p}, dot(once.back.u, d.u));
  for (const Parameter& p : system.parameters().all()) {
    Inputs along = none;
    std::copy_n(d.p.begin() + p.offset, p.size, along.p.begin() + p.offset);
    check(p.name, along, dot(once.back.p, along.p));
  }
}

void check_step(const System& system, std::int64_t k) { check_step(system, k, inputs_of(system)); }

// Two blocks, one above the other, 0.06 m apart at rest.
System two_blocks(const std::string& integrator, ElementKind element) {
  SolidMesh mesh = box_mesh({1, 1, 1}, {0.3, 0.3, 0.3}, element);
  const int n = mesh.vertex_count(), m = static_cast<int>(mesh.cells.size());
  for (int v = 0; v < n; ++v) {
    const double* const p = mesh.vertices.data() + 3 * v;  // turned, so that no edges are parallel
    const double turned[3] = {0.9 * p[0] - 0.4 * p[1] + 0.12, 0.4 * p[0] + 0.9 * p[1] - 0.03,
                              p[2] + 0.36};
    mesh.vertices.insert(mesh.vertices.end(), turned, turned + 3);
  }
  for (int k = 0; k < m; ++k) mesh.cells.push_back(mesh.cells[static_cast<std::size_t>(k)] + n);
  mesh.part.resize(static_cast<std::size_t>(n), 0), mesh.part.resize(2 * mesh.part.size(), 1);
  mesh.parts = 2;
  SolidOptions o;
  o.integrator = integrator, o.young = {2e4}, o.dt = 0.02, o.damping = 0.01;
  o.held.assign(mesh.vertices.size(), 0);
  o.held[0] = o.held[1] = o.held[2] = 1;
  o.inputs = {"pinned", "force"};
  o.self_contact = true, o.contact_width = 0.05, o.contact_stiffness = 2e3;
  o.friction = 0.4, o.stiction = 0.05;
  return solid(mesh, o);
}

// They touch and rub.
Inputs touching(const System& system) {
  Inputs in = inputs_of(system);
  const auto numbers = static_cast<std::size_t>(system.parameters().find("vertices").size);
  for (std::size_t i = numbers / 2; i < numbers; i += 3) in.x[i + 2] -= 0.035;
  for (std::size_t i = numbers / 2; i < numbers; i += 3) in.x[numbers + i] += 0.3;
  return in;
}

}  // namespace

TEST_CASE("solid: pullback and pushforward through self contact and its friction") {
  const System euler = two_blocks("implicit_euler", ElementKind::hex);
  const Inputs in = touching(euler);
  check_step(euler, 1, in, 6e-4);  // so short that no nearest elements change on the way
  check_step(two_blocks("newmark", ElementKind::tet), 1, in, 6e-4);
  check_step(two_blocks("bdf2", ElementKind::hex), 1, in, 6e-4);
  // It is there: without it the blocks move otherwise; and threads change nothing.
  Inputs loose = in;
  const Parameter& kappa = euler.parameters().find("contact.stiffness");
  loose.p[static_cast<std::size_t>(kappa.offset)] *= 0.5;
  const Numbers next = Once(euler, in, 1).next;
  CHECK(next != Once(euler, loose, 1).next);
  CHECK(next == Once(euler, in, 1, nullptr, nullptr, 2).next);
}

TEST_CASE("solid: pullback and pushforward of implicit Euler, by every number and material") {
  for (const std::string_view material : kMaterialNames) {
    CAPTURE(material);
    check_step(block(std::string(material), "implicit_euler", ElementKind::tet), 1);
  }
  check_step(block("neo_hookean", "implicit_euler", ElementKind::hex, true), 1);
  check_step(block("stvk", "implicit_euler", ElementKind::tet10, true), 1);
  check_step(block("neo_hookean", "implicit_euler", ElementKind::hex), 0);
}

TEST_CASE("solid: pullback and pushforward with muscles, by activation, strength and stiffness") {
  check_step(block("neo_hookean", "implicit_euler", ElementKind::tet, false, true), 1);
  check_step(block("stvk", "newmark", ElementKind::hex, false, true), 1);
  check_step(block("neo_hookean", "bdf2", ElementKind::tet10, false, true), 0);
}

TEST_CASE("solid: pullback and pushforward of plastic flow, by what is remembered too") {
  check_step(block("plastic", "implicit_euler", ElementKind::tet), 1);
  check_step(block("plastic", "implicit_euler", ElementKind::hex), 0);
  check_step(block("plastic", "implicit_euler", ElementKind::tet10), 1);
  test::mark_operator_tested("stage_memory");
}

TEST_CASE("solid: pullback and pushforward of newmark and bdf2, by every number") {
  check_step(block("neo_hookean", "newmark", ElementKind::hex), 1);
  check_step(block("neo_hookean_log", "newmark", ElementKind::tet), 0);
  check_step(block("neo_hookean", "bdf2", ElementKind::hex), 1);
  check_step(block("mooney_rivlin", "bdf2", ElementKind::tet), 0);
  // Both have these stages and nothing else.
  test::mark_operator_tested("stage");
  test::mark_operator_tested("elastic_force");
}

TEST_CASE("solid: second derivatives are those of the pullback, by every number and material") {
  for (const std::string_view material : kMaterialNames) {
    CAPTURE(material);
    check_second(block(std::string(material), "implicit_euler", ElementKind::tet), 1);
  }
  check_second(block("neo_hookean", "implicit_euler", ElementKind::hex, true), 0);
  check_second(block("neo_hookean", "newmark", ElementKind::tet10, true), 1);
  check_second(block("neo_hookean_log", "bdf2", ElementKind::hex), 1);
  check_second(block("stvk", "newmark", ElementKind::hex, false, true), 0);
  check_second(block("plastic", "implicit_euler", ElementKind::hex), 1);
}

TEST_CASE("solid: second derivatives through self contact and its friction") {
  const System euler = two_blocks("implicit_euler", ElementKind::hex);
  check_second(euler, 1, touching(euler), 3e-4);
  const System newmark = two_blocks("newmark", ElementKind::tet);
  check_second(newmark, 1, touching(newmark), 3e-4);
}

TEST_CASE("solid: a step keeps its equation, M (x⁺ - x - h v) = h² f(x⁺)") {
  SolidOptions o;
  o.young = {1e4}, o.dt = 0.02, o.gravity = {0.3, 0.2, -1};
  const SolidMesh mesh = box_mesh({2, 2, 2}, {0.2, 0.2, 0.2}, ElementKind::hex);
  const System system = solid(mesh, o);
  Inputs in = inputs_of(system);
  const Once once(system, in, 1);
  // Nothing holds it: what the forces of the cells add up to is zero, and gravity is all.
  const std::size_t half = in.x.size() / 2;
  const double m = 1000 * 0.008 / 8;  // of a cell's corner, eight of them meet inside
  Numbers mass(half / 3, 0.0);
  for (const int v : mesh.cells) mass[static_cast<std::size_t>(v)] += m / 8;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double before = 0, after = 0;
    for (std::size_t v = 0; v < mass.size(); ++v) {
      before += mass[v] * in.x[half + 3 * v + axis],
          after += mass[v] * once.next[half + 3 * v + axis];
    }
    CHECK(after == doctest::Approx(before + 0.02 * 8.0 * o.gravity[axis]).epsilon(1e-11));
  }
  for (std::size_t i = 0; i < half; ++i) {
    CHECK(once.next[half + i] == doctest::Approx((once.next[i] - in.x[i]) / 0.02).epsilon(1e-9));
  }
}

TEST_CASE("solid: newmark keeps the energy of small vibrations, and implicit Euler loses it") {
  const auto drift = [](const std::string& integrator) {
    SolidOptions o;
    o.young = {1e4}, o.dt = 0.01, o.gravity = {0, 0, 0}, o.integrator = integrator;
    o.material = "linear";
    const System system = solid(box_mesh({2, 1, 1}, {0.4, 0.2, 0.2}, ElementKind::tet), o);
    Inputs in = inputs_of(system);
    const auto observer = system.observables()->differentiable({"energy"});
    const auto workspace = observer->make_workspace({1});
    const int lanes = system.parameters().lane_size();
    const double* arrays[] = {in.p.data() + lanes, in.p.data() + lanes + in.x.size() / 6};
    const auto energy = [&](const Numbers& x) {
      double e = 0;
      observer->begin({in.p.data(), arrays, nullptr, nullptr}, *workspace);
      observer->observe({x.data(), nullptr, 0.0}, &e, *workspace);
      return e;
    };
    const double start = energy(in.x);
    for (int k = 1; k <= 50; ++k) in.x = Once(system, in, k).next;
    return energy(in.x) / start - 1;
  };
  CHECK(std::abs(drift("newmark")) < 1e-10);
  CHECK(drift("implicit_euler") < -0.3);
  CHECK(drift("bdf2") < 0);
}

TEST_CASE("solid: no number depends on the number of threads") {
  const System system = block("neo_hookean", "bdf2", ElementKind::hex);
  const Inputs in = inputs_of(system);
  const Numbers bar = FixedNumbers(4).vector(in.x.size());
  const Once one(system, in, 1, &bar), three(system, in, 1, &bar, nullptr, 3);
  CHECK(one.next == three.next);
  CHECK(one.back.x == three.back.x);
  CHECK(one.back.p == three.back.p);
  CHECK(one.iterations > 0);
}

TEST_CASE("solid: a held face that is pressed by half finds its way, for a material with a log") {
  SolidMesh mesh = box_mesh({4, 1, 1}, {0.4, 0.1, 0.1}, ElementKind::hex);
  SolidOptions o;
  o.material = "neo_hookean_log", o.inputs = {"pinned"}, o.gravity = {0, 0, 0};
  o.held.assign(mesh.vertices.size(), 0);
  for (std::size_t v = 0; v < o.held.size() / 3; ++v) {
    const double x = mesh.vertices[3 * v];
    if (x < 1e-9 || x > 0.4 - 1e-9) o.held[3 * v] = o.held[3 * v + 1] = o.held[3 * v + 2] = 1;
  }
  const System system = solid(mesh, o);
  Inputs in{system.initial_state(), {}, system.parameters().default_values()};
  for (std::size_t i = 0; i < o.held.size(); ++i) {
    if (o.held[i]) in.u.push_back(i % 3 == 0 && mesh.vertices[i] > 0.2 ? -0.2 : 0.0);
  }
  const Once once(system, in, 1);
  CHECK(once.status == StepStatus::ok);
}

TEST_CASE("solid: a start that is turned inside out is named, where the material has no energy") {
  const SolidMesh mesh = box_mesh({2, 1, 1}, {0.2, 0.1, 0.1}, ElementKind::hex);
  SolidOptions o;
  o.material = "neo_hookean_log";
  const System system = solid(mesh, o);
  Inputs in{system.initial_state(), {}, system.parameters().default_values()};
  for (std::size_t i = 0; i < in.x.size() / 2; i += 3) in.x[i] = -in.x[i];
  const Once once(system, in, 1);
  CHECK(once.status == StepStatus::non_finite);
  CHECK(once.trouble.body == "cell 0 near (0.05, 0.05, 0.05)");
}

TEST_CASE("solid: what makes no sense is refused, by name") {
  const SolidMesh mesh = box_mesh({1, 1, 1}, {1, 1, 1}, ElementKind::hex);
  const auto text = [&](const std::function<void(SolidOptions&)>& change) -> std::string {
    SolidOptions o;
    change(o);
    try {
      solid(mesh, o);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto has = [](const std::string& whole, const char* part) {
    CAPTURE(whole);
    CHECK(whole.find(part) != std::string::npos);
  };
  has(text([](auto& o) { o.material = "neo_hokean"; }), "did you mean \"neo_hookean\"");
  has(text([](auto& o) { o.integrator = "rk4"; }), "implicit_euler");
  has(text([](auto& o) { o.poisson = {0.5}; }), "below 0.5");
  has(text([](auto& o) { o.young = {-1}; }), "young");
  has(text([](auto& o) { o.young = {1, 2}; }), "1 cells");
  has(text([](auto& o) { o.density = {std::nan("")}; }), "density");
  has(text([](auto& o) { o.dt = 0; }), "dt must be positive");
  has(text([](auto& o) { o.inputs = {"pinned"}; }), "none is pinned");
  has(text([](auto& o) { o.inputs = {"forces"}; }), "did you mean \"force\"");
}

}  // namespace cycloid
