// run_options.h: what Python says about a run, as the core takes it, and what a single step says.
#pragma once

#include "module.h"

namespace cycloid::python {

// "auto" | "all" | "sqrt" | "checkpoints" | "truncate" | a budget, and the value of those with one.
Memory memory_of(const std::string& kind, std::int64_t value);

// "all" | "last" | "every" | "at", and its steps.
Save save_of(const std::string& kind, const std::vector<std::int64_t>& steps);

// "exact" | "from_distance" | "smoothed", and its numbers as a tuple of Python's; none for none.
std::optional<GradientMode> gradient_of_call(const std::optional<nb::tuple>& mode);

// A report as Python takes it (cycloid._rollout.as_report).
nb::dict report_of(const Report& report);

// Throws Error when an environment failed in a single step.
void check_step(const Report& report);

// What a step that is finite has to be warned of; empty: nothing.
std::string warning_of(const Report& report);

// The same of an observation or of cy.forward, whose rows are a step's environments.
std::string warning_of(const std::vector<RowNote>& notes);

// As cy.step warns, and as an error where the user has made errors of warnings. Takes the lock.
void warn(const std::string& text);

}  // namespace cycloid::python
