"""What goes wrong: a message that helps, the right exit status, and JSON that is still JSON."""

import pytest

# (words, part of the message, kind)
BAD_INPUT = [
    (["simulat", "pendulum"], 'did you mean "simulate"?', "usage"),
    (["simulate", "pendlum"], 'did you mean "pendulum"?', "model"),
    (["simulate", "pendulum", "--stpes", "3"], 'did you mean "--steps"?', "usage"),
    (["simulate", "pendulum", "--stpes=3"], 'did you mean "--steps"?', "usage"),
    (["simulate", "pendulum", "--set", "masss=1"], 'did you mean "mass"?', "parameter"),
    (["simulate", "pendulum", "--integrator", "rk3"], 'did you mean "rk4"?', "usage"),
    (["simulate", "pendulum", "--dtype", "float16"], "float", "usage"),
    (["simulate", "pendulum", "again"], '"again"', "usage"),
    (["simulate"], "MODEL is missing", "usage"),
    (["simulate", "--steps", "3"], "MODEL is missing", "usage"),
    (["simulate", "pendulum", "--steps", "0"], "at least 1", "usage"),
    (["simulate", "pendulum", "--steps", "-5"], "at least 1", "usage"),
    (["simulate", "pendulum", "--steps", "1.5"], "whole number", "usage"),
    (["simulate", "pendulum", "--steps", "99999999999999999999"], "whole number", "usage"),
    (["simulate", "pendulum", "--steps", "many"], '"many"', "usage"),
    (["simulate", "pendulum", "--steps", ""], "whole number", "usage"),
    (["simulate", "pendulum", "--steps"], "--steps needs a value", "usage"),
    (["simulate", "pendulum", "--output", "--steps", "3"], "--output needs a value", "usage"),
    (["simulate", "pendulum", "--batch", "0"], "from 1", "usage"),
    (["simulate", "pendulum", "--threads", "5000"], "4096", "usage"),
    (["simulate", "pendulum", "--dt", "0"], "must be positive", "parameter"),
    (["simulate", "pendulum", "--dt", "-0.01"], "must be positive", "parameter"),
    (["simulate", "pendulum", "--dt", "nan"], "finite number", "usage"),
    (["simulate", "pendulum", "--dt", "1e999"], "finite number", "usage"),
    (["simulate", "pendulum", "--dt", "0,01"], "finite number", "usage"),
    (["simulate", "pendulum", "--set", "mass=-1"], "must be positive", "parameter"),
    (["simulate", "pendulum", "--set", "mass=heavy"], '"heavy"', "usage"),
    (["simulate", "pendulum", "--set", "mass"], "name=value", "usage"),
    (["simulate", "pendulum", "--set", "=1"], "name=value", "usage"),
    (["simulate", "pendulum", "--set", "mass=1,2"], "takes 1", "parameter"),
    (["simulate", "pendulum", "--set", "mass=1", "--set", "mass=2"], "twice", "usage"),
    (["simulate", "projectile", "--set", "wind=1"], "takes 3", "parameter"),
    (["simulate", "pendulum", "--x", "1"], "has 2 numbers", "usage"),
    (["simulate", "pendulum", "--x", "1,,2"], "finite number", "usage"),
    (["simulate", "pendulum", "--n", "4"], "spring_chain", "usage"),
    (["simulate", "lorenz", "--integrator", "verlet"], "second order", "model"),
    (["simulate", "lorenz", "--rtol", "1e-6"], "choose dopri5 or sdirk4", "model"),
    (["simulate", "lorenz", "--integrator", "dopri5", "--atol", "0"], "positive", "parameter"),
    (["simulate", "humanoid.xml"], 'no file "humanoid.xml"', "file_not_found"),
    (["simulate", "robots/humanoid"], "no file", "file_not_found"),
    (["simulate", "pendulum", "--output", "missing/motion.csv"], "no folder", "input"),
    (["simulate", "pendulum", "--record", "missing/run.h5"], "no folder", "input"),
    (["plan", "pendulum", "--target", "state=0,0", "--report", "no/p.html"], "no folder", "input"),
    (["evaluate", "pendulum", "--truth", "lorenz", "--report", "no/p.html"], "no folder", "input"),
    (["completion"], "bash, zsh or fish", "usage"),
    (["simulate", "pendulum", "--bogus"], "--help says what they do", "usage"),
    (["simulate", "pendulum", "--batch", "1e9"], "memory", "input"),
    (["gradcheck", "pendulum", "--tolerance", "-1"], "--tolerance", "usage"),
    (["gradcheck", "kepler", "--x", "0,0,0,0", "--spread", "0"], "finite", "gradient"),
    (["linearise", "pendulum", "--u", "1,2"], "has 1 input", "usage"),
    (["linearise", "kepler", "--x", "0,0,0,0"], "cannot be linearised", "gradient"),
    (["linearise", "spring_chain", "--n", "100000"], "memory", "input"),
    (["plan", "pendulum"], "--target is needed", "usage"),
    (["plan", "pendulum", "--target", "angel=1"], 'did you mean "angle"', "model"),
    (["plan", "pendulum", "--target", "angle"], "name=number", "usage"),
    (["plan", "pendulum", "--target", "angle=1@x"], "--target", "usage"),
    (["plan", "pendulum", "--target", "angle=1,2"], "target must have 1", "input"),
    (["plan", "pendulum", "--target", "angle=1", "--low", "1,2"], "--low", "usage"),
    (["plan", "lorenz", "--target", "x=1"], "no inputs", "input"),
    (["bench", "pendulum", "--seconds", "-1"], "--seconds", "usage"),
    (["bench", "kepler", "--x", "0,0,0,0", "--spread", "0"], "diverges", "input"),
    (["simulate", "bouncing_ball", "--x", "-0.5,0"], "below the floor", "input"),
    (["simulate", "rimless_wheel", "--set", "half_angle=1"], "π/4", "parameter"),
    (["info", "stick_slip", "--set", "static_friction=0.1"], "kinetic_friction", "parameter"),
    (["info", "pendlum"], 'did you mean "pendulum"?', "model"),
    (["doctor", "pendulum"], '"pendulum"', "usage"),
    (["tour", "--report", "missing/page.html"], "missing/page.html", "input"),
]


@pytest.mark.parametrize("words, part, kind", BAD_INPUT, ids=[" ".join(c[0]) for c in BAD_INPUT])
def test_bad_input_is_refused_with_advice(program, words, part, kind):
    done = program.run(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert part in done.stderr and done.stderr.startswith("cycloid: ")

    answer = program.answer(*words, status=2)
    assert set(answer) == {"error", "kind"}
    assert part in answer["error"] and answer["kind"] == kind
    if "memory" not in part:  # how much is free may change
        assert f"cycloid: {answer['error']}\n" == done.stderr


def test_a_file_is_told_apart_from_a_missing_one(program):
    (program.folder / "model.xml").write_text("<mujoco> <worldbody> <body/> </mujoco>")
    done = program.run("simulate", "model.xml")
    assert done.returncode == 2
    assert "no file" not in done.stderr and "XML" in done.stderr
    assert "no file" in program.run("simulate", "other.xml").stderr


def test_a_law_is_found_although_a_file_has_its_name(program):
    (program.folder / "pendulum").write_text("")
    assert program.run("info", "pendulum").returncode == 0
    assert program.run("info", "./pendulum").returncode == 2


def test_words_that_are_not_unicode_do_no_harm(program):
    word = b"pend\xfflum".decode(errors="surrogateescape")
    answer = program.answer("simulate", word, status=2, errors="replace")
    assert "pend\ufffdlum" in answer["error"]


def test_a_number_may_be_negative_or_in_scientific_notation(program):
    words = ["--steps", "1e1", "--x", "-0.5,+2.5e-1", "--spread", "0", "--push", "0"]
    answer = program.answer("simulate", "pendulum", *words, "--set", "gravity=-9.81")
    assert answer["steps"] == 10
    assert answer["final_state"][0] < 0


def test_output_that_cannot_be_written_is_an_error(program):
    with open("/dev/full", "w") as full:
        assert program.run("info", stdout=full).returncode == 3
        assert program.run("info", "--json", stdout=full).returncode == 3
        words = ["simulate", "pendulum", "--steps", 100000, "--output", "/dev/full"]
        assert program.run(*words).returncode == 2


def test_a_bad_environment_is_refused(program):
    done = program.run("info", environment={"CYCLOID_INSTRUCTION_SET": "v9"})
    assert done.returncode == 2 and "v9" in done.stderr
