#include "cycloid/rigid/contact/contact_record.h"

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

}  // namespace cycloid::contact_record_test
