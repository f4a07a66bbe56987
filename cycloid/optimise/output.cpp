#include "cycloid/optimise/output.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/math/rotation.h"

namespace cycloid::inline optimise {
namespace {

constexpr const char* kWholeState = "state";

// Numbers of a row of y: vectors, and quaternions.
struct Layout {
  std::vector<BlockSpec> pieces;
  std::vector<OutputPart> parts;
  int size = 0, tangents = 0;

  void add(bool quaternion, int from, int tangent_from, int count) {
    const int tangent_count = quaternion ? 3 : count;
    pieces.push_back({"", count, "", quaternion ? BlockKind::quaternion : BlockKind::vector});
    parts.push_back({quaternion, from, tangent_from, size, tangents, count, tangent_count});
    size += count;
    tangents += tangent_count;
  }
  Space space(const std::string& name) const {
    return Space(std::vector<MixedBlockSpec>{{name, "", pieces}});
  }
};

// Adds the numbers `from`, … of the state; false where they cut a quaternion.
bool add_state_numbers(const Space& states, StateNumbers numbers, Layout& layout) {
  for (const Block& b : states.pieces()) {
    const int first = std::max(b.offset, numbers.from),
              end = std::min(b.offset + b.size, numbers.from + numbers.count);
    if (first >= end) continue;
    const bool quaternion = b.kind == BlockKind::quaternion;
    if (quaternion && end - first != b.size) return false;
    layout.add(quaternion, first, b.tangent_offset + first - b.offset, end - first);
  }
  return true;
}

// "tip[2]" without its index.
std::string without_index(const std::string& name) { return name.substr(0, name.find('[')); }

// Of "state[3]".
int index_of(const std::string& name, const std::string& base, int count) {
  for (int i = 0; i < count; ++i) {
    if (name == message(base, "[", i, "]")) return i;
  }
  throw Error(message("there is no \"", name, "\"; \"", base, "\" has ", count, " numbers, 0 to ",
                      count - 1));
}

Vec3<double> vec3(const double* v) { return {v[0], v[1], v[2]}; }

}  // namespace

Output::Output(const System& system, const std::string& name) : system_(system), name_(name) {
  const auto cut = [&]() -> Error {
    return Error(message("\"", name, "\" is one number of a quaternion, which is no orientation; ",
                         "name the whole of it"));
  };
  Layout layout;
  const std::string base = without_index(name);
  if (base == kWholeState) {
    StateNumbers all{0, system.states().size()};
    if (base != name) all = {index_of(name, base, all.count), 1};
    if (!add_state_numbers(system.states(), all, layout)) throw cut();
    space_ = layout.space(name);
    parts_ = std::move(layout.parts);
    return;
  }
  std::shared_ptr<const Observer> observer;
  try {
    observer = std::make_shared<Observer>(system, std::vector<std::string>{base});
  } catch (const ModelError& error) {
    if (!nearest_name(base, std::vector<std::string>{kWholeState})) throw;
    throw ModelError(message(error.what(), "; or did you mean \"", kWholeState, "\"?"));
  }
  const Observable& what = observer->observed().front().what;
  int first = 0, count = what.size();
  if (base != name) {
    const auto& names = observer->names();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end() && !(count == 1 && name == base + "[0]")) {
      throw Error(message("there is no \"", name, "\"; \"", base, "\" has ", count, " numbers, ",
                          names.front(), " to ", names.back()));
    }
    first = at == names.end() ? 0 : static_cast<int>(at - names.begin());
    count = 1;
  }
  if (!what.of_state.empty()) {
    int skip = first, left = count;
    for (const StateNumbers& s : what.of_state) {
      const int passed = std::min(skip, s.count), taken = std::min(s.count - passed, left);
      if (taken > 0 && !add_state_numbers(system.states(), {s.from + passed, taken}, layout)) {
        throw cut();
      }
      skip -= passed;
      left -= taken;
    }
  } else {
    const bool quaternions = shows_quaternions(what);
    if (quaternions && count % 4 != 0) throw cut();
    for (int i = 0; quaternions && i < count; i += 4) layout.add(true, 0, 0, 4);
    if (!quaternions) layout.add(false, 0, 0, count);
    observer_ = std::move(observer);
    first_ = first;
  }
  space_ = layout.space(name);
  parts_ = std::move(layout.parts);
}

Output::Values Output::values(const OutputRows& rows) const {
  const std::int64_t ny = size(), nx = system_.states().size();
  Values out;
  out.y.resize(rows.rows * ny);
  if (of_state()) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      for (const OutputPart& p : parts_) {
        std::copy_n(rows.states.data() + i * nx + p.from, p.count, out.y.data() + i * ny + p.place);
      }
    }
    return out;
  }
  out.seen = observe(*observer_, {rows.states, rows.inputs, rows.params, 0, rows.rows},
                     {rows.threads, rows.keep_going});
  const std::int64_t all = observer_->size();
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    std::copy_n(out.seen->values().data() + i * all + first_, ny, out.y.data() + i * ny);
  }
  return out;
}

void Output::quaternion_block(const double* r, double* block) {
  for (int i = 0; i < 3; ++i) {
    const Vec3<double> unit{i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0};
    Vec3<double> target_bar{}, own{};
    difference_tangent_pullback(vec3(r), unit, target_bar, own);
    block[i * 3] = own.x;
    block[i * 3 + 1] = own.y;
    block[i * 3 + 2] = own.z;
  }
}

void Output::add_pulled(const Values& values, std::span<const double> r,
                        std::span<const double> r_bar, double* x_bar, double* u_bar,
                        const OutputRows& rows) const {
  const std::int64_t nr = residuals(), ny = size(), nt = system_.states().tangent_size(),
                     nu = system_.inputs().size();
  // Cotangents of y in tangents: those of r, turned where it is a rotation.
  std::vector<double> d_bar(r_bar.begin(), r_bar.end());
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (const OutputPart& p : parts_) {
      if (!p.quaternion) continue;
      double* const own = d_bar.data() + i * nr + p.tangent_place;
      Vec3<double> target_bar{}, turned{};
      difference_tangent_pullback(vec3(r.data() + i * nr + p.tangent_place), vec3(own), target_bar,
                                  turned);
      own[0] = turned.x, own[1] = turned.y, own[2] = turned.z;
    }
  }
  if (of_state()) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      for (const OutputPart& p : parts_) {
        for (int j = 0; j < p.tangent_count; ++j) {
          x_bar[i * nt + p.tangent_from + j] += d_bar[i * nr + p.tangent_place + j];
        }
      }
    }
    return;
  }
  const std::int64_t all = observer_->size();
  std::vector<double> y_bar(rows.rows * all, 0.0);
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    space_.to_coordinates(values.y.data() + i * ny, d_bar.data() + i * nr,
                          y_bar.data() + i * all + first_);
  }
  const ObservationGradient g = values.seen->pullback(y_bar, {rows.threads, rows.keep_going});
  for (std::int64_t i = 0; i < rows.rows * nt; ++i) x_bar[i] += g.states_tangent[i];
  for (std::int64_t i = 0; i < rows.rows * nu; ++i) u_bar[i] += g.inputs[i];
}

void Output::jacobians(const Values& values, std::span<const double> r, const OutputRows& rows,
                       std::vector<double>& R, std::vector<double>& S) const {
  const std::int64_t nr = residuals(), nt = system_.states().tangent_size(),
                     nu = system_.inputs().size();
  R.assign(rows.rows * nr * nt, 0.0);
  S.assign(rows.rows * nr * nu, 0.0);
  std::vector<double> r_bar(rows.rows * nr), x_bar(rows.rows * nt), u_bar(rows.rows * nu);
  for (std::int64_t k = 0; k < nr; ++k) {
    std::fill(x_bar.begin(), x_bar.end(), 0.0);
    std::fill(u_bar.begin(), u_bar.end(), 0.0);
    for (std::int64_t i = 0; i < rows.rows * nr; ++i) r_bar[i] = i % nr == k ? 1.0 : 0.0;
    add_pulled(values, r, r_bar, x_bar.data(), u_bar.data(), rows);
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      std::copy_n(x_bar.data() + i * nt, nt, R.data() + (i * nr + k) * nt);
      std::copy_n(u_bar.data() + i * nu, nu, S.data() + (i * nr + k) * nu);
    }
  }
}

}  // namespace cycloid::inline optimise
