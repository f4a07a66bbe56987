// cost_terms.h: costs as Python hands them over, a list of tuples, one for each term (plan.cpp).
#pragma once

#include "cycloid/optimise/cost.h"
#include "module.h"

namespace cycloid::python {

// Of a plan of so many steps of the System. Called with the interpreter lock.
Cost cost_of(const nb::list& terms, const System& system, std::int64_t steps);

}  // namespace cycloid::python
