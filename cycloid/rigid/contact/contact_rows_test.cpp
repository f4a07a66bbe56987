#include "cycloid/rigid/contact/contact_rows_pullback.h"

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::contact_rows_test {

using test::ContactCase;
using test::Numbers;

constexpr int kSlots = 28, kNumbers = 5;
constexpr int kOutputs = kSlots * kMostRows * kNumbers;

// Per slot and row: J μ, J q̈, a_ref, D, friction.
template <class S>
void rows_of(const Tree& tree, const S* in, S* out) {
  ContactCase<S> c(tree, in);
  c.find();
  c.add_rows();
  const std::vector<S> of_mu = c.products(c.scene.mu), of_a = c.products(c.acceleration.x);
  for (int i = 0; i < kOutputs; ++i) out[i] = S(0);
  c.for_rows([&](int slot, int i, int row, const S& has) {
    if (slot >= kSlots) return;
    S* to = out + (slot * kMostRows + i) * kNumbers;
    to[0] = of_mu[static_cast<std::size_t>(row)] * has;
    to[1] = of_a[static_cast<std::size_t>(row)] * has;
    to[2] = c.problem.a_ref[row] * has;
    to[3] = c.problem.D[row] * has;
    to[4] = c.problem.friction[row] * has;
  });
}

// times: of so many parts of the cotangents; several wait with those of the pairs' numbers.
template <class S>
void rows_of_pullback(const Tree& tree, int times, const S* in, const S* out_bar, S* in_bar) {
  ContactCase<S> c(tree, in);
  c.find();
  std::vector<S> numbers(static_cast<std::size_t>(2 * kSlots + 2));
  ContactRecord<S> record{numbers.data(), kSlots};
  keep_contacts(c.space, record);
  recall_contacts(c.at, record, c.space);
  c.add_rows();
  const std::size_t all = static_cast<std::size_t>(c.problem.all_rows()) + 1;
  std::vector<S> f(all, S(0)), r_bar(f), a_ref_bar(f), D_bar(f), friction_bar(f);
  const S part = S(1) / S(times);
  c.for_rows([&](int slot, int i, int row, S has) {
    if (slot >= kSlots) return;
    has *= part;
    const S* from = out_bar + (slot * kMostRows + i) * kNumbers;
    const std::size_t k = static_cast<std::size_t>(row);
    f[k] = from[0] * has, r_bar[k] = from[1] * has, a_ref_bar[k] = from[2] * has;
    D_bar[k] = from[3] * has, friction_bar[k] = from[4] * has;
  });
  test::SceneBars<S> bars(c.scene, in);
  test::FieldSweepMemory<S> memory(tree);
  const FieldSweepSpace<S> sweep = memory.view();
  sweep.clear(tree);
  ReferenceOptions<S> options_bar;
  const RowGradient<S> sink{{bars.m.data(), sweep.bars.m, nullptr, bars.v.data(), bars.pose.data()},
                            bars.q_bar.data(),
                            bars.v_bar.data(),
                            bars.p_bar.data(),
                            options_bar};
  c.space.begin(c.plan);
  c.space.waits = times > 1;
  for (int i = 0; i < times; ++i) {
    contact_rows_pullback(
        c.at, c.space, c.instant, c.problem, c.first,
        RowResults<S>{f.data(), r_bar.data(), a_ref_bar.data(), D_bar.data(), friction_bar.data()},
        sink);
  }
  add_waiting_numbers(c.plan, tree, c.scene.p.data(), c.space, bars.p_bar.data());
  field_sweep_pullback(tree, c.scene.p.data(), c.scene.frames, c.scene.qpos.data(),
                       c.acceleration.x.data(), c.acceleration.y.data(), sweep, bars.q_bar.data(),
                       bars.p_bar.data(), static_cast<S*>(nullptr));
  bars.p_bar[static_cast<std::size_t>(tree.options.timestep)] += options_bar.timestep;
  bars.p_bar[static_cast<std::size_t>(tree.options.impratio)] += options_bar.impratio;
  bars.add_to_inputs(in_bar);
}

// Returns the number of contacts at the points.
int check_rows(const Tree& tree, int times = 1) {
  const std::vector<Numbers> points = test::crowd_points(tree);
  int contacts = 0;
  for (const Numbers& x : points) {
    ContactCase<double> c(tree, x.data());
    c.find();
    CHECK(c.space.slots > 0);
    CHECK(c.space.slots <= kSlots);
    contacts += c.space.slots;
  }
  test::check_pullback(
      "contact_rows", kOutputs, [&](const auto* in, auto* out) { rows_of(tree, in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        rows_of_pullback(tree, times, in, out_bar, in_bar);
      },
      points);
  return contacts;
}

TEST_CASE("contact_rows: pullback equals dual numbers for both cones, in all that touches") {
  for (const bool elliptic : {false, true}) {
    CHECK(check_rows(Tree(test::crowd(elliptic))) >= 40);
    CHECK(check_rows(Tree(test::loner(elliptic))) >= 8);
  }
}

TEST_CASE("contact_rows: cotangents of pairs' numbers may wait for further ones") {
  CHECK(check_rows(Tree(test::crowd(true)), 2) >= 40);
}

// J q̇, D, a_ref and friction of all rows.
Numbers all_rows(const ContactCase<test::Lanes>& c) {
  const std::vector<test::Lanes> products = c.products(c.scene.qvel);
  Numbers out;
  for (int i = 0; i < c.problem.all_rows(); ++i) {
    for (int l = 0; l < 4; ++l) {
      const auto add = [&](const test::Lanes& x) { out.push_back(lane(x, l)); };
      add(products[static_cast<std::size_t>(i)]);
      add(c.problem.D[i]), add(c.problem.a_ref[i]), add(c.problem.friction[i]);
    }
  }
  return out;
}

TEST_CASE("add_contact_rows: one parameter vector for all lanes acts as one per lane") {
  const Tree tree(test::crowd(true));
  std::vector<Numbers> points = test::crowd_points(tree);
  const std::ptrdiff_t first = 2 * tree.model.nv;
  for (Numbers& x : points)
    std::copy(points[0].begin() + first, points[0].end(), x.begin() + first);
  const std::vector<test::Lanes> in = test::in_lanes(points, {0, 1, 2, 3});
  ContactCase<test::Lanes> c(tree, in.data());
  c.find();
  c.add_rows();
  const Numbers per_lane = all_rows(c);
  const test::Prepared<double> prepared(tree, points[0].data() + first);
  const ContactScene<test::Lanes, double> shared{c.plan, tree, prepared.p.data(), c.scene.frames};
  find_contacts(shared, Detection::forces, c.space);
  c.problem.clear();
  add_contact_rows(shared, c.space, c.instant, c.problem);
  c.problem.close();
  CHECK(per_lane.size() > 100);
  CHECK(test::relative_error(all_rows(c), per_lane) < 1e-12);
}

}  // namespace cycloid::contact_rows_test
