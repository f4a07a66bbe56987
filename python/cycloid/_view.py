"""Pages on which a trajectory moves."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any

from cycloid._core import Error, ModelError
from cycloid._live import Live
from cycloid._options import shown
from cycloid._rollout import Trajectory, rollout
from cycloid._scene import Scene, scene_of

_PAGE = Path(__file__).with_name("viewer.html")
_NOTEBOOK_HEIGHT = 520  # [pixels]
_MOST_IN_A_NOTEBOOK = 12_000_000  # [bytes]
_MOST_GHOSTS = 12


def view(
    trajectory: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    compare: Any = None,
    gradient: Any = None,
    title: str | None = None,
    live: bool = False,
) -> Path | Live:
    """Writes a page on which the trajectory moves, one HTML file that needs nothing else, and
    returns its path. A robot is shown with its shapes and colours, a law as what it is, a soft body
    with its stresses, a field as a picture; of others, and beside all, the numbers over time. Of a
    batch, the first environment.

    trajectory: of `rollout` or `open`, or a `Plan`. compare: another one, drawn as a ghost at the
    same times, or a list of up to twelve, such as the iterations of an optimisation, of which later
    ones are seen more. gradient: the derivative of a loss by the states, as `pullback` takes it;
    arrows show what the loss wants at every time, minus the gradient: how each body would move if
    the state followed it, and each input. title: the system's name if left out.

    live: serves the page on this machine in place of writing it, and returns a `Live`, whose
    `address` has the token without which nothing is answered; `show` brings the next trajectory,
    while a simulation, a fit or a training goes on.

    Raises FileNotFoundError if the folder does not exist, Error for what cannot be shown, and
    ModelError where this build has no viewer.

    >>> import os, tempfile
    >>> import cycloid as cy
    >>> run = cy.rollout(cy.systems.double_pendulum(), [2.0, 2.5, 0.0, 0.0], 500)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = cy.view(run, os.path.join(folder, "run.html"), title="Chaos")
    ...     page.name, page.stat().st_size > 100_000
    ('run.html', True)
    """
    run = as_trajectory(trajectory, "trajectory")
    others = as_ghosts(compare)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a text; got {shown(title)}")
    if not isinstance(live, bool):
        raise TypeError(f"live must be True or False; got {shown(live)}")
    if live:
        if path is not None:
            raise Error("a live page is served and not written: leave path out")
        return Live(lambda scene: page_of(scene), scene_of, run, others, gradient, title)
    if path is None:
        raise Error('expected where the page goes, such as "run.html", or live=True')
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path: expected a path; got {shown(path)}")
    file = Path(os.fsdecode(path))
    if not file.parent.is_dir():
        raise FileNotFoundError(f'cannot write "{file}": there is no folder "{file.parent}"')
    text = page_of(scene_of(run, others, gradient, title))
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Error(f'cannot write "{file}": {error.strerror}') from None
    return file


def as_trajectory(given: Any, what: str) -> Trajectory:
    """A Trajectory, or the one of a Plan."""
    from cycloid._plan import Plan

    if isinstance(given, Trajectory):
        return given
    if isinstance(given, Plan):
        return rollout(given.system, given.x0, given.controls, given.params, t0=given.t0)
    raise TypeError(f"{what}: expected a cycloid Trajectory or Plan; got {shown(given)}")


def as_ghosts(compare: Any) -> list[Trajectory]:
    """What `compare` names, none, one or several."""
    if compare is None:
        return []
    given = compare if isinstance(compare, (list, tuple)) else [compare]
    if len(given) > _MOST_GHOSTS:
        raise Error(f"compare: expected at most {_MOST_GHOSTS} trajectories; got {len(given)}")
    return [as_trajectory(one, "compare") for one in given]


def page_of(scene: Scene) -> str:
    """The page with a scene in it."""
    if not _PAGE.exists():
        raise ModelError(
            "this build of cycloid has no viewer: Node.js with npm was not there when it was "
            "built; install both (apt-get install nodejs npm) and build again"
        )
    data = json.dumps(scene, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    # Inside an element of HTML, "<" could end it.
    data = data.replace("<", "\\u003c")
    page = _PAGE.read_text(encoding="utf-8")
    return page.replace("{{title}}", html.escape(scene["title"])).replace("{{data}}", data)


def notebook_page(trajectory: Any) -> str:
    """A trajectory inside a notebook's cell; where that cannot be, its line of text."""
    run = as_trajectory(trajectory, "trajectory")
    try:
        page = page_of(scene_of(run))
    except Error as error:
        return f"<pre>{html.escape(repr(trajectory))}\n{html.escape(str(error))}</pre>"
    if len(page) > _MOST_IN_A_NOTEBOOK:
        return (
            f"<pre>{html.escape(repr(trajectory))}\n"
            f"Too large for a cell: cycloid.view(..., \"run.html\") writes a page.</pre>"
        )
    return (
        f'<iframe title="{html.escape(run.system.name)}" srcdoc="{html.escape(page)}" '
        f'width="100%" height="{_NOTEBOOK_HEIGHT}" style="border:0" '
        'sandbox="allow-scripts allow-downloads"></iframe>'
    )
