// base/random.h: random numbers that depend on seed, environment and step alone.
//
// Philox4x32-10 (Salmon2011) is a bijection of a 128-bit counter under a 64-bit key. There is no
// state to carry: whoever draws for environment 7 at step 12 gets the same numbers on any thread,
// in any order, in a batch of any size, and again when a step is recomputed.
//
//   key     = seed
//   counter = (block, step low, step high, environment)      each block gives four 32-bit numbers
//
//   RandomStream random(seed, environment, step);
//   const double push = random.uniform(-1.0, 1.0);
//
// A stream lasts for 2^34 32-bit draws.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "cycloid/base/host_device.h"

namespace cycloid::inline base {

struct PhiloxCounter {
  std::uint32_t word[4];
};

struct PhiloxKey {
  std::uint32_t word[2];
};

// Ten rounds of multiplication, exchange and key.
CYCLOID_HD constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key.word[0],
                static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key.word[1],
                static_cast<std::uint32_t>(a)}};
    key.word[0] += 0x9E3779B9;
    key.word[1] += 0xBB67AE85;
  }
  return counter;
}

class RandomStream {
 public:
  CYCLOID_HD constexpr explicit RandomStream(std::uint64_t seed, std::uint32_t environment = 0,
                                             std::uint64_t step = 0)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        counter_{{0, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32),
                  environment}} {}

  CYCLOID_HD constexpr std::uint32_t bits32() {
    if (taken_ == 4) {
      block_ = philox(counter_, key_);
      ++counter_.word[0];
      taken_ = 0;
    }
    return block_.word[taken_++];
  }

  CYCLOID_HD constexpr std::uint64_t bits64() {
    const std::uint64_t low = bits32();
    return low | std::uint64_t{bits32()} << 32;
  }

  // In [0, 1): every multiple of 2^-24 (float) or 2^-53 (double) is equally likely.
  template <std::floating_point T = double>
  CYCLOID_HD constexpr T uniform() {
    if constexpr (sizeof(T) == 4) return static_cast<T>(bits32() >> 8) * T(0x1p-24);
    else return static_cast<T>(bits64() >> 11) * T(0x1p-53);
  }

  // In [low, high).
  template <std::floating_point T>
  CYCLOID_HD constexpr T uniform(T low, T high) {
    const T x = low + (high - low) * uniform<T>();
    return x < high ? x : low;  // rounding may reach the upper end
  }

  // Standard normal, after Box and Muller 1958: sqrt(-2 log u) cos(2π v). Host only, and equal
  // between machines only as far as their logarithm and cosine are.
  double normal() {
    const double u = 1.0 - uniform();  // (0, 1]
    const double v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_{};
  int taken_ = 4;  // of block_
};

}  // namespace cycloid::inline base
