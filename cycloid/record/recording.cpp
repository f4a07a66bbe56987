#include "cycloid/record/recording.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "cycloid/base/error.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline record {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

std::string indexed(const std::string& name, int size, int i) {
  return size == 1 ? name : message(name, "[", i, "]");
}

std::vector<std::string> input_names(const System& system) {
  std::vector<std::string> names;
  for (const Block& b : system.inputs().blocks()) {
    for (int i = 0; i < b.size; ++i) names.push_back(indexed(b.name, b.size, i));
  }
  return names;
}

void check_times(const std::vector<double>& times, const std::string& label) {
  if (times.size() < 2) {
    throw Error(message(label, ": expected two samples at least, got ", times.size()));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!std::isfinite(times[i])) {
      throw Error(message(label, ": times must be finite; times[", i, "] is ", times[i]));
    }
    if (i > 0 && times[i] <= times[i - 1]) {
      throw Error(message(label, ": times must rise; times[", i, "] = ", times[i], " follows ",
                          times[i - 1]));
    }
  }
}

// What an observable is, or nothing for a name that there is not.
std::optional<Observable> known_output(const System& system, const std::string& name) {
  try {
    return find_observable(system, name);
  } catch (const ModelError&) {
    return std::nullopt;
  }
}

// "angle [rad]" as "angle".
std::string without_unit(const std::string& name) {
  const std::size_t open = name.rfind(" [");
  return name.ends_with(']') && open != std::string::npos ? name.substr(0, open) : name;
}

// "qpos[3]" as "qpos" and 3; a name without brackets as itself and 0.
std::pair<std::string, int> split_index(const std::string& name) {
  const std::size_t open = name.rfind('[');
  if (name.empty() || name.back() != ']' || open == std::string::npos) return {name, 0};
  const std::string digits = name.substr(open + 1, name.size() - open - 2);
  const bool number =
      !digits.empty() && digits.size() < 9 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number) return {name, 0};
  return {name.substr(0, open), std::stoi(digits)};
}

}  // namespace

std::vector<RecordedOutput> outputs_of(const System& system, const Recording& recording) {
  std::vector<RecordedOutput> outputs;
  int column = 0;
  const auto add = [&](const std::string& name, int size) {
    outputs.push_back({name, column, size});
    column += size;
  };
  if (recording.names.empty()) {
    for (const Block& b : system.states().blocks()) add(b.name, b.size);
    return outputs;
  }
  for (const std::string& name : recording.names) {
    const auto same = [&](const RecordedOutput& o) { return o.name == name; };
    if (std::any_of(outputs.begin(), outputs.end(), same)) {
      throw Error(message("names: \"", name, "\" is there twice"));
    }
    add(name, find_observable(system, name).size());
  }
  return outputs;
}

void check_recording(const System& system, const Recording& recording, const std::string& label) {
  const std::vector<RecordedOutput> outputs = outputs_of(system, recording);
  const std::size_t m = static_cast<std::size_t>(outputs.back().column + outputs.back().size),
                    S = recording.samples(), nu = static_cast<std::size_t>(system.inputs().size());
  check_times(recording.times, label);
  if (recording.values.size() != S * m) {
    throw Error(message(label, ": values must have ", S, " rows of ", m, " numbers",
                        recording.names.empty() ? ", whole states, since there are no names"
                                                : ", those of its names",
                        "; got ", recording.values.size(), " numbers"));
  }
  for (std::size_t i = 0; i < recording.values.size(); ++i) {
    if (std::isinf(recording.values[i])) {
      throw Error(message(label,
                          ": values must be numbers, or NaN where nothing was measured; row ",
                          i / m, ", column ", i % m, " is infinite"));
    }
  }
  if (!recording.controls.empty() && recording.controls.size() != S * nu) {
    throw Error(message(label, ": controls must have ", S, " rows of ", nu, " inputs, got ",
                        recording.controls.size(), " numbers"));
  }
  for (std::size_t i = 0; i < recording.controls.size(); ++i) {
    if (!std::isfinite(recording.controls[i])) {
      throw Error(message(label, ": controls must be finite; row ", i / nu, ", input ", i % nu,
                          " is ", recording.controls[i], ": NaN belongs in values only"));
    }
  }
  if (recording.sigma.size() > 1 && recording.sigma.size() != m) {
    throw Error(message(label, ": sigma must be one number or one for each of ", m,
                        " columns, got ", recording.sigma.size()));
  }
  for (const double s : recording.sigma) {
    if (!(s > 0) || !std::isfinite(s)) {
      throw Error(message(label, ": sigma must be positive and finite, got ", s));
    }
  }
  if (!recording.x0.empty()) {
    if (recording.x0.size() != static_cast<std::size_t>(system.states().size())) {
      throw Error(message(label, ": x0 must have ", system.states().size(), " numbers, got ",
                          recording.x0.size()));
    }
    for (const double x : recording.x0) {
      if (!std::isfinite(x)) throw Error(message(label, ": x0 must be finite, got ", x));
    }
  }
  for (const RecordedOutput& output : outputs) {
    bool measured = false;
    for (std::size_t i = 0; i < S && !measured; ++i) {
      for (int c = output.column; c < output.column + output.size; ++c) {
        measured = measured || !std::isnan(recording.values[i * m + static_cast<std::size_t>(c)]);
      }
    }
    if (!measured) {
      throw Error(message(label, ": \"", output.name,
                          "\" was never measured, all of its values are NaN; leave it out of the "
                          "names"));
    }
  }
}

std::vector<std::string> column_names(const System& system, const Recording& recording) {
  std::vector<std::string> names;
  for (const RecordedOutput& output : outputs_of(system, recording)) {
    for (int i = 0; i < output.size; ++i) names.push_back(indexed(output.name, output.size, i));
  }
  return names;
}

Recording recording_from_table(const System& system, const Table& table,
                               std::vector<std::string>* notes) {
  const std::vector<std::string> inputs = input_names(system);
  Recording out;
  struct Found {
    int size;
    std::map<int, std::size_t> columns;  // of its numbers
  };
  std::vector<std::pair<std::string, Found>> found;
  std::map<std::size_t, std::size_t> input_columns;  // of inputs
  const std::vector<double>* times = nullptr;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const std::string name = without_unit(table.names[c]);
    if (!times && (name == "t" || name == "time")) {
      times = &table.columns[c];
      continue;
    }
    const auto input = std::find(inputs.begin(), inputs.end(), name);
    if (input != inputs.end()) {
      input_columns[static_cast<std::size_t>(input - inputs.begin())] = c;
      continue;
    }
    auto [base, index] = split_index(name);
    std::optional<Observable> output = base == name ? std::nullopt : known_output(system, base);
    if (!output) {
      base = name;
      index = 0;
      output = known_output(system, name);
      if (output && output->size() != 1) output.reset();
    } else if (index >= output->size()) {
      output.reset();
    }
    if (!output) {
      if (notes) notes->push_back(message("column \"", name, "\" is no output or input: left out"));
      continue;
    }
    const auto same = [&](const auto& f) { return f.first == base; };
    auto at = std::find_if(found.begin(), found.end(), same);
    if (at == found.end()) {
      found.push_back({base, {output->size(), {}}});
      at = found.end() - 1;
    }
    at->second.columns[index] = c;
  }
  if (!times) throw Error("there is no column of times, \"t\" or \"time\" [s]");
  if (found.empty()) {
    std::string known;
    for (const Observable& o : observables_of(system)) {
      known += message(known.empty() ? "\"" : ", \"", indexed(o.name, o.size(), 0), "\"");
    }
    throw Error(message("no column is an output of ", system.name(), ": there are ", known));
  }
  out.times = *times;
  const std::size_t S = out.times.size();
  std::vector<std::size_t> places;
  for (const auto& [name, output] : found) {
    out.names.push_back(name);
    for (int i = 0; i < output.size; ++i) {
      const auto column = output.columns.find(i);
      places.push_back(column == output.columns.end() ? table.names.size() : column->second);
    }
  }
  for (std::size_t i = 0; i < S; ++i) {
    for (const std::size_t c : places) {
      out.values.push_back(c == table.names.size() ? kNothing : table.columns[c][i]);
    }
  }
  if (!input_columns.empty()) {
    out.controls.assign(S * inputs.size(), 0.0);
    for (const auto& [input, c] : input_columns) {
      for (std::size_t i = 0; i < S; ++i) {
        // The last row is not used: a table may end without it.
        const double u = table.columns[c][i];
        out.controls[i * inputs.size() + input] = i + 1 == S && std::isnan(u) ? 0 : u;
      }
    }
  }
  return out;
}

Table table_from_recording(const System& system, const Recording& recording) {
  Table table;
  const auto add = [&](std::string name, const std::vector<double>& rows, std::size_t stride,
                       std::size_t at) {
    table.names.push_back(std::move(name));
    table.columns.emplace_back();
    for (std::size_t i = at; i < rows.size(); i += stride) table.columns.back().push_back(rows[i]);
  };
  add("t", recording.times, 1, 0);
  const std::vector<std::string> names = column_names(system, recording),
                                 inputs = input_names(system);
  for (std::size_t c = 0; c < names.size(); ++c) add(names[c], recording.values, names.size(), c);
  for (std::size_t c = 0; c < inputs.size() && !recording.controls.empty(); ++c) {
    add(inputs[c], recording.controls, inputs.size(), c);
  }
  return table;
}

}  // namespace cycloid::inline record
