"""What `info`, `simulate` and `gradcheck` say about a robot: its own names, in short tables."""

import re

import pytest

ROBOT = """<mujoco model="walker"><worldbody>
  <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom size="0.1" mass="2"/>
    <body name="leg"><joint name="hip" axis="0 1 0" range="-60 60" limited="true"/>
      <geom name="shin" type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="0.5"/>
      <site name="toe" pos="0 0 -0.4"/></body></body></worldbody>
  <actuator><motor name="hip_motor" joint="hip" gear="30" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
  <sensor><velocimeter name="toe_speed" site="toe"/></sensor></mujoco>"""


@pytest.fixture
def walker(program):
    (program.folder / "walker.xml").write_text(ROBOT)
    return program


def test_info_lists_elements_by_name(walker):
    text = walker.run("info", "walker.xml").stdout
    assert re.search(r"^  hip +hinge +leg +0 +-1\.0472 … 1\.0472 rad$", text, re.MULTILINE), text
    assert re.search(r"^  leg +trunk +0\.5$", text, re.MULTILINE)
    assert re.search(r"^  hip_motor +joint hip +30 +-1 … 1$", text, re.MULTILINE)
    assert re.search(r"^  toe_speed +3$", text, re.MULTILINE)
    assert "qpos[" not in text and len(text.splitlines()) < 40
    full = walker.run("info", "walker.xml", "--full").stdout
    assert "qpos[0]" in full and "body:leg.mass" in full and "hip_motor" in full
    answer = walker.answer("info", "walker.xml")
    assert [j["name"] for j in answer["joints"]] == ["root", "hip"]
    assert answer["actuators"] == [{"name": "hip_motor", "drives": "joint hip", "range": [-1, 1]}]
    assert answer["bodies"][2] == {"name": "leg", "parent": "trunk", "mass": 0.5}
    assert answer["sensors"] == [{"name": "toe_speed", "size": 3, "supported": True}]


def test_long_tables_are_cut_and_say_so(program):
    links = "".join(
        f'<body name="l{i}" pos="0 0 -0.1"><joint name="j{i}" axis="0 1 0"/><geom size="0.01"/>'
        for i in range(40)
    )
    xml = f"<mujoco><worldbody>{links}{'</body>' * 40}</worldbody></mujoco>"
    (program.folder / "chain.xml").write_text(xml)
    text = program.run("info", "chain.xml").stdout
    assert "40 joints" in text and "… and 16 more (--full)" in text and "j39" not in text
    assert "j39" in program.run("info", "chain.xml", "--full").stdout


def test_simulate_ends_with_joints_by_name(walker):
    text = walker.run("simulate", "walker.xml", "--steps", 20).stdout
    assert re.search(r"^  hip +hinge +\S+ +\S+$", text, re.MULTILINE), text
    assert re.search(r"^  root +free +\S+ \S+ \S+ +\S+ \S+ \S+$", text, re.MULTILINE), text
    assert "qpos[" not in text
    assert "qpos[7]" in walker.run("simulate", "walker.xml", "--steps", 20, "--full").stdout


def test_gradcheck_shows_the_worst_ten_and_counts_the_rest(walker):
    text = walker.run("gradcheck", "walker.xml", "--steps", 3).stdout
    rows = re.findall(r"^ *(?:x0|controls|params)\S* +(\S+) ", text, re.MULTILINE)
    assert len(rows) == 10
    errors = [float(r) for r in rows]
    assert errors == sorted(errors, reverse=True)
    rest = re.search(r"… and (\d+) blocks more, each within (\S+); (\d+) of them", text)
    blocks = walker.answer("gradcheck", "walker.xml", "--steps", 3)["by_block"]
    assert int(rest[1]) == len(blocks) - 10 and float(rest[2]) <= errors[-1] * 1.1
    assert sorted(blocks.values())[-1] == pytest.approx(errors[0], rel=0.01)
    full = walker.run("gradcheck", "walker.xml", "--steps", 3, "--full").stdout
    assert all(name in full for name in blocks)


def test_completion_scripts_know_commands_and_options(program, tmp_path):
    for shell, start in (("bash", "_cycloid()"), ("zsh", "#compdef"), ("fish", "complete -c")):
        script = program.run("completion", shell).stdout
        assert start in script and "simulate" in script and "environments" in script, shell
    done = program.run("completion", "tcsh")
    assert done.returncode == 2 and "bash, zsh or fish" in done.stderr


def test_bash_completes(program):
    import subprocess

    script = program.run("completion", "bash").stdout
    ask = script + (
        '\nCOMP_WORDS=(cycloid sim); COMP_CWORD=1; _cycloid; echo "${COMPREPLY[*]}"'
        '\nCOMP_WORDS=(cycloid view dou); COMP_CWORD=2; _cycloid; echo "${COMPREPLY[*]}"'
    )
    out = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["simulate", "double_pendulum"]


def test_view_writes_a_page(walker):
    answer = walker.answer("view", "walker.xml", "--steps", 30, "-o", "run.html", "--title", "Go")
    assert answer == {"output": "run.html", "system": "walker", "frames": 31}
    page = (walker.folder / "run.html").read_text()
    assert "<title>Go</title>" in page
    for words, status, said in (
        (("view",), 2, "MODEL is missing"),
        (("view", "walker.xml"), 2, "--output FILE is missing"),
        (("view", "none.xml", "-o", "a.html"), 2, "there is no file"),
        (("view", "pendulum", "-o", "none/a.html"), 2, "there is no folder"),
        (("view", "pendulum", "-o", "a.html", "--set", "lenght=2"), 2, "did you mean"),
    ):
        done = walker.run(*words)
        assert done.returncode == status and said in done.stderr, done.stderr
