#include "cycloid/math/elementary_test_isa.h"

#include "cycloid/math/elementary.h"

CYCLOID_ELEMENTARY_ENTRIES(CYCLOID_ISA)

namespace cycloid::isa::CYCLOID_ISA {
namespace {

template <class S, class F>
void map(const Scalar<S>* x, const Scalar<S>* y, Scalar<S>* out, int n, F f) {
  for (int i = 0; i < n; i += kLanes<S>) store(out + i, f(load<S>(x + i), load<S>(y + i)));
}

template <class S>
void evaluate_as(ElementaryFunction f, const Scalar<S>* x, const Scalar<S>* y, Scalar<S>* out,
                 int n) {
  using enum ElementaryFunction;
  switch (f) {
    case sqrt: return map<S>(x, y, out, n, [](S a, S) { return cycloid::sqrt(a); });
    case sin: return map<S>(x, y, out, n, [](S a, S) { return cycloid::sin(a); });
    case cos: return map<S>(x, y, out, n, [](S a, S) { return cycloid::cos(a); });
    case sine_of_sin_cos:
      return map<S>(x, y, out, n, [](S a, S) {
        S s, c;
        sin_cos(a, s, c);
        return s;
      });
    case cosine_of_sin_cos:
      return map<S>(x, y, out, n, [](S a, S) {
        S s, c;
        sin_cos(a, s, c);
        return c;
      });
    case tan: return map<S>(x, y, out, n, [](S a, S) { return cycloid::tan(a); });
    case asin: return map<S>(x, y, out, n, [](S a, S) { return cycloid::asin(a); });
    case acos: return map<S>(x, y, out, n, [](S a, S) { return cycloid::acos(a); });
    case atan2: return map<S>(x, y, out, n, [](S a, S b) { return cycloid::atan2(a, b); });
    case exp: return map<S>(x, y, out, n, [](S a, S) { return cycloid::exp(a); });
    case log: return map<S>(x, y, out, n, [](S a, S) { return cycloid::log(a); });
    case pow: return map<S>(x, y, out, n, [](S a, S b) { return cycloid::pow(a, b); });
    case tanh: return map<S>(x, y, out, n, [](S a, S) { return cycloid::tanh(a); });
    case sigmoid: return map<S>(x, y, out, n, [](S a, S) { return cycloid::sigmoid(a); });
  }
}

template <class T>
void evaluate_form(ElementaryFunction f, LaneForm form, const T* x, const T* y, T* out, int n) {
  switch (form) {
    case LaneForm::scalar: return evaluate_as<T>(f, x, y, out, n);
    case LaneForm::half_register:
      // An SSE2 register has two doubles: half of it is a scalar.
      return evaluate_as<Pack<T, std::max(2, kNativeLanes<T> / 2)>>(f, x, y, out, n);
    case LaneForm::one_register: return evaluate_as<Pack<T, kNativeLanes<T>>>(f, x, y, out, n);
    case LaneForm::two_registers: return evaluate_as<Pack<T, 2 * kNativeLanes<T>>>(f, x, y, out, n);
  }
}

}  // namespace

void evaluate(ElementaryFunction f, LaneForm form, const float* x, const float* y, float* out,
              int n) {
  evaluate_form(f, form, x, y, out, n);
}
void evaluate(ElementaryFunction f, LaneForm form, const double* x, const double* y, double* out,
              int n) {
  evaluate_form(f, form, x, y, out, n);
}

}  // namespace cycloid::isa::CYCLOID_ISA
