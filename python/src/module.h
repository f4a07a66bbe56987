// The Python module `cycloid._core`: a thin edge over the C++ core.
//
// C++ takes and gives contiguous rows; shapes, broadcasting, names and conversions are Python's
// part (python/cycloid/). Long calls run without the interpreter lock (unlocked.h).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <vector>

#include "cycloid/cycloid.h"

namespace cycloid::python {

namespace nb = nanobind;

// A C-contiguous array of T on the CPU, as Python hands it over; never converted here.
template <class T>
using Rows = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Rows<T>& array) {
  return {array.data(), array.size()};
}

template <class T>
std::span<const T> span_of(const std::optional<Rows<T>>& array) {
  return array ? span_of(*array) : std::span<const T>();
}

// A NumPy array that owns `values`, flat; Python reshapes it.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(owned->data(), {owned->size()}, owner);
}

// Throws Error for what is neither "float64" nor "float32".
Precision precision_of(const std::string& dtype);

void bind_system(nb::module_& m);
void bind_rollout(nb::module_& m);
void bind_python_law(nb::module_& m);
void bind_jax(nb::module_& m);
void bind_page(nb::module_& m);
void bind_verify(nb::module_& m);
void bind_estimate(nb::module_& m);
void bind_evaluate(nb::module_& m);
void bind_observe(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_robot(nb::module_& m);
void bind_scene(nb::module_& m);
void bind_forward(nb::module_& m);
void bind_identify(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_learn(nb::module_& m);
void bind_uncertain(nb::module_& m);
void bind_builder(nb::module_& m);  // where room io is built

}  // namespace cycloid::python
