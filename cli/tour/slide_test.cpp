#include "cli/tour/slide.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"

namespace cycloid::tour {

TEST_CASE("slide: a straight slide is bent into the cycloid, which is faster by a fifth") {
  int seen = 0;
  const SlideResult result = bend_slide({}, {}, [&](int iteration, const SlideIterate& iterate) {
    CHECK(iteration == seen++);
    CHECK(iterate.heights.size() == 22);
  });
  CHECK(result.fastest());
  // √(2 (w² + d²)/(g d)) of the straight slide; φ √(r/g) of the cycloid.
  CHECK(result.straight_time() == doctest::Approx(std::sqrt(10 / 9.81)).epsilon(1e-5));
  CHECK(result.cycloid_time == doctest::Approx(0.80556383).epsilon(1e-8));
  CHECK(result.time() > result.cycloid_time);  // nothing is faster
  CHECK(result.excess() < 1e-3);
  CHECK(result.deviation < 1e-2);
  CHECK(result.gradient_error < 1e-6);
  CHECK(result.iterates.back().bead.back()[0] == doctest::Approx(2).epsilon(1e-12));
  CHECK(result.iterates.back().bead.back()[1] == doctest::Approx(0).scale(1).epsilon(1e-9));
  // The track ends with the step in which the bead arrives.
  for (const SlideIterate& at : result.iterates) {
    CHECK(at.bead.size() == static_cast<std::size_t>(std::ceil(at.time / 0.01)) + 1);
  }
  for (std::size_t k = 1; k < result.iterates.size(); ++k) {
    CHECK(result.iterates[k].time < result.iterates[k - 1].time);
  }
}

TEST_CASE("slide: stops when asked") {
  CHECK_THROWS_AS(bend_slide({}, [] { return false; }), Interrupted);
}

}  // namespace cycloid::tour
