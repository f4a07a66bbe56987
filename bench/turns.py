"""Races: both sides take turns."""

import time


def best_of(calls, times, in_a_row=1):
    """The best seconds of each call; they take turns, each with so many calls in a row."""
    best = [float("inf")] * len(calls)
    for _ in range(times):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(in_a_row):
                call()
            best[k] = min(best[k], (time.perf_counter() - start) / in_a_row)
    return best
