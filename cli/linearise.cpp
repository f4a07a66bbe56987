// cycloid linearise: the Jacobians of one step, and what they do to a small deviation.

#include <cstdio>
#include <memory>

#include "cli/command_line.h"
#include "cli/eigenvalues.h"
#include "cli/law_options.h"
#include "cli/memory_need.h"
#include "cli/text_table.h"
#include "cycloid/adjoint/linearise.h"

namespace cycloid::cli {
namespace {

struct LineariseCommandOptions {
  LawOptions law;
  std::vector<double> u;
  bool params = false;
};

// In double, whatever the system's precision.
struct StepJacobians {
  std::vector<double> next, A, B, P;
};

template <class T>
StepJacobians jacobians(const System& system, const std::vector<double>& x,
                        const std::vector<double>& u, bool params) {
  const std::vector<T> x_row(x.begin(), x.end()), u_row(u.begin(), u.end());
  const Linearisation<T> l = linearise(system, std::span<const T>(x_row), std::span<const T>(u_row),
                                       {}, {.params = params});
  return {{l.next.begin(), l.next.end()},
          {l.A.begin(), l.A.end()},
          {l.B.begin(), l.B.end()},
          {l.P.begin(), l.P.end()}};
}

Json rows(const std::vector<double>& matrix, std::size_t height, std::size_t width) {
  Json all = Json::array();
  for (std::size_t i = 0; i < height; ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < width; ++j) row.push_back(matrix[i * width + j]);
    all.push_back(std::move(row));
  }
  return all;
}

std::vector<std::string> tangent_names(const Space& space) {
  std::vector<std::string> names;
  for (int i = 0; i < space.tangent_size(); ++i) names.push_back(space.tangent_name(i));
  return names;
}

std::vector<std::string> parameter_names(const Parameters& parameters) {
  std::vector<std::string> names;
  for (int i = 0; i < parameters.size(); ++i) names.push_back(parameters.number_name(i));
  return names;
}

// A matrix with the names of its rows and columns; of a large one the shape alone.
std::string matrix_text(const std::string& title, const std::vector<double>& matrix,
                        const std::vector<std::string>& row_names,
                        const std::vector<std::string>& column_names) {
  constexpr std::size_t kShownColumns = 8, kShownRows = 24;
  if (column_names.empty()) return "";
  std::string text = message("\n", title, "\n");
  if (column_names.size() > kShownColumns || row_names.size() > kShownRows) {
    return text +
           message("  ", row_names.size(), " × ", column_names.size(), "; --json prints it\n");
  }
  std::vector<Table::Align> alignments(column_names.size() + 1, Table::Align::right);
  alignments[0] = Table::Align::left;
  Table table(alignments);
  std::vector<std::string> cells = column_names;
  cells.insert(cells.begin(), "");
  table.row(cells);
  for (std::size_t i = 0; i < row_names.size(); ++i) {
    cells = {row_names[i]};
    for (std::size_t j = 0; j < column_names.size(); ++j) {
      cells.push_back(shown(matrix[i * column_names.size() + j]));
    }
    table.row(cells);
  }
  return text + table.text();
}

std::string stability(const std::vector<double>& magnitudes, Precision precision) {
  if (magnitudes.empty()) return "";
  // Rounding moves an eigenvalue by little; a double one by the root of that.
  const double neutral = precision == Precision::float32 ? 1e-6 : 1e-9;
  const double largest = magnitudes.front();
  const char* const meaning = largest > 1 + neutral ? "a small deviation grows"
                              : largest < 1 - neutral
                                  ? "a small deviation dies away"
                                  : "a small deviation neither grows nor dies away";
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", largest);
  return message("\nLargest |eigenvalue| of A: ", number, " per step: ", meaning, ".\n");
}

Answer linearise_step(const LineariseCommandOptions& options) {
  const System system = options.law.system();
  const std::vector<double> x = options.law.start(system);
  const std::size_t nu = static_cast<std::size_t>(system.inputs().size());
  const std::vector<double> u = options.u.empty() ? std::vector<double>(nu, 0.0) : options.u;
  if (u.size() != nu) {
    throw UsageError(
        message("--u: \"", system.name(), "\" has ", nu, " inputs, got ", u.size(), " numbers"));
  }
  const std::vector<std::string> tangents = tangent_names(system.states()),
                                 inputs = names_of(system.inputs()),
                                 parameters = parameter_names(system.parameters());
  const std::size_t nt = tangents.size();
  require_memory(8.0 * sizeof(double) * static_cast<double>(nt) *
                 static_cast<double>(nt + nu + parameters.size()));
  const StepJacobians j = in_precision_of(
      system, [&](auto zero) { return jacobians<decltype(zero)>(system, x, u, options.params); });
  const std::vector<double> magnitudes = eigenvalue_magnitudes(j.A, static_cast<int>(nt));

  Json json = options.law.described(system);
  json["state_names"] = names_of(system.states());
  json["tangent_names"] = tangents;
  json["input_names"] = inputs;
  json["x"] = x;
  json["u"] = u;
  json["next"] = j.next;
  json["A"] = rows(j.A, nt, nt);
  json["B"] = rows(j.B, nt, nu);
  if (options.params) {
    json["parameter_names"] = parameters;
    json["P"] = rows(j.P, nt, parameters.size());
  }
  json["eigenvalue_magnitudes"] = magnitudes;
  std::string text = options.law.headline(system);
  text += matrix_text("A = ∂next/∂x", j.A, tangents, tangents);
  text += matrix_text("B = ∂next/∂u", j.B, tangents, inputs);
  if (options.params) text += matrix_text("P = ∂next/∂parameters", j.P, tangents, parameters);
  return {json, text + stability(magnitudes, system.precision())};
}

Run declare_linearise(Options& options) {
  const auto o = std::make_shared<LineariseCommandOptions>();
  o->law.declare(options);
  options.numbers("--u", o->u, "inputs of the step (default: zero)");
  options.flag("--params", o->params, "P too, with respect to the parameters");
  return [o](const Terminal&) { return linearise_step(*o); };
}

}  // namespace

const Command kLinearise = {
    "linearise", "the Jacobians A and B of one step",
    "Prints the Jacobians of one step at a state: A with respect to the state, B with\n"
    "respect to the inputs, and the magnitudes of A's eigenvalues. All are exact to\n"
    "rounding, in tangent coordinates.",
    "cycloid linearise pendulum --x 3.14159,0 --dt 0.001", declare_linearise};

}  // namespace cycloid::cli
