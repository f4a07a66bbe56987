// A trained System in a file (safetensors.h): its parameters by name, the recipe of a learned law
// as metadata, and where its training stands.
#pragma once

#include <filesystem>
#include <optional>

#include "cycloid/learn/safetensors.h"
#include "cycloid/learn/train.h"

namespace cycloid::inline learn {

// Throws Error where the path cannot be written to. `state`: of the training, or null. `more`:
// what else belongs to the law (members, a noise), with names that begin with "with."; or null.
void save_law(const std::filesystem::path& path, const System& system,
              std::span<const double> params, const TrainState* state,
              const Safetensors* more = nullptr);

struct LoadedLaw {
  System system;  // learned values are its defaults
  std::optional<TrainState> state;
  Safetensors more = {};  // names that begin with "with."
};

// `around`: the System that was trained, where it is not a learned law; null: a learned law. Throws
// FileNotFound, and Error with what the file lacks.
LoadedLaw load_law(const std::filesystem::path& path, const System* around = nullptr);

}  // namespace cycloid::inline learn
