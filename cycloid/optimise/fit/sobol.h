// A Sobol set: points that fill the unit cube evenly, for starts of an optimiser.
//
//   x_i = ⊕ over bits b of the Gray code of i:  v_b          (per dimension)                    (1)
// with direction numbers v of JoeKuo2008 in the first kSobolDimensions dimensions, shifted by the
// seed (x ⊕ a random number). In dimensions beyond, points are random: sets of many dimensions are
// not denser than that. Points 1, 2, …; point 0, the corner, is left out.
#pragma once

#include <cstdint>
#include <vector>

namespace cycloid::inline optimise {

inline constexpr int kSobolDimensions = 21;

// (count, dimensions), row by row, in [0, 1). Seed 0 shifts nothing.
std::vector<double> sobol(std::size_t count, std::size_t dimensions, std::uint64_t seed);

}  // namespace cycloid::inline optimise
