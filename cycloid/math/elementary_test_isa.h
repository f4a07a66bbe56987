// What elementary_test.cpp asks of each instruction set.
#pragma once

namespace cycloid {

enum class ElementaryFunction {
  sqrt,
  sin,
  cos,
  sine_of_sin_cos,
  cosine_of_sin_cos,
  tan,
  asin,
  acos,
  atan2,
  exp,
  log,
  pow,
  tanh,
  sigmoid
};

// The scalar type in which an array is evaluated: T itself, packs of half a register, of one
// register and of two.
enum class LaneForm { scalar, half_register, one_register, two_registers };

}  // namespace cycloid

// out[i] = f(x[i]) or f(x[i], y[i]); n is a multiple of 32.
#define CYCLOID_ELEMENTARY_ENTRIES(set)                                                          \
  namespace cycloid::isa::set {                                                                  \
  void evaluate(ElementaryFunction f, LaneForm form, const float* x, const float* y, float* out, \
                int n);                                                                          \
  void evaluate(ElementaryFunction f, LaneForm form, const double* x, const double* y,           \
                double* out, int n);                                                             \
  }
