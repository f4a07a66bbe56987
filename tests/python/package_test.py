"""The package as a whole: documentation, types, version, what it imports."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from fresh_process import PATIENCE, run_script

import cycloid as cy
import cycloid.gym
import cycloid.jax
import cycloid.torch

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(cy.__file__).parent
MODULES = ["cycloid"] + [f"cycloid.{m.name}" for m in pkgutil.iter_modules(cy.__path__)]
PUBLIC = (
    cy,
    cy.cost,
    cy.fluid,
    cy.learn,
    cy.networks,
    cy.soft,
    cy.systems,
    cycloid.gym,
    cycloid.jax,
    cycloid.torch,
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_true(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


@pytest.mark.parametrize(
    "page, least",
    [
        ("python", 41),
        ("time", 8),
        ("gym", 15),
        ("coming_from_mujoco", 20),
        ("models_without_xml", 25),
        ("learn", 8),
    ],
)
def test_the_examples_of_the_guides_are_true(page, least):
    guide = ROOT / "docs" / f"{page}.md"
    blocks = re.findall(r"^```python\n(.*?)^```", guide.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > least // 8 and all(block.startswith(">>>") for block in blocks)
    failures, attempted = doctest.testfile(str(guide), module_relative=False)
    assert failures == 0 and attempted >= least


def test_the_example_of_the_readme_runs(capsys):
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})
    assert "agrees with central differences" in capsys.readouterr().out


def public_things():
    for module in PUBLIC:
        lazy = ("StableBaselines",) if module is cycloid.gym else ()
        for name in (*module.__all__, *lazy):
            thing = getattr(module, name)
            if inspect.ismodule(thing) or name.startswith("__"):
                continue
            yield f"{module.__name__}.{name}", thing
            if inspect.isclass(thing) and not issubclass(thing, tuple):
                for member, value in vars(thing).items():
                    if not member.startswith("_") and (callable(value) or hasattr(value, "fget")):
                        yield f"{module.__name__}.{name}.{member}", value


def test_every_public_module_is_looked_at():
    assert {m for m in MODULES if "._" not in m} == {module.__name__ for module in PUBLIC}


def test_everything_public_is_documented():
    things = dict(public_things())
    assert len(things) > 50
    assert {f"{m}.rollout" for m in ("cycloid", "cycloid.torch", "cycloid.jax")} <= set(things)
    assert [name for name, thing in things.items() if not inspect.getdoc(thing)] == []


def test_every_public_function_has_an_example():
    for name, thing in public_things():
        if inspect.isfunction(thing) and name.rpartition(".")[0] in MODULES:
            assert ">>>" in thing.__doc__, name


def test_functions_name_shapes_and_units():
    calls = [getattr(m, n) for m in (cy, cycloid.jax, cycloid.torch) for n in ("rollout", "step")]
    for function in (*calls, cy.linearise, cy.own_law, cycloid.jax.observe, cycloid.torch.observe):
        assert "(..." in function.__doc__ or "(B," in function.__doc__
        assert "[s]" in function.__doc__
    for law in cy.systems.names:
        text = " ".join(getattr(cy.systems, law).__doc__.split())
        assert "State [" in text and re.search(r"\[(kg|m³/s²|m/s²|1/s)\]", text), law


def test_every_law_and_integrator_of_the_core_is_there():
    for law in cy.systems.names:
        default = inspect.signature(getattr(cy.systems, law)).parameters
        assert {"dt", "integrator", "dtype", "vary"} <= set(default)
    assert set(cy.systems.names) <= set(cy.systems.__all__)


def test_the_version_is_that_of_cmake():
    text = (ROOT / "CMakeLists.txt").read_text()
    assert cy.__version__ == re.search(r"project\(cycloid VERSION ([0-9.]+)", text)[1]


def test_types_come_with_the_package():
    assert (PACKAGE / "py.typed").exists()
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    declared = {node.name for node in stub.body if hasattr(node, "name")} | {
        node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)
    }
    assert declared >= {name for name in vars(cy._core) if not name.startswith("_")}


def test_importing_it_loads_numpy_and_nothing_else_that_is_heavy():
    process = run_script(
        """
        import sys
        packages = {name.partition(".")[0] for name in sys.modules}
        outside = packages - set(sys.stdlib_module_names) - {"__main__", "__mp_main__"}
        print(sorted(outside - before))
        """,
        before="import sys; before = {name.partition('.')[0] for name in sys.modules}",
    )
    assert process.communicate(timeout=PATIENCE)[0] == "['cycloid', 'numpy']\n"
