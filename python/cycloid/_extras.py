"""Packages that only parts of cycloid need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def missing(package: str, hint: str) -> ImportError:
    """What to raise where a part of cycloid finds no `package`. hint: what pip is to install.

    >>> raise missing("torch", "torch")
    Traceback (most recent call last):
    ImportError: this part of cycloid needs torch, which is not installed: pip install torch
    """
    text = f"this part of cycloid needs {package}, which is not installed: pip install {hint}"
    return ImportError(text, name=package)


@contextmanager
def needed(package: str) -> Iterator[None]:
    """Around the import of a package that pip knows by the same name.

    >>> with needed("absentee"):
    ...     import absentee
    Traceback (most recent call last):
    ImportError: this part of cycloid needs absentee, which is not installed: pip install absentee
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:  # something that the package itself needs
            raise
        raise missing(package, package) from None
