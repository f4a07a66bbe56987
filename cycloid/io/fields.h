// io/fields.h: what becomes of every field of mjModel and mjOption.
//
// One table answers for each field of MuJoCo's X-macros (mjxmacro.h): it is used, or it has no
// part in the dynamics, or it must have the value that switches off what is not supported. A test
// walks the macros: a field that a new release adds fails until someone has thought about it.
//
// Fields are named as in MuJoCo: "nq", "body_mass", "opt.timestep", "stat.extent".
#pragma once

#include <mujoco/mjmodel.h>

#include <string>
#include <string_view>
#include <vector>

namespace cycloid::inline io {

enum class FieldUse {
  used,                 // becomes part of the Model, or is examined value by value
  used_by_constraints,  // the same, and acts through constraints only
  irrelevant,           // drawing, labels, bookkeeping, the way to a solution, or derived
  must_be_default,      // acts, and is not supported when it differs from `value`
  must_be_default_with_constraints,
};
std::string_view name(FieldUse use);

struct FieldRule {
  std::string_view field;
  FieldUse use = FieldUse::used;
  std::string_view reason;  // why it may be left out, or what is refused
  std::string_view hint{};  // for the must_be_default kinds: what to try
  double value = 0;         // the default
};

// Every field once, sorted by name.
const std::vector<FieldRule>& field_rules();

// Null when there is no such field.
const FieldRule* field_rule(std::string_view field);

// Throws ModelError naming the first element one of whose must_be_default fields differs, but for
// the field that is `left_out` on request. Also throws when a number in use is not finite.
void refuse_by_field(const mjModel& model, bool constraints, std::string_view left_out = {});

// Throws ModelError unless every array of the model lies inside the model's buffer, as in a model
// of the release whose headers this was built with.
void check_layout(const mjModel& model);

// "joint \"hip\"", or "joint #3" without a name; `count` is the size field the array goes by, such
// as "njnt". What has no names of its own is called by `count`.
std::string element(const mjModel& model, std::string_view count, mjtSize index);

// Throws ModelError: "where: what is not supported; hint".
[[noreturn]] void refuse(const std::string& where, std::string_view what, std::string_view hint);

}  // namespace cycloid::inline io
