#include <algorithm>
#include <cmath>

#include "cli/tour/stop.h"
#include "cli/tour/worlds.h"
#include "cycloid/adjoint/observe.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/fluid/grid/grid_flow.h"
#include "cycloid/soft/mesh.h"
#include "cycloid/soft/solid.h"

namespace cycloid::tour {
namespace {

using Row = std::vector<double>;

constexpr int kBendSteps = 40, kStreamSteps = 120;

System soft_finger(const SolidMesh& mesh) {
  SolidOptions options;
  options.young = {2e5}, options.damping = 0.02, options.dt = 0.02;
  options.held.assign(mesh.vertices.size(), 0);
  for (std::size_t v = 0; v < mesh.vertices.size(); v += 3) {
    if (mesh.vertices[v] == 0) std::fill_n(options.held.begin() + static_cast<long>(v), 3, 1);
  }
  return solid(mesh, options);
}

// How far the last vertex has sunk after the run [m], and the derivative by log E where asked.
double sunk(const System& body, const Row& rest, double young, double* slope) {
  const Row params = body.parameters().pack({{"young", {young}}});
  RolloutOptions options;
  options.save = Save::last();
  const auto run = rollout(body, rest, kBendSteps, params, options);
  const std::size_t tip = rest.size() / 2 - 1;
  if (slope) {
    Row bar(rest.size(), 0.0);
    bar[tip] = 1;
    const Row g = run.pullback(bar).params;
    *slope = young * g[static_cast<std::size_t>(body.parameters().find("young").offset)];
  }
  return run.state(0, -1)[tip] - rest[tip];
}

// |P| of the cells around each vertex, as a share of `top`.
std::vector<Row> stress_of_vertices(const System& body, const SolidMesh& mesh,
                                    std::span<const double> states) {
  const Observer observer(body, std::vector<std::string>{"stress"});
  const Observation seen = observe(observer, {.states = states});
  const std::size_t cells = static_cast<std::size_t>(mesh.cell_count());
  const std::size_t nodes = static_cast<std::size_t>(mesh.nodes());
  std::vector<Row> out;
  double top = 0;
  for (std::int64_t row = 0; row < seen.rows(); ++row) {
    const double* P = seen.values().data() + static_cast<std::size_t>(row) * 9 * cells;
    Row sum(mesh.vertices.size() / 3, 0.0), count(sum.size(), 0.0);
    for (std::size_t c = 0; c < cells; ++c) {
      double square = 0;
      for (std::size_t i = 0; i < 9; ++i) square += P[9 * c + i] * P[9 * c + i];
      for (std::size_t k = 0; k < nodes; ++k) {
        const std::size_t v = static_cast<std::size_t>(mesh.cells[nodes * c + k]);
        sum[v] += std::sqrt(square), count[v] += 1;
      }
    }
    for (std::size_t v = 0; v < sum.size(); ++v) top = std::max(top, sum[v] /= count[v]);
    out.push_back(std::move(sum));
  }
  for (Row& row : out) {
    for (double& x : row) x /= top;
  }
  return out;
}

std::vector<int> surface_triangles(const SolidMesh& mesh) {
  const SurfaceFaces faces = surface_faces(mesh);
  std::vector<int> out;
  for (std::size_t f = 0; f < faces.nodes.size(); f += static_cast<std::size_t>(faces.each)) {
    const int* n = faces.nodes.data() + f;
    out.insert(out.end(), {n[0], n[1], n[2], n[0], n[2], n[3]});
  }
  return out;
}

System stream_of(double radius) {
  GridOptions options;
  options.shape = {96, 40}, options.size = {2.4, 1.0};
  options.viscosity = 2e-3, options.dt = 0.012;
  GridSide inflow{SideKind::inflow, {}};
  for (int i = 0; i < 40; ++i) inflow.velocity.insert(inflow.velocity.end(), {1.0, 0.0});
  options.sides = {{inflow, GridSide{SideKind::outflow}},
                   {GridSide{SideKind::slip}, GridSide{SideKind::slip}}};
  options.obstacles = {{ObstacleKind::circle, {0.5, 0.48, radius}}};
  return grid_flow(options);
}

// Fluid that moves with the inflow.
Row moving(const System& flow) {
  Row x(flow.initial_state().size(), 0.0);
  std::fill_n(x.begin(), 97 * 40, 1.0);
  return x;
}

double drag_of(double radius, double* slope) {
  const System flow = stream_of(radius);
  RolloutOptions options;
  options.save = Save::last();
  const auto run = rollout(flow, moving(flow), kStreamSteps, {}, options);
  const Observer observer(flow, std::vector<std::string>{"drag:#0"});
  const Observation seen = observe(observer, {.states = run.states()});
  if (slope) {
    const std::size_t at =
        static_cast<std::size_t>(flow.parameters().find("obstacle:#0.radius").offset);
    const ObservationGradient direct = seen.pullback(Row{1.0});
    *slope = direct.parameters[at] + run.pullback(direct.states).params[at];
  }
  return seen.values()[0];
}

}  // namespace

FingerResult bend_finger(const KeepGoing& keep_going) {
  FingerResult out;
  const SolidMesh mesh = box_mesh({12, 2, 2}, {0.3, 0.05, 0.05}, ElementKind::hex);
  const System body = soft_finger(mesh);
  Row rest = mesh.vertices;
  rest.resize(2 * mesh.vertices.size(), 0.0);
  out.unknowns = static_cast<int>(mesh.vertices.size());
  double z = std::log(2e5), slope = 0;
  double now = sunk(body, rest, std::exp(z), &slope);
  const double h = 1e-4;
  const double difference =
      (sunk(body, rest, std::exp(z + h), nullptr) - sunk(body, rest, std::exp(z - h), nullptr)) /
      (2 * h);
  out.gradient_error = std::abs(slope / difference - 1);
  out.runs = 1;
  while (std::abs(now - out.wanted) > 1e-5 && out.runs < 20) {  // Newton's method, by log E
    stop_if_asked(keep_going);
    z -= std::clamp((now - out.wanted) / slope, -0.7, 0.7);
    now = sunk(body, rest, std::exp(z), &slope);
    ++out.runs;
  }
  out.young = std::exp(z), out.reached = now;
  const auto run =
      rollout(body, rest, kBendSteps, body.parameters().pack({{"young", {out.young}}}));
  for (int k = 0; k <= kBendSteps; ++k) {
    const auto x = run.state(0, k);
    out.scene.vertices.emplace_back(x.begin(), x.begin() + static_cast<long>(x.size() / 2));
  }
  out.scene.stress = stress_of_vertices(body, mesh, run.states());
  out.scene.triangles = surface_triangles(mesh);
  out.scene.frame_seconds = 0.02;
  return out;
}

StreamResult follow_stream(const KeepGoing& keep_going) {
  StreamResult out;
  constexpr double kRadius = 0.1, kStep = 1e-5;
  const System flow = stream_of(kRadius);
  out.cells = 96 * 40;
  RolloutOptions options;
  options.save = Save::every(16);
  options.keep_going = keep_going;
  const auto run = rollout(flow, moving(flow), 800, {}, options);
  const Observer observer(flow, std::vector<std::string>{"vorticity"});
  const Observation seen = observe(observer, {.states = run.states()});
  out.scene.field_shape = {96, 40}, out.scene.field_size = {2.4, 1.0};
  for (std::int64_t k = 0; k < seen.rows(); ++k) {
    const double* v = seen.values().data() + static_cast<std::size_t>(k) * 96 * 40;
    Row frame(v, v + 96 * 40);
    for (double& x : frame) x = std::clamp(x / 15, -1.0, 1.0);
    out.scene.field.push_back(std::move(frame));
  }
  out.scene.frame_seconds = 16 * 0.012;
  stop_if_asked(keep_going);
  out.drag = drag_of(kRadius, &out.slope);
  out.difference =
      (drag_of(kRadius + kStep, nullptr) - drag_of(kRadius - kStep, nullptr)) / (2 * kStep);
  return out;
}

}  // namespace cycloid::tour
