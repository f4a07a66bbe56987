// jax.h: what the handlers of cycloid.jax share.
//
// Every handler works on rows, as module.h says; python/cycloid/jax.py makes rows of what a user
// gives. A forward call takes three buffers and gives its values and a token (kept.h). Its pullback
// takes the token, the three buffers and P cotangents of the values, each (rows, …); it gives the P
// cotangents of those buffers that the bits of `wrt` name, the others without numbers.
// Its pushforward takes the three buffers and P directions of each, without rows for zero, and
// gives P tangents of the values. Its hvp takes P cotangents besides, and gives the derivatives of
// the P pullbacks along the directions.
// Buffers are float32 or float64, whatever the system computes in.
#pragma once

#include "kept.h"
#include "xla_call.h"

namespace cycloid::python {

inline constexpr int kFirst = 1, kSecond = 2, kThird = 4;  // bits of wrt

// Parameters in rows of all, none for the defaults. `columns` are the places, in the vector of all,
// of the numbers that are given; empty for all of them. The others have their defaults.
class ParameterColumns {
 public:
  ParameterColumns(const Parameters& registry, std::vector<std::int64_t> columns);
  std::vector<double> rows_of(const xla::Buffer& given) const;
  // Tangents of what was given, in rows of all; the others do not move.
  std::vector<double> tangents_of(std::span<const double> given) const;
  // The cotangents of what was given, to a part of the result `to`.
  void write_bars(std::span<const double> rows_bar, const xla::Buffer& to, Part part) const;

 private:
  std::vector<double> defaults_;
  std::vector<std::int64_t> columns_;
};

// Throws Error when the Python object is gone.
template <class T>
T found_on_shelf(std::int64_t handle) {
  if (const std::optional<T> value = shelf().find<T>(handle)) return *value;
  throw Error(
      "the system of this compiled function no longer exists; keep the System that it was traced "
      "with for as long as the function is called");
}

void write_token(const xla::Buffer& buffer, std::uint64_t token);
std::uint64_t read_token(const xla::Buffer& buffer);

void add_observe_handlers(nb::module_& m, nb::dict& handlers);
void add_card_handlers(nb::module_& m);

// As the attributes of a rollout say.
RolloutOptions rollout_options_of(const XlaCall& call);

// P, of a pullback's cotangents (P, rows, …).
inline std::size_t pullbacks_of(const xla::Buffer& bars) {
  return static_cast<std::size_t>(bars.shape[0]);
}

}  // namespace cycloid::python
