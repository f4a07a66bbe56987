"""Commands about a robot's file."""

import pytest

SWING = """
<mujoco model="swing">
  <option integrator="implicitfast" timestep="0.004"/>
  <worldbody>
    <body name="pole" pos="0 0 1">
      <joint name="hinge" axis="0 1 0" damping="0.1" {limit}/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="0.3"/>
      <body name="ball" pos="0 0 -0.5">
        <joint name="socket" type="ball" damping="0.02"/>
        <geom size="0.05" pos="0 0 -0.1" mass="0.2"/>
      </body>
    </body>
  </worldbody>
  <actuator> <motor name="push" joint="hinge"/> </actuator>
</mujoco>
"""


@pytest.fixture
def swing(program):
    (program.folder / "swing.xml").write_text(SWING.format(limit=""))
    return "swing.xml"


def test_simulate_runs_a_batch_of_robots(program, swing):
    answer = program.answer("simulate", swing, "--steps", 50, "--batch", 20, "--no-constraints")
    assert (answer["batch"], answer["steps"], answer["failed"]) == (20, 50, [])
    assert answer["state_names"][:2] == ["qpos[0]", "qpos[1]"]
    assert (answer["model"], answer["integrator"], answer["dt"]) == ("swing", "implicitfast", 0.004)


def test_gradcheck_holds_every_parameter_to_differences(program, swing):
    answer = program.answer("gradcheck", swing, "--steps", 10, "--no-constraints")
    assert answer["ok"] and answer["max_relative_error"] < 1e-6
    assert {"x0.qpos", "x0.qvel", "controls", "params.body:ball.mass"} <= set(answer["by_block"])


def test_step_integrator_and_parameters_may_be_chosen(program, swing):
    words = ["info", swing, "--no-constraints", "--dt", 0.001, "--integrator", "rk4"]
    answer = program.answer(*words, "--set", "body:ball.mass=0.5")
    assert (answer["integrator"], answer["dt"]) == ("rk4", 0.001)
    values = {p["name"]: p["value"] for p in answer["parameters"]}
    assert values["body:ball.mass"] == 0.5
    done = program.run("info", swing, "--no-constraints", "--integrator", "verlet")
    assert done.returncode == 2 and "implicitfast" in done.stderr


def test_bench_and_linearise_answer_for_a_robot(program, swing):
    words = ["--batch", 4, "--seconds", 0.05, "--no-constraints"]
    assert program.answer("bench", swing, "--steps", 5, *words)["forward_us"] > 0
    answer = program.answer("linearise", swing, "--no-constraints")
    assert len(answer["A"]) == 8


def test_constraints_are_refused_with_the_way_out(program):
    (program.folder / "limited.xml").write_text(SWING.format(limit='range="-60 60"'))
    done = program.run("simulate", "limited.xml")
    assert done.returncode == 2 and "constraints" in done.stderr
    assert program.run("simulate", "limited.xml", "--no-constraints").returncode == 0


def test_a_broken_file_is_told_in_one_line(program):
    (program.folder / "broken.xml").write_text("<mujoco><worldbody><body></mujoco>")
    done = program.run("simulate", "broken.xml")
    assert done.returncode == 2
    assert done.stderr.startswith("cycloid: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["simulate", "gradcheck", "linearise", "bench", "info"])
def test_a_model_in_which_nothing_moves_is_answered_for(program, command):
    (program.folder / "post.xml").write_text("<mujoco/>")
    more = ["--batch", "2"] if command == "bench" else []
    assert program.answer(command, "post.xml", *more)["model"] == "MuJoCo Model"
