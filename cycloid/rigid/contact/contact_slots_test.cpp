#include "cycloid/rigid/contact/contact_slots.h"

#include <algorithm>
#include <set>

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::contact_slots_test {

using test::ContactCase;
using test::contacts_of;
using test::in_lanes;
using test::LaneContact;
using test::Lanes;
using test::Numbers;

TEST_CASE("find_contacts: slots hold each lane's own contacts, in the order of pairs and places") {
  const Tree tree(test::crowd(false));
  const std::vector<Numbers> points = test::crowd_points(tree);
  const std::vector<Lanes> in = in_lanes(points, {0, 1, 2, 3});
  ContactCase<Lanes> c(tree, in.data());
  c.find();
  std::set<int> counts;
  for (int l = 0; l < 4; ++l) {
    ContactCase<double> alone(tree, points[static_cast<std::size_t>(l)].data());
    alone.find();
    const std::vector<LaneContact> mine = contacts_of(c, l), his = contacts_of(alone, 0);
    REQUIRE(mine.size() == his.size());
    CHECK(c.space.count[l] == alone.space.slots);
    counts.insert(alone.space.slots);
    for (std::size_t k = 0; k < mine.size(); ++k) {
      CHECK(mine[k].pair == his[k].pair);
      CHECK(mine[k].place == his[k].place);
      CHECK(mine[k].feature == his[k].feature);
      CHECK(test::relative_error(mine[k].numbers, his[k].numbers) < 1e-12);
      if (k > 0) {
        CHECK(std::pair(mine[k - 1].pair, mine[k - 1].place) <
              std::pair(mine[k].pair, mine[k].place));
      }
    }
  }
  CHECK(counts.size() > 1);
  CHECK(c.space.slots >= *counts.rbegin());
}

TEST_CASE("find_contacts: a lane's numbers do not depend on its neighbours, bit for bit") {
  const Tree tree(test::crowd(false));
  const std::vector<Numbers> points = test::crowd_points(tree);
  const std::vector<Lanes> one = in_lanes(points, {0, 1, 2, 3}),
                           two = in_lanes(points, {3, 3, 2, 1});
  ContactCase<Lanes> a(tree, one.data()), b(tree, two.data());
  a.find();
  b.find();
  CHECK(contacts_of(a, 2) == contacts_of(b, 2));
  CHECK(contacts_of(a, 3) == contacts_of(b, 1));
}

TEST_CASE("find_contacts: a lane without room keeps its first contacts and is reported") {
  const Tree tree(test::crowd(false));
  const std::vector<Numbers> points = test::crowd_points(tree);
  const std::vector<Lanes> in = in_lanes(points, {0, 1, 2, 3});
  ContactCase<Lanes> all(tree, in.data());
  all.find();
  const int most = *std::min_element(all.space.count, all.space.count + 4);
  REQUIRE(all.space.slots > most);
  CHECK(all.space.crowded == 0);
  ContactCase<Lanes> few(tree, in.data(), nullptr, most);
  few.find();
  CHECK(few.space.slots == most);
  for (int l = 0; l < 4; ++l) {
    CHECK((few.space.crowded >> l & 1) == (all.space.count[l] > most));
    std::vector<LaneContact> first = contacts_of(all, l);
    first.resize(static_cast<std::size_t>(most));
    CHECK(contacts_of(few, l) == first);
  }
}

TEST_CASE("find_contacts: within the gap a contact is listed, but has no force") {
  test::CrowdBuilder b;
  b.geom("floor", 0, Shape::plane, {}).gap = 0;
  b.geom("ball", b.free_body("ball"), Shape::sphere, {0.1}).gap = 0.05;
  test::complete(b.model);
  b.model.geoms[0].margin = b.model.geoms[1].margin = 0.01;
  const Tree tree(b.model);
  const auto contacts = [&](double dist, Detection detection) {
    Numbers in(test::Scene<double>::inputs(tree));
    const std::span<const double> start = tree.parameters.default_values();
    std::copy(start.begin(), start.end(), in.end() - std::ssize(start));
    in[2] = dist + 0.1 - 0.7;  // the scene has the body at a height of 0.7
    ContactCase<double> c(tree, in.data());
    find_contacts(c.at, detection, c.space);
    if (c.space.slots > 0 && dist > 0.02) CHECK(gather_slot(c.at, c.space, 0).rows == 0);
    return c.space.slots;
  };
  CHECK(contacts(0.019, Detection::forces) == 1);
  CHECK(contacts(0.021, Detection::forces) == 0);
  CHECK(contacts(0.021, Detection::all) == 1);
  CHECK(contacts(0.069, Detection::all) == 1);
  CHECK(contacts(0.071, Detection::all) == 0);
}

TEST_CASE("find_contacts: in float, far from the world's origin, no digit is lost") {
  test::CrowdBuilder b;
  b.geom("first", b.free_body("first"), Shape::sphere, {0.25});
  b.geom("second", b.free_body("second"), Shape::capsule, {0.25, 0.5});
  test::complete(b.model);
  const Tree tree(b.model);
  const auto dist_at = [&](float away) {
    std::vector<float> in(test::Scene<float>::inputs(tree), 0.0f);
    const std::span<const double> start = tree.parameters.default_values();
    std::copy(start.begin(), start.end(), in.end() - std::ssize(start));
    for (const std::size_t k : {0u, 6u}) in[k] = away, in[k + 1] = -2 * away;
    in[6] += 0.25f;
    ContactCase<float> c(tree, in.data());
    c.find();
    REQUIRE(c.space.slots == 1);
    return gather_slot(c.at, c.space, 0).touch.dist;
  };
  CHECK(dist_at(4096) == dist_at(0));
}

}  // namespace cycloid::contact_slots_test
