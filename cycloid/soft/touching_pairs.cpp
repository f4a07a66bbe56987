#include "cycloid/soft/touching_pairs.h"

#include <algorithm>

#include "cycloid/soft/term/self_contact.h"

namespace cycloid::inline soft {
namespace {

bool is_of_pairs(const StencilTerm& term) {
  return term.law == StencilLaw::point_triangle || term.law == StencilLaw::edge_edge ||
         term.law == StencilLaw::point_edge;
}

std::vector<int> nodes_of(const StencilTerm& term, const ContactPairs& pairs) {
  std::vector<int> nodes;
  const auto kind = static_cast<PairKind>(static_cast<int>(term.law) -
                                          static_cast<int>(StencilLaw::point_triangle));
  const int each = stencil_kernels(term.law).nodes;
  for (const auto& pair : pairs[kind]) nodes.insert(nodes.end(), pair.begin(), pair.begin() + each);
  return nodes;
}

double number_of_pairs(const SolidPlan& plan, const TermNumbers& numbers, int which) {
  const auto own = std::find_if(plan.terms.begin(), plan.terms.end(), is_of_pairs);
  return numbers[static_cast<std::size_t>(own->first_number + which)];
}

ContactPairs near(const SolidPlan& plan, const TermNumbers& numbers, const double* y, int threads) {
  const double width = number_of_pairs(plan, numbers, PointTriangleContact::width);
  return plan.surface->near(y, width + thickness_of(plan, numbers), threads);
}

}  // namespace

double thickness_of(const SolidPlan& plan, const TermNumbers& numbers) {
  return 2 * number_of_pairs(plan, numbers, PointTriangleContact::radius);
}

Terms touching_terms(const SolidPlan& plan, const ContactPairs& pairs) {
  Terms out;
  for (const StencilTerm& term : plan.terms) {
    if (!is_of_pairs(term)) continue;
    StencilTerm own = term;
    own.nodes = nodes_of(term, pairs);
    if (own.nodes.empty()) continue;
    own.colours = colour_chunks(own.nodes, own.kernels->nodes, plan.vertices(), kTermChunk);
    out.push_back(std::move(own));
  }
  return out;
}

Terms touching_terms(const SolidPlan& plan, const TermNumbers& numbers, const double* x,
                     int threads) {
  if (!plan.surface) return {};
  return touching_terms(plan, near(plan, numbers, x, threads));
}

std::shared_ptr<const SolidPlan> plan_with_pairs(const SolidPlan& plan, const ContactPairs& pairs,
                                                 std::shared_ptr<const SolidPlan> last) {
  Terms terms = plan.terms;
  bool same = last != nullptr;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (!is_of_pairs(terms[k])) continue;
    terms[k].nodes = nodes_of(terms[k], pairs);
    same = same && last->terms[k].nodes == terms[k].nodes;
  }
  if (same) return last;
  auto out =
      std::make_shared<SolidPlan>(plan.mesh, plan.held, std::move(terms), plan.turns,
                                  plan.dissection ? LinearSolver::direct : LinearSolver::iterative);
  out->surface = plan.surface;
  return out;
}

TouchingPairs::TouchingPairs(const SolidPlan& plan, const TermNumbers& numbers, const TermsAt& step,
                             int threads)
    : plan_(plan), numbers_(numbers), threads_(threads) {
  if (plan.surface && step.step.befores > 0) {
    before_ = near(plan, numbers, step.before[0], threads);
  }
}

const ContactPairs& TouchingPairs::acting(const double* y) {
  const auto size = static_cast<std::size_t>(plan_.numbers());
  if (!plan_.surface || (at_.size() == size && std::equal(at_.begin(), at_.end(), y))) return now_;
  at_.assign(y, y + size);
  now_ = near(plan_, numbers_, y, threads_);
  now_.add(before_);  // (1)
  terms_ = touching_terms(plan_, now_);
  return now_;
}

const Terms& TouchingPairs::terms(const double* y) {
  acting(y);
  return terms_;
}

}  // namespace cycloid::inline soft
