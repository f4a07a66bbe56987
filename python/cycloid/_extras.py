"""Packages that only parts of cycloid need."""

from __future__ import annotations


def missing(package: str, hint: str) -> ImportError:
    """What to raise where a part of cycloid finds no `package`. hint: what pip is to install.

    >>> raise missing("torch", "torch")
    Traceback (most recent call last):
    ImportError: this part of cycloid needs torch, which is not installed: pip install torch
    """
    text = f"this part of cycloid needs {package}, which is not installed: pip install {hint}"
    return ImportError(text, name=package)
