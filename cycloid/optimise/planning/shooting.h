// shooting.h: plans by single shooting: one rollout, its gradient, and L-BFGS on all inputs.
//
// Inputs with bounds are functions of free variables (bounded_number.h). There are no gains.
#pragma once

#include "cycloid/adjoint/rollout.h"
#include "cycloid/optimise/bounded_number.h"
#include "cycloid/optimise/planning/planner.h"
