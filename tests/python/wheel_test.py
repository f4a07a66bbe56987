"""`pip install .`: one wheel of one instruction set takes a gradient.

It is built beside build/, where what `make build` compiled for that set comes out of the compiler's
cache.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A set that is the same alone as among others: what is compiled of portable is not.
SET = "v3" if "avx2" in Path("/proc/cpuinfo").read_text() else "portable"

SCRIPT = """
import sys
import numpy as np
import cycloid as cy
assert cy.__file__.startswith(sys.argv[1]), cy.__file__
run = cy.rollout(cy.systems.pendulum(), [[1.0, 0.0], [0.5, 0.0]], 50)
g = run.pullback(np.ones(run.states.shape))
assert np.isfinite(g.x0).all() and g.x0.any() and g.params.any()
print(run.report.instruction_set, cy.__version__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # Programs of this environment first, as when it is activated.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--wheel-dir", str(folder)]
    command += ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    command += [f"--config-settings=build-dir={ROOT / 'build-wheel'}"]
    command += [f"--config-settings=cmake.define.CYCLOID_INSTRUCTION_SETS={SET}"]
    # CMake's own choice, as for build/: what is compiled there then comes out of the cache.
    compiler = os.environ.get("CXX") or shutil.which("c++")
    command += [f"--config-settings=cmake.define.CMAKE_CXX_COMPILER={compiler}"]
    made = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PATH": path}, cwd=folder
    )
    assert made.returncode == 0, made.stdout + made.stderr
    (wheel,) = folder.glob("cycloid-*.whl")
    return wheel


def test_a_wheel_has_every_instruction_set_unless_told_otherwise():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["cmake"]
    assert "CYCLOID_INSTRUCTION_SETS" not in told["define"]
    flags = (ROOT / "cmake" / "CycloidFlags.cmake").read_text()
    assert 'set(CYCLOID_INSTRUCTION_SETS "all" CACHE' in flags
    assert 'STREQUAL "all")\n  set(CYCLOID_SETS portable v3 v4)' in flags


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert all(name.startswith(("cycloid/", "cycloid-")) for name in names)
    sources = {f"cycloid/{path.name}" for path in (ROOT / "python" / "cycloid").glob("*.py")}
    assert sources | {"cycloid/py.typed", "cycloid/_core.pyi"} <= set(names)
    (metadata,) = [name for name in names if name.endswith("METADATA")]
    lines = zipfile.ZipFile(wheel).read(metadata).decode().splitlines()
    needs = [
        line for line in lines if line.startswith("Requires-Dist") and "; extra ==" not in line
    ]
    assert needs == ["Requires-Dist: numpy>=2", "Requires-Dist: mujoco-core==4.0.0"]


@pytest.fixture
def installed(wheel, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile"]
    install += ["--disable-pip-version-check", "--quiet", "--target", str(tmp_path), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return tmp_path


def test_its_program_runs_and_says_that_it_has_no_hdf5(installed):
    def program(*words):
        return subprocess.run(
            [sys.executable, "-B", "-m", "cycloid", *words],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(installed)},
            cwd=installed,
        )

    ran = program("simulate", "pendulum", "--steps", "10", "--json")
    assert ran.returncode == 0, ran.stderr
    refused = program("simulate", "pendulum", "--steps", "10", "--record", "run.h5")
    assert refused.returncode == 2
    assert "built without libhdf5" in refused.stderr and "traj.save" in refused.stderr
    assert not (installed / "run.h5").exists()


def test_the_installed_wheel_takes_a_gradient(installed):
    found = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, str(installed)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(installed)},
        cwd=installed,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.split()[0] == SET


def test_the_wheel_runs_on_other_systems_too(wheel):
    pytest.importorskip("auditwheel")
    command = [sys.executable, "-m", "auditwheel", "show", "--allow-pure-python-wheel", str(wheel)]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    # What it needs besides libc and libstdc++ comes with the package mujoco-core, opened later.
    assert "manylinux_2_" in said.stdout
