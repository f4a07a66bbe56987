#include "cycloid/record/recording.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/record/csv.h"
#include "cycloid/system/systems.h"

namespace cycloid {

TEST_CASE("recording: a table's columns become outputs and inputs, others are noted") {
  const System system = systems::double_pendulum();
  const Table table = parse_csv(
      "time [s], angles[1], torques[0], brightness, angles[0] [rad]\n"
      "0,1,5,9,2\n0.5,,6,9,3\n1,1.5,nan,9,4\n");
  std::vector<std::string> notes;
  const Recording r = recording_from_table(system, table, &notes);
  CHECK(r.names == std::vector<std::string>{"angles"});
  REQUIRE(r.values.size() == 6);
  CHECK(r.values[0] == 2);
  CHECK(r.values[1] == 1);
  CHECK(std::isnan(r.values[3]));
  CHECK(r.controls == std::vector<double>{5, 0, 6, 0, 0, 0});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("brightness") != std::string::npos);
  CHECK_NOTHROW(check_recording(system, r, "it"));
}

TEST_CASE("recording: what is written is read again") {
  const System system = systems::pendulum();
  const Recording r{.times = {0, 0.1, 0.30000000000000004},
                    .values = {1, 2, NAN, 4, 5, 1.0 / 3},
                    .controls = {0.1, 0.2, 0.3}};
  const Recording again =
      recording_from_table(system, parse_csv(csv_text(table_from_recording(system, r))));
  CHECK(again.times == r.times);
  CHECK(again.controls == r.controls);
  CHECK(again.values[5] == r.values[5]);
  CHECK(std::isnan(again.values[2]));
  CHECK(again.names == std::vector<std::string>{"angle", "angular_velocity"});
}

TEST_CASE("recording: tables without times or outputs are refused with what there is") {
  const System system = systems::pendulum();
  CHECK_THROWS_AS(recording_from_table(system, parse_csv("angle\n1\n")), Error);
  CHECK_THROWS_WITH_AS(recording_from_table(system, parse_csv("t,angel\n0,1\n")),
                       doctest::Contains("angular_velocity"), Error);
}

}  // namespace cycloid
