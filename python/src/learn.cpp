// Learned laws and their training: rows in, rows out. Shapes, names and checks of options are
// Python's part (python/cycloid/learn.py).
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>

#include "cycloid/base/error.h"
#include "cycloid/learn/dropout.h"
#include "cycloid/learn/gaussian_loss.h"
#include "cycloid/learn/law_file.h"
#include "cycloid/learn/learned_law.h"
#include "cycloid/learn/train_page.h"
#include "recording_rows.h"
#include "unlocked.h"
#include "watch_function.h"

namespace cycloid::python {
namespace {

template <class T>
T of(const nb::dict& d, const char* key) {
  return nb::cast<T>(d[key]);
}

LearnedLaw law_of(const nb::dict& d) {
  LearnedLaw law;
  law.kind = static_cast<LearnedKind>(of<int>(d, "kind"));
  law.n = of<int>(d, "n"), law.inputs = of<int>(d, "inputs");
  law.hidden = of<std::vector<int>>(d, "hidden");
  law.side_hidden = of<std::vector<int>>(d, "side_hidden");
  law.activation = activation_of(of<std::string>(d, "activation"));
  law.dissipation = of<bool>(d, "dissipation"), law.separable = of<bool>(d, "separable");
  law.input_matrix = static_cast<InputMatrix>(of<int>(d, "input_matrix"));
  law.angles = of<std::vector<int>>(d, "angles");
  law.seed = of<std::uint64_t>(d, "seed");
  law.dimension = of<int>(d, "dimension"), law.stabilisation = of<double>(d, "stabilisation");
  law.distances = of<std::vector<std::array<int, 2>>>(d, "distances");
  law.masses = of<std::vector<double>>(d, "masses");
  law.lengths = of<std::vector<double>>(d, "lengths");
  law.anchors = of<std::vector<double>>(d, "anchors");
  using Row = std::vector<double>;
  for (const nb::handle given : of<nb::list>(d, "jumps")) {
    const nb::tuple t = nb::cast<nb::tuple>(given);
    law.jumps.push_back({nb::cast<std::string>(t[0]), nb::cast<Row>(t[1]), nb::cast<double>(t[2]),
                         nb::cast<double>(t[3]), nb::cast<Row>(t[4]), nb::cast<Row>(t[5])});
  }
  return law;
}

// A term's function of Python's: f(states, controls, batch, steps) -> (value, states_bar).
LossTerm term_of(const nb::handle& given) {
  const nb::tuple t = nb::cast<nb::tuple>(given);
  LossTerm term;
  const std::string kind = nb::cast<std::string>(t[0]);
  term.kind = kind == "energy"     ? LossTerm::Kind::energy
              : kind == "smooth"   ? LossTerm::Kind::smooth
              : kind == "residual" ? LossTerm::Kind::residual
                                   : LossTerm::Kind::function;
  term.weight = nb::cast<double>(t[1]);
  if (term.kind != LossTerm::Kind::function) return term;
  const nb::handle function = t[2];  // outlives the call, as the list of terms does
  term.function = [function](const TermRuns& runs, std::span<double> states_bar) {
    const nb::gil_scoped_acquire lock;
    const nb::object answer =
        function(to_numpy(std::vector<double>(runs.states.begin(), runs.states.end())),
                 to_numpy(std::vector<double>(runs.controls.begin(), runs.controls.end())),
                 runs.batch, runs.steps);
    const nb::tuple pair = nb::cast<nb::tuple>(answer);
    const Rows<double> bar = nb::cast<Rows<double>>(pair[1]);
    if (bar.size() != states_bar.size()) {
      throw Error(message("a term must give states_bar with ", states_bar.size(), " numbers; got ",
                          bar.size()));
    }
    for (std::size_t i = 0; i < states_bar.size(); ++i) states_bar[i] += bar.data()[i];
    return nb::cast<double>(pair[0]);
  };
  return term;
}

TrainOptions train_options(const nb::dict& d) {
  TrainOptions o;
  o.steps = of<std::int64_t>(d, "steps"), o.batch = of<std::int64_t>(d, "batch");
  o.horizon = of<int>(d, "horizon"), o.first_horizon = of<int>(d, "first_horizon");
  o.method = static_cast<TrainMethod>(of<int>(d, "method"));
  o.schedule = static_cast<RateSchedule>(of<int>(d, "schedule"));
  o.learning_rate = of<double>(d, "learning_rate");
  o.weight_decay = of<double>(d, "weight_decay"), o.clip = of<double>(d, "clip");
  o.validation = of<double>(d, "validation");
  o.validate_every = of<std::int64_t>(d, "validate_every"), o.patience = of<int>(d, "patience");
  o.params = of<std::vector<std::string>>(d, "params");
  o.seed = of<std::uint64_t>(d, "seed");
  return o;
}

LossOptions loss_options(const nb::dict& d) {
  LossOptions o;
  o.horizon = of<int>(d, "horizon");
  o.scale = of<std::vector<double>>(d, "scale"), o.noise = of<std::vector<double>>(d, "noise");
  for (const nb::handle t : nb::cast<nb::list>(d["terms"])) o.terms.push_back(term_of(t));
  o.shooting = of<double>(d, "shooting"), o.clip_each = of<double>(d, "clip_each");
  o.seed = of<std::uint64_t>(d, "seed"), o.threads = of<int>(d, "threads");
  return o;
}

// What is trained on, as Python gives it: recordings, derivatives, or, with a noise, transitions.
struct GivenData {
  std::vector<Recording> recordings = {};
  Derivatives rows = {};

  GivenData(const std::optional<std::vector<RecordingRows>>& given,
            const std::optional<Rows<double>>& x, const std::optional<Rows<double>>& x_dot,
            const std::optional<Rows<double>>& u) {
    if (given) {
      for (const RecordingRows& r : *given) recordings.push_back(recording_of(r));
      return;
    }
    rows.x = copied(*x), rows.x_dot = copied(*x_dot);
    if (u) rows.u = copied(*u);
  }

  std::unique_ptr<TrainingLoss> loss(const System& system, const LossOptions& options) const {
    return recordings.empty() ? derivative_loss(system, rows, options)
                              : window_loss(system, recordings, options);
  }
  std::unique_ptr<TrainingLoss> loss(const System& system, const NoiseNetwork& noise,
                                     const std::string& score, int threads) const {
    const GaussianScore kind = score == "crps" ? GaussianScore::crps : GaussianScore::likelihood;
    return gaussian_loss(system, {rows.x, rows.x_dot, rows.u}, noise, kind, threads);
  }
};

nb::tuple run_of(TrainRun run) {
  std::vector<double> history;
  for (const TrainRecord& r : run.state.history) {
    for (const double x : {static_cast<double>(r.step), r.loss, r.validation, r.rate, r.seconds}) {
      history.push_back(x);
    }
  }
  return nb::make_tuple(to_numpy(run.params), to_numpy(std::move(history)), run.ended, run.message,
                        run.state, to_numpy(run.own));
}

}  // namespace

void bind_learn(nb::module_& m) {
  nb::class_<TrainState>(m, "TrainState")
      .def_ro("step", &TrainState::step)
      .def_ro("m", &TrainState::m)
      .def_ro("seconds", &TrainState::seconds);
  m.def(
      "make_learned",
      [](const nb::dict& law, double dt, const std::string& integrator, const std::string& dtype,
         const std::vector<std::string>& vary, double rtol, double atol) {
        return make_learned(law_of(law), {dt, integrator, precision_of(dtype), vary, rtol, atol});
      },
      nb::arg("law"), nb::arg("dt"), nb::arg("integrator"), nb::arg("dtype"), nb::arg("vary"),
      nb::arg("rtol"), nb::arg("atol"));
  m.def(
      "train",
      [](const System& system, const std::optional<std::vector<RecordingRows>>& recordings,
         const std::optional<Rows<double>>& x, const std::optional<Rows<double>>& x_dot,
         const std::optional<Rows<double>>& u, const nb::dict& given,
         const std::optional<TrainState>& from, const nb::object& watch,
         const NoiseNetwork* noise) {
        TrainOptions options = train_options(given);
        const LossOptions of_loss = loss_options(given);
        const GivenData data(recordings, x, x_dot, u);
        const double dropout = of<double>(given, "dropout");
        const std::string score = of<std::string>(given, "score");
        TrainRun run;
        bool interrupted = false;
        {
          const Unlocked call;
          const KeepGoing keep_going = call.keep_going();
          const auto asked = [&](const TrainProgress& now) {
            if (keep_going && !keep_going()) throw Interrupted("training was interrupted");
            const nb::gil_scoped_acquire lock;
            if (watch.is_none()) return true;
            const nb::object answer = watch(now.step, now.steps, now.loss, now.validation,
                                            now.seconds, numbers_of(now.params));
            return !answer.is(nb::bool_(false));
          };
          // Ctrl-C ends the training, and what it has is kept.
          options.watch = [&](const TrainProgress& now) {
            try {
              return asked(now);
            } catch (nb::python_error& error) {
              const nb::gil_scoped_acquire lock;
              if (!error.matches(PyExc_KeyboardInterrupt)) throw;
              interrupted = true;
              return false;
            }
          };
          std::unique_ptr<TrainingLoss> loss =
              noise ? data.loss(system, *noise, score, of_loss.threads)
                    : data.loss(system, of_loss);
          if (dropout > 0) {
            loss = dropout_loss(std::move(loss), Dropout(system, dropout, options.seed));
          }
          run = train(system, *loss, options, from ? &*from : nullptr);
        }
        if (interrupted) run.message = "stopped by Ctrl-C; it can be saved and resumed";
        return run_of(std::move(run));
      },
      nb::arg("system"), nb::arg("recordings").none(), nb::arg("x").none(), nb::arg("x_dot").none(),
      nb::arg("u").none(), nb::arg("options"), nb::arg("state").none(), nb::arg("watch").none(),
      nb::arg("noise").none());
  // The loss over all samples and its gradient by the parameters, for tests and optimisers of
  // others.
  m.def(
      "training_loss",
      [](const System& system, const std::optional<std::vector<RecordingRows>>& recordings,
         const std::optional<Rows<double>>& x, const std::optional<Rows<double>>& x_dot,
         const std::optional<Rows<double>>& u, const nb::dict& given,
         const std::vector<double>& params, bool with_gradient) {
        const LossOptions of_loss = loss_options(given);
        const GivenData data(recordings, x, x_dot, u);
        double value = 0;
        std::vector<double> p_bar;
        {
          const Unlocked call;
          const std::unique_ptr<TrainingLoss> loss = data.loss(system, of_loss);
          std::vector<std::int64_t> learn, none;
          loss->split(0, learn, none);
          value =
              loss->value(params, {learn, of_loss.horizon, 0}, with_gradient ? &p_bar : nullptr);
        }
        return nb::make_tuple(value, to_numpy(std::move(p_bar)));
      },
      nb::arg("system"), nb::arg("recordings").none(), nb::arg("x").none(), nb::arg("x_dot").none(),
      nb::arg("u").none(), nb::arg("options"), nb::arg("params"), nb::arg("with_gradient"));
  // Numbers that the loss trains besides the parameters; and the loss's residuals over all samples
  // with their Jacobian.
  m.def("own_numbers",
        [](const System& system, const std::optional<std::vector<RecordingRows>>& recordings,
           const std::optional<Rows<double>>& x, const std::optional<Rows<double>>& x_dot,
           const std::optional<Rows<double>>& u, const nb::dict& given) {
          const GivenData data(recordings, x, x_dot, u);
          return to_numpy(data.loss(system, loss_options(given))->own_numbers());
        });
  m.def("training_residuals",
        [](const System& system, const std::optional<std::vector<RecordingRows>>& recordings,
           const std::optional<Rows<double>>& x, const std::optional<Rows<double>>& x_dot,
           const std::optional<Rows<double>>& u, const nb::dict& given,
           const std::vector<double>& params) {
          const LossOptions of_loss = loss_options(given);
          const GivenData data(recordings, x, x_dot, u);
          const std::unique_ptr<TrainingLoss> loss = data.loss(system, of_loss);
          std::vector<std::int64_t> learn, none;
          loss->split(0, learn, none);
          const LossCall all{learn, of_loss.horizon, 0};
          std::vector<double> r(loss->residual_count(all)), J(r.size() * params.size());
          if (!loss->residuals(params, all, r, J.data())) throw Error("a run failed");
          return nb::make_tuple(to_numpy(std::move(r)), to_numpy(std::move(J)));
        });
  // The same learned law with other first weights, or None.
  m.def("reseeded", [](const System& system, std::uint64_t seed) -> std::optional<System> {
    const LearnedLaw* const law = learned_law(system);
    if (!law) return std::nullopt;
    LearnedLaw other = *law;
    other.seed = seed;
    return make_learned(other, learned_settings(system));
  });
  m.def("with_parameters", [](const System& system, const Rows<double>& params) {
    return with_parameters(system, span_of(params));
  });
  m.def(
      "save_law",
      [](const std::string& path, const System& system, const Rows<double>& params,
         const std::optional<TrainState>& state, const std::map<std::string, Rows<double>>& arrays,
         const std::map<std::string, std::string>& texts) {
        Safetensors more;
        for (const auto& [name, array] : arrays) {
          Tensor& t = more.tensors["with." + name];
          for (std::size_t i = 0; i < array.ndim(); ++i) {
            t.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
          }
          t.values = copied(array);
        }
        for (const auto& [key, text] : texts) more.metadata["with." + key] = text;
        save_law(path, system, span_of(params), state ? &*state : nullptr, &more);
      },
      nb::arg("path"), nb::arg("system"), nb::arg("params"), nb::arg("state").none(),
      nb::arg("arrays"), nb::arg("texts"));
  m.def(
      "load_law",
      [](const std::string& path, const System* around) {
        LoadedLaw loaded = load_law(path, around);
        nb::dict arrays, texts;
        for (auto& [name, t] : loaded.more.tensors) {
          nb::list shape;
          for (const std::int64_t n : t.shape) shape.append(n);
          arrays[name.substr(5).c_str()] =
              nb::make_tuple(to_numpy(std::move(t.values)), nb::tuple(shape));
        }
        for (const auto& [key, text] : loaded.more.metadata) texts[key.substr(5).c_str()] = text;
        return nb::make_tuple(loaded.system, loaded.state, arrays, texts);
      },
      nb::arg("path"), nb::arg("around").none());
  m.def("write_train_page",
        [](const TrainState& state, const std::string& title, const std::string& verdict,
           const std::string& path) { train_page(state, title, verdict).write(path); });
}

}  // namespace cycloid::python
