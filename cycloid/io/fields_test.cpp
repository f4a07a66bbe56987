#include "cycloid/io/fields.h"

#include <doctest/doctest.h>
#include <mujoco/mjxmacro.h>

#include <limits>
#include <set>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"

namespace cycloid {
namespace {

// Every field of MuJoCo's macros, and the few of mjModel that no macro lists.
std::set<std::string> all_fields() {
  std::set<std::string> fields{"vis",          "buffer",         "signature",
                               "flg_gravcomp", "flg_surfacevel", "flg_adhesion"};
#define X(field) fields.insert(#field);
  MJMODEL_SIZES
#undef X
#define X(type, field, rows, columns) fields.insert(#field);
  MJMODEL_POINTERS
#undef X
#define X(type, field, size) fields.insert("opt." #field);
#define XVEC X
  MJOPTION_FIELDS
#undef XVEC
#undef X
#define X(field, size) fields.insert("stat." #field);
#define XVEC X
  MJSTATISTIC_FIELDS
#undef XVEC
#undef X
  return fields;
}

TEST_CASE("field_rules: every field of mjModel and mjOption is classified, once, with a reason") {
  const std::set<std::string> fields = all_fields();
  CHECK(fields.size() > 500);
  for (const std::string& field : fields) {
    INFO(field);
    CHECK(field_rule(field) != nullptr);
  }
  std::string_view before;
  for (const FieldRule& rule : field_rules()) {
    INFO(rule.field);
    CHECK(fields.contains(std::string(rule.field)));
    CHECK(rule.field != before);
    CHECK_FALSE(rule.reason.empty());
    const bool refuses = rule.use == FieldUse::must_be_default ||
                         rule.use == FieldUse::must_be_default_with_constraints;
    CHECK(refuses == !rule.hint.empty());
    before = rule.field;
  }
  CHECK(field_rule("body_colour") == nullptr);
}

TEST_CASE("FieldUse has names") {
  CHECK(name(FieldUse::used) == "used");
  CHECK(name(FieldUse::must_be_default_with_constraints) == "must be default with constraints");
}

CompiledModel pendulum() {
  return compile_model(
      "<mujoco><worldbody><body name='rod'><joint name='pin'/><geom name='bob' size='.1'/>"
      "<body><joint/><geom size='.1'/></body></body></worldbody></mujoco>",
      {});
}

std::string refusal(const mjModel& model, bool constraints) {
  try {
    refuse_by_field(model, constraints);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("refuse_by_field: a field that is not its default is refused by the element's name") {
  const CompiledModel model = pendulum();
  CHECK(refusal(*model, true) == "");
  model->body_plugin[1] = 0;
  CHECK(refusal(*model, false).starts_with("body \"rod\": a force by a plugin"));
  model->body_plugin[1] = -1;
  model->jnt_plasticadr[1] = 0;
  CHECK(refusal(*model, false).starts_with("joint #1: a plastic spring"));
}

TEST_CASE("refuse_by_field: what only constraints use counts only with them") {
  const CompiledModel model = pendulum();
  model->opt.noslip_iterations = 3;
  CHECK(refusal(*model, true).starts_with("options: the noslip solver"));
  CHECK(refusal(*model, false) == "");
  model->opt.noslip_iterations = 0;
  model->geom_friction[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(refusal(*model, true) == "geom \"bob\": geom_friction is nan; expected a finite number");
  CHECK(refusal(*model, false) == "");
}

TEST_CASE("field_rules: what the Model takes for constraints is used, how a solver works is not") {
  for (const char* field :
       {"geom_friction", "geom_solref", "pair_friction", "eq_data", "jnt_solimp", "dof_invweight0",
        "opt.cone", "opt.impratio", "opt.o_friction", "mesh_vert"}) {
    CHECK(field_rule(field)->use == FieldUse::used_by_constraints);
  }
  for (const char* field : {"opt.solver", "opt.tolerance", "opt.iterations", "mesh_normal"}) {
    CHECK(field_rule(field)->use == FieldUse::irrelevant);
  }
}

TEST_CASE("refuse_by_field: a number in use is finite, a bound need not be") {
  const CompiledModel model = pendulum();
  model->jnt_actfrcrange[1] = std::numeric_limits<double>::infinity();
  CHECK(refusal(*model, false) == "");
  model->dof_damping[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(refusal(*model, false) == "joint \"pin\": dof_damping is nan; expected a finite number");
}

TEST_CASE("check_layout: arrays outside the buffer are another release's model") {
  const CompiledModel model = pendulum();
  CHECK_NOTHROW(check_layout(*model));
  mjModel other = *model;
  other.body_mass = nullptr;
  CHECK_THROWS_AS(check_layout(other), ModelError);
  CHECK_THROWS_AS(check_layout(mjModel{}), ModelError);
}

}  // namespace
}  // namespace cycloid
