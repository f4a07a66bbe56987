"""Races: both sides take turns."""

import time


def best_of(calls, times, in_a_row=1, warm=0):
    """The best seconds of each call; they take turns, each with so many calls in a row, and before
    those `warm` more, which bring back what the others' turns took from the caches."""
    best = [float("inf")] * len(calls)
    for _ in range(times):
        for k, call in enumerate(calls):
            for _ in range(warm):
                call()
            start = time.perf_counter()
            for _ in range(in_a_row):
                call()
            best[k] = min(best[k], (time.perf_counter() - start) / in_a_row)
    return best
