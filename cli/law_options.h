// MODEL and the options that every command about a model shares; and the System they describe.
//
// MODEL is a closed-form law or a file: MJCF, URDF, or a model that was saved (.cym), which needs
// no MuJoCo. A file brings its own step and integrator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cycloid/model/model.h"
#include "cycloid/record/run_recorder.h"
#include "cycloid/system/system.h"

namespace cycloid::cli {

class Options;

struct LawOptions {
  std::string model;
  std::optional<double> dt;          // [s]; 0.01 for a law, else the file's own
  std::string integrator;            // empty: rk4 for a law, else the file's own
  std::optional<double> rtol, atol;  // of an adaptive integrator
  std::string dtype = "float64";
  bool no_constraints = false;
  std::string noslip = "refuse";   // a file's noslip solver: refuse, or ignore
  std::string contact = "mujoco";  // a file's law of contacts: mujoco, or hunt_crossley
  std::optional<double> refine;    // the tolerance to which a file's steps are divided
  std::vector<std::string> set;    // "name=value[,value…]"
  std::optional<std::int64_t> n;   // masses of spring_chain
  std::vector<double> x;           // the state at the start; empty: the law's own

  void declare(Options& options, const char* positional = "MODEL");
  // Throws UsageError without MODEL, FileNotFound, ModelError (with the nearest name) or
  // ParameterError.
  System system() const;
  // x, or the system's own initial state. Throws UsageError on another size.
  std::vector<double> start(const System& system) const;
  // model, integrator, dt and dtype: how every answer about a law begins.
  Json described(const System& system) const;
  std::string headline(const System& system) const;
  // The robot of the last system(); null where that was a law.
  const Model* robot_model() const { return stepped_.bodies.empty() ? nullptr : &stepped_; }
  // What a recording of a run says about its system, so that it can be made again.
  RunHeader run_header(const System& system) const;

 private:
  Model file() const;
  System robot() const;
  mutable std::string used_integrator_;  // by the last system()
  mutable Model stepped_;                // the robot of the last system()
};

// How a batch is run.
struct BatchOptions {
  std::int64_t batch = 1, steps = 1, threads = 0, seed = 0;

  void declare(Options& options);
  int thread_count() const { return static_cast<int>(threads); }  // as the library takes it
  int threads_used() const;
};

// Names of a space's numbers with their units: "position[0]", "m".
struct NamedNumber {
  std::string name, unit;
};
std::vector<NamedNumber> numbers_of(const Space& space);
std::vector<std::string> names_of(const Space& space);

// Calls f with a zero of the system's type: a float or a double.
template <class F>
decltype(auto) in_precision_of(const System& system, F&& f) {
  if (system.precision() == Precision::float32) return f(0.0f);
  return f(0.0);
}

}  // namespace cycloid::cli
