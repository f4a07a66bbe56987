"""Tapes between a forward and its backward.

PyTorch's graphs keep tensors. A tape is therefore kept under a token, a tensor of one zero whose
memory stands for it: when a graph lets go of the token, the tape goes too, and where the token was
copied on its way there is no tape. A backward without one runs the forward again.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from cycloid._arrays import MACHINE_BYTES


class Tapes:
    """Tapes by token, of at most `limit` bytes: beyond, those that were not used longest go.

    >>> tapes = Tapes(limit=100)
    >>> token = tapes.put("a tape", size=60)
    >>> tapes.find(token), tapes.find(token.clone())
    ('a tape', None)
    >>> other = tapes.put("another", size=60)
    >>> tapes.find(token), len(tapes)
    (None, 1)
    >>> del other
    >>> len(tapes)
    0
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self._tapes: OrderedDict[int, tuple[Any, int]] = OrderedDict()  # by the token's address
        self._lock = threading.RLock()  # a token may die while its own thread is in here

    def put(self, tape: Any, size: int) -> torch.Tensor:
        """Keeps a tape of so many bytes; the token."""
        memory = np.zeros(1, np.int64)
        token = torch.from_numpy(memory)  # refers to `memory` as long as it lives, or any view
        address = token.data_ptr()
        with self._lock:
            self._tapes[address] = tape, size
            self.size += size
            while self.size > self.limit:
                self._drop(next(iter(self._tapes)))
        weakref.finalize(memory, self._drop, address).atexit = False
        return token

    def find(self, token: torch.Tensor) -> Any:
        """The tape, or None."""
        with self._lock:
            address = token.data_ptr()
            if address not in self._tapes:
                return None
            self._tapes.move_to_end(address)
            return self._tapes[address][0]

    def _drop(self, address: int) -> None:
        with self._lock:
            tape, size = self._tapes.pop(address, (None, 0))
            self.size -= size

    def __len__(self) -> int:
        return len(self._tapes)


def no_tape() -> torch.Tensor:
    """A token without a tape."""
    return torch.zeros(1, dtype=torch.int64)


TAPES = Tapes(limit=MACHINE_BYTES // 2)
