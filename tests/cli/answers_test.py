"""The answers of the commands: JSON with the promised keys, and numbers that mean what they say."""

import csv
import json
import math

import numpy as np
import pytest
from help_test import learnable

import cycloid as cy

SMOOTH = ["pendulum", "double_pendulum", "projectile", "spring_chain", "kepler", "lorenz"]
LAWS = [*SMOOTH, "bouncing_ball", "bead_on_curve", "stick_slip", "rimless_wheel"]


@pytest.mark.parametrize("law", LAWS)
def test_simulate_answers_for_every_law(program, law):
    answer = program.answer("simulate", law, "--steps", 50, "--batch", 64, "--seed", 0)
    assert answer["steps_per_second"] > 0
    assert (answer["batch"], answer["steps"], answer["failed"]) == (64, 50, [])
    assert len(answer["final_state"]) == len(answer["state_names"])
    assert all(map(math.isfinite, answer["final_state"]))


def test_simulate_goes_on_where_balls_come_to_rest(program):
    words = ["--set", "restitution=0.2", "--steps", 40000, "--batch", 64]
    answer = program.answer("simulate", "bouncing_ball", *words, status=1)  # since they failed
    assert len(answer["failed"]) == 64
    height, velocity = answer["final_state"]
    assert height == 0 and abs(velocity) < 1e-6


def test_simulate_depends_on_the_seed_and_on_nothing_else(program):
    def final_state(*words):
        return program.answer("simulate", "double_pendulum", "--steps", 40, *words)["final_state"]

    first = final_state("--batch", 5)
    assert final_state("--batch", 5) == first
    assert final_state("--batch", 40, "--threads", 1) == first
    assert final_state("--batch", 40, "--threads", 2) == first
    assert final_state("--batch", 5, "--seed", 1) != first


def test_simulate_is_a_pendulum(program):
    # A small swing of a pendulum of length 1 with g = 4π² has period 1 s; the amplitude's
    # correction, θ²/16, is 6e-8 of the phase.
    words = ["--set", "gravity=39.47841760435743", "--x", "0.001,0", "--spread", 0, "--push", 0]
    angle, velocity = program.answer("simulate", "pendulum", "--steps", 100, *words)["final_state"]
    assert abs(angle - 0.001) < 1e-8
    assert abs(velocity) < 1e-6


def test_simulate_without_spread_and_push_repeats_one_environment(program):
    def rows(record):
        words = ["--steps", 6, "--spread", 0, "--push", 0, "--batch", 3, "--environments", record]
        program.answer("simulate", "pendulum", *words, "--output", "motion.csv")
        return list(csv.DictReader((program.folder / "motion.csv").open()))

    three = rows(3)
    assert len(three) == 3 * 7 and len(rows(2)) == 2 * 7
    for step in range(7):
        states = {row["angle [rad]"] for row in three if row["step"] == str(step)}
        assert len(states) == 1


def test_simulate_in_segments_equals_one_run(program):
    # A batch of 4096 is cut after every 256 steps, one of 2 never: environment 0 is the same.
    words = ["simulate", "double_pendulum", "--steps", 600]
    whole = program.answer(*words, "--batch", 2)["final_state"]
    assert program.answer(*words, "--batch", 4096)["final_state"] == whole


def test_simulate_has_the_events(program):
    words = ["simulate", "bouncing_ball", "--steps", 130, "--spread", 0, "--batch", 3]
    answer = program.answer(*words)
    assert answer["event_counts"] == {"impact": 6}
    assert [event["name"] for event in answer["events"]] == ["impact", "impact"]
    first, second = (event["time"] for event in answer["events"])
    assert first == pytest.approx(math.sqrt(2 / 9.81)) and second == pytest.approx(2.6 * first)
    assert answer["events"][0]["step"] == 45
    said = program.run(*words).stdout
    assert "Events: 6 impact. Of environment 0: impact at 0.451524 s, impact at 1.17396 s" in said


def test_simulate_ends_what_an_event_has_ended(program):
    # A batch of 4096 is cut after every 256 steps; the bead arrives after 101.
    words = ["simulate", "bead_on_curve", "--steps", 600, "--spread", 0]
    one, many = (program.answer(*words, "--batch", batch) for batch in (1, 4096))
    assert one["event_counts"] == {"arrival": 1} and many["event_counts"] == {"arrival": 4096}
    assert one["final_state"] == many["final_state"] == [pytest.approx(1, abs=1e-14)]


def test_simulate_starts_where_the_law_admits_it(program):
    # ± 0.1 would put the bead before its beginning, and let a sticking block move on its belt.
    for law in ("bead_on_curve", "stick_slip", "rimless_wheel", "bouncing_ball"):
        words = ["simulate", law, "--steps", 1, "--batch", 50, "--spread", 0.1]
        program.answer(*words, "--environments", 50, "--output", f"{law}.csv")
    rows = list(csv.DictReader((program.folder / "stick_slip.csv").open()))
    assert all(abs(float(row["velocity [m/s]"]) - 0.21) < 1e-3 for row in rows)
    assert len({row["stretch [m]"] for row in rows if row["step"] == "0"}) == 50
    rows = list(csv.DictReader((program.folder / "bead_on_curve.csv").open()))
    assert min(float(row["progress [1]"]) for row in rows) > -1e-3


def test_simulate_writes_the_motion(program):
    words = ["--steps", 10, "--every", 4, "--environments", 2, "--batch", 3, "--dt", 0.1]
    answer = program.answer("simulate", "kepler", *words, "--output", "motion.csv")
    assert answer["output"] == "motion.csv"
    rows = list(csv.reader((program.folder / "motion.csv").open()))
    assert rows[0][:4] == ["environment", "step", "time [s]", "position[0] [m]"]
    places = [(int(row[0]), int(row[1])) for row in rows[1:]]
    assert places == [(e, k) for k in (0, 4, 8, 10) for e in (0, 1)]
    assert [float(number) for number in rows[-2][3:]] == answer["final_state"]
    assert float(rows[-1][2]) == pytest.approx(1.0)


def test_simulate_names_what_diverged(program):
    # Kepler's law has no value at the centre.
    words = ["kepler", "--x", "0,0,0,0", "--steps", 20, "--spread", 0, "--batch", 2]
    answer = program.answer("simulate", *words, status=1)
    assert [failure["environment"] for failure in answer["failed"]] == [0, 1]
    failure = answer["failed"][0]
    assert failure["step"] == 0 and failure["stage"] and "finite" in failure["reason"]
    assert answer["final_state"] == [0, 0, 0, 0]
    done = program.run("simulate", *words)
    assert done.returncode == 1 and "diverged: environment 0, step 0" in done.stdout


def test_what_diverged_stands_still_and_the_others_go_on(program):
    # So far from its attractor, with so large a step, some of Lorenz's motions overflow. A batch
    # of 4096 is cut after every 256 steps, one of 4 never: neither the cuts nor the neighbours
    # make a difference.
    words = ["simulate", "lorenz", "--x", "0,0,0", "--spread", 300, "--dt", 0.02, "--seed", 1]
    words += ["--steps", 600, "--environments", 4, "--output", "motion.csv"]
    motions, failures = [], []
    for batch in (4, 4096):
        answer = program.answer(*words, "--batch", batch, status=1)
        failures.append([failure for failure in answer["failed"] if failure["environment"] < 4])
        motions.append((program.folder / "motion.csv").read_text())
    assert motions[0] == motions[1] and failures[0] == failures[1]
    assert 0 < len(failures[0]) < 4

    last = {int(row[0]): int(row[1]) for row in list(csv.reader(motions[0].splitlines()))[1:]}
    expected = {environment: 600 for environment in range(4)}
    expected |= {failure["environment"]: failure["step"] for failure in failures[0]}
    assert last == expected and min(last.values()) < 256


def test_what_diverged_does_not_recover(program):
    # With damping = mass / dt and no spring, Euler's velocity is dt u / mass and its rate the
    # change of u over the mass: whether that overflows a float is decided anew at every step.
    words = ["simulate", "spring_chain", "--n", 1, "--integrator", "euler", "--dtype", "float32"]
    words += ["--dt", 1e-3, "--set", "mass=1.2e-38", "--set", "damping=1.2e-35"]
    words += ["--set", "stiffness=0", "--x", "0,0", "--spread", 0, "--push", 2.1, "--seed", 1]
    whole, cut = (
        program.answer(*words, "--steps", 600, "--batch", batch, status=1) for batch in (2, 4096)
    )
    assert cut["failed"][0]["environment"] == 0 and cut["failed"][0]["step"] < 256
    assert len({failure["environment"] for failure in cut["failed"]}) == len(cut["failed"]) < 4096
    assert cut["final_state"] == whole["final_state"]


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "dopri5", "sdirk4"])
def test_implicit_and_adaptive_integrators_go_by_name(program, integrator):
    words = ["kepler", "--integrator", integrator, "--steps", 20]
    assert program.answer("gradcheck", *words)["ok"] is True
    answer = program.answer("simulate", *words)
    assert answer["integrator"] == integrator and not answer["failed"]


def test_a_whole_turn_in_one_step_meets_its_tolerance(program):
    words = ["--integrator", "dopri5", "--dt", 6.283185307179586, "--steps", 1, "--spread", 0]
    words += ["--x", "1,0,0,1"]
    errors = []
    for rtol in (1e-4, 1e-10):
        answer = program.answer("simulate", "kepler", *words, "--rtol", rtol, "--atol", rtol)
        errors.append(max(abs(a - b) for a, b in zip(answer["final_state"], [1, 0, 0, 1])))
    assert errors[1] < 1e-7 < errors[0] < 0.1


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradcheck_agrees_for_every_law(program, law, dtype):
    answer = program.answer("gradcheck", law, "--steps", 20, "--dtype", dtype)
    assert answer["ok"] is True
    assert answer["max_relative_error"] == max(answer["by_block"].values())
    assert answer["max_relative_error"] <= answer["tolerance"]
    assert "params.option.timestep" in answer["by_block"]
    # Something was differentiated.
    assert max(block["largest"] for block in answer["details"].values()) > 0.1


def test_gradcheck_says_no_by_its_exit_status(program):
    words = ["gradcheck", "pendulum", "--tolerance", 1e-18]
    answer = program.answer(*words, status=1)
    assert answer["ok"] is False
    done = program.run(*words)
    assert done.returncode == 1 and "not ok" in done.stdout


def test_linearise_is_the_derivative_of_a_step(program):
    # One Euler step of the pendulum: A = 1 + h [0 1; -g/l cos θ, -d/J], B = h [0; 1/J].
    h, g, length, mass, damping, angle = 0.1, 9.81, 0.5, 2.0, 0.3, 0.7
    inertia = mass * length**2
    words = ["--integrator", "euler", "--dt", h, "--x", f"{angle},-0.2", "--u", 0.4]
    words += ["--set", f"length={length}", "--set", f"mass={mass}", "--set", f"damping={damping}"]
    answer = program.answer("linearise", "pendulum", *words)
    expected = [[1, h], [-h * g / length * math.cos(angle), 1 - h * damping / inertia]]
    for row, expected_row in zip(answer["A"], expected, strict=True):
        assert row == pytest.approx(expected_row, rel=1e-13)
    assert answer["B"] == [[0], [pytest.approx(h / inertia, rel=1e-13)]]
    # |λ|² of a complex pair is the determinant.
    determinant = expected[0][0] * expected[1][1] - expected[0][1] * expected[1][0]
    assert answer["eigenvalue_magnitudes"] == pytest.approx([math.sqrt(determinant)] * 2)
    assert answer["x"] == [0.7, -0.2] and answer["u"] == [0.4]


def test_linearise_gives_the_parameters_when_asked(program):
    answer = program.answer("linearise", "lorenz", "--params", "--integrator", "euler")
    assert answer["parameter_names"] == ["sigma", "rho", "beta", "option.timestep"]
    # At (1, 1, 1): ∂ẏ/∂rho = x, ∂ż/∂beta = -z.
    assert answer["P"][1][1] == pytest.approx(0.01) and answer["P"][2][2] == pytest.approx(-0.01)
    assert "P" not in program.answer("linearise", "lorenz")
    assert answer["B"] == [[], [], []]


def test_plan_reaches_its_target_within_limits(program):
    words = ["--target", "state=3.14159,0", "--steps", 100, "--low", -12, "--high", 12]
    answer = program.answer("plan", "pendulum", "--dt", 0.02, *words)
    assert answer["converged"] and answer["message"]
    assert len(answer["controls"]) == 100 and len(answer["states"]) == 101
    assert max(abs(u) for (u,) in answer["controls"]) <= 12
    assert answer["states"][-1] == pytest.approx([3.14159, 0], abs=0.1)
    assert answer["history"][0] > answer["cost"] > 0
    text = program.run("plan", "pendulum", "--dt", 0.02, *words).stdout
    assert "Converged" in text and "angular_velocity" in text


def test_plan_takes_steps_behind_a_target_and_says_when_it_is_out_of_reach(program):
    words = ["--target", "angle=0.3@25,50", "--steps", 50, "--dt", 0.02]
    answer = program.answer("plan", "pendulum", *words)
    for step in (25, 50):
        assert answer["states"][step][0] == pytest.approx(0.3, abs=0.02)
    words = ["--target", "angle=3", "--steps", 5, "--low", -0.1, "--high", 0.1]
    done = program.run("plan", "pendulum", *words)
    assert "out of reach" in done.stdout


def test_bench_measures_three_costs(program):
    words = ["--batch", 64, "--dtype", "float32", "--threads", 1, "--seconds", 0, "--steps", 20]
    answer = program.answer("bench", "pendulum", *words)
    assert 0 < answer["forward_us"] < answer["forward_backward_us"]
    assert answer["linearise_us"] > 0 and answer["contacts"] == 0
    assert (answer["batch"], answer["dtype"], answer["threads"]) == (64, "float32", 1)


def test_info_describes_program_and_laws(program):
    answer = program.answer("info")
    assert answer["laws"] == LAWS
    assert answer["instruction_set"] in answer["instruction_sets"]
    assert answer["threads"] >= 1
    done = program.run("info")
    assert done.returncode == 0
    for law in LAWS:
        assert law in done.stdout


def test_info_of_a_law_has_its_parameters_with_units_and_constraints(program):
    answer = program.answer("info", "pendulum", "--set", "length=0.5")
    by_name = {parameter["name"]: parameter for parameter in answer["parameters"]}
    assert by_name["length"]["value"] == 0.5 and by_name["length"]["unit"] == "m"
    assert by_name["length"]["constraint"] == "positive"
    assert [state["name"] for state in answer["states"]] == ["angle", "angular_velocity"]
    assert answer["inputs"][0]["unit"] == "N·m"
    assert answer["events"] == []
    bead = program.answer("info", "bead_on_curve")
    assert bead["events"] == [{"name": "arrival", "direction": "rising", "effect": "end"}]
    said = program.run("info", "bead_on_curve").stdout
    assert "ends the run" in said and max(map(len, said.splitlines())) < 80
    chain = program.answer("info", "spring_chain", "--n", 7)
    assert chain["state_size"] == 14 and chain["input_size"] == 7


def test_doctor_examines_the_gradient_in_every_instruction_set(program):
    answer = program.answer("doctor")
    assert answer["ok"] is True
    names = [check["name"] for check in answer["checks"]]
    for instruction_set in program.answer("info")["instruction_sets"]:
        for dtype in ("float64", "float32"):
            assert f"gradient, {instruction_set}, {dtype}" in names
    for subject in ("build", "instruction set", "threads", "memory", "clock"):
        assert subject in names
    assert all(check["status"] in ("ok", "warning") for check in answer["checks"])


def test_doctor_says_what_to_do(program):
    environment = {"CYCLOID_INSTRUCTION_SET": "portable", "CYCLOID_THREADS": "4096"}
    answer = program.answer("doctor", environment=environment)
    by_name = {check["name"]: check for check in answer["checks"]}
    assert answer["ok"] is True
    assert by_name["threads"]["status"] == "warning"
    assert "CYCLOID_THREADS" in by_name["threads"]["advice"]
    if len(program.answer("info")["instruction_sets"]) > 1:
        assert "CYCLOID_INSTRUCTION_SET" in by_name["instruction set"]["advice"]

    answer = program.answer("doctor", status=1, environment={"CYCLOID_THREADS": "many"})
    by_name = {check["name"]: check for check in answer["checks"]}
    assert answer["ok"] is False and by_name["threads"]["status"] == "failed"
    assert "many" in by_name["threads"]["found"]


def test_tour_ends_well_and_writes_its_page(program):
    answer = program.answer("tour", "--report", "page.html", "--seed", 0)
    assert answer["ok"] is True
    assert "<html" in (program.folder / "page.html").read_text()


def test_train_learns_goes_on_and_names_what_is_wrong(program):
    learnable(program)
    answer = program.answer("train", "config.json")
    assert answer["steps"] == 40 and answer["windows"] == 58 and not answer["ended"]
    assert answer["loss"] < 1e-2 and (program.folder / "train.html").exists()
    learnable(program, steps=80)
    further = program.answer("train", "config.json", "--resume", "model.cyl", "--output", "b.cyl")
    whole = program.answer("train", "config.json", "--output", "c.cyl")
    assert further["steps"] == 80 and further["loss"] == whole["loss"]
    learnable(program, learning_rat=1)
    done = program.run("train", "config.json")
    assert done.returncode == 2 and "learning_rate" in done.stderr


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_train_reads_what_python_recorded(program, suffix):
    start = lambda rng, n: rng.uniform(-1, 1, (n, 2))
    data = cy.learn.record(
        cy.systems.pendulum(dt=0.1), start, 30, runs=2, path=program.folder / f"data/*{suffix}"
    )
    law = {"kind": "lagrangian", "n": 1, "inputs": 0, "hidden": [8], "dt": 0.1}
    config = {"law": law, "data": [f"data/run{i}{suffix}" for i in range(2)], "output": "m.cyl"}
    config["train"] = {"steps": 20, "horizon": 2}
    (program.folder / "config.json").write_text(json.dumps(config))
    if "without libhdf5" in program.run("train", "config.json").stderr:
        pytest.skip("the program was built without libhdf5")
    answer = program.answer("train", "config.json")
    assert answer["windows"] == sum(len(r) - 2 for r in data)
    own = cy.learn.train(cy.learn.lagrangian(1, hidden=(8,), dt=0.1), data, steps=20, horizon=2)
    assert answer["loss"] == own.loss
    saved = cy.learn.load(program.folder / "m.cyl")
    assert np.array_equal(saved.parameters.default, own.system.parameters.default)


def test_train_makes_points_with_distances(program):
    law = {"kind": "constrained", "masses": [0.5], "distances": [[1, 0, 1.2]]}
    law |= {"anchors": [[0, 0]], "hidden": [8], "stabilisation": 1.0, "dt": 0.1}
    points = cy.learn.constrained([0.5], [(1, 0, 1.2)], [(0, 0)], hidden=(8,), dt=0.1)
    run = cy.rollout(points, [1.2, 0, 0, -0.5], 20)
    cy.Recording(run.times, run.states).save(program.folder / "run.npz")
    config = {"law": law, "data": ["run.npz"], "train": {"steps": 5}, "output": "m.cyl"}
    (program.folder / "config.json").write_text(json.dumps(config))
    program.answer("train", "config.json")
    saved = cy.learn.load(program.folder / "m.cyl")
    assert saved.parameters.shapes["lengths"] == (1,) and "violation" in saved.observables
    law["distances"] = [[1, 0]]
    (program.folder / "config.json").write_text(json.dumps(config))
    done = program.run("train", "config.json")
    assert done.returncode == 2 and "[point, point, length]" in done.stderr


def test_evaluate_scores_a_model_and_two_side_by_side(program):
    words = ["--truth", "pendulum", "--runs", 6, "--steps", 100, "--no-timing"]
    card = program.answer("evaluate", "pendulum", "--dt", 0.05, *words, "--report", "card.html")
    assert card["schema"] == "cycloid.scorecard/1" and card["verdict"].startswith("trustworthy")
    assert 0 < card["scores"]["error"]["value"] < 1e-3
    assert "<svg" in (program.folder / "card.html").read_text()
    bad = program.answer("evaluate", "pendulum", "--set", "damping=1", *words)
    assert bad["scores"]["energy_drift"]["mark"] == "poor"
    again = program.answer("evaluate", "pendulum", "--set", "damping=1", *words)
    assert again == bad
    learnable(program)
    program.answer("train", "config.json")
    both = program.answer(
        "evaluate", "model.cyl", "--truth", "run.csv", "--beside", "model.cyl", "--no-timing"
    )
    assert both["scores"] == both["beside"]["scores"] and both["runs"] == 1
    done = program.run("evaluate", "pendulum")
    assert done.returncode == 2 and "--truth" in done.stderr
