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


TABLES = {
    "short.csv": ("t,angle\n0,1\n0.01\n", "short.csv: line 3 has 1 field, the header has 2"),
    "other.csv": ("a,b\n1,2\n", "other.csv: there is no column of times"),
    "word.csv": ("t,angle\n0,x\n", 'word.csv: line 2, column "angle": "x" is no number'),
    "inf.csv": ("t,angle\n0,1\n0.01,inf\n", "row 1, column 0 is infinite"),
    "back.csv": ("t,angle\n0,1\n0,1\n", "times must rise"),
    "none.csv": ("", "expected a line of column names"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_are_none_are_told_with_their_place(program, name):
    text, said = TABLES[name]
    (program.folder / name).write_text(text)
    answer = program.answer("identify", "pendulum", name, "--params", "length", status=2)
    assert said in answer["error"] and answer["kind"] == "input"


def test_files_that_are_something_else_are_told(program):
    (program.folder / "config.json").write_text('{"law":')
    said = program.run("train", "config.json").stderr
    assert '"config.json" is no JSON: parse error at line 1' in said and "exception" not in said
    program.answer("simulate", "pendulum", "--steps", 50, "--record", "run.h5")
    words = ["identify", "pendulum", "run.h5", "--params", "length"]
    assert "it is a run" in program.answer(*words, status=2)["error"]
    (program.folder / "half.csv").write_text("t,angle\n0,1\n0.01,1\n")
    words = ["evaluate", "pendulum", "--truth", "half.csv"]
    assert "first row is no whole state" in program.answer(*words, status=2)["error"]


@pytest.mark.parametrize(
    "words, part, kind",
    [
        (["pendulum", "--x", "1"], "has 2 numbers (angle, angular_velocity), got 1", "usage"),
        (["pendulum", "--set", "lenght=1"], 'did you mean "length"', "parameter"),
        (["pendulum", "--set", "length=x"], "expected numbers", "usage"),
        (["none.h5"], 'no file "none.h5"', "file_not_found"),
        (["run.csv"], "does not hold its model", "usage"),
        (["text.xml"], "XML", "model"),
        (["text.h5"], "damaged, or no recording", "input"),
    ],
)
def test_view_says_what_the_other_commands_say(program, words, part, kind):
    (program.folder / "text.xml").write_text("hello")
    (program.folder / "text.h5").write_text("hello")
    answer = program.answer("view", *words, "-o", "page.html", status=2)
    assert part in answer["error"] and answer["kind"] == kind
    assert not (program.folder / "page.html").exists()


def test_view_shows_runs_and_says_where_one_stops(program):
    program.answer("simulate", "pendulum", "--steps", 50, "--record", "run.h5")
    assert program.answer("view", "run.h5", "-o", "page.html")["frames"] == 51
    refused = program.answer("view", "run.h5", "-o", "page.html", "--x", "1,0", status=2)
    assert refused["kind"] == "usage"
    words = ["view", "lorenz", "--x", "1e300,1,1", "--steps", 50, "-o", "page.html"]
    assert "the run stops at step" in program.answer(*words)["notes"][0]
    assert "the run stops at step" in program.run(*words).stdout
