#include "cycloid/model/model_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/base/fnv_hash.h"
#include "cycloid/base/random.h"
#include "cycloid/model/check_model.h"
#include "cycloid/model/model_case_test.h"
#include "cycloid/model/model_fields.h"

namespace cycloid {
namespace {

namespace fs = std::filesystem;

// Gives every number that is no index, every truth value and every text a value of its own.
class Vary {
 public:
  template <class T>
  void operator()(std::string_view, T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = ++count_ % 3 == 0;
    } else if constexpr (std::same_as<T, double>) {
      value = next();
    } else if constexpr (is_array_of_numbers<T> || is_list_of_numbers<T>) {
      for (auto& v : value) v = static_cast<std::remove_cvref_t<decltype(v)>>(next());
    } else if constexpr (std::same_as<T, std::string>) {
      value = message("text \xe2\x82\xac ", ++count_);
    } else if constexpr (is_table<T>) {
      for (auto& element : value) fields(*this, element);
    } else if constexpr (!Leaf<T>) {
      fields(*this, value);
    }
  }

 private:
  double next() { return 1.0 / 3 + ++count_; }
  int count_ = 0;
};

// Every value as a text.
class List {
 public:
  std::vector<std::string> all;
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      all.push_back(message(name, "=", static_cast<int>(value)));
    } else if constexpr (Leaf<T>) {
      all.push_back(message(name, "=", value));
    } else if constexpr (is_table<T>) {
      all.push_back(message(name, ":", value.size()));
      for (const auto& element : value) fields(*this, element);
    } else {
      fields(*this, value);
    }
  }
};
std::vector<std::string> values_of(const Model& m) {
  List list;
  fields(list, m);
  return list.all;
}

SavedModel saved_robot() { return {test::small_robot(), {"noslip is left out", "\xc3\x9f"}}; }

std::string refusal(std::string_view bytes) {
  try {
    model_from_bytes(bytes, "\"robot.cym\"");
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

template <class Number>
void write_at(std::string& bytes, std::size_t at, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes[at + i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

// Makes length and checksum what the bytes ask for.
void repair(std::string& bytes) {
  write_at(bytes, 16, static_cast<std::uint64_t>(bytes.size() - 32));
  const std::string_view all = bytes;
  write_at(bytes, 24, fnv_hash(all.substr(32), fnv_hash(all.substr(8, 16))));
}

struct ScratchFolder {
  fs::path path;
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "cycloid_model_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~ScratchFolder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("model file: what is read is what was written, bit for bit and field by field") {
  const SavedModel first = saved_robot();
  const SavedModel second = model_from_bytes(model_to_bytes(first), "it");
  CHECK(values_of(second.model) == values_of(first.model));
  CHECK(second.notes == first.notes);
  CHECK(model_to_bytes(second) == model_to_bytes(first));

  // A value in a wrong place would be seen: all differ.
  SavedModel varied = first;
  Vary vary;
  fields(vary, varied.model);
  varied.model.equalities[1].on_sites = false;  // decides what its indices mean
  const SavedModel again = model_from_bytes(model_to_bytes(varied), "it");
  CHECK(values_of(again.model) == values_of(varied.model));
  CHECK(values_of(again.model) != values_of(first.model));
}

TEST_CASE("model file: an empty world has its tables, too") {
  Model m;
  m.bodies.resize(1);
  const SavedModel read = model_from_bytes(model_to_bytes({m, {}}), "it");
  CHECK(values_of(read.model) == values_of(m));
  CHECK(read.notes.empty());
}

TEST_CASE("model file: infinite bounds, tiny and signed zeros survive") {
  SavedModel saved = saved_robot();
  saved.model.joints[0].range = {true, -std::numeric_limits<double>::infinity(), 5e-324};
  saved.model.joints[0].margin = -0.0;
  const Joint j = model_from_bytes(model_to_bytes(saved), "it").model.joints[0];
  CHECK(j.range.low == -std::numeric_limits<double>::infinity());
  CHECK(j.range.high == 5e-324);
  CHECK(std::signbit(j.margin));
}

TEST_CASE("model file: the bytes of version 1 stay as they are") {
  // The header and the first column, as the comment in model_file.h has them.
  Model m;
  m.bodies.resize(1);
  const std::string bytes = model_to_bytes({m, {}});
  CHECK(bytes.substr(0, 16) == std::string("\x89"
                                           "CYM\r\n\x1a\n\1\0\0\0\0\0\0\0",
                                           16));
  const std::string column = std::string("\x0f\0model.actuators\1\1\0\0\0\1\0\0\0\0\0\0\0", 30) +
                             std::string("\4\0\0\0\0\0\0\0\0\0\0\0", 12);
  CHECK(bytes.substr(36, column.size()) == column);
}

TEST_CASE("model file: says what is wrong with a file, and which") {
  const std::string good = model_to_bytes(saved_robot());
  const auto changed = [&](std::size_t at, char to) {
    std::string bytes = good;
    bytes[at] = to;
    return refusal(bytes);
  };
  CHECK(refusal("") ==
        "cannot read \"robot.cym\" as a model: it does not begin as a model file (.cym) does");
  CHECK(refusal("<mujoco/>").find("does not begin as") != std::string::npos);
  CHECK(changed(0, 'x').find("does not begin as") != std::string::npos);
  CHECK(refusal(good.substr(0, 20)).find("it is cut off after 20 bytes") != std::string::npos);
  CHECK(changed(8, 9).find("its version is 9, and this release reads up to 1; update cycloid") !=
        std::string::npos);
  CHECK(refusal(good.substr(0, good.size() - 7)).find("it is cut off: ") != std::string::npos);
  CHECK(refusal(good + "x").find("it is too long: ") != std::string::npos);
  CHECK(changed(good.size() - 1, '?').find("its checksum is wrong") != std::string::npos);

  // A sound file with other fields than ours.
  const auto renamed = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to);
    repair(bytes);
    return refusal(bytes);
  };
  CHECK(
      renamed("model.bodies.mass", "model.bodies.moss").find("\"model.bodies.mass\" is missing") !=
      std::string::npos);
  CHECK(renamed("implicitfast", "implicitfist").find("\"implicitfist\", which this version does") !=
        std::string::npos);
  SavedModel wrong = saved_robot();
  wrong.model.joints[1].body = 99;
  CHECK(refusal(model_to_bytes(wrong)).find("the body of a joint is 99") != std::string::npos);
  wrong.model.joints[1].name = "\xff";
  CHECK_THROWS_WITH_AS(model_to_bytes(wrong), "a name in model.joints.name is not UTF-8",
                       ModelError);
}

TEST_CASE("model file: an older one keeps defaults for what it lacks, a newer field is named") {
  std::string bytes = model_to_bytes(saved_robot());
  const std::string name = "model.joints.margin";
  bytes.replace(bytes.find(name), name.size(), "model.joints.morgin");
  repair(bytes);
  // As the release after this one would read it, a field later.
  CHECK_THROWS_WITH_AS(model_from_bytes(bytes, "it", kModelFileVersion + 1),
                       doctest::Contains("\"model.joints.morgin\" is unknown to this version"),
                       ModelError);
  const std::size_t at = bytes.find("model.joints.morgin") - 2, joints = 4;
  bytes.erase(at, 2 + name.size() + 1 + 4 + 8 + 8 + 8 * joints);
  bytes[32] = static_cast<char>(bytes[32] - 1);  // columns; the low byte is not zero
  repair(bytes);
  CHECK(refusal(bytes).find("\"model.joints.margin\" is missing") != std::string::npos);
  const Model read = model_from_bytes(bytes, "it", kModelFileVersion + 1).model;
  CHECK(values_of(read) == values_of(test::small_robot()));  // whose margins are zero

  std::string zeroth = model_to_bytes(saved_robot());
  write_at(zeroth, 8, std::uint32_t{0});
  repair(zeroth);
  CHECK(refusal(zeroth).find("damaged") != std::string::npos);
}

TEST_CASE("model file: flipped bytes and cut files are refused, thousands of them") {
  const std::string good = model_to_bytes(saved_robot());
  RandomStream random(20);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    const int flips = 1 + static_cast<int>(random.bits32() % 4);
    for (int k = 0; k < flips; ++k) {
      bytes[random.bits32() % bytes.size()] ^= static_cast<char>(1 + random.bits32() % 255);
    }
    refused += bytes == good || !refusal(bytes).empty();
  }
  for (int i = 0; i < 1000; ++i) {
    refused += !refusal(std::string_view(good).substr(0, random.bits32() % good.size())).empty();
  }
  CHECK(refused == 4000);
}

// With a checksum that is right nothing but the reader and check_model stand in the way.
TEST_CASE("model file: a repaired checksum does not let nonsense through, nor crash") {
  const std::string good = model_to_bytes(saved_robot());
  RandomStream random(21);
  constexpr std::uint32_t kExtremes[] = {0,          1,          0x7fffffff, 0x80000000,
                                         0xffffffff, 0x7ff00000, 0x00010000, 0x3b9aca00};
  int refused = 0, read = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string bytes = good;
    const std::uint32_t at = 32 + random.bits32() % static_cast<std::uint32_t>(bytes.size() - 40);
    switch (random.bits32() % 5) {
      case 0: bytes[at] = static_cast<char>(random.bits32()); break;
      case 1: write_at(bytes, at, kExtremes[random.bits32() % 8]); break;
      case 2: write_at(bytes, at, std::uint64_t{kExtremes[random.bits32() % 8]} << 32); break;
      case 3: bytes.erase(at, 1 + random.bits32() % 16); break;
      default: bytes.insert(at, 1 + random.bits32() % 16, static_cast<char>(random.bits32()));
    }
    repair(bytes);
    try {
      check_model(model_from_bytes(bytes, "it").model);
      ++read;
    } catch (const ModelError&) {
      ++refused;
    }
  }
  CHECK(refused + read == 6000);
  CHECK(refused > 2000);
  CHECK(read > 500);  // a number that may have any value
}

TEST_CASE("save_model, read_model: a file there and back, and what goes wrong with files") {
  const ScratchFolder scratch;
  const std::string path = (scratch.path / "robot.cym").string();
  save_model(path, saved_robot());
  save_model(path, saved_robot());  // replaces it
  CHECK(values_of(read_model(path).model) == values_of(test::small_robot()));
  CHECK(std::distance(fs::directory_iterator(scratch.path), fs::directory_iterator()) == 1);

  CHECK(is_model_file(path));
  CHECK(is_model_file("not/there.cym"));
  CHECK_FALSE(is_model_file("not/there.xml"));
  fs::copy_file(path, scratch.path / "other.bin");
  CHECK(is_model_file((scratch.path / "other.bin").string()));
  std::ofstream(scratch.path / "short") << "\x89";
  CHECK_FALSE(is_model_file((scratch.path / "short").string()));
  CHECK_FALSE(is_model_file(scratch.path.string()));

  CHECK_THROWS_AS(read_model((scratch.path / "none.cym").string()), FileNotFound);
  CHECK_THROWS_AS(read_model(std::string("a\0b.cym", 7)), FileNotFound);
  CHECK_THROWS_WITH_AS(read_model(scratch.path.string()), doctest::Contains("no regular file"),
                       ModelError);
  CHECK_THROWS_WITH_AS(save_model((scratch.path / "no" / "r.cym").string(), saved_robot()),
                       doctest::Contains("there is no folder"), FileNotFound);
  CHECK_THROWS_WITH_AS(save_model(scratch.path.string(), saved_robot()),
                       doctest::Contains("cannot write"), ModelError);
}

}  // namespace cycloid
