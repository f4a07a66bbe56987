// worth.h: what a model is good for: plans that hold in the truth, and time that it saves.
//
//   regret         J*(u) - J*(u*), plans u of the model and u* of the truth, J* their costs when
//                  run in the truth                                                            (1)
//   regret share   (1) over J*(0) - J*(u*), what there was to gain                             (2)
//   speedup        time of the truth computed as roughly as the model errs, over the model's: the
//                  longest step k h, k = 1, 2, 4, …, whose error is at most the model's         (3)
//   break-even     training time over the time that a run saves                                (4)
#pragma once

#include <optional>

#include "cycloid/evaluate/contest.h"
#include "cycloid/optimise/cost.h"

namespace cycloid::inline evaluate {

struct PlanRegret {
  std::vector<double> regret, share;  // of each start; (1), (2)
};

// Of the first starts. None where the model is no System with the truth's inputs and step.
std::optional<PlanRegret> plan_regret(const Contest& contest, const Cost& cost, int starts);

struct RunCost {
  double seconds_per_step = 0;  // of one run, in the model's own steps
  double speedup = 0;           // (3); 0: the truth's step cannot be varied
  double saved_seconds = 0;     // by one run of the contest's length; may be negative
};

// `error`: the model's, in units of the contest's scale.
RunCost run_cost(const Contest& contest, double error);

}  // namespace cycloid::inline evaluate
