// Corrupted, truncated and mutated models: each loads or gives a clean error, and leaves nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/io/convert.h"
#include "cycloid/io/messages.h"
#include "cycloid/io/refuse.h"
#include "tests/support/scratch_folder.h"

namespace cycloid {
namespace {

constexpr std::string_view kModels[] = {
    R"(<mujoco model="arm"><compiler angle="radian"/><option timestep="0.002" integrator="RK4"/>
<default><joint damping="1" armature=".1"/><default class="leg"><geom size=".1"/></default>
</default>
<asset><texture name="t" type="2d" builtin="checker" width="8" height="8"/>
<material name="m" texture="t"/>
<mesh name="v" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><light pos="0 0 3"/><site name="o"/><geom type="plane" size="1 1 .1" material="m"/>
<body name="base" pos="0 0 1" childclass="leg"><freejoint name="root"/><geom type="mesh" mesh="v"/>
<body name="a" euler="0 .1 0"><joint name="j" axis="0 1 0" range="-1 1"/>
<geom name="g" type="capsule" fromto="0 0 0 0 0 .5"/>
<site name="s" pos="0 0 .5"/></body></body></worldbody>
<contact><exclude body1="base" body2="a"/></contact>
<tendon><spatial name="k" stiffness="3"><site site="o"/><site site="s"/><pulley divisor="2"/>
<site site="s"/><site site="o"/></spatial></tendon>
<actuator><position name="p" joint="j" kp="3" ctrlrange="-1 1"/>
<general tendon="k" dyntype="filter"/></actuator>
<sensor><gyro site="s"/><framepos objtype="geom" objname="g"/></sensor>
<keyframe><key name="up" qpos="0 0 1 1 0 0 0 .3"/></keyframe></mujoco>)",

    R"(<?xml version="1.0"?><!-- a robot --><robot name="r"><mujoco>
<compiler balanceinertia="true"/></mujoco>
<link name="base"><inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0" rpy="0 .1 0"/><geometry><box size="1 1 1"/></geometry></collision>
</link>
<link name="tool"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="package://r/tool.dae"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="tool"/>
<origin xyz="1 0 0" rpy="0 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="1"/><dynamics damping=".1" friction=".2"/>
</joint></robot>)",

    R"(<mujoco><worldbody><replicate count="3" offset="1 0 0"><body><joint type="ball"/>
<geom type="ellipsoid" size=".1 .2 .3"/>
</body></replicate><body name="b"><joint/><geom size=".1"/></body><frame pos="1 2 3">
<body mocap="true"><geom size="1"/></body></frame></worldbody>
<equality><connect body1="b" anchor="0 0 0"/></equality><custom><numeric name="n" data="1 2"/>
</custom>
<visual><global offwidth="100"/></visual><size memory="1M"/><statistic extent="1"/></mujoco>)",

    R"(<mujoco><option cone="elliptic" impratio="2" o_margin=".1"><flag override="enable"/></option>
<worldbody><geom name="f" type="plane" size="1 1 1" condim="4"/><body name="a" pos="0 0 1">
<freejoint/><geom name="g" size=".1" friction="1 .1 .1" solref=".02 1" solimp=".9 .9 .01"
 priority="1" margin=".1" gap=".1"/><site name="s"/><body name="b"><joint name="j" range="-1 1"
 frictionloss="1" solreflimit="-1 -1"/><geom name="h" type="box" size=".1 .1 .1" contype="2"/>
</body></body><body name="c"><joint name="k" limited="true" range="0 1"/><geom size=".1"/>
<site name="t"/></body></worldbody>
<contact><pair geom1="f" geom2="h" condim="6" friction="1 1 1"/><exclude body1="a" body2="c"/>
</contact><tendon><fixed name="x" range="0 1" frictionloss="1"><joint joint="j" coef="1"/></fixed>
</tendon><equality><connect body1="a" body2="c" anchor="0 0 0"/><weld site1="s" site2="t"/>
<weld body1="b" torquescale="2"/><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/>
<tendon tendon1="x"/></equality></mujoco>)",
};

// What an attribute is replaced with: numbers at the edge, and none at all.
constexpr std::string_view kValues[] = {"",      "0",      "-1",       "nan",   "inf",
                                        "1e400", "1e-300", "abc",      "1 2 3", "2147483648",
                                        "-0.0",  "world",  "\xff\xfe", "&lt;"};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t n = 1 + below(3); n > 0 && text.size() > 2; --n) {
      const std::size_t at = below(text.size()), length = 1 + below(40);
      switch (below(7)) {
        case 0: text.resize(at); break;
        case 1: text[at] = static_cast<char>(below(256)); break;
        case 2: text.erase(at, length); break;
        case 3: text.insert(at, text.substr(below(text.size()), length)); break;
        case 4: std::swap(text[at], text[below(text.size())]); break;
        default: replace_value(text, at); break;
      }
    }
    return "<" + text;  // stays a text, never a path
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void replace_value(std::string& text, std::size_t at) {
    const auto start = text.find("=\"", at);
    const auto end = start == text.npos ? start : text.find('"', start + 2);
    if (end == text.npos) return;
    text.replace(start + 2, end - start - 2, kValues[below(std::size(kValues))]);
  }

  std::mt19937 random_;
};

// Loads the text; an error must be one clean line about it.
bool loads(const std::string& text, bool constraints) {
  std::string said;
  try {
    const LoadOptions options{.constraints = constraints};
    const CompiledModel compiled = compile_model(text, options);
    refuse_unsupported(*compiled, constraints_act(*compiled, options));
    convert(*compiled, options);
    return true;
  } catch (const Error& error) {
    said = error.what();
  }
  INFO(text << "\n" << said);
  CHECK(said.size() > 10);
  CHECK(said.find('\n') == said.npos);
  CHECK(readable(said) == said);
  return false;
}

TEST_CASE("load_model: 1200 mutated models load or give a clean error; no file is left behind") {
  const auto before = std::filesystem::current_path();
  const test::ScratchFolder here;
  std::filesystem::current_path(here.path(""));
  // More by hand: CYCLOID_MUTATIONS=100000
  const char* wanted = std::getenv("CYCLOID_MUTATIONS");
  const int each = wanted ? std::atoi(wanted) / 4 : 300;
  int loaded = 0, refused = 0;
  Mutator mutator(20240229);
  for (const std::string_view model : kModels) {
    CHECK(loads(std::string(model), false));
    for (int i = 0; i < each; ++i) {
      // The first character is put back by the mutator.
      const std::string text = mutator.mutate(std::string(model.substr(1)));
      ++(loads(text, i % 2 == 0) ? loaded : refused);
    }
  }
  std::filesystem::current_path(before);
  CHECK(here.is_empty());
  CHECK(loaded > each / 20);
  CHECK(refused > each);
}

TEST_CASE("load_model: a model cut off anywhere gives a clean error") {
  for (const std::string_view model : kModels) {
    for (std::size_t length = 1; length < model.size(); length += 17) {
      CHECK_FALSE(loads(std::string(model.substr(0, length)), false));
    }
  }
}

}  // namespace
}  // namespace cycloid
