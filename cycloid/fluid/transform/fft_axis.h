// FftAxis: what a fast Fourier transform of length n knows beforehand.
#pragma once

#include <vector>

namespace cycloid::inline fluid {

// Plain data for kernels.
template <class T>
struct FftView {
  int n, stages;
  int most;            // the largest radix
  const int* radices;  // of each stage, first to last
  const int* place;    // number j of the input goes to place[j]
  // Of each stage, of radix r on length l: ω_{rl}^{qj} for j < l, 1 ≤ q < r, then ω_r^p for p < r;
  // real and imaginary part each.
  const T* twiddles;
};

template <class T>
struct FftAxis {
  int n = 1;
  std::vector<int> radices, place;
  std::vector<T> twiddles;

  // n ≥ 1.
  explicit FftAxis(int n);
  FftView<T> view() const;
};

// n as a product of 4s, 2s, 3s, 5s and other primes.
std::vector<int> fft_radices(int n);

}  // namespace cycloid::inline fluid
