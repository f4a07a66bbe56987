"""Commands about a robot's file."""

import pytest

import cycloid as cy

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


def test_constraints_act_unless_they_are_left_out(program):
    (program.folder / "limited.xml").write_text(SWING.format(limit='range="-60 60"'))
    words = ["simulate", "limited.xml", "--steps", 1, "--spread", 0, "--x", "3,1,0,0,0,0,0,0,0"]
    held, free = program.answer(*words), program.answer(*words, "--no-constraints")
    assert held["unsolved"] == held["crowded"] == []
    assert held["final_state"][5] < -1 < free["final_state"][5]


BED = """<mujoco> <worldbody> <geom type="plane" size="5 5 1"/> <body pos="0 0 0.04"> <freejoint/>
  <replicate count="{n}" offset="0.11 0 0"> <replicate count="{n}" offset="0 0.11 0">
    <geom size="0.05"/> </replicate> </replicate> </body> </worldbody> </mujoco>"""


def test_contacts_are_counted_and_those_without_room_named(program):
    (program.folder / "bed.xml").write_text(BED.format(n=2))
    words = ["bed.xml", "--steps", 5, "--spread", 0, "--batch", 2]
    answer = program.answer("bench", *words, "--seconds", 0)
    assert (answer["contacts"], answer["unsolved"], answer["crowded"]) == (4, 0, 0)
    assert "contacts: 4 per" in program.run("bench", *words, "--seconds", 0).stdout
    (program.folder / "bed.xml").write_text(BED.format(n=17))  # 289 contacts
    answer = program.answer("simulate", *words)
    assert answer["crowded"] == [{"environment": e, "step": 0, "count": 5} for e in (0, 1)]
    told = program.run("simulate", *words)
    assert told.returncode == 0 and "crowded: environment 1" in told.stdout


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


def test_a_saved_model_needs_no_mujoco(program, swing):
    cy.load(program.folder / swing).save(program.folder / "swing.cym")
    words = ["--steps", 50, "--batch", 3]
    nowhere = {"CYCLOID_MUJOCO_LIBRARY": str(program.folder / "none.so")}
    expected = program.answer("simulate", swing, *words)
    answer = program.answer("simulate", "swing.cym", *words, environment=nowhere)
    assert answer["final_state"] == expected["final_state"]
    assert program.run("simulate", swing, *words, environment=nowhere).returncode == 2
    data = (program.folder / "swing.cym").read_bytes()
    (program.folder / "cut.cym").write_bytes(data[:-3])
    done = program.run("info", "cut.cym")
    assert done.returncode == 2 and 'cannot read "cut.cym" as a model: it is cut' in done.stderr


def test_noslip_is_refused_or_left_out_with_a_warning(program):
    text = SWING.format(limit='range="-60 60"').replace("<option", '<option noslip_iterations="3"')
    (program.folder / "noslip.xml").write_text(text)
    done = program.run("simulate", "noslip.xml")
    assert done.returncode == 2 and "the noslip solver is not supported" in done.stderr
    done = program.run("simulate", "noslip.xml", "--noslip", "ignore", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith("cycloid: warning: the noslip solver (noslip_iterations 3)")


BALL = """<mujoco> <worldbody> <geom type="plane" size="1 1 1"/> <body pos="0 0 0.105"> <freejoint/>
<geom size="0.1" mass="1" friction="1.5 0.01 0.0002"/> </body> </worldbody> </mujoco>"""


def test_the_law_of_contacts_may_be_chosen(program):
    (program.folder / "ball.xml").write_text(BALL)
    words = ["info", "ball.xml", "--contact", "hunt_crossley"]
    names = [p["name"] for p in program.answer(*words)["parameters"]]
    assert "contact.stiction" in names and "contact.stiffness" not in names
    given = program.answer(*words, "--set", "contact.stiffness=5e4")["parameters"]
    assert {p["name"]: p["value"] for p in given}["contact.stiffness"] == 5e4
    answer = program.answer("gradcheck", "ball.xml", "--steps", 30, "--contact", "hunt_crossley")
    assert answer["ok"]
    done = program.run("simulate", "ball.xml", "--contact", "hunt_crosley")
    assert done.returncode == 2 and "hunt_crossley" in done.stderr


def test_steps_may_be_refined(program):
    (program.folder / "ball.xml").write_text(BALL)
    assert program.answer("simulate", "ball.xml", "--steps", 30, "--refine", 1e-4)["failed"] == []
    for words in (["--refine", 0], ["--refine", 1e-4, "--integrator", "rk4"]):
        done = program.run("simulate", "ball.xml", *words)
        assert done.returncode == 2 and "refine" in done.stderr
    done = program.run("simulate", "pendulum", "--refine", 1e-4)
    assert done.returncode == 2 and "--refine is for robots' files" in done.stderr
