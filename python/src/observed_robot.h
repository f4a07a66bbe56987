// observed_robot.h: what observations and derived quantities of a robot share at the edge.
#pragma once

#include "module.h"

namespace cycloid::python {

ObservedRows rows_of(const Rows<double>& x, const std::optional<Rows<double>>& u,
                     const std::optional<Rows<double>>& p, double t);

nb::dict gradient_of(ObservationGradient g);

}  // namespace cycloid::python
