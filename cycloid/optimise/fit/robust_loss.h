// robust_loss.h: what a residual r, in units of its standard deviation, costs, and its weight in
// the normal equations.
//   ρ(r) = ½ r²                    squared
//        = ½ r², k |r| - ½ k²      Huber, |r| above k = 1.345
//        = ½ k² log(1 + (r/k)²)    Cauchy, k = 2.385                                     (1)
//   w(r) = ρ'(r) / r               1 for small r                                         (2)
// The constants give 95 % of the efficiency of least squares on normal noise.
#pragma once

namespace cycloid::inline optimise {

enum class Loss { squared, huber, cauchy };

const char* name(Loss loss);
double loss_of(Loss loss, double r);    // (1)
double weight_of(Loss loss, double r);  // (2)

}  // namespace cycloid::inline optimise
