"""Trained laws and models from their files."""

from __future__ import annotations

import os
from typing import Any

from cycloid._core import Error
from cycloid._ensemble import Ensemble
from cycloid._system import System, check_system
from cycloid._train import load_parts
from cycloid._uncertain import Dropout, Gaussian, Laplace

_KINDS = {kind.kind: kind for kind in (Ensemble, Laplace, Dropout, Gaussian)}


def load(path: str | os.PathLike[str], system: System | None = None) -> Any:
    """What a file holds: of `Training.save` the System, learned values as its defaults; of an
    ensemble or another model with a spread, that model. system: the System that was trained, where
    it is not one of the learned laws (a hybrid, a closed loop).

    >>> import cycloid as cy
    >>> cy.learn.load("nowhere.cyl")
    Traceback (most recent call last):
    FileNotFoundError: there is no file "nowhere.cyl"
    """
    if system is not None:
        check_system(system)
    made, arrays, texts = load_parts(path, system)
    if "kind" not in texts:
        return made
    if texts["kind"] not in _KINDS:
        raise Error(f'"{os.fspath(path)}" holds a {texts["kind"]!r}, which is not known here')
    try:
        model = _KINDS[texts["kind"]]._of_saved(made, arrays)
        model._restore(arrays, texts)
    except Error as error:
        raise Error(f'"{os.fspath(path)}": {error}') from None
    except KeyError as error:
        raise Error(f'"{os.fspath(path)}" has no array {error}') from None
    except (ValueError, TypeError, OverflowError) as error:
        raise Error(f'"{os.fspath(path)}" has an array that makes no sense: {error}') from None
    return model
