"""Where a System runs: on this machine's threads, or on a card."""

from __future__ import annotations

from typing import Any

from cycloid import _core
from cycloid._options import check_one_of

_KNOWN = ("cpu", "cuda", "host")


def devices() -> tuple[str, ...]:
    """What Systems can run on here: "cpu", and the card by its name where one can be used.

    >>> import cycloid as cy
    >>> cy.devices()[0]
    'cpu'
    """
    return tuple(_core.devices())


def on_device(core: Any, device: str) -> Any:
    """The System on a device: "cpu", "cuda", or "host", the card's kernels one environment after
    another on this machine, for tests. Raises ModelError that names what has no device form, Error
    where there is no card, driver or library.
    """
    check_one_of(device, _KNOWN, "device")
    return core if device == "cpu" else _core.on_device(core, device)
