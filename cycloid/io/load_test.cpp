#include "cycloid/io/load.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/io/compile.h"
#include "cycloid/model/model_file.h"
#include "tests/support/scratch_folder.h"

namespace cycloid {
namespace {

std::string pendulum(int bodies) {
  std::string inside;
  for (int i = bodies; i-- > 0;) {
    inside = "<body name='b" + std::to_string(i) + "' pos='0 0 -1'><joint/><geom size='.1' " +
             "contype='0' conaffinity='0'/>" + inside + "</body>";
  }
  return "<mujoco model='chain'><worldbody>" + inside + "</worldbody></mujoco>";
}

TEST_CASE("load_model: a text, a file, and a mesh beside the file") {
  CHECK(load_model(pendulum(2)).nv == 2);
  CHECK(load_model("  \n" + pendulum(3)).nv == 3);
  const test::ScratchFolder here;
  CHECK(load_model(here.write("chain.xml", pendulum(2))).name == "chain");
  here.write("meshes/t.obj", test::kTetrahedron);
  const std::string file = here.write(
      "robot.xml",
      "<mujoco><compiler meshdir='meshes'/><asset><mesh name='t' file='t.obj'/></asset><worldbody>"
      "<body><freejoint/><geom type='mesh' mesh='t' density='6'/></body></worldbody></mujoco>");
  CHECK(std::abs(load_model(file).bodies[1].mass - 1) <
        1e-6);  // a volume of 1/6, vertices in float
}

TEST_CASE("load_model: a model that was saved, with its notes, and constraints on request") {
  const test::ScratchFolder here;
  const std::string file = here.write("chain.cym", "");
  save_model(file, {load_model(pendulum(2)), {"something is left out"}});
  std::vector<std::string> warnings;
  const Model read = load_model(file, {.warnings = &warnings});
  CHECK(model_to_bytes({read, {}}) == model_to_bytes({load_model(pendulum(2)), {}}));
  CHECK(warnings == std::vector<std::string>{"something is left out"});
  CHECK(read.options.acting.constraints);
  CHECK_FALSE(load_model(file, {.constraints = false}).options.acting.constraints);
  save_model(file, {load_model(pendulum(2), {.constraints = false}), {}});
  CHECK_FALSE(load_model(file).options.acting.constraints);
  CHECK_THROWS_AS(load_model(here.write("bad.cym", pendulum(2))), ModelError);
  CHECK_THROWS_AS(load_model("nowhere/chain.cym"), FileNotFound);
}

TEST_CASE("load_model: URDF") {
  const Model arm = load_model(
      "<robot name='arm'><link name='base'/><link name='rod'><inertial><mass value='2'/><inertia "
      "ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='pin' "
      "type='continuous'><parent link='base'/><child link='rod'/><axis xyz='0 1 "
      "0'/></joint></robot>");
  CHECK(arm.name == "arm");
  REQUIRE(arm.joints.size() == 1);
  CHECK(arm.joints[0].name == "pin");
  CHECK(arm.bodies[1].mass == 2);
}

TEST_CASE("load_model: names that are not UTF-8 become readable") {
  const Model m =
      load_model("<mujoco model='\xe9'><worldbody><site name='caf\xe9'/></worldbody></mujoco>");
  CHECK(m.name == "\xef\xbf\xbd");
  CHECK(m.sites[0].name == "caf\xef\xbf\xbd");
}

TEST_CASE("model_from_mjmodel: reads a model as it is set, and leaves it alone") {
  const CompiledModel compiled = compile_model(pendulum(2), {});
  compiled->opt.timestep = 0.125;
  compiled->opt.integrator = mjINT_RK4;
  compiled->body_mass[2] = 42;
  const Model m = model_from_mjmodel(compiled.get());
  CHECK(m.options.timestep == 0.125);
  CHECK(m.options.integrator == RigidIntegrator::rk4);
  CHECK(m.options.acting.constraints);
  CHECK(m.bodies[2].mass == 42);
  CHECK_FALSE(
      model_from_mjmodel(compiled.get(), {.constraints = false}).options.acting.constraints);
  compiled->opt.integrator = mjINT_IMPLICITFAST + 1;  // discrete
  CHECK_THROWS_AS(model_from_mjmodel(compiled.get()), ModelError);
  CHECK_THROWS_AS(model_from_mjmodel(nullptr), ModelError);
}

TEST_CASE("load_model: several threads at once, good models and bad ones [threads]") {
  constexpr int kThreads = 4, kLoads = 25;
  std::atomic<int> good = 0, bad = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kLoads; ++i) {
        const int bodies = 1 + (7 * t + i) % 5;
        (load_model(pendulum(bodies)).nv == bodies ? good : wrong)++;
        try {
          load_model("<mujoco><thread" + std::to_string(t) + "/></mujoco>");
          ++wrong;
        } catch (const ModelError& error) {
          const std::string own = "'thread" + std::to_string(t) + "'";
          (std::string(error.what()).find(own) != std::string::npos ? bad : wrong)++;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == kThreads * kLoads);
  CHECK(bad == kThreads * kLoads);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace cycloid
