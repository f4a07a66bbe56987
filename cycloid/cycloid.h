// Everything a user of the core needs: laws and Systems, rollouts, gradients,
// how far to trust them, and optimisers that follow them.
#pragma once

#include "cycloid/adjoint/advance.h"
#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/adjoint/diagnose.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/observe.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/couple/close_loop.h"
#include "cycloid/optimise/lbfgs.h"
#include "cycloid/optimise/levenberg_marquardt.h"
#include "cycloid/optimise/mpc.h"
#include "cycloid/optimise/plan.h"
#include "cycloid/rigid/forward.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/system/heat.h"
#include "cycloid/system/make_system.h"
#include "cycloid/system/randomise.h"
#include "cycloid/system/systems.h"
