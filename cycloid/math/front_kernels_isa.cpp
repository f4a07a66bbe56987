#include "cycloid/math/front_kernels.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace cycloid::isa::CYCLOID_ISA {
namespace {

using Stride = Eigen::OuterStride<>;
using Matrix = Eigen::Map<Eigen::MatrixXd, 0, Stride>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd, 0, Stride>;
using Vector = Eigen::Map<Eigen::VectorXd>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

bool factor(double* columns, int p, int m, double* update) {
  const int r = m - p;
  if (p == 0) return true;  // halves that do not touch; Eigen divides by the number of columns
  Matrix F11(columns, p, p, Stride(m)), L21(columns + p, r, p, Stride(m));
  Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> llt(F11);  // (2)
  if (llt.info() != Eigen::Success) return false;
  if (r == 0) return true;
  F11.transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(L21);
  Matrix F22(update, r, r, Stride(r));
  F22.selfadjointView<Eigen::Lower>().rankUpdate(L21, -1.0);  // (3)
  return true;
}

void up(const double* columns, int p, int m, double* own, double* rest) {
  Vector y(own, p);
  ConstMatrix(columns, p, p, Stride(m)).triangularView<Eigen::Lower>().solveInPlace(y);  // (4)
  if (m > p) Vector(rest, m - p).noalias() -= ConstMatrix(columns + p, m - p, p, Stride(m)) * y;
}

void down(const double* columns, int p, int m, double* own, const double* rest) {
  Vector y(own, p);
  if (m > p) {
    y.noalias() -=
        ConstMatrix(columns + p, m - p, p, Stride(m)).transpose() * ConstVector(rest, m - p);
  }
  ConstMatrix(columns, p, p, Stride(m)).transpose().triangularView<Eigen::Upper>().solveInPlace(y);
}

}  // namespace

extern const FrontKernels kFrontKernels;
constexpr FrontKernels kFrontKernels{factor, up, down};

}  // namespace cycloid::isa::CYCLOID_ISA
