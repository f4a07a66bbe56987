"""Races: both sides take turns."""

import time


def best_of(calls, times):
    """The best seconds of each call; they take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(times):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    return best
