#include "cycloid/rigid/contact/contact_record.h"

#include <random>

#include "cycloid/rigid/contact/contact_case_test.h"

namespace cycloid::contact_record_test {

using test::ContactCase;
using test::contacts_of;
using test::in_lanes;
using test::LaneContact;
using test::Lanes;

TEST_CASE("recall_contacts: the same contacts from the record, bit for bit") {
  const Tree tree(test::crowd(false));
  const std::vector<Lanes> in = in_lanes(test::crowd_points(tree), {0, 1, 2, 3});
  ContactCase<Lanes> c(tree, in.data());
  c.find();
  std::vector<std::vector<LaneContact>> found;
  for (int l = 0; l < 4; ++l) found.push_back(contacts_of(c, l));
  const int slots = c.space.slots, most = *std::max_element(c.space.count, c.space.count + 4);
  std::vector<Lanes> numbers(static_cast<std::size_t>(2 * most));
  for (const int room : {most, most - 1}) {  // with less room they are found again
    ContactRecord<Lanes> record{numbers.data(), room};
    keep_contacts(c.space, record);
    CHECK(record.slots == (room == most ? most : -1));
    c.space.clear();
    recall_contacts(c.at, record, c.space);
    CHECK(c.space.slots == slots);
    for (int l = 0; l < 4; ++l) CHECK(contacts_of(c, l) == found[static_cast<std::size_t>(l)]);
  }
}

// The lanes of a record have lists of any length: one may have ended, or have none, while others go
// on for rows.
TEST_CASE("RecordWalk: lanes of uneven lengths have each their own features") {
  const Tree tree(test::crowd(false));
  ContactCase<Lanes> c(tree, in_lanes(test::crowd_points(tree), {0, 1, 2, 3}).data());
  const ContactPlan& plan = c.at.plan;
  const int pairs = static_cast<int>(plan.pairs.size());
  std::mt19937 random(5);
  int uneven = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::vector<int>> codes(4);  // of each lane, ascending
    for (std::vector<int>& lane : codes) {
      const unsigned share = random() % 5;  // in quarters: none to all
      for (int k = 0; k < pairs; ++k) {
        for (int i = 0; i < plan.pairs[static_cast<std::size_t>(k)].touches; ++i) {
          if (random() % 4 < share) lane.push_back(k * kMostTouches + i);
        }
      }
    }
    std::size_t rows = 0, least = codes[0].size();
    for (const std::vector<int>& lane : codes) {
      rows = std::max(rows, lane.size());
      least = std::min(least, lane.size());
    }
    uneven += least < rows;
    std::vector<Lanes> numbers(2 * rows + 1, Lanes(-1.0));
    for (int l = 0; l < 4; ++l) {
      const std::vector<int>& own = codes[static_cast<std::size_t>(l)];
      for (std::size_t row = 0; row < own.size(); ++row) {
        set_lane(numbers[2 * row], l, own[row]);
        set_lane(numbers[2 * row + 1], l, 1000 * l + own[row]);
      }
    }
    ContactRecord<Lanes> record{numbers.data(), static_cast<int>(rows), static_cast<int>(rows)};
    RecordWalk<Lanes> walk(record);
    std::vector<std::vector<int>> met(4);
    Lanes feature[2 * kMostTouches];
    int before = -1;
    for (int k = walk.next_pair(plan, feature); k >= 0; k = walk.next_pair(plan, feature)) {
      REQUIRE(k > before);
      before = k;
      for (int i = 0; i < plan.pairs[static_cast<std::size_t>(k)].touches; ++i) {
        for (int l = 0; l < 4; ++l) {
          const double own = lane(feature[i], l);
          if (own < 0) continue;
          const int code = k * kMostTouches + i;
          CHECK(own == 1000 * l + code);
          met[static_cast<std::size_t>(l)].push_back(code);
        }
      }
    }
    CHECK(met == codes);
  }
  CHECK(uneven > 200);
}

}  // namespace cycloid::contact_record_test
