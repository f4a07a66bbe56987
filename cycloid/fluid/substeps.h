// substeps: a flow whose steps are divided where its speed asks for it.
//
//   h_k = dt / 2^k,   x_0 = x,   x_{i+1} = S_k(x_i, u),   i = 0 … 2^k - 1,   x⁺ = x_{2^k}     (1)
// S_k is the flow's own step of h_k. k is the smallest of 0 … 6 with which every step of (1) can be
// taken: it is tried from 0 on, and depends on x, u and the parameters alone. It is chosen in
// forward, kept in the record and held by derivatives, which are those of (1): where k changes, x⁺
// jumps by what two time steps differ in their error. With k = 0 the record is that of S_0; with
// others the way back takes (1) again and keeps the x_i, which are fewer numbers than records.
#pragma once

#include <memory>
#include <vector>

#include "cycloid/system/stepper.h"

namespace cycloid::inline fluid {

inline constexpr int kSubstepLevels = 7;  // k

// levels: S_0, S_1, …, of one environment, alike but for their time step; dt: that of S_0 [s].
// `counter`: which of the System's counters says how many substeps there were.
template <class T>
std::shared_ptr<const Stepper<T>> with_substeps(
    std::vector<std::shared_ptr<const Stepper<T>>> levels, double dt, std::size_t counter);

// What is said before the reason why the finest of them cannot be taken.
std::string even_in_substeps(double dt);

}  // namespace cycloid::inline fluid
