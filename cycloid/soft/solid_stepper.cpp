#include "cycloid/soft/solid_stepper.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/soft/solid_state.h"

namespace cycloid::inline soft {
namespace {

using Numbers = std::vector<double>;

}  // namespace

struct SolidStepper::Workspace final : StepWorkspace {
  Workspace(const SolidBody& body, int threads) : numbers(body, threads) {}
  SolidNumbers numbers;
  MinimiserSpace space;
  LaneNote note;
  bool finite = true;
};

struct SolidStepper::Record final : RecordObject {
  std::size_t bytes() const override {
    std::size_t sum = 0;
    for (const StageRecord& s : stages) {
      sum += sizeof(double) * (s.y.size() + s.skew.size()) + (s.factor ? s.factor->bytes() : 0) +
             (s.plan ? s.plan->bytes() : 0);
    }
    return sum;
  }
  // Whether every stage has a factor.
  bool goes_back() const;
  // The step in dual numbers, with stages that are solved; gives their ends.
  std::vector<std::vector<Dual1>> run(const SolidStep<Dual1>& s, const SolidDuals& n,
                                      Dual1* x_next) const {
    std::vector<std::vector<Dual1>> ends;
    s.run(
        [&](const StageOf<Dual1>& stage, double, const std::vector<Dual1>&) {
          ends.push_back(stage_end<Dual1>(n, stage, stages[ends.size()]));
          return ends.back();
        },
        x_next);
    return ends;
  }
  std::vector<StageRecord> stages;
};

SolidStepper::SolidStepper(std::shared_ptr<const SolidBody> body)
    : Stepper<double>([&] {
        StepperSizes s;
        s.state = s.tangent = body->plan->moving() + body->plan->memory();
        s.input = body->inputs;
        s.parameters = body->lane_numbers;
        const SolidBody::Place* const places[] = {&body->young, &body->poisson, &body->density,
                                                  &body->mass, &body->vertices};
        for (const auto* place : places) {
          if (!place->array) continue;
          const bool of_cells = place != &body->mass && place != &body->vertices;
          s.arrays.push_back(of_cells               ? body->plan->cells()
                             : place == &body->mass ? body->plan->points()
                                                    : 3 * body->plan->points());
        }
        s.record_is_costly = s.spreads = true;
        return s;
      }()),
      body_(std::move(body)) {}

std::unique_ptr<StepWorkspace> SolidStepper::make_workspace(const StepResources& r) const {
  return std::make_unique<Workspace>(*body_, r.threads);
}

void SolidStepper::begin(const StepParameters<double>& p, StepWorkspace& workspace) const {
  static_cast<Workspace&>(workspace).numbers.read(p);
}

StageRecord SolidStepper::solve(Workspace& w, const SolidStep<double>& s, const Stage& stage,
                                double part, const Numbers& from) const {
  StageRecord out;
  Incremental problem = incremental(w.numbers, stage);
  problem.guess = from;
  Numbers outside = from;  // an obstacle may have come to the body
  push_out(body_->plan->terms, s.numbers_of_terms(), body_->plan->held, outside.data());
  if (body_->plan->surface) {  // ... but not through itself
    Numbers way(from.size());
    for (std::size_t i = 0; i < way.size(); ++i) way[i] = outside[i] - from[i];
    const double thickness = thickness_of(*body_->plan, s.numbers_of_terms());
    const double free =
        body_->plan->surface->free_part(from.data(), way.data(), thickness, w.numbers.threads);
    for (std::size_t i = 0; i < way.size() && free < 1; ++i) outside[i] = from[i] + free * way[i];
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!body_->plan->held[i]) problem.guess[i] += part * body_->dt * s.velocity()[i];
  }
  out.y = outside;
  Minimum found =
      minimise(*body_->plan, *body_->kernels, problem, w.numbers.threads, out.y, w.space);
  w.note.counters[0] += found.iterations, w.note.counters[1] += found.linear_iterations;
  if (!found.finite || found.residual > 0) {  // once more, from where the body stood
    problem.guess.clear();
    out.y = outside;
    found = minimise(*body_->plan, *body_->kernels, problem, w.numbers.threads, out.y, w.space);
    w.note.counters[0] += found.iterations, w.note.counters[1] += found.linear_iterations;
  }
  w.finite = w.finite && found.finite;
  // Without a factor there is no way back through this step.
  w.note.residual = std::max(w.note.residual, found.factor ? found.residual : 1.0);
  out.factor = std::move(found.factor);
  out.skew = std::move(found.skew);
  out.plan = std::move(found.plan);
  return out;
}

// At the start of a run: who is inside an obstacle, both where it was built and where it is.
Trespass SolidStepper::starts_inside(const SolidStep<double>& s, const SolidNumbers& n) const {
  if (!s.first()) return {};
  const Terms& terms = body_->plan->terms;
  const double* const x = s.start().data();
  if (first_trespass(terms, n.numbers_of_terms(nullptr), x).vertex < 0) return {};
  return first_trespass(terms, s.numbers_of_terms(), x);
}

// Who goes through itself there: "edge 3-7 and triangle 4-5-9"; empty where nobody does.
std::string SolidStepper::starts_crossed(const SolidStep<double>& s) const {
  const SolidPlan& plan = *body_->plan;
  if (!s.first() || !plan.surface) return {};
  const double thickness = thickness_of(plan, s.numbers_of_terms());
  const auto near = plan.surface->nearest(s.start().data(), thickness);
  if (near.found) return near.name();
  const auto c = plan.surface->first_crossing(s.start().data());
  return c.edge >= 0 ? plan.surface->name_of(c) : std::string();
}

StepStatus SolidStepper::step(const StepInput<double>& in, double* x_next, StepRecord* record,
                              StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  w.note = {};
  w.finite = true;
  const SolidStep<double> s(w.numbers, in.x, in.u, in.step == 0);
  std::vector<StageRecord> stages;
  const auto solved = [&](const Stage& stage, double part, const Numbers& from) {
    stages.push_back(solve(w, s, stage, part, from));
    return w.finite ? stages.back().y : Numbers{};
  };
  const bool started = starts_inside(s, w.numbers).vertex < 0 && starts_crossed(s).empty();
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!started || !s.run(solved, x_next) || !std::all_of(x_next, x_next + sizes().state, finite)) {
    std::fill_n(x_next, sizes().state, std::nan(""));
    return StepStatus::non_finite;
  }
  if (record) {
    auto own = std::make_unique<Record>();
    own->stages = std::move(stages);
    record->object = std::move(own);
    record->bytes = 0;
  }
  return w.note.residual > 0 ? StepStatus::short_of : StepStatus::ok;
}

bool SolidStepper::Record::goes_back() const {
  return std::all_of(stages.begin(), stages.end(),
                     [](const auto& s) { return s.factor != nullptr; });
}

void SolidStepper::pullback(const StepInput<double>& in, const StepRecord& record,
                            const double* x_next_bar, double* x_bar, double* u_bar,
                            StepWorkspace& workspace) const {
  if (!record.object) return;  // the step failed, and leaves nothing to go back through
  const Record& own = static_cast<const Record&>(*record.object);
  if (!own.goes_back()) return;  // the step said so in its note
  std::vector<Numbers> ends;
  for (const StageRecord& stage : own.stages) ends.push_back(stage.y);
  const SolidStep<double> s(static_cast<Workspace&>(workspace).numbers, in.x, in.u, in.step == 0);
  s.pullback(own.stages, ends, x_next_bar, x_bar, u_bar);
}

bool SolidStepper::pushforward(const StepInput<double>& in, const StepRecord& record,
                               const StepTangents<double>& tangents, double* x_next_tan,
                               StepWorkspace& workspace) const {
  if (!record.object) return false;
  const Record& own = static_cast<const Record&>(*record.object);
  if (!own.goes_back()) return false;
  const auto with = [](const double* value, const double* tangent, int count) {
    std::vector<Dual1> out(value, value + count);
    for (int i = 0; tangent && i < count; ++i) out[at(i)].tangent[0] = tangent[i];
    return out;
  };
  const std::vector<Dual1> x = with(in.x, tangents.x, sizes().state),
                           u = with(in.u, tangents.u, sizes().input);
  SolidDuals n(static_cast<Workspace&>(workspace).numbers, tangents);
  std::vector<Dual1> next(x.size());
  own.run(SolidStep<Dual1>(n, x.data(), u.data(), in.step == 0), n, next.data());
  for (std::size_t i = 0; i < next.size(); ++i) x_next_tan[i] = next[i].tangent[0];
  return true;
}

void SolidStepper::finish(StepWorkspace& workspace, double* p_bar) const {
  static_cast<Workspace&>(workspace).numbers.give_back(p_bar);
}

const LaneNote* SolidStepper::notes(const StepWorkspace& workspace) const {
  return &static_cast<const Workspace&>(workspace).note;
}

StepTrouble SolidStepper::explain(const StepInput<double>& in, int,
                                  StepWorkspace& workspace) const {
  SolidNumbers& n = static_cast<Workspace&>(workspace).numbers;
  const SolidPlan& plan = *body_->plan;
  const SolidStep<double> s(n, in.x, in.u, in.step == 0);
  if (const Trespass t = starts_inside(s, n); t.vertex >= 0) {
    return {"start of the run", message("vertex ", t.vertex),
            message("it lies ", -t.distance, " m inside \"", t.obstacle,
                    "\", whose barrier keeps everything out: start outside of it, or take "
                    "contact=\"compliant\"")};
  }
  if (const std::string who = starts_crossed(s); !who.empty()) {
    return {"start of the run", who,
            "the body goes through itself, and self contact keeps apart what is apart: start with "
            "positions that do not cross"};
  }
  SolidView v = n.view();
  v.now = s.start().data();
  Numbers least(at(plan.cells()), 0.0);
  plan.for_each_chunk(
      1, [&](int begin, int end) { body_->kernels->least_stretch(v, begin, end, least.data()); });
  for (int c = 0; c < plan.cells(); ++c) {
    if (least[at(c)] > 0) continue;
    return {"start of the step", cell_name(plan.mesh, c),
            message("it is turned inside out or without volume (det F is ", least[at(c)],
                    "), and its energy has no derivative there: take smaller steps or move held "
                    "vertices more slowly")};
  }
  return {"minimisation", "positions",
          "no finite positions were found: take smaller steps, or look at loads and parameters"};
}

struct SolidPairStepper::Workspace final : StepWorkspace {
  std::unique_ptr<StepWorkspace> one;
  Numbers lanes, lanes_tan;  // of the parameters
  std::unique_ptr<SolidDuals> duals;
  double* const* arrays_bar_tan = nullptr;
  LaneNote notes[2];

  SolidNumbers& numbers() { return static_cast<SolidStepper::Workspace&>(*one).numbers; }
};

struct SolidPairStepper::Record final : RecordObject {
  std::size_t bytes() const override {
    std::size_t sum = one.object->bytes();
    for (const auto& y : ends) sum += sizeof(Dual1) * y.size();
    return sum;
  }
  StepRecord one;
  std::vector<std::vector<Dual1>> ends;  // of the stages; none where there is no way back
};

namespace {

const Dual1* duals(const double* pairs) { return reinterpret_cast<const Dual1*>(pairs); }
Dual1* duals(double* pairs) { return reinterpret_cast<Dual1*>(pairs); }
static_assert(sizeof(Dual1) == 2 * sizeof(double));

// Every second number.
Numbers every_second(const double* pairs, int count) {
  Numbers out;
  for (int i = 0; i < count; ++i) out.push_back(pairs[2 * i]);
  return out;
}

}  // namespace

SolidPairStepper::SolidPairStepper(std::shared_ptr<const SolidStepper> one)
    : Stepper<double>([&] {
        StepperSizes s = one->sizes();
        s.lanes = 2;
        return s;
      }()),
      one_(std::move(one)) {}

std::unique_ptr<StepWorkspace> SolidPairStepper::make_workspace(const StepResources& r) const {
  auto w = std::make_unique<Workspace>();
  w->one = one_->make_workspace(r);
  return w;
}

void SolidPairStepper::begin(const StepParameters<double>& p, StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  w.lanes = every_second(p.lanes, sizes().parameters);
  w.lanes_tan = every_second(p.lanes + 1, sizes().parameters);
  one_->begin({w.lanes.data(), p.arrays, p.arrays_bar, p.left_out}, *w.one);
  w.duals = std::make_unique<SolidDuals>(
      w.numbers(), StepTangents<double>{nullptr, nullptr, w.lanes_tan.data(), p.arrays_tan});
  w.arrays_bar_tan = p.arrays_bar_tan;
}

StepStatus SolidPairStepper::step(const StepInput<double>& in, double* x_next, StepRecord* record,
                                  StepWorkspace& workspace) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  const Numbers x = every_second(in.x, sizes().state), u = every_second(in.u, sizes().input);
  Numbers next(x.size());
  auto own = std::make_unique<Record>();
  const StepStatus status =
      one_->step({x.data(), u.data(), in.step, in.t0}, next.data(), &own->one, *w.one);
  w.notes[0] = w.notes[1] = *one_->notes(*w.one);
  for (std::size_t i = 0; i < next.size(); ++i) duals(x_next)[i] = Dual1(next[i]);
  if (status == StepStatus::non_finite) return status;
  const auto& solved = static_cast<const SolidStepper::Record&>(*own->one.object);
  if (solved.goes_back()) {
    const SolidStep<Dual1> s(*w.duals, duals(in.x), duals(in.u), in.step == 0);
    own->ends = solved.run(s, *w.duals, duals(x_next));
  }
  if (record) {
    record->object = std::move(own);
    record->bytes = 0;
  }
  return status;
}

void SolidPairStepper::pullback(const StepInput<double>& in, const StepRecord& record,
                                const double* x_next_bar, double* x_bar, double* u_bar,
                                StepWorkspace& workspace) const {
  if (!record.object) return;
  const Record& own = static_cast<const Record&>(*record.object);
  if (own.ends.empty()) return;
  const SolidStep<Dual1> s(*static_cast<Workspace&>(workspace).duals, duals(in.x), duals(in.u),
                           in.step == 0);
  s.pullback(static_cast<const SolidStepper::Record&>(*own.one.object).stages, own.ends,
             duals(x_next_bar), duals(x_bar), duals(u_bar));
}

void SolidPairStepper::finish(StepWorkspace& workspace, double* p_bar) const {
  Workspace& w = static_cast<Workspace&>(workspace);
  w.duals->give_back(duals(p_bar), w.arrays_bar_tan);
}

const LaneNote* SolidPairStepper::notes(const StepWorkspace& workspace) const {
  return static_cast<const Workspace&>(workspace).notes;
}

StepTrouble SolidPairStepper::explain(const StepInput<double>& in, int,
                                      StepWorkspace& workspace) const {
  const Numbers x = every_second(in.x, sizes().state), u = every_second(in.u, sizes().input);
  return one_->explain({x.data(), u.data(), in.step, in.t0}, 0,
                       *static_cast<Workspace&>(workspace).one);
}

}  // namespace cycloid::inline soft
