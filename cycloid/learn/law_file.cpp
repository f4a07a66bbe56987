#include "cycloid/learn/law_file.h"

#include <charconv>
#include <sstream>

#include "cycloid/base/error.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/safetensors.h"

namespace cycloid::inline learn {
namespace {

constexpr const char* kSchema = "cycloid.law 1";
constexpr int kHistoryColumns = 5;

std::string joined(const std::vector<int>& all) {
  std::string text;
  for (const int n : all) text += message(text.empty() ? "" : ",", n);
  return text;
}

// A double as text that reads back to the same bits.
std::string exact(double x) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), x);
  return std::string(buffer, end.ptr);
}

class Metadata {
 public:
  Metadata(const std::map<std::string, std::string>& of, const std::string& path)
      : of_(of), path_(path) {}
  bool contains(const std::string& key) const { return of_.contains(key); }
  const std::string& text(const std::string& key) const {
    const auto at = of_.find(key);
    if (at == of_.end()) {
      throw Error(message("\"", path_, "\" has no \"", key,
                          "\" in its metadata; it is not a law that was saved by training"));
    }
    return at->second;
  }
  double number(const std::string& key) const {
    const std::string& t = text(key);
    double x = 0;
    const auto end = std::from_chars(t.data(), t.data() + t.size(), x);
    if (end.ec != std::errc() || end.ptr != t.data() + t.size()) {
      throw Error(message("\"", path_, "\": \"", key, "\" is \"", t, "\", not a number"));
    }
    return x;
  }
  std::uint64_t whole(const std::string& key) const {
    const std::string& t = text(key);
    std::uint64_t x = 0;
    const auto end = std::from_chars(t.data(), t.data() + t.size(), x);
    if (end.ec != std::errc() || end.ptr != t.data() + t.size()) {
      throw Error(message("\"", path_, "\": \"", key, "\" is \"", t, "\", not a whole number"));
    }
    return x;
  }
  std::vector<int> integers(const std::string& key) const {
    std::vector<int> all;
    const std::string& t = text(key);
    const char* at = t.data();
    while (at < t.data() + t.size()) {
      int x = 0;
      const auto end = std::from_chars(at, t.data() + t.size(), x);
      if (end.ec != std::errc()) throw Error(message("\"", path_, "\": \"", key, "\" is broken"));
      all.push_back(x);
      at = end.ptr + 1;
    }
    return all;
  }

 private:
  const std::map<std::string, std::string>& of_;
  std::string path_;
};

using Values = std::map<std::string, std::vector<double>>;

std::string names_of(const std::vector<JumpSpec>& jumps) {
  std::string text;
  for (const JumpSpec& j : jumps) text += (text.empty() ? "" : ",") + j.name;
  return text;
}

// Jumps by name, with the file's parameters as their values.
std::vector<JumpSpec> jumps_of(const std::string& names, const Values& values,
                               const std::string& path) {
  std::vector<JumpSpec> all;
  std::istringstream each(names);
  for (std::string name; std::getline(each, name, ',');) {
    const auto row = [&](const char* of) -> const std::vector<double>& {
      const auto at = values.find(name + "." + of);
      if (at != values.end() && !at->second.empty()) return at->second;
      throw Error(message("\"", path, "\" has no \"", name, ".", of, "\""));
    };
    all.push_back({name, row("guard"), row("level")[0], row("restitution")[0], row("sense"),
                   row("direction")});
  }
  return all;
}

void put_points(const LearnedLaw& law, std::map<std::string, std::string>& m) {
  std::vector<int> pairs;
  for (const auto& [i, j] : law.distances) pairs.push_back(i), pairs.push_back(j);
  m["dimension"] = message(law.dimension), m["distances"] = joined(pairs);
  m["stabilisation"] = exact(law.stabilisation);
}

void take_points(const Metadata& m, const Values& values, LearnedLaw& law) {
  law.dimension = static_cast<int>(m.whole("dimension"));
  const std::vector<int> pairs = m.integers("distances");
  for (std::size_t k = 0; k + 1 < pairs.size(); k += 2) {
    law.distances.push_back({pairs[k], pairs[k + 1]});
  }
  law.stabilisation = m.number("stabilisation");
  const auto row = [&](const char* name) {
    const auto at = values.find(name);
    return at == values.end() ? std::vector<double>() : at->second;
  };
  law.masses = row("masses"), law.lengths = row("lengths"), law.anchors = row("anchors");
}

LearnedLaw law_of(const Metadata& m, const Values& values, const std::string& path) {
  LearnedLaw law;
  bool known = false;
  for (const LearnedKind kind :
       {LearnedKind::neural_ode, LearnedKind::hamiltonian, LearnedKind::lagrangian,
        LearnedKind::deep_lagrangian, LearnedKind::constrained}) {
    if (m.text("law") != name(kind)) continue;
    law.kind = kind, known = true;
  }
  if (!known) {
    throw Error(message("\"", path, "\" holds parameters of \"", m.text("law"),
                        "\", which is not a learned law: give the System that was trained"));
  }
  law.n = static_cast<int>(m.whole("n")), law.inputs = static_cast<int>(m.whole("inputs"));
  law.hidden = m.integers("hidden"), law.side_hidden = m.integers("side_hidden");
  law.activation = activation_of(m.text("activation"));
  law.dissipation = m.whole("dissipation") != 0, law.separable = m.whole("separable") != 0;
  law.input_matrix = static_cast<InputMatrix>(m.whole("input_matrix"));
  law.angles = m.integers("angles"), law.seed = m.whole("seed");
  if (m.contains("jumps")) law.jumps = jumps_of(m.text("jumps"), values, path);
  if (law.kind == LearnedKind::constrained) take_points(m, values, law);
  return law;
}

void put_state(const TrainState& s, Safetensors& out) {
  const auto row = [](const std::vector<double>& x) {
    return Tensor{{static_cast<std::int64_t>(x.size())}, x};
  };
  out.tensors["training.z"] = row(s.z), out.tensors["training.m"] = row(s.m);
  out.tensors["training.v"] = row(s.v), out.tensors["training.best"] = row(s.best);
  out.tensors["training.numbers"] = row({s.best_loss, s.mean_loss, s.lowest_mean, s.seconds});
  if (!s.memory.empty()) {
    out.tensors["training.memory"] = row(s.memory);
    out.metadata["training.remembers"] = message(static_cast<int>(s.remembers));
  }
  Tensor history{{static_cast<std::int64_t>(s.history.size()), kHistoryColumns}, {}};
  for (const TrainRecord& r : s.history) {
    for (const double x : {static_cast<double>(r.step), r.loss, r.validation, r.rate, r.seconds}) {
      history.values.push_back(x);
    }
  }
  out.tensors["training.history"] = std::move(history);
  out.metadata["training.step"] = message(s.step);
  out.metadata["training.adam_steps"] = message(s.adam_steps);
  out.metadata["training.since_best"] = message(s.since_best);
  out.metadata["training.failures"] = message(s.failures);
}

TrainState state_of(const Safetensors& from, const Metadata& m, const std::string& path) {
  const auto values = [&](const char* name) -> const std::vector<double>& {
    const auto at = from.tensors.find(name);
    if (at == from.tensors.end()) throw Error(message("\"", path, "\" has no \"", name, "\""));
    return at->second.values;
  };
  TrainState s;
  s.z = values("training.z"), s.m = values("training.m"), s.v = values("training.v");
  s.best = values("training.best");
  const std::vector<double>& numbers = values("training.numbers");
  if (numbers.size() != 4) throw Error(message("\"", path, "\": \"training.numbers\" is broken"));
  s.best_loss = numbers[0], s.mean_loss = numbers[1], s.lowest_mean = numbers[2];
  s.seconds = numbers[3];
  s.step = static_cast<std::int64_t>(m.whole("training.step"));
  s.adam_steps = static_cast<std::int64_t>(m.whole("training.adam_steps"));
  s.since_best = static_cast<std::int64_t>(m.whole("training.since_best"));
  s.failures = static_cast<std::int64_t>(m.whole("training.failures"));
  if (from.tensors.contains("training.memory")) {
    s.memory = values("training.memory");
    s.remembers = static_cast<TrainMethod>(m.whole("training.remembers"));
  }
  const std::vector<double>& h = values("training.history");
  for (std::size_t i = 0; i + kHistoryColumns <= h.size(); i += kHistoryColumns) {
    s.history.push_back({static_cast<std::int64_t>(h[i]), h[i + 1], h[i + 2], h[i + 3], h[i + 4]});
  }
  return s;
}

}  // namespace

void save_law(const std::filesystem::path& path, const System& system,
              std::span<const double> params, const TrainState* state, const Safetensors* more) {
  Safetensors out;
  if (more) out = *more;
  for (const Parameter& p : system.parameters().all()) {
    Tensor t;
    t.shape.assign(p.shape.begin(), p.shape.end());
    const double* const from = params.data() + p.offset;
    t.values.assign(from, from + p.size);
    out.tensors[p.name] = std::move(t);
  }
  std::map<std::string, std::string>& m = out.metadata;
  m["schema"] = kSchema;
  m["law"] = system.name();
  if (const LearnedLaw* law = learned_law(system)) {
    const systems::Settings settings = learned_settings(system);
    m["law"] = name(law->kind);
    m["n"] = message(law->n), m["inputs"] = message(law->inputs);
    m["hidden"] = joined(law->hidden), m["side_hidden"] = joined(law->side_hidden);
    m["activation"] = name(law->activation);
    m["dissipation"] = message(law->dissipation ? 1 : 0);
    m["separable"] = message(law->separable ? 1 : 0);
    m["input_matrix"] = message(static_cast<int>(law->input_matrix));
    m["angles"] = joined(law->angles), m["seed"] = message(law->seed);
    if (!law->jumps.empty()) m["jumps"] = names_of(law->jumps);
    if (law->kind == LearnedKind::constrained) put_points(*law, m);
    m["dt"] = exact(settings.dt), m["integrator"] = settings.integrator;
    m["dtype"] = name(settings.precision);
    m["rtol"] = exact(settings.rtol), m["atol"] = exact(settings.atol);
  }
  if (state) put_state(*state, out);
  write_safetensors(path, out);
}

LoadedLaw load_law(const std::filesystem::path& path, const System* around) {
  const Safetensors from = read_safetensors(path);
  const Metadata m(from.metadata, path.string());
  std::map<std::string, std::vector<double>> values;
  Safetensors more;
  for (const auto& [name, t] : from.tensors) {
    if (name.starts_with("with.")) more.tensors[name] = t;
    else if (!name.starts_with("training.")) values[name] = t.values;
  }
  for (const auto& [key, text] : from.metadata) {
    if (key.starts_with("with.")) more.metadata[key] = text;
  }
  std::optional<TrainState> state;
  if (from.metadata.contains("training.step")) state = state_of(from, m, path.string());
  if (around) {
    SystemParts parts = around->parts();
    for (const auto& [name, value] : values) {
      if (parts.parameters.contains(name)) continue;
      throw Error(message("\"", path.string(), "\" has a parameter \"", name, "\", and system \"",
                          around->name(), "\" has none such"));
    }
    parts.parameters = with_defaults(parts.parameters, values);
    return {System(std::move(parts)), std::move(state), std::move(more)};
  }
  const LearnedLaw law = law_of(m, values, path.string());
  systems::Settings settings;
  settings.dt = m.number("dt"), settings.integrator = m.text("integrator");
  settings.precision = m.text("dtype") == "float32" ? Precision::float32 : Precision::float64;
  settings.rtol = m.number("rtol"), settings.atol = m.number("atol");
  values.erase(std::string(kTimestepName));
  return {make_learned(law, settings, values), std::move(state), std::move(more)};
}

}  // namespace cycloid::inline learn
