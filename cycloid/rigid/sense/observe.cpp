#include "cycloid/rigid/sense/observe.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "cycloid/base/compiled_sets.h"
#include "cycloid/base/error.h"
#include "cycloid/base/instruction_set.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/rigid/sense/observed_field.h"
#include "cycloid/rigid/sense/robot_observers.h"

namespace cycloid::inline rigid {
namespace {

std::unique_ptr<ChunkObserver> choose_observer(const ObserverKey& key) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::robot_observer(key);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::robot_observer(key);
#endif
    default: return isa::narrowest::robot_observer(key);
  }
}

template <class T>
void choose_senses(const ObserverKey& key, Senses<T>& out) {
  switch (active_instruction_set()) {
#if CYCLOID_HAS_V4
    case InstructionSet::v4: return isa::v4::robot_senses(key, out);
#endif
#if CYCLOID_HAS_V3
    case InstructionSet::v3: return isa::v3::robot_senses(key, out);
#endif
    default: return isa::narrowest::robot_senses(key, out);
  }
}

// The numbers of the list that are qpos, qvel and act.
std::vector<StateCopy> state_copies(const Model& m, const SensorList& list) {
  std::vector<StateCopy> copies;
  for (std::size_t n = 0; n < list.sensors.size(); ++n) {
    const Sensor& s = list.sensors[n];
    const std::size_t i = static_cast<std::size_t>(s.object);
    const auto add = [&](int from) { copies.push_back({list.places[n], from, s.dimension}); };
    if (kind_of(s) == SensorKind::joint_qpos) add(m.joints[i].qpos);
    if (kind_of(s) == SensorKind::joint_qvel) add(m.nq + m.joints[i].dof);
    if (kind_of(s) == SensorKind::actuator_activation) add(m.nq + m.nv + m.actuators[i].act);
  }
  return copies;
}

// Why sensor i cannot be observed, or nothing.
std::string refusal(const Model& m, const Sensor& s) {
  if (!s.unsupported.empty()) return s.unsupported;
  if (kind_of(s) == SensorKind::joint_actuator_force &&
      m.joints[static_cast<std::size_t>(s.object)].compensation_by_actuator) {
    return "its joint counts gravity compensation as actuator force, which is not supported";
  }
  return {};
}

// A name of an observer and what it stands for.
struct Chosen {
  ObservedSensor what;
  std::vector<Sensor> parts;
  bool field;
};

Chosen chosen_sensor(const Model& m, int i) {
  const Sensor& s = m.sensors[static_cast<std::size_t>(i)];
  return {{Model::label(m.sensors, i), 0, s.dimension, {s.dimension}}, {s}, false};
}

Chosen find_chosen(const Model& m, const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < static_cast<int>(m.sensors.size()); ++i) {
    known.push_back(Model::label(m.sensors, i));
    if (known.back() != name) continue;
    const std::string reason = refusal(m, m.sensors[static_cast<std::size_t>(i)]);
    if (reason.empty()) return chosen_sensor(m, i);
    throw ModelError(message("sensor \"", name, "\" cannot be observed: ", reason));
  }
  if (std::optional<ObservedField> field = find_field(m, name)) {
    int size = 0;
    for (const Sensor& s : field->parts) size += s.dimension;
    return {{name, 0, size, std::move(field->shape)}, std::move(field->parts), true};
  }
  for (std::string& field : field_names()) known.push_back(std::move(field));
  throw ModelError(
      message("no sensor or field is called \"", name, "\"", did_you_mean(name, known)));
}

std::vector<Chosen> choose(const Model& m, const std::optional<std::vector<std::string>>& names) {
  std::vector<Chosen> chosen;
  for (int i = 0; !names && i < static_cast<int>(m.sensors.size()); ++i) {
    const bool supported = refusal(m, m.sensors[static_cast<std::size_t>(i)]).empty();
    if (supported) chosen.push_back(chosen_sensor(m, i));
  }
  if (!names) return chosen;
  for (const std::string& name : *names) chosen.push_back(find_chosen(m, name));
  return chosen;
}

// One per number: the name, with "[2]" or "[2][0]" after it where there are several.
void add_names(const ObservedSensor& what, std::vector<std::string>& names) {
  for (int k = 0; k < what.size; ++k) {
    std::string place;
    int stride = what.size;
    for (const int n : what.shape) {
      stride /= n;
      place += message("[", k / stride % n, "]");
    }
    names.push_back(what.size == 1 ? what.name : what.name + place);
  }
}

InputPlaces places_of(const Space& inputs) {
  InputPlaces at;
  for (const Block& b : inputs.blocks()) {
    (b.name == "ctrl"           ? at.ctrl
     : b.name == "qfrc_applied" ? at.qfrc_applied
     : b.name == "xfrc_applied" ? at.xfrc_applied
     : b.name == "mocap_pos"    ? at.mocap_pos
                                : at.mocap_quat) = b.offset;
  }
  return at;
}

void check_finite(std::span<const double> values, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(message(what, " must be finite; number ", i, " is ", values[i]));
    }
  }
}

void check_size(std::span<const double> values, std::int64_t rows, int row, const char* what) {
  if (static_cast<std::int64_t>(values.size()) == rows * row) return;
  throw Error(message(what, ": expected ", rows, " rows of ", row, " numbers, got ", values.size(),
                      " numbers"));
}

std::int64_t row_count(const ObservedRows& at, int row) {
  const std::int64_t numbers = static_cast<std::int64_t>(at.states.size());
  const bool whole = row == 0 ? numbers == 0 : numbers > 0 && numbers % row == 0;
  const std::int64_t rows = row == 0 ? std::max<std::int64_t>(at.rows, 1) : numbers / row;
  if (!whole || (at.rows != 0 && at.rows != rows)) {
    throw Error(message("states: expected rows of ", row, " numbers, got ", numbers, " numbers"));
  }
  return rows;
}

// Memory of one chunk: rows turned into lanes, and back.
class Lanes {
 public:
  explicit Lanes(std::size_t bytes)
      : data_(static_cast<std::byte*>(
            ::operator new(bytes + 1, std::align_val_t(kWorkspaceAlignment)))) {}
  std::byte* bytes() const { return data_.get(); }
  double* numbers() const { return reinterpret_cast<double*>(data_.get()); }

 private:
  struct Free {
    void operator()(std::byte* p) const {
      ::operator delete(p, std::align_val_t(kWorkspaceAlignment));
    }
  };
  std::unique_ptr<std::byte, Free> data_;
};

// Takes rows first … first + W - 1 side by side; lanes beyond the last row repeat it. One row
// (rows == 1) serves all.
void gather(std::span<const double> rows, std::int64_t count, std::int64_t first, int size, int W,
            double* lanes) {
  for (int l = 0; l < W; ++l) {
    const std::int64_t row = std::min<std::int64_t>(first + l, count - 1);
    for (int i = 0; i < size; ++i)
      lanes[i * W + l] = rows[static_cast<std::size_t>(row * size + i)];
  }
}

// The numbers of one lane.
void extract(const double* lanes, int lane, int size, int W, double* row) {
  for (int i = 0; i < size; ++i) row[i] = lanes[i * W + lane];
}

}  // namespace

Observer::Observer(const System& robot, const Model& model,
                   const std::optional<std::vector<std::string>>& names)
    : robot_(robot) {
  ObserverKey key;
  key.tree = std::make_shared<const Tree>(model);
  key.constraints = constraint_plan(*key.tree);
  key.inputs = places_of(robot.inputs());
  key.input_size = robot.inputs().size();
  if (key.tree->parameters.size() != robot.parameters().size() ||
      model.nq + model.nv + model.na != robot.states().size()) {
    throw ModelError(
        message("system \"", robot.name(), "\" is not made of model \"", model.name, "\""));
  }
  for (Chosen& chosen : choose(model, names)) {
    chosen.what.place = key.list.size;
    for (const Sensor& part : chosen.parts) key.list.add(part, chosen.field);
    add_names(chosen.what, names_);
    sensors_.push_back(std::move(chosen.what));
  }
  size_ = key.list.size;
  chunks_ = choose_observer(key);
  Senses<float> float32;
  Senses<double> float64;
  choose_senses(key, float32);
  choose_senses(key, float64);
  float32.size = float64.size = size_;
  float32.copies = float64.copies = state_copies(model, key.list);
  senses32_ = std::make_shared<const Senses<float>>(std::move(float32));
  senses64_ = std::make_shared<const Senses<double>>(std::move(float64));
  key_ = std::make_shared<const ObserverKey>(std::move(key));
}

Observation observe(const Observer& observer, const ObservedRows& at) {
  const Space &states = observer.robot().states(), &inputs = observer.robot().inputs();
  const Parameters& registry = observer.robot().parameters();
  Observation out(observer);
  out.rows_ = row_count(at, states.size());
  const std::size_t rows = static_cast<std::size_t>(out.rows_);
  if (!at.inputs.empty()) check_size(at.inputs, out.rows_, inputs.size(), "inputs");
  check_finite(at.states, "states");
  check_finite(at.inputs, "inputs");
  check_finite(std::span(&at.time, 1), "time");
  out.raw_.assign(at.states.begin(), at.states.end());
  out.x_ = out.raw_;
  for (std::int64_t i = 0; i < out.rows_; ++i) {
    if (!states.normalise(out.x_.data() + i * states.size())) {
      throw Error(message("states: a quaternion of row ", i, " is zero, which is no orientation"));
    }
  }
  out.u_.assign(at.inputs.begin(), at.inputs.end());
  out.u_.resize(rows * static_cast<std::size_t>(inputs.size()), 0.0);
  const std::size_t np = static_cast<std::size_t>(registry.size());
  out.p_ = at.parameters.empty() ? registry.default_values()
                                 : std::vector<double>(at.parameters.begin(), at.parameters.end());
  if (out.p_.size() != np && out.p_.size() != rows * np) {
    throw ParameterError(message("expected ", np, " parameter numbers, or ", out.rows_,
                                 " rows of as many, got ", out.p_.size()));
  }
  out.parameter_rows_ = static_cast<std::int64_t>(out.p_.size() / np);
  for (std::int64_t i = 0; i < out.parameter_rows_; ++i) {
    registry.check(std::span(out.p_).subspan(static_cast<std::size_t>(i) * np, np));
  }
  out.time_ = at.time;

  const ChunkObserver& chunks = observer.chunks();
  const int W = chunks.lanes(), nx = states.size(), nu = inputs.size(), ny = observer.size();
  const auto lanes = [&](int n) { return Lanes(static_cast<std::size_t>(n * W) * sizeof(double)); };
  const Lanes x = lanes(nx), u = lanes(nu), p = lanes(registry.size()), y = lanes(ny),
              memory(chunks.workspace());
  out.values_.resize(rows * static_cast<std::size_t>(ny));
  std::vector<LaneNote> notes(static_cast<std::size_t>(W));
  for (std::int64_t first = 0; first < out.rows_; first += W) {
    gather(out.x_, out.rows_, first, nx, W, x.numbers());
    gather(out.u_, out.rows_, first, nu, W, u.numbers());
    gather(out.p_, out.parameter_rows_, first, registry.size(), W, p.numbers());
    chunks.sense(x.numbers(), u.numbers(), p.numbers(), at.time, y.numbers(), notes.data(),
                 memory.bytes());
    for (int l = 0; l < W && first + l < out.rows_; ++l) {
      extract(y.numbers(), l, ny, W, out.values_.data() + (first + l) * ny);
      const LaneNote& note = notes[static_cast<std::size_t>(l)];
      if (fell_short(&note, 1)) out.notes_.push_back({first + l, note});
    }
  }
  return out;
}

ObservationGradient Observation::pullback(std::span<const double> values_bar) const {
  const Space &states = observer_.robot().states(), &inputs = observer_.robot().inputs();
  const int np = observer_.robot().parameters().size(), nx = states.size(),
            nd = states.tangent_size(), nu = inputs.size(), ny = observer_.size();
  check_size(values_bar, rows_, ny, "values_bar");
  check_finite(values_bar, "values_bar");
  const ChunkObserver& chunks = observer_.chunks();
  const int W = chunks.lanes();
  const auto lanes = [&](int n) { return Lanes(static_cast<std::size_t>(n * W) * sizeof(double)); };
  const Lanes x = lanes(nx), u = lanes(nu), p = lanes(np), y_bar = lanes(ny), x_bar = lanes(nd),
              u_bar = lanes(nu), p_bar = lanes(np), memory(chunks.workspace());
  ObservationGradient g;
  const std::size_t rows = static_cast<std::size_t>(rows_);
  g.states.resize(rows * static_cast<std::size_t>(nx), 0.0);
  g.states_tangent.resize(rows * static_cast<std::size_t>(nd));
  g.inputs.resize(rows * static_cast<std::size_t>(nu));
  g.parameters.resize(p_.size(), 0.0);
  for (std::int64_t first = 0; first < rows_; first += W) {
    gather(x_, rows_, first, nx, W, x.numbers());
    gather(u_, rows_, first, nu, W, u.numbers());
    gather(p_, parameter_rows_, first, np, W, p.numbers());
    gather(values_bar, rows_, first, ny, W, y_bar.numbers());
    chunks.pullback(x.numbers(), u.numbers(), p.numbers(), y_bar.numbers(), x_bar.numbers(),
                    u_bar.numbers(), p_bar.numbers(), memory.bytes());
    for (int l = 0; l < W && first + l < rows_; ++l) {
      const std::int64_t row = first + l;
      double* d_bar = g.states_tangent.data() + row * nd;
      extract(x_bar.numbers(), l, nd, W, d_bar);
      states.to_coordinates(raw_.data() + row * nx, d_bar, g.states.data() + row * nx);
      extract(u_bar.numbers(), l, nu, W, g.inputs.data() + row * nu);
      double* own = g.parameters.data() + (parameter_rows_ == 1 ? 0 : row * np);
      for (int i = 0; i < np; ++i) own[i] += p_bar.numbers()[i * W + l];  // in the order of rows
    }
  }
  return g;
}

}  // namespace cycloid::inline rigid
