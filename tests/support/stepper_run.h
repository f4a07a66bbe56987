// One step of a chunk and its pullback, through the Stepper interface, with environments as rows.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "cycloid/system/stepper.h"

namespace cycloid::test {

// One vector per lane.
template <class T>
using Rows = std::vector<std::vector<T>>;

// Aligned memory, filled with a pattern that is not a finite number: what a step reads without
// having written it shows.
template <class T>
class LaneMemory {
 public:
  explicit LaneMemory(std::size_t n)
      : bytes_(n * sizeof(T)),
        data_(static_cast<T*>(::operator new(bytes_ + 1, std::align_val_t(kWorkspaceAlignment)))) {
    std::memset(static_cast<void*>(data_), 0xff, bytes_);
  }
  LaneMemory(const LaneMemory&) = delete;
  LaneMemory& operator=(const LaneMemory&) = delete;
  ~LaneMemory() { ::operator delete(data_, std::align_val_t(kWorkspaceAlignment)); }
  T* data() { return data_; }

 private:
  std::size_t bytes_;
  T* data_;
};

template <class T>
struct StepOutcome {
  StepStatus status = StepStatus::ok;
  Rows<T> x_next, x_bar, u_bar;
  Rows<double> p_bar;
  std::vector<double> arrays_bar;  // of all arrays, one behind the other, over all lanes
};

template <class T, class U>
void to_lanes(const Rows<U>& rows, int numbers, int lanes, T* out) {
  for (int l = 0; l < lanes; ++l) {
    const auto& row = rows[static_cast<std::size_t>(l) % rows.size()];
    REQUIRE(static_cast<int>(row.size()) >= numbers);
    for (int i = 0; i < numbers; ++i) {
      out[i * lanes + l] = static_cast<T>(row[static_cast<std::size_t>(i)]);
    }
  }
}

template <class T>
Rows<T> from_lanes(const T* in, int numbers, int lanes) {
  Rows<T> rows(static_cast<std::size_t>(lanes));
  for (int l = 0; l < lanes; ++l) {
    for (int i = 0; i < numbers; ++i)
      rows[static_cast<std::size_t>(l)].push_back(in[i * lanes + l]);
  }
  return rows;
}

// Room for a record of a stepper, and the record in it.
struct RecordRoom : StepRecord {
  template <class T>
  explicit RecordRoom(const Stepper<T>& stepper) : memory(stepper.record_bytes()) {
    data = memory.data();
    bytes = stepper.record_bytes();
  }
  LaneMemory<std::byte> memory;
};

// Lane l gets row l modulo the number of rows. `bars` are cotangents of x⁺ in tangents;
// accumulators start at zero. Arrays of parameters are the numbers behind those in lanes of p's
// first row.
template <class T>
StepOutcome<T> run_step(const Stepper<T>& stepper, const Rows<double>& x, const Rows<double>& u,
                        const Rows<double>& p, const Rows<double>& bars, std::int64_t step = 0,
                        double t0 = 0) {
  const StepperSizes& s = stepper.sizes();
  const auto numbers = [&](int n) { return static_cast<std::size_t>(n) * s.lanes; };
  const auto workspace = stepper.make_workspace({});
  RecordRoom record(stepper);
  LaneMemory<T> xs(numbers(s.state)), us(numbers(s.input)), ps(numbers(s.parameters)),
      x_next(numbers(s.kept())), bar(numbers(s.tangent)), x_bar(numbers(s.tangent)),
      u_bar(numbers(s.input));
  LaneMemory<double> p_bar(numbers(s.parameters));
  to_lanes(x, s.state, s.lanes, xs.data());
  to_lanes(u, s.input, s.lanes, us.data());
  to_lanes(p, s.parameters, s.lanes, ps.data());
  to_lanes(bars, s.tangent, s.lanes, bar.data());
  std::fill_n(x_bar.data(), numbers(s.tangent), T(0));
  std::fill_n(u_bar.data(), numbers(s.input), T(0));

  const StepInput<T> in{xs.data(), us.data(), step, t0};
  StepOutcome<T> out;
  std::vector<std::vector<T>> arrays;
  std::vector<const T*> array_pointers;
  std::vector<double*> bar_pointers;
  out.arrays_bar.assign(static_cast<std::size_t>(s.array_numbers()), 0.0);
  std::size_t first = 0;
  for (const std::int64_t n : s.arrays) {
    const auto* const from = p[0].data() + s.parameters + first;
    arrays.emplace_back(from, from + n);
    bar_pointers.push_back(out.arrays_bar.data() + first);
    first += static_cast<std::size_t>(n);
  }
  for (const auto& array : arrays) array_pointers.push_back(array.data());
  stepper.begin({ps.data(), array_pointers.data(), bar_pointers.data()}, *workspace);
  out.status = stepper.step(in, x_next.data(), &record, *workspace);
  stepper.pullback(in, record, bar.data(), x_bar.data(), u_bar.data(), *workspace);
  stepper.finish(*workspace, p_bar.data());
  out.x_next = from_lanes(x_next.data(), s.state, s.lanes);
  out.x_bar = from_lanes(x_bar.data(), s.tangent, s.lanes);
  out.u_bar = from_lanes(u_bar.data(), s.input, s.lanes);
  out.p_bar = from_lanes(p_bar.data(), s.parameters, s.lanes);
  return out;
}

}  // namespace cycloid::test
