#include "cycloid/adjoint/engine/record_store.h"

#include <doctest/doctest.h>

#include <vector>

namespace cycloid::record_store_test {

struct Lump final : RecordObject {
  explicit Lump(std::size_t n) : size(n) {}
  std::size_t bytes() const override { return size; }
  std::size_t size;
};

// A store with room for numbers of three records of 128 bytes, and `most` bytes in all.
struct Room {
  explicit Room(std::size_t most) : memory(3 * 128), store(memory.data(), 3 * 128, most) {}
  // Offers room for 100 bytes of numbers and keeps what used `bytes` of it; false: no room.
  bool add(std::size_t bytes, std::size_t object = 0) {
    StepRecord* const next = store.offer(100);
    if (!next) return false;
    next->bytes = bytes;
    if (object > 0) next->object = std::make_unique<Lump>(object);
    store.keep();
    return true;
  }
  std::vector<std::byte> memory;
  RecordStore store;
};

TEST_CASE("RecordStore: keeps the first records, each in a place of its own, until room ends") {
  Room room(1000);
  CHECK(room.add(100));
  CHECK(room.add(60));
  CHECK(room.add(100));
  CHECK_FALSE(room.add(100));
  CHECK(room.store.size() == 3);
  CHECK(room.store.bytes() == 3 * 128);
  CHECK(room.store.find(1)->bytes == 60);
  CHECK(room.store.find(1)->data == room.memory.data() + 128);
  CHECK(room.store.find(3) == nullptr);
}

TEST_CASE("RecordStore: a record without numbers takes no room, and more of them fit") {
  Room room(1000);
  for (int i = 0; i < 10; ++i) CHECK(room.add(0));
  CHECK(room.store.bytes() == 0);
}

TEST_CASE("RecordStore: objects count, and one that is too large is dropped and ends the keeping") {
  Room room(650);
  CHECK(room.add(0, 250));
  CHECK(room.add(0, 260));
  CHECK(room.store.bytes() == 510);
  CHECK_FALSE(room.add(0, 10));  // the next one may be as large as the largest
  CHECK(room.store.size() == 2);

  Room small(200);
  CHECK(small.add(0, 300));  // made, since nobody could know
  CHECK(small.store.size() == 0);
  CHECK_FALSE(small.add(0, 10));
}

TEST_CASE("RecordStore: cleared, it begins anew") {
  Room room(400);
  CHECK(room.add(0, 300));
  CHECK_FALSE(room.add(0, 300));
  room.store.clear();
  CHECK(room.store.size() == 0);
  CHECK(room.add(100, 100));
  CHECK(room.store.find(0)->data == room.memory.data());
}

}  // namespace cycloid::record_store_test
