#include "run_options.h"

#include "cycloid/base/error.h"

namespace cycloid::python {

Memory memory_of(const std::string& kind, std::int64_t value) {
  if (kind == "checkpoints") return Memory::checkpoints(value);
  if (kind == "truncate") return Memory::truncate(value);
  return Memory::parse(kind);
}

Save save_of(const std::string& kind, const std::vector<std::int64_t>& steps) {
  if (kind == "all") return Save::all();
  if (kind == "last") return Save::last();
  if (kind == "every") return Save::every(steps.at(0));
  return Save::at(steps);
}

std::optional<GradientMode> gradient_of_call(const std::optional<nb::tuple>& mode) {
  if (!mode) return std::nullopt;
  const auto kind = nb::cast<std::string>((*mode)[0]);
  if (kind == "from_distance") return FromDistance{nb::cast<double>((*mode)[1])};
  if (kind != "smoothed") return ExactGradient{};
  Smoothed smoothed;
  smoothed.sigma = nb::cast<double>((*mode)[1]);
  smoothed.samples = nb::cast<int>((*mode)[2]);
  smoothed.seed = nb::cast<std::uint64_t>((*mode)[3]);
  const auto order = nb::cast<std::string>((*mode)[4]);
  smoothed.order = order == "first"    ? Smoothed::Order::first
                   : order == "zeroth" ? Smoothed::Order::zeroth
                                       : Smoothed::Order::mix;
  return smoothed;
}

void check_step(const Report& report) {
  if (report.failed.empty()) return;
  throw Error(message("the step failed: ", describe(report.failed.front())));
}

std::string warning_of(const Report& report) {
  const std::size_t count = report.unsolved.size() + report.crowded.size();
  if (count == 0) return {};
  const std::string first = report.unsolved.empty() ? describe(report.crowded.front())
                                                    : describe(report.unsolved.front());
  return message(first, count > 1 ? message(" (the first of ", count, ")") : "", ". ",
                 report.advice());
}

void warn(const std::string& text) {
  if (text.empty()) return;
  const nb::gil_scoped_acquire lock;
  const nb::object kind = nb::module_::import_("cycloid").attr("SolverWarning");
  if (PyErr_WarnEx(kind.ptr(), text.c_str(), 1) != 0) throw nb::python_error();
}

nb::dict report_of(const Report& report) {
  nb::list failed;
  for (const Failure& f : report.failed) {
    failed.append(nb::make_tuple(f.environment, f.step, f.stage, f.body, f.reason));
  }
  nb::list unsolved, crowded;
  for (const Unsolved& u : report.unsolved) {
    unsolved.append(nb::make_tuple(u.environment, u.step, u.residual, u.count));
  }
  for (const Crowded& c : report.crowded) {
    crowded.append(nb::make_tuple(c.environment, c.step, c.count));
  }
  nb::dict d;
  d["failed"] = failed;
  d["unsolved"] = unsolved;
  d["crowded"] = crowded;
  d["advice"] = report.advice();
  nb::dict counters;
  for (const Counter& c : report.counters) counters[c.name.c_str()] = c.mean;
  d["counters"] = counters;
  d["contacts"] = report.mean("contacts");
  d["substeps"] = report.total("substeps");
  d["rejected_substeps"] = report.total("rejected_substeps");
  d["memory"] = report.memory;
  d["tape_bytes"] = report.tape_bytes;
  d["lanes"] = report.lanes;
  d["instruction_set"] = report.instruction_set;
  return d;
}

}  // namespace cycloid::python
