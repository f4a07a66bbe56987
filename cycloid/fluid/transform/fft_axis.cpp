#include "cycloid/fluid/transform/fft_axis.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cycloid::inline fluid {
namespace {

// Appends exp(-2πi m/n), m reduced so that the angle keeps its digits.
template <class T>
void append_root(std::vector<T>& to, long long m, long long n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(m % n) / static_cast<double>(n);
  to.push_back(static_cast<T>(std::cos(angle)));
  to.push_back(static_cast<T>(std::sin(angle)));
}

}  // namespace

std::vector<int> fft_radices(int n) {
  std::vector<int> radices;
  for (const int r : {5, 3, 2, 4}) {
    while (n % r == 0 && (r != 2 || n % 4 != 0)) {
      radices.push_back(r);
      n /= r;
    }
  }
  for (int r = 7; n > 1; r += 2) {
    if (static_cast<long long>(r) * r > n) r = n;
    for (; n % r == 0; n /= r) radices.push_back(r);
  }
  return radices;
}

template <class T>
FftAxis<T>::FftAxis(int length) : n(length), radices(fft_radices(length)) {
  // The order of decimation: of the last stage outermost.
  std::vector<int> order = {0};
  int l = 1;
  for (const int r : radices) {
    std::vector<int> next(static_cast<std::size_t>(r * l));
    for (int q = 0; q < r; ++q) {
      for (int p = 0; p < l; ++p) {
        next[static_cast<std::size_t>(q * l + p)] = q + r * order[static_cast<std::size_t>(p)];
      }
    }
    order = std::move(next);
    for (int j = 0; j < l; ++j) {
      for (int q = 1; q < r; ++q) append_root(twiddles, static_cast<long long>(q) * j, r * l);
    }
    for (int p = 0; p < r; ++p) append_root(twiddles, p, r);
    l *= r;
  }
  place.resize(static_cast<std::size_t>(n));
  for (int p = 0; p < n; ++p)
    place[static_cast<std::size_t>(order[static_cast<std::size_t>(p)])] = p;
}

template <class T>
FftView<T> FftAxis<T>::view() const {
  const int most = radices.empty() ? 1 : *std::max_element(radices.begin(), radices.end());
  return {n, static_cast<int>(radices.size()), most, radices.data(), place.data(), twiddles.data()};
}

template struct FftAxis<float>;
template struct FftAxis<double>;

}  // namespace cycloid::inline fluid
