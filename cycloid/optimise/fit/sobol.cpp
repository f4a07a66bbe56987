#include "cycloid/optimise/fit/sobol.h"

#include <array>

#include "cycloid/base/random.h"

namespace cycloid::inline optimise {
namespace {

// A primitive polynomial of degree s with inner coefficients a, and the first direction numbers m.
struct Dimension {
  int s;
  std::uint32_t a;
  std::array<std::uint32_t, 7> m;
};

constexpr std::array<Dimension, kSobolDimensions - 1> kDimensions = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

constexpr int kBits = 32;

std::array<std::uint32_t, kBits> direction_numbers(std::size_t dimension) {
  std::array<std::uint32_t, kBits> v{};
  if (dimension == 0) {
    for (int b = 0; b < kBits; ++b) v[static_cast<std::size_t>(b)] = 1u << (kBits - 1 - b);
    return v;
  }
  const Dimension& d = kDimensions[dimension - 1];
  for (int b = 0; b < kBits; ++b) {
    const std::size_t i = static_cast<std::size_t>(b), s = static_cast<std::size_t>(d.s);
    if (b < d.s) {
      v[i] = d.m[i] << (kBits - 1 - b);
      continue;
    }
    v[i] = v[i - s] ^ (v[i - s] >> d.s);
    for (std::size_t k = 1; k < s; ++k) {
      if ((d.a >> (s - 1 - k)) & 1u) v[i] ^= v[i - k];
    }
  }
  return v;
}

}  // namespace

std::vector<double> sobol(std::size_t count, std::size_t dimensions, std::uint64_t seed) {
  std::vector<double> points(count * dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    RandomStream random(seed, static_cast<std::uint32_t>(d));
    if (d >= static_cast<std::size_t>(kSobolDimensions)) {
      for (std::size_t i = 0; i < count; ++i) points[i * dimensions + d] = random.uniform();
      continue;
    }
    const auto v = direction_numbers(d);
    const std::uint32_t shift = seed == 0 ? 0 : random.bits32();
    std::uint32_t x = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t bit = 0;  // the lowest zero of i
      while ((i >> bit) & 1u) ++bit;
      x ^= v[bit];  // (1)
      points[i * dimensions + d] = static_cast<double>(x ^ shift) * 0x1p-32;
    }
  }
  return points;
}

}  // namespace cycloid::inline optimise
