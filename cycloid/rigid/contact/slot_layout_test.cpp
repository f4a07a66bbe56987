#include "cycloid/rigid/contact/slot_layout.h"

#include <map>
#include <set>

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::slot_layout_test {

using test::ContactCase;
using test::contacts_of;
using test::in_lanes;
using test::Lanes;

using Slots = std::vector<std::pair<int, unsigned>>;

Slots placed(SlotLayout layout, std::initializer_list<unsigned> touches) {
  SlotWalk<4> walk;
  Slots out;
  for (const unsigned lanes : touches) {
    walk.place(layout, lanes, [&](int slot, unsigned in) { out.emplace_back(slot, in); });
  }
  return out;
}

TEST_CASE("SlotWalk: compact gives each lane its next slot, whole gives a touch one slot") {
  // Lane 0 lacks the first touch.
  const std::initializer_list<unsigned> touches = {0b1110, 0b1111, 0b1111};
  CHECK(placed(SlotLayout::compact, touches) ==
        Slots{{0, 0b1110}, {0, 0b0001}, {1, 0b1110}, {1, 0b0001}, {2, 0b1110}});
  CHECK(placed(SlotLayout::whole, touches) == Slots{{0, 0b1110}, {1, 0b1111}, {2, 0b1111}});
}

TEST_CASE("SlotWalk: whole shares a slot among touches of different lanes") {
  CHECK(placed(SlotLayout::whole, {0b0011, 0b1100, 0b0110}) ==
        Slots{{0, 0b0011}, {0, 0b1100}, {1, 0b0110}});
}

// A tower of balls over a floor.
Model tower(int balls) {
  test::CrowdBuilder b;
  b.geom("floor", 0, Shape::plane, {});
  for (int i = 0; i < balls; ++i) {
    const std::string name = "ball" + std::to_string(i);
    b.geom(name.c_str(), b.free_body(name.c_str()), Shape::sphere, {0.5});
  }
  test::complete(b.model);
  return b.model;
}

TEST_CASE("fill_slots: of many bodies each touch has one slot, where that costs less") {
  constexpr int kBalls = 8;
  const Tree tree(tower(kBalls));
  std::vector<test::Numbers> points;
  for (int l = 0; l < 4; ++l) {
    test::Numbers in(test::Scene<double>::inputs(tree));
    const std::span<const double> start = tree.parameters.default_values();
    std::copy(start.begin(), start.end(), in.end() - std::ssize(start));
    for (int i = 0; i < kBalls; ++i) {  // the scene has bodies at a height of 0.7
      in[static_cast<std::size_t>(6 * i + 2)] = 0.49 + 0.98 * i - 0.7 + (i >= l ? 0.2 * l : 0);
    }
    points.push_back(in);
  }
  const std::vector<Lanes> in = in_lanes(points, {0, 1, 2, 3});
  ContactCase<Lanes> c(tree, in.data());
  c.find();
  std::map<int, std::set<int>> slots_of;  // by touch
  for (int slot = 0; slot < c.space.slots; ++slot) {
    for_each_group(c.space, slot, [&](const auto& group) { slots_of[group.touch].insert(slot); });
  }
  CHECK(static_cast<int>(slots_of.size()) == c.space.touch_count);
  std::set<int> counts;
  for (const auto& [touch, slots] : slots_of) CHECK(slots.size() == 1);
  for (int l = 0; l < 4; ++l) {
    const auto found = contacts_of(c, l);
    CHECK(static_cast<int>(found.size()) == c.space.count[l]);
    counts.insert(c.space.count[l]);
    for (std::size_t k = 1; k < found.size(); ++k) CHECK(found[k - 1].pair < found[k].pair);
  }
  CHECK(counts.size() > 1);
  CHECK(layout_cost(c.plan, c.space, SlotLayout::whole) <
        layout_cost(c.plan, c.space, SlotLayout::compact));
}

}  // namespace cycloid::slot_layout_test
