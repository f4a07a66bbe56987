"""Settings of all tests.

Ctrl-C means the same everywhere: a shell's background job would ignore it, and so would every
process that a test starts from there. Files of tests run side by side, but for those that watch
signals, clocks or memory.
"""

import signal

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)

ALONE = {
    "interrupt_test.py",
    "interrupted_test.py",
    "jax_refusals_test.py",
    "leak_test.py",
    "recording_test.py",
    "terminal_test.py",
    "torch_memory_test.py",
    "tour_page_test.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name in ALONE:
            item.add_marker("alone")
