#include "cycloid/record/npz.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/record/record_file.h"
#include "cycloid/system/systems.h"

namespace cycloid {
namespace {

const NamedArrays kArrays = {{"times", {{3}, {0, 0.5, 1.25}, {}}},
                             {"values", {{3, 2}, {1, 2, NAN, 4, 5, -6e-300}, {}}},
                             {"names", {{1}, {}, {"angles"}}}};

}  // namespace

TEST_CASE("npz: what is written reads back, bit for bit") {
  const NamedArrays again = parse_npz(npz_bytes(kArrays), "the archive");
  REQUIRE(again.size() == 3);
  CHECK(again.at("times").numbers == kArrays.at("times").numbers);
  CHECK(again.at("values").shape == std::vector<std::size_t>{3, 2});
  CHECK(std::isnan(again.at("values").numbers[2]));
  CHECK(again.at("values").numbers[5] == -6e-300);
  CHECK(again.at("names").texts == std::vector<std::string>{"angles"});
}

TEST_CASE("npz: bytes that are cut or changed are refused with a reason") {
  const std::string bytes = npz_bytes(kArrays);
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, bytes.size() / 2}) {
    CHECK_THROWS_AS(parse_npz(std::string_view(bytes).substr(0, length), "x"), Error);
  }
  std::string changed = bytes;
  changed[bytes.find("angles")] = 'b';
  CHECK_THROWS_AS(parse_npz(changed, "x"), Error);
}

TEST_CASE("named arrays: a recording and back; what is missing is named") {
  Recording r{.times = {0, 1}, .values = {1, 2, 3, 4}};
  r.controls = {5, 6}, r.sigma = {0.1}, r.x0 = {7, 8}, r.names = {"angle", "angular_velocity"};
  const Recording again = recording_from_arrays(arrays_from_recording(r), "x");
  CHECK(again.values == r.values);
  CHECK(again.controls == r.controls);
  CHECK(again.names == r.names);
  CHECK(again.sigma == r.sigma);
  CHECK(again.x0 == r.x0);
  CHECK_THROWS_AS(recording_from_arrays({{"times", {}}}, "x"), Error);
  NamedArrays uneven = arrays_from_recording(r);
  uneven["values"].numbers.pop_back();
  CHECK_THROWS_AS(recording_from_arrays(uneven, "x"), Error);
}

TEST_CASE("record file: HDF5 is read by whom the caller names, else refused") {
  const System system = systems::pendulum();
  CHECK_THROWS_AS(read_recording(system, "run.h5"), Error);
  const ReadHdf5 arrays = [](const std::filesystem::path&) {
    return NamedArrays{{"times", {{2}, {0, 1}, {}}}, {"values", {{2, 2}, {1, 2, 3, 4}, {}}}};
  };
  CHECK(read_recording(system, "run.h5", nullptr, arrays).values.size() == 4);
  CHECK_THROWS_AS(read_recording(system, "there_is_none.npz"), FileNotFound);
}

}  // namespace cycloid
